//! Going down and coming back: panic, hard fault, stray interrupt.
//!
//! In all three nothing is sent, logged or shown: memory may be in any state and a panic's message could hold
//! a private number. A mark is left in a RAM cell that start-up does not clear, and
//! the chip is reset; the journal then gives back everything that was answered. A stack overflow ends in a
//! processor lock-up, because the fault itself finds no stack; the chip resets on that by itself and says so
//! in RESETREAS, as it does for the watchdog. `HELLO` tells which it was.

use super::model::pac;
use super::set;
use crate::wire::Restart;
use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
use core::panic::PanicInfo;
use cortex_m::peripheral::SCB;
use cortex_m_rt::exception;

/// The mark and its complement; anything else is noise from power-up.
struct Retained(UnsafeCell<MaybeUninit<[u32; 2]>>);

// SAFETY: written by a handler that never returns, read and cleared once at start.
unsafe impl Sync for Retained {}

#[unsafe(link_section = ".uninit.MARK")]
static MARK: Retained = Retained(UnsafeCell::new(MaybeUninit::uninit()));

/// Left by a handler below: a panic, a fault or a stray interrupt.
const FAULT: u32 = 0xFA01_7E5E;
const RESETREAS_PIN: u32 = 1 << 0;
const RESETREAS_DOG: u32 = 1 << 1;
const RESETREAS_SOFTWARE: u32 = 1 << 2;
const RESETREAS_LOCKUP: u32 = 1 << 3;

/// Reads and forgets why the board started.
pub(super) fn take(power: &pac::POWER) -> Restart {
    let reasons = power.resetreas.read().bits();
    // Written ones clear.
    set(&power.resetreas, reasons);
    let cell = MARK.0.get().cast::<[u32; 2]>();
    // SAFETY: any bits are valid words, and nobody else uses the cell now.
    let left = unsafe { cell.read_volatile() };
    // SAFETY: as above.
    unsafe { cell.write_volatile([0, 0]) };
    if left == [FAULT, !FAULT] || reasons & RESETREAS_LOCKUP != 0 {
        Restart::Fault
    } else if reasons & RESETREAS_DOG != 0 {
        Restart::Watchdog
    } else if reasons & (RESETREAS_PIN | RESETREAS_SOFTWARE) != 0 {
        Restart::Reset
    } else {
        Restart::Power
    }
}

fn go_down() -> ! {
    cortex_m::interrupt::disable();
    // SAFETY: interrupts are off and this never returns.
    unsafe { MARK.0.get().cast::<[u32; 2]>().write_volatile([FAULT, !FAULT]) };
    SCB::sys_reset()
}

#[panic_handler]
fn panic(_: &PanicInfo) -> ! {
    go_down()
}

#[exception]
unsafe fn HardFault(_: &cortex_m_rt::ExceptionFrame) -> ! {
    go_down()
}

#[exception]
unsafe fn DefaultHandler(_: i16) -> ! {
    go_down()
}
