//! Parts of the build tool that tests of the firmware use: ELF files, images, QEMU's command line;
//! and of documents: Markdown, requirements.

pub mod elf;
pub mod fpu;
pub mod http;
pub mod image;
pub mod markdown;
/// The command line of QEMU is that of the program, in one file.
#[path = "../../host/ward/src/line/qemu.rs"]
pub mod qemu;
pub mod steps;
pub mod trace;
