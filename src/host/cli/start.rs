//! `equipoise` without a subcommand.

use std::io::IsTerminal;
use std::path::PathBuf;

use super::error::CliError;
use crate::host::audit::finding::DP_CONSE;
use crate::host::output::say;
use crate::host::terminal::demo::{Settings, demo};
use crate::host::terminal::place;
use crate::host::terminal::screen;
use crate::host::terminal::start::{View, Virtual, ask_for_view};
use crate::host::web;

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

/// Starts the virtual device and its screen or page, or the demonstration if there is no terminal.
///
/// # Errors
/// The files cannot be used, or the demonstration failed.
pub fn run(args: &StartArgs) -> Result<(), CliError> {
    if !(std::io::stdin().is_terminal() && std::io::stdout().is_terminal()) {
        return Ok(demo(&Settings::default())?);
    }
    let (flash, trial) = (args.flash.as_deref(), args.trial.as_deref());
    let device = Virtual::start(flash, trial, &place::operator(), DP_CONSE)?;
    let farewell = device.farewell();
    match ask_for_view()? {
        View::Screen => screen::run::run(device.bedside)?,
        view => {
            let screen = view == View::Both;
            web::serve(device.bedside, web::Settings { open: true, screen, ..Default::default() })?;
        }
    }
    say(&farewell);
    Ok(())
}
