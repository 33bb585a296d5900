//! The journal's flash, through the NVMC.
//!
//! Flash pages of 1 KB (v1) or 4 KB (v2); words of 4 bytes, written with bits going from 1 to 0
//! only, each at most twice between erases. The processor stands still while the flash is busy: at
//! most 46 microseconds a word, 22 ms (v1) or 88 ms (v2) a page erase.

use super::model::{FLASH_PAGE, JOURNAL_PAGE, pac};
use super::write;
use crate::board::flash::Controller;
use crate::board::image;
use crate::board::memory::{self, WORD};
use crate::wire::ImageHash;
use core::arch::asm;

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

fn wait(nvmc: &pac::NVMC) {
    while nvmc.ready.read().ready().is_busy() {}
}

impl Controller for pac::NVMC {
    const PAGE: usize = JOURNAL_PAGE;

    fn window(offset: u32) -> *mut u32 {
        (memory::journal().start + offset as usize) as *mut u32
    }

    fn erase_page(&mut self, offset: u32) {
        self.config.write(|w| w.wen().een());
        for part in (0..JOURNAL_PAGE as u32).step_by(FLASH_PAGE) {
            write(self.erasepage(), Self::window(offset + part) as u32);
            wait(self);
        }
        self.config.write(|w| w.wen().ren());
    }

    fn program(&mut self, offset: u32, words: &[u8]) -> bool {
        let mut place = Self::window(offset);
        let mut write = |word: u32| {
            // SAFETY: inside the region and word-aligned, by the promise of the caller (the region
            // starts on a page); volatile, because the NVMC changes it.
            unsafe { place.write_volatile(word) };
            wait(self);
            // SAFETY: the same word.
            let good = unsafe { place.read_volatile() } == word;
            place = place.wrapping_add(1);
            good
        };
        self.config.write(|w| w.wen().wen());
        let start = words.as_ptr().cast::<u32>();
        let good = if start.is_aligned() {
            // SAFETY: aligned, and four bytes are a word, whatever they are; the processor is
            // little-endian, as the journal's words.
            let words = unsafe { core::slice::from_raw_parts(start, words.len() / WORD) };
            words.iter().all(|word| write(*word))
        } else {
            words.as_chunks().0.iter().all(|word| write(u32::from_le_bytes(*word)))
        };
        self.config.write(|w| w.wen().ren());
        good
    }
}
