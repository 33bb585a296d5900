//! What is logged.

use crate::emulator::Emulator;
use std::time::Duration;

/// Longer than a quiet line takes to be used for something.
const PAUSE: Duration = Duration::from_millis(30);

/// Starts a trial with everything that is logged but for a look: a start, a refusal, rests.
fn begun() -> Emulator {
    let mut board = Emulator::boot_logging();
    board.begin("features=4 patients=24 epsilon=1");
    assert!(board.request("OUTCOME 1 1").starts_with("ERR unknown "));
    for _ in 0..4 {
        std::thread::sleep(PAUSE);
        board.request("STATUS");
    }
    board
}

#[test]
fn a_log_tells_of_no_patient() {
    let control = begun().logged();
    assert!(control.len() >= 3, "a start, a refusal and a rest are logged: {control:?}");
    let mut board = begun();
    for k in 1..=24 {
        board.assign(k, k % 4);
        std::thread::sleep(PAUSE);
        match k % 3 {
            0 => board.expect(&format!("LOST {k}"), &format!("OK {k}")),
            y => board.expect(&format!("OUTCOME {k} {}", y - 1), &format!("OK {k}")),
        }
        std::thread::sleep(PAUSE);
    }
    let new: Vec<_> = board.logged().difference(&control).cloned().collect();
    println!("{} lines are logged without patients, {} more with them", control.len(), new.len());
    // A look, and the state after it if the trial has ended: whatever else depends on patients would make more.
    assert!(!new.is_empty(), "a look is logged");
    assert!(new.len() == 1, "{new:?}");
}
