//! The face of the board: 5 x 5 LEDs, scanned one wired row at a time through `embedded_hal` pins.
//!
//! A picture is 25 bits, bit 5 * y + x for the LED in column x of row y. The main loop calls
//! [`Matrix::scan`] at every tick; on the v1 that lights each LED every 12 ms, on the v2 every 20 ms.

use super::model::Port;
use super::set;
use core::convert::Infallible;
use embedded_hal::digital::{ErrorType, OutputPin};

/// Nothing lit.
pub const DARK: u32 = 0;
/// The arm 0, as a ring.
pub const ARM_0: u32 = picture([0b01110, 0b10001, 0b10001, 0b10001, 0b01110]);
/// The arm 1, as a bar.
pub const ARM_1: u32 = picture([0b00100, 0b01100, 0b00100, 0b00100, 0b01110]);
/// The heartbeat, in the middle.
pub const HEART: u32 = picture([0, 0, 0b00100, 0, 0]);
/// A cross: the device is in `fault` and assigns nobody.
pub const FAULT: u32 = picture([0b10001, 0b01010, 0b00100, 0b01010, 0b10001]);

/// Rows from the top, each as it looks in binary.
const fn picture(rows: [u8; 5]) -> u32 {
    let [a, b, c, d, e] = rows;
    mirror(a) | mirror(b) << 5 | mirror(c) << 10 | mirror(d) << 15 | mirror(e) << 20
}

const fn mirror(row: u8) -> u32 {
    (row.reverse_bits() >> 3) as u32
}

/// One output pin.
pub struct Pin {
    port: *const Port,
    mask: u32,
}

impl Pin {
    /// The pin `number` of a port, made an output, high: an idle serial line, and a dark column.
    pub(super) fn new(port: *const Port, number: u32) -> Self {
        let pin = Self { port, mask: 1 << (number % u32::BITS) };
        set(&pin.registers().outset, pin.mask);
        set(&pin.registers().dirset, pin.mask);
        pin
    }

    fn registers(&self) -> &Port {
        // SAFETY: a register block that exists for ever; its set and clear registers act on single pins.
        unsafe { &*self.port }
    }
}

impl ErrorType for Pin {
    type Error = Infallible;
}

impl OutputPin for Pin {
    fn set_low(&mut self) -> Result<(), Infallible> {
        set(&self.registers().outclr, self.mask);
        Ok(())
    }

    fn set_high(&mut self) -> Result<(), Infallible> {
        set(&self.registers().outset, self.mask);
        Ok(())
    }
}

/// The matrix as it is wired: `R` rows that are high when selected, `C` columns that light when low.
pub struct Matrix<P, const R: usize, const C: usize> {
    rows: [P; R],
    columns: [P; C],
    map: &'static [[u8; C]; R],
    next: usize,
    /// What is shown.
    pub picture: u32,
}

impl<P: OutputPin<Error = Infallible>, const R: usize, const C: usize> Matrix<P, R, C> {
    pub(super) fn new(rows: [P; R], columns: [P; C], map: &'static [[u8; C]; R]) -> Self {
        Self { rows, columns, map, next: 0, picture: DARK }
    }

    /// Lights the next row.
    pub fn scan(&mut self) {
        for row in &mut self.rows {
            let Ok(()) = row.set_low();
        }
        self.next = (self.next + 1) % R;
        let (Some(row), Some(leds)) = (self.rows.get_mut(self.next), self.map.get(self.next)) else { return };
        for (column, led) in self.columns.iter_mut().zip(leds) {
            let lit = self.picture & (1 << led) != 0;
            let Ok(()) = column.set_state((!lit).into());
        }
        let Ok(()) = row.set_high();
    }
}
