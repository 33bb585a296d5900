//! Constants and pins of the micro:bit v1.

use super::pins::Pin;
use crate::board::display::Matrix;
pub use nrf51_pac as pac;

/// Bytes of a flash page.
pub const FLASH_PAGE: usize = 1024;
/// Bytes of a journal page. Two pages of flash: the journal has 64 pages at most, and with pages of
/// 1 KB it would last only 7.7 million patients with graded outcomes.
pub const JOURNAL_PAGE: usize = 2 * FLASH_PAGE;
/// The erase of a journal page takes at most 44.6 ms, the computation of a page change 16 ms.
pub const ERASE_MICROSECONDS: u32 = 64_000;
/// A write takes at most 46.3 microseconds; composing, summing and reading back a word about 200.
pub const WORD_MICROSECONDS: u32 = 300;
/// Most features of a plan.
pub const FEATURES: usize = 64;
/// Most patients who wait for their outcome.
pub const WAITING: usize = 256;
/// The serial port's interrupt.
pub const UART_INTERRUPT: pac::Interrupt = pac::Interrupt::UART0;

/// The serial line, towards the USB interface chip: P0.24 and P0.25.
pub const TX: u32 = 24;
/// Its receiving side.
pub const RX: u32 = 25;

/// The LEDs: 3 rows and 9 columns as they are wired.
pub type Screen = Matrix<Pin, 3, 9>;
/// Where each wired LED sits in a picture: 5 * y + x; 25 where there is none.
const LED_MAP: [[u8; 9]; 3] = [
    [0, 2, 4, 19, 18, 17, 16, 15, 11],
    [14, 10, 12, 1, 3, 23, 21, 25, 25],
    [22, 24, 20, 5, 6, 7, 8, 9, 13],
];

/// The rows are P0.13 to P0.15, the columns P0.04 to P0.12.
#[must_use]
pub fn screen() -> Screen {
    let columns = [4, 5, 6, 7, 8, 9, 10, 11, 12];
    Matrix::new([13, 14, 15].map(Pin::new), columns.map(Pin::new), &LED_MAP)
}

/// The registers behind a [`Pin`].
pub type Port = pac::gpio::RegisterBlock;

/// The only port.
#[must_use]
pub const fn port(_: u32) -> *const Port {
    pac::GPIO::ptr()
}
