//! Marks that notes put on a patient.
//!
//! A note changes nothing on the device, and nobody is taken out of the analysis: patients are
//! compared as they were randomised, because leaving some of them out could favour an arm. A mark
//! changes what the ward sees: a withdrawn patient is not overdue, and a person is asked before an
//! outcome of one is recorded.

use crate::records::log::NoteKind;

/// Marks on a patient, from the notes of the log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// When the withdrawal was noted.
    withdrawn: Option<String>,
    ineligible: bool,
    /// The kind of patient that would have been right.
    should_be: Option<String>,
}

impl Marks {
    /// Takes a note.
    pub fn take(&mut self, kind: NoteKind, time: &str, should_be: Option<&str>) {
        match kind {
            NoteKind::Withdrawn => self.withdrawn = Some(time.to_owned()),
            NoteKind::Ineligible => self.ineligible = true,
            NoteKind::WrongKind => self.should_be = should_be.map(str::to_owned),
            NoteKind::Correction => *self = Self::default(),
            NoteKind::Deviation | NoteKind::Other => {}
        }
    }

    /// Whether the patient left the trial.
    #[must_use]
    pub const fn is_withdrawn(&self) -> bool {
        self.withdrawn.is_some()
    }

    /// When it was noted that the patient left the trial.
    #[must_use]
    pub fn withdrawn(&self) -> Option<&str> {
        self.withdrawn.as_deref()
    }

    /// The kind of patient that would have been right, if it was noted.
    #[must_use]
    pub fn should_be(&self) -> Option<&str> {
        self.should_be.as_deref()
    }

    /// The marks in words, empty without one.
    #[must_use]
    pub fn words(&self) -> String {
        let withdrawn = self.withdrawn.as_ref().map(|_| "WITHDRAWN".to_owned());
        let ineligible = self.ineligible.then(|| "INELIGIBLE".to_owned());
        let kind = self.should_be.as_ref().map(|kind| format!("WRONG KIND, should be {kind}"));
        [withdrawn, ineligible, kind].into_iter().flatten().collect::<Vec<_>>().join("; ")
    }
}
