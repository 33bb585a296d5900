//! Group-sequential boundaries on the shipping core: the chance of excluding 0 at any report.

use equipoise::chance::Sampler;
use equipoise::design::schedule;
use equipoise::plan::Plan;
use equipoise::terms::Phase;
use equipoise::trial::Trial;
use equipoise_study::boundaries::Kind;
use equipoise_study::boundaries::adjusted::{
    AdjustedRow, Boundary, Effect, Looks, Simultaneous, adjust,
};
use equipoise_study::boundaries::course::Course;
use equipoise_study::simulate::{Instance, Scenario, run};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;

use crate::operating::is_long;

/// The share of features without an effect that exclude 0 at some report or at the close.
fn level(plan: &str, kind: Option<Kind>, runs: u32) -> f64 {
    let plan = Plan::parse(&format!("{plan} better=high")).unwrap();
    let instance = Instance::same(plan.features(), 0.5, 0.5);
    let scenario = Scenario { boundary: kind, ..Scenario::new(plan, instance, runs, 5) };
    run(&scenario).unwrap().excludes_0.unwrap().mean
}

/// Trials that run to their end, with the runs of the short and of the long version.
const LEVELS: [(&str, Kind, [u32; 2]); 12] = [
    (
        "design=uniform features=4 patients=4000 epsilon=1 reports=8",
        Kind::OBrienFleming,
        [2000, 10_000],
    ),
    ("design=uniform features=4 patients=4000 epsilon=1 reports=8", Kind::Pocock, [2000, 10_000]),
    ("features=4 patients=4000 epsilon=1 alpha=1/4 reports=2", Kind::OBrienFleming, [2000, 10_000]),
    ("features=4 patients=4000 epsilon=1 alpha=1/4 reports=2", Kind::Pocock, [2000, 10_000]),
    ("features=4 patients=4000 epsilon=1 alpha=0 reports=8", Kind::OBrienFleming, [0, 10_000]),
    ("features=4 patients=4000 epsilon=1 alpha=0 reports=8", Kind::Pocock, [2000, 10_000]),
    ("features=10 patients=100000 epsilon=1/10 alpha=0 reports=8", Kind::Pocock, [0, 2000]),
    ("features=10 patients=100000 epsilon=1/10 alpha=1/4 reports=8", Kind::Pocock, [0, 2000]),
    (
        "features=2 patients=2000 epsilon=1 alpha=1/10 reports=1",
        Kind::OBrienFleming,
        [4000, 20_000],
    ),
    ("features=2 patients=2000 epsilon=1 alpha=1/10 reports=1", Kind::Pocock, [4000, 20_000]),
    ("features=2 patients=8000 epsilon=1/2 alpha=1/10 reports=3", Kind::Pocock, [0, 10_000]),
    ("features=4 patients=1000 epsilon=1 alpha=1/4 reports=3", Kind::Pocock, [2000, 10_000]),
];

/// Features without an effect exclude 0 at some report in 4.5 to 5.5 % of the trials that run to
/// their end; 4 to 6 % in the short version, with 8,000 features and a standard error of 0.25 %.
#[test]
fn any_look_error_is_the_level() {
    let allowed = if is_long() { 0.045..=0.055 } else { 0.04..=0.06 };
    let mut wrong = Vec::new();
    for (plan, kind, runs) in LEVELS {
        let [short, long] = runs;
        let runs = if is_long() { long } else { short };
        if runs > 0 {
            let found = level(plan, Some(kind), runs);
            println!("{plan} {kind:?}: {:.2} %", 100.0 * found);
            wrong.extend((!allowed.contains(&found)).then_some((plan, kind, found)));
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}

/// A person who may close the trial and sees every look.
struct Closer {
    trial: Trial<8, 16>,
    coins: Sampler<Xoshiro256PlusPlus>,
    world: Xoshiro256PlusPlus,
    kind: Kind,
}

impl Closer {
    /// The next patient, whose outcome is a fair coin, and the look that is due then.
    fn patient(&mut self) {
        let word = self.world.next_u64();
        let feature = (word % u64::from(self.trial.plan().features())) as u8;
        let patient = self.trial.assigned() + 1;
        self.trial.assign(feature, None, &mut self.coins).unwrap();
        self.trial.outcome(patient, (word >> 63) as u16, &mut self.coins).unwrap();
        self.trial.look(&mut self.coins);
    }

    /// Whether each feature crosses the efficacy boundary now.
    fn crosses(&self) -> Vec<bool> {
        let plan = self.trial.plan();
        let is_closed = self.trial.phase() == Phase::Closed;
        let closed = is_closed.then(|| self.trial.resolved());
        let looks = Looks::new(plan, self.trial.looks().into(), closed);
        let boundary = Boundary { kind: self.kind, effect: None };
        let crosses = |feature: u8| {
            let Some(estimate) = self.trial.estimate(feature) else { return false };
            // No critical value is below that of a single look.
            if estimate.effect.abs() < 1.95 * estimate.deviation {
                return false;
            }
            let basis = estimate.basis.unwrap();
            let effect = Effect {
                name: String::new(),
                of_feature: true,
                estimate: estimate.effect,
                error: estimate.deviation,
                course: Some((Course::of(plan, &basis), basis.spent)),
            };
            let found = adjust(&[effect], Some((boundary, &looks)), None).unwrap();
            found.rows[0].says.starts_with("EFFICACY")
        };
        (0..plan.features()).map(crosses).collect()
    }

    /// Whether each feature is found to have an effect by a person who closes when that pays: after
    /// every look he knows what a close after one more patient would give.
    fn play(mut self) -> Vec<bool> {
        let mut found = vec![false; self.trial.plan().features().into()];
        let mut looks = 0;
        while self.trial.phase() != Phase::Closed {
            if self.trial.assigned() < self.trial.plan().patients() {
                self.patient();
            } else {
                self.trial.close(&mut self.coins);
            }
            if self.trial.looks() == looks {
                continue;
            }
            looks = self.trial.looks();
            let crosses = self.crosses();
            found.iter_mut().zip(crosses).for_each(|(found, crosses)| *found |= crosses);
            if self.trial.assigned() < self.trial.plan().patients() {
                let mut other = Self {
                    trial: self.trial.clone(),
                    coins: Sampler::seed_from_u64(self.world.clone().next_u64()),
                    world: self.world.clone(),
                    kind: self.kind,
                };
                other.patient();
                other.trial.close(&mut other.coins);
                found
                    .iter_mut()
                    .zip(other.crosses())
                    .for_each(|(found, crosses)| *found |= crosses);
            }
        }
        found
    }
}

/// The share of features without an effect that a [`Closer`] finds to have one.
fn found_by_closing(plan: Plan, kind: Kind, runs: u64) -> f64 {
    let play = |run: u64| {
        let closer = Closer {
            trial: Trial::new(plan).unwrap(),
            coins: Sampler::seed_from_u64(2 * run),
            world: Xoshiro256PlusPlus::seed_from_u64(2 * run + 1),
            kind,
        };
        closer.play().into_iter().filter(|found| *found).count()
    };
    let found: usize = (0..runs).into_par_iter().map(play).sum();
    found as f64 / (runs * u64::from(plan.features())) as f64
}

/// Closing when it pays gains little: at most 6.3 % of features without an effect are
/// found to have one, with 1, 3 or 8 reports. The short version takes 3 reports and 1,600 features
/// each (a standard error of 0.6 %, so 7.4 % are allowed; a close that spends all that is left of
/// the level has 8.9 %).
#[test]
fn closing_early_beats_no_boundary() {
    let (counts, runs, most): (&[u8], _, _) =
        if is_long() { (&[1, 3, 8], 2500, 0.063) } else { (&[3], 400, 0.074) };
    let mut wrong = Vec::new();
    for reports in counts {
        for kind in Kind::ALL {
            let text = format!("features=4 patients=4000 epsilon=1 alpha=1/4 reports={reports}");
            let plan = Plan::parse(&format!("{text} better=high")).unwrap();
            let found = found_by_closing(plan, kind, runs);
            println!("closed when it pays, {reports} reports, {kind:?}: {:.2} %", 100.0 * found);
            wrong.extend((found > most).then_some((text, kind, found)));
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}

/// The fractions that follow from a row are the weight that was spent at every report, but for the
/// rounding at half: the windows read count up, and at the end all is spent.
#[test]
fn fractions_are_the_weight_spent() {
    let mut compared = 0;
    for (text, runs) in [
        ("features=4 patients=4000 epsilon=1 alpha=1/4 reports=8", 20),
        ("features=2 patients=2000 epsilon=2 alpha=1/2 reports=3", 40),
        ("design=uniform features=2 patients=600 epsilon=1 reports=4", 10),
    ] {
        let plan = Plan::parse(&format!("{text} better=high")).unwrap();
        let to_half = schedule::looks(&plan).filter(|at| *at <= plan.half()).count();
        for run in 0..runs {
            let mut closer = Closer {
                trial: Trial::new(plan).unwrap(),
                coins: Sampler::seed_from_u64(2 * run),
                world: Xoshiro256PlusPlus::seed_from_u64(2 * run + 1),
                kind: Kind::Pocock,
            };
            let mut windows = vec![0; plan.features().into()];
            while closer.trial.assigned() < plan.patients() {
                closer.patient();
                let reports = usize::from(closer.trial.looks()).saturating_sub(to_half);
                for (feature, windows) in (0..).zip(&mut windows) {
                    let Some(estimate) = closer.trial.estimate(feature) else { continue };
                    let basis = estimate.basis.unwrap();
                    assert!(basis.windows >= *windows && basis.looks.count_ones() <= 12);
                    *windows = basis.windows;
                    let now = Course::of(&plan, &basis).fractions(&plan).take(reports).last();
                    if let Some(now) = now.filter(|now| *now > 0.0) {
                        assert!((now - basis.spent).abs() < 1.0 / 256.0, "{now} {basis:?}");
                        compared += 1;
                    }
                }
            }
            closer.trial.close(&mut closer.coins);
            let last = (0..plan.features()).map(|j| closer.trial.estimate(j).unwrap());
            assert!(last.into_iter().all(|last| last.basis.unwrap().spent > 1.0 - 1e-5));
        }
    }
    assert!(compared > 10_000, "{compared}");
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
                    course: None,
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
