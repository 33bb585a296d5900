//! Hardware noise: the chip's TRNG, which samples a ring oscillator, removes bias after von Neumann
//! and collects 192 bits at a time. Its own three tests are on: 32 equal bits, equal blocks of 16
//! bits, autocorrelation.
//!
//! A source that is stuck gives nothing. The chip's tests also fail now and then on a good source
//! (that for equal blocks of 16 bits once in 5,500 collections); what failed is dropped and
//! collected anew. A source that gives nothing within [`PATIENCE`] is dead, and reported as such.

use super::{clock, pac};
use crate::device::health::Entropy;
use core::array;

/// A second: more than a hundred times what 192 bits take, and well within the watchdog's time.
const PATIENCE: u32 = 1_000_000;
/// Cycles between two samples of the oscillator. The data sheet of the chip finds 20 to 25
/// acceptable and more better; with this many, 192 bits take about 3 ms.
const SAMPLE_CYCLES: u32 = 500;
/// The shortest chain of inverters, the fastest oscillator.
const SHORTEST: u8 = 0;
/// Bytes of 192 bits.
const HELD: usize = 24;

/// The running TRNG.
pub struct HardwareRng {
    trng: pac::TRNG,
    held: array::IntoIter<u8, HELD>,
}

impl HardwareRng {
    pub(super) fn start(trng: pac::TRNG) -> Self {
        let mut rng = Self { trng, held: [0; HELD].into_iter() };
        // Nothing is held yet.
        rng.held.by_ref().for_each(drop);
        rng.restart();
        rng
    }

    /// Resets the TRNG, which ends a failure of its tests, and starts to collect.
    fn restart(&mut self) {
        self.trng.trng_sw_reset().write(|w| w.trng_sw_reset().set_bit());
        let start = clock::now();
        loop {
            // SAFETY: any number of cycles is allowed.
            self.trng.sample_cnt1().write(|w| unsafe { w.sample_cntr1().bits(SAMPLE_CYCLES) });
            // It does not hold before the reset is over.
            let set = self.trng.sample_cnt1().read().bits() == SAMPLE_CYCLES;
            if set || clock::now().wrapping_sub(start) > PATIENCE {
                break;
            }
        }
        // SAFETY: the field takes 0 to 3.
        self.trng.trng_config().write(|w| unsafe { w.rnd_src_sel().bits(SHORTEST) });
        self.trng.rnd_source_enable().write(|w| w.rnd_src_en().set_bit());
    }

    /// The next 192 bits, as soon as they are there. Reading the last word starts the next ones.
    fn collect(&mut self) -> Option<[u8; HELD]> {
        let start = clock::now();
        loop {
            let status = self.trng.rng_isr().read();
            if status.autocorr_err().bit() || status.crngt_err().bit() || status.vn_err().bit() {
                self.restart();
            } else if status.ehr_valid().bit() {
                break;
            }
            if clock::now().wrapping_sub(start) > PATIENCE {
                return None;
            }
        }
        let trng = &self.trng;
        // Cleared before the last word is read: the event of the next 192 bits must stay.
        trng.rng_icr().write(|w| w.ehr_valid().set_bit());
        let words = [
            trng.ehr_data0().read().bits(),
            trng.ehr_data1().read().bits(),
            trng.ehr_data2().read().bits(),
            trng.ehr_data3().read().bits(),
            trng.ehr_data4().read().bits(),
            trng.ehr_data5().read().bits(),
        ];
        let mut bytes = [0; HELD];
        for (place, word) in bytes.as_chunks_mut().0.iter_mut().zip(words) {
            *place = word.to_le_bytes();
        }
        Some(bytes)
    }
}

impl Entropy for HardwareRng {
    fn sample(&mut self) -> Option<u8> {
        if self.held.len() == 0 {
            self.held = self.collect()?.into_iter();
        }
        self.held.next()
    }
}
