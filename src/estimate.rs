//! The measured effect of a feature, by post-processing of what is already noisy.

/// 97.5 % quantile of the normal law: intervals hold the truth 95 times in 100.
pub const Z95: f64 = 1.959_963_984_540_054;

/// A feature's treatment effect E[r | arm 1] - E[r | arm 0] with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The effect, in [-1, 1].
    pub effect: f64,
    /// Standard deviation of `effect`.
    pub deviation: f64,
    /// Outcomes behind it, noisy where the true number is private.
    pub patients: f64,
    /// Its noisy ledger, for `interim` and `uniform`.
    pub basis: Option<Basis>,
    /// The effect before it was cut to [-1, 1]: the middle of the interval.
    middle: f64,
}

/// The part of a noisy ledger that a report carries beside the effect.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Basis {
    /// Information fraction: the part of the estimate's weight that is spent, 1 at the end.
    pub spent: f64,
    /// The same after the last look up to half, a multiple of 1/256.
    pub half_spent: f64,
    /// The planned looks in which the feature took part: bit k is look number k + 1.
    pub looks: u32,
    /// Windows read so far, each with fresh noise in every cell.
    pub windows: u8,
    /// Arm 0 and arm 1.
    pub arms: [ArmBasis; 2],
}

/// Noisy outcomes of one arm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ArmBasis {
    /// Their number, at least 0.
    pub outcomes: f64,
    /// Their mean over the scale, within [0, 1].
    pub mean: f64,
}

impl Estimate {
    /// The estimate with this middle, standard deviation and number of outcomes.
    #[must_use]
    pub const fn new(middle: f64, deviation: f64, patients: f64) -> Self {
        let effect = middle.clamp(-1.0, 1.0);
        Self { effect, deviation, patients, basis: None, middle }
    }

    /// The estimate with its noisy ledger.
    #[must_use]
    pub const fn on(self, basis: Basis) -> Self {
        Self { basis: Some(basis), ..self }
    }

    /// The estimate of an effect on outcomes that were turned round (y became Y - y), turned back.
    #[must_use]
    pub fn turned(self) -> Self {
        let arm = |arm: ArmBasis| ArmBasis { mean: 1.0 - arm.mean, ..arm };
        let basis = self.basis.map(|basis| Basis { arms: basis.arms.map(arm), ..basis });
        Self { effect: -self.effect, middle: -self.middle, basis, ..self }
    }

    /// Lower end of the interval, in [-1, 1].
    #[must_use]
    pub fn low(&self) -> f64 {
        (self.middle - Z95 * self.deviation).clamp(-1.0, 1.0)
    }

    /// Upper end of the interval, in [-1, 1].
    #[must_use]
    pub fn high(&self) -> f64 {
        (self.middle + Z95 * self.deviation).clamp(-1.0, 1.0)
    }

    /// The interval of this many standard deviations on either side, in [-1, 1].
    #[cfg(feature = "std")]
    #[must_use]
    pub fn interval(&self, deviations: f64) -> (f64, f64) {
        let end = |side: f64| (self.middle + side * deviations * self.deviation).clamp(-1.0, 1.0);
        (end(-1.0), end(1.0))
    }

    /// Effect, low, high in millionths (ends rounded outward) and whole patients: what a report
    /// carries.
    #[must_use]
    pub fn in_millionths(&self) -> (i32, i32, i32, u32) {
        const MILLION: f64 = 1e6;
        (
            libm::round(self.effect * MILLION) as i32,
            libm::floor(self.low() * MILLION) as i32,
            libm::ceil(self.high() * MILLION) as i32,
            libm::round(self.patients) as u32,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interval_is_rounded_outward_within_one() {
        let e = Estimate::new(0.25, 0.1, 12.4);
        assert_eq!(e.in_millionths(), (250_000, 54_003, 445_997, 12));
        let wide = Estimate::new(0.9, 1.0, -3.0);
        assert_eq!(wide.in_millionths(), (900_000, -1_000_000, 1_000_000, 0));
        // Noise can carry an estimate far beyond 1; its interval stays ordered.
        let beyond = Estimate::new(7.0, 1.0, 3.0);
        assert_eq!(beyond.in_millionths(), (1_000_000, 1_000_000, 1_000_000, 3));
    }
}
