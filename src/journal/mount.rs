//! Recovery: finds the last committed transaction, reads the parts, and repairs what a power cut left behind.

use embedded_storage::nor_flash::{MultiwriteNorFlash, NorFlashErrorKind};

use super::record::{Block, Record};
use super::region::{AT_BITS, BLANK, HEADER, Header, Region, WORD};
use super::{Journal, Keys, MAX_KEYS, MAX_PART, MIN_PAGES, MountError, NOWHERE, Parts};

/// A place in the log: a page's number, and a word in it.
type Place = (u32, u16);

impl<F: MultiwriteNorFlash> Journal<F> {
    /// Reads the parts from flash and makes the journal ready for use. `parts` must be as on a blank device; on
    /// failure they are in no particular state, and the flash is given back, unchanged unless repair had begun.
    pub fn mount<P: Parts>(flash: F, parts: &mut P) -> Result<Self, (MountError, F)> {
        let mut journal = Self::unread(flash);
        match journal.recover(parts) {
            Ok(()) => Ok(journal),
            Err(error) => Err((error, journal.region.flash)),
        }
    }

    /// A journal to be made ready by [`Self::recover`]; until then it refuses every commit.
    pub const fn unread(flash: F) -> Self {
        Self {
            region: Region { flash, pages: 1, count: 0 },
            newest: 0,
            tail: 0,
            oldest: 1,
            floor: 1,
            swept: 0,
            sealed: true,
            ahead: false,
            purging: false,
            roomy: false,
            broken: true,
            places: [NOWHERE; MAX_KEYS],
        }
    }

    /// [`Self::mount`] where the journal lies, for boards on whose stack there is no room for a copy. After a failure
    /// it refuses every commit.
    #[inline(never)]
    pub fn recover<P: Parts>(&mut self, parts: &mut P) -> Result<(), MountError> {
        self.region.pages = (self.region.flash.capacity() / F::ERASE_SIZE.max(1)) as u32;
        self.region.count = parts.count();
        self.broken = false;
        let read = self.read(parts);
        self.broken |= read.is_err();
        read
    }

    fn read<P: Parts>(&mut self, parts: &mut P) -> Result<(), MountError> {
        let sizes = F::WRITE_SIZE == WORD && F::READ_SIZE <= WORD;
        let page = F::ERASE_SIZE >= 1024 && F::ERASE_SIZE < WORD << AT_BITS;
        let most = u32::from(NOWHERE / Region::<F>::PAGE.max(1));
        let counts =
            (1..=MAX_KEYS as u16).contains(&parts.count()) && (MIN_PAGES..=most).contains(&self.region.pages);
        if !(sizes && page && counts) {
            return Err(MountError::Geometry);
        }
        let Some(newest) = self.newest_header()? else {
            for place in 0..self.region.pages {
                if let Some(format) = self.region.other_format(place)? {
                    return Err(MountError::OtherFormat(format));
                }
            }
            return if self.is_fresh()? { self.format(parts) } else { Err(MountError::Foreign) };
        };
        let survey = self.survey(parts, &newest)?;
        let Some((seq, tail)) = survey.committed else {
            return if newest.seq == 1 && !newest.closed {
                self.format(parts)
            } else {
                Err(MountError::Damaged)
            };
        };
        let header = self.page(seq)?;
        if header.closed {
            // A page after this one held something committed.
            return Err(MountError::Damaged);
        }
        let (mut passes, mut scrubbed) = (0, true);
        while parts.another_pass(passes) {
            scrubbed = self.load(parts, newest.oldest, (seq, tail))?;
            passes += 1;
        }
        let closed = seq == newest.oldest || self.page(seq - 1)?.closed;
        self.newest = seq;
        self.tail = tail;
        self.oldest = newest.oldest;
        self.floor = header.oldest;
        self.swept = header.swept;
        // The header was written before its transaction let go of older pages. Without this a device that is switched off
        // after every page turn would never let go of any.
        self.retire().map_err(MountError::Repair)?;
        if survey.finished && scrubbed && closed && !header.purging {
            return Ok(());
        }
        for void in (seq + 1..=newest.seq).rev() {
            self.region.erase(void)?;
        }
        self.purge(parts, Keys::NONE.iter()).map_err(MountError::Repair)
    }

    /// Starts the journal on a region without a past.
    fn format<P: Parts>(&mut self, parts: &P) -> Result<(), MountError> {
        self.purge(parts, Keys::NONE.iter()).map_err(MountError::Repair)
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

    /// No page was ever opened: all are blank, in either sense, but for one whose first erase or header was torn.
    fn is_fresh(&mut self) -> Result<bool, NorFlashErrorKind> {
        let mut torn = 0;
        for place in 0..self.region.pages {
            if !self.region.uniform(place, BLANK)? && !self.region.uniform(place, 0)? {
                torn += 1;
            }
        }
        Ok(torn <= 1)
    }

    /// Checks every page and record of the log and finds the end of the last committed transaction.
    fn survey<P: Parts>(&mut self, parts: &P, newest: &Header) -> Result<Survey, MountError> {
        if newest.seq - newest.oldest >= self.region.pages {
            return Err(MountError::Damaged);
        }
        let mut survey = Survey { committed: None, finished: false };
        for seq in newest.oldest..=newest.seq {
            self.page(seq)?;
            let end = if seq < newest.seq { Some(self.page(seq + 1)?.tail) } else { None };
            let limit = end.unwrap_or(Region::<F>::PAGE).min(Region::<F>::PAGE);
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
            match end {
                Some(end) if at != end => return Err(MountError::Damaged),
                Some(_) => {}
                None => {
                    let blank = self.region.blank_from(seq, at)?;
                    let opened = survey.committed.is_some_and(|(page, _)| page == seq);
                    if opened && !blank && !Record::is_torn(&mut self.region, parts, (seq, at))? {
                        return Err(MountError::Damaged);
                    }
                    survey.finished &= blank && opened;
                }
            }
        }
        Ok(survey)
    }

    /// Hands the committed values to the parts. Gives false if the superseded value of a secret part can still be
    /// read, or if it cannot be told.
    fn load<P: Parts>(&mut self, parts: &mut P, oldest: u32, end: Place) -> Result<bool, MountError> {
        let (mut seen, mut lost, mut standing) = (Keys::NONE, Keys::NONE, Keys::NONE);
        let mut scrubbed = true;
        for seq in oldest..=end.0 {
            let limit = if seq == end.0 { end.1 } else { self.page(seq + 1)?.tail };
            let mut at = HEADER;
            while let Some(record) = Record::read(&mut self.region, parts, (seq, at), limit)? {
                let mut items = record.items();
                while let Some(item) = items.next(&mut self.region, parts)? {
                    let (key, secret, words) = (item.entry.key(), item.entry.is_secret(), item.entry.words());
                    seen.insert(key);
                    lost.remove(key);
                    if secret {
                        scrubbed &= !standing.contains(key);
                        standing.remove(key);
                        self.set_place(key, NOWHERE);
                    }
                    if secret && words > 0 {
                        let block = item.check(&mut self.region, seq)?;
                        if block != Block::Scrubbed {
                            standing.insert(key);
                            let word = self.region.slot(seq) as u16 * Region::<F>::PAGE + at;
                            self.set_place(key, word);
                        }
                        if block != Block::Whole {
                            lost.insert(key);
                            continue;
                        }
                    }
                    let mut bytes = [0; MAX_PART];
                    let value = item.bytes(&mut self.region, seq, &mut bytes)?;
                    parts.decode(key, value).map_err(|_| MountError::Part(key))?;
                }
                at = record.end();
            }
        }
        let complete = lost.is_empty() && (0..self.region.count).all(|key| seen.contains(key));
        if complete { Ok(scrubbed) } else { Err(MountError::Damaged) }
    }
}

/// What a walk over the log found.
struct Survey {
    /// The end of the last committed transaction.
    committed: Option<Place>,
    /// Is the end of the log as a finished commit leaves it: a marked record, and blank words behind it?
    finished: bool,
}
