//! Committed data survives a power cut at any word write and any erase, and so does every recovery.
//!
//! Each scenario is one line. The harness takes it step by step, cuts the power at every flash
//! operation of every step in several ways, switches it on again with nothing but what is on flash,
//! and cuts every operation of that recovery as well. It counts the cuts and how many lost
//! something.
//!
//! An ordinary run cuts the recoveries of a sample of the first cuts. All of them, for some
//! minutes: `EQUIPOISE_EVERY_CUT=1 cargo test --test device power_cut:: -- --nocapture`.

mod first_start;

use crate::common::book;
use crate::common::cuts;

use std::collections::HashSet;
use std::sync::atomic::Ordering::Relaxed;

use book::{
    Assign, Book, Days, Erase, Flash, LARGE, Look, Mounted, Outcome, PAGES, SMALL, Step, mount,
};
use cuts::{Tally, every_cut, tears};
use equipoise::journal::Journal;
use equipoise::testkit::strict_flash::{Dead, Tear};
use rayon::prelude::*;

/// A scenario under way.
struct Rig {
    tally: Tally,
    /// Bytes of a ledger.
    ledger: usize,
    /// Every word that ever belonged to a secret part.
    secrets: HashSet<u32>,
    /// The flash has a dead bit: a repair may leave something to repair.
    sick: bool,
}

impl Rig {
    /// After a cut the state must be one of those allowed, on a flash that was treated by its
    /// rules, with no word of any other value of a secret part on it.
    fn judge(
        &self,
        mounted: Mounted,
        allowed: &[&Book],
        context: &dyn Fn() -> String,
    ) -> Option<(Journal<Flash>, Book)> {
        self.tally.cuts.fetch_add(1, Relaxed);
        let (mut journal, book) = match mounted {
            Ok(mounted) => mounted,
            Err((error, flash)) => {
                self.tally.lose(format!("{}: {error:?} {:?}", context(), flash.misuse()));
                return None;
            }
        };
        let Some(state) = allowed.iter().find(|state| state.values == book.values) else {
            self.tally.lose(format!("{}: neither the old state nor the new", context()));
            return None;
        };
        let present: HashSet<u32> = state.secret_words().collect();
        if book::value_words(journal.flash())
            .any(|word| self.secrets.contains(&word) && !present.contains(&word))
        {
            self.tally.lose(format!("{}: a superseded secret is still on flash", context()));
        }
        if let Some(misuse) = journal.flash().misuse() {
            self.tally.lose(format!("{}: {misuse:?}", context()));
        }
        Some((journal, book.after(state)))
    }

    /// Cuts every operation of a recovery; each must come to the same state.
    fn recover(&self, flash: &Flash, state: &Book, context: &dyn Fn() -> String) {
        let before = flash.operations();
        let Some((mut journal, _)) =
            self.judge(mount(flash.clone(), self.ledger), &[state], context)
        else {
            return;
        };
        for cut in 0..journal.flash().operations() - before {
            let tear = tears(cut).nth((cut + before) as usize % 6).unwrap();
            let mut torn = flash.clone();
            torn.power_up();
            torn.cut_after(cut, tear);
            let context = || format!("{}, then at {cut} ({tear:?}) of the recovery", context());
            match Journal::mount(torn, &mut Book::blank(self.ledger)) {
                Ok(_) => self.tally.lose(format!("{}: mounted without power", context())),
                Err((_, flash)) => drop(self.judge(mount(flash, self.ledger), &[state], &context)),
            }
        }
    }

    /// Cuts one operation of a step, in every way. The recoveries are cut as well: all of them, or
    /// one at every `stride`-th cut, another one each time.
    fn cut(
        &self,
        journal: &Journal<Flash>,
        step: Step,
        (old, new): (&Book, &Book),
        cut: u64,
        stride: u64,
    ) {
        let all = every_cut();
        for (way, tear) in tears(cut).enumerate() {
            let context = || format!("{step:?}, cut at {cut} ({tear:?})");
            let mut torn = journal.clone();
            torn.flash().cut_after(cut, tear);
            if step.take(&mut torn, &mut old.clone()).is_ok() {
                self.tally.lose(format!("{}: answered without power", context()));
            }
            let mut flash = torn.release();
            flash.power_up();
            let mounted = mount(flash.clone(), self.ledger);
            let Some((mut journal, mut state)) = self.judge(mounted, &[old, new], &context) else {
                continue;
            };
            if all || cut.is_multiple_of(stride) && way as u64 == cut / stride % 6 {
                self.recover(&flash, &state, &context);
            }
            // The terminal asks again, and the device goes on.
            let retried = if state.values == old.values {
                step.take(&mut journal, &mut state)
            } else {
                Ok(())
            };
            if let Err(error) = retried.and_then(|()| Days(1).take(&mut journal, &mut state)) {
                self.tally.lose(format!("{}: {error:?} {:?}", context(), journal.flash().misuse()));
                continue;
            }
            let before = journal.flash().operations();
            let again = self.judge(mount(journal.release(), self.ledger), &[&state], &context);
            if !self.sick
                && again.is_some_and(|(mut journal, _)| journal.flash().operations() != before)
            {
                self.tally.lose(format!("{}: a clean flash was written to", context()));
            }
        }
    }
}

/// Takes the steps on a fresh region, with the power cut everywhere.
fn survives(name: &str, blank: u8, ledger: usize, stride: u64, steps: &[Step]) {
    let mut rig = Rig { tally: Tally::default(), ledger, secrets: HashSet::new(), sick: false };
    let mut book = Book::blank(ledger);
    let fresh = Flash::new(PAGES, blank);
    let (mut journal, _) = mount(fresh.clone(), ledger).map_err(|(error, _)| error).unwrap();
    (0..journal.flash().operations()).into_par_iter().for_each(|cut| {
        for tear in [Tear::None, Tear::All, Tear::Alternating, Tear::Random(cut)] {
            let mut flash = fresh.clone();
            flash.cut_after(cut, tear);
            let Err((_, mut flash)) = Journal::mount(flash, &mut Book::blank(ledger)) else {
                panic!("no cut")
            };
            flash.power_up();
            rig.recover(&flash, &Book::blank(ledger), &|| {
                format!("first boot, cut at {cut} ({tear:?})")
            });
        }
    });
    for step in steps {
        let (old, before) = (book.clone(), journal.flash().operations());
        let mut done = journal.clone();
        step.take(&mut done, &mut book).unwrap();
        rig.secrets.extend(book.secret_words());
        if !matches!(step, Days(_)) {
            let cuts = done.flash().operations() - before;
            (0..cuts)
                .into_par_iter()
                .for_each(|cut| rig.cut(&journal, *step, (&old, &book), cut, stride));
        }
        journal = done;
    }
    rig.tally.print(name);
}

macro_rules! scenarios {
    ($($name:ident: $blank:expr, $ledger:expr, $stride:expr, [$($step:expr),+ $(,)?];)+) => {$(
        #[test]
        fn $name() {
            survives(stringify!($name), $blank, $ledger, $stride, &[$($step),+]);
        }
    )+};
}

scenarios! {
    an_assignment_survives: 0xff, SMALL, 1, [Assign(0), Assign(1)];
    an_outcome_survives_and_its_past_tally_is_gone: 0xff, SMALL, 1, [Outcome(0, 0), Outcome(1, 0), Outcome(0, 1)];
    a_flash_that_starts_as_zeros_is_no_different: 0x00, SMALL, 1, [Assign(0), Outcome(0, 0)];
    a_page_turns: 0xff, SMALL, 2, [Days(7), Outcome(1, 1), Assign(2), Outcome(2, 2), Assign(3), Outcome(3, 0), Assign(1)];
    the_log_goes_round_the_region: 0xff, SMALL, 3, [Days(99), Assign(0), Outcome(1, 0), Assign(1), Outcome(2, 1), Assign(2), Outcome(1, 2), Assign(3), Outcome(1, 1)];
    a_page_turns_on_a_flash_of_zeros: 0x00, SMALL, 2, [Days(7), Outcome(1, 1), Assign(2), Outcome(2, 2), Assign(3), Outcome(3, 0), Assign(1)];
    a_look_is_done_whole_or_not_at_all: 0xff, SMALL, 2, [Days(1), Look, Assign(1), Look];
    a_look_larger_than_a_page_is_too: 0xff, LARGE, 29, [Days(3), Look, Assign(1), Days(40), Look, Outcome(1, 1)];
    an_erased_trial_is_gone_and_another_begins: 0xff, SMALL, 5, [Days(2), Look, Erase, Assign(0), Look, Erase, Outcome(0, 0)];
}

#[test]
fn pages_turn_at_any_request() {
    // More than fit into a page: page changes fall on different requests.
    survives("pages_turn_at_any_request", 0xff, SMALL, 3, &[Days(1), Assign(1)].repeat(16));
}

/// A bit that a request writes is dead, and the power is cut as well: the request is done whole or
/// not at all, and the record that did not read back leaves no secret behind.
#[test]
fn dead_bit_and_power_cut_lose_nothing() {
    let mut rig =
        Rig { tally: Tally::default(), ledger: SMALL, secrets: HashSet::new(), sick: true };
    for (days, step) in [(4, Outcome(1, 1)), (7, Outcome(0, 2)), (2, Look)] {
        rig.secrets.clear();
        let (mut journal, mut book) =
            mount(Flash::new(PAGES, 0xff), SMALL).map_err(|(error, _)| error).unwrap();
        for day in 0..days {
            Assign(day % 4).take(&mut journal, &mut book).unwrap();
            Outcome(day % 4, day % 3).take(&mut journal, &mut book).unwrap();
            rig.secrets.extend(book.secret_words());
        }
        let old = book.clone();
        let mut done = journal.clone();
        step.take(&mut done, &mut book).unwrap();
        rig.secrets.extend(book.secret_words());
        let cleared = |(before, after): (&u32, &u32)| before & !after;
        let words = journal.flash().words().iter().zip(done.flash().words()).map(cleared);
        let written: Vec<(usize, u32)> = words.enumerate().filter(|(_, bits)| *bits != 0).collect();
        written.par_iter().for_each(|(at, bits)| {
            let (at, bit) = (*at, if at % 2 == 0 { bits.trailing_zeros() } else { bits.ilog2() });
            let mut sick = journal.clone();
            sick.flash().kill(at * 4, bit, Dead::One);
            let before = sick.flash().operations();
            let mut moved = sick.clone();
            step.take(&mut moved, &mut old.clone()).unwrap();
            let context = || format!("{step:?}, bit {bit} of word {at} dead");
            let cuts = moved.flash().operations() - before;
            rig.judge(mount(moved.release(), SMALL), &[&book], &context);
            // Another third of the cuts for each bit.
            let cuts = (0..cuts).skip(at % 3).step_by(3);
            cuts.for_each(|cut| rig.cut(&sick, step, (&old, &book), cut, 50));
        });
    }
    rig.tally.print("dead_bit_and_power_cut_lose_nothing");
}
