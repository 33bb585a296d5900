//! The flash of a device under audit: NOR words in memory, copied when a clone is written to.
//!
//! An enumerator keeps thousands of devices that differ in memory only, so clones share their words
//! until one of them is written. A write can only clear bits, as on the real part.
//!
//! It keeps a fingerprint of its [work](Flash::work): which operations there were, in their order.
//! A page that is erased is part of it; the place of a write is not, because an old value is zeroed
//! where it stands, and no reply shows where that is.

use crate::desk::broken;
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
pub struct Flash {
    bytes: Arc<Vec<u8>>,
    work: Print,
}

/// A fingerprint of numbers in their order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Print(u64);

impl Print {
    /// The fingerprint of nothing.
    pub const NONE: Self = Self(0);

    /// Adds a number.
    pub const fn add(&mut self, number: u64) {
        // FNV-1a of whole words, and a turn that brings high bits down.
        self.0 = (self.0 ^ number).wrapping_mul(0x0100_0000_01b3).rotate_left(23) ^ 0x9e37_79b9;
    }

    /// The fingerprint itself.
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl Flash {
    /// An erased flash of so many pages.
    pub fn blank(pages: usize) -> Self {
        Self { bytes: Arc::new(vec![0xff; pages * PAGE]), work: Print::default() }
    }

    /// The fingerprint of all operations so far.
    pub const fn work(&self) -> Print {
        self.work
    }
}

impl ErrorType for Flash {
    type Error = NorFlashErrorKind;
}

impl ReadNorFlash for Flash {
    const READ_SIZE: usize = WORD;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), Self::Error> {
        check_read(self, offset, bytes.len())?;
        bytes.copy_from_slice(&self.bytes[offset as usize..][..bytes.len()]);
        Ok(())
    }

    fn capacity(&self) -> usize {
        self.bytes.len()
    }
}

impl NorFlash for Flash {
    const WRITE_SIZE: usize = WORD;
    const ERASE_SIZE: usize = PAGE;

    fn erase(&mut self, from: u32, to: u32) -> Result<(), Self::Error> {
        check_erase(self, from, to)?;
        for _ in 0..broken::times(broken::Operation::Erase) {
            self.work.add(1 << 32 | u64::from(from));
        }
        Arc::make_mut(&mut self.bytes)[from as usize..to as usize].fill(0xff);
        Ok(())
    }

    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), Self::Error> {
        check_write(self, offset, bytes.len())?;
        for _ in 0..broken::times(broken::Operation::Write(bytes)) {
            self.work.add(bytes.len() as u64);
        }
        let words = &mut Arc::make_mut(&mut self.bytes)[offset as usize..][..bytes.len()];
        words.iter_mut().zip(bytes).for_each(|(word, byte)| *word &= byte);
        Ok(())
    }
}

impl MultiwriteNorFlash for Flash {}

impl JournalFlash for Flash {}
