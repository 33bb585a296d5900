//! Time: TIMER0 counts 16 MHz from the crystal, in 32 bits, so a count wraps after 268 seconds.
//!
//! Compare channels: 0 reads the count, 1 is the regular tick, 2 the moment [`Clock::sleep_until`]
//! waits for. The processor sleeps between interrupts; a wait ends on the compare event itself and
//! not after a polling loop.

use super::model::pac;
use super::{clear, happened, trigger, write};
use crate::board::Clock;
use crate::board::main_loop::TICK_MICROSECONDS;
use cortex_m::asm;
use pac::interrupt;

/// Counts in a microsecond.
pub(super) const PER_MICROSECOND: u32 = 16;
const TICK: u32 = TICK_MICROSECONDS * PER_MICROSECOND;

const NOW: usize = 0;
const EVERY: usize = 1;
const AT: usize = 2;
/// A crystal starts in about a millisecond; without one the RC oscillator is used after this many
/// polls.
const CRYSTAL_POLLS: u32 = 200_000;

/// The running timer.
pub struct Timer(pac::TIMER0);

impl Timer {
    pub(super) fn start(oscillator: &pac::CLOCK, timer: pac::TIMER0) -> Self {
        trigger(&oscillator.tasks_hfclkstart);
        for _ in 0..CRYSTAL_POLLS {
            if happened(&oscillator.events_hfclkstarted) {
                break;
            }
        }
        trigger(&timer.tasks_stop);
        trigger(&timer.tasks_clear);
        timer.mode.write(|w| w.mode().timer());
        timer.bitmode.write(|w| w.bitmode()._32bit());
        // SAFETY: the prescaler's field takes 0 to 9; 0 divides the 16 MHz by one.
        timer.prescaler.write(|w| unsafe { w.prescaler().bits(0) });
        trigger(&timer.tasks_start);
        write(&timer.cc[EVERY], TICK);
        timer.intenset.write(|w| w.compare1().set());
        Self(timer)
    }
}

impl Clock for Timer {
    const PER_MICROSECOND: u32 = PER_MICROSECOND;

    fn now(&mut self) -> u32 {
        now()
    }

    fn sleep(&mut self, work: impl FnMut() -> bool) {
        self.0.intenset.write(|w| w.compare1().set());
        sleep_unless(work);
    }

    /// The tick is off from here to the next [`Clock::sleep`], so that it cannot fall between the
    /// moment and what the caller does then.
    fn sleep_until(&mut self, moment: u32) {
        self.0.intenclr.write(|w| w.compare1().clear());
        write(&self.0.cc[AT], moment);
        clear(&self.0.events_compare[AT]);
        self.0.intenset.write(|w| w.compare2().set());
        loop {
            let reached = cortex_m::interrupt::free(|_| {
                let ahead = moment.wrapping_sub(now());
                if ahead == 0 || ahead > u32::MAX / 2 {
                    return true;
                }
                asm::wfi();
                happened(&self.0.events_compare[AT])
            });
            if reached {
                break;
            }
        }
        self.0.intenclr.write(|w| w.compare2().clear());
    }
}

/// Sleeps until an interrupt, unless there is something to do already.
pub(super) fn sleep_unless(mut work: impl FnMut() -> bool) {
    // Masked, an interrupt still ends the sleep but is served after it: none is missed between the
    // check and the sleep.
    cortex_m::interrupt::free(|_| {
        if !work() {
            asm::wfi();
        }
    });
}

/// The count now, for drivers that must not wait for ever.
pub(super) fn now() -> u32 {
    // SAFETY: the capture channel `NOW` may be captured by anybody at any time.
    let timer = unsafe { &*pac::TIMER0::ptr() };
    trigger(&timer.tasks_capture[NOW]);
    timer.cc[NOW].read().bits()
}

#[interrupt]
fn TIMER0() {
    // SAFETY: single writes to registers with no effect but their own; the main loop only reads
    // these bits.
    let timer = unsafe { &*pac::TIMER0::ptr() };
    // Only where its interrupt is on: a tick during `sleep_until` must not lengthen the way out of
    // it.
    let on = timer.intenset.read().compare1().bit_is_set();
    if on && happened(&timer.events_compare[EVERY]) {
        clear(&timer.events_compare[EVERY]);
        // Counted from now: after a long page erase the next tick must not lie in the past. (A
        // capture on the tick's own channel would do, but QEMU raises the event again for it.) If
        // this interrupt falls between capture and reading in `now`, the caller gets the later
        // count, which is valid too.
        write(&timer.cc[EVERY], now().wrapping_add(TICK));
    }
    if happened(&timer.events_compare[AT]) {
        // The event stays for the sleeper to see.
        timer.intenclr.write(|w| w.compare2().clear());
    }
    // The clearing must have reached the peripheral before the handler returns.
    let _ = happened(&timer.events_compare[EVERY]);
}
