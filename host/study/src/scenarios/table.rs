//! The figures of a grid as tidy data: a row for each scenario, design and feature, and one for the
//! whole trial. CSV and JSON have the same names; what does not exist is empty or null.
//!
//! | column | meaning |
//! |---|---|
//! | `scenario`, `name`, `effects` | number of the scenario, its name, and which effect |
//! | `design` | who chooses the arms |
//! | `level`, `feature` | `feature` with its number, or `overall` |
//! | `features` to `boundary` | the plan, a column a key; ratios as decimals |
//! | `p0`, `p1`, `effect` | mean outcomes and true effect of the feature; means over features for `overall` |
//! | `arrivals` to `drift`, `runs`, `seed` | the world and the simulation |
//! | `n` | mean patients of the feature, or of the trial |
//! | the rest | as the columns of `simulate --csv`; `_se` is a standard error |

use super::Cell;
use crate::output::csv_field;
use crate::simulate::{Figure, Summary};

/// What stands in a row under a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Words.
    Text(String),
    /// A whole number.
    Whole(u64),
    /// A number.
    Number(f64),
    /// Nothing.
    None,
}

impl From<Option<f64>> for Value {
    fn from(value: Option<f64>) -> Self {
        value.map_or(Self::None, Self::Number)
    }
}

impl Value {
    fn csv(&self) -> String {
        match self {
            Self::Text(text) => csv_field(text),
            Self::Whole(number) => number.to_string(),
            Self::Number(number) => number.to_string(),
            Self::None => String::new(),
        }
    }

    fn json(&self) -> serde_json::Value {
        match self {
            Self::Text(text) => text.as_str().into(),
            Self::Whole(number) => (*number).into(),
            Self::Number(number) => (*number).into(),
            Self::None => serde_json::Value::Null,
        }
    }
}

/// A row: names and values, the same names in every row.
pub type Row = Vec<(&'static str, Value)>;

/// The part of a row that the features of a trial share.
fn setting(cell: &Cell) -> Row {
    let (scenario, plan) = (&cell.scenario, &cell.scenario.plan);
    let world = &scenario.world;
    let text = |text: &dyn ToString| Value::Text(text.to_string());
    let whole = |number: u32| Value::Whole(number.into());
    vec![
        ("scenario", Value::Whole(cell.number as u64)),
        ("name", text(&cell.name)),
        ("effects", text(&cell.effect.name())),
        ("design", text(&scenario.name())),
        ("features", whole(plan.features().into())),
        ("patients", whole(plan.patients())),
        ("scale", whole(plan.scale().into())),
        ("alpha", Value::Number(plan.alpha().to_f64())),
        ("epsilon", Value::Number(plan.epsilon().to_f64())),
        ("beta", Value::Number(plan.beta().to_f64())),
        ("reports", whole(plan.reports().into())),
        ("boundary", scenario.boundary.map_or(Value::None, |kind| text(&kind.name()))),
        ("arrivals", text(&world.arrivals)),
        ("delay_from", whole(world.delay.from)),
        ("delay_to", whole(world.delay.to)),
        ("lost0", Value::Number(world.lost.0[0])),
        ("lost1", Value::Number(world.lost.0[1])),
        ("drift", Value::Number(world.instance.drift)),
        ("runs", whole(scenario.runs)),
        ("seed", Value::Whole(scenario.seed)),
    ]
}

fn figure(row: &mut Row, [name, error]: [&'static str; 2], figure: Option<Figure>) {
    row.push((name, figure.map(|f| f.mean).into()));
    row.push((error, figure.map(|f| f.error).into()));
}

/// The rows of a scenario under a design: its features, then the whole trial.
#[must_use]
pub fn rows(cell: &Cell, summary: &Summary) -> Vec<Row> {
    let instance = &cell.scenario.world.instance;
    let mut all = Vec::new();
    for (j, f) in summary.features.iter().enumerate() {
        let mut row = setting(cell);
        row.push(("level", Value::Text("feature".into())));
        row.push(("feature", Value::Whole(j as u64)));
        row.push(("p0", instance.p0.get(j).copied().into()));
        row.push(("p1", instance.p1.get(j).copied().into()));
        row.push(("effect", Value::Number(f.effect)));
        row.push(("n", Value::Number(f.patients)));
        row.push(("worse_share", Value::Number(f.worse_share)));
        figure(&mut row, ["regret", "regret_se"], None);
        row.push(("estimates", Value::Number(f.estimates)));
        row.push(("mse", f.mse.into()));
        row.push(("bias", f.bias.into()));
        figure(&mut row, ["coverage", "coverage_se"], f.coverage);
        row.push(("width", f.width.into()));
        figure(&mut row, ["excludes_0", "excludes_0_se"], f.excludes_0);
        figure(&mut row, ["wrong_side", "wrong_side_se"], f.wrong_side);
        figure(&mut row, ["any_error", "any_error_se"], None);
        row.push(("settled", Value::Number(f.dropped)));
        row.push(("first_settled", Value::None));
        all.push(row);
    }
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let (p0, p1) = (mean(&instance.p0), mean(&instance.p1));
    let mut row = setting(cell);
    row.push(("level", Value::Text("overall".into())));
    row.push(("feature", Value::None));
    row.push(("p0", Value::Number(p0)));
    row.push(("p1", Value::Number(p1)));
    row.push(("effect", Value::Number(p1 - p0)));
    row.push(("n", Value::Number(cell.scenario.plan.patients().into())));
    row.push(("worse_share", Value::Number(summary.worse_share)));
    figure(&mut row, ["regret", "regret_se"], Some(summary.regret));
    row.push(("estimates", Value::Number(summary.estimates)));
    row.push(("mse", Value::None));
    row.push(("bias", Value::None));
    figure(&mut row, ["coverage", "coverage_se"], summary.overall_coverage);
    row.push(("width", summary.overall_width.into()));
    figure(&mut row, ["excludes_0", "excludes_0_se"], summary.overall_excludes_0);
    figure(&mut row, ["wrong_side", "wrong_side_se"], summary.overall_wrong_side);
    figure(&mut row, ["any_error", "any_error_se"], Some(summary.any_error));
    row.push(("settled", Value::Number(summary.dropped)));
    row.push(("first_settled", summary.first_drop.into()));
    all.push(row);
    all
}

/// The CSV form: a heading, then a line a row.
#[must_use]
pub fn csv(rows: &[Row]) -> String {
    let Some(first) = rows.first() else { return String::new() };
    let line = |cells: Vec<String>| cells.join(",") + "\n";
    let heading = line(first.iter().map(|(name, _)| (*name).to_owned()).collect());
    let lines = rows.iter().map(|row| line(row.iter().map(|(_, value)| value.csv()).collect()));
    core::iter::once(heading).chain(lines).collect()
}

/// The JSON form: a list of objects, one a line.
#[must_use]
pub fn json(rows: &[Row]) -> String {
    let object = |row: &Row| {
        let pairs = row.iter().map(|(name, value)| format!("\"{name}\":{}", value.json()));
        format!("{{{}}}", pairs.collect::<Vec<_>>().join(","))
    };
    format!("[\n{}\n]\n", rows.iter().map(object).collect::<Vec<_>>().join(",\n"))
}

/// The table for people: a line a scenario and design.
#[must_use]
pub fn table(rows: &[Row]) -> String {
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
    let cell = |row: &Row, column: &str| {
        let value = row.iter().find(|(name, _)| *name == column).map(|(_, value)| value);
        match value {
            Some(Value::Number(x)) if x.abs() >= 100.0 => format!("{x:.0}"),
            Some(Value::Number(x)) => format!("{x:.4}"),
            Some(value) => value.csv(),
            None => String::new(),
        }
    };
    let overall =
        |row: &&Row| row.iter().any(|(name, value)| *name == "feature" && *value == Value::None);
    let mut lines: Vec<Vec<String>> = vec![columns.map(String::from).to_vec()];
    lines.extend(rows.iter().filter(overall).map(|r| columns.map(|c| cell(r, c)).to_vec()));
    let widths: Vec<usize> = (0..columns.len())
        .map(|i| lines.iter().map(|line| line[i].chars().count()).max().unwrap_or(0))
        .collect();
    let line = |cells: &Vec<String>| {
        let cells = cells.iter().zip(&widths).map(|(cell, width)| format!("{cell:>width$}"));
        cells.collect::<Vec<_>>().join("  ") + "\n"
    };
    let intro =
        "The overall effect of every scenario and design; --csv and --json have every feature.\n\n";
    core::iter::once(intro.to_owned()).chain(lines.iter().map(line)).collect()
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
        // Over features: 0.4 and 0.4, so no effect overall.
        let planned = file.replacen("one-against", "planned", 1);
        let cells = crate::scenarios::parse("f", &planned).unwrap();
        let rows = super::rows(&cells[0], &run(&cells[0].scenario).unwrap());
        let effect = rows[2].iter().find(|(column, _)| *column == "effect");
        assert!(matches!(effect, Some((_, Value::Number(x))) if (x - 0.2).abs() < 1e-12));
    }
}
