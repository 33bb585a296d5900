//! The choice of alpha.
//!
//! alpha trades the estimate for the patients: 0 measures best, 1 gives most patients the leading
//! arm. Nobody should have to know it, so where it is not given it is chosen among 0, 1/40 .. 1:
//!
//! | asked for | limit | least |
//! |---|---|---|
//! | patients | at most [`Question::at_most`] times those of `uniform` for the same wishes | patients on the worse arm |
//! | effect | at most sqrt([`Question::at_most`]) times that of `uniform` | share of patients on the worse arm |
//! | alpha alone | the wishes about the estimate; without any, an interval that `uniform` would need at least the patients over [`Question::at_most`] for | regret |
//!
//! If no alpha keeps the limit, there is no adaptive trial, unless it was asked for by name: then
//! alpha is 0. A larger alpha needs more patients, so alphas are tried upwards in steps of 1/20
//! until one is beyond the limit or clearly worse than the best, and then around the best in steps
//! of 1/40. All candidates see the same patients.

use std::collections::BTreeMap;

use super::search::Effort;
use super::{Candidate, Proposal, Question, Wish};
use crate::simulate::SimulateError;
use equipoise::plan::{DesignName, Ratio};

/// alpha is a multiple of one over this.
const STEPS: u32 = 40;
/// The ladder of a first pass, in steps.
const FIRST: [u32; 16] = [0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 24, 28, 32, 36, 40];
/// A candidate this much worse than the best ends the first pass.
const CLEARLY: f64 = 1.1;
/// Rounds around the best.
const ROUNDS: usize = 4;

/// alpha in steps, in lowest terms.
pub(super) fn alpha(step: u32) -> Ratio {
    const fn divisor(a: u32, b: u32) -> u32 {
        if b == 0 { a } else { divisor(b, a % b) }
    }
    let shared = divisor(STEPS, step);
    // A share of at most 1 is a legal alpha.
    Ratio::new(step / shared, STEPS / shared).unwrap_or(Ratio::ONE)
}

/// All alphas, the smallest first.
pub(super) fn alphas() -> Vec<Ratio> {
    (0..=STEPS).map(alpha).collect()
}

/// Candidates that were tried, by alpha in steps; whether each keeps the limit.
type Tried = BTreeMap<u32, (Candidate, bool)>;

/// The step of the best of those within the limit.
fn best(tried: &Tried, cost: impl Fn(&Candidate) -> f64) -> Option<u32> {
    let within = tried.iter().filter(|(_, (_, fits))| *fits);
    let costs = within.map(|(step, (candidate, _))| (*step, cost(candidate)));
    costs.min_by(|(_, a), (_, b)| a.total_cmp(b)).map(|(step, _)| step)
}

impl Question<'_> {
    /// Patients on the worse arm.
    fn worse(candidate: &Candidate) -> f64 {
        candidate.summary.worse_share * f64::from(candidate.proposal.patients)
    }

    /// The numbers of a proposal that are not given; `near` is a candidate with about the same.
    pub(super) fn complete(
        &self,
        proposal: &Proposal,
        near: Option<&Candidate>,
    ) -> Result<Option<Candidate>, SimulateError> {
        let wish = Wish { better: None, regret: None, ..self.wish };
        match (self.given.patients, self.given.effect) {
            (None, _) => self.patients_for(proposal, &wish, near.map(|c| c.proposal.patients)),
            (_, None) => self.effect_for(proposal, &wish, near.map(|c| c.proposal.effect)),
            _ => self.shown(proposal).map(Some),
        }
    }

    /// The best alpha of a proposal within its limit, and all that were tried, the smallest alpha
    /// first; none if no alpha keeps the limit.
    pub(super) fn choose_alpha(
        &self,
        start: &Proposal,
    ) -> Result<Option<(Candidate, Vec<Candidate>)>, SimulateError> {
        let fair = Proposal { design: DesignName::Uniform, ..*start };
        let Some(uniform) = self.complete(&fair, None)? else { return Ok(None) };
        let root = self.at_most.sqrt();
        let sizes = (f64::from(uniform.proposal.patients), uniform.proposal.effect.abs());
        let width = self.wish.width_of(&uniform.summary);
        let fits = |candidate: &Candidate| match (self.given.patients, self.given.effect) {
            (None, _) => f64::from(candidate.proposal.patients) <= self.at_most * sizes.0,
            (_, None) => candidate.proposal.effect.abs() <= root * sizes.1,
            _ if self.wish.measures() => self.wish.measured(&candidate.summary) >= 0.0,
            _ => self.wish.width_of(&candidate.summary) <= root * width,
        };
        let cost = |candidate: &Candidate| match (self.given.patients, self.given.effect) {
            (None, _) => Self::worse(candidate),
            (_, None) => candidate.summary.worse_share,
            _ => candidate.summary.regret.mean,
        };
        let mut tried = Tried::new();
        let mut near = uniform;
        let mut attempt = |step: u32, tried: &mut Tried| {
            let proposal = Proposal { alpha: alpha(step), ..*start };
            let Some(found) = self.complete(&proposal, Some(&near))? else { return Ok(false) };
            let within = fits(&found);
            near = found.clone();
            tried.insert(step, (found, within));
            Ok::<_, SimulateError>(within)
        };
        for step in FIRST {
            if !attempt(step, &mut tried)? {
                break;
            }
            let least = best(&tried, cost).and_then(|step| tried.get(&step));
            let worse = |(candidate, _): &(Candidate, bool)| {
                let last = tried.get(&step).map_or(0.0, |(last, _)| cost(last));
                last > CLEARLY * cost(candidate)
            };
            if least.is_some_and(worse) {
                break;
            }
        }
        for _ in 0..ROUNDS {
            let Some(step) = best(&tried, cost) else { break };
            let beside = [step.checked_sub(1), Some(step + 1).filter(|step| *step <= STEPS)];
            let new: Vec<u32> =
                beside.into_iter().flatten().filter(|step| !tried.contains_key(step)).collect();
            for step in &new {
                attempt(*step, &mut tried)?;
            }
            if new.is_empty() {
                break;
            }
        }
        let chosen = best(&tried, cost).and_then(|step| tried.get(&step));
        // An adaptive trial that was asked for by name goes beyond the limit rather than nowhere.
        let is_open = self.given.patients.is_none() || self.given.effect.is_none();
        let asked = if self.is_design_given && is_open { tried.get(&0) } else { None };
        let chosen = chosen.or(asked).cloned();
        let all = tried.into_values().map(|(candidate, _)| candidate).collect();
        Ok(chosen.map(|(candidate, _)| (candidate, all)))
    }

    /// The trials with neighbouring values of alpha, and with half and twice the epsilon, beside an
    /// adaptive candidate; `tried` are those that a search has simulated already.
    ///
    /// # Errors
    /// A value out of its range.
    pub fn alternatives(
        &self,
        found: &Candidate,
        tried: &[Candidate],
    ) -> Result<Vec<Candidate>, SimulateError> {
        const BESIDE: u32 = 2;
        let proposal = found.proposal;
        let at = (proposal.alpha.to_f64() * f64::from(STEPS)).round() as u32;
        let beside = [at.checked_sub(BESIDE), Some(at + BESIDE).filter(|step| *step <= STEPS)];
        let mut all = Vec::new();
        for alpha in beside.into_iter().flatten().map(alpha) {
            let known = tried.iter().find(|c| c.proposal.alpha.to_f64() == alpha.to_f64());
            match known {
                Some(known) => all.push(known.clone()),
                None => all.extend(self.complete(&Proposal { alpha, ..proposal }, Some(found))?),
            }
        }
        let (num, den) = (proposal.epsilon.num(), proposal.epsilon.den());
        let half = if num % 2 == 0 { Ratio::new(num / 2, den) } else { Ratio::new(num, 2 * den) };
        let twice = if den % 2 == 0 { Ratio::new(num, den / 2) } else { Ratio::new(2 * num, den) };
        for epsilon in [half, twice].into_iter().flatten() {
            let other = Proposal { epsilon, ..proposal };
            // An epsilon that no plan may have is none to show.
            if self.scenario(&other, Effort::Rough).is_ok() {
                all.extend(self.complete(&other, Some(found))?);
            }
        }
        Ok(all)
    }
}
