//! Content of the firmware's log.

use crate::qemu::bedside::Bedside;
use crate::qemu::emulator::Emulator;

const PATIENTS: u32 = 128;
/// Bytes of a page of the v1's journal.
const PAGE: usize = 2048;

/// Starts a trial with everything that is logged: a start, a refusal, erased pages.
fn begun() -> Emulator {
    let mut board = Emulator::boot_logging(None);
    // With so many features the plan is longer than a page.
    board.begin(&format!("features=64 patients={PATIENTS} epsilon=1"));
    assert!(board.request("OUTCOME 1 1").starts_with("ERR unknown "));
    board.request("STATUS");
    board
}

/// A whole trial logs no line that a device without patients does not log. Requirement D24.
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

/// Flash that cannot be mounted is `fault` on the line; the log says why, each reason in its words.
#[test]
fn log_tells_why_flash_is_refused() {
    let logged = |journal: &[u8]| {
        let mut board = Emulator::boot_logging(Some(journal));
        let hello = board.request("HELLO");
        assert_eq!(hello.split(' ').nth(4), Some("fault"), "{hello}");
        board.logged()
    };
    let (_, mut journal) = begun().cut_power();
    let foreign = logged(&vec![0x5A; journal.len()]);
    // The header of every page stays: what was committed behind it is damaged.
    journal.chunks_mut(PAGE).for_each(|page| page[64..].fill(0));
    let damaged = logged(&journal);
    assert!(foreign.len() >= 2 && damaged.len() >= 2, "{foreign:?} {damaged:?}");
    assert_ne!(foreign, damaged);
}
