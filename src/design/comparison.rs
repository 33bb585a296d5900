//! Comparing the arms of a window, noise included.

use super::Arm;
use super::cells::{Sums, Unit};

/// Forecast outcomes of the rarer arm below which a window is not read, before the allowance for
/// noise.
const MIN_WINDOW: f64 = 12.0;
/// A graded outcome's variance is at least this share of a yes/no outcome's with the same mean.
const MIN_VARIANCE_SHARE: f64 = 1.0 / 20.0;

/// The larger of two numbers. (`f64::max` also asks for NaN, in a call of 90 instructions.)
pub(super) fn larger(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}

/// The smaller of two numbers.
pub(super) fn smaller(a: f64, b: f64) -> f64 {
    if a < b { a } else { b }
}

/// How outcomes are counted and how noisy a cell is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Measure {
    pub unit: Unit,
    /// 1/(uY): one outcome adds uY to the cells. (A product is quicker than a quotient.)
    unit_weight: f64,
    /// v: variance of one draw over (uY)^2.
    pub variance: f64,
    /// 2 sqrt(2v): a divisor below this is kept up to what was expected.
    allowance: f64,
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

/// One arm of a window.
#[derive(Clone, Copy)]
struct Side {
    /// A_a/Y: the sum of its outcomes.
    sum: f64,
    /// N_a: their number.
    seen: f64,
    /// n_a: the divisor.
    n: f64,
}

impl Side {
    /// Whether the divisor is the number of outcomes.
    fn is_own(&self) -> bool {
        self.n <= self.seen
    }
}

impl Measure {
    /// The measure of a unit under `epsilon`: cells get draws of rate epsilon/(2uY).
    pub fn new(unit: Unit, epsilon: f64) -> Self {
        let weight = f64::from(unit.weight());
        // 2q/(1-q)^2 with 1 - q = -expm1(-rate), without cancellation.
        let less = libm::expm1(-epsilon / (2.0 * weight));
        let variance = 2.0 * (1.0 + less) / (less * less * weight * weight);
        let allowance = 2.0 * libm::sqrt(2.0 * variance);
        Self { unit, unit_weight: 1.0 / weight, variance, allowance }
    }

    /// 12 + sqrt(2v).
    pub fn min_window(&self) -> f64 {
        MIN_WINDOW + self.allowance / 2.0
    }

    /// N: the number of outcomes of both arms.
    pub fn count(&self, [zero, one]: [Sums; 2]) -> f64 {
        (zero.all + one.all) * self.unit_weight
    }

    /// N_a and A_a/Y: the number of one arm's outcomes and their sum.
    pub fn outcomes(&self, sums: Sums) -> (f64, f64) {
        (sums.all * self.unit_weight, sums.outcomes * self.unit_weight)
    }

    /// g(mu): the weight of one draw's variance in the variance of a mean.
    fn noise_weight(&self, mean: f64, is_own: bool) -> f64 {
        let ends = if is_own { mean * mean + (1.0 - mean) * (1.0 - mean) } else { 1.0 };
        let middle = if self.unit.has_spread() { (0.5 - mean) * (0.5 - mean) } else { 0.0 };
        ends + middle
    }

    /// Mean and variance of an arm's outcomes as a share of the scale. The mean is kept 1/(N+2)
    /// away from 0 and 1, which is where N outcomes without an event put it.
    pub fn spread(&self, sums: Sums) -> Spread {
        let margin = 1.0 / (larger(sums.all * self.unit_weight, 0.0) + 2.0);
        let mean = (sums.outcomes * self.unit_weight + 1.0) * margin;
        let mean = mean.clamp(margin, 1.0 - margin);
        let most = mean * (1.0 - mean);
        if !self.unit.has_spread() {
            return Spread { mean, variance: most };
        }
        let variance = most - sums.spread * self.unit_weight * margin;
        let variance = variance.clamp(MIN_VARIANCE_SHARE * most, most);
        Spread { mean, variance }
    }

    /// D and V of a window, given the ledger that includes it, the ledger's spreads and the
    /// outcomes expected of each arm. Sums are taken from `middle`, so that an arm with fewer
    /// outcomes than its divisor is pulled towards the other arm and not towards 0.
    pub fn compare(
        &self,
        window: [Sums; 2],
        sums: [Sums; 2],
        ledger: [Spread; 2],
        expected: [f64; 2],
    ) -> Difference {
        let sides = Arm::BOTH.map(|arm| {
            let sums = arm.of(window);
            let seen = sums.all * self.unit_weight;
            let least = smaller(arm.of(expected) / 2.0, self.allowance);
            let n = larger(larger(seen, least), 1.0);
            Side { sum: sums.outcomes * self.unit_weight, seen, n }
        });
        let [zero, one] = sides;
        let (gap, [mean, _]) = (ledger[1].mean - ledger[0].mean, ledger.map(|arm| arm.mean));
        // From the window's own mean of the arm that has one, so that drift does not move D.
        let middle = match (zero.is_own(), one.is_own()) {
            (true, false) => zero.sum / zero.n + gap / 2.0,
            (false, true) => one.sum / one.n - gap / 2.0,
            _ => mean + gap / 2.0,
        };
        let arm = |arm: Arm| {
            let (side, known) = (arm.of(sides), arm.of(ledger));
            // A feature's first window is its ledger: its spread is known.
            let own = arm.of(window);
            let variance = if own == arm.of(sums) {
                known.variance
            } else {
                larger(known.variance, self.spread(own).variance)
            };
            let noise = self.variance * self.noise_weight(known.mean, side.is_own());
            let over = 1.0 / side.n;
            ((side.sum - middle * side.seen) * over, (variance + noise * over) * over)
        };
        let ((zero, v0), (one, v1)) = (arm(Arm::Zero), arm(Arm::One));
        Difference { d: one - zero, v: v0 + v1 }
    }

    /// inf(x, y): precision of a difference of means of x and y outcomes, up to a constant.
    pub fn precision(&self, [x, y]: [f64; 2]) -> f64 {
        let part = |x: f64| {
            let over = 1.0 / larger(x, 0.5);
            (1.0 + 2.0 * self.variance * over) * over
        };
        1.0 / (part(x) + part(y))
    }
}
