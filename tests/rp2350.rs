//! The firmware on an emulated Raspberry Pi Pico 2: the Unicorn engine and the model of the RP2350
//! and its flash in `tests/rp2350`. Started by `cargo xtask test`, which builds the images and
//! installs the engine; without them these tests fail.

/// The emulated chip.
mod chip {
    /// Its folder.
    pub const NAME: &str = "rp2350";
    /// Variables that name its images.
    pub const RELEASE: &str = "EQUIPOISE_FIRMWARE_PICO2";
    pub const TEST: &str = "EQUIPOISE_FIRMWARE_PICO2_TEST";
    /// How long a reply may take, in microseconds: an `ERASE` of every page takes 14 seconds.
    pub const PATIENCE: u64 = 20_000_000;
    /// How long a boot may take: a journal that is repaired may erase every page, and a dead noise
    /// source is waited for.
    pub const BOOT: u64 = 8_000_000;
    /// The reset that ends a stack overflow: the fault handler's own.
    pub const OVERFLOW: u64 = 4;
    /// Bytes of the journal.
    pub const JOURNAL: usize = 128 * 1024;
}

#[path = "rp2350/line.rs"]
mod line;
#[path = "rp2350/restarts.rs"]
mod restarts;
#[path = "rp2350/trials.rs"]
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
#[path = "qemu/known.rs"]
mod known;
#[path = "emulation/purges.rs"]
mod purges;
#[path = "emulation/scenarios.rs"]
mod scenarios;
