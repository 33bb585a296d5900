//! The paper's Algorithms 1 and 2, transcribed in floats line by line, against `conse` and
//! `dp-conse`.
//!
//! Both run on one tape: the core draws from a generator and every answer is written down; the
//! transcription takes the answers in the same order and checks that it would have asked the same
//! question. They must then agree on every arm, epoch, batch length, T_j and estimate. Line numbers
//! are those of the algorithm boxes. `EQUIPOISE_TRIALS` sets the number of small trials;
//! with it, there are a fifth of the long ones.

mod algorithms;
use crate::common::count;

use algorithms::Paper;
use equipoise::chance::{Chance, Fraction, Sampler};
use equipoise::noise::Laplace;
use equipoise::plan::{Better, Close, DesignName, Parameters, Plan, Ratio, Results};
use equipoise::terms::Arm;
use equipoise::terms::Phase;
use equipoise::trial::Trial;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::VecDeque;

#[derive(Debug, PartialEq)]
enum Draw {
    Coin(bool),
    Laplace { rate: f64, k: i64 },
    LapPlus { center: u64, rate: f64, value: u64 },
}

/// Draws from a generator and writes every answer down.
struct Tape {
    source: Sampler<Xoshiro256PlusPlus>,
    draws: VecDeque<Draw>,
}

fn rate(law: &Laplace) -> f64 {
    law.rate().num() as f64 / law.rate().den() as f64
}

impl Chance for Tape {
    fn coin(&mut self) -> bool {
        let heads = self.source.coin();
        self.draws.push_back(Draw::Coin(heads));
        heads
    }
    fn biased_coin(&mut self, _: Fraction) -> bool {
        unreachable!("the paper's algorithms throw fair coins only")
    }
    fn discrete_laplace(&mut self, law: &Laplace) -> i64 {
        let k = self.source.discrete_laplace(law);
        self.draws.push_back(Draw::Laplace { rate: rate(law), k });
        k
    }
    fn lap_plus(&mut self, center: u64, law: &Laplace) -> u64 {
        let value = self.source.lap_plus(center, law);
        self.draws.push_back(Draw::LapPlus { center, rate: rate(law), value });
        value
    }
}

/// Counts of the events in a batch of trials: a test can see that it was not idle.
#[derive(Default)]
struct Seen {
    trials: u32,
    dropped: u32,
    estimates: u32,
    epochs: u32,
    empty_trials: u32,
}

fn compare(plan: Plan, gap: f64, seed: u64, seen: &mut Seen) {
    let mut world = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut uniform = move || (world.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
    let mut tape = Tape { source: Sampler::seed_from_u64(seed ^ 0xC0FFEE), draws: VecDeque::new() };
    let mut core = Trial::<8, 4>::new(plan).unwrap();
    let mut paper = Paper::new(&plan);
    let (m, scale) = (f64::from(plan.features()), f64::from(plan.scale()));
    for t in 1..=plan.patients() {
        // Squared, so that features differ in how often they come.
        let j = (uniform().powi(2) * m) as u8;
        let p = [0.5 - gap / 2.0, 0.5 + gap / 2.0];
        let y = p.map(|p| {
            if plan.scale() == 1 {
                u16::from(uniform() < p)
            } else {
                ((uniform() + p) / 2.0 * scale) as u16
            }
        });
        let arm = core.assign(j, None, &mut tape).unwrap();
        core.outcome(t, arm.of_pair(y), &mut tape).unwrap();
        let feature = usize::from(j);
        let expected = paper.patient(t, feature, y.map(|y| f64::from(y) / scale), &mut tape.draws);
        assert_eq!(arm.index(), expected, "arm of patient {t}, {plan}, seed {seed}");
        assert_eq!(tape.draws.len(), 0, "patient {t} of the core drew more than the algorithm");
        let (epoch, length) = core.batch(j).unwrap();
        assert_eq!(u32::from(epoch), paper.epoch[feature]);
        let planned = if t <= plan.half() { paper.batch[feature] } else { paper.t_j[feature] };
        assert_eq!(f64::from(length), planned.ceil(), "length after patient {t}, {plan}");
        let survivors = Arm::BOTH.map(|arm| core.dropped(j) != Some(arm));
        assert_eq!(survivors, paper.alive[feature]);
    }
    for j in 0..plan.features() {
        let feature = usize::from(j);
        match (core.estimate(j), paper.output[feature]) {
            (Some(core), Some(paper_output)) => {
                // The core rounds to the grid of the noise before it adds the noise.
                let grid = 1.0 / (paper.t_j[feature] * scale);
                assert!(
                    (core.effect - paper_output.clamp(-1.0, 1.0)).abs() <= grid * 0.500_001,
                    "{} and {paper_output}",
                    core.effect
                );
                let counted = paper.counted[feature];
                assert_eq!(core.patients, counted, "{plan}, seed {seed}");
                // Not in the paper: the largest variance outcomes can have, and that of the noise.
                let noise =
                    if paper.private { 2.0 / (paper.eps * paper.t_j[feature]) } else { 0.0 };
                let deviation = (1.0 / counted + 2.0 * noise * noise).sqrt();
                assert!((core.deviation - deviation).abs() < 1e-12 * deviation, "{plan}, {seed}");
                seen.estimates += 1;
            }
            (None, None) => {}
            (core, paper) => panic!("estimates {core:?} and {paper:?}, {plan}, seed {seed}"),
        }
        seen.dropped += u32::from(core.dropped(j).is_some());
        seen.epochs = seen.epochs.max(paper.epoch[feature]);
        seen.empty_trials += u32::from(paper.t_j[feature] == 0.0);
    }
    core.close(&mut tape);
    assert_eq!(core.phase(), Phase::Closed);
    seen.trials += 1;
}

trait Pair {
    fn of_pair(self, pair: [u16; 2]) -> u16;
}
impl Pair for Arm {
    fn of_pair(self, pair: [u16; 2]) -> u16 {
        pair[self.index()]
    }
}

fn random_plan(
    design: DesignName,
    patients: std::ops::Range<u32>,
    features: u8,
    world: &mut impl Rng,
) -> Plan {
    let pick = |world: &mut dyn FnMut() -> u64, from: u32, to: u32| {
        from + (world() % u64::from(to - from)) as u32
    };
    let mut next = || world.next_u64();
    let epsilons = [(1, 10), (1, 2), (1, 1), (2, 1), (10, 1)];
    let (num, den) = epsilons[pick(&mut next, 0, 5) as usize];
    Plan::new(Parameters {
        design,
        features,
        patients: pick(&mut next, patients.start, patients.end),
        scale: [1, 1, 7, 65535][pick(&mut next, 0, 4) as usize],
        alpha: Ratio::new(pick(&mut next, 0, 5), 4).unwrap(),
        epsilon: Ratio::new(num, den).unwrap(),
        beta: Ratio::new(1, 20).unwrap(),
        better: Better::High,
        results: Results::Custodian,
        reports: 0,
        kits: 0,
        close: Close::Custodian,
    })
    .unwrap()
}

fn many(
    design: DesignName,
    runs: u64,
    patients: std::ops::Range<u32>,
    features: std::ops::RangeInclusive<u8>,
) -> Seen {
    let mut world = Xoshiro256PlusPlus::seed_from_u64(u64::from(patients.end) + design as u64);
    let mut seen = Seen::default();
    for run in 0..runs {
        let features = features.start()
            + (world.next_u64() % u64::from(features.end() - features.start() + 1)) as u8;
        let plan = random_plan(design, patients.clone(), features, &mut world);
        let gap = [0.0, 0.2, 0.6, -0.6][run as usize % 4];
        compare(plan, gap, world.next_u64(), &mut seen);
    }
    seen
}

fn small_trials_agree(design: DesignName) -> Seen {
    let trials = count::trials(4000);
    let seen = many(design, trials, 2..400, 1..=8);
    assert!(u64::from(seen.estimates) * 2 > trials, "{}", seen.estimates);
    seen
}

fn long_trials_agree(design: DesignName) {
    let trials = count::long_trials(40);
    let seen = many(design, trials, 20_000..60_000, 1..=3);
    let enough = |seen: u32, of_40: u64| u64::from(seen) * 40 >= of_40 * trials;
    assert!(enough(seen.dropped, 20), "only {} arms dropped", seen.dropped);
    assert!(
        enough(seen.estimates, 40) && seen.epochs >= 3,
        "{} estimates, {} epochs",
        seen.estimates,
        seen.epochs
    );
    let seen = many(design, trials / 4, 20_000..40_000, 1..=1);
    assert!(enough(seen.dropped, 4), "only {} arms dropped with one feature", seen.dropped);
}

/// `conse` is Algorithm 1 in thousands of small trials.
#[test]
fn conse_is_algorithm_1_in_small_trials() {
    small_trials_agree(DesignName::Conse);
}

/// `dp-conse` is Algorithm 2 in thousands of small trials. Requirement S5.
#[test]
fn dp_conse_is_algorithm_2_in_small_trials() {
    let seen = small_trials_agree(DesignName::DpConse);
    assert!(seen.empty_trials > 0, "Lap+ never drew an empty trial");
}

/// `conse` is Algorithm 1 in trials long enough to drop arms.
#[test]
fn conse_is_algorithm_1_with_drops() {
    long_trials_agree(DesignName::Conse);
}

/// `dp-conse` is Algorithm 2 in trials long enough to drop arms.
#[test]
fn dp_conse_is_algorithm_2_with_drops() {
    long_trials_agree(DesignName::DpConse);
}
