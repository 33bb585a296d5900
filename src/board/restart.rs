//! Going down and coming back: panic, hard fault, stray interrupt.
//!
//! In all three nothing is sent, logged or shown: memory may be in any state and a panic's message could hold
//! a private number. One word that names the cause is left in a RAM cell that start-up does not clear, and
//! the chip is reset; the journal then gives back everything that was answered. A stack overflow ends in a
//! processor lock-up, because the fault itself finds no stack; the chip resets on that by itself and says so
//! in RESETREAS, as it does for the watchdog.

use super::model::pac;
use super::set;
use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
use core::panic::PanicInfo;
use cortex_m::peripheral::SCB;
use cortex_m_rt::exception;

/// Why the board started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Restart {
    /// Power was switched on, or the reset button or a debugger was used.
    Ordinary,
    /// The firmware found itself in a state that cannot be.
    Panic,
    /// The processor faulted, or an interrupt came that nobody asked for.
    Fault,
    /// The main loop stopped turning.
    Watchdog,
    /// The processor locked up: a fault inside a fault, or a stack overflow.
    Lockup,
}

/// The cause and its complement; anything else is noise from power-up.
struct Retained(UnsafeCell<MaybeUninit<[u32; 2]>>);

// SAFETY: written by a handler that never returns, read and cleared once at start.
unsafe impl Sync for Retained {}

#[unsafe(link_section = ".uninit.CAUSE")]
static CAUSE: Retained = Retained(UnsafeCell::new(MaybeUninit::uninit()));

const PANIC: u32 = 0x50A1_1C5E;
const FAULT: u32 = 0xFA01_7E5E;
const RESETREAS_DOG: u32 = 1 << 1;
const RESETREAS_LOCKUP: u32 = 1 << 3;

impl Restart {
    /// Reads and forgets the cause.
    pub(super) fn take(power: &pac::POWER) -> Self {
        let reasons = power.resetreas.read().bits();
        // Written ones clear.
        set(&power.resetreas, reasons);
        let cell = CAUSE.0.get().cast::<[u32; 2]>();
        // SAFETY: any bits are valid words, and nobody else uses the cell now.
        let [cause, complement] = unsafe { cell.read_volatile() };
        // SAFETY: as above.
        unsafe { cell.write_volatile([0, 0]) };
        match cause {
            PANIC if complement == !PANIC => Self::Panic,
            FAULT if complement == !FAULT => Self::Fault,
            _ if reasons & RESETREAS_DOG != 0 => Self::Watchdog,
            _ if reasons & RESETREAS_LOCKUP != 0 => Self::Lockup,
            _ => Self::Ordinary,
        }
    }
}

fn go_down(cause: u32) -> ! {
    cortex_m::interrupt::disable();
    // SAFETY: interrupts are off and this never returns.
    unsafe { CAUSE.0.get().cast::<[u32; 2]>().write_volatile([cause, !cause]) };
    SCB::sys_reset()
}

#[panic_handler]
fn panic(_: &PanicInfo) -> ! {
    go_down(PANIC)
}

#[exception]
unsafe fn HardFault(_: &cortex_m_rt::ExceptionFrame) -> ! {
    go_down(FAULT)
}

#[exception]
unsafe fn DefaultHandler(_: i16) -> ! {
    go_down(FAULT)
}
