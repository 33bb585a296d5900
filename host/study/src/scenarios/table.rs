//! The figures of a grid as tidy data: a row for each scenario, design and feature, and one for the
//! whole trial. CSV and JSON have the same names; what does not exist is empty or null. New columns
//! are added at the end.
//!
//! | column | meaning |
//! |---|---|
//! | `scenario`, `name`, `effects` | number of the scenario, its name, and which effect |
//! | `design` | who chooses the arms |
//! | `of`, `feature` | `feature` with its number, or `overall` |
//! | `features` to `boundary` | the plan, a column a key; ratios as decimals; the boundary is `none` where the design uses none |
//! | `p0`, `p1`, `effect` | mean outcomes and true effect of the feature; means over patients for `overall` |
//! | the options of the world, `runs`, `seed` | the world (a delay by its ends, losses by arm) and the simulation |
//! | `n` | mean patients of the feature, or of the trial |
//! | `close`, `planned_effect` | the last key of the plan, and the effect of the futility boundary, if there is one |
//! | the rest | as the columns of `simulate --csv`; `_se` is a standard error |

use super::Cell;
use crate::boundaries::Kind;
use crate::output::Value;
use crate::simulate::figures::Reading;
use crate::simulate::output::{boundary, plan_cells};
use crate::simulate::overall::{NOT_A_TEST, OVERALL};
use crate::simulate::world::KEYS;
use crate::simulate::{FeatureSummary, Summary};
use equipoise::plan::DesignName;

/// A row: names and values, the same names in every row.
pub type TidyRow = Vec<(&'static str, Value)>;

/// Columns of the world that stand before the figures; those of later keys stand behind them.
const BEFORE: usize = 6;

/// The columns of the world, before and behind the figures.
fn world(cell: &Cell) -> [TidyRow; 2] {
    let mut before: TidyRow = KEYS
        .iter()
        .flat_map(|key| (key.tidy)(&cell.scenario.world, cell.scenario.plan.scale()))
        .collect();
    let later = before.split_off(BEFORE.min(before.len()));
    [before, later]
}

/// The part of a row that the features of a trial share.
fn setting(cell: &Cell) -> TidyRow {
    let (scenario, plan) = (&cell.scenario, &cell.scenario.plan);
    let text = |text: &dyn ToString| Value::Text(text.to_string());
    let whole = |number: u32| Value::Whole(number.into());
    let mut row = vec![
        ("scenario", Value::Whole(cell.number as u64)),
        ("name", text(&cell.name)),
        ("effects", text(&cell.effect.name())),
        ("design", text(&scenario.name())),
    ];
    row.extend(plan_cells(plan).into_iter().filter(|(name, _)| !LATER.contains(name)));
    row.push(("boundary", boundary(scenario.used_boundary().map(Kind::name))));
    row.extend(world(cell)[0].clone());
    row.extend([("runs", whole(scenario.runs)), ("seed", Value::Whole(scenario.seed))]);
    row
}

/// Keys of the plan whose columns stand behind the figures; a grid has no kits.
const LATER: [&str; 2] = ["close", "kits"];

/// A figure of the table, for a feature and for the whole trial; a row of [`FIGURES`].
struct Column {
    name: &'static str,
    /// The column of its standard error, if it has one.
    error: Option<&'static str>,
    feature: fn(&FeatureSummary) -> Reading,
    overall: fn(&Summary) -> Reading,
}

impl Column {
    const fn new(
        name: &'static str,
        error: Option<&'static str>,
        feature: fn(&FeatureSummary) -> Reading,
        overall: fn(&Summary) -> Reading,
    ) -> Self {
        Self { name, error, feature, overall }
    }

    fn cells(&self, reading: Reading) -> impl Iterator<Item = (&'static str, Value)> {
        let error = self.error.map(|name| (name, reading.error.into()));
        core::iter::once((self.name, reading.mean.into())).chain(error)
    }
}

/// The figures of a row, in their order.
const FIGURES: [Column; 13] = [
    Column::new("worse_share", None, |f| f.worse_share.into(), |s| s.worse_share.into()),
    Column::new("regret", Some("regret_se"), |_| Reading::NONE, |s| s.regret.into()),
    Column::new("estimates", None, |f| f.estimates.into(), |s| s.estimates.into()),
    Column::new("mse", None, |f| f.mse.into(), |_| Reading::NONE),
    Column::new("bias", None, |f| f.bias.into(), |_| Reading::NONE),
    Column::new(
        "coverage",
        Some("coverage_se"),
        |f| f.coverage.into(),
        |s| s.overall_coverage.into(),
    ),
    Column::new("width", None, |f| f.width.into(), |s| s.overall_width.into()),
    Column::new(
        "excludes_0",
        Some("excludes_0_se"),
        |f| f.excludes_0.into(),
        |s| s.overall_excludes_0.into(),
    ),
    Column::new(
        "wrong_side",
        Some("wrong_side_se"),
        |f| f.wrong_side.into(),
        |s| s.overall_wrong_side.into(),
    ),
    Column::new("any_error", Some("any_error_se"), |_| Reading::NONE, |s| s.any_error.into()),
    Column::new("settled", None, |f| f.dropped.into(), |s| s.dropped.into()),
    Column::new("first_settled", None, |_| Reading::NONE, |s| s.first_drop.into()),
    Column::new("futile", None, |f| f.futile.into(), |s| s.futile.into()),
];

/// A level of a row: a feature or the whole trial, with its true rates and its mean patients.
struct Level {
    feature: Option<usize>,
    rates: [Option<f64>; 2],
    effect: f64,
    patients: f64,
}

fn row(cell: &Cell, level: &Level, reading: impl Fn(&Column) -> Reading) -> TidyRow {
    let name = if level.feature.is_some() { "feature" } else { "overall" };
    let mut row = setting(cell);
    row.extend([
        ("of", Value::Text(name.into())),
        ("feature", level.feature.map_or(Value::None, |j| Value::Whole(j as u64))),
        ("p0", level.rates[0].into()),
        ("p1", level.rates[1].into()),
        ("effect", Value::Number(level.effect)),
        ("n", Value::Number(level.patients)),
    ]);
    row.extend(FIGURES.iter().flat_map(|column| column.cells(reading(column))));
    row.extend(world(cell)[1].clone());
    row.extend(plan_cells(&cell.scenario.plan).into_iter().filter(|(name, _)| *name == LATER[0]));
    row.push(("planned_effect", cell.scenario.futility().into()));
    row
}

/// The rows of a scenario under a design: its features, then the whole trial.
#[must_use]
pub fn rows(cell: &Cell, summary: &Summary) -> Vec<TidyRow> {
    let instance = &cell.scenario.world.instance;
    let rates = [&instance.p0, &instance.p1];
    let of_feature = |(j, f): (usize, &FeatureSummary)| {
        let level = Level {
            feature: Some(j),
            rates: rates.map(|rates| rates.get(j).copied()),
            effect: f.effect,
            patients: f.patients,
        };
        row(cell, &level, |column| (column.feature)(f))
    };
    let all: f64 = summary.features.iter().map(|feature| feature.patients).sum();
    let mean = |values: &Vec<f64>| {
        let each = values.iter().zip(&summary.features);
        each.map(|(value, feature)| value * feature.patients).sum::<f64>() / all
    };
    let [p0, p1] = rates.map(mean);
    let whole = Level {
        feature: None,
        rates: [Some(p0), Some(p1)],
        effect: p1 - p0,
        patients: cell.scenario.plan.patients().into(),
    };
    let features = summary.features.iter().enumerate().map(of_feature);
    let overall = row(cell, &whole, |column| (column.overall)(summary));
    features.chain([overall]).collect()
}

/// The CSV form: a heading, then a line a row.
#[must_use]
pub fn csv(rows: &[TidyRow]) -> String {
    let Some(first) = rows.first() else { return String::new() };
    let line = |cells: Vec<String>| cells.join(",") + "\n";
    let heading = line(first.iter().map(|(name, _)| (*name).to_owned()).collect());
    let lines = rows.iter().map(|row| line(row.iter().map(|(_, value)| value.csv()).collect()));
    core::iter::once(heading).chain(lines).collect()
}

/// The JSON form: a list of objects, one a line.
#[must_use]
pub fn json(rows: &[TidyRow]) -> String {
    let object = |row: &TidyRow| {
        let pairs = row.iter().map(|(name, value)| format!("\"{name}\":{}", value.json()));
        format!("{{{}}}", pairs.collect::<Vec<_>>().join(","))
    };
    format!("[\n{}\n]\n", rows.iter().map(object).collect::<Vec<_>>().join(",\n"))
}

/// The table for people: a line a scenario and design.
#[must_use]
pub fn table(rows: &[TidyRow]) -> String {
    let columns = [
        "scenario",
        "name",
        "effects",
        "design",
        "patients",
        "width",
        "excludes_0",
        "coverage",
        "wrong_side",
        "any_error",
        "worse_share",
        "regret",
    ];
    let cell = |row: &TidyRow, column: &str| {
        let value = row.iter().find(|(name, _)| *name == column).map(|(_, value)| value);
        match value {
            Some(Value::Number(x)) if x.abs() >= 100.0 => format!("{x:.0}"),
            Some(Value::Number(x)) => format!("{x:.4}"),
            Some(value) => value.csv(),
            None => String::new(),
        }
    };
    let overall = |row: &&TidyRow| {
        row.iter().any(|(name, value)| *name == "feature" && *value == Value::None)
    };
    let mut lines: Vec<Vec<String>> = vec![columns.map(String::from).to_vec()];
    lines.extend(rows.iter().filter(overall).map(|r| columns.map(|c| cell(r, c)).to_vec()));
    let widths: Vec<usize> = (0..columns.len())
        .map(|i| lines.iter().map(|line| line[i].chars().count()).max().unwrap_or(0))
        .collect();
    let line = |cells: &Vec<String>| {
        let cells = cells.iter().zip(&widths).map(|(cell, width)| format!("{cell:>width$}"));
        cells.collect::<Vec<_>>().join("  ") + "\n"
    };
    let is_interim = |(name, value): &(&str, Value)| {
        *name == "design" && *value == Value::Text(DesignName::Interim.name().into())
    };
    let has_interim = rows.iter().flatten().any(is_interim);
    let warning = if has_interim { format!("{NOT_A_TEST}\n") } else { String::new() };
    let intro = format!(
        "The overall effect of every scenario and design, {OVERALL};\n--csv and --json have every \
         feature.\n{warning}\n"
    );
    core::iter::once(intro).chain(lines.iter().map(line)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::run;

    /// Columns hold what they are called, for a feature and for the trial.
    #[test]
    fn columns_hold_what_they_say() {
        let file = "effects = [\"one-against\"]\ndesigns = [\"uniform\"]\nruns = 40\n[plan]\n\
                    features = 2\npatients = 200\nepsilon = 1\nalpha = 1\nbeta = \"1/10\"\n\
                    [world]\nbaseline = 0.4\neffect = 0.2\ndelay = \"3..9\"\nlost = \"0,0.25\"\n";
        let cells = crate::scenarios::parse("f", file).unwrap();
        let summary = run(&cells[0].scenario).unwrap();
        let rows = rows(&cells[0], &summary);
        let of = |row: usize, name: &str| {
            let found = rows[row].iter().find(|(column, _)| *column == name);
            found.map(|(_, value)| value.clone()).unwrap()
        };
        let number = |row, name| match of(row, name) {
            Value::Number(number) => number,
            Value::Whole(number) => number as f64,
            other => panic!("{name} {other:?}"),
        };
        assert_eq!(rows.len(), 3);
        for (name, value) in [
            ("delay_from", 3.0),
            ("delay_to", 9.0),
            ("lost0", 0.0),
            ("lost1", 0.25),
            ("alpha", 1.0),
            ("beta", 0.1),
            ("patients", 200.0),
        ] {
            assert_eq!(number(2, name), value, "{name}");
        }
        assert_eq!((number(0, "p0"), number(0, "p1")), (0.4, 0.2));
        assert!((number(0, "effect") + 0.2).abs() < 1e-12);
        assert!((number(1, "effect") - 0.2).abs() < 1e-12);
        let f = &summary.features[1];
        assert_eq!(number(1, "excludes_0"), f.excludes_0.unwrap().mean);
        assert_eq!(number(1, "n"), f.patients);
        assert_eq!(number(2, "excludes_0"), summary.overall_excludes_0.unwrap().mean);
        assert_eq!(number(2, "coverage"), summary.overall_coverage.unwrap().mean);
        assert_eq!(of(0, "regret"), Value::None);
        let planned = file.replacen("one-against", "planned", 1);
        let cells = crate::scenarios::parse("f", &planned).unwrap();
        let rows = super::rows(&cells[0], &run(&cells[0].scenario).unwrap());
        let effect = rows[2].iter().find(|(column, _)| *column == "effect");
        assert!(matches!(effect, Some((_, Value::Number(x))) if (x - 0.2).abs() < 1e-12));
    }
}
