//! The watchdog: resets the chip unless the main loop comes round within [`SECONDS`].
//!
//! Fed in one place only, the main loop, once a turn; never in an interrupt, which would keep a stuck loop
//! alive. It cannot be stopped once started. It pauses while a debugger holds the processor.

use super::model::pac;
use super::set;

/// Longest turn of the main loop: a boot with a full journal or a look take well under a second.
pub const SECONDS: u32 = 8;
/// The slow clock the watchdog counts.
const LFCLK_HZ: u32 = 32_768;
/// Counts in sleep, pauses under a debugger.
const RUN_IN_SLEEP: u32 = 1;
/// The value that feeds a reload register.
const FEED: u32 = 0x6E52_4635;

/// The running watchdog.
pub struct Watchdog(pac::WDT);

impl Watchdog {
    pub(super) fn start(wdt: pac::WDT) -> Self {
        set(&wdt.config, RUN_IN_SLEEP);
        set(&wdt.crv, SECONDS * LFCLK_HZ - 1);
        set(&wdt.rren, 1);
        set(&wdt.tasks_start, 1);
        Self(wdt)
    }

    /// The main loop has come round.
    pub fn feed(&mut self) {
        set(&self.0.rr[0], FEED);
    }
}
