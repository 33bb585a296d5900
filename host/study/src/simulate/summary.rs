//! The operating characteristics of a simulation, from its exact sums.
//!
//! A share over features and runs has a standard error by linearisation, so that features of one
//! run need not be independent. A share over runs alone has its binomial standard error.

use super::statistics::{ERROR, FeatureSums, KEPT, REGRET, Sums};

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
    pub wrong_side: Option<Figure>,
    /// Share of runs with an interval that excludes 0 where there is no effect, or on the wrong
    /// side.
    pub any_error: Figure,
    /// The overall effect: share of its intervals that exclude 0.
    pub overall_excludes_0: Option<Figure>,
    /// The overall effect: share of its intervals that hold it.
    pub overall_coverage: Option<Figure>,
    /// The overall effect: mean width of its intervals.
    pub overall_width: Option<f64>,
    /// The overall effect: share of its intervals that exclude 0 on the wrong side.
    pub overall_wrong_side: Option<Figure>,
    /// Share of estimates whose futility boundary was crossed, with a boundary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub futile: Option<Figure>,
    /// Every feature by itself.
    pub features: Vec<FeatureSummary>,
}

/// The operating characteristics of one feature.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct FeatureSummary {
    /// The true effect.
    pub effect: f64,
    /// Mean number of patients.
    pub patients: f64,
    /// Share of them on the worse arm; 0 without an effect.
    pub worse_share: f64,
    /// Share of runs with an estimate.
    pub estimates: f64,
    /// Mean squared error.
    pub mse: Option<f64>,
    /// Mean error towards the true effect.
    pub bias: Option<f64>,
    /// Share of intervals that hold the true effect.
    pub coverage: Option<Figure>,
    /// Mean width of the intervals.
    pub width: Option<f64>,
    /// Share of intervals that exclude 0.
    pub excludes_0: Option<Figure>,
    /// Share of intervals that exclude 0 on the wrong side.
    pub wrong_side: Option<Figure>,
    /// Share of runs in which an arm was dropped, or that settled before half.
    pub dropped: f64,
    /// Share of runs in which the futility boundary was crossed, with a boundary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub futile: Option<f64>,
}

impl Figure {
    /// A share of independent trials, with its binomial standard error.
    #[must_use]
    pub fn share(hits: u64, trials: u64) -> Option<Self> {
        let mean = (trials > 0).then(|| hits as f64 / trials as f64)?;
        Some(Self { mean, error: (mean * (1.0 - mean) / trials as f64).sqrt() })
    }
}

impl FeatureSummary {
    fn new(sums: &FeatureSums, effect: f64, runs: u64, has_futility: bool) -> Self {
        let all = sums.estimates;
        let mean = |sum: i128| (all > 0).then(|| sum as f64 / all as f64 / ERROR);
        Self {
            effect,
            patients: sums.patients as f64 / runs as f64,
            worse_share: sums.worse as f64 / (sums.patients as f64).max(1.0),
            estimates: all as f64 / runs as f64,
            mse: mean(sums.square),
            bias: mean(sums.error),
            coverage: Figure::share(sums.covered, all),
            width: mean(sums.width),
            excludes_0: Figure::share(sums.excluded, all),
            wrong_side: Figure::share(sums.wrong_side, all),
            dropped: sums.dropped as f64 / runs as f64,
            futile: (has_futility && all > 0).then(|| sums.futile as f64 / all as f64),
        }
    }
}

impl Sums {
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
        let regret = moments.mean([1.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
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
                moments.mean([mse.mean, slope, -slope * mse.mean, 0.0, 0.0, 0.0]).error / features;
            Figure { mean: regret.mean * mse.mean / features, error }
        });
        let whole = &self.overall;
        let per_run = |sum: f64| (whole.estimates > 0).then(|| sum / whole.estimates as f64);
        let each = self.features.iter().zip(&self.effects);
        let (runs_done, futility) = (self.runs, self.has_futility);
        let each =
            each.map(|(sums, effect)| FeatureSummary::new(sums, *effect, runs_done, futility));
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
            wrong_side: ratio(5, all(|f| f.wrong_side.into())),
            any_error: Figure::share(self.any_error, self.runs)
                .unwrap_or(Figure { mean: 0.0, error: 0.0 }),
            overall_excludes_0: Figure::share(whole.excluded, whole.estimates),
            overall_coverage: Figure::share(whole.covered, whole.estimates),
            overall_width: per_run(whole.width as f64 / ERROR),
            overall_wrong_side: Figure::share(whole.wrong_side, whole.estimates),
            futile: Figure::share(all(|f| f.futile.into()) as u64, estimates as u64)
                .filter(|_| futility),
            features: each.collect(),
        }
    }

    fn moments(&self) -> Moments {
        const UNITS: [f64; KEPT] = [REGRET, ERROR, 1.0, 1.0, 1.0, 1.0];
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
