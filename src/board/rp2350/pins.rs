//! The pins: UART0 on GP0 and GP1, the LED on GP25.

use super::pac;
use core::convert::Infallible;
use embedded_hal::digital::{ErrorType, OutputPin};

const TX: usize = 0;
const RX: usize = 1;
const LED: usize = 25;

/// Gives the pins to their users. A pad is isolated until its pin is chosen.
pub(super) fn connect(functions: &pac::IO_BANK0, pads: &pac::PADS_BANK0) {
    functions.gpio(TX).gpio_ctrl().write(|w| w.funcsel().uart());
    functions.gpio(RX).gpio_ctrl().write(|w| w.funcsel().uart());
    functions.gpio(LED).gpio_ctrl().write(|w| w.funcsel().sio());
    pads.gpio(TX).modify(|_, w| w.iso().clear_bit().od().clear_bit());
    // Pulled up, so that an unplugged line reads as idle.
    pads.gpio(RX).modify(|_, w| {
        w.pue().set_bit().pde().clear_bit();
        w.ie().set_bit().iso().clear_bit()
    });
    pads.gpio(LED).modify(|_, w| w.iso().clear_bit().od().clear_bit());
}

/// One output pin.
pub struct Pin {
    mask: u32,
}

impl Pin {
    /// The LED, dark.
    pub(super) fn led() -> Self {
        let mut pin = Self { mask: 1 << LED };
        let Ok(()) = pin.set_low();
        // SAFETY: acts on this pin only.
        Self::registers().gpio_oe_set().write(|w| unsafe { w.bits(pin.mask) });
        pin
    }

    fn registers() -> &'static pac::sio::RegisterBlock {
        // SAFETY: a register block that exists for ever; its set and clear registers act on single
        // pins.
        unsafe { &*pac::SIO::ptr() }
    }
}

impl ErrorType for Pin {
    type Error = Infallible;
}

impl OutputPin for Pin {
    fn set_low(&mut self) -> Result<(), Infallible> {
        // SAFETY: acts on this pin only.
        Self::registers().gpio_out_clr().write(|w| unsafe { w.bits(self.mask) });
        Ok(())
    }

    fn set_high(&mut self) -> Result<(), Infallible> {
        // SAFETY: acts on this pin only.
        Self::registers().gpio_out_set().write(|w| unsafe { w.bits(self.mask) });
        Ok(())
    }
}
