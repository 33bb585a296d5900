//! The log accounts for every patient of the device, or nobody is enrolled.
//!
//! With a lost, old or copied log a code could be enrolled twice, and patients who wait would not
//! be seen to wait. So the device's public counts are compared with the log before each enrolment.
//! Where several terminals share a device, a person confirms that the records of the others are
//! elsewhere; the log keeps who said so.

use super::Bedside;
use crate::failure::Failure;
use crate::records::account::Gap;
use crate::records::log::Event;
use equipoise::terms::Phase;
use equipoise::wire::Status;

impl Bedside {
    /// Patients and outcomes of the device that this log does not account for; none of a closed
    /// trial, which enrols nobody.
    #[must_use]
    pub fn gap(&self, status: &Status) -> Option<Gap> {
        let gap = self.register.gap(status.assigned, status.resolved);
        Some(gap).filter(|gap| status.phase != Phase::Closed && !gap.is_empty())
    }

    /// Writes to the log that a person confirmed that the records of a gap are elsewhere. `shown`
    /// is the gap in words, as the person has read it.
    ///
    /// # Errors
    /// No device, another gap by now, or the disk refused.
    pub fn confirm_elsewhere(&mut self, shown: &str) -> Result<(), Failure> {
        let status = self.status()?;
        let Some(gap) = self.gap(&status) else { return Ok(()) };
        if gap.to_string() != shown {
            return Err(Failure::Refused(format!("{gap}. Nothing was confirmed: read it again")));
        }
        let Gap { patients, outcomes } = gap;
        let assigned = status.assigned;
        self.note(Event::Elsewhere { patients, assigned, outcomes }).map(drop)
    }
}
