//! What is particular to the micro:bit v2.

use super::leds::Pin;
use super::set;
pub use nrf52833_pac as pac;

/// The board's name.
pub const NAME: &str = "microbit-v2";
/// Bytes of a flash page.
pub const FLASH_PAGE: usize = 4096;
/// The serial port's interrupt.
pub const UART_INTERRUPT: pac::Interrupt = pac::Interrupt::UARTE0_UART0;

/// Rows of the LED matrix.
pub const LED_ROWS: usize = 5;
/// Columns of the LED matrix.
pub const LED_COLUMNS: usize = 5;
/// Where each wired LED sits on the face: 5 * y + x.
pub const LED_MAP: [[u8; LED_COLUMNS]; LED_ROWS] =
    [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9], [10, 11, 12, 13, 14], [15, 16, 17, 18, 19], [20, 21, 22, 23, 24]];

/// P0.06 and P1.08 (bit 5 of a pin selection is the port), towards the USB interface chip.
const TX: u32 = 6;
const RX_PIN: usize = 8;
const RX: u32 = (1 << 5) | RX_PIN as u32;
/// PIN_CNF: an input, connected, pulled up, so that an unplugged line reads as idle.
const INPUT_PULLED_UP: u32 = 3 << 2;

/// Gives the UART its pins.
pub fn connect(uart: &pac::UART0) {
    // An output and high before the UART takes it, as an idle line is.
    let _ = p0(TX);
    // SAFETY: a register block that exists for ever; this pin is used by nothing else.
    set(&unsafe { &*pac::P1::ptr() }.pin_cnf[RX_PIN], INPUT_PULLED_UP);
    set(&uart.psel.txd, TX);
    set(&uart.psel.rxd, RX);
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
