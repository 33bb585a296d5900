//! Recovery: finds the last committed transaction, reads the parts, and repairs what a power cut
//! left behind.

use embedded_storage::nor_flash::NorFlashErrorKind;

use super::record::{Block, Record};
use super::region::{BLANK, HEADER, Header, MAX_PAGES, Region, VERSION};
use super::{
    Journal, JournalFlash, LOST, MAX_KEYS, MAX_PART, MIN_PAGES, MountError, NOWHERE, Parts,
};

/// A place in the log: a page's number, and a word in it.
type Place = (u32, u16);

impl<F: JournalFlash> Journal<F> {
    /// Reads the parts from flash and makes the journal ready for use. `parts` must be as on a
    /// blank device. On failure they are in no particular state, and the flash is given back,
    /// unchanged unless repair had begun.
    pub fn mount<P: Parts>(flash: F, parts: &mut P) -> Result<Self, (MountError, F)> {
        let mut journal = Self::unread(flash);
        match journal.recover(parts) {
            Ok(()) => Ok(journal),
            Err(error) => Err((error, journal.region.flash)),
        }
    }

    /// A journal to be made ready by [`Self::recover`]; until then it refuses every commit.
    pub const fn unread(flash: F) -> Self {
        let () = Region::<F>::GEOMETRY;
        Self {
            region: Region { flash, pages: 1, count: 0 },
            newest: 0,
            tail: 0,
            oldest: 1,
            floor: 1,
            swept: 0,
            failed: 0,
            sealed: true,
            purging: false,
            roomy: false,
            broken: true,
        }
    }

    /// [`Self::mount`] in place, for boards without stack for a copy. After a failure the journal
    /// refuses every commit.
    #[inline(never)]
    pub fn recover<P: Parts>(&mut self, parts: &mut P) -> Result<(), MountError> {
        self.region.pages = (self.region.flash.capacity() / F::ERASE_SIZE) as u32;
        self.region.count = parts.count();
        self.broken = false;
        let read = self.read(parts);
        self.broken |= read.is_err();
        read
    }

    fn read<P: Parts>(&mut self, parts: &mut P) -> Result<(), MountError> {
        // Every word of the region has a number below 2^16.
        let most = ((1 << u16::BITS) / u32::from(Region::<F>::PAGE.max(1))).min(MAX_PAGES);
        let found = self.region.pages;
        if !(MIN_PAGES..=most).contains(&found) {
            return Err(MountError::Pages { found, most });
        }
        if !(1..=MAX_KEYS).contains(&parts.count()) {
            return Err(MountError::Keys(parts.count()));
        }
        let Some(newest) = self.newest_header()? else {
            return self.begin(parts);
        };
        self.failed = newest.failed;
        let survey = self.survey(parts, &newest)?;
        if self.is_first_start(&newest, survey.committed)? {
            return self.format(parts);
        }
        let Some((seq, tail)) = survey.committed else { return Err(MountError::Damaged) };
        let header = self.page(seq)?;
        if header.closed {
            // A page after this one held something committed.
            return Err(MountError::Damaged);
        }
        self.newest = seq;
        let (mut passes, mut scrubbed) = (0, true);
        while parts.another_pass(passes) {
            scrubbed = self.load(parts, newest.oldest, (seq, tail))?;
            passes += 1;
        }
        let closed = header.before == seq || self.page(header.before)?.closed;
        self.tail = tail;
        self.oldest = newest.oldest;
        self.floor = header.oldest;
        self.swept = header.swept;
        // The header was written before its transaction let go of older pages. Without this a
        // device that is switched off after every page change would never let go of any.
        self.retire().map_err(MountError::Repair)?;
        if survey.finished && survey.wiped && scrubbed && closed && !header.purging {
            return Ok(());
        }
        for void in (seq + 1..=newest.seq).rev() {
            self.region.erase(void)?;
        }
        self.purge(parts, core::iter::empty).map_err(MountError::Repair)
    }

    /// Starts the journal on a region without a valid header, if that is because it is new.
    fn begin<P: Parts>(&mut self, parts: &P) -> Result<(), MountError> {
        for place in 0..self.region.pages {
            if let Some(format) = self.region.format(place)?.filter(|format| *format != VERSION) {
                return Err(MountError::OtherFormat(format));
            }
        }
        if self.is_new_behind(0)? { self.format(parts) } else { Err(MountError::Foreign) }
    }

    /// Whether the first purge of all was cut before its pages held every part: then no mount of
    /// this journal ever returned. (Why this is exact: "First start" in the journal's header.)
    fn is_first_start(
        &mut self,
        newest: &Header,
        committed: Option<Place>,
    ) -> Result<bool, MountError> {
        let first = self.page(newest.oldest)?;
        let swept = committed.map_or(Ok(0), |(seq, _)| self.page(seq).map(|page| page.swept))?;
        let count = u32::from(self.region.count);
        Ok(first.before == first.seq
            && newest.purging
            && swept < count
            && (newest.swept < count || !newest.closed)
            && self.is_new_behind(newest.seq)?)
    }

    /// Whether every page without a header is new, but for one that is torn and for pages that
    /// failed. Those are known, or hold no record; there are none of the latter if not even the
    /// page behind `newest` was touched.
    fn is_new_behind(&mut self, newest: u32) -> Result<bool, NorFlashErrorKind> {
        let touched = !self.region.is_new(newest.saturating_add(1))?;
        let mut torn = 0;
        for seq in 1..=self.region.pages {
            let known = self.has_failed(seq) || self.region.header(seq)?.is_some();
            if !(known || self.region.is_new(seq)? || touched && self.region.is_bare(seq)?) {
                torn += 1;
            }
        }
        Ok(torn <= 1)
    }

    /// Whether a region is neither new nor a journal of any format and any number of parts.
    ///
    /// # Errors
    /// The flash refused.
    #[cfg(feature = "std")]
    pub fn is_foreign(flash: F) -> Result<bool, NorFlashErrorKind> {
        let pages = (flash.capacity() / F::ERASE_SIZE) as u32;
        let mut journal = Self::unread(flash);
        journal.region.pages = pages;
        for place in 0..pages {
            if journal.region.format(place)?.is_some() {
                return Ok(false);
            }
        }
        Ok(!journal.is_new_behind(0)?)
    }

    /// Starts the journal from page 1.
    fn format<P: Parts>(&mut self, parts: &P) -> Result<(), MountError> {
        // Last first: a cut leaves the beginning of the first start before. Page 1 is erased when
        // it is opened.
        for seq in (2..=self.region.pages).rev() {
            if !self.region.is_new(seq)? {
                self.region.erase(seq)?;
            }
        }
        for key in 0..self.region.count {
            if let Some(place) = parts.secret(key) {
                place.set(NOWHERE);
            }
        }
        self.purge(parts, core::iter::empty).map_err(MountError::Repair)
    }

    /// A valid header of this very page.
    fn page(&mut self, seq: u32) -> Result<Header, MountError> {
        self.region.header(seq)?.filter(|header| header.seq == seq).ok_or(MountError::Damaged)
    }

    fn newest_header(&mut self) -> Result<Option<Header>, NorFlashErrorKind> {
        let mut newest: Option<Header> = None;
        for place in 0..self.region.pages {
            if let Some(header) = self.region.header(place)?
                && newest.is_none_or(|newest| newest.seq < header.seq)
            {
                newest = Some(header);
            }
        }
        Ok(newest)
    }

    /// Checks every page and record of the log and finds the end of the last committed transaction.
    fn survey<P: Parts>(&mut self, parts: &P, newest: &Header) -> Result<Survey, MountError> {
        let mut survey = Survey { committed: None, finished: false, wiped: true };
        let mut seq = newest.oldest;
        loop {
            self.page(seq)?;
            let next = if seq < newest.seq { Some(self.next_page(seq, newest.seq)?) } else { None };
            let limit = next.map_or(Region::<F>::PAGE, |next| next.tail).min(Region::<F>::PAGE);
            let mut at = HEADER;
            while let Some(record) = Record::read(&mut self.region, parts, (seq, at), limit)? {
                let (found, computed) = record.commit(&mut self.region, parts)?;
                if found != computed {
                    break;
                }
                at = record.end();
                survey.finished = record.last && record.marked;
                if record.last {
                    survey.committed = Some((seq, at));
                }
            }
            let Some(next) = next else {
                let blank = self.region.used(seq)? <= at;
                let opened = survey.committed.is_some_and(|(page, _)| page == seq);
                if opened && !blank && !Record::is_torn(&mut self.region, parts, (seq, at))? {
                    return Err(MountError::Damaged);
                }
                survey.finished &= blank && opened;
                return Ok(survey);
            };
            if at != next.tail {
                return Err(MountError::Damaged);
            }
            survey.wiped &= !self.has_failed(seq) || self.is_wiped(seq, at)?;
            seq = next.seq;
        }
    }

    /// Whether the record that a failed page did not take, behind its tail, has been zeroed.
    fn is_wiped(&mut self, seq: u32, tail: u16) -> Result<bool, NorFlashErrorKind> {
        for at in tail + 1..Region::<F>::PAGE {
            if ![0, BLANK].contains(&self.region.word(seq, at)?) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The page of the log after this one: the next valid header, which must say so.
    fn next_page(&mut self, seq: u32, newest: u32) -> Result<Header, MountError> {
        for next in seq + 1..=newest {
            if self.in_log(next)? {
                let header = self.page(next)?;
                return if header.before == seq { Ok(header) } else { Err(MountError::Damaged) };
            }
        }
        Err(MountError::Damaged)
    }

    /// Hands the committed values to the parts. False if the superseded value of a secret part can
    /// still be read, or if that cannot be told.
    fn load<P: Parts>(
        &mut self,
        parts: &mut P,
        oldest: u32,
        end: Place,
    ) -> Result<bool, MountError> {
        let (mut scrubbed, mut swept) = (true, 0);
        for key in 0..self.region.count {
            if let Some(place) = parts.secret(key) {
                place.set(LOST);
            }
        }
        let mut seq = oldest;
        loop {
            let next = if seq < end.0 { Some(self.next_page(seq, end.0)?) } else { None };
            let limit = next.map_or(end.1, |next| next.tail);
            let mut at = HEADER;
            while let Some(record) = Record::read(&mut self.region, parts, (seq, at), limit)? {
                if at == HEADER {
                    self.check_sweep(parts, &record)?;
                    swept += record.shape.items;
                }
                scrubbed &= self.load_record(parts, &record)?;
                at = record.end();
            }
            let Some(next) = next else { break };
            seq = next.seq;
        }
        let standing = |key| parts.secret(key).is_none_or(|place| place.get() != LOST);
        let complete =
            swept >= u32::from(self.region.count) && (0..self.region.count).all(standing);
        if complete { Ok(scrubbed) } else { Err(MountError::Damaged) }
    }

    /// The first record of a page must hold the parts that its header counts as swept: then all
    /// sweeps of the log together hold every part.
    fn check_sweep<P: Parts>(&mut self, parts: &P, record: &Record) -> Result<(), MountError> {
        let count = u32::from(self.region.count);
        let first = self.region.swept(record.seq)?.wrapping_sub(record.shape.items);
        let (mut key, mut items) = ((first % count) as u16, record.items());
        while let Some(item) = items.next(&mut self.region, parts)? {
            if item.entry.key() != key {
                return Err(MountError::Damaged);
            }
            key = self.key_after(key);
        }
        Ok(())
    }

    fn load_record<P: Parts>(
        &mut self,
        parts: &mut P,
        record: &Record,
    ) -> Result<bool, MountError> {
        let (mut scrubbed, mut items) = (true, record.items());
        while let Some(item) = items.next(&mut self.region, parts)? {
            let (key, words) = (item.entry.key(), item.entry.words());
            let mut readable = true;
            if let Some(place) = parts.secret(key) {
                scrubbed &= place.get() >= LOST;
                place.set(NOWHERE);
                if words > 0 {
                    let block = item.check(&mut self.region, record.seq)?;
                    readable = block == Block::Whole;
                    scrubbed &= block != Block::Broken;
                    let word = self.region.slot(record.seq) as u16 * Region::<F>::PAGE + record.at;
                    place.set(if readable { word } else { LOST });
                }
            }
            if readable {
                let mut bytes = [0; MAX_PART];
                let value = item.bytes(&mut self.region, record.seq, &mut bytes)?;
                parts.decode(key, value).map_err(|_| MountError::Part(key))?;
            }
        }
        Ok(scrubbed)
    }
}

/// Result of a walk over the log.
struct Survey {
    /// The end of the last committed transaction.
    committed: Option<Place>,
    /// Whether the log ends as a finished commit leaves it: a marked record, and blank words
    /// behind.
    finished: bool,
    /// Whether void records in failed pages have been zeroed.
    wiped: bool,
}
