//! The firmware on an emulated micro:bit v2: the Unicorn engine and the model of the nRF52833 in
//! `tests/nrf52833`. Started by `cargo xtask test`, which builds the images and installs
//! the engine; without them these tests fail.

/// The emulated chip.
mod chip {
    /// Its folder.
    pub const NAME: &str = "nrf52833";
    /// Variables that name its images.
    pub const RELEASE: &str = "EQUIPOISE_FIRMWARE_V2";
    pub const TEST: &str = "EQUIPOISE_FIRMWARE_V2_TEST";
    /// How long a reply may take, in microseconds: an `ERASE` of every page takes 8 seconds.
    pub const PATIENCE: u64 = 10_000_000;
    /// How long a boot may take: a journal that is repaired may erase every page, and a dead noise
    /// source is waited for.
    pub const BOOT: u64 = 8_000_000;
    /// The reset that ends a stack overflow: a lock-up, because the fault
    /// handler finds no stack.
    pub const OVERFLOW: u64 = 8;
    /// Bytes of the journal.
    pub const JOURNAL: usize = 256 * 1024;
}

#[path = "nrf52833/blinded.rs"]
mod blinded;
#[path = "nrf52833/line.rs"]
mod line;
#[path = "nrf52833/restarts.rs"]
mod restarts;
#[path = "nrf52833/trials.rs"]
mod trials;

#[path = "qemu/bedside.rs"]
mod bedside;
#[path = "emulation/board.rs"]
mod board;
#[path = "../xtask/src/elf.rs"]
#[allow(dead_code, reason = "shared with xtask, which uses the rest")]
mod elf;
#[path = "../xtask/src/image.rs"]
#[allow(dead_code, reason = "shared with xtask, which uses the rest")]
mod image;
#[path = "common/kits.rs"]
mod kits;
#[path = "qemu/known.rs"]
mod known;
#[path = "emulation/purges.rs"]
mod purges;
#[path = "emulation/scenarios.rs"]
mod scenarios;
