//! The answer for people: what was found, and the table of the three trials.

use std::fmt::Write;

use super::compare::{Column, Comparison, Yardstick};
use super::search::Effort;
use super::verdict::{advice, percent};
use super::{Candidate, Question, Target, fresh};
use crate::boundaries::Kind;
use crate::simulate::figures::{Reading, Unit};
use crate::simulate::{SimulateError, Summary};

/// The rows of the table: a name and what stands in a column.
pub type Row = (String, Box<dyn Fn(&Column) -> String>);

fn figure(share: impl Into<Reading>) -> String {
    Unit::Share.write(share)
}

fn number(value: Option<f64>) -> String {
    value.map_or("-".into(), |value| format!("{value:.4}"))
}

/// The rows that `plan` and the dossier show.
#[must_use]
pub fn rows(question: &Question, patients: u32, yardstick: Yardstick) -> Vec<Row> {
    fn row(name: impl Into<String>, cell: impl Fn(&Column) -> String + 'static) -> Row {
        (name.into(), Box::new(cell))
    }
    fn planned(name: impl Into<String>, cell: impl Fn(&Summary) -> String + 'static) -> Row {
        row(name, move |column| cell(&column.planned))
    }
    let equal = match yardstick {
        Yardstick::Power(power) => format!("patients for a power of {}", percent(power)),
        Yardstick::Width(width) => format!("patients for a width of {width:.3}"),
    };
    let overall = question.wish.target == Target::Overall;
    let mark = |own: bool| if own { " (wanted)" } else { "" };
    vec![
        row(equal, |c| {
            c.needed.as_ref().map_or("-".into(), |found| {
                let error = found.error.filter(|error| *error >= 0.5);
                let error = error.map_or(String::new(), |error| format!(" +- {error:.0}"));
                format!("{}{error}", found.choice.patients)
            })
        }),
        row("... of them on the worse arm", |c| {
            c.worse().map_or("-".into(), |worse| format!("{worse:.0}"))
        }),
        planned(format!("with {patients} patients: power{}", mark(!overall)), |s| {
            figure(s.excludes_0)
        }),
        planned("... width of the 95 % intervals", |s| number(s.width)),
        planned("... root mean squared error", |s| number(s.mse.map(|mse| mse.mean.sqrt()))),
        planned("... intervals that hold the effect", |s| figure(s.coverage)),
        planned("... that exclude 0 on the wrong side", |s| figure(s.wrong_side)),
        planned(format!("... power of the overall effect{}", mark(overall)), |s| {
            figure(s.overall_excludes_0)
        }),
        planned("... coverage of the overall effect", |s| figure(s.overall_coverage)),
        planned("... width of the overall effect", |s| number(s.overall_width)),
        planned("... patients on the better arm", |s| percent(1.0 - s.worse_share)),
        planned("... regret (outcomes lost)", |s| {
            format!("{:.1} +- {:.1}", s.regret.mean, s.regret.error)
        }),
        planned("... features that settle before half", |s| percent(s.dropped)),
        row("without an effect: excludes 0", |c| figure(c.null.excludes_0)),
        row("... in any feature", |c| figure(c.null.any_error)),
        row("... overall effect", |c| figure(c.null.overall_excludes_0)),
    ]
}

/// The plan that was found, in one line.
#[must_use]
pub fn headline(question: &Question, found: &Candidate) -> String {
    let choice = &found.choice;
    let searched = match (question.given.patients, question.given.effect) {
        (None, _) => format!("{} patients (+- {:.0})", choice.patients, found.error.unwrap_or(0.0)),
        (_, None) => format!(
            "{} patients, an effect of {:.4} (+- {:.4})",
            choice.patients,
            choice.effect,
            found.error.unwrap_or(0.0)
        ),
        _ => format!("{} patients", choice.patients),
    };
    format!("{}: {searched}, epsilon {}, alpha {}", choice.design, choice.epsilon, choice.alpha)
}

/// Meaning of power, coverage and width with a boundary.
#[must_use]
pub fn of_boundary(kind: Kind) -> String {
    format!(
        "Intervals are valid at all reports together ({}): one excludes 0 if it does at any report \
         or at the close, holds the effect if it does at all of them, and its width is that at the \
         close. The fixed trial without privacy has no report but the last.",
        kind.name()
    )
}

/// The command that simulates the figures again.
///
/// # Errors
/// A value out of its range.
pub fn reproduce(question: &Question, found: &Candidate) -> Result<String, SimulateError> {
    let scenario = question.scenario(&found.choice, Effort::Fine)?;
    let plan = &scenario.plan;
    let boundary =
        scenario.boundary.map_or(String::new(), |kind| format!(" --boundary {}", kind.name()));
    Ok(format!(
        "equipoise simulate --design {},uniform,fixed --features {} --patients {} --epsilon {} \
         --alpha {} --beta {} --scale {} --reports {}{boundary} --baseline {} --effect {} {} --runs {} \
         --seed {}",
        plan.design(),
        plan.features(),
        plan.patients(),
        plan.epsilon(),
        plan.alpha(),
        plan.beta(),
        plan.scale(),
        plan.reports(),
        question.baseline,
        found.choice.effect,
        scenario.world.options(),
        scenario.runs,
        fresh(scenario.seed),
    ))
}

/// The whole answer.
///
/// # Errors
/// A value out of its range.
pub fn describe(
    question: &Question,
    found: &Candidate,
    comparison: &Comparison,
) -> Result<String, SimulateError> {
    let mut text = headline(question, found) + "\n\n";
    let rows = rows(question, found.choice.patients, comparison.yardstick);
    let widest = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let _ = write!(text, "{:<widest$}", "");
    for column in &comparison.columns {
        let name = if column.name == "fixed" { "fixed, no privacy" } else { &column.name };
        let _ = write!(text, "  {name:>18}");
    }
    text.push('\n');
    for (name, cell) in &rows {
        let _ = write!(text, "{name:<widest$}");
        for column in &comparison.columns {
            let _ = write!(text, "  {:>18}", cell(column));
        }
        text.push('\n');
    }
    let _ = writeln!(text, "\n{}", advice(comparison));
    if let Some(kind) = question.base.boundary {
        let _ = writeln!(text, "\n{}", of_boundary(kind));
    }
    let _ = writeln!(
        text,
        "\n+- is one standard error; the figures come from {} fresh trials each. Again:\n{}",
        found.summary.runs,
        reproduce(question, found)?
    );
    Ok(text)
}
