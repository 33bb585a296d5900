//! `equipoise plan`: the least epsilon, and an alpha, that reach what is wanted.
//!
//! Wanted is a mean width of the 95 % intervals (`--width`, at most), a share of the patients on
//! the better arm (`--better`, at least), or both. Every candidate is simulated with the same
//! patients, in a world where all features have the same baseline and effect. Width and share both
//! grow with alpha, and both wishes get easier with epsilon, so each is found by halving a ladder
//! of round values:
//!
//! * for an epsilon, the largest alpha that keeps the width, and the smallest that gives the share;
//! * the least epsilon for which they meet. Of the alphas left, a wanted share takes the smallest
//!   (best estimate), a wanted width alone the largest (most patients on the better arm).
//!
//! The answer is printed with its operating characteristics and written as the trial file that
//! `provision` takes. Two things are said plainly: that no epsilon on the ladder is enough (exit
//! code 1, nothing is written), and that a trial is too small to adapt: fewer than half of the
//! features would settle before half, or hardly more patients than with fair coins get the better
//! one.

use crate::prelude::*;
use std::fmt::Write;

use super::simulate::{Scenario, SimulateError, Summary, run as simulate};
use crate::design::Arm;
use crate::plan::{Key, Plan, PlanError, Ratio};

const EPSILONS: [&str; 21] = [
    "1/20", "1/10", "3/20", "1/5", "1/4", "3/10", "2/5", "1/2", "3/5", "4/5", "1", "5/4", "3/2",
    "2", "5/2", "3", "4", "5", "6", "8", "10",
];
const ALPHAS: [&str; 9] = ["0", "1/8", "1/4", "3/8", "1/2", "5/8", "3/4", "7/8", "1"];
/// Patients simulated for one candidate, and the limits of its runs.
const PATIENTS_A_CANDIDATE: u32 = 4_000_000;
const RUNS: (u32, u32) = (40, 400);
/// A share on the better arm below which a design has not adapted.
const HARDLY: f64 = 0.55;

/// What is wanted of a plan.
#[derive(Clone, Copy, Debug)]
pub struct Wish {
    /// Mean width of the intervals, at most.
    pub width: Option<f64>,
    /// Share of the patients on the better arm, at least.
    pub better: Option<f64>,
}

/// A plan and what it came to.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The plan.
    pub plan: Plan,
    /// Its operating characteristics.
    pub summary: Summary,
}

impl Candidate {
    fn better(&self) -> f64 {
        1.0 - self.summary.worse_share
    }

    fn width(&self) -> f64 {
        self.summary.width.unwrap_or(f64::INFINITY)
    }
}

/// The first place of a list in which `good` holds, if it holds in all later ones too.
fn first_good<T, E>(
    list: &[T],
    mut good: impl FnMut(&T) -> Result<Option<Candidate>, E>,
) -> Result<Option<(usize, Candidate)>, E> {
    let (mut low, mut high, mut found) = (0, list.len(), None);
    while low < high {
        let middle = low.midpoint(high);
        match good(&list[middle])? {
            Some(candidate) => {
                high = middle;
                found = Some((middle, candidate));
            }
            None => low = middle + 1,
        }
    }
    Ok(found)
}

/// Simulates a scenario under another epsilon and alpha.
fn candidate(base: &Scenario, epsilon: &str, alpha: &str) -> Result<Candidate, SimulateError> {
    let ratio = |key, text: &str| {
        text.parse::<Ratio>().map_err(|_| SimulateError::Plan(PlanError::Missing(key)))
    };
    let mut parameters = base.plan.parameters();
    parameters.epsilon = ratio(Key::Epsilon, epsilon)?;
    parameters.alpha = ratio(Key::Alpha, alpha)?;
    let plan = Plan::new(parameters)?;
    let summary = simulate(&Scenario { plan, ..base.clone() })?;
    Ok(Candidate { plan, summary })
}

/// The best candidate of one epsilon, if one has all that is wanted.
fn at_epsilon(
    base: &Scenario,
    wish: Wish,
    epsilon: &str,
) -> Result<Option<Candidate>, SimulateError> {
    let wide = |c: &Candidate| wish.width.is_none_or(|width| c.width() <= width);
    if let Some(share) = wish.better {
        let found = first_good(&ALPHAS, |alpha| {
            candidate(base, epsilon, alpha).map(|c| (c.better() >= share).then_some(c))
        })?;
        return Ok(found.map(|(_, c)| c).filter(wide));
    }
    let mut falling = ALPHAS;
    falling.reverse();
    let found = first_good(&falling, |alpha| {
        candidate(base, epsilon, alpha).map(|c| wide(&c).then_some(c))
    })?;
    Ok(found.map(|(_, c)| c))
}

/// The least epsilon, with its alpha, that has all that is wanted.
///
/// # Errors
/// A value out of its range.
pub fn find(base: &Scenario, wish: Wish) -> Result<Option<Candidate>, SimulateError> {
    let found = first_good(&EPSILONS, |epsilon| at_epsilon(base, wish, epsilon))?;
    Ok(found.map(|(_, candidate)| candidate))
}

/// Simulated trials of one candidate.
#[must_use]
pub fn runs(plan: &Plan) -> u32 {
    (PATIENTS_A_CANDIDATE / plan.patients()).clamp(RUNS.0, RUNS.1)
}

/// Why nothing was found, in words.
///
/// # Errors
/// A value out of its range.
pub fn out_of_reach(base: &Scenario) -> Result<String, SimulateError> {
    let epsilon = EPSILONS[EPSILONS.len() - 1];
    let [narrow, kind] =
        [ALPHAS[0], ALPHAS[ALPHAS.len() - 1]].map(|alpha| candidate(base, epsilon, alpha));
    let (narrow, kind) = (narrow?, kind?);
    Ok(format!(
        "out of reach: even with epsilon {epsilon}, alpha 0 gives a width of {:.4} with {:.1} % on the better arm, alpha 1 a \
         width of {:.4} with {:.1} %. More patients, fewer features, or a more modest wish.",
        narrow.width(),
        100.0 * narrow.better(),
        kind.width(),
        100.0 * kind.better()
    ))
}

/// The operating characteristics of a plan, in words.
///
/// # Errors
/// A value out of its range.
pub fn describe(base: &Scenario, found: &Candidate) -> Result<String, SimulateError> {
    let (plan, s) = (&found.plan, &found.summary);
    let instance = &base.world.instance;
    let a_feature = f64::from(plan.patients()) / f64::from(plan.features());
    let [zero, one] = Arm::BOTH.map(|arm| instance.variance(0, arm, plan.scale()));
    let uniform = 2.0 * 1.96 * (2.0 * (zero + one) / a_feature).sqrt();
    let percent = |share: f64| 100.0 * share;
    let mut text = format!(
        "epsilon {}, alpha {}: the least epsilon that reaches it ({} simulated trials a candidate)\n\n",
        plan.epsilon(),
        plan.alpha(),
        s.runs
    );
    let rows = [
        ("mean width of the 95 % intervals", format!("{:.4}", found.width())),
        ("... of a uniform trial without privacy", format!("{uniform:.4}")),
        (
            "intervals that hold the effect",
            format!("{:.1} %", percent(s.coverage.map_or(0.0, |f| f.mean))),
        ),
        ("patients on the better arm", format!("{:.1} %", percent(found.better()))),
        ("features that settle before half", format!("{:.1} %", percent(s.dropped))),
        ("... for the worse arm", format!("{:.2} %", percent(s.wrong_drops))),
        (
            "resolved patients to the first",
            s.first_drop.map_or("-".into(), |at| format!("{at:.0}")),
        ),
    ];
    for (name, value) in rows {
        let _ = writeln!(text, "{name:<40}{value:>10}");
    }
    if s.dropped < 0.5 || found.better() < HARDLY {
        let _ = writeln!(
            text,
            "\nTOO SMALL TO ADAPT at epsilon {}: only {:.0} % of the features settle before half, and\n\
             {:.0} % of the patients get the better arm, where fair coins give 50 %.\n{}",
            plan.epsilon(),
            percent(s.dropped),
            percent(found.better()),
            enough(base, plan)?
        );
    }
    Ok(text)
}

/// How many patients would let most features settle before half.
fn enough(base: &Scenario, plan: &Plan) -> Result<String, SimulateError> {
    let mut parameters = plan.parameters();
    while let Some(more) = parameters.patients.checked_mul(2) {
        parameters.patients = more;
        let Ok(plan) = Plan::new(parameters) else { break };
        let summary = simulate(&Scenario { plan, runs: RUNS.0, ..base.clone() })?;
        if summary.dropped >= 0.5 && 1.0 - summary.worse_share >= HARDLY {
            return Ok(format!("At this epsilon about {more} patients would be enough."));
        }
    }
    Ok("No number of patients that a plan can have would be enough.".into())
}
