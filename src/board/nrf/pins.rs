//! The pins of a chip. A pin has one number, as in the registers that select it: 32 for each port
//! before its own, and its place there (P1.05 is 37).

use super::model::{Port, port};
use super::write;
use core::convert::Infallible;
use embedded_hal::digital::{ErrorType, OutputPin};

/// One output pin.
pub struct Pin {
    port: *const Port,
    mask: u32,
}

impl Pin {
    /// A pin, made an output, high: an idle serial line, and a dark column.
    pub(super) fn new(number: u32) -> Self {
        let pin = Self { port: port(number / u32::BITS), mask: 1 << (number % u32::BITS) };
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

/// Makes a pin an input that is pulled up, so that an unplugged line reads as idle.
pub(super) fn pull_up(number: u32) {
    // SAFETY: a register block that exists for ever; its register is that of this pin alone.
    let port = unsafe { &*port(number / u32::BITS) };
    if let Some(setup) = port.pin_cnf.get((number % u32::BITS) as usize) {
        setup.write(|w| w.dir().input().input().connect().pull().pullup());
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
