//! Coverage of risk and odds ratios on the shipping core.

use equipoise::chance::Sampler;
use equipoise::plan::Plan;
use equipoise::trial::Trial;
use equipoise_study::ratios::{Ratio, ratios};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;

use crate::operating::is_long;

/// Plan and the probabilities of the outcome under both arms.
const SETTINGS: [(&str, [f64; 2]); 12] = [
    ("features=4 patients=4000 epsilon=1 alpha=1/4", [0.35, 0.45]),
    ("features=4 patients=4000 epsilon=1 alpha=1/4", [0.35, 0.65]),
    ("features=4 patients=4000 epsilon=1 alpha=0", [0.5, 0.5]),
    ("features=4 patients=2000 epsilon=1 alpha=1/4 reports=3", [0.6, 0.3]),
    ("features=2 patients=1000 epsilon=2 alpha=1/10", [0.2, 0.3]),
    ("features=1 patients=1000 epsilon=1/2 alpha=0", [0.3, 0.5]),
    ("features=2 patients=4000 epsilon=2 alpha=1/2", [0.8, 0.9]),
    ("features=2 patients=8000 epsilon=4 alpha=1/4", [0.05, 0.1]),
    ("features=1 patients=600 epsilon=1 alpha=1/4 reports=1", [0.4, 0.4]),
    ("design=uniform features=4 patients=2000 epsilon=1 reports=3", [0.35, 0.5]),
    ("design=uniform features=2 patients=2000 epsilon=1/5", [0.3, 0.3]),
    ("design=uniform features=1 patients=400 epsilon=1", [0.15, 0.35]),
];

/// Shares of features whose intervals hold the true risk ratio and the true odds ratio.
fn coverage(plan: Plan, rates: [f64; 2], features: u64) -> [f64; 2] {
    let odds = rates.map(|rate| rate / (1.0 - rate));
    let truth = [rates[1] / rates[0], odds[1] / odds[0]];
    let holds = |ratio: Ratio, truth: f64| (ratio.low..=ratio.high).contains(&truth);
    let play = |run: u64| {
        let mut trial = Trial::<8, 8>::new(plan).unwrap();
        let mut coins = Sampler::<Xoshiro256PlusPlus>::seed_from_u64(2 * run);
        let mut world = Xoshiro256PlusPlus::seed_from_u64(2 * run + 1);
        for patient in 1..=plan.patients() {
            let word = world.next_u64();
            let feature = (word as u32 % u32::from(plan.features())) as u8;
            let arm = trial.assign(feature, None, &mut coins).unwrap();
            let yes = ((word >> 32) as f64) < arm.of(rates) * 4_294_967_296.0;
            trial.outcome(patient, yes.into(), &mut coins).unwrap();
        }
        trial.close(&mut coins);
        (0..plan.features()).fold([0_u64; 2], |[risk, odds], feature| {
            let estimate = trial.estimate(feature).unwrap();
            let basis = estimate.basis.unwrap();
            let found = ratios(&plan, estimate.effect, estimate.deviation, &basis).unwrap();
            [
                risk + u64::from(holds(found.risk, truth[0])),
                odds + u64::from(holds(found.odds, truth[1])),
            ]
        })
    };
    let runs = features.div_ceil(plan.features().into());
    let add = |[a, b]: [u64; 2], [c, d]: [u64; 2]| [a + c, b + d];
    let held = (0..runs).into_par_iter().map(play).reduce(|| [0; 2], add);
    held.map(|held| held as f64 / (runs * u64::from(plan.features())) as f64)
}

/// Intervals of risk and odds ratio hold the truth in 93 to 99 % at 12 settings. (1,000 features in
/// the short version: a standard error of 0.7 %, so that 91 % pass there; 8,000 in the long one.)
#[test]
fn ratios_hold_the_truth() {
    for (text, rates) in SETTINGS {
        let plan = Plan::parse(&format!("{text} better=high")).unwrap();
        let (features, allowed) =
            if is_long() { (8000, 0.93..=0.99) } else { (1000, 0.91..=0.997) };
        let [risk, odds] = coverage(plan, rates, features);
        println!("{text} {rates:?}: risk {:.1} %, odds {:.1} %", 100.0 * risk, 100.0 * odds);
        assert!(allowed.contains(&risk) && allowed.contains(&odds), "{text} {risk} {odds}");
    }
}
