//! The watchdog. It cannot be stopped once started. It pauses while a debugger holds the processor.
//!
//! A reset by software, and one after a lock-up, does not stop it either: it goes on from where it
//! was. So it is reloaded first thing after a start. Without that, a crash at the end of an `ERASE`
//! would leave a repair 8 of its 16 seconds.
//!
//! The longest pass of the main loop is an `ERASE` that erases all 64 pages of the v2's journal: 8
//! seconds until its reply. A boot that repairs a journal after a power cut erases as many, in 5.6
//! seconds. On the v1, whose pages erase in a quarter of the time, both take under 3 seconds, but a
//! boot with 64 features takes 4.4 seconds without repairs: noise for every feature, and the hash
//! of the image (`cargo xtask counts`).

use super::model::pac;
use super::{trigger, write};
use crate::board::Watchdog;

/// The slow clock the watchdog counts.
const LFCLK_HZ: u32 = 32_768;

/// The running watchdog.
pub struct Dog(pac::WDT);

impl Dog {
    /// Starts it, or reloads the one that is running, whose setup cannot be changed.
    pub(super) fn start(wdt: pac::WDT) -> Self {
        wdt.rr[0].write(|w| w.rr().reload());
        wdt.config.write(|w| w.sleep().run().halt().pause());
        write(&wdt.crv, Self::SECONDS * LFCLK_HZ - 1);
        wdt.rren.write(|w| w.rr0().enabled());
        trigger(&wdt.tasks_start);
        Self(wdt)
    }
}

impl Watchdog for Dog {
    const SECONDS: u32 = 16;

    fn feed(&mut self) {
        self.0.rr[0].write(|w| w.rr().reload());
    }
}
