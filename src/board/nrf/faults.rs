//! Fault handlers and reset reasons.
//!
//! A panic, a hard fault or a stray interrupt sends, logs and shows nothing: memory may be in any
//! state and a panic's message could hold a private number. The handler leaves a mark in a RAM cell
//! that start-up does not clear, and resets the chip; the journal then restores everything that was
//! answered. A stack overflow ends in a processor lock-up, because the fault handler itself finds
//! no stack; the chip resets on that by itself and reports it in RESETREAS, as it does for the
//! watchdog. `HELLO` reports the cause ([`Reasons::cause`]).

use super::model::pac;
use super::write;
use crate::board::restart::Reasons;
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

/// Reads and forgets why the board started.
pub(super) fn reasons(power: &pac::POWER) -> Reasons {
    let reasons = power.resetreas.read();
    // Written ones clear.
    write(&power.resetreas, reasons.bits());
    let cell = MARK.0.get().cast::<[u32; 2]>();
    // SAFETY: any bits are valid words, and nobody else uses the cell now.
    let left = unsafe { cell.read_volatile() };
    // SAFETY: as above.
    unsafe { cell.write_volatile([0, 0]) };
    Reasons {
        marked: left == [FAULT, !FAULT],
        pin: reasons.resetpin().bit_is_set(),
        watchdog: reasons.dog().bit_is_set(),
        software: reasons.sreq().bit_is_set(),
        lockup: reasons.lockup().bit_is_set(),
    }
}

fn mark_and_reset() -> ! {
    cortex_m::interrupt::disable();
    // SAFETY: interrupts are off and this never returns.
    unsafe { MARK.0.get().cast::<[u32; 2]>().write_volatile([FAULT, !FAULT]) };
    SCB::sys_reset()
}

#[panic_handler]
fn panic(_: &PanicInfo) -> ! {
    mark_and_reset()
}

#[exception]
unsafe fn HardFault(_: &cortex_m_rt::ExceptionFrame) -> ! {
    mark_and_reset()
}

#[exception]
unsafe fn DefaultHandler(_: i16) -> ! {
    mark_and_reset()
}
