//! `keygen`, `provision`, `close` and `erase`.

use std::path::{Path, PathBuf};

use clap::builder::TypedValueParser;

use super::check::{self, Size};
use super::error::CliError;
use super::session::{OperatorArgs, PortArgs, open_log};
use super::values::named;
use equipoise::device::auth::Role;
use equipoise::wire::{Claim, FileDigest, Request, State, Status};
use equipoise_audit::finding::DP_CONSE;
use equipoise_study::output::say;
use equipoise_ward::bedside::failure;
use equipoise_ward::failure::Failure;
use equipoise_ward::line::client::Client;
use equipoise_ward::line::custodian;
use equipoise_ward::own_file::write_private;
use equipoise_ward::records::code_break;
use equipoise_ward::records::copies::{self, Copies, Without};
use equipoise_ward::records::key_check;
use equipoise_ward::records::keys::KeyFile;
use equipoise_ward::records::log::Event;
use equipoise_ward::records::place;
use equipoise_ward::records::staff::{self, Staff};
use equipoise_ward::records::trial_file::TrialFile;

/// `equipoise keygen`
#[derive(Debug, clap::Args)]
pub struct KeygenArgs {
    /// File to make, readable by its owner alone
    file: PathBuf,
    /// The key of a role instead of a custodian's: report, presence or code-break
    #[arg(long, value_parser = role(), requires = "from")]
    role: Option<Role>,
    /// The custodian's key from which that of the role follows
    #[arg(long, value_name = "FILE", requires = "role")]
    from: Option<PathBuf>,
    /// Also write the key to SHEET, for paper: delete it once it is printed
    #[arg(long, value_name = "SHEET", conflicts_with = "role")]
    print: Option<PathBuf>,
}

fn role() -> impl TypedValueParser<Value = Role> {
    named(Role::ALL, Role::name)
}

/// Draws a custodian's key.
///
/// # Errors
/// The file or the sheet exists, or cannot be written.
pub fn keygen(args: &KeygenArgs) -> Result<(), CliError> {
    if let (Some(role), Some(from)) = (args.role, &args.from) {
        let key = KeyFile::read(from)?.hand_on(role, &args.file)?;
        let right = match role {
            Role::Report => "ask for reports and check them",
            Role::Presence => "see that a device holds the key",
            Role::CodeBreak => "tell which kit is of which arm",
        };
        say(&format!(
            "{} holds the {} key, check value {}. Its holder can {right}, and nothing else.\n",
            args.file.display(),
            role.name(),
            key.check_value()
        ));
        return Ok(());
    }
    if let Some(sheet) = args.print.as_ref().filter(|sheet| sheet.exists()) {
        return Err(CliError::usage(format!("{}: exists; nothing was made", sheet.display())));
    }
    let key = KeyFile::generate(&args.file)?;
    let file = args.file.display();
    say(&format!(
        "{file} holds a new key. Keep a copy in a safe place: without it a trial cannot be closed.\n"
    ));
    if let Some(path) = &args.print {
        write_private(path, key.sheet().as_bytes(), false)
            .map_err(|error| Failure::file(path, &error))?;
        let sheet = path.display();
        say(&format!(
            "{sheet} is the key for paper. Print it twice, seal both sheets, keep them in two places, and delete \
             {sheet}. Back into a file: equipoise key read SHEET --out FILE\n"
        ));
    }
    Ok(())
}

/// `equipoise key`
#[derive(Debug, clap::Args)]
pub struct KeyArgs {
    #[command(subcommand)]
    command: KeyCommand,
}

#[derive(Debug, clap::Subcommand)]
enum KeyCommand {
    /// Show role and check value of a key, never the key itself
    Show {
        /// A key file
        file: PathBuf,
    },
    /// Ask a device to prove that it holds the key
    Prove {
        /// The presence key or the custodian's
        file: PathBuf,
        #[command(flatten)]
        device: PortArgs,
    },
    /// Bring the custodian's key back from its sheet of paper
    Read {
        /// File with the nine lines of the sheet or the text of its QR code; `-` for standard
        /// input
        sheet: PathBuf,
        /// Key file to make, readable by its owner alone
        #[arg(long, value_name = "FILE")]
        out: PathBuf,
    },
}

/// Shows a key's check value, asks a device to prove that it holds the key, or brings the key back
/// from paper.
///
/// # Errors
/// A file that holds no such key, mistakes on a sheet, no device, or a device that does not hold
/// it.
pub fn key(args: &KeyArgs) -> Result<(), CliError> {
    match &args.command {
        KeyCommand::Read { sheet, out } => {
            KeyFile::from_sheet(sheet, out)?;
            say(&format!("{} holds the key of the sheet.\n", out.display()));
        }
        KeyCommand::Show { file } => {
            let key = KeyFile::read_any(file)?;
            let role = key.role().map_or("custodian", Role::name);
            say(&format!("role         {role}\ncheck value  {}\n", key.check_value()));
        }
        KeyCommand::Prove { file, device } => {
            let key = KeyFile::read_for(file, Role::Presence)?;
            let mut client = device.client();
            key_check::same_key_on(&mut client, &key, None)?;
            if !custodian::prove(&mut client, &key)? {
                return Err(CliError::refused(
                    "the device holds another key: it is not the one that was provisioned with this key, or its key was \
                     changed",
                ));
            }
            say(
                "The device holds the key. As far as its lock holds, it is the one that was provisioned.\n",
            );
        }
    }
    Ok(())
}

/// The custodian's key, and a log for custodian commands.
#[derive(Debug, clap::Args)]
pub struct CustodianArgs {
    #[command(flatten)]
    device: PortArgs,
    /// The custodian's key, as `equipoise keygen` made it
    #[arg(long, value_name = "FILE")]
    key_file: PathBuf,
    /// Log to note the command in
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    #[command(flatten)]
    operator: OperatorArgs,
}

impl CustodianArgs {
    /// The key, which is not another one than the device's trial was begun with.
    fn key(&self, client: &mut Client) -> Result<KeyFile, CliError> {
        let key = KeyFile::read(&self.key_file)?;
        key_check::same_key_on(client, &key, self.log.as_deref())?;
        self.check_copy()?;
        Ok(key)
    }

    /// Checks that the log's line about the act will have its second copy, before the act is done:
    /// it cannot be taken back.
    fn check_copy(&self) -> Result<(), CliError> {
        let copies = if self.log.is_some() { Copies::read()? } else { None };
        match copies.filter(|copies| copies.without == Without::Stop) {
            Some(Copies { folder, .. }) => Ok(copies::check_folder(&folder)
                .map_err(|why| Failure::Usage(format!("{why}; nothing was sent")))?),
            None => Ok(()),
        }
    }

    fn note(&self, asked: &str, answered: &str) -> Result<(), CliError> {
        let Some(path) = &self.log else { return Ok(()) };
        let (mut log, _) = open_log(path, &self.operator.name()?)?;
        log.append(Event::Custodian { asked: asked.to_owned(), answered: answered.to_owned() })?;
        Ok(())
    }
}

/// `equipoise provision`
#[derive(Debug, clap::Args)]
pub struct ProvisionArgs {
    /// Trial file with plan and names
    trial: PathBuf,
    /// Begin a blinded trial although its kit numbers were used before: only if none was given
    #[arg(long)]
    same_kits: bool,
    #[command(flatten)]
    custodian: CustodianArgs,
}

/// Begins a trial on a blank device.
///
/// # Errors
/// Refused, a trial file or key that cannot be used, or no device.
pub fn provision(args: &ProvisionArgs) -> Result<(), CliError> {
    let trial = TrialFile::read(&args.trial)?;
    trial.check_new().map_err(|why| CliError::usage(format!("{}: {why}", args.trial.display())))?;
    let size = trial.expect.map(|expect| check::size(&trial.plan, expect)).transpose()?;
    if let Some(Size { text, too_small: true }) = &size {
        let warnings = text.lines().filter(|line| line.starts_with("WARNING"));
        warnings.for_each(|warning| eprintln!("{warning}"));
    }
    let key = KeyFile::read(&args.custodian.key_file)?;
    let file = FileDigest(trial.digest());
    // The same trial file and key give the same kit numbers.
    let begun_before = place::trial_copy(file).is_ok_and(|copy| copy.exists());
    if trial.kits.is_some() && begun_before && !args.same_kits {
        return Err(CliError::usage(
            "a blinded trial with this trial file was begun before, and would give the same kit numbers again: raise \
             use in [kits] and make a list for it, or if no kit was ever given say --same-kits; nothing was sent",
        ));
    }
    args.custodian.check_copy()?;
    let begun = custodian::provision(&mut args.custodian.device.client(), &trial.plan, file, &key)?;
    let name = begun.trial;
    let mut answered =
        format!("OK trial={name} claim={} {}", begun.claim.name(), key_check::logged(&key));
    if let Err(error) = key_check::remember(&key, name) {
        eprintln!("equipoise: no record of the keys' check values was kept ({error})");
    }
    if trial.kits.is_some() {
        answered += &format!(" {}", code_break::logged(&key, file));
        if let Err(error) = code_break::remember(&key, file) {
            eprintln!("equipoise: no record of the key's check value was kept ({error})");
        }
    }
    args.custodian.note(&Request::Plan { plan: trial.plan, file }.to_string(), &answered)?;
    if let Err(error) = keep_copy(&args.trial, file) {
        eprintln!("equipoise: no copy of the trial file was kept ({error}): name it with --trial");
    }
    let second = Copies::read()
        .and_then(|copies| copies.map_or(Ok(()), |copies| copies.keep_trial(&args.trial, file)));
    if let Err(error) = second {
        eprintln!("equipoise: the trial file has no second copy yet ({error})");
    }
    let claim = match begun.claim {
        Claim::Pure => "private by proof: no patient costs more than epsilon, delta = 0",
        Claim::Unproven => "privacy NOT proven",
    };
    say(&format!(
        "The trial {:?} has begun.\n  {}\n  {}.\n  trial {name}, digest {file}\n  {claim}\n",
        trial.title,
        trial.plan,
        trial.direction()
    ));
    if begun.claim == Claim::Unproven {
        say(&format!("{DP_CONSE}\n"));
    }
    Ok(())
}

/// Keeps the trial file for terminals on this machine.
fn keep_copy(trial: &Path, digest: FileDigest) -> Result<(), CliError> {
    for copy in [place::trial_copy(digest)?, place::trial()?] {
        let folder = copy.parent().map_or(Ok(()), std::fs::create_dir_all);
        folder
            .and_then(|()| std::fs::copy(trial, &copy))
            .map_err(|error| Failure::file(&copy, &error))?;
    }
    // The staff goes with the trial file, unless this machine has its own already.
    let [named, kept] = [staff::beside(trial), staff::beside(&place::trial_copy(digest)?)];
    if let Some(staff) = Staff::read(&named)?.filter(|_| !kept.exists()) {
        staff.write(&kept)?;
    }
    Ok(())
}

/// `equipoise close`
#[derive(Debug, clap::Args)]
pub struct CloseArgs {
    #[command(flatten)]
    custodian: CustodianArgs,
    /// Close the trial for good; without it the command only says what would happen
    #[arg(long)]
    yes: bool,
}

/// Closes the trial.
///
/// # Errors
/// Not confirmed, refused, or no device.
pub fn close(args: &CloseArgs) -> Result<(), CliError> {
    let mut client = args.custodian.device.client();
    let key = args.custodian.key(&mut client)?;
    let status = trial_on(&mut client)?;
    if state(&mut client)? == State::Closed {
        say("The trial was closed before; nothing changed. Its estimates: equipoise report\n");
        return Ok(());
    }
    let consequences = closing(&status);
    if !args.yes {
        return Err(CliError::usage(format!(
            "{consequences}Nothing was done. To close the trial: --yes"
        )));
    }
    say(&consequences);
    custodian::close(&mut client, &key)?;
    args.custodian.note("CLOSE", "OK")?;
    say("The trial is closed. Its estimates: equipoise report\n");
    Ok(())
}

/// Consequences of a close, in words.
fn closing(status: &Status) -> String {
    let (Status { patients, assigned, .. }, waiting) = (status, status.waiting());
    let lost = match waiting {
        0 => "Nobody is waiting for an outcome.".to_owned(),
        1 => "Waiting for an outcome: 1 patient, who will count as lost.".to_owned(),
        _ => format!("Waiting for an outcome: {waiting} patients, who will count as lost."),
    };
    let mut text = format!(
        "Closing the trial cannot be taken back. Enrolled: {assigned} of {patients} patients. {lost}\n"
    );
    if assigned < patients {
        let rest = patients.saturating_sub(*assigned);
        text += &format!(
            "The trial is not full: closing it now gives up {rest} patients, and the estimates will be less exact \
             than planned.\n"
        );
    }
    text
}

/// The public facts of the trial; an error if there is none.
fn trial_on(client: &mut Client) -> Result<Status, CliError> {
    match state(client)? {
        State::Blank => Err(CliError::refused("the device holds no trial; nothing changed")),
        _ => Ok(client.status().map_err(failure)?),
    }
}

fn state(client: &mut Client) -> Result<State, CliError> {
    Ok(client.hello().map_err(failure)?.state)
}

/// `equipoise erase`
#[derive(Debug, clap::Args)]
pub struct EraseArgs {
    #[command(flatten)]
    custodian: CustodianArgs,
    /// Erase the trial for good; without it the command only says what would happen
    #[arg(long)]
    yes: bool,
}

/// Wipes the trial from the device.
///
/// # Errors
/// Not confirmed, refused, or no device.
pub fn erase(args: &EraseArgs) -> Result<(), CliError> {
    let mut client = args.custodian.device.client();
    let key = args.custodian.key(&mut client)?;
    let status = trial_on(&mut client)?;
    let running = state(&mut client)? != State::Closed;
    let (Status { patients, assigned, .. }, waiting) = (status, status.waiting());
    let loss = if running {
        "The trial is still RUNNING: all its outcomes and any estimate will be gone"
    } else {
        "Its report will be gone: save it first (equipoise report)"
    };
    let consequences = format!(
        "Erasing the trial cannot be taken back. Enrolled: {assigned} of {patients} patients. Waiting for an outcome: \
         {waiting}. {loss}. The privacy it spent stays spent.\n"
    );
    if !args.yes {
        return Err(CliError::usage(format!(
            "{consequences}Nothing was done. To erase the trial: --yes"
        )));
    }
    say(&consequences);
    custodian::erase(&mut client, &key)?;
    args.custodian.note("ERASE", "OK")?;
    say("The trial is erased. The device keeps the custodian's key and the privacy spent.\n");
    Ok(())
}
