//! Search for a trial that fulfils given wishes.
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
//! | alpha | with a wish about patients (share, regret) the smallest that fulfils it, which is the best estimate; else the one that spares most patients the worse arm within a limit ([`alpha`]) |
//!
//! Patients and effect are bracketed ([`search`]), epsilon and alpha are found by halving their
//! ladders. All candidates of a search see the same patients. The figures that are shown come from
//! fresh ones, with the seed after the search's, and an answer keeps every wish in these: where
//! patients or effect fall short they are raised until the wish holds.
//!
//! The answer is compared with two fixed trials, `uniform` (private) and `fixed` (not), at the same
//! number of patients and at the number each needs for the same power or width; [`verdict`] says
//! whether adaptation pays and what is refused. Where it does not pay, the answer is the `uniform`
//! trial, unless the adaptive one was asked for by name or a share of the patients is wanted
//! ([`answer`]).

mod alpha;
pub mod answer;
pub mod board;
pub mod compare;
pub mod describe;
mod find;
pub mod keys;
pub mod search;
#[cfg(test)]
mod tests;
pub mod unread;
pub mod verdict;
mod wish;

use crate::simulate::{Instance, Policy, Scenario, SimulateError, Summary, sums};
use equipoise::plan::{DesignName, Plan, Ratio};
pub use find::MAX_PATIENTS;
use search::Effort;
pub use wish::{Target, Wish};

/// Intervals simulated for a candidate, by effort.
const ROUGH: u32 = 3_000;
const FINE: u32 = 20_000;
/// Most patients simulated for a candidate, and the least runs.
const MAX_WORK: u32 = 200_000_000;
const MIN_RUNS: u32 = 100;
/// Numbers of a plan that may be asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs, reason = "the options of the command line, by the same names")]
pub struct Given {
    pub patients: Option<u32>,
    pub effect: Option<f64>,
    pub epsilon: Option<Ratio>,
    pub alpha: Option<Ratio>,
}

/// One proposal of these numbers, and who chooses the arms.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs, reason = "the options of the command line, by the same names")]
pub struct Proposal {
    pub design: DesignName,
    pub policy: Policy,
    pub patients: u32,
    pub effect: f64,
    pub epsilon: Ratio,
    pub alpha: Ratio,
}

/// Question to the planner.
pub struct Question<'a> {
    /// Everything that is the same for all candidates; what is not searched is taken from its
    /// plan.
    pub base: Scenario,
    /// Mean outcome (0 to 1) under arm 0.
    pub baseline: f64,
    /// The numbers that are given.
    pub given: Given,
    /// The wishes.
    pub wish: Wish,
    /// Whether the design was asked for by name.
    pub is_design_given: bool,
    /// Most patients of an adaptive trial whose alpha is chosen, in those of `uniform`.
    pub at_most: f64,
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

/// A proposal and its figures.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The proposal.
    pub proposal: Proposal,
    /// Its operating characteristics.
    pub summary: Summary,
    /// Standard error of what was searched for (patients or effect), if one was.
    pub error: Option<f64>,
}

impl Question<'_> {
    /// The scenario of a proposal.
    ///
    /// # Errors
    /// A value out of its range.
    pub fn scenario(&self, proposal: &Proposal, effort: Effort) -> Result<Scenario, SimulateError> {
        let mut parameters = self.base.plan.parameters();
        parameters.design = proposal.design;
        parameters.patients = proposal.patients;
        parameters.epsilon = proposal.epsilon;
        parameters.alpha = proposal.alpha;
        let plan = Plan::new(parameters)?;
        let mut world = self.base.world.clone();
        let drift = world.instance.drift;
        world.instance = Instance::with_effect(plan.features(), self.baseline, proposal.effect);
        world.instance.drift = drift;
        let intervals = if effort == Effort::Fine { FINE } else { ROUGH };
        let a_run = match self.wish.target {
            Target::Feature => u32::from(plan.features()),
            Target::Overall => 1,
        };
        let most = (MAX_WORK / plan.patients()).max(MIN_RUNS);
        let runs = intervals.div_ceil(a_run).clamp(MIN_RUNS, most);
        let Scenario { boundary, seed, .. } = self.base;
        let planned = self.base.planned.or(Some(proposal.effect));
        Ok(Scenario { plan, policy: proposal.policy, boundary, planned, world, runs, seed })
    }

    /// Simulates a proposal with the patients of the search.
    fn measure(&self, proposal: &Proposal, effort: Effort) -> Result<Summary, SimulateError> {
        self.play(&self.scenario(proposal, effort)?)
    }

    /// Simulates a proposal with fresh patients: what is shown.
    ///
    /// # Errors
    /// A value out of its range.
    pub fn confirm(&self, proposal: &Proposal) -> Result<Summary, SimulateError> {
        let scenario = self.scenario(proposal, Effort::Fine)?;
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
}

/// The seed of what is shown, after the search with `seed`.
#[must_use]
pub const fn fresh(seed: u64) -> u64 {
    seed.wrapping_add(1)
}
