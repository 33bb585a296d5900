//! The report for people and programs: estimates with standard error and 95 % interval, per feature
//! and overall.
//!
//! An estimate is the mean outcome of arm 1 minus that of arm 0, in units of the scale: positive
//! favours arm 1. Everything in a report was made private by the device before it left it, the
//! number of outcomes too.
//!
//! The columns have the same names in table, CSV and JSON ([`mod@write`]):
//!
//! | column | meaning |
//! |---|---|
//! | `feature` | the device's number of the kind of patient; empty for the overall effect (not in the table) |
//! | `name` | its name in the trial file, or `overall` |
//! | `estimate` | mean outcome of arm 1 minus that of arm 0 |
//! | `standard_error` | of the estimate |
//! | `low`, `high` | ends of the confidence interval |
//! | `outcomes` | noisy number of outcomes behind the estimate |
//! | `n0`, `mean0`, `n1`, `mean1` | noisy outcomes of each arm and their noisy mean over the scale |
//! | `spent` | information fraction: the part of the estimate's weight that is spent |
//! | `half`, `looks`, `windows` | the same at half, the looks in which the feature took part as a mask, readings with noise (not in the table) |
//! | `risk_ratio`, `odds_ratio`, each with `_low` and `_high` | of yes/no outcomes, arm 1 over arm 0 ([`equipoise_study::ratios`]) |
//! | `worthless` | `true` where the estimate says nothing (a sentence in the table) |
//!
//! Where the trial file has factors, each level of each factor has a row too, named `factor =
//! level`.
//!
//! The overall effect, and that of a level, is the mean of the estimates weighted by their noisy
//! numbers of outcomes; features share no patients and no noise, so its variance is the weighted
//! sum of theirs.

mod course;
mod progress;
#[cfg(test)]
pub(super) mod tests;
mod write;

pub use progress::{Progress, without_effects};
pub use write::{Format, table, write};

use crate::line::client::Report;
use crate::records::trial_file::TrialFile;
use equipoise::estimate::Z95;
use equipoise::plan::{Better, Plan};
use equipoise::terms::Phase;
use equipoise::wire::{Hex, Micro, RowBasis, Status, TrialId};
use equipoise_study::boundaries::adjusted::{self, Adjusted, Boundary, Looks, Simultaneous};
use equipoise_study::ratios::Ratios;

/// Confidence level of every interval.
pub const LEVEL: f64 = 0.95;
/// Remark in every report for people on a row with [`Estimate::is_worthless`].
pub const SAYS_NOTHING: &str = "the estimate says nothing";

/// One row of a report: a feature, or the overall effect.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    /// The device's number of the feature; none for the overall effect.
    pub feature: Option<u8>,
    /// Its name.
    pub name: String,
    /// Arm 1 minus arm 0.
    pub estimate: f64,
    /// Standard error of the estimate.
    pub standard_error: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
    /// Noisy number of outcomes behind it.
    pub outcomes: u32,
    /// Its noisy ledger, of a feature of `interim` or `uniform`.
    pub basis: Option<RowBasis>,
    /// Risk and odds ratio, where outcomes are yes or no.
    pub ratios: Option<Ratios>,
    /// The true effect, which only a demonstration knows.
    pub truth: Option<f64>,
}

impl Estimate {
    /// Whether the estimate says nothing: the interval holds every possible effect, or noise
    /// carried it beyond all of them, so that nothing of it is left between -1 and 1.
    #[must_use]
    pub fn is_worthless(&self) -> bool {
        self.low <= -1.0 && self.high >= 1.0 || self.low >= self.high
    }
}

/// Content of a report.
#[derive(Clone, Debug, PartialEq)]
pub struct Effects {
    /// The trial's id.
    pub trial: TrialId,
    /// Patients enrolled, which is public.
    pub enrolled: u32,
    /// One row a feature that has an estimate.
    pub rows: Vec<Estimate>,
    /// The effect at each level of each factor, where the trial file has factors.
    pub levels: Vec<Estimate>,
    /// The overall effect; none without rows or outcomes.
    pub overall: Option<Estimate>,
    /// How far the trial is.
    pub progress: Progress,
    /// Why the outcomes counted are not the patients resolved.
    pub why: String,
    /// Digest of the trial file that the device was provisioned with.
    pub file: String,
    /// The plan, if there is a trial file.
    pub plan: Option<Plan>,
    /// Which outcomes are the better ones.
    pub better: Better,
    /// Looks that a report was due at, if the trial file has a boundary.
    pub looks: Option<(Boundary, Looks)>,
    /// Intervals adjusted for several reports or features, if something asks for it.
    pub adjusted: Option<Adjusted>,
}

impl Effects {
    /// The rows of a report with the names of the trial; without a trial file features go by their
    /// numbers.
    #[must_use]
    pub fn new(report: &Report, status: &Status, trial: Option<&TrialFile>) -> Self {
        let name = |feature| {
            trial.map_or_else(|| format!("feature {feature}"), |trial| trial.feature_name(feature))
        };
        let rows = report.rows.iter().map(|row| {
            let [estimate, low, high] = [row.estimate, row.low, row.high].map(decimal);
            Estimate {
                feature: Some(row.feature),
                name: name(row.feature),
                estimate,
                standard_error: decimal(row.error),
                low,
                high,
                outcomes: row.outcomes,
                basis: row.basis,
                ratios: trial.and_then(|trial| course::ratios(&trial.plan, row)),
                truth: None,
            }
        });
        let rows: Vec<Estimate> = rows.collect();
        let progress = Progress::new(&report.end, status);
        let why = progress.why(&rows, status, trial.map(|trial| &trial.plan));
        let every: Vec<&Estimate> = rows.iter().collect();
        let overall = weighted("overall", &every);
        let levels = trial.map_or_else(Vec::new, |trial| by_factor(trial, &rows));
        let looks = trial.and_then(|trial| {
            let closed = (status.phase == Phase::Closed).then_some(status.resolved);
            Some((trial.boundary?, Looks::new(&trial.plan, status.looks, closed)))
        });
        let effects = Self {
            trial: report.trial,
            enrolled: report.end.assigned,
            progress,
            overall,
            levels,
            rows,
            why,
            file: Hex(&status.name.file.0).to_string(),
            plan: trial.map(|trial| trial.plan),
            better: status.better,
            looks,
            adjusted: None,
        };
        effects.adjust(None)
    }

    /// Adjusts the intervals for several reports, if the trial file has a boundary, and for several
    /// features, if asked to.
    #[must_use]
    pub fn adjust(mut self, simultaneous: Option<Simultaneous>) -> Self {
        let effect = |row: &Estimate| adjusted::Effect {
            name: row.name.clone(),
            of_feature: row.feature.is_some(),
            estimate: middle(row.estimate, row.standard_error, [row.low, row.high]),
            error: row.standard_error,
            course: self.plan.and_then(|plan| course::of(&plan, row, &self.rows)),
        };
        let effects: Vec<adjusted::Effect> = self.all().map(effect).collect();
        let looks = self.looks.as_ref().map(|(boundary, looks)| (*boundary, looks));
        self.adjusted = adjusted::adjust(&effects, looks, simultaneous);
        self
    }

    /// All rows: features, levels of factors, overall.
    pub fn all(&self) -> impl Iterator<Item = &Estimate> {
        self.rows.iter().chain(&self.levels).chain(&self.overall)
    }

    /// A sentence that names the rows whose estimates say nothing, if there are any.
    #[must_use]
    pub fn warning(&self) -> Option<String> {
        let names = self.all().filter(|row| row.is_worthless()).map(|row| row.name.as_str());
        let names = names.collect::<Vec<_>>().join("; ");
        (!names.is_empty())
            .then(|| format!("Too few outcomes for the noise, so that {SAYS_NOTHING}: {names}."))
    }

    /// Noisy number of outcomes behind all rows.
    #[must_use]
    pub fn outcomes(&self) -> u64 {
        self.rows.iter().map(|row| u64::from(row.outcomes)).sum()
    }
}

/// The estimate before it was cut to [-1, 1]: the middle of an interval, of which an end within
/// (-1, 1) was not cut.
#[must_use]
pub fn middle(estimate: f64, standard_error: f64, [low, high]: [f64; 2]) -> f64 {
    let half = Z95 * standard_error;
    match estimate {
        e if e >= 1.0 && low > -1.0 && low < 1.0 => f64::max(1.0, low + half),
        e if e <= -1.0 && high > -1.0 && high < 1.0 => f64::min(-1.0, high - half),
        e => e,
    }
}

fn decimal(micro: Micro) -> f64 {
    f64::from(micro.0) / 1e6
}

/// The effect at each level of each factor: the rows with that level, weighted.
fn by_factor(trial: &TrialFile, rows: &[Estimate]) -> Vec<Estimate> {
    let mut estimates = Vec::new();
    for (place, factor) in trial.factors.iter().enumerate().filter(|_| trial.factors.are_named()) {
        for (level, name) in factor.levels.iter().enumerate() {
            let has_level = |row: &&Estimate| {
                row.feature
                    .is_some_and(|feature| trial.factors.levels(feature).get(place) == Some(&level))
            };
            let with: Vec<&Estimate> = rows.iter().filter(has_level).collect();
            estimates.extend(weighted(&format!("{} = {name}", factor.name), &with));
        }
    }
    estimates
}

/// The mean of rows weighted by their noisy numbers of outcomes; none without outcomes.
fn weighted(name: &str, rows: &[&Estimate]) -> Option<Estimate> {
    let weight = |row: &Estimate| f64::from(row.outcomes);
    let total: f64 = rows.iter().map(|row| weight(row)).sum();
    if total <= 0.0 {
        return None;
    }
    let estimate = rows.iter().map(|row| weight(row) * row.estimate).sum::<f64>() / total;
    let variance: f64 = rows.iter().map(|row| (weight(row) * row.standard_error).powi(2)).sum();
    let standard_error = variance.sqrt() / total;
    let half = Z95 * standard_error;
    let outcomes = rows.iter().fold(0_u32, |sum, row| sum.saturating_add(row.outcomes));
    Some(Estimate {
        feature: None,
        name: name.to_owned(),
        estimate,
        standard_error,
        low: (estimate - half).max(-1.0),
        high: (estimate + half).min(1.0),
        outcomes,
        basis: None,
        ratios: None,
        truth: None,
    })
}
