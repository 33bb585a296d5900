//! What the device may say. No variant can hold a raw count, sum or outcome.

use core::fmt::{self, Write};

use super::facts::{Claim, Micro, NextLook, Restart, Row, State, Status, Stored, TrialId};
use super::request::Words;
use super::{Hex, Line, MAC_BYTES, NONCE_BYTES, PROTOCOL, Refusal, WireError, Word, is_text, open, unhex};
use crate::design::Arm;
use crate::plan::Design;
use crate::trial::Phase;

/// A reply line. Borrowed text is the terminal's side only: the device makes `Reply<'static>`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply<'a> {
    /// Who is there.
    Hello {
        /// Version of the program.
        version: &'a str,
        /// What it is doing.
        state: State,
        /// The version on flash, if the state is `foreign`.
        stored: Option<Stored>,
        /// Why it last started, where known.
        restart: Option<Restart>,
    },
    /// The public facts of the trial.
    Status(Status),
    /// The arm of a patient.
    Arm {
        /// The patient's number.
        patient: u32,
        /// The patient's arm.
        arm: Arm,
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
        /// Its name.
        trial: TrialId,
        /// What is claimed of its privacy.
        claim: Claim,
    },
    /// One feature of a report.
    Row(Row),
    /// The end of a report.
    End {
        /// How many rows there were.
        rows: u8,
        /// The MAC over trial, plan and rows.
        mac: [u8; MAC_BYTES],
        /// The name of the trial.
        trial: TrialId,
    },
    /// A challenge for the custodian.
    Nonce([u8; NONCE_BYTES]),
    /// Refused; nothing was changed.
    Refused(Refusal<'a>),
}

impl fmt::Display for Reply<'_> {
    /// The reply without checksum.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.compose(f)
    }
}

impl Reply<'_> {
    /// The reply without checksum. What every patient gets goes without the machinery of formatting, which would take
    /// longer than everything else about it.
    fn compose(&self, f: &mut impl Write) -> fmt::Result {
        match self {
            Self::Hello { version, state, stored, restart } => {
                write!(f, "HELLO equipoise {PROTOCOL} {version} {}", state.name())?;
                stored.map_or(Ok(()), |stored| write!(f, " stored={stored}"))?;
                restart.map_or(Ok(()), |cause| write!(f, " restart={}", cause.name()))
            }
            Self::Status(s) => {
                write!(f, "STATUS design={} n={} assigned={} ", s.design, s.patients, s.assigned)?;
                write!(f, "unresolved={} phase={} ", s.unresolved, s.phase.name())?;
                write!(f, "looks={} next-look={}", s.looks, s.next_look)
            }
            Self::Arm { patient, arm } => {
                f.write_str("ARM ")?;
                decimal(*patient, f)?;
                f.write_str(arm.of([" 0", " 1"]))
            }
            Self::Recorded { patient } => {
                f.write_str("OK ")?;
                decimal(*patient, f)
            }
            Self::Done => f.write_str("OK"),
            Self::Planned { trial, claim } => write!(f, "OK trial={trial} claim={}", claim.name()),
            Self::Row(row) => write!(f, "{row}"),
            Self::End { rows, mac, trial } => write!(f, "END {rows} {} {trial}", Hex(mac)),
            Self::Nonce(nonce) => write!(f, "NONCE {}", Hex(nonce)),
            Self::Refused(refusal) => refusal.compose(f),
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
        line.seal();
    }

    /// Reads a reply line, on the terminal's side.
    ///
    /// # Errors
    /// What is wrong with the line; a missing checksum too, for replies always carry one.
    pub fn parse(line: &'a [u8]) -> Result<Self, WireError> {
        let opened = open(line)?;
        if !opened.sealed {
            return Err(WireError::Checksum { got: None, expected: super::checksum(line) });
        }
        let mut words = Words::new(opened.body);
        words.allowed = "a reply of protocol version 1";
        let bad = words.error(opened.body);
        let reply = Self::read(&mut words)?.ok_or(bad)?;
        words.end(reply)
    }

    fn read(words: &mut Words<'a>) -> Result<Option<Self>, WireError> {
        Ok(match words.next_word() {
            b"HELLO" => Self::read_hello(words),
            b"STATUS" => Self::read_status(words),
            b"ARM" => {
                let patient = words.number()?;
                match words.next_word() {
                    b"0" => Some(Self::Arm { patient, arm: Arm::Zero }),
                    b"1" => Some(Self::Arm { patient, arm: Arm::One }),
                    _ => None,
                }
            }
            b"OK" => Self::read_ok(words),
            b"ROW" => {
                let Ok(feature) = u8::try_from(words.number()?) else { return Ok(None) };
                let mut micro = || Micro::parse(words.next_word());
                let (Some(estimate), Some(low), Some(high)) = (micro(), micro(), micro()) else {
                    return Ok(None);
                };
                Some(Self::Row(Row { feature, estimate, low, high, patients: words.number()? }))
            }
            b"END" => {
                let Ok(rows) = u8::try_from(words.number()?) else { return Ok(None) };
                let (mac, trial) = (words.hex_if_any()?, words.hex_if_any()?);
                mac.zip(trial).map(|(mac, trial)| Self::End { rows, mac, trial: TrialId(trial) })
            }
            b"NONCE" => words.hex_if_any()?.map(Self::Nonce),
            b"ERR" => {
                let word = words.next_word();
                let detail = words.rest()?;
                let word = Word::ALL.into_iter().find(|known| known.name().as_bytes() == word);
                word.map(|word| Self::Refused(Refusal::Told(word, detail)))
            }
            _ => None,
        })
    }

    fn read_ok(words: &mut Words<'a>) -> Option<Self> {
        let word = words.next_word();
        if word.is_empty() {
            return Some(Self::Done);
        }
        if let Some(trial) = word.strip_prefix(b"trial=") {
            let claim = words.value("claim").and_then(Claim::named);
            let trial = unhex(trial).map(TrialId);
            return trial.zip(claim).map(|(trial, claim)| Self::Planned { trial, claim });
        }
        Words::new(word).number().ok().map(|patient| Self::Recorded { patient })
    }

    fn read_hello(words: &mut Words<'a>) -> Option<Self> {
        let known = words.next_word() == b"equipoise" && words.number() == Ok(PROTOCOL.into());
        let version = core::str::from_utf8(words.next_word()).ok()?;
        if !known || version.is_empty() || !version.bytes().all(is_text) {
            return None;
        }
        let state = State::named(words.next_word())?;
        let mut word = words.next_word();
        let stored = match word.strip_prefix(b"stored=") {
            None => None,
            Some(text) => {
                word = words.next_word();
                Some(Stored::parse(text)?)
            }
        };
        let restart = match word {
            b"" => None,
            word => Some(Restart::named(word.strip_prefix(b"restart=")?)?),
        };
        Some(Self::Hello { version, state, stored, restart })
    }

    fn read_status(words: &mut Words<'a>) -> Option<Self> {
        let design = words.value("design")?;
        let design = Design::ALL.into_iter().find(|known| known.name().as_bytes() == design)?;
        let (patients, assigned) = (words.count("n")?, words.count("assigned")?);
        let unresolved = words.count("unresolved")?;
        let phase = words.value("phase")?;
        let phases = [Phase::Explore, Phase::Measure, Phase::Closed];
        let phase = phases.into_iter().find(|known| known.name().as_bytes() == phase)?;
        let looks = words.count("looks")?;
        let next_look = match words.value("next-look")? {
            b"close" => NextLook::AtClose,
            b"none" => NextLook::None,
            patient => NextLook::After(Words::new(patient).number().ok()?),
        };
        Some(Self::Status(Status { design, patients, assigned, unresolved, phase, looks, next_look }))
    }
}

/// Writes a number. By subtraction: a small machine has no divider.
fn decimal(number: u32, f: &mut impl Write) -> fmt::Result {
    const TENS: [u32; 9] =
        [10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000];
    let more = TENS.iter().take_while(|ten| **ten <= number).count();
    let mut rest = number;
    for ten in TENS.iter().take(more).rev() {
        let mut digit = b'0';
        while rest >= *ten {
            rest -= ten;
            digit += 1;
        }
        f.write_char(digit.into())?;
    }
    // Below ten.
    f.write_char((b'0' + rest as u8).into())
}

impl<'a> Words<'a> {
    /// The value of the next word, which must be `key=value`.
    fn value(&mut self, key: &str) -> Option<&'a [u8]> {
        self.next_word().strip_prefix(key.as_bytes())?.strip_prefix(b"=")
    }

    fn count(&mut self, key: &str) -> Option<u32> {
        Words::new(self.value(key)?).number().ok()
    }
}
