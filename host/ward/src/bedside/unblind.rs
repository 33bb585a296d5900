//! Emergency unblinding at the bedside, on a machine that was given the key for it.
//!
//! The log has who asked, for which patient and why before the arm is known here. The arm is told
//! to the tab that asked and to nobody else; it is neither in the log nor in the state of the page.

use super::Bedside;
use crate::failure::Failure;
use crate::records::code_break::{self, Asked};
use crate::records::keys::KeyFile;
use crate::records::log::{self, Entry};
use crate::records::pharmacy;
use crate::records::register::Patient;
use equipoise::terms::Arm;

/// The answer to an unblinding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unblinded {
    /// The patient.
    pub patient: Patient,
    /// The arm of the patient's last kit.
    pub arm: Arm,
    /// The line that the log has of it.
    pub entry: Entry,
}

impl Bedside {
    /// The same bedside on a machine that may unblind.
    ///
    /// # Errors
    /// The trial is not blinded, another key, or nothing that tells.
    pub fn with_code_break(mut self, key: KeyFile) -> Result<Self, Failure> {
        if self.trial.kits.is_none() {
            let title = &self.trial.title;
            return Err(Failure::Usage(format!(
                "the trial {title:?} is not blinded: there is nothing to unblind"
            )));
        }
        // A log that has not begun has nothing to compare with.
        let begun = self.register.opened().is_some();
        let entries = if begun { log::verify(self.log.path(), None)?.1 } else { Vec::new() };
        code_break::same_key(&key, &self.trial, &entries, false)?;
        self.code_break = Some(key);
        Ok(self)
    }

    /// Whether this machine may unblind.
    #[must_use]
    pub const fn can_unblind(&self) -> bool {
        self.code_break.is_some()
    }

    /// Logs that a patient is unblinded, and then names the arm.
    ///
    /// # Errors
    /// No key, a patient without a kit, a reason that is not allowed, or the disk refused.
    pub fn unblind(&mut self, number: u32, reason: &str) -> Result<Unblinded, Failure> {
        let patient = self.known(number)?;
        let Some(key) = &self.code_break else {
            return Err(Failure::Refused(
                "this machine was not given the key for a code break; no arm is named".to_owned(),
            ));
        };
        let kit = patient.given.kit().ok_or_else(|| {
            Failure::Refused(format!("patient {} was given no kit; no arm is named", patient.code))
        })?;
        let asked = Asked { kit, patient: Some((patient.code.clone(), number)) };
        let (log, register) = (&mut self.log, &mut self.register);
        let (arm, entry) = pharmacy::reveal(&self.trial, key, &asked, reason, |event| {
            let entry = log.append(event)?;
            register.apply(&entry);
            Ok(entry)
        })?;
        Ok(Unblinded { patient, arm, entry })
    }
}
