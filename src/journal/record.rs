//! One record on flash: a few parts under one commit word. The layout is in the journal's header.
//!
//! Functions on the path of every request are inlined by hand where `cargo xtask counts` showed
//! that calls cost the board more than copies.

use core::ops::Range;

use embedded_storage::nor_flash::NorFlashErrorKind;

use super::entry::{Entry, Shape};
use super::region::{AT_BITS, Region, Sum, UNMARKED, WORD};
use super::{JournalFlash, MAX_PART, Parts};

/// Set in the last record of a transaction.
const LAST: u32 = 1 << 30;
/// A commit word always has this bit clear, so a blank word never commits anything.
pub(super) const COMMIT_MASK: u32 = u32::MAX >> 1;

/// A record; if it was read from flash, its header and descriptors are valid.
#[derive(Clone, Copy)]
pub(super) struct Record {
    pub seq: u32,
    pub at: u16,
    pub shape: Shape,
    /// Its length, which the shape determines.
    words: u16,
    /// Whether it ends its transaction.
    pub last: bool,
    /// Whether its header's second write has marked it as committed.
    pub marked: bool,
}

impl Record {
    /// A record of this shape to be written at `place`, where it ends inside the page.
    pub(super) const fn new((seq, at): (u32, u16), shape: Shape, last: bool) -> Self {
        Self { seq, at, shape, words: shape.words() as u16, last, marked: false }
    }

    /// Reads the header and the descriptors of a record that must end at or before `limit`; none if
    /// they are not valid.
    pub(super) fn read<F: JournalFlash, P: Parts>(
        region: &mut Region<F>,
        parts: &P,
        (seq, at): (u32, u16),
        limit: u16,
    ) -> Result<Option<Self>, NorFlashErrorKind> {
        if at >= limit {
            return Ok(None);
        }
        let header = region.word(seq, at)?;
        let (words, items) = counts(header);
        let mut shape = Shape::default();
        if words > u32::from(limit - at) || words < (Shape { items, values: 0 }).words() {
            return Ok(None);
        }
        for index in 0..items {
            let Some(entry) = entry(region, parts, (seq, at), index)? else { return Ok(None) };
            shape = shape.with(entry);
        }
        let mut record = Self::new((seq, at), shape, header & LAST != 0);
        record.marked = header & UNMARKED == 0;
        Ok((shape.words() == words && header | UNMARKED == record.header()).then_some(record))
    }

    pub(super) fn header(&self) -> u32 {
        let last = if self.last { LAST } else { 0 };
        u32::from(self.words) | self.shape.items << AT_BITS | last | UNMARKED
    }

    /// Where the next record begins.
    pub(super) fn end(&self) -> u16 {
        self.at + self.words
    }

    /// The commit word as it is on flash, and as it must be.
    pub(super) fn commit<F: JournalFlash, P: Parts>(
        &self,
        region: &mut Region<F>,
        parts: &P,
    ) -> Result<(u32, u32), NorFlashErrorKind> {
        let mut sum = Sum::at(self.seq, self.at);
        sum.add(&self.header().to_le_bytes());
        sum.add_words(region, self.seq, self.at + 1..self.values())?;
        let mut items = self.items();
        while let Some(item) = items.next(region, parts)? {
            if !item.entry.is_secret() {
                sum.add_words(region, self.seq, item.values())?;
            }
        }
        Ok((region.word(self.seq, self.end() - 1)?, sum.value() & COMMIT_MASK))
    }

    /// Where the first value stands.
    const fn values(&self) -> u16 {
        self.at + self.shape.head() as u16
    }

    /// The parts in the record, one by one.
    pub(super) const fn items(&self) -> Items {
        Items { place: (self.seq, self.at), index: 0, items: self.shape.items, at: self.values() }
    }

    /// Whether a write cut short explains what follows the last good record of the newest page.
    ///
    /// Words are written in ascending order, each once, with bits going from 1 to 0. So only the
    /// last word that is not blank can be torn: every word before it is as it was to be, and it
    /// still has every bit that it was to have. Where the words before it tell what the torn word
    /// was to be, it is compared with that value. Everything that no tear can produce is damage.
    pub(super) fn is_torn<F: JournalFlash, P: Parts>(
        region: &mut Region<F>,
        parts: &P,
        (seq, at): (u32, u16),
    ) -> Result<bool, NorFlashErrorKind> {
        let end = region.used(seq)?;
        let header = region.word(seq, at)?;
        let (words, items) = counts(header);
        if end <= at + 1 {
            // The header itself: unmarked, and of one part at least, since sweeps alone may be
            // empty and this is not the first record. Bits that are too many only add to a count.
            let least = Shape { items: 1, values: 0 }.words();
            return Ok(header & UNMARKED != 0 && words >= least && items > 0);
        }
        let shape = Shape { items, values: 0 };
        let whole = words | items << AT_BITS | header & LAST | UNMARKED == header;
        let room = u32::from(Region::<F>::PAGE - at);
        if !whole || words < shape.words() || words > room || end > at + words as u16 {
            return Ok(false);
        }
        let values = at + shape.head() as u16;
        if end <= values {
            // A word of descriptors, two in each.
            for index in 0..2 * u32::from(end - at - 2) {
                if entry(region, parts, (seq, at), index)?.is_none() {
                    return Ok(false);
                }
            }
            return Ok(true);
        }
        let Some(record) = Self::read(region, parts, (seq, at), Region::<F>::PAGE)? else {
            return Ok(false);
        };
        let mut items = record.items();
        while let Some(item) = items.next(region, parts)? {
            let complete = items.at < end && item.entry.is_secret() && item.entry.words() > 0;
            if complete && item.check(region, seq)? != Block::Whole {
                return Ok(false);
            }
        }
        // A blank commit word has every bit. The commit word that the record has with the other
        // `last` is whole: then two bits of the header have changed.
        let (found, computed) = record.commit(region, parts)?;
        let (_, other) = Self { last: !record.last, ..record }.commit(region, parts)?;
        Ok(found & computed == computed && found != other)
    }

    /// Where in the good record at this place the value of a part stands; none if its page was
    /// erased since.
    pub(super) fn find<F: JournalFlash, P: Parts>(
        region: &mut Region<F>,
        parts: &P,
        (seq, start): (u32, u16),
        key: u16,
    ) -> Result<Option<Item>, NorFlashErrorKind> {
        let (words, items) = counts(region.word(seq, start)?);
        if words > u32::from(Region::<F>::PAGE - start) {
            return Ok(None);
        }
        let mut at = start + Shape { items, values: 0 }.head() as u16;
        let mut pair = 0;
        for index in 0..items {
            // Two descriptors a word.
            pair = match index.is_multiple_of(2) {
                true => region.word(seq, start + 1 + (index / 2) as u16)?,
                false => pair >> 16,
            };
            let (found, words) = Entry::decode(pair & 0xffff);
            if found == u32::from(key) {
                return Ok(Some(Item { entry: Entry::new(parts, key, words), at }));
            }
            if words > 0 {
                at += Entry::new(parts, found as u16, words).extent();
            }
        }
        Ok(None)
    }

    /// Second write of the header: this record is committed, it can no longer be a torn one.
    pub(super) fn mark<F: JournalFlash>(
        &self,
        region: &mut Region<F>,
    ) -> Result<bool, NorFlashErrorKind> {
        region.put(self.seq, self.at, self.header() & !UNMARKED)
    }
}

/// A part inside a record.
pub(super) struct Item {
    pub entry: Entry,
    /// Where in the page its value stands.
    at: u16,
}

/// Walks over the parts of a record.
pub(super) struct Items {
    place: (u32, u16),
    index: u32,
    items: u32,
    /// Where the next part's value is.
    at: u16,
}

impl Items {
    pub(super) fn next<F: JournalFlash, P: Parts>(
        &mut self,
        region: &mut Region<F>,
        parts: &P,
    ) -> Result<Option<Item>, NorFlashErrorKind> {
        if self.index == self.items {
            return Ok(None);
        }
        let Some(entry) = entry(region, parts, self.place, self.index)? else { return Ok(None) };
        let at = self.at;
        self.index += 1;
        self.at += entry.extent();
        Ok(Some(Item { entry, at }))
    }
}

/// The state of a secret part's bytes on flash.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Block {
    /// As written.
    Whole,
    /// Overwritten with zeros.
    Scrubbed,
    /// Neither: a scrub cut short, or damage.
    Broken,
}

impl Item {
    /// The words of its value.
    const fn values(&self) -> Range<u16> {
        self.at..self.at + self.entry.words()
    }

    /// Copies the part's bytes out.
    pub(super) fn bytes<'b, F: JournalFlash>(
        &self,
        region: &mut Region<F>,
        seq: u32,
        bytes: &'b mut [u8; MAX_PART],
    ) -> Result<&'b [u8], NorFlashErrorKind> {
        let (words, _) = bytes.as_chunks_mut::<WORD>();
        let words = words.get_mut(..usize::from(self.entry.words())).unwrap_or_default();
        for (at, word) in (self.at..).zip(words.iter_mut()) {
            *word = region.word(seq, at)?.to_le_bytes();
        }
        Ok(words.as_flattened())
    }

    /// Checks the bytes of a secret part that is not absent.
    pub(super) fn check<F: JournalFlash>(
        &self,
        region: &mut Region<F>,
        seq: u32,
    ) -> Result<Block, NorFlashErrorKind> {
        let mut sum = Sum::at(seq, self.at);
        let mut ones = 0;
        for at in self.values() {
            let word = region.word(seq, at)?;
            sum.add(&word.to_le_bytes());
            ones |= word;
        }
        let stored = region.word(seq, self.values().end)?;
        Ok(match sum.value() == stored {
            true => Block::Whole,
            false if ones | stored == 0 => Block::Scrubbed,
            false => Block::Broken,
        })
    }

    /// Overwrites a secret part and its checksum with zeros. Words that hold zero already are
    /// written too: the number of writes must not depend on the value.
    pub(super) fn scrub<F: JournalFlash>(
        &self,
        region: &mut Region<F>,
        seq: u32,
    ) -> Result<bool, NorFlashErrorKind> {
        region.zero(seq, self.at..self.values().end + 1)
    }
}

/// Words and items of a record, from its header.
const fn counts(header: u32) -> (u32, u32) {
    const MASK: u32 = (1 << AT_BITS) - 1;
    (header & MASK, header >> AT_BITS & MASK)
}

/// One of the parts of the record at `place`; none if its descriptor is not one.
fn entry<F: JournalFlash, P: Parts>(
    region: &mut Region<F>,
    parts: &P,
    (seq, at): (u32, u16),
    index: u32,
) -> Result<Option<Entry>, NorFlashErrorKind> {
    let pair = region.word(seq, at + 1 + (index / 2) as u16)?;
    let descriptor = if index.is_multiple_of(2) { pair & 0xffff } else { pair >> 16 };
    Ok(Entry::read(parts, region.count, descriptor))
}
