//! What the runs of a simulation come to.
//!
//! Every real figure of a run is rounded once to a fixed grid and summed as an integer, so sums do not depend on the order
//! of the runs: threads and shards add up to the same bits as one loop. Regret is kept in units of 2^-20 patients,
//! everything about estimates in units of 2^-44. With at most 10^6 runs, 10^7 patients, 64 features and errors of at
//! most 2 every sum of squares stays below 2^127.

use super::instance::Instance;
use crate::design::Arm;
use crate::estimate::Estimate;
use crate::prelude::*;

/// One unit of regret.
const REGRET: f64 = (1u64 << 20) as f64;
/// One unit of an error, a squared error or a width.
const ERROR: f64 = (1u64 << 44) as f64;

/// What happened to one feature in one run.
#[derive(Clone, Copy, Debug, Default)]
pub struct FeatureRun {
    /// Patients per arm.
    pub patients: [u32; 2],
    /// The estimate, if there is one.
    pub estimate: Option<Estimate>,
    /// The arm dropped in explore, if one was.
    pub dropped: Option<Arm>,
}

/// What happened in one run.
#[derive(Clone, Debug)]
pub struct Run {
    /// Every feature.
    pub features: Vec<FeatureRun>,
    /// Patients assigned when the first arm was dropped anywhere.
    pub first_drop: Option<u32>,
}

/// Sums over runs for one feature.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct FeatureSums {
    /// Patients.
    pub patients: u64,
    /// Patients on the worse arm.
    pub worse: u64,
    /// Runs with an estimate.
    pub estimates: u64,
    /// Errors towards the true effect, in units of 2^-44.
    #[serde(with = "digits")]
    pub error: i128,
    /// Squared errors, in units of 2^-44.
    #[serde(with = "digits")]
    pub square: i128,
    /// Widths of the intervals, in units of 2^-44.
    #[serde(with = "digits")]
    pub width: i128,
    /// Intervals that hold the true effect.
    pub covered: u64,
    /// Runs in which an arm was dropped.
    pub dropped: u64,
    /// Runs in which the better arm was dropped.
    pub wrong: u64,
}

/// Sums over runs.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Sums {
    #[serde(skip)]
    effects: Vec<f64>,
    #[serde(skip)]
    patients: u32,
    /// Runs.
    pub runs: u64,
    /// Per feature.
    pub features: Vec<FeatureSums>,
    /// First and second moments of (regret, squared error, estimates, worse) of a run, the upper triangle row by row.
    #[serde(with = "digits_list")]
    moments: [i128; MOMENTS],
    /// Runs in which an arm was dropped.
    pub drops: u64,
    /// Patients to the first drop, in those.
    pub first_drop: u64,
}

/// Regret, squared error, estimates.
const KEPT: usize = 3;
const MOMENTS: usize = KEPT + KEPT * (KEPT + 1) / 2;

/// A mean and its standard error.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Figure {
    /// The mean over runs.
    pub mean: f64,
    /// Its standard error.
    pub error: f64,
}

/// The operating characteristics of a scenario. Figures that do not exist (no estimate, no drop) are absent.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Summary {
    /// Runs behind it.
    pub runs: u64,
    /// Expected loss of a trial, in outcomes.
    pub regret: Figure,
    /// Share of the patients on the worse arm.
    pub worse_share: f64,
    /// Share of features and runs with an estimate.
    pub estimates: f64,
    /// Mean squared error over features and runs.
    pub mse: Option<Figure>,
    /// Mean squared error of the worst feature.
    pub max_mse: Option<f64>,
    /// Mean error towards the true effect.
    pub bias: Option<f64>,
    /// The largest mean error of a feature, in size.
    pub max_bias: Option<f64>,
    /// Share of 95 % intervals that hold the true effect.
    pub coverage: Option<f64>,
    /// Mean width of those intervals.
    pub width: Option<f64>,
    /// Share of features and runs in which an arm was dropped.
    pub dropped: f64,
    /// Share of features (with a gap) and runs in which the better arm was dropped.
    pub wrong_drops: f64,
    /// Share of runs in which any arm was dropped.
    pub runs_with_drop: f64,
    /// Patients to the first drop, in those runs.
    pub first_drop: Option<f64>,
    /// regret * MSE / M.
    pub product: Option<Figure>,
}

fn on_grid(value: f64, unit: f64) -> i128 {
    (value * unit).round() as i128
}

impl Sums {
    /// No runs yet.
    #[must_use]
    pub fn new(instance: &Instance, patients: u32) -> Self {
        let effects: Vec<f64> = instance.effects().collect();
        let features = vec![FeatureSums::default(); effects.len()];
        Self { effects, patients, runs: 0, features, moments: [0; MOMENTS], drops: 0, first_drop: 0 }
    }

    /// Gives sums that were read from a file what they were made with.
    pub(super) fn restore(&mut self, instance: &Instance, patients: u32) {
        (self.effects, self.patients) = (instance.effects().collect(), patients);
    }

    /// Adds one run.
    pub fn add(&mut self, run: &Run) {
        let (mut regret, mut squares, mut estimates) = (0.0, 0, 0);
        for ((sums, feature), effect) in self.features.iter_mut().zip(&run.features).zip(&self.effects) {
            let better = Arm::from_bit(*effect > 0.0);
            let has_gap = *effect != 0.0;
            sums.patients += feature.patients.map(u64::from).iter().sum::<u64>();
            if has_gap {
                let worse = better.other().of(feature.patients);
                sums.worse += u64::from(worse);
                regret += f64::from(worse) * effect.abs();
            }
            sums.dropped += u64::from(feature.dropped.is_some());
            sums.wrong += u64::from(has_gap && feature.dropped == Some(better));
            if let Some(estimate) = feature.estimate {
                let error = estimate.effect - effect;
                let square = on_grid(error * error, ERROR);
                sums.estimates += 1;
                sums.error += on_grid(if *effect < 0.0 { -error } else { error }, ERROR);
                sums.square += square;
                sums.width += on_grid(estimate.high() - estimate.low(), ERROR);
                sums.covered += u64::from((estimate.low()..=estimate.high()).contains(effect));
                squares += square;
                estimates += 1;
            }
        }
        let kept = [on_grid(regret, REGRET), squares, estimates];
        let pairs = kept.iter().enumerate().flat_map(|(i, a)| kept.iter().skip(i).map(move |b| a * b));
        for (moment, value) in self.moments.iter_mut().zip(kept.into_iter().chain(pairs)) {
            *moment += value;
        }
        self.runs += 1;
        self.drops += u64::from(run.first_drop.is_some());
        self.first_drop += u64::from(run.first_drop.unwrap_or(0));
    }

    /// The sums of two disjoint sets of runs of one scenario.
    #[must_use]
    pub fn merge(mut self, other: Self) -> Self {
        self.runs += other.runs;
        for (to, from) in self.features.iter_mut().zip(&other.features) {
            to.patients += from.patients;
            to.worse += from.worse;
            to.estimates += from.estimates;
            to.error += from.error;
            to.square += from.square;
            to.width += from.width;
            to.covered += from.covered;
            to.dropped += from.dropped;
            to.wrong += from.wrong;
        }
        for (to, from) in self.moments.iter_mut().zip(&other.moments) {
            *to += from;
        }
        self.drops += other.drops;
        self.first_drop += other.first_drop;
        self
    }

    /// The figures.
    #[must_use]
    pub fn summary(&self) -> Summary {
        let runs = self.runs as f64;
        let features = self.features.len() as f64;
        let all = |value: fn(&FeatureSums) -> i128| self.features.iter().map(value).sum::<i128>() as f64;
        let estimates = all(|f| f.estimates.into());
        let gaps = self.effects.iter().filter(|effect| **effect != 0.0).count() as f64;
        let per_estimate = |sum: f64| (estimates > 0.0).then(|| sum / estimates);
        let worst = |value: fn(&FeatureSums) -> i128| {
            let each = self.features.iter().filter(|f| f.estimates > 0);
            each.map(|f| (value(f) as f64 / f.estimates as f64 / ERROR).abs()).reduce(f64::max)
        };
        let moments = self.moments();
        let regret = moments.mean([1.0, 0.0, 0.0]);
        let mse = per_estimate(all(|f| f.square) / ERROR).map(|mse| {
            // The ratio of sums, linearised: (squares - mse * estimates) / (estimates of a run).
            let a_run = estimates / runs;
            Figure { mean: mse, error: moments.mean([0.0, 1.0 / a_run, -mse / a_run]).error }
        });
        let product = mse.map(|mse| {
            let a_run = estimates / runs;
            let slope = regret.mean / a_run;
            let error = moments.mean([mse.mean, slope, -slope * mse.mean]).error / features;
            Figure { mean: regret.mean * mse.mean / features, error }
        });
        Summary {
            runs: self.runs,
            regret,
            worse_share: all(|f| f.worse.into()) / (runs * f64::from(self.patients)),
            estimates: estimates / (runs * features),
            mse,
            max_mse: worst(|f| f.square),
            bias: per_estimate(all(|f| f.error) / ERROR),
            max_bias: worst(|f| f.error),
            coverage: per_estimate(all(|f| f.covered.into())),
            width: per_estimate(all(|f| f.width) / ERROR),
            dropped: all(|f| f.dropped.into()) / (runs * features),
            wrong_drops: if gaps > 0.0 { all(|f| f.wrong.into()) / (runs * gaps) } else { 0.0 },
            runs_with_drop: self.drops as f64 / runs,
            first_drop: (self.drops > 0).then(|| self.first_drop as f64 / self.drops as f64),
            product,
        }
    }

    fn moments(&self) -> Moments {
        const UNITS: [f64; KEPT] = [REGRET, ERROR, 1.0];
        let runs = self.runs as f64;
        let mut sums = self.moments.iter();
        let mut next = |unit: f64| *sums.next().unwrap_or(&0) as f64 / unit;
        let means = UNITS.map(|unit| next(unit) / runs);
        let mut covariance = [[0.0; KEPT]; KEPT];
        for i in 0..KEPT {
            for j in i..KEPT {
                let (Some(a), Some(b)) = (UNITS.get(i), UNITS.get(j)) else { continue };
                let (Some(x), Some(y)) = (means.get(i), means.get(j)) else { continue };
                let value = next(a * b) / runs - x * y;
                for (row, column) in [(i, j), (j, i)] {
                    if let Some(cell) = covariance.get_mut(row).and_then(|row| row.get_mut(column)) {
                        *cell = value;
                    }
                }
            }
        }
        Moments { runs, means, covariance }
    }
}

/// Means and covariances of the kept figures of a run.
struct Moments {
    runs: f64,
    means: [f64; KEPT],
    covariance: [[f64; KEPT]; KEPT],
}

impl Moments {
    /// The mean of a linear combination, with its standard error (0 for a single run).
    fn mean(&self, weights: [f64; KEPT]) -> Figure {
        let dot = |row: &[f64; KEPT]| row.iter().zip(weights).map(|(x, w)| x * w).sum::<f64>();
        let variance: f64 = self.covariance.iter().zip(weights).map(|(row, w)| w * dot(row)).sum();
        let error = (variance.max(0.0) / (self.runs - 1.0).max(1.0)).sqrt();
        Figure { mean: dot(&self.means), error }
    }
}

/// Wide integers as decimal text: readers of JSON that use doubles would spoil them.
mod digits {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};
    use std::string::String;

    pub fn serialize<S: Serializer>(value: &i128, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(value)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<i128, D::Error> {
        String::deserialize(from)?.parse().map_err(D::Error::custom)
    }
}

/// The same for all moments.
mod digits_list {
    use super::MOMENTS;
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
    use std::string::{String, ToString as _};

    pub fn serialize<S: Serializer>(values: &[i128; MOMENTS], to: S) -> Result<S::Ok, S::Error> {
        values.map(|value| value.to_string()).serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<[i128; MOMENTS], D::Error> {
        let words = <[String; MOMENTS]>::deserialize(from)?;
        let mut values = [0; MOMENTS];
        for (value, word) in values.iter_mut().zip(words) {
            *value = word.parse().map_err(D::Error::custom)?;
        }
        Ok(values)
    }
}
