//! Operating characteristics with fixed seeds: what the designs cost and what their intervals are worth.
//!
//! Expected values and reasons are those of the table printed by each test; tolerances are generous, several
//! standard errors of the runs made here.

use equipoise::chance::Sampler;
use equipoise::design::Arm;
use equipoise::plan::Plan;
use equipoise::trial::Trial;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// How outcomes are made from a mean.
#[derive(Clone, Copy)]
enum Outcomes {
    YesNo,
    /// Uniform within +-0.2 of the mean, on the plan's scale.
    Graded,
}

#[derive(Debug, Default)]
struct Found {
    regret: f64,
    /// Mean squared error over features with an estimate.
    mse: f64,
    bias: f64,
    coverage: f64,
    estimates: f64,
    drops: f64,
    wrong_drops: f64,
}

/// `runs` trials of the shipping core; every outcome comes before the next patient.
fn simulate(plan: &str, p: [f64; 2], outcomes: Outcomes, runs: u64) -> Found {
    let plan = Plan::parse(plan).unwrap();
    let m = u64::from(plan.features());
    let better = Arm::from_bit(p[1] > p[0]);
    let gap = (p[1] - p[0]).abs();
    let mut found = Found::default();
    for run in 0..runs {
        let mut world = Xoshiro256PlusPlus::seed_from_u64(run);
        let mut chance = Sampler::<Xoshiro256PlusPlus>::seed_from_u64(run ^ (1 << 40));
        let mut uniform = || (world.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        let mut trial = Trial::<64, 8>::new(plan).unwrap();
        for patient in 1..=plan.patients() {
            let feature = (uniform() * m as f64) as u8;
            let arm = trial.assign(feature, None, &mut chance).unwrap();
            found.regret += if arm == better { 0.0 } else { gap };
            let mean = p[arm.index()];
            let y = match outcomes {
                Outcomes::YesNo => u16::from(uniform() < mean) * plan.scale(),
                Outcomes::Graded => {
                    ((mean + 0.4 * (uniform() - 0.5)) * f64::from(plan.scale())).round() as u16
                }
            };
            trial.outcome(patient, y, &mut chance).unwrap();
        }
        trial.close(&mut chance);
        for feature in 0..plan.features() {
            if let Some(dropped) = trial.dropped(feature) {
                found.drops += 1.0;
                found.wrong_drops += f64::from(u8::from(dropped == better));
            }
            if let Some(estimate) = trial.estimate(feature) {
                let truth = p[1] - p[0];
                found.estimates += 1.0;
                found.bias += estimate.effect - truth;
                found.mse += (estimate.effect - truth).powi(2);
                found.coverage += f64::from(u8::from(estimate.low() <= truth && truth <= estimate.high()));
            }
        }
    }
    found.regret /= runs as f64;
    for sum in [&mut found.mse, &mut found.bias, &mut found.coverage] {
        *sum /= found.estimates;
    }
    found.drops /= (runs * m) as f64;
    found.wrong_drops /= (runs * m) as f64;
    found.estimates /= (runs * m) as f64;
    found
}

const PAPER_SIZE: &str = "features=10 patients=20000 alpha=1/4 epsilon=1";

#[test]
fn at_realistic_size_dp_conse_is_a_uniform_trial_and_interim_is_not() {
    let p = [0.35, 0.65];
    // 20,000 patients, half of them on the arm that is worse by 0.3.
    let uniform_regret = 3000.0;
    let dp = simulate(&format!("design=dp-conse {PAPER_SIZE}"), p, Outcomes::YesNo, 40);
    let interim = simulate(&format!("design=interim {PAPER_SIZE}"), p, Outcomes::YesNo, 100);
    let criterion = interim.regret * interim.mse / 10.0;
    println!("| design | regret | share of uniform | MSE | regret*MSE/M | arms dropped | coverage |");
    println!("|---|---|---|---|---|---|---|");
    for (name, f) in [("dp-conse", &dp), ("interim", &interim)] {
        println!(
            "| {name} | {:.0} | {:.3} | {:.5} | {:.3} | {:.3} | {:.3} |",
            f.regret,
            f.regret / uniform_regret,
            f.mse,
            f.regret * f.mse / 10.0,
            f.drops,
            f.coverage
        );
    }
    assert_eq!(dp.drops, 0.0);
    assert!((dp.regret / uniform_regret - 1.0).abs() < 0.02, "{dp:?}");
    assert!(interim.regret <= 0.20 * uniform_regret, "{interim:?}");
    assert!(criterion <= 0.21, "{criterion}");
    assert_eq!(interim.wrong_drops, 0.0);
}

#[test]
fn the_better_arm_is_dropped_with_probability_at_most_beta_at_a_gap_that_cannot_be_seen() {
    let found = simulate(PAPER_SIZE, [0.499, 0.501], Outcomes::YesNo, 200);
    println!("wrong drops {:.4}, all drops {:.4}, beta 0.05", found.wrong_drops, found.drops);
    assert!(found.wrong_drops <= 0.05, "{found:?}");
    // The test is not vacuous: with beta close to 1 arms are dropped.
    let careless = simulate(&format!("{PAPER_SIZE} beta=9/10"), [0.499, 0.501], Outcomes::YesNo, 40);
    assert!(careless.drops > found.drops + 0.02, "{careless:?}");
}

#[test]
fn intervals_of_yes_no_outcomes_cover_the_truth_95_times_in_100() {
    for (plan, p) in [
        ("features=10 patients=20000 alpha=1/4 epsilon=1", [0.35, 0.65]),
        ("features=4 patients=4000 alpha=1/4 epsilon=1", [0.35, 0.65]),
        ("features=5 patients=20000 alpha=1/2 epsilon=2 reports=2", [0.6, 0.45]),
    ] {
        let found = simulate(plan, p, Outcomes::YesNo, 300);
        println!("{plan} {p:?}: coverage {:.4}, bias {:.5}", found.coverage, found.bias);
        assert!((0.93..=0.97).contains(&found.coverage), "{plan}: {found:?}");
        assert_eq!(found.estimates, 1.0);
        assert!(found.bias.abs() < 0.006, "{plan}: {found:?}");
    }
}

#[test]
fn intervals_of_graded_outcomes_cover_the_truth_at_least_95_times_in_100() {
    let plan = "features=10 patients=20000 scale=100 alpha=1/4 epsilon=1";
    let found = simulate(plan, [0.35, 0.65], Outcomes::Graded, 60);
    println!("{plan}: coverage {:.4}, bias {:.5}", found.coverage, found.bias);
    assert!(found.coverage >= 0.95, "{found:?}");
}

#[test]
fn dp_conse_intervals_cover_the_truth_at_least_95_times_in_100() {
    let plan = "design=dp-conse features=4 patients=4000 alpha=1/4 epsilon=1";
    let found = simulate(plan, [0.35, 0.65], Outcomes::YesNo, 200);
    println!("{plan}: coverage {:.4}, bias {:.5}", found.coverage, found.bias);
    assert!(found.coverage >= 0.95, "{found:?}");
}
