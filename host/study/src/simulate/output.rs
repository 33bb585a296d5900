//! The figures of a simulation as a table and as CSV.
//!
//! CSV: one heading line, one line per design. Columns: design and plan, the world, runs and seed,
//! then the figures of [`FIGURES`], then what is needed to tell lines of several files apart: every
//! key of the plan by itself (ratios as decimals), the boundary (`none` if the design uses none)
//! and its planned effect, and the mean outcomes `p0` and `p1`, of all features together if they
//! are the same, else by blanks. A figure that does not exist (no estimate, no drop) is empty. New
//! columns are added at the end.

use std::fmt::Write;

use super::figures::{self, FIGURES, Reading, Unit};
use super::overall::overall_note;
use super::shards::{Outcome, Shard};
use super::world::{Cells, KEYS, Key};
use crate::output::Value;
use equipoise::plan::{Close, Plan};

/// The boundary of a table's row: a word, so that no reader takes it for a missing value.
#[must_use]
pub fn boundary(name: Option<&str>) -> Value {
    Value::Text(name.unwrap_or("none").into())
}

/// The keys of a plan but its design, a column each.
#[must_use]
pub fn plan_cells(plan: &Plan) -> Cells {
    let close = if plan.closes_by_itself() { Close::Auto } else { Close::Custodian };
    vec![
        ("features", Value::Whole(plan.features().into())),
        ("patients", Value::Whole(plan.patients().into())),
        ("scale", Value::Whole(plan.scale().into())),
        ("alpha", Value::Number(plan.alpha().to_f64())),
        ("epsilon", Value::Number(plan.epsilon().to_f64())),
        ("beta", Value::Number(plan.beta().to_f64())),
        ("reports", Value::Whole(plan.reports().into())),
        ("close", Value::Text(close.name().into())),
        ("kits", Value::Whole(plan.kits().into())),
        ("better", Value::Text(plan.better().name().into())),
        ("results", Value::Text(plan.results().name().into())),
    ]
}

/// The mean outcomes of an arm: one number if all features share it.
fn rates(rates: &[f64]) -> Value {
    match rates {
        [first, rest @ ..] if rest.iter().all(|rate| rate == first) => Value::Number(*first),
        all => Value::Text(all.iter().map(f64::to_string).collect::<Vec<_>>().join(" ")),
    }
}

/// Columns of the world that stand before the figures; those of later keys stand behind them.
const BEFORE: usize = 5;

/// The columns of a result, in order.
fn cells(outcome: &Outcome) -> Cells {
    let Outcome { setup, summary, .. } = outcome;
    // A setup holds the text of a plan that was run.
    let plan = setup.plan();
    let scale = plan.map_or(1, |plan| plan.scale());
    let mut world: Cells = KEYS.iter().flat_map(|key| (key.columns)(&setup.world, scale)).collect();
    let later = world.split_off(BEFORE.min(world.len()));
    let text = |text: &String| Value::Text(text.clone());
    let mut cells = vec![("design", text(&setup.design)), ("plan", text(&setup.plan))];
    cells.extend(world);
    cells.extend([("runs", Value::Whole(summary.runs)), ("seed", Value::Whole(setup.seed))]);
    cells.extend(figures::columns().map(|name| (name, figures::value(summary, name))));
    cells.extend(later);
    cells.extend(plan.iter().flat_map(plan_cells));
    cells.extend([
        ("boundary", boundary(setup.boundary.as_deref())),
        ("planned_effect", setup.planned_effect.into()),
        ("p0", rates(&setup.world.instance.p0)),
        ("p1", rates(&setup.world.instance.p1)),
    ]);
    cells
}

/// The CSV form.
#[must_use]
pub fn csv(shard: &Shard) -> String {
    let mut text = String::new();
    for outcome in &shard.results {
        let cells = cells(outcome);
        if text.is_empty() {
            text = cells.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(",") + "\n";
        }
        text += &cells.iter().map(|(_, value)| value.csv()).collect::<Vec<_>>().join(",");
        text.push('\n');
    }
    text
}

/// The table for people: a line a figure, a column a design.
#[must_use]
pub fn table(shard: &Shard) -> String {
    let mut text = String::new();
    let Some(Outcome { setup, summary, .. }) = shard.results.first() else { return text };
    let _ = writeln!(text, "{} runs, seed {}, {}", summary.runs, setup.seed, setup.plan);
    let key = |key: &Key| {
        let scale = setup.plan().map_or(1, |plan| plan.scale());
        let values =
            (key.columns)(&setup.world, scale).into_iter().map(|(_, value)| value.to_string());
        format!("{} {}", key.name, values.collect::<Vec<_>>().join(" / "))
    };
    let _ = writeln!(text, "{}\n", KEYS.iter().map(key).collect::<Vec<_>>().join(", "));
    let mut line = |name: &str, cell: &dyn Fn(&Outcome) -> String| {
        let _ = write!(text, "{name:<31}");
        for outcome in &shard.results {
            let _ = write!(text, " {:>22}", cell(outcome));
        }
        text.push('\n');
    };
    line("", &|outcome| outcome.setup.design.clone());
    for figure in &FIGURES {
        // Without a boundary there is no futility to speak of.
        let absent = |outcome: &Outcome| (figure.read)(&outcome.summary) == Reading::NONE;
        if figure.name == "futile" && shard.results.iter().all(absent) {
            continue;
        }
        if let Some(words) = figure.words {
            line(words, &|outcome| figure.unit.write((figure.read)(&outcome.summary)));
        }
    }
    let has_interim = |outcome: &Outcome| outcome.setup.design.starts_with("interim");
    let note = overall_note(shard.results.iter().any(has_interim));
    let _ = writeln!(text, "\n(1) {note}");
    text + &by_feature(shard)
}

/// Power of every feature: a line a feature, a column a design.
fn by_feature(shard: &Shard) -> String {
    let mut text = String::new();
    let features = shard.results.iter().map(|o| o.summary.features.len()).max().unwrap_or(0);
    if features < 2 {
        return text;
    }
    text += "\nintervals that exclude 0 (where there is an effect: on the wrong side)\n";
    for j in 0..features {
        let effect = shard.results.iter().find_map(|o| o.summary.features.get(j)).map(|f| f.effect);
        let effect = effect.unwrap_or(0.0);
        let _ = write!(text, "{:<31}", format!("feature {j}, effect {effect:+.3}"));
        for outcome in &shard.results {
            let feature = outcome.summary.features.get(j);
            let mut cell = Unit::Share.write(feature.and_then(|f| f.excludes_0));
            if effect != 0.0 {
                let wrong = feature.and_then(|f| f.wrong_side).map(|f| f.mean);
                cell += &format!(" ({})", Unit::Share.write(wrong));
            }
            let _ = write!(text, " {cell:>22}");
        }
        text.push('\n');
    }
    text
}
