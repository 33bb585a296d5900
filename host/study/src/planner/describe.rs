//! The answer for people: what was found, and the table of the three trials.

use std::fmt::Write;

use super::answer::Answer;
use super::compare::{Column, Comparison, Yardstick};
use super::search::Effort;
use super::unread;
use super::verdict::{advice, percent};
use super::{Candidate, Question, Target, fresh};
use crate::boundaries::Kind;
use crate::simulate::figures::{Reading, Unit};
use crate::simulate::overall::{NOT_A_TEST, overall_note};
use crate::simulate::world::KEYS;
use crate::simulate::{SimulateError, Summary};
use equipoise::plan::DesignName;

/// The rows of the table: a name and what stands in a column.
pub type ComparisonRow = (String, Box<dyn Fn(&Column) -> String>);

fn figure(share: impl Into<Reading>) -> String {
    Unit::Share.write(share)
}

fn number(value: Option<f64>) -> String {
    value.map_or("-".into(), |value| format!("{value:.4}"))
}

/// The rows that `plan` and the dossier show.
#[must_use]
pub fn rows(question: &Question, patients: u32, yardstick: Yardstick) -> Vec<ComparisonRow> {
    fn row(name: impl Into<String>, cell: impl Fn(&Column) -> String + 'static) -> ComparisonRow {
        (name.into(), Box::new(cell))
    }
    fn planned(
        name: impl Into<String>,
        cell: impl Fn(&Summary) -> String + 'static,
    ) -> ComparisonRow {
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
                format!("{}{error}", found.proposal.patients)
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
        planned(format!("... power of the overall effect (1){}", mark(overall)), |s| {
            figure(s.overall_excludes_0)
        }),
        planned("... coverage of the overall effect (1)", |s| figure(s.overall_coverage)),
        planned("... width of the overall effect (1)", |s| number(s.overall_width)),
        planned("... patients on the better arm", |s| percent(1.0 - s.worse_share)),
        planned("... regret (outcomes lost)", |s| {
            format!("{:.1} +- {:.1}", s.regret.mean, s.regret.error)
        }),
        planned("... features that settle before half", |s| percent(s.dropped)),
        row("without an effect: excludes 0", |c| figure(c.null.excludes_0)),
        row("... in any feature", |c| figure(c.null.any_error)),
        row("... overall effect (1)", |c| figure(c.null.overall_excludes_0)),
    ]
}

/// The plan that was found, in one line.
#[must_use]
pub fn headline(question: &Question, found: &Candidate) -> String {
    let proposal = &found.proposal;
    let searched = match (question.given.patients, question.given.effect) {
        (None, _) => {
            format!("{} patients (+- {:.0})", proposal.patients, found.error.unwrap_or(0.0))
        }
        (_, None) => format!(
            "{} patients, an effect of {:.4} (+- {:.4})",
            proposal.patients,
            proposal.effect,
            found.error.unwrap_or(0.0)
        ),
        _ => format!("{} patients", proposal.patients),
    };
    let alpha = match proposal.design {
        DesignName::Uniform => String::new(),
        _ => format!(", alpha {}", proposal.alpha),
    };
    format!("{}: {searched}, epsilon {}{alpha}", proposal.design, proposal.epsilon)
}

/// Whether a comparison shows an adaptive trial.
#[must_use]
pub fn has_interim(comparison: &Comparison) -> bool {
    comparison.column(DesignName::Interim).is_some()
}

/// The warning where the wanted power is that of the overall effect of an adaptive trial.
#[must_use]
pub fn untested(question: &Question, found: &Candidate) -> Option<&'static str> {
    let is_overall = question.wish.target == Target::Overall;
    (is_overall && found.proposal.design == DesignName::Interim).then_some(NOT_A_TEST)
}

/// The assumed spread of graded outcomes, in words; none for yes/no outcomes.
#[must_use]
pub fn spread(question: &Question) -> Option<String> {
    let (scale, world) = (question.base.plan.scale(), &question.base.world);
    let key = KEYS.iter().find(|key| key.name == "sd").filter(|_| scale > 1)?;
    let words = (key.words)(world, scale);
    Some(format!(
        "Assumed standard deviation of an outcome over its scale, arm 0 and arm 1: {words}."
    ))
}

/// The adaptive trial with other values of alpha and epsilon: a heading and a line each, or
/// nothing.
#[must_use]
pub fn alternatives(question: &Question, answer: &Answer) -> Vec<[String; 6]> {
    let adaptive = answer.comparison.column(DesignName::Interim);
    let chosen = match answer.found.proposal.design {
        DesignName::Interim => Some(&answer.found),
        _ => adaptive.and_then(|column| column.needed.as_ref()),
    };
    let Some(chosen) = chosen.filter(|_| !answer.alternatives.is_empty()) else {
        return Vec::new();
    };
    let line = |candidate: &Candidate| {
        let Candidate { proposal, summary, .. } = candidate;
        let worse = summary.worse_share * f64::from(proposal.patients);
        let power = question.wish.power_of(summary).map(|power| power.mean);
        [
            proposal.alpha.to_string(),
            proposal.epsilon.to_string(),
            proposal.patients.to_string(),
            format!("{worse:.0}"),
            Unit::Share.write(power),
            format!("{:.4}", question.wish.width_of(summary)),
        ]
    };
    let heading =
        ["alpha", "epsilon", "patients", "on the worse arm", "power", "width"].map(String::from);
    let mut lines: Vec<&Candidate> = answer.alternatives.iter().chain([chosen]).collect();
    lines.sort_by(|a, b| {
        let key = |c: &Candidate| (c.proposal.epsilon.to_f64(), c.proposal.alpha.to_f64());
        key(a).partial_cmp(&key(b)).unwrap_or(core::cmp::Ordering::Equal)
    });
    core::iter::once(heading).chain(lines.into_iter().map(line)).collect()
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
pub fn reproduce(
    question: &Question,
    found: &Candidate,
    comparison: &Comparison,
) -> Result<String, SimulateError> {
    let scenario = question.scenario(&found.proposal, Effort::Fine)?;
    let plan = &scenario.plan;
    let boundary =
        scenario.boundary.map_or(String::new(), |kind| format!(" --boundary {}", kind.name()));
    let designs: Vec<&str> = comparison.columns.iter().map(|column| &*column.name).collect();
    let designs = designs.join(",");
    Ok(format!(
        "equipoise simulate --design {designs} --features {} --patients {} --epsilon {} \
         --alpha {} --beta {} --scale {} --reports {}{boundary} --baseline {} --effect {} {} --runs {} \
         --seed {}",
        plan.features(),
        plan.patients(),
        plan.epsilon(),
        plan.alpha(),
        plan.beta(),
        plan.scale(),
        plan.reports(),
        question.baseline,
        found.proposal.effect,
        scenario.world.options(),
        scenario.runs,
        fresh(scenario.seed),
    ))
}

/// The whole answer.
///
/// # Errors
/// A value out of its range.
pub fn describe(question: &Question, answer: &Answer) -> Result<String, SimulateError> {
    let Answer { found, comparison, .. } = answer;
    let mut text = headline(question, found) + "\n\n";
    if let Some(warning) = untested(question, found) {
        let _ = writeln!(text, "{warning}\n");
    }
    let rows = rows(question, found.proposal.patients, comparison.yardstick);
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
    let _ = writeln!(text, "\n(1) {}", overall_note(has_interim(comparison)));
    if let Some(spread) = spread(question) {
        let _ = writeln!(text, "{spread}");
    }
    let lines = alternatives(question, answer);
    if !lines.is_empty() {
        let _ = writeln!(
            text,
            "\nThe adaptive trial with other values (epsilon is the ethics board's choice):"
        );
    }
    for [alpha, epsilon, patients, worse, power, width] in lines {
        let _ = writeln!(
            text,
            "{alpha:>8} {epsilon:>9} {patients:>10} {worse:>18} {power:>9} {width:>9}"
        );
    }
    if let Some(kind) = question.base.boundary {
        let _ = writeln!(text, "\n{}", of_boundary(kind));
    }
    if let Some(share) = question.unread(&found.proposal)? {
        let _ = writeln!(text, "\n{}", unread::sentence(share));
    }
    let _ = writeln!(
        text,
        "\n+- is one standard error; the figures come from {} fresh trials each. Again:\n{}",
        found.summary.runs,
        reproduce(question, found, comparison)?
    );
    Ok(text)
}
