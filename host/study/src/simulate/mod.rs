//! Simulates many trials of the shipping core and summarizes them.
//!
//! A [`Scenario`] is a plan, a policy that chooses the arms, a world (how patients react, arrive,
//! answer late or get lost), a number of runs and a seed. [`run`] plays it and gives a [`Summary`].
//!
//! # What is promised
//! * The designs are simulated through [`equipoise::trial::Trial`], the code that ships; nothing of
//!   them is rewritten here. Only the generator (xoshiro instead of ChaCha20) and the room for
//!   waiting patients differ.
//! * Run i depends on the seed and on i alone. Every figure of a run is rounded once to a fixed
//!   binary grid and then summed in 128-bit integers ([`statistics`]), so the result is the same to
//!   the last bit for any number of threads and for any split into shards.
//! * All policies see the same patients: the world draws from its own stream, so that run i has the
//!   same features and the same luck whatever arm is chosen. Differences between policies are
//!   therefore sharper than the standard errors of each say.
//!
//! # What is counted
//! * **Regret** of a patient: the gap |D_j| of its feature if it got the worse arm, else 0.
//! * **Error** of a feature: estimate minus the true D_j. Mean squared errors are taken over the
//!   features and runs that have an estimate; the share that has one is reported beside them.
//! * **Bias** is counted towards the true effect: positive means overstated.
//! * **Wrong drop**: the better arm was dropped, as a share of all features with a gap in all runs.
//! * **Coverage**: the share of estimates whose 95 % interval holds D_j.
//! * **Product**: the paper's criterion, mean regret times mean squared error over M, with a
//!   standard error by linearisation of the two means (their correlation included).

pub mod arrivals;
pub mod assumption;
mod calendar;
mod clipped;
pub mod comparators;
pub mod delays;
mod digits;
pub mod figures;
pub mod harness;
pub mod instance;
pub mod output;
pub mod overall;
mod repeated;
pub mod runs;
pub mod shards;
pub mod statistics;
pub mod summary;
mod watch;
pub mod world;

use std::fmt;

use rayon::prelude::*;

use crate::boundaries::Kind;
pub use arrivals::Arrivals;
pub use comparators::Comparator;
pub use delays::{Delay, Lost};
use equipoise::estimate::Estimate;
use equipoise::plan::{DesignName, Plan, PlanError};
pub use instance::Instance;
pub use statistics::Sums;
pub use summary::{FeatureSummary, Figure, Summary};
pub use world::World;

/// Most runs of one simulation; bounds the sums.
pub const MAX_RUNS: u32 = 1_000_000;

/// Why a simulation was refused, with allowed values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SimulateError {
    /// The plan is not a legal one.
    Plan(PlanError),
    /// A value outside what is allowed: name, value, allowed.
    Value(&'static str, String, &'static str),
    /// A file could not be read or written: path, reason.
    File(String, String),
    /// Parts that make no whole, or words that no trial file may hold: why.
    Refused(String),
}

impl SimulateError {
    /// A value that is not allowed.
    pub fn value(name: &'static str, value: impl fmt::Display, allowed: &'static str) -> Self {
        Self::Value(name, value.to_string(), allowed)
    }
}

impl fmt::Display for SimulateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plan(error) => error.fmt(f),
            Self::Value(name, value, allowed) => write!(f, "{name}={value} allowed {allowed}"),
            Self::File(path, reason) => write!(f, "{path}: {reason}"),
            Self::Refused(reason) => f.write_str(reason),
        }
    }
}

impl std::error::Error for SimulateError {}

impl From<PlanError> for SimulateError {
    fn from(error: PlanError) -> Self {
        Self::Plan(error)
    }
}

/// Requirement of a boundary.
const NEEDS_REPORTS: &str = "with interim or uniform and reports=1..=8";

/// Who chooses the arms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Policy {
    /// The plan's design, through the shipping core.
    Core,
    /// A comparator, not one of our designs.
    Comparator(Comparator),
}

/// A policy by its name, and the design of its plan.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Chooser {
    /// The design; a comparator uses only the sizes of its plan.
    pub design: DesignName,
    /// Who chooses.
    pub policy: Policy,
}

impl Chooser {
    /// Reads the name of a design or a comparator.
    ///
    /// # Errors
    /// Any other name, or a share that is not allowed.
    pub fn parse(name: &str) -> Result<Self, SimulateError> {
        const NAMES: &str = "conse dp-conse interim uniform fixed ucb1 thompson \
                             thompson-aipw etc[:SHARE]";
        if let Some(design) = DesignName::ALL.into_iter().find(|design| design.name() == name) {
            return Ok(Self { design, policy: Policy::Core });
        }
        match Comparator::parse(name)? {
            Some(comparator) => {
                Ok(Self { design: DesignName::Conse, policy: Policy::Comparator(comparator) })
            }
            None => Err(SimulateError::value("design", name, NAMES)),
        }
    }
}

/// A simulation that can be run.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// The public parameters.
    pub plan: Plan,
    /// Who chooses the arms.
    pub policy: Policy,
    /// Intervals valid at all planned reports together; comparators have none but the last.
    pub boundary: Option<Kind>,
    /// The planned effect, for the futility boundary.
    pub planned: Option<f64>,
    /// The simulated patients.
    pub world: World,
    /// Trials to run.
    pub runs: u32,
    /// Where all randomness comes from.
    pub seed: u64,
}

impl Scenario {
    /// The plan's design in a plain world.
    #[must_use]
    pub fn new(plan: Plan, instance: Instance, runs: u32, seed: u64) -> Self {
        let (policy, world) = (Policy::Core, World::plain(instance));
        Self { plan, policy, boundary: None, planned: None, world, runs, seed }
    }

    /// The name of the policy, as on the command line.
    #[must_use]
    pub fn name(&self) -> String {
        match self.policy {
            Policy::Core => self.plan.design().name().into(),
            Policy::Comparator(comparator) => comparator.to_string(),
        }
    }

    /// The boundary that its intervals have: none for a comparator.
    #[must_use]
    pub fn used_boundary(&self) -> Option<Kind> {
        self.boundary.filter(|_| self.policy == Policy::Core)
    }

    /// The planned effect of the futility boundary, where there is one.
    #[must_use]
    pub fn futility(&self) -> Option<f64> {
        self.planned.filter(|planned| *planned != 0.0 && self.used_boundary().is_some())
    }

    /// Whether there is nothing for a boundary to bound.
    fn has_no_reports(&self) -> bool {
        let design = self.plan.design();
        let ledger = matches!(design, DesignName::Interim | DesignName::Uniform);
        self.policy == Policy::Core && (self.plan.reports() == 0 || !ledger)
    }

    /// Checks what the types leave open.
    ///
    /// # Errors
    /// The first value out of its range.
    pub fn check(&self) -> Result<(), SimulateError> {
        if !(1..=MAX_RUNS).contains(&self.runs) {
            return Err(SimulateError::value("runs", self.runs, "1..=1000000"));
        }
        if let (Some(kind), true) = (self.boundary, self.has_no_reports()) {
            return Err(SimulateError::value("boundary", kind.name(), NEEDS_REPORTS));
        }
        self.world.check(self.plan.features(), self.plan.scale())
    }
}

/// Plays all runs.
///
/// # Errors
/// A value out of its range; nothing has been run.
pub fn run(scenario: &Scenario) -> Result<Summary, SimulateError> {
    Ok(sums(scenario, 0..scenario.runs, &|| ())?.summary())
}

/// The estimates of all runs and features in order, with the number of their feature.
///
/// # Errors
/// A value out of its range; nothing has been run.
pub fn estimates(
    scenario: &Scenario,
    tick: &(dyn Fn() + Sync),
) -> Result<Vec<(usize, Estimate)>, SimulateError> {
    scenario.check()?;
    let stage = harness::Stage::new(scenario);
    let play = |run| {
        let features = stage.play(run).features;
        tick();
        let each =
            features.iter().enumerate().filter_map(|(j, feature)| Some((j, feature.estimate?)));
        each.collect::<Vec<_>>()
    };
    Ok((0..scenario.runs).into_par_iter().flat_map_iter(play).collect())
}

/// Plays some runs; `tick` is called after each.
///
/// # Errors
/// A value out of its range; nothing has been run.
pub fn sums(
    scenario: &Scenario,
    runs: std::ops::Range<u32>,
    tick: &(dyn Fn() + Sync),
) -> Result<Sums, SimulateError> {
    scenario.check()?;
    let stage = harness::Stage::new(scenario);
    let new = || Sums::of(scenario);
    let play = |mut sums: Sums, run| {
        sums.add(&stage.play(run));
        tick();
        sums
    };
    Ok(runs.into_par_iter().fold(new, play).reduce(new, Sums::merge))
}

/// Plays trials on several devices: each run is `sites` trials of n/`sites` patients, whose
/// estimates are combined by inverse variances.
///
/// # Errors
/// A value out of its range; nothing has been run.
pub fn pooled_sums(
    scenario: &Scenario,
    sites: u32,
    runs: std::ops::Range<u32>,
    tick: &(dyn Fn() + Sync),
) -> Result<Sums, SimulateError> {
    scenario.check()?;
    let mut parameters = scenario.plan.parameters();
    parameters.patients /= sites.max(1);
    let site = Scenario { plan: Plan::new(parameters)?, ..scenario.clone() };
    if scenario.boundary.is_some() {
        return Err(SimulateError::value("sites", sites, "1 with a boundary"));
    }
    if u64::from(scenario.runs) * u64::from(sites) > u64::from(MAX_RUNS) {
        let why = format!("{} runs of {sites} sites", scenario.runs);
        return Err(SimulateError::value("sites", why, "at most 1000000 trials in all"));
    }
    let stage = harness::Stage::new(&site);
    let new = || Sums::new(&scenario.world.instance, site.plan.patients() * sites);
    let play = |mut sums: Sums, run: u32| {
        let parts: Vec<_> = (0..sites).map(|part| stage.play(run * sites + part)).collect();
        sums.add(&statistics::Run::pooled(&parts));
        tick();
        sums
    };
    Ok(runs.into_par_iter().fold(new, play).reduce(new, Sums::merge))
}
