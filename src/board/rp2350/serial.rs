//! The serial line: UART0 at 115200 baud, 8N1, on GP0 (TX) and GP1 (RX), for a USB-serial adapter
//! or a debug probe.
//!
//! Receiving is done in the UART's interrupt, into the queue of a [`Receiver`], which the main loop
//! empties. The UART's own queue of 32 bytes is off: with it, the interrupt would come for every
//! fourth byte only, and how soon the end of a request is noticed would depend on its length.
//! Without it, the interrupt must be served within the time of one byte, 87 microseconds. It also
//! runs while the flash is busy, and nothing masks it for longer than a few instructions.
//! [`crate::board::inbox`] marks what is lost or broken.

use super::clock::SYSTEM_HZ;
use super::pac;
use crate::board::serial::{Receiver, Sender, SharedInbox, Uart};
use heapless::Vec;
use pac::interrupt;

/// Bytes taken at most in one interrupt; the UART holds one.
const TAKEN: usize = 4;

const BAUD: u32 = 115_200;
/// The UART takes 16 cycles a bit, divided in steps of 1/64, rounded.
const DIVIDER: u32 = (SYSTEM_HZ * 4 + BAUD / 2) / BAUD;
/// WLEN of 8 data bits.
const EIGHT_BITS: u8 = 3;

/// In RIS and ICR: a framing, parity or break error, or an overrun.
const ERRORS: u32 = 0b1111 << 7;

static INBOX: SharedInbox = SharedInbox::closed();

/// Opens the line; `None` if it is open already.
pub(super) fn open(uart: pac::UART0) -> Option<(Sender<pac::UART0>, Receiver)> {
    // SAFETY: the interrupt is still masked.
    let receiver = unsafe { INBOX.open() }?;
    // SAFETY: the fields take 16 and 6 bits.
    uart.uartibrd().write(|w| unsafe { w.baud_divint().bits((DIVIDER / 64) as u16) });
    // SAFETY: as above.
    uart.uartfbrd().write(|w| unsafe { w.baud_divfrac().bits((DIVIDER % 64) as u8) });
    // After the divider, which takes effect with this write.
    // SAFETY: the field takes 2 bits.
    uart.uartlcr_h().write(|w| unsafe { w.wlen().bits(EIGHT_BITS) }.fen().clear_bit());
    uart.uartimsc().write(|w| {
        w.rxim().set_bit();
        w.feim().set_bit().peim().set_bit().beim().set_bit().oeim().set_bit()
    });
    uart.uartcr().write(|w| w.uarten().set_bit().txe().set_bit().rxe().set_bit());
    Some((Sender(uart), receiver))
}

impl Uart for pac::UART0 {
    fn send(&mut self, byte: u8) {
        while self.uartfr().read().txff().bit() {}
        // SAFETY: the field takes a byte.
        self.uartdr().write(|w| unsafe { w.data().bits(byte) });
    }

    fn flush(&mut self) {
        while self.uartfr().read().busy().bit() {}
    }
}

/// Moves what has arrived into the queue.
#[interrupt]
fn UART0_IRQ() {
    // SAFETY: the receiving registers are used by nobody else.
    let uart = unsafe { &*pac::UART0::ptr() };
    // SAFETY: this is the interrupt.
    let Some(inbox) = (unsafe { INBOX.get() }) else { return };
    let (mut error, mut held) = (false, Vec::<u8, TAKEN>::new());
    loop {
        // Before the check for a byte: the error of every byte read here is seen here.
        let raised = uart.uartris().read().bits() & ERRORS;
        error |= raised != 0;
        // Only errors that were seen are cleared. The interrupts of bytes end when they are read.
        // SAFETY: written ones clear; the bits are laid out as in the register that was read.
        uart.uarticr().write(|w| unsafe { w.bits(raised) });
        if held.is_full() || uart.uartfr().read().rxfe().bit() {
            break;
        }
        let byte = uart.uartdr().read();
        error |= byte.fe().bit() || byte.pe().bit() || byte.be().bit() || byte.oe().bit();
        let _ = held.push(byte.data().bits());
    }
    inbox.receive(error, &held);
}
