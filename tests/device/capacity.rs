//! A flash that cannot carry a plan is refused at `PLAN`, with sizes; one that is accepted carries
//! the plan with a full table of waiting patients, looks, power cuts and the close.

use equipoise::testkit::desk;

use desk::{Desk, Flash, KEY};
use equipoise::device::generator::Generator;
use equipoise::device::health::Repeatable;
use equipoise::wire::Request;
use rayon::prelude::*;

type FullDesk<const M: usize, const U: usize, const P: usize> =
    Desk<Repeatable, Generator, M, U, P>;

fn number(reply: &str, word: &str) -> usize {
    let (_, rest) = reply.split_once(word).unwrap_or_else(|| panic!("no {word:?} in {reply}"));
    rest.split(|c: char| !c.is_ascii_digit()).next().unwrap().parse().unwrap()
}

/// Plans a trial of `M` features on so many pages. If it is refused, gives the pages it asks for;
/// else runs it with `U` patients waiting until the log has gone round the flash.
fn carries<const M: usize, const U: usize, const P: usize>(
    pages: usize,
    design: &str,
) -> Result<(), usize> {
    let mut board = FullDesk::<M, U, P>::on(Flash::of(pages), Repeatable::new(3));
    assert_eq!(board.ask(&Request::Key(KEY).to_string()), "OK");
    let (status, patients) = (board.ask("STATUS"), 1000.max(U as u32 + 300));
    let planned = board.order(&format!(
        "PLAN design={design} features={M} patients={patients} better=high epsilon=1"
    ));
    if planned.starts_with("ERR") {
        assert!(planned.starts_with("ERR range flash pages="), "{planned}");
        assert_eq!(number(&planned, "pages="), pages);
        assert_eq!(board.ask("STATUS"), status, "a refused plan changes nothing");
        return Err(number(&planned, "allowed "));
    }
    for patient in 1..=patients {
        if let Some(resolved) = patient.checked_sub(U as u32).filter(|resolved| *resolved > 0) {
            assert_eq!(
                board.ask(&format!("OUTCOME {resolved} 1")),
                format!("OK {resolved}"),
                "{pages} pages"
            );
        }
        let arm = board.assign(patient, patient % M as u32);
        assert!(arm.starts_with("ARM "), "{design}, {pages} pages: {patient} {arm}");
        if patient % 301 == 0 {
            board.flash.0.borrow_mut().power_up();
            board = FullDesk::on(board.flash, Repeatable::new(patient.into()));
        }
    }
    assert_eq!(board.order("CLOSE"), "OK", "{design}, {pages} pages");
    assert_eq!(board.order("ERASE"), "OK", "{design}, {pages} pages");
    assert_eq!(board.flash.0.borrow().misuse(), None);
    Ok(())
}

/// Every number of pages is refused at once or carries the trial, and the number asked for is
/// enough.
fn smallest<const M: usize, const U: usize, const P: usize>(design: &str) -> usize {
    let tried: Vec<_> =
        (8..=64).into_par_iter().map(|pages| carries::<M, U, P>(pages, design)).collect();
    let accepted = tried.iter().position(Result::is_ok).expect("64 pages carry every plan") + 8;
    for (pages, result) in (8..=64).zip(&tried) {
        assert_eq!(*result, if pages < accepted { Err(accepted) } else { Ok(()) }, "{pages} pages");
    }
    println!("{design}, {M} features, {U} waiting, pages of {P} bytes: {accepted} pages");
    accepted
}

#[test]
fn small_flash_is_refused_at_plan() {
    assert_eq!(smallest::<1, 8, 1024>("interim"), 10);
    assert!(smallest::<64, 128, 1024>("interim") > 32);
    assert!(smallest::<64, 128, 1024>("dp-conse") > 16);
    assert!(smallest::<64, 512, 4096>("uniform") < 32);
}

/// The largest trial of each board fits on its flash.
#[test]
fn each_board_carries_its_largest_trial() {
    for design in ["interim", "uniform", "dp-conse"] {
        assert_eq!(carries::<64, 256, 2048>(64, design), Ok(()));
        assert_eq!(carries::<64, 4096, 4096>(64, design), Ok(()));
        assert_eq!(carries::<64, 1024, 4096>(32, design), Ok(()));
    }
}
