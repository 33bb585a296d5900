//! The journal's flash: the region `JOURNAL` of `memory.x`, through the NVMC, as `embedded_storage`
//! NOR flash.
//!
//! Pages of 1 KB (v1) or 4 KB (v2); words of 4 bytes, written with bits going from 1 to 0 only,
//! each at most twice between erases. The processor stands still while the flash is busy: at most
//! 46 microseconds a word, 22 ms (v1) or 88 ms (v2) a page erase. Nothing here can reach the image:
//! offsets are relative to the region and checked against it.

use super::model::{FLASH_PAGE, pac};
use super::write;
use crate::board::image;
use crate::board::memory::{self, WORD};
use crate::journal::JournalFlash;
use crate::wire::ImageHash;
use core::arch::asm;
use embedded_storage::nor_flash::{
    ErrorType, MultiwriteNorFlash, NorFlash, NorFlashErrorKind, ReadNorFlash, check_erase,
    check_read,
};

/// The hash of the image on flash, which begins at address 0. (Not inlined: its memory would stay
/// on the stack of the main loop.)
#[inline(never)]
pub(super) fn image_hash() -> ImageHash {
    image::hash(memory::image().step_by(WORD).map(|address| {
        let word: u32;
        // SAFETY: reads a word of flash. In assembly, because a pointer to address 0 is null.
        unsafe {
            asm!("ldr {0}, [{1}]", out(reg) word, in(reg) address, options(readonly, nostack));
        }
        word
    }))
}

/// The journal's region.
pub struct Flash(pac::NVMC);

impl Flash {
    pub(super) fn new(nvmc: pac::NVMC) -> Self {
        Self(nvmc)
    }

    fn address(offset: u32) -> usize {
        memory::journal().start + offset as usize
    }

    fn wait(&self) {
        while self.0.ready.read().ready().is_busy() {}
    }
}

impl ErrorType for Flash {
    type Error = NorFlashErrorKind;
}

impl ReadNorFlash for Flash {
    const READ_SIZE: usize = WORD;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), NorFlashErrorKind> {
        check_read(self, offset, bytes.len())?;
        // SAFETY: inside the region and word-aligned, as just checked.
        unsafe { memory::read_words(Self::address(offset) as *const u32, bytes) };
        Ok(())
    }

    fn capacity(&self) -> usize {
        memory::journal().len()
    }
}

impl NorFlash for Flash {
    const WRITE_SIZE: usize = WORD;
    const ERASE_SIZE: usize = FLASH_PAGE;

    fn erase(&mut self, from: u32, to: u32) -> Result<(), NorFlashErrorKind> {
        check_erase(self, from, to)?;
        self.0.config.write(|w| w.wen().een());
        for page in (from..to).step_by(FLASH_PAGE) {
            write(self.0.erasepage(), Self::address(page) as u32);
            self.wait();
        }
        self.0.config.write(|w| w.wen().ren());
        Ok(())
    }

    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), NorFlashErrorKind> {
        if self.program(offset, bytes)? { Ok(()) } else { Err(NorFlashErrorKind::Other) }
    }
}

impl MultiwriteNorFlash for Flash {}

impl JournalFlash for Flash {
    fn program(&mut self, offset: u32, bytes: &[u8]) -> Result<bool, NorFlashErrorKind> {
        // (`check_write` asks the same, in twice the instructions.)
        let capacity = self.capacity();
        if !(offset as usize | bytes.len()).is_multiple_of(WORD) {
            return Err(NorFlashErrorKind::NotAligned);
        }
        if bytes.len() > capacity || offset as usize > capacity - bytes.len() {
            return Err(NorFlashErrorKind::OutOfBounds);
        }
        let mut place = Self::address(offset) as *mut u32;
        let mut write = |word: u32| {
            // SAFETY: inside the region and word-aligned, as just checked (the region starts on a
            // page); volatile, because the NVMC changes it.
            unsafe { place.write_volatile(word) };
            self.wait();
            // SAFETY: the same word.
            let good = unsafe { place.read_volatile() } == word;
            place = place.wrapping_add(1);
            good
        };
        self.0.config.write(|w| w.wen().wen());
        let start = bytes.as_ptr().cast::<u32>();
        let good = if start.is_aligned() {
            // SAFETY: aligned, and four bytes are a word, whatever they are; the processor is
            // little-endian, as the journal's words.
            let words = unsafe { core::slice::from_raw_parts(start, bytes.len() / WORD) };
            words.iter().all(|word| write(*word))
        } else {
            bytes.as_chunks().0.iter().all(|word| write(u32::from_le_bytes(*word)))
        };
        self.0.config.write(|w| w.wen().ren());
        Ok(good)
    }
}
