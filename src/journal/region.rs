//! The flash region as a ring of pages of words, and the header of a page.
//!
//! A page is named by its number in the log, counted up from 1; page `s` lies in slot `s mod
//! pages`. A word is four bytes, little endian; `at` counts words from the start of a page.

use core::ops::{Range, RangeInclusive};

use crc::{CRC_32_ISO_HDLC, Crc, Table};
use embedded_storage::nor_flash::{NorFlashError, NorFlashErrorKind};

use super::JournalFlash;

/// Bytes in a word, the unit of writing.
pub(super) const WORD: usize = 4;
/// A word that was not written since the page was erased.
pub(super) const BLANK: u32 = u32::MAX;
/// Words in a page header.
pub(super) const HEADER: u16 = 6;
/// Set in a page header or record header when first written, cleared by its second write.
pub(super) const UNMARKED: u32 = 1 << 31;
/// Set in the header of a page opened while the pages outside the log are being erased.
const PURGING: u32 = 1 << 30;
/// Bits of a word count inside a page.
pub(super) const AT_BITS: u32 = 12;
const AT_MASK: u32 = (1 << AT_BITS) - 1;
/// Fewest and most bytes of a page.
const MIN_PAGE: usize = 1024;
const MAX_PAGE: usize = 8192;
const _: () = assert!(MAX_PAGE / WORD < 1 << AT_BITS);
/// Bits of a distance between pages.
const PAGE_BITS: u32 = 8;
const PAGE_MASK: u32 = (1 << PAGE_BITS) - 1;
/// Most pages of a region: one bit each in a page header.
pub const MAX_PAGES: u32 = u64::BITS;
/// No page has a higher number. 20,000 erases of 64 pages end far below, and nothing can overflow.
const LAST_PAGE: u32 = u32::MAX / 2;
/// Names the format; part of every page header's checksum. The last byte is the version.
const FORMAT: u32 = u32::from_le_bytes(*b"Eqj3");
/// The version of formats that had a header of four words, and of all others.
const SHORT_FORMATS: RangeInclusive<u8> = b'1'..=b'2';
const LONG_FORMATS: RangeInclusive<u8> = b'3'..=b'9';
/// The version of this format.
pub(super) const VERSION: u8 = FORMAT.to_be_bytes()[0] - b'0';
/// No format has more parts than this.
const MOST_PARTS: u32 = 1 << 13;

/// Table of CRC-32, by byte. The table is that of `crc`, the steps in [`Sum`] are not: the crate
/// takes bytes only, one in each pass of a loop, and words are what flash is read in. Its other
/// table, for 16 bytes at a time, takes 16 KB.
static TABLE: [u32; 256] = Crc::<u32, Table<1>>::new(&CRC_32_ISO_HDLC).table()[0];

/// A running checksum and the place it is for.
pub(super) struct Sum {
    /// CRC-32 of the words so far, inverted.
    crc: u32,
    place: u32,
}

impl Sum {
    /// For something at this place, so that bytes of another place or an earlier round never pass.
    /// Places have different numbers for 2^20 pages, and nothing stays on flash for that long.
    pub(super) fn at(seq: u32, at: u16) -> Self {
        Self::of(seq << AT_BITS | u32::from(at))
    }

    fn of(place: u32) -> Self {
        Self { crc: u32::MAX, place }
    }

    /// Adds a word.
    #[inline(never)]
    pub(super) fn add_word(&mut self, word: u32) {
        #[allow(clippy::indexing_slicing, reason = "a byte, in a table of 256")]
        let step = |crc: u32| crc >> 8 ^ TABLE[usize::from(crc as u8)];
        self.crc = step(step(step(step(self.crc ^ word))));
    }

    /// Adds whole words. (By the word: a loop over bytes takes a quarter more on the Cortex-M0.)
    #[inline(never)]
    pub(super) fn add(&mut self, words: &[u8]) {
        #[allow(clippy::indexing_slicing, reason = "a byte, in a table of 256")]
        let step = |crc: u32, byte: u8| crc >> 8 ^ TABLE[usize::from(crc as u8 ^ byte)];
        let mut crc = self.crc;
        for [a, b, c, d] in words.as_chunks::<WORD>().0 {
            crc = step(step(step(step(crc, *a), *b), *c), *d);
        }
        self.crc = crc;
    }

    pub(super) fn add_words<F: JournalFlash>(
        &mut self,
        region: &mut Region<F>,
        seq: u32,
        words: Range<u16>,
    ) -> Result<(), NorFlashErrorKind> {
        for at in words {
            self.add_word(region.word(seq, at)?);
        }
        Ok(())
    }

    pub(super) fn value(self) -> u32 {
        !self.crc ^ self.place
    }
}

/// First words of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    /// The page's number in the log.
    pub seq: u32,
    /// The first page of the log when this one was opened: everything from there on is needed.
    pub oldest: u32,
    /// The page before this one in the log; the page itself if there was none.
    pub before: u32,
    /// Words of the page before that count; what follows them there is void.
    pub tail: u16,
    /// How many parts sweeps have rewritten, this page's included.
    pub swept: u32,
    /// Slots that failed, one bit each.
    pub failed: u64,
    /// Opened while pages outside the log were being erased.
    pub purging: bool,
    /// Set once a later page holds something committed.
    pub closed: bool,
}

impl Header {
    /// The header's words in front of the checksum.
    fn words(&self) -> [u32; 5] {
        let mut place = self.seq.wrapping_sub(self.oldest) & PAGE_MASK;
        place |= (self.seq.wrapping_sub(self.before) & PAGE_MASK) << PAGE_BITS;
        place |= (u32::from(self.tail) & AT_MASK) << (2 * PAGE_BITS) | UNMARKED;
        if self.purging {
            place |= PURGING;
        }
        [self.seq, place, self.swept, self.failed as u32, (self.failed >> u32::BITS) as u32]
    }
}

/// The flash and its division into pages.
#[derive(Clone)]
pub(super) struct Region<F> {
    pub flash: F,
    pub pages: u32,
    /// Number of parts; a region written for another number is not ours.
    pub count: u16,
}

impl<F: JournalFlash> Region<F> {
    /// Compiles for flash that the format can hold, and for no other.
    pub(super) const GEOMETRY: () = {
        assert!(
            F::WRITE_SIZE == WORD && F::READ_SIZE <= WORD,
            "flash is written in words of 4 bytes"
        );
        let size = F::ERASE_SIZE;
        assert!(
            size >= MIN_PAGE && size <= MAX_PAGE && size.is_multiple_of(WORD),
            "a page of flash has 1 to 8 KB, in whole words"
        );
    };

    /// Words in a page.
    pub(super) const PAGE: u16 = (F::ERASE_SIZE / WORD) as u16;

    /// Where in the region a page of the log lies. (Cortex-M0 has no divider.)
    pub(super) fn slot(&self, seq: u32) -> u32 {
        if self.pages.is_power_of_two() { seq & (self.pages - 1) } else { seq % self.pages.max(1) }
    }

    // Saves 23 instructions of an `ASSIGN` and 138 of an `OUTCOME` on the Cortex-M0.
    #[inline(always)]
    fn address(&self, seq: u32, at: u16) -> u32 {
        self.slot(seq) * F::ERASE_SIZE as u32 + u32::from(at) * WORD as u32
    }

    pub(super) fn word(&mut self, seq: u32, at: u16) -> Result<u32, NorFlashErrorKind> {
        let mut bytes = [0; WORD];
        let address = self.address(seq, at);
        self.flash.read(address, &mut bytes).map_err(|e| e.kind())?;
        Ok(u32::from_le_bytes(bytes))
    }

    /// Writes words in ascending order and reads each back; false at the first that differs.
    pub(super) fn write(
        &mut self,
        seq: u32,
        at: u16,
        words: &[u8],
    ) -> Result<bool, NorFlashErrorKind> {
        let address = self.address(seq, at);
        self.flash.program(address, words).map_err(|e| e.kind())
    }

    pub(super) fn put(&mut self, seq: u32, at: u16, word: u32) -> Result<bool, NorFlashErrorKind> {
        self.write(seq, at, &word.to_le_bytes())
    }

    /// Overwrites words with zeros. A word that does not take it does not stop the others.
    pub(super) fn zero(&mut self, seq: u32, words: Range<u16>) -> Result<bool, NorFlashErrorKind> {
        const ZEROS: [u8; 16 * WORD] = [0; 16 * WORD];
        let mut good = true;
        let mut at = words.start;
        while at < words.end {
            let bytes = ZEROS.get(..usize::from(words.end - at) * WORD).unwrap_or(&ZEROS);
            let end = at + (bytes.len() / WORD) as u16;
            // Written in one go, which stops at the first word that fails. That one is left as it
            // is: a word may be written twice between erases, and this was the second time.
            if !self.write(seq, at, bytes)? {
                good = false;
                while at < end && self.word(seq, at)? == 0 {
                    at += 1;
                }
                for at in at.saturating_add(1)..end {
                    self.put(seq, at, 0)?;
                }
            }
            at = end;
        }
        Ok(good)
    }

    pub(super) fn erase(&mut self, seq: u32) -> Result<(), NorFlashErrorKind> {
        let from = self.address(seq, 0);
        self.flash.erase(from, from + F::ERASE_SIZE as u32).map_err(|e| e.kind())
    }

    /// Whether every byte of the page reads as `byte`. (Read in lines: a call for every word takes
    /// three times as long on the Cortex-M0, and a look changes the page seven times.)
    pub(super) fn uniform(&mut self, seq: u32, byte: u8) -> Result<bool, NorFlashErrorKind> {
        const LINE: u16 = 16;
        let mut at = 0;
        while at < Self::PAGE {
            let mut bytes = [0; LINE as usize * WORD];
            let words = LINE.min(Self::PAGE - at);
            let line = bytes.get_mut(..usize::from(words) * WORD).unwrap_or(&mut []);
            let address = self.address(seq, at);
            self.flash.read(address, line).map_err(|e| e.kind())?;
            if line.iter().any(|read| *read != byte) {
                return Ok(false);
            }
            at += words;
        }
        Ok(true)
    }

    /// Whether the page may never have been written: new flash reads as ones or as zeros.
    pub(super) fn is_new(&mut self, seq: u32) -> Result<bool, NorFlashErrorKind> {
        Ok(self.uniform(seq, u8::MAX)? || self.uniform(seq, 0)?)
    }

    /// Whether the page holds no record: at most one word behind the header is not blank, and the
    /// shortest record has two.
    pub(super) fn is_bare(&mut self, seq: u32) -> Result<bool, NorFlashErrorKind> {
        let mut used = 0;
        for at in HEADER..Self::PAGE {
            used += u32::from(self.word(seq, at)? != BLANK);
        }
        Ok(used <= 1)
    }

    /// The end of what was written to the page: the word behind the last that is not blank.
    pub(super) fn used(&mut self, seq: u32) -> Result<u16, NorFlashErrorKind> {
        for at in (0..Self::PAGE).rev() {
            if self.word(seq, at)? != BLANK {
                return Ok(at + 1);
            }
        }
        Ok(0)
    }

    /// The checksum of the first words of a header, without format and number of parts.
    fn raw_sum(words: &[u32]) -> u32 {
        let mut sum = Sum::of(0);
        for (index, word) in words.iter().enumerate() {
            let word = if index == 1 { word | UNMARKED } else { *word };
            sum.add_word(word);
        }
        sum.value()
    }

    fn header_words(&mut self, place: u32) -> Result<[u32; HEADER as usize], NorFlashErrorKind> {
        let mut words = [0; HEADER as usize];
        for (at, word) in (0..).zip(&mut words) {
            *word = self.word(place, at)?;
        }
        Ok(words)
    }

    /// The format of the page in this slot, with any number of parts; none if it has no header.
    pub(super) fn format(&mut self, place: u32) -> Result<Option<u8>, NorFlashErrorKind> {
        let [first, second, third, short, high, long] = self.header_words(place)?;
        let long = long ^ Self::raw_sum(&[first, second, third, short, high]) ^ FORMAT;
        let short = short ^ Self::raw_sum(&[first, second, third]) ^ FORMAT;
        for (sum, digits) in [(short, SHORT_FORMATS), (long, LONG_FORMATS)] {
            let digit = (sum ^ FORMAT).to_be_bytes()[0];
            if sum & 0x00ff_ffff <= MOST_PARTS && digits.contains(&digit) {
                return Ok(Some(digit - b'0'));
            }
        }
        Ok(None)
    }

    /// Reads the header of the page in the slot of `seq`; none if there is no valid one, or one
    /// that belongs elsewhere.
    pub(super) fn header(&mut self, seq: u32) -> Result<Option<Header>, NorFlashErrorKind> {
        let [found, place, swept, low, high, sum] = self.header_words(seq)?;
        let (delta, back) = (place & PAGE_MASK, place >> PAGE_BITS & PAGE_MASK);
        if sum != Self::raw_sum(&[found, place, swept, low, high]) ^ FORMAT ^ u32::from(self.count)
            || self.slot(found) != self.slot(seq)
            || delta >= found.min(self.pages)
            || back > delta
            || (back == 0) != (delta == 0)
            || found > LAST_PAGE
        {
            return Ok(None);
        }
        Ok(Some(Header {
            seq: found,
            oldest: found - delta,
            before: found - back,
            tail: (place >> (2 * PAGE_BITS) & AT_MASK) as u16,
            swept,
            failed: u64::from(high) << u32::BITS | u64::from(low),
            purging: place & PURGING != 0,
            closed: place & UNMARKED == 0,
        }))
    }

    /// Reads `swept` from the header of a page of the log.
    pub(super) fn swept(&mut self, seq: u32) -> Result<u32, NorFlashErrorKind> {
        self.word(seq, 2)
    }

    /// Opens an erased page; false if the header does not read back.
    pub(super) fn open(&mut self, header: &Header) -> Result<bool, NorFlashErrorKind> {
        let [a, b, c, d, e] = header.words();
        let sum = Self::raw_sum(&[a, b, c, d, e]) ^ FORMAT ^ u32::from(self.count);
        self.write(header.seq, 0, [a, b, c, d, e, sum].map(u32::to_le_bytes).as_flattened())
    }

    /// Marks a page as followed by another one that holds something committed.
    pub(super) fn close(&mut self, seq: u32) -> Result<bool, NorFlashErrorKind> {
        let place = self.word(seq, 1)?;
        self.put(seq, 1, place & !UNMARKED)
    }
}
