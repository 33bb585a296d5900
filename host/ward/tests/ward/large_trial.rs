//! Whole trials through the device's line, at the largest size a board holds.

use equipoise::testkit::order;
use equipoise::wire::Request;
use equipoise_ward::virtual_board::{Flash, PAGES, VirtualBoard};

const KEY: [u8; 32] = [0x5A; 32];

/// Plans a trial on a fresh board; then every patient's outcome comes before the next patient.
fn whole_trial(plan: &str, patients: u32) -> VirtualBoard {
    let mut board = VirtualBoard::seeded(Flash::in_memory(PAGES), 7);
    assert!(board.ask(&Request::Key(KEY).to_string()).starts_with("OK"));
    let planned =
        order(KEY, &format!("PLAN {plan} patients={patients} better=high"), |line| board.ask(line));
    assert!(planned.starts_with("OK"), "{planned}");
    for k in 1..=patients {
        let arm = board.ask(&format!("ASSIGN {k} {} {k:08x}", k % 64));
        assert!(arm.starts_with(&format!("ARM {k} ")), "{arm}");
        let done = board.ask(&format!("OUTCOME {k} {}", k % 2));
        assert!(done.starts_with(&format!("OK {k}*")), "{done}");
    }
    board
}

/// 64 features change at half in one commit, which survives a power cut.
#[test]
fn all_features_change_in_one_commit() {
    for design in ["dp-conse", "interim"] {
        let mut board = whole_trial(&format!("design={design} features=64 epsilon=1"), 900);
        let before = board.ask("STATUS");
        board.power_cut();
        assert!(board.ask("HELLO").starts_with("HELLO equipoise 3"));
        assert_eq!(board.ask("STATUS"), before);
        assert!(before.contains("assigned=900 resolved=900"), "{before}");
    }
}

/// A person may leave the checksum out after a `HELLO`; a program may not.
#[test]
fn checksums_are_optional_after_hello() {
    let mut board = whole_trial("design=interim features=64 epsilon=1", 4);
    let sealed = |line: &str| format!("{line}*{:04X}", equipoise::wire::checksum(line.as_bytes()));
    assert!(board.ask("STATUS").starts_with("STATUS"));
    assert!(board.ask(&sealed("STATUS")).starts_with("STATUS"));
    assert!(board.ask("STATUS").starts_with("ERR checksum"));
    board.power_cut();
    assert!(
        board.ask("ASSIGN 5 0").starts_with("ERR checksum"),
        "a tagged line cut short by noise"
    );
    assert!(board.ask("HELLO").starts_with("HELLO"));
    assert!(board.ask("STATUS").contains("assigned=4 "));
}
