//! One reading of a fixed trial, transcribed: the four noisy cells of a feature and what follows.
//!
//! A closed form of the power takes the variance of an estimate as known. The interval takes it
//! from the same outcomes: with N of them the square of the statistic has a mean of about 1 + 4/N
//! and not 1, which adds 0.1 % to a type I error of 5 % at N = 400. So the cells are drawn here.

use rand_distr::{Binomial, Distribution};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::{Rng, SeedableRng, Z};

/// A discrete Laplace variable with ratio q: the difference of two geometric ones.
fn laplace(words: &mut Xoshiro256PlusPlus, q: f64) -> f64 {
    let mut geometric = || {
        let uniform = ((words.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64;
        (uniform.ln() / q.ln()).floor()
    };
    geometric() - geometric()
}

fn binomial(words: &mut Xoshiro256PlusPlus, n: u64, p: f64) -> u64 {
    Binomial::new(n, p).unwrap().sample(words)
}

/// Effect, standard error and noisy number of outcomes of a feature of `uniform` with this many
/// patients at its close, yes/no outcomes.
fn estimate(
    words: &mut Xoshiro256PlusPlus,
    of_feature: u64,
    epsilon: f64,
    rates: [f64; 2],
) -> (f64, f64, f64) {
    let q = (-epsilon / 2.0).exp();
    let v = 2.0 * q / (1.0 - q).powi(2);
    let of_one = binomial(words, of_feature, 0.5);
    let [zero, one] = [(of_feature - of_one, rates[0]), (of_one, rates[1])].map(|(n, p)| {
        let yes = binomial(words, n, p);
        [yes as f64 + laplace(words, q), (n - yes) as f64 + laplace(words, q)]
    });
    let expected = f64::max(4.0, zero[0] + zero[1] + one[0] + one[1]) / 2.0;
    let least = f64::min(expected / 2.0, 2.0 * (2.0 * v).sqrt()).max(1.0);
    let mean = |[yes, no]: [f64; 2]| {
        let margin = 1.0 / (f64::max(yes + no, 0.0) + 2.0);
        ((yes + 1.0) * margin).clamp(margin, 1.0 - margin)
    };
    let seen = |[yes, no]: [f64; 2]| yes + no;
    let divisor = |cells| f64::max(seen(cells), least);
    let is_own = |cells| seen(cells) >= least;
    let (mu0, mu1) = (mean(zero), mean(one));
    let middle = match (is_own(zero), is_own(one)) {
        (true, false) => zero[0] / divisor(zero) + (mu1 - mu0) / 2.0,
        (false, true) => one[0] / divisor(one) - (mu1 - mu0) / 2.0,
        _ => f64::midpoint(mu0, mu1),
    };
    let part = |cells: [f64; 2], mu: f64| {
        let noise = if is_own(cells) { mu * mu + (1.0 - mu).powi(2) } else { 1.0 };
        let n = divisor(cells);
        ((cells[0] - middle * seen(cells)) / n, (mu * (1.0 - mu) + v * noise / n) / n)
    };
    let ((d0, v0), (d1, v1)) = (part(zero, mu0), part(one, mu1));
    (d1 - d0, (v0 + v1).sqrt(), seen(zero) + seen(one))
}

/// The overall effect with its standard error: features weighted by whole numbers of outcomes.
fn overall(
    words: &mut Xoshiro256PlusPlus,
    patients: u64,
    features: u32,
    epsilon: f64,
    rates: [f64; 2],
) -> (f64, f64) {
    let (mut left, mut sums) = (patients, [0.0; 3]);
    for to_come in (1..=features).rev() {
        let of_feature = binomial(words, left, 1.0 / f64::from(to_come));
        left -= of_feature;
        let (effect, error, outcomes) = estimate(words, of_feature, epsilon, rates);
        let weight = f64::max(outcomes, 0.0).round();
        sums[0] += weight * effect;
        sums[1] += (weight * error).powi(2);
        sums[2] += weight;
    }
    (sums[0] / sums[2], sums[1].sqrt() / sums[2])
}

/// The share of intervals of the overall effect that exclude 0, and its standard error.
pub(super) fn overall_excludes_0(
    patients: u32,
    features: u32,
    epsilon: f64,
    rates: [f64; 2],
) -> (f64, f64) {
    let (runs, mut words) = (40_000, Xoshiro256PlusPlus::seed_from_u64(12));
    let excludes = |_: &u32| {
        let (effect, error) = overall(&mut words, patients.into(), features, epsilon, rates);
        effect.abs() > Z * error
    };
    let share = (0..runs).filter(excludes).count() as f64 / f64::from(runs);
    (share, (share * (1.0 - share) / f64::from(runs)).sqrt())
}

/// The share of intervals that exclude 0, its standard error, and their mean width.
pub(super) fn excludes_0(
    patients: u32,
    features: u32,
    epsilon: f64,
    rates: [f64; 2],
) -> (f64, f64, f64) {
    let (runs, mut words) = (40_000, Xoshiro256PlusPlus::seed_from_u64(11));
    let (mut hits, mut widths) = (0.0, 0.0);
    for _ in 0..runs {
        let of_feature = binomial(&mut words, patients.into(), 1.0 / f64::from(features));
        let (effect, error, _) = estimate(&mut words, of_feature, epsilon, rates);
        hits += if effect.abs() > Z * error { 1.0 } else { 0.0 };
        // Intervals are cut to [-1, 1], which does not happen here.
        widths += 2.0 * Z * error;
    }
    let share = hits / f64::from(runs);
    (share, (share * (1.0 - share) / f64::from(runs)).sqrt(), widths / f64::from(runs))
}
