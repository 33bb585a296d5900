//! Durable state on NOR flash: a log of small values ("parts"), one atomic transaction per accepted
//! request.
//!
//! It is written by hand because no crate gives all of this: transactions of small parts that
//! survive a power cut at every word, old values of secrets overwritten, and flash work that
//! depends on public counts alone.
//!
//! # Guarantees
//! The flash is a [`JournalFlash`] with words of 4 bytes and [`MIN_PAGES`] to 64 pages of 1 to 8
//! KB, 256 KB at most. A word is written at most twice between erases, torn writes counted, and the
//! second write only clears bits.
//! * **All or nothing.** After a power cut at any word write or erase, in a commit or in a
//!   recovery, the parts are as before the commit or as after it; once [`Journal::commit`] has
//!   returned, as after it.
//! * **No silent loss.** [`Journal::mount`] repairs what a power cut can leave behind and nothing
//!   else. If committed data is missing or changed, it fails and changes nothing.
//! * **Read back.** Every word is read back when it is written, and a page is read when it was
//!   erased. A record that does not read back is written again on another page before the commit
//!   returns. A page that failed is not used again, also after power-up (but see "Failing flash").
//! * **Even wear.** Pages are used in a circle.
//! * **Other formats.** A journal of another format is named ([`MountError::OtherFormat`]), never
//!   taken for blank flash or for damage, and not changed.
//!
//! # Memory
//! Some 60 bytes next to the flash driver, and 2 bytes for each secret part. The parts own the
//! latter ([`Parts::secret`]), so that each board pays for its own number of parts; no set of all
//! keys exists anywhere. No allocation, no panic.
//!
//! # Format
//! Version 3. Words are little endian. Pages are numbered from 1 in the order of their opening;
//! page `s` lies in slot `s mod pages`.
//! ```text
//! page    seq: u32 | delta: 8, back: 8, tail: 12, 0: 2, purging: 1, open: 1 | swept: u32
//!         | failed: u64 | checksum | records .. | blank
//! record  words: 12, items: 12, 0: 6, last: 1, unmarked: 1 | descriptors, 16 bits each
//!         | the parts' values, a secret one with its checksum unless it is absent | commit
//! ```
//! * `delta`: the log begins at page `seq - delta`. `back`: the page before is `seq - back`;
//!   numbers in between belong to slots that failed. `tail`: so many words of the page before
//!   count. `swept`: see below. `failed`: the slots that failed, one bit each.
//! * A descriptor is `0, key: 9, length in words: 6` or, from key 512 on, `1, key: 13, length: 2`.
//! * `commit` is the checksum of the record without its secret values. Its top bit is cleared so
//!   that it is never blank. It is written last and makes the record valid.
//! * A transaction is one or more consecutive records; the `last` one commits it.
//! * Descriptors and values are padded with zeros to whole words.
//! * Checksums are CRC-32, xor the place (page, word) they stand for; those of page headers are xor
//!   the format's name `Eqj3` and the number of parts. Bytes of another place, an earlier round or
//!   another layout never pass. Every later format keeps this rule for the first six words of a
//!   page.
//! * Second writes: `unmarked` is cleared when the transaction is committed, `open` when a later
//!   page holds something committed, a superseded secret value becomes zeros. The first two change
//!   one bit, so they cannot be torn.
//!
//! # Sweeps
//! The first record of every page, its sweep, rewrites the parts that follow those of the sweep
//! before, in the circle of keys; `swept` counts them. Once all parts have been rewritten since a
//! page, the log no longer needs it. How many parts a sweep has (`Journal::pace`) depends on
//! lengths only. A sweep belongs to the transaction that opens the page, but is a record of its
//! own: its size does not depend on the parts that the transaction changes.
//!
//! A transaction erases nothing that its own failure would need: the log it starts from stays whole
//! until it is committed. So one of more than half a page needs room beforehand
//! ([`Journal::make_room`]). [`Journal::carries`] tells whether a region is large enough for the
//! parts.
//!
//! # Recovery
//! The newest page is the valid header with the highest number; the log runs from there back by
//! `delta`. Everything in it up to each `tail` must be valid, each page must name the one before,
//! and the sweeps must hold every part. What follows the last committed transaction is void. A
//! power cut explains it in two cases only:
//! - In the newest page, all words of a record up to some word are right, that word has lost only
//!   bits that it was to lose, everything behind is blank, and the record is unmarked.
//! - The newest page holds no committed record and the page before is still `open`: then its
//!   opening was cut, or its erase in an earlier recovery, and it may hold anything.
//!
//! Anything else is damage. In particular, no committed record is lost by a change of one or two
//! bits of a word, or by a word that becomes blank or zero. (If bits of the first blank word are
//! lost, that may read as a torn header, and nothing is missing.) What cannot be told from a power
//! cut is a change of several words at the very end of the log: if the mark of the last record is
//! set again and its commit word has more bits than it should, the record reads as torn.
//!
//! If the log ends exactly as a finished commit leaves it, mounting writes nothing, and the next
//! commit opens a new page: nothing is ever appended to a page of an earlier power-up, where a word
//! that reads blank may have been written. Otherwise void pages are erased, last first, and a purge
//! follows: all parts are rewritten into fresh pages, page by page, each one a transaction of its
//! own, and then every other page is erased. Torn words and unfinished scrubs are gone with their
//! pages; in place they could not be finished without a third write. Pages opened by a purge say so
//! (`purging`), and the purge ends with one that does not: until then it is started again.
//!
//! Flash that reads 0x00 when new needs no special case: a page is erased before it is opened, and
//! blankness only matters on a region without any valid header. That one is new if at most one page
//! is neither all ones nor all zeros (its first erase or header torn), not counting pages without a
//! record if page 1 was touched: they failed. Two pages with records exist before a mount returns.
//!
//! # First start
//! A new region is formatted by a purge from page 1, which takes as many pages as the parts need.
//! If it is cut before they hold every part, there is nothing to go back to, and the region is
//! formatted again. All of this must be true:
//! 1. The log begins with the first page of all. No other page is its own page before, and numbers
//!    never start again, so a log that has gone round the region does not pass.
//! 2. The newest page is `purging`.
//! 3. The committed sweeps hold fewer than all parts, which `swept` tells: it counts from 0.
//! 4. The newest page is still `open`, or its header counts fewer than all parts.
//! 5. Every page without a valid header is new, but for pages that failed and one that is torn.
//!
//! A cut first start always passes. Its pages are the first, and `purging` until one holds the last
//! part; that one is closed only after its commit, and then the log is complete and goes on as any
//! other. Formatting again erases all pages but page 1, last first, and then page 1: a cut leaves a
//! shorter beginning of the same log and one torn page, in whose place the page before may be
//! closed. A page that failed is known to the header behind it. If that header is torn or erased,
//! the page holds no record: it was found not blank, did not take its header, or was erased too.
//!
//! Nothing else passes. A mount returns, and only then can anything be answered, when a page that
//! holds the last part was committed and closed, and one that is not `purging` was committed behind
//! it. From then on the newest page counts all parts for ever, `ERASE` and every other purge
//! included: they begin behind a complete log and erase none of it before a complete one is
//! committed. So the header of the last part's page and of all pages behind it would have to be
//! lost, two at least. Their records would still be there, and a region with two such pages is
//! damaged.
//!
//! # Failing flash
//! If a page is not blank after its erase, or does not take its header, its number is left out. If
//! it does not take a record, the record is written again on the next page, which says in its
//! `tail` that the first copy is void; once the transaction is committed, the words of that copy
//! are zeroed. What was committed in a failed page stays valid, because it was read back; sweeps
//! move it away like everything else. Not covered is a bit that changes by itself long after it was
//! written: that is damage, found at the next mount.
//!
//! The set of failed slots is durable from the next page that is opened. Where a record fails, that
//! page is part of its commit. Where a page does not take a scrub or its closing, the next page may
//! come with a later commit only. If the power fails before that, the slot is used again until it
//! fails again. Nothing is lost: the mount finds what
//! was not scrubbed or closed and purges, and whatever the slot takes then is read back too.
//!
//! # Privacy
//! * Once a newer value of a secret part is committed, older ones are overwritten with zeros, or
//!   their page is erased, before the commit returns; after a power cut, before the mount returns.
//!   The same goes for values of a transaction that was not committed. (A dead bit may keep its one
//!   bit.)
//! * The number and the order of flash operations depend on the number of parts that change, on
//!   lengths, and on the history of both; never on values, nor on which of several parts of the
//!   same length changes. (Their addresses do: an old value is zeroed where it stands. No reply
//!   shows them.)
//!
//! # Endurance
//! A page lasts 20,000 erases on the nRF51 (v1), 10,000 on the nRF52833 (v2). With 64 features, the
//! interim design and every slot of the waiting table taken:
//! ```text
//!                  v1: 64 pages of 2 KB, 256 waiting     v2: 64 pages of 4 KB, 4,096 waiting
//! yes or no
//! all parts        64 * (42 tally + 54 ledger)           64 * (42 tally + 54 ledger)
//!                  + 256 * 10 = 8.7 KB                   + 4,096 * 10 = 47 KB
//! sweep of a page  8.7 KB / (64 - 5 spare) = 0.15 KB     47 KB / (64 - 5) = 0.80 KB
//! a patient        ASSIGN 32 bytes, OUTCOME 52           the same
//! measured         93 bytes of flash a patient           116 bytes
//! lasts            28.1 million patients                 22.7 million patients
//! outcomes 0 to 100
//! all parts        64 * (82 tally + 74 ledger)           64 * (82 tally + 74 ledger)
//!                  + 256 * 10 = 12.5 KB                  + 4,096 * 10 = 51 KB
//! sweep of a page  12.5 KB / (64 - 5 spare) = 0.21 KB    51 KB / (64 - 5) = 0.86 KB
//! a patient        ASSIGN 32 bytes, OUTCOME 92           the same
//! measured         145 bytes of flash a patient          173 bytes
//! lasts            18.0 million patients                 15.2 million patients
//! ```
//! `tests/device/endurance.rs` measures it, also for the Pico 2 and for other plans. A look
//! rewrites tallies and ledgers after making room. A power-up costs one page, one after an
//! unfinished commit up to a round of the region.

mod entry;
mod error;
mod flash;
mod log;
mod mount;
mod parts;
mod pen;
mod record;
mod region;

use entry::{Entry, Shape};
pub use error::{BadPart, Error, MountError, TooSmall};
pub use flash::JournalFlash;
use log::{FEW, SPARE_PAGES, Sweep};
use parts::{LOST, NOWHERE};
pub use parts::{Parts, Place};
pub use region::MAX_PAGES;
use region::{HEADER, Region};

/// Most keys.
pub const MAX_KEYS: u16 = 1 << 13;
/// Longest value of a part, in bytes, under a key below [`MAX_LONG_KEYS`].
pub const MAX_PART: usize = 136;
/// Longest value of a part, in bytes, under any other key.
pub const MAX_SHORT_PART: usize = 12;
/// Keys from this one on hold short parts only.
pub const MAX_LONG_KEYS: u16 = 512;
/// Fewest pages of a region.
pub const MIN_PAGES: u32 = 8;

/// Durable parts on a region of flash.
///
/// ```
/// use equipoise::journal::{BadPart, Journal, Parts, Place};
/// use equipoise::testkit::strict_flash::StrictFlash;
///
/// /// One value of four bytes, under key 0.
/// struct Counter(u32);
///
/// impl Parts for Counter {
///     fn count(&self) -> u16 {
///         1
///     }
///     fn length(&self, _: u16) -> usize {
///         4
///     }
///     fn encode(&self, _: u16, out: &mut [u8]) {
///         out.copy_from_slice(&self.0.to_le_bytes());
///     }
///     fn decode(&mut self, _: u16, bytes: &[u8]) -> Result<(), BadPart> {
///         self.0 = u32::from_le_bytes(bytes.try_into().map_err(|_| BadPart)?);
///         Ok(())
///     }
///     fn secret(&self, _: u16) -> Option<&Place> {
///         None
///     }
/// }
///
/// let (flash, mut counter) = (StrictFlash::<1024>::new(8, 0xFF), Counter(0));
/// let mut journal = Journal::mount(flash, &mut counter).map_err(|(error, _)| error)?;
/// counter.0 = 7;
/// journal.commit(&counter, || core::iter::once(0))?;
/// // The power fails and comes back.
/// let (flash, mut counter) = (journal.release(), Counter(0));
/// Journal::mount(flash, &mut counter).map_err(|(error, _)| error)?;
/// assert_eq!(counter.0, 7);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Journal<F> {
    region: Region<F>,
    /// The page written to; 0 before the first.
    newest: u32,
    /// First free word of the newest page.
    tail: u16,
    /// Every part has a committed value in a page from this one on.
    oldest: u32,
    /// Oldest page according to the header of the newest: no page from this one on may be erased.
    floor: u32,
    /// How many parts sweeps have rewritten so far.
    swept: u32,
    /// Slots that failed, one bit each: they are not used again.
    failed: u64,
    /// The newest page takes no more records: it failed, or was opened before this mount.
    sealed: bool,
    /// Pages outside the log are being erased.
    purging: bool,
    /// Room was made for a large transaction.
    roomy: bool,
    /// A commit failed.
    broken: bool,
}

impl<F: JournalFlash> Journal<F> {
    /// Makes the dirty parts durable: all of them or, after a power cut, none of them. Writes flash
    /// unless nothing is dirty.
    pub fn commit<P: Parts, K: Iterator<Item = u16> + Clone>(
        &mut self,
        parts: &P,
        dirty: impl Fn() -> K,
    ) -> Result<(), Error> {
        if self.broken {
            return Err(Error::Broken);
        }
        let (mut shape, mut few, mut count) = (Shape::default(), [Entry::NONE; FEW], 0);
        for entry in dirty().map(|key| Entry::of(parts, key)) {
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
            Some(few) if words <= self.left() && self.append_few(parts, few, shape)? => Ok(()),
            _ => self.transact(parts, &dirty, None),
        }
    }

    /// Prepares a commit of more than half a page: shortens the log to at most half the region. To
    /// be called with the parts as they were last committed, before they are changed.
    pub fn make_room<P: Parts>(&mut self, parts: &P) -> Result<(), Error> {
        let end = self.newest;
        while self.length() * 2 > self.region.pages && self.floor <= end {
            self.transact(parts, &core::iter::empty, Some(Sweep::Page))?;
        }
        self.roomy = true;
        Ok(())
    }

    /// Commits the dirty parts and leaves nothing on flash but the present values: writes all parts
    /// again and erases every other page. Once the commit has happened, a power cut cannot prevent
    /// the rest.
    pub fn purge<P: Parts, K: Iterator<Item = u16> + Clone>(
        &mut self,
        parts: &P,
        dirty: impl Fn() -> K,
    ) -> Result<(), Error> {
        self.purging = true;
        let (end, swept) = (self.newest, self.swept);
        self.transact(parts, &dirty, Some(Sweep::Page))?;
        while self.floor <= end || self.swept.wrapping_sub(swept) < u32::from(self.region.count) {
            self.transact(parts, &core::iter::empty, Some(Sweep::Page))?;
        }
        for seq in self.newest.saturating_add(1)..self.floor.saturating_add(self.region.pages) {
            if !self.region.uniform(seq, u8::MAX)? {
                self.region.erase(seq)?;
            }
        }
        self.purging = false;
        self.transact(parts, &core::iter::empty, Some(Sweep::Pace))
    }

    /// Whether the region can carry these parts for ever: every part at its longest, and all of
    /// them changed at once.
    ///
    /// # Errors
    /// How many pages there are, and how many would do.
    pub fn carries<P: Parts>(&self, parts: &P) -> Result<(), TooSmall> {
        let page = u32::from(Region::<F>::PAGE - HEADER);
        let (mut all, mut change, mut longest) = (Shape::default(), Shape::default(), 0);
        for key in 0..parts.count() {
            let entry = Entry::sized(parts, key, parts.longest(key));
            longest = longest.max(Shape::default().with(entry).words());
            all = all.with(entry);
            change = change.with(Entry::of(parts, key));
        }
        let enough = |pages: u32| {
            // Half the region takes the log, the other half a large transaction with its sweeps.
            let half = (pages / 2).saturating_sub(SPARE_PAGES);
            let sweep = all.words().div_ceil(half.max(1));
            let free = page.saturating_sub(sweep).saturating_sub(longest);
            sweep <= Self::HALF && change.words() <= free * half
        };
        let pages = self.region.pages.saturating_sub(self.failed.count_ones());
        if enough(pages) {
            return Ok(());
        }
        Err(TooSmall {
            pages,
            needed: (pages..=u32::from(u16::MAX)).find(|pages| enough(*pages)).unwrap_or(0),
        })
    }

    /// The flash, to look at it or to make it durable where it is a file. Writing to it breaks the
    /// journal.
    pub fn flash(&mut self) -> &mut F {
        &mut self.region.flash
    }

    /// Gives the flash back.
    pub fn release(self) -> F {
        self.region.flash
    }
}
