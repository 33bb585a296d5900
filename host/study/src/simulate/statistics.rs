//! Sums over the runs of a simulation; [`super::summary`] makes figures of them.
//!
//! Every real figure of a run is rounded once to a fixed grid and summed as an integer, so sums do
//! not depend on the order of the runs: threads and shards give the same bits as one loop. Regret
//! is kept in units of 2^-20 patients, everything about estimates in units of 2^-44. With at most
//! 10^6 runs, 10^7 patients, 64 features and errors of at most 2 every sum of squares stays below
//! 2^127.
//!
//! The **overall effect** of a run is that of a report: the mean of the estimates weighted by their
//! (noisy) numbers of outcomes ([`overall`]). It estimates the mean effect over the patients of the
//! run whose feature has an estimate.
//!
//! With a **boundary** a feature has a repeated interval at every report and at the close. It
//! excludes 0 if any of them does, on the wrong side if any does there, and holds the effect if all
//! of them do; its width is that of the last. Errors are those of the last estimate. It crosses the
//! **futility** boundary if any of them excludes the planned effect on the side of 0.

use super::Scenario;
use super::digits;
use super::instance::Instance;
use equipoise::estimate::{Estimate, Z95};
use equipoise::plan::Better;
use equipoise::terms::Arm;

/// One unit of regret.
pub(super) const REGRET: f64 = (1u64 << 20) as f64;
/// One unit of an error, a squared error or a width.
pub(super) const ERROR: f64 = (1u64 << 44) as f64;

/// Results of one feature in one run.
#[derive(Clone, Copy, Debug, Default)]
pub struct FeatureRun {
    /// Patients per arm.
    pub patients: [u32; 2],
    /// The estimate, if there is one.
    pub estimate: Option<Estimate>,
    /// The arm dropped before half (`conse`, `dp-conse`, comparators), or for `interim` the
    /// trailing arm of a feature that settled before half.
    pub dropped: Option<Arm>,
    /// The count of resolved patients at the look at which it settled (`interim`), half included.
    pub settled_at: Option<u32>,
    /// Coins its patients were assigned by so far, where the design reports them.
    pub coins: Option<u32>,
}

/// Results of one run.
#[derive(Clone, Debug)]
pub struct Run {
    /// Every feature.
    pub features: Vec<FeatureRun>,
    /// Patients assigned when the first arm was dropped anywhere; for `interim` the count of
    /// resolved patients at which the first feature settled before half.
    pub first_drop: Option<u32>,
    /// Reports before the last, if a boundary makes them count.
    pub reports: Vec<Report>,
    /// The planned effect, if a boundary has one.
    pub planned: Option<f64>,
    /// Widths of the intervals at the close.
    pub critical: Critical,
}

/// A report before the last.
#[derive(Clone, Debug)]
pub struct Report {
    /// Every feature's estimate, where there is one.
    pub estimates: Vec<Option<Estimate>>,
    /// Widths of the intervals.
    pub critical: Critical,
}

/// Standard errors on either side of an interval. The default is that of 95 % intervals.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Critical {
    /// Of each feature, where they differ from the default.
    pub features: Vec<f64>,
    /// Of the overall effect, likewise.
    pub overall: Option<f64>,
}

impl Critical {
    /// The value of a feature.
    #[must_use]
    pub fn of(&self, feature: usize) -> f64 {
        self.features.get(feature).copied().unwrap_or(Z95)
    }

    /// The value of the overall effect.
    #[must_use]
    pub fn overall(&self) -> f64 {
        self.overall.unwrap_or(Z95)
    }
}

impl Run {
    /// Several trials as one: patients are added, estimates weighted by their precision. An arm
    /// counts as dropped if it was at the first site.
    #[must_use]
    pub fn pooled(parts: &[Self]) -> Self {
        let features = parts.iter().map(|run| run.features.len()).max().unwrap_or(0);
        let feature = |j: usize| {
            let sites = || parts.iter().filter_map(move |run| run.features.get(j));
            let (mut top, mut weights, mut outcomes) = (0.0, 0.0, 0.0);
            for estimate in sites().filter_map(|site| site.estimate) {
                let weight = 1.0 / estimate.deviation.powi(2);
                (top, weights) = (top + weight * estimate.effect, weights + weight);
                outcomes += estimate.patients;
            }
            let whole = || Estimate::new(top / weights, (1.0 / weights).sqrt(), outcomes);
            let patients = sites().fold([0; 2], |[a, b], site| {
                let [zero, one] = site.patients;
                [a + zero, b + one]
            });
            let dropped = sites().next().and_then(|site| site.dropped);
            let estimate = (weights > 0.0).then(whole);
            FeatureRun { patients, estimate, dropped, settled_at: None, coins: None }
        };
        let first_drop = parts.first().and_then(|run| run.first_drop);
        let features = (0..features).map(feature).collect();
        let critical = Critical::default();
        Self { features, first_drop, reports: Vec::new(), planned: None, critical }
    }
}

/// Sums over runs for one feature.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct FeatureSums {
    /// Patients.
    pub patients: u64,
    /// Patients on the worse arm.
    pub worse: u64,
    /// Runs with an estimate.
    pub estimates: u64,
    /// Errors towards the true effect, in units of 2^-44.
    #[serde(with = "digits")]
    pub error: i128,
    /// Squared errors, in units of 2^-44.
    #[serde(with = "digits")]
    pub square: i128,
    /// Widths of the intervals, in units of 2^-44.
    #[serde(with = "digits")]
    pub width: i128,
    /// Intervals that hold the true effect.
    pub covered: u64,
    /// Intervals that exclude 0.
    pub excluded: u64,
    /// Intervals that exclude 0 on the wrong side of it.
    pub wrong_side: u64,
    /// Runs in which an arm was dropped, or the feature settled before half.
    pub dropped: u64,
    /// Runs in which that was the better arm.
    pub wrong: u64,
    /// Estimates whose futility boundary was crossed at a report or at the close.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub futile: u64,
}

/// Whether nothing was counted: files without a boundary have no such member.
#[allow(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde asks for")]
const fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// How an effect is counted: its true value, and the planned one for futility.
#[derive(Clone, Copy)]
struct Truth {
    effect: f64,
    planned: Option<f64>,
}

impl FeatureSums {
    fn merge(&mut self, other: &Self) {
        self.patients += other.patients;
        self.worse += other.worse;
        self.estimates += other.estimates;
        self.error += other.error;
        self.square += other.square;
        self.width += other.width;
        self.covered += other.covered;
        self.excluded += other.excluded;
        self.wrong_side += other.wrong_side;
        self.dropped += other.dropped;
        self.wrong += other.wrong;
        self.futile += other.futile;
    }

    /// Counts an estimate of `effect` and its intervals, the last of which is that of the close;
    /// returns its squared error on the grid.
    fn count(&mut self, estimate: &Estimate, intervals: &[(f64, f64)], truth: Truth) -> i128 {
        let Truth { effect, planned } = truth;
        let error = estimate.effect - effect;
        let square = on_grid(error * error, ERROR);
        self.estimates += 1;
        self.error += on_grid(if effect < 0.0 { -error } else { error }, ERROR);
        self.square += square;
        let any = |is: fn(f64, f64) -> bool| intervals.iter().any(|(low, high)| is(*low, *high));
        let (above, below) = (any(|low, _| low > 0.0), any(|_, high| high < 0.0));
        self.width += intervals.last().map_or(0, |(low, high)| on_grid(high - low, ERROR));
        let held = intervals.iter().all(|(low, high)| (*low..=*high).contains(&effect));
        self.covered += u64::from(held);
        self.excluded += u64::from(above || below);
        self.wrong_side += u64::from(above && effect < 0.0 || below && effect > 0.0);
        let futile = planned.is_some_and(|planned| {
            let short = |(low, high): &(f64, f64)| {
                planned > 0.0 && *high < planned || planned < 0.0 && *low > planned
            };
            intervals.iter().any(short)
        });
        self.futile += u64::from(futile);
        square
    }
}

/// Sums over runs.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Sums {
    #[serde(skip)]
    pub(super) effects: Vec<f64>,
    #[serde(skip)]
    pub(super) patients: u32,
    /// Whether futility is counted: there is a boundary and a planned effect.
    #[serde(skip)]
    pub(super) has_futility: bool,
    /// Whether smaller outcomes are the better ones.
    #[serde(skip)]
    is_low_better: bool,
    /// Runs.
    pub runs: u64,
    /// Per feature.
    pub features: Vec<FeatureSums>,
    /// The overall effect; patients and drops are not counted here.
    pub overall: FeatureSums,
    /// Runs with an interval that excludes 0 where there is no effect, or on the wrong side of it.
    pub any_error: u64,
    /// First moments of regret, squared error, estimates, intervals that hold the effect,
    /// that exclude 0, and that do so on the wrong side, each summed over the features of a run;
    /// then their second moments, the upper triangle row by row.
    #[serde(with = "digits::list")]
    pub(super) moments: [i128; MOMENTS],
    /// Runs in which an arm was dropped, or a feature settled before half.
    pub drops: u64,
    /// Total patients before the first drop, over the runs in `drops`.
    pub first_drop: u64,
}

/// The overall effect, as a report makes it: the mean weighted by outcomes, in whole numbers; none
/// without outcomes.
fn overall(each: impl Iterator<Item = Option<Estimate>>) -> Option<Estimate> {
    let (mut effect, mut variance, mut outcomes) = (0.0, 0.0, 0.0);
    for estimate in each.flatten() {
        let weight = estimate.patients.round().max(0.0);
        effect += weight * estimate.effect;
        variance += (weight * estimate.deviation).powi(2);
        outcomes += weight;
    }
    (outcomes > 0.0).then(|| Estimate::new(effect / outcomes, variance.sqrt() / outcomes, outcomes))
}

/// Figures of a run whose moments are kept.
pub(super) const KEPT: usize = 6;
pub(super) const MOMENTS: usize = KEPT + KEPT * (KEPT + 1) / 2;

fn on_grid(value: f64, unit: f64) -> i128 {
    (value * unit).round() as i128
}

impl Sums {
    /// No runs yet.
    #[must_use]
    pub fn new(instance: &Instance, patients: u32) -> Self {
        let effects: Vec<f64> = instance.effects().collect();
        let features = vec![FeatureSums::default(); effects.len()];
        Self {
            effects,
            patients,
            has_futility: false,
            is_low_better: false,
            runs: 0,
            features,
            overall: FeatureSums::default(),
            any_error: 0,
            moments: [0; MOMENTS],
            drops: 0,
            first_drop: 0,
        }
    }

    /// No runs of this scenario yet.
    #[must_use]
    pub fn of(scenario: &Scenario) -> Self {
        let has_futility = scenario.futility().is_some();
        let sums = Self::new(&scenario.world.instance, scenario.plan.patients());
        let is_low_better = scenario.plan.better() == Better::Low;
        Self { has_futility, is_low_better, ..sums }
    }

    /// Gives sums that were read from a file what they were made with.
    pub(super) fn restore(&mut self, instance: &Instance, patients: u32, has_futility: bool) {
        (self.effects, self.patients) = (instance.effects().collect(), patients);
        self.has_futility = has_futility;
    }

    /// Adds one run.
    pub fn add(&mut self, run: &Run) {
        let (mut regret, mut squares, mut any_error) = (0.0, 0, false);
        let before_run = self.estimated();
        for (j, ((sums, feature), effect)) in
            self.features.iter_mut().zip(&run.features).zip(&self.effects).enumerate()
        {
            let better = Arm::from_bit((*effect > 0.0) != self.is_low_better);
            let has_gap = *effect != 0.0;
            sums.patients += feature.patients.map(u64::from).iter().sum::<u64>();
            if has_gap {
                let worse = better.other().of(feature.patients);
                sums.worse += u64::from(worse);
                regret += f64::from(worse) * effect.abs();
            }
            sums.dropped += u64::from(feature.dropped.is_some());
            sums.wrong += u64::from(has_gap && feature.dropped == Some(better));
            if let Some(estimate) = feature.estimate {
                let before = (sums.excluded, sums.wrong_side);
                let earlier = run.reports.iter().filter_map(|report| {
                    Some(report.estimates.get(j)?.as_ref()?.interval(report.critical.of(j)))
                });
                let intervals: Vec<_> =
                    earlier.chain([estimate.interval(run.critical.of(j))]).collect();
                let truth = Truth { effect: *effect, planned: run.planned };
                squares += sums.count(&estimate, &intervals, truth);
                let error =
                    if has_gap { sums.wrong_side > before.1 } else { sums.excluded > before.0 };
                any_error |= error;
            }
        }
        self.add_overall(run);
        let now = self.estimated();
        let [e, c, x, w] = core::array::from_fn(|i| i128::from(now[i] - before_run[i]));
        let kept = [on_grid(regret, REGRET), squares, e, c, x, w];
        let pairs =
            kept.iter().enumerate().flat_map(|(i, a)| kept.iter().skip(i).map(move |b| a * b));
        for (moment, value) in self.moments.iter_mut().zip(kept.into_iter().chain(pairs)) {
            *moment += value;
        }
        self.runs += 1;
        self.any_error += u64::from(any_error);
        self.drops += u64::from(run.first_drop.is_some());
        self.first_drop += u64::from(run.first_drop.unwrap_or(0));
    }

    /// Estimates so far, and how many of their intervals hold the effect, exclude 0, and exclude
    /// it on the wrong side.
    fn estimated(&self) -> [u64; 4] {
        self.features.iter().fold([0; 4], |[e, c, x, w], f| {
            [e + f.estimates, c + f.covered, x + f.excluded, w + f.wrong_side]
        })
    }

    fn add_overall(&mut self, run: &Run) {
        let Some(last) = overall(run.features.iter().map(|feature| feature.estimate)) else {
            return;
        };
        let earlier = run.reports.iter().filter_map(|report| {
            let estimate = overall(report.estimates.iter().copied())?;
            Some(estimate.interval(report.critical.overall()))
        });
        let intervals: Vec<_> = earlier.chain([last.interval(run.critical.overall())]).collect();
        let (mut effect, mut patients) = (0.0, 0.0);
        let each = run.features.iter().zip(&self.effects);
        for (feature, true_effect) in each.filter(|(feature, _)| feature.estimate.is_some()) {
            let weight: f64 = feature.patients.map(f64::from).iter().sum();
            (effect, patients) = (effect + weight * true_effect, patients + weight);
        }
        let effect = if patients > 0.0 { effect / patients } else { 0.0 };
        // Rounding must not make an effect of none.
        let effect = if effect.abs() < 1e-12 { 0.0 } else { effect };
        self.overall.count(&last, &intervals, Truth { effect, planned: run.planned });
    }

    /// The sums of two disjoint sets of runs of one scenario.
    #[must_use]
    pub fn merge(mut self, other: Self) -> Self {
        self.runs += other.runs;
        for (to, from) in self.features.iter_mut().zip(&other.features) {
            to.merge(from);
        }
        self.overall.merge(&other.overall);
        self.any_error += other.any_error;
        for (to, from) in self.moments.iter_mut().zip(&other.moments) {
            *to += from;
        }
        self.drops += other.drops;
        self.first_drop += other.first_drop;
        self
    }
}
