//! `equipoise kits list`, `verify`, `cards` and `reveal`: the pharmacy of a blinded trial. No
//! device is needed.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::error::CliError;
use super::session::{OperatorArgs, OutputArgs, TrialArgs};
use equipoise::device::auth::Role as KeyRole;
use equipoise_study::output::{check_file, say};
use equipoise_ward::own_file::write_private;
use equipoise_ward::records::cards::{self, Cards};
use equipoise_ward::records::code_break;
use equipoise_ward::records::keys::KeyFile;
use equipoise_ward::records::log::{self, Entry};
use equipoise_ward::records::pharmacy::{self, KitList};
use equipoise_ward::records::place;
use equipoise_ward::records::register::Register;
use equipoise_ward::records::staff::Role;
use equipoise_ward::records::tie::same_trial;
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
    /// Print sealed cards for emergencies: the kit outside, the arm under a flap; a page for each
    /// six
    ///
    /// A web page to print on one side of A4. Anybody with this file can unblind every patient:
    /// print it, delete it, fold and tape the cards.
    Cards(CardsArgs),
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

/// `equipoise kits cards`
#[derive(Debug, clap::Args)]
pub struct CardsArgs {
    /// Trial file of the blinded trial
    trial: PathBuf,
    /// The code-break key, or the custodian's
    #[arg(long, value_name = "FILE")]
    key_file: PathBuf,
    /// Log of the ward: only the kits that its patients were given, with their codes outside
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// The pharmacy's list, whose seal shows that the key is right
    #[arg(long, value_name = "FILE")]
    list: Option<PathBuf>,
    #[command(flatten)]
    output: OutputArgs,
}

/// `equipoise kits reveal`
#[derive(Debug, clap::Args)]
pub struct RevealArgs {
    /// The patient's code, `#` and the patient's number, or the label of the kit
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
    /// Log of the ward, which knows who was given the kit; by default the one of --log if it has
    /// patients, or else the one for the trial in the data folder
    #[arg(long, value_name = "FILE")]
    ward_log: Option<PathBuf>,
    /// Name the arm of a kit although no log says who was given it
    #[arg(long)]
    not_in_log: bool,
    /// The pharmacy's list, whose seal shows that the key is right
    #[arg(long, value_name = "FILE")]
    list: Option<PathBuf>,
    #[command(flatten)]
    trial: TrialArgs,
    #[command(flatten)]
    operator: OperatorArgs,
}

impl RevealArgs {
    /// Lines of the ward's log; none if there is no log.
    fn ward_entries(&self, trial: &TrialFile) -> Result<(PathBuf, Vec<Entry>), CliError> {
        let read = |path: &Path| {
            Ok::<_, CliError>(if path.exists() { log::verify(path, None)?.1 } else { Vec::new() })
        };
        if let Some(path) = &self.ward_log {
            return Ok((path.clone(), log::verify(path, None)?.1));
        }
        let entries = read(&self.log)?;
        if Register::read(&entries).patients().next().is_some() {
            return Ok((self.log.clone(), entries));
        }
        let usual = place::log(trial)?;
        Ok((usual.clone(), read(&usual)?))
    }
}

/// Runs one of them.
///
/// # Errors
/// A file cannot be used, no such kit, or a list that is not right.
pub fn run(command: &KitsCommand) -> Result<(), CliError> {
    match command {
        KitsCommand::List(args) => list(args),
        KitsCommand::Verify(args) => verify(args),
        KitsCommand::Cards(args) => print_cards(args),
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
    let (trial, key) =
        (TrialFile::read(&args.trial)?, KeyFile::read_for(&args.key_file, KeyRole::CodeBreak)?);
    let OutputArgs { out, force } = &args.output;
    let files = out.as_ref().map(|list| [list.clone(), seal_path(list)]);
    for file in files.iter().flatten() {
        check_file(file, *force).map_err(|error| CliError::file(file, &error))?;
    }
    code_break::not_another_key(&key, &trial, &[])?;
    let KitList { text, seal, count } = pharmacy::list(&trial, &key)?;
    let Some([list, seal_file]) = files else {
        say(&text);
        eprint!("{seal}");
        return Ok(());
    };
    for (file, bytes) in [(&list, &text), (&seal_file, &seal)] {
        write_private(file, bytes, *force).map_err(|error| CliError::file(file, &error))?;
    }
    let place = trial.kits.as_ref().map_or(String::new(), |kits| format!(", for {}", kits.place()));
    say(&format!(
        "{}: {count} kits, {} of each arm{place}; its seal is in {}\n\
         Anybody with this list can unblind every patient.\n",
        list.display(),
        count / 2,
        seal_file.display()
    ));
    Ok(())
}

fn verify(args: &VerifyArgs) -> Result<(), CliError> {
    let (trial, key) = (args.trial.read()?, KeyFile::read_for(&args.key_file, KeyRole::CodeBreak)?);
    code_break::not_another_key(&key, &trial, &[])?;
    let count = verify_list(&args.list, &trial, &key)?;
    say(&format!(
        "{}: {count} kits, all as trial file and key give them; the seal is right\n",
        args.list.display()
    ));
    Ok(())
}

/// Compares a list and its seal with trial file and key; how many kits it has.
fn verify_list(list: &Path, trial: &TrialFile, key: &KeyFile) -> Result<u32, CliError> {
    let read =
        |path: &Path| std::fs::read_to_string(path).map_err(|error| CliError::file(path, &error));
    let (text, seal) = (read(list)?, read(&seal_path(list))?);
    Ok(pharmacy::verify(trial, key, &text, &seal)?)
}

fn print_cards(args: &CardsArgs) -> Result<(), CliError> {
    let (trial, key) =
        (TrialFile::read(&args.trial)?, KeyFile::read_for(&args.key_file, KeyRole::CodeBreak)?);
    let OutputArgs { out, force } = &args.output;
    if let Some(file) = out {
        check_file(file, *force).map_err(|error| CliError::file(file, &error))?;
    }
    let entries = args.log.as_ref().map(|log| log::verify(log, None)).transpose()?;
    let entries = entries.map(|(_, entries)| entries);
    let register = entries.as_ref().map(|entries| Register::read(entries));
    if let (Some(register), Some(log)) = (&register, &args.log) {
        same_trial(register, &trial, log)?;
    }
    if let Some(list) = &args.list {
        verify_list(list, &trial, &key)?;
    }
    let entries = entries.unwrap_or_default();
    code_break::same_key(&key, &trial, &entries, args.list.is_some())?;
    let Cards { html, count, pages } = cards::cards(&trial, &key, register.as_ref())?;
    let Some(file) = out else {
        say(&html);
        return Ok(());
    };
    write_private(file, &html, *force).map_err(|error| CliError::file(file, &error))?;
    say(&format!(
        "{}: {count} cards on {pages} pages. Print them from a browser on one side of A4.\n\
         Anybody with this file can unblind every patient: delete it once the cards are printed.\n",
        file.display()
    ));
    Ok(())
}

fn reveal(args: &RevealArgs) -> Result<(), CliError> {
    let (trial, key) = (args.trial.read()?, KeyFile::read_for(&args.key_file, KeyRole::CodeBreak)?);
    let (ward_log, mut entries) = args.ward_entries(&trial)?;
    let register = Register::read(&entries);
    same_trial(&register, &trial, &ward_log)?;
    let asked = code_break::asked(&trial, &register, &args.kit, args.not_in_log)?;
    if args.log.exists() && args.log != ward_log {
        entries.extend(log::verify(&args.log, None)?.1);
    }
    if let Some(list) = &args.list {
        verify_list(list, &trial, &key)?;
    }
    code_break::same_key(&key, &trial, &entries, args.list.is_some())?;
    let staff = args.trial.staff(&trial)?;
    let (mut log, _) = args.operator.sign(&args.log, staff, &[Role::Unblind])?;
    let (arm, _) =
        pharmacy::reveal(&trial, &key, &asked, &args.reason, |event| Ok(log.append(event)?))?;
    let id = register.opened().map_or("not in a log", |opened| opened.trial.as_str());
    let patient = asked.patient.as_ref().map_or_else(
        || "not in a log".to_owned(),
        |(code, number)| format!("{code}, number {number}"),
    );
    say(&format!(
        "trial    {:?}, id {id}\npatient  {patient}\nkit      {}\narm      {}, {}\nlogged in {}\n",
        trial.title,
        trial.kit_label(asked.kit),
        arm.index(),
        trial.arm_name(arm),
        args.log.display()
    ));
    Ok(())
}
