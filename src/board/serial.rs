//! The serial line: UART0 at 115200 baud, 8N1, on the pins of the USB interface chip.
//!
//! Receiving is done in the UART's interrupt, into a queue of [`QUEUE`] bytes that the main loop empties: two
//! request lines, or 22 ms of a busy line. The UART itself holds 6 bytes, half a millisecond, which covers the
//! 46 microseconds in which the processor stands still for one word of flash; page erases stop it for 20
//! to 90 milliseconds and therefore wait for a quiet line.
//!
//! A byte can still be lost (overrun, a full queue) or arrive broken (framing error, break). In its place the
//! main loop then reads [`DAMAGED`], which no valid line holds: the line is refused and sent again, instead
//! of being read as a different request.
//!
//! Sending blocks until the UART has taken each byte.

use super::model::{self, pac};
use super::{clock, set};
use core::cell::UnsafeCell;
use core::convert::Infallible;
use heapless::spsc::{Consumer, Producer, Queue};
use pac::interrupt;

/// Bytes waiting for the main loop (one slot of the queue stays empty).
pub const QUEUE: usize = 256;
/// Stands for bytes that were lost or broken.
pub const DAMAGED: u8 = 0xFF;

/// 115200 baud, as the data sheets give it for BAUDRATE.
const BAUD_115200: u32 = 0x01D7_E000;
/// UART (not UARTE) on.
const ENABLED: u32 = 4;
const INTERRUPT_RXDRDY: u32 = 1 << 2;
const INTERRUPT_ERROR: u32 = 1 << 9;

/// The sending side.
pub struct Sender(pac::UART0);

/// The receiving side.
pub struct Receiver(Consumer<'static, u8>);

/// What the interrupt owns: the queue's other end, and whether bytes were lost since the last one queued.
struct Inbox(UnsafeCell<(Option<Producer<'static, u8>>, bool)>);

// SAFETY: written once by `open`, before the interrupt is unmasked, and then touched by the interrupt alone,
// which cannot interrupt itself.
unsafe impl Sync for Inbox {}

static INBOX: Inbox = Inbox(UnsafeCell::new((None, false)));

/// Opens the line; `None` if it is open already.
pub(super) fn open(uart: pac::UART0) -> Option<(Sender, Receiver)> {
    let queue = cortex_m::singleton!(: Queue<u8, QUEUE> = Queue::new())?;
    let (producer, consumer) = queue.split();
    // SAFETY: see `Inbox`: the interrupt is still masked.
    unsafe { (*INBOX.0.get()).0 = Some(producer) };
    model::connect(&uart);
    set(&uart.baudrate, BAUD_115200);
    set(&uart.config, 0);
    set(&uart.enable, ENABLED);
    set(&uart.tasks_starttx, 1);
    set(&uart.tasks_startrx, 1);
    set(&uart.intenset, INTERRUPT_RXDRDY | INTERRUPT_ERROR);
    Some((Sender(uart), Receiver(consumer)))
}

impl Receiver {
    /// The next byte, if one is waiting.
    pub fn take(&mut self) -> Option<u8> {
        self.0.dequeue()
    }

    /// Is a byte waiting?
    #[must_use]
    pub fn ready(&self) -> bool {
        self.0.ready()
    }
}

impl embedded_io::ErrorType for Sender {
    type Error = Infallible;
}

impl embedded_io::Write for Sender {
    fn write(&mut self, bytes: &[u8]) -> Result<usize, Infallible> {
        for &byte in bytes {
            set(&self.0.events_txdrdy, 0);
            set(&self.0.txd, u32::from(byte));
            while self.0.events_txdrdy.read().bits() == 0 {}
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> Result<(), Infallible> {
        Ok(())
    }
}

/// The UART's interrupt: moves what has arrived into the queue.
fn receive() {
    // SAFETY: the receiving registers are used by nobody else, the capture channel `BYTE` likewise.
    let (uart, timer) = unsafe { (&*pac::UART0::ptr(), &*pac::TIMER0::ptr()) };
    // SAFETY: see `Inbox`.
    let (producer, lost) = unsafe { &mut *INBOX.0.get() };
    let Some(producer) = producer else { return };
    if uart.events_error.read().bits() != 0 {
        set(&uart.events_error, 0);
        // Written ones clear.
        set(&uart.errorsrc, uart.errorsrc.read().bits());
        *lost = true;
    }
    // The event is cleared before the byte is read: the UART raises it again for the next byte it holds.
    while uart.events_rxdrdy.read().bits() != 0 {
        set(&uart.events_rxdrdy, 0);
        let byte = uart.rxd.read().bits() as u8;
        set(&timer.tasks_capture[clock::BYTE], 1);
        if *lost {
            *lost = producer.enqueue(DAMAGED).is_err();
        }
        *lost = *lost || producer.enqueue(byte).is_err();
    }
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
