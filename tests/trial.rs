//! What the state machine of a trial promises, whatever is asked of it.

use equipoise::chance::{Chance, Fraction, Sampler};
use equipoise::design::Arm;
use equipoise::design::schedule;
use equipoise::noise::Laplace;
use equipoise::plan::{Design, MAX_PATIENTS, Plan};
use equipoise::trial::{AtOnce, Dirty, Part, Phase, Trial, TrialError};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

type Small = Trial<8, 16>;
type Generator = Sampler<Xoshiro256PlusPlus>;

const DESIGNS: [&str; 4] = ["conse", "dp-conse", "interim", "uniform"];

fn plan(text: &str) -> Plan {
    Plan::parse(text).unwrap()
}

fn bytes<const M: usize, const U: usize>(trial: &Trial<M, U>) -> Vec<u8> {
    let mut out = vec![0; Trial::<M, U>::STATE_BYTES];
    assert_eq!(trial.encode(&mut out), Some(out.len()));
    out
}

/// Whether it went well is not the question.
fn ignore<T>(_: T) {}

/// Answers coins from a script and draws no noise.
struct Scripted(Vec<bool>);

impl Chance for Scripted {
    fn coin(&mut self) -> bool {
        self.0.pop().unwrap_or(false)
    }
    fn biased_coin(&mut self, _: Fraction) -> bool {
        self.coin()
    }
    fn discrete_laplace(&mut self, _: &Laplace) -> i64 {
        0
    }
    fn lap_plus(&mut self, center: u64, _: &Laplace) -> u64 {
        center
    }
}

/// A second outcome, a correction and a late loss change nothing.
#[test]
fn second_outcome_changes_nothing() {
    for design in DESIGNS {
        let mut chance = Generator::seed_from_u64(1);
        let mut trial =
            Small::new(plan(&format!("design={design} features=2 patients=20 epsilon=1 scale=9")))
                .unwrap();
        trial.assign(1, None, &mut chance).unwrap();
        trial.outcome(1, 4, &mut chance).unwrap();
        trial.take_dirty();
        let before = bytes(&trial);
        for y in 0..=9 {
            trial.outcome(1, y, &mut chance).unwrap();
        }
        trial.lost(1, &mut chance).unwrap();
        assert_eq!(bytes(&trial), before);
        assert!(trial.take_dirty().is_empty());
    }
}

#[test]
fn what_is_refused_is_named_and_changes_nothing() {
    for design in DESIGNS {
        let mut chance = Generator::seed_from_u64(2);
        let mut trial =
            Trial::<8, 2>::new(plan(&format!("design={design} features=2 patients=4 epsilon=1")))
                .unwrap();
        trial.assign(0, None, &mut chance).unwrap();
        trial.assign(1, None, &mut chance).unwrap();
        let before = bytes(&trial);
        trial.take_dirty();
        assert_eq!(trial.outcome(0, 0, &mut chance), Err(TrialError::Unknown));
        assert_eq!(trial.outcome(3, 0, &mut chance), Err(TrialError::Unknown));
        assert_eq!(trial.lost(u32::MAX, &mut chance), Err(TrialError::Unknown));
        assert_eq!(trial.outcome(1, 2, &mut chance), Err(TrialError::Range));
        assert_eq!(trial.admits(2), Err(TrialError::Feature));
        assert_eq!(trial.admits(0), Err(TrialError::Full));
        assert_eq!(bytes(&trial), before);
        assert!(trial.take_dirty().is_empty());
        for k in 1..=4 {
            if k > 2 {
                trial.assign(0, None, &mut chance).unwrap();
            }
            trial.outcome(k, 1, &mut chance).unwrap();
        }
        let over = if trial.look_due() { TrialError::Closed } else { TrialError::Complete };
        assert_eq!(trial.assign(0, None, &mut chance), Err(over));
        trial.close(&mut chance);
        assert_eq!(trial.assign(0, None, &mut chance), Err(TrialError::Closed));
    }
    let nine = plan("features=9 patients=4 epsilon=1");
    assert!(matches!(Small::new(nine), Err(TrialError::Capacity)));
}

#[test]
fn interim_closes_by_itself_only_if_planned() {
    let mut chance = Generator::seed_from_u64(3);
    let mut open = Small::new(plan("features=1 patients=3 epsilon=1")).unwrap();
    for k in 1..=3 {
        open.assign(0, None, &mut chance).unwrap();
        open.outcome(k, 1, &mut chance).unwrap();
    }
    assert!(!open.look_due() && open.phase() == Phase::Measure);
    open.outcome(3, 1, &mut chance).unwrap();
    assert_eq!(open.phase(), Phase::Measure);
    let mut trial = Small::new(plan("features=1 patients=3 epsilon=1 close=auto")).unwrap();
    for k in 1..=3 {
        trial.assign(0, None, &mut chance).unwrap();
        if k != 2 {
            trial.outcome(k, 1, &mut chance).unwrap();
        }
    }
    assert!(!trial.look_due() && trial.phase() == Phase::Measure);
    trial.lost(2, &mut chance).unwrap();
    assert!(trial.look_due());
    trial.look(&mut chance);
    assert_eq!(trial.phase(), Phase::Closed);
    assert!(trial.estimate(0).is_some());
}

/// Only the last patient with its own tag is repeated.
#[test]
fn only_the_last_tagged_patient_repeats() {
    let mut chance = Generator::seed_from_u64(4);
    let mut trial = Small::new(plan("features=1 patients=9 epsilon=1")).unwrap();
    let first = trial.assign(0, Some(7), &mut chance).unwrap();
    assert_eq!(trial.repeat(1, 7), Some(first));
    assert_eq!(trial.repeat(1, 8), None);
    assert_eq!(trial.repeat(0, 7), None);
    trial.assign(0, None, &mut chance).unwrap();
    assert_eq!(trial.repeat(1, 7), None);
    assert_eq!(trial.repeat(2, 0), None, "a patient without a tag cannot be repeated");
}

/// A trial of eight patients in which the second's outcome comes after half, as bytes.
fn late_outcome(design: &str, y: u16) -> Vec<u8> {
    let mut chance = Scripted(vec![]);
    let text = format!("design={design} features=1 patients=8 epsilon=1 scale=5");
    let mut trial = Small::new(plan(&text)).unwrap();
    for k in 1..=6 {
        trial.assign(0, None, &mut chance).unwrap();
        if k != 2 {
            trial.lost(k, &mut chance).unwrap();
        }
    }
    trial.outcome(2, y, &mut chance).unwrap();
    bytes(&trial)
}

/// The paper's designs take an outcome of the first half that comes after half, and do not use it.
#[test]
fn published_designs_ignore_late_explore() {
    for design in ["conse", "dp-conse"] {
        assert_eq!(late_outcome(design, 0), late_outcome(design, 5), "{design}");
    }
}

/// The designs with ledgers throw no recorded outcome away.
#[test]
fn ledger_designs_count_late_outcomes() {
    for design in ["interim", "uniform"] {
        assert_ne!(late_outcome(design, 0), late_outcome(design, 5), "{design}");
    }
}

/// State holds sums and not the outcomes of patients.
#[test]
fn state_holds_sums_not_outcomes() {
    // Two patients of one feature on one arm, their outcomes exchanged: the bytes cannot tell.
    for design in DESIGNS {
        let run = |outcomes: [u16; 2]| {
            let mut chance = Scripted(vec![true; 9]);
            let mut trial = Small::new(plan(&format!(
                "design={design} features=3 patients=40 epsilon=1 scale=1000"
            )))
            .unwrap();
            trial.assign(0, None, &mut chance).unwrap();
            trial.outcome(1, 1, &mut chance).unwrap();
            for (k, y) in [2, 3].into_iter().zip(outcomes) {
                assert_eq!(trial.assign(0, None, &mut chance), Ok(Arm::One));
                trial.outcome(k, y, &mut chance).unwrap();
            }
            bytes(&trial)
        };
        assert_eq!(run([123, 877]), run([877, 123]));
        assert_ne!(run([123, 877]), run([123, 876]), "sums are kept");
    }
}

/// A trial read back from its bytes goes on as if it had never been stored.
#[test]
fn decoded_trial_goes_on_unchanged() {
    for design in DESIGNS {
        for stop in [0, 1, 7, 50, 51, 52, 99] {
            let text =
                format!("design={design} features=3 patients=100 epsilon=2 scale=3 reports=2");
            let mut chance = Generator::seed_from_u64(stop);
            let mut world = Xoshiro256PlusPlus::seed_from_u64(stop);
            let mut trial = Small::new(plan(&text)).unwrap();
            let step = |trial: &mut Small, chance: &mut Generator, word: u64| {
                let arm = trial.assign((word % 3) as u8, Some(word as u32), chance).unwrap();
                // Most outcomes at once, some late.
                let patient = if word & 64 == 0 {
                    trial.assigned()
                } else {
                    trial.assigned().saturating_sub(3).max(1)
                };
                trial.outcome(patient, (word >> 32 & 3) as u16, chance).unwrap();
                if trial.unresolved() > 10 {
                    (1..=trial.assigned()).for_each(|k| trial.lost(k, chance).unwrap());
                }
                arm
            };
            for _ in 0..stop {
                step(&mut trial, &mut chance, world.next_u64());
            }
            let mut again = Small::decode(&bytes(&trial)).unwrap();
            assert_eq!(bytes(&again), bytes(&trial));
            assert_eq!(again.unresolved(), trial.unresolved());
            assert_eq!(again.next_look(), trial.next_look());
            let (mut one, mut two) =
                (Generator::seed_from_u64(stop + 100), Generator::seed_from_u64(stop + 100));
            for _ in stop..100 {
                let word = world.next_u64();
                assert_eq!(step(&mut trial, &mut one, word), step(&mut again, &mut two, word));
            }
            trial.close(&mut one);
            again.close(&mut two);
            assert_eq!(bytes(&again), bytes(&trial), "{design} from {stop}");
            (0..3).for_each(|j| assert_eq!(again.estimate(j), trial.estimate(j)));
        }
    }
}

#[test]
fn every_part_that_changed_is_named() {
    // A trial rebuilt from what was stored, which is the dirty parts alone, must give the same
    // bytes after every step.
    for design in DESIGNS {
        let text = plan(&format!("design={design} features=4 patients=600 epsilon=1 reports=1"));
        let mut chance = Generator::seed_from_u64(6);
        let mut world = Xoshiro256PlusPlus::seed_from_u64(6);
        let mut trial = Small::new(text).unwrap();
        trial.take_dirty();
        let encoded = |trial: &Small, part| {
            let mut out = [0; equipoise::trial::MAX_PART_BYTES];
            let length = trial.encode_part(part, &mut out);
            assert_eq!(length, trial.length(part));
            out[..length].to_vec()
        };
        let mut stored: Vec<(Part, Vec<u8>)> =
            Small::parts().map(|part| (part, encoded(&trial, part))).collect();
        let mut follow = |trial: &mut Small| {
            let dirty = trial.take_dirty();
            let mut copy = Small::new(text).unwrap();
            for (part, value) in &mut stored {
                if dirty.contains(*part) {
                    *value = encoded(trial, *part);
                }
                copy.decode_part(*part, value).unwrap();
            }
            copy.recount();
            assert!(bytes(&copy) == bytes(trial), "a change was not named");
        };
        for _ in 0..600 {
            let word = world.next_u64();
            trial.look(&mut chance);
            follow(&mut trial);
            trial.assign((word % 4) as u8, Some(9), &mut chance).unwrap();
            follow(&mut trial);
            let k = trial.assigned().saturating_sub((word >> 8 & 7) as u32).max(1);
            if word & 1 << 40 == 0 {
                trial.outcome(k, (word >> 50 & 1) as u16, &mut chance).unwrap();
            } else {
                trial.lost(k, &mut chance).unwrap();
            }
            follow(&mut trial);
            if trial.unresolved() > 12 {
                for k in 1..=trial.assigned() {
                    trial.lost(k, &mut chance).unwrap();
                    follow(&mut trial);
                }
            }
        }
        trial.close(&mut chance);
        follow(&mut trial);
    }
}

/// Looks fall at growing counts below n, one of them at half, none below 80 patients a feature but
/// it.
#[test]
fn looks_fall_at_growing_public_counts() {
    for (features, patients, reports) in [
        (1, 2, 0),
        (1, 3, 8),
        (10, 20_000, 0),
        (1, MAX_PATIENTS, 8),
        (64, MAX_PATIENTS, 3),
        (64, 100, 0),
    ] {
        let plan =
            plan(&format!("features={features} patients={patients} epsilon=1 reports={reports}"));
        let all: Vec<u32> = (0..).map_while(|done| schedule::next_look(&plan, done)).collect();
        assert!(all.contains(&plan.half()));
        assert!(all.is_sorted_by(|a, b| a < b) && *all.last().unwrap() < patients);
        assert!(all.iter().all(|at| *at >= plan.half() || *at >= 80 * features));
        let after = all.iter().filter(|at| **at > plan.half()).count();
        assert!(after == reports || patients < 100, "{all:?}");
    }
}

#[test]
fn a_closed_trial_keeps_no_sums_of_outcomes() {
    for design in DESIGNS {
        for patients in [3, 9] {
            let mut chance = Generator::seed_from_u64(5);
            let mut trial =
                Small::new(plan(&format!("design={design} features=1 patients=10 epsilon=1")))
                    .unwrap();
            for k in 1..=patients {
                trial.draw_ahead(&mut chance);
                trial.assign(0, None, &mut chance).unwrap();
                trial.outcome(k, 1, &mut chance).unwrap();
            }
            trial.close(&mut chance);
            let mut tally = [0; equipoise::trial::MAX_PART_BYTES];
            let length = trial.encode_part(Part::Tally(0), &mut tally);
            assert!(
                tally[..length].iter().all(|byte| *byte == 0),
                "{design} closed after {patients}"
            );
        }
    }
}

#[test]
fn noise_is_drawn_ahead_once_a_feature_and_look() {
    let mut chance = Generator::seed_from_u64(7);
    let mut trial = Small::new(plan("features=5 patients=20 epsilon=1")).unwrap();
    assert_eq!((0..9).filter(|_| trial.draw_ahead(&mut chance)).count(), 5);
    assert_eq!((0..9).filter(|_| trial.draw_ahead(&mut chance)).count(), 0);
    // Nor are draws forgotten by the byte form, and made again.
    let mut trial = Small::decode(&bytes(&trial)).unwrap();
    assert_eq!((0..9).filter(|_| trial.draw_ahead(&mut chance)).count(), 0);
    while trial.phase() == Phase::Explore {
        let k = trial.assigned() + 1;
        trial.assign(0, None, &mut chance).unwrap();
        trial.outcome(k, 1, &mut chance).unwrap();
    }
    assert_eq!((0..9).filter(|_| trial.draw_ahead(&mut chance)).count(), 5);
}

/// The dirty parts of two operations, to compare what storage would see of them.
fn lengths(
    trial: &mut Small,
    operation: impl FnOnce(&mut Small),
) -> Vec<(std::mem::Discriminant<Part>, usize)> {
    trial.take_dirty();
    operation(trial);
    let dirty = trial.take_dirty();
    let parts = Small::parts().filter(|part| dirty.contains(*part));
    parts.map(|part| (std::mem::discriminant(&part), trial.length(part))).collect()
}

/// The work of the storage does not depend on outcomes, losses, features and arms.
#[test]
fn storage_work_tells_no_patient_apart() {
    for design in ["dp-conse", "interim", "uniform"] {
        let text = plan(&format!("design={design} features=4 patients=40 epsilon=1"));
        for (heads, feature) in [(false, 0), (true, 3)] {
            let fresh = || {
                let mut chance = Scripted(vec![heads; 40]);
                let mut trial = Small::new(text).unwrap();
                trial.assign(0, None, &mut chance).unwrap();
                trial.outcome(1, 1, &mut chance).unwrap();
                (trial, chance)
            };
            let (mut trial, mut chance) = fresh();
            let assign = lengths(&mut trial, |t| ignore(t.assign(feature, None, &mut chance)));
            let outcome = lengths(&mut trial, |t| ignore(t.outcome(2, 1, &mut chance)));
            let (mut trial, mut chance) = fresh();
            assert_eq!(lengths(&mut trial, |t| ignore(t.assign(1, None, &mut chance))), assign);
            assert_eq!(lengths(&mut trial, |t| ignore(t.lost(2, &mut chance))), outcome);
        }
    }
}

/// No plan and no sequence of requests panics or overflows.
#[test]
fn no_request_sequence_panics() {
    let mut world = Xoshiro256PlusPlus::seed_from_u64(8);
    let ends = ["features=1", "features=8"];
    let horizons = ["patients=2", "patients=3", "patients=40", "patients=10000000"];
    let scales = ["scale=1", "scale=65535"];
    let rest = [
        "alpha=0 epsilon=1/1000 beta=1/1000000",
        "alpha=1 epsilon=20 beta=999999/1000000",
        "alpha=1/3 epsilon=1 beta=1/2 reports=8",
    ];
    for design in Design::ALL {
        for case in 0..ends.len() * horizons.len() * scales.len() * rest.len() {
            let pick = |from: &[&str], by: usize| from[case / by % from.len()].to_owned();
            let text = [
                format!("design={design}"),
                pick(&ends, 1),
                pick(&horizons, 2),
                pick(&scales, 8),
                pick(&rest, 16),
            ];
            let plan = plan(&text.join(" "));
            let mut chance = Generator::seed_from_u64(case as u64);
            let mut trial = Small::new(plan).unwrap();
            for _ in 0..400 {
                let word = world.next_u64();
                let (k, y) = ((word >> 16) as u32 % (trial.assigned() + 2), (word >> 48) as u16);
                match word % 16 {
                    0..=6 => {
                        ignore(trial.assign((word >> 8) as u8 % 9, Some(word as u32), &mut chance))
                    }
                    7..=11 => ignore(trial.outcome(
                        k,
                        y % (plan.scale().saturating_add(1)).max(1),
                        &mut chance,
                    )),
                    12 => ignore(trial.outcome(k, plan.scale(), &mut chance)),
                    13 => ignore(trial.lost(k, &mut chance)),
                    14 => ignore(trial.draw_ahead(&mut chance)),
                    _ if word >> 56 == 0 => trial.close(&mut chance),
                    _ => trial = Small::decode(&bytes(&trial)).unwrap(),
                }
                (0..9).for_each(|j| ignore(trial.estimate(j).map(|e| e.in_millionths())));
            }
        }
    }
}

#[test]
fn damaged_state_is_refused_or_harmless() {
    let mut world = Xoshiro256PlusPlus::seed_from_u64(9);
    for design in DESIGNS {
        let mut chance = Generator::seed_from_u64(9);
        let mut trial =
            Small::new(plan(&format!("design={design} features=8 patients=30 epsilon=1"))).unwrap();
        for k in 1..=20 {
            trial.assign((k % 8) as u8, None, &mut chance).unwrap();
            trial.outcome(k, 1, &mut chance).unwrap();
        }
        let good = bytes(&trial);
        assert!(Small::decode(&good[1..]).is_none() && Small::decode(&[]).is_none());
        for _ in 0..3000 {
            let mut bad = good.clone();
            for _ in 0..1 + world.next_u64() % 4 {
                let at = world.next_u64() as usize % bad.len();
                bad[at] = world.next_u64() as u8;
            }
            if let Some(mut trial) = Small::decode(&bad) {
                for _ in 0..4 {
                    ignore(trial.assign((world.next_u64() % 8) as u8, None, &mut chance));
                    ignore(trial.outcome(trial.assigned(), 1, &mut chance));
                }
                trial.close(&mut chance);
                (0..8).for_each(|j| ignore(trial.estimate(j).map(|e| e.in_millionths())));
            }
        }
    }
}

/// Patients drawn from a generator, and the arms they got.
struct Drawn {
    world: Xoshiro256PlusPlus,
    features: u8,
    rates: [u64; 2],
    word: u64,
    arms: Vec<(u32, Arm)>,
}

impl Drawn {
    fn new(seed: u64, features: u8, rates: [u64; 2]) -> Self {
        Self {
            world: Xoshiro256PlusPlus::seed_from_u64(seed),
            features,
            rates,
            word: 0,
            arms: vec![],
        }
    }
}

impl AtOnce for Drawn {
    fn feature(&mut self, patient: u32) -> u8 {
        assert!(patient <= MAX_PATIENTS + 1, "no end");
        self.word = self.world.next_u64();
        self.arms.push((patient, Arm::Zero));
        (self.word % u64::from(self.features)) as u8
    }

    fn outcome(&mut self, arm: Arm) -> bool {
        self.arms.last_mut().unwrap().1 = arm;
        self.word >> 32 & 255 < self.rates[arm.index()]
    }
}

/// One patient of the same world by the usual two requests; what they dirty together.
fn one_by_one<const M: usize, const U: usize>(
    trial: &mut Trial<M, U>,
    patients: &mut Drawn,
    chance: &mut Generator,
) -> Result<(), TrialError> {
    let patient = trial.assigned() + 1;
    let feature = patients.feature(patient);
    let arm = trial.assign(feature, None, chance)?;
    trial.outcome(patient, patients.outcome(arm).into(), chance)
}

/// What is dirty when these patients are dirty in turn: the last slot, and everything else that any
/// of them was.
fn parts<const M: usize, const U: usize>(dirty: Dirty) -> Vec<Part> {
    Trial::<M, U>::parts().filter(|part| dirty.contains(*part)).collect()
}

/// Plays a trial in blocks and one by one, with some patients who wait, and compares all there is
/// after every block. The number of blocks.
fn compare<const M: usize, const U: usize>(
    text: &str,
    seed: u64,
    rates: [u64; 2],
    waiting: u32,
) -> usize {
    let plan = plan(text);
    let (mut one, mut two) = (Generator::seed_from_u64(seed), Generator::seed_from_u64(seed));
    let mut patients = [(); 2].map(|()| Drawn::new(seed, plan.features(), rates));
    let mut trials = [(); 2].map(|()| Trial::<M, U>::new(plan).unwrap());
    for (trial, chance) in trials.iter_mut().zip([&mut one, &mut two]) {
        for _ in 0..waiting {
            trial.assign(0, Some(5), chance).unwrap();
        }
        trial.take_dirty();
    }
    let [block, single] = &mut trials;
    let mut blocks = 0;
    loop {
        let done = block.at_once(&mut patients[0], &mut one);
        blocks += 1;
        assert!(done.is_err() || single.assigned() < block.assigned(), "{text}: a block of nobody");
        let mut last = Ok(());
        // A patient who was refused has been drawn, but not assigned.
        while single.assigned() < block.assigned() || done.is_err() && last.is_ok() {
            assert_eq!(last, Ok(()), "{text}");
            let dropped = |trial: &Trial<M, U>| {
                (0..plan.features()).map(|j| trial.dropped(j)).collect::<Vec<_>>()
            };
            let before = dropped(single);
            last = one_by_one(single, &mut patients[1], &mut two);
            let inside = single.assigned() < block.assigned();
            assert!(!inside || dropped(single) == before, "{text}: a drop inside a block");
        }
        assert_eq!(last, done, "{text}");
        assert_eq!(bytes(block), bytes(single), "{text} after {}", block.assigned());
        assert_eq!(patients[0].arms, patients[1].arms, "{text}");
        assert_eq!(block.unresolved(), single.unresolved());
        assert_eq!(
            (block.next_look(), block.is_tagged()),
            (single.next_look(), single.is_tagged())
        );
        let dirty = [&mut *block, &mut *single].map(|trial| parts::<M, U>(trial.take_dirty()));
        assert_eq!(dirty[0], dirty[1], "{text} after {}", block.assigned());
        if done.is_err() {
            break;
        }
    }
    // The same stream of coins and of words is left.
    assert_eq!(one.coin(), two.coin());
    assert_eq!(
        one.discrete_laplace(&Laplace::new(plan.cell_rate())),
        two.discrete_laplace(&Laplace::new(plan.cell_rate()))
    );
    block.close(&mut one);
    single.close(&mut two);
    assert_eq!(bytes(block), bytes(single), "{text} closed");
    blocks
}

/// A block of patients leaves the trial in the same state as the patients one by one.
#[test]
fn blocks_equal_patients_one_by_one() {
    for design in DESIGNS {
        for (k, (features, patients)) in [
            (1, 2),
            (1, 3),
            (1, 7),
            (1, 40),
            (2, 41),
            (3, 1000),
            (7, 999),
            (8, 20_001),
            (1, 60_000),
        ]
        .into_iter()
        .enumerate()
        {
            for (seed, rest) in
                ["", " reports=8", " alpha=1 epsilon=20", " scale=9 reports=1 epsilon=1/4"]
                    .into_iter()
                    .enumerate()
            {
                let epsilon = if rest.contains("epsilon") { "" } else { " epsilon=1" };
                let text = format!(
                    "design={design} features={features} patients={patients}{epsilon}{rest}"
                );
                let seed = (16 * k + seed) as u64;
                // Arm 1 is far better, a little worse, or always answers yes.
                for rates in [[20, 230], [140, 120], [0, 256]] {
                    compare::<8, 16>(&text, seed, rates, 0);
                }
                compare::<64, 1>(&text, seed, [20, 230], 0);
                if patients > 12 {
                    compare::<8, 4>(&text, seed, [20, 230], 3);
                    compare::<8, 3>(&text, seed, [20, 230], 3);
                }
            }
        }
        compare::<64, 128>(
            &format!("design={design} features=64 patients=30000 epsilon=1"),
            7,
            [20, 230],
            0,
        );
        // Blocks are long: they end at looks, the turn, and a few batch ends a feature.
        let blocks = compare::<8, 16>(
            &format!("design={design} features=2 patients=60000 epsilon=1"),
            8,
            [20, 230],
            0,
        );
        assert!(blocks < 40, "{design} {blocks}");
    }
}

/// In a block a refused patient is named, and those before it are taken.
#[test]
fn refused_patient_of_a_block_is_named() {
    for design in DESIGNS {
        let text = format!("design={design} features=3 patients=500 epsilon=1");
        let mut chance = Generator::seed_from_u64(3);
        let mut trial = Small::new(plan(&text)).unwrap();
        // Feature 3 of 4 is not in the plan.
        let mut patients = Drawn::new(3, 4, [100, 100]);
        let done = (0..500).find_map(|_| trial.at_once(&mut patients, &mut chance).err());
        assert_eq!(done, Some(TrialError::Feature));
        assert_eq!(trial.assigned() as usize + 1, patients.arms.len());
        let mut usual = Small::new(plan(&text)).unwrap();
        let (mut again, mut chance) = (Drawn::new(3, 4, [100, 100]), Generator::seed_from_u64(3));
        while one_by_one(&mut usual, &mut again, &mut chance).is_ok() {}
        assert_eq!(bytes(&trial), bytes(&usual));
        trial.close(&mut chance);
        assert_eq!(trial.at_once(&mut patients, &mut chance), Err(TrialError::Closed));
    }
}
