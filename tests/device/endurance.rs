//! How long the flash of each board lasts: erases per patient of a whole device with every table
//! full, 64 features and as many waiting patients as it has room for.
//!
//! A page of the nRF51 (v1) lasts 20,000 erases, one of the nRF52833 (v2) 10,000, one of the Pico
//! 2's flash 100,000. Requests follow each other without idle time: a board does no work ahead, so
//! that its journal fills every page. It counts, it does not time: every run prints the same
//! (`cargo test --test device endurance:: -- --nocapture`).

use equipoise::testkit::desk;

use desk::{Desk, Flash};
use equipoise::device::generator::Generator;
use equipoise::device::health::Repeatable;
use rayon::prelude::*;

const PAGES: usize = 64;
const FEATURES: u32 = 64;

/// A kind of trial: its plan, and the outcomes it takes, from 0 to this.
#[derive(Clone, Copy)]
struct Kind {
    name: &'static str,
    plan: &'static str,
    scale: u32,
}

const KINDS: [Kind; 5] = [
    Kind { name: "interim, yes/no", plan: "better=high patients=4000000 epsilon=1", scale: 1 },
    Kind {
        name: "interim, 0 to 100",
        plan: "better=high patients=4000000 epsilon=1 scale=100",
        scale: 100,
    },
    Kind {
        name: "interim, yes/no, blinded",
        plan: "better=high patients=1000000 epsilon=1 kits=1048576",
        scale: 1,
    },
    Kind {
        name: "dp-conse, yes/no",
        plan: "design=dp-conse better=high patients=4000000 epsilon=1",
        scale: 1,
    },
    Kind {
        name: "dp-conse, 0 to 100",
        plan: "design=dp-conse better=high patients=4000000 epsilon=1 scale=100",
        scale: 100,
    },
];

/// Millions of patients until every page has had its erases. `U` patients wait while `counted` come
/// and go: the log has gone round the flash before, and goes round again.
fn lasts<const U: usize, const P: usize>(
    board: &str,
    (pages, erases_per_page): (usize, f64),
    counted: u32,
    kind: Kind,
) -> f64 {
    let mut desk =
        Desk::<Repeatable, Generator, 64, U, P>::on(Flash::of(pages), Repeatable::new(1));
    desk.provision(&format!("PLAN features={FEATURES} {}", kind.plan));
    let waiting = U as u32;
    let erases = |desk: &Desk<_, _, 64, U, P>| desk.flash.0.borrow().erases().iter().sum::<u32>();
    let (mut before, earlier) = (0, waiting + counted);
    for patient in 1..=earlier + counted {
        if let Some(resolved) = patient.checked_sub(waiting).filter(|resolved| *resolved > 0) {
            assert_eq!(
                desk.ask(&format!("OUTCOME {resolved} {}", resolved % (kind.scale + 1))),
                format!("OK {resolved}")
            );
        }
        let arm = desk.assign(patient, patient.wrapping_mul(0x9e37_79b9) >> 26);
        assert!(arm.starts_with("ARM ") || arm.starts_with("KIT "), "{arm}");
        if patient == earlier {
            before = erases(&desk);
        }
    }
    let per_patient = f64::from(erases(&desk) - before) / f64::from(counted);
    let flash = desk.flash.0.borrow();
    let (least, most) =
        (flash.erases().iter().min().unwrap(), flash.erases().iter().max().unwrap());
    let millions = pages as f64 * erases_per_page / per_patient / 1e6;
    println!(
        "{board}, {}: {U} waiting, {:.1} bytes of flash a patient, {least} to {most} erases of a \
         page so far, {millions:.1} million patients until {erases_per_page} erases of each",
        kind.name,
        per_patient * P as f64
    );
    assert_eq!(flash.misuse(), None);
    assert!(most - least <= 2, "pages wear evenly");
    millions
}

/// Every board lasts at least ten million patients, whatever the plan; the limits are what was
/// measured, rounded down. Requirement D29.
#[test]
fn each_board_lasts_ten_million_patients() {
    type Lifetime = fn(Kind) -> f64;
    let boards: [(Lifetime, [f64; 5]); 3] = [
        (
            |kind| lasts::<256, 2048>("v1", (PAGES, 20_000.0), 2_000, kind),
            [28.0, 17.0, 22.0, 22.0, 22.0],
        ),
        (
            |kind| lasts::<4096, 4096>("v2", (PAGES, 10_000.0), 4_500, kind),
            [22.0, 15.0, 18.0, 20.0, 20.0],
        ),
        (
            |kind| lasts::<1024, 4096>("pico2", (32, 100_000.0), 4_500, kind),
            [122.0, 79.0, 100.0, 107.0, 107.0],
        ),
    ];
    boards.into_par_iter().for_each(|(lasts, least)| {
        for (kind, least) in KINDS.into_iter().zip(least) {
            let millions = lasts(kind);
            assert!(millions >= least, "{}: {millions} million patients, not {least}", kind.name);
        }
    });
}

/// No request opens more than one page, and none but those that do writes more than its words.
#[test]
fn page_turns_come_one_at_a_time() {
    let mut desk =
        Desk::<Repeatable, Generator, 64, 256, 2048>::on(Flash::of(PAGES), Repeatable::new(1));
    desk.provision(&format!("PLAN features={FEATURES} patients=4000000 better=high epsilon=1"));
    let erases =
        |desk: &Desk<_, _, 64, 256, 2048>| desk.flash.0.borrow().erases().iter().sum::<u32>();
    // The most words of an ordinary request: header, descriptors, values, commit, mark and scrub.
    const MOST: u64 = 50;
    let mut pages = 0;
    for patient in 1..=600 {
        for line in [format!("ASSIGN {patient} {}", patient % 64), format!("OUTCOME {patient} 1")] {
            let before = (erases(&desk), desk.flash.0.borrow().operations());
            desk.ask(&line);
            let (words, erased) =
                (desk.flash.0.borrow().operations() - before.1, erases(&desk) - before.0);
            assert!(erased == 1 || erased == 0 && words <= MOST, "{line}: {words} words");
            pages += erased;
        }
    }
    assert!(pages > 10, "hardly any page was opened");
}
