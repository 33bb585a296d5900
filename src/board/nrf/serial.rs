//! The serial line: UART0 at 115200 baud, 8N1, on the pins of the USB interface chip.
//!
//! Receiving is done in the UART's interrupt, into the queue of a [`Receiver`], which the main loop
//! empties. The queue holds a whole request, or 22 ms of a busy line. The UART itself holds 6
//! bytes, half a millisecond, which covers the 46 microseconds in which the processor stands still
//! for one word of flash; page erases stop it for 20 to 90 milliseconds and happen only while a
//! terminal waits for its reply. [`crate::board::inbox`] marks what is lost or broken.

use super::model::{self, pac};
use super::pins::{self, Pin};
use super::{clear, happened, trigger, write};
use crate::board::serial::{Receiver, Sender, SharedInbox, Uart};
use heapless::Vec;
use pac::interrupt;

/// Bytes the UART holds.
const FIFO: usize = 6;

static INBOX: SharedInbox = SharedInbox::closed();

/// Opens the line; `None` if it is open already.
pub(super) fn open(uart: pac::UART0) -> Option<(Sender<pac::UART0>, Receiver)> {
    // SAFETY: the interrupt is still masked.
    let receiver = unsafe { INBOX.open() }?;
    connect(&uart);
    uart.baudrate.write(|w| w.baudrate().baud115200());
    uart.config.write(|w| w.hwfc().disabled().parity().excluded());
    uart.enable.write(|w| w.enable().enabled());
    trigger(&uart.tasks_starttx);
    trigger(&uart.tasks_startrx);
    uart.intenset.write(|w| w.rxdrdy().set().error().set());
    Some((Sender(uart), receiver))
}

/// Gives the UART its pins.
fn connect(uart: &pac::UART0) {
    // An output and high before the UART takes it, as an idle line is.
    let _ = Pin::new(model::TX);
    pins::pull_up(model::RX);
    #[cfg(feature = "microbit-v1")]
    let (send, receive) = (&uart.pseltxd, &uart.pselrxd);
    #[cfg(feature = "microbit-v2")]
    let (send, receive) = (&uart.psel.txd, &uart.psel.rxd);
    // A pin's number without the bits above it, which would disconnect it.
    write(send, model::TX);
    write(receive, model::RX);
}

impl Uart for pac::UART0 {
    fn send(&mut self, byte: u8) {
        clear(&self.events_txdrdy);
        write(&self.txd, u32::from(byte));
        while !happened(&self.events_txdrdy) {}
    }

    /// `send` returns when a byte is on the line.
    fn flush(&mut self) {}
}

/// The UART's interrupt: moves what has arrived into the queue.
fn receive() {
    // SAFETY: the receiving registers are used by nobody else.
    let uart = unsafe { &*pac::UART0::ptr() };
    // SAFETY: this is the interrupt.
    let Some(inbox) = (unsafe { INBOX.get() }) else { return };
    let (mut error, mut held) = (false, Vec::<u8, FIFO>::new());
    loop {
        // Before the check for a byte: the error of every byte read here is seen here.
        if happened(&uart.events_error) {
            clear(&uart.events_error);
            // Written ones clear.
            write(&uart.errorsrc, uart.errorsrc.read().bits());
            error = true;
        }
        // The event is cleared before the byte is read: the UART raises it again for the next byte
        // it holds.
        if held.is_full() || !happened(&uart.events_rxdrdy) {
            break;
        }
        clear(&uart.events_rxdrdy);
        let _ = held.push(uart.rxd.read().rxd().bits());
    }
    inbox.receive(error, &held);
}

#[cfg(feature = "microbit-v1")]
#[interrupt]
fn UART0() {
    receive();
}

#[cfg(feature = "microbit-v2")]
#[interrupt]
fn UARTE0_UART0() {
    receive();
}
