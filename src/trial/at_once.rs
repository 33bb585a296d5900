//! Patients whose outcome comes before the next patient, many in one call.
//!
//! A simulation plays millions of them, and with outcomes that come at once nobody ever waits: the table of waiting
//! patients, the look-up of a patient in it and the marks of what was touched say nothing that is not known after the
//! last patient. [`Trial::at_once`] leaves them out. What is random and what is counted is the design's own code, as in
//! [`Trial::assign`] and [`Trial::outcome`], and every patient with whom a look or the turn falls is handed to these two.

use super::{Last, Phase, Trial, TrialError, bit};
use crate::chance::Chance;
use crate::design::{Arm, Half};

/// Patients who come one after another, each with a yes/no outcome before the next.
pub trait AtOnce {
    /// The feature of patient number `patient`. Asked for once a patient, in order.
    fn feature(&mut self, patient: u32) -> u8;
    /// Whether the outcome of that patient under this arm is 1.
    fn outcome(&mut self, arm: Arm) -> bool;
}

impl<const M: usize, const U: usize> Trial<M, U> {
    /// Takes patients, at least one, until with one of them a batch has ended, a look has been done or the trial has
    /// turned, or until all are in. So an arm that was dropped was dropped with the last patient taken.
    ///
    /// The trial is left as [`Trial::assign`] without a tag and [`Trial::outcome`], one patient after another, would
    /// have left it, and as much randomness has been used.
    ///
    /// # Errors
    /// As [`Trial::assign`] for a patient who is refused; those before have been taken.
    pub fn at_once(
        &mut self,
        patients: &mut impl AtOnce,
        chance: &mut impl Chance,
    ) -> Result<(), TrialError> {
        let stopped = match self.phase.half() {
            Half::Explore => self.undisturbed(Half::Explore, patients, chance)?,
            Half::Measure => self.undisturbed(Half::Measure, patients, chance)?,
        };
        if stopped {
            return Ok(());
        }
        let patient = self.assigned.saturating_add(1);
        let feature = patients.feature(patient);
        let arm = self.assign(feature, None, chance)?;
        self.outcome(patient, u16::from(patients.outcome(arm)), chance)
    }

    /// Takes the patients before the next look or turn. True if it stopped before: at the end of a batch or of the plan.
    #[inline(always)]
    fn undisturbed(
        &mut self,
        half: Half,
        patients: &mut impl AtOnce,
        chance: &mut impl Chance,
    ) -> Result<bool, TrialError> {
        let end = self.plan.patients().min(self.next_look.saturating_sub(1));
        if self.phase == Phase::Closed || usize::from(self.unresolved) >= U {
            return Ok(false);
        }
        let used = usize::from(self.plan.features());
        let features = self.features.get_mut(..used).unwrap_or(&mut []);
        let (mut taken, mut seen, mut refused, mut ended) = (None, 0, false, false);
        for before in self.assigned..end {
            let patient = before.saturating_add(1);
            let feature = patients.feature(patient);
            let Some(state) = features.get_mut(usize::from(feature)) else {
                refused = true;
                break;
            };
            let choice = self.rules.choose(state, half, chance);
            let y = u16::from(patients.outcome(choice.arm));
            ended = self.rules.record(state, &self.plan, half, choice, Some(y), chance);
            seen |= bit(feature);
            taken = Some((patient, choice.arm));
            if ended {
                break;
            }
        }
        if let Some((patient, arm)) = taken {
            self.assigned = patient;
            self.last = Some(Last { arm, tag: None });
            self.touched.progress = true;
            self.touched.slot = self.find(0, patient).map(|slot| slot as u16);
            self.touched.tallies |= seen;
            if !self.rules.is_interim() {
                self.touched.ledgers |= seen;
            }
        }
        if refused { Err(TrialError::Feature) } else { Ok(ended || self.assigned >= self.plan.patients()) }
    }
}
