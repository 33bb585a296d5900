//! Flash operations of a request, on which the time of its reply depends.

use crate::journal::JournalFlash;
use core::ops::Deref;
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};
use embedded_storage::nor_flash::{ErrorType, MultiwriteNorFlash, NorFlash, ReadNorFlash};

/// Flash operations of a request, counted by the flash and read when the reply is due.
#[derive(Debug, Default)]
pub struct FlashWork {
    /// Pages erased.
    pub(super) erases: AtomicU32,
    /// Words written.
    pub(super) words: AtomicU32,
}

impl FlashWork {
    /// No operation yet.
    #[allow(
        clippy::declare_interior_mutable_const,
        reason = "a start value, copied into its place once"
    )]
    pub const NONE: Self = Self { erases: AtomicU32::new(0), words: AtomicU32::new(0) };

    /// A request begins.
    pub(super) fn clear(&self) {
        self.erases.store(0, Relaxed);
        self.words.store(0, Relaxed);
    }

    /// Counts an operation on so many bytes, in units of `size`, a power of two. (Two steps: the
    /// Cortex-M0 has no atomic addition. Only the main loop counts.)
    fn count(counter: &AtomicU32, bytes: u32, size: usize) {
        let units = bytes >> size.trailing_zeros();
        counter.store(counter.load(Relaxed).wrapping_add(units), Relaxed);
    }
}

/// A flash that counts its operations.
#[derive(Clone, Debug)]
pub struct Counted<F, W> {
    pub(super) flash: F,
    pub(super) work: W,
}

impl<F, W> Counted<F, W> {
    /// The flash itself. Work on it is not counted.
    #[cfg(feature = "inspect")]
    pub const fn flash(&mut self) -> &mut F {
        &mut self.flash
    }
}

impl<F: ErrorType, W> ErrorType for Counted<F, W> {
    type Error = F::Error;
}

impl<F: ReadNorFlash, W> ReadNorFlash for Counted<F, W> {
    const READ_SIZE: usize = F::READ_SIZE;

    #[inline]
    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), F::Error> {
        self.flash.read(offset, bytes)
    }

    fn capacity(&self) -> usize {
        self.flash.capacity()
    }
}

impl<F: NorFlash, W: Deref<Target = FlashWork>> NorFlash for Counted<F, W> {
    const WRITE_SIZE: usize = F::WRITE_SIZE;
    const ERASE_SIZE: usize = F::ERASE_SIZE;

    fn erase(&mut self, from: u32, to: u32) -> Result<(), F::Error> {
        FlashWork::count(&self.work.erases, to.saturating_sub(from), F::ERASE_SIZE);
        self.flash.erase(from, to)
    }

    #[inline]
    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), F::Error> {
        FlashWork::count(&self.work.words, bytes.len() as u32, F::WRITE_SIZE);
        self.flash.write(offset, bytes)
    }
}

impl<F: MultiwriteNorFlash, W: Deref<Target = FlashWork>> MultiwriteNorFlash for Counted<F, W> {}

impl<F: JournalFlash, W: Deref<Target = FlashWork>> JournalFlash for Counted<F, W> {
    #[inline]
    fn program(&mut self, offset: u32, words: &[u8]) -> Result<bool, F::Error> {
        FlashWork::count(&self.work.words, words.len() as u32, F::WRITE_SIZE);
        self.flash.program(offset, words)
    }
}
