//! `equipoise report`.

use std::path::PathBuf;

use super::error::CliError;
use super::session::{OutputArgs, PortArgs, TrialArgs};
use super::values::{format, simultaneous};
use equipoise::device::auth::Role;
use equipoise::wire::FileDigest;
use equipoise_study::boundaries::adjusted::Simultaneous;
use equipoise_ward::bedside::failure;
use equipoise_ward::line::client::Client;
use equipoise_ward::line::custodian;
use equipoise_ward::records::consort::Consort;
use equipoise_ward::records::key_check;
use equipoise_ward::records::keys::KeyFile;
use equipoise_ward::records::register::Register;
use equipoise_ward::records::report::{self, Effects, Format};
use equipoise_ward::records::tie::{same_file, same_trial};
use equipoise_ward::records::{log, place};

/// `equipoise report`
#[derive(Debug, clap::Args)]
pub struct ReportArgs {
    /// How to write it
    #[arg(long, default_value = "table", value_parser = format())]
    pub format: Format,
    /// Check the MAC; needs the key and the trial file
    #[arg(long, requires = "key_file")]
    verify: bool,
    /// The report key or the custodian's: for --verify, and where the plan's results take it
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// Progress and losses only, no effects: the open part for a monitoring committee
    #[arg(long, conflicts_with_all = ["verify", "key_file", "simultaneous", "format"])]
    without_effects: bool,
    /// Log of the terminal, for the losses; by default the one for the trial in the data folder
    #[arg(long, value_name = "FILE", requires = "without_effects")]
    log: Option<PathBuf>,
    /// Also intervals that are valid in all features together: bonferroni or holm
    #[arg(long, value_name = "METHOD", value_parser = simultaneous())]
    simultaneous: Option<Simultaneous>,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    trial: TrialArgs,
    #[command(flatten)]
    device: PortArgs,
}

/// Prints the estimates.
///
/// # Errors
/// No report yet, a wrong MAC, a file that exists, or no device.
pub fn report(args: &ReportArgs) -> Result<(), CliError> {
    let mut client = args.device.client();
    if args.without_effects {
        return open_part(args, &mut client);
    }
    let trial = match args.trial.read_for(&mut client) {
        Ok(trial) => Some(trial),
        // Without a trial file features go by their numbers. One that was named must be good.
        Err(_) if args.trial.trial.is_none() && !args.verify => None,
        Err(error) => return Err(error),
    };
    let key =
        args.key_file.as_deref().map(|path| KeyFile::read_for(path, Role::Report)).transpose()?;
    if let Some(key) = &key {
        key_check::same_key_on(&mut client, key, None)?;
    }
    let report = custodian::report(&mut client, key.as_ref())?;
    let status = client.status().map_err(failure)?;
    if report.trial != status.name.id {
        return Err(CliError::refused(format!(
            "the report is of trial {}, the device holds trial {}: do not trust it",
            report.trial, status.name.id
        )));
    }
    // Names of another trial file would be worse than none.
    let trial = match trial.map(|trial| same_file(&trial, &status).map(|()| trial)).transpose() {
        Err(error) if args.trial.trial.is_some() || args.verify => return Err(error.into()),
        other => other.ok().flatten(),
    };
    let verified = key
        .filter(|_| args.verify)
        .zip(trial.as_ref())
        .map(|(key, trial)| key.signed(&trial.plan, FileDigest(trial.digest()), &report));
    // In a blinded trial arms are named to the custodian alone.
    let trial = trial.map(|mut trial| {
        if trial.kits.is_some() && verified != Some(true) {
            trial.arms = ["arm 0", "arm 1"].map(str::to_owned);
        }
        trial
    });
    let effects = Effects::new(&report, &status, trial.as_ref()).adjust(args.simultaneous);
    let text = report::write(args.format, &effects, &report, trial.as_ref(), verified);
    args.output.write(&text)?;
    if verified == Some(false) {
        return Err(CliError::refused(
            "the MAC of the report is wrong: another key, another plan, or changed rows",
        ));
    }
    Ok(())
}

/// Prints the committee's open part, from public facts and the log.
fn open_part(args: &ReportArgs, client: &mut Client) -> Result<(), CliError> {
    let trial = args.trial.read_for(client)?;
    let status = client.status().map_err(failure)?;
    same_file(&trial, &status)?;
    let path = args.log.clone().map_or_else(|| place::log(&trial), Ok)?;
    let losses = if args.log.is_some() || path.exists() {
        let (_, entries) = log::verify(&path, None)?;
        let register = Register::read(&entries);
        same_trial(&register, &trial, &path)?;
        Some(Consort::new(&register, &trial, None, None)?.without_arms())
    } else {
        None
    };
    args.output.write(&report::without_effects(&trial.title, &status, losses.as_deref()))
}
