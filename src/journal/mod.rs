//! Durable state on NOR flash: a log of small values ("parts"), one atomic transaction per accepted request.
//!
//! # What is promised
//! The flash is any [`MultiwriteNorFlash`] with words of 4 bytes, pages of 1 to 8 KB and at least [`MIN_PAGES`] pages. A word
//! is written at most twice between erases, torn writes counted, and the second write only clears bits.
//! * **All or nothing.** After a power cut at any word write or erase, in a commit or in a recovery, the parts are as
//!   before the commit or as after it; once [`Journal::commit`] has returned, as after it.
//! * **No silent loss.** [`Journal::mount`] repairs what a power cut can leave behind and nothing else. Where committed data
//!   is missing or changed it fails, gives the flash back and changes nothing.
//! * **Secret parts leave no trace.** Once a newer value of a secret part is committed, older ones are overwritten with
//!   zeros, or their page is erased, before the commit returns; after a power cut, before the mount returns. The same goes
//!   for values of a transaction that was not committed.
//! * **Nothing private in the number of operations.** It depends on which parts are touched, on their lengths, and on the
//!   history of both; never on values.
//! * **Even wear**: pages are used in a circle. RAM: some 620 bytes next to the flash driver; no allocation, no panic.
//!
//! # Format
//! Words are little endian. Pages are numbered from 1 in the order of their opening; page `s` lies at `s mod pages`.
//! ```text
//! page    seq: u32 | delta: 16, tail: 12, 0: 2, purging: 1, open: 1 | swept: u32 | checksum | records .. | blank
//! record  words: 12, items: 12, 0: 6, last: 1, unmarked: 1 | descriptors, 16 bits each: length in words: 6, key: 10
//!         | the parts' values, a secret one with its checksum behind it unless it is absent | commit
//! ```
//! * `delta`: the log begins at page `seq - delta`. `tail`: so many words of the page before count. `swept`: see below.
//! * `commit` is the checksum of the record without its secret values, its top bit cleared so that it is never blank: the word
//!   written last makes the record valid. A transaction is one record in each of one or more consecutive pages;
//!   the `last` one commits it.
//! * Descriptors and values are padded with zeros to whole words.
//! * Checksums are CRC-32, xor where they stand (page, word), those of page headers xor the format and the number of parts:
//!   bytes of another place, an earlier round or another layout never pass.
//! * Second writes: `unmarked` is cleared when the transaction is committed, `open` when a later page holds something
//!   committed, a superseded block becomes zeros. The first two change one bit, so they cannot be torn.
//!
//! # Old pages
//! Values are rewritten in turn: every page opened takes along the next few parts, in the circle of keys, as part of the
//! transaction that opens it. `swept` counts them. As soon as all parts have been rewritten since a page, the
//! log no longer needs it. How many are taken (`Journal::pace`) depends on lengths only. A transaction erases nothing
//! that its own failure would need: the log it starts from stays whole until it is committed, so a large one needs
//! room beforehand ([`Journal::make_room`]).
//!
//! # Recovery, and why it is right
//! The newest page is the valid header with the highest number; the log runs from there back by `delta`. Everything in it
//! up to each `tail` must be valid. What follows the last committed transaction is void; a cut explains it if
//! - in the newest page, all words of a record up to some word are right, that word has lost only some of the bits it
//!   was to lose, and everything behind is blank; or
//! - the newest page holds no committed record and the page before is still `open`: then its opening was cut, or
//!   its erase in an earlier recovery, and it may hold anything.
//!
//! Anything else is damage: a record in the middle, a `closed` page without successor, a marked record that is not valid,
//! a value that fails its checksum with no later one, a key without value. (Undetectable are words that turn blank
//! again at the very end of the log, mark included; no log can tell them from a cut before.)
//!
//! If the end of the log is exactly as a finished commit leaves it, mounting writes nothing, and the next commit opens a
//! new page: nothing is ever appended to a page of an earlier power-up, where a word that reads blank may have been
//! written. Otherwise void pages are erased, last first, and a purge follows: all parts are rewritten into
//! fresh pages, page by page, each one a transaction of its own, and then every other page is erased. The torn words and
//! unfinished scrubs are gone with their pages; in place they could not be finished without a third write.
//! Pages opened by a purge say so (`purging`), and the purge ends with one that does not: until then it is started again.
//!
//! Blank flash that reads 0x00 is no special case: a page is always erased before it is opened, and blankness only matters
//! on a region without any valid header. That one is new if at most one page is neither all ones nor all zeros
//! (its first erase or header torn); two pages with headers exist before anything is committed.
//!
//! # How long it lasts
//! With 64 features and 128 waiting patients (`device::Held`), the interim design:
//! ```text
//! all parts       46 custody + 46 plan + 14 progress + 128 * 14 waiting + 64 * (42 tally + 106 ledger) = 11,370 bytes
//! rewritten       11,370 / (64 - 5 spare) = 193 bytes a page of 1 KB; 11,370 / (16 - 5) = 1,034 a page of 4 KB
//! a patient       ASSIGN 36 + OUTCOME 52 = 88 bytes: header 4, descriptors 4, parts, commit 4
//! left in a page  1,024 - 16 header - 193 = 815 bytes: 9.3 patients, 111 bytes of flash each
//! 64 KB           64 pages * 20,000 erases * 9.3 = 11.9 million patients; 16 pages of 4 KB: 11.1 million
//! ```
//! `benches/journal.rs` measures it with what pages leave unused at their ends, where an idle line opens the next one: 118
//! bytes a patient and 11.1 million patients, 121 and 10.8 million with pages of 4 KB. A look rewrites tallies and ledgers,
//! 9.5 KB, after making room: 21 erases, as many as 179 patients. A power-up costs one page, one after an unfinished
//! commit up to a round of the region.

mod keys;
mod log;
mod mount;
mod record;
mod region;

use embedded_storage::nor_flash::{MultiwriteNorFlash, NorFlashErrorKind};

pub use keys::Keys;
use log::{FEW, Sweep};
use record::{Entry, Shape};
use region::Region;

/// Keys are below this.
pub const MAX_KEYS: usize = 288;
/// Longest value of a part, in bytes.
pub const MAX_PART: usize = 112;
/// Words that the record of an ordinary request takes at most: an `OUTCOME` of `dp-conse`.
const ORDINARY: u32 = 17;
/// Fewest pages of a region.
pub const MIN_PAGES: u32 = 8;

/// What the journal keeps: a fixed set of small values, each under a key, held in RAM by the device.
pub trait Parts {
    /// Number of keys; keys are `0..count`, at most [`MAX_KEYS`].
    fn count(&self) -> u16;

    /// The length of the present value of a part, at most [`MAX_PART`]; 0 means absent. It must not depend on anything
    /// private.
    fn length(&self, key: u16) -> usize;

    /// Puts the present value of a part that is not absent into `out`, which has room for it and holds zeros. Without a
    /// change in between, two calls give the same bytes.
    fn encode(&self, key: u16, out: &mut [u8]);

    /// Called before each pass over the values at mount with the number of passes done: is there to be another? Parts
    /// that can be read only with the help of others want two.
    fn another_pass(&mut self, done: u8) -> bool {
        done == 0
    }

    /// Takes a value read from flash at mount; empty means absent. Values arrive oldest first, several for a key:
    /// the last one counts. A value arrives padded with zeros to a whole number of words.
    fn decode(&mut self, key: u16, bytes: &[u8]) -> Result<(), BadPart>;

    /// Must a value of this part not stay on flash once a newer one is committed? Depends on the key alone.
    fn secret(&self, key: u16) -> bool;
}

/// A value on flash passed its checksum and yet makes no sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadPart;

/// Why a commit did not happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// The flash refused.
    Flash(NorFlashErrorKind),
    /// The parts outgrew the region.
    Full,
    /// So much may change at once only after [`Journal::make_room`]; nothing was written.
    Room,
    /// An earlier commit failed; the journal must be mounted again.
    Broken,
}

impl From<NorFlashErrorKind> for Error {
    fn from(kind: NorFlashErrorKind) -> Self {
        Self::Flash(kind)
    }
}

/// Why a region cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MountError {
    /// The flash refused.
    Flash(NorFlashErrorKind),
    /// Pages or words of a size, a number of pages, or a number of parts that the format cannot hold.
    Geometry,
    /// Neither blank nor written by a journal of these parts.
    Foreign,
    /// Written by a journal of this other format; nothing was changed.
    OtherFormat(u8),
    /// Something that was committed is missing or changed.
    Damaged,
    /// The part under this key passed its checksum and makes no sense.
    Part(u16),
    /// Repair after a power cut failed.
    Repair(Error),
}

impl From<NorFlashErrorKind> for MountError {
    fn from(kind: NorFlashErrorKind) -> Self {
        Self::Flash(kind)
    }
}

/// Durable parts on a region of flash.
#[derive(Clone)]
pub struct Journal<F> {
    region: Region<F>,
    /// The page written to; 0 before the first.
    newest: u32,
    /// First free word of the newest page.
    tail: u16,
    /// Every part has a committed value in a page from this one on.
    oldest: u32,
    /// What the header of the newest page says is the oldest: no page from this one on may be erased.
    floor: u32,
    /// How many parts have been rewritten in turn so far.
    swept: u32,
    /// Was the newest page opened before this mount? Then nothing is appended to it.
    sealed: bool,
    /// Is the page after the newest erased?
    ahead: bool,
    /// Are the pages outside the log being wiped?
    purging: bool,
    /// Was room made for a large transaction?
    roomy: bool,
    /// Did a commit fail?
    broken: bool,
    /// Where the last value of each secret part stands: its record, in words from the start of the region.
    places: [u16; MAX_KEYS],
}

/// In [`Journal::places`]: no value stands on flash.
const NOWHERE: u16 = u16::MAX;

impl<F: MultiwriteNorFlash> Journal<F> {
    /// Makes the touched parts durable: all of them or, after a power cut, none of them.
    pub fn commit<P: Parts, K: Iterator<Item = u16>>(
        &mut self,
        parts: &P,
        touched: impl Fn() -> K,
    ) -> Result<(), Error> {
        if self.broken {
            return Err(Error::Broken);
        }
        let (mut shape, mut few, mut count) = (Shape::default(), [Entry::NONE; FEW], 0);
        for entry in touched().map(|key| Entry::of(parts, key)) {
            shape = shape.with(entry);
            if let Some(place) = few.get_mut(count) {
                *place = entry;
            }
            count += 1;
        }
        let words = shape.words();
        if !self.roomy && words > Self::HALF {
            return Err(Error::Room);
        }
        match few.get(..count) {
            Some([]) => Ok(()),
            Some(few) if words <= self.left() => self.append_few(parts, few, shape),
            _ => self.transact(parts, touched().collect(), None),
        }
    }

    /// Prepares a commit that touches more than half a page: shortens the log to at most half the region. To be
    /// called with the parts as they were last committed, before they are changed.
    pub fn make_room<P: Parts>(&mut self, parts: &P) -> Result<(), Error> {
        let end = self.newest;
        while self.length() * 2 > self.region.pages && self.floor <= end {
            self.transact(parts, Keys::NONE, Some(Sweep::Page))?;
        }
        self.roomy = true;
        Ok(())
    }

    /// Does ahead of need what would hold up a commit: erases the next page, and opens it once too little is left of the
    /// newest. Was there something to do? To be called, with the parts as they were last committed, when the line is idle.
    pub fn rest<P: Parts>(&mut self, parts: &P) -> Result<bool, Error> {
        let next = self.newest.saturating_add(1);
        if self.broken || next - self.floor >= self.region.pages {
            return Ok(false);
        }
        if !self.ahead {
            self.region.erase(next)?;
            self.ahead = true;
            return Ok(true);
        }
        // A page of an earlier power-up is not followed by another one before there is something to write.
        let opens = !self.sealed && self.left() < ORDINARY;
        if opens {
            self.transact(parts, Keys::NONE, Some(Sweep::Pace))?;
        }
        Ok(opens)
    }

    /// Commits the touched parts and leaves nothing on flash but the present values: writes all parts again and erases
    /// every other page. Once the commit has happened, a power cut cannot prevent the rest.
    pub fn purge<P: Parts>(&mut self, parts: &P, touched: impl Iterator<Item = u16>) -> Result<(), Error> {
        self.purging = true;
        let (mut keys, end, swept) = (touched.collect(), self.newest, self.swept);
        while self.floor <= end || self.swept.wrapping_sub(swept) < u32::from(self.region.count) {
            self.transact(parts, keys, Some(Sweep::Page))?;
            keys = Keys::NONE;
        }
        for seq in self.newest.saturating_add(1)..self.floor.saturating_add(self.region.pages) {
            if !self.region.uniform(seq, region::BLANK)? {
                self.region.erase(seq)?;
            }
        }
        self.purging = false;
        self.transact(parts, Keys::NONE, Some(Sweep::Pace))
    }

    /// The flash, to look at it or to make it durable where it is a file; what writes to it breaks the journal.
    pub fn flash(&mut self) -> &mut F {
        &mut self.region.flash
    }

    /// Gives the flash back.
    pub fn release(self) -> F {
        self.region.flash
    }
}
