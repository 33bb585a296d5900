//! Parts of the build tool that tests of the firmware use: ELF files, images, QEMU's command line.

pub mod elf;
pub mod http;
pub mod image;
pub mod markdown;
pub mod qemu;
pub mod steps;
