//! Requests of a ward's terminal: an arm, or in a blinded trial a kit, and later the record of an
//! outcome or a loss.

use super::Answer;
use super::generator::Seeded;
use super::health::Entropy;
use super::ready::Ready;
use crate::journal::JournalFlash;
use crate::terms::Arm;
use crate::terms::NoKit;
use crate::trial::TrialError;
use crate::wire::{Refusal, Reply, Tag};

impl<F, E, G, const M: usize, const U: usize> Ready<'_, F, E, G, M, U>
where
    F: JournalFlash,
    E: Entropy,
    G: Seeded,
{
    /// Assigns the next patient, or repeats the arm of the last one.
    pub(super) fn assign(&mut self, patient: u32, feature: u32, tag: Option<Tag>) -> Answer {
        let trial = self.state.trial_mut().ok_or(Refusal::Blank)?;
        let tag = tag.map(|tag| tag.0);
        if let Some(arm) = tag.and_then(|tag| trial.repeat(patient, tag)) {
            return Ok(self.given(patient, arm));
        }
        let (plan, expected) = (trial.plan(), trial.assigned() + 1);
        let blinded = plan.is_blinded();
        let known = u8::try_from(feature).unwrap_or(u8::MAX);
        // First what would be wrong with any patient, then with this number, then with this
        // feature.
        match trial.admits(known) {
            Err(TrialError::Closed) => return Err(Refusal::Closed),
            Err(TrialError::Complete) => return Err(Refusal::Full { patients: plan.patients() }),
            _ if patient != expected => return Err(Refusal::Order { expected }),
            Err(TrialError::Full) => return Err(Refusal::Waiting { capacity: U as u32 }),
            Err(_) => return Err(Refusal::Feature { got: feature, features: plan.features() }),
            Ok(()) => {}
        }
        let turns = trial.turns_next();
        self.entropy.sample().map_err(|_| Refusal::Entropy)?;
        if turns {
            self.make_room()?;
        }
        if blinded {
            // Before the arm is chosen, so that its time does not depend on the arm.
            self.state.finish_kits();
        }
        let trial = self.state.trial_mut().ok_or(Refusal::Blank)?;
        // The patient is admitted: no error is left but a fault.
        let arm = trial.enrol(known, tag, self.chance).map_err(|_| Refusal::Storage)?;
        if blinded {
            // Both kits are finished, so there is one.
            let kit = self.state.take_kit(arm).ok_or(Refusal::Storage)?;
            self.state.trial.give_kit(arm, kit);
            self.state.start_next_kit(arm);
        }
        self.commit()?;
        Ok(self.given(patient, arm))
    }

    /// The answer to the last patient's `ASSIGN`.
    fn given(&self, patient: u32, arm: Arm) -> Reply<'static> {
        let trial = &self.state.trial;
        if trial.plan().is_blinded() {
            return Reply::Kit { patient, kit: trial.last_kit() };
        }
        Reply::Arm { patient, arm }
    }

    /// Gives a waiting patient replacement number `count` for a kit that cannot be used, of the
    /// same arm; or repeats the last one given.
    pub(super) fn replace(&mut self, patient: u32, count: u32) -> Answer {
        let trial = self.state.trial_mut().ok_or(Refusal::Blank)?;
        if let Some(kit) = trial.repeat_replacement(patient, count) {
            return Ok(Reply::Kit { patient, kit });
        }
        let (assigned, replaced) = (trial.assigned(), trial.replaced());
        let arm = trial.replaces(patient, count).map_err(|why| match why {
            NoKit::Closed => Refusal::Closed,
            NoKit::Unknown => Refusal::Unknown { patient, assigned },
            NoKit::Order(expected) => Refusal::Order { expected: expected.into() },
            NoKit::Open => Refusal::Kits(why, 0),
            NoKit::Reserve => Refusal::Kits(why, replaced),
            NoKit::Resolved | NoKit::Most => Refusal::Kits(why, patient),
        })?;
        self.state.finish_kits();
        let kit = self.state.take_kit(arm).ok_or(Refusal::Storage)?;
        self.state.trial.replace(patient, arm, kit).map_err(|_| Refusal::Storage)?;
        self.state.start_next_kit(arm);
        self.commit()?;
        Ok(Reply::Kit { patient, kit })
    }

    /// Records an outcome, or with `None` its loss. A repeat is acknowledged and changes nothing.
    pub(super) fn record_outcome(&mut self, patient: u32, y: Option<u32>) -> Answer {
        let trial = self.state.trial_mut().ok_or(Refusal::Blank)?;
        let scale = trial.plan().scale();
        let known = y.map(|y| u16::try_from(y).unwrap_or(u16::MAX));
        // A look that was due was done before the request was read.
        match trial.resolve(patient, known, self.chance) {
            Ok(()) => {}
            Err(TrialError::Range) => return Err(Refusal::Outcome { got: y.unwrap_or(0), scale }),
            Err(TrialError::Unknown) => {
                return Err(Refusal::Unknown { patient, assigned: trial.assigned() });
            }
            Err(_) => return Err(Refusal::Storage),
        }
        self.commit()?;
        Ok(Reply::Recorded { patient })
    }
}
