//! A NOR flash for tests that enforces the rules of the real part, with power that fails on command
//! and bits that die.
//!
//! - A write may only clear bits, and a word may be written at most twice between erases; a torn
//!   write counts. A violation is refused and remembered in [`StrictFlash::misuse`].
//! - An operation is the write of one word or the erase of one page. [`StrictFlash::cut_after`]
//!   lets some pass and tears the next: of the bits it would change, each one changes or not as
//!   [`Tear`] says. From then on everything fails until [`StrictFlash::power_up`].
//! - A dead bit ([`StrictFlash::kill`]) shows when its word is next written or erased, and never as
//!   an error: only reading back tells.
//! - Erases are counted for every page, for ever.

use crate::journal::JournalFlash;
use embedded_storage::nor_flash::{
    ErrorType, MultiwriteNorFlash, NorFlash, NorFlashError, NorFlashErrorKind, ReadNorFlash,
    check_erase, check_read, check_write,
};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::SplitMix64;
use std::prelude::rust_2024::*;

const WORD: usize = 4;
/// Writes of a word between erases.
const MAX_WRITES: u8 = 2;

/// Which of the bits that an interrupted operation would change are changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tear {
    /// No bit.
    None,
    /// Every bit: power failed just after.
    All,
    /// Every other bit.
    Alternating,
    /// Each bit by chance, from this seed.
    Random(u64),
}

impl Tear {
    /// The mask for word number `index` of the operation.
    fn mask(self, index: u64) -> u32 {
        match self {
            Self::None => 0,
            Self::All => u32::MAX,
            Self::Alternating => 0xaaaa_aaaa,
            Self::Random(seed) => {
                // Well mixed for neighbouring seeds.
                SplitMix64::seed_from_u64(seed ^ index.rotate_left(32)).next_u64() as u32
            }
        }
    }
}

/// How a bit died.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dead {
    /// It reads as 0 after the next erase, and for ever.
    Zero,
    /// It reads as 1 after the next erase, and no write clears it.
    One,
    /// It keeps its present value.
    Frozen,
}

/// Why the flash refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StrictError {
    /// Arguments out of bounds or not aligned.
    Arguments(NorFlashErrorKind),
    /// The power is off.
    PowerCut,
    /// A write would set a bit, in the word at this address.
    SetsBit(u32),
    /// A third write between erases, of the word at this address.
    ThirdWrite(u32),
}

impl NorFlashError for StrictError {
    fn kind(&self) -> NorFlashErrorKind {
        match self {
            Self::Arguments(kind) => *kind,
            _ => NorFlashErrorKind::Other,
        }
    }
}

/// The flash; `PAGE` is the size of a page in bytes.
#[derive(Clone, Debug)]
pub struct StrictFlash<const PAGE: usize> {
    words: Vec<u32>,
    writes: Vec<u8>,
    erases: Vec<u32>,
    operations: u64,
    trace: u64,
    cut_at: Option<(u64, Tear)>,
    off: bool,
    misuse: Option<StrictError>,
    /// A word, a bit of it, and how that died.
    dead: Option<(usize, u32, Dead)>,
}

impl<const PAGE: usize> StrictFlash<PAGE> {
    /// A fresh part of `pages` pages. Its bytes are 0xff, or 0x00 as in an emulator; the latter
    /// must be erased first.
    pub fn new(pages: usize, blank: u8) -> Self {
        Self::from_bytes(&vec![blank; pages * PAGE])
    }

    /// A part with these bytes, a whole number of pages. A word that is not blank counts as written
    /// once.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        let words: Vec<u32> =
            bytes.as_chunks::<WORD>().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
        Self {
            writes: words.iter().map(|word| u8::from(*word != u32::MAX)).collect(),
            erases: vec![0; bytes.len() / PAGE],
            words,
            operations: 0,
            trace: 0,
            cut_at: None,
            off: false,
            misuse: None,
            dead: None,
        }
    }

    /// Everything on the part.
    pub fn bytes(&self) -> Vec<u8> {
        self.words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    /// The same in words.
    pub fn words(&self) -> &[u32] {
        &self.words
    }

    /// Fails the power after `operations` more operations, tearing the next one.
    pub fn cut_after(&mut self, operations: u64, tear: Tear) {
        self.cut_at = Some((self.operations + operations, tear));
    }

    /// Switches power on again and forgets any planned cut.
    pub fn power_up(&mut self) {
        self.off = false;
        self.cut_at = None;
    }

    /// Whether the power has failed.
    pub fn is_off(&self) -> bool {
        self.off
    }

    /// Words written and pages erased so far.
    pub fn operations(&self) -> u64 {
        self.operations
    }

    /// A fingerprint of all operations so far in their order: a write, or the erase of this page.
    /// It leaves out where a write goes: an old value is overwritten where it stands.
    pub fn trace(&self) -> u64 {
        self.trace
    }

    /// Erases of each page so far.
    pub fn erases(&self) -> &[u32] {
        &self.erases
    }

    /// The first rule that was broken.
    pub fn misuse(&self) -> Option<StrictError> {
        self.misuse
    }

    /// Lets a bit of the word at a byte address die; the one that died before works again.
    pub fn kill(&mut self, address: usize, bit: u32, dead: Dead) {
        self.dead = Some((address / WORD, 1 << (bit % 32), dead));
    }

    /// Changes a word from `old` to `new`, by a write or an erase, as far as its bits live.
    fn change(&mut self, at: usize, old: u32, new: u32, erased: bool) {
        let new = match self.dead.filter(|(word, ..)| *word == at) {
            None => new,
            Some((_, bit, Dead::Zero)) if erased => new & !bit,
            Some((_, bit, Dead::One)) if erased => new | bit,
            Some((_, bit, Dead::Frozen)) => new & !bit | old & bit,
            Some((_, bit, Dead::One)) => new | old & bit,
            Some((_, _, Dead::Zero)) => new,
        };
        self.words.iter_mut().skip(at).take(1).for_each(|word| *word = new);
    }

    /// Reads as [`ReadNorFlash::read`], without a handle to write.
    ///
    /// # Errors
    /// As [`ReadNorFlash::read`].
    pub fn look_up(&self, offset: u32, bytes: &mut [u8]) -> Result<(), StrictError> {
        self.ended()?;
        check_read(self, offset, bytes.len()).map_err(StrictError::Arguments)?;
        for (to, from) in bytes.chunks_mut(WORD).zip(self.words.iter().skip(offset as usize / WORD))
        {
            to.copy_from_slice(&from.to_le_bytes());
        }
        Ok(())
    }

    /// Flips bits of the word at a byte address behind the journal's back: damage.
    pub fn damage(&mut self, address: usize, flip: u32) {
        if let Some(word) = self.words.get_mut(address / WORD) {
            *word ^= flip;
        }
    }

    fn refuse(&mut self, error: StrictError) -> Result<(), StrictError> {
        self.misuse = self.misuse.or(Some(error));
        Err(error)
    }

    /// Counts a write, or the erase of a page; gives the tear if power fails in it.
    fn operate(&mut self, erased: Option<usize>) -> Result<Option<Tear>, StrictError> {
        if self.off {
            return Err(StrictError::PowerCut);
        }
        let operation = erased.map_or(0, |page| page as u64 + 1);
        self.trace = SplitMix64::seed_from_u64(self.trace ^ operation).next_u64();
        let tear = self.cut_at.filter(|(at, _)| *at == self.operations).map(|(_, tear)| tear);
        self.operations += 1;
        self.off = tear.is_some();
        Ok(tear)
    }

    fn ended(&self) -> Result<(), StrictError> {
        if self.off { Err(StrictError::PowerCut) } else { Ok(()) }
    }
}

impl<const PAGE: usize> ErrorType for StrictFlash<PAGE> {
    type Error = StrictError;
}

impl<const PAGE: usize> ReadNorFlash for StrictFlash<PAGE> {
    const READ_SIZE: usize = WORD;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), StrictError> {
        self.look_up(offset, bytes)
    }

    fn capacity(&self) -> usize {
        self.words.len() * WORD
    }
}

impl<const PAGE: usize> NorFlash for StrictFlash<PAGE> {
    const WRITE_SIZE: usize = WORD;
    const ERASE_SIZE: usize = PAGE;

    fn erase(&mut self, from: u32, to: u32) -> Result<(), StrictError> {
        check_erase(self, from, to).map_err(StrictError::Arguments)?;
        for page in from as usize / PAGE..to as usize / PAGE {
            let tear = self.operate(Some(page))?;
            let range = page * PAGE / WORD..(page + 1) * PAGE / WORD;
            for at in range.clone() {
                let old = self.words.get(at).copied().unwrap_or_default();
                let new = old | tear.unwrap_or(Tear::All).mask(at as u64 + self.operations);
                self.change(at, old, new, true);
            }
            // After a torn erase nothing may be written to the page before a whole erase.
            let writes = if tear.is_some() { MAX_WRITES } else { 0 };
            self.writes
                .iter_mut()
                .skip(range.start)
                .take(range.len())
                .for_each(|count| *count = writes);
            self.erases.iter_mut().skip(page).take(1).for_each(|count| *count += 1);
            self.ended()?;
        }
        Ok(())
    }

    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), StrictError> {
        check_write(self, offset, bytes.len()).map_err(StrictError::Arguments)?;
        for (index, new) in bytes.as_chunks::<WORD>().0.iter().enumerate() {
            let (address, new) = (offset + (index * WORD) as u32, u32::from_le_bytes(*new));
            let at = address as usize / WORD;
            let old = self.words.get(at).copied().unwrap_or_default();
            let dead = self.dead.filter(|(word, ..)| *word == at).map_or(0, |(_, bit, _)| bit);
            if new & !old & !dead != 0 {
                return self.refuse(StrictError::SetsBit(address));
            }
            if self.writes.get(at).is_none_or(|count| *count >= MAX_WRITES) {
                return self.refuse(StrictError::ThirdWrite(address));
            }
            let tear = self.operate(None)?;
            let kept = old & !new & !tear.unwrap_or(Tear::All).mask(self.operations);
            // A write of 1 over 0 changes nothing.
            self.change(at, old, (new | kept) & old, false);
            self.writes.iter_mut().skip(at).take(1).for_each(|count| *count += 1);
            self.ended()?;
        }
        Ok(())
    }
}

impl<const PAGE: usize> MultiwriteNorFlash for StrictFlash<PAGE> {}

impl<const PAGE: usize> JournalFlash for StrictFlash<PAGE> {}
