//! Flash work of long trials: the same for everyone that t could be.

use super::*;
use crate::common::count;

/// An observer's view of a long trial after a line: the reply but for t's arm, the operations so
/// far, and their fingerprint.
type Seen = (u32, u64, u64);

/// A long trial without a look.
struct Long {
    seen: Vec<Seen>,
    /// Pages erased.
    erased: u32,
    /// Patients whose outcome erased a page.
    erasing: Vec<u32>,
}

/// Runs a long trial on a device that is nearly full of waiting patients. The outcome of `silent`,
/// if it is anyone, is not sent.
fn long_trial<const M: usize, const U: usize, const P: usize>(
    pages: usize,
    plan: &str,
    t: Patient,
    silent: Option<u32>,
) -> Long {
    // Outcomes are sent so many patients later.
    let late = U as u32 - 3;
    SCRIPT.set(Some(Script { seed: 3, t, arm: 0, made_up: false, patient: 0, draws: 0 }));
    let mut desk = Desk::<_, Scripted, M, U, P>::on(Flash::of(pages), Repeatable::new(1));
    desk.provision(plan);
    let mut people = Xoshiro256PlusPlus::seed_from_u64(5);
    let (mut seen, mut erased, mut erasing) = (Vec::new(), 0, Vec::new());
    let mut say = |line: String, secret: bool| {
        let sent = desk.send(sealed(&line).as_bytes());
        assert!(!sent.starts_with(b"ERR"), "{line}: {}", String::from_utf8_lossy(&sent));
        let arm = if secret {
            0
        } else {
            sent.iter().fold(0_u32, |sum, byte| sum * 31 % 9973 + u32::from(*byte))
        };
        let flash = desk.flash.0.borrow();
        seen.push((arm, flash.operations(), flash.trace()));
        let before = std::mem::replace(&mut erased, flash.erases().iter().sum());
        before < erased
    };
    for patient in 1..=t.resolved_after {
        with(|script| script.patient = patient);
        let feature = people.next_u32() % M as u32;
        let is_t = patient == t.number;
        say(
            format!("ASSIGN {patient} {} {patient:08x}", if is_t { t.feature } else { feature }),
            is_t,
        );
        let resolved = patient.checked_sub(late).filter(|patient| *patient > 0);
        let Some(resolved) = resolved.filter(|patient| Some(*patient) != silent) else {
            continue;
        };
        let y = if resolved == t.number { t.y } else { (resolved % 7 > 0).then_some(resolved % 2) };
        if say(
            y.map_or_else(|| format!("LOST {resolved}"), |y| format!("OUTCOME {resolved} {y}")),
            false,
        ) {
            erasing.push(resolved);
        }
    }
    assert_eq!(desk.flash.0.borrow().misuse(), None);
    Long { seen, erased, erasing }
}

/// The long trials of everyone that t could be are the same, for patients in a row and for three
/// after them whose own outcome erases a page. Gives the number of pages erased.
fn same_work<const M: usize, const U: usize, const P: usize>(
    pages: usize,
    plan: &str,
    patients: u32,
    row: Range<u32>,
) -> u32 {
    let trial = |number, feature, y, coin| {
        let t = Patient { number, feature, coin, y, resolved_after: patients };
        long_trial::<M, U, P>(pages, plan, t, None)
    };
    let scout = trial(row.start, 0, Some(0), false);
    let erasing: Vec<_> =
        scout.erasing.iter().copied().filter(|number| *number >= row.end).take(3).collect();
    assert_eq!(erasing.len(), 3, "hardly any outcome erases a page");
    row.chain(erasing.clone()).collect::<Vec<_>>().into_par_iter().for_each(|number| {
        let expected = trial(number, 0, Some(0), false);
        assert!(!erasing.contains(&number) || expected.erasing.contains(&number));
        for feature in 0..M as u32 {
            let y = [None, Some(1), Some(0)][(feature + number) as usize % 3];
            let found = trial(number, feature, y, (feature / 3 + number) % 2 == 1);
            let differing = found.seen.iter().zip(&expected.seen).position(|(a, b)| a != b);
            assert_eq!(differing, None, "patient {number}, feature {feature}, {y:?}");
            assert_eq!(found.seen.len(), expected.seen.len());
        }
    });
    scout.erased
}

fn long_plan(design: &str, features: u32) -> String {
    format!("PLAN design={design} features={features} patients=4000000 better=high epsilon=1")
}

/// 64 features on 64 pages of 2 KB, and few features on pages of 4 KB. In the long version t is one
/// of four times as many patients in a row. Requirement D21.
#[test]
fn flash_work_is_the_same_whoever_t_is() {
    let row = |first, few: u32| first..first + few * if count::is_long() { 4 } else { 1 };
    for design in ["interim", "uniform", "dp-conse"] {
        let plan = |features| long_plan(design, features);
        let small = same_work::<64, 256, 2048>(64, &plan(64), 3_200, row(1_600, 2));
        let large = same_work::<4, 8, 4096>(16, &plan(4), 3_000, row(1_500, 8));
        println!("{design}: {small} and {large} pages erased");
        assert!(small > 2 * 64 && large > 2 * 16, "the log did not go round the flash");
    }
}

/// A single request more is seen: in its words, and in the order of all operations after it.
#[test]
fn one_request_more_is_seen() {
    let t = Patient { number: 7, feature: 0, coin: false, y: Some(0), resolved_after: 300 };
    let [one, other] = [None, Some(100)]
        .map(|silent| long_trial::<4, 8, 1024>(16, &long_plan("interim", 4), t, silent).seen);
    let differing = one.iter().zip(&other).position(|(a, b)| a != b);
    // Two lines a patient; the outcome of patient 100 is sent behind patient 105.
    assert_eq!(differing, Some(105 * 2 - 5 - 1));
    assert!(one.last().unwrap().2 != other.last().unwrap().2);
}
