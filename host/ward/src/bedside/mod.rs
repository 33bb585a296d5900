//! From a patient's code and feature to the arm, in a blinded trial the kit, and later the outcome
//! or the loss.
//!
//! How a patient is enrolled is in [`enrolment`], how a kit is replaced in [`replacement`].
//!
//! **Outcomes** are sent, never stored: the log learns that one was recorded. The device
//! acknowledges a repeat like the first copy, so [`Bedside`] compares the public number of resolved
//! patients before and after: if it did not grow, the device had an outcome or a loss on record
//! already and nothing changed. The log holds every ask before it is sent, with the number of looks
//! done and without a value: after a lost board it tells whether a look can have read the outcome.
//! Without an answer nothing more is logged and the patient stays on the list; sending the outcome
//! again is safe.

pub mod ask_pin;
pub mod doubt;
mod elsewhere;
mod enrolment;
pub mod orders;
pub mod page;
mod presence;
mod replacement;
pub mod screen;
pub mod seats;
pub mod sign;
mod unblind;
pub mod worker;

use std::path::{Path, PathBuf};

use crate::failure::{Failure, in_words};
use crate::line::client::{AskError, Client};
use crate::records::copies::Copies;
use crate::records::keys::KeyFile;
use crate::records::log::{Entry, Event, Log, NoteKind};
use crate::records::register::{Patient, Register};
use crate::records::text;
use crate::records::tie::{self, same_trial};
use crate::records::trial_file::TrialFile;
pub use enrolment::{CodeCheck, no_room};
use equipoise::terms::Phase;
use equipoise::wire::{Reply, Request, Status};
pub use unblind::Unblinded;

/// Longest name of an operator.
pub const MAX_OPERATOR: usize = 40;
/// Longest note.
pub const MAX_NOTE: usize = 200;

/// An outcome that was recorded, or declared lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// The patient's number.
    pub number: u32,
    /// The patient's code, if this log has it.
    pub code: Option<String>,
    /// Whether the outcome was declared lost.
    pub lost: bool,
    /// Whether the trial closed with it, because it was the last one.
    pub closed: bool,
}

impl Recorded {
    /// A sentence about it, with its last word if the trial closed.
    #[must_use]
    pub fn in_words(&self) -> String {
        let code = self.code.as_ref().map_or(String::new(), |code| format!("{code}, "));
        let number = self.number;
        let what = if self.lost {
            format!("Declared lost: the outcome of patient {code}number {number}.")
        } else {
            format!("Recorded for patient {code}number {number}.")
        };
        let closed =
            if self.closed { " That was the last outcome: the trial is closed." } else { "" };
        what + closed
    }
}

/// A device, a log and a trial's names.
pub struct Bedside {
    client: Client,
    log: Log,
    register: Register,
    trial: TrialFile,
    /// The staff file, where there is one.
    staff: Option<PathBuf>,
    /// The key for a code break, where this machine was given it.
    code_break: Option<KeyFile>,
    /// The presence key, where this machine was given it.
    presence: Option<presence::Presence>,
}

impl Bedside {
    /// Opens the log and makes sure that it belongs to this trial.
    ///
    /// # Errors
    /// The log is damaged, in use, or of another trial.
    pub fn open(
        client: Client,
        trial: TrialFile,
        log: &Path,
        operator: &str,
    ) -> Result<Self, Failure> {
        Self::open_with(client, trial, log, operator, None)
    }

    /// The same with a second copy of the log.
    ///
    /// # Errors
    /// As [`Self::open`], or there is no copy and work must stop without one.
    pub fn open_with(
        client: Client,
        trial: TrialFile,
        log: &Path,
        operator: &str,
        copies: Option<&Copies>,
    ) -> Result<Self, Failure> {
        let (log, entries) = Log::open_with(log, operator, copies)?;
        let register = Register::read(&entries);
        same_trial(&register, &trial, log.path())?;
        let (staff, code_break, presence) = (None, None, None);
        Ok(Self { client, log, register, trial, staff, code_break, presence })
    }

    /// Who is enrolled, who waits.
    #[must_use]
    pub const fn register(&self) -> &Register {
        &self.register
    }

    /// The words of the trial.
    #[must_use]
    pub const fn trial(&self) -> &TrialFile {
        &self.trial
    }

    /// The line to the device.
    pub const fn client(&mut self) -> &mut Client {
        &mut self.client
    }

    /// The log.
    #[must_use]
    pub const fn log(&self) -> &Log {
        &self.log
    }

    /// Writes one line to the log.
    ///
    /// # Errors
    /// The disk refused.
    pub fn note(&mut self, event: Event) -> Result<Entry, Failure> {
        let entry = self.log.append(event)?;
        self.register.apply(&entry);
        Ok(entry)
    }

    /// Writes a note on a patient to the log. The device is not asked and nothing else changes.
    ///
    /// # Errors
    /// A patient this log does not know, a text that is not allowed, or the disk refused.
    pub fn write_note(
        &mut self,
        number: u32,
        kind: NoteKind,
        text: &str,
        should_be: Option<u8>,
    ) -> Result<(), Failure> {
        check_note(text).map_err(Failure::Usage)?;
        let should_be = right_kind(&self.trial, kind, should_be)?;
        let Some(code) = self.register.code(number).map(str::to_owned) else {
            return Err(Failure::Refused(format!(
                "the log has no patient number {number}; nothing was written"
            )));
        };
        let text = text.trim().to_owned();
        self.note(Event::Note { code, patient: number, kind, text, should_be }).map(drop)
    }

    /// A patient of this log by code, or by `#` and the number.
    ///
    /// # Errors
    /// The log does not know the code.
    pub fn find(&self, code: &str) -> Result<Patient, Failure> {
        let number = match code.trim().strip_prefix('#') {
            Some(digits) => digits.parse().ok(),
            None => self.register.number(code),
        };
        let patient = number.and_then(|number| self.register.patient(number)).cloned();
        patient
            .ok_or_else(|| Failure::Refused(format!("this log has no arm of a patient {code:?}")))
    }

    /// Another person works at the terminal from here on.
    ///
    /// # Errors
    /// A name that is not allowed, or the disk refused.
    pub fn switch_operator(&mut self, operator: &str) -> Result<(), Failure> {
        text::check("operator", operator, MAX_OPERATOR).map_err(Failure::Usage)?;
        self.begun()?;
        let entry = self.log.switch_operator(operator.trim())?;
        self.register.apply(&entry);
        Ok(())
    }

    /// The public facts, if the device runs the trial of the trial file and of the log. A new log
    /// begins here.
    ///
    /// # Errors
    /// No device, no trial, or another one.
    pub fn status(&mut self) -> Result<Status, Failure> {
        let status = self.client.status().map_err(failure);
        let status = status.inspect_err(|_| self.forget_presence())?;
        tie::same_file(&self.trial, &status)?;
        self.present()?;
        match self.register.opened().map(|opened| opened.trial.clone()) {
            None => {
                let (title, plan) = (self.trial.title.clone(), self.trial.plan.to_string());
                let (trial, file) = (status.name.id.to_string(), status.name.file.to_string());
                self.note(Event::Opened { title, plan, trial, file })?;
            }
            Some(id) if id == status.name.id.to_string() => {}
            Some(id) => {
                return Err(Failure::Usage(format!(
                    "the log {} is of trial {id}, the device holds trial {}: nothing was sent; name the log of this \
                     device with --log",
                    self.log.path().display(),
                    status.name.id
                )));
            }
        }
        let known = self.register.last_number();
        if status.assigned < known {
            return Err(Failure::Usage(format!(
                "the log knows patient number {known}, the device has assigned {} only: the log is of another trial; \
                 move it away or choose another with --log",
                status.assigned
            )));
        }
        let recorded = self.register.recorded();
        if status.resolved < recorded {
            return Err(Failure::Usage(format!(
                "the log knows {recorded} outcomes and losses, the device has {} only: an old image of its flash was put \
                 back, and it must not be used; nothing was sent",
                status.resolved
            )));
        }
        Ok(status)
    }

    /// Records an outcome. Its value goes to the device and nowhere else.
    ///
    /// # Errors
    /// No device (the patient stays on the list), refused, or recorded before.
    pub fn outcome(&mut self, number: u32, y: u16) -> Result<Recorded, Failure> {
        let scale = self.trial.plan.scale();
        if y > scale {
            return Err(Failure::Usage(format!("the outcome is not allowed: 0..={scale}")));
        }
        self.record(number, &Request::Outcome { patient: number, y: y.into() })
    }

    /// Records that the outcome will never come.
    ///
    /// # Errors
    /// No device (the patient stays on the list), refused, or recorded before.
    pub fn lost(&mut self, number: u32) -> Result<Recorded, Failure> {
        self.record(number, &Request::Lost { patient: number })
    }

    fn record(&mut self, number: u32, request: &Request) -> Result<Recorded, Failure> {
        let known = self.register.code(number).map(str::to_owned);
        let who = known.as_ref().map_or_else(|| format!("number {number}"), Clone::clone);
        if let Some(resolved) = self.register.resolved(number) {
            let before = resolved.in_words();
            return Err(Failure::Refused(format!(
                "patient {who}: already {before}; nothing changed"
            )));
        }
        self.log.ready().map_err(|error| not_sent(&who, &error.into()))?;
        let before = self.status()?;
        if before.phase == Phase::Closed {
            return Err(Failure::Refused(format!(
                "patient {who}: the trial is closed, and what was missing then counts as lost; nothing changed"
            )));
        }
        let (code, patient) = (known.clone().unwrap_or_default(), number);
        let asked = Event::Asked { code: code.clone(), patient, looks: before.looks };
        self.note(asked).map_err(|error| not_sent(&who, &error))?;
        let answer = self.client.ask(request, |reply| match reply {
            Reply::Recorded { patient } if *patient == number => Some(reply.to_string()),
            _ => None,
        });
        let answered = answer.map_err(failure)?;
        let after = self.status();
        let rose = after.as_ref().map(|after| after.resolved > before.resolved);
        if matches!(rose, Ok(false)) {
            self.note(Event::AlreadyRecorded { code, patient, answered })?;
            return Err(Failure::Refused(format!(
                "patient {who}: already recorded, by an earlier attempt without an answer or by another terminal; \
                 nothing changed"
            )));
        }
        let rose = rose.unwrap_or(false);
        let event = match request {
            Request::Lost { .. } => Event::Lost { code, patient, answered, rose },
            _ => Event::Outcome { code, patient, answered, rose },
        };
        self.note(event).map_err(|error| {
            Failure::Usage(format!(
                "patient {who}: the device has recorded it, but the log could not be written ({error}); enter it once \
                 more when it can, which changes nothing on the device"
            ))
        })?;
        let closed = after.is_ok_and(|after| after.phase == Phase::Closed);
        let lost = matches!(request, Request::Lost { .. });
        Ok(Recorded { number, code: known, lost, closed })
    }
}

/// The log cannot be written, so the device was not asked for anything about this patient.
fn not_sent(who: &str, error: &Failure) -> Failure {
    Failure::Usage(format!("patient {who}: nothing was sent to the device: {error}"))
}

/// The name of the kind of patient that would have been right, for a note about a wrong one.
///
/// # Errors
/// A note about a wrong kind without the right one, or another note with one.
pub fn right_kind(
    trial: &TrialFile,
    kind: NoteKind,
    should_be: Option<u8>,
) -> Result<Option<String>, Failure> {
    match (kind, should_be) {
        (NoteKind::WrongKind, None) => Err(Failure::Usage(
            "a note about a wrong kind of patient names the right one (--should-be)".to_owned(),
        )),
        (NoteKind::WrongKind, Some(feature)) => Ok(Some(trial.feature_name(feature))),
        (_, None) => Ok(None),
        (_, Some(_)) => Err(Failure::Usage(
            "only a note about a wrong kind of patient names the right one".to_owned(),
        )),
    }
}

/// Checks the text of a note.
///
/// # Errors
/// The value and what is allowed.
pub fn check_note(text: &str) -> Result<(), String> {
    text::check("note", text, MAX_NOTE)
}

/// The failure of a request that leaves nothing pending.
#[must_use]
pub fn failure(error: AskError) -> Failure {
    match error {
        AskError::Link(error) => Failure::NoDevice(error),
        AskError::Refused { word, detail, .. } => Failure::Refused(in_words(word, &detail)),
    }
}
