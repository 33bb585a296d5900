//! One record: a few parts under one commit word. The layout is in the journal's header.

use embedded_storage::nor_flash::{MultiwriteNorFlash, NorFlashErrorKind};

use super::region::{AT_BITS, Region, Sum, UNMARKED, WORD};
use super::{Keys, MAX_PART, Parts};

/// Set in the last record of a transaction.
const LAST: u32 = 1 << 30;
/// Bits of a descriptor that hold half the length of a part; the key takes the others.
const LENGTH_BITS: u32 = 7;
/// A commit word always has this bit clear, so a blank word never commits anything.
const COMMIT_MASK: u32 = u32::MAX >> 1;

const _: () = assert!(MAX_PART.is_multiple_of(WORD) && MAX_PART / 2 < 1 << LENGTH_BITS);
const _: () = assert!(super::MAX_KEYS < 1 << (16 - LENGTH_BITS));

/// A part's value, padded with a zero to an even length.
struct Value {
    bytes: [u8; MAX_PART],
    len: usize,
}

impl Value {
    fn of<P: Parts>(parts: &P, key: u16) -> Self {
        let mut bytes = [0; MAX_PART];
        let len = parts.encode(key, &mut bytes).min(MAX_PART);
        if let Some(pad) = bytes.get_mut(len) {
            *pad = 0;
        }
        // The last word may be half padding.
        if let Some(pad) = bytes.get_mut(len.next_multiple_of(2)..len.next_multiple_of(WORD)) {
            pad.fill(0);
        }
        Self { bytes, len: len.next_multiple_of(2) }
    }

    fn words(&self) -> impl Iterator<Item = u32> + '_ {
        let (words, _) = self.bytes.as_chunks::<WORD>();
        words.iter().take(self.len.div_ceil(WORD)).map(|word| u32::from_le_bytes(*word))
    }
}

/// The size of a record, grown part by part.
#[derive(Clone, Copy, Default)]
pub(super) struct Shape {
    items: u16,
    open_bytes: u16,
    secret_words: u16,
}

impl Shape {
    /// This shape with one part more.
    pub(super) fn with(self, len: usize, secret: bool) -> Self {
        let mut shape = Self { items: self.items.saturating_add(1), ..self };
        if !secret {
            shape.open_bytes = shape.open_bytes.saturating_add(len as u16);
        } else if len > 0 {
            shape.secret_words = shape.secret_words.saturating_add(len.div_ceil(WORD) as u16 + 1);
        }
        shape
    }

    /// This shape with the present value of a part more.
    pub(super) fn with_part<P: Parts>(self, parts: &P, key: u16) -> Self {
        self.with(parts.length(key).min(MAX_PART).next_multiple_of(2), parts.secret(key))
    }

    /// Words up to the first secret block: header, descriptors, open bytes.
    fn head(self) -> u16 {
        (WORD as u16).saturating_add(self.items.saturating_mul(2)).saturating_add(self.open_bytes).div_ceil(4)
    }

    /// Words of the whole record, commit word included.
    pub(super) fn words(self) -> u16 {
        self.head().saturating_add(self.secret_words).saturating_add(1)
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
    pub len: usize,
    pub secret: bool,
    /// Offset in bytes from the start of the page.
    offset: u16,
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
        let words = (header & ((1 << AT_BITS) - 1)) as u16;
        let items = (header >> AT_BITS & ((1 << AT_BITS) - 1)) as u16;
        let mut shape = Shape::default();
        if words > limit - at || words < (Shape { items, ..shape }).words() {
            return Ok(None);
        }
        for index in 0..items {
            let (key, len) = descriptor(region, (seq, at), index)?;
            if key >= region.count || len > MAX_PART {
                return Ok(None);
            }
            shape = shape.with(len, parts.secret(key));
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
    pub(super) fn commit<F: MultiwriteNorFlash>(
        &self,
        region: &mut Region<F>,
    ) -> Result<(u32, u32), NorFlashErrorKind> {
        let mut sum = Sum::new(self.seq, u32::from(self.at));
        sum.add(self.header());
        for at in 1..self.shape.head() {
            sum.add(region.word(self.seq, self.at + at)?);
        }
        Ok((region.word(self.seq, self.end() - 1)?, sum.value() & COMMIT_MASK))
    }

    /// The parts in the record, one by one.
    pub(super) fn items(&self) -> Items {
        let open = self.at * WORD as u16 + WORD as u16 + self.shape.items * 2;
        let block = (self.at + self.shape.head()) * WORD as u16;
        Items { place: (self.seq, self.at), index: 0, items: self.shape.items, open, block }
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
            let items = (header >> AT_BITS & ((1 << AT_BITS) - 1)) as u16;
            return Ok(region.blank_from(seq, at + 1)? || region.blank_from(seq, at + 1 + items.div_ceil(2))?);
        };
        if !region.blank_from(seq, record.end())? {
            return Ok(false);
        }
        let (found, computed) = record.commit(region)?;
        Ok(found & computed == computed)
    }

    /// Writes a record with the parts in `keys` and commits it.
    pub(super) fn write<F: MultiwriteNorFlash, P: Parts>(
        region: &mut Region<F>,
        parts: &P,
        keys: &Keys,
        (seq, at): (u32, u16),
        last: bool,
    ) -> Result<Self, NorFlashErrorKind> {
        let shape = keys.iter().fold(Shape::default(), |shape, key| shape.with_part(parts, key));
        let record = Self { seq, at, shape, last, marked: false };
        let mut pen = Pen { region, seq, at, bytes: [0; WORD], filled: 0, sum: Sum::new(seq, u32::from(at)) };
        pen.push(&record.header().to_le_bytes())?;
        for key in keys.iter() {
            let half = parts.length(key).min(MAX_PART).div_ceil(2) as u16;
            pen.push(&(key << LENGTH_BITS | half).to_le_bytes())?;
        }
        for key in keys.iter().filter(|key| !parts.secret(*key)) {
            let value = Value::of(parts, key);
            pen.push(value.bytes.get(..value.len).unwrap_or_default())?;
        }
        let Pen { mut at, sum, .. } = pen.pad()?;
        for key in keys.iter().filter(|key| parts.secret(*key)) {
            let value = Value::of(parts, key);
            let mut sum = Sum::new(seq, u32::from(at));
            for word in value.words() {
                sum.add(word);
                region.put(seq, at, word)?;
                at += 1;
            }
            if value.len > 0 {
                region.put(seq, at, sum.value())?;
                at += 1;
            }
        }
        region.put(seq, at, sum.value() & COMMIT_MASK)?;
        Ok(record)
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
    /// Where the next part's bytes are, open or secret.
    open: u16,
    block: u16,
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
        let (key, len) = descriptor(region, self.place, self.index)?;
        self.index += 1;
        let secret = parts.secret(key);
        let offset = if secret { self.block } else { self.open };
        if !secret {
            self.open += len as u16;
        } else if len > 0 {
            self.block += (len.next_multiple_of(WORD) + WORD) as u16;
        }
        Ok(Some(Item { key, len, secret, offset }))
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
        for (offset, byte) in (self.offset..).zip(bytes.iter_mut().take(self.len)) {
            let word = region.word(seq, offset / WORD as u16)?.to_le_bytes();
            *byte = word.get(usize::from(offset) % WORD).copied().unwrap_or_default();
        }
        Ok(bytes.get(..self.len).unwrap_or_default())
    }

    /// The words of a secret block, its checksum included.
    fn block(&self) -> core::ops::Range<u16> {
        let from = self.offset / WORD as u16;
        from..from + self.len.div_ceil(WORD) as u16 + 1
    }

    /// Checks the bytes of a secret part that is not absent.
    pub(super) fn check<F: MultiwriteNorFlash>(
        &self,
        region: &mut Region<F>,
        seq: u32,
    ) -> Result<Block, NorFlashErrorKind> {
        let block = self.block();
        let mut sum = Sum::new(seq, u32::from(block.start));
        let mut ones = 0;
        for at in block.start..block.end - 1 {
            let word = region.word(seq, at)?;
            sum.add(word);
            ones |= word;
        }
        let stored = region.word(seq, block.end - 1)?;
        Ok(match sum.value() == stored {
            true => Block::Whole,
            false if ones | stored == 0 => Block::Scrubbed,
            false => Block::Broken,
        })
    }

    /// Overwrites a secret part with zeros, unless that was done before. Words that happen to hold zero are written
    /// too: the number of writes must not depend on the value.
    pub(super) fn scrub<F: MultiwriteNorFlash>(
        &self,
        region: &mut Region<F>,
        seq: u32,
    ) -> Result<(), NorFlashErrorKind> {
        if self.check(region, seq)? == Block::Scrubbed {
            return Ok(());
        }
        self.block().try_for_each(|at| region.put(seq, at, 0))
    }
}

fn descriptor<F: MultiwriteNorFlash>(
    region: &mut Region<F>,
    (seq, at): (u32, u16),
    index: u16,
) -> Result<(u16, usize), NorFlashErrorKind> {
    let pair = region.word(seq, at + 1 + index / 2)?;
    let descriptor = if index.is_multiple_of(2) { pair as u16 } else { (pair >> 16) as u16 };
    Ok((descriptor >> LENGTH_BITS, usize::from(descriptor & ((1 << LENGTH_BITS) - 1)) * 2))
}

/// Gathers bytes into words and writes them in ascending order, summing as it goes.
struct Pen<'r, F> {
    region: &'r mut Region<F>,
    seq: u32,
    at: u16,
    bytes: [u8; WORD],
    filled: usize,
    sum: Sum,
}

impl<F: MultiwriteNorFlash> Pen<'_, F> {
    fn push(&mut self, bytes: &[u8]) -> Result<(), NorFlashErrorKind> {
        for byte in bytes {
            if let Some(place) = self.bytes.get_mut(self.filled) {
                *place = *byte;
            }
            self.filled += 1;
            if self.filled == WORD {
                let word = u32::from_le_bytes(self.bytes);
                self.sum.add(word);
                self.region.put(self.seq, self.at, word)?;
                self.at += 1;
                self.filled = 0;
            }
        }
        Ok(())
    }

    /// Fills the present word with zeros.
    fn pad(mut self) -> Result<Self, NorFlashErrorKind> {
        while self.filled != 0 {
            self.push(&[0])?;
        }
        Ok(self)
    }
}
