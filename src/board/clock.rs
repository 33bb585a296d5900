//! Time: TIMER0 counts 16 MHz from the crystal, in 32 bits, so a count wraps after 268 seconds.
//!
//! Compare channels: 0 reads the count, 1 is the regular tick, 2 the moment [`Clock::sleep_until`] waits for,
//! 3 the moment of the last received byte (captured by the serial interrupt). The processor sleeps between
//! interrupts; a wait ends on the compare event itself and not after a polling loop, so what is sent after it
//! leaves the same number of instructions after the moment waited for, whatever was computed before.

use super::model::pac;
use super::set;
use cortex_m::asm;
use pac::interrupt;

/// Counts in a microsecond.
pub const PER_MICROSECOND: u32 = 16;
/// The tick: how often [`Clock::sleep`] returns when nothing else happens.
pub const TICK: u32 = 4_000 * PER_MICROSECOND;

const NOW: usize = 0;
const EVERY: usize = 1;
const AT: usize = 2;
pub(super) const BYTE: usize = 3;
/// Bit of compare channel 0 in INTENSET and INTENCLR.
const INTERRUPT: u32 = 1 << 16;
/// A crystal starts in about a millisecond; boards without one go on with the RC oscillator after this many looks.
const CRYSTAL_POLLS: u32 = 200_000;

/// The running timer.
pub struct Clock(pac::TIMER0);

impl Clock {
    pub(super) fn start(oscillator: &pac::CLOCK, timer: pac::TIMER0) -> Self {
        set(&oscillator.tasks_hfclkstart, 1);
        for _ in 0..CRYSTAL_POLLS {
            if oscillator.events_hfclkstarted.read().bits() != 0 {
                break;
            }
        }
        set(&timer.tasks_stop, 1);
        set(&timer.tasks_clear, 1);
        set(&timer.mode, 0);
        set(&timer.bitmode, 3);
        set(&timer.prescaler, 0);
        set(&timer.tasks_start, 1);
        set(&timer.cc[EVERY], TICK);
        set(&timer.intenset, INTERRUPT << EVERY);
        Self(timer)
    }

    /// The count now.
    pub fn now(&mut self) -> u32 {
        now()
    }

    /// The count at which the last byte was taken from the serial port.
    #[must_use]
    pub fn last_byte(&self) -> u32 {
        self.0.cc[BYTE].read().bits()
    }

    /// Sleeps until an interrupt: a byte, or the tick. Returns at once if `work` says there is something to do.
    pub fn sleep(&mut self, work: impl Fn() -> bool) {
        set(&self.0.intenset, INTERRUPT << EVERY);
        sleep_unless(work);
    }

    /// Sleeps until the count is `moment`; returns at once when that has passed (by less than half a turn).
    /// The tick is off from here to the next [`Clock::sleep`], so that it cannot fall between the moment and
    /// what the caller does then.
    pub fn sleep_until(&mut self, moment: u32) {
        set(&self.0.intenclr, INTERRUPT << EVERY);
        set(&self.0.cc[AT], moment);
        set(&self.0.events_compare[AT], 0);
        set(&self.0.intenset, INTERRUPT << AT);
        loop {
            let reached = cortex_m::interrupt::free(|_| {
                let ahead = moment.wrapping_sub(self.now());
                if ahead == 0 || ahead > u32::MAX / 2 {
                    return true;
                }
                asm::wfi();
                self.0.events_compare[AT].read().bits() != 0
            });
            if reached {
                break;
            }
        }
        set(&self.0.intenclr, INTERRUPT << AT);
    }
}

/// Sleeps until an interrupt, unless there is something to do already.
pub(super) fn sleep_unless(work: impl FnOnce() -> bool) {
    // Masked, an interrupt still ends the sleep but is served after it: none is missed between the look and
    // the sleep.
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
    set(&timer.tasks_capture[NOW], 1);
    timer.cc[NOW].read().bits()
}

#[interrupt]
fn TIMER0() {
    // SAFETY: single writes to registers with no effect but their own; the main loop only reads these bits.
    let timer = unsafe { &*pac::TIMER0::ptr() };
    // Only where its interrupt is on: a tick during `sleep_until` must not lengthen the way out of it.
    let on = timer.intenset.read().bits() & (INTERRUPT << EVERY) != 0;
    if on && timer.events_compare[EVERY].read().bits() != 0 {
        set(&timer.events_compare[EVERY], 0);
        // Counted from now: after a long page erase the next tick must not lie in the past. (A capture on
        // the tick's own channel would do, but QEMU raises the event again for it.) If this falls between
        // capture and reading in `now`, the caller gets the later count, which is as good.
        set(&timer.tasks_capture[NOW], 1);
        set(&timer.cc[EVERY], timer.cc[NOW].read().bits().wrapping_add(TICK));
    }
    if timer.events_compare[AT].read().bits() != 0 {
        // The event stays for the sleeper to see.
        set(&timer.intenclr, INTERRUPT << AT);
    }
    // The clearing must have reached the peripheral before the handler returns.
    let _ = timer.events_compare[EVERY].read().bits();
}
