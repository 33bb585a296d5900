//! One record on flash: a few parts under one commit word. The layout is in the journal's header.
//!
//! Functions on the path of every request are inlined by hand where `cargo xtask counts` showed
//! that calls cost the board more than copies.

use core::ops::Range;

use embedded_storage::nor_flash::NorFlashErrorKind;

use super::region::{AT_BITS, Region, Sum, UNMARKED, WORD};
use super::{JournalFlash, MAX_KEYS, MAX_LONG_KEYS, MAX_PART, MAX_SHORT_PART, Parts};

/// Set in the last record of a transaction.
const LAST: u32 = 1 << 30;
/// Bits of a descriptor that hold the length of a part in words, for keys below [`MAX_LONG_KEYS`]..
const LONG_BITS: u32 = 6;
/// .. and for the others, whose descriptors have [`SHORT`] set.
const SHORT_BITS: u32 = 2;
const SHORT: u32 = 1 << 15;
/// A commit word always has this bit clear, so a blank word never commits anything.
pub(super) const COMMIT_MASK: u32 = u32::MAX >> 1;

const MAX_WORDS: u16 = (MAX_PART / WORD) as u16;
const _: () = assert!(MAX_PART.is_multiple_of(WORD) && MAX_WORDS < 1 << LONG_BITS);
const _: () = assert!(MAX_SHORT_PART / WORD < 1 << SHORT_BITS);
const _: () =
    assert!(MAX_LONG_KEYS as u32 == SHORT >> LONG_BITS && MAX_KEYS as u32 == SHORT >> SHORT_BITS);

/// A part in a record, without its value: length in words, whether it is secret, key.
/// (One word: halfword arithmetic is slower on Cortex-M0.)
#[derive(Clone, Copy)]
pub(super) struct Entry(u32);

impl Entry {
    pub(super) const NONE: Self = Self(0);
    const SECRET: u32 = 1 << LONG_BITS;
    const KEY: u32 = 8;

    #[inline(always)]
    fn new<P: Parts>(parts: &P, key: u16, words: u32) -> Self {
        let secret = if parts.secret(key).is_some() { Self::SECRET } else { 0 };
        Self(u32::from(key) << Self::KEY | secret | words)
    }

    /// The present value of a part.
    #[inline(always)]
    pub(super) fn of<P: Parts>(parts: &P, key: u16) -> Self {
        Self::sized(parts, key, parts.length(key))
    }

    /// A value of this length.
    #[inline(always)]
    pub(super) fn sized<P: Parts>(parts: &P, key: u16, length: usize) -> Self {
        let most = if key < MAX_LONG_KEYS { MAX_PART } else { MAX_SHORT_PART };
        Self::new(parts, key, length.min(most).div_ceil(WORD) as u32)
    }

    /// The part behind a descriptor; none if this is not one.
    fn read<P: Parts>(parts: &P, count: u16, descriptor: u32) -> Option<Self> {
        let (key, words) = Self::decode(descriptor);
        let fits = key < u32::from(count) && words <= u32::from(MAX_WORDS);
        let entry = Self::new(parts, key as u16, words);
        (fits && entry.descriptor() == descriptor).then_some(entry)
    }

    /// Key and length of a descriptor.
    #[inline(always)]
    const fn decode(descriptor: u32) -> (u32, u32) {
        let bits = if descriptor & SHORT == 0 { LONG_BITS } else { SHORT_BITS };
        ((descriptor & !SHORT) >> bits, descriptor & ((1 << bits) - 1))
    }

    pub(super) const fn descriptor(self) -> u32 {
        let (key, words) = (self.0 >> Self::KEY, self.words() as u32);
        if key < MAX_LONG_KEYS as u32 {
            key << LONG_BITS | words
        } else {
            SHORT | key << SHORT_BITS | words
        }
    }

    pub(super) const fn key(self) -> u16 {
        (self.0 >> Self::KEY) as u16
    }

    /// Words of the value; 0 if it is absent.
    pub(super) const fn words(self) -> u16 {
        (self.0 & (Self::SECRET - 1)) as u16
    }

    pub(super) const fn is_secret(self) -> bool {
        self.0 & Self::SECRET != 0
    }

    /// Words in the record: the value and, if that is secret and present, its checksum.
    const fn extent(self) -> u16 {
        if self.is_secret() && self.words() > 0 { self.words() + 1 } else { self.words() }
    }
}

/// The size of a record, grown part by part.
#[derive(Clone, Copy, Default)]
pub(super) struct Shape {
    pub items: u32,
    /// Words of all values and their checksums.
    values: u32,
}

impl Shape {
    /// This shape with one part more.
    #[inline(always)]
    pub(super) const fn with(self, entry: Entry) -> Self {
        Self { items: self.items + 1, values: self.values + entry.extent() as u32 }
    }

    /// Words up to the first value: header and descriptors.
    const fn head(self) -> u32 {
        1 + self.items.div_ceil(2)
    }

    /// Words of the whole record, commit word included.
    #[inline(always)]
    pub(super) const fn words(self) -> u32 {
        self.head() + self.values + 1
    }
}

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
        if words > u32::from(limit - at) || words < (Shape { items, ..shape }).words() {
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
    /// was to be, it is held against that.
    pub(super) fn is_torn<F: JournalFlash, P: Parts>(
        region: &mut Region<F>,
        parts: &P,
        (seq, at): (u32, u16),
    ) -> Result<bool, NorFlashErrorKind> {
        let end = region.used(seq)?;
        if end <= at + 1 {
            // The header itself.
            return Ok(true);
        }
        let header = region.word(seq, at)?;
        let (words, items) = counts(header);
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
        if end < record.end() {
            return Ok(true);
        }
        let (found, computed) = record.commit(region, parts)?;
        Ok(found & computed == computed)
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
    #[inline(always)]
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
