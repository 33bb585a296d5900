//! The law of the noise: from the sampler's tables, and by draws of the device's generator.
//!
//! The exact audit replaces the sampler by an enumerator, so it assumes that draws have the law
//! they are said to have. Here that is checked. A table gives the probability of every value, so
//! [`table_rate`] is exact: the largest loss of one step from a value to the next. [`Draws`]
//! compares counts of drawn values with the law by a chi-squared test, and the signs of draws that
//! follow each other, up to [`LAGS`] draws apart, with those of independent ones: noise that comes
//! again in another cell shows the difference of two raw cells. A sampler that keeps its law fails
//! with a probability below 10^-9. For `dp-conse` the same is done with Lap+, the law of its
//! lengths.

use super::enumerator::{lap_plus, laplace, rate};
use super::finding::{Finding, Method, claim};
use super::loss::Loss;
use super::structured::amounts;
use equipoise::chance::Chance;
use equipoise::device::generator::{Generator, Seeded};
use equipoise::noise::{Laplace, Rate};
use equipoise::plan::{DesignName, Plan};

/// Draws of one law.
const DRAWS: u32 = 400_000;
/// A cell of the test is expected at least this often.
const LEAST_EXPECTED: f64 = 50.0;
/// Standard deviations of chi-squared beyond which a law is not the stated one.
const TOO_FAR: f64 = 9.0;
/// Draws this far apart must be independent: the cells of both windows of a feature.
const LAGS: usize = 12;
/// Lengths around which Lap+ is drawn: the farther from 0, the less of it is cut off.
const CENTERS: [u64; 3] = [0, 3, 60];
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
    /// Largest chi-squared over sign pairs (8 df).
    pairs: f64,
}

impl Draws {
    /// Draws from `chance` and compares with the discrete Laplace law.
    #[must_use]
    pub fn of(law: &Laplace, chance: &mut impl Chance) -> Self {
        let rate = rate(law);
        Self::compare(rate, |k| laplace(rate, k), || chance.discrete_laplace(law))
    }

    /// Draws from `chance` and compares with Lap+ around a length.
    #[must_use]
    pub fn of_lengths(center: u64, law: &Laplace, chance: &mut impl Chance) -> Self {
        let rate = rate(law);
        let mass = |k| center.checked_add_signed(k).map_or(0.0, |v| lap_plus(rate, center, v));
        Self::compare(rate, mass, || chance.lap_plus(center, law).wrapping_sub(center) as i64)
    }

    /// Compares draws with the law that gives k this mass, which falls from 0 on at this rate.
    fn compare(rate: f64, mass: impl Fn(i64) -> f64, mut draw: impl FnMut() -> i64) -> Self {
        let count = f64::from(DRAWS);
        // Neighbouring values share a cell, so that a cell is expected often enough.
        let scale = (1.0 / rate).ceil() as i64;
        let width = (scale / 20).max(1);
        let mut end = 0;
        let of_cell = |from: i64| (from..from + width).map(&mass).sum::<f64>();
        while of_cell((end + 1) * width) * count >= LEAST_EXPECTED {
            end += 1;
        }
        let cells = (2 * end + 1) as usize;
        let mut counts = vec![0u32; cells + 1];
        let (mut signs, mut pairs) = ([1usize; LAGS], [[0u32; 9]; LAGS]);
        for drawn in 0..DRAWS as usize {
            let k = draw();
            let sign = (k.signum() + 1) as usize;
            for lag in 1..=LAGS.min(drawn) {
                pairs[lag - 1][3 * signs[(drawn - lag) % LAGS] + sign] += 1;
            }
            signs[drawn % LAGS] = sign;
            let cell = k.div_euclid(width) + end;
            let at = usize::try_from(cell).ok().filter(|cell| *cell < cells).unwrap_or(cells);
            counts[at] += 1;
        }
        let mut masses: Vec<f64> = (-end..=end).map(|cell| of_cell(cell * width)).collect();
        masses.push(f64::max(0.0, 1.0 - masses.iter().sum::<f64>()));
        let (mut chi_squared, mut degrees) = (0.0, -1.0);
        for (seen, mass) in counts.iter().zip(masses).filter(|(_, mass)| mass * count >= 1.0) {
            chi_squared += (f64::from(*seen) - mass * count).powi(2) / (mass * count);
            degrees += 1.0;
        }
        let below = (1..).map(|k| mass(-k)).take_while(|mass| *mass > f64::EPSILON).sum::<f64>();
        let mass = [below, mass(0), 1.0 - below - mass(0)];
        let of_pair = |(at, seen): (usize, &u32)| {
            let expected = mass[at / 3] * mass[at % 3] * count;
            (f64::from(*seen) - expected).powi(2) / expected.max(1.0)
        };
        let of_lag = |seen: &[u32; 9]| seen.iter().enumerate().map(of_pair).sum::<f64>();
        let pairs = pairs.iter().map(of_lag).fold(0.0, f64::max);
        Self { chi_squared, degrees, pairs }
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
    let found = match plan.design() {
        DesignName::DpConse => one_draw(plan, chance),
        _ => all_cells(plan, chance),
    };
    found
        .map_or(Loss { epsilon: f64::INFINITY, delta: 1.0 }, |epsilon| Loss { epsilon, delta: 0.0 })
}

/// The loss by all cells of `interim` or `uniform`; none if draws do not have their law.
fn all_cells(plan: &Plan, chance: &mut impl Chance) -> Option<f64> {
    let (_, total) = amounts(plan.scale(), 0);
    let epsilon = plan.epsilon();
    let rate = Rate::new(epsilon.num().into(), u64::from(epsilon.den()) * 2 * total as u64)?;
    let law = Laplace::new(rate);
    Draws::of(&law, chance).fit().then(|| 2.0 * total * table_rate(&law))
}

/// The larger loss by a single draw of `dp-conse`: of a mean, whose sum moves by the scale, or of a
/// length, whose centre moves by one; none if draws do not have their laws.
fn one_draw(plan: &Plan, chance: &mut impl Chance) -> Option<f64> {
    let (means, lengths) = (Laplace::new(plan.cell_rate()), Laplace::new(plan.length_rate()));
    let fit = Draws::of(&means, chance).fit()
        && CENTERS.iter().all(|center| Draws::of_lengths(*center, &lengths, chance).fit());
    let rate = table_rate(&lengths);
    // From 0 to 1 the normaliser changes most, by a factor of 1 + e^-rate - e^(-2 rate).
    let length = rate + ((-rate).exp() - (-2.0 * rate).exp()).ln_1p();
    fit.then(|| f64::max(f64::from(plan.scale()) * table_rate(&means), length))
}

/// The findings about the noise of a plan, drawn by the device's generator.
#[must_use]
pub fn finding(plan: &Plan) -> Finding {
    let of = if plan.design() == DesignName::DpConse { "one draw, Lap+ too, " } else { "" };
    let instance = format!(
        "noise {of}at eps={} Y={}: tables exactly, and {DRAWS} draws of the device's generator",
        plan.epsilon(),
        plan.scale()
    );
    let found = loss(plan, &mut Generator::from_seed([7; 32]));
    Finding::new(plan.design(), Method::Noise, instance, claim(plan), found)
}
