//! Floating-point arithmetic in the code of a Cortex-M with a floating-point unit (FPU).
//!
//! All arithmetic of doubles is done in integer registers, by the same code on every board, so that
//! boards and hosts agree to the last bit; the FPU of the v2 and of the Pico 2 has singles only. A
//! float that slips into the firmware would be computed there, and not on the v1. So an image may
//! load, move and compare floating-point registers, which rounds nothing, but not compute with
//! them.
//!
//! Instructions are decoded as far as this needs (Armv7-M and Armv8-M Architecture Reference
//! Manuals, "Floating-point instruction encoding"): a 32-bit Thumb instruction begins with 0b11101,
//! 0b11110 or 0b11111; in one of coprocessor 10 or 11, the high half 0xEE.. with bit 4 of the low
//! half clear processes data, and so does 0xFE... Of these only VMOV, VABS, VNEG and VCMP are
//! exact.

use crate::elf::Elf;

/// Most instructions that an error lists.
const SHOWN: usize = 8;

/// Refuses a program that computes with floating-point registers.
pub fn check(elf: &Elf) -> Result<(), String> {
    let code = elf.code();
    if code.is_empty() {
        return Err("the ELF does not mark its code".into());
    }
    let found: Vec<u32> =
        code.iter().flat_map(|(start, bytes)| arithmetic(*start, bytes)).collect();
    if found.is_empty() {
        return Ok(());
    }
    let place = |at: &u32| format!("{at:#x} in {}", elf.function_at(*at).unwrap_or_default());
    let places: Vec<String> = found.iter().take(SHOWN).map(place).collect();
    Err(format!(
        "instructions that compute with floating-point registers: {}, the first {}",
        found.len(),
        places.join(", ")
    ))
}

/// Whether the instruction of these two halves computes with floating-point registers.
pub fn is_arithmetic(high: u16, low: u16) -> bool {
    let coprocessor = low >> 9 & 0b111 == 0b101;
    if !coprocessor || low & 1 << 4 != 0 {
        return false;
    }
    match high >> 8 {
        0xFE => true,
        0xEE => !is_exact(high, low),
        _ => false,
    }
}

/// VMOV of a register or of a constant, VABS, VNEG and VCMP.
fn is_exact(high: u16, low: u16) -> bool {
    let (operation, which) = (high >> 4 & 0b1011, high & 0b1111);
    operation == 0b1011
        && match low >> 6 & 0b11 {
            0b00 | 0b10 => true,
            0b01 => [0b0000, 0b0001, 0b0100, 0b0101].contains(&which),
            _ => [0b0000, 0b0100, 0b0101].contains(&which),
        }
}

/// The addresses of all such instructions in this code.
pub fn arithmetic(start: u32, code: &[u8]) -> Vec<u32> {
    let halves: Vec<u16> =
        code.chunks_exact(2).map(|half| u16::from_le_bytes([half[0], half[1]])).collect();
    let (mut found, mut at) = (Vec::new(), 0);
    while let Some(high) = halves.get(at) {
        let Some(low) = halves.get(at + 1).filter(|_| high >> 11 > 0b11100) else {
            at += 1;
            continue;
        };
        if is_arithmetic(*high, *low) {
            found.push(start + 2 * at as u32);
        }
        at += 2;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every instruction of the FPU, as an assembler writes it, is taken for what it is.
    #[test]
    fn exact_instructions_are_no_arithmetic() {
        let exact = [
            (0xEEB0, 0x0A60, "vmov.f32 s0, s1"),
            (0xEEB7, 0x0A00, "vmov.f32 s0, #1.0"),
            (0xEEB1, 0x0A40, "vneg.f32 s0, s0"),
            (0xEEB0, 0x0AC0, "vabs.f32 s0, s0"),
            (0xEEB4, 0x0A60, "vcmp.f32 s0, s1"),
            (0xEEB5, 0x0A40, "vcmp.f32 s0, #0"),
            (0xEEB4, 0x0AE0, "vcmpe.f32 s0, s1"),
            (0xEE00, 0x0A10, "vmov s0, r0"),
            (0xEE10, 0x0A10, "vmov r0, s0"),
            (0xEC51, 0x0B10, "vmov r0, r1, d0"),
            (0xED90, 0x0A00, "vldr s0, [r0]"),
            (0xED2D, 0x8B02, "vpush {d8}"),
            (0xECBD, 0x8B02, "vpop {d8}"),
            (0xEEF1, 0xFA10, "vmrs APSR_nzcv, fpscr"),
            (0xEE07, 0x0F15, "mcr p15, 0, r0, c7, c5, 0"),
            (0xF000, 0xF800, "bl"),
        ];
        for (high, low, text) in exact {
            assert!(!is_arithmetic(high, low), "{text}");
        }
        let computes = [
            (0xEE30, 0x0A20, "vadd.f32 s0, s0, s1"),
            (0xEE30, 0x0A60, "vsub.f32 s0, s0, s1"),
            (0xEE20, 0x0A20, "vmul.f32 s0, s0, s1"),
            (0xEE80, 0x0A20, "vdiv.f32 s0, s0, s1"),
            (0xEE01, 0x0A20, "vmla.f32 s0, s2, s1"),
            (0xEEA1, 0x0A20, "vfma.f32 s0, s2, s1"),
            (0xEEB1, 0x0AC0, "vsqrt.f32 s0, s0"),
            (0xEEB8, 0x0AC0, "vcvt.f32.s32 s0, s0"),
            (0xEEBD, 0x0AC0, "vcvt.s32.f32 s0, s0"),
            (0xFE80, 0x0A20, "vmaxnm.f32 s0, s0, s1"),
            (0xFE00, 0x0A20, "vseleq.f32 s0, s0, s1"),
        ];
        for (high, low, text) in computes {
            assert!(is_arithmetic(high, low), "{text}");
        }
    }

    /// Instructions of 16 bits shift those behind them, and the second half of a long one is not
    /// taken for an instruction.
    #[test]
    fn long_instructions_are_found_in_code() {
        // nop; vadd.f32; bl with a low half that looks like vadd's high one; nop
        let halves: [u16; 6] = [0xBF00, 0xEE30, 0x0A20, 0xF000, 0xEE30, 0x0A20];
        let code: Vec<u8> = halves.iter().flat_map(|half| half.to_le_bytes()).collect();
        assert_eq!(arithmetic(0x100, &code), [0x102]);
    }
}
