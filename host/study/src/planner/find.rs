//! The numbers that are not given: patients and effect by bracketing, epsilon and alpha along their
//! ladders.

use super::alpha::alphas;
use super::search::{self, Start, first_good};
use super::wish::score_error;
use super::{Candidate, Given, Proposal, Question, Target, Wish};
use crate::normal::probit;
use crate::simulate::{Instance, Policy, SimulateError, World};
use equipoise::plan::{DesignName, Ratio};
use equipoise::terms::Arm;
use equipoise::terms::MAX_KITS;

/// The ladder of epsilon, as numerator and denominator.
pub(super) const EPSILONS: [(u32, u32); 21] = [
    (1, 20),
    (1, 10),
    (3, 20),
    (1, 5),
    (1, 4),
    (3, 10),
    (2, 5),
    (1, 2),
    (3, 5),
    (4, 5),
    (1, 1),
    (5, 4),
    (3, 2),
    (2, 1),
    (5, 2),
    (3, 1),
    (4, 1),
    (5, 1),
    (6, 1),
    (8, 1),
    (10, 1),
];
/// alpha where it is not asked for: the file of a fixed trial has one too.
const ALPHA: (u32, u32) = (1, 4);
/// Most patients of a plan: those for whom a device has kits, should the trial be blinded.
pub const MAX_PATIENTS: u32 = MAX_KITS;
/// Fewest patients of a feature in a search.
const MIN_A_FEATURE: u32 = 10;

pub(super) fn ratio((num, den): (u32, u32)) -> Ratio {
    // The ladder holds legal ratios only.
    Ratio::new(num, den).unwrap_or(Ratio::ONE)
}

impl Question<'_> {
    /// The variance of an estimate times patients, without noise: where a search begins.
    fn spread(&self, effect: f64) -> f64 {
        let instance = Instance::with_effect(1, self.baseline, effect);
        let world = World { sd: self.base.world.sd, ..World::plain(instance) };
        let variance = |arm| world.variance(0, arm, self.base.plan.scale());
        let features = f64::from(self.base.plan.features());
        let share = if self.wish.target == Target::Feature { features } else { 1.0 };
        2.0 * share * Arm::BOTH.map(variance).iter().sum::<f64>()
    }

    /// Standard deviations between 0 and the effect that a wish asks for.
    fn quantiles(wish: &Wish) -> f64 {
        1.96 + wish.power.map_or(0.84, probit)
    }

    /// Finds where the score of a wish is 0 and steps from there until the wish holds in fresh
    /// trials, whose figures are the candidate's. `at` makes a proposal of the logarithm of the
    /// unknown, `slope` is about that of the score.
    fn search(
        &self,
        wish: &Wish,
        range: [f64; 2],
        guess: f64,
        slope: f64,
        step: impl Fn(&Proposal) -> f64,
        at: impl Fn(f64) -> Proposal,
    ) -> Result<Option<Candidate>, SimulateError> {
        let mut last = None;
        let root = search::solve(range, guess, |x, effort| {
            let summary = self.measure(&at(x), effort)?;
            let score = wish.score(&summary);
            last = Some(summary);
            Ok::<_, SimulateError>(score)
        })?;
        let (Some(root), Some(summary)) = (root, last) else { return Ok(None) };
        let error = score_error(wish, &summary);
        let step = step(&at(root.at));
        let held = search::hold(range, Start { at: root.at, slope, error, step }, |x| {
            let summary = self.confirm(&at(x))?;
            Ok::<_, SimulateError>((wish.score(&summary), summary))
        })?;
        let Some((x, summary)) = held else { return Ok(None) };
        // Of the logarithm; the caller makes it one of the unknown.
        let error = Some(error / root.slope);
        Ok(Some(Candidate { proposal: at(x), summary, error }))
    }

    /// The fewest patients with which a proposal fulfils `wish`, from a guess; none if no device
    /// takes as many.
    pub(super) fn patients_for(
        &self,
        proposal: &Proposal,
        wish: &Wish,
        near: Option<u32>,
    ) -> Result<Option<Candidate>, SimulateError> {
        let guess = match (near, wish.width) {
            (Some(near), _) => f64::from(near),
            (None, Some(width)) if wish.power.is_none() => {
                (2.0 * 1.96 / width).powi(2) * self.spread(proposal.effect)
            }
            _ => (Self::quantiles(wish) / proposal.effect).powi(2) * self.spread(proposal.effect),
        };
        let features = u32::from(self.base.plan.features());
        let least = f64::from(MIN_A_FEATURE * features);
        let range = [least.ln(), f64::from(MAX_PATIENTS).ln()];
        let at = |x: f64| Proposal { patients: x.exp().round() as u32, ..*proposal };
        // Half the quantiles between 0 and the effect, because the error falls with the root.
        let slope = Self::quantiles(wish) / 2.0;
        let a_patient = |proposal: &Proposal| 1.0 / f64::from(proposal.patients);
        let found = self.search(wish, range, guess.ln(), slope, a_patient, at)?;
        Ok(found.map(|found| {
            let patients = f64::from(found.proposal.patients);
            Candidate { error: found.error.map(|error| error * patients), ..found }
        }))
    }

    /// The smallest effect for which a proposal fulfils `wish`, from a guess.
    pub(super) fn effect_for(
        &self,
        proposal: &Proposal,
        wish: &Wish,
        near: Option<f64>,
    ) -> Result<Option<Candidate>, SimulateError> {
        let most = 1.0 - self.baseline;
        let guess =
            Self::quantiles(wish) * (self.spread(0.0) / f64::from(proposal.patients)).sqrt();
        let at = |x: f64| Proposal { effect: x.exp().min(most), ..*proposal };
        let range = [1e-4f64.ln(), most.ln()];
        let guess = near.unwrap_or(guess).ln();
        let found = self.search(wish, range, guess, Self::quantiles(wish), |_| 0.0, at)?;
        Ok(found.map(|found| {
            let effect = found.proposal.effect;
            Candidate { error: found.error.map(|error| error * effect), ..found }
        }))
    }

    /// The fewest patients with which a proposal fulfils `wish`; none if no device takes as many.
    ///
    /// # Errors
    /// A value out of its range.
    pub fn fewest_patients(
        &self,
        proposal: &Proposal,
        wish: &Wish,
    ) -> Result<Option<Candidate>, SimulateError> {
        self.patients_for(proposal, wish, None)
    }

    /// The smallest alpha that fulfils the wishes for the patients, if it fulfils the others too.
    fn caring_alpha(&self, proposal: &Proposal) -> Result<Option<Candidate>, SimulateError> {
        let found = first_good(&alphas(), |alpha| {
            let found = self.shown(&Proposal { alpha: *alpha, ..*proposal })?;
            Ok::<_, SimulateError>(Some(found).filter(|c| self.wish.cared(&c.summary) >= 0.0))
        })?;
        Ok(found.filter(|found| self.wish.measured(&found.summary) >= 0.0))
    }

    /// A proposal without anything to be searched, with the figures that are shown. These decide
    /// whether it keeps the wishes, so that an answer given back to the planner keeps them again.
    pub(super) fn shown(&self, proposal: &Proposal) -> Result<Candidate, SimulateError> {
        let summary = self.confirm(proposal)?;
        Ok(Candidate { proposal: *proposal, summary, error: None })
    }

    /// The proposal at which a search begins.
    #[must_use]
    pub fn start(&self) -> Proposal {
        Proposal {
            design: self.base.plan.design(),
            policy: Policy::Core,
            patients: self.given.patients.unwrap_or_else(|| self.base.plan.patients()),
            effect: self.given.effect.unwrap_or(0.1),
            epsilon: self.given.epsilon.unwrap_or(Ratio::ONE),
            alpha: self.given.alpha.unwrap_or_else(|| ratio(ALPHA)),
        }
    }

    /// Finds the numbers that are not given; none if no proposal fulfils the wishes.
    ///
    /// # Errors
    /// A value out of its range.
    pub fn solve(&self) -> Result<Option<Candidate>, SimulateError> {
        Ok(self.solve_all()?.map(|(found, _)| found))
    }

    /// As [`Self::solve`], with the other values of alpha that were tried.
    pub(super) fn solve_all(&self) -> Result<Option<(Candidate, Vec<Candidate>)>, SimulateError> {
        let start = self.start();
        let Given { patients, effect, epsilon, alpha } = self.given;
        let free = alpha.is_none() && start.design == DesignName::Interim;
        let alone = |found: Candidate| (found, Vec::new());
        if patients.is_none() || effect.is_none() {
            if free && !self.wish.cares() {
                return self.choose_alpha(&start);
            }
            let search = |proposal: &Proposal, wish: &Wish| match patients {
                None => self.patients_for(proposal, wish, None),
                Some(_) => self.effect_for(proposal, wish, None),
            };
            // The wishes about the estimate give the patients of each alpha; taken is the smallest
            // alpha that meets the wishes about share or regret.
            let found = if free && self.wish.measures() {
                let wish = Wish { better: None, regret: None, ..self.wish };
                first_good(&alphas(), |alpha| {
                    let found = search(&Proposal { alpha: *alpha, ..start }, &wish)?;
                    Ok::<_, SimulateError>(
                        found.filter(|found| self.wish.cared(&found.summary) >= 0.0),
                    )
                })?
            } else {
                search(&start, &self.wish)?
            };
            return Ok(found.map(alone));
        }
        let at = |epsilon: Ratio| {
            let proposal = Proposal { epsilon, ..start };
            let found = match (free, self.wish.cares()) {
                (true, false) => return self.choose_alpha(&proposal),
                (true, true) => self.caring_alpha(&proposal)?,
                (false, _) => Some(self.shown(&proposal)?)
                    .filter(|found| self.wish.score(&found.summary) >= 0.0),
            };
            Ok::<_, SimulateError>(found.map(alone))
        };
        match epsilon {
            Some(epsilon) => at(epsilon),
            None => first_good(&EPSILONS, |epsilon| at(ratio(*epsilon))),
        }
    }
}
