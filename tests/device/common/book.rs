//! A small model of what a device keeps, and the things a device does with it, for tests of the
//! journal.
use std::ops::Range;

use equipoise::journal::{BadPart, Error, Journal, MountError, Parts, Place};
use equipoise::testkit::strict_flash::StrictFlash;

pub const PAGE: usize = 1024;
pub const PAGES: usize = 8;
pub type Flash = StrictFlash<PAGE>;

const PROGRESS: u16 = 0;
const WAITING: Range<u16> = 1..5;
const TALLIES: Range<u16> = 5..8;
const LEDGERS: Range<u16> = 8..17;
pub const KEYS: u16 = 17;

/// Bytes of a ledger: all of them together fit into a record, or take more than a page.
pub const SMALL: usize = 20;
pub const LARGE: usize = 112;

/// The kinds of parts a device keeps, in small numbers: progress, waiting patients, tallies
/// (secret), ledgers.
#[derive(Clone, Debug)]
pub struct Book {
    pub values: Vec<Vec<u8>>,
    /// Bytes of a ledger.
    ledger: usize,
    /// Makes every word of every value unique.
    serial: u32,
    places: Vec<Place>,
}

impl Book {
    /// The book of a blank device.
    pub fn blank(ledger: usize) -> Self {
        let places = vec![Place::NEW; usize::from(KEYS)];
        Self { values: vec![Vec::new(); usize::from(KEYS)], ledger, serial: 0, places }
    }

    fn len(&self, key: u16) -> usize {
        match key {
            PROGRESS => 13,
            key if WAITING.contains(&key) => 8,
            key if TALLIES.contains(&key) => 18,
            _ => self.ledger,
        }
    }

    /// Gives parts values never seen before.
    fn renew(&mut self, keys: impl IntoIterator<Item = u16>) {
        for key in keys {
            let mut bytes = Vec::new();
            while bytes.len() < self.len(key) {
                self.serial += 1;
                bytes
                    .extend((self.serial.wrapping_mul(0x9e37_79b9) << 8 | MADE_HERE).to_le_bytes());
            }
            bytes.truncate(self.len(key));
            self.values[usize::from(key)] = bytes;
        }
    }

    fn clear(&mut self, keys: impl IntoIterator<Item = u16>) {
        keys.into_iter().for_each(|key| self.values[usize::from(key)].clear());
    }

    /// Goes on with values that have not been seen before, after these.
    pub fn after(mut self, other: &Self) -> Self {
        self.serial = other.serial;
        self
    }

    /// Whole words of the secret parts' present values.
    pub fn secret_words(&self) -> impl Iterator<Item = u32> {
        TALLIES
            .flat_map(|key| self.values[usize::from(key)].chunks_exact(4))
            .map(|word| u32::from_le_bytes(word.try_into().unwrap()))
    }
}

/// The low byte of every word of every value.
const MADE_HERE: u32 = 0x5b;

/// Words on flash that may come from a value.
pub fn value_words(flash: &Flash) -> impl Iterator<Item = u32> {
    flash.words().iter().copied().filter(|word| word & 0xff == MADE_HERE)
}

impl Parts for Book {
    fn count(&self) -> u16 {
        KEYS
    }

    fn length(&self, key: u16) -> usize {
        self.values[usize::from(key)].len()
    }

    fn encode(&self, key: u16, out: &mut [u8]) {
        let value = &self.values[usize::from(key)];
        out[..value.len()].copy_from_slice(value);
    }

    fn decode(&mut self, key: u16, bytes: &[u8]) -> Result<(), BadPart> {
        let len = self.len(key);
        if !bytes.is_empty() && bytes.len() != len.next_multiple_of(4) {
            return Err(BadPart);
        }
        self.values[usize::from(key)] = bytes[..bytes.len().min(len)].to_vec();
        Ok(())
    }

    fn secret(&self, key: u16) -> Option<&Place> {
        TALLIES.contains(&key).then(|| &self.places[usize::from(key)])
    }
}

/// One thing a device does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    /// Progress and one waiting patient change.
    Assign(u16),
    /// A waiting patient becomes absent, a tally changes.
    Outcome(u16, u16),
    /// Progress, all ledgers and all tallies change at once.
    Look,
    /// Everything but progress becomes absent, and the rest of the flash is wiped.
    Erase,
    /// So many patients come and go; the power stays on.
    Days(u16),
}
pub use Step::{Assign, Days, Erase, Look, Outcome};

impl Step {
    fn dirty(self) -> Vec<u16> {
        match self {
            Assign(w) => vec![PROGRESS, WAITING.start + w],
            Outcome(w, t) => vec![WAITING.start + w, TALLIES.start + t],
            Look => [PROGRESS].into_iter().chain(TALLIES).chain(LEDGERS).collect(),
            Erase => (0..KEYS).collect(),
            Days(_) => Vec::new(),
        }
    }

    /// Changes the book.
    pub fn change(self, book: &mut Book) {
        match self {
            Outcome(w, t) => {
                book.clear([WAITING.start + w]);
                book.renew([TALLIES.start + t]);
            }
            Erase => {
                book.clear(0..KEYS);
                book.renew([PROGRESS]);
            }
            _ => book.renew(self.dirty()),
        }
    }

    /// Changes the book and makes it durable.
    pub fn take(self, journal: &mut Journal<Flash>, book: &mut Book) -> Result<(), Error> {
        self.take_with(journal, book, None)
    }

    /// The same, with every byte of every value set to this one.
    pub fn take_with(
        self,
        journal: &mut Journal<Flash>,
        book: &mut Book,
        byte: Option<u8>,
    ) -> Result<(), Error> {
        match self {
            Days(days) => {
                return (0..days).try_for_each(|day| {
                    Assign(day % 4).take_with(journal, book, byte)?;
                    Outcome(day % 4, day % 3).take_with(journal, book, byte)
                });
            }
            Look | Erase => journal.make_room(book)?,
            Assign(_) | Outcome(..) => {}
        }
        self.change(book);
        if let Some(byte) = byte {
            book.values.iter_mut().for_each(|value| value.fill(byte));
        }
        match self {
            Erase => journal.purge(book, || self.dirty().into_iter()),
            _ => journal.commit(book, || self.dirty().into_iter()),
        }
    }
}

pub type Mounted = Result<(Journal<Flash>, Book), (MountError, Flash)>;

/// Switches the power on.
#[allow(clippy::result_large_err, reason = "it is the flash that comes back")]
pub fn mount(mut flash: Flash, ledger: usize) -> Mounted {
    flash.power_up();
    let mut book = Book::blank(ledger);
    Journal::mount(flash, &mut book).map(|journal| (journal, book))
}
