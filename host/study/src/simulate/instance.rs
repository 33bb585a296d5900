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
//! Probabilities are multiples of 2^-32: a rate is rounded to the nearest one, and one half of a
//! 64-bit word decides. Under a drift d patient t of n has rate p + d (t-1)/n under both arms; the
//! gap stays what it was.

use super::SimulateError;
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
        let width = 2.0 * f64::min(p, 1.0 - p) * scale;
        if width <= 0.0 {
            return 0.0;
        }
        // Uniform on [0, w], plus the mean variance f(1-f) of the rounding: 1/6 a whole unit, and
        // the rest.
        let rest = width - width.floor();
        let rounding = (width.floor() / 6.0 + rest * rest / 2.0 - rest * rest * rest / 3.0) / width;
        (width * width / 12.0 + rounding) / (scale * scale)
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
        let within = |p: &f64| (0.0..=1.0).contains(&(p + self.drift));
        if !self.drift.is_finite() || !self.p0.iter().chain(&self.p1).all(within) {
            return Err(SimulateError::value(
                "drift",
                self.drift,
                "what leaves every rate in 0..=1",
            ));
        }
        Ok(())
    }
}

/// An instance prepared for drawing.
#[derive(Clone, Debug)]
pub(super) struct Outcomes {
    scale: u16,
    /// p of each feature under each arm, in units of 2^-32.
    rates: Vec<[u64; 2]>,
    /// Gain of the rates with each patient, in units of 2^-64.
    slope: i128,
}

impl Outcomes {
    pub fn new(instance: &Instance, scale: u16, patients: u32) -> Self {
        let rate = |p: &f64| (p * ONE).round() as u64;
        let rates = instance
            .p0
            .iter()
            .zip(&instance.p1)
            .map(|(zero, one)| [rate(zero), rate(one)])
            .collect();
        let slope = (instance.drift * ONE * ONE / f64::from(patients)) as i128;
        Self { scale, rates, slope }
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
        let low = p <= UNITS / 2;
        let side = if low { p } else { UNITS - p };
        // w < 2^32 (Y+1) < 2^49.
        let width = 2 * side * u64::from(self.scale);
        if low {
            Law { width, from: 0, sign: 1 }
        } else {
            Law { width, from: self.scale.into(), sign: -1 }
        }
    }
}

/// The law of one outcome: `from` plus or minus steps that are uniform on [0, width], rounded at
/// random.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Law {
    /// In units of 2^-32.
    width: u64,
    from: i32,
    sign: i32,
}

impl Law {
    /// An outcome from two 32-bit draws. Without a branch: which side an arm is on is as random as
    /// the arm.
    // With `Features::draw` and `Watch::dropped`: 10 % fewer instructions of `simulate --delay`.
    #[inline(always)]
    pub fn draw(self, [x, up]: [u32; 2]) -> u16 {
        // The product fits 128 bits, and there are at most Y steps.
        let point = (u128::from(self.width) * u128::from(x)) >> 32;
        let steps = (point as u64 + u64::from(up)) >> 32;
        (self.from + self.sign * steps as i32) as u16
    }
}
