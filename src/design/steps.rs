//! The steps in which the paper's Algorithms 1 and 2 differ, and the constants they share.

use crate::chance::Chance;

/// The constants of an epoch: R_e, h_e and c_e of the paper.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Epoch {
    /// R_e, the planned patients of the batch.
    pub length: f64,
    /// h_e, the confidence radius of a mean.
    pub radius: f64,
    /// c_e, the allowance for noise (Algorithm 2 only).
    pub noise: f64,
}

impl Epoch {
    /// Epoch `e >= 1` of a trial of `n` patients; Algorithm 1 is the case epsilon = 1.
    #[must_use]
    pub fn new(e: u8, n: u32, epsilon: f64) -> Self {
        // 2^-e, exact; `exp2` would bring a table of 4 KB to the board.
        let gap = libm::scalbn(1.0, -i32::from(e));
        let (n, e) = (f64::from(n), f64::from(e));
        let log16 = libm::log(16.0 * n * e * e);
        let log8 = libm::log(8.0 * n * e * e);
        let length = f64::max(32.0 * log16 / (gap * gap), 8.0 * log8 / (epsilon * gap)) + 1.0;
        Self {
            length,
            radius: libm::sqrt(log16 / (2.0 * length)),
            noise: 2.0 * log8 / (length * epsilon),
        }
    }
}

/// The steps in which Algorithms 1 and 2 differ.
pub(crate) trait Steps {
    /// The epsilon of [`Epoch::new`], and of the floor under T_min.
    fn epsilon(&self) -> f64;
    /// The length of a batch planned as `length`.
    fn batch(&self, length: f64, chance: &mut impl Chance) -> u32;
    /// The noise on a mean of a batch planned as `length`, in outcome units.
    fn mean_noise(&self, length: f64, chance: &mut impl Chance) -> f64;
    /// By how much a mean must trail for its arm to be dropped.
    fn threshold(&self, epoch: Epoch) -> f64;
    /// T_j for a planned T_min.
    fn trial(&self, length: f64, chance: &mut impl Chance) -> u32;
    /// The noise on an estimate from `length` patients, in units of 1/(length Y).
    fn estimate_noise(&self, chance: &mut impl Chance) -> i64;
    /// The variance of that noise, in outcome units.
    fn estimate_noise_variance(&self, length: u32) -> f64;
    /// The noise on the number of outcomes behind an estimate.
    fn count_noise(&self, chance: &mut impl Chance) -> i64;
}

/// Algorithm 1: no noise anywhere.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Conse;

impl Steps for Conse {
    fn epsilon(&self) -> f64 {
        1.0
    }
    fn batch(&self, length: f64, _: &mut impl Chance) -> u32 {
        // r >= R_e for whole r and real R_e.
        libm::ceil(length) as u32
    }
    fn mean_noise(&self, _: f64, _: &mut impl Chance) -> f64 {
        0.0
    }
    fn threshold(&self, epoch: Epoch) -> f64 {
        2.0 * epoch.radius
    }
    fn trial(&self, length: f64, _: &mut impl Chance) -> u32 {
        length as u32
    }
    fn estimate_noise(&self, _: &mut impl Chance) -> i64 {
        0
    }
    fn estimate_noise_variance(&self, _: u32) -> f64 {
        0.0
    }
    fn count_noise(&self, _: &mut impl Chance) -> i64 {
        0
    }
}
