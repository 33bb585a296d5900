//! Arguments that several commands share: device, trial file, log, operator, patient, output.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::error::CliError;
use super::staff::ask_pin;
use equipoise::device::auth::Role as KeyRole;
use equipoise::wire::FileDigest;
use equipoise_study::output::say;
use equipoise_ward::bedside::sign::staff_file;
use equipoise_ward::bedside::{Bedside, MAX_OPERATOR};
use equipoise_ward::line::client::Client;
use equipoise_ward::line::link::Port;
use equipoise_ward::own_file::write_private;
use equipoise_ward::records::copies::{Copies, Without};
use equipoise_ward::records::keys::KeyFile;
use equipoise_ward::records::log::{Entry, Log};
use equipoise_ward::records::place;
use equipoise_ward::records::register::Register;
use equipoise_ward::records::signing::{NOBODY, Signer, role_for, verify};
use equipoise_ward::records::staff::Role;
use equipoise_ward::records::text;
use equipoise_ward::records::trial_file::TrialFile;

/// Which device.
#[derive(Clone, Debug, clap::Args)]
pub struct PortArgs {
    /// Serial port, pseudo-terminal or unix socket of the device; `auto` tries the serial ports
    #[arg(long, value_name = "PATH|auto", default_value = "auto")]
    pub port: Port,
}

impl PortArgs {
    /// A client that has not opened its line yet.
    #[must_use]
    pub fn client(&self) -> Client {
        Client::on(self.port.clone())
    }
}

/// Where a command writes its output.
#[derive(Debug, clap::Args)]
pub struct OutputArgs {
    /// File to write; by default standard output
    #[arg(long, short, alias = "output", value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Overwrite the file if it exists
    #[arg(long, requires = "out")]
    pub force: bool,
}

impl OutputArgs {
    /// Writes it there; a file is readable by its owner alone.
    ///
    /// # Errors
    /// The file exists, or cannot be written.
    pub fn write(&self, text: &str) -> Result<(), CliError> {
        let Some(path) = &self.out else {
            say(text);
            return Ok(());
        };
        write_private(path, text, self.force).map_err(|error| CliError::file(path, &error))
    }
}

/// Which trial file, for names.
#[derive(Clone, Debug, clap::Args)]
pub struct TrialArgs {
    /// Trial file; by default the one last provisioned from this machine
    #[arg(long, value_name = "FILE")]
    pub trial: Option<PathBuf>,
}

impl TrialArgs {
    /// The trial file named, or the one last provisioned.
    ///
    /// # Errors
    /// There is none, or it is not valid.
    pub fn read(&self) -> Result<TrialFile, CliError> {
        if let Some(path) = &self.trial {
            return Ok(TrialFile::read(path)?);
        }
        let path = place::trial()?;
        if path.exists() {
            return Ok(TrialFile::read(&path)?);
        }
        Err(CliError::usage(
            "no trial was provisioned from this machine: name its file with --trial",
        ))
    }

    /// The staff file of a trial, if there is one.
    ///
    /// # Errors
    /// There is none, although the trial file names acts to be signed.
    pub fn staff(&self, trial: &TrialFile) -> Result<Option<PathBuf>, CliError> {
        let path = place::staff(FileDigest(trial.digest()), self.trial.as_deref());
        match path {
            Ok(path) => Ok(staff_file(trial, path)?),
            // Without a data folder nothing was provisioned from here, and every file is named.
            Err(_) => Ok(None),
        }
    }

    /// Keeps a second copy of the trial file.
    fn keep_copy(&self, trial: &TrialFile, copies: &Copies) -> Result<(), CliError> {
        let digest = FileDigest(trial.digest());
        let path = self.trial.clone().map_or_else(|| place::trial_copy(digest), Ok)?;
        match copies.keep_trial(&path, digest) {
            Err(error) if copies.without == Without::Stop => Err(error.into()),
            // The log has the same trouble, and tells of it.
            _ => Ok(()),
        }
    }

    /// The same, but by default the copy of the trial file that the device was provisioned with.
    ///
    /// # Errors
    /// There is none, or it is not valid.
    pub fn read_for(&self, client: &mut Client) -> Result<TrialFile, CliError> {
        let named = self.trial.is_some();
        let digest = if named { None } else { client.connect().ok().and_then(|hello| hello.trial) };
        let copy =
            digest.and_then(|name| place::trial_copy(name.file).ok()).filter(|copy| copy.exists());
        copy.map_or_else(|| self.read(), |copy| Ok(TrialFile::read(&copy)?))
    }
}

/// Who works at the terminal.
#[derive(Clone, Debug, clap::Args)]
pub struct OperatorArgs {
    /// Who works at the terminal, for the log; by default the user's name. In a trial with a staff
    /// file the short id of a person, who signs with the PIN on standard input
    #[arg(long, value_name = "NAME", value_parser = operator)]
    operator: Option<String>,
}

impl OperatorArgs {
    /// The id of a person of the staff.
    ///
    /// # Errors
    /// None is named.
    pub fn id(&self) -> Result<String, CliError> {
        self.operator.clone().ok_or_else(|| {
            CliError::usage(
                "the trial has a staff file: say who works with --operator ID, and give the PIN on standard input",
            )
        })
    }

    /// Opens a log for one act of a script outside the bedside, as [`SessionArgs::sign`] does;
    /// `staff` is the trial's staff file.
    ///
    /// # Errors
    /// The log cannot be used, or the operator may not do this.
    pub fn sign(
        &self,
        log: &Path,
        staff: Option<PathBuf>,
        roles: &[Role],
    ) -> Result<(Log, Vec<Entry>), CliError> {
        let Some(staff) = staff else { return open_log(log, &self.name()?) };
        let id = self.id()?;
        let pin = ask_pin(&format!("PIN of {id}"))?;
        let (mut log, entries) = open_log(log, NOBODY)?;
        let register = Register::read(&entries);
        let person = verify(&staff, register.attempts(), &id, &pin, |event| {
            Ok(log.append(event).map(drop)?)
        })?;
        let role = role_for(&person, roles)?;
        log.act_as(&person.operator(), Some(Signer { id: person.id.clone(), role }));
        Ok((log, entries))
    }

    /// The operator named, or the user.
    ///
    /// # Errors
    /// The user's name has characters that are not allowed.
    pub fn name(&self) -> Result<String, CliError> {
        let user = || place::operator().ok_or_else(|| "nobody is named".to_owned());
        let named = self.operator.clone().map_or_else(|| operator(&user()?), Ok);
        named
            .map_err(|why: String| CliError::usage(format!("say who works with --operator: {why}")))
    }
}

/// Opens a log, with its second copy where this machine keeps one.
///
/// # Errors
/// The log or the settings cannot be used.
pub fn open_log(path: &Path, operator: &str) -> Result<(Log, Vec<Entry>), CliError> {
    let (log, entries) = Log::open_with(path, operator, Copies::read()?.as_ref())?;
    warn_without_copy(&log);
    Ok((log, entries))
}

fn warn_without_copy(log: &Log) {
    if let Some(why) = log.copy_trouble() {
        eprintln!("equipoise: WARNING: records are on this disk alone: {why}");
    }
}

fn operator(name: &str) -> Result<String, String> {
    text::check("operator", name, MAX_OPERATOR).map(|()| name.trim().to_owned())
}

/// Which device, trial, log and operator.
#[derive(Clone, Debug, clap::Args)]
pub struct SessionArgs {
    #[command(flatten)]
    device: PortArgs,
    /// Which trial file.
    #[command(flatten)]
    pub trial: TrialArgs,
    /// Log of this terminal; by default one for the trial in the data folder
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// Presence key: ask the board at the start to prove that it is the one that was provisioned
    #[arg(long, value_name = "FILE")]
    presence_key: Option<PathBuf>,
    #[command(flatten)]
    operator: OperatorArgs,
}

impl SessionArgs {
    /// The operator named, or the user.
    ///
    /// # Errors
    /// The user's name has characters that are not allowed.
    pub fn operator(&self) -> Result<String, CliError> {
        self.operator.name()
    }

    /// Opens the log for a view, where people sign in by themselves.
    ///
    /// # Errors
    /// The trial file, the staff file or the log cannot be used.
    pub fn open(&self) -> Result<Bedside, CliError> {
        let mut client = self.device.client();
        let trial = self.trial.read_for(&mut client)?;
        let staff = self.trial.staff(&trial)?;
        let log = self.log.clone().map_or_else(|| place::log(&trial), Ok)?;
        let key = self.presence_key.as_ref();
        let key = key.map(|file| KeyFile::read_for(file, KeyRole::Presence)).transpose()?;
        let operator = if staff.is_some() { NOBODY.to_owned() } else { self.operator.name()? };
        let copies = Copies::read()?;
        if let Some(copies) = &copies {
            self.trial.keep_copy(&trial, copies)?;
        }
        let bedside = Bedside::open_with(client, trial, &log, &operator, copies.as_ref())?;
        warn_without_copy(bedside.log());
        let bedside = bedside.with_presence(key);
        Ok(if staff.is_some() { bedside.with_staff(staff) } else { bedside })
    }
}

impl SessionArgs {
    /// Opens the log for one act of a script. Where there is a staff file, the operator signs it in
    /// one of these roles, with the PIN on standard input.
    ///
    /// # Errors
    /// As [`Self::open`], or the operator may not do this.
    pub fn sign(&self, roles: &[Role]) -> Result<Bedside, CliError> {
        let mut bedside = self.open()?;
        if bedside.staff().is_some() {
            let id = self.operator.id()?;
            let person = bedside.verify(&id, &ask_pin(&format!("PIN of {id}"))?)?;
            let role = role_for(&person, roles)?;
            bedside.act_as(&person, Some(role));
        }
        Ok(bedside)
    }
}

/// How a command names a patient: by code, or by `#` and the number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PatientName {
    /// The ward's code.
    Code(String),
    /// The device's number.
    Number(u32),
}

impl FromStr for PatientName {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let Some(digits) = text.strip_prefix('#') else {
            return Ok(Self::Code(text.trim().to_owned()));
        };
        let number = digits.parse().ok().filter(|number| *number > 0).map(Self::Number);
        number
            .ok_or_else(|| format!("{text:?} is no patient number, allowed # and a number from 1"))
    }
}

impl PatientName {
    /// The patient's number.
    ///
    /// # Errors
    /// The log does not know the code.
    pub fn number(&self, register: &Register) -> Result<u32, CliError> {
        match self {
            Self::Number(number) => Ok(*number),
            Self::Code(code) => register.number(code).ok_or_else(|| {
                CliError::refused(format!(
                    "the log has no patient {code:?}; `#` and a number names a patient without it"
                ))
            }),
        }
    }
}
