//! Constants and pins of the micro:bit v2.

use super::pins::Pin;
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

/// Rows of the LED matrix.
pub const LED_ROWS: usize = 5;
/// Columns of the LED matrix.
pub const LED_COLUMNS: usize = 5;
/// Where each wired LED sits in a picture: 5 * y + x.
pub const LED_MAP: [[u8; LED_COLUMNS]; LED_ROWS] = [
    [0, 1, 2, 3, 4],
    [5, 6, 7, 8, 9],
    [10, 11, 12, 13, 14],
    [15, 16, 17, 18, 19],
    [20, 21, 22, 23, 24],
];

/// P0.06 and P1.08, towards the USB interface chip.
const TX: u8 = 6;
const RX: u8 = 8;

/// Gives the UART its pins.
pub fn connect(uart: &pac::UART0) {
    // An output and high before the UART takes it, as an idle line is.
    let _ = p0(TX.into());
    // Pulled up, so that an unplugged line reads as idle.
    // SAFETY: a register block that exists for ever; this pin is used by nothing else.
    let port = unsafe { &*pac::P1::ptr() };
    #[allow(clippy::indexing_slicing, reason = "a constant, below the 32 pins of a port")]
    port.pin_cnf[usize::from(RX)].write(|w| w.dir().input().input().connect().pull().pullup());
    // From zero, because the reserved bits of these registers read as ones after a reset.
    // SAFETY: both are numbers of pins.
    uart.psel
        .txd
        .write(|w| unsafe { w.bits(0).pin().bits(TX) }.port().clear_bit().connect().connected());
    // SAFETY: as above.
    uart.psel
        .rxd
        .write(|w| unsafe { w.bits(0).pin().bits(RX) }.port().set_bit().connect().connected());
}

/// The rows, P0.21, P0.22, P0.15, P0.24, P0.19; high selects.
#[must_use]
pub fn led_rows() -> [Pin; LED_ROWS] {
    [21, 22, 15, 24, 19].map(p0)
}

/// The columns, P0.28, P0.11, P0.31, P1.05, P0.30; low lights.
#[must_use]
pub fn led_columns() -> [Pin; LED_COLUMNS] {
    [p0(28), p0(11), p0(31), Pin::new(pac::P1::ptr(), 5), p0(30)]
}

fn p0(number: u32) -> Pin {
    Pin::new(pac::P0::ptr(), number)
}

/// The register block behind a [`Pin`].
pub type Port = pac::p0::RegisterBlock;
