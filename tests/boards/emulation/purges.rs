//! Power cuts in the first start of an emulated board and in its `ERASE`, which both write every
//! part, page by page.

use super::Chip;
use super::board::{Cut, EmulatedBoard, Firmware};
use super::scenarios::PLAN;
use crate::qemu::bedside::{Bedside, Dice, KEY, sealed, unsealed};
use crate::qemu::known::Known;
use equipoise::testkit::order;

/// Starts a board whose power has failed. If `cut`, it fails again in the flash operation so many
/// from here, if there is one. Whether it did.
fn start_again(board: &mut EmulatedBoard, operation: u32, cut: bool) -> bool {
    board.power_up();
    if !cut {
        board.start();
        return false;
    }
    board.cut_at(operation, false);
    let failed = board.try_start().is_err();
    if failed {
        board.power_up();
        board.start();
    }
    board.never_cut();
    failed
}

/// The power fails in the first start, and in every other start after that: the board ends up blank
/// and takes a trial.
pub fn first_start_cuts(chip: &'static Chip, cuts: u32) {
    let mut board = EmulatedBoard::boot(chip, Firmware::Release, 15);
    let operations = board.state().operations as u32;
    let (mut dice, mut in_recovery) = (Dice(23), 0);
    for number in 0..cuts {
        board.store_journal(|| 0xFF);
        board.power_up();
        board.cut_at(1 + (operations * number + dice.roll(operations)) / cuts, false);
        assert!(board.try_start().is_err(), "cut {number} came too late");
        let again = 1 + dice.roll(operations);
        in_recovery += u32::from(start_again(&mut board, again, number % 2 == 1));
        board.expect_hello("blank", "restart=power");
    }
    println!("{cuts} cuts of {operations} flash operations, and {in_recovery} in recovery");
    assert!(in_recovery >= cuts / 4, "{in_recovery} in recovery");
    board.begin(PLAN);
    board.assign(1, 0);
}

/// The power fails in `ERASE`, and in every other start after that: the trial is there as it was,
/// or gone.
pub fn erase_cuts(chip: &'static Chip, cuts: u32) {
    let mut board = EmulatedBoard::boot(chip, Firmware::Release, 16);
    board.begin(PLAN);
    let before = board.state().operations;
    board.as_custodian("ERASE");
    let operations = (board.state().operations - before) as u32;
    let (mut dice, mut known) = (Dice(29), None);
    let (mut in_erase, mut in_recovery, mut kept) = (0, 0, 0);
    for number in 0..cuts {
        let trial = known.get_or_insert_with(|| {
            let planned =
                order(KEY, &format!("PLAN {PLAN} better=high"), |line| board.request(line));
            assert!(planned.starts_with("OK trial="), "{planned}");
            Known::default()
        });
        let reply = board.request(&trial.next());
        trial.heard(&reply);
        board.cut_at(1 + (operations * number + dice.roll(operations)) / cuts, false);
        let answer = order(KEY, "ERASE", |line| {
            board.send(format!("{}\n", sealed(line)).as_bytes(), 0);
            let line = board.try_line(chip.patience);
            line.map_or_else(|Cut| String::new(), |line| unsealed(&line.expect("a reply").0))
        });
        in_erase += u32::from(answer.is_empty());
        let again = 1 + dice.roll(operations);
        in_recovery += u32::from(start_again(&mut board, again, number % 2 == 1));
        if board.request("HELLO").contains(" running ") {
            assert!(answer.is_empty(), "{answer}, and the trial is still there");
            trial.check(&mut board);
            kept += 1;
        } else {
            board.expect_hello("blank", "restart=power");
            known = None;
        }
    }
    println!("{in_erase} cuts of {operations} flash operations, {in_recovery} in recovery");
    println!("{kept} times the trial was still there, as it was");
    assert!(in_erase >= cuts * 3 / 4 && in_recovery >= cuts / 8 && (1..cuts).contains(&kept));
}
