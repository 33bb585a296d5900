//! The shipping `interim` and `uniform` agree with a plain transcription of the design, arm by arm;
//! and the transcription gives the figures that the design promises.
//!
//! The expected figures come from another simulator. Their standard error is about 2.5 % for a mean
//! squared error and below 0.5 % for a regret; tolerances are four standard errors of both sides.

mod transcription;

use equipoise::chance::{Chance, Fraction, Sampler};
use equipoise::plan::{Design, Plan};
use equipoise::trial::Trial;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;
use transcription::Transcription;

/// A standard error of the expected mean squared errors, as a share of their value.
const MSE_ERROR: f64 = 0.025;

/// What a setting gives, on average over trials and features.
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
    let plan = Plan::parse(words).unwrap();
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

/// Regret and mean squared error of the published table, and coverage near 95 %.
#[test]
fn table_of_regret_and_error() {
    let rows = [
        ("features=10 patients=20000 epsilon=1", 0, 300, 448.0, 0.00246),
        ("features=4 patients=4000 epsilon=1", 0, 1500, 146.0, 0.0036),
        ("features=4 patients=1000 epsilon=1", 0, 4000, 97.0, 0.0073),
        ("features=10 patients=20000 epsilon=1 alpha=1/10", 0, 200, 932.0, 0.0010),
        ("features=10 patients=20000 epsilon=1", 200, 300, 478.0, 0.00251),
        ("features=10 patients=20000 epsilon=1", 500, 300, 525.0, 0.00232),
        ("features=10 patients=20000 epsilon=1", 1000, 300, 601.0, 0.00213),
        ("features=10 patients=20000 epsilon=1", 4000, 300, 1051.0, 0.00136),
    ];
    println!(
        "| plan | delay | regret | MSE | regret*MSE/M | coverage |\n|---|---|---|---|---|---|"
    );
    for (plan, delay, trials, regret, mse) in rows {
        let found = simulate(&Setting { delay, ..yes_no(plan, [0.35, 0.65]) }, trials);
        let features = f64::from(Plan::parse(plan).unwrap().features());
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
#[test]
fn table_of_power() {
    let rows = [
        ("features=4 patients=4000 epsilon=1", [0.35, 0.45], 500, 0.55),
        ("features=4 patients=4000 epsilon=1 alpha=0", [0.35, 0.45], 500, 0.85),
        ("uniform features=4 patients=4000 epsilon=1", [0.35, 0.45], 500, 0.89),
        ("features=4 patients=2000 epsilon=1", [0.35, 0.55], 1000, 0.84),
        ("uniform features=4 patients=2000 epsilon=1", [0.35, 0.55], 1000, 0.99),
        ("features=4 patients=1000 epsilon=1/2", [0.35, 0.65], 1000, 0.76),
        ("features=4 patients=1000 epsilon=1/2 alpha=0", [0.35, 0.65], 1000, 0.91),
        ("uniform features=4 patients=1000 epsilon=1/2", [0.35, 0.65], 1000, 0.97),
        ("features=10 patients=20000 epsilon=1", [0.5, 0.5], 300, 0.053),
        ("features=1 patients=2000 epsilon=4", [0.02, 0.02], 2000, 0.015),
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
        ("features=10 patients=20000 epsilon=1 scale=4", 0.132),
        ("features=10 patients=20000 epsilon=1 scale=100", 0.131),
    ] {
        let found = simulate(&Setting { coins: 4, ..yes_no(plan, [0.35, 0.65]) }, 100);
        println!("{plan}: width {:.4}, coverage {:.4}", found.width, found.covered);
        assert!((found.width / width - 1.0).abs() < 0.03, "{plan}: {found:?}");
        assert!((0.93..0.98).contains(&found.covered), "{plan}: {found:?}");
    }
}

/// A trial that closes before half, with a fifth of its outcomes lost, still has honest intervals.
#[test]
fn early_close_keeps_coverage() {
    let plan = Plan::parse("features=4 patients=4000 epsilon=1").unwrap();
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
    let plan = Plan::parse("features=4 patients=4000 epsilon=1 alpha=0 close=auto").unwrap();
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

/// A small trial drawn at random: its plan, and how its patients behave.
struct RandomTrial {
    plan: Plan,
    rates: Vec<[f64; 2]>,
    lost: [f64; 2],
    /// Patients who wait for their outcome, about.
    waiting: usize,
    /// The trial closes after this many patients.
    enrolled: usize,
}

impl RandomTrial {
    fn draw(words: &mut impl Rng) -> Self {
        let mut below = |limit: usize| (words.next_u64() % limit as u64) as usize;
        let most = if below(3) == 0 { 8 } else { 3 };
        let features = 1 + below(most);
        // Every third trial is large enough for looks before half.
        let patients = if below(3) == 0 { 300 * features + below(1500) } else { 2 + below(300) };
        let scale = [1, 1, 1, 2, 3, 4, 10, 99, 100, 101, 1000, 65_535][below(12)];
        let text = format!(
            "design={} features={features} patients={patients} scale={scale} alpha={} epsilon={} beta={} \
             reports={} close=auto",
            ["interim", "interim", "interim", "uniform"][below(4)],
            ["0", "1/10", "1/4", "1/2", "1"][below(5)],
            ["1/10", "1/5", "1/2", "1", "2", "4", "8", "20"][below(8)],
            ["1/100", "1/20", "1/2", "9/10"][below(4)],
            if below(2) == 0 { 0 } else { below(9) },
        );
        let mut share = || below(1001) as f64 / 1000.0;
        let rates = (0..features).map(|_| [share(), share()]).collect();
        let lost = [share() * 0.4, share() * 0.4];
        let waiting = [0, 3, 40, 250][below(4)];
        let enrolled = if below(3) == 0 { 1 + below(patients) } else { patients };
        Self { plan: Plan::parse(&text).unwrap(), rates, lost, waiting, enrolled }
    }
}

/// The shipping code and the transcription, driven by the same requests and the same randomness.
struct Pair {
    shipping: Trial<8, 512>,
    plain: Transcription,
    chances: [Sampler<Xoshiro256PlusPlus>; 2],
    seed: u64,
}

impl Pair {
    fn new(plan: Plan, seed: u64) -> Self {
        let chance = || Sampler::seed_from_u64(seed | 1 << 40);
        Self {
            shipping: Trial::new(plan).unwrap(),
            plain: Transcription::new(&plan, plan.design() == Design::Interim),
            chances: [chance(), chance()],
            seed,
        }
    }

    fn assign(&mut self, feature: usize) -> usize {
        let arm = self.shipping.assign(feature as u8, None, &mut self.chances[0]).unwrap().index();
        assert_eq!(arm, self.plain.assign(feature, &mut self.chances[1]), "seed {}", self.seed);
        arm
    }

    fn resolve(&mut self, patient: usize, y: Option<u16>) {
        let Self { shipping, plain, chances: [one, two], .. } = self;
        match y {
            Some(y) => {
                shipping.outcome(patient as u32, y, one).unwrap();
                plain.outcome(patient, y, two);
            }
            None => {
                shipping.lost(patient as u32, one).unwrap();
                plain.lost(patient, two);
            }
        }
        shipping.look(one);
        self.compare();
    }

    fn close(&mut self) {
        self.shipping.close(&mut self.chances[0]);
        self.plain.close(&mut self.chances[1]);
        self.compare();
    }

    /// All that later arms and reports depend on.
    fn compare(&mut self) {
        let seed = self.seed;
        let near = |name: &str, found: f64, expected: f64| {
            let apart = (found - expected).abs();
            assert!(
                apart <= 1e-9 * (1.0 + expected.abs()),
                "seed {seed}: {name} {found}, not {expected}"
            );
        };
        for (j, plain) in self.plain.features.iter().enumerate() {
            let ledger = self.shipping.ledger(j as u8).unwrap();
            assert_eq!(ledger.cells, plain.ledger, "seed {seed}, feature {j}");
            assert_eq!(ledger.last, plain.previous, "seed {seed}, feature {j}");
            assert_eq!(
                ledger.leading.map(|arm| arm.index()),
                plain.settled.map(|s| s.leading),
                "seed {seed}"
            );
            let share = plain.settled.map_or(Fraction::HALF, |settled| settled.share);
            assert!(
                ledger.share.0.abs_diff(share.0) <= 1,
                "seed {seed}: share {:?}, not {share:?}",
                ledger.share
            );
            near("P", ledger.p, plain.p);
            near("Q", ledger.q, plain.q);
            near("spent weight", ledger.spent, plain.spent);
            let (found, expected) = (self.shipping.estimate(j as u8), self.plain.estimate(j));
            assert_eq!(found.is_some(), expected.is_some(), "seed {seed}, feature {j}");
            if let (Some(found), Some(expected)) = (found, expected) {
                near("effect", found.effect.clamp(-1.0, 1.0), expected.effect);
                near("standard error", found.deviation, expected.error);
                near("patients", found.patients, self.plain.patients(j).max(0.0));
            }
        }
        // Both have used the same randomness.
        let [one, two] = &mut self.chances;
        assert_eq!(one.biased_coin(Fraction::HALF), two.biased_coin(Fraction::HALF), "seed {seed}");
    }
}

/// Features that settled before half, at half, and estimates: what the random trials exercise.
#[derive(Clone, Copy, Debug, Default)]
struct Exercised {
    early: u32,
    settled: u32,
    estimates: u32,
}

fn compare_one(seed: u64) -> Exercised {
    let mut words = Xoshiro256PlusPlus::seed_from_u64(seed);
    let trial = RandomTrial::draw(&mut words);
    let mut pair = Pair::new(trial.plan, seed);
    let mut exercised = Exercised::default();
    let mut waiting: Vec<(usize, usize, usize)> = Vec::new();
    let mut next = 1;
    while next <= trial.enrolled || !waiting.is_empty() {
        let mut below = |limit: usize| (words.next_u64() % limit as u64) as usize;
        let enrols =
            waiting.is_empty() || waiting.len() < 500 && below(waiting.len() + 1) <= trial.waiting;
        if next <= trial.enrolled && enrols {
            let feature = below(trial.rates.len());
            let arm = pair.assign(feature);
            waiting.push((next, feature, arm));
            next += 1;
            continue;
        }
        let (patient, feature, arm) = waiting.swap_remove(below(waiting.len()));
        let mut share = || below(1 << 30) as f64 / f64::from(1 << 30);
        let y = (share() >= trial.lost[arm]).then(|| {
            let (scale, rate) = (trial.plan.scale(), trial.rates[feature][arm]);
            let y =
                if share() < 0.5 { f64::from(u8::from(share() < rate)) } else { rate * share() };
            (y * f64::from(scale)).round() as u16
        });
        let settled =
            |pair: &Pair| pair.plain.features.iter().filter(|f| f.settled.is_some()).count() as u32;
        let before = settled(&pair);
        pair.resolve(patient, y);
        let now = settled(&pair) - before;
        exercised.settled += now;
        exercised.early += if pair.plain.resolved < trial.plan.half() { now } else { 0 };
        // An early close leaves some patients without an outcome.
        if next > trial.enrolled
            && trial.enrolled < trial.plan.patients() as usize
            && share() < 0.02
        {
            break;
        }
    }
    pair.close();
    exercised.estimates =
        (0..trial.rates.len()).filter(|j| pair.plain.estimate(*j).is_some()).count() as u32;
    exercised
}

/// Thousands of random small trials: late, lost and graded outcomes, reports, early closes. Every
/// arm, share, weight, estimate and standard error agrees.
#[test]
fn shipping_code_agrees_with_transcription() {
    let sum =
        (0..6000).into_par_iter().map(compare_one).reduce(Exercised::default, |a, b| Exercised {
            early: a.early + b.early,
            settled: a.settled + b.settled,
            estimates: a.estimates + b.estimates,
        });
    println!("{sum:?}");
    assert!(sum.early > 500 && sum.settled > 5000 && sum.estimates > 10_000, "{sum:?}");
}
