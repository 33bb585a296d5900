//! The flash of a device under audit: NOR words in memory, copied when a clone is written to.
//!
//! An enumerator keeps thousands of devices that differ in memory only, so clones share their words
//! until one of them is written. A write can only clear bits, as on the real part.

use embedded_storage::nor_flash::{
    ErrorType, MultiwriteNorFlash, NorFlash, NorFlashErrorKind, ReadNorFlash, check_erase,
    check_read, check_write,
};
use equipoise::journal::JournalFlash;
use std::sync::Arc;

/// Bytes of a page.
const PAGE: usize = 1024;
/// Bytes of a word.
const WORD: usize = 4;

/// The flash.
#[derive(Clone, Debug)]
pub struct Flash(Arc<Vec<u8>>);

impl Flash {
    /// An erased flash of so many pages.
    pub fn blank(pages: usize) -> Self {
        Self(Arc::new(vec![0xff; pages * PAGE]))
    }
}

impl ErrorType for Flash {
    type Error = NorFlashErrorKind;
}

impl ReadNorFlash for Flash {
    const READ_SIZE: usize = WORD;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), Self::Error> {
        check_read(self, offset, bytes.len())?;
        bytes.copy_from_slice(&self.0[offset as usize..][..bytes.len()]);
        Ok(())
    }

    fn capacity(&self) -> usize {
        self.0.len()
    }
}

impl NorFlash for Flash {
    const WRITE_SIZE: usize = WORD;
    const ERASE_SIZE: usize = PAGE;

    fn erase(&mut self, from: u32, to: u32) -> Result<(), Self::Error> {
        check_erase(self, from, to)?;
        Arc::make_mut(&mut self.0)[from as usize..to as usize].fill(0xff);
        Ok(())
    }

    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), Self::Error> {
        check_write(self, offset, bytes.len())?;
        let words = &mut Arc::make_mut(&mut self.0)[offset as usize..][..bytes.len()];
        words.iter_mut().zip(bytes).for_each(|(word, byte)| *word &= byte);
        Ok(())
    }
}

impl MultiwriteNorFlash for Flash {}

impl JournalFlash for Flash {}
