//! The BBC micro:bit, v1 (nRF51822, Cortex-M0) and v2 (nRF52833, Cortex-M4F).
//!
//! The two chips share the registers of UART, RNG, NVMC, TIMER and WDT, so each driver is written
//! once over the alias [`model::pac`]; what differs (pins, page size, names of interrupts, sizes)
//! is in `v1.rs` and `v2.rs`. Registers are written by field and value; tasks and events, which
//! both chips define as 1 and 0, by [`trigger`], [`clear`] and [`happened`].
//!
//! | peripheral | driver |
//! |---|---|
//! | UART0 | [`serial`]: 115200 8N1 on the pins towards the USB interface chip |
//! | RNG | [`entropy`]: hardware noise with the chip's bias correction on |
//! | NVMC | [`flash`]: the region `JOURNAL` of the memory layout |
//! | TIMER0 | [`clock`]: 16 MHz count, sleep until a moment, a regular tick |
//! | WDT | [`watchdog`] |
//! | GPIO | [`pins`]: the serial line and the LEDs, which `model::Screen` shows a picture on |
//! | POWER, faults | [`faults`]: panic, hard fault, stray interrupt; reset reasons |
#![allow(unsafe_code, reason = "registers and interrupts; each block gives its own reason")]

pub mod clock;
#[cfg(feature = "microbit-v1")]
mod doubles;
pub mod entropy;
pub mod faults;
pub mod flash;
pub mod pins;
pub mod serial;
pub mod watchdog;

#[cfg_attr(feature = "microbit-v1", path = "v1.rs")]
#[cfg_attr(feature = "microbit-v2", path = "v2.rs")]
pub mod model;

use super::flash::Flash;
use super::memory::TrialMemory;
use super::serial::{Receiver, Sender};
use super::{Board, Peripherals};
use model::{FEATURES, WAITING, pac};
use pac::generic::{Readable, Reg, RegisterSpec, Resettable, Writable};

/// The micro:bit this firmware is built for.
pub struct Microbit;

impl Board for Microbit {
    type Clock = clock::Timer;
    type Sender = Sender<pac::UART0>;
    type Receiver = Receiver;
    type Entropy = entropy::HardwareRng;
    type Flash = Flash<pac::NVMC>;
    type Screen = model::Screen;
    type Watchdog = watchdog::Dog;
    const ERASE_MICROSECONDS: u32 = model::ERASE_MICROSECONDS;
    const WORD_MICROSECONDS: u32 = model::WORD_MICROSECONDS;
}

/// Sets up the board; `None` if that was already done.
#[must_use]
pub fn take() -> Option<Peripherals<Microbit, FEATURES, WAITING>> {
    let chip = pac::Peripherals::take()?;
    let watchdog = watchdog::Dog::start(chip.WDT);
    let clock = clock::Timer::start(&chip.CLOCK, chip.TIMER0);
    let restart = faults::reasons(&chip.POWER).cause();
    let (sender, receiver) = serial::open(chip.UART0)?;
    // The main loop wakes by these, and nothing else interrupts it.
    // SAFETY: no critical section is open, so unmasking breaks none.
    unsafe {
        cortex_m::peripheral::NVIC::unmask(pac::Interrupt::TIMER0);
        cortex_m::peripheral::NVIC::unmask(pac::Interrupt::RNG);
        cortex_m::peripheral::NVIC::unmask(model::UART_INTERRUPT);
    }
    Some(Peripherals {
        clock,
        sender,
        receiver,
        entropy: entropy::HardwareRng::start(chip.RNG),
        flash: Flash(chip.NVMC),
        screen: model::screen(),
        watchdog,
        // SAFETY: once only, because `pac::Peripherals::take` gives its value once.
        state: unsafe { STATE.take() },
        restart,
        image: flash::image_hash(),
    })
}

static STATE: TrialMemory<FEATURES, WAITING> = TrialMemory::blank();

/// Starts a task.
#[inline]
fn trigger<S: Writable + Resettable + RegisterSpec<Ux = u32>>(task: &Reg<S>) {
    write(task, 1);
}

/// Forgets an event.
#[inline]
fn clear<S: Writable + Resettable + RegisterSpec<Ux = u32>>(event: &Reg<S>) {
    write(event, 0);
}

/// Whether an event has happened.
#[inline]
fn happened<S: Readable + RegisterSpec<Ux = u32>>(event: &Reg<S>) -> bool {
    // SAFETY: the pointer is that of a live register; reading an event changes nothing.
    unsafe { event.as_ptr().read_volatile() != 0 }
}

/// Writes a register that is one number (a count, an address, a mask of pins), or a task or event.
/// The register belongs to a peripheral this module owns; none of them can touch memory.
#[inline]
fn write<S: Writable + Resettable + RegisterSpec<Ux = u32>>(register: &Reg<S>, value: u32) {
    // SAFETY: the pointer is that of a live register.
    unsafe { register.as_ptr().write_volatile(value) }
}
