//! Trials through the device's line survive a power cut at any word write and any erase, and so
//! does every recovery from one. (`power_cut.rs` does the same with the journal alone.)
//!
//! An ordinary run tears each operation in two ways and cuts a sample of the recoveries. All ways
//! and all recoveries: `EQUIPOISE_EVERY_CUT=1 cargo test --test device trial_power_cut:: --
//! --nocapture`.
use crate::common::cuts;
use equipoise::testkit::desk;
use equipoise::testkit::kits;

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::atomic::Ordering::Relaxed;

use cuts::{Tally, every_cut, tears};
use desk::{Desk, KEY};
use equipoise::device::DeviceState;
use equipoise::journal::{Journal, Parts};
use equipoise::testkit::strict_flash::{StrictFlash, Tear};
use equipoise::wire::{FileDigest, Request};
use kits::Given;
use rayon::prelude::*;

/// Request of a terminal to a device, or power-up.
#[derive(Clone, Copy, Debug)]
enum Act {
    /// Sets the custodian's key.
    Key,
    /// A line to be sent, and what its answer begins with.
    Ask(&'static str, &'static str),
    /// The same, as a custodian.
    Order(&'static str, &'static str),
    /// The line is idle and noise is drawn; then a line comes that only does the look that is due.
    Idle,
    /// Patients with these numbers come and go; the power stays on.
    Ward(u32, u32),
}
use Act::{Ask, Idle, Order, Ward};

/// Everything durable, as it is on flash.
fn durable(flash: &desk::Flash) -> Option<Vec<Vec<u8>>> {
    let mut held = Box::new(DeviceState::<4, 8>::BLANK);
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
            Act::Key => {
                let key = Request::Key(KEY).to_string();
                // A key that is set can only be set again with a proof under it.
                let answer = desk.ask(&key);
                if answer.starts_with("ERR auth") { desk.order(&key) } else { answer }
            }
            Ask(line, _) => desk.ask(line),
            Order(line, _) => desk.order(line),
            Idle => {
                desk.run_until_idle();
                desk.ask("STATUS");
                String::new()
            }
            Ward(first, last) => {
                let mut given = Vec::new();
                for patient in first..=last {
                    given.push(desk.assign(patient, patient % 2));
                    desk.run_until_idle();
                    assert_eq!(desk.ask(&format!("OUTCOME {patient} 1")), format!("OK {patient}"));
                }
                given.join("\n")
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

/// `STATUS` without the trial's id, which is drawn anew where the power failed before it was
/// stored.
fn counts(desk: &mut Desk) -> String {
    desk.ask("STATUS").split_once(" file=").map(|(_, counts)| counts.to_owned()).unwrap_or_default()
}

/// Whether the kits of these answers are the next ones of their arms, each once.
fn kits_are_in_order(answers: &[String], kits: u32) -> bool {
    let mut given = Given::nothing(KEY, FileDigest::NONE, kits);
    let lines = answers.iter().flat_map(|answer| answer.lines());
    let replies = lines.filter_map(|line| line.strip_prefix("KIT ")?.split_once(' '));
    replies.map(|(_, kit)| kit.parse().unwrap()).all(|kit| given.next(kit).is_some())
}

/// Runs a trial through the device's line, with the power cut everywhere.
fn trial_survives(name: &str, acts: &[Act]) {
    let kits = acts.iter().find_map(|act| match act {
        Order(plan, _) => plan.split_once(" kits=")?.1.parse().ok(),
        _ => None,
    });
    let kits: u32 = kits.unwrap_or(0);
    let tally = Tally::default();
    let mut desk = Desk::blank(SEED);
    let mut states = vec![durable(&desk.flash).unwrap()];
    let (mut answers, mut cuts, mut erased_pages) = (Vec::new(), Vec::new(), 0);
    let erases = |desk: &Desk| desk.flash.0.borrow().erases().iter().sum::<u32>();
    for act in acts {
        let (before, erased) = (desk.flash.0.borrow().operations(), erases(&desk));
        answers.push(act.perform(&mut desk).unwrap());
        states.push(durable(&desk.flash).unwrap());
        if !matches!(act, Ward(..)) {
            cuts.extend(before..desk.flash.0.borrow().operations());
            erased_pages += erases(&desk) - erased;
        }
    }
    let full = acts.iter().any(|act| matches!(act, Ward(..)));
    assert!(!full || erased_pages > 0, "{name}: no page is erased where the power is cut");
    let status = counts(&mut desk);
    cuts.into_par_iter().for_each(|cut| {
        // In an ordinary run in two ways, one of them by chance.
        let all = every_cut();
        let chosen = |way: &usize| all || [cut % 3, 3 + cut % 3].contains(&(*way as u64));
        for (way, tear) in tears(cut).enumerate().filter(|(way, _)| chosen(way)) {
            let (desk, failed) = until_cut(acts, cut, tear);
            let lose = |what: &str| {
                tally.lose(format!("{:?}, cut at {cut} ({tear:?}): {what}", acts[failed]))
            };
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
            let mut given = answers[..failed].to_vec();
            given.push(retried);
            for act in &acts[failed + 1..] {
                given.push(act.perform(&mut desk).unwrap());
            }
            if !kits_are_in_order(&given, kits) {
                lose("a kit was given twice, or skipped");
            }
            if counts(&mut desk) != status {
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
        Act::Key, Order("PLAN features=2 patients=8 better=high results=open epsilon=1", "OK trial="),
        Ask("ASSIGN 1 0 00000001", "ARM 1 "), Ask("ASSIGN 2 1 00000002", "ARM 2 "), Ask("OUTCOME 2 1", "OK 2"),
        Ask("ASSIGN 3 0 00000003", "ARM 3 "), Ask("LOST 3", "OK 3"), Ask("ASSIGN 4 1 00000004", "ARM 4 "), Idle,
        Ask("ASSIGN 5 1 00000005", "ARM 5 "), Ask("OUTCOME 1 0", "OK 1"), Ask("OUTCOME 5 1", "OK 5"), Idle,
        Order("CLOSE", "OK"), Ask("REPORT", "ROW 0 "),
    ];
    an_erased_trial_and_a_second_plan_survive: [
        Act::Key, Order("PLAN features=1 patients=2 better=high results=open epsilon=1", "OK trial="), Ask("ASSIGN 1 0 00000001", "ARM 1 "), Idle,
        Ask("OUTCOME 1 1", "OK 1"), Idle, Order("CLOSE", "OK"), Order("ERASE", "OK"), Idle,
        Order("PLAN features=3 patients=4 better=high results=open epsilon=1/2", "OK trial="), Ask("ASSIGN 1 2 00000009", "ARM 1 "),
        Ask("OUTCOME 1 0", "OK 1"), Idle,
    ];
    a_trial_that_filled_the_flash_survives: [
        Act::Key, Order("PLAN features=2 patients=400 better=high results=open epsilon=1", "OK trial="), Ward(1, 190),
        Ask("ASSIGN 191 0 00000001", "ARM 191 "), Ask("OUTCOME 191 1", "OK 191"), Ask("ASSIGN 192 1 00000002", "ARM 192 "), Idle,
        Ward(193, 196), Ask("ASSIGN 197 1 000000c5", "ARM 197 "), Ask("OUTCOME 197 1", "OK 197"),
        Ask("ASSIGN 198 0 000000c6", "ARM 198 "), Ask("OUTCOME 198 1", "OK 198"),
        Ward(199, 199), Ask("ASSIGN 200 0 00000003", "ARM 200 "), Idle, Ask("OUTCOME 192 0", "OK 192"),
        Ask("ASSIGN 201 1 00000004", "ARM 201 "), Ask("LOST 200", "OK 200"), Idle, Ask("OUTCOME 201 1", "OK 201"),
    ];
    a_blinded_trial_with_replacements_survives: [
        Act::Key, Order("PLAN features=2 patients=8 better=high results=open epsilon=1 kits=14", "OK trial="),
        Ask("ASSIGN 1 0 00000001", "KIT 1 "), Ask("REPLACE 1 1", "KIT 1 "), Ask("ASSIGN 2 1 00000002", "KIT 2 "),
        Ask("REPLACE 1 2", "KIT 1 "), Ask("OUTCOME 2 1", "OK 2"), Ask("ASSIGN 3 0 00000003", "KIT 3 "), Idle,
        Ask("REPLACE 3 1", "KIT 3 "), Ask("LOST 3", "OK 3"), Ask("ASSIGN 4 1 00000004", "KIT 4 "), Idle,
        Ask("ASSIGN 5 1 00000005", "KIT 5 "), Ask("OUTCOME 1 0", "OK 1"), Ask("REPLACE 5 1", "KIT 5 "),
        Ask("OUTCOME 5 1", "OK 5"), Idle, Order("CLOSE", "OK"),
    ];
    a_blinded_trial_that_filled_the_flash_survives: [
        Act::Key, Order("PLAN features=2 patients=400 better=high results=open epsilon=1 kits=500", "OK trial="), Ward(1, 148),
        Ward(149, 149), Ask("ASSIGN 150 0 00000001", "KIT 150 "), Ask("REPLACE 150 1", "KIT 150 "), Ask("OUTCOME 150 1", "OK 150"),
        Ask("ASSIGN 151 1 00000002", "KIT 151 "), Idle, Ask("REPLACE 151 1", "KIT 151 "), Ask("REPLACE 151 2", "KIT 151 "),
    ];
    the_paper_s_design_survives: [
        Act::Key, Order("PLAN design=dp-conse features=2 patients=4 better=high results=open epsilon=1", "OK trial="),
        Ask("ASSIGN 1 0 00000001", "ARM 1 "), Ask("OUTCOME 1 1", "OK 1"), Ask("ASSIGN 2 1 00000002", "ARM 2 "),
        Ask("ASSIGN 3 1 00000003", "ARM 3 "), Ask("OUTCOME 2 0", "OK 2"), Ask("LOST 3", "OK 3"), Order("CLOSE", "OK"),
    ];
}
