//! The firmware that ships, run on an emulated micro:bit v1. Started by `cargo xtask test`, which builds it.

#[path = "../src/bin/xtask/elf.rs"]
#[allow(dead_code, reason = "shared with xtask, which uses the rest")]
mod elf;
#[path = "qemu/emulator.rs"]
mod emulator;

use emulator::{Emulator, Firmware};

#[test]
fn the_board_answers_and_answers_again_after_a_reset() {
    let mut board = Emulator::boot(Firmware::Release);
    assert!(board.ask("HELLO").starts_with("HELLO equipoise 1 "));
    board.reset();
    assert!(board.ask("HELLO").starts_with("HELLO equipoise 1 "));
    let flash = board.cut_power();
    let mut board = Emulator::boot_on(Firmware::Release, &flash);
    assert!(board.ask("HELLO").starts_with("HELLO equipoise 1 "));
}
