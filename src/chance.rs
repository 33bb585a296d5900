//! The source of randomness: everything random is drawn through [`Chance`].
//!
//! That is the arm of a patient, a noise draw, the length of a batch. The device passes [`Sampler`]
//! over ChaCha20, simulation the same over xoshiro, and the exact audit an enumerator that walks
//! every answer with its exact probability.

use core::fmt;

use rand_core::{Rng, SeedableRng};

use crate::noise::Laplace;

/// A probability in units of 2^-32.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Fraction(pub u32);

impl Fraction {
    /// One half.
    pub const HALF: Self = Self(1 << 31);
}

/// A source of random answers.
pub trait Chance {
    /// True with probability 1/2.
    fn coin(&mut self) -> bool;
    /// True with probability `p`.
    fn biased_coin(&mut self, p: Fraction) -> bool;
    /// k with probability (1-q)/(1+q) q^|k|, q = e^-rate, but for the rounding in [`crate::noise`].
    fn discrete_laplace(&mut self, law: &Laplace) -> i64;
    /// The law of `discrete_laplace` moved to `center` and conditioned on being at least 0.
    fn lap_plus(&mut self, center: u64, law: &Laplace) -> u64;
}

/// Random answers from the words of a generator: coins are exact, noise is exactly bounded
/// ([`crate::noise`]).
///
/// This holds as long as the words are independent and uniform; on a device that means ChaCha20
/// ([`DeviceSampler`]), anything else is for simulation. The state of the generator cannot be read,
/// printed or copied.
pub struct Sampler<R> {
    words: R,
    /// Coins not yet thrown, lowest bit first.
    coins: u64,
    /// How many of them there are.
    left: u8,
}

/// The sampler of a device.
pub type DeviceSampler = Sampler<chacha20::ChaCha20Rng>;

impl<R: Rng> Sampler<R> {
    /// Takes all randomness from `words`.
    #[must_use]
    pub const fn new(words: R) -> Self {
        Self { words, coins: 0, left: 0 }
    }
}

impl<R: Rng + SeedableRng> Sampler<R> {
    /// Takes all randomness from a generator with this seed.
    #[must_use]
    pub fn from_seed(seed: R::Seed) -> Self {
        Self::new(R::from_seed(seed))
    }

    /// The same from a small seed, for simulation and tests.
    #[must_use]
    pub fn seed_from_u64(seed: u64) -> Self {
        Self::new(R::seed_from_u64(seed))
    }
}

impl<R> fmt::Debug for Sampler<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sampler").finish_non_exhaustive()
    }
}

impl<R: Rng> Chance for Sampler<R> {
    #[inline]
    fn coin(&mut self) -> bool {
        if self.left == 0 {
            self.coins = self.words.next_u64();
            self.left = 64;
        }
        let coin = self.coins & 1 == 1;
        self.coins >>= 1;
        self.left -= 1;
        coin
    }

    #[inline]
    fn biased_coin(&mut self, p: Fraction) -> bool {
        self.words.next_u32() < p.0
    }

    #[inline]
    fn discrete_laplace(&mut self, law: &Laplace) -> i64 {
        // A magnitude is below 2^62.
        let (negative, magnitude) = law.draw(u64::MAX, &mut self.words);
        if negative { -(magnitude as i64) } else { magnitude as i64 }
    }

    #[inline]
    fn lap_plus(&mut self, center: u64, law: &Laplace) -> u64 {
        // Only a centre above 2^64 - 2^62 can come to the end of the number line.
        let (negative, magnitude) = law.draw(center, &mut self.words);
        if negative { center - magnitude } else { center.saturating_add(magnitude) }
    }
}
