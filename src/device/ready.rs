//! A device that can work: what a request reads and changes, and how a change becomes durable.

use super::auth::{Evidence, Role, Session};
use super::generator::Seeded;
use super::health::{Entropy, Monitored, RESEED_SAMPLES};
use super::{Answer, DeviceState, Trouble};
use crate::journal::{self, Journal, JournalFlash};
use crate::wire::{Refusal, Reply, TrialId};

/// The parts of a device whose flash is mounted and whose generator is seeded.
pub(super) struct Ready<'a, F, E, G, const M: usize, const U: usize> {
    pub state: &'a mut DeviceState<M, U>,
    pub journal: &'a mut Journal<F>,
    pub entropy: &'a mut Monitored<E>,
    pub chance: &'a mut G,
    pub session: &'a mut Session,
    pub trouble: &'a mut Option<Trouble>,
}

impl<F, E, G, const M: usize, const U: usize> Ready<'_, F, E, G, M, U>
where
    F: JournalFlash,
    E: Entropy,
    G: Seeded,
{
    /// Draws a nonce for the next custodian command.
    pub(super) fn challenge(&mut self) -> Answer {
        self.state.custody().key()?;
        let nonce = self.chance.bytes();
        self.session.challenge(nonce)?;
        Ok(Reply::Nonce(nonce))
    }

    /// Whether the custodian sent this command.
    pub(super) fn authorize(&mut self, evidence: &Evidence<'_>) -> Result<(), Refusal<'static>> {
        self.authorize_role(None, evidence)
    }

    /// Whether the custodian or a holder of this role's key sent this command.
    #[inline(never)]
    pub(super) fn authorize_role(
        &mut self,
        role: Option<Role>,
        evidence: &Evidence<'_>,
    ) -> Result<(), Refusal<'static>> {
        let trial = self.state.name().map_or(TrialId::NONE, |name| name.id);
        self.session.authorize(self.state.custody().key()?, role, trial, evidence)
    }

    /// Works on the journal. If that fails, memory may be ahead of flash, so nothing is answered
    /// from it any more.
    pub(super) fn store(
        &mut self,
        work: impl FnOnce(&mut Journal<F>, &DeviceState<M, U>) -> Result<(), journal::Error>,
    ) -> Result<(), Refusal<'static>> {
        work(self.journal, self.state).map_err(|_| {
            *self.trouble = Some(Trouble::Fault);
            Refusal::Storage
        })
    }

    /// Before anything is changed: room on flash for a commit of all features, which must be
    /// sound.
    pub(super) fn make_room(&mut self) -> Result<(), Refusal<'static>> {
        self.store(|journal, state| {
            if !state.trial.is_sound() {
                // As after a commit that failed: the state must be read from flash again.
                return Err(journal::Error::Broken);
            }
            journal.make_room(state)
        })
    }

    /// Makes what has changed durable.
    pub(super) fn commit(&mut self) -> Result<(), Refusal<'static>> {
        self.store(|journal, state| journal.commit(state, || state.dirty()))?;
        self.state.mark_clean();
        Ok(())
    }

    /// Does the look that is due, and makes it durable.
    pub(super) fn look(&mut self) -> Result<(), Refusal<'static>> {
        self.make_room()?;
        if let Some(trial) = self.state.trial_mut() {
            trial.look(self.chance);
        }
        self.reseed();
        self.commit()
    }

    /// Seeds the generator anew, from its own output and fresh samples.
    pub(super) fn reseed(&mut self) {
        let old = self.chance.bytes::<32>();
        let seed = self.entropy.seed(&old, RESEED_SAMPLES).unwrap_or(old);
        *self.chance = G::from_seed(seed);
    }
}
