//! The record of a qualification: each check with what was expected and what was found. It is
//! written after every stage, so that an interrupted qualification goes on where it stopped.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::bench::Trouble;
use crate::failure::Failure;
use crate::own_file::write_private;

/// Version of the file.
const FORMAT: u32 = 1;
/// Name of the file in the folder.
pub const FILE: &str = "qualification.json";

/// Result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// As expected.
    Passed,
    /// Not as expected.
    Failed,
    /// It does not apply to this device, or was not asked for.
    NotApplicable,
}

impl Verdict {
    /// The verdict in words.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "FAILED",
            Self::NotApplicable => "not applicable",
        }
    }
}

/// One check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// Its id: the first letter of its part, and a number.
    pub id: String,
    /// Expectation.
    pub expected: String,
    /// Finding.
    pub found: String,
    /// Result.
    pub verdict: Verdict,
    /// UTC.
    pub time: String,
}

/// A fact about the device or this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fact {
    /// Its subject.
    pub name: String,
    /// Its value.
    pub value: String,
}

/// A qualification, finished or not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    format: u32,
    /// When it began, UTC.
    pub began: String,
    /// When it ended; none before it did.
    pub ended: Option<String>,
    /// Facts, in order.
    pub facts: Vec<Fact>,
    /// Stages that are done.
    pub stages: Vec<String>,
    /// Checks, in order.
    pub checks: Vec<Check>,
}

impl Record {
    /// The record in a folder, or a new one.
    ///
    /// # Errors
    /// The file is there and cannot be read, or holds something else.
    pub fn open(folder: &Path) -> Result<Self, Failure> {
        let path = folder.join(FILE);
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Self { format: FORMAT, began: now(), ..Self::default() });
            }
            Err(error) => return Err(Failure::file(&path, &error)),
        };
        let record: Self = serde_json::from_str(&text).map_err(|error| {
            Failure::Usage(format!("{}: no record of a qualification: {error}", path.display()))
        })?;
        if record.format == FORMAT {
            return Ok(record);
        }
        Err(Failure::Usage(format!(
            "{}: format {}, allowed {FORMAT}",
            path.display(),
            record.format
        )))
    }

    /// Writes the record to its folder.
    ///
    /// # Errors
    /// The disk refused.
    pub fn save(&self, folder: &Path) -> Result<(), Failure> {
        let path = folder.join(FILE);
        let text = serde_json::to_string_pretty(self)
            .map_err(|error| Failure::Usage(format!("{}: {error}", path.display())))?;
        write_private(&path, text + "\n", true).map_err(|error| Failure::file(&path, &error))
    }

    /// Notes a fact; a new value replaces an old one.
    pub fn fact(&mut self, name: &str, value: impl Into<String>) {
        let value = value.into();
        match self.facts.iter_mut().find(|fact| fact.name == name) {
            Some(fact) => fact.value = value,
            None => self.facts.push(Fact { name: name.to_owned(), value }),
        }
    }

    /// The value of a fact.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<&str> {
        self.facts.iter().find(|fact| fact.name == name).map(|fact| fact.value.as_str())
    }

    /// Notes the result of a check. A device that is gone ends the stage.
    ///
    /// # Errors
    /// The device is gone.
    pub fn check(
        &mut self,
        id: &str,
        expected: &str,
        result: Result<String, Trouble>,
    ) -> Result<(), Failure> {
        let (found, verdict) = match result {
            Ok(found) => (found, Verdict::Passed),
            Err(Trouble::Finding(found)) => (found, Verdict::Failed),
            Err(Trouble::Gone(error)) => return Err(Failure::NoDevice(error)),
        };
        self.note(id, expected, found, verdict);
        Ok(())
    }

    /// Notes a check that does not apply, with the reason.
    pub fn not_applicable(&mut self, id: &str, expected: &str, why: &str) {
        self.note(id, expected, why.to_owned(), Verdict::NotApplicable);
    }

    fn note(&mut self, id: &str, expected: &str, found: String, verdict: Verdict) {
        let (id, expected) = (id.to_owned(), expected.to_owned());
        eprintln!("{id:<5} {:<15} {expected}", verdict.name());
        // A stage that was interrupted is done again as a whole.
        self.checks.retain(|check| check.id != id);
        self.checks.push(Check { id, expected, found, verdict, time: now() });
    }

    /// Checks with a verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.checks.iter().filter(|check| check.verdict == verdict).count()
    }

    /// Whether no check failed.
    #[must_use]
    pub fn has_passed(&self) -> bool {
        !self.checks.is_empty() && self.count(Verdict::Failed) == 0
    }
}

/// The time, UTC, to the second.
#[must_use]
pub fn now() -> String {
    let now = jiff::Timestamp::now();
    jiff::Timestamp::from_second(now.as_second()).unwrap_or(now).to_string()
}
