//! Verdict on a plan: whether it is refused, and whether adaptation pays.
//!
//! * A plan is refused if the mean interval is wider than twice the effect: an interval around the
//!   planned effect then holds 0, and the trial is more likely to miss it than to see it.
//! * Adaptation pays if it spares patients: the adaptive trial has fewer patients on the worse arm
//!   than the private fixed trial that reaches the same power (or, where none is wanted, the same
//!   width). Otherwise, and where hardly more patients than with fair coins get the better arm, the
//!   advice is a fixed trial.

use super::compare::{Comparison, Yardstick};
use super::find::{ALPHAS, EPSILONS, ratio};
use super::{Candidate, Choice, Question, Wish};
use crate::simulate::SimulateError;
use equipoise::plan::Design;

/// A share on the better arm below which a design has not adapted.
const HARDLY: f64 = 0.55;
/// The power that messages refer to where none is wanted.
const USUAL_POWER: f64 = 0.8;

/// A percentage for people.
#[must_use]
pub fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

/// How many patients would be enough for the wanted power, in words.
fn enough(question: &Question, choice: &Choice) -> Result<String, SimulateError> {
    let power = question.wish.power.unwrap_or(USUAL_POWER);
    let wish =
        Wish { power: Some(power), width: None, better: None, regret: None, ..question.wish };
    let of = |design| question.fewest_patients(&Choice { design, ..*choice }, &wish);
    let words = |design: Design, found: Option<Candidate>| {
        found.map_or_else(
            || format!("no number of patients that a plan can have is enough for {design}"),
            |found| format!("{} patients with {design}", found.choice.patients),
        )
    };
    let mut text = format!(
        "Enough for a power of {}: {}",
        percent(power),
        words(choice.design, of(choice.design)?)
    );
    if choice.design != Design::Uniform {
        text += &format!(", {}", words(Design::Uniform, of(Design::Uniform)?));
    }
    Ok(text + ".")
}

/// Why a plan must not be carried out, if it must not.
///
/// # Errors
/// A value out of its range.
pub fn refusal(question: &Question, found: &Candidate) -> Result<Option<String>, SimulateError> {
    let (width, effect) = (question.wish.width_of(&found.summary), found.choice.effect.abs());
    if width <= 2.0 * effect {
        return Ok(None);
    }
    let power = question.wish.power_of(&found.summary).map_or(0.0, |power| power.mean);
    Ok(Some(format!(
        "don't: too small to see the effect. The mean 95 % interval is {width:.3} wide; around an \
         effect of {effect} it holds 0 (power {}). {}",
        percent(power),
        enough(question, &found.choice)?
    )))
}

/// Why the wishes cannot be fulfilled.
///
/// # Errors
/// A value out of its range.
pub fn out_of_reach(question: &Question) -> Result<String, SimulateError> {
    let start = question.start();
    let figures = |choice: &Choice| {
        let summary = question.confirm(choice)?;
        let power = question.wish.power_of(&summary).map_or(0.0, |power| power.mean);
        Ok::<_, SimulateError>(format!(
            "alpha {}: power {}, width {:.3}, {} on the better arm, regret {:.0}",
            choice.alpha,
            percent(power),
            question.wish.width_of(&summary),
            percent(1.0 - summary.worse_share),
            summary.regret.mean
        ))
    };
    let epsilon = match question.given.epsilon {
        Some(epsilon) => epsilon,
        None => ratio(EPSILONS[EPSILONS.len() - 1]),
    };
    let choice = Choice { epsilon, ..start };
    let mut text = format!("don't: out of reach. With {} patients and", choice.patients);
    text += &format!(" epsilon {epsilon}: ");
    text += &match question.given.alpha {
        Some(_) => figures(&choice)?,
        None => [ALPHAS[0], ALPHAS[ALPHAS.len() - 1]]
            .map(|alpha| figures(&Choice { alpha: ratio(alpha), ..choice }))
            .into_iter()
            .collect::<Result<Vec<_>, _>>()?
            .join("; "),
    };
    if question.given.effect.is_some() && question.wish.power.is_some() {
        text += &format!(". Too small: {}", enough(question, &choice)?);
    } else {
        text += ". More patients, fewer features, or a more modest wish.";
    }
    Ok(text)
}

/// Whether adaptation pays, in words; the first ones say what to do.
#[must_use]
pub fn advice(comparison: &Comparison) -> String {
    let [adaptive, uniform, ..] = &comparison.columns[..] else {
        return String::new();
    };
    if adaptive.name == Design::Uniform.name() {
        return "A fixed trial, as asked for.".into();
    }
    let (Some(ours), Some(theirs)) = (&adaptive.needed, &uniform.needed) else {
        return "USE A FIXED TRIAL: the adaptive one does not get there.".into();
    };
    let better = 1.0 - adaptive.planned.worse_share;
    let equal = match comparison.yardstick {
        Yardstick::Power(power) => format!("a power of {}", percent(power)),
        Yardstick::Width(width) => format!("intervals {width:.3} wide"),
    };
    let on = |column: &super::compare::Column| column.worse().unwrap_or(f64::INFINITY);
    let figures = format!(
        "for {equal} {} needs {} patients, {:.0} of them on the worse arm; {} needs {}, {:.0} of \
         them on the worse arm",
        adaptive.name,
        ours.choice.patients,
        on(adaptive),
        uniform.name,
        theirs.choice.patients,
        on(uniform)
    );
    if better < HARDLY {
        format!(
            "USE A FIXED TRIAL: too small to adapt, {} of the patients get the better arm where \
             fair coins give 50 %; {figures}.",
            percent(better)
        )
    } else if on(adaptive) >= on(uniform) {
        format!("USE A FIXED TRIAL: adaptation does not pay, {figures}.")
    } else {
        format!("Adaptation pays: {figures}.")
    }
}
