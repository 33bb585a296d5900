//! The images that `cargo xtask sizes` refuses.

use super::fake::{Fake, firmware};
use std::path::Path;
use xtask::elf::Elf;
use xtask::fpu;

/// The v2's image does not compute on the FPU; with one instruction changed to one that does, it is
/// refused, and the function is named.
#[test]
fn arithmetic_on_the_fpu_is_found() {
    const VADD: [u8; 4] = [0x30, 0xEE, 0x20, 0x0A];
    let fake = Fake::new();
    assert!(fake.xtask(&["firmware", "--board", "v2"]).0, "{}", fake.said());
    let mut bytes = std::fs::read(Path::new("..").join(firmware("v2"))).unwrap();
    let elf = Elf::parse(bytes.clone()).unwrap();
    assert_eq!(fpu::check(&elf), Ok(()));
    let code = elf.code();
    let (start, piece) = code.iter().max_by_key(|(_, piece)| piece.len()).unwrap();
    let at = bytes.windows(piece.len()).position(|place| place == piece).unwrap();
    bytes[at..at + VADD.len()].copy_from_slice(&VADD);
    let changed = Elf::parse(bytes).unwrap();
    let function = changed.function_at(*start).unwrap();
    let refused = fpu::check(&changed).unwrap_err();
    assert!(refused.contains("registers: 1, the first "), "{refused}");
    assert!(refused.ends_with(&format!("{start:#x} in {function}")), "{refused}");
}
