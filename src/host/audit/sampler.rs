//! The law of the noise: from the sampler's tables, and by draws of the device's generator.
//!
//! The exact audit replaces the sampler by an enumerator, so it assumes that draws have the law
//! they are said to have. Here that is checked. A table gives the probability of every value, so
//! [`table_rate`] is exact: the largest loss of one step from a value to the next. [`Draws`]
//! compares counts of drawn values with the law by a chi-squared test, and the signs of draws that
//! follow each other, up to [`LAGS`] draws apart, with those of independent ones: noise that comes
//! again in another cell shows the difference of two raw cells. A sampler that keeps its law fails
//! with a probability below 10^-9.

use crate::prelude::*;

use super::enumerator::{laplace, rate};
use super::finding::{Finding, Method, claim};
use super::loss::Loss;
use super::structured::amounts;
use crate::chance::Chance;
use crate::device::generator::{Generator, Seeded};
use crate::noise::{Laplace, Rate};
use crate::plan::Plan;

/// Draws of one law.
const DRAWS: u32 = 400_000;
/// A cell of the test is expected at least this often.
const LEAST_EXPECTED: f64 = 50.0;
/// Standard deviations of chi-squared beyond which a law is not the stated one.
const TOO_FAR: f64 = 9.0;
/// Draws this far apart must be independent: the cells of both windows of a feature.
const LAGS: usize = 12;
/// The same bound for the nine pairs of signs, whose chi-squared has a longer tail.
const TOO_FAR_PAIRS: f64 = 18.0;

/// The largest loss |ln P(k+1) - ln P(k)| of one step, from the thresholds that draws are compared
/// with: from g to g+1 digits below some j go from 1 to 0, and digit j gains one.
#[must_use]
pub fn table_rate(law: &Laplace) -> f64 {
    const ONE: f64 = 18_446_744_073_709_551_616.0;
    let (mut below, mut worst) = (0.0, 0.0);
    for lane in 0..=law.digits() {
        let heads = law.threshold(lane) as f64 / ONE;
        let odds = if lane == law.digits() { heads.ln() } else { heads.ln() - (-heads).ln_1p() };
        worst = f64::max(worst, (odds - below).abs());
        below += odds;
    }
    worst
}

/// How well drawn values fit a law.
#[derive(Clone, Copy, Debug)]
pub struct Draws {
    chi_squared: f64,
    degrees: f64,
    /// The largest chi-squared of pairs of signs, 8 degrees of freedom.
    pairs: f64,
}

impl Draws {
    /// Draws from `chance` and compares with the stated law.
    #[must_use]
    pub fn of(law: &Laplace, chance: &mut impl Chance) -> Self {
        let (rate, count) = (rate(law), f64::from(DRAWS));
        // Neighbouring values share a cell, so that a cell is expected often enough.
        let scale = (1.0 / rate).ceil() as i64;
        let width = (scale / 20).max(1);
        let mut end = 0;
        let mass = |from: i64| (from..from + width).map(|k| laplace(rate, k)).sum::<f64>();
        while mass((end + 1) * width) * count >= LEAST_EXPECTED {
            end += 1;
        }
        let cells = (2 * end + 1) as usize;
        let mut counts = vec![0u32; cells + 1];
        let (mut signs, mut pairs) = ([1usize; LAGS], [[0u32; 9]; LAGS]);
        for draw in 0..DRAWS as usize {
            let k = chance.discrete_laplace(law);
            let sign = (k.signum() + 1) as usize;
            for lag in 1..=LAGS.min(draw) {
                pairs[lag - 1][3 * signs[(draw - lag) % LAGS] + sign] += 1;
            }
            signs[draw % LAGS] = sign;
            let cell = k.div_euclid(width) + end;
            let at = usize::try_from(cell).ok().filter(|cell| *cell < cells).unwrap_or(cells);
            counts[at] += 1;
        }
        let mut masses: Vec<f64> = (-end..=end).map(|cell| mass(cell * width)).collect();
        masses.push(f64::max(0.0, 1.0 - masses.iter().sum::<f64>()));
        let each = counts.iter().zip(masses).filter(|(_, mass)| mass * count >= 1.0);
        let chi_squared =
            each.map(|(seen, mass)| (f64::from(*seen) - mass * count).powi(2) / (mass * count));
        let none = laplace(rate, 0);
        let mass = [(1.0 - none) / 2.0, none, (1.0 - none) / 2.0];
        let of_pair = |(at, seen): (usize, &u32)| {
            let expected = mass[at / 3] * mass[at % 3] * count;
            (f64::from(*seen) - expected).powi(2) / expected.max(1.0)
        };
        let of_lag = |seen: &[u32; 9]| seen.iter().enumerate().map(of_pair).sum::<f64>();
        let pairs = pairs.iter().map(of_lag).fold(0.0, f64::max);
        Self { chi_squared: chi_squared.sum(), degrees: cells as f64, pairs }
    }

    /// Whether the values can come from the law.
    #[must_use]
    pub fn fit(&self) -> bool {
        let near = |chi_squared, degrees: f64, bound| {
            chi_squared - degrees < bound * (2.0 * degrees).sqrt()
        };
        near(self.chi_squared, self.degrees, TOO_FAR) && near(self.pairs, 8.0, TOO_FAR_PAIRS)
    }
}

/// The loss of one patient by the noise of a plan, whose draws come from `chance`. If they do not
/// have the stated law, nothing bounds the loss.
#[must_use]
pub fn loss(plan: &Plan, chance: &mut impl Chance) -> Loss {
    let (_, total) = amounts(plan.scale(), 0);
    let epsilon = plan.epsilon();
    let Some(rate) = Rate::new(epsilon.num().into(), u64::from(epsilon.den()) * 2 * total as u64)
    else {
        return Loss { epsilon: f64::INFINITY, delta: 1.0 };
    };
    let law = Laplace::new(rate);
    if Draws::of(&law, chance).fit() {
        Loss { epsilon: 2.0 * total * table_rate(&law), delta: 0.0 }
    } else {
        Loss { epsilon: f64::INFINITY, delta: 1.0 }
    }
}

/// The findings about the noise of a plan, drawn by the device's generator.
#[must_use]
pub fn finding(plan: &Plan) -> Finding {
    let instance = format!(
        "noise at eps={} Y={}: tables exactly, and {DRAWS} draws of the device's generator",
        plan.epsilon(),
        plan.scale()
    );
    let found = loss(plan, &mut Generator::from_seed([7; 32]));
    Finding::new(plan.design(), Method::Noise, instance, claim(plan), found)
}
