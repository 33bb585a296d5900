//! Content of the firmware's log.

use crate::qemu::bedside::Bedside;
use crate::qemu::emulator::Emulator;

const PATIENTS: u32 = 128;

/// Starts a trial with everything that is logged: a start, a refusal, erased pages.
fn begun() -> Emulator {
    let mut board = Emulator::boot_logging();
    // With so many features the plan is longer than a page.
    board.begin(&format!("features=64 patients={PATIENTS} epsilon=1"));
    assert!(board.request("OUTCOME 1 1").starts_with("ERR unknown "));
    board.request("STATUS");
    board
}

/// A whole trial logs no line that a device without patients does not log.
#[test]
fn log_tells_of_no_patient() {
    let control = begun().logged();
    assert!(control.len() >= 3, "a start, a refusal and erased pages are logged: {control:?}");
    let mut board = begun();
    for k in 1..=PATIENTS {
        board.assign(k, k % 64);
        match k % 3 {
            0 => board.expect(&format!("LOST {k}"), &format!("OK {k}")),
            y => board.expect(&format!("OUTCOME {k} {}", y - 1), &format!("OK {k}")),
        }
    }
    let new: Vec<_> = board.logged().difference(&control).cloned().collect();
    println!("{} lines are logged without patients, {} more with them", control.len(), new.len());
    assert!(new.is_empty(), "{new:?}");
}
