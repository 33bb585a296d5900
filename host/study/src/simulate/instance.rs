//! How patients react: the outcome law of every feature and arm.
//!
//! An instance holds the mean outcome r = y/Y of each feature under each arm, and a drift that both
//! arms share.
//!
//! # The law of an outcome
//! With w = 2 min(p, 1-p) Y, a real number x is uniform on [0, w], y' is x rounded down or up at
//! random so that its mean is x, and y is y' for p <= 1/2 and Y - y' above. So y has mean p Y
//! exactly, spans as much of the scale as a uniform law with that mean can, and for Y = 1 is a
//! plain yes with probability p.
//!
//! With an assumed standard deviation s of r = y/Y the law is another one with the same mean. If
//! the law above varies more than that, x is uniform on a shorter interval around p Y; if it varies
//! less, y is an end of the scale with some probability, Y or 0 with mean p Y. The shorter interval
//! is found with the rounding counted in, so s is exact. Under a drift the length is that for the
//! rate nearest to 0 or 1, and the probability of an end follows the rate.
//!
//! Probabilities are multiples of 2^-32: a rate is rounded to the nearest one, and one half of a
//! 64-bit word decides. Under a drift d patient t of n has rate p + d (t-1)/n under both arms; the
//! gap stays what it was.

use super::{SimulateError, World};
use equipoise::terms::Arm;

/// 2^32, the unit of probabilities.
pub(super) const ONE: f64 = 4_294_967_296.0;

/// Mean outcomes of every feature under each arm.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Instance {
    /// Mean outcome (0 to 1) under arm 0, one a feature.
    pub p0: Vec<f64>,
    /// Mean outcome (0 to 1) under arm 1, one a feature.
    pub p1: Vec<f64>,
    /// By how much both rise from the first patient to the last.
    pub drift: f64,
}

impl Instance {
    /// The same two rates in all features.
    #[must_use]
    pub fn same(features: u8, p0: f64, p1: f64) -> Self {
        let all = |p| vec![p; usize::from(features)];
        Self { p0: all(p0), p1: all(p1), drift: 0.0 }
    }

    /// A rate and an effect, the same in all features. The second rate is rounded to 12 decimals:
    /// 0.35 and 0.1 make 0.45, not 0.44999999999999996.
    #[must_use]
    pub fn with_effect(features: u8, baseline: f64, effect: f64) -> Self {
        Self::same(features, baseline, Self::raised(baseline, effect))
    }

    /// A rate and an effect of every feature.
    #[must_use]
    pub fn with_effects(baseline: Vec<f64>, effect: &[f64]) -> Self {
        let p1 = baseline.iter().zip(effect).map(|(p0, effect)| Self::raised(*p0, *effect));
        let p1 = p1.collect();
        Self { p0: baseline, p1, drift: 0.0 }
    }

    fn raised(baseline: f64, effect: f64) -> f64 {
        const DECIMALS: f64 = 1e12;
        ((baseline + effect) * DECIMALS).round() / DECIMALS
    }

    /// Reads one feature a line: its two rates, separated by a comma or blanks. Lines that start
    /// with a letter or `#` are headings.
    ///
    /// # Errors
    /// The first line that is not two rates.
    pub fn parse(text: &str) -> Result<Self, SimulateError> {
        let (mut p0, mut p1) = (Vec::new(), Vec::new());
        for line in text.lines().map(str::trim) {
            if line.is_empty() || line.starts_with(|c: char| c == '#' || c.is_alphabetic()) {
                continue;
            }
            let mut rates = line.split([',', ' ', '\t', ';']).filter(|word| !word.is_empty());
            let mut rate = || rates.next().and_then(|word| word.parse::<f64>().ok());
            let (Some(zero), Some(one), None) = (rate(), rate(), rates.next()) else {
                return Err(SimulateError::value("instance line", line, "p0,p1, each 0..=1"));
            };
            p0.push(zero);
            p1.push(one);
        }
        Ok(Self { p0, p1, drift: 0.0 })
    }

    /// D_j = p1 - p0 of every feature.
    pub fn effects(&self) -> impl Iterator<Item = f64> + '_ {
        self.p1.iter().zip(&self.p0).map(|(one, zero)| one - zero)
    }

    /// The variance of r = y/Y of a feature under an arm, for the law above and no drift.
    #[must_use]
    pub fn variance(&self, feature: usize, arm: Arm, scale: u16) -> f64 {
        let p = arm.of([&self.p0, &self.p1]).get(feature).copied().unwrap_or(0.0);
        let scale = f64::from(scale);
        uniform_variance(0.0, 2.0 * f64::min(p, 1.0 - p) * scale) / (scale * scale)
    }

    /// All rates of both arms, at the beginning and at the end of the drift.
    fn rates(&self) -> impl Iterator<Item = f64> + '_ {
        self.p0.iter().chain(&self.p1).flat_map(|p| [*p, p + self.drift])
    }

    /// Checks an assumed standard deviation of r = y/Y.
    pub(super) fn check_sd(&self, sd: f64, scale: u16) -> Result<(), SimulateError> {
        const ALLOWED: &str = "at least 1/(2*scale), at most sqrt(p(1-p)) of every mean outcome p";
        if scale == 1 {
            return Err(SimulateError::value("sd", sd, "with a scale above 1"));
        }
        let most = self.rates().map(|p| (p * (1.0 - p)).max(0.0).sqrt()).fold(1.0, f64::min);
        // Rates are rounded to 2^-32.
        let good = (0.5 / f64::from(scale)..=most + 1e-9).contains(&sd);
        if good { Ok(()) } else { Err(SimulateError::value("sd", sd, ALLOWED)) }
    }

    pub(super) fn check(&self, features: u8) -> Result<(), SimulateError> {
        for (name, rates) in [("baseline", &self.p0), ("baseline + effect", &self.p1)] {
            if rates.len() != usize::from(features) {
                let allowed = "one rate, or one a feature of the plan";
                return Err(SimulateError::value(name, format!("{} rates", rates.len()), allowed));
            }
            if let Some(p) = rates.iter().find(|p| !(0.0..=1.0).contains(*p)) {
                return Err(SimulateError::value(name, p, "0..=1"));
            }
        }
        let within = |p: f64| (0.0..=1.0).contains(&p);
        if !self.drift.is_finite() || !self.rates().all(within) {
            return Err(SimulateError::value(
                "drift",
                self.drift,
                "what leaves every rate in 0..=1",
            ));
        }
        Ok(())
    }
}

/// The variance of x, uniform on [from, from + width], rounded down or up at random.
fn uniform_variance(from: f64, width: f64) -> f64 {
    // The mean variance f(1-f) of the rounding: 1/6 a whole unit, and the rest.
    let sum = |x: f64| {
        let rest = x - x.floor();
        x.floor() / 6.0 + rest * rest / 2.0 - rest * rest * rest / 3.0
    };
    if width <= 0.0 {
        let rest = from - from.floor();
        return rest * (1.0 - rest);
    }
    width * width / 12.0 + (sum(from + width) - sum(from)) / width
}

/// The longest interval around `middle` within [0, scale] whose rounded draws have at most this
/// variance. A longer one never varies less.
fn width_for(variance: f64, middle: f64, scale: f64) -> f64 {
    let (mut low, mut high) = (0.0, 2.0 * f64::min(middle, scale - middle));
    let enough = |width: f64| uniform_variance(middle - width / 2.0, width) > variance;
    if !enough(high) {
        return high;
    }
    for _ in 0..60 {
        let width = f64::midpoint(low, high);
        if enough(width) { high = width } else { low = width }
    }
    low
}

/// An instance prepared for drawing.
#[derive(Clone, Debug)]
pub(super) struct Outcomes {
    scale: u16,
    /// p of each feature under each arm, in units of 2^-32.
    rates: Vec<[u64; 2]>,
    /// Gain of the rates with each patient, in units of 2^-64.
    slope: i128,
    /// The assumed standard deviation of r, and the interval that x is drawn from for each feature
    /// and arm.
    spread: Option<(f64, Vec<[f64; 2]>)>,
}

impl Outcomes {
    pub fn new(world: &World, scale: u16, patients: u32) -> Self {
        let instance = &world.instance;
        let rate = |p: &f64| (p * ONE).round() as u64;
        let rates = instance
            .p0
            .iter()
            .zip(&instance.p1)
            .map(|(zero, one)| [rate(zero), rate(one)])
            .collect();
        let slope = (instance.drift * ONE * ONE / f64::from(patients)) as i128;
        let spread = world.sd.map(|sd| {
            let y = f64::from(scale);
            let width = |p: f64| {
                let ends = [p, p + instance.drift].map(|p| width_for((sd * y).powi(2), p * y, y));
                f64::min(ends[0], ends[1])
            };
            let both = instance.p0.iter().zip(&instance.p1);
            (sd, both.map(|(zero, one)| [width(*zero), width(*one)]).collect())
        });
        Self { scale, rates, slope, spread }
    }

    /// Whether a single 32-bit threshold is enough.
    pub fn is_plain(&self) -> bool {
        self.scale == 1 && self.slope == 0
    }

    /// The thresholds of a plain instance: yes if a 32-bit draw is below.
    pub fn threshold(&self, feature: u8, arm: Arm) -> u64 {
        self.rates.get(usize::from(feature)).map_or(0, |rates| arm.of(*rates))
    }

    /// Whether the rates change from patient to patient.
    pub fn drifts(&self) -> bool {
        self.slope != 0
    }

    /// The law of the outcome of patient number `patient` (from 1).
    pub fn law(&self, patient: u32, feature: u8, arm: Arm) -> Law {
        const UNITS: u64 = 1 << 32;
        let moved = (self.slope * i128::from(patient.saturating_sub(1))) >> 32;
        let p =
            (i128::from(self.threshold(feature, arm)) + moved).clamp(0, i128::from(UNITS)) as u64;
        if let Some((sd, widths)) = &self.spread {
            let width = widths.get(usize::from(feature)).map_or(0.0, |widths| arm.of(*widths));
            return self.spread_law(p, *sd, width);
        }
        let low = p <= UNITS / 2;
        let side = if low { p } else { UNITS - p };
        // w < 2^32 (Y+1) < 2^49.
        let width = 2 * side * u64::from(self.scale);
        if low {
            Law { width, sign: 1, ..Law::default() }
        } else {
            Law { width, from: self.scale.into(), sign: -1, ..Law::default() }
        }
    }

    /// The law with mean p (in units of 2^-32) and this standard deviation of r.
    fn spread_law(&self, p: u64, sd: f64, width: f64) -> Law {
        let (scale, rate) = (f64::from(self.scale), p as f64 / ONE);
        let middle = rate * scale;
        let width = f64::min(width, 2.0 * f64::min(middle, scale - middle)).max(0.0);
        let inner = uniform_variance(middle - width / 2.0, width) / (scale * scale);
        let ends = ((sd * sd - inner) / (rate * (1.0 - rate) - inner)).clamp(0.0, 1.0);
        // Rounding leaves less than 2^-32 of a wrong end; without a gap there is none.
        let ends = if ends.is_finite() { (ends * ONE).round() as u64 } else { 0 };
        let steps = (width * ONE).floor() as u64;
        let offset = (p * u64::from(self.scale)).saturating_sub(steps / 2);
        let high = ((u128::from(ends) * u128::from(p)) >> 32) as u64;
        Law { width: steps, offset, ends, high, top: self.scale, from: 0, sign: 1 }
    }
}

/// The law of one outcome: `from` plus or minus steps that are uniform on `offset` + [0, width],
/// rounded at random; with an assumed deviation perhaps an end of the scale instead.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Law {
    /// In units of 2^-32.
    width: u64,
    offset: u64,
    /// Below this a draw of 32 bits gives an end of the scale: `top` below `high`, else 0.
    ends: u64,
    high: u64,
    top: u16,
    from: i32,
    sign: i32,
}

impl Law {
    /// An outcome from two 32-bit draws. Without a branch: which side an arm is on is as random as
    /// the arm.
    // With `Features::draw` and `Watch::dropped`: 10 % fewer instructions of `simulate --delay`.
    #[inline(always)]
    pub fn draw(self, [x, up]: [u32; 2]) -> u16 {
        let x = u64::from(x);
        // The same branch for all patients of a simulation without an assumed deviation.
        let x = if self.ends > 0 {
            if x < self.ends {
                return if x < self.high { self.top } else { 0 };
            }
            ((x - self.ends) << 32) / ((1 << 32) - self.ends).max(1)
        } else {
            x
        };
        // The product fits 128 bits, and there are at most Y steps.
        let point = (u128::from(self.width) * u128::from(x)) >> 32;
        let steps = (self.offset + point as u64 + u64::from(up)) >> 32;
        (self.from + self.sign * steps as i32) as u16
    }
}
