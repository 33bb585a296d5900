//! Why the terminal could not do what was asked, in words.

use std::fmt;

use crate::line::link::LinkError;
use crate::records::log::LogError;
use crate::records::trial_file::TrialFileError;
use equipoise::wire::Word;

/// Why the terminal could not do what was asked.
#[derive(Debug)]
pub enum Failure {
    /// The device or the log refused.
    Refused(String),
    /// An argument or a file cannot be used.
    Usage(String),
    /// The device cannot be reached.
    NoDevice(LinkError),
}

impl Failure {
    /// A failure to read or write a file.
    #[must_use]
    pub fn file(path: &std::path::Path, error: &std::io::Error) -> Self {
        Self::Usage(format!("{}: {error}", path.display()))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(text) | Self::Usage(text) => f.write_str(text),
            Self::NoDevice(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Failure {}

impl From<TrialFileError> for Failure {
    fn from(error: TrialFileError) -> Self {
        Self::Usage(error.to_string())
    }
}

impl From<LogError> for Failure {
    fn from(error: LogError) -> Self {
        Self::Usage(error.to_string())
    }
}

impl From<LinkError> for Failure {
    fn from(error: LinkError) -> Self {
        Self::NoDevice(error)
    }
}

/// Meaning of a refusal for the person at the bedside; `detail` comes from the device.
#[must_use]
pub fn in_words(word: Word, detail: &str) -> String {
    let meaning = match word {
        Word::Checksum | Word::Syntax | Word::Length => {
            "the line is disturbed, the device could not read the request"
        }
        Word::Order => "another terminal enrolled a patient in between",
        Word::Feature => "the trial on the device has no such kind of patient",
        Word::Range => "a value is outside of what the trial allows",
        Word::Unknown => "the device knows no patient of this number",
        Word::Full if detail.starts_with("waiting") => {
            "too many patients are waiting: enter outcomes or losses before the next patient"
        }
        Word::Full => "every patient of the plan is enrolled",
        Word::Kits => "the device has no replacement kit for this patient",
        Word::Early => "there is no estimate yet: the report comes when the trial is closed",
        Word::Closed => "the trial is closed",
        Word::Blank => "the device holds no trial: the custodian must provision it first",
        Word::Locked if detail.starts_with("trial") => "the device already holds a trial",
        Word::Locked => {
            "three wrong proofs: custodian commands are off until the device is powered up again"
        }
        Word::Auth => "the device does not accept this custodian's key",
        Word::Budget => "the plan costs more privacy than the device has left in its lifetime",
        Word::Storage => {
            "the device's memory failed: power it down and up; if it says so again, replace it"
        }
        Word::Entropy => "the device's source of randomness failed its test: it must not be used",
        Word::Foreign => {
            "the device holds a trial of another firmware version: only that firmware can go on with it"
        }
    };
    if detail.is_empty() {
        format!("{meaning} ({})", word.name())
    } else {
        format!("{meaning} ({}: {detail})", word.name())
    }
}
