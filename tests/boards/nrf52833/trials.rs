//! Whole trials at the speed of the wire, with the image that ships.

use super::CHIP;
use crate::emulation::board::{EmulatedBoard, Firmware};
use crate::emulation::scenarios;
use crate::qemu::bedside::{Bedside, sealed};
use equipoise::board::display;

/// The LEDs of a picture, as 5 * y + x.
pub fn leds(picture: u32) -> Vec<u64> {
    (0..25_u32).filter(|led| picture >> led & 1 != 0).map(u64::from).collect()
}

/// LEDs lit in the next `time` microseconds.
pub fn lit(board: &mut EmulatedBoard, time: u64) -> Vec<u64> {
    board.state();
    board.run(time);
    let mut lit = board.state().lit;
    lit.sort_unstable();
    lit
}

/// A whole trial of each design; and what the LEDs show meanwhile.
#[test]
fn whole_trial_with_report_and_leds() {
    scenarios::whole_trial(
        &CHIP,
        |board| assert_eq!(lit(board, 1_100_000), leds(display::HEART)),
        |board, arm| {
            let picture = if arm == 0 { display::ARM_0 } else { display::ARM_1 };
            assert_eq!(lit(board, 50_000), leds(picture), "arm {arm}");
        },
    );
}

/// Flash full of noise is a fault: a cross on the LEDs, and nobody is assigned.
#[test]
fn noise_on_flash_is_a_fault() {
    assert_eq!(lit(&mut scenarios::noise_on_flash(&CHIP), 200_000), leds(display::FAULT));
}

/// A source of noise that is dead or stuck at power-up: only `HELLO` and `STATUS` are answered. One
/// that dies later: nobody more is assigned. Requirement D9.
#[test]
fn dead_noise_source_assigns_nobody() {
    scenarios::dead_noise_source(&CHIP);
}

/// At any turnaround from 0 to 500 ms no request needs a second sending: 2,000 patients. The flash
/// is worn so little that the journal lasts for 10 million; afterwards a power cut loses nothing.
#[test]
fn no_request_is_sent_twice() {
    // A page of the nRF52833 is good for 10,000 erases.
    scenarios::turnarounds(&CHIP, 2000, 10_000);
}

/// Under load, with erases that take their real time, every reply leaves in the same slot whatever
/// the features, arms and outcomes; also that to the request that finds a look due.
/// Requirement D20.
#[test]
fn reply_slots_do_not_depend_on_patients() {
    scenarios::reply_slots(&CHIP, 100_000.0, 300_000.0);
}

/// A request that arrives while noise is drawn after a look: the moment of its reply depends
/// neither on the noise nor on when it came. Requirement D20.
#[test]
fn reply_behind_a_look_keeps_its_slot() {
    // 64 draws of at least 4 ms.
    scenarios::slot_behind_look(&CHIP, 256_000.0);
}

/// 4,096 patients wait; one more is refused. Power cuts in their outcomes and in the recovery lose
/// nobody. Requirement D8.
#[test]
fn waiting_4096_survive_power_cuts() {
    const WAITING: u32 = 4096;
    let mut board = EmulatedBoard::boot(&CHIP, Firmware::Release, 12);
    board.begin("features=8 patients=10000 epsilon=1");
    for k in 1..=WAITING {
        board.assign(k, k % 8);
    }
    assert_eq!(board.status("waiting"), WAITING);
    let full = board.request(&format!("ASSIGN {} 0", WAITING + 1));
    assert!(full.starts_with("ERR full"), "{full}");
    let mut resolved = 0;
    for cut in 1..=6 {
        // In a word of one of the next outcomes, or in the next page erase.
        let erase = cut % 3 == 0;
        board.cut_at(if erase { 1 } else { cut * 7 }, erase);
        loop {
            board.send(
                format!("{}\n", sealed(&format!("OUTCOME {} 1", resolved + 1))).as_bytes(),
                0,
            );
            match board.try_line(2_000_000) {
                Ok(reply) => {
                    let line = reply.map(|(line, _)| line);
                    assert!(line.as_ref().is_some_and(|line| line.starts_with("OK ")), "{line:?}");
                }
                Err(_) => break,
            }
            resolved += 1;
        }
        board.power_up();
        board.cut_at(cut * 50, false);
        if board.try_start().is_err() {
            board.power_up();
            board.start();
        }
        board.never_cut();
        let waiting = board.status("waiting");
        assert!(
            [WAITING - resolved, WAITING - resolved - 1].contains(&waiting),
            "{waiting}, {resolved} resolved"
        );
        board.expect(&format!("OUTCOME {} 1", resolved + 1), &format!("OK {}", resolved + 1));
        resolved += 1;
        assert_eq!(board.status("waiting"), WAITING - resolved);
    }
}
