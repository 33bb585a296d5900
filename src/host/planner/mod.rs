//! What a trial must be to reach what is wanted of it.
//!
//! A plan has four numbers that may be asked for (patients, effect, epsilon, alpha) and four wishes
//! (power, width of the intervals, share of patients on the better arm, regret). This module finds
//! the numbers that are not given, by simulation with the code that ships:
//!
//! | not given | found |
//! |---|---|
//! | patients | the fewest that fulfil all wishes |
//! | effect | the smallest for which the wishes hold |
//! | epsilon | the least of a ladder of round values |
//! | alpha | with a wish about patients (share, regret) the smallest that fulfils it, which is the best estimate; with one about the estimate (power, width) alone the largest; 1/4 if patients or effect are asked for and no share is wanted |
//!
//! Patients and effect are bracketed ([`search`]), epsilon and alpha are found by halving their
//! ladders. All candidates of a search see the same patients; the figures that are shown come from
//! fresh ones, with the seed after the search's, so that they are not those that happened to win.
//!
//! The answer is compared with two fixed trials, `uniform` (private) and `fixed` (not), at the same
//! number of patients and at the number each needs for the same power or width; [`verdict`] says
//! whether adaptation pays and what is refused.

pub mod board;
pub mod compare;
pub mod describe;
pub mod search;
pub mod trial_file;
pub mod verdict;

use super::simulate::{Figure, Instance, Policy, Scenario, SimulateError, Summary, sums};
use crate::design::Arm;
use crate::plan::{Design, MAX_PATIENTS, Plan, Ratio};
use search::{Effort, first_good, probit};

/// The ladders of epsilon and alpha, as numerator and denominator.
const EPSILONS: [(u32, u32); 21] = [
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
const ALPHAS: [(u32, u32); 9] =
    [(0, 1), (1, 8), (1, 4), (3, 8), (1, 2), (5, 8), (3, 4), (7, 8), (1, 1)];
/// alpha where nothing asks for another.
const ALPHA: (u32, u32) = (1, 4);
/// Intervals simulated for a candidate, by effort.
const ROUGH: u32 = 3_000;
const FINE: u32 = 20_000;
/// Most patients simulated for a candidate, and the least runs.
const MAX_WORK: u32 = 200_000_000;
const MIN_RUNS: u32 = 100;
/// Fewest patients of a feature in a search.
const MIN_A_FEATURE: u32 = 10;

/// Whose interval counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// The interval of a feature, on average over features.
    Feature,
    /// The interval of the overall effect.
    Overall,
}

/// What is wanted of a plan.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wish {
    /// Share of intervals that exclude 0, at least.
    pub power: Option<f64>,
    /// Mean width of the intervals, at most.
    pub width: Option<f64>,
    /// Share of the patients on the better arm, at least.
    pub better: Option<f64>,
    /// Outcomes lost in a trial, at most.
    pub regret: Option<f64>,
    /// Whose interval counts.
    pub target: Target,
}

/// Numbers of a plan that may be asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs, reason = "the options of the command line, by the same names")]
pub struct Given {
    pub patients: Option<u32>,
    pub effect: Option<f64>,
    pub epsilon: Option<Ratio>,
    pub alpha: Option<Ratio>,
}

/// One choice of these numbers, and who chooses the arms.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs, reason = "the options of the command line, by the same names")]
pub struct Choice {
    pub design: Design,
    pub policy: Policy,
    pub patients: u32,
    pub effect: f64,
    pub epsilon: Ratio,
    pub alpha: Ratio,
}

/// What is asked.
pub struct Question<'a> {
    /// Everything that is the same for all candidates; what is not searched is taken from its
    /// plan.
    pub base: Scenario,
    /// Mean outcome (0 to 1) under arm 0.
    pub baseline: f64,
    /// The numbers that are given.
    pub given: Given,
    /// What is wanted.
    pub wish: Wish,
    /// Told the patients of a simulation before it begins, and those of each run as it ends.
    pub meter: &'a (dyn Meter + Sync),
}

/// Shows how far a search is.
pub trait Meter {
    /// A simulation of this many patients begins.
    fn begin(&self, patients: u64);
    /// This many patients are done.
    fn done(&self, patients: u64);
}

/// Shows nothing.
pub struct Silent;

impl Meter for Silent {
    fn begin(&self, _: u64) {}
    fn done(&self, _: u64) {}
}

/// A choice and its figures.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The choice.
    pub choice: Choice,
    /// Its operating characteristics.
    pub summary: Summary,
    /// Standard error of what was searched for (patients or effect), if one was.
    pub error: Option<f64>,
}

fn ratio((num, den): (u32, u32)) -> Ratio {
    // The ladders hold legal ratios only.
    Ratio::new(num, den).unwrap_or(Ratio::ONE)
}

impl Wish {
    /// Whether anything is wanted of the estimate.
    #[must_use]
    pub const fn measures(&self) -> bool {
        self.power.is_some() || self.width.is_some()
    }

    /// Whether anything is wanted for the patients.
    #[must_use]
    pub const fn cares(&self) -> bool {
        self.better.is_some() || self.regret.is_some()
    }

    /// The share of intervals that exclude 0.
    #[must_use]
    pub fn power_of(&self, summary: &Summary) -> Option<Figure> {
        match self.target {
            Target::Feature => summary.excludes_0,
            Target::Overall => summary.overall_excludes_0,
        }
    }

    /// The mean width of the intervals.
    #[must_use]
    pub fn width_of(&self, summary: &Summary) -> f64 {
        let width = match self.target {
            Target::Feature => summary.width,
            Target::Overall => summary.overall_width,
        };
        width.unwrap_or(f64::INFINITY)
    }

    /// What a summary has above the wishes about the estimate: at least 0 if it fulfils them.
    fn measured(&self, summary: &Summary) -> f64 {
        let floor = 0.5 / f64::from(FINE);
        let power = self.power.map(|wanted| {
            let power = self.power_of(summary).map_or(0.0, |power| power.mean);
            probit(power.clamp(floor, 1.0 - floor)) - probit(wanted)
        });
        let width = self.width.map(|wanted| 2.0 * (wanted / self.width_of(summary)).ln());
        [power, width].into_iter().flatten().fold(f64::INFINITY, f64::min)
    }

    /// What a summary has above the wishes for the patients.
    fn cared(&self, summary: &Summary) -> f64 {
        let better = self.better.map(|wanted| 4.0 * (1.0 - summary.worse_share - wanted));
        let regret = self.regret.map(|budget| (budget / f64::max(summary.regret.mean, 1e-9)).ln());
        [better, regret].into_iter().flatten().fold(f64::INFINITY, f64::min)
    }

    fn score(&self, summary: &Summary) -> f64 {
        f64::min(self.measured(summary), self.cared(summary)).min(1e9)
    }
}

impl Question<'_> {
    /// The scenario of a choice.
    ///
    /// # Errors
    /// A value out of its range.
    pub fn scenario(&self, choice: &Choice, effort: Effort) -> Result<Scenario, SimulateError> {
        let mut parameters = self.base.plan.parameters();
        parameters.design = choice.design;
        parameters.patients = choice.patients;
        parameters.epsilon = choice.epsilon;
        parameters.alpha = choice.alpha;
        let plan = Plan::new(parameters)?;
        let mut world = self.base.world.clone();
        let drift = world.instance.drift;
        world.instance =
            Instance::same(plan.features(), self.baseline, self.baseline + choice.effect);
        world.instance.drift = drift;
        let intervals = if effort == Effort::Fine { FINE } else { ROUGH };
        let a_run = match self.wish.target {
            Target::Feature => u32::from(plan.features()),
            Target::Overall => 1,
        };
        let most = (MAX_WORK / plan.patients()).max(MIN_RUNS);
        let runs = intervals.div_ceil(a_run).clamp(MIN_RUNS, most);
        Ok(Scenario { plan, policy: choice.policy, world, runs, seed: self.base.seed })
    }

    /// Simulates a choice with the patients of the search.
    fn measure(&self, choice: &Choice, effort: Effort) -> Result<Summary, SimulateError> {
        self.play(&self.scenario(choice, effort)?)
    }

    /// Simulates a choice with fresh patients: what is shown.
    ///
    /// # Errors
    /// A value out of its range.
    pub fn confirm(&self, choice: &Choice) -> Result<Summary, SimulateError> {
        let scenario = self.scenario(choice, Effort::Fine)?;
        self.play(&Scenario { seed: fresh(scenario.seed), ..scenario })
    }

    /// Simulates a scenario under the meter.
    ///
    /// # Errors
    /// A value out of its range.
    pub fn play(&self, scenario: &Scenario) -> Result<Summary, SimulateError> {
        let a_run = u64::from(scenario.plan.patients());
        self.meter.begin(a_run * u64::from(scenario.runs));
        Ok(sums(scenario, 0..scenario.runs, &|| self.meter.done(a_run))?.summary())
    }

    /// The variance of an estimate times patients, without noise: where a search begins.
    fn spread(&self, effect: f64) -> f64 {
        let instance = Instance::same(1, self.baseline, self.baseline + effect);
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
            // Without alpha the wishes about the estimate give the patients of each alpha, and the
            // smallest alpha that is kind enough with them is taken.
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

/// The seed of what is shown, after the search with `seed`.
#[must_use]
pub const fn fresh(seed: u64) -> u64 {
    seed.wrapping_add(1)
}

/// The standard error of a score: that of the power, on the scale of quantiles.
fn score_error(wish: &Wish, summary: &Summary) -> f64 {
    match (wish.power, wish.power_of(summary)) {
        (Some(wanted), Some(power)) => power.error / search::density(probit(wanted)),
        _ => 0.0,
    }
}
