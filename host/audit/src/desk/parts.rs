//! The parts of a device under audit that chance comes from: its generator and its entropy source.
//!
//! Everything that they are asked for is noted ([`Drawn`]): samples taken, seeds, and the random
//! bytes of names and nonces. None of it may depend on a patient.

use core::any::Any;
use std::cell::{Cell, RefCell};

use super::broken;
use crate::flash::Print;
use equipoise::chance::{Chance, Fraction};
use equipoise::device::generator::Seeded;
use equipoise::device::health::Entropy;
use equipoise::noise::Laplace;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A lent chance.
trait Lent: Chance {
    fn into_any(self: Box<Self>) -> Box<dyn Any>;
}

impl<C: Chance + 'static> Lent for C {
    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

/// Requests to the entropy source and to the generator, other than for patients and for noise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Drawn {
    /// Samples taken from the source.
    pub samples: u32,
    /// Seeds given to a generator, and bytes drawn for names and nonces, in their order.
    pub seeds: Print,
}

impl Drawn {
    /// Adds what was drawn later.
    pub(super) const fn add(&mut self, later: Self) {
        self.samples += later.samples;
        self.seeds.add(later.seeds.get());
    }
}

std::thread_local! {
    static LENT: RefCell<Option<Box<dyn Lent>>> = const { RefCell::new(None) };
    /// Coins thrown for a copy that is asked aside.
    static ASIDE: Cell<Option<u32>> = const { Cell::new(None) };
    static DRAWN: Cell<Drawn> = const { Cell::new(Drawn { samples: 0, seeds: Print::NONE }) };
}

/// Lends a source of chance to all tapes of this thread while `work` runs, and gives it back.
///
/// # Panics
/// Within another `lend` of the thread.
pub fn lend<C: Chance + 'static, T>(chance: C, work: impl FnOnce() -> T) -> (C, T) {
    let before = LENT.replace(Some(Box::new(chance)));
    assert!(before.is_none(), "a chance is lent already");
    let done = work();
    let back = LENT.take().and_then(|lent| lent.into_any().downcast().ok());
    (*back.unwrap_or_else(|| panic!("another chance came back")), done)
}

/// While `work` runs, all tapes of this thread belong to copies: their coins are heads and tails in
/// turn, and none of the chance that is lent is used.
pub(super) fn aside<T>(work: impl FnOnce() -> T) -> T {
    let before = ASIDE.replace(Some(0));
    let done = work();
    ASIDE.set(before);
    done
}

/// Takes the note of what was drawn on this thread.
pub(super) fn take_drawn() -> Drawn {
    DRAWN.take()
}

fn note(change: impl FnOnce(&mut Drawn)) {
    let mut drawn = DRAWN.get();
    change(&mut drawn);
    DRAWN.set(drawn);
}

fn coin(ask: impl FnOnce(&mut dyn Lent) -> bool) -> bool {
    if let Some(thrown) = ASIDE.get() {
        ASIDE.set(Some(thrown + 1));
        return thrown % 2 == 0;
    }
    ask_lent(ask)
}

fn ask_lent<T>(ask: impl FnOnce(&mut dyn Lent) -> T) -> T {
    assert!(ASIDE.get().is_none(), "a copy asks for noise");
    LENT.with_borrow_mut(|lent| match lent {
        Some(chance) => ask(&mut **chance),
        None => panic!("a device asks for chance where nothing is random"),
    })
}

/// The generator of a device under audit. Coins and noise are those of the chance that was
/// [lent](lend); names, nonces and seeds are a function of its seed.
#[derive(Clone, Debug)]
pub struct Tape(Xoshiro256PlusPlus);

impl Seeded for Tape {
    fn from_seed(mut seed: [u8; 32]) -> Self {
        broken::spoil_seed(&mut seed);
        let (words, _) = seed.as_chunks();
        note(|drawn| words.iter().for_each(|word| drawn.seeds.add(u64::from_le_bytes(*word))));
        Self(Xoshiro256PlusPlus::from_seed(seed))
    }

    fn bytes<const N: usize>(&mut self) -> [u8; N] {
        note(|drawn| drawn.seeds.add(N as u64));
        core::array::from_fn(|_| self.0.next_u32() as u8)
    }
}

impl Chance for Tape {
    fn coin(&mut self) -> bool {
        coin(|chance| chance.coin())
    }
    fn biased_coin(&mut self, p: Fraction) -> bool {
        coin(|chance| chance.biased_coin(broken::share(p)))
    }
    fn discrete_laplace(&mut self, law: &Laplace) -> i64 {
        match broken::law(law) {
            Some(other) => ask_lent(|chance| chance.discrete_laplace(&other)),
            None => ask_lent(|chance| chance.discrete_laplace(law)),
        }
    }
    fn lap_plus(&mut self, center: u64, law: &Laplace) -> u64 {
        ask_lent(|chance| chance.lap_plus(center, law))
    }
}

/// An entropy source that passes the health tests, can be copied, and counts the samples taken.
#[derive(Clone, Copy, Debug)]
pub struct Steady(u8);

impl Steady {
    /// The source.
    #[must_use]
    pub const fn new() -> Self {
        Self(0)
    }
}

impl Default for Steady {
    fn default() -> Self {
        Self::new()
    }
}

impl Entropy for Steady {
    fn sample(&mut self) -> Option<u8> {
        self.0 = self.0.wrapping_add(37);
        note(|drawn| drawn.samples += broken::times(broken::Operation::Sample));
        Some(self.0)
    }
}
