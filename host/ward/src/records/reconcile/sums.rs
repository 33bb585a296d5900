//! The chart's sums of outcomes held against those of the device's report.
//!
//! A report has the noisy number of outcomes and their noisy mean, for each kind of patient and
//! each arm. The chart has the outcomes themselves. Their sums, over the outcomes that the device's
//! ledger holds ([`super::ledger`]), are compared under the law of the noise
//! ([`equipoise_study::noise_law::sums`]). So values that were typed wrong, or changed in the chart
//! later, show if they are many; a single one hides in the noise, as it must.
//!
//! Kinds and arms are the chart's, but for kinds that a note in the log explains: the device counts
//! them as they were enrolled. In a blinded trial the chart has kits, so both arms are summed up.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::chart::ChartRow;
use super::ledger::{Outcome, Read, Step, held};
use crate::records::alike::folded;
use crate::records::register::{Patient, Register};
use crate::records::resolution::Ending;
use crate::records::site::Site;
use crate::records::trial_file::TrialFile;
use equipoise::terms::Arm;
use equipoise::wire::{FileDigest, RowBasis, Stage};
use equipoise_study::noise_law::sums::{Kind, Measure, Tally, Told, Verdict, compare, shared_out};

/// Right charts are called wrong this often, by chance.
pub const LEVEL: f64 = 0.05;

/// Sums of a chart and of a report, compared.
#[derive(Clone, Debug, PartialEq)]
pub struct SumsCheck {
    /// Kinds of patient, by name.
    kinds: Vec<(String, Kind)>,
    arms: Option<[String; 2]>,
    scale: f64,
    /// The verdict.
    pub verdict: Verdict,
}

/// Outcomes of a chart by kind of patient and number.
type Chart = BTreeMap<u8, BTreeMap<u32, Outcome>>;

fn outcomes(register: &Register, trial: &TrialFile, rows: &[ChartRow]) -> Chart {
    let mut by_code: BTreeMap<String, &ChartRow> = BTreeMap::new();
    for row in rows {
        by_code.entry(folded(&row.code)).or_insert(row);
    }
    let mut chart = Chart::new();
    for patient in register.patients() {
        let row = by_code.get(&folded(&patient.code));
        let recorded = register.resolved(patient.number).map(|resolved| resolved.ending);
        let counts = matches!(recorded, Some(Ending::Recorded | Ending::OnRecord));
        let outcome = row.filter(|_| counts).and_then(|row| {
            let arm = if trial.kits.is_some() { Arm::Zero } else { arm(trial, &row.given)? };
            Some((arm.index(), trial.outcome(&row.outcome)?))
        });
        let kind = row.map_or(patient.feature, |row| kind(trial, patient, row));
        chart.entry(kind).or_default().insert(patient.number, outcome);
    }
    chart
}

fn arm(trial: &TrialFile, word: &str) -> Option<Arm> {
    let is_named = |arm: &Arm| word == trial.arm_name(*arm) || word == arm.index().to_string();
    Arm::BOTH.into_iter().find(is_named)
}

/// The chart's kind, unless a note says that another one was typed at the enrolment.
fn kind(trial: &TrialFile, patient: &Patient, row: &ChartRow) -> u8 {
    let noted = patient.marks.should_be().and_then(|kind| trial.feature(kind));
    trial.feature(&row.kind).filter(|kind| noted != Some(*kind)).unwrap_or(patient.feature)
}

fn told(basis: &RowBasis) -> [Told; 2] {
    basis.arms.map(|arm| Told { outcomes: arm.outcomes, mean: f64::from(arm.mean.0) / 1e6 })
}

/// How far a course of a kind is from its row.
fn distance(truth: [Tally; 2], told: [Told; 2], scale: f64) -> f64 {
    let arm = |(truth, told): (Tally, Told)| {
        let (all, sum) = (f64::from(truth.outcomes), truth.total as f64 / scale);
        let of_sum = f64::from(told.outcomes) * told.mean;
        (of_sum - sum).powi(2) + (f64::from(told.outcomes) - of_sum - (all - sum)).powi(2)
    };
    truth.into_iter().zip(told).map(arm).sum()
}

impl SumsCheck {
    /// Compares a chart with a report.
    ///
    /// # Errors
    /// The report is not of this trial, or cannot be compared.
    pub fn new(
        register: &Register,
        steps: &[Step],
        trial: &TrialFile,
        rows: &[ChartRow],
        site: &Site,
    ) -> Result<Self, String> {
        site.is_of(register.opened().map(|opened| opened.trial.as_str()))?;
        let unusable = || {
            format!(
                "{}: the report does not say with which plan it was made, or not rightly: write it with `equipoise report --trial FILE --format json`",
                site.name
            )
        };
        let (report, plan, file) = site.report().ok_or_else(unusable)?;
        if plan != trial.plan || file != FileDigest(trial.digest()) {
            return Err(format!("{}: the report is of another trial file", site.name));
        }
        let missing =
            (1..=report.end.assigned).filter(|number| register.patient(*number).is_none());
        let missing = missing.count();
        let last = match (report.end.stage, report.end.look) {
            (Stage::Final, _) => None,
            (Stage::Interim, look) => look.map(|look| look.number),
        };
        let read = report.end.look.and_then(|look| look.at).unwrap_or(0) as usize;
        let resolved = steps.iter().filter(|step| matches!(step, Step::Resolved(_))).count();
        if missing > 0 || resolved < read {
            return Err(format!(
                "the log lacks {missing} of the report's {} patients and {} of their outcomes: \
                 sums cannot be compared",
                report.end.assigned,
                read.saturating_sub(resolved)
            ));
        }
        let (blinded, scale) = (trial.kits.is_some(), f64::from(plan.scale()));
        let chart = outcomes(register, trial, rows);
        let (none, mut kinds) = (BTreeMap::new(), Vec::new());
        for row in &report.rows {
            let name = trial.feature_name(row.feature);
            let basis = row.basis.as_ref().ok_or_else(|| {
                format!(
                    "{name}: the report has no sums by arm: {} tells none",
                    plan.design().name()
                )
            })?;
            let told = told(basis);
            let own = chart.get(&row.feature).unwrap_or(&none);
            let row = Read { looks: basis.looks, windows: basis.windows, last };
            let courses = held(&plan, steps, own, row).map_err(|why| format!("{name}: {why}"))?;
            let truths = courses
                .into_iter()
                .map(|[both, one]| if blinded { shared_out(both, told) } else { [both, one] });
            let nearest = |a: &[Tally; 2], b: &[Tally; 2]| {
                distance(*a, told, scale).total_cmp(&distance(*b, told, scale))
            };
            let Some(truth) = truths.min_by(nearest) else { continue };
            kinds.push((name, Kind { truth, told, windows: basis.windows.into() }));
        }
        let list: Vec<Kind> = kinds.iter().map(|(_, kind)| *kind).collect();
        let verdict = compare(&plan, &list, !blinded)
            .ok_or_else(|| format!("{}: the report has no rows", site.name))?;
        let arms = (!blinded).then(|| trial.arms.clone());
        Ok(Self { kinds, arms, scale, verdict })
    }

    /// Whether chart and report agree within the noise.
    #[must_use]
    pub fn agrees(&self) -> bool {
        self.verdict.probability >= LEVEL
    }

    /// Kinds of patient with their sums.
    pub fn kinds(&self) -> impl Iterator<Item = &Kind> {
        self.kinds.iter().map(|(_, kind)| kind)
    }

    /// The comparison for a monitor.
    #[must_use]
    pub fn text(&self) -> String {
        let widest = self.kinds.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(4);
        let mut text = format!(
            "\nSums of the chart (outcomes that the device has read) and of the report (noisy):\n\
             {:<widest$}  arm   chart  mean   report  mean\n",
            "kind"
        );
        for (name, kind) in &self.kinds {
            let pairs = kind.truth.into_iter().zip(kind.told);
            let rows: Vec<(String, Tally, Told)> = if self.arms.is_some() {
                let arm = |(arm, (truth, told)): (usize, _)| (arm.to_string(), truth, told);
                pairs.enumerate().map(arm).collect()
            } else {
                vec![("both".to_owned(), both(kind.truth), both_told(kind.told))]
            };
            for (arm, truth, told) in rows {
                let mean = truth.total as f64 / self.scale / f64::from(truth.outcomes.max(1));
                let _ = writeln!(
                    text,
                    "{name:<widest$}  {arm:<4} {:>6}  {mean:.3}  {:>6}  {:.3}",
                    truth.outcomes, told.outcomes, told.mean
                );
            }
        }
        let probability = self.verdict.probability;
        let _ = if self.agrees() {
            writeln!(
                text,
                "Sums agree within the noise: so large a difference has probability {probability:.3}."
            )
        } else {
            writeln!(
                text,
                "SUMS DIFFER by more than the noise explains: {}. So large a difference has \
                 probability {probability:.4};\nof right charts 1 in 20 differs by chance.",
                self.place()
            )
        };
        text
    }

    /// Where sums differ most, in words.
    #[must_use]
    pub fn place(&self) -> String {
        let arm = |arm: usize| match &self.arms {
            Some(arms) => arms.get(arm).map_or_else(String::new, |name| format!(" of {name:?}")),
            None => String::new(),
        };
        match self.verdict.measure {
            Measure::Kinds => "single kinds of patient".to_owned(),
            Measure::Values(place) => format!("values of outcomes{}", arm(place)),
            Measure::Numbers(place) => format!("the number of outcomes{}", arm(place)),
        }
    }
}

fn both([mut zero, one]: [Tally; 2]) -> Tally {
    zero.join(one);
    zero
}

fn both_told([zero, one]: [Told; 2]) -> Told {
    let outcomes = zero.outcomes + one.outcomes;
    let sum = f64::from(zero.outcomes) * zero.mean + f64::from(one.outcomes) * one.mean;
    Told { outcomes, mean: sum / f64::from(outcomes.max(1)) }
}
