//! Why a command failed, and its exit code.
//!
//! | code | meaning |
//! |---|---|
//! | 0 | done |
//! | 1 | refused: by the device, or because the log says that it must not be done |
//! | 2 | usage: a wrong argument, trial file, key file or log |
//! | 3 | no device: nothing there, no permission, busy, silent, or not an equipoise device |

use std::fmt;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use equipoise_study::output::say;
use equipoise_study::simulate::SimulateError;
use equipoise_ward::failure::Failure;
use equipoise_ward::records::log::LogError;
use equipoise_ward::records::text::escaped;
use equipoise_ward::records::trial_file::TrialFileError;

/// Why a command failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CliError {
    kind: Kind,
    message: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Refused,
    Usage,
    NoDevice,
}

impl CliError {
    /// The device or the log refused.
    pub fn refused(message: impl fmt::Display) -> Self {
        Self { kind: Kind::Refused, message: message.to_string() }
    }

    /// An argument or a file cannot be used.
    pub fn usage(message: impl fmt::Display) -> Self {
        Self { kind: Kind::Usage, message: message.to_string() }
    }

    /// There is no device.
    pub fn no_device(message: impl fmt::Display) -> Self {
        Self { kind: Kind::NoDevice, message: message.to_string() }
    }

    /// A file cannot be read or written.
    #[must_use]
    pub fn file(path: impl AsRef<Path>, error: &io::Error) -> Self {
        Self::usage(format!("{}: {error}", path.as_ref().display()))
    }

    /// The exit code of the table above.
    #[must_use]
    pub fn exit_code(&self) -> ExitCode {
        ExitCode::from(match self.kind {
            Kind::Refused => 1,
            Kind::Usage => 2,
            Kind::NoDevice => 3,
        })
    }

    const fn name(&self) -> &'static str {
        match self.kind {
            Kind::Refused => "refused",
            Kind::Usage => "usage",
            Kind::NoDevice => "no-device",
        }
    }
}

impl fmt::Display for CliError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&escaped(&self.message))
    }
}

impl std::error::Error for CliError {}

impl From<Failure> for CliError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Refused(text) => Self::refused(text),
            Failure::Usage(text) => Self::usage(text),
            Failure::NoDevice(error) => Self::no_device(error),
        }
    }
}

impl From<TrialFileError> for CliError {
    fn from(error: TrialFileError) -> Self {
        Self::usage(error)
    }
}

impl From<SimulateError> for CliError {
    fn from(error: SimulateError) -> Self {
        Self::usage(error)
    }
}

impl From<LogError> for CliError {
    fn from(error: LogError) -> Self {
        Self::usage(error)
    }
}

/// The exit code of a command. An error goes to standard error, with `json` also to standard output
/// as an object.
#[must_use]
pub fn finish(result: Result<(), CliError>, json: bool) -> ExitCode {
    let Err(error) = result else { return ExitCode::SUCCESS };
    eprintln!("equipoise: {error}");
    if json {
        let line = serde_json::json!({ "error": error.name(), "message": error.to_string() });
        say(&format!("{line}\n"));
    }
    error.exit_code()
}
