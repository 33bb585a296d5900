//! The watchdog, and resets by software, which it carries out. It pauses while a debugger holds the
//! processor.
//!
//! The longest pass of the main loop is an `ERASE` that erases all 32 pages of the journal: 14
//! seconds until its reply. A boot that repairs a journal after a power cut erases as many.

use super::{clock, pac};
use crate::board::Watchdog;

/// Its count has 24 bits: 67 seconds.
const TICK_MICROSECONDS: u16 = 4;
const LOAD: u32 = Dog::SECONDS * 1_000_000 / TICK_MICROSECONDS as u32;
const _: () = assert!(LOAD < 1 << 24);

/// The running watchdog.
pub struct Dog(pac::WATCHDOG);

impl Dog {
    pub(super) fn start(ticks: &pac::TICKS, psm: &pac::PSM, watchdog: pac::WATCHDOG) -> Self {
        // A reset takes everything but the oscillators, as the power-up sequence does.
        psm.wdsel().write(|w| {
            // SAFETY: all bits of the register are parts that may be reset.
            unsafe { w.bits(0x01FF_FFFF) }.rosc().clear_bit().xosc().clear_bit()
        });
        clock::start_tick(ticks.tickwatchdog(), TICK_MICROSECONDS);
        let mut dog = Self(watchdog);
        dog.feed();
        dog.0.ctrl().write(|w| {
            w.pause_jtag().set_bit().pause_dbg0().set_bit().pause_dbg1().set_bit();
            w.enable().set_bit()
        });
        dog
    }
}

impl Watchdog for Dog {
    const SECONDS: u32 = 60;

    fn feed(&mut self) {
        // SAFETY: the field takes 24 bits.
        self.0.load().write(|w| unsafe { w.load().bits(LOAD) });
    }
}

/// Resets the chip, at once if the watchdog has been set up, else by the processor's own reset.
pub(super) fn reset() -> ! {
    // SAFETY: one write to a register of which nothing else is left to run.
    unsafe { &*pac::WATCHDOG::ptr() }.ctrl().modify(|_, w| w.trigger().set_bit());
    cortex_m::asm::delay(1_000_000);
    cortex_m::peripheral::SCB::sys_reset()
}
