//! Content of a log line.

use serde::{Deserialize, Serialize};

use crate::records::eligibility::Answered;
use crate::records::signing::Signature;

/// Event in the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
#[allow(missing_docs, reason = "the fields are named as they are written")]
pub enum Event {
    /// The log begins: which trial it is for, with the trial's id and the digest of its file.
    Opened { title: String, plan: String, trial: String, file: String },
    /// A patient passed the questions about eligibility and consent, and is about to be enrolled.
    Eligible { code: String, answers: Vec<Answered> },
    /// A patient did not pass them: an entry of the screening log, without a code.
    NotEligible { reason: String, answers: Vec<Answered> },
    /// A person confirmed an enrolment; written before the device is asked for anything.
    Wanted { code: String, feature: u8, feature_name: String },
    /// A confirmed enrolment was given up before the device was asked for it.
    Dropped { code: String, why: String },
    /// A patient is about to be enrolled; written before the device is asked for the arm.
    Enrol {
        code: String,
        patient: u32,
        feature: u8,
        feature_name: String,
        tag: String,
        asked: String,
        /// Looks that the device had done.
        looks: u32,
    },
    /// The device gave the arm.
    Arm {
        code: String,
        patient: u32,
        feature: u8,
        feature_name: String,
        arm: u8,
        arm_name: String,
        answered: String,
    },
    /// The device of a blinded trial gave a kit; the arm is nowhere in this log.
    Kit {
        code: String,
        patient: u32,
        feature: u8,
        feature_name: String,
        kit: u32,
        label: String,
        answered: String,
    },
    /// The device gave another kit for one that cannot be used.
    Replaced {
        code: String,
        patient: u32,
        count: u8,
        kit: u32,
        label: String,
        reason: String,
        answered: String,
    },
    /// Replacements up to this one were given, by another terminal or without an answer here.
    ReplacementUnclear { code: String, patient: u32, count: u8, asked: String, answered: String },
    /// The arm of a kit is about to be named, in an emergency; the arm is not in this log.
    Unblinded {
        title: String,
        kit: u32,
        label: String,
        reason: String,
        /// The patient who was given it; none if no log has it.
        code: Option<String>,
        patient: Option<u32>,
    },
    /// The device refused an enrolment: the patient has no number, the code is free again.
    Refused { code: String, patient: u32, asked: String, answered: String },
    /// Another terminal went on before the arm arrived: it cannot be known any more.
    Unclear { code: String, patient: u32, asked: String, answered: String },
    /// An outcome or a loss is about to be sent; which of the two, and its value, are nowhere in
    /// this line. `looks` were done: after a lost board they tell whether a look can have read it.
    Asked { code: String, patient: u32, looks: u32 },
    /// An outcome was recorded; its value is nowhere in this log. `rose` if the device's count of
    /// resolved patients was seen to rise with it.
    Outcome { code: String, patient: u32, answered: String, rose: bool },
    /// An outcome was declared lost.
    Lost { code: String, patient: u32, answered: String, rose: bool },
    /// The device acknowledged an outcome or a loss, but had one on record before: nothing changed.
    AlreadyRecorded { code: String, patient: u32, answered: String },
    /// A note on a patient: something that happened and cannot be changed on the device.
    Note {
        code: String,
        patient: u32,
        kind: NoteKind,
        text: String,
        /// The kind of patient that would have been right, if the note is about a wrong one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        should_be: Option<String>,
    },
    /// A person confirmed that these records of the device's patients are not in this log: first
    /// and last numbers of patients, of so many assigned, and outcomes or losses beside theirs.
    Elsewhere { patients: Vec<(u32, u32)>, assigned: u32, outcomes: u32 },
    /// A person of the staff signed in at a view.
    SignedIn { id: String, view: String },
    /// A person of the staff left a view, or it was locked because nobody used it.
    SignedOut { id: String, view: String, why: String },
    /// A PIN was wrong; it is nowhere in this log.
    WrongPin { id: String },
    /// Another person works at the terminal from here on.
    Operator { from: String },
    /// A custodian's command; keys and proofs are withheld.
    Custodian { asked: String, answered: String },
    /// A report is about to be shown; none of its figures is in this log.
    Reported { looks: u32 },
    /// The second copy cannot be written, and work goes on without it: from about here on lines are
    /// on this disk alone.
    CopyLost { why: String },
    /// The second copy has every line again.
    CopyBack {},
    /// A torn last line was cut off when the log was opened after a crash.
    Recovered { bytes_cut: usize },
}

/// Kind of note.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoteKind {
    /// The patient left the trial: marked, never overdue, asked about before an outcome.
    Withdrawn,
    /// The patient was not eligible or was randomised in error: marked.
    Ineligible,
    /// The patient was enrolled as the wrong kind of patient: marked, with the right one.
    WrongKind,
    /// The patient did not get what the arm says.
    Deviation,
    /// The marks of earlier notes were wrong: they are taken away.
    Correction,
    /// Anything else.
    Other,
}

impl NoteKind {
    /// All kinds.
    pub const ALL: [Self; 6] = [
        Self::Withdrawn,
        Self::Ineligible,
        Self::WrongKind,
        Self::Deviation,
        Self::Correction,
        Self::Other,
    ];

    /// The kind in words.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Withdrawn => "withdrawn",
            Self::Ineligible => "ineligible or randomised in error",
            Self::WrongKind => "wrong kind of patient",
            Self::Deviation => "deviation",
            Self::Correction => "correction: the marks of earlier notes are wrong",
            Self::Other => "other",
        }
    }
}

/// One line of the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Its number, from 1.
    pub line: u64,
    /// UTC.
    pub time: String,
    /// Who sat at the terminal.
    pub operator: String,
    /// The signature, if somebody typed their PIN for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signed: Option<Signature>,
    /// The event.
    #[serde(flatten)]
    pub event: Event,
}
