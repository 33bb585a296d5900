//! The first start of a device with so many parts that they take several pages, and its `ERASE`.
//!
//! Both purge: pages are committed one by one. Wherever a first start is cut, the next one ends
//! with a blank device; wherever `ERASE` is cut, the device has its trial as it was, or none.
//!
//! An ordinary run cuts a sample of the recoveries, and of the many operations of `ERASE`. Every
//! operation of both in every way, and four times the recoveries: `EQUIPOISE_EVERY_CUT=1`.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::atomic::Ordering::Relaxed;

use equipoise::device::DeviceState;
use equipoise::device::generator::Generator;
use equipoise::device::health::Repeatable;
use equipoise::journal::{Journal, Parts};
use equipoise::testkit::strict_flash::{Dead, StrictFlash, Tear};
use rayon::prelude::*;

use crate::common::cuts::{Tally, every_cut, tears};
use crate::common::wide::Wide;
use equipoise::testkit::desk::{self, Desk};

/// Bytes of a page of the virtual device and of the v2, and their number.
const PAGE: usize = 4096;
const PAGES: usize = 64;

/// A board as large as the v2 and the virtual device.
type Large = DeviceState<64, 4096>;

/// Everything the parts hold.
fn values<P: Parts>(parts: &P) -> Vec<Vec<u8>> {
    let encode = |key| {
        let mut bytes = vec![0; parts.length(key)];
        if !bytes.is_empty() {
            parts.encode(key, &mut bytes);
        }
        bytes
    };
    (0..parts.count()).map(encode).collect()
}

/// A board whose power is cut.
struct CutBoard<const PAGE: usize, B> {
    flash: StrictFlash<PAGE>,
    /// The parts before they are read from flash.
    blank: B,
    /// Values that the parts may hold when the power is back.
    allowed: Vec<Vec<Vec<u8>>>,
    /// The flash has a dead bit: a repair may leave something to repair.
    sick: bool,
    tally: Tally,
}

impl<const PAGE: usize, P: Parts, B: Fn() -> Box<P> + Sync> CutBoard<PAGE, B> {
    /// A board before its first start.
    fn new(flash: StrictFlash<PAGE>, blank: B) -> Self {
        let allowed = vec![values(&*blank())];
        Self { flash, blank, allowed, sick: false, tally: Tally::default() }
    }

    /// Flash operations of a mount.
    fn operations(&self, flash: &StrictFlash<PAGE>) -> u64 {
        let mut flash = flash.clone();
        flash.power_up();
        let before = flash.operations();
        let mounted = Journal::mount(flash, &mut *(self.blank)());
        mounted.map_or_else(|(_, flash)| flash, Journal::release).operations() - before
    }

    /// The flash after a mount that is cut.
    fn cut(&self, flash: &StrictFlash<PAGE>, cut: u64, tear: Tear) -> StrictFlash<PAGE> {
        let mut torn = flash.clone();
        torn.power_up();
        torn.cut_after(cut, tear);
        match Journal::mount(torn, &mut *(self.blank)()) {
            Ok(_) => panic!("mounted without power"),
            Err((_, mut flash)) => {
                flash.power_up();
                flash
            }
        }
    }

    /// The next start must end with what is allowed, on a flash that a further mount leaves alone.
    fn judge(&self, flash: StrictFlash<PAGE>, context: &dyn Fn() -> String) {
        self.tally.cuts.fetch_add(1, Relaxed);
        let mut parts = (self.blank)();
        let flash = match Journal::mount(flash, &mut *parts) {
            Ok(journal) => journal.release(),
            Err((error, flash)) => {
                return self.tally.lose(format!("{}: {error} {:?}", context(), flash.misuse()));
            }
        };
        let before = flash.operations();
        match Journal::mount(flash, &mut *(self.blank)()).map(Journal::release) {
            Err((error, _)) => self.tally.lose(format!("{}, mounted again: {error}", context())),
            Ok(flash) if flash.misuse().is_some() => {
                self.tally.lose(format!("{}: {:?}", context(), flash.misuse()));
            }
            Ok(flash) if flash.operations() != before && !self.sick => {
                self.tally.lose(format!("{}: a clean flash was written to", context()));
            }
            Ok(_) if !self.allowed.contains(&values(&*parts)) => {
                self.tally.lose(format!("{}: another state", context()));
            }
            Ok(_) => {}
        }
    }

    /// Cuts the first start at every operation in these ways. After every `stride`-th of these
    /// cuts, every `step`-th operation of the next start is cut as well.
    fn survive(&self, ways: impl Fn(u64) -> Vec<Tear> + Sync, stride: u64, step: usize) {
        let stride = if every_cut() { stride.div_ceil(2) } else { stride };
        (0..self.operations(&self.flash)).into_par_iter().for_each(|cut| {
            let ways = if every_cut() { tears(cut).collect() } else { ways(cut) };
            for (way, tear) in ways.into_iter().enumerate() {
                let flash = self.cut(&self.flash, cut, tear);
                let step = (cut + way as u64).is_multiple_of(stride).then_some(step);
                self.recover(&flash, step, &|| format!("cut at {cut} ({tear:?})"));
            }
        });
    }

    /// Judges the next start, and cuts of it: of its first operations, which erase, in every way,
    /// and then of every `step`-th.
    fn recover(
        &self,
        flash: &StrictFlash<PAGE>,
        step: Option<usize>,
        context: &dyn Fn() -> String,
    ) {
        const FIRST: u64 = 6;
        self.judge(flash.clone(), context);
        let Some(step) = step else { return };
        let step = if every_cut() { step.div_ceil(2) } else { step };
        let operations = self.operations(flash);
        for cut in (0..operations.min(FIRST)).chain((FIRST..operations).step_by(step)) {
            for tear in if cut < FIRST { tears(cut).collect() } else { one_way(cut) } {
                let torn = self.cut(flash, cut, tear);
                self.judge(torn, &|| format!("{}, then at {cut} ({tear:?})", context()));
            }
        }
    }
}

/// One of the ways to tear an operation, another one for each.
fn one_way(cut: u64) -> Vec<Tear> {
    tears(cut).nth(cut as usize % 6).into_iter().collect()
}

/// Parts of which a blank device needs three pages of 1 KB.
fn three_pages() -> Box<Wide> {
    Box::new(Wide::new(512, 4, 800).blank())
}

/// Wherever a first start of three pages is cut, and wherever the start after it is cut, the next
/// one ends with a blank device; on flash that is new as ones, and as zeros.
#[test]
fn cut_first_start_of_three_pages_ends_blank() {
    for blank in [0xff, 0x00] {
        let board = CutBoard::new(StrictFlash::<1024>::new(10, blank), three_pages);
        board.survive(|cut| tears(cut).collect(), 149, 5);
        board.tally.print(&format!("cut_first_start_of_three_pages_ends_blank, {blank:02x}"));
    }
}

/// The same with a page that is dead from the factory, or that does not take its header or record.
#[test]
fn cut_first_start_with_dead_page_ends_blank() {
    for (slot, word) in [(1, 0), (1, 70), (2, 0), (2, 3), (2, 255), (3, 70), (4, 1), (9, 9)] {
        for dead in [Dead::Zero, Dead::One] {
            let mut fresh = StrictFlash::<1024>::new(10, 0xff);
            fresh.kill(slot * 1024 + word * 4, 4, dead);
            let mut board = CutBoard::new(fresh, three_pages);
            board.sick = true;
            board.survive(one_way, 97, 23);
            board.tally.print(&format!("first start, word {word} of page {slot} {dead:?}"));
        }
    }
}

/// The same on a flash that held one page of something else.
#[test]
fn cut_first_start_over_a_strange_page_ends_blank() {
    let mut bytes = vec![0xff; 10 * 1024];
    bytes[6 * 1024..7 * 1024].fill(0x5a);
    let board = CutBoard::new(StrictFlash::<1024>::from_bytes(&bytes), three_pages);
    board.survive(one_way, 97, 23);
    board.tally.print("cut_first_start_over_a_strange_page_ends_blank");
}

/// A journal from which something was answered is never formatted again, whichever of its pages
/// lose their headers.
#[test]
fn ruined_pages_are_no_first_start() {
    let mut parts = three_pages();
    let mounted = Journal::mount(StrictFlash::<1024>::new(10, 0xff), &mut *parts);
    let mut journal = mounted.map_err(|(error, _)| error).unwrap();
    parts.values[5] = vec![1, 2, 3, 4];
    journal.commit(&*parts, || core::iter::once(5)).unwrap();
    let flash = journal.release();
    let is_open = |slot: &usize| flash.words()[slot * 256] != u32::MAX;
    let open: Vec<usize> = (0..10).filter(is_open).collect();
    assert_eq!(open, [1, 2, 3, 4]);
    for ruined in 1_u32..1 << open.len() {
        let mut flash = flash.clone();
        for (index, slot) in open.iter().enumerate() {
            // A bit of the number of swept parts.
            flash.damage(slot * 1024 + 8, ruined >> index & 1);
        }
        let before = flash.words().to_vec();
        let Err((_, flash)) = Journal::mount(flash, &mut *three_pages()) else {
            panic!("mounted, with headers {ruined:04b} ruined")
        };
        assert_eq!(flash.words(), before, "changed, with headers {ruined:04b} ruined");
    }
}

/// The first start of a device with room for 64 features and 4,096 patients, cut at every
/// operation.
#[test]
fn cut_first_start_of_large_device_ends_blank() {
    let fresh = StrictFlash::<PAGE>::new(PAGES, 0xff);
    let board = CutBoard::new(fresh, || Box::new(Large::BLANK));
    board.survive(|cut| [vec![Tear::All], one_way(cut)].concat(), 401, 47);
    board.tally.print("cut_first_start_of_large_device_ends_blank");
}

/// A device as large as the v2 at a terminal.
fn at_desk(flash: StrictFlash<PAGE>) -> Desk<Repeatable, Generator, 64, 4096, PAGE> {
    Desk::on(desk::Flash(Rc::new(RefCell::new(flash))), Repeatable::new(7))
}

/// Wherever the `ERASE` of a large device is cut, and the start after it, the device has its trial
/// as it was or none, and answers.
#[test]
fn cut_erase_of_large_device_ends_whole() {
    let mut desk = at_desk(StrictFlash::new(PAGES, 0xff));
    desk.provision("PLAN features=64 patients=5000 better=high epsilon=1");
    for patient in 1..=40 {
        assert!(desk.assign(patient, patient).starts_with("ARM "));
    }
    assert_eq!(desk.ask("OUTCOME 3 1"), "OK 3");
    let flash = desk.flash.0.borrow().clone();
    let stored = |flash: StrictFlash<PAGE>| {
        let mut state = Box::new(Large::BLANK);
        assert!(Journal::mount(flash, &mut *state).is_ok());
        values(&*state)
    };
    // `ERASE` cut after so many operations, and whether it was answered.
    let erase = |cut: u64, tear: Tear| {
        let mut desk = at_desk(flash.clone());
        let line = desk.proved("ERASE");
        desk.flash.0.borrow_mut().cut_after(cut, tear);
        let answered = desk.ask(&line) == "OK";
        let flash = desk.flash.0.borrow().clone();
        (flash, answered)
    };
    let (erased, answered) = erase(u64::MAX / 2, Tear::None);
    assert!(answered);
    let operations = erased.operations() - flash.operations();
    let mut board = CutBoard::new(flash.clone(), || Box::new(Large::BLANK));
    board.allowed = vec![stored(flash.clone()), stored(erased)];
    assert_ne!(board.allowed[0], board.allowed[1]);
    let step = if every_cut() { 1 } else { 3 };
    let cuts: Vec<u64> = (0..operations).step_by(step).collect();
    cuts.into_par_iter().for_each(|cut| {
        for tear in if every_cut() { tears(cut).collect() } else { one_way(cut) } {
            let (mut flash, answered) = erase(cut, tear);
            if answered {
                board.tally.lose(format!("answered without power, cut at {cut}"));
            }
            flash.power_up();
            let step = (cut / 3).is_multiple_of(211).then_some(401);
            board.recover(&flash, step, &|| format!("ERASE cut at {cut} ({tear:?})"));
        }
    });
    board.tally.print(&format!("ERASE of a large device, {operations} operations"));
}
