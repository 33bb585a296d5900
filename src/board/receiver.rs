//! The receiving side of a board's serial line: an interrupt fills a queue, the main loop empties
//! it.
#![allow(unsafe_code, reason = "interrupts share a static")]

use super::inbox::Inbox;
use core::cell::UnsafeCell;
use core::convert::Infallible;
use heapless::spsc::{Consumer, Queue};

/// Bytes waiting for the main loop (one slot of the queue stays empty).
pub const QUEUE: usize = 256;
const _: () =
    assert!(QUEUE > crate::wire::LINE_LIMIT + 2, "a whole line with its line end must fit");

/// What the interrupt owns.
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
    /// Called by the UART's interrupt alone, once in each.
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
