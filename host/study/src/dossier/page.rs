//! The page as HTML.

use super::Dossier;
use super::html::{STYLE, command, facts, heading, list, paragraph};
use super::results::{characteristics, costs, curves, scenarios};
use super::summary;
use crate::boundaries::Kind;
use crate::chart::svg::escape;
use crate::planner::describe::{of_boundary, reproduce};
use crate::planner::search::Effort;
use crate::planner::unread::sentence;
use crate::planner::verdict::percent;
use crate::simulate::SimulateError;
use crate::simulate::world::KEYS;
use equipoise::plan::DesignName;

/// The page.
pub(super) fn write(dossier: &Dossier) -> Result<String, SimulateError> {
    let title = format!("{}: design and operating characteristics", dossier.words.title);
    let mut body = summary::write(dossier);
    body += &design(dossier);
    body += &plan(dossier)?;
    body += &characteristics(dossier);
    body += &scenarios(dossier);
    body += &curves(dossier);
    body += &costs(dossier);
    body += &privacy(dossier);
    body += &limits(dossier)?;
    body += &again(dossier)?;
    Ok(format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n{body}</body>\n</html>\n",
        escape(&title)
    ))
}

fn design(dossier: &Dossier) -> String {
    let [zero, one] = &dossier.words.arms;
    let features = dossier.question.base.plan.features();
    let mut text = heading("1. The design in plain words");
    text += &paragraph(&format!(
        "Patients are given to {zero} (arm 0) or {one} (arm 1) by a small device at the bedside, a {}. \
         It knows {features} kinds of patient. The outcome of a patient is the answer to: {} {}.",
        dossier.words.board, dossier.words.question, dossier.words.direction
    ));
    text += &paragraph(match dossier.found.proposal.design {
        DesignName::Uniform => {
            "Every patient gets an arm by a fair coin, to the end of the trial. The effect of each \
             kind of patient is measured from all outcomes."
        }
        _ => {
            "The trial begins with a fair coin for everyone. At planned looks in the first half, and \
             at half, the device turns the coin of each kind of patient towards the arm that leads, \
             as far as the evidence goes. Where the evidence is clear, and at half, the kind is \
             settled and its coin stays to the end. No arm is ever given up. The effect of each kind \
             of patient is measured from the outcomes of the whole trial, with a 95 % interval that \
             allows for the adaptation."
        }
    });
    text
}

fn plan(dossier: &Dossier) -> Result<String, SimulateError> {
    let scenario = dossier.question.scenario(&dossier.found.proposal, Effort::Fine)?;
    let (plan, world) = (&scenario.plan, &scenario.world);
    let mut text = heading("2. The plan and its assumptions");
    let mut rows = vec![
        ("design", plan.design().to_string()),
        ("patients", plan.patients().to_string()),
        ("kinds of patient (features)", plan.features().to_string()),
        (
            "outcome",
            format!("0 to {}{}", plan.scale(), if plan.scale() == 1 { " (no or yes)" } else { "" }),
        ),
        ("epsilon, the privacy loss of one patient", plan.epsilon().to_string()),
        ("alpha (0: best estimate, 1: fewest on the worse arm)", plan.alpha().to_string()),
        (
            "beta, the two-sided significance level at which a kind settles and keeps its coin",
            plan.beta().to_string(),
        ),
        ("planned reports before the last", plan.reports().to_string()),
        (
            "intervals valid at all reports together",
            scenario.boundary.map_or("no", Kind::name).to_owned(),
        ),
        ("assumed mean outcome under arm 0", dossier.question.baseline.to_string()),
        ("assumed effect (arm 1 minus arm 0)", format!("{:.4}", dossier.found.proposal.effect)),
    ];
    rows.extend(KEYS.iter().map(|key| (key.assumption, (key.words)(world, plan.scale()))));
    text += &facts(&rows);
    if let Some(kind) = scenario.boundary {
        text += &paragraph(&of_boundary(kind));
    }
    text += &paragraph(
        "The assumptions are the planner's, not findings. Section 4 shows what happens if they are \
         wrong.",
    );
    Ok(text)
}

fn privacy(dossier: &Dossier) -> String {
    let epsilon = dossier.found.proposal.epsilon.to_f64();
    let factor = epsilon.exp();
    let belief = summary::belief(epsilon);
    let mut text = heading("7. What is promised to a patient");
    text += &paragraph(
        "The outcome of a patient is entered into the device and never leaves it. What leaves it, the \
         arms of later patients and the report, is mixed with random noise, so that it would look \
         almost the same if this patient had had another outcome, had been of another kind, or had \
         not been recorded at all.",
    );
    text += &paragraph(&format!(
        "In numbers: whatever anybody sees of the trial, however much they know about everybody else, \
         the odds of any belief about this one patient's data change by a factor of at most {factor:.2} \
         (epsilon = {}). A reader who starts at 50 % for a good outcome of this patient can reach at \
         most {}.",
        dossier.found.proposal.epsilon,
        percent(belief)
    ));
    text + &paragraph(
        "The promise is kept by mathematics, not by trust in those who read the report; its proof is \
         part of the program. It covers one enrolment: a person who is enrolled twice has twice the \
         epsilon. It does not cover what the clinic itself writes down.",
    )
}

fn limits(dossier: &Dossier) -> Result<String, SimulateError> {
    let mut items = vec![
        "It does not stop the trial: a person decides on the report. \"Settled early\" is no finding."
            .to_owned(),
        "It does not tell a late outcome from a lost one: outcomes must be recorded after the same \
         follow-up for every patient, whatever they are. If good outcomes are recorded later than bad \
         ones, the intervals are wrong."
            .to_owned(),
        "It does not correct for losses that depend on the outcome and the arm.".to_owned(),
        match dossier.question.base.boundary {
            None => {
                "Each 95 % interval stands alone. For several reports choose a boundary; for several \
                 kinds of patient ask for simultaneous intervals."
            }
            Some(_) => {
                "Intervals are valid at all reports of one kind of patient together; for several \
                 kinds ask for simultaneous intervals."
            }
        }
        .to_owned(),
        "It cannot be opened to see raw outcomes: they are not kept in a form that could be audited \
         patient by patient. The clinic's own records remain the source."
            .to_owned(),
        "It is not a certified medical device, and no substitute for a statistician, an ethics board \
         or data monitors."
            .to_owned(),
    ];
    if dossier.found.proposal.design == DesignName::Interim {
        items.insert(
            1,
            "Adaptation makes late patients of a kind unlike early ones in their chances of an arm; a \
             drift of the effect itself over time is averaged, not shown."
                .to_owned(),
        );
    }
    let unread = dossier.question.unread(&dossier.found.proposal)?;
    items.extend(unread.map(sentence));
    Ok(heading("8. What the device cannot do") + &list(&items))
}

fn again(dossier: &Dossier) -> Result<String, SimulateError> {
    let mut text = heading("9. How to find every number again");
    text += &paragraph(&format!(
        "Version {} of equipoise; all results are the same to the last digit on any machine. This page:",
        env!("CARGO_PKG_VERSION")
    ));
    text += &command(&dossier.words.command);
    text += &paragraph(
        "Section 3, the figures at the planned number of patients (with --effect 0 for \"without an effect\"):",
    );
    text += &command(&reproduce(dossier.question, dossier.found, dossier.comparison)?);
    text += &paragraph(
        "Section 4, with the following file: equipoise simulate --scenarios GRID.toml --csv grid.csv",
    );
    text += &format!("<pre>{}</pre>\n", escape(&dossier.study.grid));
    text += &paragraph("The trial file for the device:");
    text += &format!("<pre>{}</pre>\n", escape(&dossier.words.trial_file));
    Ok(text)
}
