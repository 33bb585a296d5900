//! Sums over the runs of a simulation, and their summary statistics.
//!
//! Every real figure of a run is rounded once to a fixed grid and summed as an integer, so sums do
//! not depend on the order of the runs: threads and shards give the same bits as one loop. Regret
//! is kept in units of 2^-20 patients, everything about estimates in units of 2^-44. With at most
//! 10^6 runs, 10^7 patients, 64 features and errors of at most 2 every sum of squares stays below
//! 2^127.
//!
//! The **overall effect** of a run is the plain mean of its features' estimates, its standard error
//! the root of the summed squares over M; it exists where every feature has an estimate.

use super::digits;
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
    /// Intervals that exclude 0.
    pub excluded: u64,
    /// Intervals that exclude 0 on the wrong side of it.
    pub wrong_side: u64,
    /// Runs in which an arm was dropped, or the feature settled before half.
    pub dropped: u64,
    /// Runs in which that was the better arm.
    pub wrong: u64,
}

impl FeatureSums {
    fn merge(&mut self, other: &Self) {
        self.patients += other.patients;
        self.worse += other.worse;
        self.estimates += other.estimates;
        self.error += other.error;
        self.square += other.square;
        self.width += other.width;
        self.covered += other.covered;
        self.excluded += other.excluded;
        self.wrong_side += other.wrong_side;
        self.dropped += other.dropped;
        self.wrong += other.wrong;
    }

    /// Counts an estimate of `effect`; returns its squared error on the grid.
    fn count(&mut self, estimate: &Estimate, effect: f64) -> i128 {
        let error = estimate.effect - effect;
        let square = on_grid(error * error, ERROR);
        self.estimates += 1;
        self.error += on_grid(if effect < 0.0 { -error } else { error }, ERROR);
        self.square += square;
        self.width += on_grid(estimate.high() - estimate.low(), ERROR);
        self.covered += u64::from((estimate.low()..=estimate.high()).contains(&effect));
        let (above, below) = (estimate.low() > 0.0, estimate.high() < 0.0);
        self.excluded += u64::from(above || below);
        self.wrong_side += u64::from(above && effect < 0.0 || below && effect > 0.0);
        square
    }
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
    /// The overall effect; patients and drops are not counted here.
    pub overall: FeatureSums,
    /// Runs with an interval that excludes 0 where there is no effect, or on the wrong side of it.
    pub any_error: u64,
    /// First moments of regret, squared error, estimates, intervals that hold the effect and
    /// intervals that exclude 0, each summed over the features of a run; then their second
    /// moments, the upper triangle row by row.
    #[serde(with = "digits::list")]
    moments: [i128; MOMENTS],
    /// Runs in which an arm was dropped, or a feature settled before half.
    pub drops: u64,
    /// Patients to the first drop, in those.
    pub first_drop: u64,
}

/// Figures of a run whose moments are kept.
const KEPT: usize = 5;
const MOMENTS: usize = KEPT + KEPT * (KEPT + 1) / 2;

/// A mean and its standard error.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Figure {
    /// The mean over runs.
    pub mean: f64,
    /// Its standard error.
    pub error: f64,
}

/// The operating characteristics of a scenario. Figures that do not exist (no estimate, no drop)
/// are absent.
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
    pub coverage: Option<Figure>,
    /// Mean width of those intervals.
    pub width: Option<f64>,
    /// Share of features and runs in which an arm was dropped, or that settled before half.
    pub dropped: f64,
    /// Share of features (with a gap) and runs in which that was the better arm.
    pub wrong_drops: f64,
    /// Share of runs in which any arm was dropped or any feature settled before half.
    pub runs_with_drop: f64,
    /// Patients to the first of these, in those runs.
    pub first_drop: Option<f64>,
    /// regret * MSE / M.
    pub product: Option<Figure>,
    /// Share of intervals that exclude 0: power, or the type I error where there is no effect.
    pub excludes_0: Option<Figure>,
    /// Share of intervals that exclude 0 on the wrong side.
    pub wrong_side: Option<f64>,
    /// Share of runs with an interval that excludes 0 where there is no effect, or on the wrong
    /// side.
    pub any_error: f64,
    /// The overall effect: share of its intervals that exclude 0.
    pub overall_excludes_0: Option<Figure>,
    /// The overall effect: share of its intervals that hold it.
    pub overall_coverage: Option<f64>,
    /// The overall effect: mean width of its intervals.
    pub overall_width: Option<f64>,
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
        Self {
            effects,
            patients,
            runs: 0,
            features,
            overall: FeatureSums::default(),
            any_error: 0,
            moments: [0; MOMENTS],
            drops: 0,
            first_drop: 0,
        }
    }

    /// Gives sums that were read from a file what they were made with.
    pub(super) fn restore(&mut self, instance: &Instance, patients: u32) {
        (self.effects, self.patients) = (instance.effects().collect(), patients);
    }

    /// Adds one run.
    pub fn add(&mut self, run: &Run) {
        let (mut regret, mut squares, mut any_error) = (0.0, 0, false);
        let [estimates, covered, excluded] = self.estimated();
        for ((sums, feature), effect) in
            self.features.iter_mut().zip(&run.features).zip(&self.effects)
        {
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
                let before = (sums.excluded, sums.wrong_side);
                squares += sums.count(&estimate, *effect);
                let error =
                    if has_gap { sums.wrong_side > before.1 } else { sums.excluded > before.0 };
                any_error |= error;
            }
        }
        self.add_overall(run);
        let now = self.estimated();
        let [e, c, x] = [now[0] - estimates, now[1] - covered, now[2] - excluded].map(i128::from);
        let kept = [on_grid(regret, REGRET), squares, e, c, x];
        let pairs =
            kept.iter().enumerate().flat_map(|(i, a)| kept.iter().skip(i).map(move |b| a * b));
        for (moment, value) in self.moments.iter_mut().zip(kept.into_iter().chain(pairs)) {
            *moment += value;
        }
        self.runs += 1;
        self.any_error += u64::from(any_error);
        self.drops += u64::from(run.first_drop.is_some());
        self.first_drop += u64::from(run.first_drop.unwrap_or(0));
    }

    /// Estimates so far, how many of their intervals hold the effect, and how many exclude 0.
    fn estimated(&self) -> [u64; 3] {
        self.features
            .iter()
            .fold([0; 3], |[e, c, x], f| [e + f.estimates, c + f.covered, x + f.excluded])
    }

    fn add_overall(&mut self, run: &Run) {
        let features = self.effects.len() as f64;
        let (mut effect, mut variance, mut patients) = (0.0, 0.0, 0.0);
        for feature in &run.features {
            let Some(estimate) = feature.estimate else { return };
            effect += estimate.effect / features;
            variance += estimate.deviation.powi(2) / (features * features);
            patients += estimate.patients;
        }
        let truth = self.effects.iter().sum::<f64>() / features;
        self.overall.count(&Estimate::new(effect, variance.sqrt(), patients), truth);
    }

    /// The sums of two disjoint sets of runs of one scenario.
    #[must_use]
    pub fn merge(mut self, other: Self) -> Self {
        self.runs += other.runs;
        for (to, from) in self.features.iter_mut().zip(&other.features) {
            to.merge(from);
        }
        self.overall.merge(&other.overall);
        self.any_error += other.any_error;
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
        let all =
            |value: fn(&FeatureSums) -> i128| self.features.iter().map(value).sum::<i128>() as f64;
        let estimates = all(|f| f.estimates.into());
        let gaps = self.effects.iter().filter(|effect| **effect != 0.0).count() as f64;
        let per_estimate = |sum: f64| (estimates > 0.0).then(|| sum / estimates);
        let worst = |value: fn(&FeatureSums) -> i128| {
            let each = self.features.iter().filter(|f| f.estimates > 0);
            each.map(|f| (value(f) as f64 / f.estimates as f64 / ERROR).abs()).reduce(f64::max)
        };
        let moments = self.moments();
        let regret = moments.mean([1.0, 0.0, 0.0, 0.0, 0.0]);
        let a_run = estimates / runs;
        // A ratio of sums, linearised: (sum - ratio * estimates) / (estimates of a run).
        let ratio = |kept: usize, sum: f64| {
            let mean = per_estimate(sum)?;
            let mut weights = [0.0; KEPT];
            (weights[kept], weights[2]) = (1.0 / a_run, -mean / a_run);
            Some(Figure { mean, error: moments.mean(weights).error })
        };
        let mse = ratio(1, all(|f| f.square) / ERROR);
        let product = mse.map(|mse| {
            let slope = regret.mean / a_run;
            let error =
                moments.mean([mse.mean, slope, -slope * mse.mean, 0.0, 0.0]).error / features;
            Figure { mean: regret.mean * mse.mean / features, error }
        });
        let whole = &self.overall;
        let per_run = |sum: f64| (whole.estimates > 0).then(|| sum / whole.estimates as f64);
        let overall_excludes_0 = per_run(whole.excluded as f64).map(|mean| {
            let error = (mean * (1.0 - mean) / whole.estimates as f64).sqrt();
            Figure { mean, error }
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
            coverage: ratio(3, all(|f| f.covered.into())),
            width: per_estimate(all(|f| f.width) / ERROR),
            dropped: all(|f| f.dropped.into()) / (runs * features),
            wrong_drops: if gaps > 0.0 { all(|f| f.wrong.into()) / (runs * gaps) } else { 0.0 },
            runs_with_drop: self.drops as f64 / runs,
            first_drop: (self.drops > 0).then(|| self.first_drop as f64 / self.drops as f64),
            product,
            excludes_0: ratio(4, all(|f| f.excluded.into())),
            wrong_side: per_estimate(all(|f| f.wrong_side.into())),
            any_error: self.any_error as f64 / runs,
            overall_excludes_0,
            overall_coverage: per_run(whole.covered as f64),
            overall_width: per_run(whole.width as f64 / ERROR),
        }
    }

    fn moments(&self) -> Moments {
        const UNITS: [f64; KEPT] = [REGRET, ERROR, 1.0, 1.0, 1.0];
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
                    if let Some(cell) = covariance.get_mut(row).and_then(|row| row.get_mut(column))
                    {
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
