//! Who works: signing in with a PIN, and in whose name a line of the log is written.
//!
//! Where a trial has a staff file, nothing is done for a patient without a person of the staff. A
//! trial whose file names acts to be signed is not opened without a staff file.

use std::path::{Path, PathBuf};

use super::Bedside;
use crate::failure::Failure;
use crate::records::alike::alike;
use crate::records::eligibility::{Answer, Screened};
use crate::records::log::Event;
use crate::records::pin::Pin;
use crate::records::signing::{self, NOBODY, Signer};
use crate::records::staff::{Person, Role};
use crate::records::trial_file::TrialFile;

/// The staff file of a trial, if there is one.
///
/// # Errors
/// There is none, although the trial file names acts to be signed.
pub fn staff_file(trial: &TrialFile, path: PathBuf) -> Result<Option<PathBuf>, Failure> {
    if path.exists() {
        return Ok(Some(path));
    }
    if trial.signing.acts.is_empty() {
        return Ok(None);
    }
    Err(Failure::Usage(format!(
        "the trial file names acts to be signed (sign), and there is no staff file {}: the coordinator makes one with \
         equipoise staff add",
        path.display()
    )))
}

impl Bedside {
    /// Lets only people of this staff file work; until one signs in, nobody does.
    #[must_use]
    pub fn with_staff(mut self, staff: Option<PathBuf>) -> Self {
        if staff.is_some() {
            self.log.act_as(NOBODY, None);
        }
        self.staff = staff;
        self
    }

    /// The staff file, where there is one.
    #[must_use]
    pub fn staff(&self) -> Option<&Path> {
        self.staff.as_deref()
    }

    /// The person with this id, as the staff file has them now.
    ///
    /// # Errors
    /// There is no staff file, or no such person in it.
    pub fn person(&self, id: &str) -> Result<Person, Failure> {
        signing::person(self.staff_path()?, id)
    }

    fn staff_path(&self) -> Result<&Path, Failure> {
        self.staff().ok_or_else(|| Failure::Usage("the trial has no staff file".to_owned()))
    }

    /// The person with this id and PIN.
    ///
    /// # Errors
    /// No such person, a wrong PIN, which the log then has, or a pause after five.
    pub fn verify(&mut self, id: &str, pin: &Pin) -> Result<Person, Failure> {
        let staff = self.staff_path()?.to_owned();
        self.begun()?;
        let attempts = self.register.attempts().clone();
        signing::verify(&staff, &attempts, id, pin, |event| self.note(event).map(drop))
    }

    /// A person begins to work at a view; the log says so.
    ///
    /// # Errors
    /// As [`Self::verify`], or the disk refused.
    pub fn sign_in(&mut self, id: &str, pin: &Pin, view: &str) -> Result<Person, Failure> {
        let person = self.verify(id, pin)?;
        self.act_as(&person, None);
        let (id, view) = (person.id.clone(), view.to_owned());
        self.note(Event::SignedIn { id, view })?;
        Ok(person)
    }

    /// A person leaves a view; the log says so.
    ///
    /// # Errors
    /// The disk refused.
    pub fn sign_out(&mut self, id: &str, view: &str, why: &str) -> Result<(), Failure> {
        let (id, view, why) = (id.to_owned(), view.to_owned(), why.to_owned());
        self.note(Event::SignedOut { id, view, why }).map(drop)
    }

    /// Writes the log in the name of this person from here on, signed if they sign in a role.
    pub fn act_as(&mut self, person: &Person, role: Option<Role>) {
        let signer = role.map(|role| Signer { id: person.id.clone(), role });
        self.log.act_as(&person.operator(), signer);
    }

    /// Writes the log in nobody's name from here on; without a staff file nothing changes.
    pub fn act_as_nobody(&mut self) {
        if self.staff.is_some() {
            self.log.act_as(NOBODY, None);
        }
    }

    /// Logs the answers to the questions about eligibility and consent, in their order. A patient
    /// who is not eligible needs no code.
    ///
    /// The result says why the patient is not eligible; nothing for one who is.
    ///
    /// # Errors
    /// An answer is missing, a bad or used code, or the disk refused.
    pub fn screen(
        &mut self,
        code: Option<&str>,
        answers: &[Answer],
    ) -> Result<Option<String>, Failure> {
        let screened = self.trial.eligibility.evaluate(answers).map_err(Failure::Usage)?;
        self.begun()?;
        let Screened { answers, excluded } = screened;
        if let Some(reason) = excluded {
            let told = format!(
                "not eligible: {reason}; nobody was enrolled, and the screening log has an entry"
            );
            self.note(Event::NotEligible { reason, answers })?;
            return Ok(Some(told));
        }
        let code = code.ok_or_else(|| {
            Failure::Usage("an eligible patient needs a code; nothing was written".to_owned())
        })?;
        let pending = self.register.pending().is_some_and(|pending| alike(&pending.code, code));
        if !pending {
            self.unused(code)?;
            let code = self.trial.code.check(code).map_err(Failure::Usage)?;
            self.note(Event::Eligible { code, answers })?;
        }
        Ok(None)
    }
}
