//! Health tests of the entropy source.
//!
//! A source gives bytes ([`Entropy::sample`]) as the chip hands them out: without a hash or a
//! generator in between, which would hide a dead source from the tests. The boards' chips remove
//! bias themselves, bit by bit; a source that is stuck still repeats itself or gives nothing. We
//! take each byte to hold at least H = 4 bits of min-entropy, half of what a perfect source has.
//! Every sample passes these tests, at start and ever after, and a failure is final until power-up.
//!
//! * **Repetition count** (NIST SP 800-90B, 4.4.1): C = 1 + ceil(30/H) = 9 equal samples in a row.
//!   A good source does this with probability at most 2^-30 at any sample.
//! * **Adaptive proportion** (4.4.2): in windows of W = 512 samples, the first one must not come 71
//!   times or more: 1 plus the critical value of Binomial(512, 2^-H) at 1 - 2^-30.
//! * **Stuck bits** (ours; the two above are blind to them): in 64 samples every one of the eight
//!   bits must have been both 0 and 1. A fair bit fails with probability 2^-63, all eight together
//!   2^-60.
//! * **At start** (4.3) 1,024 samples are tested before the first is used; a perfect source fails
//!   about once in 2^20 starts, and a new start helps. The samples are then used: SHA-256 of all of
//!   them is the generator's first seed (4,096 bits of assessed entropy, 256 needed).
//!
//! Afterwards one sample is drawn and tested for every patient, so that a stuck source is found
//! within nine patients, and [`RESEED_SAMPLES`] at every look (see [`super::generator`]).

use sha2::{Digest, Sha256};

/// A source of random bytes from hardware, one at a time.
pub trait Entropy {
    /// The next sample; `None` if the source gave none in time.
    fn sample(&mut self) -> Option<u8>;
}

/// A source that gives the same samples for the same seed: for simulation and test builds, never
/// for patients.
#[cfg(any(test, feature = "std", feature = "seeded"))]
#[derive(Debug)]
pub struct Repeatable(chacha20::ChaCha20Rng);

#[cfg(any(test, feature = "std", feature = "seeded"))]
impl Repeatable {
    /// The source of this seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(rand_core::SeedableRng::seed_from_u64(seed))
    }
}

#[cfg(any(test, feature = "std", feature = "seeded"))]
impl Entropy for Repeatable {
    fn sample(&mut self) -> Option<u8> {
        Some(rand_core::Rng::next_u32(&mut self.0) as u8)
    }
}

/// Samples tested, and used, at start.
pub const START_SAMPLES: usize = 1024;
/// Fresh samples in the seed of a reseeding.
pub const RESEED_SAMPLES: usize = 32;

/// Cutoff of the repetition count.
const REPETITIONS: u32 = 9;
/// Window of the adaptive proportion test.
const WINDOW: u32 = 512;
/// Cutoff of the adaptive proportion test.
const PROPORTION: u32 = 71;
/// Samples in which every bit must have changed.
const BIT_WINDOW: u32 = 64;
const _: () = assert!(WINDOW.is_multiple_of(BIT_WINDOW));

/// The source failed; it is not trusted again before power-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unhealthy;

impl core::fmt::Display for Unhealthy {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("the entropy source failed a health test")
    }
}

impl core::error::Error for Unhealthy {}

/// The state of the three tests.
#[derive(Clone, Copy, Debug)]
struct Tests {
    last: u8,
    repeats: u32,
    reference: u8,
    seen: u32,
    same: u32,
    ones: u8,
    zeros: u8,
}

impl Tests {
    const NEW: Self =
        Self { last: 0, repeats: 0, reference: 0, seen: 0, same: 0, ones: 0, zeros: 0 };

    /// Takes a sample; `false` if a test fails.
    fn pass(&mut self, sample: u8) -> bool {
        // The very first sample starts a run of one.
        self.repeats = if self.repeats > 0 && sample == self.last {
            self.repeats.saturating_add(1)
        } else {
            1
        };
        self.last = sample;

        if self.seen == 0 {
            (self.reference, self.same) = (sample, 0);
        }
        self.same += u32::from(sample == self.reference);

        if self.seen.is_multiple_of(BIT_WINDOW) {
            (self.ones, self.zeros) = (0, 0);
        }
        (self.ones, self.zeros) = (self.ones | sample, self.zeros | !sample);
        self.seen = (self.seen + 1) % WINDOW;
        let stuck = self.seen.is_multiple_of(BIT_WINDOW) && (self.ones & self.zeros) != u8::MAX;

        self.repeats < REPETITIONS && self.same < PROPORTION && !stuck
    }
}

/// A source behind its health tests.
#[derive(Clone, Debug)]
pub(super) struct Monitored<E> {
    source: E,
    tests: Tests,
    healthy: bool,
}

impl<E: Entropy> Monitored<E> {
    /// A source not yet tested.
    pub const fn new(source: E) -> Self {
        Self { source, tests: Tests::NEW, healthy: true }
    }

    /// A tested sample.
    ///
    /// # Errors
    /// The source fails a test, or has failed one since power-up.
    pub fn sample(&mut self) -> Result<u8, Unhealthy> {
        if !self.healthy {
            return Err(Unhealthy);
        }
        let sample = self.source.sample().filter(|sample| self.tests.pass(*sample));
        self.healthy = sample.is_some();
        sample.ok_or(Unhealthy)
    }

    /// SHA-256 of `old` and as many fresh samples.
    ///
    /// # Errors
    /// As [`Self::sample`].
    pub fn seed(&mut self, old: &[u8], samples: usize) -> Result<[u8; 32], Unhealthy> {
        let mut hash = Sha256::new_with_prefix(old);
        for _ in 0..samples {
            hash.update([self.sample()?]);
        }
        Ok(hash.finalize().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::{Rng, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    /// A good source, spoilt by a function of the sample's number.
    struct Spoilt<F>(Xoshiro256PlusPlus, usize, F);

    impl<F: Fn(usize, u8) -> Option<u8>> Entropy for Spoilt<F> {
        fn sample(&mut self) -> Option<u8> {
            self.1 += 1;
            (self.2)(self.1, self.0.next_u32() as u8)
        }
    }

    /// The samples passed before the first failure, out of 100,000.
    fn lifetime(spoil: impl Fn(usize, u8) -> Option<u8>) -> usize {
        let mut source = Monitored::new(Spoilt(Xoshiro256PlusPlus::seed_from_u64(1), 0, spoil));
        let passed = (0..100_000).take_while(|_| source.sample().is_ok()).count();
        assert!(passed == 100_000 || source.sample() == Err(Unhealthy), "a failure is final");
        passed
    }

    #[test]
    fn a_good_source_passes() {
        assert_eq!(lifetime(|_, byte| Some(byte)), 100_000);
        // Four good bits are what was assumed.
        assert_eq!(lifetime(|_, byte| Some(byte & 0x0F | byte << 4)), 100_000);
    }

    #[test]
    fn the_ninth_equal_sample_in_a_row_fails() {
        let stuck_from = |from: usize| move |i: usize, byte| Some(if i > from { 7 } else { byte });
        assert_eq!(lifetime(stuck_from(0)), 8);
        assert_eq!(lifetime(stuck_from(2000)), 2008);
    }

    #[test]
    fn a_value_too_frequent_fails_within_a_window() {
        let often = |i: usize, byte: u8| Some(if i % 5 == 1 { 7 } else { byte.max(8) });
        // The 71st of every fifth sample from the first one on.
        assert_eq!(lifetime(often), 5 * 70);
        assert!(
            lifetime(|i, byte| Some(if i % 10 == 1 { 7 } else { byte })) == 100_000,
            "52 of 512 are allowed"
        );
    }

    #[test]
    fn a_stuck_bit_fails_within_64_samples() {
        for bit in 0..8 {
            assert_eq!(lifetime(|_, byte| Some(byte | 1 << bit)), 63);
            assert_eq!(lifetime(|_, byte| Some(byte & !(1 << bit))), 63);
        }
    }

    #[test]
    fn a_source_that_falls_silent_fails() {
        assert_eq!(lifetime(|i, byte| (i <= 500).then_some(byte)), 500);
        assert!(format!("{Unhealthy}").contains("entropy source failed"));
    }

    /// A seed depends on what was before and on every sample.
    #[test]
    fn a_seed_depends_on_every_sample() {
        let seed = |old: &[u8], samples, flip: usize| {
            let spoil = move |i: usize, byte: u8| Some(if i == flip { byte ^ 1 } else { byte });
            Monitored::new(Spoilt(Xoshiro256PlusPlus::seed_from_u64(1), 0, spoil))
                .seed(old, samples)
        };
        let first = seed(b"", START_SAMPLES, 0).unwrap();
        assert_eq!(seed(b"", START_SAMPLES, 0), Ok(first));
        for other in [
            seed(b"x", START_SAMPLES, 0),
            seed(b"", START_SAMPLES, 1),
            seed(b"", START_SAMPLES, 1024),
        ] {
            assert_ne!(other, Ok(first));
        }
    }
}
