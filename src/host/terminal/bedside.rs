//! One patient's way: code and feature in, arm out, later an outcome or a loss.
//!
//! **Enrolment**, in this order, each step on the disk before the next:
//! 1. the log gets code, number, feature and a fresh random tag;
//! 2. the device is asked `ASSIGN number feature tag`, the same line again until it answers;
//! 3. the log gets the arm; only then does the caller see it.
//!
//! So whenever the terminal dies, the next one finds in the log either nothing (nothing was asked),
//! or a pending enrolment, which it asks again with the same line and so gets the same arm, or the
//! arm. A code is enrolled once. While an enrolment is pending no other begins.
//!
//! **Two terminals on one device.** A refusal ends an enrolment if it is certain that the device
//! did not take the request: only one copy of it was sent, or no patient after this number was
//! assigned, for then the device compared the tag. If the number went to another terminal's
//! patient, the enrolment begins anew with the next number. Otherwise (a copy got no answer, and
//! another terminal has gone on since) the arm cannot be known any more; the log says `unclear`,
//! and the code stays used.
//!
//! **Outcomes** are sent, never stored: the log learns that one was recorded. The device
//! acknowledges a repeat like the first copy, so [`Bedside`] compares the public number of resolved
//! patients before and after: if it did not grow, the device had an outcome or a loss on record
//! already and nothing changed. Without an answer nothing is logged and the patient stays on the
//! list; sending the outcome again is safe.

use crate::prelude::*;
use std::path::Path;

use super::client::{AskError, Client};
use super::code::folded;
use super::failure::{Failure, in_words};
use super::log::{Entry, Event, Log, NoteKind};
use super::register::{Patient, Pending, Register};
use super::text;
use super::tie::{self, same_trial};
use super::trial_file::TrialFile;
use crate::design::Arm;
use crate::trial::Phase;
use crate::wire::{Reply, Request, Status, Tag, Word};

/// Longest name of an operator.
pub const MAX_OPERATOR: usize = 40;
/// Longest note.
pub const MAX_NOTE: usize = 200;

/// An outcome or a loss that was recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// The patient's number.
    pub number: u32,
    /// The patient's code, if this log has it.
    pub code: Option<String>,
    /// Whether the trial closed with it, because it was the last one.
    pub closed: bool,
}

/// A device, a log and a trial's names.
pub struct Bedside {
    client: Client,
    log: Log,
    register: Register,
    trial: TrialFile,
}

/// The result of asking for an arm.
enum Asked {
    Arm(Patient),
    /// The number went to another terminal's patient.
    Taken,
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
        let (log, entries) = Log::open(log, operator)?;
        let register = Register::read(&entries);
        same_trial(&register, &trial, log.path())?;
        Ok(Self { client, log, register, trial })
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
    pub fn write_note(&mut self, number: u32, kind: NoteKind, text: &str) -> Result<(), Failure> {
        check_note(text).map_err(Failure::Usage)?;
        let Some(code) = self.register.code(number).map(str::to_owned) else {
            return Err(Failure::Refused(format!(
                "the log has no patient number {number}; nothing was written"
            )));
        };
        let text = text.trim().to_owned();
        self.note(Event::Note { code, patient: number, kind, text }).map(drop)
    }

    /// A patient of this log by code.
    ///
    /// # Errors
    /// The log does not know the code.
    pub fn find(&self, code: &str) -> Result<Patient, Failure> {
        let patient = self.register.number(code).and_then(|number| self.register.patient(number));
        patient
            .cloned()
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
    /// No device, no trial, another one, or a log of an earlier version that is not tied to a
    /// device yet.
    pub fn status(&mut self) -> Result<Status, Failure> {
        let status = self.client.status().map_err(failure)?;
        tie::same_file(&self.trial, &status)?;
        match self.register.opened().map(|opened| opened.trial.clone()) {
            None => {
                let (title, plan) = (self.trial.title.clone(), self.trial.plan.to_string());
                let (trial, file) =
                    (Some(status.name.id.to_string()), Some(status.name.file.to_string()));
                self.note(Event::Opened { title, plan, trial, file })?;
            }
            Some(Some(id)) if id == status.name.id.to_string() => {}
            Some(Some(id)) => {
                return Err(Failure::Usage(format!(
                    "the log {} is of trial {id}, the device holds trial {}: nothing was sent; name the log of this \
                     device with --log",
                    self.log.path().display(),
                    status.name.id
                )));
            }
            Some(None) => {
                return Err(Failure::Usage(format!(
                    "the log {} was begun by an earlier version and does not say which device it is of: nothing was \
                     sent; if it is the log of trial {}, say so with --tie-log",
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
        Ok(status)
    }

    /// Whether the log was begun by an earlier version and is not tied to a device yet.
    #[must_use]
    pub fn is_untied(&self) -> bool {
        self.register.opened().is_some_and(|opened| opened.trial.is_none())
    }

    /// What a person is asked before an old log is tied to the device.
    ///
    /// # Errors
    /// No device, or another trial.
    pub fn tie_question(&mut self) -> Result<String, Failure> {
        let status = self.client.status().map_err(failure)?;
        tie::same_file(&self.trial, &status)?;
        Ok(format!(
            "The log {} was begun by an earlier version and does not say which device it is of.\n\
             Its last patient is number {}; the device holds trial {} with {} patients.\n\
             Is this the log of this device? A wrong answer would put outcomes on other patients.",
            self.log.path().display(),
            self.register.last_number(),
            status.name.id,
            status.assigned
        ))
    }

    /// Writes into an old log that it is of the trial on the device.
    ///
    /// # Errors
    /// No device, or another trial.
    pub fn tie(&mut self) -> Result<(), Failure> {
        let status = self.client.status().map_err(failure)?;
        tie::same_file(&self.trial, &status)?;
        let (trial, file) = (status.name.id.to_string(), status.name.file.to_string());
        self.note(Event::Tied { trial, file }).map(drop)
    }

    /// Asks again for the arm of an enrolment that has no answer yet, if there is one.
    ///
    /// # Errors
    /// No device (it stays pending), refused, or unclear.
    pub fn resume(&mut self) -> Result<Option<Patient>, Failure> {
        let Some(pending) = self.register.pending().cloned() else { return Ok(None) };
        self.status()?;
        match self.request(&pending, false)? {
            Asked::Arm(patient) => Ok(Some(patient)),
            Asked::Taken => self.begin(&pending.code, pending.feature).map(Some),
        }
    }

    /// Writes to the log that a person confirmed an enrolment, before anything is asked of the
    /// device.
    ///
    /// # Errors
    /// A bad or used code, or the disk refused.
    pub fn want(&mut self, code: &str, feature: u8) -> Result<(), Failure> {
        let code = self.check(code, feature)?;
        let feature_name = self.trial.feature_name(feature);
        self.unused(&code)?;
        self.begun()?;
        self.note(Event::Wanted { code, feature, feature_name }).map(drop)
    }

    /// Writes to the log that a confirmed enrolment was given up; the device was not asked for it.
    ///
    /// # Errors
    /// The disk refused.
    pub fn drop_wanted(&mut self, why: &str) -> Result<(), Failure> {
        let Some(wanted) = self.register.wanted() else { return Ok(()) };
        let (code, why) = (wanted.code.clone(), why.to_owned());
        self.note(Event::Dropped { code, why }).map(drop)
    }

    /// The log has its first line, with the trial's id; a new log needs the device for it.
    fn begun(&mut self) -> Result<(), Failure> {
        if self.register.opened().is_none() { self.status().map(drop) } else { Ok(()) }
    }

    /// The checked form of a code, if the trial has such a feature.
    fn check(&self, code: &str, feature: u8) -> Result<String, Failure> {
        let features = self.trial.plan.features();
        if feature >= features {
            return Err(Failure::Usage(format!("feature {feature} is not allowed: 0..{features}")));
        }
        self.trial.code.check(code).map_err(Failure::Usage)
    }

    fn unused(&self, code: &str) -> Result<(), Failure> {
        match self.register.same_code(code) {
            Some((known, number)) => Err(Failure::Refused(format!(
                "patient {known} is already enrolled, as number {number}"
            ))),
            None => Ok(()),
        }
    }

    /// Enrols a patient.
    ///
    /// # Errors
    /// A bad or used code, no device (it stays pending), refused, or unclear.
    pub fn enrol(&mut self, code: &str, feature: u8) -> Result<Patient, Failure> {
        let code = self.check(code, feature)?;
        if let Some(pending) = self.register.pending().cloned() {
            let answered = self.resume()?;
            match answered {
                Some(patient)
                    if folded(&patient.code) == folded(&code) && patient.feature == feature =>
                {
                    return Ok(patient);
                }
                // The device keeps the feature it was asked for first, and must not compare it with
                // a repeat's.
                Some(patient) if folded(&patient.code) == folded(&code) => {
                    let [kept, typed] =
                        [pending.feature, feature].map(|feature| self.trial.feature_name(feature));
                    let (arm, name) = (patient.arm.index(), self.trial.arm_name(patient.arm));
                    return Err(Failure::Refused(format!(
                        "patient {} was enrolled as {kept:?}, as first asked for, not as {typed:?}: number {}, \
                         arm {arm}, {name}; nothing changed",
                        patient.code, patient.number
                    )));
                }
                _ => {}
            }
        }
        self.unused(&code)?;
        self.begin(&code, feature)
    }

    fn begin(&mut self, code: &str, feature: u8) -> Result<Patient, Failure> {
        loop {
            let status = self.status()?;
            if let Some(why) = no_room(&status) {
                return Err(Failure::Refused(why));
            }
            let tag = getrandom::u32()
                .map_err(|error| Failure::Usage(format!("no randomness: {error}")))?;
            let pending =
                Pending { code: code.to_owned(), number: status.assigned + 1, feature, tag };
            self.note(Event::Enrol {
                code: code.to_owned(),
                patient: pending.number,
                feature,
                feature_name: self.trial.feature_name(feature),
                tag: Tag(tag).to_string(),
                asked: assign(&pending).to_string(),
            })?;
            if let Asked::Arm(patient) = self.request(&pending, true)? {
                return Ok(patient);
            }
        }
    }

    /// Asks for the arm of a pending enrolment; `fresh` if no copy of the request was sent before.
    fn request(&mut self, pending: &Pending, fresh: bool) -> Result<Asked, Failure> {
        let (code, patient) = (pending.code.clone(), pending.number);
        let request = assign(pending);
        let answer = self.client.ask(&request, |reply| match reply {
            Reply::Arm { patient: number, arm } if *number == patient => Some(*arm),
            _ => None,
        });
        match answer {
            Ok(arm) => self.enrolled(pending, arm).map(Asked::Arm),
            // The device may have assigned before its memory failed; after power-up it will say.
            Err(AskError::Refused { word: Word::Storage, detail, .. }) => {
                Err(Failure::Refused(in_words(Word::Storage, &detail)))
            }
            Err(AskError::Refused { word, detail, certain }) => {
                let asked = request.to_string();
                let answered = format!("ERR {} {detail}", word.name()).trim_end().to_owned();
                if !(fresh && certain) && self.has_gone_on(patient, &detail)? {
                    self.note(Event::Unclear { code: code.clone(), patient, asked, answered })?;
                    return Err(Failure::Refused(format!(
                        "the arm of patient {code} cannot be known any more: the answer was lost, and another \
                         terminal went on before it could be asked again (number {patient}); the code stays used"
                    )));
                }
                self.note(Event::Refused { code, patient, asked, answered })?;
                if word == Word::Order {
                    Ok(Asked::Taken)
                } else {
                    Err(Failure::Refused(in_words(word, &detail)))
                }
            }
            Err(AskError::Link(error)) => Err(error.into()),
        }
    }

    /// Was a patient after this number assigned? If not, the device compared the tag, or has not
    /// come to the number.
    fn has_gone_on(&mut self, number: u32, detail: &str) -> Result<bool, Failure> {
        let expected =
            detail.strip_prefix("expected=").and_then(|expected| expected.parse::<u32>().ok());
        Ok(match expected {
            Some(expected) => expected > number + 1,
            None => self.status()?.assigned > number,
        })
    }

    fn enrolled(&mut self, pending: &Pending, arm: Arm) -> Result<Patient, Failure> {
        let Pending { code, number, feature, .. } = pending.clone();
        let entry = self.note(Event::Arm {
            code: code.clone(),
            patient: number,
            feature,
            feature_name: self.trial.feature_name(feature),
            arm: u8::from(arm == Arm::One),
            arm_name: self.trial.arm_name(arm).to_owned(),
            answered: Reply::Arm { patient: number, arm }.to_string(),
        })?;
        let since = entry.time.parse().unwrap_or_default();
        Ok(Patient { code, number, feature, arm, since, operator: entry.operator })
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
        if let Some(time) = self.register.resolved(number) {
            return Err(Failure::Refused(format!(
                "patient {who}: already recorded at {time}; nothing changed"
            )));
        }
        let before = self.status()?;
        if before.phase == Phase::Closed {
            return Err(Failure::Refused(format!(
                "patient {who}: the trial is closed, and what was missing then counts as lost; nothing changed"
            )));
        }
        let answer = self.client.ask(request, |reply| match reply {
            Reply::Recorded { patient } if *patient == number => Some(reply.to_string()),
            _ => None,
        });
        let answered = answer.map_err(failure)?;
        let after = self.status();
        let resolved = |status: &Status| status.resolved;
        let (code, patient) = (known.clone().unwrap_or_default(), number);
        if after.as_ref().is_ok_and(|after| resolved(after) <= resolved(&before)) {
            self.note(Event::AlreadyRecorded { code, patient, answered })?;
            return Err(Failure::Refused(format!(
                "patient {who}: already recorded, by an earlier attempt without an answer or by another terminal; \
                 nothing changed"
            )));
        }
        self.note(match request {
            Request::Lost { .. } => Event::Lost { code, patient, answered },
            _ => Event::Outcome { code, patient, answered },
        })?;
        let closed = after.is_ok_and(|after| after.phase == Phase::Closed);
        Ok(Recorded { number, code: known, closed })
    }
}

/// Checks the text of a note.
///
/// # Errors
/// The value and what is allowed.
pub fn check_note(text: &str) -> Result<(), String> {
    text::check("note", text, MAX_NOTE)
}

/// Why the device cannot take another patient now.
#[must_use]
pub fn no_room(status: &Status) -> Option<String> {
    let Status { phase, assigned, patients, waiting, capacity, .. } = status;
    if *phase == Phase::Closed {
        Some("the trial is closed: nobody is enrolled any more".to_owned())
    } else if assigned >= patients {
        Some(format!("all {patients} patients of the plan are enrolled"))
    } else if waiting >= capacity {
        Some(format!(
            "{waiting} patients wait for their outcome, and the device has room for {capacity}: record an outcome or a \
             loss first"
        ))
    } else {
        None
    }
}

fn assign(pending: &Pending) -> Request {
    let Pending { number, feature, tag, .. } = pending;
    Request::Assign { patient: *number, feature: u32::from(*feature), tag: Some(Tag(*tag)) }
}

/// The failure of a request that leaves nothing pending.
#[must_use]
pub fn failure(error: AskError) -> Failure {
    match error {
        AskError::Link(error) => Failure::NoDevice(error),
        AskError::Refused { word, detail, .. } => Failure::Refused(in_words(word, &detail)),
    }
}
