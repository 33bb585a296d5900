//! Transactions: records, page changes, sweeps, and the work that follows a commit.

use embedded_storage::nor_flash::NorFlashErrorKind;

use super::entry::{Entry, Shape};
use super::record::Record;
use super::region::{HEADER, Header, Region};
use super::{Error, Journal, JournalFlash, LOST, NOWHERE, Parts};

/// Pages of the region that the log leaves free in the long run: one to be opened, one because the
/// header on flash lags behind by a page, and two because lengths do not divide evenly.
pub(super) const SPARE_PAGES: u32 = 4;

/// Parts that an ordinary request changes, at most.
pub(super) const FEW: usize = 4;

/// How many parts a page change rewrites.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Sweep {
    /// As many as keep the log within the region for ever.
    Pace,
    /// As many as fit.
    Page,
}

impl<F: JournalFlash> Journal<F> {
    /// Half a page in words: the limit of a small transaction and of the sweep at its page change,
    /// so that both fit into one page.
    pub(super) const HALF: u32 = (Region::<F>::PAGE - HEADER) as u32 / 2;

    /// Pages that must not be erased.
    pub(super) fn length(&self) -> u32 {
        self.newest.saturating_add(1).saturating_sub(self.floor)
    }

    /// Words left in the newest page.
    pub(super) const fn left(&self) -> u32 {
        if self.sealed { 0 } else { (Region::<F>::PAGE as u32).saturating_sub(self.tail as u32) }
    }

    pub(super) fn has_failed(&self, seq: u32) -> bool {
        self.failed >> (self.region.slot(seq) & 63) & 1 == 1
    }

    fn fail(&mut self, seq: u32) {
        self.failed |= 1 << (self.region.slot(seq) & 63);
    }

    /// Whether the log has a page of this number, between its oldest and its newest. Numbers are
    /// left out only where a slot has failed.
    pub(super) fn in_log(&mut self, seq: u32) -> Result<bool, NorFlashErrorKind> {
        Ok(!self.has_failed(seq)
            || self.region.header(seq)?.is_some_and(|header| header.seq == seq))
    }

    /// The page of the log after this one; its newest at the latest.
    fn page_after(&mut self, seq: u32) -> Result<u32, NorFlashErrorKind> {
        let mut next = seq.saturating_add(1);
        while next < self.newest && !self.in_log(next)? {
            next += 1;
        }
        Ok(next)
    }

    /// The transaction of an ordinary request: a few parts, which fit into the page. False if the
    /// page failed, and nothing is committed.
    #[inline(never)]
    pub(super) fn append_few<P: Parts>(
        &mut self,
        parts: &P,
        entries: &[Entry],
        shape: Shape,
    ) -> Result<bool, Error> {
        self.broken = true;
        let record = Record::new((self.newest, self.tail), shape, true);
        let written = record.write(&mut self.region, parts, || entries.iter().copied())?;
        self.note(&record, written);
        if written {
            for entry in entries.iter().filter(|entry| entry.is_secret()) {
                self.supersede(parts, *entry, (record.seq, record.at))?;
            }
            self.roomy = false;
        }
        self.broken = false;
        Ok(written)
    }

    /// Takes note of a record that was written, or not, at the end of the newest page. A page that
    /// failed gets no more records.
    // Saves 20 instructions of an `ASSIGN` on the Cortex-M0, and 92 bytes.
    #[inline(always)]
    fn note(&mut self, record: &Record, written: bool) {
        if written {
            self.tail = record.end();
        } else {
            self.fail(record.seq);
            self.sealed = true;
        }
    }

    /// A transaction of any size, on a new page if `new_page` says so. (`dyn`: one copy of the
    /// code.)
    #[inline(never)]
    pub(super) fn transact<P: Parts, K: Iterator<Item = u16> + Clone>(
        &mut self,
        parts: &P,
        dirty: &dyn Fn() -> K,
        new_page: Option<Sweep>,
    ) -> Result<(), Error> {
        if self.broken {
            return Err(Error::Broken);
        }
        self.broken = true;
        let begin = (self.newest, self.tail);
        self.append(parts, dirty, new_page)?;
        if self.newest > begin.0 {
            for seq in begin.0.max(self.oldest)..self.newest {
                if !self.in_log(seq)? {
                    continue;
                }
                if self.has_failed(seq) {
                    // The record that it did not take is void now, and may hold secret values.
                    let void = self.tail_of(seq)?.saturating_add(1)..self.region.used(seq)?;
                    self.region.zero(seq, void)?;
                }
                // A page that cannot be closed holds good records, but is not used again.
                if !self.region.close(seq)? {
                    self.fail(seq);
                }
            }
            self.floor = self.oldest;
            self.retire()?;
        }
        self.scrub(parts, begin)?;
        self.roomy = false;
        self.broken = false;
        Ok(())
    }

    /// Writes the records of one transaction. One of up to half a page is a single record; a larger
    /// one is divided among pages. If a page fails, its record is written again on the next page.
    fn append<P: Parts, K: Iterator<Item = u16> + Clone>(
        &mut self,
        parts: &P,
        dirty: &dyn Fn() -> K,
        mut new_page: Option<Sweep>,
    ) -> Result<(), Error> {
        let all = dirty().fold(Shape::default(), |shape, key| shape.with(Entry::of(parts, key)));
        let (mut done, total) = (0, all.items);
        let mut rest = dirty();
        loop {
            if let Some(sweep) = new_page {
                self.change_page(parts, sweep, done == total)?;
            }
            if done == total {
                return Ok(());
            }
            let left = self.left();
            let mut shape = Shape::default();
            for key in rest.clone() {
                let grown = shape.with(Entry::of(parts, key));
                if grown.words() > left {
                    break;
                }
                shape = grown;
            }
            let last = done + shape.items == total;
            new_page = Some(Sweep::Pace);
            if shape.items > 0 && (last || all.words() > Self::HALF) {
                let record = Record::new((self.newest, self.tail), shape, last);
                let keys = || rest.clone().take(shape.items as usize);
                let entries = || keys().map(|key| Entry::of(parts, key));
                let written = record.write(&mut self.region, parts, entries)?;
                self.note(&record, written);
                if written {
                    done += shape.items;
                    rest.by_ref().take(shape.items as usize).for_each(drop);
                    new_page = new_page.filter(|_| !last);
                }
            }
        }
    }

    /// Opens the next page and writes its sweep, which is the whole transaction if it is the `last`
    /// record. The header, and the pages that may be erased, go by the log as it was before the
    /// transaction. A page that fails is skipped.
    fn change_page<P: Parts>(&mut self, parts: &P, sweep: Sweep, last: bool) -> Result<(), Error> {
        loop {
            let next = self.erased_page()?;
            if self.newest == 0 {
                (self.oldest, self.floor) = (next, next);
            }
            let shape = self.next_sweep(parts, next, sweep)?;
            let before = if self.newest == 0 { next } else { self.newest };
            let (oldest, tail, failed, purging) =
                (self.oldest, self.tail, self.failed, self.purging);
            let swept = self.swept.wrapping_add(shape.items);
            let header =
                Header { seq: next, oldest, before, tail, swept, failed, purging, closed: false };
            if !self.region.open(&header)? {
                self.fail(next);
                continue;
            }
            (self.newest, self.tail, self.sealed) = (next, HEADER, false);
            let record = Record::new((next, HEADER), shape, last);
            let count = u32::from(self.region.count);
            let first = self.swept % count;
            let wrapped = |key| if key < count { key } else { key - count };
            let keys = || (first..first + shape.items).map(|key| wrapped(key) as u16);
            let entries = || keys().map(|key| Entry::of(parts, key));
            let written = record.write(&mut self.region, parts, entries)?;
            self.note(&record, written);
            if written {
                self.swept = swept;
                return Ok(());
            }
        }
    }

    /// The number of the next page, erased and found blank.
    fn erased_page(&mut self) -> Result<u32, Error> {
        let mut next = self.newest;
        loop {
            next = next.saturating_add(1);
            if next.saturating_sub(self.floor) >= self.region.pages {
                return Err(Error::Full);
            }
            if self.has_failed(next) {
                continue;
            }
            self.region.erase(next)?;
            if self.region.uniform(next, u8::MAX)? {
                return Ok(next);
            }
            self.fail(next);
        }
    }

    /// The shape of the sweep of page `next`: the parts that follow those swept before.
    fn next_sweep<P: Parts>(&mut self, parts: &P, next: u32, sweep: Sweep) -> Result<Shape, Error> {
        let (quota, limit) = match sweep {
            Sweep::Pace => (self.pace(parts, next)?, Self::HALF),
            Sweep::Page => (u32::MAX, u32::from(Region::<F>::PAGE - HEADER)),
        };
        let count = u32::from(self.region.count);
        let (mut shape, mut key) = (Shape::default(), (self.swept % count) as u16);
        while shape.items < count {
            let grown = shape.with(Entry::of(parts, key));
            // To the nearest part: on average exactly the quota.
            if (shape.words() + grown.words()) / 2 >= quota || grown.words() > limit {
                break;
            }
            shape = grown;
            key = self.key_after(key);
        }
        Ok(shape)
    }

    /// Words that the sweep of page `next` must have so that every page of the log is left in time:
    /// what must be rewritten until then, spread evenly over the page changes until its slot is
    /// needed again.
    fn pace<P: Parts>(&mut self, parts: &P, next: u32) -> Result<u32, Error> {
        let count = u32::from(self.region.count);
        let unusable = SPARE_PAGES + self.failed.count_ones();
        let (mut due, mut index, mut quota) = (Shape::default(), 0, 0);
        let mut key = (self.swept % count) as u16;
        for seq in self.oldest..=self.newest {
            if !self.in_log(seq)? {
                continue;
            }
            let needed = self.region.swept(seq)?.wrapping_add(count).wrapping_sub(self.swept);
            while index < needed.min(count) {
                due = due.with(Entry::of(parts, key));
                key = self.key_after(key);
                index += 1;
            }
            let changes = (seq + self.region.pages).saturating_sub(next).saturating_sub(unusable);
            quota = due.words().div_ceil(changes.max(1)).max(quota);
        }
        Ok(quota)
    }

    /// The key after this one in the circle. (Cortex-M0 has no divider.)
    pub(super) const fn key_after(&self, key: u16) -> u16 {
        if key + 1 < self.region.count { key + 1 } else { 0 }
    }

    /// Moves the start of the log past pages whose parts have all been rewritten since. Two pages
    /// always stay.
    pub(super) fn retire(&mut self) -> Result<(), Error> {
        loop {
            let next = self.page_after(self.oldest)?;
            let since = self.swept.wrapping_sub(self.region.swept(self.oldest)?);
            if next >= self.newest || since < u32::from(self.region.count) {
                return Ok(());
            }
            self.oldest = next;
        }
    }

    /// After a commit of everything from `begin` on: overwrites the values of secret parts that it
    /// superseded, and those that it holds twice.
    fn scrub<P: Parts>(&mut self, parts: &P, begin: (u32, u16)) -> Result<(), Error> {
        for seq in begin.0.max(self.oldest)..=self.newest {
            if !self.in_log(seq)? {
                continue;
            }
            let limit = if seq == self.newest { self.tail } else { self.tail_of(seq)? };
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

    /// Words of a page that count, as the page after it says.
    fn tail_of(&mut self, seq: u32) -> Result<u16, Error> {
        let next = self.page_after(seq)?;
        let header = self.region.header(next)?.filter(|header| header.before == seq);
        Ok(header.ok_or(Error::Broken)?.tail)
    }

    /// The last value of a secret part is now in the record at `place`: overwrites the one before.
    fn supersede<P: Parts>(
        &mut self,
        parts: &P,
        entry: Entry,
        place: (u32, u16),
    ) -> Result<(), Error> {
        let Some(known) = parts.secret(entry.key()) else { return Ok(()) };
        let old = known.get();
        if old < LOST {
            // The page's number in the log: the newest one that lies in its slot.
            let page = u32::from(old / Region::<F>::PAGE);
            let seq = self.newest - self.region.slot(self.newest + self.region.pages - page);
            let place = (seq, old % Region::<F>::PAGE);
            if let Some(old) = Record::find(&mut self.region, parts, place, entry.key())?
                && !old.scrub(&mut self.region, seq)?
            {
                self.fail(seq);
                self.sealed |= seq == self.newest;
            }
        }
        let word = self.region.slot(place.0) as u16 * Region::<F>::PAGE + place.1;
        known.set(if entry.words() > 0 { word } else { NOWHERE });
        Ok(())
    }
}
