//! `keygen`, `provision`, `close`, `erase` and `report`.

use crate::prelude::*;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::{OfTrial, OnDevice, finish, say};
use crate::host::terminal::bedside::failure;
use crate::host::terminal::custodian::{self, DP_CONSE_NOTE};
use crate::host::terminal::failure::Failure;
use crate::host::terminal::keys::Key;
use crate::host::terminal::log::{Event, Log};
use crate::host::terminal::place;
use crate::host::terminal::report::{self, Format};
use crate::host::terminal::trial_file::TrialFile;
use crate::wire::{Claim, Request};

/// `equipoise keygen`
#[derive(Debug, clap::Args)]
pub struct KeygenArgs {
    /// File to make, readable by its owner alone
    file: PathBuf,
}

/// Draws a custodian's key.
#[must_use]
pub fn keygen(args: &KeygenArgs) -> ExitCode {
    let path = args.file.display();
    let note = format!(
        "{path} holds a new key. Keep a copy in a safe place: without it a trial cannot be closed.\n"
    );
    finish(Key::generate(&args.file).map(|_| say(&note)), false)
}

/// The custodian's key and log.
#[derive(Debug, clap::Args)]
pub struct Custody {
    #[command(flatten)]
    device: OnDevice,
    /// The custodian's key, as `equipoise keygen` made it
    #[arg(long, value_name = "FILE")]
    key_file: PathBuf,
    /// Log to note the command in
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// Who does it, for the log; by default the user's name
    #[arg(long, value_name = "NAME")]
    operator: Option<String>,
}

impl Custody {
    fn note(&self, asked: &str, answered: &str) -> Result<(), Failure> {
        let Some(path) = &self.log else { return Ok(()) };
        let operator = self.operator.clone().unwrap_or_else(place::operator);
        let (mut log, _) = Log::open(path, &operator)?;
        log.append(Event::Custodian { asked: asked.to_owned(), answered: answered.to_owned() })?;
        Ok(())
    }
}

/// `equipoise provision`
#[derive(Debug, clap::Args)]
pub struct ProvisionArgs {
    /// Trial file with plan and names
    trial: PathBuf,
    #[command(flatten)]
    custody: Custody,
}

/// Begins a trial on a blank device.
#[must_use]
pub fn provision(args: &ProvisionArgs) -> ExitCode {
    finish(try_provision(args), false)
}

fn try_provision(args: &ProvisionArgs) -> Result<(), Failure> {
    let trial = TrialFile::read(&args.trial)?;
    let key = Key::read(&args.custody.key_file)?;
    let begun = custodian::provision(&mut args.custody.device.client(), &trial.plan, &key)?;
    let name = begun.trial.map_or_else(|| "unknown".to_owned(), |trial| trial.to_string());
    let answered = format!("OK trial={name} claim={}", begun.claim.name());
    args.custody.note(&Request::Plan(trial.plan).to_string(), &answered)?;
    if let Err(error) = keep_copy(&args.trial) {
        eprintln!("equipoise: no copy of the trial file was kept ({error}): name it with --trial");
    }
    let claim = match begun.claim {
        Claim::Pure => "private by proof: no patient costs more than epsilon, delta = 0",
        Claim::Unproven => "privacy NOT proven",
    };
    say(&format!("The trial {:?} has begun.\n  {}\n  trial {name}, {claim}\n", trial.title, trial.plan));
    if begun.claim == Claim::Unproven {
        say(&format!("{DP_CONSE_NOTE}\n"));
    }
    Ok(())
}

/// The terminal on this machine will take this trial by itself.
fn keep_copy(trial: &Path) -> Result<(), Failure> {
    let copy = place::trial()?;
    let folder = copy.parent().map_or(Ok(()), std::fs::create_dir_all);
    folder.and_then(|()| std::fs::copy(trial, &copy)).map_err(|error| Failure::file(&copy, &error))?;
    Ok(())
}

/// `equipoise close`
#[derive(Debug, clap::Args)]
pub struct CloseArgs {
    #[command(flatten)]
    custody: Custody,
}

/// Closes the trial.
#[must_use]
pub fn close(args: &CloseArgs) -> ExitCode {
    let closed = Key::read(&args.custody.key_file)
        .and_then(|key| custodian::close(&mut args.custody.device.client(), &key))
        .and_then(|()| args.custody.note("CLOSE", "OK"));
    finish(closed.map(|()| say("The trial is closed. Its estimates: equipoise report\n")), false)
}

/// `equipoise erase`
#[derive(Debug, clap::Args)]
pub struct EraseArgs {
    #[command(flatten)]
    custody: Custody,
    /// Say that the trial on the device is to be wiped for good
    #[arg(long, required = true)]
    yes: bool,
}

/// Wipes the trial from the device.
#[must_use]
pub fn erase(args: &EraseArgs) -> ExitCode {
    let erased = Key::read(&args.custody.key_file)
        .and_then(|key| custodian::erase(&mut args.custody.device.client(), &key))
        .and_then(|()| args.custody.note("ERASE", "OK"));
    let text = "The trial is erased. What it cost in privacy stays on the device's account.\n";
    finish(erased.map(|()| say(text)), false)
}

/// `equipoise report`
#[derive(Debug, clap::Args)]
pub struct ReportArgs {
    /// How to write it
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    /// Check the MAC: needs the key and the trial file
    #[arg(long, requires = "key_file")]
    verify: bool,
    /// The custodian's key, for --verify
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// File to write; by default standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    trial: OfTrial,
    #[command(flatten)]
    device: OnDevice,
}

/// Prints the estimates.
#[must_use]
pub fn report(args: &ReportArgs) -> ExitCode {
    finish(try_report(args), args.format == Format::Json)
}

fn try_report(args: &ReportArgs) -> Result<(), Failure> {
    let trial = match args.trial.read() {
        Ok(trial) => Some(trial),
        // Without names the numbers still say everything; a file that was named must be good.
        Err(_) if args.trial.trial.is_none() && !args.verify => None,
        Err(error) => return Err(error),
    };
    let key = args.key_file.as_deref().filter(|_| args.verify).map(Key::read).transpose()?;
    let report = args.device.client().report().map_err(failure)?;
    let verified = key.zip(trial.as_ref()).map(|(key, trial)| key.signed(&trial.plan, &report));
    let rows = report::named(&report, trial.as_ref());
    let text = report::write(args.format, &rows, &report, trial.as_ref(), verified);
    match &args.output {
        Some(path) => std::fs::write(path, text).map_err(|error| Failure::file(path, &error))?,
        None => say(&text),
    }
    if verified == Some(false) {
        return Err(Failure::Refused(
            "the MAC of the report is wrong: another key, another plan, or changed rows".to_owned(),
        ));
    }
    Ok(())
}
