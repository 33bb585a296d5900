//! The state of a trial that a device never sends, for audit and tests.

use super::Trial;
use crate::design::{AnyDesign, AnyFeature, LedgerView};

impl<const M: usize, const U: usize> Trial<M, U> {
    /// Puts the state of another design into a feature, as damaged memory would.
    pub fn damage(&mut self, feature: u8) {
        if let Some(state) = self.features.get_mut(usize::from(feature)) {
            let published = AnyFeature::Published(crate::design::conse::Feature::NEW);
            *state = if self.design.has_looks() { published } else { AnyFeature::VACANT };
        }
    }

    /// The noisy ledger of a feature (`interim`, `uniform`) and what was made of it: all that later
    /// arms and reports depend on.
    #[must_use]
    pub fn ledger(&self, feature: u8) -> Option<LedgerView> {
        match self.feature(feature)? {
            AnyFeature::Ledger(feature) => Some(feature.inspect()),
            AnyFeature::Published(_) => None,
        }
    }

    /// The count of the last planned look in which a feature took part (`interim`, `uniform`), 0
    /// before the first and after the close.
    #[must_use]
    pub fn last_count(&self, feature: u8) -> Option<u32> {
        match (self.feature(feature)?, &self.design) {
            (AnyFeature::Ledger(feature), AnyDesign::Ledger(design)) => {
                Some(design.count_of(&self.plan, feature.last_look()))
            }
            _ => None,
        }
    }

    /// Raw cells of a feature's now-window and before-window (`interim`, `uniform`), and whether
    /// each has the noise of its next look. Private.
    #[must_use]
    pub fn windows(&self, feature: u8) -> Option<[([[i64; 3]; 2], bool); 2]> {
        match self.feature(feature)? {
            AnyFeature::Ledger(feature) => Some(feature.windows()),
            AnyFeature::Published(_) => None,
        }
    }

    /// Epoch and length of the present batch or trial of a feature (`conse`, `dp-conse`).
    #[must_use]
    pub fn batch(&self, feature: u8) -> Option<(u8, u32)> {
        match self.feature(feature)? {
            AnyFeature::Published(feature) => Some((feature.epoch(), feature.length())),
            AnyFeature::Ledger(_) => None,
        }
    }
}
