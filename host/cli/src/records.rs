//! `equipoise records`: the second copy of log and trial file.

use std::path::PathBuf;

use super::coordinator::LogArgs;
use super::error::CliError;
use super::values::named;
use equipoise::wire::FileDigest;
use equipoise_study::output::say;
use equipoise_ward::own_file;
use equipoise_ward::records::copies::{Copies, Without, check_folder};
use equipoise_ward::records::log::{self, Difference};
use equipoise_ward::records::trial_file::TrialFile;

/// `equipoise records`
#[derive(Debug, clap::Subcommand)]
pub enum RecordsCommand {
    /// Keep a second copy of log and trial file in a folder on another disk or a share
    CopyTo(CopyToArgs),
    /// Compare log and trial file with their second copy, and name the first difference
    Verify(VerifyArgs),
}

/// `equipoise records copy-to`
#[derive(Debug, clap::Args)]
pub struct CopyToArgs {
    /// The folder, one for each terminal; it must be there
    folder: PathBuf,
    /// Work while the folder cannot be written: stop (nobody is enrolled) or warn
    #[arg(long, value_name = "stop|warn", default_value = "stop",
          value_parser = named(Without::ALL, Without::name))]
    without: Without,
}

/// `equipoise records verify`
#[derive(Debug, clap::Args)]
pub struct VerifyArgs {
    #[command(flatten)]
    log: LogArgs,
}

/// Sets where copies go, or compares them.
///
/// # Errors
/// There is no such folder; no copy, or one that differs.
pub fn run(command: &RecordsCommand) -> Result<(), CliError> {
    match command {
        RecordsCommand::CopyTo(args) => copy_to(args),
        RecordsCommand::Verify(args) => verify(args),
    }
}

fn copy_to(args: &CopyToArgs) -> Result<(), CliError> {
    let folder =
        args.folder.canonicalize().map_err(|error| CliError::file(&args.folder, &error))?;
    let copies = Copies { folder, without: args.without };
    copies.set()?;
    let without = match args.without {
        Without::Stop => "nobody is enrolled and nothing recorded until it can",
        Without::Warn => "work goes on with a warning, and the log says so",
    };
    say(&format!(
        "Log and trial file are copied to {} from the next start of a terminal on. If that cannot be written, {without}.\n",
        copies.folder.display()
    ));
    Ok(())
}

fn verify(args: &VerifyArgs) -> Result<(), CliError> {
    let Some(copies) = Copies::read()? else {
        return Err(CliError::usage(
            "this machine keeps no second copy: name a folder for it with equipoise records copy-to",
        ));
    };
    check_folder(&copies.folder).map_err(CliError::refused)?;
    let trial = args.log.trial()?;
    let path = args.log.path(&trial)?;
    let (head, _) = log::verify(&path, None)?;
    let copy = copies.log(&path);
    let read = |path: &PathBuf| own_file::read(path).map_err(|error| CliError::file(path, &error));
    if let Some(difference) = Difference::between(&read(&path)?, &read(&copy)?) {
        return Err(CliError::refused(difference.in_words(&copy)));
    }
    log::verify(&copy, None)
        .map_err(|error| CliError::refused(format!("{}: {error}", copy.display())))?;
    let kept = copies.trial(FileDigest(trial.digest()));
    let second = TrialFile::read(&kept)?;
    if second.digest() != trial.digest() {
        let differences = trial.differences(&second).join("; ");
        return Err(CliError::refused(format!(
            "the copy {} of the trial file differs: {differences}",
            kept.display()
        )));
    }
    say(&format!(
        "{}: {} lines, and the same in {}\nThe trial file is there too.\n",
        path.display(),
        head.lines,
        copies.folder.display()
    ));
    Ok(())
}
