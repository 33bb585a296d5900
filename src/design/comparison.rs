//! Comparing the arms of a window or a ledger, noise included.

use super::Arm;
use super::cells::{Sums, Unit};

/// Expected outcomes an arm below which a window is not read, before the allowance for noise.
const MIN_WINDOW: f64 = 5.0;
/// Outcomes an arm below which a feature does not settle, before the allowance for noise.
const MIN_SETTLED: f64 = 10.0;
/// Means are kept this far from 0 and 1 where a variance is made of them.
const MEAN_MARGIN: f64 = 0.02;
/// A graded outcome's variance is at least this share of a yes/no outcome's with the same mean.
const MIN_VARIANCE_SHARE: f64 = 1.0 / 20.0;

/// How outcomes are counted and how noisy a cell is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Measure {
    pub unit: Unit,
    /// uY: what one outcome adds to the cells.
    pub weight: f64,
    /// v: variance of one draw over (uY)^2.
    pub variance: f64,
}

/// How one arm's outcomes of a window or ledger are distributed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spread {
    mean: f64,
    variance: f64,
}

/// A window's difference of means and its variance.
#[derive(Clone, Copy, Debug)]
pub(super) struct Difference {
    pub d: f64,
    pub v: f64,
}

impl Measure {
    /// The measure of a unit under `epsilon`: cells get draws of rate epsilon/(2uY).
    pub fn new(unit: Unit, epsilon: f64) -> Self {
        let weight = f64::from(unit.weight());
        // 2q/(1-q)^2 with 1 - q = -expm1(-rate), without cancellation.
        let less = libm::expm1(-epsilon / (2.0 * weight));
        Self { unit, weight, variance: 2.0 * (1.0 + less) / (less * less * weight * weight) }
    }

    /// 5 + sqrt(2v).
    pub fn min_window(&self) -> f64 {
        MIN_WINDOW + libm::sqrt(2.0 * self.variance)
    }

    /// N: the number of outcomes of both arms.
    pub fn count(&self, [zero, one]: [Sums; 2]) -> f64 {
        (zero.all + one.all) / self.weight
    }

    /// g(mu): the weight of one draw's variance in the variance of a mean.
    fn noise_weight(&self, mean: f64, counted: bool) -> f64 {
        let ends = if counted { mean * mean + (1.0 - mean) * (1.0 - mean) } else { 1.0 };
        let middle = if self.unit.has_spread() { (0.5 - mean) * (0.5 - mean) } else { 0.0 };
        ends + middle
    }

    /// Mean and variance of an arm's outcomes as a share of the scale, kept away from 0.
    pub fn spread(&self, sums: Sums) -> Spread {
        let count = f64::max(sums.all / self.weight, 0.0) + 2.0;
        let mean =
            ((sums.outcomes / self.weight + 1.0) / count).clamp(MEAN_MARGIN, 1.0 - MEAN_MARGIN);
        let most = mean * (1.0 - mean);
        if !self.unit.has_spread() {
            return Spread { mean, variance: most };
        }
        let variance = most - sums.spread / (self.weight * count);
        let variance = variance.clamp(MIN_VARIANCE_SHARE * most, most);
        Spread { mean, variance }
    }

    /// D and V of a window, given the ledger that includes it and the outcomes expected of each
    /// arm. Means are taken from `middle`, so that an arm with fewer outcomes than `n` is pulled
    /// towards the other arm and not towards 0.
    pub fn compare(
        &self,
        window: [Sums; 2],
        ledger: [Spread; 2],
        expected: [f64; 2],
    ) -> Difference {
        let allowance = 2.0 * libm::sqrt(2.0 * self.variance);
        let [zero, one] = ledger;
        let middle = (zero.mean + one.mean) / 2.0;
        let arm = |arm: Arm| {
            let (sums, known) = (arm.of(window), arm.of(ledger));
            let least = f64::min(arm.of(expected) / 2.0, allowance);
            let seen = sums.all / self.weight;
            let n = f64::max(f64::max(seen, least), 1.0);
            let variance = f64::max(known.variance, self.spread(sums).variance);
            let noise = self.variance * self.noise_weight(known.mean, n <= seen);
            let above = sums.outcomes / self.weight - middle * seen;
            (above / n, variance / n + noise / (n * n))
        };
        let ((zero, v0), (one, v1)) = (arm(Arm::Zero), arm(Arm::One));
        Difference { d: one - zero, v: v0 + v1 }
    }

    /// inf(x, y): the precision of a comparison of x with y outcomes.
    pub fn precision(&self, x: f64, y: f64) -> f64 {
        let part = |x: f64| {
            let x = f64::max(x, 0.5);
            1.0 / x + 2.0 * self.variance / (x * x)
        };
        1.0 / (part(x) + part(y))
    }

    /// z of a whole ledger with these spreads that was read `looks` times.
    pub fn z(&self, ledger: [Sums; 2], spreads: [Spread; 2], looks: u8) -> f64 {
        let noise = f64::from(looks) * self.variance;
        let arm = |arm: Arm| {
            let (sums, Spread { mean, variance }) = (arm.of(ledger), arm.of(spreads));
            let n = f64::max(sums.all / self.weight, 1.0);
            let noise = noise * self.noise_weight(mean, true);
            // One division of exact numbers, so that equal means are equal.
            (sums.outcomes / f64::max(sums.all, self.weight), variance / n + noise / (n * n))
        };
        let [(zero, v0), (one, v1)] = Arm::BOTH.map(arm);
        (one - zero) / libm::sqrt(v0 + v1)
    }

    /// Whether both arms of a ledger hold so many outcomes that noise alone decides nothing.
    pub fn is_enough(&self, ledger: [Sums; 2], looks: u8) -> bool {
        let cells = if self.unit.has_spread() { 3.0 } else { 2.0 };
        let noise = libm::sqrt(cells * f64::from(looks) * self.variance);
        ledger.iter().all(|sums| sums.all / self.weight >= MIN_SETTLED + 4.0 * noise)
    }
}
