//! Requests of a terminal.

use core::fmt::{self, Write};
use core::str::FromStr;

use super::{
    FileDigest, Hex, Line, MAC_BYTES, NONCE_BYTES, PROOF_BYTES, WireError, excerpt, hex_number,
    is_text, open, unhex,
};
use crate::plan::{Plan, PlanError};

/// Hex digits of a tag.
const TAG_CHARS: usize = 8;

/// A random mark of one patient's request, by which a repeat is recognized.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag(pub u32);

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}", self.0)
    }
}

impl FromStr for Tag {
    type Err = ();
    fn from_str(text: &str) -> Result<Self, ()> {
        let digits: &[u8; TAG_CHARS] = text.as_bytes().try_into().map_err(drop)?;
        hex_number(digits).map(Self).ok_or(())
    }
}

/// A well-formed request. Whether its numbers fit the trial is checked by the device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Which device answers, and what it holds.
    Hello,
    /// The public facts of the trial.
    Status,
    /// An arm for a patient.
    Assign {
        /// The patient's number.
        patient: u32,
        /// The patient's feature.
        feature: u32,
        /// The mark by which a repeat of this request is recognized.
        tag: Option<Tag>,
    },
    /// A replacement for a kit that cannot be used, in a blinded trial.
    Replace {
        /// The patient's number.
        patient: u32,
        /// Which replacement of this patient, from 1; a repeat names the same.
        count: u32,
    },
    /// The outcome of a patient.
    Outcome {
        /// The patient's number.
        patient: u32,
        /// The outcome.
        y: u32,
    },
    /// The outcome of a patient will never come.
    Lost {
        /// The patient's number.
        patient: u32,
    },
    /// The estimates.
    Report,
    /// Proof that this device holds the key, for a nonce of the terminal.
    Prove([u8; NONCE_BYTES]),
    /// A nonce for a custodian command.
    Challenge,
    /// A new key of the custodian.
    Key([u8; MAC_BYTES]),
    /// A new trial.
    Plan {
        /// Its parameters.
        plan: Plan,
        /// The digest of its trial file.
        file: FileDigest,
    },
    /// The end of the trial.
    Close,
    /// Wipe the trial.
    Erase,
}

/// A proof that a custodian command comes from the holder of the key.
pub type Proof = [u8; PROOF_BYTES];

/// How a proof is written, behind the command.
const PROOF: &[u8] = b" proof=";
const PROOF_CHARS: usize = PROOF.len() + 2 * PROOF_BYTES;

/// Splits what stands before the checksum into the request and its proof, if it has one.
#[must_use]
pub fn split_proof(body: &[u8]) -> (&[u8], Option<Proof>) {
    let split = body.split_last_chunk::<PROOF_CHARS>();
    let proof = split.and_then(|(_, word)| unhex(word.strip_prefix(PROOF)?));
    match (split, proof) {
        (Some((text, _)), Some(proof)) => (text, Some(proof)),
        _ => (body, None),
    }
}

const VERBS: &str =
    "HELLO STATUS ASSIGN REPLACE OUTCOME LOST REPORT PROVE AUTH KEY PLAN CLOSE ERASE";

impl Request {
    /// Reads a line as the [`Framer`](super::Framer) gives it: length, checksum if there, grammar.
    /// A proof is not checked.
    ///
    /// # Errors
    /// The first fault of the line.
    pub fn parse(line: &[u8]) -> Result<Self, WireError> {
        let (text, proof) = split_proof(open(line)?.body);
        Self::parse_text(text, proof.is_some())
    }

    /// Reads what stands before the proof and the checksum; only a request that takes a proof may
    /// have one.
    ///
    /// # Errors
    /// `Syntax`, or `Plan` for a plan with a bad value.
    // Inlined, like the two below: 80 cycles of a blinded `ASSIGN` on the Cortex-M0.
    #[inline(always)]
    pub fn parse_text(text: &[u8], proved: bool) -> Result<Self, WireError> {
        let request = Self::parse_words(text)?;
        if proved && !request.takes_proof() {
            return Err(WireError::Syntax {
                got: excerpt(b"proof"),
                allowed: "REPORT KEY PLAN CLOSE ERASE",
            });
        }
        Ok(request)
    }

    /// Whether this may carry a proof: a command of the custodian, or a report.
    #[must_use]
    pub const fn takes_proof(&self) -> bool {
        matches!(self, Self::Report | Self::Key(_) | Self::Plan { .. } | Self::Close | Self::Erase)
    }

    #[inline(always)]
    fn parse_words(text: &[u8]) -> Result<Self, WireError> {
        let mut words = Words::new(text);
        let verb = words.next_word();
        words.allowed = "a verb alone";
        let request = match verb {
            b"ASSIGN" => {
                words.allowed = "ASSIGN <k> <feature> [tag of 8 hex digits]";
                Self::Assign {
                    patient: words.number()?,
                    feature: words.number()?,
                    tag: words.hex_word_if_any(TAG_CHARS, hex_number)?.map(Tag),
                }
            }
            b"OUTCOME" => {
                words.allowed = "OUTCOME <k> <y>";
                Self::Outcome { patient: words.number()?, y: words.number()? }
            }
            b"REPLACE" => {
                words.allowed = "REPLACE <k> <r>";
                Self::Replace { patient: words.number()?, count: words.number()? }
            }
            b"LOST" => {
                words.allowed = "LOST <k>";
                Self::Lost { patient: words.number()? }
            }
            b"PROVE" => {
                words.allowed = "PROVE <32 hex digits>";
                Self::Prove(words.hex_if_any()?.ok_or(words.error(b""))?)
            }
            b"AUTH" => {
                words.allowed =
                    "AUTH alone: since protocol 2 the proof is the last word of the command";
                Self::Challenge
            }
            b"KEY" => {
                words.allowed = "KEY <64 hex digits> [proof=<32 hex digits>]";
                Self::Key(words.hex_if_any()?.ok_or(words.error(b""))?)
            }
            b"PLAN" => {
                words.allowed = "PLAN <key=value>.. [file=<16 hex digits>] proof=<32 hex digits>";
                return words.plan();
            }
            b"HELLO" => Self::Hello,
            b"STATUS" => Self::Status,
            b"REPORT" => Self::Report,
            b"CLOSE" | b"ERASE" => {
                words.allowed = "CLOSE or ERASE with proof=<32 hex digits>";
                if verb == b"CLOSE" { Self::Close } else { Self::Erase }
            }
            _ => return Err(WireError::Syntax { got: excerpt(verb), allowed: VERBS }),
        };
        words.end(request)
    }

    /// The line as it goes over the wire, checksum and LF included; `None` if it is too long for
    /// one (a plan can be, with several long fractions).
    #[must_use]
    pub fn to_line(&self) -> Option<Line> {
        Self::line(format_args!("{self}"))
    }

    /// The same with a proof.
    #[must_use]
    pub fn to_proved_line(&self, proof: &Proof) -> Option<Line> {
        Self::line(format_args!("{self} proof={}", Hex(proof)))
    }

    fn line(text: fmt::Arguments<'_>) -> Option<Line> {
        let mut line = Line::new();
        let _ = line.write_fmt(text);
        line.finish();
        (!line.is_cut()).then_some(line)
    }
}

impl fmt::Display for Request {
    /// The request without checksum.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hello => f.write_str("HELLO"),
            Self::Status => f.write_str("STATUS"),
            Self::Assign { patient, feature, tag: None } => write!(f, "ASSIGN {patient} {feature}"),
            Self::Assign { patient, feature, tag: Some(tag) } => {
                write!(f, "ASSIGN {patient} {feature} {tag}")
            }
            Self::Replace { patient, count } => write!(f, "REPLACE {patient} {count}"),
            Self::Outcome { patient, y } => write!(f, "OUTCOME {patient} {y}"),
            Self::Lost { patient } => write!(f, "LOST {patient}"),
            Self::Report => f.write_str("REPORT"),
            Self::Prove(nonce) => write!(f, "PROVE {}", Hex(nonce)),
            Self::Challenge => f.write_str("AUTH"),
            Self::Key(key) => write!(f, "KEY {}", Hex(key)),
            Self::Plan { plan, file: FileDigest::NONE } => write!(f, "PLAN {plan}"),
            Self::Plan { plan, file } => write!(f, "PLAN {plan} file={file}"),
            Self::Close => f.write_str("CLOSE"),
            Self::Erase => f.write_str("ERASE"),
        }
    }
}

/// The words of a line, one by one; a missing word is empty.
#[derive(Clone, Copy)]
pub(super) struct Words<'a> {
    rest: &'a [u8],
    /// Words that the grammar allows here, for the error.
    pub(super) allowed: &'static str,
}

impl<'a> Words<'a> {
    pub(super) const fn new(body: &'a [u8]) -> Self {
        Self { rest: body, allowed: "" }
    }

    fn skip_blanks(&mut self) {
        while let [b' ', behind @ ..] = self.rest {
            self.rest = behind;
        }
    }

    // Saves 11 instructions of an `ASSIGN` and 18 of an `OUTCOME` on the Cortex-M0.
    #[inline(always)]
    pub(super) fn next_word(&mut self) -> &'a [u8] {
        self.skip_blanks();
        let end = self.rest.iter().position(|b| *b == b' ').unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at_checked(end).unwrap_or((self.rest, &[]));
        self.rest = rest;
        word
    }

    pub(super) fn rest(&mut self) -> Result<&'a str, WireError> {
        let rest = core::mem::take(&mut self.rest).trim_ascii();
        let text = core::str::from_utf8(rest).ok().filter(|text| text.bytes().all(is_text));
        text.ok_or_else(|| self.error(rest))
    }

    pub(super) fn error(&self, got: &[u8]) -> WireError {
        WireError::Syntax { got: excerpt(got), allowed: self.allowed }
    }

    /// This value, if nothing follows.
    pub(super) fn end<T>(&mut self, value: T) -> Result<T, WireError> {
        self.skip_blanks();
        if self.rest.is_empty() { Ok(value) } else { self.wrong() }
    }

    /// The error of the next word.
    fn wrong<T>(&mut self) -> Result<T, WireError> {
        let word = self.next_word();
        Err(self.error(word))
    }

    #[inline(always)]
    pub(super) fn number(&mut self) -> Result<u32, WireError> {
        self.skip_blanks();
        let (mut rest, mut number) = (self.rest, 0_u32);
        while let [byte, behind @ ..] = rest
            && *byte != b' '
        {
            let digit = byte.wrapping_sub(b'0');
            // The Cortex-M0 has no wide product that would show an overflow.
            let fits = digit < 10 && number <= u32::MAX / 10;
            match number.wrapping_mul(10).checked_add(digit.into()) {
                Some(longer) if fits => number = longer,
                _ => return self.wrong(),
            }
            rest = behind;
        }
        if rest.len() == self.rest.len() {
            return self.wrong();
        }
        self.rest = rest;
        Ok(number)
    }

    pub(super) fn hex_if_any<const N: usize>(&mut self) -> Result<Option<[u8; N]>, WireError> {
        self.hex_word_if_any(2 * N, unhex)
    }

    /// A word of so many digits.
    fn hex_word_if_any<T>(
        &mut self,
        digits: usize,
        read: impl Fn(&[u8]) -> Option<T>,
    ) -> Result<Option<T>, WireError> {
        self.skip_blanks();
        if self.rest.is_empty() {
            return Ok(None);
        }
        if let Some((word, rest @ ([] | [b' ', ..]))) = self.rest.split_at_checked(digits)
            && let Some(value) = read(word)
        {
            self.rest = rest;
            return Ok(Some(value));
        }
        self.wrong()
    }

    fn plan(&mut self) -> Result<Request, WireError> {
        let text = self.rest()?;
        let last = text.bytes().rposition(|b| b == b' ').and_then(|at| text.split_at_checked(at));
        let (text, file) = last
            .and_then(|(plan, last)| Some((plan, unhex(last.strip_prefix(" file=")?.as_bytes())?)))
            .map_or((text, FileDigest::NONE), |(plan, digest)| (plan, FileDigest(digest)));
        let plan = Plan::parse(text).map_err(|error| match error {
            PlanError::Unknown(word) => self.error(word.as_bytes()),
            other => WireError::Plan(other),
        })?;
        Ok(Request::Plan { plan, file })
    }
}
