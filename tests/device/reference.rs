//! The shipping `interim` and `uniform` agree with a plain transcription of the design, arm by arm;
//! and the transcription gives the figures that the design promises.
//!
//! The expected figures come from another simulator. Their standard error is about 2.5 % for a mean
//! squared error and below 0.5 % for a regret; tolerances are four standard errors of both sides.

mod agreement;
use crate::common::count;
use crate::common::transcription;

use equipoise::chance::{Chance, Fraction, Sampler};
use equipoise::plan::{DesignName, Plan};
use equipoise::trial::Trial;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;
use transcription::Transcription;

/// A standard error of the expected mean squared errors, as a share of their value.
const MSE_ERROR: f64 = 0.025;

/// Figures of a setting, on average over trials and features.
#[derive(Clone, Copy, Debug, Default)]
struct Found {
    regret: f64,
    mse: f64,
    covered: f64,
    /// Share of intervals that exclude 0.
    excluded: f64,
    width: f64,
}

impl Found {
    fn plus(self, other: Self) -> Self {
        Self {
            regret: self.regret + other.regret,
            mse: self.mse + other.mse,
            covered: self.covered + other.covered,
            excluded: self.excluded + other.excluded,
            width: self.width + other.width,
        }
    }

    fn over(self, trials: f64, features: f64) -> Self {
        let estimates = trials * features;
        Self {
            regret: self.regret / trials,
            mse: self.mse / estimates,
            covered: self.covered / estimates,
            excluded: self.excluded / estimates,
            width: self.width / estimates,
        }
    }
}

/// A plan, the two success rates, and by how many patients outcomes are late.
struct Setting {
    plan: &'static str,
    rates: [f64; 2],
    delay: usize,
    /// An outcome is the mean of this many coins.
    coins: u32,
}

fn yes_no(plan: &'static str, rates: [f64; 2]) -> Setting {
    Setting { plan, rates, delay: 0, coins: 1 }
}

/// Runs `trials` of a setting with fixed seeds.
fn simulate(setting: &Setting, trials: u64) -> Found {
    let (uniform, words) = match setting.plan.strip_prefix("uniform ") {
        Some(words) => (true, words),
        None => (false, setting.plan),
    };
    let plan = Plan::parse(&format!("{words} better=high")).unwrap();
    let sum = (0..trials).into_par_iter().map(|seed| one_trial(setting, &plan, !uniform, seed));
    sum.reduce(Found::default, Found::plus).over(trials as f64, f64::from(plan.features()))
}

fn one_trial(setting: &Setting, plan: &Plan, adaptive: bool, seed: u64) -> Found {
    let mut world = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut chance = Sampler::<Xoshiro256PlusPlus>::seed_from_u64(seed | 1 << 40);
    let mut uniform = || (world.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
    let mut trial = Transcription::new(plan, adaptive);
    let effect = setting.rates[1] - setting.rates[0];
    let (n, features) = (plan.patients() as usize, trial.features.len());
    let mut found = Found::default();
    let mut outcomes = Vec::with_capacity(n);
    for patient in 1..=n {
        let arm = trial.assign((uniform() * features as f64) as usize, &mut chance);
        found.regret += (effect * (1.0 - 2.0 * arm as f64)).max(0.0);
        let heads = (0..setting.coins).filter(|_| uniform() < setting.rates[arm]).count();
        outcomes.push((heads as u32 * u32::from(plan.scale()) / setting.coins) as u16);
        if patient > setting.delay {
            let resolved = patient - setting.delay;
            trial.outcome(resolved, outcomes[resolved - 1], &mut chance);
        }
    }
    for patient in n - setting.delay + 1..=n {
        trial.outcome(patient, outcomes[patient - 1], &mut chance);
    }
    assert!(trial.closed);
    for feature in 0..features {
        let estimate = trial.estimate(feature).unwrap();
        let half_width = 1.959_964 * estimate.error;
        found.mse += (estimate.effect - effect).powi(2);
        found.covered += f64::from(u8::from((estimate.effect - effect).abs() <= half_width));
        found.excluded += f64::from(u8::from(estimate.effect.abs() > half_width));
        found.width += 2.0 * half_width;
    }
    found
}

/// Regret and mean squared error of the published table, and coverage near 95 %. Requirement S6.
#[test]
fn table_of_regret_and_error() {
    let rows = [
        ("features=10 patients=20000 epsilon=1", 0, 300, 514.0, 0.00201),
        ("features=4 patients=4000 epsilon=1", 0, 1500, 165.0, 0.00292),
        ("features=4 patients=1000 epsilon=1", 0, 4000, 118.0, 0.00565),
        ("features=10 patients=20000 epsilon=1/2", 0, 200, 833.0, 0.00170),
        ("features=10 patients=20000 epsilon=2", 0, 200, 412.0, 0.00214),
        ("features=10 patients=20000 epsilon=1 alpha=1/2", 0, 200, 271.0, 0.00588),
        ("features=10 patients=20000 epsilon=1 alpha=0", 0, 200, 1763.0, 0.00059),
        ("features=10 patients=20000 epsilon=1", 500, 300, 594.0, 0.00191),
    ];
    println!(
        "| plan | delay | regret | MSE | regret*MSE/M | coverage |\n|---|---|---|---|---|---|"
    );
    for (plan, delay, trials, regret, mse) in rows {
        let found = simulate(&Setting { delay, ..yes_no(plan, [0.35, 0.65]) }, trials);
        let features = f64::from(Plan::parse(&format!("{plan} better=high")).unwrap().features());
        let product = found.regret * found.mse / features;
        println!(
            "| {plan} | {delay} | {:.1} | {:.5} | {product:.4} | {:.4} |",
            found.regret, found.mse, found.covered
        );
        assert!((found.regret / regret - 1.0).abs() < 0.02, "{plan}, {delay} late: {found:?}");
        let estimates = trials as f64 * features;
        let error = (MSE_ERROR.powi(2) + 2.0 / estimates).sqrt();
        assert!((found.mse / mse - 1.0).abs() < 4.0 * error, "{plan}, {delay} late: {found:?}");
        let error = (0.95f64 * 0.05 / estimates).sqrt();
        assert!(
            (found.covered - 0.95).abs() < 0.004 + 4.0 * error,
            "{plan}, {delay} late: {found:?}"
        );
    }
}

/// The share of intervals that exclude 0: power where there is an effect, else the type I error.
/// Requirement S6.
#[test]
fn table_of_power() {
    let rows = [
        ("features=4 patients=4000 epsilon=1", [0.35, 0.45], 500, 0.66),
        ("features=4 patients=4000 epsilon=1 alpha=0", [0.35, 0.45], 500, 0.85),
        ("uniform features=4 patients=4000 epsilon=1", [0.35, 0.45], 500, 0.89),
        ("features=4 patients=2000 epsilon=1", [0.35, 0.55], 1000, 0.93),
        ("uniform features=4 patients=2000 epsilon=1", [0.35, 0.55], 1000, 0.99),
        ("features=10 patients=20000 epsilon=1", [0.45, 0.55], 200, 0.86),
        ("uniform features=4 patients=1000 epsilon=1/2", [0.35, 0.65], 1000, 0.97),
        ("features=10 patients=20000 epsilon=1", [0.5, 0.5], 300, 0.053),
    ];
    println!("| plan | rates | intervals that exclude 0 | expected |\n|---|---|---|---|");
    for (plan, rates, trials, expected) in rows {
        let found = simulate(&yes_no(plan, rates), trials);
        println!("| {plan} | {rates:?} | {:.4} | {expected} |", found.excluded);
        // The other simulator's error, and its rounding to 1 %, count as much as ours.
        let error = (expected * (1.0 - expected) / (trials as f64 * 2.0)).sqrt();
        assert!((found.excluded - expected).abs() < 0.005 + 4.0 * error, "{plan}: {found:?}");
    }
}

/// Graded outcomes, each the mean of four coins: the interval uses their smaller variance.
#[test]
fn graded_outcomes_have_narrow_intervals() {
    for (plan, width) in [
        ("features=10 patients=20000 epsilon=1 scale=4", 0.114),
        ("features=10 patients=20000 epsilon=1 scale=100", 0.113),
    ] {
        let found = simulate(&Setting { coins: 4, ..yes_no(plan, [0.35, 0.65]) }, 100);
        println!("{plan}: width {:.4}, coverage {:.4}", found.width, found.covered);
        assert!((found.width / width - 1.0).abs() < 0.03, "{plan}: {found:?}");
        assert!((0.93..0.98).contains(&found.covered), "{plan}: {found:?}");
    }
}

/// A trial that closes before half, with a fifth of its outcomes lost, still has honest intervals.
/// Requirement S7.
#[test]
fn early_close_keeps_coverage() {
    let plan = Plan::parse("features=4 patients=4000 better=high epsilon=1").unwrap();
    let (rates, trials, enrolled) = ([0.35, 0.65], 1000, 1500);
    let mut covered = 0;
    for seed in 0..trials {
        let mut world = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut chance = Sampler::<Xoshiro256PlusPlus>::seed_from_u64(seed | 1 << 40);
        let mut uniform = || (world.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        let mut trial = Transcription::new(&plan, true);
        let mut recorded = 0;
        for patient in 1..=enrolled {
            let arm = trial.assign(patient % 4, &mut chance);
            if uniform() < 0.2 {
                trial.lost(patient, &mut chance);
            } else {
                recorded += 1;
                trial.outcome(patient, u16::from(uniform() < rates[arm]), &mut chance);
            }
        }
        trial.close(&mut chance);
        let noisy: f64 = (0..4).map(|feature| trial.patients(feature)).sum();
        assert!((noisy - f64::from(recorded)).abs() < 200.0, "{noisy} of {recorded} outcomes");
        for feature in 0..4 {
            let estimate = trial.estimate(feature).unwrap();
            covered += u32::from((estimate.effect - 0.3).abs() <= 1.959_964 * estimate.error);
        }
    }
    let covered = f64::from(covered) / (4 * trials) as f64;
    println!("coverage after a close before half: {covered:.4}");
    assert!((0.93..0.97).contains(&covered), "{covered}");
}

/// A weight chosen after its window was seen costs no privacy but coverage.
#[test]
fn peeking_at_windows_is_caught_by_coverage() {
    let plan =
        Plan::parse("features=4 patients=4000 better=high epsilon=1 alpha=0 close=auto").unwrap();
    let covered = |peeks: bool| {
        let one = |seed: u64| {
            let mut world = Xoshiro256PlusPlus::seed_from_u64(seed);
            let mut chance = Sampler::<Xoshiro256PlusPlus>::seed_from_u64(seed | 1 << 40);
            let mut trial = Transcription::new(&plan, true);
            trial.peeks = peeks;
            for patient in 1..=4000 {
                trial.assign(patient % 4, &mut chance);
                trial.outcome(patient, (world.next_u64() >> 63) as u16, &mut chance);
            }
            let holds = |j: &usize| {
                let estimate = trial.estimate(*j).unwrap();
                estimate.effect.abs() <= 1.959_964 * estimate.error
            };
            (0..4).filter(holds).count()
        };
        (0..500).into_par_iter().map(one).sum::<usize>() as f64 / 2000.0
    };
    let (sound, faulty) = (covered(false), covered(true));
    println!("coverage {sound:.3}, with weights chosen too late {faulty:.3}");
    assert!(sound > 0.93 && faulty < 0.9, "{sound} {faulty}");
}
