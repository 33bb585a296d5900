//! Non-interference: once the noisy ledger is the same, nothing that the device sends about others
//! depends on one patient, and neither does its flash work, which sets the time of a reply.
//!
//! Pairs of trials that differ in everything about one patient t (feature, arm, outcome or loss,
//! even a correction sent later) are run through the whole device with a scripted chance. Every
//! other patient's coin is a function of the patient alone, and the noise of the window that t's
//! outcome fell into makes up for the difference, so that the noisy ledger is the same. Then every
//! byte that the device sends, errors and reports included, must be equal, but for t's own `ARM`
//! lines; and so must the flash operations behind every reply, in their order: words written, and
//! which pages were erased.
//!
//! The short trials have looks and reports. The long ones go round the whole flash, on both boards'
//! pages, with no idle time between requests. A trial that was erased is followed by another, in
//! which nothing of t may show.

mod flash_work;

use equipoise::testkit::desk;

use std::cell::RefCell;
use std::ops::Range;

use desk::{Desk, Flash, sealed};
use equipoise::chance::{Chance, Fraction};
use equipoise::device::generator::Seeded;
use equipoise::device::health::Repeatable;
use equipoise::noise::Laplace;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;

const FEATURES: u32 = 3;
const PATIENTS: u32 = 300;
/// Outcomes come this many patients late, so that half is looked at after patient 270 and the close
/// reads two windows of every feature.
const DELAY: u32 = 120;
const LOOK_AFTER: u32 = PATIENTS / 2 + DELAY;
const SCALE: u32 = 5;
/// Amounts that the noisy ledger is made to show for t, for every t: in feature 0, in the cells E,
/// F, G of arm 0.
const SHOWN: [i64; 3] = [2, 8, 15];
/// Cells of a window: E, F, G of both arms.
const CELLS: u32 = 6;

/// Everything about patient t.
#[derive(Clone, Copy, Debug)]
struct Patient {
    number: u32,
    feature: u32,
    coin: bool,
    /// `None`: lost.
    y: Option<u32>,
    /// After which patient the outcome is sent.
    resolved_after: u32,
}

impl Patient {
    /// The look that reads t's outcome: 0 at half, 1 at the close.
    fn look(self) -> u32 {
        u32::from(self.resolved_after > LOOK_AFTER)
    }

    /// Whether t waited while half was looked at, so that the close finds the outcome among those
    /// of the coin before.
    fn is_late(self) -> bool {
        self.number < LOOK_AFTER && self.look() == 1
    }

    /// Amounts that t's outcome adds to E, F and G.
    fn amounts(self) -> [i64; 3] {
        let Some(y) = self.y.map(i64::from) else { return [0; 3] };
        let scale = i64::from(SCALE);
        let spread = y * (scale - y);
        [scale * y - spread, 2 * spread, scale * (scale - y) - spread]
    }
}

/// The script of chance.
struct Script {
    seed: u64,
    t: Patient,
    /// t's arm, as the device told it.
    arm: usize,
    /// Does the noise make up for t?
    made_up: bool,
    /// The patient being assigned.
    patient: u32,
    /// Noise drawn so far.
    draws: u32,
}

thread_local! {
    static SCRIPT: RefCell<Option<Script>> = const { RefCell::new(None) };
}

fn with<T>(work: impl FnOnce(&mut Script) -> T) -> T {
    SCRIPT.with_borrow_mut(|script| work(script.as_mut().unwrap()))
}

/// Answers from the script; a seed means nothing to it.
struct Scripted;

impl Seeded for Scripted {
    fn from_seed(_: [u8; 32]) -> Self {
        Self
    }
}

impl Script {
    fn word(&self, a: u32, b: u32) -> u32 {
        let seed = self.seed << 48 ^ u64::from(a) << 24 ^ u64::from(b);
        Xoshiro256PlusPlus::seed_from_u64(seed).next_u32()
    }

    /// A coin depends on the patient being assigned and on nothing that happened before.
    fn coin(&self, p: u32) -> bool {
        if self.patient == self.t.number { self.t.coin } else { self.word(self.patient, 0) < p }
    }

    /// The look at half reads the now-windows of all features, the close both windows of each, the
    /// now-window first.
    fn noise(&mut self) -> i64 {
        let at_half = CELLS * FEATURES;
        let (look, feature, before) = match self.draws.checked_sub(at_half) {
            None => (0, self.draws / CELLS, false),
            Some(after) => (1, after / (2 * CELLS), after / CELLS % 2 == 1),
        };
        let (arm, cell) = (self.draws as usize / 3 % 2, self.draws as usize % 3);
        let mut noise = i64::from(self.word(0, self.draws + 1) % 41) - 20;
        self.draws += 1;
        if self.made_up && self.t.look() == look && self.t.is_late() == before {
            noise += if feature == 0 && arm == 0 { SHOWN[cell] } else { 0 };
            if feature == self.t.feature && arm == self.arm {
                noise -= self.t.amounts()[cell];
            }
        }
        noise
    }
}

impl Chance for Scripted {
    fn coin(&mut self) -> bool {
        with(|script| script.coin(1 << 31))
    }

    fn biased_coin(&mut self, p: Fraction) -> bool {
        with(|script| script.coin(p.0))
    }

    fn discrete_laplace(&mut self, _: &Laplace) -> i64 {
        with(Script::noise)
    }

    fn lap_plus(&mut self, center: u64, _: &Laplace) -> u64 {
        center
    }
}

type ScriptedDesk = Desk<Repeatable, Scripted, 4, 128>;

fn plan() -> String {
    format!(
        "PLAN features={FEATURES} patients={PATIENTS} better=high results=open epsilon=20 scale={SCALE} close=auto"
    )
}

/// A device with a trial, and its script.
fn begun(script: Script) -> ScriptedDesk {
    SCRIPT.set(Some(script));
    let mut desk = Desk::on(Flash::new(), Repeatable::new(1));
    desk.provision(&plan());
    desk
}

/// Sends a line; returns the reply and the flash operations behind it.
fn exchange(desk: &mut ScriptedDesk, line: &str) -> (String, String) {
    let before = desk.flash.0.borrow().operations();
    let sent = String::from_utf8(desk.send(sealed(line).as_bytes())).unwrap();
    let flash = desk.flash.0.borrow();
    (sent, format!("|{}|{:016x}", flash.operations() - before, flash.trace()))
}

fn resolve(patient: u32, y: Option<u32>) -> String {
    y.map_or_else(|| format!("LOST {patient}"), |y| format!("OUTCOME {patient} {y}"))
}

/// One whole trial: what came back for every line, of t's own arm nothing, and the flash operations
/// behind it.
fn transcript(seed: u64, t: Patient, made_up: bool) -> Vec<String> {
    let script = Script { seed, t, arm: 0, made_up, patient: 0, draws: 0 };
    run(&mut begun(script), seed, t)
}

/// The same on a device whose trial has begun.
fn run(desk: &mut ScriptedDesk, seed: u64, t: Patient) -> Vec<String> {
    let mut people = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut seen = Vec::new();
    let own_arm = format!("ARM {} ", t.number);
    let mut say = |line: String| {
        let (mut sent, work) = exchange(desk, &line);
        if let Some(arm) = sent.strip_prefix(&own_arm) {
            with(|script| script.arm = usize::from(arm.starts_with('1')));
            sent.clear();
        }
        seen.push(sent + &work);
    };
    let outcomes: Vec<u32> = (0..PATIENTS).map(|_| people.next_u32() % (SCALE + 1)).collect();
    for patient in 1..=PATIENTS + DELAY {
        with(|script| script.patient = patient);
        let feature = patient % FEATURES;
        if patient <= PATIENTS {
            let feature = if patient == t.number { t.feature } else { feature };
            say(format!("ASSIGN {patient} {feature} {patient:08x}"));
            say("STATUS".to_string());
        }
        if let Some(late) = patient.checked_sub(DELAY).filter(|late| ![0, t.number].contains(late))
        {
            let y = outcomes[late as usize - 1];
            say(resolve(late, (y != 3).then_some(y)));
        }
        if patient == t.resolved_after {
            say(resolve(t.number, t.y));
            // Corrections and errors, and a second terminal that tries a feature with and without
            // the tag.
            say(resolve(t.number, Some(0)));
            say(resolve(t.number, None));
            say(format!("OUTCOME {} {}", t.number, SCALE + 1));
            say(format!("ASSIGN {patient} 0 12345678"));
            say(format!("ASSIGN {0} {1} {0:08x}", t.number, FEATURES - 1));
        }
        if patient.is_multiple_of(8) || patient.abs_diff(LOOK_AFTER) < 4 {
            say("REPORT".to_string());
        }
    }
    say("STATUS".to_string());
    say("REPORT".to_string());
    seen
}

/// Everyone that patient `number` could be.
fn everyone(number: u32, resolved_after: u32) -> impl Iterator<Item = Patient> {
    let outcomes = [None, Some(0), Some(2), Some(SCALE)];
    (0..FEATURES).flat_map(move |feature| {
        outcomes.into_iter().flat_map(move |y| {
            [false, true].map(|coin| Patient { number, feature, coin, y, resolved_after })
        })
    })
}

/// All transcripts of all that patient `number` could be, over some seeds, are the same.
fn same(number: u32, resolved_after: u32) {
    for seed in 0..2 {
        let mut first = None;
        for t in everyone(number, resolved_after) {
            let seen = transcript(seed, t, true);
            assert!(seen.iter().any(|sent| sent.starts_with("ROW ")));
            let expected = first.get_or_insert_with(|| seen.clone());
            let differing = seen.iter().zip(expected.iter()).find(|(a, b)| a != b);
            assert!(seen == *expected, "{t:?} seed {seed}: {differing:?}");
        }
    }
}

/// Every byte but t's own arm is the same for every t, in the first half. Requirement D19.
#[test]
fn replies_are_equal_in_the_first_half() {
    same(7, 7);
    same(7, 127);
    same(130, 230);
}

/// Every byte but t's own arm is the same for every t, in the second half. Requirement D19.
#[test]
fn replies_are_equal_in_the_second_half() {
    same(280, 280);
    same(280, 400);
    // The last patient of all.
    same(300, 420);
}

/// An outcome that comes after the look at half is read at the close, in the before-window.
/// Requirement S8.
#[test]
fn late_outcomes_change_no_byte() {
    same(7, 275);
    same(200, 320);
    same(230, 400);
}

/// t takes part in a trial, which is erased: what is seen from then on, to the report of the next.
fn after_erase(t: Patient) -> Vec<String> {
    let seed = 1;
    let script = Script { seed, t, arm: 0, made_up: false, patient: 0, draws: 0 };
    let mut desk = begun(script);
    for patient in 1..=t.resolved_after {
        with(|script| script.patient = patient);
        let feature = if patient == t.number { t.feature } else { patient % FEATURES };
        assert!(desk.assign(patient, feature).starts_with("ARM "));
    }
    desk.ask(&resolve(t.number, t.y));
    // The next trial has no t.
    let nobody = Patient { number: 0, resolved_after: 0, ..t };
    with(|script| script.t = nobody);
    let mut seen = Vec::new();
    for command in ["ERASE".to_owned(), plan()] {
        let proved = desk.proved(&command);
        for line in [&proved, "HELLO", "STATUS", "REPORT"] {
            let (sent, work) = exchange(&mut desk, line);
            seen.push(sent + &work);
        }
    }
    seen.extend(run(&mut desk, seed, nobody));
    seen
}

/// A trial that was erased leaves nothing: no byte and no flash operation of the erase and of the
/// next trial depends on a patient of the trial before. Requirement D18.
#[test]
fn an_erased_trial_leaves_nothing() {
    for (number, resolved_after) in [(7, 7), (5, 8)] {
        let mut all = everyone(number, resolved_after);
        let expected = after_erase(all.next().unwrap());
        assert!(expected[0].starts_with("OK*") && expected[4].starts_with("OK trial="));
        assert!(expected.iter().any(|sent| sent.starts_with("ROW ")));
        for t in all {
            let seen = after_erase(t);
            let differing = seen.iter().zip(&expected).find(|(a, b)| a != b);
            assert!(seen == expected, "{t:?}: {differing:?}");
        }
    }
}

/// Noise that does not make up for t lets the ledgers differ, and the reports with them.
/// Requirement D19.
#[test]
fn the_comparison_can_fail() {
    for (number, resolved_after) in [(7, 127), (200, 320), (280, 400)] {
        let seen: Vec<_> =
            everyone(number, resolved_after).map(|t| transcript(0, t, false)).collect();
        assert!(seen.iter().any(|other| *other != seen[0]));
    }
}
