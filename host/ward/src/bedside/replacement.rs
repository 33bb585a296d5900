//! Another kit for one that cannot be used, in a blinded trial.
//!
//! Replacements are numbered by patient, so that a repeat names the same one: after a lost answer
//! the next attempt gets the same kit. If another terminal's replacement came in between, the
//! device says which number is next; the log then says that the kit is not known.

use super::{Bedside, failure, not_sent};
use crate::failure::Failure;
use crate::line::client::AskError;
use crate::records::log::Event;
use crate::records::pharmacy::MAX_REASON;
use crate::records::register::Patient;
use crate::records::text;

use equipoise::wire::{Reply, Request, Word};

impl Bedside {
    /// A patient of this log by number.
    pub(super) fn known(&self, number: u32) -> Result<Patient, Failure> {
        self.register.patient(number).cloned().ok_or_else(|| {
            Failure::Refused(format!("the log has no patient number {number}; nothing was sent"))
        })
    }

    /// Asks for another kit of the same arm, because the patient's cannot be used for this reason.
    ///
    /// # Errors
    /// No device (asking again gives the same kit), refused, or not known any more.
    pub fn replace(&mut self, number: u32, reason: &str) -> Result<Patient, Failure> {
        if self.trial.kits.is_none() {
            return Err(Failure::Usage("the trial is not blinded: it has no kits".to_owned()));
        }
        text::check("reason", reason, MAX_REASON).map_err(Failure::Usage)?;
        let known = self.known(number)?;
        self.log.ready().map_err(|error| not_sent(&known.code, &error.into()))?;
        self.status()?;
        let (code, patient, count) = (known.code.clone(), number, known.given.replaced() + 1);
        let request = Request::Replace { patient, count: count.into() };
        let answer = self.client.ask(&request, |reply| match reply {
            Reply::Kit { patient: of, kit } if *of == number => Some(*kit),
            _ => None,
        });
        match answer {
            Ok(kit) => {
                let (label, answered) =
                    (self.trial.kit_label(kit), Reply::Kit { patient, kit }.to_string());
                let reason = reason.trim().to_owned();
                self.note(Event::Replaced { code, patient, count, kit, label, reason, answered })?;
                self.known(number)
            }
            Err(AskError::Refused { word: Word::Order, detail, .. }) => {
                let next = detail.strip_prefix("expected=").and_then(|next| next.parse().ok());
                let given = next.map_or(count, |next: u8| next.saturating_sub(1));
                let (asked, answered) = (request.to_string(), format!("ERR order {detail}"));
                let event =
                    Event::ReplacementUnclear { code, patient, count: given, asked, answered };
                self.note(event)?;
                Err(Failure::Refused(format!(
                    "patient {} has had {given} replacements already, one of them by another terminal or without an \
                     answer here: ask once more for the next one",
                    known.code
                )))
            }
            Err(error) => Err(failure(error)),
        }
    }
}
