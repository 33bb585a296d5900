//! Thompson sampling with clipped probabilities and AIPW intervals: the design without privacy that
//! a user would pick instead of ours.
//!
//! # Arms
//! The probability e of arm 1 is that of its larger posterior mean, P(theta_1 > theta_0) for
//! theta_a ~ Beta(1 + yes, 1 + no), by the normal approximation to both, kept within [0.1, 0.9].
//! The arm is drawn with this very probability.
//!
//! # Estimate
//! Augmented inverse propensity weighting with uniform weights (Hadad, Hirshberg, Zhan, Wager and
//! Athey 2021). An outcome r of arm a gives the score of each arm b
//!
//! ```text
//! m_b + [a = b] (r - m_b) / e_b
//! ```
//!
//! with m_b the posterior mean from the outcomes recorded before and e_b the probability of arm b
//! when the patient was assigned. The estimate is the mean difference of the scores of the two
//! arms, its standard error their standard deviation over sqrt n. Scores are martingale
//! differences whatever the probabilities depend on, so the estimate is unbiased.

use rand_core::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::harness::Player;
use crate::normal::normal;
use equipoise::estimate::Estimate;
use equipoise::plan::Plan;
use equipoise::terms::Arm;
use equipoise::trial::AtOnce;

/// The least probability of an arm.
const FLOOR: f64 = 0.1;
/// 2^53, the draws that decide an arm.
const DRAWS: f64 = 9_007_199_254_740_992.0;

/// Knowledge of a feature.
#[derive(Clone, Copy, Debug, Default)]
struct Feature {
    /// Sum of outcomes over the scale, and outcomes, of each arm.
    sums: [f64; 2],
    counts: [f64; 2],
    /// Sum of the differences of scores, and of their squares.
    score: f64,
    square: f64,
}

impl Feature {
    /// Mean and variance of the posterior of an arm.
    fn posterior(&self, arm: Arm) -> (f64, f64) {
        let (yes, all) = (1.0 + arm.of(self.sums), 2.0 + arm.of(self.counts));
        let mean = yes / all;
        (mean, mean * (1.0 - mean) / (all + 1.0))
    }

    /// The clipped probability of arm 1.
    fn probability(&self) -> f64 {
        let ((m0, v0), (m1, v1)) = (self.posterior(Arm::Zero), self.posterior(Arm::One));
        normal((m1 - m0) / (v0 + v1).sqrt()).clamp(FLOOR, 1.0 - FLOOR)
    }

    fn add(&mut self, arm: Arm, r: f64, probability: f64) {
        let score = |of: Arm, e: f64| {
            let (mean, _) = self.posterior(of);
            mean + if arm == of { (r - mean) / e } else { 0.0 }
        };
        let difference = score(Arm::One, probability) - score(Arm::Zero, 1.0 - probability);
        self.score += difference;
        self.square += difference * difference;
        *arm.of_mut(&mut self.sums) += r;
        *arm.of_mut(&mut self.counts) += 1.0;
    }
}

/// The design at work.
pub(super) struct Clipped {
    features: Vec<Feature>,
    scale: f64,
    draws: Xoshiro256PlusPlus,
    /// The probability of arm 1 of each patient.
    probabilities: Vec<f64>,
}

impl Clipped {
    pub fn new(plan: &Plan, draws: Xoshiro256PlusPlus) -> Self {
        Self {
            features: vec![Feature::default(); usize::from(plan.features())],
            scale: f64::from(plan.scale()),
            draws,
            probabilities: Vec::with_capacity(plan.patients() as usize),
        }
    }
}

impl Player for Clipped {
    fn assign(&mut self, feature: u8) -> Arm {
        let known = self.features.get(usize::from(feature));
        let probability = known.map_or(0.5, Feature::probability);
        self.probabilities.push(probability);
        Arm::from_bit(((self.draws.next_u64() >> 11) as f64) < probability * DRAWS)
    }

    fn outcome(&mut self, patient: u32, feature: u8, arm: Arm, y: Option<u16>) {
        let probability = self.probabilities.get(patient.saturating_sub(1) as usize);
        let known = self.features.get_mut(usize::from(feature));
        if let (Some(known), Some(y), Some(probability)) = (known, y, probability) {
            known.add(arm, f64::from(y) / self.scale, *probability);
        }
    }

    fn at_once(&mut self, next: u32, n: u32, patients: &mut impl AtOnce) -> u32 {
        for patient in next..=n {
            let feature = patients.feature(patient);
            let arm = self.assign(feature);
            self.outcome(patient, feature, arm, Some(u16::from(patients.outcome(arm))));
        }
        n
    }

    fn close(&mut self) {}

    fn looks(&self) -> u8 {
        0
    }

    fn estimate(&self, feature: u8) -> Option<Estimate> {
        let feature = self.features.get(usize::from(feature))?;
        let all: f64 = feature.counts.iter().sum();
        if feature.counts.contains(&0.0) {
            return None;
        }
        let mean = feature.score / all;
        let variance = (feature.square / all - mean * mean).max(0.0);
        Some(Estimate::new(mean, (variance / all).sqrt(), all))
    }

    fn dropped(&self, _: u8) -> Option<Arm> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three outcomes by hand: posterior means before each, scores divided by the probability.
    #[test]
    fn scores_by_hand() {
        let mut feature = Feature::default();
        assert_eq!(feature.probability(), 0.5);
        // m = 1/2, 1/2: score of arm 1 is 1/2 + (1 - 1/2)/0.5 = 3/2, of arm 0 1/2.
        feature.add(Arm::One, 1.0, 0.5);
        assert!((feature.score - 1.0).abs() < 1e-12);
        // m_1 = 2/3: 2/3 - (1/2 + (0 - 1/2)/0.2) = 2/3 + 2.
        feature.add(Arm::Zero, 0.0, 0.8);
        assert!((feature.score - (1.0 + 8.0 / 3.0)).abs() < 1e-12);
        // m_0 = 1/3, m_1 = 2/3: 2/3 + (1/2 - 2/3)/0.9 - 1/3.
        feature.add(Arm::One, 0.5, 0.9);
        let last = 1.0 / 3.0 - 1.0 / 6.0 / 0.9;
        assert!((feature.score - (1.0 + 8.0 / 3.0 + last)).abs() < 1e-12);
        for _ in 0..100 {
            feature.add(Arm::One, 1.0, 0.9);
            feature.add(Arm::Zero, 0.0, 0.9);
        }
        assert_eq!(feature.probability(), 0.9);
    }
}
