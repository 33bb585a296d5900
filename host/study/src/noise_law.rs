//! Noisy numbers of outcomes held against the true ones, under the law of the noise.
//!
//! A noisy number of a kind of patient is the true one plus discrete Laplace noise in each of its
//! cells and windows, divided by what one outcome adds, rounded, and not below 0. Those who know
//! the true numbers can ask how likely noise of that law gives what was reported.
//!
//! The measure is the sum of squared differences over their variances. Its law is found by drawing:
//! with the sampler that ships, rounding and the bound at 0 included, from a fixed seed. So it is
//! exact up to the number of draws, also where the noise is far from normal.

pub mod sums;

use equipoise::chance::{Chance, DeviceSampler};
use equipoise::noise::Laplace;
use equipoise::plan::Plan;

/// Draws of the measure.
const DRAWS: u32 = 2000;
const SEED: u64 = 0x5EED_0F1A_3C9B_2D47;
/// Scales up to this one count outcomes in units of the scale.
const FINE_SCALE: u16 = 100;

/// A true number of outcomes, and the noisy one that was reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// Outcomes recorded.
    pub truth: u32,
    /// Outcomes reported.
    pub noisy: u32,
    /// Windows that were read for it, each with fresh noise in every cell.
    pub windows: u32,
}

/// How well noisy numbers agree with the true ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Agreement {
    /// Mean of the squared differences over their variances; about 1 is expected.
    pub mean: f64,
    /// Probability of so large a measure, or a larger one, if all is right.
    pub at_least: f64,
    /// Probability of so small a measure, or a smaller one.
    pub at_most: f64,
    /// Standard deviations of the measure's cube root from its mean. The cube root of a sum of
    /// squares is nearly normal (Wilson and Hilferty 1931), so this reaches into the tails, where
    /// draws do not.
    pub deviations: f64,
}

/// Cells of a kind of patient, both arms together, and what one outcome adds to them.
fn cells(plan: &Plan) -> (u32, f64) {
    let scale = plan.scale();
    let unit = if scale <= FINE_SCALE { f64::from(scale) } else { 1.0 };
    (if scale == 1 { 4 } else { 6 }, unit * f64::from(scale))
}

/// Compares readings of a trial with this plan; none without readings or without noise.
#[must_use]
pub fn agreement(plan: &Plan, readings: &[Reading]) -> Option<Agreement> {
    let (cells, outcome) = cells(plan);
    let law = Laplace::new(plan.cell_rate());
    let mut chance = DeviceSampler::seed_from_u64(SEED);
    let mut draw = |reading: &Reading| {
        let noise: i64 = (0..cells * reading.windows).map(|_| chance.discrete_laplace(&law)).sum();
        (f64::from(reading.truth) + noise as f64 / outcome).round().max(0.0)
    };
    // The variance of what is reported, by the same draws.
    let mut samples = Vec::with_capacity(readings.len());
    for reading in readings {
        samples.push((0..DRAWS).map(|_| draw(reading)).collect::<Vec<f64>>());
    }
    let square = |value: f64, reading: &Reading| (value - f64::from(reading.truth)).powi(2);
    let variances: Vec<f64> = samples
        .iter()
        .zip(readings)
        .map(|(draws, of)| draws.iter().map(|v| square(*v, of)).sum::<f64>() / f64::from(DRAWS))
        .collect();
    if readings.is_empty() || variances.iter().any(|variance| *variance <= 0.0) {
        return None;
    }
    let measure = |value: &dyn Fn(usize) -> f64| {
        let parts = readings.iter().zip(&variances).enumerate();
        parts.map(|(place, (of, variance))| square(value(place), of) / variance).sum::<f64>()
    };
    let found = measure(&|place| f64::from(readings[place].noisy));
    let drawn = (0..DRAWS as usize).map(|draw| measure(&|place| samples[place][draw]));
    let drawn: Vec<f64> = drawn.collect();
    let above = drawn.iter().filter(|measure| **measure >= found).count();
    let below = drawn.iter().filter(|measure| **measure <= found).count();
    let roots: Vec<f64> = drawn.iter().map(|measure| measure.cbrt()).collect();
    let middle = roots.iter().sum::<f64>() / f64::from(DRAWS);
    let variance = roots.iter().map(|root| (root - middle).powi(2)).sum::<f64>() / f64::from(DRAWS);
    let share = |count: usize| (count + 1) as f64 / f64::from(DRAWS + 1);
    Some(Agreement {
        mean: found / readings.len() as f64,
        at_least: share(above),
        at_most: share(below),
        deviations: (found.cbrt() - middle) / variance.sqrt(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Readings of 64 kinds as a device with this plan gives them.
    fn readings(plan: &Plan, seed: u64, rate_of: &Plan) -> Vec<Reading> {
        let law = Laplace::new(rate_of.cell_rate());
        let (cells, outcome) = cells(plan);
        let mut chance = DeviceSampler::seed_from_u64(seed);
        let mut reading = |truth| {
            let noise: i64 = (0..cells).map(|_| chance.discrete_laplace(&law)).sum();
            let noisy = (f64::from(truth) + noise as f64 / outcome).round().max(0.0) as u32;
            Reading { truth, noisy, windows: 1 }
        };
        (0..64).map(|feature| reading(6 + feature % 5)).collect()
    }

    fn plan(epsilon: &str, scale: u16) -> Plan {
        let text = "design=uniform features=64 patients=512 better=high";
        Plan::parse(&format!("{text} scale={scale} epsilon={epsilon}")).unwrap()
    }

    /// Right noise is refused about as often as the level says, halved and doubled noise is found.
    #[test]
    fn right_noise_passes_and_wrong_is_found() {
        for scale in [1, 4] {
            let right = plan("4", scale);
            let of =
                |seed, noise: &Plan| agreement(&right, &readings(&right, seed, noise)).unwrap();
            let found: Vec<Agreement> = (0..20).map(|seed| of(seed, &right)).collect();
            let refused = found.iter().filter(|found| found.at_least < 0.05).count();
            assert!(refused <= 4, "{refused} of 20 at 5 %");
            assert!(found.iter().all(|found| found.deviations.abs() < 3.5), "{found:?}");
            for seed in 0..3 {
                let halved = of(seed, &plan("8", scale));
                assert!(halved.deviations < -4.5 && halved.at_most < 0.001, "{halved:?}");
                let doubled = of(seed, &plan("2", scale));
                assert!(doubled.deviations > 4.5 && doubled.at_least < 0.001, "{doubled:?}");
            }
        }
    }

    /// Outcomes that count twice are found.
    #[test]
    fn doubled_counts_are_found() {
        let plan = plan("4", 1);
        let mut doubled = readings(&plan, 1, &plan);
        doubled.iter_mut().for_each(|reading| reading.noisy *= 2);
        assert!(agreement(&plan, &doubled).unwrap().deviations > 4.5);
        assert_eq!(agreement(&plan, &[]), None);
    }
}
