//! The numbers that are not given: patients and effect by bracketing, epsilon and alpha along their
//! ladders.

use super::search::{self, Effort, first_good};
use super::wish::score_error;
use super::{Candidate, Choice, Given, Question, Target, Wish};
use crate::normal::probit;
use crate::simulate::{Instance, Policy, SimulateError, Summary};
use equipoise::plan::{Design, Ratio};
use equipoise::terms::Arm;
use equipoise::terms::MAX_PATIENTS;

/// The ladders of epsilon and alpha, as numerator and denominator.
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
pub(super) const ALPHAS: [(u32, u32); 9] =
    [(0, 1), (1, 8), (1, 4), (3, 8), (1, 2), (5, 8), (3, 4), (7, 8), (1, 1)];
/// alpha if no wish asks for another value.
const ALPHA: (u32, u32) = (1, 4);
/// Fewest patients of a feature in a search.
const MIN_A_FEATURE: u32 = 10;

pub(super) fn ratio((num, den): (u32, u32)) -> Ratio {
    // The ladders hold legal ratios only.
    Ratio::new(num, den).unwrap_or(Ratio::ONE)
}

impl Question<'_> {
    /// The variance of an estimate times patients, without noise: where a search begins.
    fn spread(&self, effect: f64) -> f64 {
        let instance = Instance::with_effect(1, self.baseline, effect);
        let variance = |arm| instance.variance(0, arm, self.base.plan.scale());
        let features = f64::from(self.base.plan.features());
        let share = if self.wish.target == Target::Feature { features } else { 1.0 };
        2.0 * share * Arm::BOTH.map(variance).iter().sum::<f64>()
    }

    /// Standard deviations between 0 and the effect that the wishes ask for.
    fn wanted_z(&self) -> f64 {
        1.96 + self.wish.power.map_or(0.84, probit)
    }

    /// The fewest patients with which a choice fulfils `wish`; none if no plan has as many.
    ///
    /// # Errors
    /// A value out of its range.
    pub fn fewest_patients(
        &self,
        choice: &Choice,
        wish: &Wish,
    ) -> Result<Option<Candidate>, SimulateError> {
        let guess = match wish.width {
            Some(width) if wish.power.is_none() => (2.0 * 1.96 / width).powi(2),
            _ => (self.wanted_z() / choice.effect).powi(2),
        } * self.spread(choice.effect);
        let features = u32::from(self.base.plan.features());
        let least = f64::from(MIN_A_FEATURE * features);
        let range = [least.ln(), f64::from(MAX_PATIENTS).ln()];
        let at = |x: f64| Choice { patients: x.exp().round() as u32, ..*choice };
        let mut last = None;
        let root = search::solve(range, guess.ln(), |x, effort| {
            let summary = self.measure(&at(x), effort)?;
            let score = wish.score(&summary);
            last = Some(summary);
            Ok::<_, SimulateError>(score)
        })?;
        let (Some(root), Some(last)) = (root, last) else { return Ok(None) };
        let choice = at(root.at);
        let error = score_error(wish, &last) / root.slope * f64::from(choice.patients);
        let summary = self.confirm(&choice)?;
        Ok(Some(Candidate { choice, summary, error: Some(error) }))
    }

    /// The smallest effect for which a choice fulfils the wishes.
    fn smallest_effect(&self, choice: &Choice) -> Result<Option<Candidate>, SimulateError> {
        let most = 1.0 - self.baseline;
        let guess = self.wanted_z() * (self.spread(0.0) / f64::from(choice.patients)).sqrt();
        let at = |x: f64| Choice { effect: x.exp().min(most), ..*choice };
        let mut last = None;
        let root = search::solve([1e-4f64.ln(), most.ln()], guess.ln(), |x, effort| {
            let summary = self.measure(&at(x), effort)?;
            let score = self.wish.score(&summary);
            last = Some(summary);
            Ok::<_, SimulateError>(score)
        })?;
        let (Some(root), Some(last)) = (root, last) else { return Ok(None) };
        let choice = at(root.at);
        let error = score_error(&self.wish, &last) / root.slope * choice.effect;
        let summary = self.confirm(&choice)?;
        Ok(Some(Candidate { choice, summary, error: Some(error) }))
    }

    /// The best alpha of a choice, if one fulfils the wishes.
    fn best_alpha(&self, choice: &Choice) -> Result<Option<Choice>, SimulateError> {
        let try_alpha = |alpha: (u32, u32), enough: fn(&Wish, &Summary) -> f64| {
            let choice = Choice { alpha: ratio(alpha), ..*choice };
            let summary = self.measure(&choice, Effort::Rough)?;
            let good = enough(&self.wish, &summary) >= 0.0;
            Ok::<_, SimulateError>(good.then(|| (choice, self.wish.measured(&summary))))
        };
        if self.wish.cares() {
            let found = first_good(&ALPHAS, |alpha| try_alpha(*alpha, Wish::cared))?;
            return Ok(found.filter(|(_, measured)| *measured >= 0.0).map(|(choice, _)| choice));
        }
        let mut falling = ALPHAS;
        falling.reverse();
        let found = first_good(&falling, |alpha| try_alpha(*alpha, Wish::measured))?;
        Ok(found.map(|(choice, _)| choice))
    }

    /// The choice at which a search begins.
    #[must_use]
    pub fn start(&self) -> Choice {
        Choice {
            design: self.base.plan.design(),
            policy: Policy::Core,
            patients: self.given.patients.unwrap_or_else(|| self.base.plan.patients()),
            effect: self.given.effect.unwrap_or(0.1),
            epsilon: self.given.epsilon.unwrap_or(Ratio::ONE),
            alpha: self.given.alpha.unwrap_or_else(|| ratio(ALPHA)),
        }
    }

    /// Finds the numbers that are not given; none if no choice fulfils the wishes.
    ///
    /// # Errors
    /// A value out of its range.
    pub fn solve(&self) -> Result<Option<Candidate>, SimulateError> {
        let start = self.start();
        let Given { patients, effect, epsilon, alpha } = self.given;
        if patients.is_none() || effect.is_none() {
            let search = |choice: &Choice, wish: &Wish| match patients {
                None => self.fewest_patients(choice, wish),
                Some(_) => self.smallest_effect(choice),
            };
            // Without alpha the wishes about the estimate give the patients of each alpha; taken is
            // the smallest alpha that meets the wishes about share or regret.
            if patients.is_none() && alpha.is_none() && self.wish.cares() && self.wish.measures() {
                let wish = Wish { better: None, regret: None, ..self.wish };
                return first_good(&ALPHAS, |alpha| {
                    let found = search(&Choice { alpha: ratio(*alpha), ..start }, &wish)?;
                    Ok(found.filter(|found| self.wish.cared(&found.summary) >= 0.0))
                });
            }
            return search(&start, &self.wish);
        }
        let at = |epsilon: Ratio| {
            let choice = Choice { epsilon, ..start };
            match alpha {
                None if start.design == Design::Interim => self.best_alpha(&choice),
                _ => {
                    let summary = self.measure(&choice, Effort::Fine)?;
                    Ok((self.wish.score(&summary) >= 0.0).then_some(choice))
                }
            }
        };
        let found = match epsilon {
            Some(epsilon) => at(epsilon)?,
            None => first_good(&EPSILONS, |epsilon| at(ratio(*epsilon)))?,
        };
        let Some(choice) = found else { return Ok(None) };
        Ok(Some(Candidate { choice, summary: self.confirm(&choice)?, error: None }))
    }
}
