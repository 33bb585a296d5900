//! Bytes as hex digits.

use core::fmt;

/// Shows bytes as hex digits in lower case.
#[derive(Clone, Copy, Debug)]
pub struct Hex<'a>(pub &'a [u8]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Reads exactly `2 N` hex digits of either case.
#[must_use]
pub fn unhex<const N: usize>(digits: &[u8]) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    let (pairs, rest) = digits.as_chunks::<2>();
    if pairs.len() != N || !rest.is_empty() {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(pairs) {
        *byte = hex_number(pair)? as u8;
    }
    Some(bytes)
}

/// Reads hex digits of either case, of which there are at most eight.
pub(super) fn hex_number(digits: &[u8]) -> Option<u32> {
    let append = |number: u32, digit: &u8| Some(number << 4 | char::from(*digit).to_digit(16)?);
    digits.iter().try_fold(0, append)
}
