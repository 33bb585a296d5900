//! Bytes to lines and back: length limit, checksum, resynchronisation.

use core::fmt;

use super::WireError;

/// Most characters of a line, its checksum included, its line end not.
pub const LINE_LIMIT: usize = 250;
/// `*` and four hex digits.
const CHECKSUM_CHARS: usize = 5;
/// Most characters kept of a line: one more than allowed shows that it is too long (and holds a
/// CR).
const KEPT: usize = LINE_LIMIT + 1;

static CRC: crc::Crc<u16, crc::Table<1>> =
    crc::Crc::<u16, crc::Table<1>>::new(&crc::CRC_16_IBM_3740);

/// CRC-16/CCITT-FALSE (polynomial 0x1021, start 0xFFFF, nothing reflected, nothing inverted).
#[must_use]
pub fn checksum(characters: &[u8]) -> u16 {
    CRC.checksum(characters)
}

/// The checksum of characters and one more, from that of the characters. (Nothing is reflected or
/// inverted, so a checksum is also the start of the next.)
fn extended(sum: u16, character: u8) -> u16 {
    let mut digest = CRC.digest_with_initial(sum);
    digest.update(&[character]);
    digest.finalize()
}

/// The checksum of no characters.
const START: u16 = 0xFFFF;

/// Whether this byte is allowed in a line before its checksum.
pub(super) const fn is_text(byte: u8) -> bool {
    matches!(byte, b' '..=b'~') && byte != b'*'
}

/// Cuts a stream of bytes into lines.
///
/// ```
/// use equipoise::wire::Framer;
///
/// let (mut framer, mut lines) = (Framer::new(), Vec::new());
/// for byte in *b"HELLO\r\nSTATUS\nASSI" {
///     lines.extend(framer.push(byte).map(<[u8]>::to_vec));
/// }
/// assert_eq!(lines, [&b"HELLO"[..], b"STATUS"], "the third line has not ended");
/// ```
///
/// A line that is too long is handed on as its first 251 characters, the rest up to its LF is
/// dropped; so [`open`] refuses it, and it has exactly one answer. Whatever was received before,
/// the line after an LF is read right.
#[derive(Clone, Debug, Default)]
pub struct Framer {
    kept: heapless::Vec<u8, KEPT>,
    done: bool,
    /// Whether characters after the kept ones were dropped (so that a CR at the end of the kept
    /// ones is not a line end).
    cut: bool,
    /// Characters before the first star, and their checksum.
    summed: usize,
    sum: u16,
}

/// A line as a [`Framer`] gives it.
#[derive(Clone, Copy, Debug)]
pub struct Framed<'a> {
    /// The line, without line end.
    pub line: &'a [u8],
    /// A number of leading characters, and their checksum.
    sum: (usize, u16),
}

impl<'a> Framed<'a> {
    /// A line that did not come through a framer.
    #[must_use]
    pub const fn new(line: &'a [u8]) -> Self {
        Self { line, sum: (0, START) }
    }

    /// The checksum of the first characters of the line.
    fn checksum(&self, body: &[u8]) -> u16 {
        let (summed, sum) = self.sum;
        if summed == body.len() { sum } else { checksum(body) }
    }
}

impl Framer {
    /// An empty line.
    #[must_use]
    pub const fn new() -> Self {
        Self { kept: heapless::Vec::new(), done: false, cut: false, summed: 0, sum: START }
    }

    /// Takes one byte; gives the line that it ends, without line end. Lines without any
    /// character but blanks are not given.
    pub fn push(&mut self, byte: u8) -> Option<&[u8]> {
        self.push_summed(byte).map(|framed| framed.line)
    }

    /// The same, with the checksum of the characters before the first star. It is computed
    /// character by character as they come, when a board has nothing else to do.
    pub fn push_summed(&mut self, byte: u8) -> Option<Framed<'_>> {
        if self.done {
            *self = Self::new();
        }
        if byte != b'\n' {
            if byte != b'*' && self.summed == self.kept.len() {
                (self.sum, self.summed) = (extended(self.sum, byte), self.summed + 1);
            }
            self.cut |= self.kept.push(byte).is_err();
            return None;
        }
        self.done = true;
        if !self.cut && self.kept.last() == Some(&b'\r') {
            self.kept.pop();
        }
        let framed = Framed { line: self.kept.as_slice(), sum: (self.summed, self.sum) };
        self.kept.iter().any(|byte| *byte != b' ').then_some(framed)
    }
}

/// A received line whose checksum, if there, is right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opened<'a> {
    /// The characters before the checksum.
    pub body: &'a [u8],
    /// Whether the line carried a checksum.
    pub has_checksum: bool,
}

/// Checks length and checksum of a line as the [`Framer`] gives it.
///
/// # Errors
/// `Length`, or `Checksum` for one that is wrong or not in full at the end of the line.
pub fn open(line: &[u8]) -> Result<Opened<'_>, WireError> {
    open_framed(Framed::new(line))
}

/// [`open`], with the checksum that the [`Framer`] computed.
pub(crate) fn open_framed(framed: Framed<'_>) -> Result<Opened<'_>, WireError> {
    let line = framed.line;
    if line.len() > LINE_LIMIT {
        return Err(WireError::Length);
    }
    if let Some((body, [b'*', digits @ ..])) = line.split_last_chunk::<CHECKSUM_CHARS>() {
        let expected = framed.checksum(body);
        let got = super::hex_number(digits).map(|sum| sum as u16);
        return if got == Some(expected) {
            Ok(Opened { body, has_checksum: true })
        } else {
            Err(WireError::Checksum { got, expected })
        };
    }
    // No text has a star in it, so this is a checksum that was damaged.
    let mut parts = line.split(|byte| *byte == b'*');
    match (parts.next(), parts.next()) {
        (Some(body), Some(_)) => Err(WireError::Checksum { got: None, expected: checksum(body) }),
        _ => Ok(Opened { body: line, has_checksum: false }),
    }
}

/// A line to send: text, then [`Line::finish`] adds checksum and LF.
///
/// Text that would leave no room for the checksum is cut; [`Line::is_cut`] tells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// ASCII.
    text: heapless::Vec<u8, { LINE_LIMIT + 1 }>,
    cut: bool,
}

impl Line {
    /// An empty line.
    #[must_use]
    pub const fn new() -> Self {
        Self { text: heapless::Vec::new(), cut: false }
    }

    /// Whether text did not fit.
    #[must_use]
    pub const fn is_cut(&self) -> bool {
        self.cut
    }

    /// The bytes written so far; after [`Line::finish`] with checksum and LF.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.text
    }

    fn push(&mut self, byte: u8) {
        let fits = self.text.len() < LINE_LIMIT - CHECKSUM_CHARS;
        if !(is_text(byte) && fits && self.text.push(byte).is_ok()) {
            self.cut = true;
        }
    }

    /// Adds the checksum and the LF: the line as it goes over the wire.
    pub fn finish(&mut self) {
        let [high, low] = checksum(&self.text).to_be_bytes();
        let digit = |nibble: u8| nibble + if nibble < 10 { b'0' } else { b'A' - 10 };
        let end =
            [b'*', digit(high >> 4), digit(high & 15), digit(low >> 4), digit(low & 15), b'\n'];
        for byte in end {
            // Writing text keeps this much free.
            let _ = self.text.push(byte);
        }
    }
}

impl fmt::Write for Line {
    /// Never fails; characters beyond the limit and those not allowed in a line are left
    /// out.
    fn write_str(&mut self, text: &str) -> fmt::Result {
        text.bytes().for_each(|byte| self.push(byte));
        Ok(())
    }

    fn write_char(&mut self, c: char) -> fmt::Result {
        self.push(u8::try_from(c).unwrap_or(b'*'));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Write;
    use std::prelude::rust_2024::*;

    fn lines(bytes: &[u8]) -> Vec<Vec<u8>> {
        let mut framer = Framer::new();
        bytes.iter().filter_map(|b| framer.push(*b).map(<[u8]>::to_vec)).collect()
    }

    #[test]
    fn the_checksum_is_crc_16_ccitt_false() {
        assert_eq!(checksum(b"123456789"), 0x29B1);
    }

    /// One CR before LF is dropped and empty lines are skipped.
    #[test]
    fn cr_and_empty_lines_are_dropped() {
        assert_eq!(lines(b"HELLO\r\nA\rB\n\n\r\nC\r\r\n"), [&b"HELLO"[..], b"A\rB", b"C\r"]);
    }

    /// A long line is refused once and the next one is read.
    #[test]
    fn a_long_line_is_refused_once() {
        for length in [LINE_LIMIT + 1, LINE_LIMIT + 2, 500] {
            let mut bytes = vec![b'x'; length];
            bytes.extend(b"\nHELLO\n");
            let got = lines(&bytes);
            assert_eq!(got.len(), 2);
            assert_eq!(open(&got[0]), Err(WireError::Length));
            assert_eq!(got[1], b"HELLO");
        }
        let full = [&[b'x'; LINE_LIMIT][..], b"\r\n"].concat();
        assert!(open(&lines(&full)[0]).is_ok());
        let over = [&[b'x'; LINE_LIMIT][..], b"\rx\n"].concat();
        assert_eq!(open(&lines(&over)[0]), Err(WireError::Length));
    }

    /// After any garbage the line behind the next LF is read.
    #[test]
    fn garbage_ends_at_the_next_lf() {
        for byte in 0..=255u8 {
            let bytes = [&[byte; 300][..], b"\nHELLO*49D6\n"].concat();
            assert_eq!(lines(&bytes).last().map(Vec::as_slice), Some(&b"HELLO*49D6"[..]));
        }
    }

    /// The running checksum equals the checksum of the whole line, wherever stars, CRs and the end
    /// of what is kept stand.
    #[test]
    fn sums_of_the_framer_are_those_of_the_line() {
        let long = [b'x'; LINE_LIMIT + 9];
        let mut texts = vec![b"STATUS*2DAA".to_vec(), b"*".to_vec(), b"A\r*29B1\r".to_vec()];
        texts.extend([b"STATUS*2DAA*2DAA".to_vec(), b"STATUS\r".to_vec(), b"A*B*C*D*E".to_vec()]);
        texts.extend((LINE_LIMIT - 9..=long.len()).map(|length| long[..length].to_vec()));
        let ends = texts.clone().into_iter().map(|text| [&text[..], b"*0000"].concat());
        texts.extend(ends.collect::<Vec<_>>());
        let mut framer = Framer::new();
        for text in texts {
            assert!(text.iter().all(|byte| framer.push_summed(*byte).is_none()));
            let framed = framer.push_summed(b'\n').unwrap();
            assert_eq!(open_framed(framed), open(framed.line), "{}", text.escape_ascii());
            let (summed, sum) = framed.sum;
            let body = framed.line.split(|byte| *byte == b'*').next().unwrap();
            if let Some(body) = body.get(..summed) {
                assert_eq!(sum, checksum(body), "{}", text.escape_ascii());
            }
        }
    }

    #[test]
    fn a_cut_checksum_is_wrong_and_not_missing() {
        let sealed = b"STATUS*2DAA";
        assert_eq!(open(sealed), Ok(Opened { body: b"STATUS", has_checksum: true }));
        assert_eq!(open(b"STATUS*2daa"), Ok(Opened { body: b"STATUS", has_checksum: true }));
        for end in 7..sealed.len() {
            assert_eq!(
                open(&sealed[..end]),
                Err(WireError::Checksum { got: None, expected: 0x2DAA }),
                "{end}"
            );
        }
        assert!(open(b"STATUS*2DAA7").is_err());
        assert!(open(b"STATUS*2DAA*2DAA").is_err());
        assert_eq!(
            open(b"STATUS*2DAB"),
            Err(WireError::Checksum { got: Some(0x2DAB), expected: 0x2DAA })
        );
        assert_eq!(open(b"STATUS"), Ok(Opened { body: b"STATUS", has_checksum: false }));
    }

    /// A written line keeps room for its checksum and holds printable ascii only.
    #[test]
    fn a_line_keeps_room_for_its_checksum() {
        let mut line = Line::new();
        write!(line, "{}", "é*\n\u{0}y".repeat(300)).unwrap();
        assert!(line.is_cut());
        line.finish();
        assert_eq!(line.as_bytes().len(), LINE_LIMIT + 1);
        let (end, body) = line.as_bytes().split_last().unwrap();
        assert_eq!(*end, b'\n');
        assert_eq!(
            open(body),
            Ok(Opened { body: &[b'y'; LINE_LIMIT - CHECKSUM_CHARS], has_checksum: true })
        );
    }
}
