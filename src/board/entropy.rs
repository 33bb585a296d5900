//! Hardware noise: the chip's RNG, one byte at a time, about 0.2 ms raw and 0.7 ms corrected.
//!
//! Raw bytes are what the health tests must see: the chip's bias correction would hide a failing source from
//! them. Seeds are made of corrected bytes. A source that gives nothing within [`PATIENCE`] looks is dead, and
//! said to be so, instead of being waited for.

use super::model::pac;
use super::set;

/// Looks at a silent RNG before it is given up: more than 10 ms at 16 MHz, ten times what a byte may take.
const PATIENCE: u32 = 40_000;

/// The RNG gave no byte in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Silent;

/// The running RNG.
pub struct Entropy {
    rng: pac::RNG,
    corrected: bool,
}

impl Entropy {
    pub(super) fn start(rng: pac::RNG) -> Self {
        set(&rng.config, 1);
        set(&rng.tasks_start, 1);
        Self { rng, corrected: true }
    }

    /// One byte as it comes from the noise source.
    ///
    /// # Errors
    /// The source is dead.
    pub fn raw(&mut self) -> Result<u8, Silent> {
        self.byte(false)
    }

    /// One byte after the chip's bias correction.
    ///
    /// # Errors
    /// The source is dead.
    pub fn corrected(&mut self) -> Result<u8, Silent> {
        self.byte(true)
    }

    fn byte(&mut self, corrected: bool) -> Result<u8, Silent> {
        if corrected != self.corrected {
            set(&self.rng.tasks_stop, 1);
            set(&self.rng.config, u32::from(corrected));
            // What was made under the other setting is thrown away.
            set(&self.rng.events_valrdy, 0);
            set(&self.rng.tasks_start, 1);
            self.corrected = corrected;
        }
        for _ in 0..PATIENCE {
            if self.rng.events_valrdy.read().bits() != 0 {
                let byte = self.rng.value.read().bits() as u8;
                set(&self.rng.events_valrdy, 0);
                return Ok(byte);
            }
        }
        Err(Silent)
    }
}
