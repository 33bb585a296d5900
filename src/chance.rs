//! The one door for randomness.
//!
//! Everything random in a trial - the arm of a patient, a noise draw, the length of a batch - is asked of a
//! [`Chance`]. The device passes [`Sampler`] over ChaCha20, simulation the same over xoshiro, and the exact
//! audit an enumerator that walks every answer with its exact probability.

use crate::noise::Laplace;

/// A probability in units of 2^-32.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Fraction(pub u32);

impl Fraction {
    /// One half.
    pub const HALF: Self = Self(1 << 31);
}

/// A source of exact random answers.
pub trait Chance {
    /// True with probability 1/2.
    fn coin(&mut self) -> bool;
    /// True with probability `p`.
    fn biased_coin(&mut self, p: Fraction) -> bool;
    /// k with probability (1-q)/(1+q) q^|k|, q = e^-rate.
    fn discrete_laplace(&mut self, law: &Laplace) -> i64;
    /// The law of `discrete_laplace` moved to `center` and conditioned on being at least 0.
    fn lap_plus(&mut self, center: u64, law: &Laplace) -> u64;
}
