//! Constants and pins of the micro:bit v1.

use super::pins::Pin;
use super::write;
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

/// Rows of the LED matrix as it is wired.
pub const LED_ROWS: usize = 3;
/// Columns of the LED matrix as it is wired.
pub const LED_COLUMNS: usize = 9;
/// Where each wired LED sits in a picture: 5 * y + x; 25 where there is none.
pub const LED_MAP: [[u8; LED_COLUMNS]; LED_ROWS] = [
    [0, 2, 4, 19, 18, 17, 16, 15, 11],
    [14, 10, 12, 1, 3, 23, 21, 25, 25],
    [22, 24, 20, 5, 6, 7, 8, 9, 13],
];

/// P0.24 and P0.25, towards the USB interface chip.
const TX: u32 = 24;
const RX: u32 = 25;

/// Gives the UART its pins.
pub fn connect(uart: &pac::UART0) {
    // An output and high before the UART takes it, as an idle line is.
    let _ = pin(TX);
    // Pulled up, so that an unplugged line reads as idle.
    // SAFETY: a register block that exists for ever; this pin is used by nothing else.
    let port = unsafe { &*pac::GPIO::ptr() };
    #[allow(clippy::indexing_slicing, reason = "a constant, below the 32 pins of a port")]
    port.pin_cnf[RX as usize].write(|w| w.dir().input().input().connect().pull().pullup());
    write(&uart.pseltxd, TX);
    write(&uart.pselrxd, RX);
}

/// The rows, P0.13 to P0.15; high selects.
#[must_use]
pub fn led_rows() -> [Pin; LED_ROWS] {
    [13, 14, 15].map(pin)
}

/// The columns, P0.04 to P0.12; low lights.
#[must_use]
pub fn led_columns() -> [Pin; LED_COLUMNS] {
    [4, 5, 6, 7, 8, 9, 10, 11, 12].map(pin)
}

fn pin(number: u32) -> Pin {
    Pin::new(pac::GPIO::ptr(), number)
}

/// The register block behind a [`Pin`].
pub type Port = pac::gpio::RegisterBlock;
