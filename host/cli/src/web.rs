//! `equipoise web`.

use std::net::SocketAddr;
use std::path::PathBuf;

use super::error::CliError;
use super::session::SessionArgs;
use equipoise::device::auth::Role;
use equipoise_audit::finding::DP_CONSE;
use equipoise_ward::bedside::page::{self, Settings, loopback};
use equipoise_ward::bedside::screen::run::attend;
use equipoise_ward::records::keys::KeyFile;
use equipoise_ward::start::Virtual;

/// `equipoise web`
#[derive(Debug, clap::Args)]
pub struct WebArgs {
    #[command(flatten)]
    session: SessionArgs,
    /// Flash file of a virtual device instead of a port; made and provisioned if there is none
    #[arg(long, value_name = "FILE", conflicts_with_all = ["port", "log", "presence_key"])]
    flash: Option<PathBuf>,
    /// Address on this machine; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0", value_parser = loopback)]
    listen: SocketAddr,
    /// Open the page in the browser
    #[arg(long)]
    open: bool,
    /// Code-break key, with which the page may unblind a patient in an emergency (blinded trials)
    #[arg(long, value_name = "FILE")]
    code_break_key: Option<PathBuf>,
    /// Show the bedside screen in this terminal too; both see what the other does
    #[arg(long)]
    screen: bool,
}

/// Serves the bedside in the browser.
///
/// # Errors
/// The trial file, the log or the address cannot be used.
pub fn web(args: &WebArgs) -> Result<(), CliError> {
    let settings =
        Settings { listen: args.listen, open: args.open, screen: args.screen.then_some(attend) };
    let bedside = match &args.flash {
        None => args.session.open()?,
        Some(flash) => {
            let (trial, operator) = (args.session.trial.trial.as_deref(), args.session.operator()?);
            Virtual::start(Some(flash), trial, &operator, DP_CONSE)?.bedside
        }
    };
    let key = args
        .code_break_key
        .as_ref()
        .map(|file| KeyFile::read_for(file, Role::CodeBreak))
        .transpose()?;
    let bedside = match key {
        Some(key) => bedside.with_code_break(key)?,
        None => bedside,
    };
    Ok(page::serve(bedside, settings)?)
}
