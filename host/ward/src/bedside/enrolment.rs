//! How a patient is enrolled.
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

use super::Bedside;
use crate::failure::{Failure, in_words};
use crate::line::client::AskError;
use crate::records::alike::alike;
use crate::records::log::Event;
use crate::records::register::{Patient, Pending, Treatment};
use equipoise::terms::Arm;

use equipoise::terms::Phase;
use equipoise::wire::{Reply, Request, Status, Tag, Word};

/// The result of asking for an arm.
enum Asked {
    Arm(Patient),
    /// The number went to another terminal's patient.
    Taken,
}

/// Whether a code can be enrolled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CodeCheck {
    /// Yes, in this form.
    Free(String),
    /// No, it is a patient's.
    Known {
        /// In words.
        why: String,
        /// The code as it was enrolled.
        code: String,
    },
}

impl Bedside {
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
        let wanted = Event::Wanted { code: code.clone(), feature, feature_name };
        self.note(wanted).map(drop).map_err(|error| not_enrolled(&code, &error))
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
    pub(super) fn begun(&mut self) -> Result<(), Failure> {
        if self.register.opened().is_none() { self.status().map(drop) } else { Ok(()) }
    }

    /// The checked form of a code that is not used, if the trial has such a feature. A used code is
    /// called so even if it could not be given today, and one that was asked for under another rule
    /// still gets its answer.
    fn check(&self, code: &str, feature: u8) -> Result<String, Failure> {
        let features = self.trial.plan.features();
        if feature >= features {
            return Err(Failure::Usage(format!("feature {feature} is not allowed: 0..{features}")));
        }
        if let Some(pending) = self.register.pending().filter(|known| alike(&known.code, code)) {
            return Ok(pending.code.clone());
        }
        if let Some((_, why)) = self.known_as(code, Some(feature)) {
            return Err(Failure::Refused(why));
        }
        let code = self.trial.code.check(code).map_err(Failure::Usage)?;
        if !self.trial.eligibility.is_empty() && !self.register.is_eligible(&code) {
            return Err(Failure::Usage(format!(
                "patient {code}: the questions about eligibility have not been answered; nothing was sent"
            )));
        }
        Ok(code)
    }

    pub(super) fn unused(&self, code: &str) -> Result<(), Failure> {
        self.known_as(code, None).map_or(Ok(()), |(_, why)| Err(Failure::Refused(why)))
    }

    /// The code of the patient who was enrolled with this one, and that in words; `feature` is the
    /// kind for which it was typed now.
    fn known_as(&self, code: &str, feature: Option<u8>) -> Option<(String, String)> {
        let (known, number) = self.register.same_code(code)?;
        let mut why = format!("patient {known} is already enrolled, as number {number}");
        if let Some(patient) = self.register.patient(number) {
            let kind = self.trial.feature_name(patient.feature);
            if let Some(typed) = feature.filter(|feature| *feature != patient.feature) {
                let typed = self.trial.feature_name(typed);
                why += &format!(", and as {kind:?}, not as {typed:?}");
            }
        }
        Some((known.to_owned(), why))
    }

    /// Whether a code can be enrolled as this kind of patient: its checked form, or whose it is.
    ///
    /// # Errors
    /// A code that the trial does not allow.
    pub fn check_code(&self, code: &str, feature: Option<u8>) -> Result<CodeCheck, Failure> {
        if let Some((code, why)) = self.known_as(code, feature) {
            return Ok(CodeCheck::Known { why, code });
        }
        self.trial.code.check(code).map(CodeCheck::Free).map_err(Failure::Usage)
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
                Some(patient) if alike(&patient.code, &code) && patient.feature == feature => {
                    return Ok(patient);
                }
                // The device keeps the feature it was asked for first, and must not compare it with
                // a repeat's.
                Some(patient) if alike(&patient.code, &code) => {
                    let [kept, typed] =
                        [pending.feature, feature].map(|feature| self.trial.feature_name(feature));
                    let given = self.trial.given(&patient.given);
                    return Err(Failure::Refused(format!(
                        "patient {} was enrolled as {kept:?}, as first asked for, not as {typed:?}: number {}, \
                         {given}; nothing changed",
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
            if let Some(gap) = self.gap(&status) {
                return Err(Failure::Refused(format!("{gap} (a script: --records-elsewhere)")));
            }
            let tag = getrandom::u32()
                .map_err(|error| Failure::Usage(format!("no randomness: {error}")))?;
            let (code_asked, number) = (code.to_owned(), status.assigned + 1);
            let operator = self.log.operator().to_owned();
            let pending = Pending { code: code_asked, number, feature, tag, operator };
            self.note(Event::Enrol {
                code: code.to_owned(),
                patient: pending.number,
                feature,
                feature_name: self.trial.feature_name(feature),
                tag: Tag(tag).to_string(),
                asked: assign(&pending).to_string(),
                looks: status.looks,
            })
            .map_err(|error| not_enrolled(code, &error))?;
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
            Reply::Arm { patient: number, arm } if *number == patient => Some(Treatment::Arm(*arm)),
            Reply::Kit { patient: number, kit } if *number == patient => {
                Some(Treatment::Kits { kits: vec![*kit], replaced: 0 })
            }
            _ => None,
        });
        match answer {
            Ok(given) => self.enrolled(pending, given).map(Asked::Arm),
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
                        "what patient {code} was given cannot be known any more: the answer was lost, and another \
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

    /// Whether a patient after this number was assigned. If not, the device compared the tag, or
    /// has not come to the number.
    fn has_gone_on(&mut self, number: u32, detail: &str) -> Result<bool, Failure> {
        let expected =
            detail.strip_prefix("expected=").and_then(|expected| expected.parse::<u32>().ok());
        Ok(match expected {
            Some(expected) => expected > number + 1,
            None => self.status()?.assigned > number,
        })
    }

    fn enrolled(&mut self, pending: &Pending, given: Treatment) -> Result<Patient, Failure> {
        let Pending { code, number: patient, feature, .. } = pending.clone();
        let feature_name = self.trial.feature_name(feature);
        let who = code.clone();
        let noted = self.note(match given {
            Treatment::Arm(arm) => Event::Arm {
                code,
                patient,
                feature,
                feature_name,
                arm: u8::from(arm == Arm::One),
                arm_name: self.trial.arm_name(arm).to_owned(),
                answered: Reply::Arm { patient, arm }.to_string(),
            },
            Treatment::Kits { ref kits, .. } => {
                let kit = kits.first().copied().unwrap_or_default();
                let (label, answered) =
                    (self.trial.kit_label(kit), Reply::Kit { patient, kit }.to_string());
                Event::Kit { code, patient, feature, feature_name, kit, label, answered }
            }
        });
        noted.map_err(|error| {
            Failure::Usage(format!(
                "the device has enrolled patient {who}, as number {patient}, but the log cannot be written ({error}): \
                 what the patient gets is shown once it can"
            ))
        })?;
        self.known(patient)
    }
}

/// Why the device cannot take another patient now.
#[must_use]
pub fn no_room(status: &Status) -> Option<String> {
    let Status { phase, assigned, patients, capacity, .. } = status;
    let waiting = status.waiting();
    if *phase == Phase::Closed {
        Some("the trial is closed".to_owned())
    } else if assigned >= patients {
        Some(format!("all {patients} patients of the plan are enrolled"))
    } else if waiting >= *capacity {
        Some(format!(
            "{waiting} patients wait for their outcome, and the device has room for {capacity}: record an outcome or a \
             loss first"
        ))
    } else {
        None
    }
}

/// The log could not be written before the device was asked.
fn not_enrolled(code: &str, error: &Failure) -> Failure {
    Failure::Usage(format!("patient {code} is not enrolled: the log cannot be written ({error})"))
}

fn assign(pending: &Pending) -> Request {
    let Pending { number, feature, tag, .. } = pending;
    Request::Assign { patient: *number, feature: u32::from(*feature), tag: Some(Tag(*tag)) }
}
