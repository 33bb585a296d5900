//! The flash region as a ring of pages of words, and the header of a page.
//!
//! A page is named by its number in the log, counted up from 1 for ever; page `s` lies at `s mod pages` of the region.
//! A word is four bytes, little endian; `at` counts words from the start of a page.

use core::ops::Range;

use crc::{CRC_32_ISO_HDLC, Crc, Digest, Table};
use embedded_storage::nor_flash::{MultiwriteNorFlash, NorFlashError, NorFlashErrorKind};

/// Bytes in a word, the unit of writing.
pub(super) const WORD: usize = 4;
/// A word no one has written since the page was erased.
pub(super) const BLANK: u32 = u32::MAX;
/// Words in a page header.
pub(super) const HEADER: u16 = 4;
/// Set in a page header or record header when first written, cleared by its second write.
pub(super) const UNMARKED: u32 = 1 << 31;
/// Set in the header of a page opened while the pages outside the log are being wiped.
const PURGING: u32 = 1 << 30;
/// Bits of a word count inside a page; pages of up to 16 KB.
pub(super) const AT_BITS: u32 = 12;
const AT_MASK: u32 = (1 << AT_BITS) - 1;
/// No page has a higher number: 20,000 erases of 65,535 pages end far below, and nothing can overflow.
const LAST_PAGE: u32 = u32::MAX / 2;
/// Names the format; part of every page header's checksum.
const FORMAT: u32 = u32::from_le_bytes(*b"Eqj2");

/// Every format has fewer parts than this.
const MOST_PARTS: u32 = 1 << 13;

static CRC: Crc<u32, Table<1>> = Crc::<u32, Table<1>>::new(&CRC_32_ISO_HDLC);

/// A running checksum, and what tells it from that of the same bytes elsewhere.
pub(super) struct Sum {
    digest: Digest<'static, u32, Table<1>>,
    place: u32,
}

impl Sum {
    /// Of something at this place, so that no stale or misplaced bytes can pass. Places have different numbers for 2^20
    /// pages, and nothing is on flash for as long.
    pub(super) fn at(seq: u32, at: u16) -> Self {
        Self::of(seq << AT_BITS | u32::from(at))
    }

    fn of(place: u32) -> Self {
        Self { digest: CRC.digest(), place }
    }

    pub(super) fn add(&mut self, bytes: &[u8]) {
        self.digest.update(bytes);
    }

    pub(super) fn add_words<F: MultiwriteNorFlash>(
        &mut self,
        region: &mut Region<F>,
        seq: u32,
        words: Range<u16>,
    ) -> Result<(), NorFlashErrorKind> {
        for at in words {
            self.add(&region.word(seq, at)?.to_le_bytes());
        }
        Ok(())
    }

    #[inline(always)]
    pub(super) fn value(self) -> u32 {
        self.digest.finalize() ^ self.place
    }
}

/// What the first words of a page say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    /// The page's number in the log.
    pub seq: u32,
    /// The first page of the log when this one was opened: everything from there on is needed.
    pub oldest: u32,
    /// Words of the page before that count; what follows them there is void.
    pub tail: u16,
    /// How many parts have been rewritten in turn, this page's included.
    pub swept: u32,
    /// Opened while pages outside the log were being wiped.
    pub purging: bool,
    /// Set once a later page holds something committed.
    pub closed: bool,
}

/// The flash and its division into pages.
#[derive(Clone)]
pub(super) struct Region<F> {
    pub flash: F,
    pub pages: u32,
    /// Number of parts; a region written for another number is not ours.
    pub count: u16,
}

impl<F: MultiwriteNorFlash> Region<F> {
    /// Words in a page.
    pub(super) const PAGE: u16 = (F::ERASE_SIZE / WORD) as u16;

    /// Where in the region a page of the log lies. A small machine has no divider, and mostly needs none.
    pub(super) fn slot(&self, seq: u32) -> u32 {
        if self.pages.is_power_of_two() { seq & (self.pages - 1) } else { seq % self.pages.max(1) }
    }

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

    /// Writes words, in ascending order.
    pub(super) fn write(&mut self, seq: u32, at: u16, words: &[u8]) -> Result<(), NorFlashErrorKind> {
        let address = self.address(seq, at);
        self.flash.write(address, words).map_err(|e| e.kind())
    }

    pub(super) fn put(&mut self, seq: u32, at: u16, word: u32) -> Result<(), NorFlashErrorKind> {
        self.write(seq, at, &word.to_le_bytes())
    }

    pub(super) fn erase(&mut self, seq: u32) -> Result<(), NorFlashErrorKind> {
        let from = self.address(seq, 0);
        self.flash.erase(from, from + F::ERASE_SIZE as u32).map_err(|e| e.kind())
    }

    /// Does every word of the page read as `word`?
    pub(super) fn uniform(&mut self, seq: u32, word: u32) -> Result<bool, NorFlashErrorKind> {
        for at in 0..Self::PAGE {
            if self.word(seq, at)? != word {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Is everything in the page from `at` on blank?
    pub(super) fn blank_from(&mut self, seq: u32, at: u16) -> Result<bool, NorFlashErrorKind> {
        for at in at..Self::PAGE {
            if self.word(seq, at)? != BLANK {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn header_sum(&self, seq: u32, place: u32, swept: u32) -> u32 {
        let mut sum = Sum::of(FORMAT ^ u32::from(self.count));
        [seq, place | UNMARKED, swept].iter().for_each(|word| sum.add(&word.to_le_bytes()));
        sum.value()
    }

    /// The format of the page at this place, if its header is one of another format.
    pub(super) fn other_format(&mut self, place: u32) -> Result<Option<u8>, NorFlashErrorKind> {
        let words = [self.word(place, 0)?, self.word(place, 1)?, self.word(place, 2)?];
        let stored = self.word(place, 3)?;
        let [e, q, j, version] = FORMAT.to_le_bytes();
        for format in (b'1'..=b'9').filter(|format| *format != version) {
            let sum = self.header_sum(words[0], words[1], words[2]) ^ FORMAT ^ u32::from(self.count);
            let count = stored ^ sum ^ u32::from_le_bytes([e, q, j, format]);
            if count < MOST_PARTS {
                return Ok(Some(format - b'0'));
            }
        }
        Ok(None)
    }

    /// Reads the header of the page where `seq` lies; none if there is no valid one, or one that belongs elsewhere.
    pub(super) fn header(&mut self, seq: u32) -> Result<Option<Header>, NorFlashErrorKind> {
        let (found, place) = (self.word(seq, 0)?, self.word(seq, 1)?);
        let (swept, sum) = (self.word(seq, 2)?, self.word(seq, 3)?);
        let delta = place & 0xffff;
        if sum != self.header_sum(found, place, swept)
            || self.slot(found) != self.slot(seq)
            || delta >= found
            || found > LAST_PAGE
        {
            return Ok(None);
        }
        Ok(Some(Header {
            seq: found,
            oldest: found - delta,
            tail: (place >> 16 & AT_MASK) as u16,
            swept,
            purging: place & PURGING != 0,
            closed: place & UNMARKED == 0,
        }))
    }

    /// What the header of a page of the log says of `swept`.
    pub(super) fn swept(&mut self, seq: u32) -> Result<u32, NorFlashErrorKind> {
        self.word(seq, 2)
    }

    /// Opens an erased page.
    pub(super) fn open(&mut self, header: &Header) -> Result<(), NorFlashErrorKind> {
        let mut place = header.seq.wrapping_sub(header.oldest) & 0xffff;
        place |= (u32::from(header.tail) & AT_MASK) << 16 | UNMARKED;
        if header.purging {
            place |= PURGING;
        }
        let words = [header.seq, place, header.swept, self.header_sum(header.seq, place, header.swept)];
        self.write(header.seq, 0, words.map(u32::to_le_bytes).as_flattened())
    }

    /// Marks a page as followed by another one that holds something committed.
    pub(super) fn close(&mut self, seq: u32) -> Result<(), NorFlashErrorKind> {
        let place = self.word(seq, 1)?;
        self.put(seq, 1, place & !UNMARKED)
    }
}
