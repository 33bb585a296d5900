//! One record: a few parts under one commit word. The layout is in the journal's header.

use embedded_storage::nor_flash::{MultiwriteNorFlash, NorFlashErrorKind};

use super::region::{AT_BITS, Region, Sum, UNMARKED, WORD};
use super::{Keys, MAX_PART, Parts};

/// Set in the last record of a transaction.
const LAST: u32 = 1 << 30;
/// Bits of a descriptor that hold the length of a part in words; the key takes the others.
const LENGTH_BITS: u32 = 6;
/// A commit word always has this bit clear, so a blank word never commits anything.
const COMMIT_MASK: u32 = u32::MAX >> 1;

const MAX_WORDS: u16 = (MAX_PART / WORD) as u16;
const _: () = assert!(MAX_PART.is_multiple_of(WORD) && MAX_WORDS < 1 << LENGTH_BITS);
const _: () = assert!(super::MAX_KEYS < 1 << (16 - LENGTH_BITS));

/// Words that the present value of a part takes.
pub(super) fn words_of<P: Parts>(parts: &P, key: u16) -> u16 {
    parts.length(key).min(MAX_PART).div_ceil(WORD) as u16
}

/// Words that a part takes in a record: its value and, if that is secret and there, its checksum.
const fn extent(words: u16, secret: bool) -> u16 {
    if secret && words > 0 { words + 1 } else { words }
}

/// The size of a record, grown part by part.
#[derive(Clone, Copy, Default)]
pub(super) struct Shape {
    items: u16,
    /// Words of all values and their checksums.
    values: u16,
}

impl Shape {
    /// The shape of a record with the present values of these parts.
    pub(super) fn of<P: Parts>(parts: &P, keys: &Keys) -> Self {
        keys.iter().fold(Self::default(), |shape, key| shape.with_part(parts, key))
    }

    /// This shape with one part more.
    const fn with(self, words: u16, secret: bool) -> Self {
        let values = self.values.saturating_add(extent(words, secret));
        Self { items: self.items.saturating_add(1), values }
    }

    /// This shape with the present value of a part more.
    pub(super) fn with_part<P: Parts>(self, parts: &P, key: u16) -> Self {
        self.with(words_of(parts, key), parts.secret(key))
    }

    /// Words up to the first value: header and descriptors.
    const fn head(self) -> u16 {
        1 + self.items.div_ceil(2)
    }

    /// Words of the whole record, commit word included.
    pub(super) const fn words(self) -> u16 {
        self.values.saturating_add(self.head() + 1)
    }
}

/// A record found on flash; its header and descriptors make sense.
#[derive(Clone, Copy)]
pub(super) struct Record {
    seq: u32,
    at: u16,
    shape: Shape,
    /// Does it end its transaction?
    pub last: bool,
    /// Was it marked as committed by the second write of its header?
    pub marked: bool,
}

/// A part inside a record.
pub(super) struct Item {
    pub key: u16,
    /// Words of its value; 0 if it is absent.
    pub words: u16,
    pub secret: bool,
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
        if words > limit - at || words < (Shape { items, ..shape }).words() {
            return Ok(None);
        }
        for index in 0..items {
            let (key, words) = descriptor(region, (seq, at), index)?;
            if key >= region.count || words > MAX_WORDS {
                return Ok(None);
            }
            shape = shape.with(words, parts.secret(key));
        }
        let record = Self { seq, at, shape, last: header & LAST != 0, marked: header & UNMARKED == 0 };
        Ok((shape.words() == words && header | UNMARKED == record.header()).then_some(record))
    }

    fn header(&self) -> u32 {
        let last = if self.last { LAST } else { 0 };
        u32::from(self.shape.words()) | u32::from(self.shape.items) << AT_BITS | last | UNMARKED
    }

    /// Where the next record begins.
    pub(super) fn end(&self) -> u16 {
        self.at.saturating_add(self.shape.words())
    }

    /// The commit word as it is on flash, and as it must be.
    pub(super) fn commit<F: MultiwriteNorFlash, P: Parts>(
        &self,
        region: &mut Region<F>,
        parts: &P,
    ) -> Result<(u32, u32), NorFlashErrorKind> {
        let mut sum = Sum::at(self.seq, self.at);
        sum.add(&self.header().to_le_bytes());
        sum.add_words(region, self.seq, self.at + 1..self.at + self.shape.head())?;
        let mut items = self.items();
        while let Some(item) = items.next(region, parts)? {
            if !item.secret {
                sum.add_words(region, self.seq, item.at..item.at + item.words)?;
            }
        }
        Ok((region.word(self.seq, self.end() - 1)?, sum.value() & COMMIT_MASK))
    }

    /// The parts in the record, one by one.
    pub(super) fn items(&self) -> Items {
        let (seq, at, items) = (self.seq, self.at, self.shape.items);
        Items { place: (seq, at), index: 0, items, at: at + self.shape.head() }
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
            return Ok(region.blank_from(seq, at + 1)? || region.blank_from(seq, at + 1 + items.div_ceil(2))?);
        };
        if !region.blank_from(seq, record.end())? {
            return Ok(false);
        }
        let (found, computed) = record.commit(region, parts)?;
        Ok(found & computed == computed)
    }

    /// Writes a record with the parts in `keys`, which are of this shape, and commits it.
    pub(super) fn write<F: MultiwriteNorFlash, P: Parts>(
        region: &mut Region<F>,
        parts: &P,
        (keys, shape): (&Keys, Shape),
        (seq, at): (u32, u16),
        last: bool,
    ) -> Result<Self, NorFlashErrorKind> {
        let record = Self { seq, at, shape, last, marked: false };
        let mut pen = Pen { region, seq, at, bytes: [0; GATHERED], filled: 0 };
        let mut sum = Sum::at(seq, at);
        sum.add(pen.put(record.header())?);
        // Two descriptors a word.
        let (mut pair, mut half) = (0, 0);
        for key in keys.iter() {
            pair |= u32::from(key << LENGTH_BITS | words_of(parts, key)) << half;
            half = (half + 16) % u32::BITS;
            if half == 0 {
                sum.add(pen.put(core::mem::take(&mut pair))?);
            }
        }
        if half > 0 {
            sum.add(pen.put(pair)?);
        }
        for key in keys.iter() {
            let mut own = Sum::at(seq, pen.at());
            let value = pen.copy(parts, key)?;
            if !parts.secret(key) {
                sum.add(value);
            } else if !value.is_empty() {
                own.add(value);
                pen.put(own.value())?;
            }
        }
        pen.put(sum.value() & COMMIT_MASK)?;
        pen.flush()?;
        Ok(record)
    }

    /// Where in the good record at this place the value of a part stands.
    pub(super) fn find<F: MultiwriteNorFlash, P: Parts>(
        region: &mut Region<F>,
        parts: &P,
        place: (u32, u16),
        key: u16,
    ) -> Result<Option<Item>, NorFlashErrorKind> {
        let (_, items) = counts(region.word(place.0, place.1)?);
        let at = place.1 + Shape { items, values: 0 }.head();
        let mut items = Items { place, index: 0, items, at };
        while let Some(item) = items.next(region, parts)? {
            if item.key == key {
                return Ok(Some(item));
            }
        }
        Ok(None)
    }

    /// Second write of the header: this record is committed, it can no longer be a torn one.
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
    index: u16,
    items: u16,
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
        let (key, words) = descriptor(region, self.place, self.index)?;
        let (secret, at) = (parts.secret(key), self.at);
        self.index += 1;
        self.at += extent(words, secret);
        Ok(Some(Item { key, words, secret, at }))
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
    /// Copies the part's bytes out.
    pub(super) fn bytes<'b, F: MultiwriteNorFlash>(
        &self,
        region: &mut Region<F>,
        seq: u32,
        bytes: &'b mut [u8; MAX_PART],
    ) -> Result<&'b [u8], NorFlashErrorKind> {
        let (words, _) = bytes.as_chunks_mut::<WORD>();
        let words = words.get_mut(..usize::from(self.words)).unwrap_or_default();
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
        for at in self.at..self.at + self.words {
            let word = region.word(seq, at)?;
            sum.add(&word.to_le_bytes());
            ones |= word;
        }
        let stored = region.word(seq, self.at + self.words)?;
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
        let length = (usize::from(self.words) + 1) * WORD;
        region.write(seq, self.at, ZEROS.get(..length).unwrap_or(&ZEROS))
    }
}

/// Words and items of a record, from its header.
const fn counts(header: u32) -> (u16, u16) {
    const MASK: u32 = (1 << AT_BITS) - 1;
    ((header & MASK) as u16, (header >> AT_BITS & MASK) as u16)
}

/// The key of a part and the words of its value.
fn descriptor<F: MultiwriteNorFlash>(
    region: &mut Region<F>,
    (seq, at): (u32, u16),
    index: u16,
) -> Result<(u16, u16), NorFlashErrorKind> {
    let pair = region.word(seq, at + 1 + index / 2)?;
    let descriptor = if index.is_multiple_of(2) { pair as u16 } else { (pair >> 16) as u16 };
    Ok((descriptor >> LENGTH_BITS, descriptor & ((1 << LENGTH_BITS) - 1)))
}

/// Bytes gathered before they are written.
const GATHERED: usize = MAX_PART + 32;

/// Writes words in ascending order, many at a time: a flash is slow to begin.
struct Pen<'r, F> {
    region: &'r mut Region<F>,
    seq: u32,
    /// Where the first word not yet written goes.
    at: u16,
    bytes: [u8; GATHERED],
    filled: usize,
}

impl<F: MultiwriteNorFlash> Pen<'_, F> {
    /// Where the next word goes.
    const fn at(&self) -> u16 {
        self.at + (self.filled / WORD) as u16
    }

    /// Adds one word; gives its bytes.
    fn put(&mut self, word: u32) -> Result<&[u8], NorFlashErrorKind> {
        let room = self.room(WORD)?;
        if let Some(room) = room.first_chunk_mut() {
            *room = word.to_le_bytes();
        }
        Ok(self.fill(WORD))
    }

    /// Adds the present value of a part, padded with zeros; gives its bytes.
    fn copy<P: Parts>(&mut self, parts: &P, key: u16) -> Result<&[u8], NorFlashErrorKind> {
        let Some(room) = self.room(MAX_PART)?.first_chunk_mut() else { return Ok(&[]) };
        let length = parts.encode(key, room).min(MAX_PART);
        let padded = length.next_multiple_of(WORD);
        if length < padded {
            room.iter_mut().take(padded).skip(length).for_each(|pad| *pad = 0);
        }
        Ok(self.fill(padded))
    }

    /// What is left to be filled, at least so many bytes.
    fn room(&mut self, bytes: usize) -> Result<&mut [u8], NorFlashErrorKind> {
        if self.filled + bytes > GATHERED {
            self.flush()?;
        }
        Ok(self.bytes.get_mut(self.filled..).unwrap_or_default())
    }

    /// So many bytes have been filled: these.
    fn fill(&mut self, bytes: usize) -> &[u8] {
        let from = self.filled;
        self.filled += bytes;
        self.bytes.get(from..self.filled).unwrap_or_default()
    }

    fn flush(&mut self) -> Result<(), NorFlashErrorKind> {
        self.region.write(self.seq, self.at, self.bytes.get(..self.filled).unwrap_or_default())?;
        self.at = self.at();
        self.filled = 0;
        Ok(())
    }
}
