//! Writing a record.

use embedded_storage::nor_flash::NorFlashErrorKind;

use super::entry::Entry;
use super::record::{COMMIT_MASK, Record};
use super::region::{Region, Sum, WORD};
use super::{JournalFlash, MAX_PART, Parts};

impl Record {
    /// Writes the record with these parts, which have its shape, and marks it if it is the last of
    /// its transaction. False if a word does not read back; nothing behind that word was written.
    pub(super) fn write<F: JournalFlash, P: Parts, I: Iterator<Item = Entry>>(
        &self,
        region: &mut Region<F>,
        parts: &P,
        entries: impl Fn() -> I,
    ) -> Result<bool, NorFlashErrorKind> {
        let (seq, at) = (self.seq, self.at);
        let mut pen = Pen { region, seq, at, words: Aligned(heapless::Vec::new()), good: true };
        let mut sum = Sum::at(seq, at);
        pen.put(self.header(), &mut sum)?;
        // Two descriptors a word.
        let (mut pair, mut half) = (0, 0);
        for entry in entries() {
            pair |= entry.descriptor() << half;
            half ^= 16;
            if half == 0 {
                pen.put(core::mem::take(&mut pair), &mut sum)?;
            }
        }
        if half > 0 {
            pen.put(pair, &mut sum)?;
        }
        for entry in entries().filter(|entry| entry.words() > 0) {
            if entry.is_secret() {
                let mut own = Sum::at(seq, pen.at());
                pen.copy(parts, entry, &mut own)?;
                pen.end(own.value())?;
            } else {
                pen.copy(parts, entry, &mut sum)?;
            }
        }
        pen.end(sum.value() & COMMIT_MASK)?;
        pen.flush()?;
        Ok(pen.good && (!self.last || self.mark(region)?))
    }
}

/// Words gathered before they are written.
const GATHERED: usize = MAX_PART / WORD;

/// Aligned, so that a driver can take whole words from here.
#[repr(align(4))]
struct Aligned(heapless::Vec<[u8; WORD], GATHERED>);

/// Writes words in ascending order, many at a time: every call of the flash has a cost.
struct Pen<'r, F> {
    region: &'r mut Region<F>,
    seq: u32,
    /// Where the first word not yet written goes.
    at: u16,
    words: Aligned,
    /// Whether everything written so far reads back; once it does not, nothing more is written.
    good: bool,
}

impl<F: JournalFlash> Pen<'_, F> {
    /// Where the next word goes.
    fn at(&self) -> u16 {
        self.at + self.words.0.len() as u16
    }

    /// Adds a word that is summed.
    // Saves 24 instructions of an `ASSIGN` on the Cortex-M0.
    #[inline(always)]
    fn put(&mut self, word: u32, sum: &mut Sum) -> Result<(), NorFlashErrorKind> {
        sum.add_word(word);
        self.end(word)
    }

    /// Adds a word that is not.
    // Saves 46 instructions of an `ASSIGN` on the Cortex-M0.
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
    fn copy<P: Parts>(
        &mut self,
        parts: &P,
        entry: Entry,
        sum: &mut Sum,
    ) -> Result<(), NorFlashErrorKind> {
        let words = usize::from(entry.words());
        if self.words.0.len() + words > GATHERED {
            self.flush()?;
        }
        // There is room now.
        let gathered = &mut self.words.0;
        let put = |word: u32| {
            sum.add_word(word);
            let _ = gathered.push(word.to_le_bytes());
        };
        if parts.encode_words(entry.key(), put) {
            return Ok(());
        }
        let from = self.words.0.len();
        for _ in 0..words {
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
        if self.good {
            self.good = self.region.write(self.seq, self.at, self.words.0.as_flattened())?;
        }
        self.at = self.at();
        self.words.0.clear();
        Ok(())
    }
}
