//! Writes a report as table, CSV, JSON and picture.

use std::fmt::Write;

use super::{Effects, Estimate, LEVEL, Progress};
use crate::line::client::Report;
use crate::records::picture;
use crate::records::text;
use crate::records::trial_file::TrialFile;
use equipoise::plan::DesignName;
use equipoise::wire::Hex;
use equipoise_study::boundaries::adjusted::{Adjusted, AdjustedRow};
use equipoise_study::ratios::Ratio;
use equipoise_study::simulate::overall::overall_note;
use serde_json::{Value, json};

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
            let Progress { date, .. } = &effects.progress;
            let headline = effects.progress.headline();
            format!("{title}\n{headline}, {date}\n\n{}{mac}\n", table(effects, trial))
        }
        Format::Csv => csv(effects),
        Format::Json => json(effects, title, report, verified),
        Format::Svg => picture::svg(title, effects, trial),
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
    by_arm(&mut text, &rows, widest);
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
        // Without a trial file the design is not known here; `interim` is the default.
        let has_interim = effects.plan.is_none_or(|plan| plan.design() == DesignName::Interim);
        let _ = writeln!(text, "\n{}", overall_note(has_interim));
    }
    let Effects { trial: id, progress, why, .. } = effects;
    let [below, above] = effects.favoured([zero, one]);
    let _ = writeln!(
        text,
        "\nlow and high: 95 % confidence interval. Above zero favours {above}, below zero {below}.\n\
         {}\nCounted and resolved differ: {why}.\nTrial {id}.",
        progress.counts()
    );
    text
}

/// The second table: outcomes and means by arm, the part of the weight that is spent, and ratios.
fn by_arm(text: &mut String, rows: &[&Estimate], widest: usize) {
    if rows.iter().all(|row| row.basis.is_none()) {
        return;
    }
    let has_ratios = rows.iter().any(|row| row.ratios.is_some());
    let _ = write!(text, "\n{:<widest$}      n0  mean0      n1  mean1  spent", "name");
    text.push_str(if has_ratios { "  risk_ratio              odds_ratio\n" } else { "\n" });
    for row in rows {
        let Some(basis) = &row.basis else { continue };
        let [zero, one] = basis.arms;
        let (m0, m1, spent) =
            (super::decimal(zero.mean), super::decimal(one.mean), super::decimal(basis.spent));
        let (n0, n1) = (zero.outcomes, one.outcomes);
        let name = &row.name;
        let _ = write!(text, "{name:<widest$}  {n0:>6}  {m0:.3}  {n1:>6}  {m1:.3}  {spent:.3}");
        if let Some(ratios) = row.ratios {
            let shown = |ratio: Ratio| {
                let Ratio { estimate, low, high } = ratio;
                format!("{estimate:.2} ({low:.2} to {high:.2})")
            };
            let _ = write!(text, "  {:<22}  {}", shown(ratios.risk), shown(ratios.odds));
        }
        text.push('\n');
    }
}

/// The columns of a row, for CSV and JSON. A value that does not exist is null, and so is an
/// infinite one.
fn columns(row: &Estimate) -> Vec<(&'static str, Value)> {
    // Six places, as the device sends them.
    let places = |value: f64| json!((value * 1e6).round() / 1e6);
    let micro = |value: Option<equipoise::wire::Micro>| json!(value.map(super::decimal));
    let basis = row.basis;
    let arm = |arm: usize| basis.and_then(|basis| basis.arms.get(arm).copied());
    let ratio = |of: fn(&equipoise_study::ratios::Ratios) -> f64| {
        row.ratios.as_ref().map_or(Value::Null, |ratios| places(of(ratios)))
    };
    vec![
        ("feature", json!(row.feature)),
        ("name", json!(row.name)),
        ("estimate", places(row.estimate)),
        ("standard_error", places(row.standard_error)),
        ("low", places(row.low)),
        ("high", places(row.high)),
        ("outcomes", json!(row.outcomes)),
        ("n0", json!(arm(0).map(|arm| arm.outcomes))),
        ("mean0", micro(arm(0).map(|arm| arm.mean))),
        ("n1", json!(arm(1).map(|arm| arm.outcomes))),
        ("mean1", micro(arm(1).map(|arm| arm.mean))),
        ("spent", micro(basis.map(|basis| basis.spent))),
        ("half", micro(basis.map(|basis| basis.half))),
        ("looks", json!(basis.map(|basis| basis.looks))),
        ("windows", json!(basis.map(|basis| basis.windows))),
        ("risk_ratio", ratio(|ratios| ratios.risk.estimate)),
        ("risk_ratio_low", ratio(|ratios| ratios.risk.low)),
        ("risk_ratio_high", ratio(|ratios| ratios.risk.high)),
        ("odds_ratio", ratio(|ratios| ratios.odds.estimate)),
        ("odds_ratio_low", ratio(|ratios| ratios.odds.low)),
        ("odds_ratio_high", ratio(|ratios| ratios.odds.high)),
        ("worthless", json!(row.is_worthless())),
    ]
}

/// The facts of a whole report, for CSV (in every row) and JSON.
fn facts(effects: &Effects) -> Vec<(&'static str, Value)> {
    let Progress { end, date, .. } = &effects.progress;
    vec![
        ("trial", json!(effects.trial.to_string())),
        ("level", json!(LEVEL)),
        ("stage", json!(end.stage.name())),
        ("look", json!(end.look.map(|look| look.number))),
        ("of", json!(end.look.map(|look| look.of))),
        ("date", json!(date)),
    ]
}

/// A cell of CSV. Only names hold text of others.
fn cell((column, value): &(&'static str, Value)) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(name) if *column == "name" => text::csv(name),
        Value::String(word) => word.clone(),
        other => other.to_string(),
    }
}

pub(super) fn csv(effects: &Effects) -> String {
    let adjusted = |row: &Estimate| {
        let adjusted = effects.adjusted.as_ref()?;
        let own = adjusted.rows.iter().find(|other| other.name == row.name);
        let of = |value: fn(&AdjustedRow) -> f64| json!(own.map(value));
        Some([
            ("adjusted_low", of(|row| row.low)),
            ("adjusted_high", of(|row| row.high)),
            ("adjusted", json!(own.map(|row| row.says))),
        ])
    };
    let line = |row: &Estimate| -> Vec<(&'static str, Value)> {
        let adjusted = adjusted(row).into_iter().flatten();
        facts(effects).into_iter().chain(columns(row)).chain(adjusted).collect()
    };
    let rows: Vec<_> = effects.all().map(line).collect();
    let header: Vec<&str> = rows.first().map_or_else(
        || facts(effects).iter().map(|(name, _)| *name).collect(),
        |row| row.iter().map(|(name, _)| *name).collect(),
    );
    rows.iter().fold(header.join(",") + "\n", |text, row| {
        let cells: Vec<String> = row.iter().map(cell).collect();
        text + &cells.join(",") + "\n"
    })
}

fn json(effects: &Effects, title: &str, report: &Report, verified: Option<bool>) -> String {
    let object = |cells: Vec<(&'static str, Value)>| -> Value {
        cells.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    };
    let list = |rows: &[Estimate]| rows.iter().map(|row| object(columns(row))).collect::<Vec<_>>();
    let end = &effects.progress.end;
    let mut whole = object(facts(effects));
    let more = json!({
        "title": title, "enrolled": end.assigned, "resolved": end.resolved, "counted": end.counted,
        "at": end.look.and_then(|look| look.at), "why_they_differ": effects.why,
        "file": effects.file, "plan": effects.plan.map(|plan| plan.to_string()),
        "rows": list(&effects.rows), "factors": list(&effects.levels),
        "overall": effects.overall.as_ref().map(|row| object(columns(row))),
        "adjusted": effects.adjusted.as_ref().map(|adjusted| json!({
            "method": adjusted.method,
            "rows": adjusted.rows.iter().map(|row| json!({
                "name": row.name, "low": row.low, "high": row.high, "says": row.says,
            })).collect::<Vec<_>>(),
        })),
        "mac": Hex(&report.mac).to_string(), "verified": verified,
    });
    if let (Value::Object(whole), Value::Object(more)) = (&mut whole, more) {
        whole.extend(more);
    }
    format!("{whole}\n")
}
