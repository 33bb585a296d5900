//! The report for people and programs: estimates and 95 % intervals per feature, by name.
//!
//! An estimate is the mean outcome of arm 1 minus that of arm 0, in units of the scale: positive favours arm 1.
//! Everything in a report is noisy, and was made private by the device before it left; `patients` too.
//!
//! | format | for |
//! |---|---|
//! | `table` | a person at a terminal, with a picture in block characters |
//! | `csv` | a spreadsheet: `feature,name,estimate,low,high,patients` |
//! | `json` | a program: one object, `rows` an array of objects |
//! | `svg` | paper: the picture as a file |

use crate::prelude::*;
use std::fmt::Write;

use super::client::Report;
use super::picture;
use super::trial_file::TrialFile;
use crate::wire::{Hex, Micro};

/// How a report is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
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

/// One feature, with its name.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    /// The device's number of it.
    pub feature: u8,
    /// Its name.
    pub name: String,
    /// Arm 1 minus arm 0.
    pub estimate: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
    /// Noisy number of outcomes behind it.
    pub patients: u32,
    /// The true effect, which only a demonstration knows.
    pub truth: Option<f64>,
}

/// The rows of a report with the names of the trial; without a trial file features go by their numbers.
#[must_use]
pub fn named(report: &Report, trial: Option<&TrialFile>) -> Vec<Estimate> {
    let name =
        |feature| trial.map_or_else(|| format!("feature {feature}"), |trial| trial.feature_name(feature));
    let rows = report.rows.iter().map(|row| Estimate {
        feature: row.feature,
        name: name(row.feature),
        estimate: decimal(row.estimate),
        low: decimal(row.low),
        high: decimal(row.high),
        patients: row.patients,
        truth: None,
    });
    rows.collect()
}

fn decimal(micro: Micro) -> f64 {
    f64::from(micro.0) / 1e6
}

/// Writes a report; `verified` says what is known of its MAC (`None`: not checked).
#[must_use]
pub fn write(
    format: Format,
    rows: &[Estimate],
    report: &Report,
    trial: Option<&TrialFile>,
    verified: Option<bool>,
) -> String {
    let title = trial.map_or("Report", |trial| trial.title.as_str());
    match format {
        Format::Table => {
            let mac = match verified {
                Some(true) => "the MAC is right: these rows came from the device that holds the key",
                Some(false) => "THE MAC IS WRONG: do not trust these rows",
                None => "not checked (--verify)",
            };
            format!("{title}\n\n{}\nTrial {}; {mac}\n", table(rows, trial), report.trial)
        }
        Format::Csv => csv(rows),
        Format::Json => json(rows, report, verified),
        Format::Svg => picture::svg(title, rows, trial.map(|trial| &trial.arms)),
    }
}

/// The table with its picture.
#[must_use]
pub fn table(rows: &[Estimate], trial: Option<&TrialFile>) -> String {
    let widest = rows.iter().map(|row| row.name.chars().count()).max().unwrap_or(0).max(7);
    let truth = rows.iter().any(|row| row.truth.is_some());
    let mut text = format!("{:<widest$}  estimate    95 % interval  outcomes", "feature");
    text.push_str(if truth { "   truth\n" } else { "\n" });
    for row in rows {
        let Estimate { name, estimate, low, high, patients, .. } = row;
        let _ = write!(text, "{name:<widest$}    {estimate:+.3}  {low:+.3}..{high:+.3}  {patients:>8}");
        let _ = row.truth.map_or(Ok(()), |truth| write!(text, "  {truth:+.3}"));
        text.push('\n');
    }
    let scale = picture::Scale::of(rows);
    if !rows.is_empty() {
        let _ = writeln!(text, "\n{:<widest$}  {}", "", scale.ends());
    }
    for row in rows {
        let _ = writeln!(text, "{:<widest$}  {}", row.name, scale.blocks(row));
    }
    if rows.is_empty() {
        text.push_str("no feature has an estimate\n");
    }
    let [zero, one] = trial.map_or(["arm 0", "arm 1"], |trial| {
        let [zero, one] = &trial.arms;
        [zero, one]
    });
    let _ = writeln!(text, "\nAbove zero favours {one}, below zero {zero}.");
    text
}

fn csv(rows: &[Estimate]) -> String {
    rows.iter().fold("feature,name,estimate,low,high,patients\n".to_owned(), |mut text, row| {
        let Estimate { feature, name, estimate, low, high, patients, .. } = row;
        let name = name.replace('"', "\"\"");
        let _ = writeln!(text, "{feature},\"{name}\",{estimate:.6},{low:.6},{high:.6},{patients}");
        text
    })
}

fn json(rows: &[Estimate], report: &Report, verified: Option<bool>) -> String {
    let rows: Vec<_> = rows
        .iter()
        .map(|row| {
            serde_json::json!({
                "feature": row.feature, "name": row.name, "estimate": row.estimate,
                "low": row.low, "high": row.high, "patients": row.patients,
            })
        })
        .collect();
    let (trial, mac) = (report.trial.to_string(), Hex(&report.mac).to_string());
    serde_json::json!({ "trial": trial, "rows": rows, "mac": mac, "verified": verified }).to_string() + "\n"
}
