//! The firmware on an emulated micro:bit v1. Started by `cargo xtask test`, which builds the two
//! images that are run: the one that ships, and test builds with rehearsed noise and drills, one of
//! which logs.

#[path = "qemu/bedside.rs"]
mod bedside;
#[path = "qemu/blinded.rs"]
mod blinded;
#[path = "qemu/cycles.rs"]
mod cycles;
#[path = "../xtask/src/elf.rs"]
#[allow(dead_code, reason = "shared with xtask, which uses the rest")]
mod elf;
#[path = "qemu/emulator.rs"]
mod emulator;
#[path = "../xtask/src/image.rs"]
#[allow(dead_code, reason = "shared with xtask, which uses the rest")]
mod image;
#[path = "common/kits.rs"]
mod kits;
#[path = "qemu/known.rs"]
mod known;
#[path = "qemu/line.rs"]
mod line;
#[path = "qemu/logs.rs"]
mod logs;
#[path = "qemu/measures.rs"]
mod measures;
#[path = "../src/board/rehearsal.rs"]
mod rehearsal;
#[path = "qemu/restarts.rs"]
mod restarts;
#[path = "qemu/trials.rs"]
mod trials;
#[path = "qemu/twin.rs"]
mod twin;
