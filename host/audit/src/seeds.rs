//! Where chance begins: the seeds of the device's generator, collected over many starts.
//!
//! Everything random follows from seeds, so a seed that can take few values, or that a patient
//! changes, gives everything away; and no reply shows it. [`examine`] starts many devices and has
//! each close a small trial, which seeds its generator anew. Every seed is recorded, and so is how
//! many samples the device took for it. Then:
//! * every start takes [`START_SAMPLES`] samples, and every close [`RESEED_SAMPLES`], no more and
//!   no fewer: [`Trouble::Samples`];
//! * no two seeds are equal, of starts and of closes alike, so a seed of b bits is found if 2^b is
//!   below about [`STARTS`]^2 / 20: [`Trouble::Equal`];
//! * every bit of a seed is 1 in half of the devices, and any two bits of a seed differ in half of
//!   them: [`Trouble::Uneven`];
//! * devices whose samples differ in the last one of the start have other seeds, and so have those
//!   that differ in the last one of the close, or in the state of the old generator alone:
//!   [`Trouble::Deaf`].
//!
//! A seed that is a hash of too few bits passes if there are more than about 20 of them.

use std::cell::RefCell;
use std::collections::HashSet;

use equipoise::chance::{Chance, Fraction};
use equipoise::device::generator::{Generator, Seeded};
use equipoise::device::health::{Entropy, RESEED_SAMPLES, Repeatable, START_SAMPLES};
use equipoise::noise::Laplace;
use equipoise::plan::DesignName;
use rayon::prelude::*;

use super::desk::Desk;
use super::finding::{Finding, Method, claim};
use super::loss::Loss;
use super::suite::parse;

/// Devices started.
pub const STARTS: u32 = 4096;
/// Standard deviations of a count of bits that chance does not reach, over all pairs of bits.
const TOO_FAR: f64 = 8.0;
/// Pages of flash of a device.
const PAGES: usize = 16;
/// Bits of a seed.
const BITS: usize = 256;

/// A seed of the generator.
pub type Seed = [u8; 32];
/// A fault: changes a seed, by its number since the device was started.
pub type Spoil = fn(usize, &mut Seed);

/// A fault of the seeds of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// A seed is made of more or fewer samples than is said.
    Samples,
    /// Two devices have the same seed.
    Equal,
    /// Bits are not independent and fair.
    Uneven,
    /// A seed does not depend on a sample, or not on the seed before.
    Deaf,
}

/// The seeds of one device, and the samples taken up to each.
#[derive(Clone, Debug, Default)]
struct Record {
    seeds: Vec<(Seed, u32)>,
    samples: u32,
    spoil: Option<Spoil>,
}

std::thread_local! {
    static RECORD: RefCell<Record> = RefCell::default();
}

/// The generator that ships, whose seeds are recorded.
struct Recorded(Generator);

impl Seeded for Recorded {
    fn from_seed(mut seed: Seed) -> Self {
        RECORD.with_borrow_mut(|record| {
            if let Some(spoil) = record.spoil {
                spoil(record.seeds.len(), &mut seed);
            }
            record.seeds.push((seed, record.samples));
        });
        Self(Generator::from_seed(seed))
    }
}

impl Chance for Recorded {
    fn coin(&mut self) -> bool {
        self.0.coin()
    }
    fn biased_coin(&mut self, p: Fraction) -> bool {
        self.0.biased_coin(p)
    }
    fn discrete_laplace(&mut self, law: &Laplace) -> i64 {
        self.0.discrete_laplace(law)
    }
    fn lap_plus(&mut self, center: u64, law: &Laplace) -> u64 {
        self.0.lap_plus(center, law)
    }
}

/// A source whose samples are counted; one of them may be another.
struct Counting {
    source: Repeatable,
    /// The number of the sample of which one bit is turned over, from 1; 0 for none.
    turned: u32,
}

impl Entropy for Counting {
    fn sample(&mut self) -> Option<u8> {
        let taken = RECORD.with_borrow_mut(|record| {
            record.samples += 1;
            record.samples
        });
        self.source.sample().map(|sample| sample ^ u8::from(taken == self.turned))
    }
}

/// The seeds of a device that is started, given a plan and closed after a patient, with the samples
/// taken up to each.
fn seeds(design: DesignName, seed: u64, turned: u32, spoil: Option<Spoil>) -> Vec<(Seed, u32)> {
    RECORD.set(Record { spoil, ..Record::default() });
    let plan = parse(&format!("design={design} features=1 patients=4 epsilon=1"));
    let source = Counting { source: Repeatable::new(seed), turned };
    let mut desk = Desk::<1, 4, Counting, Recorded>::new(&plan, source, PAGES, None)
        .unwrap_or_else(|refused| panic!("the device refuses the plan of the audit: {refused}"));
    desk.assign(1, 0);
    desk.ask("OUTCOME 1 1");
    desk.order("CLOSE");
    RECORD.take().seeds
}

/// Starts many devices with a design, on fixed seeds of their source, and examines the seeds of
/// their generators.
///
/// # Errors
/// The first fault found in them.
pub fn examine(design: DesignName, spoil: Option<Spoil>) -> Result<(), Trouble> {
    let start = START_SAMPLES as u32;
    // A patient is a sample of its own.
    let close = start + 1 + RESEED_SAMPLES as u32;
    let all: Vec<_> =
        (0..STARTS).into_par_iter().map(|run| seeds(design, run.into(), 0, spoil)).collect();
    let counts =
        |seeds: &Vec<(Seed, u32)>| seeds.iter().map(|(_, taken)| *taken).collect::<Vec<_>>();
    if all.iter().any(|seeds| counts(seeds) != [start, close]) {
        return Err(Trouble::Samples);
    }
    let every: Vec<Seed> = all.iter().flatten().map(|(seed, _)| *seed).collect();
    if every.iter().collect::<HashSet<_>>().len() < every.len() {
        return Err(Trouble::Equal);
    }
    if [0, 1].iter().any(|at| !are_even(all.iter().map(|seeds| &seeds[*at].0))) {
        return Err(Trouble::Uneven);
    }
    let reference = &all[0];
    for (turned, changed) in [(1, [true; 2]), (start, [true; 2]), (close, [false, true])] {
        let other = seeds(design, 0, turned, spoil);
        let differs = [0, 1].map(|at: usize| other[at].0 != reference[at].0);
        if differs != changed {
            return Err(Trouble::Deaf);
        }
    }
    Ok(())
}

/// Whether every bit is fair, and any two differ in half of the seeds.
fn are_even<'a>(seeds: impl Iterator<Item = &'a Seed>) -> bool {
    let bit = |seed: &Seed, at: usize| seed[at / 8] >> (at % 8) & 1;
    let seeds: Vec<&Seed> = seeds.collect();
    let words = seeds.len().div_ceil(64);
    // One row of bits for each bit of a seed, over all devices.
    let mut rows = vec![vec![0_u64; words]; BITS];
    for (device, seed) in seeds.iter().enumerate() {
        for (at, row) in rows.iter_mut().enumerate() {
            row[device / 64] |= u64::from(bit(seed, at)) << (device % 64);
        }
    }
    let (half, deviation) = (seeds.len() as f64 / 2.0, (seeds.len() as f64).sqrt() / 2.0);
    let is_half = |count: u32| (f64::from(count) - half).abs() < TOO_FAR * deviation;
    let ones = |row: &[u64]| row.iter().map(|word| word.count_ones()).sum();
    let differ =
        |one: &[u64], other: &[u64]| one.iter().zip(other).map(|(a, b)| (a ^ b).count_ones()).sum();
    rows.iter().enumerate().all(|(at, row)| {
        is_half(ones(row)) && rows[..at].iter().all(|other| is_half(differ(row, other)))
    })
}

/// The line of the audit for the seeds of devices with a design.
#[must_use]
pub fn finding(design: DesignName) -> Finding {
    let found = match examine(design, None) {
        Ok(()) => Loss::NONE,
        Err(_) => Loss { epsilon: f64::INFINITY, delta: 1.0 },
    };
    let plan = parse(&format!("design={design} features=1 patients=4 epsilon=1"));
    let instance = format!("seeds of {STARTS} starts and closes: samples, equal seeds, bits");
    Finding::new(design, Method::Seeds, instance, claim(&plan), found)
}
