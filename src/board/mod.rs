//! The contract of a board, the main loop that runs on it, and the boards themselves.
//!
//! ```text
//! Board,            the contract: one associated type for each peripheral, see the table
//! Peripherals
//! main_loop         the firmware, generic over a Board
//! flash_work        the flash operations of a request, counted
//! in_memory         a board without hardware, for programs and tests; with the feature `std`
//! inbox, display,   logic that needs no hardware and is tested on a host: received bytes,
//! restart, image,   pictures, cause of a restart, hash of the image, arithmetic of doubles
//! soft_float
//! serial, flash,    what the boards share: a queue filled by an interrupt, checked access to
//! memory            flash, the memory of the trial
//! stamps            times of the last request, for debuggers and tests
//! nrf, rp2350       the micro:bit v1 and v2; the Pico 2
//! ```
//!
//! | peripheral | trait | duty |
//! |---|---|---|
//! | sender | `embedded_io::Write` | 115200 baud 8N1; blocks until the UART has taken each byte |
//! | receiver | `embedded_io::Read`, `ReadReady` | filled by an interrupt; lost or broken bytes are marked by [`inbox`] |
//! | flash | [`JournalFlash`], on `MultiwriteNorFlash` | the journal's region: words of 4 bytes, each written at most twice between erases |
//! | entropy | [`Entropy`] | hardware noise, one byte a sample; `None` when the source is dead |
//! | clock | [`Clock`] | counts time, sleeps until an interrupt, sleeps until an exact count |
//! | watchdog | [`Watchdog`] | resets the chip when the main loop stops |
//! | screen | [`Screen`] | shows a picture of 5 x 5 LEDs, or blinks one LED, through `embedded_hal` pins |
//! | state | [`DeviceState`] | the trial's memory, in a static: it does not fit on a small stack |
//! | restart | [`Restart`] | why the board started |
//! | image | [`ImageHash`] | the hash of the firmware on flash |
//!
//! Of these only `serial`, `flash`, `memory`, `stamps`, `nrf` and `rp2350` hold `unsafe` code.
//! `docs/porting.md` explains how to add a board.

pub mod display;
#[cfg(feature = "seeded")]
mod drill;
#[cfg(all(target_os = "none", feature = "firmware"))]
mod flash;
pub mod flash_work;
#[cfg(any(test, all(target_os = "none", feature = "firmware")))]
mod image;
#[cfg(feature = "std")]
pub mod in_memory;
pub mod inbox;
pub mod main_loop;
#[cfg(all(target_os = "none", feature = "firmware"))]
mod memory;
#[cfg(all(target_os = "none", any(feature = "microbit-v1", feature = "microbit-v2")))]
mod nrf;
#[cfg(any(feature = "seeded", feature = "testkit"))]
pub mod rehearsal;
#[cfg(any(test, all(target_os = "none", feature = "firmware")))]
mod restart;
#[cfg(all(target_os = "none", feature = "pico2"))]
mod rp2350;
#[cfg(all(target_os = "none", feature = "firmware"))]
mod serial;
#[cfg(any(test, all(target_os = "none", feature = "microbit-v1")))]
mod soft_float;
mod stamps;

use crate::device::DeviceState;
use crate::device::health::Entropy;
use crate::journal::JournalFlash;
use crate::wire::{ImageHash, Restart};
use core::convert::Infallible;
use embedded_io::{Read, ReadReady, Write};

#[cfg(any(
    all(feature = "microbit-v1", feature = "microbit-v2"),
    all(feature = "microbit-v1", feature = "pico2"),
    all(feature = "microbit-v2", feature = "pico2")
))]
compile_error!("a firmware is for one board: choose `microbit-v1`, `microbit-v2` or `pico2`");

/// Sets up the chosen board; `None` if that was already done.
#[cfg(all(target_os = "none", any(feature = "microbit-v1", feature = "microbit-v2")))]
pub use nrf::take;
#[cfg(all(target_os = "none", feature = "pico2"))]
pub use rp2350::take;

/// Time, as a count that wraps.
pub trait Clock {
    /// Counts in a microsecond. A count must not wrap within 60 seconds.
    const PER_MICROSECOND: u32;

    /// The count now.
    fn now(&mut self) -> u32;

    /// Sleeps until an interrupt, at most [`main_loop::TICK_MICROSECONDS`]. Returns at once if
    /// `work` is true, with no gap between the check and the sleep in which an interrupt could
    /// be missed.
    fn sleep(&mut self, work: impl FnMut() -> bool);

    /// Sleeps until the count is `moment`; returns at once when that has passed (by less than half
    /// a pass). What the caller does next must begin the same number of instructions after
    /// `moment`, whatever was computed before: wake by a timer event, not by polling.
    fn sleep_until(&mut self, moment: u32);
}

/// Resets the chip unless fed for [`Watchdog::SECONDS`].
pub trait Watchdog {
    /// Longer than the longest pass of the main loop: an `ERASE` that erases every page of the
    /// journal.
    const SECONDS: u32;

    /// Called once a pass by the main loop, and nowhere else.
    fn feed(&mut self);
}

/// The LEDs.
pub trait Screen {
    /// Shows a picture of [`display`]. Called at every tick: a matrix lights its next row.
    fn show(&mut self, picture: u32);
}

/// A board: the types of its parts.
pub trait Board {
    /// Time.
    type Clock: Clock;
    /// The sending side of the serial line.
    type Sender: Write<Error = Infallible>;
    /// The receiving side of the serial line.
    type Receiver: Read<Error = Infallible> + ReadReady;
    /// Hardware noise.
    type Entropy: Entropy;
    /// The journal's flash.
    type Flash: JournalFlash;
    /// The LEDs.
    type Screen: Screen;
    /// The watchdog.
    type Watchdog: Watchdog;

    /// Added to the time of a reply for every page erased before it, and once more if a look was
    /// due. Longer than an erase with the computation of a page change, or the new seed after a
    /// look, ever takes.
    const ERASE_MICROSECONDS: u32;
    /// Added for every word written before such a reply, or before one with more than
    /// [`main_loop::ORDINARY_WORDS`] words. Longer than writing, reading back and summing a word,
    /// with its share of a look's computation, ever takes.
    const WORD_MICROSECONDS: u32;
}

/// Every part of a board, set up, with room for `M` features and `U` waiting patients.
pub struct Peripherals<B: Board, const M: usize, const U: usize> {
    /// Time.
    pub clock: B::Clock,
    /// The serial line, sending side.
    pub sender: B::Sender,
    /// The serial line, receiving side.
    pub receiver: B::Receiver,
    /// Hardware noise.
    pub entropy: B::Entropy,
    /// The journal's flash.
    pub flash: B::Flash,
    /// The LEDs.
    pub screen: B::Screen,
    /// The watchdog, running.
    pub watchdog: B::Watchdog,
    /// Where the device keeps its trial.
    pub state: &'static mut DeviceState<M, U>,
    /// Why the board started.
    pub restart: Restart,
    /// Which image it runs, from `image::hash`.
    pub image: ImageHash,
}
