//! One trial from the first patient to the close.
//!
//! A [`Player`] chooses arms; the stage sends it patients and their outcomes. Randomness comes in
//! three streams that depend on the seed and the run alone: the world (features, outcomes, delays,
//! losses), the player's coins, and a third for what a comparator draws besides.
//!
//! A patient costs one 64-bit word of the world: the low half decides the feature, the high half
//! the outcome. Each is a comparison of 32 bits, so every probability is exact to 2^-32, far below
//! what a simulation can see. Graded outcomes, delays and losses take one word more each.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::{SplitMix64, Xoshiro256PlusPlus};

use super::arrivals::Features;
use super::clipped::Clipped;
use super::comparators::{Comparator, Comparison};
use super::instance::Outcomes;
use super::repeated::Repeated;
use super::statistics::{FeatureRun, Report, Run};
use super::watch::Watch;
use super::{Policy, Scenario, World};
use equipoise::chance::Sampler;
use equipoise::design::schedule::looks;
use equipoise::estimate::Estimate;
use equipoise::plan::{DesignName, Plan};
use equipoise::terms::Arm;
use equipoise::terms::MAX_FEATURES;
use equipoise::trial::{AtOnce, Late, Trial, TrialError};

#[cfg(test)]
mod tests;

/// Who chooses the arms of one trial.
pub trait Player {
    /// The arm of the next patient.
    fn assign(&mut self, feature: u8) -> Arm;
    /// The outcome of an earlier patient, or its loss.
    fn outcome(&mut self, patient: u32, feature: u8, arm: Arm, y: Option<u16>);
    /// Takes patients whose outcome comes at once, number `next` and more, of `n`; returns the last
    /// one's number. No arm is dropped before the last one.
    fn at_once(&mut self, next: u32, n: u32, patients: &mut impl AtOnce) -> u32;
    /// The first patient whose assignment may come after outcomes that matter; those before can be
    /// taken by [`Self::late`].
    fn calm_until(&mut self) -> u32 {
        0
    }
    /// Takes patients up to the one before [`Self::calm_until`]; returns the last one's number.
    fn late(&mut self, _: &mut impl Late) -> u32 {
        0
    }
    /// Closes the trial: no more patients or outcomes come.
    fn close(&mut self);
    /// A count that changes whenever many features may change at once.
    fn looks(&self) -> u8;
    /// The estimate of a feature.
    fn estimate(&self, feature: u8) -> Option<Estimate>;
    /// The estimates of all features at each report before the last, if they are kept.
    fn reports(&mut self) -> Vec<Vec<Option<Estimate>>> {
        Vec::new()
    }
    /// The arm dropped in a feature, or against which it settled before half.
    fn dropped(&self, feature: u8) -> Option<Arm>;
    /// The count of resolved patients at which the first feature settled, if that was before half.
    fn settled_at(&self) -> Option<u32> {
        None
    }
    /// The count of resolved patients at the look at which a feature settled.
    fn feature_settled_at(&self, _feature: u8) -> Option<u32> {
        None
    }
    /// Coins that patients of a feature were assigned by, if the design changes its coin.
    fn coins(&self, _feature: u8) -> Option<u32> {
        None
    }
}

/// The shipping core with room for `U` waiting patients.
struct Core<const U: usize> {
    trial: Trial<{ MAX_FEATURES as usize }, U>,
    chance: Sampler<Xoshiro256PlusPlus>,
    /// Looks seen so far.
    looks: u8,
    /// Looks before half.
    early_looks: u8,
    /// The trailing arms of the features that settled before half, and the count of the first look
    /// at which one did.
    trailing: [Option<Arm>; MAX_FEATURES as usize],
    settled_at: Option<u32>,
    /// The count of the look at which each feature settled, half included.
    settled: [Option<u32>; MAX_FEATURES as usize],
    /// Whether the estimates of reports are kept, and those so far.
    keeps_reports: bool,
    reports: Vec<Vec<Option<Estimate>>>,
}

/// Room for waiting patients: little where outcomes come at once, more where they come late, the
/// most where [`LATE`] is not enough for the longest delay.
const AT_ONCE: usize = 128;
const LATE: usize = 2048;
const LATEST: usize = 16_384;
const _: () = assert!(super::delays::MAX_DELAY + 1 < LATEST as u32);

impl<const U: usize> Core<U> {
    fn new(plan: Plan, coins: Xoshiro256PlusPlus, keeps_reports: bool) -> Self {
        match Trial::new(plan) {
            Ok(trial) => {
                let planned = looks(&plan);
                Self {
                    trial,
                    chance: Sampler::new(coins),
                    looks: 0,
                    early_looks: planned.filter(|count| *count < plan.half()).count() as u8,
                    trailing: [None; MAX_FEATURES as usize],
                    settled_at: None,
                    settled: [None; MAX_FEATURES as usize],
                    keeps_reports,
                    reports: Vec::new(),
                }
            }
            Err(error) => Self::impossible(error),
        }
    }

    /// Notes what a look has settled.
    fn watch(&mut self) {
        if self.trial.looks() != self.looks {
            self.note();
        }
    }

    #[cold]
    fn note(&mut self) {
        self.looks = self.trial.looks();
        let plan = self.trial.plan();
        let count = looks(plan).nth(usize::from(self.looks - 1));
        if self.keeps_reports && count.is_some_and(|count| count > plan.half()) {
            let each = (0..plan.features()).map(|feature| self.trial.estimate(feature));
            self.reports.push(each.collect());
        }
        for (feature, settled) in (0..plan.features()).zip(&mut self.settled) {
            if settled.is_none() && self.trial.leading(feature).is_some() {
                *settled = count;
            }
        }
        if self.looks > self.early_looks {
            return;
        }
        for (feature, trailing) in (0..).zip(&mut self.trailing) {
            *trailing = self.trial.leading(feature).map(Arm::other);
        }
        if self.settled_at.is_none() && self.trailing.iter().any(Option::is_some) {
            self.settled_at = count;
        }
    }

    /// The stage sends no more than `U` waiting patients, none beyond the horizon and no unknown
    /// feature.
    #[cold]
    fn impossible(error: TrialError) -> ! {
        panic!("the core refused a legal simulated patient: {error:?}")
    }
}

impl<const U: usize> Player for Core<U> {
    fn assign(&mut self, feature: u8) -> Arm {
        let arm = self.trial.assign(feature, None, &mut self.chance);
        self.watch();
        match arm {
            Ok(arm) => arm,
            Err(error) => Self::impossible(error),
        }
    }

    fn outcome(&mut self, patient: u32, _feature: u8, _arm: Arm, y: Option<u16>) {
        let done = match y {
            Some(y) => self.trial.outcome(patient, y, &mut self.chance),
            None => self.trial.lost(patient, &mut self.chance),
        };
        self.watch();
        if let Err(error) = done {
            Self::impossible(error);
        }
    }

    fn at_once(&mut self, _next: u32, _n: u32, patients: &mut impl AtOnce) -> u32 {
        let done = self.trial.at_once(patients, &mut self.chance);
        self.watch();
        match done {
            Ok(()) => self.trial.assigned(),
            Err(error) => Self::impossible(error),
        }
    }

    fn calm_until(&mut self) -> u32 {
        let patient = self.trial.calm_until(&mut self.chance);
        self.watch();
        patient
    }

    fn late(&mut self, patients: &mut impl Late) -> u32 {
        match self.trial.late(patients, &mut self.chance) {
            Ok(()) => self.trial.assigned(),
            Err(error) => Self::impossible(error),
        }
    }

    fn close(&mut self) {
        self.trial.close(&mut self.chance);
    }

    fn looks(&self) -> u8 {
        self.trial.looks()
    }

    fn estimate(&self, feature: u8) -> Option<Estimate> {
        self.trial.estimate(feature)
    }

    fn dropped(&self, feature: u8) -> Option<Arm> {
        self.trial.dropped(feature).or(self.trailing.get(usize::from(feature)).copied().flatten())
    }

    fn settled_at(&self) -> Option<u32> {
        self.settled_at
    }

    fn feature_settled_at(&self, feature: u8) -> Option<u32> {
        self.settled.get(usize::from(feature)).copied().flatten()
    }

    fn coins(&self, feature: u8) -> Option<u32> {
        let adapts = self.trial.plan().design() == DesignName::Interim;
        self.trial.coins(feature).filter(|_| adapts).map(|changes| changes + 1)
    }

    fn reports(&mut self) -> Vec<Vec<Option<Estimate>>> {
        core::mem::take(&mut self.reports)
    }
}

/// Everything that the runs of a scenario share.
pub(super) struct Stage {
    pub(super) plan: Plan,
    policy: Policy,
    pub(super) features: Features,
    pub(super) outcomes: Outcomes,
    pub(super) world: World,
    /// Critical values at the reports and at the close, if there is a boundary.
    repeated: Option<Repeated>,
    /// The planned effect of the futility boundary.
    planned: Option<f64>,
    seed: u64,
}

/// The generator of a stream of a run. The seed is hashed, so that the streams of neighbouring
/// seeds do not overlap; `seed_from_u64` spreads neighbouring numbers.
fn stream(seed: u64, run: u32, stream: u64) -> Xoshiro256PlusPlus {
    let base = SplitMix64::seed_from_u64(seed).next_u64();
    Xoshiro256PlusPlus::seed_from_u64(base.wrapping_add(u64::from(run) * 4 + stream))
}

const WORLD: u64 = 0;
const COINS: u64 = 1;
const DRAWS: u64 = 2;

impl Stage {
    pub fn new(scenario: &Scenario) -> Self {
        let (plan, world) = (scenario.plan, &scenario.world);
        Self {
            plan,
            policy: scenario.policy,
            features: Features::new(&world.arrivals, plan.features(), plan.patients()),
            outcomes: Outcomes::new(world, plan.scale(), plan.patients()),
            world: world.clone(),
            repeated: scenario.used_boundary().map(|kind| Repeated::new(kind, plan)),
            planned: scenario.futility(),
            seed: scenario.seed,
        }
    }

    /// Plays run number `run`.
    pub fn play(&self, run: u32) -> Run {
        let coins = stream(self.seed, run, COINS);
        let world = stream(self.seed, run, WORLD);
        let (plan, reports) = (self.plan, self.repeated.is_some());
        let plain = self.outcomes.is_plain() && self.world.is_prompt();
        match self.policy {
            Policy::Comparator(Comparator::ThompsonAipw) => {
                let player = Clipped::new(&self.plan, stream(self.seed, run, DRAWS));
                if plain { self.at_once(player, world) } else { self.by_calendar(player, world) }
            }
            Policy::Comparator(rule) => {
                let player =
                    Comparison::new(rule, &self.plan, coins, stream(self.seed, run, DRAWS));
                if plain { self.at_once(player, world) } else { self.by_calendar(player, world) }
            }
            Policy::Core if plain => {
                self.at_once(Core::<AT_ONCE>::new(plan, coins, reports), world)
            }
            Policy::Core if self.world.delay.to + 1 < LATE as u32 => {
                self.by_calendar(Core::<LATE>::new(plan, coins, reports), world)
            }
            Policy::Core => self.by_calendar(Core::<LATEST>::new(plan, coins, reports), world),
        }
    }

    /// Closes the trial and takes down how it ended.
    pub(super) fn end<P: Player>(&self, mut player: P, watch: &Watch) -> Run {
        player.close();
        let features =
            (0..self.plan.features()).zip(watch.patients).map(|(j, patients)| FeatureRun {
                patients,
                estimate: player.estimate(j),
                dropped: player.dropped(j),
                settled_at: player.feature_settled_at(j),
                coins: player.coins(j),
            });
        let features: Vec<FeatureRun> = features.collect();
        let last: Vec<_> = features.iter().map(|feature| feature.estimate).collect();
        let mut critical = self.repeated.as_ref().map_or_else(Vec::new, |it| it.critical(&last));
        let close = critical.pop().unwrap_or_default();
        let reports = player.reports().into_iter().zip(critical);
        let reports = reports.map(|(estimates, critical)| Report { estimates, critical });
        Run {
            features,
            first_drop: player.settled_at().or(watch.first_drop),
            reports: reports.collect(),
            planned: self.planned,
            critical: close,
        }
    }

    /// Yes/no outcomes that come before the next patient.
    fn at_once<P: Player>(&self, player: P, world: Xoshiro256PlusPlus) -> Run {
        // Known before the first patient, so that it need not be asked with every one.
        match self.features {
            Features::Even(features) => {
                self.plain(player, world, move |_, draw| Features::even(features, draw))
            }
            _ => self.plain(player, world, |patient, draw| self.features.draw(patient, draw)),
        }
    }

    fn plain<P: Player>(
        &self,
        mut player: P,
        world: Xoshiro256PlusPlus,
        arrivals: impl Fn(u32, u32) -> u8,
    ) -> Run {
        let mut features = [[PlainArm::default(); 2]; MAX_FEATURES as usize];
        for (j, feature) in (0..).zip(&mut features) {
            *feature = Arm::BOTH
                .map(|arm| PlainArm { threshold: self.outcomes.threshold(j, arm), patients: 0 });
        }
        let mut patients = Plain { arrivals, world, features, feature: 0, draw: 0 };
        let mut watch = Watch::default();
        let (mut taken, n) = (0, self.plan.patients());
        while taken < n {
            taken = player.at_once(taken + 1, n, &mut patients);
            watch.dropped(taken, patients.feature, &player);
        }
        watch.patients = patients.features.map(|arms| arms.map(|arm| arm.patients));
        self.end(player, &watch)
    }
}

/// Patients of one feature on one arm.
#[derive(Clone, Copy, Default)]
struct PlainArm {
    /// Their outcome is yes if a draw of 32 bits is below.
    threshold: u64,
    patients: u32,
}

/// Patients with yes/no outcomes that come at once, as the world draws them.
struct Plain<F> {
    /// The feature of a patient, from its number and a draw of 32 bits.
    arrivals: F,
    world: Xoshiro256PlusPlus,
    features: [[PlainArm; 2]; MAX_FEATURES as usize],
    /// The feature of the present patient, and the draw that decides its outcome.
    feature: u8,
    draw: u64,
}

impl<F: Fn(u32, u32) -> u8> AtOnce for Plain<F> {
    fn feature(&mut self, patient: u32) -> u8 {
        let word = self.world.next_u64();
        self.feature = (self.arrivals)(patient, word as u32);
        self.draw = word >> 32;
        self.feature
    }

    fn outcome(&mut self, arm: Arm) -> bool {
        let arm = arm.of_mut(&mut self.features[usize::from(self.feature % MAX_FEATURES)]);
        arm.patients += 1;
        self.draw < arm.threshold
    }
}
