//! A statistical attack on the kit numbers of blinded trials.
//!
//! **Who.** The adversary has written down every kit number of the ward in the order in which kits
//! were given, and knows the plan, the code, the share of each arm at every stage of the trial and,
//! of other trials, the arm of every kit. Outcomes seen at the bedside are not used.
//!
//! **What.** From the kit of a patient and all kits before it the attack computes [`FEATURES`]
//! numbers (features of the attack, not of patients): parity, low and high bits, rank, gap, run,
//! distance to the nearest neighbour, record. On the first half of the trials it learns how often
//! each value goes with arm 1, stage by stage, and on the second half it guesses arms by all
//! features together (naive Bayes). Its *gain* is the share of patients guessed right beyond always
//! guessing the arm that is given more often at that stage. For each feature there is also a
//! chi-squared test of independence.
//!
//! **Trials.** `interim` with a large effect, so that one arm gets 95 %. A stage goes from one look
//! to the next: within it the law of the coin is the same for every patient, so the order of the
//! patients reveals nothing about arms.
//!
//! With kit numbers that increase within each arm, as on an ordinary list, the attack guesses most
//! arms ([`Numbering::Increasing`]); so it can succeed.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;

use chacha20::ChaCha20Rng;
use equipoise::chance::DeviceSampler;
use equipoise::kits::KitKey;
use equipoise::kits::all::numbers;
use equipoise::plan::Plan;
use equipoise::terms::Arm;
use equipoise::trial::{Trial, TrialError};

/// How kits are numbered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbering {
    /// By the permutation that ships.
    Permutation,
    /// Arms are shuffled over the numbers, and each arm's kits are given in increasing order.
    Increasing,
}

/// Names of the features.
pub const FEATURES: [&str; 9] = [
    "parity",
    "low bits",
    "high bits",
    "rank among the kits so far",
    "gap to the kit before",
    "length of the rising run",
    "distance to the nearest kit",
    "record",
    "parity of the gap",
];
/// Values of a feature.
const VALUES: usize = 8;
/// Stages of a trial, at most.
const STAGES: usize = 16;
/// Kits an arm, for each patient.
const RESERVE: f64 = 1.05;

/// The result of an attack.
#[derive(Clone, Debug)]
pub struct Attack {
    /// Patients of all trials.
    pub assignments: usize,
    /// The share of the arm that is given more often.
    pub share: f64,
    /// Patients of the second half of the trials guessed right by the share alone, and by the
    /// attack, as shares.
    pub right: [f64; 2],
    /// How far the attack is ahead, in standard errors; below about 4 is chance.
    pub z: f64,
    /// For each feature how far its chi-squared is above what independence gives, in standard
    /// errors.
    pub dependence: [f64; FEATURES.len()],
}

impl Attack {
    /// Whether the attack found anything.
    #[must_use]
    pub fn succeeds(&self) -> bool {
        self.z > LIMIT || self.dependence.iter().any(|z| *z > LIMIT)
    }
}

/// Standard errors that chance does not reach: 10^-9, nine features and the guess together.
const LIMIT: f64 = 6.5;

/// A patient as the attack sees them: stage, values of the features, and the arm.
type Seen = (usize, [usize; FEATURES.len()], usize);

/// Attacks so many trials of so many patients.
#[must_use]
pub fn attack(numbering: Numbering, trials: u32, patients: u32, seed: u64) -> Attack {
    let seen: Vec<Vec<Seen>> = (0..trials)
        .into_par_iter()
        .map(|trial| one_trial(numbering, patients, seed ^ u64::from(trial) << 32))
        .collect();
    let (learn, judge) = seen.split_at(seen.len() / 2);
    let mut counts = [[[[0_f64; 2]; VALUES]; FEATURES.len()]; STAGES];
    let mut arms = [[0_f64; 2]; STAGES];
    let count = |seen: &[Vec<Seen>], counts: &mut Counts, arms: &mut [[f64; 2]; STAGES]| {
        for (stage, values, arm) in seen.iter().flatten() {
            arms[*stage][*arm] += 1.0;
            for (feature, value) in values.iter().enumerate() {
                counts[*stage][feature][*value][*arm] += 1.0;
            }
        }
    };
    count(learn, &mut counts, &mut arms);
    let (mut right, mut ahead, mut other) = ([0_f64; 2], 0_f64, 0_f64);
    for (stage, values, arm) in judge.iter().flatten() {
        let of = |arm: usize| (arms[*stage][arm] + 1.0).ln();
        let usual = usize::from(of(1) > of(0));
        let log_odds = (0..FEATURES.len()).fold(of(1) - of(0), |sum, feature| {
            let likelihood = |arm: usize| {
                let count = counts[*stage][feature][values[feature]][arm] + 0.5;
                (count / (arms[*stage][arm] + 0.5 * VALUES as f64)).ln()
            };
            sum + likelihood(1) - likelihood(0)
        });
        let guess = usize::from(log_odds > 0.0);
        right[0] += f64::from(u8::from(usual == *arm));
        right[1] += f64::from(u8::from(guess == *arm));
        if guess != usual {
            other += 1.0;
            ahead += if guess == *arm { 1.0 } else { -1.0 };
        }
    }
    let judged = judge.iter().map(Vec::len).sum::<usize>() as f64;
    count(judge, &mut counts, &mut arms);
    let all = arms.iter().flatten().sum::<f64>();
    let ones = arms.iter().map(|[_, one]| one).sum::<f64>() / all;
    Attack {
        assignments: all as usize,
        share: ones.max(1.0 - ones),
        right: right.map(|right| right / judged),
        z: if other > 0.0 { ahead / other.sqrt() } else { 0.0 },
        dependence: core::array::from_fn(|feature| dependence(&counts, &arms, feature)),
    }
}

type Counts = [[[[f64; 2]; VALUES]; FEATURES.len()]; STAGES];

/// The chi-squared of a feature against the arm within each stage, less its mean, in standard
/// deviations.
fn dependence(counts: &Counts, arms: &[[f64; 2]; STAGES], feature: usize) -> f64 {
    let (mut sum, mut freedom) = (0.0, 0.0);
    for (counts, arms) in counts.iter().zip(arms) {
        let all = arms[0] + arms[1];
        let used = counts[feature].iter().filter(|[zero, one]| zero + one > 0.0);
        freedom += used.clone().count().saturating_sub(1) as f64;
        for cell in used {
            for arm in 0..2 {
                let expected = (cell[0] + cell[1]) * arms[arm] / all;
                if expected > 0.0 {
                    sum += (cell[arm] - expected).powi(2) / expected;
                }
            }
        }
    }
    (sum - freedom) / (2.0 * freedom.max(1.0)).sqrt()
}

/// One trial: its patients as the attack sees them.
fn one_trial(numbering: Numbering, patients: u32, seed: u64) -> Vec<Seen> {
    let mut chance = Xoshiro256PlusPlus::seed_from_u64(seed);
    let kits = (f64::from(patients) * RESERVE) as u32;
    let mut key = [0; 32];
    chance.fill_bytes(&mut key);
    let numbers = match numbering {
        Numbering::Permutation => numbers(&KitKey::new(&key), kits),
        Numbering::Increasing => increasing(kits, &mut chance),
    };
    let given = arms(patients, &mut chance).unwrap_or_default();
    let mut next = [0, 1];
    let mut ward = Ward { size: 2 * kits, kits: Vec::new(), before: 0, run: 0 };
    let mut seen = Vec::new();
    for (stage, arm) in given {
        let place = &mut next[arm.index()];
        let values = ward.see(numbers[*place]);
        *place += 2;
        seen.push((stage, values, arm.index()));
    }
    seen
}

/// Numbers by place as [`numbers`] gives them, increasing within each arm.
fn increasing(kits: u32, chance: &mut impl Rng) -> Vec<u32> {
    let mut shuffled: Vec<u32> = (1..=2 * kits).collect();
    for last in (1..shuffled.len()).rev() {
        let other = (chance.next_u64() % (last as u64 + 1)) as usize;
        shuffled.swap(last, other);
    }
    let (zero, one) = shuffled.split_at_mut(kits as usize);
    zero.sort_unstable();
    one.sort_unstable();
    zero.iter().zip(one).flat_map(|(zero, one)| [*zero, *one]).collect()
}

/// Stage and arm of every patient of an adaptive trial, through the code that ships.
fn arms(patients: u32, chance: &mut impl Rng) -> Result<Vec<(usize, Arm)>, TrialError> {
    let text = format!("features=1 patients={patients} better=high epsilon=1");
    let plan = Plan::parse(&text).map_err(|_| TrialError::Capacity)?;
    let mut trial = Trial::<1, 1>::new(plan)?;
    let mut seed = [0; 32];
    chance.fill_bytes(&mut seed);
    let mut sampler = DeviceSampler::new(ChaCha20Rng::from_seed(seed));
    let mut arms = Vec::new();
    for patient in 1..=patients {
        let arm = trial.assign(0, None, &mut sampler)?;
        let stage = usize::from(trial.looks()).min(STAGES - 1);
        let good = chance.next_u32() % 10 < arm.of([1, 9]);
        trial.outcome(patient, u16::from(good), &mut sampler)?;
        arms.push((stage, arm));
    }
    Ok(arms)
}

/// Facts that the attack knows of the kits given so far.
struct Ward {
    /// The largest number.
    size: u32,
    /// In order.
    kits: Vec<u32>,
    before: u32,
    /// How many kits in a row were larger than the one before.
    run: usize,
}

impl Ward {
    /// The values of the features of the next kit.
    fn see(&mut self, kit: u32) -> [usize; FEATURES.len()] {
        let eighth = |value: u64, of: u64| ((value * 8 / of.max(1)) as usize).min(7);
        let place = self.kits.partition_point(|known| *known < kit);
        let below = place.checked_sub(1).map(|below| kit - self.kits[below]);
        let above = self.kits.get(place).map(|above| above - kit);
        let nearest = below.into_iter().chain(above).min().unwrap_or(self.size);
        // In units of the mean distance, doubling from one value to the next.
        let mean = f64::from(self.size) / (self.kits.len() as f64 + 1.0);
        let distance = (f64::from(nearest) / mean).log2() + 5.0;
        let record = match (below, above) {
            (None, None) => 0,
            (Some(_), None) => 1,
            (None, Some(_)) => 2,
            // How many of the kits so far are larger: few where an arm runs ahead.
            (Some(_), Some(_)) => 3 + (self.kits.len() - place).ilog2().min(8) as usize / 2,
        };
        let gap = i64::from(kit) - i64::from(self.before);
        self.run = if gap > 0 { self.run + 1 } else { 0 };
        let values = [
            kit as usize & 1,
            kit as usize & 7,
            eighth(u64::from(kit) - 1, self.size.into()),
            eighth(place as u64, self.kits.len() as u64 + 1),
            eighth((gap + i64::from(self.size)).unsigned_abs(), 2 * u64::from(self.size)),
            self.run.min(7),
            distance.clamp(0.0, 7.0) as usize,
            record,
            gap.unsigned_abs() as usize & 1,
        ];
        self.kits.insert(place, kit);
        self.before = kit;
        values
    }
}
