//! The estimate of a feature, with what a report carries of its ledger.

use super::{Feature, LedgerDesign, MASKS, TWO_TO_8};
use crate::estimate::{ArmBasis, Basis, Estimate};

impl Feature {
    /// The effect, once a window has entered.
    pub fn estimate(&self, design: &LedgerDesign) -> Option<Estimate> {
        let outcomes = f64::max(design.measure.count(self.ledger.sums()), 0.0);
        let (middle, deviation) = (self.p / self.q, libm::sqrt(self.spent()) / self.q);
        let estimate = Estimate::new(middle, deviation, outcomes);
        (self.q > 0.0).then(|| estimate.on(self.basis(design)))
    }

    fn basis(&self, design: &LedgerDesign) -> Basis {
        let arms = self.ledger.sums().map(|sums| {
            let (outcomes, total) = design.measure.outcomes(sums);
            let mean = (total / f64::max(outcomes, 1.0)).clamp(0.0, 1.0);
            ArmBasis { outcomes: f64::max(outcomes, 0.0), mean }
        });
        Basis {
            spent: self.spent(),
            half_spent: f64::from(self.half_spent) / TWO_TO_8,
            looks: self.coins | u32::from(self.reports) << design.looks_to_half,
            windows: self.windows_read(),
            arms,
        }
    }

    /// Windows read so far.
    pub(super) const fn windows_read(&self) -> u8 {
        self.masked >> MASKS.count_ones()
    }
}
