//! Policies to compare the designs with. None of them is private.
//!
//! | name | arms |
//! |---|---|
//! | `fixed` | a fair coin for everyone: the fixed trial without privacy |
//! | `ucb1` | per feature the larger mean + sqrt(2 ln t / pulls) (Auer, Cesa-Bianchi, Fischer 2002) |
//! | `thompson` | per feature the larger of two Beta(1 + yes, 1 + no) draws |
//! | `thompson-aipw` | as `thompson`, with the probability of an arm kept within 0.1 and 0.9, and its own estimate ([`super::clipped`]) |
//! | `etc` or `etc:S` | fair coins for the first share S of the patients (1/10), then the arm with the larger mean |
//!
//! All of them act on the outcomes recorded so far. The estimate is the difference of the two means
//! over all outcomes, with the usual (Wald) interval from the variance of the outcomes of each arm
//! (over n; for yes/no outcomes p(1-p)); there is none while an arm has no outcome. After adaptive
//! choices such a difference is biased and its interval promises nothing: that is what the
//! comparison is for.

use std::fmt;

use rand_distr::{Beta, Distribution};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::SimulateError;
use super::harness::Player;
use equipoise::chance::{Chance, Sampler};
use equipoise::estimate::Estimate;
use equipoise::plan::{Plan, Ratio};
use equipoise::terms::Arm;
use equipoise::trial::AtOnce;

/// A policy that is not one of the designs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Comparator {
    /// Fair coins for everyone.
    Fixed,
    /// Optimism, per feature.
    Ucb1,
    /// Posterior sampling, per feature.
    Thompson,
    /// Posterior sampling with clipped probabilities and an estimate that knows them.
    ThompsonAipw,
    /// Fair coins for this share of the patients, then the better arm.
    ExploreThenCommit(Ratio),
}

impl Comparator {
    /// The names on the command line; `etc` stands for `etc:1/10`.
    pub const NAMES: [&str; 5] = ["fixed", "ucb1", "thompson", "thompson-aipw", "etc"];

    /// Reads a name of the table above; `None` if it is none of them.
    ///
    /// # Errors
    /// A share that is not allowed.
    pub fn parse(text: &str) -> Result<Option<Self>, SimulateError> {
        let bad = || SimulateError::value("design", text, "etc:S with S in 0..=1");
        Ok(Some(match text.split_once(':') {
            None if text == "fixed" => Self::Fixed,
            None if text == "ucb1" => Self::Ucb1,
            None if text == "thompson" => Self::Thompson,
            None if text == "thompson-aipw" => Self::ThompsonAipw,
            None if text == "etc" => return Self::parse("etc:1/10"),
            Some(("etc", share)) => {
                let share = share.parse::<Ratio>().map_err(|_| bad())?;
                Self::ExploreThenCommit(if share.num() > share.den() {
                    return Err(bad());
                } else {
                    share
                })
            }
            _ => return Ok(None),
        }))
    }
}

impl fmt::Display for Comparator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed => f.write_str("fixed"),
            Self::Ucb1 => f.write_str("ucb1"),
            Self::Thompson => f.write_str("thompson"),
            Self::ThompsonAipw => f.write_str("thompson-aipw"),
            Self::ExploreThenCommit(share) => write!(f, "etc:{share}"),
        }
    }
}

/// A comparator's knowledge of a feature.
#[derive(Clone, Copy, Debug, Default)]
struct Feature {
    sums: [u64; 2],
    /// Sums of squared outcomes: below 2^56.
    squares: [u64; 2],
    counts: [u32; 2],
    /// The arm everyone gets from now on (explore-then-commit).
    committed: Option<Arm>,
}

impl Feature {
    fn mean(&self, arm: Arm, scale: f64) -> Option<f64> {
        let count = arm.of(self.counts);
        (count > 0).then(|| arm.of(self.sums) as f64 / (f64::from(count) * scale))
    }

    /// The variance of the outcomes of an arm.
    fn variance(&self, arm: Arm, scale: f64) -> Option<f64> {
        let mean = self.mean(arm, scale)?;
        let square = arm.of(self.squares) as f64 / (f64::from(arm.of(self.counts)) * scale * scale);
        Some((square - mean * mean).max(0.0))
    }

    /// The arm with the larger value; a coin if they are equal.
    fn larger(zero: f64, one: f64, chance: &mut impl Chance) -> Arm {
        if zero == one { Arm::from_bit(chance.coin()) } else { Arm::from_bit(one > zero) }
    }
}

/// A comparator at work.
pub(super) struct Comparison {
    rule: Comparator,
    features: Vec<Feature>,
    scale: f64,
    chance: Sampler<Xoshiro256PlusPlus>,
    words: Xoshiro256PlusPlus,
    /// Patients who still get a fair coin (explore-then-commit).
    coins_left: u64,
}

impl Comparison {
    pub fn new(
        rule: Comparator,
        plan: &Plan,
        coins: Xoshiro256PlusPlus,
        words: Xoshiro256PlusPlus,
    ) -> Self {
        let coins_left = match rule {
            Comparator::ExploreThenCommit(share) => {
                u64::from(plan.patients()) * u64::from(share.num()) / u64::from(share.den())
            }
            _ => u64::MAX,
        };
        Self {
            rule,
            features: vec![Feature::default(); usize::from(plan.features())],
            scale: f64::from(plan.scale()),
            chance: Sampler::new(coins),
            words,
            coins_left,
        }
    }

    fn choose(&mut self, feature: u8) -> Option<Arm> {
        if matches!(self.rule, Comparator::Fixed | Comparator::ThompsonAipw)
            || self.coins_left > 0 && !self.adapts()
        {
            return None;
        }
        let scale = self.scale;
        let feature = self.features.get_mut(usize::from(feature))?;
        match self.rule {
            Comparator::Fixed | Comparator::ThompsonAipw => None,
            Comparator::Ucb1 => {
                let [zero, one] = feature.counts.map(f64::from);
                let width = |pulls: f64| (2.0 * libm::log(zero + one) / pulls).sqrt();
                let (mean0, mean1) =
                    (feature.mean(Arm::Zero, scale)?, feature.mean(Arm::One, scale)?);
                Some(Feature::larger(mean0 + width(zero), mean1 + width(one), &mut self.chance))
            }
            Comparator::Thompson => {
                let [zero, one] = Arm::BOTH.map(|arm| {
                    let yes = arm.of(feature.sums) as f64 / scale;
                    let no = f64::from(arm.of(feature.counts)) - yes;
                    // Both parameters are at least 1.
                    Beta::new(1.0 + yes, 1.0 + no).map_or(0.5, |beta| beta.sample(&mut self.words))
                });
                Some(Feature::larger(zero, one, &mut self.chance))
            }
            Comparator::ExploreThenCommit(_) => {
                if feature.committed.is_none() {
                    let mean = |arm| feature.mean(arm, scale).unwrap_or(0.0);
                    let best = Feature::larger(mean(Arm::Zero), mean(Arm::One), &mut self.chance);
                    feature.committed = Some(best);
                }
                feature.committed
            }
        }
    }

    const fn adapts(&self) -> bool {
        matches!(self.rule, Comparator::Ucb1 | Comparator::Thompson)
    }
}

impl Player for Comparison {
    #[inline]
    fn assign(&mut self, feature: u8) -> Arm {
        let arm = self.choose(feature).unwrap_or_else(|| Arm::from_bit(self.chance.coin()));
        self.coins_left = self.coins_left.saturating_sub(1);
        arm
    }

    #[inline]
    fn outcome(&mut self, _patient: u32, feature: u8, arm: Arm, y: Option<u16>) {
        if let (Some(feature), Some(y)) = (self.features.get_mut(usize::from(feature)), y) {
            *arm.of_mut(&mut feature.sums) += u64::from(y);
            *arm.of_mut(&mut feature.squares) += u64::from(y) * u64::from(y);
            *arm.of_mut(&mut feature.counts) += 1;
        }
    }

    fn at_once(&mut self, next: u32, n: u32, patients: &mut impl AtOnce) -> u32 {
        if self.rule != Comparator::Fixed {
            let feature = patients.feature(next);
            let arm = self.assign(feature);
            self.outcome(next, feature, arm, Some(u16::from(patients.outcome(arm))));
            return next;
        }
        // A fair coin for everyone, and never a drop.
        for patient in next..=n {
            let feature = patients.feature(patient);
            let arm = Arm::from_bit(self.chance.coin());
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
        let [zero, one] = Arm::BOTH.map(|arm| feature.mean(arm, self.scale));
        let (zero, one) = (zero?, one?);
        let [n0, n1] = feature.counts.map(f64::from);
        let [v0, v1] = Arm::BOTH.map(|arm| feature.variance(arm, self.scale).unwrap_or(0.0));
        let variance = v0 / n0 + v1 / n1;
        Some(Estimate::new(one - zero, variance.sqrt(), n0 + n1))
    }

    fn dropped(&self, feature: u8) -> Option<Arm> {
        self.features.get(usize::from(feature))?.committed.map(Arm::other)
    }
}
