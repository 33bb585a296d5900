//! The figures of a summary, described once: name, unit, words, and where the value comes from.
//!
//! [`FIGURES`] has a row for each figure. The columns of `simulate --csv`, the lines of its table
//! and the columns of `pareto` follow from it; every other table takes its formatting from
//! [`Unit`].

use super::{Figure, Summary};
use crate::output::Value;

/// A figure as it was found: a mean and its standard error, where they exist.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading {
    /// The mean; none if nothing was measured.
    pub mean: Option<f64>,
    /// Its standard error.
    pub error: Option<f64>,
}

impl Reading {
    /// Nothing was measured.
    pub const NONE: Self = Self { mean: None, error: None };
}

impl From<Option<f64>> for Reading {
    fn from(mean: Option<f64>) -> Self {
        Self { mean, error: None }
    }
}

impl From<f64> for Reading {
    fn from(mean: f64) -> Self {
        Some(mean).into()
    }
}

impl From<Option<Figure>> for Reading {
    fn from(figure: Option<Figure>) -> Self {
        Self { mean: figure.map(|f| f.mean), error: figure.map(|f| f.error) }
    }
}

impl From<Figure> for Reading {
    fn from(figure: Figure) -> Self {
        Some(figure).into()
    }
}

/// The unit of a figure, which says how it is written for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A share of features, intervals, runs or patients: in per cent.
    Share,
    /// A difference of mean outcomes (0 to 1).
    Effect,
    /// The square of such a difference.
    SquaredEffect,
    /// Outcomes of a trial.
    Outcomes,
    /// Patients.
    Patients,
    /// Outcomes times squared effect.
    Product,
}

impl Unit {
    /// A reading for people: `-` if there is none, `+-` before its standard error.
    #[must_use]
    pub fn write(self, reading: impl Into<Reading>) -> String {
        let Reading { mean, error } = reading.into();
        let Some(mean) = mean else { return "-".into() };
        match (self, error) {
            (Self::Share, None) => format!("{:.1} %", 100.0 * mean),
            (Self::Share, Some(error)) => {
                format!("{:.1} +- {:.1} %", 100.0 * mean, 100.0 * error)
            }
            (_, None) => short(mean),
            (_, Some(error)) => format!("{} +- {}", short(mean), short(error)),
        }
    }
}

/// A number with three significant digits or so.
fn short(value: f64) -> String {
    match value {
        0.0 => "0".into(),
        v if v.abs() >= 100.0 => format!("{v:.0}"),
        v if v.abs() >= 1.0 => format!("{v:.2}"),
        v if v.abs() >= 0.1 => format!("{v:.3}"),
        v if v.abs() >= 0.000_05 => format!("{v:.5}"),
        v => format!("{v:.1e}"),
    }
}

/// A figure of a summary.
pub struct Quantity {
    /// The column of its mean.
    pub name: &'static str,
    /// The column of its standard error, if it has one.
    pub error: Option<&'static str>,
    /// Its unit.
    pub unit: Unit,
    /// The words of its line in the table for people, if it has one.
    pub words: Option<&'static str>,
    /// Takes it from a summary.
    pub read: fn(&Summary) -> Reading,
}

impl Quantity {
    const fn new(name: &'static str, unit: Unit, read: fn(&Summary) -> Reading) -> Self {
        Self { name, error: None, unit, words: None, read }
    }

    /// The column of its standard error.
    const fn error(self, name: &'static str) -> Self {
        Self { error: Some(name), ..self }
    }

    /// The line in the table for people.
    const fn line(self, words: &'static str) -> Self {
        Self { words: Some(words), ..self }
    }

    /// The names of its columns.
    fn columns(&self) -> impl Iterator<Item = &'static str> {
        core::iter::once(self.name).chain(self.error)
    }
}

use Unit::{Effect, Outcomes, Patients, Product, Share, SquaredEffect};

/// All figures, in the order of the table for people.
pub const FIGURES: [Quantity; 22] = [
    Quantity::new("regret", Outcomes, |s| s.regret.into())
        .error("regret_se")
        .line("regret (outcomes lost)"),
    Quantity::new("worse_share", Share, |s| s.worse_share.into()).line("patients on the worse arm"),
    Quantity::new("mse", SquaredEffect, |s| s.mse.into())
        .error("mse_se")
        .line("MSE of the effect, mean"),
    Quantity::new("max_mse", SquaredEffect, |s| s.max_mse.into()).line("MSE, worst feature"),
    Quantity::new("bias", Effect, |s| s.bias.into()).line("bias (+: overstated)"),
    Quantity::new("max_bias", Effect, |s| s.max_bias.into()),
    Quantity::new("coverage", Share, |s| s.coverage.into())
        .error("coverage_se")
        .line("coverage of 95 % intervals"),
    Quantity::new("width", Effect, |s| s.width.into()).line("width of the intervals"),
    Quantity::new("estimates", Share, |s| s.estimates.into()).line("features with an estimate"),
    Quantity::new("excludes_0", Share, |s| s.excludes_0.into())
        .error("excludes_0_se")
        .line("intervals that exclude 0"),
    Quantity::new("wrong_side", Share, |s| s.wrong_side.into())
        .error("wrong_side_se")
        .line("... on the wrong side"),
    Quantity::new("any_error", Share, |s| s.any_error.into())
        .error("any_error_se")
        .line("trials with any such error"),
    Quantity::new("futile", Share, |s| s.futile.into())
        .error("futile_se")
        .line("futility boundary crossed"),
    Quantity::new("overall_excludes_0", Share, |s| s.overall_excludes_0.into())
        .error("overall_excludes_0_se")
        .line("overall effect (1): excludes 0"),
    Quantity::new("overall_coverage", Share, |s| s.overall_coverage.into())
        .error("overall_coverage_se")
        .line("... coverage"),
    Quantity::new("overall_width", Effect, |s| s.overall_width.into()).line("... width"),
    Quantity::new("dropped", Share, |s| s.dropped.into()).line("decided before half"),
    Quantity::new("wrong_drops", Share, |s| s.wrong_drops.into())
        .line("... against the better arm"),
    Quantity::new("runs_with_drop", Share, |s| s.runs_with_drop.into()),
    Quantity::new("first_drop", Patients, |s| s.first_drop.into())
        .line("patients to the first decision"),
    Quantity::new("f_min", Patients, |s| {
        s.features.iter().map(|feature| feature.patients).reduce(f64::min).into()
    })
    .line("patients of the rarest feature"),
    Quantity::new("product", Product, |s| s.product.into())
        .error("product_se")
        .line("regret * MSE / M"),
];

/// Columns of the CSV form that were published first; those of later figures follow in the order of
/// [`FIGURES`].
const FIRST: [&str; 30] = [
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

/// The columns of all figures in the CSV form.
pub fn columns() -> impl Iterator<Item = &'static str> {
    let later = FIGURES.iter().flat_map(Quantity::columns).filter(|name| !FIRST.contains(name));
    FIRST.into_iter().chain(later)
}

/// The value of a summary under a column of [`columns`]; none under any other.
#[must_use]
pub fn value(summary: &Summary, column: &str) -> Value {
    let Some(figure) = FIGURES.iter().find(|figure| figure.columns().any(|name| name == column))
    else {
        return Value::None;
    };
    let reading = (figure.read)(summary);
    if column == figure.name { reading.mean.into() } else { reading.error.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every column belongs to one figure, and every figure has its columns.
    #[test]
    fn columns_are_those_of_the_figures() {
        let mut columns: Vec<&str> = columns().collect();
        let mut named: Vec<&str> = FIGURES.iter().flat_map(Quantity::columns).collect();
        columns.sort_unstable();
        named.sort_unstable();
        assert_eq!(columns, named);
        columns.dedup();
        assert_eq!(columns.len(), named.len());
    }

    /// Numbers for people have about three digits, shares are in per cent.
    #[test]
    fn units_say_how_figures_are_written() {
        let of = |mean, error| Reading { mean: Some(mean), error };
        assert_eq!(Share.write(0.1234), "12.3 %");
        assert_eq!(Share.write(of(0.5, Some(0.01))), "50.0 +- 1.0 %");
        assert_eq!(Effect.write(0.0), "0");
        assert_eq!(Outcomes.write(of(3000.4, Some(1.25))), "3000 +- 1.25");
        assert_eq!(SquaredEffect.write(0.000_455), "0.00046");
        assert_eq!(Product.write(0.000_01), "1.0e-5");
        assert_eq!(Patients.write(Reading::NONE), "-");
    }
}
