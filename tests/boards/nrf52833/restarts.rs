//! Power cuts, resets and crashes: what was answered is there afterwards, and `HELLO` reports the
//! cause.

use super::CHIP;
use crate::emulation::board::Firmware;
use crate::emulation::purges;
use crate::emulation::scenarios::{self, begun, restarted};
use crate::qemu::bedside::sealed;
use crate::times;

/// Longer than the watchdog waits, in microseconds.
const WATCHDOG: u64 = 17_000_000;

/// The power fails inside writes, inside erases and inside the recovery that follows, with torn
/// words and pages and RAM full of anything: nothing that was answered is lost. Requirement D2.
#[test]
fn power_cuts_lose_nothing_answered() {
    scenarios::power_cuts(&CHIP, times(16, 40));
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

/// The journal goes on by a page a power-up, in the long version round its whole region, and
/// nothing is lost.
#[test]
fn journal_goes_round_its_region() {
    scenarios::round_the_region(&CHIP, times(16, 80));
}

/// The reset button, alone and with every other bit that anomaly 136 may set; power.
#[test]
fn button_and_power_are_reported() {
    let (mut board, known) = begun(&CHIP, Firmware::Release, 9);
    for bits in [0, 2, 4, 8, 14, 1 << 16, 1 << 20, 0x001F_000E] {
        board.press_reset(bits);
        restarted(&mut board, &known, "reset");
    }
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

/// A reset by software leaves the watchdog running: it is reloaded before the repair of a journal
/// that takes longer than it would have left.
#[test]
fn watchdog_is_reloaded_after_a_soft_reset() {
    /// Microseconds of the watchdog, for which a request has kept it unfed, and of an erase.
    const WATCHDOG: u32 = 16_000_000;
    const UNFED: u32 = 15_400_000;
    const ERASE: u32 = 85_000;
    let (mut board, known) = begun(&CHIP, Firmware::Release, 24);
    board.slow_flash(UNFED);
    board.send(format!("{}\n", sealed(&known.next())).as_bytes(), 0);
    // The first word of the record is written, and most others are not.
    board.run(u64::from(UNFED));
    let before: u64 = board.state().erases.iter().sum();
    board.reset_by_software();
    let erased = board.state().erases.iter().sum::<u64>() - before;
    let left = u64::from((WATCHDOG - UNFED) / ERASE);
    assert!(erased > left, "{erased} erases: the repair takes too little time");
    restarted(&mut board, &known, "reset");
    assert_eq!(board.state().resets, [0, 4], "power and software");
}
