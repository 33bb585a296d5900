//! The figures of a simulation as a table and as CSV.
//!
//! CSV: one heading line, one line per design, columns in the order of [`COLUMNS`]. A figure that
//! does not exist (no estimate, no drop) is empty. New columns are added at the end.

use std::fmt::Write;

use super::Figure;
use super::shards::{Outcome, Shard};
use crate::output::csv_field;

/// The columns of the CSV form.
pub const COLUMNS: [&str; 39] = [
    "design",
    "plan",
    "arrivals",
    "delay",
    "lost0",
    "lost1",
    "drift",
    "runs",
    "seed",
    "regret",
    "regret_se",
    "worse_share",
    "estimates",
    "mse",
    "mse_se",
    "max_mse",
    "bias",
    "max_bias",
    "coverage",
    "width",
    "dropped",
    "wrong_drops",
    "runs_with_drop",
    "first_drop",
    "product",
    "product_se",
    "f_min",
    "coverage_se",
    "excludes_0",
    "excludes_0_se",
    "wrong_side",
    "any_error",
    "overall_excludes_0",
    "overall_excludes_0_se",
    "overall_coverage",
    "overall_width",
    "wrong_side_se",
    "any_error_se",
    "overall_coverage_se",
];

/// Mean patients of the rarest feature.
fn rarest(outcome: &Outcome) -> f64 {
    let least = outcome.sums.features.iter().map(|feature| feature.patients).min();
    least.unwrap_or(0) as f64 / outcome.summary.runs as f64
}

/// The CSV form.
#[must_use]
pub fn csv(shard: &Shard) -> String {
    let mut text = COLUMNS.join(",") + "\n";
    for outcome in &shard.results {
        let (setup, s) = (&outcome.setup, &outcome.summary);
        let some = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
        let cells = [
            csv_field(&setup.design),
            csv_field(&setup.plan),
            csv_field(&setup.arrivals),
            csv_field(&setup.delay),
            setup.lost[0].to_string(),
            setup.lost[1].to_string(),
            setup.drift.to_string(),
            s.runs.to_string(),
            setup.seed.to_string(),
            s.regret.mean.to_string(),
            s.regret.error.to_string(),
            s.worse_share.to_string(),
            s.estimates.to_string(),
            some(s.mse.map(|f| f.mean)),
            some(s.mse.map(|f| f.error)),
            some(s.max_mse),
            some(s.bias),
            some(s.max_bias),
            some(s.coverage.map(|f| f.mean)),
            some(s.width),
            s.dropped.to_string(),
            s.wrong_drops.to_string(),
            s.runs_with_drop.to_string(),
            some(s.first_drop),
            some(s.product.map(|f| f.mean)),
            some(s.product.map(|f| f.error)),
            rarest(outcome).to_string(),
            some(s.coverage.map(|f| f.error)),
            some(s.excludes_0.map(|f| f.mean)),
            some(s.excludes_0.map(|f| f.error)),
            some(s.wrong_side.map(|f| f.mean)),
            s.any_error.mean.to_string(),
            some(s.overall_excludes_0.map(|f| f.mean)),
            some(s.overall_excludes_0.map(|f| f.error)),
            some(s.overall_coverage.map(|f| f.mean)),
            some(s.overall_width),
            some(s.wrong_side.map(|f| f.error)),
            s.any_error.error.to_string(),
            some(s.overall_coverage.map(|f| f.error)),
        ];
        text += &cells.join(",");
        text.push('\n');
    }
    text
}

/// A number with three significant digits or so, `-` if there is none.
fn short(value: Option<f64>) -> String {
    match value {
        None => "-".into(),
        Some(0.0) => "0".into(),
        Some(v) if v.abs() >= 100.0 => format!("{v:.0}"),
        Some(v) if v.abs() >= 1.0 => format!("{v:.2}"),
        Some(v) if v.abs() >= 0.1 => format!("{v:.3}"),
        Some(v) if v.abs() >= 0.000_05 => format!("{v:.5}"),
        Some(v) => format!("{v:.1e}"),
    }
}

fn percent(share: Option<f64>) -> String {
    share.map_or("-".into(), |share| format!("{:.1} %", 100.0 * share))
}

fn percents(share: Option<Figure>) -> String {
    share.map_or("-".into(), |share| {
        format!("{:.1} +- {:.1} %", 100.0 * share.mean, 100.0 * share.error)
    })
}

/// The table for people: a line a figure, a column a design.
#[must_use]
pub fn table(shard: &Shard) -> String {
    let mut text = String::new();
    let Some(Outcome { setup, summary, .. }) = shard.results.first() else { return text };
    let _ = writeln!(text, "{} runs, seed {}, {}", summary.runs, setup.seed, setup.plan);
    let _ = writeln!(
        text,
        "arrivals {}, delay {}, lost {} / {}, drift {}\n",
        setup.arrivals, setup.delay, setup.lost[0], setup.lost[1], setup.drift
    );
    let with = |mean: String, error: Option<f64>| match error {
        Some(error) if mean != "-" => format!("{mean} +- {}", short(Some(error))),
        _ => mean,
    };
    type Cell<'a> = Box<dyn Fn(&Outcome) -> String + 'a>;
    let rows: Vec<(&str, Cell)> = vec![
        ("", Box::new(|o| o.setup.design.clone())),
        (
            "regret (outcomes lost)",
            Box::new(|o| with(short(Some(o.summary.regret.mean)), Some(o.summary.regret.error))),
        ),
        ("patients on the worse arm", Box::new(|o| percent(Some(o.summary.worse_share)))),
        (
            "MSE of the effect, mean",
            Box::new(|o| {
                with(short(o.summary.mse.map(|f| f.mean)), o.summary.mse.map(|f| f.error))
            }),
        ),
        ("MSE, worst feature", Box::new(|o| short(o.summary.max_mse))),
        ("bias (+: overstated)", Box::new(|o| short(o.summary.bias))),
        ("coverage of 95 % intervals", Box::new(|o| percents(o.summary.coverage))),
        ("width of the intervals", Box::new(|o| short(o.summary.width))),
        ("features with an estimate", Box::new(|o| percent(Some(o.summary.estimates)))),
        ("intervals that exclude 0", Box::new(|o| percents(o.summary.excludes_0))),
        ("... on the wrong side", Box::new(|o| percents(o.summary.wrong_side))),
        ("trials with any such error", Box::new(|o| percents(Some(o.summary.any_error)))),
        ("overall effect: excludes 0", Box::new(|o| percents(o.summary.overall_excludes_0))),
        ("... coverage", Box::new(|o| percents(o.summary.overall_coverage))),
        ("... width", Box::new(|o| short(o.summary.overall_width))),
        ("decided before half", Box::new(|o| percent(Some(o.summary.dropped)))),
        ("... against the better arm", Box::new(|o| percent(Some(o.summary.wrong_drops)))),
        ("patients to the first decision", Box::new(|o| short(o.summary.first_drop))),
        ("patients of the rarest feature", Box::new(|o| short(Some(rarest(o))))),
        (
            "regret * MSE / M",
            Box::new(|o| {
                with(short(o.summary.product.map(|f| f.mean)), o.summary.product.map(|f| f.error))
            }),
        ),
    ];
    for (name, cell) in rows {
        let _ = write!(text, "{name:<31}");
        for outcome in &shard.results {
            let _ = write!(text, " {:>22}", cell(outcome));
        }
        text.push('\n');
    }
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
            let mut cell = percents(feature.and_then(|f| f.excludes_0));
            if effect != 0.0 {
                let wrong = feature.and_then(|f| f.wrong_side).map(|f| f.mean);
                cell += &format!(" ({})", percent(wrong));
            }
            let _ = write!(text, " {cell:>22}");
        }
        text.push('\n');
    }
    text
}
