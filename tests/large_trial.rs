//! Whole trials through the device's line, at the largest size a board holds.

use equipoise::host::virtual_board::{Flash, PAGES, VirtualBoard};

const KEY: &str = "KEY 000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

/// Plans a trial on a fresh board; then every patient's outcome comes before the next patient.
fn whole_trial(plan: &str, patients: u32) -> VirtualBoard {
    let mut board = VirtualBoard::seeded(Flash::in_memory(PAGES), 7);
    assert!(board.ask(KEY).starts_with("OK"));
    let planned = board.ask(&format!("PLAN {plan} patients={patients}"));
    assert!(planned.starts_with("OK"), "{planned}");
    for k in 1..=patients {
        let arm = board.ask(&format!("ASSIGN {k} {} {k:08x}", k % 64));
        assert!(arm.starts_with(&format!("ARM {k} ")), "{arm}");
        let done = board.ask(&format!("OUTCOME {k} {}", k % 2));
        assert!(done.starts_with(&format!("OK {k}*")), "{done}");
    }
    board
}

#[test]
fn sixty_four_features_turn_to_the_second_half_in_one_commit() {
    for design in ["dp-conse", "interim"] {
        let mut board = whole_trial(&format!("design={design} features=64 epsilon=1"), 900);
        let before = board.ask("STATUS");
        board.power_cut();
        assert!(board.ask("HELLO").starts_with("HELLO equipoise 1"));
        assert_eq!(board.ask("STATUS"), before);
        assert!(before.contains("assigned=900 unresolved=0"), "{before}");
    }
}

#[test]
fn a_person_may_leave_the_checksum_out_after_a_hello_but_a_program_may_not() {
    let mut board = whole_trial("design=interim features=64 epsilon=1", 4);
    let sealed = |line: &str| format!("{line}*{:04X}", equipoise::wire::checksum(line.as_bytes()));
    assert!(board.ask("STATUS").starts_with("STATUS"));
    assert!(board.ask(&sealed("STATUS")).starts_with("STATUS"));
    assert!(board.ask("STATUS").starts_with("ERR checksum"));
    board.power_cut();
    assert!(board.ask("ASSIGN 5 0").starts_with("ERR checksum"), "a tagged line cut short by noise");
    assert!(board.ask("HELLO").starts_with("HELLO"));
    assert!(board.ask("STATUS").contains("assigned=4 "));
}
