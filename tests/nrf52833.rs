//! The firmware on an emulated micro:bit v2: the Unicorn engine and the model of the nRF52833 in
//! `tests/nrf52833/chip.py`. Started by `cargo xtask test`, which builds the images and installs
//! the engine; without them these tests fail.

#[path = "nrf52833/blinded.rs"]
mod blinded;
#[path = "nrf52833/board.rs"]
mod board;
#[path = "nrf52833/line.rs"]
mod line;
#[path = "nrf52833/restarts.rs"]
mod restarts;
#[path = "nrf52833/trials.rs"]
mod trials;

#[path = "qemu/bedside.rs"]
mod bedside;
#[path = "../xtask/src/elf.rs"]
#[allow(dead_code, reason = "shared with xtask, which uses the rest")]
mod elf;
#[path = "../xtask/src/image.rs"]
#[allow(dead_code, reason = "shared with xtask, which uses the rest")]
mod image;
#[path = "qemu/known.rs"]
mod known;
