//! Constants and pins of the micro:bit v2.

use super::pins::Pin;
use crate::board::display::Matrix;
pub use nrf52833_pac as pac;

/// Bytes of a flash page.
pub const FLASH_PAGE: usize = 4096;
/// Bytes of a journal page.
pub const JOURNAL_PAGE: usize = FLASH_PAGE;
/// An erase takes at most 87.5 ms, the computation of a page change 14 ms.
pub const ERASE_MICROSECONDS: u32 = 105_000;
/// A write takes at most 42.5 microseconds; composing, summing and reading back a word about 50.
pub const WORD_MICROSECONDS: u32 = 110;
/// Most features of a plan.
pub const FEATURES: usize = 64;
/// Most patients who wait for their outcome.
pub const WAITING: usize = 4096;
/// The serial port's interrupt.
pub const UART_INTERRUPT: pac::Interrupt = pac::Interrupt::UARTE0_UART0;

/// The serial line, towards the USB interface chip: P0.06 and P1.08.
pub const TX: u32 = 6;
/// Its receiving side.
pub const RX: u32 = 32 + 8;

/// The LEDs: 5 rows and 5 columns.
pub type Screen = Matrix<Pin, 5, 5>;
/// Where each wired LED sits in a picture: 5 * y + x.
const LED_MAP: [[u8; 5]; 5] = [
    [0, 1, 2, 3, 4],
    [5, 6, 7, 8, 9],
    [10, 11, 12, 13, 14],
    [15, 16, 17, 18, 19],
    [20, 21, 22, 23, 24],
];

/// The rows are P0.21, P0.22, P0.15, P0.24 and P0.19, the columns P0.28, P0.11, P0.31, P1.05 and
/// P0.30.
#[must_use]
pub fn screen() -> Screen {
    let (rows, columns) = ([21, 22, 15, 24, 19], [28, 11, 31, 32 + 5, 30]);
    Matrix::new(rows.map(Pin::new), columns.map(Pin::new), &LED_MAP)
}

/// The registers behind a [`Pin`].
pub type Port = pac::p0::RegisterBlock;

/// The port of this number.
#[must_use]
pub const fn port(number: u32) -> *const Port {
    if number == 0 { pac::P0::ptr() } else { pac::P1::ptr() }
}
