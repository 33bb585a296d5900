//! Power cuts, resets and crashes: what was answered is there afterwards, and `HELLO` reports the
//! cause.

use crate::bedside::{Bedside, Dice, sealed, unsealed};
use crate::board::{Board, Cut, Firmware};
use crate::known::Known;

const PLAN: &str = "features=4 patients=5000 epsilon=1";
/// Times the power is cut.
const CUTS: u32 = 40;
/// Longer than the watchdog waits.
const WATCHDOG: u64 = 17_000_000;

/// Asks until the power fails.
fn ask_until_cut(board: &mut Board, known: &mut Known) {
    loop {
        board.send(format!("{}\n", sealed(&known.next())).as_bytes(), 0);
        match board.try_line(2_000_000) {
            Ok(reply) => known.heard(&unsealed(&reply.expect("a reply").0)),
            Err(Cut) => return,
        }
    }
}

/// The power fails inside writes, inside erases and inside the recovery that follows, with torn
/// words and pages and RAM full of anything: nothing that was answered is lost.
#[test]
fn power_cuts_lose_nothing_answered() {
    let mut board = Board::boot(Firmware::Release, 8);
    board.begin(PLAN);
    let mut dice = Dice(19);
    let mut known = Known::default();
    let (mut in_erases, mut in_recovery) = (0, 0);
    for number in 0..CUTS {
        let erase = number % 4 == 3;
        board.cut_at(1 + if erase { 0 } else { dice.roll(60) }, erase);
        ask_until_cut(&mut board, &mut known);
        in_erases += u32::from(erase);
        board.power_up();
        // Every other recovery is cut as well, if it writes.
        if number % 2 == 1 {
            board.cut_at(1 + dice.roll(40), false);
            if board.try_start().is_err() {
                in_recovery += 1;
                board.power_up();
                board.start();
            }
            board.never_cut();
        } else {
            board.start();
        }
        // The request that got no reply may have been carried out; it is sent again.
        known.check(&mut board);
        let again = board.request(&known.next());
        known.heard(&again);
    }
    println!(
        "{CUTS} cuts, {in_erases} in erases, and {in_recovery} in recovery: {} patients assigned, {} resolved, 0 lost",
        known.assigned, known.resolved
    );
    assert!(
        in_erases >= 10 && in_recovery >= 5,
        "{in_erases} in erases, {in_recovery} in recovery"
    );
}

/// The journal goes round its whole region, a page a power-up, and nothing is lost.
#[test]
fn journal_goes_round_its_region() {
    let mut board = Board::boot(Firmware::Release, 13);
    board.begin(PLAN);
    let mut known = Known::default();
    for _ in 0..80 {
        for _ in 0..2 {
            let reply = board.request(&known.next());
            known.heard(&reply);
        }
        board.power_up();
        board.start();
        known.check(&mut board);
    }
    let erases = board.state().erases;
    assert!(erases.iter().all(|count| *count >= 1), "{erases:?}");
    let twice = erases.iter().filter(|count| **count >= 2).count();
    assert!(twice >= 10, "{erases:?}");
}

/// A board with a trial, nine requests old.
fn begun(firmware: Firmware, seed: u32) -> (Board, Known) {
    let mut board = Board::boot(firmware, seed);
    board.begin(PLAN);
    let mut known = Known::default();
    for _ in 0..9 {
        let reply = board.request(&known.next());
        known.heard(&reply);
    }
    (board, known)
}

fn restarted(board: &mut Board, known: &Known, cause: &str) {
    board.expect_hello("running", &format!("restart={cause}"));
    known.check(board);
}

/// The reset button, alone and with every other bit that anomaly 136 may set; power.
#[test]
fn button_and_power_are_reported() {
    let (mut board, known) = begun(Firmware::Release, 9);
    for bits in [0, 2, 4, 8, 14, 1 << 16, 0x000F_000E] {
        board.press_reset(bits);
        restarted(&mut board, &known, "reset");
    }
    board.power_up();
    board.start();
    restarted(&mut board, &known, "power");
}

/// A panic, a fault and a stack overflow send nothing, reset the board and are reported as a fault,
/// once.
#[test]
fn crashes_are_reported_as_fault() {
    for (drill, reset) in [("panic", 4), ("fault", 4), ("overflow", 8)] {
        let (mut board, known) = begun(Firmware::Test, 10);
        board.send(format!("DRILL {drill}\n").as_bytes(), 0);
        assert_eq!(board.try_line(700_000).unwrap(), None, "nothing is sent");
        assert_eq!(board.state().resets, [0, reset], "{drill}");
        restarted(&mut board, &known, "fault");
        board.press_reset(0);
        restarted(&mut board, &known, "reset");
    }
}

/// A board that hangs is reset by the watchdog; one that is idle is not.
#[test]
fn watchdog_resets_a_hung_board() {
    let (mut board, known) = begun(Firmware::Test, 11);
    board.run(WATCHDOG);
    assert_eq!(board.state().resets, [0], "an idle board feeds its watchdog");
    board.send(b"DRILL hang\n", 0);
    assert_eq!(board.try_line(WATCHDOG).unwrap(), None, "nothing is sent");
    assert_eq!(board.state().resets, [0, 2]);
    restarted(&mut board, &known, "watchdog");
}
