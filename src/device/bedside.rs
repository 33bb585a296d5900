//! What a ward's terminal asks for: an arm, and later that an outcome or a loss is recorded.

use super::Answer;
use super::generator::Seeded;
use super::health::Entropy;
use super::ready::Ready;
use crate::journal::JournalFlash;
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
            return Ok(Reply::Arm { patient, arm });
        }
        let (plan, expected) = (trial.plan(), trial.assigned() + 1);
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
        let trial = self.state.trial_mut().ok_or(Refusal::Blank)?;
        let arm = trial.assign(known, tag, self.chance).map_err(|_| Refusal::Storage)?;
        self.commit()?;
        Ok(Reply::Arm { patient, arm })
    }

    /// Records an outcome, or with `None` its loss. A repeat is acknowledged and changes nothing.
    pub(super) fn record_outcome(&mut self, patient: u32, y: Option<u32>) -> Answer {
        let trial = self.state.trial_mut().ok_or(Refusal::Blank)?;
        let scale = trial.plan().scale();
        let recorded = match y.map(|y| u16::try_from(y).unwrap_or(u16::MAX)) {
            None => trial.lost(patient, self.chance),
            Some(y) => trial.outcome(patient, y, self.chance),
        };
        match recorded {
            Ok(()) => {}
            Err(TrialError::Range) => return Err(Refusal::Outcome { got: y.unwrap_or(0), scale }),
            Err(_) => return Err(Refusal::Unknown { patient, assigned: trial.assigned() }),
        }
        self.commit()?;
        Ok(Reply::Recorded { patient })
    }
}
