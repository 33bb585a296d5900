//! The register: which patient code is which patient, read from the log.
//!
//! It is a fold over the log's lines and nothing else, so that a terminal that starts again knows what the one
//! before it knew: who waits for an outcome, which codes are used, and which enrolment was asked but not
//! answered. At most one enrolment is pending at a time; until it is settled no other is begun.

use crate::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::log::{Entry, Event};
use crate::design::Arm;

/// Longest patient code.
pub const MAX_CODE: usize = 24;

/// A patient with a number and an arm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patient {
    /// The code the ward uses.
    pub code: String,
    /// The number the device knows.
    pub number: u32,
    /// Kind of patient.
    pub feature: u8,
    /// What the device answered.
    pub arm: Arm,
    /// When it did.
    pub since: Timestamp,
}

/// An enrolment that was asked for and not yet answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pending {
    /// The code the ward uses.
    pub code: String,
    /// The number asked for.
    pub number: u32,
    /// Kind of patient.
    pub feature: u8,
    /// Tells a repeat of this request from another terminal's.
    pub tag: u32,
}

/// What the log says about the patients.
#[derive(Clone, Debug, Default)]
pub struct Register {
    opened: Option<(String, String)>,
    waiting: BTreeMap<u32, Patient>,
    codes: BTreeMap<String, u32>,
    resolved: BTreeSet<u32>,
    pending: Option<Pending>,
    last: u32,
}

impl Register {
    /// Reads all lines of a log.
    #[must_use]
    pub fn read(entries: &[Entry]) -> Self {
        let mut register = Self::default();
        entries.iter().for_each(|entry| register.apply(entry));
        register
    }

    /// Takes one more line.
    pub fn apply(&mut self, entry: &Entry) {
        match &entry.event {
            Event::Opened { title, plan } => self.opened = Some((title.clone(), plan.clone())),
            Event::Enrol { code, patient, feature, tag, .. } => {
                let tag = u32::from_str_radix(tag, 16).unwrap_or_default();
                let (code, feature) = (code.clone(), *feature);
                self.pending = Some(Pending { code, number: *patient, feature, tag });
            }
            Event::Arm { code, patient, feature, arm, .. } => {
                let since = entry.time.parse().unwrap_or_default();
                let (number, feature, arm) = (*patient, *feature, Arm::from_bit(*arm == 1));
                self.give(code, number);
                self.waiting.insert(number, Patient { code: code.clone(), number, feature, arm, since });
                self.pending = None;
            }
            Event::Refused { .. } => self.pending = None,
            Event::Unclear { code, patient, .. } => {
                self.give(code, *patient);
                self.pending = None;
            }
            Event::Outcome { patient, answered, .. } | Event::Lost { patient, answered, .. } => {
                if answered.starts_with("OK") {
                    self.waiting.remove(patient);
                    self.resolved.insert(*patient);
                }
            }
            Event::Custodian { .. } | Event::Recovered { .. } => {}
        }
    }

    fn give(&mut self, code: &str, number: u32) {
        self.codes.insert(code.to_owned(), number);
        self.last = self.last.max(number);
    }

    /// Title and plan of the trial the log is for.
    #[must_use]
    pub fn opened(&self) -> Option<(&str, &str)> {
        self.opened.as_ref().map(|(title, plan)| (title.as_str(), plan.as_str()))
    }

    /// Patients whose outcome has not come, the longest waiting first.
    pub fn waiting(&self) -> impl Iterator<Item = &Patient> {
        self.waiting.values()
    }

    /// The patient of this number, while the outcome is waited for.
    #[must_use]
    pub fn waiting_patient(&self, number: u32) -> Option<&Patient> {
        self.waiting.get(&number)
    }

    /// The number of a code that was enrolled.
    #[must_use]
    pub fn number(&self, code: &str) -> Option<u32> {
        self.codes.get(code).copied()
    }

    /// The code of a number.
    #[must_use]
    pub fn code(&self, number: u32) -> Option<&str> {
        let waiting = self.waiting.get(&number).map(|patient| patient.code.as_str());
        let known = || self.codes.iter().find(|(_, known)| **known == number).map(|(code, _)| code.as_str());
        waiting.or_else(known)
    }

    /// Was this patient's outcome handed over or declared lost?
    #[must_use]
    pub fn resolved(&self, number: u32) -> bool {
        self.resolved.contains(&number)
    }

    /// The enrolment that has no answer yet.
    #[must_use]
    pub const fn pending(&self) -> Option<&Pending> {
        self.pending.as_ref()
    }

    /// The largest number any patient of this log has.
    #[must_use]
    pub const fn last_number(&self) -> u32 {
        self.last
    }
}

/// Checks a patient code: 1 to 24 letters, digits, `-`, `_`, `.` or `/`.
///
/// # Errors
/// A sentence with the code and what is allowed.
pub fn check_code(code: &str) -> Result<(), String> {
    let good = |c: char| c.is_alphanumeric() || "-_./".contains(c);
    if code.is_empty() || code.chars().count() > MAX_CODE || !code.chars().all(good) {
        return Err(format!(
            "the patient code {code:?} is not allowed: 1 to {MAX_CODE} letters, digits, - _ . or /"
        ));
    }
    Ok(())
}
