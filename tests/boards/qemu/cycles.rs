//! Cycles of a Cortex-M0, counted instruction by instruction over what the emulator says it
//! executed.
//!
//! QEMU counts instructions; the processor takes one cycle for most of them, more for memory and
//! branches. The table is that of the Cortex-M0's reference manual, with the single-cycle
//! multiplier and the flash without wait states that the nRF51 has.

use crate::qemu::emulator::Firmware;

/// The code of an image, to look up what was executed.
pub struct Code {
    firmware: Firmware,
    segments: Vec<(u32, Vec<u8>)>,
}

impl Code {
    pub fn of(firmware: Firmware) -> Self {
        Self { firmware, segments: firmware.elf().load_segments() }
    }

    fn half(&self, address: u32) -> u16 {
        let segment =
            self.segments.iter().rev().find(|(start, _)| *start <= address).expect("code");
        let at = (address - segment.0) as usize;
        u16::from_le_bytes([segment.1[at], segment.1[at + 1]])
    }

    /// Instructions and cycles from the call of a function to the call of another one, both named
    /// by a part of their symbols.
    pub fn between(&self, trace: &[u32], from: &str, to: &str) -> (usize, u32) {
        let place = |name: &str, trace: &[u32]| {
            let address =
                self.firmware.elf().symbol_where(|known| known.contains(name)).expect(name) & !1;
            trace
                .iter()
                .position(|at| *at == address)
                .unwrap_or_else(|| panic!("{name} was not called"))
        };
        let begin = place(from, trace);
        let end = begin + place(to, &trace[begin..]);
        let cycles = trace[begin..=end].windows(2).map(|pair| self.cycles(pair[0], pair[1])).sum();
        (end - begin, cycles)
    }

    /// Cycles of the instruction at this address, if the next one is executed after it.
    fn cycles(&self, address: u32, next: u32) -> u32 {
        let code = self.half(address);
        let listed = (code & 0xff).count_ones() + u32::from(code >> 8 & 1);
        let taken = next != address + 2;
        match code >> 8 {
            0x48..=0x4f => 2,                              // LDR from a literal
            0x50..=0x9f => 2,                              // LDR and STR
            0xb4 | 0xb5 => 1 + listed,                     // PUSH
            0xbc => 1 + listed,                            // POP
            0xbd => 4 + listed,                            // POP with the program counter
            0xc0..=0xcf => 1 + (code & 0xff).count_ones(), // LDM and STM
            0xd0..=0xdd if taken => 3,                     // B, conditional
            0xe0..=0xe7 => 3,                              // B
            0x44 | 0x46 | 0x47 if taken => 3,              /* BX, BLX, and writes to the program */
            // counter
            0xf0..=0xf7 => 4, // BL, MSR, MRS, barriers
            _ => 1,
        }
    }
}

/// Every kind of instruction takes the cycles of the manual.
#[test]
fn instructions_take_the_manuals_cycles() {
    // movs, ldr, str, push {r4, lr}, pop {r4, pc}, ldm {r0, r1}, bne, b, bx lr, bl
    let halves: [u16; 11] =
        [0x2001, 0x6800, 0x6001, 0xb510, 0xbd10, 0xc903, 0xd1fe, 0xe7fe, 0x4770, 0xf000, 0xf800];
    let bytes = halves.iter().flat_map(|half| half.to_le_bytes()).collect();
    let code = Code { firmware: Firmware::Release, segments: vec![(0, bytes)] };
    let fell_through: Vec<u32> = (0..10).map(|i| code.cycles(i * 2, i * 2 + 2)).collect();
    assert_eq!(fell_through, [1, 2, 2, 3, 6, 3, 1, 3, 1, 4]);
    assert_eq!([code.cycles(12, 0), code.cycles(16, 0)], [3, 3]);
}
