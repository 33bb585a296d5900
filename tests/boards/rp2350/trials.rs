//! Whole trials at the speed of the wire, with the image that ships.

use super::CHIP;
use crate::emulation::board::{EmulatedBoard, Firmware};
use crate::emulation::scenarios;
use crate::qemu::bedside::{Bedside, sealed};

/// Changes of the LED in the next so many microseconds, and its level at the end.
fn led(board: &mut EmulatedBoard, time: u64) -> (usize, u64) {
    board.state();
    board.run(time);
    let lit = board.state().lit;
    (lit.len() - 1, lit[0])
}

/// A whole trial of each design; and what the LED shows meanwhile.
#[test]
fn whole_trial_with_report_and_led() {
    scenarios::whole_trial(
        &CHIP,
        |board| assert_eq!(led(board, 3_000_000).0, 6, "three heartbeats"),
        |board, arm| {
            board.run(50_000);
            let shown = led(board, 2_000_000);
            let right = if arm == 0 { shown == (0, 1) } else { (7..=9).contains(&shown.0) };
            assert!(right, "arm {arm}: {shown:?}");
        },
    );
}

/// Flash full of noise is a fault: the LED flickers, and nobody is assigned.
#[test]
fn noise_on_flash_is_a_fault() {
    let (changes, _) = led(&mut scenarios::noise_on_flash(&CHIP), 1_000_000);
    assert!((15..=18).contains(&changes), "{changes} changes of the LED");
}

/// A source of noise that is dead or stuck at power-up: only `HELLO` and `STATUS` are answered. One
/// that dies later: nobody more is assigned. Requirement D9.
#[test]
fn dead_noise_source_assigns_nobody() {
    scenarios::dead_noise_source(&CHIP);
}

/// The chip's own tests of its noise fail now and then on a good source: it is asked again.
#[test]
fn failed_noise_is_collected_again() {
    let mut board = EmulatedBoard::boot(&CHIP, Firmware::Release, 5);
    board.set("noise_failures", 2);
    board.power_up();
    board.start();
    board.begin("features=2 patients=100 epsilon=1");
    for patient in 1..=60 {
        board.assign(patient, 0);
    }
    assert_eq!(board.status("assigned"), 60);
}

/// At any turnaround from 0 to 500 ms no request needs a second sending: 300 patients. The flash is
/// worn so little that the journal lasts for 10 million; afterwards a power cut loses nothing.
#[test]
fn no_request_is_sent_twice() {
    // A page of the flash is good for 100,000 erases.
    scenarios::turnarounds(&CHIP, 300, 100_000);
}

/// Under load, with erases that take their real time, every reply leaves in the same slot whatever
/// the features, arms and outcomes; also that to the request that finds a look due.
/// Requirement D20.
#[test]
fn reply_slots_do_not_depend_on_patients() {
    scenarios::reply_slots(&CHIP, 400_000.0, 800_000.0);
}

/// A request that arrives while noise is drawn after a look: the moment of its reply depends
/// neither on the noise nor on when it came.
#[test]
fn reply_behind_a_look_keeps_its_slot() {
    // 64 draws of at least 4 ms.
    scenarios::slot_behind_look(&CHIP, 256_000.0);
}

/// 1,024 patients wait; one more is refused. A power cut loses nobody. Requirement D8.
#[test]
fn waiting_1024_survive_a_power_cut() {
    const WAITING: u32 = 1024;
    let mut board = EmulatedBoard::boot(&CHIP, Firmware::Release, 12);
    board.begin("features=64 patients=10000 epsilon=1");
    for k in 1..=WAITING {
        board.assign(k, k % 64);
    }
    let full = board.request(&format!("ASSIGN {} 0", WAITING + 1));
    assert!(full.starts_with("ERR full"), "{full}");
    board.cut_at(7, false);
    board.send(format!("{}\n", sealed("OUTCOME 1 1")).as_bytes(), 0);
    assert!(board.try_line(1_000_000).is_err(), "the power fails");
    board.power_up();
    board.start();
    assert_eq!(board.status("assigned"), WAITING);
    assert!([WAITING, WAITING - 1].contains(&board.status("waiting")));
    board.expect("OUTCOME 1 1", "OK 1");
    assert_eq!(board.status("waiting"), WAITING - 1);
}
