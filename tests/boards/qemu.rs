//! The firmware on an emulated micro:bit v1. Started by `cargo xtask test`, which builds the two
//! images that are run: the one that ships, and test builds with rehearsed noise and drills, one of
//! which logs.

pub mod bedside;
mod blinded;
mod cycles;
mod emulator;
pub mod known;
mod line;
mod logs;
mod measures;

mod restarts;
mod trials;
mod twin;
