//! Power cuts, resets and crashes: what was answered is there afterwards, and `HELLO` reports the
//! cause.

use super::CHIP;
use crate::emulation::board::Firmware;
use crate::emulation::purges;
use crate::emulation::scenarios::{self, begun, restarted};
use crate::times;

/// Longer than the watchdog waits, in microseconds.
const WATCHDOG: u64 = 61_000_000;

/// The power fails inside writes, inside erases and inside the recovery that follows, with torn
/// words and pages and RAM full of anything: nothing that was answered is lost. Requirement D2.
#[test]
fn power_cuts_lose_nothing_answered() {
    scenarios::power_cuts(&CHIP, times(16, 24));
}

/// The power fails in the first start, and in the start after it: the board ends up blank.
#[test]
fn cut_first_start_ends_blank() {
    purges::first_start_cuts(&CHIP, times(8, 20));
}

/// The power fails in `ERASE`, and in the start after it: the trial is as it was, or gone.
#[test]
fn cut_erase_keeps_or_removes_the_trial() {
    purges::erase_cuts(&CHIP, times(8, 20));
}

/// The journal goes round its whole region, a page a power-up, and nothing is lost.
#[test]
fn journal_goes_round_its_region() {
    scenarios::round_the_region(&CHIP, 44);
}

/// The RUN pin and power.
#[test]
fn pin_and_power_are_reported() {
    let (mut board, known) = begun(&CHIP, Firmware::Release, 9);
    board.press_reset(0);
    restarted(&mut board, &known, "reset");
    board.power_up();
    board.start();
    restarted(&mut board, &known, "power");
}

/// A reset by software that no fault handler asked for is not a fault.
#[test]
fn software_reset_without_mark_is_reset() {
    scenarios::software_reset(&CHIP);
}

/// A panic, a fault and a stack overflow send nothing, reset the board and are reported as a fault,
/// once.
#[test]
fn crashes_are_reported_as_fault() {
    scenarios::crashes(&CHIP);
}

/// A board that hangs is reset by the watchdog; one that is idle is not. Requirement D25.
#[test]
fn watchdog_resets_a_hung_board() {
    scenarios::hang(&CHIP, WATCHDOG);
}
