//! Output pins.

use super::model::Port;
use super::write;
use core::convert::Infallible;
use embedded_hal::digital::{ErrorType, OutputPin};

/// One output pin.
pub struct Pin {
    port: *const Port,
    mask: u32,
}

impl Pin {
    /// The pin `number` of a port, made an output, high: an idle serial line, and a dark column.
    pub(super) fn new(port: *const Port, number: u32) -> Self {
        let pin = Self { port, mask: 1 << (number % u32::BITS) };
        write(&pin.registers().outset, pin.mask);
        write(&pin.registers().dirset, pin.mask);
        pin
    }

    fn registers(&self) -> &Port {
        // SAFETY: a register block that exists for ever; its set and clear registers act on single
        // pins.
        unsafe { &*self.port }
    }
}

impl ErrorType for Pin {
    type Error = Infallible;
}

impl OutputPin for Pin {
    fn set_low(&mut self) -> Result<(), Infallible> {
        write(&self.registers().outclr, self.mask);
        Ok(())
    }

    fn set_high(&mut self) -> Result<(), Infallible> {
        write(&self.registers().outset, self.mask);
        Ok(())
    }
}
