//! What was committed survives a power cut at any word write and any erase, and so does every recovery from one.
//!
//! Each scenario is one line. The harness takes it step by step, cuts the power at every flash operation of every
//! step in several ways, switches it on again with nothing but what is on flash, and cuts every operation of that
//! recovery as well. It counts the cuts and how many of them lost something.
//!
//! An ordinary run cuts the recoveries of a sample of the first cuts. All of them, for some minutes:
//! `EQUIPOISE_EVERY_CUT=1 cargo test --test power_cut -- --nocapture`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod book;
mod desk;

use std::cell::RefCell;
use std::collections::HashSet;
use std::io::Write as _;
use std::rc::Rc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use book::{
    Assign, Book, Days, Erase, Flash, LARGE, Look, Mounted, Outcome, PAGES, Rest, SMALL, Step, mount,
};
use desk::{Desk, KEY};
use equipoise::device::Held;
use equipoise::journal::{Journal, Parts};
use equipoise::testkit::strict_flash::{StrictFlash, Tear};
use equipoise::wire::Request;
use rayon::prelude::*;

/// How often the power was cut, how often that lost something, and what came first.
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

    fn print(&self, name: &str) {
        let (cuts, lost) = (self.cuts.load(Relaxed), self.lost.load(Relaxed));
        // Past the harness, which would keep it from CI's output.
        let _ = writeln!(std::io::stderr(), "{name}: {cuts} power cuts, {lost} lost something");
        assert_eq!(lost, 0, "{}", self.first.lock().unwrap().as_deref().unwrap_or_default());
    }
}

/// Is every recovery to be cut?
fn every_cut() -> bool {
    std::env::var_os("EQUIPOISE_EVERY_CUT").is_some_and(|value| value == "1")
}

/// The ways in which the first operation that fails is torn.
fn tears(cut: u64) -> impl Iterator<Item = Tear> {
    let random = (1..4).map(move |seed| Tear::Random(seed << 32 | cut));
    [Tear::None, Tear::All, Tear::Alternating].into_iter().chain(random)
}

/// A scenario under way.
struct Rig {
    tally: Tally,
    /// Bytes of a ledger.
    ledger: usize,
    /// Every word that ever belonged to a secret part.
    secrets: HashSet<u32>,
}

impl Rig {
    /// After a cut the state must be one of those allowed, on a flash that was treated by its rules, with no word of
    /// any other value of a secret part on it.
    fn judge<'b>(
        &self,
        mounted: Mounted,
        allowed: &[&'b Book],
        context: &dyn Fn() -> String,
    ) -> Option<(Journal<Flash>, &'b Book)> {
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
        Some((journal, state))
    }

    /// Cuts every operation of a recovery; each must come to the same state.
    fn recover(&self, flash: &Flash, state: &Book, context: &dyn Fn() -> String) {
        let before = flash.operations();
        let Some((mut journal, _)) = self.judge(mount(flash.clone(), self.ledger), &[state], context) else {
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

    /// Cuts one operation of a step, in every way. The recoveries are cut as well: all of them, or one at every
    /// `stride`-th cut, another one each time.
    fn cut(&self, journal: &Journal<Flash>, step: Step, (old, new): (&Book, &Book), cut: u64, stride: u64) {
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
            let Some((mut journal, state)) = self.judge(mounted, &[old, new], &context) else { continue };
            if all || cut.is_multiple_of(stride) && way as u64 == cut / stride % 6 {
                self.recover(&flash, state, &context);
            }
            // The terminal asks again, and the device goes on.
            let mut state = state.clone();
            let retried =
                if state.values == old.values { step.take(&mut journal, &mut state) } else { Ok(()) };
            if let Err(error) = retried.and_then(|()| Days(1).take(&mut journal, &mut state)) {
                self.tally.lose(format!("{}: {error:?} {:?}", context(), journal.flash().misuse()));
                continue;
            }
            let before = journal.flash().operations();
            let again = self.judge(mount(journal.release(), self.ledger), &[&state], &context);
            if again.is_some_and(|(mut journal, _)| journal.flash().operations() != before) {
                self.tally.lose(format!("{}: a clean flash was written to", context()));
            }
        }
    }
}

/// Takes the steps on a fresh region, with the power cut everywhere.
fn survives(name: &str, blank: u8, ledger: usize, stride: u64, steps: &[Step]) {
    let mut rig = Rig { tally: Tally::default(), ledger, secrets: HashSet::new() };
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
            rig.recover(&flash, &Book::blank(ledger), &|| format!("first boot, cut at {cut} ({tear:?})"));
        }
    });
    for step in steps {
        let (old, before) = (book.clone(), journal.flash().operations());
        let mut done = journal.clone();
        step.take(&mut done, &mut book).unwrap();
        rig.secrets.extend(book.secret_words());
        if !matches!(step, Days(_)) {
            let cuts = done.flash().operations() - before;
            (0..cuts).into_par_iter().for_each(|cut| rig.cut(&journal, *step, (&old, &book), cut, stride));
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
    a_page_is_erased_ahead: 0x00, SMALL, 2, [Days(63), Rest, Outcome(0, 1), Assign(1), Rest, Rest];
    a_look_is_done_whole_or_not_at_all: 0xff, SMALL, 2, [Days(1), Look, Assign(1), Look];
    a_look_larger_than_a_page_is_too: 0xff, LARGE, 29, [Days(3), Look, Assign(1), Days(40), Look, Outcome(1, 1)];
    an_erased_trial_is_gone_and_another_begins: 0xff, SMALL, 5, [Days(2), Look, Erase, Assign(0), Look, Erase, Outcome(0, 0)];
}

#[test]
fn a_page_is_opened_ahead() {
    // More than fit into a page, so that too little is left of it at some rest.
    survives("a_page_is_opened_ahead", 0xff, SMALL, 3, &[Days(1), Rest, Rest, Assign(1)].repeat(16));
}

/// What a terminal asks of a device, or power-up.
#[derive(Clone, Copy, Debug)]
enum Act {
    /// Sets the custodian's key.
    Key,
    /// A line to be sent, and what its answer begins with.
    Ask(&'static str, &'static str),
    /// The same, as a custodian.
    Order(&'static str, &'static str),
    /// The line is idle: noise is drawn, a look that is due is done, a page is erased ahead.
    Idle,
    /// Patients with these numbers come and go; the power stays on.
    Ward(u32, u32),
}
use Act::{Ask, Idle, Order, Ward};

/// Everything durable, as it is on flash.
fn durable(flash: &desk::Flash) -> Option<Vec<Vec<u8>>> {
    let mut held = Box::new(Held::<4, 8>::BLANK);
    Journal::mount(flash.clone(), &mut *held).ok()?;
    let encode = |key| {
        let mut bytes = vec![0; held.length(key)];
        if !bytes.is_empty() {
            held.encode(key, &mut bytes);
        }
        bytes
    };
    Some((0..held.count()).map(encode).collect())
}

impl Act {
    /// Does it; none if the power failed before the answer.
    fn perform(self, desk: &mut Desk) -> Option<String> {
        let answer = match self {
            Act::Key => desk.ask(&Request::Key(KEY).to_string()),
            Ask(line, _) => desk.ask(line),
            Order(line, _) => {
                desk.auth();
                desk.ask(line)
            }
            Idle => {
                desk.settle();
                String::new()
            }
            Ward(first, last) => {
                for patient in first..=last {
                    desk.assign(patient, patient % 2);
                    desk.settle();
                    assert_eq!(desk.ask(&format!("OUTCOME {patient} 1")), format!("OK {patient}"));
                }
                String::new()
            }
        };
        let expected = match self {
            Act::Key => "OK",
            Ask(_, expected) | Order(_, expected) => expected,
            Idle | Ward(..) => "",
        };
        let off = desk.flash.0.borrow().is_off();
        assert!(off || answer.starts_with(expected), "{self:?}: {answer}");
        (!off).then_some(answer)
    }
}

/// The device at the point where the power failed, and which act that was.
fn until_cut(acts: &[Act], cut: u64, tear: Tear) -> (Desk, usize) {
    let mut desk = Desk::blank(SEED);
    let ready = desk.flash.0.borrow().operations();
    desk.flash.0.borrow_mut().cut_after(cut - ready, tear);
    let failed = acts.iter().position(|act| act.perform(&mut desk).is_none());
    (desk, failed.expect("the power was to fail"))
}

const SEED: u64 = 7;

/// Runs a trial through the device's line, with the power cut everywhere.
fn trial_survives(name: &str, acts: &[Act]) {
    let tally = Tally::default();
    let mut desk = Desk::blank(SEED);
    let mut states = vec![durable(&desk.flash).unwrap()];
    let (mut answers, mut cuts) = (Vec::new(), Vec::new());
    for act in acts {
        let before = desk.flash.0.borrow().operations();
        answers.push(act.perform(&mut desk).unwrap());
        states.push(durable(&desk.flash).unwrap());
        if !matches!(act, Ward(..)) {
            cuts.extend(before..desk.flash.0.borrow().operations());
        }
    }
    let status = desk.ask("STATUS");
    cuts.into_par_iter().for_each(|cut| {
        // In an ordinary run in two ways, one of them by chance.
        let all = every_cut();
        let chosen = |way: &usize| all || [cut % 3, 3 + cut % 3].contains(&(*way as u64));
        for (way, tear) in tears(cut).enumerate().filter(|(way, _)| chosen(way)) {
            let (desk, failed) = until_cut(acts, cut, tear);
            let lose =
                |what: &str| tally.lose(format!("{:?}, cut at {cut} ({tear:?}): {what}", acts[failed]));
            tally.cuts.fetch_add(1, Relaxed);
            let torn = desk.flash.0.borrow().clone();
            let mut desk = desk.power_up(cut);
            let recovered = durable(&desk.flash);
            let is_new = recovered.as_ref() == Some(&states[failed + 1]);
            if !is_new && recovered.as_ref() != Some(&states[failed]) {
                lose("neither the old state nor the new");
                continue;
            }
            if all || way >= 3 && cut % RECOVERY_STRIDE == 0 {
                cut_recovery(&tally, &torn, &recovered, &lose);
            }
            if is_new && matches!(acts[failed], Act::Key) {
                // A key that is set can only be set again with its own consent.
                desk.auth();
            }
            // The terminal sends the same line again, gets the answer there is, and gets it again.
            let retried = acts[failed].perform(&mut desk).unwrap();
            if is_new && retried != answers[failed] {
                lose("another answer than the one made durable");
            }
            if let Ask(line, _) = acts[failed]
                && desk.ask(line) != retried
            {
                lose("another answer to a repeat");
            }
            for act in &acts[failed + 1..] {
                act.perform(&mut desk).unwrap();
            }
            if desk.ask("STATUS") != status {
                lose("another end");
            }
            if desk.flash.0.borrow().misuse().is_some() {
                lose("the flash was misused");
            }
        }
    });
    tally.print(name);
}

/// Recoveries are cut after every so many cuts of the trial.
const RECOVERY_STRIDE: u64 = 7;

/// Cuts every operation of a recovery; each must come to the same state.
fn cut_recovery(
    tally: &Tally,
    torn: &StrictFlash<{ desk::PAGE }>,
    state: &Option<Vec<Vec<u8>>>,
    lose: &dyn Fn(&str),
) {
    let flash = |cut: Option<u64>| {
        let mut flash = torn.clone();
        flash.power_up();
        if let Some(cut) = cut {
            let way = (cut + torn.operations()) % 6;
            flash.cut_after(cut, tears(cut).nth(way as usize).unwrap());
        }
        desk::Flash(Rc::new(RefCell::new(flash)))
    };
    let whole = flash(None);
    durable(&whole);
    for cut in 0..whole.0.borrow().operations() - torn.operations() {
        tally.cuts.fetch_add(1, Relaxed);
        let flash = flash(Some(cut));
        durable(&flash);
        flash.0.borrow_mut().power_up();
        if durable(&flash) != *state {
            lose("cut again in the recovery");
        }
    }
}

macro_rules! trials {
    ($($name:ident: [$($act:expr),+ $(,)?];)+) => {$(
        #[test]
        fn $name() {
            trial_survives(stringify!($name), &[$($act),+]);
        }
    )+};
}

trials! {
    a_trial_with_late_and_lost_outcomes_survives: [
        Act::Key, Ask("PLAN features=2 patients=8 epsilon=1", "OK trial="),
        Ask("ASSIGN 1 0 00000001", "ARM 1 "), Ask("ASSIGN 2 1 00000002", "ARM 2 "), Ask("OUTCOME 2 1", "OK 2"),
        Ask("ASSIGN 3 0 00000003", "ARM 3 "), Ask("LOST 3", "OK 3"), Ask("ASSIGN 4 1 00000004", "ARM 4 "), Idle,
        Ask("ASSIGN 5 1 00000005", "ARM 5 "), Ask("OUTCOME 1 0", "OK 1"), Ask("OUTCOME 5 1", "OK 5"), Idle,
        Order("CLOSE", "OK"), Ask("REPORT", "ROW 0 "),
    ];
    an_erased_trial_and_a_second_plan_survive: [
        Act::Key, Ask("PLAN features=1 patients=2 epsilon=1", "OK trial="), Ask("ASSIGN 1 0 00000001", "ARM 1 "), Idle,
        Ask("OUTCOME 1 1", "OK 1"), Idle, Order("CLOSE", "OK"), Order("ERASE", "OK"), Idle,
        Order("PLAN features=3 patients=4 epsilon=1/2", "OK trial="), Ask("ASSIGN 1 2 00000009", "ARM 1 "),
        Ask("OUTCOME 1 0", "OK 1"), Idle,
    ];
    a_trial_that_filled_the_flash_survives: [
        Act::Key, Ask("PLAN features=2 patients=400 epsilon=1", "OK trial="), Ward(1, 190),
        Ask("ASSIGN 191 0 00000001", "ARM 191 "), Ask("OUTCOME 191 1", "OK 191"), Ask("ASSIGN 192 1 00000002", "ARM 192 "), Idle,
        Ward(193, 199), Ask("ASSIGN 200 0 00000003", "ARM 200 "), Idle, Ask("OUTCOME 192 0", "OK 192"),
        Ask("ASSIGN 201 1 00000004", "ARM 201 "), Ask("LOST 200", "OK 200"), Idle, Ask("OUTCOME 201 1", "OK 201"),
    ];
    the_paper_s_design_survives: [
        Act::Key, Ask("PLAN design=dp-conse features=2 patients=4 epsilon=1", "OK trial="),
        Ask("ASSIGN 1 0 00000001", "ARM 1 "), Ask("OUTCOME 1 1", "OK 1"), Ask("ASSIGN 2 1 00000002", "ARM 2 "),
        Ask("ASSIGN 3 1 00000003", "ARM 3 "), Ask("OUTCOME 2 0", "OK 2"), Ask("LOST 3", "OK 3"), Order("CLOSE", "OK"),
    ];
}
