//! How the wait for a patient's outcome ended: when, and by whom. Never the outcome's value.

use crate::records::log::{Entry, Event};
use crate::records::words::told;

/// How the wait for an outcome ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// An outcome was recorded.
    Recorded,
    /// The outcome was declared lost.
    Lost,
    /// The device had an outcome or a loss on record already; which, this log does not know.
    OnRecord,
}

impl Ending {
    /// The state of the patient in a list.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Recorded => "recorded",
            Self::Lost => "lost",
            Self::OnRecord => "recorded or lost",
        }
    }
}

/// The line of the log that ended the wait for an outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolution {
    /// How it ended.
    pub ending: Ending,
    /// UTC.
    pub time: String,
    /// Who recorded the outcome, or declared it lost.
    pub operator: String,
}

impl Resolution {
    /// The resolution that a line of the log tells, with the patient's number.
    #[must_use]
    pub fn of(entry: &Entry) -> Option<(u32, Self)> {
        let (number, answered, ending) = match &entry.event {
            Event::Outcome { patient, answered, .. } => (patient, answered, Ending::Recorded),
            Event::Lost { patient, answered, .. } => (patient, answered, Ending::Lost),
            Event::AlreadyRecorded { patient, answered, .. } => {
                (patient, answered, Ending::OnRecord)
            }
            _ => return None,
        };
        let (time, operator) = (entry.time.clone(), entry.operator.clone());
        answered.starts_with("OK").then_some((*number, Self { ending, time, operator }))
    }

    /// The resolution in words.
    #[must_use]
    pub fn in_words(&self) -> String {
        let (time, who) = (told(&self.time), &self.operator);
        match self.ending {
            Ending::Recorded => format!("recorded at {time} by {who}"),
            Ending::Lost => format!("declared lost at {time} by {who}"),
            Ending::OnRecord => {
                format!("recorded or declared lost before {time}, as {who} was told")
            }
        }
    }
}
