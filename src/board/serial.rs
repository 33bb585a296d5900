//! Serial lines: the part that all boards share. Sending blocks until the UART has taken each byte.
//! Received bytes go into a queue, which an interrupt fills and the main loop empties.
#![allow(unsafe_code, reason = "interrupts share a static")]

use super::inbox::Inbox;
use core::cell::UnsafeCell;
use core::convert::Infallible;
use heapless::spsc::{Consumer, Queue};

/// Bytes waiting for the main loop (one slot of the queue stays empty).
pub const QUEUE: usize = 256;
const _: () =
    assert!(QUEUE > crate::wire::LINE_LIMIT + 2, "a whole line with its line end must fit");

/// The inbox, owned by the interrupt.
pub struct SharedInbox(UnsafeCell<Option<Inbox<'static>>>);

// SAFETY: written once by `open`, before the interrupt is unmasked, and then used by the
// interrupt alone, which cannot interrupt itself.
unsafe impl Sync for SharedInbox {}

impl SharedInbox {
    /// An inbox that is not open.
    pub const fn closed() -> Self {
        Self(UnsafeCell::new(None))
    }

    /// Makes the queue; `None` if that was already done.
    ///
    /// # Safety
    /// The interrupt that calls [`SharedInbox::get`] is masked.
    pub unsafe fn open(&self) -> Option<Receiver> {
        let queue = cortex_m::singleton!(: Queue<u8, QUEUE> = Queue::new())?;
        let (producer, consumer) = queue.split();
        // SAFETY: nobody else has a reference, by the promise of the caller.
        unsafe { *self.0.get() = Some(Inbox::new(producer)) };
        Some(Receiver(consumer))
    }

    /// The inbox, once it is open.
    ///
    /// # Safety
    /// Called only by the UART's interrupt handler, once per interrupt.
    #[expect(clippy::mut_from_ref, reason = "the one reference, by the promise of the caller")]
    pub unsafe fn get(&self) -> Option<&mut Inbox<'static>> {
        // SAFETY: `open` is over before the interrupt comes, and there is no other user.
        unsafe { (*self.0.get()).as_mut() }
    }
}

/// The receiving side.
pub struct Receiver(Consumer<'static, u8>);

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

/// The sending half of a UART.
pub trait Uart {
    /// Returns once the UART has taken the byte.
    fn send(&mut self, byte: u8);
    /// Returns once all bytes are on the line.
    fn flush(&mut self);
}

/// The sending side.
pub struct Sender<U>(pub U);

impl<U> embedded_io::ErrorType for Sender<U> {
    type Error = Infallible;
}

impl<U: Uart> embedded_io::Write for Sender<U> {
    fn write(&mut self, bytes: &[u8]) -> Result<usize, Infallible> {
        bytes.iter().for_each(|byte| self.0.send(*byte));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> Result<(), Infallible> {
        self.0.flush();
        Ok(())
    }
}
