//! Where the device's chance comes from: two ChaCha20 streams.
//!
//! **Two streams**, so that what a patient is given does not depend on how long the line was idle:
//! coins and names come from one, noise - which is drawn ahead whenever there is time - from the
//! other. Within each the order of draws is fixed by the requests alone.
//!
//! **Seeding.** At every power-up from [`super::health::START_SAMPLES`] samples of the entropy
//! source, behind its health tests. No seed and no state is ever stored, so no draw can come twice:
//! a power cut destroys the generator, and a draw that had not reached flash by then was never
//! used.
//!
//! **Reseeding** at every look: the new seed is SHA-256 of 32 bytes of the old generator and 32
//! fresh samples. The old state is gone, so the noise of a look cannot be recomputed from a device
//! seized after it. A source that has failed adds nothing; the generator then goes on from its own
//! output (and patients are refused).

use chacha20::ChaCha20Rng;
use rand_core::SeedableRng;

use crate::chance::{Chance, DeviceSampler, Fraction};
use crate::noise::Laplace;

/// A chance that starts from a seed.
pub trait Seeded: Chance {
    /// Everything that follows is a function of this seed.
    fn from_seed(seed: [u8; 32]) -> Self;

    /// Random bytes for names, nonces and seeds, eight coins each. A method of its own, so that an
    /// audit can tell these coins from those of patients.
    fn bytes<const N: usize>(&mut self) -> [u8; N]
    where
        Self: Sized,
    {
        core::array::from_fn(|_| (0..8).fold(0, |byte, _| byte << 1 | u8::from(self.coin())))
    }
}

/// Coins from one ChaCha20 stream, noise from another.
#[derive(Debug)]
pub struct Generator {
    coins: DeviceSampler,
    noise: DeviceSampler,
}

impl Seeded for Generator {
    fn from_seed(seed: [u8; 32]) -> Self {
        let stream = |number| {
            let mut words = ChaCha20Rng::from_seed(seed);
            words.set_stream(number);
            DeviceSampler::new(words)
        };
        Self { coins: stream(0), noise: stream(1) }
    }
}

impl Chance for Generator {
    fn coin(&mut self) -> bool {
        self.coins.coin()
    }

    fn biased_coin(&mut self, p: Fraction) -> bool {
        self.coins.biased_coin(p)
    }

    fn discrete_laplace(&mut self, law: &Laplace) -> i64 {
        self.noise.discrete_laplace(law)
    }

    fn lap_plus(&mut self, center: u64, law: &Laplace) -> u64 {
        self.noise.lap_plus(center, law)
    }
}
