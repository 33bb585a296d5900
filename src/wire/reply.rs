//! Replies of the device. No variant can hold a raw count, sum or outcome.

use core::fmt::{self, Write};

use super::facts::{Claim, Ending, Micro, Row, State, TrialId};
use super::fields::{Hello, Status};
use super::request::Words;
use super::{
    Hex, Line, MAC_BYTES, NONCE_BYTES, PROTOCOL, Proof, Refusal, RequestName, WireError, Word,
    is_text, open, unhex,
};
use crate::terms::Arm;

/// A reply line. Borrowed text is the terminal's side only: the device makes `Reply<'static>`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply<'a> {
    /// The device and what it holds.
    Hello(Hello<'a>),
    /// The public facts of the trial.
    Status(Status),
    /// The arm of a patient.
    Arm {
        /// The patient's number.
        patient: u32,
        /// The patient's arm.
        arm: Arm,
    },
    /// The kit of a patient of a blinded trial.
    Kit {
        /// The patient's number.
        patient: u32,
        /// The kit's number.
        kit: u32,
    },
    /// An outcome or a loss is on record.
    Recorded {
        /// The patient's number.
        patient: u32,
    },
    /// Done.
    Done,
    /// A trial has begun.
    Planned {
        /// Its id.
        trial: TrialId,
        /// Its privacy claim.
        claim: Claim,
    },
    /// One feature of a report.
    Row(Row),
    /// The end of a report.
    End {
        /// Its facts.
        end: Ending,
        /// The id of the trial.
        trial: TrialId,
        /// The MAC over trial, plan, rows and counts.
        mac: [u8; MAC_BYTES],
    },
    /// A nonce for the custodian's proof.
    Nonce([u8; NONCE_BYTES]),
    /// Proof that the device holds the key.
    Proof(Proof),
    /// Refused, and which request, if the line was one; nothing was changed.
    Refused(Refusal<'a>, Option<RequestName>),
}

impl fmt::Display for Reply<'_> {
    /// The reply without checksum.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.compose(f)
    }
}

impl Reply<'_> {
    /// The reply without checksum. Replies that every patient gets bypass `core::fmt`, which would
    /// take longer than the rest of the request.
    fn compose(&self, f: &mut impl Write) -> fmt::Result {
        match self {
            Self::Hello(hello) => {
                write!(f, "HELLO equipoise {PROTOCOL} {} {}", hello.version, hello.state.name())?;
                hello.write(f)
            }
            Self::Status(status) => {
                f.write_str("STATUS")?;
                status.write(f)
            }
            Self::Arm { patient, arm } => {
                f.write_str("ARM ")?;
                decimal(*patient, f)?;
                f.write_str(arm.of([" 0", " 1"]))
            }
            Self::Kit { patient, kit } => {
                f.write_str("KIT ")?;
                decimal(*patient, f)?;
                f.write_char(' ')?;
                decimal(*kit, f)
            }
            Self::Recorded { patient } => {
                f.write_str("OK ")?;
                decimal(*patient, f)
            }
            Self::Done => f.write_str("OK"),
            Self::Planned { trial, claim } => write!(f, "OK trial={trial} claim={}", claim.name()),
            Self::Row(row) => write!(f, "{row}"),
            Self::End { end, trial, mac } => write!(f, "{end} trial={trial} mac={}", Hex(mac)),
            Self::Nonce(nonce) => write!(f, "NONCE {}", Hex(nonce)),
            Self::Proof(proof) => write!(f, "PROOF {}", Hex(proof)),
            Self::Refused(refusal, request) => refusal.compose(*request, f),
        }
    }
}

impl<'a> Reply<'a> {
    /// The line as it goes over the wire, checksum and LF included.
    #[must_use]
    pub fn to_line(&self) -> Line {
        let mut line = Line::new();
        self.write(&mut line);
        line
    }

    /// The same, into an empty line.
    pub fn write(&self, line: &mut Line) {
        // A line takes any text.
        let _ = self.compose(line);
        line.finish();
    }

    /// Reads a reply line, on the terminal's side. Behind the words it knows a `HELLO`, `STATUS`,
    /// `OK`, `ROW` or `END` may have `key=value` words of a newer device, which are skipped: the
    /// reply means what it means without them.
    ///
    /// # Errors
    /// The first fault of the line; a missing checksum too, for replies always carry one.
    pub fn parse(line: &'a [u8]) -> Result<Self, WireError> {
        let opened = open(line)?;
        if !opened.has_checksum {
            return Err(WireError::Checksum { got: None, expected: super::checksum(line) });
        }
        let mut words = Words::new(opened.body);
        words.allowed = "a reply of protocol version 3";
        let bad = words.error(opened.body);
        let reply = Self::read(&mut words)?.ok_or(bad)?;
        reply.skip_newer(&mut words);
        words.end(reply)
    }

    /// Skips words of a newer device: `key=value`, with a key that this reply does not have. So a
    /// known word that is wrong, given twice or behind an unknown one is left to be an error.
    fn skip_newer(&self, words: &mut Words<'_>) {
        let fields = match self {
            Self::Hello(_) => Hello::FIELDS,
            Self::Status(_) => Status::FIELDS,
            _ => &[],
        };
        let keys: &[&str] = match self {
            Self::Hello(_) | Self::Status(_) => &[],
            Self::Row(_) => &Row::KEYS,
            Self::Done | Self::Recorded { .. } | Self::Planned { .. } => &["trial", "claim"],
            Self::End { .. } => &Ending::KEYS,
            Self::Arm { .. }
            | Self::Kit { .. }
            | Self::Nonce(_)
            | Self::Proof(_)
            | Self::Refused(..) => return,
        };
        let more: &[&str] = if matches!(self, Self::End { .. }) { &["trial", "mac"] } else { &[] };
        let known = fields.iter().map(|field| field.key).chain(keys.iter().chain(more).copied());
        let mut ahead = *words;
        while let Some(key) = key_of(ahead.next_word())
            && !known.clone().any(|known| known.as_bytes() == key)
        {
            *words = ahead;
        }
    }

    fn read(words: &mut Words<'a>) -> Result<Option<Self>, WireError> {
        Ok(match words.next_word() {
            b"HELLO" => Self::read_hello(words),
            b"STATUS" => Status::read(words).map(Self::Status),
            b"ARM" => {
                let patient = words.number()?;
                match words.next_word() {
                    b"0" => Some(Self::Arm { patient, arm: Arm::Zero }),
                    b"1" => Some(Self::Arm { patient, arm: Arm::One }),
                    _ => None,
                }
            }
            b"KIT" => Some(Self::Kit { patient: words.number()?, kit: words.number()? }),
            b"OK" => Self::read_ok(words),
            b"ROW" => Row::read(words).map(Self::Row),
            b"END" => Self::read_end(words),
            b"NONCE" => words.hex_if_any()?.map(Self::Nonce),
            b"PROOF" => words.hex_if_any()?.map(Self::Proof),
            b"ERR" => {
                let word = words.next_word();
                let mut ahead = *words;
                let request = ahead.value("re").and_then(RequestName::parse);
                if request.is_some() {
                    *words = ahead;
                }
                let detail = words.rest()?;
                let word = Word::ALL.into_iter().find(|known| known.name().as_bytes() == word);
                word.map(|word| Self::Refused(Refusal::Told(word, detail), request))
            }
            _ => None,
        })
    }

    fn read_ok(words: &mut Words<'a>) -> Option<Self> {
        let mut ahead = *words;
        let word = ahead.next_word();
        if word.starts_with(b"trial=") {
            let trial = TrialId(words.hex("trial")?);
            let claim = Claim::named(words.value("claim")?)?;
            return Some(Self::Planned { trial, claim });
        }
        if word.is_empty() || key_of(word).is_some() {
            return Some(Self::Done);
        }
        words.number().ok().map(|patient| Self::Recorded { patient })
    }

    fn read_end(words: &mut Words<'a>) -> Option<Self> {
        let end = Ending::read(words)?;
        let (trial, mac) = (TrialId(words.hex("trial")?), words.hex("mac")?);
        Some(Self::End { end, trial, mac })
    }

    fn read_hello(words: &mut Words<'a>) -> Option<Self> {
        let known = words.next_word() == b"equipoise" && words.number() == Ok(PROTOCOL.into());
        let version = core::str::from_utf8(words.next_word()).ok()?;
        if !known || version.is_empty() || !version.bytes().all(is_text) {
            return None;
        }
        let state = State::named(words.next_word())?;
        Hello::read(version, state, words).map(Self::Hello)
    }
}

/// The key of a word `key=value`: lower-case letters, digits and hyphens, a letter first.
fn key_of(word: &[u8]) -> Option<&[u8]> {
    let (key, value) = word.split_at_checked(word.iter().position(|b| *b == b'=')?)?;
    let letters = matches!(key, [b'a'..=b'z', ..])
        && key.iter().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-'));
    (letters && value.len() > 1 && value.iter().all(|b| is_text(*b))).then_some(key)
}

/// The protocol version in the reply to `HELLO` of any equipoise device.
#[must_use]
pub fn protocol_of(line: &[u8]) -> Option<u32> {
    let mut words = Words::new(open(line).ok()?.body);
    let hello = words.next_word() == b"HELLO" && words.next_word() == b"equipoise";
    words.number().ok().filter(|_| hello)
}

/// Writes a number. By subtraction: the Cortex-M0 has no divider.
fn decimal(number: u32, f: &mut impl Write) -> fmt::Result {
    const TENS: [u32; 9] =
        [10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000];
    let more = TENS.iter().take_while(|ten| **ten <= number).count();
    let mut rest = number;
    for ten in TENS.get(..more).unwrap_or(&TENS).iter().rev() {
        let mut digit = b'0';
        while let Some(less) = rest.checked_sub(*ten) {
            rest = less;
            // At most nine times. (A check for overflow would cost a third of the loop.)
            digit = digit.wrapping_add(1);
        }
        f.write_char(digit.into())?;
    }
    // Below ten.
    f.write_char((b'0' + rest as u8).into())
}

impl<'a> Words<'a> {
    /// The value of the next word, which must be `key=value`.
    pub(super) fn value(&mut self, key: &str) -> Option<&'a [u8]> {
        self.next_word().strip_prefix(key.as_bytes())?.strip_prefix(b"=")
    }

    pub(super) fn count(&mut self, key: &str) -> Option<u32> {
        Words::new(self.value(key)?).number().ok()
    }

    pub(super) fn micro(&mut self, key: &str) -> Option<Micro> {
        Micro::parse(self.value(key)?)
    }

    /// The next word, which stays.
    pub(super) fn peek(&self) -> &'a [u8] {
        let mut ahead = *self;
        ahead.next_word()
    }

    fn hex<const N: usize>(&mut self, key: &str) -> Option<[u8; N]> {
        unhex(self.value(key)?)
    }
}
