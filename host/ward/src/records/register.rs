//! The register: which patient code is which patient, read from the log.
//!
//! It is a fold over the log's lines and nothing else, so a terminal that starts again knows what
//! the one before it knew: every patient with arm and time, whose outcome is missing, and which
//! enrolment has no answer yet. At most one enrolment is pending at a time; no other begins before
//! it is answered.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use crate::records::account::{Account, Gap};
use crate::records::alike::folded;
use crate::records::log::{Entry, Event, NoteKind};
use crate::records::marks::Marks;
use crate::records::resolution::Resolution;
use crate::records::signing::Attempts;
pub use crate::records::treatment::Treatment;
use equipoise::terms::Arm;

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
    /// Marks of notes.
    pub marks: Marks,
}

/// A kit that was given to a patient.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KitGiven {
    /// Number of the kit.
    pub kit: u32,
    /// When it was given.
    pub time: Timestamp,
    /// Who gave it.
    pub operator: String,
    /// Why the one before it could not be used; none for the first.
    pub reason: Option<String>,
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
    /// The kind of patient that would have been right.
    pub should_be: Option<String>,
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
    /// Who asked for it.
    pub operator: String,
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
    /// The trial's id.
    pub trial: String,
    /// The digest of the trial file.
    pub file: String,
}

/// State of all patients according to the log.
#[derive(Clone, Debug, Default)]
pub struct Register {
    opened: Option<Opened>,
    patients: BTreeMap<u32, Patient>,
    waiting: BTreeSet<u32>,
    /// Codes as they were typed, with their numbers, by their folded form.
    codes: BTreeMap<String, (String, u32)>,
    /// How the wait for a patient's outcome ended.
    resolved: BTreeMap<u32, Resolution>,
    notes: BTreeMap<u32, Vec<Note>>,
    kits: BTreeMap<u32, Vec<KitGiven>>,
    account: Account,
    wanted: Option<Wanted>,
    pending: Option<Pending>,
    /// Folded codes that passed the questions about eligibility.
    eligible: BTreeSet<String>,
    /// Why patients were not eligible, one reason each.
    excluded: Vec<String>,
    attempts: Attempts,
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
        self.attempts.apply(entry);
        match &entry.event {
            Event::Opened { title, plan, trial, file } => {
                let (title, plan) = (title.clone(), plan.clone());
                self.opened =
                    Some(Opened { title, plan, trial: trial.clone(), file: file.clone() });
            }
            Event::Wanted { code, feature, .. } => {
                self.wanted = Some(Wanted { code: code.clone(), feature: *feature });
            }
            Event::Dropped { .. } => self.wanted = None,
            Event::Enrol { code, patient, feature, tag, .. } => {
                let tag = u32::from_str_radix(tag, 16).unwrap_or_default();
                let (code, feature) = (code.clone(), *feature);
                let operator = entry.operator.clone();
                self.pending = Some(Pending { code, number: *patient, feature, tag, operator });
                self.wanted = None;
            }
            Event::Arm { code, patient, feature, arm, .. } => {
                let given = Treatment::Arm(Arm::from_bit(*arm == 1));
                self.enrolled(entry, code, *patient, *feature, given);
            }
            Event::Kit { code, patient, feature, kit, .. } => {
                let given = Treatment::Kits { kits: vec![*kit], replaced: 0 };
                self.enrolled(entry, code, *patient, *feature, given);
                self.kit_given(entry, *patient, *kit, None);
            }
            Event::Replaced { patient, count, kit, reason, .. } => {
                self.kit_given(entry, *patient, *kit, Some(reason.clone()));
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
            Event::Outcome { .. } | Event::Lost { .. } | Event::AlreadyRecorded { .. } => {
                if let Some((number, resolution)) = Resolution::of(entry) {
                    self.waiting.remove(&number);
                    self.resolved.entry(number).or_insert(resolution);
                }
            }
            Event::Note { patient, kind, text, should_be, .. } => {
                let (time, operator) = (entry.time.clone(), entry.operator.clone());
                let (text, should_be) = (text.clone(), should_be.clone());
                if let Some(patient) = self.patients.get_mut(patient) {
                    patient.marks.take(*kind, &time, should_be.as_deref());
                }
                let note = Note { time, operator, kind: *kind, text, should_be };
                self.notes.entry(*patient).or_default().push(note);
            }
            Event::Elsewhere { patients, assigned, outcomes } => {
                let gap = Gap { patients: patients.clone(), outcomes: *outcomes };
                self.account.confirm(&gap, *assigned);
            }
            Event::Eligible { code, .. } => drop(self.eligible.insert(folded(code))),
            Event::NotEligible { reason, .. } => self.excluded.push(reason.clone()),
            Event::Asked { .. }
            | Event::Reported { .. }
            | Event::CopyLost { .. }
            | Event::CopyBack {}
            | Event::Operator { .. }
            | Event::SignedIn { .. }
            | Event::SignedOut { .. }
            | Event::WrongPin { .. }
            | Event::Custodian { .. }
            | Event::Unblinded { .. }
            | Event::Recovered { .. } => {}
        }
    }

    fn enrolled(&mut self, entry: &Entry, code: &str, number: u32, feature: u8, given: Treatment) {
        let since = entry.time.parse().unwrap_or_default();
        self.give(code, number);
        self.waiting.insert(number);
        // The answer may come to another person than the one who asked.
        let asked = self.pending.take().filter(|pending| pending.number == number);
        let operator = asked.map_or_else(|| entry.operator.clone(), |pending| pending.operator);
        let (code, marks) = (code.to_owned(), Marks::default());
        let patient = Patient { code, number, feature, given, since, operator, marks };
        self.patients.insert(number, patient);
    }

    fn kit_given(&mut self, entry: &Entry, number: u32, kit: u32, reason: Option<String>) {
        let (time, operator) = (entry.time.parse().unwrap_or_default(), entry.operator.clone());
        self.kits.entry(number).or_default().push(KitGiven { kit, time, operator, reason });
    }

    fn given_mut(&mut self, number: u32) -> Option<&mut Treatment> {
        self.patients.get_mut(&number).map(|patient| &mut patient.given)
    }

    fn give(&mut self, code: &str, number: u32) {
        self.codes.insert(folded(code), (code.to_owned(), number));
        self.last = self.last.max(number);
        self.account.know(number);
    }

    /// Which trial the log is of; none before its first line.
    #[must_use]
    pub const fn opened(&self) -> Option<&Opened> {
        self.opened.as_ref()
    }

    /// How many outcomes and losses the log knows to be on record.
    #[must_use]
    pub fn recorded(&self) -> u32 {
        u32::try_from(self.resolved.len()).unwrap_or(u32::MAX)
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

    /// Every kit that a patient was given with this log, in order.
    #[must_use]
    pub fn kits(&self, number: u32) -> &[KitGiven] {
        self.kits.get(&number).map_or(&[], Vec::as_slice)
    }

    /// Patients and outcomes of the device that this log does not account for, if it has assigned
    /// and resolved so many.
    #[must_use]
    pub fn gap(&self, assigned: u32, resolved: u32) -> Gap {
        let pending = self.pending.as_ref().map(|pending| pending.number);
        self.account.gap(assigned, resolved, self.recorded(), pending)
    }

    /// The patient of this number, if this log gave the arm.
    #[must_use]
    pub fn patient(&self, number: u32) -> Option<&Patient> {
        self.patients.get(&number)
    }

    /// The number of a code that was enrolled, whatever its case and the shape of its letters.
    #[must_use]
    pub fn number(&self, code: &str) -> Option<u32> {
        self.same_code(code).map(|(_, number)| number)
    }

    /// An enrolled code that looks like this one, with its number.
    #[must_use]
    pub fn same_code(&self, code: &str) -> Option<(&str, u32)> {
        self.codes.get(&folded(code)).map(|(known, number)| (known.as_str(), *number))
    }

    /// The code of a number.
    #[must_use]
    pub fn code(&self, number: u32) -> Option<&str> {
        let arm_known = self.patients.get(&number).map(|patient| patient.code.as_str());
        let mut all = self.codes.values();
        arm_known.or_else(|| all.find(|(_, known)| *known == number).map(|(code, _)| code.as_str()))
    }

    /// How the wait for this patient's outcome ended.
    #[must_use]
    pub fn resolved(&self, number: u32) -> Option<&Resolution> {
        self.resolved.get(&number)
    }

    /// Whether this code passed the questions about eligibility.
    #[must_use]
    pub fn is_eligible(&self, code: &str) -> bool {
        self.eligible.contains(&folded(code))
    }

    /// How many codes passed the questions and have no arm.
    #[must_use]
    pub fn eligible_only(&self) -> usize {
        self.eligible.iter().filter(|code| !self.codes.contains_key(*code)).count()
    }

    /// How many patients have a number, but no arm or kit that can still be known.
    #[must_use]
    pub fn unclear(&self) -> usize {
        self.codes.len().saturating_sub(self.patients.len())
    }

    /// Why patients were not eligible, one reason each.
    #[must_use]
    pub fn excluded(&self) -> &[String] {
        &self.excluded
    }

    /// Wrong PINs so far.
    #[must_use]
    pub const fn attempts(&self) -> &Attempts {
        &self.attempts
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
