//! The two formats for drag-and-drop flashing, from the load segments of the ELF.

/// Data bytes of an Intel hex record.
const HEX_RECORD: usize = 16;
/// Payload of a UF2 block.
const UF2_PAYLOAD: usize = 256;
/// Room for the payload in a UF2 block.
const UF2_DATA: usize = 476;
const UF2_FAMILY_PRESENT: u32 = 0x2000;

/// Intel hex: data records, with an extended linear address record wherever the upper half changes.
pub fn hex(segments: &[(u32, Vec<u8>)]) -> String {
    let mut text = String::new();
    let mut upper = None;
    for (start, bytes) in segments {
        // Pieces that do not cross a 16-byte line cannot cross a 64 KB boundary either.
        let mut at = *start;
        let mut rest = bytes.as_slice();
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(rest.len().min(HEX_RECORD - at as usize % HEX_RECORD));
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

/// UF2: the flash from its start to the end of the image, gaps erased, in blocks of 512 bytes.
pub fn uf2(segments: &[(u32, Vec<u8>)], family: Option<u32>) -> Vec<u8> {
    let end = segments.iter().map(|(at, bytes)| *at as usize + bytes.len()).max().unwrap_or(0);
    let mut flash = vec![0xFF; end.next_multiple_of(UF2_PAYLOAD)];
    for (at, bytes) in segments {
        flash.splice(*at as usize..*at as usize + bytes.len(), bytes.iter().copied());
    }
    let blocks = flash.chunks(UF2_PAYLOAD);
    let count = blocks.len() as u32;
    let mut out = Vec::new();
    for (i, payload) in blocks.enumerate() {
        let flags = if family.is_some() { UF2_FAMILY_PRESENT } else { 0 };
        let address = (i * UF2_PAYLOAD) as u32;
        for word in [
            0x0A32_4655,
            0x9E5D_5157,
            flags,
            address,
            UF2_PAYLOAD as u32,
            i as u32,
            count,
            family.unwrap_or(0),
        ] {
            out.extend(u32::to_le_bytes(word));
        }
        out.extend(payload);
        out.extend(std::iter::repeat_n(0, UF2_DATA - payload.len()));
        out.extend(u32::to_le_bytes(0x0AB1_6F30));
    }
    out
}
