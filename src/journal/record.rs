//! One record: a few parts under one commit word. The layout is in the journal's header.
//!
//! What every request runs through is inlined by hand where `cargo xtask counts` showed that calls cost the board more
//! than copies do.

use core::ops::Range;

use embedded_storage::nor_flash::{MultiwriteNorFlash, NorFlashErrorKind};

use super::region::{AT_BITS, Region, Sum, UNMARKED, WORD};
use super::{MAX_PART, Parts};

/// Set in the last record of a transaction.
const LAST: u32 = 1 << 30;
/// Bits of a descriptor that hold the length of a part in words; the key takes the others.
const LENGTH_BITS: u32 = 6;
/// A commit word always has this bit clear, so a blank word never commits anything.
const COMMIT_MASK: u32 = u32::MAX >> 1;

const MAX_WORDS: u16 = (MAX_PART / WORD) as u16;
const _: () = assert!(MAX_PART.is_multiple_of(WORD) && MAX_WORDS < 1 << LENGTH_BITS);
const _: () = assert!(super::MAX_KEYS < 1 << (16 - LENGTH_BITS));

/// A part in a record, without its value: its descriptor, and in bit 16 whether it is secret. (One word, and words to
/// count in: a small machine pays for every half of one.)
#[derive(Clone, Copy)]
pub(super) struct Entry(u32);

impl Entry {
    pub(super) const NONE: Self = Self(0);
    const SECRET: u32 = 1 << 16;

    fn new<P: Parts>(parts: &P, descriptor: u32) -> Self {
        let secret = if parts.secret((descriptor >> LENGTH_BITS) as u16) { Self::SECRET } else { 0 };
        Self(descriptor | secret)
    }

    /// The present value of a part.
    #[inline(always)]
    pub(super) fn of<P: Parts>(parts: &P, key: u16) -> Self {
        let words = parts.length(key).min(MAX_PART).div_ceil(WORD) as u32;
        Self::new(parts, u32::from(key) << LENGTH_BITS | words)
    }

    const fn descriptor(self) -> u32 {
        self.0 & 0xffff
    }

    pub(super) const fn key(self) -> u16 {
        (self.descriptor() >> LENGTH_BITS) as u16
    }

    /// Words of the value; 0 if it is absent.
    pub(super) const fn words(self) -> u16 {
        (self.0 & ((1 << LENGTH_BITS) - 1)) as u16
    }

    pub(super) const fn is_secret(self) -> bool {
        self.0 & Self::SECRET != 0
    }

    /// Words in the record: the value and, if that is secret and there, its checksum.
    const fn extent(self) -> u16 {
        if self.is_secret() && self.words() > 0 { self.words() + 1 } else { self.words() }
    }
}

/// The size of a record, grown part by part.
#[derive(Clone, Copy, Default)]
pub(super) struct Shape {
    items: u32,
    /// Words of all values and their checksums.
    values: u32,
}

impl Shape {
    /// This shape with one part more. (A record has at most as many parts as there are keys.)
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

/// A record found on flash; its header and descriptors make sense.
#[derive(Clone, Copy)]
pub(super) struct Record {
    seq: u32,
    at: u16,
    shape: Shape,
    /// Words of it, which the shape determines.
    words: u16,
    /// Does it end its transaction?
    pub last: bool,
    /// Was it marked as committed by the second write of its header?
    pub marked: bool,
}

/// A part inside a record.
pub(super) struct Item {
    pub entry: Entry,
    /// Where in the page its value stands.
    at: u16,
}

impl Record {
    /// Reads the header and the descriptors of a record that must end at or before `limit`; none if they make no sense.
    pub(super) fn read<F: MultiwriteNorFlash, P: Parts>(
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
            let entry = entry(region, parts, (seq, at), index)?;
            if entry.key() >= region.count || entry.words() > MAX_WORDS {
                return Ok(None);
            }
            shape = shape.with(entry);
        }
        let mut record = Self::new((seq, at), shape, header & LAST != 0);
        record.marked = header & UNMARKED == 0;
        Ok((shape.words() == words && header | UNMARKED == record.header()).then_some(record))
    }

    fn header(&self) -> u32 {
        let last = if self.last { LAST } else { 0 };
        u32::from(self.words) | self.shape.items << AT_BITS | last | UNMARKED
    }

    /// Where the next record begins.
    pub(super) fn end(&self) -> u16 {
        self.at + self.words
    }

    /// The commit word as it is on flash, and as it must be.
    pub(super) fn commit<F: MultiwriteNorFlash, P: Parts>(
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

    /// Can a write cut short explain what is here, in the newest page and behind its last good record? Words are
    /// written in ascending order, so only the last one that is not blank can be torn; if that is a commit word, it
    /// still has every bit that the right one has.
    pub(super) fn is_torn<F: MultiwriteNorFlash, P: Parts>(
        region: &mut Region<F>,
        parts: &P,
        (seq, at): (u32, u16),
    ) -> Result<bool, NorFlashErrorKind> {
        let header = region.word(seq, at)?;
        if header & UNMARKED == 0 && !region.blank_from(seq, at + 1)? {
            return Ok(false);
        }
        let Some(record) = Self::read(region, parts, (seq, at), Region::<F>::PAGE)? else {
            // Torn in the header, or in the descriptors behind it.
            let (_, items) = counts(header);
            let values = at + Shape { items, values: 0 }.head() as u16;
            return Ok(region.blank_from(seq, at + 1)? || region.blank_from(seq, values)?);
        };
        if !region.blank_from(seq, record.end())? {
            return Ok(false);
        }
        let (found, computed) = record.commit(region, parts)?;
        Ok(found & computed == computed)
    }

    /// A record of this shape to be written at `place`.
    pub(super) const fn new((seq, at): (u32, u16), shape: Shape, last: bool) -> Self {
        // A record ends in its page.
        Self { seq, at, shape, words: shape.words() as u16, last, marked: false }
    }

    /// Writes the record with these parts, which have its shape, and commits it.
    pub(super) fn write<F: MultiwriteNorFlash, P: Parts>(
        &self,
        region: &mut Region<F>,
        parts: &P,
        entries: impl Iterator<Item = Entry> + Clone,
    ) -> Result<(), NorFlashErrorKind> {
        let (seq, at) = (self.seq, self.at);
        let mut pen = Pen { region, seq, at, words: Aligned(heapless::Vec::new()) };
        let mut sum = Sum::at(seq, at);
        pen.put(self.header(), &mut sum)?;
        // Two descriptors a word.
        let (mut pair, mut half) = (0, 0);
        for entry in entries.clone() {
            pair |= entry.descriptor() << half;
            half ^= 16;
            if half == 0 {
                pen.put(core::mem::take(&mut pair), &mut sum)?;
            }
        }
        if half > 0 {
            pen.put(pair, &mut sum)?;
        }
        for entry in entries.filter(|entry| entry.words() > 0) {
            if entry.is_secret() {
                let mut own = Sum::at(seq, pen.at());
                pen.copy(parts, entry, &mut own)?;
                pen.end(own.value())?;
            } else {
                pen.copy(parts, entry, &mut sum)?;
            }
        }
        pen.end(sum.value() & COMMIT_MASK)?;
        pen.flush()
    }

    /// Where in the good record at this place the value of a part stands.
    pub(super) fn find<F: MultiwriteNorFlash, P: Parts>(
        region: &mut Region<F>,
        parts: &P,
        place: (u32, u16),
        key: u16,
    ) -> Result<Option<Item>, NorFlashErrorKind> {
        let (_, items) = counts(region.word(place.0, place.1)?);
        let at = place.1 + Shape { items, values: 0 }.head() as u16;
        let mut items = Items { place, index: 0, items, at };
        while let Some(item) = items.next(region, parts)? {
            if item.entry.key() == key {
                return Ok(Some(item));
            }
        }
        Ok(None)
    }

    /// Second write of the header: this record is committed, it can no longer be a torn one.
    #[inline(always)]
    pub(super) fn mark<F: MultiwriteNorFlash>(
        &self,
        region: &mut Region<F>,
    ) -> Result<(), NorFlashErrorKind> {
        region.put(self.seq, self.at, self.header() & !UNMARKED)
    }
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
    pub(super) fn next<F: MultiwriteNorFlash, P: Parts>(
        &mut self,
        region: &mut Region<F>,
        parts: &P,
    ) -> Result<Option<Item>, NorFlashErrorKind> {
        if self.index == self.items {
            return Ok(None);
        }
        let (entry, at) = (entry(region, parts, self.place, self.index)?, self.at);
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
    pub(super) fn bytes<'b, F: MultiwriteNorFlash>(
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
    pub(super) fn check<F: MultiwriteNorFlash>(
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

    /// Overwrites a secret part and its checksum with zeros. Words that happen to hold zero are written too: the
    /// number of writes must not depend on the value.
    pub(super) fn scrub<F: MultiwriteNorFlash>(
        &self,
        region: &mut Region<F>,
        seq: u32,
    ) -> Result<(), NorFlashErrorKind> {
        const ZEROS: [u8; MAX_PART + WORD] = [0; MAX_PART + WORD];
        let length = (usize::from(self.entry.words()) + 1) * WORD;
        region.write(seq, self.at, ZEROS.get(..length).unwrap_or(&ZEROS))
    }
}

/// Words and items of a record, from its header.
const fn counts(header: u32) -> (u32, u32) {
    const MASK: u32 = (1 << AT_BITS) - 1;
    (header & MASK, header >> AT_BITS & MASK)
}

/// One of the parts of the record at `place`.
fn entry<F: MultiwriteNorFlash, P: Parts>(
    region: &mut Region<F>,
    parts: &P,
    (seq, at): (u32, u16),
    index: u32,
) -> Result<Entry, NorFlashErrorKind> {
    let pair = region.word(seq, at + 1 + (index / 2) as u16)?;
    let descriptor = if index.is_multiple_of(2) { pair & 0xffff } else { pair >> 16 };
    Ok(Entry::new(parts, descriptor))
}

/// Words gathered before they are written.
const GATHERED: usize = MAX_PART / WORD;

/// A driver may take whole words from here.
#[repr(align(4))]
struct Aligned(heapless::Vec<[u8; WORD], GATHERED>);

/// Writes words in ascending order, many at a time: a flash is slow to begin.
struct Pen<'r, F> {
    region: &'r mut Region<F>,
    seq: u32,
    /// Where the first word not yet written goes.
    at: u16,
    words: Aligned,
}

impl<F: MultiwriteNorFlash> Pen<'_, F> {
    /// Where the next word goes.
    fn at(&self) -> u16 {
        self.at + self.words.0.len() as u16
    }

    /// Adds a word that is summed.
    #[inline(always)]
    fn put(&mut self, word: u32, sum: &mut Sum) -> Result<(), NorFlashErrorKind> {
        sum.add(&word.to_le_bytes());
        self.end(word)
    }

    /// Adds a word that is not.
    #[inline(always)]
    fn end(&mut self, word: u32) -> Result<(), NorFlashErrorKind> {
        if let Err(word) = self.words.0.push(word.to_le_bytes()) {
            self.flush()?;
            // There is room now.
            let _ = self.words.0.push(word);
        }
        Ok(())
    }

    /// Adds the present value of a part, padded with zeros.
    fn copy<P: Parts>(&mut self, parts: &P, entry: Entry, sum: &mut Sum) -> Result<(), NorFlashErrorKind> {
        let words = usize::from(entry.words());
        if self.words.0.len() + words > GATHERED {
            self.flush()?;
        }
        let from = self.words.0.len();
        for _ in 0..words {
            // There is room.
            let _ = self.words.0.push([0; WORD]);
        }
        if let Some(place) = self.words.0.get_mut(from..) {
            let bytes = place.as_flattened_mut();
            parts.encode(entry.key(), bytes);
            sum.add(bytes);
        }
        Ok(())
    }

    #[inline(never)]
    fn flush(&mut self) -> Result<(), NorFlashErrorKind> {
        self.region.write(self.seq, self.at, self.words.0.as_flattened())?;
        self.at = self.at();
        self.words.0.clear();
        Ok(())
    }
}
