//! Leaks by parts below replies: seeds, samples, coins, noise, flash, idle time, moments, state.

use equipoise::chance::Fraction;
use equipoise::noise::{Laplace, Rate};
use equipoise::terms::Arm;
use equipoise::trial::stored::Part;
use equipoise_audit::desk::Secret;
use equipoise_audit::desk::broken::{Altered, Broken, Operation};

use super::{Caught, Mutant};

/// A fault in how often operations are done.
struct Times(fn(&Secret, Operation<'_>) -> u32);

impl Broken for Times {
    fn times(&self, secret: &Secret, operation: Operation<'_>) -> u32 {
        (self.0)(secret, operation)
    }
}

/// A fault in the seeds of the generator.
struct Seeds(fn(&Secret, &mut [u8; 32]));

impl Broken for Seeds {
    fn seed(&self, secret: &Secret, seed: &mut [u8; 32]) {
        (self.0)(secret, seed);
    }
}

/// A fault in the coin.
struct Share(fn(&Secret, Fraction) -> Fraction);

impl Broken for Share {
    fn share(&self, secret: &Secret, p: Fraction) -> Fraction {
        (self.0)(secret, p)
    }
}

/// Noise of another rate where the raw sum is odd.
struct OtherRate;

impl Broken for OtherRate {
    fn law(&self, secret: &Secret, law: &Laplace) -> Option<Laplace> {
        let halved = Rate::new(law.rate().num(), law.rate().den() * 2);
        secret.is_odd().then(|| Laplace::new(halved.unwrap()))
    }
}

/// A reply that is late where the raw sum is odd.
struct Late;

impl Broken for Late {
    fn late(&self, secret: &Secret) -> u32 {
        if secret.is_odd() { 20_000 } else { 0 }
    }
}

/// A fault in the state of the trial.
struct Alter(fn(&Secret, &mut dyn Altered));

impl Broken for Alter {
    fn alter(&self, secret: &Secret, trial: &mut dyn Altered) {
        (self.0)(secret, trial);
    }
}

/// An operation that is done once, or so often where the raw sum is odd.
fn or(times: u32, secret: &Secret, here: bool) -> u32 {
    if here && secret.is_odd() { times } else { 1 }
}

/// A quarter of a share where the raw sum is odd.
fn quarter(secret: &Secret, p: Fraction) -> Fraction {
    Fraction(if secret.is_odd() { p.0 / 4 } else { p.0 })
}

/// Doubles all raw cells of feature 0 with an outcome that comes while the raw sum is odd.
fn double(secret: &Secret, trial: &mut dyn Altered) {
    if secret.is_odd() && trial.resolved() > secret.resolved {
        let mut bytes = trial.part(Part::Tally(0));
        let (cells, _) = bytes.as_chunks_mut::<4>();
        for cell in cells {
            *cell = (i32::from_le_bytes(*cell) * 2).to_le_bytes();
        }
        trial.set(Part::Tally(0), &bytes);
    }
}

/// At a look at 1,000 patients or more, the last feature settles where the raw sum is odd.
fn settle(secret: &Secret, trial: &mut dyn Altered) {
    if secret.resolved >= 1_000 && trial.looks() > secret.looks {
        let part = Part::Ledger(secret.plan.features() - 1);
        let mut bytes = trial.part(part);
        *bytes.last_mut().unwrap() = secret.is_odd().into();
        trial.set(part, &bytes);
    }
}

/// Whether the last patient of a blinded trial has arm 1.
fn last_is_one(secret: &Secret) -> bool {
    secret.arms.iter().any(|(patient, arm)| *patient == secret.assigned && *arm == Arm::One)
}

pub const MUTANTS: &[Mutant] = &[
    Mutant::new(
        "device",
        "reseeded from a raw sum and 16 random bits",
        Caught::Exact,
        &Seeds(|secret, seed| {
            seed[2..].fill(0);
            seed[2..10].copy_from_slice(&secret.sum().to_le_bytes());
        }),
    ),
    Mutant::of_seeds("device", "reseeded from 16 random bits", |number, seed| {
        if number > 0 {
            seed[2..].fill(0);
        }
    }),
    Mutant::of_seeds("device", "a start seed of 8 bits", |number, seed| {
        if number == 0 {
            seed[1..].fill(0);
        }
    }),
    Mutant::of_seeds(
        "board",
        "an entropy source that gives 0 as the first bit of a seed",
        |_, seed| {
            seed[0] &= 0x7f;
        },
    ),
    Mutant::new(
        "device",
        "a second sample is taken for a patient",
        Caught::Exact,
        &Times(|secret, operation| or(2, secret, operation == Operation::Sample)),
    ),
    Mutant::new("trial", "an outcome counts twice", Caught::Exact, &Alter(double)),
    Mutant::new("design", "noise has another rate", Caught::Exact, &OtherRate),
    Mutant::new("design", "a coin leans", Caught::Exact, &Share(quarter)),
    Mutant::new(
        "design",
        "shares follow raw cells, from 4 features on",
        Caught::Large,
        &Share(|secret, p| if secret.cells.len() >= 4 { quarter(secret, p) } else { p }),
    ),
    Mutant::new(
        "design",
        "settling by raw cells from count 1,000 on",
        Caught::Large,
        &Alter(settle),
    ),
    Mutant::new(
        "journal",
        "tidying is skipped: an old value is not zeroed",
        Caught::Exact,
        &Times(|secret, operation| match operation {
            Operation::Write(bytes) => or(0, secret, bytes.iter().all(|byte| *byte == 0)),
            _ => 1,
        }),
    ),
    Mutant::new(
        "journal",
        "a word is written twice",
        Caught::Exact,
        &Times(|secret, operation| or(2, secret, matches!(operation, Operation::Write(_)))),
    ),
    Mutant::new(
        "journal",
        "a page is not erased",
        Caught::Pairs,
        &Times(|secret, operation| {
            or(0, secret, operation == Operation::Erase && secret.assigned > 150)
        }),
    ),
    Mutant::new(
        "kits",
        "preparing the next kit takes longer behind arm 1",
        Caught::Blinded,
        &Times(|secret, operation| match operation {
            Operation::Piece if last_is_one(secret) => 2,
            _ => 1,
        }),
    ),
    Mutant::new("board", "a reply is late by 20 ms", Caught::Exact, &Late),
];
