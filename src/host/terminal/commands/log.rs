//! `log verify`: is the log what the terminal wrote?

use crate::prelude::*;
use std::path::PathBuf;
use std::process::ExitCode;

use super::{finish, say};
use crate::host::terminal::failure::Failure;
use crate::host::terminal::log::{self, LogError};

/// `equipoise log`
#[derive(Debug, clap::Subcommand)]
pub enum LogCommand {
    /// Find any changed, dropped or reordered line
    Verify(VerifyArgs),
}

/// `equipoise log verify`
#[derive(Debug, clap::Args)]
pub struct VerifyArgs {
    /// The log; FILE.head must lie beside it
    file: PathBuf,
    /// A hash written down earlier: it must still be in the chain
    #[arg(long, value_name = "HASH")]
    head: Option<String>,
}

/// Runs a command on a log.
#[must_use]
pub fn run(command: &LogCommand) -> ExitCode {
    let LogCommand::Verify(args) = command;
    let verified = log::verify(&args.file, args.head.as_deref()).map_err(|error| match error {
        LogError::Disk(..) => Failure::from(error),
        wrong => Failure::Refused(format!("{}: {wrong}", args.file.display())),
    });
    let told = verified.map(|(head, _)| {
        say(&format!(
            "{}: {} lines, the chain holds\nhash of the last line, to write down: {}\n",
            args.file.display(),
            head.lines,
            head.hash
        ));
    });
    finish(told, false)
}
