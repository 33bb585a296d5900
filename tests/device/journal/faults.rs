//! Dead bits, power cuts and damage.

use std::fmt::Write as _;

use super::{Flash, Life, Print};
use crate::common::book::{
    self, Assign, Book, Days, Erase, LARGE, Look, Outcome, SMALL, Step, mount,
};
use equipoise::journal::Journal;
use equipoise::testkit::strict_flash::{Dead, Tear};

/// A bit dies under the journal, which goes on elsewhere.
pub fn dead_bits(record: &mut String) {
    for dead in [Dead::Zero, Dead::One, Dead::Frozen] {
        let mut print = Print::NEW;
        for place in 0..40_usize {
            let steps = [Days(5), Look, Days(2)];
            let mut life = Life::after(9, [SMALL, LARGE][place % 2], &steps);
            // Words that the next steps write, and some of older pages.
            life.journal.flash().kill(place * 233 % (9 * 1024), (place * 7) as u32, dead);
            let end = [Days(4), Look, Days(60), Erase, Days(2)].iter().try_for_each(|step| {
                let done = step.take(&mut life.journal, &mut life.book);
                print.flash(life.journal.flash());
                done
            });
            print.text(format!("{end:?}").as_bytes());
            print.mounted(mount(life.journal.release(), life.ledger));
        }
        writeln!(record, "{dead:?}: {:016x}", print.0).unwrap();
    }
    // In a slot behind the 32nd, whose mark stands in another word of a page header.
    let mut life = Life::new(40, SMALL);
    life.journal.flash().kill(35 * book::PAGE + 8, 3, Dead::Zero);
    life.take(Days(560));
    let mut print = Print::NEW;
    print.mounted(mount(life.journal.release(), SMALL));
    writeln!(record, "slot 35: {:016x}", print.0).unwrap();
}

/// The power fails in a step, and once more in the recovery.
pub fn power_cuts(record: &mut String) {
    let moments: [(&[Step], Step, usize); 6] = [
        (&[Days(1)], Outcome(0, 1), SMALL),
        (&[Days(7), Assign(1)], Outcome(1, 1), SMALL),
        (&[Days(4)], Look, SMALL),
        (&[Days(3)], Look, LARGE),
        (&[Days(60)], Assign(3), SMALL),
        (&[Days(2), Look], Erase, SMALL),
    ];
    for (steps, step, ledger) in moments {
        let life = Life::after(8, ledger, steps);
        let mut done = life.journal.clone();
        let before = done.flash().operations();
        step.take(&mut done, &mut life.book.clone()).unwrap();
        let cuts = done.flash().operations() - before;
        let mut print = Print::NEW;
        for cut in (0..cuts).step_by(1 + cuts as usize / 12) {
            for tear in [Tear::All, Tear::Random(cut)] {
                let mut torn = life.journal.clone();
                torn.flash().cut_after(cut, tear);
                assert!(step.take(&mut torn, &mut life.book.clone()).is_err());
                let flash = torn.release();
                print.mounted(mount(flash.clone(), ledger));
                let mut again = flash.clone();
                again.power_up();
                again.cut_after(cut % 23, Tear::Alternating);
                let result = Journal::mount(again, &mut Book::blank(ledger));
                let flash = result.map_or_else(|(_, flash)| flash, Journal::release);
                print.mounted(mount(flash, ledger));
            }
        }
        writeln!(record, "{step:?} after {steps:?}, {cuts} operations cut: {:016x}", print.0)
            .unwrap();
    }
}

/// Words of the flash change behind the journal's back; what mounting then says and does.
pub fn damage(record: &mut String) {
    let lives = [
        Life::after(8, SMALL, &[Days(3), Assign(0)]),
        Life::after(8, SMALL, &[Days(25), Look]),
        Life::after(8, SMALL, &[Days(9), Erase]),
    ];
    for (number, mut life) in lives.into_iter().enumerate() {
        let mut print = Print::NEW;
        let words = life.journal.flash().words().to_vec();
        let used = words.iter().enumerate().filter(|(_, word)| **word != u32::MAX);
        // Headers, and a sample of the rest.
        let chosen = used.filter(|(at, _)| at % 256 < 9 || at % 5 == number);
        for (at, word) in chosen {
            for flip in [1 << (at * 13 % 32), 1 << 31, *word, !*word] {
                let mut flash = life.journal.flash().clone();
                flash.damage(at * 4, flip);
                print.mounted(mount(flash, SMALL));
            }
        }
        writeln!(record, "damage {number}: {:016x}", print.0).unwrap();
    }
}

/// A record is torn by a power cut, and a word of it changes as well: a tear, or damage?
pub fn damaged_tears(record: &mut String) {
    let life = Life::after(8, SMALL, &[Days(2), Assign(0), Assign(1)]);
    for (step, cuts, words) in [(Outcome(1, 1), 1, 1), (Look, 25, 5)] {
        let mut print = Print::NEW;
        for cut in (0..).step_by(cuts) {
            let mut torn = life.journal.clone();
            let before = torn.flash().words().to_vec();
            torn.flash().cut_after(cut, [Tear::All, Tear::Random(cut)][cut as usize / cuts % 2]);
            if step.take(&mut torn, &mut life.book.clone()).is_ok() {
                break;
            }
            let flash = torn.release();
            let start = flash.words().iter().zip(&before).position(|(now, then)| now != then);
            let Some(start) = start else { continue };
            for at in (start..start + 12).chain((start + 12..start + 100).step_by(words * 8)) {
                let word = flash.words()[at];
                let bits = [12, 31, at * 5 % 32].map(|bit| 1 << bit);
                for flip in bits.into_iter().chain([word, !word, word ^ 0x0000_2004]) {
                    let mut flash = flash.clone();
                    flash.damage(at * 4, flip);
                    let mounted = mount(flash, SMALL);
                    let what =
                        mounted.map_or_else(|(error, _)| format!("{error:?}"), |_| "good".into());
                    print.text(what.as_bytes());
                }
            }
        }
        writeln!(record, "torn {step:?} and damage: {:016x}", print.0).unwrap();
    }
}

/// The power fails when a fresh flash is first used, and again in the recovery.
pub fn first_power_up(record: &mut String) {
    for blank in [0xff, 0x00] {
        let fresh = Flash::new(8, blank);
        let (mut done, _) = mount(fresh.clone(), SMALL).ok().unwrap();
        let mut print = Print::NEW;
        for cut in (0..done.flash().operations()).step_by(3) {
            for tear in [Tear::None, Tear::Alternating] {
                let mut flash = fresh.clone();
                flash.cut_after(cut, tear);
                let (_, flash) = Journal::mount(flash, &mut Book::blank(SMALL)).err().unwrap();
                print.mounted(mount(flash, SMALL));
            }
        }
        writeln!(record, "first power-up, blank {blank:02x}: {:016x}", print.0).unwrap();
    }
}

/// A bit dies in a page that the next step writes, and the power fails as well.
pub fn dead_bits_and_power_cuts(record: &mut String) {
    for (days, step) in [(4, Outcome(1, 1)), (2, Look)] {
        let life = Life::after(8, SMALL, &[Days(days)]);
        let (mut journal, mut print) = (life.journal, Print::NEW);
        let mut done = journal.clone();
        step.take(&mut done, &mut life.book.clone()).unwrap();
        let cleared = |(before, after): (&u32, &u32)| before & !after;
        let words = journal.flash().words().iter().zip(done.flash().words()).map(cleared);
        let written: Vec<_> = words.enumerate().filter(|(_, bits)| *bits != 0).collect();
        for (at, bits) in written.iter().step_by(1 + written.len() / 8) {
            journal.flash().kill(at * 4, bits.trailing_zeros(), Dead::One);
            let mut moved = journal.clone();
            let before = moved.flash().operations();
            step.take(&mut moved, &mut life.book.clone()).unwrap();
            let cuts = moved.flash().operations() - before;
            print.mounted(mount(moved.release(), SMALL));
            for cut in (0..cuts).rev().step_by(1 + cuts as usize / 10) {
                let mut torn = journal.clone();
                torn.flash().cut_after(cut, Tear::Random(cut));
                assert!(step.take(&mut torn, &mut life.book.clone()).is_err());
                print.mounted(mount(torn.release(), SMALL));
            }
        }
        writeln!(record, "dead bit and power cut in {step:?}: {:016x}", print.0).unwrap();
    }
}

/// The newest page of a journal: its number, and the slots that its header calls failed.
fn newest(flash: &Flash) -> (u32, u64) {
    let pages = flash.words().chunks(book::PAGE / 4).filter(|page| page[0] != u32::MAX);
    let page = pages.max_by_key(|page| page[0]).unwrap();
    (page[0], u64::from(page[4]) << 32 | u64::from(page[3]))
}

/// A page that did not take a record is never opened again, however often the log goes round and
/// the power comes back.
#[test]
fn a_failed_page_is_never_opened_again() {
    const PAGES: usize = 9;
    for (slot, word) in [(1, 60), (4, 150), (8, 250)] {
        let mut life = Life::after(PAGES, SMALL, &[Days(3)]);
        // A bit that is 0 in every word of every value.
        life.journal.flash().kill(slot * book::PAGE + word * 4, 2, Dead::One);
        let found = |life: &mut Life| newest(life.journal.flash()).1 == 1 << slot;
        assert!((0..99).any(|_| {
            life.take(Days(4));
            found(&mut life)
        }));
        let first = |flash: &Flash| flash.words()[slot * book::PAGE / 4];
        let flash = life.journal.flash();
        let (number, opened, erased) = (newest(flash).0, first(flash), flash.erases()[slot]);
        while newest(life.journal.flash()).0 < number + 3 * PAGES as u32 {
            life.take(Days(10));
            life = life.power_up();
            let flash = life.journal.flash();
            assert!([opened, u32::MAX].contains(&first(flash)), "slot {slot} was opened again");
            // Once to wipe what the failed record left.
            assert!(flash.erases()[slot] <= erased + 1, "slot {slot} was erased again");
            assert!(found(&mut life), "slot {slot} was forgotten");
        }
    }
}
