//! The firmware on an emulated micro:bit v2: the Unicorn engine and the model of the nRF52833 in
//! `tests/boards/nrf52833`. Started by `cargo xtask test`, which builds the images and installs
//! the engine; without them these tests fail.

mod blinded;
mod line;
mod restarts;
mod trials;

use crate::emulation::Chip;

/// The emulated chip.
static CHIP: Chip = Chip {
    name: "nrf52833",
    release: "EQUIPOISE_FIRMWARE_V2",
    test: "EQUIPOISE_FIRMWARE_V2_TEST",
    // How long a reply may take, in microseconds: an `ERASE` of every page takes 8 seconds.
    patience: 10_000_000,
    boot: 8_000_000,
    // The reset that ends a stack overflow: a lock-up, because the fault
    // handler finds no stack.
    overflow: 8,
    journal: 256 * 1024,
};
