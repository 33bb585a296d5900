//! `equipoise log verify`.

use std::path::PathBuf;

use super::error::CliError;
use equipoise_study::output::say;
use equipoise_ward::records::log::{self, HASH_DIGITS, LogError};

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
    #[arg(long, value_name = "HASH", value_parser = hash)]
    head: Option<String>,
}

fn hash(text: &str) -> Result<String, String> {
    if text.len() == HASH_DIGITS && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Ok(text.to_owned());
    }
    Err(format!("{text:?} is no hash, allowed {HASH_DIGITS} hex digits"))
}

/// Verifies a log.
///
/// # Errors
/// The log was changed (refused), or cannot be read (usage).
pub fn run(command: &LogCommand) -> Result<(), CliError> {
    let LogCommand::Verify(args) = command;
    let file = args.file.display();
    let (head, _) = log::verify(&args.file, args.head.as_deref()).map_err(|error| match error {
        LogError::Disk(..) => CliError::usage(error),
        changed => CliError::refused(format!("{file}: {changed}")),
    })?;
    say(&format!(
        "{file}: {} lines, the chain holds\nhash of the last line, to write down: {}\n",
        head.lines, head.hash
    ));
    Ok(())
}
