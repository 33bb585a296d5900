//! One patient's way: code and feature in, arm out, later an outcome or a loss.
//!
//! **Enrolment**, in this order, each step on the disk before the next:
//! 1. the log gets code, number, feature and a fresh random tag;
//! 2. the device is asked `ASSIGN number feature tag`, the same line again until it answers;
//! 3. the log gets the arm; only then does the caller see it.
//!
//! So whenever the terminal dies, the next one finds in the log either nothing (nothing was asked), or a pending
//! enrolment, which it asks again with the same line and so gets the same arm, or the arm. A code is enrolled
//! once. While an enrolment is pending no other begins.
//!
//! **Two terminals on one device.** A refusal settles an enrolment if it is certain that the device did not take the
//! request: only one copy of it was sent, or no patient after this number was assigned, for then the device compared
//! the tag. If the number went to another terminal's patient, the enrolment begins anew with the next number.
//! Otherwise (a copy got no answer, and another terminal has gone on since) the arm cannot be known any more; the
//! log says `unclear`, and the code stays used.
//!
//! **Outcomes** are sent, never stored: the log learns that one was handed over. Without an answer nothing is
//! logged and the patient stays on the list; handing it over again is safe.

use crate::prelude::*;
use std::path::Path;

use super::client::{AskError, Client};
use super::failure::{Failure, in_words};
use super::log::{Entry, Event, Log};
use super::register::{Patient, Pending, Register, check_code};
use super::trial_file::TrialFile;
use crate::design::Arm;
use crate::trial::Phase;
use crate::wire::{Reply, Request, Status, Tag, Word};

/// A terminal at work: a device, a log, a trial's words.
pub struct Bedside {
    client: Client,
    log: Log,
    register: Register,
    trial: TrialFile,
}

/// What came of asking for an arm.
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
    pub fn open(client: Client, trial: TrialFile, log: &Path, operator: &str) -> Result<Self, Failure> {
        let (log, entries) = Log::open(log, operator)?;
        let register = Register::read(&entries);
        let (title, plan) = (trial.title.clone(), trial.plan.to_string());
        let mut bedside = Self { client, log, register, trial };
        match bedside.register.opened() {
            None => {
                bedside.note(Event::Opened { title, plan })?;
            }
            Some(known) if known == (title.as_str(), plan.as_str()) => {}
            Some((other, other_plan)) => {
                return Err(Failure::Usage(format!(
                    "the log {} is of another trial: {other:?} with {other_plan}, not {title:?} with {plan}",
                    bedside.log.path().display()
                )));
            }
        }
        Ok(bedside)
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

    /// The public facts, if the device runs the trial of the trial file and of the log.
    ///
    /// # Errors
    /// No device, no trial, or another one.
    pub fn status(&mut self) -> Result<Status, Failure> {
        let status = self.client.status().map_err(failure)?;
        let plan = &self.trial.plan;
        if (status.design, status.patients) != (plan.design(), plan.patients()) {
            return Err(Failure::Usage(format!(
                "the device runs another trial (design {}, {} patients) than the trial file (design {}, {} patients)",
                status.design,
                status.patients,
                plan.design(),
                plan.patients()
            )));
        }
        let known = self.register.last_number();
        if status.assigned < known {
            return Err(Failure::Usage(format!(
                "the log knows patient number {known}, the device has assigned {} only: the log is of another or an erased trial; move it away or choose another with --log",
                status.assigned
            )));
        }
        Ok(status)
    }

    /// Settles the enrolment a terminal before this one left without an answer, if there is one.
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

    /// Enrols a patient.
    ///
    /// # Errors
    /// A bad or used code, no device (it stays pending), refused, or unclear.
    pub fn enrol(&mut self, code: &str, feature: u8) -> Result<Patient, Failure> {
        check_code(code).map_err(Failure::Usage)?;
        if feature >= self.trial.plan.features() {
            let features = self.trial.plan.features();
            return Err(Failure::Usage(format!("feature {feature} is not allowed: 0..{features}")));
        }
        if let Some(pending) = self.register.pending() {
            let same = pending.code == code && pending.feature == feature;
            let settled = self.resume()?;
            if let (true, Some(patient)) = (same, settled) {
                return Ok(patient);
            }
        }
        if let Some(number) = self.register.number(code) {
            return Err(Failure::Refused(format!("patient {code} is already enrolled, as number {number}")));
        }
        self.begin(code, feature)
    }

    fn begin(&mut self, code: &str, feature: u8) -> Result<Patient, Failure> {
        loop {
            let status = self.status()?;
            if status.phase == Phase::Closed {
                return Err(Failure::Refused(in_words(Word::Closed, "")));
            }
            let tag = getrandom::u32().map_err(|error| Failure::Usage(format!("no randomness: {error}")))?;
            let pending = Pending { code: code.to_owned(), number: status.assigned + 1, feature, tag };
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

    /// Was a patient after this number assigned? If not, the device compared the tag, or has not come to the number.
    fn has_gone_on(&mut self, number: u32, detail: &str) -> Result<bool, Failure> {
        let expected = detail.strip_prefix("expected=").and_then(|expected| expected.parse::<u32>().ok());
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
        Ok(Patient { code, number, feature, arm, since: entry.time.parse().unwrap_or_default() })
    }

    /// Hands an outcome over. Its value goes to the device and nowhere else.
    ///
    /// # Errors
    /// No device, or refused; the patient stays on the list.
    pub fn outcome(&mut self, number: u32, y: u16) -> Result<(), Failure> {
        let scale = self.trial.plan.scale();
        if y > scale {
            return Err(Failure::Usage(format!("the outcome is not allowed: 0..={scale}")));
        }
        let answered = self.record(&Request::Outcome { patient: number, y: y.into() }, number)?;
        let code = self.register.code(number).unwrap_or_default().to_owned();
        self.note(Event::Outcome { code, patient: number, answered }).map(drop)
    }

    /// Declares an outcome lost.
    ///
    /// # Errors
    /// No device, or refused; the patient stays on the list.
    pub fn lost(&mut self, number: u32) -> Result<(), Failure> {
        let answered = self.record(&Request::Lost { patient: number }, number)?;
        let code = self.register.code(number).unwrap_or_default().to_owned();
        self.note(Event::Lost { code, patient: number, answered }).map(drop)
    }

    fn record(&mut self, request: &Request, number: u32) -> Result<String, Failure> {
        self.status()?;
        self.client
            .ask(request, |reply| match reply {
                Reply::Recorded { patient } if *patient == number => Some(reply.to_string()),
                _ => None,
            })
            .map_err(failure)
    }
}

fn assign(pending: &Pending) -> Request {
    let Pending { number, feature, tag, .. } = pending;
    Request::Assign { patient: *number, feature: u32::from(*feature), tag: Some(Tag(*tag)) }
}

/// The failure of a request that needs no settling.
#[must_use]
pub fn failure(error: AskError) -> Failure {
    match error {
        AskError::Link(error) => Failure::NoDevice(error),
        AskError::Refused { word, detail, .. } => Failure::Refused(in_words(word, &detail)),
    }
}
