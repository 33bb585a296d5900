//! Parts of the build tool that tests of the firmware use: ELF files, images, QEMU's command line;
//! and of documents: Markdown, requirements.

pub mod elf;
pub mod http;
pub mod image;
pub mod markdown;
pub mod qemu;
pub mod steps;
pub mod trace;
