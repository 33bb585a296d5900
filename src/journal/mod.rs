//! Durable state on NOR flash: a log of small values ("parts"), one atomic transaction per accepted request.

mod keys;
mod mount;
mod record;
mod region;
#[cfg(feature = "host")]
pub mod strict;

use embedded_storage::nor_flash::{MultiwriteNorFlash, NorFlashErrorKind};

pub use keys::Keys;
use record::{Record, Shape};
use region::{HEADER, Header, Region};

/// Keys are below this.
pub const MAX_KEYS: usize = 288;
/// Longest value of a part, in bytes.
pub const MAX_PART: usize = 160;
/// Fewest pages of a region.
pub const MIN_PAGES: u32 = 8;
/// Pages of the region that the log leaves free in the long run.
const SPARE_PAGES: u32 = 5;

/// What the journal keeps: a fixed set of small values, each under a key, held in RAM by the device.
pub trait Parts {
    /// Number of keys; keys are `0..count`, at most [`MAX_KEYS`].
    fn count(&self) -> u16;

    /// Puts the present value of a part into `out` and gives its length, at most [`MAX_PART`]; 0 means absent.
    /// Without a change in between, two calls give the same bytes. The length must not depend on anything private.
    fn encode(&self, key: u16, out: &mut [u8; MAX_PART]) -> usize;

    /// The length that [`Self::encode`] would give.
    fn length(&self, key: u16) -> usize {
        self.encode(key, &mut [0; MAX_PART])
    }

    /// Called before each pass over the values at mount with the number of passes done: is there to be another? Parts
    /// that can be read only with the help of others want two.
    fn another_pass(&mut self, done: u8) -> bool {
        done == 0
    }

    /// Takes a value read from flash at mount; empty means absent. Values arrive oldest first, several for a key:
    /// the last one counts. A value of odd length arrives with one zero byte more.
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

/// How many parts are rewritten in turn at the opening of a page.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sweep {
    /// As many as keep the log within the region for ever.
    Pace,
    /// As many as fit.
    Page,
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
    /// Pages up to this one will be erased before the purge ends. They are not scrubbed: after a power cut, some of
    /// their words may have been written twice already.
    doomed: u32,
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
    pub fn commit<P: Parts>(&mut self, parts: &P, touched: &Keys) -> Result<(), Error> {
        if touched.is_empty() {
            return Ok(());
        }
        let size = touched.iter().fold(Shape::default(), |shape, key| shape.with_part(parts, key));
        if !self.roomy && size.words() > Self::HALF {
            return Err(Error::Room);
        }
        self.transact(parts, *touched, None)
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

    /// Erases the next page ahead of need; did it? To be called when the line is idle.
    pub fn rest(&mut self) -> Result<bool, Error> {
        let next = self.newest.saturating_add(1);
        if self.ahead || self.broken || next - self.floor >= self.region.pages {
            return Ok(false);
        }
        self.region.erase(next)?;
        self.ahead = true;
        Ok(true)
    }

    /// Commits the touched parts and leaves nothing on flash but the present values: writes all parts again and erases
    /// every other page. Once the commit has happened, a power cut cannot prevent the rest.
    pub fn purge<P: Parts>(&mut self, parts: &P, touched: &Keys) -> Result<(), Error> {
        self.purging = true;
        self.doomed = self.newest;
        let (mut keys, swept) = (*touched, self.swept);
        while self.floor <= self.doomed || self.swept.wrapping_sub(swept) < u32::from(self.region.count) {
            self.transact(parts, keys, Some(Sweep::Page))?;
            keys = Keys::NONE;
        }
        for seq in self.newest.saturating_add(1)..self.floor.saturating_add(self.region.pages) {
            if !self.region.uniform(seq, region::BLANK)? {
                self.region.erase(seq)?;
            }
        }
        self.doomed = 0;
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

    /// Half a page in words: the limit of a small transaction, and of the parts rewritten at its page turn, so that
    /// both fit into one page.
    const HALF: u16 = (Region::<F>::PAGE - HEADER) / 2;

    /// Pages that must not be erased.
    fn length(&self) -> u32 {
        self.newest.saturating_add(1).saturating_sub(self.floor)
    }

    fn transact<P: Parts>(&mut self, parts: &P, keys: Keys, turn: Option<Sweep>) -> Result<(), Error> {
        if self.broken {
            return Err(Error::Broken);
        }
        self.broken = true;
        self.append(parts, keys, turn)?;
        self.roomy = false;
        self.broken = false;
        Ok(())
    }

    /// Writes the records of one transaction, the parts of `keys` and those rewritten at every page turn, and then
    /// settles what a commit entails.
    fn append<P: Parts>(&mut self, parts: &P, mut keys: Keys, turn: Option<Sweep>) -> Result<(), Error> {
        let begin = (self.newest, self.tail);
        if let Some(sweep) = turn {
            self.turn(parts, &mut keys, sweep)?;
        }
        let last = loop {
            let fitting = self.fitting(parts, &keys);
            if !fitting.is_empty() || keys.is_empty() {
                fitting.iter().for_each(|key| keys.remove(key));
                let place = (self.newest, self.tail);
                let record = Record::write(&mut self.region, parts, &fitting, place, keys.is_empty())?;
                self.tail = record.end();
                if keys.is_empty() {
                    break record;
                }
            }
            self.turn(parts, &mut keys, Sweep::Pace)?;
        };
        last.mark(&mut self.region)?;
        if self.newest > begin.0 {
            for seq in begin.0.max(self.oldest)..self.newest {
                self.region.close(seq)?;
            }
            self.floor = self.oldest;
            self.retire()?;
        }
        self.scrub(parts, begin)
    }

    /// The keys, from the lowest, that fit as one record into what is left of the page.
    fn fitting<P: Parts>(&self, parts: &P, keys: &Keys) -> Keys {
        let mut shape = Shape::default();
        let left = if self.sealed { 0 } else { Region::<F>::PAGE.saturating_sub(self.tail) };
        keys.iter()
            .take_while(|key| {
                shape = shape.with_part(parts, *key);
                shape.words() <= left
            })
            .collect()
    }
    /// Opens the next page and adds the parts to be rewritten there to `keys`. The header it writes, and what may be
    /// erased for it, go by the log as it was before the transaction.
    fn turn<P: Parts>(&mut self, parts: &P, keys: &mut Keys, sweep: Sweep) -> Result<(), Error> {
        let next = self.newest.saturating_add(1);
        if next - self.floor >= self.region.pages {
            return Err(Error::Full);
        }
        if !self.ahead {
            self.region.erase(next)?;
        }
        self.ahead = false;
        let (quota, limit) = match sweep {
            Sweep::Pace => (self.pace(parts, next)?, Self::HALF),
            Sweep::Page => (u16::MAX, Region::<F>::PAGE - HEADER),
        };
        let (mut shape, count) = (Shape::default(), u32::from(self.region.count));
        for swept in self.swept..self.swept.saturating_add(count) {
            let key = (swept % count) as u16;
            let grown = shape.with_part(parts, key);
            if shape.words() >= quota || grown.words() > limit {
                break;
            }
            keys.insert(key);
            shape = grown;
            self.swept = swept + 1;
        }
        let (oldest, tail, swept, purging) = (self.oldest, self.tail, self.swept, self.purging);
        self.region.open(&Header { seq: next, oldest, tail, swept, purging, closed: false })?;
        self.newest = next;
        self.tail = HEADER;
        self.sealed = false;
        Ok(())
    }

    /// Words of parts to rewrite at this page turn: enough to rewrite all of them once while the log runs through the
    /// region, and enough to leave the oldest page in time.
    fn pace<P: Parts>(&mut self, parts: &P, next: u32) -> Result<u16, Error> {
        let count = u32::from(self.region.count);
        let needed = match self.newest >= self.oldest {
            true => self.header(self.oldest)?.swept.saturating_add(count).saturating_sub(self.swept),
            false => 0,
        };
        let (mut all, mut due) = (Shape::default(), Shape::default());
        for index in 0..count {
            all = all.with_part(parts, (self.swept.wrapping_add(index) % count) as u16);
            if index < needed {
                due = all;
            }
        }
        let turns = (self.oldest + self.region.pages).saturating_sub(next).saturating_sub(1);
        let steady = u32::from(all.words()).div_ceil(self.region.pages - SPARE_PAGES);
        let urgent = u32::from(due.words()).div_ceil(turns.saturating_sub(2).max(1));
        Ok(steady.max(urgent).min(u32::from(u16::MAX)) as u16)
    }

    fn header(&mut self, seq: u32) -> Result<Header, Error> {
        self.region.header(seq)?.filter(|header| header.seq == seq).ok_or(Error::Broken)
    }

    /// Moves the start of the log past pages whose parts have all been rewritten since; two pages always stay.
    fn retire(&mut self) -> Result<(), Error> {
        while self.newest > self.oldest.saturating_add(1)
            && self.swept.wrapping_sub(self.header(self.oldest)?.swept) >= u32::from(self.region.count)
        {
            self.oldest += 1;
        }
        Ok(())
    }

    /// After a commit of everything from `begin` on: overwrites the values of secret parts that it superseded, and
    /// those that it holds twice.
    fn scrub<P: Parts>(&mut self, parts: &P, begin: (u32, u16)) -> Result<(), Error> {
        for seq in begin.0.max(1)..=self.newest {
            let limit = if seq == self.newest { self.tail } else { self.header(seq + 1)?.tail };
            let mut at = if seq == begin.0 { begin.1 } else { HEADER };
            while let Some(record) = Record::read(&mut self.region, parts, (seq, at), limit)? {
                let mut items = record.items();
                while let Some(item) = items.next(&mut self.region, parts)? {
                    if item.secret {
                        self.supersede(parts, &item, (seq, at))?;
                    }
                }
                at = record.end();
            }
        }
        Ok(())
    }

    /// The last value of a secret part is now in the record at `place`: overwrites the one before it.
    fn supersede<P: Parts>(
        &mut self,
        parts: &P,
        item: &record::Item,
        place: (u32, u16),
    ) -> Result<(), Error> {
        let old = self.places.get(usize::from(item.key)).copied().unwrap_or(NOWHERE);
        if old != NOWHERE {
            // The page's number in the log: the newest one that lies there.
            let page = u32::from(old / Region::<F>::PAGE);
            let seq = self.newest - self.region.slot(self.newest + self.region.pages - page);
            // A page that is to be erased whole needs no scrubbing.
            if seq > self.doomed
                && let Some(old) = self.find(parts, item.key, (seq, old % Region::<F>::PAGE))?
            {
                old.scrub(&mut self.region, seq)?;
            }
        }
        let word = self.region.slot(place.0) as u16 * Region::<F>::PAGE + place.1;
        self.set_place(item.key, if item.len > 0 { word } else { NOWHERE });
        Ok(())
    }

    fn set_place(&mut self, key: u16, place: u16) {
        if let Some(known) = self.places.get_mut(usize::from(key)) {
            *known = place;
        }
    }

    /// A part in the record at `place`.
    fn find<P: Parts>(
        &mut self,
        parts: &P,
        key: u16,
        place: (u32, u16),
    ) -> Result<Option<record::Item>, Error> {
        let Some(record) = Record::read(&mut self.region, parts, place, Region::<F>::PAGE)? else {
            return Ok(None);
        };
        let mut items = record.items();
        while let Some(item) = items.next(&mut self.region, parts)? {
            if item.key == key {
                return Ok(Some(item));
            }
        }
        Ok(None)
    }
}
