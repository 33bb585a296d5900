//! The terminal's subcommands: arguments in, one line or one page out, the exit code of [`super::failure`].

pub mod custodian;
pub mod log;
pub mod ward;

use crate::prelude::*;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use super::bedside::Bedside;
use super::client::Client;
use super::failure::Failure;
use super::link::Port;
use super::place;
use super::trial_file::TrialFile;

/// Which device.
#[derive(Clone, Debug, clap::Args)]
pub struct OnDevice {
    /// Serial port, pseudo-terminal or unix socket of the device; `auto` looks through the serial ports
    #[arg(long, value_name = "PATH|auto", default_value = "auto")]
    pub port: Port,
}

impl OnDevice {
    fn client(&self) -> Client {
        Client::on(self.port.clone())
    }
}

/// Which trial file, for names.
#[derive(Clone, Debug, clap::Args)]
pub struct OfTrial {
    /// Trial file; by default the one last provisioned from this machine
    #[arg(long, value_name = "FILE")]
    pub trial: Option<PathBuf>,
}

impl OfTrial {
    /// The trial file named, or the one last provisioned.
    fn read(&self) -> Result<TrialFile, Failure> {
        if let Some(path) = &self.trial {
            return Ok(TrialFile::read(path)?);
        }
        let path = place::trial()?;
        if path.exists() {
            return Ok(TrialFile::read(&path)?);
        }
        Err(Failure::Usage(
            "no trial was provisioned from this machine: name its file with --trial".to_owned(),
        ))
    }
}

/// Which device, trial, log and operator.
#[derive(Clone, Debug, clap::Args)]
pub struct AtWork {
    #[command(flatten)]
    device: OnDevice,
    #[command(flatten)]
    trial: OfTrial,
    /// Log of this terminal; by default one for the trial in the data folder
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// Who sits at the terminal, for the log; by default the user's name
    #[arg(long, value_name = "NAME")]
    operator: Option<String>,
}

impl AtWork {
    fn open(&self) -> Result<Bedside, Failure> {
        let trial = self.trial.read()?;
        let log = self.log.clone().map_or_else(|| place::log(&trial), Ok)?;
        let operator = self.operator.clone().unwrap_or_else(place::operator);
        Bedside::open(self.device.client(), trial, &log, &operator)
    }
}

/// Writes to standard output; a reader that went away is no error.
pub fn say(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// The exit code of a command, after telling what went wrong: on standard error, with `json` also as an object.
#[must_use]
pub fn finish(result: Result<(), Failure>, json: bool) -> ExitCode {
    let Err(failure) = result else { return ExitCode::SUCCESS };
    eprintln!("equipoise: {failure}");
    if json {
        let kind = match &failure {
            Failure::Refused(_) => "refused",
            Failure::Usage(_) => "usage",
            Failure::NoDevice(_) => "no-device",
        };
        say(&(serde_json::json!({ "error": kind, "message": failure.to_string() }).to_string() + "\n"));
    }
    failure.exit_code()
}
