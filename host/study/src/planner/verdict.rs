//! Verdict on a plan: whether it is refused, and whether adaptation pays.
//!
//! * A plan is refused if the mean interval is wider than twice the effect: an interval around the
//!   planned effect then holds 0, and the trial is more likely to miss it than to see it.
//! * Adaptation pays if it spares patients: the adaptive trial has fewer patients on the worse arm
//!   than the private fixed trial that reaches the same power (or, where none is wanted, the same
//!   width). Otherwise, and where hardly more patients than with fair coins get the better arm, the
//!   answer is the fixed trial.

use super::alpha::alphas;
use super::compare::{Comparison, Yardstick};
use super::find::{EPSILONS, MAX_PATIENTS, ratio};
use super::{Candidate, Proposal, Question, Wish};
use crate::simulate::SimulateError;
use equipoise::plan::DesignName;

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
fn enough(question: &Question, proposal: &Proposal) -> Result<String, SimulateError> {
    let power = question.wish.power.unwrap_or(USUAL_POWER);
    let wish =
        Wish { power: Some(power), width: None, better: None, regret: None, ..question.wish };
    let of = |design| question.fewest_patients(&Proposal { design, ..*proposal }, &wish);
    let words = |design: DesignName, found: Option<Candidate>| {
        found.map_or_else(
            || format!("no number of patients that a device takes is enough for {design}"),
            |found| format!("{} patients with {design}", found.proposal.patients),
        )
    };
    let mut text = format!(
        "Enough for a power of {}: {}",
        percent(power),
        words(proposal.design, of(proposal.design)?)
    );
    if proposal.design != DesignName::Uniform {
        text += &format!(", {}", words(DesignName::Uniform, of(DesignName::Uniform)?));
    }
    Ok(text + ".")
}

/// Why a plan must not be carried out, if it must not.
///
/// # Errors
/// A value out of its range.
pub fn refusal(question: &Question, found: &Candidate) -> Result<Option<String>, SimulateError> {
    let (width, effect) = (question.wish.width_of(&found.summary), found.proposal.effect.abs());
    if width <= 2.0 * effect {
        return Ok(None);
    }
    let power = question.wish.power_of(&found.summary).map_or(0.0, |power| power.mean);
    Ok(Some(format!(
        "don't: too small to see the effect. The mean 95 % interval is {width:.3} wide; around an \
         effect of {effect} it holds 0 (power {}). {}",
        percent(power),
        enough(question, &found.proposal)?
    )))
}

/// Why the wishes cannot be fulfilled.
///
/// # Errors
/// A value out of its range.
pub fn out_of_reach(question: &Question) -> Result<String, SimulateError> {
    let start = question.start();
    if question.given.patients.is_none() {
        return Ok(format!(
            "don't: out of reach. No trial of up to {MAX_PATIENTS} patients, the most for whom a \
             device has kits, keeps the wishes."
        ));
    }
    let figures = |proposal: &Proposal| {
        let summary = question.confirm(proposal)?;
        let power = question.wish.power_of(&summary).map_or(0.0, |power| power.mean);
        Ok::<_, SimulateError>(format!(
            "alpha {}: power {}, width {:.3}, {} on the better arm, regret {:.0}",
            proposal.alpha,
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
    let proposal = Proposal { epsilon, ..start };
    let mut text = format!("don't: out of reach. With {} patients and", proposal.patients);
    text += &format!(" epsilon {epsilon}: ");
    text += &match question.given.alpha {
        Some(_) => figures(&proposal)?,
        None => [alphas().first().copied(), alphas().last().copied()]
            .into_iter()
            .flatten()
            .map(|alpha| figures(&Proposal { alpha, ..proposal }))
            .collect::<Result<Vec<_>, _>>()?
            .join("; "),
    };
    if question.given.effect.is_some() && question.wish.power.is_some() {
        text += &format!(". Too small: {}", enough(question, &proposal)?);
    } else {
        text += ". More patients, fewer features, or a more modest wish.";
    }
    Ok(text)
}

/// Why a fixed trial is the better one, in words; none if adaptation pays.
fn against(comparison: &Comparison) -> Option<String> {
    let adaptive = comparison.column(DesignName::Interim)?.needed.as_ref();
    let uniform = comparison.column(DesignName::Uniform)?.needed.as_ref();
    let (Some(ours), Some(theirs)) = (adaptive, uniform) else {
        return Some("the adaptive trial does not get there".into());
    };
    let worse = |found: &Candidate| found.summary.worse_share * f64::from(found.proposal.patients);
    let better = 1.0 - ours.summary.worse_share;
    if better < HARDLY {
        let share = percent(better);
        return Some(format!(
            "too small to adapt, {share} of the patients get the better arm where fair coins give \
             50 %"
        ));
    }
    (worse(ours) >= worse(theirs)).then(|| "adaptation does not pay".into())
}

/// Whether adaptation spares patients the worse arm.
#[must_use]
pub fn pays(comparison: &Comparison) -> bool {
    comparison.column(DesignName::Interim).is_some() && against(comparison).is_none()
}

/// Whether adaptation pays, in words; the first ones say what the trial is.
#[must_use]
pub fn advice(comparison: &Comparison) -> String {
    let planned = comparison.columns.first().map_or("", |column| &column.name);
    let is_fixed = planned == DesignName::Uniform.name();
    let (Some(adaptive), Some(uniform)) =
        (comparison.column(DesignName::Interim), comparison.column(DesignName::Uniform))
    else {
        return if comparison.asked {
            "A fixed trial, as asked for.".into()
        } else {
            "A FIXED TRIAL: no adaptive one keeps the wishes within the limit of --at-most.".into()
        };
    };
    let equal = match comparison.yardstick {
        Yardstick::Power(power) => format!("a power of {}", percent(power)),
        Yardstick::Width(width) => format!("intervals {width:.3} wide"),
    };
    let needs = |column: &super::compare::Column| {
        column.needed.as_ref().map_or_else(
            || format!("{} does not reach it", column.name),
            |needed| {
                let worse = column.worse().unwrap_or(f64::INFINITY);
                let patients = needed.proposal.patients;
                format!(
                    "{} needs {patients} patients, {worse:.0} of them on the worse arm",
                    column.name
                )
            },
        )
    };
    let figures = format!("for {equal} {}; {}", needs(adaptive), needs(uniform));
    match against(comparison) {
        None => format!("Adaptation pays: {figures}."),
        Some(why) if is_fixed => format!("A FIXED TRIAL: {why}; {figures}."),
        Some(why) if comparison.asked => {
            format!(
                "An adaptive trial, as asked for, where a fixed one is better: {why}; {figures}."
            )
        }
        Some(why) => {
            format!(
                "Adaptive for the share or regret that is wanted, at a price: {why}; {figures}."
            )
        }
    }
}
