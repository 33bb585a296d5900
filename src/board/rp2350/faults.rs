//! Fault handlers and reset reasons.
//!
//! A panic, a hard fault or a stray interrupt sends, logs and shows nothing: memory may be in any
//! state and a panic's message could hold a private number. The handler leaves a mark in a scratch
//! register of the watchdog, which a reset by the watchdog does not clear but power-up does, and
//! resets the chip; the journal then restores everything that was answered. A stack overflow is a
//! hard fault as well: the processor compares its stack pointer with the end of the stack
//! (`MSPLIM`), and the handler of hard faults begins with a fresh stack. `HELLO` reports the cause
//! ([`Reasons::cause`]).

use super::{pac, watchdog};
use crate::board::restart::Reasons;
use core::panic::PanicInfo;
use cortex_m_rt::exception;

/// Left by a handler below: a panic, a fault or a stray interrupt.
const FAULT: u32 = 0xFA01_7E5E;

/// Reads and forgets why the board started. CHIP_RESET tells why it last started as a whole; the
/// resets that the watchdog has carried out since are in REASON.
pub(super) fn reasons(watchdog: &pac::WATCHDOG, powman: &pac::POWMAN) -> Reasons {
    let (last, whole) = (watchdog.reason().read(), powman.chip_reset().read());
    let marked = watchdog.scratch0().read().bits() == FAULT;
    // SAFETY: a scratch register holds anything.
    watchdog.scratch0().write(|w| unsafe { w.scratch0().bits(0) });
    let (by_timer, by_software) = (last.timer().bit(), last.force().bit());
    let by_debugger = whole.had_dp_reset_req().bit() || whole.had_hzd_sys_reset_req().bit();
    let by_chip = !by_timer && !by_software;
    Reasons {
        marked,
        pin: by_chip && whole.had_run_low().bit() && !whole.had_por().bit(),
        watchdog: by_timer,
        software: by_software || (by_chip && (by_debugger || whole.had_rescue().bit())),
        lockup: false,
    }
}

extern "C" fn mark_and_reset() -> ! {
    cortex_m::interrupt::disable();
    // SAFETY: interrupts are off and this never returns.
    let watchdog = unsafe { &*pac::WATCHDOG::ptr() };
    // SAFETY: a scratch register holds anything.
    watchdog.scratch0().write(|w| unsafe { w.scratch0().bits(FAULT) });
    watchdog::reset()
}

#[panic_handler]
fn panic(_: &PanicInfo) -> ! {
    mark_and_reset()
}

// The handler of hard faults, in assembly: a function may use the stack, which may be full.
core::arch::global_asm!(
    ".section .text.HardFault, \"ax\"",
    ".global HardFault",
    ".type HardFault, %function",
    ".thumb_func",
    "HardFault:",
    "ldr r0, =_stack_start",
    "msr msp, r0",
    "b {reset}",
    reset = sym mark_and_reset,
);

#[exception]
unsafe fn DefaultHandler(_: i16) -> ! {
    mark_and_reset()
}
