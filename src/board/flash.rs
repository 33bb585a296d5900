//! The journal's flash as `embedded_storage` NOR flash, for chips whose flash is read like memory.
//!
//! Nothing here can reach the image: offsets are relative to the region `JOURNAL` of `memory.x` and
//! checked against it.
#![allow(unsafe_code, reason = "flash is read by address")]

use super::memory::{self, WORD};
use crate::journal::JournalFlash;
use embedded_storage::nor_flash::{
    ErrorType, MultiwriteNorFlash, NorFlash, NorFlashErrorKind, ReadNorFlash, check_erase,
    check_read,
};

/// Flash access that differs from chip to chip. Offsets are inside the region and word-aligned.
pub trait Controller {
    /// Bytes of a journal page: what one erase clears.
    const PAGE: usize;

    /// Where the processor reads the journal's word at `offset`.
    fn window(offset: u32) -> *mut u32;

    /// Erases the journal page at `offset`.
    fn erase_page(&mut self, offset: u32);

    /// Writes whole words in ascending order and reads each one back before it writes the next, as
    /// [`JournalFlash::program`] asks.
    fn program(&mut self, offset: u32, words: &[u8]) -> bool;
}

/// The journal's region.
pub struct Flash<C>(pub C);

impl<C> ErrorType for Flash<C> {
    type Error = NorFlashErrorKind;
}

impl<C: Controller> ReadNorFlash for Flash<C> {
    const READ_SIZE: usize = WORD;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), NorFlashErrorKind> {
        check_read(self, offset, bytes.len())?;
        // SAFETY: inside the region and word-aligned, as just checked.
        unsafe { memory::read_words(C::window(offset), bytes) };
        Ok(())
    }

    fn capacity(&self) -> usize {
        memory::journal().len()
    }
}

impl<C: Controller> NorFlash for Flash<C> {
    const WRITE_SIZE: usize = WORD;
    const ERASE_SIZE: usize = C::PAGE;

    fn erase(&mut self, from: u32, to: u32) -> Result<(), NorFlashErrorKind> {
        check_erase(self, from, to)?;
        (from..to).step_by(C::PAGE).for_each(|page| self.0.erase_page(page));
        Ok(())
    }

    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), NorFlashErrorKind> {
        if self.program(offset, bytes)? { Ok(()) } else { Err(NorFlashErrorKind::Other) }
    }
}

impl<C: Controller> MultiwriteNorFlash for Flash<C> {}

impl<C: Controller> JournalFlash for Flash<C> {
    fn program(&mut self, offset: u32, words: &[u8]) -> Result<bool, NorFlashErrorKind> {
        // (`check_write` asks the same, in twice the instructions.)
        let capacity = self.capacity();
        if !(offset as usize | words.len()).is_multiple_of(WORD) {
            return Err(NorFlashErrorKind::NotAligned);
        }
        if words.len() > capacity || offset as usize > capacity - words.len() {
            return Err(NorFlashErrorKind::OutOfBounds);
        }
        Ok(self.0.program(offset, words))
    }
}
