//! Replies of the device. No variant can hold a raw count, sum or outcome.

use core::fmt::{self, Write};

use super::facts::{
    Claim, FileDigest, Hello, ImageHash, Micro, NextLook, Restart, Row, State, Status, Stored,
    TrialId, TrialName,
};
use super::request::Words;
use super::{
    Hex, Line, MAC_BYTES, NONCE_BYTES, PROTOCOL, Refusal, WireError, Word, is_text, open, unhex,
};
use crate::plan::Design;
use crate::terms::Arm;
use crate::terms::Phase;

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
        /// How many rows there were.
        rows: u8,
        /// Patients assigned.
        assigned: u32,
        /// Patients whose outcome was recorded or declared lost.
        resolved: u32,
        /// The id of the trial.
        trial: TrialId,
        /// The MAC over trial, plan, rows and counts.
        mac: [u8; MAC_BYTES],
    },
    /// A nonce for the custodian's proof.
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
    /// The reply without checksum. Replies that every patient gets bypass `core::fmt`, which would
    /// take longer than the rest of the request.
    fn compose(&self, f: &mut impl Write) -> fmt::Result {
        match self {
            Self::Hello(hello) => {
                write!(f, "HELLO equipoise {PROTOCOL} {} {}", hello.version, hello.state.name())?;
                hello.stored.map_or(Ok(()), |stored| write!(f, " stored={stored}"))?;
                if let Some((key, left)) = hello.custody {
                    write!(f, " key={} left={left}", if key { "set" } else { "none" })?;
                }
                hello.trial.map_or(Ok(()), |name| write!(f, " {name}"))?;
                hello.restart.map_or(Ok(()), |cause| write!(f, " restart={}", cause.name()))?;
                hello.image.map_or(Ok(()), |image| write!(f, " image={image}"))
            }
            Self::Status(s) => {
                write!(
                    f,
                    "STATUS {} design={} n={} assigned={} ",
                    s.name, s.design, s.patients, s.assigned
                )?;
                write!(
                    f,
                    "resolved={} waiting={} capacity={} ",
                    s.resolved, s.waiting, s.capacity
                )?;
                write!(f, "phase={} looks={} next-look={} ", s.phase.name(), s.looks, s.next_look)?;
                write!(f, "spent={} left={}", s.spent, s.left)?;
                s.kits.map_or(Ok(()), |(kits, replaced)| {
                    write!(f, " kits={kits} replaced={replaced}")
                })
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
            Self::End { rows, assigned, resolved, trial, mac } => {
                write!(f, "END {rows} assigned={assigned} resolved={resolved} ")?;
                write!(f, "trial={trial} mac={}", Hex(mac))
            }
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
        line.finish();
    }

    /// Reads a reply line, on the terminal's side.
    ///
    /// # Errors
    /// The first fault of the line; a missing checksum too, for replies always carry one.
    pub fn parse(line: &'a [u8]) -> Result<Self, WireError> {
        let opened = open(line)?;
        if !opened.has_checksum {
            return Err(WireError::Checksum { got: None, expected: super::checksum(line) });
        }
        let mut words = Words::new(opened.body);
        words.allowed = "a reply of protocol version 2";
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
            b"KIT" => Some(Self::Kit { patient: words.number()?, kit: words.number()? }),
            b"OK" => Self::read_ok(words),
            b"ROW" => {
                let Ok(feature) = u8::try_from(words.number()?) else { return Ok(None) };
                let mut micro = || Micro::parse(words.next_word());
                let (Some(estimate), Some(error), Some(low), Some(high)) =
                    (micro(), micro(), micro(), micro())
                else {
                    return Ok(None);
                };
                Some(Self::Row(Row {
                    feature,
                    estimate,
                    error,
                    low,
                    high,
                    outcomes: words.number()?,
                }))
            }
            b"END" => Self::read_end(words),
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

    fn read_end(words: &mut Words<'a>) -> Option<Self> {
        let rows = u8::try_from(words.number().ok()?).ok()?;
        let (assigned, resolved) = (words.count("assigned")?, words.count("resolved")?);
        let (trial, mac) = (TrialId(words.hex("trial")?), words.hex("mac")?);
        Some(Self::End { rows, assigned, resolved, trial, mac })
    }

    fn read_hello(words: &mut Words<'a>) -> Option<Self> {
        let known = words.next_word() == b"equipoise" && words.number() == Ok(PROTOCOL.into());
        let version = core::str::from_utf8(words.next_word()).ok()?;
        if !known || version.is_empty() || !version.bytes().all(is_text) {
            return None;
        }
        let state = State::named(words.next_word())?;
        let stored = words.value_if_any("stored").map(Stored::parse);
        let custody = words.value_if_any("key").map(|set| match set {
            b"set" => Some((true, words.micro("left")?)),
            b"none" => Some((false, words.micro("left")?)),
            _ => None,
        });
        let trial = words.value_if_any("trial").map(|id| {
            Some(TrialName { id: TrialId(unhex(id)?), file: FileDigest(words.hex("file")?) })
        });
        let restart = words.value_if_any("restart").map(Restart::named);
        let image = words.value_if_any("image").map(|hash| unhex(hash).map(ImageHash));
        Some(Self::Hello(Hello {
            version,
            state,
            stored: optional(stored)?,
            custody: optional(custody)?,
            trial: optional(trial)?,
            restart: optional(restart)?,
            image: optional(image)?,
        }))
    }

    fn read_status(words: &mut Words<'a>) -> Option<Self> {
        let name =
            TrialName { id: TrialId(words.hex("trial")?), file: FileDigest(words.hex("file")?) };
        let design = words.value("design")?;
        let design = Design::ALL.into_iter().find(|known| known.name().as_bytes() == design)?;
        let (patients, assigned) = (words.count("n")?, words.count("assigned")?);
        let (resolved, waiting) = (words.count("resolved")?, words.count("waiting")?);
        let capacity = words.count("capacity")?;
        let phase = words.value("phase")?;
        let phases = [Phase::Explore, Phase::Measure, Phase::Closed];
        let phase = phases.into_iter().find(|known| known.name().as_bytes() == phase)?;
        let looks = words.count("looks")?;
        let next_look = match words.value("next-look")? {
            b"close" => NextLook::AtClose,
            b"none" => NextLook::None,
            count => NextLook::After(Words::new(count).number().ok()?),
        };
        let (spent, left) = (words.micro("spent")?, words.micro("left")?);
        let kits = words
            .value_if_any("kits")
            .map(|kits| Words::new(kits).number().ok().zip(words.count("replaced")));
        Some(Self::Status(Status {
            name,
            design,
            patients,
            assigned,
            resolved,
            waiting,
            capacity,
            phase,
            looks,
            next_look,
            spent,
            left,
            kits: optional(kits)?,
        }))
    }
}

/// An optional field: absent, or present and valid.
fn optional<T>(field: Option<Option<T>>) -> Option<Option<T>> {
    match field {
        None => Some(None),
        Some(None) => None,
        Some(good) => Some(good),
    }
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
    fn value(&mut self, key: &str) -> Option<&'a [u8]> {
        self.next_word().strip_prefix(key.as_bytes())?.strip_prefix(b"=")
    }

    /// The same, where the word may be absent.
    fn value_if_any(&mut self, key: &str) -> Option<&'a [u8]> {
        let mut ahead = *self;
        let value = ahead.value(key)?;
        *self = ahead;
        Some(value)
    }

    fn count(&mut self, key: &str) -> Option<u32> {
        Words::new(self.value(key)?).number().ok()
    }

    fn micro(&mut self, key: &str) -> Option<Micro> {
        Micro::parse(self.value(key)?)
    }

    fn hex<const N: usize>(&mut self, key: &str) -> Option<[u8; N]> {
        unhex(self.value(key)?)
    }
}
