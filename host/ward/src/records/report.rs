//! The report for people and programs: estimates with standard error and 95 % interval, per feature
//! and overall.
//!
//! An estimate is the mean outcome of arm 1 minus that of arm 0, in units of the scale: positive
//! favours arm 1. Everything in a report was made private by the device before it left it, the
//! number of outcomes too.
//!
//! The columns have the same names in table, CSV and JSON:
//!
//! | column | meaning |
//! |---|---|
//! | `feature` | the device's number of the kind of patient; empty for the overall effect (not in the table) |
//! | `name` | its name in the trial file, or `overall` |
//! | `estimate` | mean outcome of arm 1 minus that of arm 0 |
//! | `standard_error` | of the estimate |
//! | `low`, `high` | ends of the confidence interval |
//! | `outcomes` | noisy number of outcomes behind the estimate |
//! | `worthless` | `true` where the estimate says nothing (a sentence in the table) |
//!
//! Where the trial file has factors, each level of each factor has a row too, named `factor =
//! level`.
//!
//! The overall effect, and that of a level, is the mean of the estimates weighted by their noisy
//! numbers of outcomes; features share no patients and no noise, so its variance is the weighted
//! sum of theirs.

#[cfg(test)]
pub(super) mod tests;

use std::fmt::Write;

use crate::line::client::Report;
use crate::records::picture;
use crate::records::text;
use crate::records::trial_file::TrialFile;
use equipoise::estimate::Z95;
use equipoise::plan::{Better, DesignName, Plan};
use equipoise::terms::Phase;
use equipoise::wire::{Hex, Micro, Status, TrialId};
use equipoise_study::boundaries::adjusted::{
    self, Adjusted, AdjustedRow, Boundary, Looks, Simultaneous,
};
use equipoise_study::simulate::statistics::OVERALL;

/// Confidence level of every interval.
pub const LEVEL: f64 = 0.95;
/// Remark in every report for people on a row with [`Estimate::is_worthless`].
pub const SAYS_NOTHING: &str = "the estimate says nothing";

/// How a report is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// For a person at a terminal.
    Table,
    /// For a spreadsheet.
    Csv,
    /// For a program.
    Json,
    /// A picture.
    Svg,
}

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
    /// Why fewer outcomes count than patients were enrolled.
    pub why: &'static str,
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
                truth: None,
            }
        });
        let rows: Vec<Estimate> = rows.collect();
        let why = match status.design {
            DesignName::DpConse | DesignName::Conse => {
                "lost and missing outcomes do not count, only part of the second half measures, and counts are noisy"
            }
            _ => {
                "lost and missing outcomes do not count, and counts carry the noise that protects each patient"
            }
        };
        let every: Vec<&Estimate> = rows.iter().collect();
        let overall = weighted("overall", &every);
        let levels = trial.map_or_else(Vec::new, |trial| by_factor(trial, &rows));
        let looks = trial.and_then(|trial| {
            let closed = (status.phase == Phase::Closed).then_some(status.resolved);
            Some((trial.boundary?, Looks::new(&trial.plan, status.looks, closed)))
        });
        let effects = Self {
            trial: report.trial,
            enrolled: report.assigned,
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
        truth: None,
    })
}

/// Writes a report; `verified` is the result of checking its MAC (`None`: not checked).
#[must_use]
pub fn write(
    format: Format,
    effects: &Effects,
    report: &Report,
    trial: Option<&TrialFile>,
    verified: Option<bool>,
) -> String {
    let title = trial.map_or("Report", |trial| trial.title.as_str());
    match format {
        Format::Table => {
            let mac = match verified {
                Some(true) => {
                    "the MAC is right: these rows came from the device that holds the key"
                }
                Some(false) => "THE MAC IS WRONG: do not trust these rows",
                None => "the MAC was not checked (--verify)",
            };
            format!("{title}\n\n{}{mac}\n", table(effects, trial))
        }
        Format::Csv => csv(effects),
        Format::Json => json(effects, title, report, verified),
        Format::Svg => picture::svg(title, effects, trial.map(|trial| &trial.arms)),
    }
}

/// The table with its picture.
#[must_use]
pub fn table(effects: &Effects, trial: Option<&TrialFile>) -> String {
    let rows: Vec<&Estimate> = effects.all().collect();
    let widest = rows.iter().map(|row| row.name.chars().count()).max().unwrap_or(0).max(7);
    let truth = rows.iter().any(|row| row.truth.is_some());
    let mut text =
        format!("{:<widest$}  estimate  standard_error     low    high  outcomes", "name");
    text.push_str(if truth { "   truth\n" } else { "\n" });
    for row in &rows {
        let Estimate { name, estimate, standard_error, low, high, outcomes, .. } = row;
        let _ = write!(
            text,
            "{name:<widest$}    {estimate:+.3}  {standard_error:>14.3}  {low:+.3}  {high:+.3}  {outcomes:>8}"
        );
        let _ = row.truth.map_or(Ok(()), |truth| write!(text, "  {truth:+.3}"));
        text.push('\n');
    }
    let (ends, lines) = picture::blocks(&rows);
    if !rows.is_empty() {
        let _ = writeln!(text, "\n{:<widest$}  {ends}", "");
    }
    for (row, line) in rows.iter().zip(lines) {
        let _ = writeln!(text, "{:<widest$}  {line}", row.name);
    }
    if rows.is_empty() {
        text.push_str("no feature has an estimate\n");
    }
    if let Some(warning) = effects.warning() {
        let _ = writeln!(text, "\n{warning}");
    }
    if let Some(Adjusted { method, rows }) = &effects.adjusted {
        let _ = writeln!(text, "\n95 % intervals {method}:\n{:<widest$}     low    high", "name");
        for AdjustedRow { name, low, high, says } in rows {
            let _ = writeln!(text, "{name:<widest$}  {low:+.3}  {high:+.3}  {says}");
        }
    }
    let [zero, one] = trial.map_or(["arm 0", "arm 1"], |trial| {
        let [zero, one] = &trial.arms;
        [zero, one]
    });
    if effects.overall.is_some() {
        let _ = writeln!(text, "\noverall: {OVERALL}.");
    }
    let Effects { trial: id, enrolled, why, .. } = effects;
    let [below, above] = effects.favoured([zero, one]);
    let _ = writeln!(
        text,
        "\nlow and high: 95 % confidence interval. Above zero favours {above}, below zero {below}.\n\
         Patients enrolled: {enrolled}. Outcomes counted: {} (noisy). They differ because\n{why}.\nTrial {id}.",
        effects.outcomes()
    );
    text
}

fn csv(effects: &Effects) -> String {
    let mut header =
        "trial,level,feature,name,estimate,standard_error,low,high,outcomes,worthless".to_owned();
    if effects.adjusted.is_some() {
        header += ",adjusted_low,adjusted_high,adjusted";
    }
    effects.all().fold(header + "\n", |mut text, row| {
        let Estimate { estimate, standard_error, low, high, outcomes, .. } = row;
        let feature = row.feature.map_or(String::new(), |feature| feature.to_string());
        let (trial, name, worthless) = (effects.trial, text::csv(&row.name), row.is_worthless());
        let _ = write!(
            text,
            "{trial},{LEVEL},{feature},{name},{estimate:.6},{standard_error:.6},{low:.6},{high:.6},{outcomes},{worthless}"
        );
        if let Some(adjusted) = &effects.adjusted {
            let _ = match adjusted.rows.iter().find(|other| other.name == row.name) {
                Some(AdjustedRow { low, high, says, .. }) => {
                    write!(text, ",{low:.6},{high:.6},{says}")
                }
                None => write!(text, ",,,"),
            };
        }
        text.push('\n');
        text
    })
}

fn json(effects: &Effects, title: &str, report: &Report, verified: Option<bool>) -> String {
    let row = |row: &Estimate| {
        serde_json::json!({
            "feature": row.feature, "name": row.name, "estimate": row.estimate,
            "standard_error": row.standard_error, "low": row.low, "high": row.high, "outcomes": row.outcomes,
            "worthless": row.is_worthless(),
        })
    };
    let line = serde_json::json!({
        "trial": effects.trial.to_string(), "title": title, "level": LEVEL, "enrolled": effects.enrolled,
        "file": effects.file, "plan": effects.plan.map(|plan| plan.to_string()), "resolved": report.resolved,
        "outcomes": effects.outcomes(), "why_they_differ": effects.why,
        "rows": effects.rows.iter().map(row).collect::<Vec<_>>(), "factors": effects.levels.iter().map(row).collect::<Vec<_>>(),
        "overall": effects.overall.as_ref().map(row),
        "adjusted": effects.adjusted.as_ref().map(|adjusted| serde_json::json!({
            "method": adjusted.method,
            "rows": adjusted.rows.iter().map(|row| serde_json::json!({
                "name": row.name, "low": row.low, "high": row.high, "says": row.says,
            })).collect::<Vec<_>>(),
        })),
        "mac": Hex(&report.mac).to_string(), "verified": verified,
    });
    format!("{line}\n")
}
