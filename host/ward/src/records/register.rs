//! The register: which patient code is which patient, read from the log.
//!
//! It is a fold over the log's lines and nothing else, so a terminal that starts again knows what
//! the one before it knew: every patient with arm and time, whose outcome is missing, and which
//! enrolment has no answer yet. At most one enrolment is pending at a time; no other begins before
//! it is answered.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use crate::records::alike::folded;
use crate::records::log::{Entry, Event, NoteKind};
use equipoise::terms::Arm;

/// Treatment given to a patient.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Treatment {
    /// An arm.
    Arm(Arm),
    /// Kits of a blinded trial.
    Kits {
        /// The first one and its replacements, as far as this log knows them; the last one counts.
        kits: Vec<u32>,
        /// How many replacements the patient had, known or not.
        replaced: u8,
    },
}

impl Treatment {
    /// The arm, if it is known.
    #[must_use]
    pub const fn arm(&self) -> Option<Arm> {
        match self {
            Self::Arm(arm) => Some(*arm),
            Self::Kits { .. } => None,
        }
    }

    /// The kit that counts, in a blinded trial.
    #[must_use]
    pub fn kit(&self) -> Option<u32> {
        match self {
            Self::Arm(_) => None,
            Self::Kits { kits, .. } => kits.last().copied(),
        }
    }

    /// Replacements so far.
    #[must_use]
    pub const fn replaced(&self) -> u8 {
        match self {
            Self::Arm(_) => 0,
            Self::Kits { replaced, .. } => *replaced,
        }
    }
}

/// A patient with a number and an arm or a kit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patient {
    /// The code the ward uses.
    pub code: String,
    /// The number the device knows.
    pub number: u32,
    /// Kind of patient.
    pub feature: u8,
    /// The treatment that the device gave.
    pub given: Treatment,
    /// When the device gave it.
    pub since: Timestamp,
    /// Who enrolled the patient.
    pub operator: String,
}

/// A note on a patient.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// When it was written.
    pub time: String,
    /// Who wrote it.
    pub operator: String,
    /// Kind of note.
    pub kind: NoteKind,
    /// Text of the note.
    pub text: String,
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

/// An enrolment that a person confirmed and the device was not yet asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The code the ward uses.
    pub code: String,
    /// Kind of patient.
    pub feature: u8,
}

/// Which trial a log is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opened {
    /// Title of the trial file.
    pub title: String,
    /// Its plan.
    pub plan: String,
    /// The trial's id; none in a log of an earlier version that was not tied to a device yet.
    pub trial: Option<String>,
    /// The digest of the trial file.
    pub file: Option<String>,
}

/// State of all patients according to the log.
#[derive(Clone, Debug, Default)]
pub struct Register {
    opened: Option<Opened>,
    patients: BTreeMap<u32, Patient>,
    waiting: BTreeSet<u32>,
    /// Codes as they were typed, with their numbers, by their folded form. Logs of earlier
    /// versions may hold several that look alike.
    codes: BTreeMap<String, Vec<(String, u32)>>,
    /// When the outcome or loss of a patient was recorded.
    resolved: BTreeMap<u32, String>,
    notes: BTreeMap<u32, Vec<Note>>,
    wanted: Option<Wanted>,
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
            Event::Opened { title, plan, trial, file } => {
                let (title, plan) = (title.clone(), plan.clone());
                self.opened =
                    Some(Opened { title, plan, trial: trial.clone(), file: file.clone() });
            }
            Event::Tied { trial, file } => {
                if let Some(opened) = &mut self.opened {
                    (opened.trial, opened.file) = (Some(trial.clone()), Some(file.clone()));
                }
            }
            Event::Wanted { code, feature, .. } => {
                self.wanted = Some(Wanted { code: code.clone(), feature: *feature });
            }
            Event::Dropped { .. } => self.wanted = None,
            Event::Enrol { code, patient, feature, tag, .. } => {
                let tag = u32::from_str_radix(tag, 16).unwrap_or_default();
                let (code, feature) = (code.clone(), *feature);
                self.pending = Some(Pending { code, number: *patient, feature, tag });
                self.wanted = None;
            }
            Event::Arm { code, patient, feature, arm, .. } => {
                let given = Treatment::Arm(Arm::from_bit(*arm == 1));
                self.enrolled(entry, code, *patient, *feature, given);
            }
            Event::Kit { code, patient, feature, kit, .. } => {
                let given = Treatment::Kits { kits: vec![*kit], replaced: 0 };
                self.enrolled(entry, code, *patient, *feature, given);
            }
            Event::Replaced { patient, count, kit, .. } => {
                if let Some(Treatment::Kits { kits, replaced }) = self.given_mut(*patient) {
                    kits.push(*kit);
                    *replaced = *count;
                }
            }
            Event::ReplacementUnclear { patient, count, .. } => {
                if let Some(Treatment::Kits { replaced, .. }) = self.given_mut(*patient) {
                    *replaced = *count;
                }
            }
            Event::Refused { .. } => (self.pending, self.wanted) = (None, None),
            Event::Unclear { code, patient, .. } => {
                self.give(code, *patient);
                self.pending = None;
            }
            Event::Outcome { patient, answered, .. }
            | Event::Lost { patient, answered, .. }
            | Event::AlreadyRecorded { patient, answered, .. } => {
                if answered.starts_with("OK") {
                    self.waiting.remove(patient);
                    self.resolved.entry(*patient).or_insert_with(|| entry.time.clone());
                }
            }
            Event::Note { patient, kind, text, .. } => {
                let (time, operator) = (entry.time.clone(), entry.operator.clone());
                let note = Note { time, operator, kind: *kind, text: text.clone() };
                self.notes.entry(*patient).or_default().push(note);
            }
            Event::Operator { .. }
            | Event::Custodian { .. }
            | Event::Unblinded { .. }
            | Event::Recovered { .. } => {}
        }
    }

    fn enrolled(&mut self, entry: &Entry, code: &str, number: u32, feature: u8, given: Treatment) {
        let since = entry.time.parse().unwrap_or_default();
        self.give(code, number);
        self.waiting.insert(number);
        let (code, operator) = (code.to_owned(), entry.operator.clone());
        self.patients.insert(number, Patient { code, number, feature, given, since, operator });
        self.pending = None;
    }

    fn given_mut(&mut self, number: u32) -> Option<&mut Treatment> {
        self.patients.get_mut(&number).map(|patient| &mut patient.given)
    }

    fn give(&mut self, code: &str, number: u32) {
        self.codes.entry(folded(code)).or_default().push((code.to_owned(), number));
        self.last = self.last.max(number);
    }

    /// Which trial the log is of; none before its first line.
    #[must_use]
    pub const fn opened(&self) -> Option<&Opened> {
        self.opened.as_ref()
    }

    /// Patients whose outcome has not come, the longest waiting first.
    pub fn waiting(&self) -> impl Iterator<Item = &Patient> {
        self.waiting.iter().filter_map(|number| self.patients.get(number))
    }

    /// Every patient of this log, in the device's order.
    pub fn patients(&self) -> impl Iterator<Item = &Patient> {
        self.patients.values()
    }

    /// The notes on a patient, in order.
    #[must_use]
    pub fn notes(&self, number: u32) -> &[Note] {
        self.notes.get(&number).map_or(&[], Vec::as_slice)
    }

    /// The patient of this number, if this log gave the arm.
    #[must_use]
    pub fn patient(&self, number: u32) -> Option<&Patient> {
        self.patients.get(&number)
    }

    /// The number of a code that was enrolled, whatever its case and the shape of its letters. Of
    /// several codes that look alike, only the one that is spelled exactly so.
    #[must_use]
    pub fn number(&self, code: &str) -> Option<u32> {
        let spelled = self.codes.get(&folded(code))?;
        match spelled.as_slice() {
            [(_, number)] => Some(*number),
            several => {
                several.iter().find(|(known, _)| known == code.trim()).map(|(_, number)| *number)
            }
        }
    }

    /// Why a code names nobody although there are codes that look like it: there are several, and
    /// none of them is spelled so.
    #[must_use]
    pub fn several(&self, code: &str) -> Option<String> {
        let codes = self.codes.get(&folded(code)).filter(|codes| codes.len() > 1)?;
        Some(format!(
            "several patients have a code that looks like {code:?}: {}; name one by # and its number, or by exactly its \
             code",
            spelled(codes)
        ))
    }

    /// Codes that look alike and are several patients', as a log of an earlier version may have
    /// them: each group in words.
    pub fn alike_codes(&self) -> impl Iterator<Item = String> {
        self.codes.values().filter(|codes| codes.len() > 1).map(|codes| spelled(codes))
    }

    /// An enrolled code that looks like this one, with its number.
    #[must_use]
    pub fn same_code(&self, code: &str) -> Option<(&str, u32)> {
        let spelled = self.codes.get(&folded(code))?;
        spelled.first().map(|(known, number)| (known.as_str(), *number))
    }

    /// The code of a number.
    #[must_use]
    pub fn code(&self, number: u32) -> Option<&str> {
        let arm_known = self.patients.get(&number).map(|patient| patient.code.as_str());
        let mut all = self.codes.values().flatten();
        arm_known.or_else(|| all.find(|(_, known)| *known == number).map(|(code, _)| code.as_str()))
    }

    /// When this patient's outcome or loss was recorded.
    #[must_use]
    pub fn resolved(&self, number: u32) -> Option<&str> {
        self.resolved.get(&number).map(String::as_str)
    }

    /// The enrolment that was confirmed and not yet asked for.
    #[must_use]
    pub const fn wanted(&self) -> Option<&Wanted> {
        self.wanted.as_ref()
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

/// Codes and their numbers, in words.
fn spelled(codes: &[(String, u32)]) -> String {
    let one = |(code, number): &(String, u32)| format!("{code:?} is number {number}");
    codes.iter().map(one).collect::<Vec<_>>().join(", ")
}
