//! Reconciliation: the hospital's chart held against the log, and against the device's report.
//!
//! The chart is the source. It knows codes, kinds, arms and outcomes; the log knows who was
//! enrolled, with which kind and arm, and whether an outcome was recorded, but never its value.
//! So a monitor can find every patient whom only one of them knows, a kind or an arm that differs,
//! and an outcome that is on one side alone. A wrong value cannot be seen there: only sums of
//! outcomes left the device, with noise, and the report holds them ([`sums`]).
//!
//! # Privacy
//! The result names patients and what is wrong with their outcomes. It is not private, says so
//! itself, and is written for its owner alone. Nothing of it goes to the log or to the device:
//! both are only read, the device not even that.

pub mod chart;
pub mod ledger;
pub mod sums;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::records::alike::folded;
use crate::records::register::{Patient, Register};
use crate::records::resolution::Ending;
use crate::records::text::escaped;
use crate::records::trial_file::TrialFile;
use chart::ChartRow;

/// First lines of every result.
const NOT_PRIVATE: &str = "NOT PRIVATE. This names patients and compares their outcomes. It stays \
                           in the hospital,\nwith those who may read the chart.\n";

/// A difference between chart and log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The patient's code.
    pub code: String,
    /// Line of the chart, if the patient is there.
    pub line: Option<usize>,
    /// The difference, in words.
    pub what: String,
}

/// Chart and log, compared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reconciliation {
    title: String,
    /// Patients of the log.
    enrolled: usize,
    /// Rows of the chart.
    rows: usize,
    /// Differences, in the order of the device's numbers, rows without a patient last.
    pub findings: Vec<Finding>,
    /// Differences that a note in the log explains.
    pub explained: Vec<Finding>,
}

impl Reconciliation {
    /// Compares a chart with a log.
    #[must_use]
    pub fn new(register: &Register, trial: &TrialFile, rows: &[ChartRow]) -> Self {
        let mut result = Self { title: trial.title.clone(), rows: rows.len(), ..Self::default() };
        let mut by_code: BTreeMap<String, Vec<&ChartRow>> = BTreeMap::new();
        for row in rows {
            by_code.entry(folded(&row.code)).or_default().push(row);
        }
        for patient in register.patients() {
            result.enrolled += 1;
            let found = by_code.remove(&folded(&patient.code)).unwrap_or_default();
            match found.as_slice() {
                [] => result.find(patient, None, "enrolled, but not in the chart"),
                [first, others @ ..] => {
                    result.compare(register, trial, patient, first);
                    for other in others {
                        let what = format!("in the chart twice, also on line {}", first.line);
                        result.find(patient, Some(other), &what);
                    }
                }
            }
        }
        let mut strangers: Vec<&ChartRow> = by_code.into_values().flatten().collect();
        strangers.sort_by_key(|row| row.line);
        for row in strangers {
            let what = match register.number(&row.code) {
                Some(_) => "enrolled, but the log does not know with which arm or kit",
                None => "in the chart, but not enrolled according to the log",
            };
            let (code, line) = (row.code.clone(), Some(row.line));
            result.findings.push(Finding { code, line, what: what.to_owned() });
        }
        result
    }

    fn find(&mut self, patient: &Patient, row: Option<&ChartRow>, what: &str) {
        self.findings.push(finding(patient, row, what));
    }

    fn compare(
        &mut self,
        register: &Register,
        trial: &TrialFile,
        patient: &Patient,
        row: &ChartRow,
    ) {
        if !row.patient.is_empty() && row.patient != patient.number.to_string() {
            let what =
                format!("patient {} in the chart, {} in the log", row.patient, patient.number);
            self.find(patient, Some(row), &what);
        }
        let kind = trial.feature_name(patient.feature);
        if trial.feature(&row.kind) != Some(patient.feature) {
            let what = format!("kind {:?} in the chart, {kind:?} in the log", row.kind);
            let noted = patient.marks.should_be().and_then(|kind| trial.feature(kind));
            if noted.is_some() && noted == trial.feature(&row.kind) {
                self.explained.push(finding(patient, Some(row), &what));
            } else {
                self.find(patient, Some(row), &what);
            }
        }
        if !is_given(trial, patient, &row.given) {
            let (name, given) = match patient.given.arm() {
                Some(arm) => ("arm", trial.arm_name(arm).to_owned()),
                None => ("kit", trial.given_name(&patient.given)),
            };
            let what = format!("{name} {:?} in the chart, {given:?} in the log", row.given);
            self.find(patient, Some(row), &what);
        }
        let value = trial.outcome(&row.outcome);
        if !row.outcome.is_empty() && value.is_none() {
            let most = trial.plan.scale();
            let what = format!("outcome {:?} in the chart, allowed 0 to {most}", row.outcome);
            self.find(patient, Some(row), &what);
        }
        let ending = register.resolved(patient.number).map(|resolved| resolved.ending);
        let what = match (row.outcome.is_empty(), ending) {
            (true, Some(Ending::Recorded)) => "no outcome in the chart, one recorded in the log",
            (false, Some(Ending::Lost)) => "an outcome in the chart, declared lost in the log",
            (false, None) => "an outcome in the chart, none recorded in the log",
            (true, Some(Ending::Lost)) if row.reason.is_empty() => {
                "declared lost in the log, without a reason in the chart"
            }
            _ => return,
        };
        self.find(patient, Some(row), what);
    }

    /// Whether nothing has to be explained.
    #[must_use]
    pub fn agrees(&self) -> bool {
        self.findings.is_empty()
    }

    /// The result for a monitor.
    #[must_use]
    pub fn text(&self) -> String {
        let Self { title, enrolled, rows, findings, explained } = self;
        let mut text = format!(
            "{NOT_PRIVATE}\n{title}\n\nEnrolled according to the log: {enrolled}. Rows in the \
             chart: {rows}.\n"
        );
        let line = |finding: &Finding| {
            let place = finding.line.map_or("-".to_owned(), |line| format!("line {line}"));
            format!("  {:<12} {place:<10} {}\n", finding.code, finding.what)
        };
        let count = findings.len();
        let _ = match count {
            0 => writeln!(text, "Chart and log agree."),
            1 => writeln!(text, "1 difference between chart and log:"),
            _ => writeln!(text, "{count} differences between chart and log:"),
        };
        text.extend(findings.iter().map(line));
        if !explained.is_empty() {
            text.push_str("Explained by a note in the log:\n");
            text.extend(explained.iter().map(line));
        }
        escaped(&text)
    }
}

fn finding(patient: &Patient, row: Option<&ChartRow>, what: &str) -> Finding {
    let (code, line) = (patient.code.clone(), row.map(|row| row.line));
    Finding { code, line, what: what.to_owned() }
}

/// Whether the chart's word names the arm, or the last kit, that the patient was given.
fn is_given(trial: &TrialFile, patient: &Patient, word: &str) -> bool {
    match (patient.given.arm(), patient.given.kit()) {
        (Some(arm), _) => word == trial.arm_name(arm) || word == arm.index().to_string(),
        (None, Some(kit)) => word == trial.kit_label(kit) || word == kit.to_string(),
        (None, None) => false,
    }
}
