//! Group-sequential boundaries on the shipping core: the chance of excluding 0 at any report.

use equipoise::chance::Sampler;
use equipoise::plan::Plan;
use equipoise::terms::Arm;
use equipoise::trial::{AtOnce, Trial};
use equipoise_study::boundaries::Kind;
use equipoise_study::boundaries::adjusted::{AdjustedRow, Effect, Looks, Simultaneous, adjust};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;

/// Patients of equally frequent features, whose outcome is a fair coin under both arms.
struct Null {
    world: Xoshiro256PlusPlus,
    features: u8,
}

impl AtOnce for Null {
    fn feature(&mut self, _: u32) -> u8 {
        (self.world.next_u64() % u64::from(self.features)) as u8
    }

    fn outcome(&mut self, _: Arm) -> bool {
        self.world.next_u64() >> 63 == 1
    }
}

/// |z| of every feature at every report and at the close.
fn statistics(plan: &Plan, run: u64) -> Vec<Vec<f64>> {
    let mut trial = Trial::<64, 128>::new(*plan).unwrap();
    let mut coins = Sampler::<Xoshiro256PlusPlus>::seed_from_u64(2 * run);
    let world = Xoshiro256PlusPlus::seed_from_u64(2 * run + 1);
    let mut patients = Null { world, features: plan.features() };
    let z = |trial: &Trial<64, 128>| -> Vec<f64> {
        let each = (0..plan.features()).map(|j| trial.estimate(j).unwrap());
        each.map(|e| e.effect.abs() / e.deviation).collect()
    };
    let (mut seen, mut looks) = (Vec::new(), 0);
    while trial.assigned() < plan.patients() {
        trial.at_once(&mut patients, &mut coins).unwrap();
        // A look is done with the patient after it, and estimates change at looks alone.
        if trial.looks() != looks {
            looks = trial.looks();
            if Looks::new(plan, looks.into(), None).fractions.len() > seen.len() {
                seen.push(z(&trial));
            }
        }
    }
    trial.close(&mut coins);
    let reports = Looks::new(plan, 0, Some(plan.patients())).fractions.len();
    seen.push(z(&trial));
    assert_eq!(seen.len(), reports);
    seen
}

/// Features without an effect exclude 0 at some report in 5 % +- 0.5 of the trials of `uniform`,
/// and in at most 6 % of `interim`, whose true information fractions are not the counts taken here;
/// without boundaries it is 8 to 12 %.
#[test]
fn any_look_error_is_the_level() {
    for design in ["uniform", "interim"] {
        for reports in [2, 4, 8] {
            let plan = format!(
                "design={design} features=4 patients=4000 better=high epsilon=1 reports={reports}"
            );
            let plan = Plan::parse(&plan).unwrap();
            let runs: Vec<_> =
                (0..3000).into_par_iter().map(|run| statistics(&plan, run)).collect();
            let fractions = Looks::new(&plan, 0, Some(plan.patients())).fractions;
            let share = |critical: &[f64]| {
                let any = |run: &Vec<Vec<f64>>| {
                    let crossed = |j: usize| run.iter().zip(critical).any(|(z, c)| z[j] > *c);
                    (0..4).filter(|j| crossed(*j)).count()
                };
                runs.iter().map(any).sum::<usize>() as f64 / (4 * runs.len()) as f64
            };
            let plain = share(&vec![1.96; fractions.len()]);
            let [fleming, pocock] = Kind::ALL.map(|k| share(&k.critical(0.05, &fractions, true)));
            println!(
                "{design} {reports}: plain {plain:.4} O'Brien-Fleming {fleming:.4} Pocock {pocock:.4}"
            );
            // Without boundaries the level is missed by seven standard errors and more.
            assert!(plain > 0.065, "{design} {reports} {plain}");
            // 12,000 features: a standard error of 0.2 %.
            let allowed = if design == "uniform" { 0.045..=0.055 } else { 0.03..=0.06 };
            for found in [fleming, pocock] {
                assert!(allowed.contains(&found), "{design} {reports} {found}");
            }
        }
    }
}

/// Holm's and Bonferroni's intervals hold all effects together in 95 % of trials, whatever they
/// are, and in at most 5 % one excludes 0 where there is no effect.
#[test]
fn simultaneous_intervals_hold_all() {
    let mut words = Xoshiro256PlusPlus::seed_from_u64(7);
    let mut normal = move || {
        let mut uniform = || (words.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        let (u, v) = (1.0 - uniform(), uniform());
        (-2.0 * u.ln()).sqrt() * (2.0 * std::f64::consts::PI * v).cos()
    };
    for truth in
        [[0.0; 4], [0.0, 0.0, 0.0, 0.5], [0.0, 0.5, 0.5, 0.5], [0.25; 4], [0.0, 0.25, 0.3, 0.5]]
    {
        for method in [Simultaneous::Bonferroni, Simultaneous::Holm] {
            let runs = 20_000;
            let (mut held, mut wrong) = (0, 0);
            for _ in 0..runs {
                let effect = |effect: &f64| Effect {
                    name: String::new(),
                    of_feature: true,
                    estimate: effect + 0.1 * normal(),
                    error: 0.1,
                };
                let effects: Vec<Effect> = truth.iter().map(effect).collect();
                let found = adjust(&effects, None, Some(method)).unwrap();
                let mut rows = found.rows.iter().zip(truth);
                let in_row =
                    |(row, effect): (&AdjustedRow, f64)| row.low <= effect && effect <= row.high;
                held += u32::from(rows.clone().all(in_row));
                wrong +=
                    u32::from(rows.any(|(row, effect)| effect == 0.0 && row.says == "excludes 0"));
            }
            let share = f64::from(held) / f64::from(runs);
            assert!(f64::from(wrong) / f64::from(runs) < 0.055, "{truth:?} {method:?} {wrong}");
            println!("{truth:?} {method:?} {share:.4}");
            assert!(share > 0.945, "{truth:?} {method:?} {share}");
        }
    }
}
