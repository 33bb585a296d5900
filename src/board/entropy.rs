//! Hardware noise: the chip's RNG, one byte at a time, with its bias correction on (about 0.7 ms a byte).
//!
//! The correction drops pairs of equal raw bits, so a source that is stuck gives no byte at all. A source
//! that gives none within [`PATIENCE`] is dead, and said to be so, instead of being waited for.

use super::model::pac;
use super::{clock, set};
use crate::device::health::Entropy;
use pac::interrupt;

/// A second: more than a thousand times what a byte takes, and well within the watchdog's patience.
const PATIENCE: u32 = 1_000_000 * clock::PER_MICROSECOND;

const INTERRUPT_VALRDY: u32 = 1 << 0;

/// The running RNG.
pub struct Noise(pac::RNG);

impl Noise {
    pub(super) fn start(rng: pac::RNG) -> Self {
        set(&rng.config, 1);
        set(&rng.tasks_start, 1);
        Self(rng)
    }
}

impl Entropy for Noise {
    fn sample(&mut self) -> Option<u8> {
        let start = clock::now();
        while self.0.events_valrdy.read().bits() == 0 {
            if clock::now().wrapping_sub(start) > PATIENCE {
                return None;
            }
            set(&self.0.intenset, INTERRUPT_VALRDY);
            clock::sleep_unless(|| self.0.events_valrdy.read().bits() != 0);
        }
        // Read, then cleared: a byte that comes in between is dropped. The other way round it would count twice.
        let byte = self.0.value.read().bits() as u8;
        set(&self.0.events_valrdy, 0);
        Some(byte)
    }
}

#[interrupt]
fn RNG() {
    // SAFETY: one write that stops this interrupt; the event stays for the sleeper to see.
    set(unsafe { &(*pac::RNG::ptr()).intenclr }, INTERRUPT_VALRDY);
}
