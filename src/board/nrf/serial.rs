//! The serial line: UART0 at 115200 baud, 8N1, on the pins of the USB interface chip.
//!
//! Receiving is done in the UART's interrupt, into a queue of [`QUEUE`] bytes that the main loop
//! empties: a request line, or 22 ms of a busy line. The UART itself holds 6 bytes, half a
//! millisecond, which covers the 46 microseconds in which the processor stands still for one word
//! of flash; page erases stop it for 20 to 90 milliseconds and happen only while a terminal waits
//! for its reply. [`Inbox`] marks what is lost or broken.
//!
//! Sending blocks until the UART has taken each byte.

use super::model::{self, pac};
use super::{clear, happened, trigger, write};
use crate::board::inbox::Inbox;
use core::cell::UnsafeCell;
use core::convert::Infallible;
use heapless::Vec;
use heapless::spsc::{Consumer, Queue};
use pac::interrupt;

/// Bytes waiting for the main loop (one slot of the queue stays empty).
pub const QUEUE: usize = 256;
const _: () =
    assert!(QUEUE > crate::wire::LINE_LIMIT + 2, "a whole line with its line end must fit");
/// Bytes the UART holds.
const FIFO: usize = 6;

/// The sending side.
pub struct Sender(pac::UART0);

/// The receiving side.
pub struct Receiver(Consumer<'static, u8>);

/// What the interrupt owns.
struct Shared(UnsafeCell<Option<Inbox<'static>>>);

// SAFETY: written once by `open`, before the interrupt is unmasked, and then used by the
// interrupt alone, which cannot interrupt itself.
unsafe impl Sync for Shared {}

static INBOX: Shared = Shared(UnsafeCell::new(None));

/// Opens the line; `None` if it is open already.
pub(super) fn open(uart: pac::UART0) -> Option<(Sender, Receiver)> {
    let queue = cortex_m::singleton!(: Queue<u8, QUEUE> = Queue::new())?;
    let (producer, consumer) = queue.split();
    // SAFETY: see `Shared`: the interrupt is still masked.
    unsafe { *INBOX.0.get() = Some(Inbox::new(producer)) };
    model::connect(&uart);
    uart.baudrate.write(|w| w.baudrate().baud115200());
    uart.config.write(|w| w.hwfc().disabled().parity().excluded());
    uart.enable.write(|w| w.enable().enabled());
    trigger(&uart.tasks_starttx);
    trigger(&uart.tasks_startrx);
    uart.intenset.write(|w| w.rxdrdy().set().error().set());
    Some((Sender(uart), Receiver(consumer)))
}

impl embedded_io::ErrorType for Receiver {
    type Error = Infallible;
}

impl embedded_io::ReadReady for Receiver {
    fn read_ready(&mut self) -> Result<bool, Infallible> {
        Ok(self.0.ready())
    }
}

impl embedded_io::Read for Receiver {
    fn read(&mut self, bytes: &mut [u8]) -> Result<usize, Infallible> {
        let mut count = 0;
        while count == 0 && !bytes.is_empty() {
            for (place, byte) in bytes.iter_mut().zip(core::iter::from_fn(|| self.0.dequeue())) {
                *place = byte;
                count += 1;
            }
        }
        Ok(count)
    }
}

impl embedded_io::ErrorType for Sender {
    type Error = Infallible;
}

impl embedded_io::Write for Sender {
    fn write(&mut self, bytes: &[u8]) -> Result<usize, Infallible> {
        for &byte in bytes {
            clear(&self.0.events_txdrdy);
            write(&self.0.txd, u32::from(byte));
            while !happened(&self.0.events_txdrdy) {}
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> Result<(), Infallible> {
        Ok(())
    }
}

/// The UART's interrupt: moves what has arrived into the queue.
fn receive() {
    // SAFETY: the receiving registers are used by nobody else.
    let uart = unsafe { &*pac::UART0::ptr() };
    // SAFETY: see `Shared`.
    let Some(inbox) = (unsafe { &mut *INBOX.0.get() }) else { return };
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
