//! The BBC micro:bit, v1 (nRF51822, Cortex-M0) and v2 (nRF52833, Cortex-M4F).
//!
//! The two chips share the registers of UART, RNG, NVMC, TIMER and WDT, so each driver is written once over
//! the alias [`model::pac`]; what differs (pins, page size, names of interrupts) is in `v1.rs` and `v2.rs`.
//! This is the only place in the crate where `unsafe` is allowed.
//!
//! | part | used as | promise |
//! |---|---|---|
//! | UART0 | [`serial`] | 115200 8N1 on the USB-serial pins; received in an interrupt; a byte that was lost leaves a mark, so that a damaged line is refused, not misread |
//! | RNG | [`entropy`] | hardware noise, with the chip's bias correction on |
//! | NVMC | [`flash`] | the journal region as `embedded_storage` NOR flash |
//! | TIMER0 | [`clock`] | 16 MHz count, sleep until a moment, a regular tick |
//! | WDT | [`watchdog`] | resets a main loop that stopped turning |
//! | GPIO | [`leds`] | the 5 x 5 matrix through `embedded_hal` pins |
//! | RAM | [`stamps`] | moments of the last request, for whoever holds a debugger: the tests |
//! | faults | [`restart`] | panic, hard fault, stray interrupt: nothing is sent, the cause is kept, the chip resets |
#![allow(unsafe_code)]

pub mod clock;
pub mod entropy;
pub mod flash;
pub mod leds;
#[cfg(feature = "seeded")]
pub mod rehearsal;
pub mod restart;
pub mod serial;
pub mod stamps;
pub mod watchdog;

#[cfg(all(feature = "microbit-v1", feature = "microbit-v2"))]
compile_error!("a firmware is for one board: choose `microbit-v1` or `microbit-v2`");

#[cfg_attr(feature = "microbit-v1", path = "v1.rs")]
#[cfg_attr(feature = "microbit-v2", path = "v2.rs")]
pub mod model;

use crate::device::DeviceState;
use core::cell::UnsafeCell;
use model::pac;

/// Every part of the board the firmware uses, set up.
pub struct Board {
    /// Time.
    pub clock: clock::Clock,
    /// The serial line, sending side.
    pub sender: serial::Sender,
    /// The serial line, receiving side.
    pub receiver: serial::Receiver,
    /// Hardware noise.
    pub entropy: entropy::Noise,
    /// The journal's flash.
    pub flash: flash::Flash,
    /// The LED matrix.
    pub leds: leds::Matrix<leds::Pin, { model::LED_ROWS }, { model::LED_COLUMNS }>,
    /// The watchdog, running.
    pub watchdog: watchdog::Watchdog,
    /// Where the device keeps its trial.
    pub held: &'static mut DeviceState,
    /// Why the board started.
    pub restart: crate::wire::Restart,
}

impl Board {
    /// Sets up the board; `None` if that was already done.
    #[must_use]
    pub fn take() -> Option<Self> {
        let chip = pac::Peripherals::take()?;
        let clock = clock::Clock::start(&chip.CLOCK, chip.TIMER0);
        let restart = restart::take(&chip.POWER);
        let watchdog = watchdog::Watchdog::start(chip.WDT);
        let (sender, receiver) = serial::open(chip.UART0)?;
        // The main loop wakes by these, and nothing else interrupts it.
        // SAFETY: no critical section is open, so unmasking breaks none.
        unsafe {
            cortex_m::peripheral::NVIC::unmask(pac::Interrupt::TIMER0);
            cortex_m::peripheral::NVIC::unmask(pac::Interrupt::RNG);
            cortex_m::peripheral::NVIC::unmask(model::UART_INTERRUPT);
        }
        Some(Self {
            clock,
            sender,
            receiver,
            entropy: entropy::Noise::start(chip.RNG),
            flash: flash::Flash::new(chip.NVMC),
            leds: leds::Matrix::new(model::led_rows(), model::led_columns(), &model::LED_MAP),
            watchdog,
            // SAFETY: once only, for `pac::Peripherals::take` gives its value once.
            held: unsafe { &mut *HELD.0.get() },
            restart,
        })
    }
}

/// The trial's memory: made where it stays, for it is too large to pass over the stack.
struct Memory(UnsafeCell<DeviceState>);

// SAFETY: reached once, by `Board::take`.
unsafe impl Sync for Memory {}

static HELD: Memory = Memory(UnsafeCell::new(DeviceState::BLANK));

/// Writes a register of a peripheral this module owns. Private to the drivers, each of which writes only
/// values its register defines; none of them can touch memory.
#[inline]
fn set<S>(register: &pac::generic::Reg<S>, value: u32)
where
    S: pac::generic::Writable + pac::generic::RegisterSpec<Ux = u32>,
{
    // SAFETY: the pointer is that of a live register.
    unsafe { register.as_ptr().write_volatile(value) }
}
