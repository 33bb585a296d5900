//! The runs of a simulation one by one: `simulate --runs-csv`.
//!
//! A row for each run and feature, so that conditional questions can be asked: coverage given the
//! look at which a feature settled, errors given the patients of an arm.
//!
//! | column | meaning |
//! |---|---|
//! | `design`, the keys of the plan, `seed` | as in `simulate --csv` |
//! | `run`, `feature` | numbers from 0; run i depends on the seed and i alone |
//! | `p0`, `p1`, `effect` | mean outcomes of the feature, and their difference |
//! | `patients0`, `patients1` | patients of the feature on each arm |
//! | `estimate`, `standard_error`, `low`, `high`, `outcomes` | as in a report (95 %, or with a boundary the last repeated interval); empty without an estimate |
//! | `settled_at` | count of resolved patients at the look at which the feature settled; empty if it did not |
//! | `coins` | coins that its patients were assigned by; empty for designs that have one alone |
//! | `dropped` | the arm that was dropped, or the trailing arm of a feature that settled before half |
//!
//! Simulated patients have no secrets: no real patient is in a row.

use std::io::{self, Write};

use rayon::prelude::*;

use super::harness::Stage;
use super::output::plan_cells;
use super::statistics::{Critical, FeatureRun, Run};
use super::{Scenario, SimulateError, Sums};
use crate::output::Value;

/// Runs that are played before their rows are written.
const BLOCK: u32 = 1024;

type Cells = Vec<(&'static str, Value)>;

/// The row of a feature in a run.
fn row(scenario: &Scenario, run: &Run, number: u32, j: usize, feature: &FeatureRun) -> Cells {
    let rate = |rates: &[f64]| rates.get(j).copied().unwrap_or(0.0);
    let instance = &scenario.world.instance;
    let (p0, p1) = (rate(&instance.p0), rate(&instance.p1));
    let [zero, one] = feature.patients;
    let estimate = feature.estimate;
    let ends = estimate.map(|estimate| estimate.interval(run.critical.of(j)));
    let whole = |value: Option<u32>| value.map_or(Value::None, |value| Value::Whole(value.into()));
    let mut cells = vec![("design", Value::Text(scenario.name()))];
    cells.extend(plan_cells(&scenario.plan));
    cells.extend([
        ("seed", Value::Whole(scenario.seed)),
        ("run", Value::Whole(number.into())),
        ("feature", Value::Whole(j as u64)),
        ("p0", Value::Number(p0)),
        ("p1", Value::Number(p1)),
        ("effect", Value::Number(p1 - p0)),
        ("patients0", Value::Whole(zero.into())),
        ("patients1", Value::Whole(one.into())),
        ("estimate", estimate.map(|estimate| estimate.effect).into()),
        ("standard_error", estimate.map(|estimate| estimate.deviation).into()),
        ("low", ends.map(|(low, _)| low).into()),
        ("high", ends.map(|(_, high)| high).into()),
        ("outcomes", estimate.map(|estimate| estimate.patients).into()),
        ("settled_at", whole(feature.settled_at)),
        ("coins", whole(feature.coins)),
        ("dropped", whole(feature.dropped.map(|arm| arm.index() as u32))),
    ]);
    cells
}

fn line<'a>(cells: impl Iterator<Item = &'a str>) -> String {
    cells.collect::<Vec<_>>().join(",") + "\n"
}

/// The rows of some runs, a line each.
fn rows(scenario: &Scenario, first: u32, runs: &[Run]) -> String {
    let mut text = String::new();
    for (number, run) in (first..).zip(runs) {
        for (j, feature) in run.features.iter().enumerate() {
            let cells: Vec<String> = row(scenario, run, number, j, feature)
                .iter()
                .map(|(_, value)| value.csv())
                .collect();
            text += &line(cells.iter().map(String::as_str));
        }
    }
    text
}

/// The heading line.
#[must_use]
pub fn heading(scenario: &Scenario) -> String {
    let none = Run {
        features: Vec::new(),
        first_drop: None,
        reports: Vec::new(),
        planned: None,
        critical: Critical::default(),
    };
    let cells = row(scenario, &none, 0, 0, &FeatureRun::default());
    line(cells.iter().map(|(name, _)| *name))
}

/// Plays some runs as [`super::sums`] does, and writes their rows.
///
/// # Errors
/// A value out of its range, before anything has been run; rows that cannot be written.
pub fn sums_and_rows(
    scenario: &Scenario,
    runs: std::ops::Range<u32>,
    tick: &(dyn Fn() + Sync),
    out: &mut (dyn Write + Send),
) -> Result<Sums, SimulateError> {
    scenario.check()?;
    let failed = |error: io::Error| SimulateError::File("--runs-csv".into(), error.to_string());
    let stage = Stage::new(scenario);
    let mut sums = Sums::of(scenario);
    for first in runs.clone().step_by(BLOCK as usize) {
        let block = first..runs.end.min(first.saturating_add(BLOCK));
        let played: Vec<Run> = block
            .into_par_iter()
            .map(|run| {
                let played = stage.play(run);
                tick();
                played
            })
            .collect();
        played.iter().for_each(|run| sums.add(run));
        out.write_all(rows(scenario, first, &played).as_bytes()).map_err(failed)?;
    }
    Ok(sums)
}
