//! `equipoise kits list`, `verify` and `reveal`: the pharmacy of a blinded trial. No device is
//! needed.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::error::CliError;
use super::session::{OperatorArgs, OutputArgs, TrialArgs};
use equipoise_study::output::{check_file, say};
use equipoise_ward::own_file::write_private;
use equipoise_ward::records::keys::KeyFile;
use equipoise_ward::records::log::Log;
use equipoise_ward::records::pharmacy::{self, KitList};
use equipoise_ward::records::trial_file::TrialFile;

/// `equipoise kits`
#[derive(Debug, clap::Subcommand)]
pub enum KitsCommand {
    /// List every kit with its arm, for labelling; anybody with this list can unblind every patient
    ///
    /// A file is readable by its owner alone, and its seal lies beside it as FILE.seal. The seal of
    /// a list on standard output goes to standard error.
    List(ListArgs),
    /// Compare a list and its seal with the trial file and the key
    Verify(VerifyArgs),
    /// Emergency unblinding: name the arm of one kit, and write to the log who asked and why
    Reveal(RevealArgs),
}

/// `equipoise kits list`
#[derive(Debug, clap::Args)]
pub struct ListArgs {
    /// Trial file of the blinded trial
    trial: PathBuf,
    /// The custodian's key, as `equipoise keygen` made it
    #[arg(long, value_name = "FILE")]
    key_file: PathBuf,
    /// Write CSV, which is the only form
    #[arg(long)]
    csv: bool,
    #[command(flatten)]
    output: OutputArgs,
}

/// `equipoise kits verify`
#[derive(Debug, clap::Args)]
pub struct VerifyArgs {
    /// The list; FILE.seal must lie beside it
    list: PathBuf,
    /// The custodian's key
    #[arg(long, value_name = "FILE")]
    key_file: PathBuf,
    #[command(flatten)]
    trial: TrialArgs,
}

/// `equipoise kits reveal`
#[derive(Debug, clap::Args)]
pub struct RevealArgs {
    /// The label of the kit
    kit: String,
    /// The custodian's key
    #[arg(long, value_name = "FILE")]
    key_file: PathBuf,
    /// Why the patient must be unblinded
    #[arg(long)]
    reason: String,
    /// Log to write it to, before the arm is shown; the arm is not written
    #[arg(long, value_name = "FILE")]
    log: PathBuf,
    #[command(flatten)]
    trial: TrialArgs,
    #[command(flatten)]
    operator: OperatorArgs,
}

/// Runs one of the three.
///
/// # Errors
/// A file cannot be used, no such kit, or a list that is not right.
pub fn run(command: &KitsCommand) -> Result<(), CliError> {
    match command {
        KitsCommand::List(args) => list(args),
        KitsCommand::Verify(args) => verify(args),
        KitsCommand::Reveal(args) => reveal(args),
    }
}

fn seal_path(list: &Path) -> PathBuf {
    let mut name = OsString::from(list);
    name.push(".seal");
    name.into()
}

fn list(args: &ListArgs) -> Result<(), CliError> {
    if !args.csv {
        return Err(CliError::usage("the list of kits is written as CSV: --csv"));
    }
    let (trial, key) = (TrialFile::read(&args.trial)?, KeyFile::read(&args.key_file)?);
    let OutputArgs { out, force } = &args.output;
    let files = out.as_ref().map(|list| [list.clone(), seal_path(list)]);
    for file in files.iter().flatten() {
        check_file(file, *force).map_err(|error| CliError::file(file, &error))?;
    }
    let KitList { text, seal, count } = pharmacy::list(&trial, &key)?;
    let Some([list, seal_file]) = files else {
        say(&text);
        eprint!("{seal}");
        return Ok(());
    };
    for (file, bytes) in [(&list, &text), (&seal_file, &seal)] {
        write_private(file, bytes, *force).map_err(|error| CliError::file(file, &error))?;
    }
    say(&format!(
        "{}: {count} kits, {} of each arm; its seal is in {}\n\
         Anybody with this list can unblind every patient.\n",
        list.display(),
        count / 2,
        seal_file.display()
    ));
    Ok(())
}

fn verify(args: &VerifyArgs) -> Result<(), CliError> {
    let (trial, key) = (args.trial.read()?, KeyFile::read(&args.key_file)?);
    let read =
        |path: &Path| std::fs::read_to_string(path).map_err(|error| CliError::file(path, &error));
    let (text, seal) = (read(&args.list)?, read(&seal_path(&args.list))?);
    let count = pharmacy::verify(&trial, &key, &text, &seal)?;
    say(&format!(
        "{}: {count} kits, all as trial file and key give them; the seal is right\n",
        args.list.display()
    ));
    Ok(())
}

fn reveal(args: &RevealArgs) -> Result<(), CliError> {
    let (trial, key) = (args.trial.read()?, KeyFile::read(&args.key_file)?);
    // Before a log is begun for a kit that is not there.
    if let Some(labels) = &trial.kits {
        labels.kit(&args.kit).map_err(CliError::usage)?;
    }
    let (mut log, _) = Log::open(&args.log, &args.operator.name()?)?;
    let arm = pharmacy::reveal(&trial, &key, &args.kit, &args.reason, &mut log)?;
    say(&format!(
        "kit {}: arm {}, {}\nlogged in {}\n",
        args.kit.trim(),
        arm.index(),
        trial.arm_name(arm),
        args.log.display()
    ));
    Ok(())
}
