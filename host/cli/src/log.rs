//! `equipoise log verify` and `equipoise log head`.

use std::io::IsTerminal;
use std::path::PathBuf;

use super::error::CliError;
use equipoise_study::output::say;
use equipoise_ward::records::log::{self, Entry, HASH_DIGITS, Head, LogError};
use equipoise_ward::records::qr;

/// `equipoise log`
#[derive(Debug, clap::Subcommand)]
pub enum LogCommand {
    /// Find any changed, dropped or reordered line
    Verify(VerifyArgs),
    /// Print the hash of the last line as text and as a QR code, for the day's paper file
    Head(HeadArgs),
}

/// `equipoise log head`
#[derive(Debug, clap::Args)]
pub struct HeadArgs {
    /// The log; FILE.head must lie beside it
    file: PathBuf,
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

/// The last hash for a paper file: text for a person, and the same as a QR code.
fn paper(head: &Head, last: Option<&Entry>) -> String {
    let time = last.map_or("-", |entry| entry.time.as_str());
    let text = format!("equipoise log line {} {time} {}", head.lines, head.hash);
    let code = qr::code(&text, std::io::stdout().is_terminal())
        .map_or_else(String::new, |code| format!("\n{code}"));
    let half = head.hash.len() / 2;
    let (first, second) = head.hash.split_at_checked(half).unwrap_or((&head.hash, ""));
    format!("line {}, written {time}\nhash {first}\n     {second}\n{code}", head.lines)
}

/// Verifies a log, or prints its last hash.
///
/// # Errors
/// The log was changed (refused), or cannot be read (usage).
pub fn run(command: &LogCommand) -> Result<(), CliError> {
    let (path, noted) = match command {
        LogCommand::Verify(args) => (&args.file, args.head.as_deref()),
        LogCommand::Head(args) => (&args.file, None),
    };
    let file = path.display();
    let (head, entries) = log::verify(path, noted).map_err(|error| match error {
        LogError::Disk(..) => CliError::usage(error),
        changed => CliError::refused(format!("{file}: {changed}")),
    })?;
    say(&match command {
        LogCommand::Verify(_) => format!(
            "{file}: {} lines, the chain holds\nhash of the last line, to write down: {}\n",
            head.lines, head.hash
        ),
        LogCommand::Head(_) => paper(&head, entries.last()),
    });
    Ok(())
}
