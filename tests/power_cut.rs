//! What was committed survives a power cut at any word write and any erase, and so does every recovery from one.
//!
//! Each scenario is one line; [`survives`] takes it step by step, cuts the power at every flash operation of every
//! step in several ways, mounts from what is on flash, and cuts every operation of that recovery as well.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::HashSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use equipoise::journal::strict::{StrictFlash, Tear};
use equipoise::journal::{BadPart, Error, Journal, Keys, MAX_PART, MountError, Parts};
use rayon::prelude::*;

const PAGES: usize = 8;
type Flash = StrictFlash<1024>;

const PROGRESS: u16 = 0;
const WAITING: std::ops::Range<u16> = 1..5;
const TALLIES: std::ops::Range<u16> = 5..8;
const LEDGERS: std::ops::Range<u16> = 8..12;
const KEYS: u16 = 12;

/// The kinds of parts a device keeps, in small numbers: progress, waiting patients, tallies (secret), ledgers.
#[derive(Clone, Debug, PartialEq)]
struct Book {
    values: Vec<Vec<u8>>,
    /// Makes every word of every value unique.
    serial: u32,
}

impl Book {
    fn blank() -> Self {
        Self { values: vec![Vec::new(); usize::from(KEYS)], serial: 0 }
    }

    fn len(key: u16) -> usize {
        match key {
            PROGRESS => 13,
            key if WAITING.contains(&key) => 8,
            key if TALLIES.contains(&key) => 18,
            _ => 60,
        }
    }

    /// Gives parts values never seen before.
    fn renew(&mut self, keys: impl IntoIterator<Item = u16>) {
        for key in keys {
            let mut bytes = Vec::new();
            while bytes.len() < Self::len(key) {
                self.serial += 1;
                bytes.extend((self.serial.wrapping_mul(0x9e37_79b9) | 1).to_le_bytes());
            }
            bytes.truncate(Self::len(key));
            self.values[usize::from(key)] = bytes;
        }
    }

    fn clear(&mut self, keys: impl IntoIterator<Item = u16>) {
        keys.into_iter().for_each(|key| self.values[usize::from(key)].clear());
    }

    /// Whole words of the secret parts' present values.
    fn secret_words(&self) -> impl Iterator<Item = u32> {
        TALLIES
            .flat_map(|key| self.values[usize::from(key)].chunks_exact(4))
            .map(|word| u32::from_le_bytes(word.try_into().unwrap()))
    }
}

impl Parts for Book {
    fn count(&self) -> u16 {
        KEYS
    }

    fn encode(&self, key: u16, out: &mut [u8; MAX_PART]) -> usize {
        let value = &self.values[usize::from(key)];
        out[..value.len()].copy_from_slice(value);
        value.len()
    }

    fn decode(&mut self, key: u16, bytes: &[u8]) -> Result<(), BadPart> {
        let len = Self::len(key);
        if !bytes.is_empty() && bytes.len() != len.next_multiple_of(2) {
            return Err(BadPart);
        }
        self.values[usize::from(key)] = bytes[..bytes.len().min(len)].to_vec();
        Ok(())
    }

    fn secret(&self, key: u16) -> bool {
        TALLIES.contains(&key)
    }
}

/// One thing a device does.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// Progress and one waiting patient change.
    Assign(u16),
    /// A waiting patient becomes absent, a tally changes.
    Outcome(u16, u16),
    /// Progress, all ledgers and all tallies change at once.
    Look,
    /// Everything but progress becomes absent, and the rest of the flash is wiped.
    Erase,
    /// The line is idle.
    Rest,
}
use Step::{Assign, Erase, Look, Outcome, Rest};

impl Step {
    fn take(self, journal: &mut Journal<Flash>, book: &mut Book) -> Result<(), Error> {
        let touched: Vec<u16> = match self {
            Assign(w) => [PROGRESS, WAITING.start + w].into(),
            Outcome(w, t) => [WAITING.start + w, TALLIES.start + t].into(),
            Look => [PROGRESS].into_iter().chain(TALLIES).chain(LEDGERS).collect(),
            Erase => (0..KEYS).collect(),
            Rest => return journal.rest().map(drop),
        };
        match self {
            Outcome(w, t) => {
                book.clear([WAITING.start + w]);
                book.renew([TALLIES.start + t]);
            }
            Erase => {
                book.renew([PROGRESS]);
                book.clear(1..KEYS);
            }
            _ => {
                if matches!(self, Look) {
                    journal.make_room(book)?;
                }
                book.renew(touched.iter().copied());
            }
        }
        journal.commit(book, &touched.into_iter().collect::<Keys>())?;
        if matches!(self, Erase) { journal.purge(book) } else { Ok(()) }
    }
}

fn mount(mut flash: Flash) -> Result<(Journal<Flash>, Book), (MountError, Flash)> {
    flash.power_up();
    let mut book = Book::blank();
    Journal::mount(flash, &mut book).map(|journal| (journal, book))
}

/// What went wrong, and how often the power was cut.
#[derive(Default)]
struct Tally {
    cuts: AtomicU64,
    lost: AtomicU64,
    first: Mutex<Option<String>>,
}

impl Tally {
    fn lose(&self, what: String) {
        self.lost.fetch_add(1, Relaxed);
        self.first.lock().unwrap().get_or_insert(what);
    }

    /// Checks a mount against the states allowed: which one is it?
    fn judge<'b>(
        &self,
        mounted: Result<(Journal<Flash>, Book), (MountError, Flash)>,
        allowed: &[&'b Book],
        secrets: &HashSet<u32>,
        context: &dyn Fn() -> String,
    ) -> Option<(Journal<Flash>, &'b Book)> {
        self.cuts.fetch_add(1, Relaxed);
        let (mut journal, book) = match mounted {
            Ok(mounted) => mounted,
            Err((error, flash)) => {
                self.lose(format!("{}: {error:?} {:?}", context(), flash.misuse()));
                return None;
            }
        };
        let Some(state) = allowed.iter().find(|state| state.values == book.values) else {
            self.lose(format!("{}: neither the old state nor the new", context()));
            return None;
        };
        let present: HashSet<u32> = state.secret_words().collect();
        let bytes = journal.flash().bytes();
        let words = bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap()));
        if words.into_iter().any(|word| secrets.contains(&word) && !present.contains(&word)) {
            self.lose(format!("{}: a superseded secret is still on flash", context()));
        }
        if let Some(misuse) = journal.flash().misuse() {
            self.lose(format!("{}: {misuse:?}", context()));
        }
        Some((journal, state))
    }

    /// Cuts every operation of a recovery.
    fn recover(&self, flash: &Flash, state: &Book, secrets: &HashSet<u32>, context: &dyn Fn() -> String) {
        let before = flash.operations();
        let Some((mut journal, _)) = self.judge(mount(flash.clone()), &[state], secrets, context) else {
            return;
        };
        for cut in 0..journal.flash().operations() - before {
            let tears =
                [Tear::None, Tear::Random(cut), Tear::All, Tear::Alternating, Tear::Random(cut << 20)];
            let tear = tears[(cut + before) as usize % tears.len()];
            let mut torn = flash.clone();
            torn.power_up();
            torn.cut_after(cut, tear);
            let context = || format!("{}, then cut at {cut} ({tear:?}) of recovery", context());
            match Journal::mount(torn, &mut Book::blank()) {
                Ok(_) => self.lose(format!("{}: mounted without power", context())),
                Err((_, flash)) => drop(self.judge(mount(flash), &[state], secrets, &context)),
            }
        }
    }
}

/// Takes the steps on a fresh region, with the power cut everywhere.
fn survives(name: &str, blank: u8, steps: &[Step]) {
    let tally = Tally::default();
    let mut book = Book::blank();
    let fresh = Flash::new(PAGES, blank);
    let (mut journal, _) = mount(fresh.clone()).map_err(|(error, _)| error).unwrap();
    let mut secrets = HashSet::new();
    (0..journal.flash().operations()).into_par_iter().for_each(|cut| {
        for tear in [Tear::None, Tear::All, Tear::Alternating, Tear::Random(cut)] {
            let mut flash = fresh.clone();
            flash.cut_after(cut, tear);
            let Err((_, mut flash)) = Journal::mount(flash, &mut Book::blank()) else { panic!("no cut") };
            flash.power_up();
            tally.recover(&flash, &Book::blank(), &secrets, &|| {
                format!("first boot, cut at {cut} ({tear:?})")
            });
        }
    });
    for (number, step) in steps.iter().enumerate() {
        let (old, before) = (book.clone(), journal.flash().operations());
        let mut done = journal.clone();
        step.take(&mut done, &mut book).unwrap();
        secrets.extend(book.secret_words());
        (0..done.flash().operations() - before).into_par_iter().for_each(|cut| {
            let random = (1..4).map(|seed| Tear::Random(seed << 32 | cut));
            for (which, tear) in
                [Tear::None, Tear::All, Tear::Alternating].into_iter().chain(random).enumerate()
            {
                let context = || format!("step {number} {step:?}, cut at {cut} ({tear:?})");
                let mut torn = journal.clone();
                torn.flash().cut_after(cut, tear);
                if step.take(&mut torn, &mut old.clone()).is_ok() {
                    tally.lose(format!("{}: answered without power", context()));
                }
                let mut flash = torn.release();
                flash.power_up();
                let Some((mut journal, state)) =
                    tally.judge(mount(flash.clone()), &[&old, &book], &secrets, &context)
                else {
                    continue;
                };
                if which as u64 == cut % 6 {
                    tally.recover(&flash, state, &secrets, &context);
                }
                // The terminal asks again, and the device goes on.
                let mut state = state.clone();
                let retried =
                    if state.values == old.values { step.take(&mut journal, &mut state) } else { Ok(()) };
                if let Err(error) = retried.and_then(|()| Assign(0).take(&mut journal, &mut state)) {
                    tally.lose(format!("{}: {error:?} {:?}", context(), journal.flash().misuse()));
                    continue;
                }
                let before = journal.flash().operations();
                let again = tally.judge(mount(journal.release()), &[&state], &secrets, &context);
                if again.is_some_and(|(mut journal, _)| journal.flash().operations() != before) {
                    tally.lose(format!("{}: a clean flash was written to", context()));
                }
            }
        });
        journal = done;
    }
    let (cuts, lost) = (tally.cuts.load(Relaxed), tally.lost.load(Relaxed));
    println!("{name}: {cuts} power cuts, {lost} lost something; erases {:?}", journal.flash().erases());
    assert_eq!(lost, 0, "{}", tally.first.lock().unwrap().as_deref().unwrap_or_default());
}

macro_rules! scenario {
    ($name:ident, $blank:expr, $($step:expr),+ $(,)?) => {
        #[test]
        fn $name() {
            survives(stringify!($name), $blank, &[$($step),+]);
        }
    };
}

scenario!(an_assignment_survives, 0xff, Assign(0), Assign(1));
scenario!(
    an_outcome_survives_and_its_past_tally_is_gone,
    0xff,
    Assign(0),
    Outcome(0, 0),
    Outcome(1, 0),
    Outcome(0, 1)
);
scenario!(a_flash_that_starts_as_zeros_is_no_different, 0x00, Assign(0), Outcome(0, 0));
scenario!(a_look_is_done_whole_or_not_at_all, 0xff, Outcome(0, 0), Look, Assign(1), Look);
scenario!(an_erased_trial_is_gone, 0xff, Outcome(0, 0), Look, Erase, Assign(0), Erase);
