//! The journal's work on flash, held against a record of it: which words are written and erased in
//! every step of a life, with dead bits, power cuts and damage.
//!
//! Other tests show that the journal keeps its promises; this one shows that it did not change. The
//! format must stay readable, and the number and order of flash operations are part of what an
//! observer sees. If a change is wanted, `EQUIPOISE_GOLDEN=write cargo test --test device
//! journal::` makes a new record.

use crate::common::book;
mod faults;
mod limits;
use crate::common::wide;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use book::{Assign, Book, Days, Erase, Flash, LARGE, Look, Outcome, SMALL, Step, mount};
use equipoise::journal::Journal;
use wide::Wide;

/// A fingerprint.
struct Print(u64);

impl Print {
    const NEW: Self = Self(0);

    fn add(&mut self, numbers: impl IntoIterator<Item = u64>) {
        for number in numbers {
            self.0 = (self.0 ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
        }
    }

    fn text(&mut self, bytes: &[u8]) {
        self.add(bytes.iter().copied().map(u64::from));
    }

    /// Adds the content of the flash and the number of its operations.
    fn flash(&mut self, flash: &Flash) {
        self.add([flash.operations()]);
        self.add(flash.words().iter().copied().map(u64::from));
    }

    /// Adds the result of a mount.
    fn mounted(&mut self, mounted: book::Mounted) {
        match mounted {
            Ok((mut journal, book)) => {
                self.text(&book.values.concat());
                self.flash(journal.flash());
            }
            Err((error, flash)) => {
                self.text(format!("{error:?}").as_bytes());
                self.flash(&flash);
            }
        }
    }
}

/// A journal with the model of a device.
struct Life {
    journal: Journal<Flash>,
    book: Book,
    ledger: usize,
}

impl Life {
    fn new(pages: usize, ledger: usize) -> Self {
        let (journal, book) = mount(Flash::new(pages, 0xff), ledger).ok().unwrap();
        Self { journal, book, ledger }
    }

    fn after(pages: usize, ledger: usize, steps: &[Step]) -> Self {
        let mut life = Self::new(pages, ledger);
        steps.iter().for_each(|step| life.take(*step));
        life
    }

    /// Its parts, none of them absent.
    fn filled(mut self) -> Book {
        (0..4).for_each(|slot| self.take(Assign(slot)));
        self.take(Look);
        self.book
    }

    fn take(&mut self, step: Step) {
        step.take(&mut self.journal, &mut self.book).unwrap();
    }

    fn power_up(self) -> Self {
        let Self { journal, book, ledger } = self;
        let (journal, found) = mount(journal.release(), ledger).ok().unwrap();
        assert_eq!(found.values, book.values);
        Self { journal, book: found.after(&book), ledger }
    }
}

/// Every step of a life without faults, a power-up after each stretch.
fn healthy(record: &mut String) {
    let day = [Assign(0), Outcome(0, 0), Assign(1), Assign(2), Outcome(1, 1), Outcome(2, 2)];
    for (pages, ledger) in [(8, SMALL), (11, SMALL), (16, LARGE)] {
        let mut life = Life::new(pages, ledger);
        for stretch in 0..6 {
            let more = match stretch {
                0 => vec![],
                1 => vec![Days(9), Days(30)],
                2 => vec![Look, Look],
                3 => vec![Days(80), Erase, Days(3)],
                4 => vec![Look, Days(1), Look],
                _ => vec![Days(500), Look, Erase],
            };
            for step in day.into_iter().chain(more) {
                let before = life.journal.flash().operations();
                let erases: u32 = life.journal.flash().erases().iter().sum();
                life.take(step);
                let flash = life.journal.flash();
                let erases = flash.erases().iter().sum::<u32>() - erases;
                let words = flash.operations() - before - u64::from(erases);
                let mut print = Print::NEW;
                print.flash(flash);
                writeln!(
                    record,
                    "{pages} pages, ledgers of {ledger}, {step:?}: {words} words, {erases} erases, flash {:016x}",
                    print.0
                )
                .unwrap();
            }
            life = life.power_up();
        }
        assert_eq!(life.journal.flash().misuse(), None);
    }
}

/// Flash that holds no journal of these parts: what mounting says, and what is asked without
/// mounting.
fn strange_flash(record: &mut String) {
    let with = |changes: &[(usize, u8)]| {
        let mut bytes = vec![0xff; 8 * book::PAGE];
        changes.iter().for_each(|(at, byte)| bytes[*at] = *byte);
        bytes
    };
    let halves = [vec![0; 4 * book::PAGE], vec![0xff; 4 * book::PAGE]].concat();
    let mut life = Life::after(8, SMALL, &[Days(3)]);
    let other = std::fs::read(golden("1-interim.flash")).unwrap();
    let shorter = life.journal.flash().bytes()[..4 * book::PAGE].to_vec();
    let images = [
        ("blank", with(&[])),
        ("zeros", vec![0; 8 * book::PAGE]),
        ("half zeros", halves),
        ("one byte", with(&[(5000, 0x7f)])),
        ("two bytes of a page", with(&[(5000, 0x7f), (5050, 0)])),
        ("two pages with a byte", with(&[(5000, 0x7f), (8, 0)])),
        ("three pages with a byte", with(&[(5000, 0x7f), (8, 0), (2050, 9)])),
        ("a journal", life.journal.flash().bytes()),
        ("half a journal", [shorter, vec![0xff; 4 * book::PAGE]].concat()),
        ("another format", other[..other.len().min(8 * book::PAGE)].to_vec()),
    ];
    for (name, mut bytes) in images {
        bytes.resize(8 * book::PAGE, 0xff);
        let mounted = mount(Flash::from_bytes(&bytes), SMALL);
        let what =
            mounted.map_or_else(|(error, _)| format!("{error:?}: {error}"), |_| "mounted".into());
        let foreign = Journal::is_foreign(Flash::from_bytes(&bytes)).unwrap();
        writeln!(record, "{name}: {what}, foreign {foreign}").unwrap();
    }
    let mut few = Wide::new(3, 20, 0);
    let mounted = Journal::mount(life.journal.release(), &mut few);
    writeln!(record, "other parts: {:?}", mounted.err().unwrap().0).unwrap();
}

/// Which regions carry how many parts of which length.
fn capacities(record: &mut String) {
    for pages in [8, 12, 20, 33] {
        let journal = Journal::mount(Flash::new(pages, 0xff), &mut Wide::new(1, 4, 0).blank());
        let (journal, mut print) = (journal.ok().unwrap(), Print::NEW);
        for count in (1..90).step_by(4) {
            for length in (1..=32).map(|words| words * 4) {
                let carried = journal.carries(&Wide::new(count, length, 0));
                print.add(carried.err().map(|small| u64::from(small.pages << 16 | small.needed)));
            }
        }
        writeln!(
            record,
            "what {pages} pages carry: {:016x}, a small book {:?}, a large one {:?}",
            print.0,
            journal.carries(&Life::new(8, SMALL).filled()),
            journal.carries(&Life::new(8, LARGE).filled())
        )
        .unwrap();
    }
}

/// Transactions of half a page, which are one record whatever is left of the page, and smaller ones
/// of more parts than an ordinary request has, with room made after them.
fn transactions(record: &mut String) {
    let mut parts = Wide::new(12, 68, 0).blank();
    let mut journal = Journal::mount(Flash::new(16, 0xff), &mut parts).ok().unwrap();
    parts.renew(2);
    for _ in 0..6 {
        let before = journal.flash().operations();
        journal.commit(&parts, || [1, 2, 4, 5, 7, 8, 10].into_iter()).unwrap();
        let operations = journal.flash().operations() - before;
        writeln!(record, "half a page: {operations} operations").unwrap();
    }
    for pages in 10..16 {
        let mut parts = Wide::new(20, 40, 0).blank();
        let mut journal = Journal::mount(Flash::new(pages, 0xff), &mut parts).ok().unwrap();
        let mut print = Print::NEW;
        for round in 0..60 {
            for _ in 0..=round % 7 {
                parts.renew(round);
                journal.commit(&parts, || (0..5).map(|at| (round + at * 3) % 20)).unwrap();
            }
            print.add([journal.flash().operations()]);
            if round % 2 == 0 {
                journal.make_room(&parts).unwrap();
                print.add([journal.flash().operations()]);
            }
        }
        writeln!(record, "five parts at a time on {pages} pages: {:016x}", print.0).unwrap();
    }
}

/// Many parts, long and short: which regions carry them, and that they are read again.
fn geometries(record: &mut String) {
    for parts in [
        Wide::new(1, 4, 0),
        Wide::new(40, 128, 0),
        Wide::new(64, 81, 0),
        Wide::new(512, 9, 40),
        Wide::new(300, 30, 0),
        Wide::new(512, 20, 600),
    ] {
        for pages in [8, 9, 12, 20, 33, 64] {
            let mut found = parts.blank();
            let mounted = Journal::mount(Flash::new(pages, 0xff), &mut found);
            let journal = mounted.map_err(|(error, _)| error).unwrap();
            let carried = journal.carries(&parts);
            writeln!(record, "{parts:?} on {pages} pages: {carried:?}").unwrap();
            if carried.is_err() {
                continue;
            }
            let (mut journal, mut print) = (journal, Print::NEW);
            for round in 0..4 {
                journal.make_room(&found).unwrap();
                found.renew(round);
                journal.commit(&found, || 0..found.keys()).unwrap();
                print.flash(journal.flash());
                for key in (0..found.keys()).step_by(1 + usize::from(found.keys()) / 9) {
                    journal.commit(&found, || core::iter::once(key)).unwrap();
                }
                print.flash(journal.flash());
                let mut read = parts.blank();
                let mounted = Journal::mount(journal.release(), &mut read);
                journal = mounted.map_err(|(error, _)| error).unwrap();
                assert!(read.values == found.values, "{parts:?} on {pages} pages, round {round}");
                found = read;
            }
            writeln!(record, "its flash: {:016x}", print.0).unwrap();
        }
    }
}

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

#[test]
fn flash_work_is_as_recorded() {
    let mut record = String::new();
    healthy(&mut record);
    faults::dead_bits(&mut record);
    faults::power_cuts(&mut record);
    faults::damage(&mut record);
    faults::damaged_tears(&mut record);
    faults::first_power_up(&mut record);
    faults::dead_bits_and_power_cuts(&mut record);
    strange_flash(&mut record);
    capacities(&mut record);
    transactions(&mut record);
    geometries(&mut record);
    let path = golden("journal.txt");
    if std::env::var("EQUIPOISE_GOLDEN").as_deref() == Ok("write") {
        std::fs::write(&path, &record).unwrap();
    }
    let wanted = std::fs::read_to_string(&path).unwrap();
    for (wanted, found) in wanted.lines().zip(record.lines()) {
        assert_eq!(found, wanted, "see the header of this file");
    }
    assert_eq!(record.lines().count(), wanted.lines().count());
}
