//! Hardware noise: the chip's RNG, one byte at a time, with its bias correction on (about 0.7 ms a
//! byte on the v1, 0.12 ms on the v2).
//!
//! The correction drops pairs of equal raw bits, so a source that is stuck gives no byte at all. A
//! source that gives none within [`PATIENCE`] is dead, and reported as such, instead of being
//! waited for.

use super::model::pac;
use super::{clear, clock, happened, trigger};
use crate::device::health::Entropy;
use pac::interrupt;

/// A second: more than a thousand times what a byte takes, and well within the watchdog's time.
const PATIENCE: u32 = 1_000_000 * clock::PER_MICROSECOND;

/// The running RNG.
pub struct HardwareRng(pac::RNG);

impl HardwareRng {
    pub(super) fn start(rng: pac::RNG) -> Self {
        rng.config.write(|w| w.dercen().enabled());
        trigger(&rng.tasks_start);
        Self(rng)
    }
}

impl Entropy for HardwareRng {
    fn sample(&mut self) -> Option<u8> {
        let start = clock::now();
        while !happened(&self.0.events_valrdy) {
            if clock::now().wrapping_sub(start) > PATIENCE {
                return None;
            }
            self.0.intenset.write(|w| w.valrdy().set());
            clock::sleep_unless(|| happened(&self.0.events_valrdy));
        }
        // Read, then cleared: a byte that comes in between is dropped. The other way round it would
        // count twice.
        let byte = self.0.value.read().value().bits();
        clear(&self.0.events_valrdy);
        Some(byte)
    }
}

#[interrupt]
fn RNG() {
    // SAFETY: one write that stops this interrupt; the event stays for the sleeper to see.
    unsafe { &*pac::RNG::ptr() }.intenclr.write(|w| w.valrdy().clear());
}
