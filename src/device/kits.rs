//! The next kit of each arm of a blinded trial, computed ahead.
//!
//! A kit number takes hundreds of rounds ([`crate::kits`]), too long for a request. So one kit of
//! *each* arm is made ready between requests, a piece at a time, and `ASSIGN` uses the kit already
//! computed for the chosen arm. A request that needs a kit first finishes both: how long that takes
//! depends on when requests came, which is public, and not on any arm.
//!
//! Nothing of this is stored. After power-up both are made anew from the custodian's key, the trial
//! file's digest and the counts; so the key cannot be changed while there is a blinded trial.

use super::DeviceState;
use super::auth::Role;
use crate::kits::{KitKey, Walk};
use crate::terms::Arm;

/// The key of the kit numbers, and the next kit of each arm as far as it is computed.
#[derive(Clone, Debug)]
pub(super) struct Prepared {
    key: KitKey,
    next: [Walk; 2],
}

impl Prepared {
    pub const NONE: Self = Self { key: KitKey::NONE, next: [Walk::NONE; 2] };
}

impl<const M: usize, const U: usize> DeviceState<M, U> {
    /// Starts on the next kit of each arm, if there is a blinded trial.
    #[inline(never)]
    pub(super) fn start_kits(&mut self) {
        let Some((name, kits)) = self.name().zip(self.trial().map(|trial| trial.plan().kits()))
        else {
            return;
        };
        // A trial without a key cannot be: `PLAN` needs a proof.
        if kits > 0
            && let Ok(key) = self.custody().key()
        {
            self.prepared.key = key.role(Role::CodeBreak).kit_key(name.file, kits);
            self.prepared.next = Arm::BOTH.map(|arm| Walk::new(arm, self.trial.next_kit(arm)));
        }
    }

    /// Does a piece of the work, two rounds. False if there is none left.
    pub(super) fn prepare_kits(&mut self) -> bool {
        if self.name().is_none() || !self.trial.wants_kits() {
            return false;
        }
        let (kits, Prepared { key, next }) = (self.trial.plan().kits(), &mut self.prepared);
        let [zero, one] = *next;
        next.get_mut(one.is_behind(zero)).is_some_and(|walk| walk.advance(key, kits))
    }

    /// Does what is left of the work.
    // Saves 24 cycles of a blinded `ASSIGN` on the Cortex-M0.
    #[inline(always)]
    pub(super) fn finish_kits(&mut self) {
        // Asked first: in a trial that needs no more kits there is nothing to do, ready or not.
        let ready = |state: &Self| state.prepared.next.iter().all(|walk| walk.kit().is_some());
        while !ready(self) && self.prepare_kits() {}
    }

    /// Takes the kit that lies ready for this arm; `None` if there is none. To be counted by the
    /// trial, and then followed by [`Self::start_next_kit`].
    pub(super) fn take_kit(&self, arm: Arm) -> Option<u32> {
        arm.of(self.prepared.next).kit()
    }

    /// A kit of this arm was given and counted.
    pub(super) fn start_next_kit(&mut self, arm: Arm) {
        *arm.of_mut(&mut self.prepared.next) = Walk::new(arm, self.trial.next_kit(arm));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kits::Prf;
    use std::prelude::rust_2024::*;

    /// An erased trial leaves no key of kit numbers in memory, and no work on a kit.
    #[test]
    fn erase_forgets_the_kit_key() {
        let mut state = Box::new(DeviceState::<1, 1>::BLANK);
        state.prepared = Prepared { key: KitKey::new(&[1; 32]), next: [Walk::new(Arm::One, 5); 2] };
        state.erase();
        assert_eq!(state.prepared.key.words(0, 0), KitKey::NONE.words(0, 0));
        assert_eq!(state.prepared.next, [Walk::NONE; 2]);
    }
}
