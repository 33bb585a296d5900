//! A key on paper: a sheet to be printed, sealed and locked away, and the way back from it.
//!
//! # Format
//! Eight lines of four bytes of the key each, and a ninth with the first four bytes of the key's
//! SHA-256. A line is its number and eight symbols: 40 bits, the four bytes and their CRC-8 with
//! the line's number, in base 32 without I, L, O and U. So a mistyped symbol is found in its line,
//! and so is a line in another's place. I and L are read as 1, O as 0. The QR code holds the same
//! lines in one.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

use crate::records::qr;
use equipoise::wire::MAC_BYTES;

const SYMBOLS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
/// Bytes of the key in a line.
const LINE_BYTES: usize = 4;
/// Symbols of a line.
const LINE_SYMBOLS: usize = 8;
/// Lines with the key; one more has its check.
const LINES: usize = MAC_BYTES / LINE_BYTES;
/// First word of the text in the QR code.
const MARK: &str = "EQUIPOISE-KEY";

/// CRC-8 (polynomial 0x07, start 0) of a line's number and bytes.
fn crc(number: u8, bytes: [u8; LINE_BYTES]) -> u8 {
    [number].into_iter().chain(bytes).fold(0, |crc, byte| {
        (0..8).fold(crc ^ byte, |crc, _| crc << 1 ^ if crc & 0x80 == 0 { 0 } else { 0x07 })
    })
}

/// The symbols of a line.
fn symbols(number: u8, bytes: [u8; LINE_BYTES]) -> Zeroizing<String> {
    let [a, b, c, d] = bytes;
    let bits = u64::from_be_bytes([0, 0, 0, a, b, c, d, crc(number, bytes)]);
    let symbol = |place: usize| {
        let index = bits >> (5 * (LINE_SYMBOLS - 1 - place)) & 31;
        SYMBOLS.get(index as usize).copied().map_or('?', char::from)
    };
    Zeroizing::new((0..LINE_SYMBOLS).map(symbol).collect())
}

/// The check of a key, in its ninth line.
fn check(key: &[u8; MAC_BYTES]) -> [u8; LINE_BYTES] {
    let mut check = [0; LINE_BYTES];
    check.iter_mut().zip(Sha256::digest(key)).for_each(|(to, from)| *to = from);
    check
}

/// The sheet of a key, as text.
#[must_use]
pub fn sheet(key: &[u8; MAC_BYTES]) -> Zeroizing<String> {
    let check = [check(key)];
    let lines = key.as_chunks::<LINE_BYTES>().0.iter().chain(&check).zip(1..);
    // With room for all of it: a text that grows leaves copies behind.
    let mut text = Zeroizing::new(String::with_capacity(16 * 1024));
    *text += "equipoise: the custodian's key of a trial\n\n\
              A person who reads this sheet can close, erase and unblind the trial. Seal\n\
              it, and keep two sheets in two places.\n\n";
    let mut code = Zeroizing::new(String::with_capacity(256));
    *code += MARK;
    for (bytes, number) in lines {
        let symbols = symbols(number, *bytes);
        let (first, second) = symbols.split_at_checked(LINE_SYMBOLS / 2).unwrap_or_default();
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  {number}  {first}-{second}");
        let _ = write!(*code, " {number} {}", *symbols);
    }
    *text += "\nBack into a file: equipoise key read SHEET --out FILE, where SHEET holds the nine\n\
              lines with their numbers, or the text of the code. - for SHEET: typed.\n\n";
    *text += &Zeroizing::new(qr::code(&code, false).unwrap_or_default());
    text
}

/// The key of a sheet.
///
/// # Errors
/// Every mistake, with the line it is in.
pub fn read(text: &str) -> Result<Zeroizing<[u8; MAC_BYTES]>, String> {
    let mut found = [None; LINES + 1];
    let mut mistakes = Vec::new();
    for (number, symbols) in numbered(text) {
        match (line(number, &symbols), found.get_mut(usize::from(number) - 1)) {
            (Ok(_), Some(Some(_))) => mistakes.push(format!("line {number} is there twice")),
            (Ok(bytes), Some(place)) => *place = Some(bytes),
            (Err(mistake), _) => mistakes.push(format!("line {number}: {mistake}")),
            (Ok(_), None) => {}
        }
    }
    let mut key = Zeroizing::new([0; MAC_BYTES]);
    let named = |mistakes: &[String], number| {
        mistakes.iter().any(|mistake| mistake.starts_with(&format!("line {number}")))
    };
    for (number, place) in (1..).zip(&found) {
        if place.is_none() && !named(&mistakes, number) {
            mistakes.push(format!("line {number} is missing"));
        }
    }
    for (to, from) in key.as_chunks_mut::<LINE_BYTES>().0.iter_mut().zip(found) {
        *to = from.unwrap_or_default();
    }
    if mistakes.is_empty() && found.last() != Some(&Some(check(&key))) {
        mistakes.push("the nine lines are not of one sheet".to_owned());
    }
    if mistakes.is_empty() { Ok(key) } else { Err(mistakes.join("; ")) }
}

/// The numbered lines of a text, or of the text of a QR code.
fn numbered(text: &str) -> Vec<(u8, Zeroizing<String>)> {
    let mut lines = Vec::new();
    for line in text.lines() {
        let mut words = line.split_whitespace().peekable();
        let is_code = words.next_if_eq(&MARK).is_some();
        while let Some(number) = words.next().and_then(|word| word.parse().ok())
            && (1..=LINES as u8 + 1).contains(&number)
        {
            let mut symbols = Zeroizing::new(String::with_capacity(line.len()));
            if is_code {
                *symbols += words.next().unwrap_or_default();
            } else {
                words.by_ref().for_each(|word| *symbols += word);
            }
            symbols.retain(|symbol| symbol != '-');
            lines.push((number, symbols));
        }
    }
    lines
}

/// The bytes of a line.
fn line(number: u8, symbols: &str) -> Result<[u8; LINE_BYTES], String> {
    let count = symbols.chars().count();
    let mut bits = 0;
    for symbol in symbols.chars() {
        let known = match symbol.to_ascii_uppercase() {
            'I' | 'L' => '1',
            'O' => '0',
            other => other,
        };
        let index = SYMBOLS.iter().position(|other| char::from(*other) == known);
        let index = index.ok_or_else(|| {
            format!("{symbol:?} stands on no sheet, allowed are digits and letters but U")
        })?;
        bits = bits << 5 | index as u64;
    }
    if count != LINE_SYMBOLS {
        return Err(format!("{count} symbols, allowed are {LINE_SYMBOLS}"));
    }
    let [_, _, _, a, b, c, d, claimed] = u64::to_be_bytes(bits);
    let bytes = [a, b, c, d];
    if crc(number, bytes) == claimed {
        return Ok(bytes);
    }
    Err("a symbol is wrong, or the line is another one".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> [u8; MAC_BYTES] {
        std::array::from_fn(|place| (place * 37 + 11) as u8)
    }

    fn lines() -> Vec<String> {
        let sheet = sheet(&key());
        let is_line = |line: &&str| line.starts_with("  ") && line.len() == 14;
        sheet.lines().filter(is_line).map(ToOwned::to_owned).collect()
    }

    /// A sheet, its nine lines alone, in any order and case, and the text of its code give the key.
    #[test]
    fn a_sheet_gives_its_key_back() {
        assert_eq!(*read(&sheet(&key())).unwrap(), key());
        let mut lines = lines();
        assert_eq!(lines.len(), 9);
        lines.reverse();
        let typed = lines.join("\n").to_lowercase().replace('0', "o").replace('-', " ");
        assert_eq!(*read(&typed).unwrap(), key());
        lines.reverse();
        let code = format!("{MARK} {}", lines.join(" ").replace('-', ""));
        assert_eq!(*read(&code).unwrap(), key());
    }

    /// Every wrong symbol is found in its line, and so are lines that changed places, are missing,
    /// too short or there twice.
    #[test]
    fn mistakes_are_named_by_line() {
        let lines = lines();
        for (at, line) in lines.iter().enumerate() {
            for place in (5..14).filter(|place| *place != 9) {
                let old = line.as_bytes()[place];
                let new = if old == b'7' { 'X' } else { '7' };
                let mut typed = lines.clone();
                typed[at].replace_range(place..=place, &new.to_string());
                let error = read(&typed.join("\n")).unwrap_err();
                assert_eq!(
                    error,
                    format!("line {}: a symbol is wrong, or the line is another one", at + 1)
                );
            }
        }
        let text = |lines: &[String]| lines.join("\n");
        let error = |text: &str| read(text).unwrap_err();
        assert_eq!(error(&text(&lines[1..])), "line 1 is missing");
        let swapped = text(&lines).replace("  3  ", "  x  ").replace("  2  ", "  3  ");
        let places = error(&swapped.replace("  x  ", "  2  "));
        assert!(["line 3: a symbol", "line 2: a symbol"].iter().all(|part| places.contains(part)));
        assert!(
            error(&format!("{}\n{}", text(&lines), lines[4])).contains("line 5 is there twice")
        );
        let mut short = lines.clone();
        short[6].pop();
        assert_eq!(error(&text(&short)), "line 7: 7 symbols, allowed are 8");
        short[6].push('U');
        assert!(error(&text(&short)).starts_with("line 7: 'U' stands on no sheet"));
        let mut other = key();
        other[0] ^= 1;
        let stranger = sheet(&other);
        let first = stranger.lines().find(|line| line.starts_with("  1  ")).unwrap();
        let mut mixed = lines.clone();
        mixed[0] = first.to_owned();
        assert_eq!(error(&text(&mixed)), "the nine lines are not of one sheet");
        assert!(error("").starts_with("line 1 is missing; line 2 is missing"));
    }
}
