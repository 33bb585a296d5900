//! Writing: one transaction after the other, page turns, and what a commit entails.

use embedded_storage::nor_flash::MultiwriteNorFlash;

use super::record::{Entry, Record, Shape};
use super::region::{HEADER, Header, Region};
use super::{Error, Journal, Keys, NOWHERE, Parts};

/// Pages of the region that the log leaves free in the long run: one to be opened, one because the header on flash
/// lags behind by a turn, and two for what does not divide evenly.
const SPARE_PAGES: u32 = 4;

/// Parts that an ordinary request touches, at most.
pub(super) const FEW: usize = 4;

/// How many parts are rewritten in turn at the opening of a page.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Sweep {
    /// As many as keep the log within the region for ever.
    Pace,
    /// As many as fit.
    Page,
}

impl<F: MultiwriteNorFlash> Journal<F> {
    /// Half a page in words: the limit of a small transaction, and of the parts rewritten at its page turn, so that
    /// both fit into one page.
    pub(super) const HALF: u32 = (Region::<F>::PAGE - HEADER) as u32 / 2;

    /// Pages that must not be erased.
    pub(super) fn length(&self) -> u32 {
        self.newest.saturating_add(1).saturating_sub(self.floor)
    }

    /// Words left in the newest page.
    pub(super) const fn left(&self) -> u32 {
        if self.sealed { 0 } else { (Region::<F>::PAGE as u32).saturating_sub(self.tail as u32) }
    }

    /// The transaction of an ordinary request: a few parts, which fit into the page.
    #[inline(never)]
    pub(super) fn append_few<P: Parts>(
        &mut self,
        parts: &P,
        entries: &[Entry],
        shape: Shape,
    ) -> Result<(), Error> {
        self.broken = true;
        let place = (self.newest, self.tail);
        let record = Record::new(place, shape, true);
        record.write(&mut self.region, parts, entries.iter().copied())?;
        self.tail = record.end();
        record.mark(&mut self.region)?;
        for entry in entries.iter().filter(|entry| entry.is_secret()) {
            self.supersede(parts, *entry, place)?;
        }
        self.roomy = false;
        self.broken = false;
        Ok(())
    }

    /// A transaction of any size, on a new page if `turn` says so.
    #[inline(never)]
    pub(super) fn transact<P: Parts>(
        &mut self,
        parts: &P,
        keys: Keys,
        turn: Option<Sweep>,
    ) -> Result<(), Error> {
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
            let (fitting, shape) = Self::fitting(parts, &keys, self.left());
            fitting.iter().for_each(|key| keys.remove(key));
            if !fitting.is_empty() || keys.is_empty() && shape.words() <= self.left() {
                let record = Record::new((self.newest, self.tail), shape, keys.is_empty());
                let entries = fitting.iter().map(|key| Entry::of(parts, key));
                record.write(&mut self.region, parts, entries)?;
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

    /// The keys, from the lowest, that fit as one record into so many words, and its shape.
    fn fitting<P: Parts>(parts: &P, keys: &Keys, left: u32) -> (Keys, Shape) {
        let (mut fitting, mut shape) = (Keys::NONE, Shape::default());
        for key in keys.iter() {
            let grown = shape.with(Entry::of(parts, key));
            if grown.words() > left {
                break;
            }
            fitting.insert(key);
            shape = grown;
        }
        (fitting, shape)
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
            Sweep::Page => (u32::MAX, u32::from(Region::<F>::PAGE - HEADER)),
        };
        let (mut shape, count) = (Shape::default(), u32::from(self.region.count));
        let mut key = (self.swept % count) as u16;
        for swept in self.swept..self.swept.saturating_add(count) {
            let grown = shape.with(Entry::of(parts, key));
            // To the nearest part: on average exactly the quota.
            if (shape.words() + grown.words()) / 2 >= quota || grown.words() > limit {
                break;
            }
            keys.insert(key);
            shape = grown;
            self.swept = swept + 1;
            key = self.after(key);
        }
        let (oldest, tail, swept, purging) = (self.oldest, self.tail, self.swept, self.purging);
        self.region.open(&Header { seq: next, oldest, tail, swept, purging, closed: false })?;
        self.newest = next;
        self.tail = HEADER;
        self.sealed = false;
        Ok(())
    }

    /// Words of parts to rewrite at the opening of page `next`, so that every page of the log is left in time: what must
    /// be rewritten until then, spread evenly over the page turns until its place is needed again.
    fn pace<P: Parts>(&mut self, parts: &P, next: u32) -> Result<u32, Error> {
        let count = u32::from(self.region.count);
        let (mut due, mut index, mut quota) = (Shape::default(), 0, 0);
        let mut key = (self.swept % count) as u16;
        for seq in self.oldest..=self.newest {
            let needed = self.region.swept(seq)?.saturating_add(count).saturating_sub(self.swept);
            while index < needed.min(count) {
                due = due.with(Entry::of(parts, key));
                key = self.after(key);
                index += 1;
            }
            let turns =
                seq.saturating_add(self.region.pages).saturating_sub(next).saturating_sub(SPARE_PAGES);
            quota = due.words().div_ceil(turns.max(1)).max(quota);
        }
        Ok(quota)
    }

    /// The key after this one in the circle. (A small machine has no divider.)
    const fn after(&self, key: u16) -> u16 {
        if key + 1 < self.region.count { key + 1 } else { 0 }
    }

    fn header(&mut self, seq: u32) -> Result<Header, Error> {
        self.region.header(seq)?.filter(|header| header.seq == seq).ok_or(Error::Broken)
    }

    /// Moves the start of the log past pages whose parts have all been rewritten since; two pages always stay.
    pub(super) fn retire(&mut self) -> Result<(), Error> {
        while self.newest > self.oldest.saturating_add(1)
            && self.swept.wrapping_sub(self.region.swept(self.oldest)?) >= u32::from(self.region.count)
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
                    if item.entry.is_secret() {
                        self.supersede(parts, item.entry, (seq, at))?;
                    }
                }
                at = record.end();
            }
        }
        Ok(())
    }

    /// The last value of a secret part is now in the record at `place`: overwrites the one before it.
    fn supersede<P: Parts>(&mut self, parts: &P, entry: Entry, place: (u32, u16)) -> Result<(), Error> {
        let key = entry.key();
        let old = self.places.get(usize::from(key)).copied().unwrap_or(NOWHERE);
        if old != NOWHERE {
            // The page's number in the log: the newest one that lies there.
            let page = u32::from(old / Region::<F>::PAGE);
            let seq = self.newest - self.region.slot(self.newest + self.region.pages - page);
            let place = (seq, old % Region::<F>::PAGE);
            if let Some(old) = Record::find(&mut self.region, parts, place, key)? {
                old.scrub(&mut self.region, seq)?;
            }
        }
        let word = self.region.slot(place.0) as u16 * Region::<F>::PAGE + place.1;
        self.set_place(key, if entry.words() > 0 { word } else { NOWHERE });
        Ok(())
    }

    pub(super) fn set_place(&mut self, key: u16, place: u16) {
        if let Some(known) = self.places.get_mut(usize::from(key)) {
            *known = place;
        }
    }
}
