//! The image that is flashed, from the load segments of the ELF: Intel hex, and its SHA-256.
//!
//! The boards' interface chip takes hex files; neither board has a bootloader that takes UF2.

use sha2::{Digest as _, Sha256};

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
