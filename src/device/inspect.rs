//! The insides of a device, for audit and tests.

use super::generator::Seeded;
use super::health::Entropy;
use super::{Device, DeviceState};
use crate::journal::JournalFlash;
use crate::trial::Trial;
use core::ops::DerefMut;

impl<S, F, E, G, const M: usize, const U: usize> Device<S, F, E, G>
where
    S: DerefMut<Target = DeviceState<M, U>>,
    F: JournalFlash,
    E: Entropy,
    G: Seeded,
{
    /// The trial, for audit and tests.
    #[must_use]
    pub fn trial(&self) -> Option<&Trial<M, U>> {
        self.state.trial()
    }

    /// The trial, for tests that break it on purpose.
    pub fn trial_mut(&mut self) -> Option<&mut Trial<M, U>> {
        self.state.trial_mut()
    }

    /// The flash, for audits that power a copy up.
    pub fn flash(&mut self) -> &mut F {
        self.journal.flash()
    }
}
