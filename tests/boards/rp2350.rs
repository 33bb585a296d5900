//! The firmware on an emulated Raspberry Pi Pico 2: the Unicorn engine and the model of the RP2350
//! and its flash in `tests/boards/rp2350`. Started by `cargo xtask test`, which builds the images
//! and installs the engine; without them these tests fail.

mod line;
mod restarts;
mod trials;

use crate::emulation::Chip;

/// The emulated chip.
static CHIP: Chip = Chip {
    name: "rp2350",
    release: "EQUIPOISE_FIRMWARE_PICO2",
    test: "EQUIPOISE_FIRMWARE_PICO2_TEST",
    // How long a reply may take, in microseconds: an `ERASE` of every page takes 14 seconds.
    patience: 20_000_000,
    boot: 8_000_000,
    // The reset that ends a stack overflow: the fault handler's own.
    overflow: 4,
    journal: 128 * 1024,
};
