//! `equipoise` without a subcommand.

use std::io::IsTerminal;
use std::path::PathBuf;

use super::error::CliError;
use super::session::OperatorArgs;
use equipoise_audit::finding::DP_CONSE;
use equipoise_study::output::say;
use equipoise_ward::bedside::page;
use equipoise_ward::bedside::screen;
use equipoise_ward::demo::{Settings, demo};
use equipoise_ward::start::{View, Virtual, ask_for_view};

/// `equipoise` without a subcommand
#[derive(Debug, clap::Args)]
pub struct StartArgs {
    /// Flash file of the virtual device; by default in the data folder
    #[arg(long, value_name = "FILE")]
    flash: Option<PathBuf>,
    /// Trial file for a blank device; without it the first start asks
    #[arg(long, value_name = "FILE")]
    trial: Option<PathBuf>,
    #[command(flatten)]
    operator: OperatorArgs,
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
    let device = Virtual::start(flash, trial, &args.operator.name()?, DP_CONSE)?;
    let farewell = device.farewell();
    match ask_for_view()? {
        View::Screen => screen::run::run(device.bedside)?,
        view => {
            let screen = (view == View::Both).then_some(screen::run::attend as page::Attend);
            page::serve(
                device.bedside,
                page::Settings { open: true, screen, ..Default::default() },
            )?;
        }
    }
    say(&farewell);
    Ok(())
}
