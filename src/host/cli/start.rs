//! `equipoise` without a subcommand.

use std::io::IsTerminal;
use std::path::PathBuf;

use super::error::CliError;
use crate::host::terminal::demo::{Settings, demo};
use crate::host::terminal::start::start;

/// `equipoise` without a subcommand
#[derive(Debug, clap::Args)]
pub struct StartArgs {
    /// Flash file of the virtual device; by default in the data folder
    #[arg(long, value_name = "FILE")]
    flash: Option<PathBuf>,
    /// Trial file for a blank device; without it the first start asks
    #[arg(long, value_name = "FILE")]
    trial: Option<PathBuf>,
}

/// Starts the virtual device and its screen, or the demonstration if there is no terminal.
///
/// # Errors
/// The files cannot be used, or the demonstration failed.
pub fn run(args: &StartArgs) -> Result<(), CliError> {
    if std::io::stdin().is_terminal() && std::io::stdout().is_terminal() {
        Ok(start(args.flash.as_deref(), args.trial.as_deref())?)
    } else {
        Ok(demo(&Settings::default())?)
    }
}
