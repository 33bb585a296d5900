//! The four noisy steps of the paper's Algorithm 2, as published; all else is [`super::conse`].
//!
//! * Batch lengths and trial lengths are Lap+ around the planned length, rate epsilon/2 (lines 16
//!   and 23). The normaliser the paper prints does not sum to 1; [`crate::noise`] has the law it
//!   must mean.
//! * Each mean of a batch gets Laplace noise of scale 2/(epsilon R_e) (line 11), the estimate of
//!   scale 2/(epsilon T_j) (line 32). Here both are discrete: k/(R_e Y) and k/(T_j Y) with k of
//!   rate epsilon/(2Y), that is the published scale on the grid of a sum over R_e (or T_j)
//!   outcomes.
//!
//! One draw is ours: the number of outcomes behind an estimate, which its interval needs where some
//! are lost, gets discrete Laplace noise of rate epsilon/2.
//!
//! This is not private at the epsilon the paper states. `docs/privacy.md` says which claims fail
//! and by how much, and `equipoise audit` computes it.

use super::conse::{Epoch, Steps};
use crate::chance::Chance;
use crate::noise::Laplace;
use crate::plan::Plan;

/// The laws of Algorithm 2 for one plan.
#[derive(Clone, Debug)]
pub(crate) struct DpConse {
    epsilon: f64,
    scale: f64,
    means: Laplace,
    lengths: Laplace,
}

impl DpConse {
    /// Prepares the laws of a plan. Not inlined: the caller's frame would hold the constants of
    /// every design.
    #[must_use]
    #[inline(never)]
    pub fn new(plan: &Plan) -> Self {
        Self {
            epsilon: plan.epsilon().to_f64(),
            scale: f64::from(plan.scale()),
            means: Laplace::new(plan.cell_rate()),
            lengths: Laplace::new(plan.length_rate()),
        }
    }

    /// Whole patients around which a length is drawn.
    fn length(&self, planned: f64, chance: &mut impl Chance) -> u32 {
        u32::try_from(chance.lap_plus(planned as u64, &self.lengths)).unwrap_or(u32::MAX)
    }
}

impl Steps for DpConse {
    fn epsilon(&self) -> f64 {
        self.epsilon
    }
    fn batch(&self, length: f64, chance: &mut impl Chance) -> u32 {
        self.length(length, chance)
    }
    fn mean_noise(&self, length: f64, chance: &mut impl Chance) -> f64 {
        chance.discrete_laplace(&self.means) as f64 / (length * self.scale)
    }
    fn threshold(&self, epoch: Epoch) -> f64 {
        2.0 * epoch.radius + 2.0 * epoch.noise
    }
    fn trial(&self, length: f64, chance: &mut impl Chance) -> u32 {
        self.length(length, chance)
    }
    fn estimate_noise(&self, chance: &mut impl Chance) -> i64 {
        chance.discrete_laplace(&self.means)
    }
    fn estimate_noise_variance(&self, length: u32) -> f64 {
        // 2 b^2 with b = 2/(epsilon T).
        let scale = 2.0 / (self.epsilon * f64::from(length));
        2.0 * scale * scale
    }
    fn count_noise(&self, chance: &mut impl Chance) -> i64 {
        chance.discrete_laplace(&self.lengths)
    }
}
