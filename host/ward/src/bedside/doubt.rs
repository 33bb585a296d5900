//! Doubts about an outcome: reasons to ask once more before it is recorded.
//!
//! An outcome that comes much before or after its due date may be another patient's, or the day's
//! state in place of the final one. A patient who withdrew may have asked that nothing more is
//! recorded. It is taken all the same when a person says so: only a person knows why.

use jiff::Timestamp;

use super::Bedside;
use crate::records::due::Due;
use crate::records::register::Patient;
use crate::records::trial_file::TrialFile;
use crate::records::words::{moment, span};

/// The part of the follow-up by which an outcome may be early or late without a question.
const TENTH: i128 = 10;

/// The question to a person before the outcome of this patient is recorded now; none if nothing is
/// unusual.
#[must_use]
pub fn doubt(trial: &TrialFile, patient: &Patient, now: Timestamp) -> Option<String> {
    let withdrawn = patient.marks.withdrawn().map(|time| {
        let when = time.parse().map_or_else(|_| time.to_owned(), moment);
        format!("The patient withdrew, as noted {when}: may this outcome still be recorded?")
    });
    let off = trial.due.and_then(|due| off_schedule(due, patient.since, now));
    let doubts: Vec<String> = withdrawn.into_iter().chain(off).collect();
    (!doubts.is_empty()).then(|| doubts.join(" "))
}

fn off_schedule(due: Due, since: Timestamp, now: Timestamp) -> Option<String> {
    let expected = due.after(since);
    let (follow_up, off) = (expected.duration_since(since), now.duration_since(expected));
    if off.as_nanos().abs() * TENTH <= follow_up.as_nanos() {
        return None;
    }
    let (when, off, waited) = (moment(expected), span(off.abs()), now.duration_since(since));
    Some(if now < expected {
        let enrolled = if waited.is_negative() {
            "the enrolment is later than the clock says".to_owned()
        } else {
            format!("the enrolment was {} ago", span(waited))
        };
        format!("It is early: the outcome is due {when}, in {off}; {enrolled}.")
    } else {
        format!("It is late: the outcome was due {when}, {off} ago.")
    })
}

impl Bedside {
    /// The question to a person before the outcome of a patient is recorded now.
    #[must_use]
    pub fn doubt(&self, number: u32) -> Option<String> {
        let waits = self.register.resolved(number).is_none();
        let patient = self.register.patient(number).filter(|_| waits)?;
        doubt(&self.trial, patient, Timestamp::now())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An outcome within a tenth of the follow-up is taken; outside of it a person is asked, and
    /// told by how much.
    #[test]
    fn a_tenth_early_or_late_is_asked_about() {
        let since: Timestamp = "2026-11-01T08:00:00Z".parse().unwrap();
        let due: Due = "30 days".parse().unwrap();
        let at = |time: &str| off_schedule(due, since, time.parse().unwrap());
        for usual in ["2026-11-28T08:00:00Z", "2026-12-01T08:00:00Z", "2026-12-04T08:00:00Z"] {
            assert_eq!(at(usual), None, "{usual}");
        }
        assert_eq!(
            at("2026-11-01T08:01:00Z").unwrap(),
            "It is early: the outcome is due 2026-12-01 08:00 UTC, in 29 d 23 h; the enrolment was 1 min ago."
        );
        assert!(at("2026-11-28T07:59:00Z").unwrap().starts_with("It is early"));
        assert_eq!(
            at("2026-12-04T08:01:00Z").unwrap(),
            "It is late: the outcome was due 2026-12-01 08:00 UTC, 3 d 0 h ago."
        );
        assert!(at("2026-10-31T08:00:00Z").unwrap().contains("later than the clock says"));
    }
}
