//! The journal's flash, on the board's QSPI flash chip (W25Q32).
//!
//! Sectors of 4 KB; a word is written by a page program of 4 bytes, with bits going from 1 to 0
//! only. Longer programs would be faster, but a power cut in one could tear any of its words, and
//! the journal must know which.
//!
//! The chip is commanded through the direct mode of the QMI, in which no code could run from flash;
//! none does. It is read through the uncached window over a single data line, a mode in which the
//! chip takes commands between reads. The boot program leaves the chip in such a mode too.

use super::pac;
use crate::board::flash::Controller;
use crate::board::image;
use crate::board::memory::{self, WORD};
use crate::wire::ImageHash;

/// An erase takes at most 400 ms, the computation of a page change less than 10 ms.
pub const ERASE_MICROSECONDS: u32 = 420_000;
/// A write takes at most 86 microseconds (50 for a byte, 12 for each further); commands, composing,
/// summing and reading back a word less than 50.
pub const WORD_MICROSECONDS: u32 = 150;

/// Where flash begins for the image, and in the window without cache and address translation.
const CACHED: usize = 0x1000_0000;
const UNCACHED: usize = 0x1C00_0000;

/// Commands of the flash chip.
const WRITE_ENABLE: u8 = 0x06;
const READ_STATUS: u8 = 0x05;
const READ: u8 = 0x03;
const PAGE_PROGRAM: u8 = 0x02;
const SECTOR_ERASE: u8 = 0x20;
/// In its status: a write or an erase is not over.
const BUSY: u16 = 1;

/// 150 MHz / 6 = 25 MHz; the slowest command, `READ`, may come at 50 MHz.
const DIVIDER: u8 = 6;
/// Half cycles of the processor between a clock edge and the sample of its bit.
const SAMPLE_DELAY: u8 = 2;
/// Processor cycles for which the chip stays deselected between two reads, on top of half a flash
/// clock (3 cycles): 67 ns in all, where the chip asks for at least 50.
const DESELECTED: u8 = 7;

/// The hash of the image on flash. (Not inlined: its memory would stay on the stack of the main
/// loop.)
#[inline(never)]
pub(super) fn image_hash() -> ImageHash {
    image::hash(memory::image().step_by(WORD).map(|address| {
        // SAFETY: a word of flash, which is readable outside of direct mode.
        unsafe { (address as *const u32).read_volatile() }
    }))
}

/// The flash chip, behind the QMI.
pub struct Chip(pac::QMI);

impl Chip {
    /// Sets up reading through the window.
    pub(super) fn new(qmi: pac::QMI) -> Self {
        // SAFETY: the fields take 8, 3 and 5 bits.
        qmi.m0_timing().write(|w| unsafe {
            w.clkdiv().bits(DIVIDER).rxdelay().bits(SAMPLE_DELAY).min_deselect().bits(DESELECTED)
        });
        qmi.m0_rfmt().write(|w| {
            w.prefix_width().s().addr_width().s().suffix_width().s().dummy_width().s();
            w.data_width().s().prefix_len()._8().suffix_len().none().dummy_len().none()
        });
        // SAFETY: the fields take a byte.
        qmi.m0_rcmd().write(|w| unsafe { w.prefix().bits(READ).suffix().bits(0) });
        Self(qmi)
    }

    /// The address of an offset for the flash chip.
    fn address(offset: u32) -> u32 {
        (memory::journal().start - CACHED) as u32 + offset
    }

    /// Sends a command and its bytes; the last byte received meanwhile.
    fn command(&self, command: u8, bytes: &[u8]) -> u16 {
        self.set_direct(true);
        let mut received = self.exchange(command);
        for &byte in bytes {
            received = self.exchange(byte);
        }
        self.set_direct(false);
        received
    }

    /// Selects the chip in direct mode, or leaves that mode.
    fn set_direct(&self, on: bool) {
        // SAFETY: the fields take 8 and 2 bits.
        self.0.direct_csr().write(|w| unsafe {
            w.clkdiv().bits(DIVIDER).rxdelay().bits(SAMPLE_DELAY).en().bit(on)
        });
        // A read through the window may still be under way.
        while self.0.direct_csr().read().busy().bit() {}
        self.0.direct_csr().modify(|_, w| w.assert_cs0n().bit(on));
    }

    fn exchange(&self, byte: u8) -> u16 {
        // SAFETY: the field takes 16 bits, of which a byte is sent.
        self.0.direct_tx().write(|w| unsafe { w.data().bits(byte.into()) }.oe().set_bit());
        while self.0.direct_csr().read().busy().bit() {}
        self.0.direct_rx().read().direct_rx().bits()
    }

    /// Writes or erases, and waits for its end.
    fn change(&self, command: u8, bytes: &[u8]) {
        self.command(WRITE_ENABLE, &[]);
        self.command(command, bytes);
        while self.command(READ_STATUS, &[0]) & BUSY != 0 {}
    }
}

impl Controller for Chip {
    const PAGE: usize = 4096;

    fn window(offset: u32) -> *mut u32 {
        (UNCACHED + Self::address(offset) as usize) as *mut u32
    }

    fn erase_page(&mut self, offset: u32) {
        let [_, a, b, c] = Self::address(offset).to_be_bytes();
        self.change(SECTOR_ERASE, &[a, b, c]);
    }

    fn program(&mut self, offset: u32, words: &[u8]) -> bool {
        (offset..).step_by(WORD).zip(words.as_chunks::<WORD>().0).all(|(at, word)| {
            let [_, a, b, c] = Self::address(at).to_be_bytes();
            let [d, e, f, g] = *word;
            self.change(PAGE_PROGRAM, &[a, b, c, d, e, f, g]);
            // SAFETY: inside the region and word-aligned, by the promise of the caller; volatile,
            // because the chip changed it.
            let found = unsafe { Self::window(at).read_volatile() };
            found == u32::from_le_bytes(*word)
        })
    }
}
