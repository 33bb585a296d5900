//! The log goes round its region for ever: pages wear evenly, room never runs out, and the number
//! of flash operations says nothing about values.
use crate::common::book;

use book::{Assign, Book, Days, Erase, Flash, LARGE, Look, Outcome, PAGES, SMALL, Step, mount};
use equipoise::journal::{Error, Journal};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

fn fresh(ledger: usize) -> (Journal<Flash>, Book) {
    mount(Flash::new(PAGES, 0xff), ledger).map_err(|(error, _)| error).unwrap()
}

/// A step drawn at random: mostly patients, sometimes looks, now and then another trial.
fn any_step(random: &mut Xoshiro256PlusPlus) -> Step {
    let (waiting, tally) = (random.next_u32() as u16 % 4, random.next_u32() as u16 % 3);
    match random.next_u32() % 64 {
        0 => Erase,
        1..4 => Look,
        4..36 => Assign(waiting),
        _ => Outcome(waiting, tally),
    }
}

#[test]
fn room_never_runs_out_and_pages_wear_evenly() {
    // The power goes off after every so many steps.
    for (seed, ledger, restart) in
        [(1, SMALL, 256), (2, LARGE, 256), (3, 80, 16), (4, LARGE, 1), (5, SMALL, 1)]
    {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let (mut journal, mut book) = fresh(ledger);
        for number in 0..10_000 {
            let step = any_step(&mut random);
            step.take(&mut journal, &mut book)
                .unwrap_or_else(|error| panic!("{number} {step:?}: {error:?}"));
            if random.next_u32().is_multiple_of(restart) {
                let (again, found) =
                    mount(journal.release(), ledger).map_err(|(error, _)| error).unwrap();
                assert_eq!(found.values, book.values, "step {number}");
                (journal, book) = (again, found.after(&book));
            }
        }
        assert_eq!(journal.flash().misuse(), None);
        let erases = journal.flash().erases();
        println!("ledgers of {ledger} bytes, power off after {restart} steps: {erases:?}");
        let (least, most) = (erases.iter().min().unwrap(), erases.iter().max().unwrap());
        assert!(most - least <= most / 10);
    }
}

/// The number of flash operations is the same whatever the values are.
#[test]
fn flash_work_does_not_depend_on_values() {
    let mut counts = Vec::new();
    for values in [0_u8, 0xff, 0x5a] {
        let (mut journal, mut book) = fresh(SMALL);
        let mut random = Xoshiro256PlusPlus::seed_from_u64(9);
        let mut operations = Vec::new();
        for _ in 0..2_000 {
            any_step(&mut random).take_with(&mut journal, &mut book, Some(values)).unwrap();
            operations.push(journal.flash().operations());
        }
        counts.push(operations);
    }
    assert!(counts.windows(2).all(|pair| pair[0] == pair[1]));
}

/// A large change without room is refused and changes nothing.
#[test]
fn a_large_commit_needs_room() {
    let (mut journal, mut book) = fresh(LARGE);
    Days(1).take(&mut journal, &mut book).unwrap();
    let before = journal.flash().bytes();
    let mut changed = book.clone();
    Look.change(&mut changed);
    assert_eq!(journal.commit(&changed, || 0..book::KEYS), Err(Error::Room));
    assert_eq!(journal.flash().bytes(), before);
    journal.make_room(&book).unwrap();
    journal.commit(&changed, || 0..book::KEYS).unwrap();
    let (_, found) = mount(journal.release(), LARGE).map_err(|(error, _)| error).unwrap();
    assert_eq!(found.values, changed.values);
}

/// A journal whose flash failed refuses everything until it is mounted again.
#[test]
fn a_broken_journal_refuses_commits() {
    let (mut journal, mut book) = fresh(SMALL);
    journal.flash().cut_after(3, equipoise::testkit::strict_flash::Tear::Alternating);
    assert!(matches!(Assign(0).take(&mut journal, &mut book), Err(Error::Flash(_))));
    journal.flash().power_up();
    assert_eq!(Assign(0).take(&mut journal, &mut book), Err(Error::Broken));
    let (mut journal, mut book) =
        mount(journal.release(), SMALL).map_err(|(error, _)| error).unwrap();
    Assign(0).take(&mut journal, &mut book).unwrap();
}

/// A device that is switched on and off without patients erases and writes nothing.
#[test]
fn power_cycles_do_no_flash_work() {
    let (mut journal, mut book) = fresh(SMALL);
    for days in 0..20 {
        Days(days % 3).take(&mut journal, &mut book).unwrap();
        let before = journal.flash().operations();
        for _ in 0..3 {
            (journal, book) = mount(journal.release(), SMALL).map_err(|(error, _)| error).unwrap();
        }
        assert_eq!(journal.flash().operations(), before, "after {days} days");
    }
}
