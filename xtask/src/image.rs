//! The image that is flashed, from the load segments of the ELF: Intel hex, UF2, and its SHA-256.
//!
//! The interface chip of the micro:bits takes hex files, the boot program of the Pico 2 UF2.

use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;

/// Data bytes of an Intel hex record.
const HEX_RECORD: usize = 16;
/// Intel hex: data records, with an extended linear address record wherever the upper half changes.
pub fn hex(segments: &[(u32, Vec<u8>)]) -> String {
    let mut text = String::new();
    let mut upper = None;
    for (start, bytes) in segments {
        // Pieces that do not cross a 16-byte line cannot cross a 64 KB boundary either.
        let mut at = *start;
        let mut rest = bytes.as_slice();
        while !rest.is_empty() {
            let (piece, after) =
                rest.split_at(rest.len().min(HEX_RECORD - at as usize % HEX_RECORD));
            if upper != Some(at >> 16) {
                upper = Some(at >> 16);
                record(&mut text, 0, 4, &((at >> 16) as u16).to_be_bytes());
            }
            record(&mut text, at as u16, 0, piece);
            at += piece.len() as u32;
            rest = after;
        }
    }
    record(&mut text, 0, 1, &[]);
    text
}

fn record(text: &mut String, address: u16, kind: u8, data: &[u8]) {
    let mut bytes = vec![data.len() as u8];
    bytes.extend(address.to_be_bytes());
    bytes.push(kind);
    bytes.extend(data);
    let sum = bytes.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
    bytes.push(sum.wrapping_neg());
    text.push(':');
    text.extend(bytes.iter().map(|byte| format!("{byte:02X}")));
    text.push('\n');
}

/// Data bytes of a UF2 block, and the unused bytes behind them.
const UF2_DATA: usize = 256;
const UF2_UNUSED: usize = 476 - UF2_DATA;
/// The block names a family of chips: RP2350, Arm, secure.
const UF2_FLAGS: u32 = 0x2000;
const UF2_FAMILY: u32 = 0xE48B_FF59;

/// UF2: one block for every 256 bytes of flash that hold something, gaps as erased flash.
pub fn uf2(segments: &[(u32, Vec<u8>)]) -> Vec<u8> {
    let mut pages = BTreeMap::new();
    for (start, bytes) in segments {
        for (at, byte) in (*start..).zip(bytes) {
            let page = pages.entry(at / UF2_DATA as u32).or_insert([0xFF; UF2_DATA]);
            page[at as usize % UF2_DATA] = *byte;
        }
    }
    let count = pages.len() as u32;
    let mut file = Vec::new();
    for (number, (page, bytes)) in (0..).zip(&pages) {
        let (address, size) = (page * UF2_DATA as u32, UF2_DATA as u32);
        let head = [0x0A32_4655, 0x9E5D_5157, UF2_FLAGS, address, size, number, count, UF2_FAMILY];
        head.iter().for_each(|word: &u32| file.extend(word.to_le_bytes()));
        file.extend(bytes);
        file.extend([0; UF2_UNUSED]);
        file.extend(0x0AB1_6F30_u32.to_le_bytes());
    }
    file
}

/// SHA-256 of the flash from the lowest address of the image to its end, gaps as erased flash.
pub fn digest(segments: &[(u32, Vec<u8>)]) -> String {
    let start = segments.iter().map(|(at, _)| *at as usize).min().unwrap_or(0);
    let end = segments.iter().map(|(at, bytes)| *at as usize + bytes.len()).max().unwrap_or(0);
    let mut flash = vec![0xFF; end - start];
    for (at, bytes) in segments {
        let at = *at as usize - start;
        flash.splice(at..at + bytes.len(), bytes.iter().copied());
    }
    Sha256::digest(&flash).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A record that does not start at a multiple of 16, and one behind a 64 KB boundary.
    #[test]
    fn hex_records_of_two_segments() {
        let segments = [(0x0000_FFFE, vec![1, 2, 3]), (0x0002_0000, vec![0xFF])];
        let expected = [
            ":020000040000FA",
            ":02FFFE000102FE",
            ":020000040001F9",
            ":0100000003FC",
            ":020000040002F8",
            ":01000000FF00",
            ":00000001FF",
        ];
        assert_eq!(hex(&segments).lines().collect::<Vec<_>>(), expected);
    }

    /// Two segments in one block, and one in a block of its own.
    #[test]
    fn uf2_blocks_of_three_segments() {
        let (a, b, c) = ((0x1000_0010, vec![1]), (0x1000_0012, vec![2]), (0x1000_02FF, vec![3]));
        let file = uf2(&[a, b, c]);
        assert_eq!(file.len(), 2 * 512);
        let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap());
        for (number, address) in [(0, 0x1000_0000), (1, 0x1000_0200)] {
            let head: Vec<u32> = (0..8).map(|i| word(512 * number + 4 * i)).collect();
            let expected = [0x0A32_4655, 0x9E5D_5157, 0x2000, address, 256, number as u32, 2];
            assert_eq!((&head[..7], head[7]), (&expected[..], 0xE48B_FF59));
            assert_eq!(word(512 * number + 508), 0x0AB1_6F30);
        }
        assert_eq!(file[32 + 0x0F..32 + 0x14], [0xFF, 1, 0xFF, 2, 0xFF]);
        assert_eq!(file[512 + 32 + 0xFF], 3);
    }

    #[test]
    fn digest_fills_gaps_with_erased_flash() {
        let apart = [(4, vec![b'a']), (6, vec![b'c'])];
        let whole = [(4, vec![b'a', 0xFF, b'c'])];
        assert_eq!(digest(&apart), digest(&whole));
        // The example of the standard: "abc".
        let start = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(digest(&[(0, b"abc".to_vec())]), start);
    }
}
