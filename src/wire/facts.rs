//! The public facts a reply may hold, and the words for them.

use core::fmt;

use super::Hex;
use super::request::Words;
use crate::plan::DesignName;

/// State of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum State {
    /// It holds no trial.
    Blank,
    /// A trial is running.
    Running,
    /// A trial is closed and can be reported.
    Closed,
    /// The flash cannot be used: everything but `HELLO` is refused.
    Fault,
    /// The flash was written by a firmware of another version: everything but `HELLO` is refused.
    Foreign,
}

/// The version of what another firmware wrote to flash. (Numbered from 1, so that `None` is a zero
/// in memory that is not used yet.)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Stored {
    /// The version of the state's meaning (`trial::STATE_VERSION`).
    State(u8) = 1,
    /// The format of the journal.
    Journal(u8) = 2,
}

impl fmt::Display for Stored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, version) = match self {
            Self::State(version) => ("state", version),
            Self::Journal(format) => ("journal", format),
        };
        write!(f, "{what}-{version}")
    }
}

impl Stored {
    pub(super) fn parse(text: &[u8]) -> Option<Self> {
        let number = |digits| core::str::from_utf8(digits).ok()?.parse().ok();
        match text.strip_prefix(b"state-") {
            Some(digits) => number(digits).map(Self::State),
            None => number(text.strip_prefix(b"journal-")?).map(Self::Journal),
        }
    }
}

/// Why a device last started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Restart {
    /// Power came on.
    Power,
    /// The reset pin, or a debugger.
    Reset,
    /// The watchdog expired.
    Watchdog,
    /// A panic or a processor fault.
    Fault,
}

/// Why the flash could not be mounted at power-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlashTrouble {
    /// The flash refused to be read or written.
    Refused,
    /// It has too few or too many pages.
    Size,
    /// It is neither blank nor of this device.
    Unknown,
    /// Something that was stored is missing or changed.
    Damaged,
    /// Work that a power cut interrupted could not be finished.
    Repair,
}

/// Privacy claim of the device for its trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Claim {
    /// Epsilon-differentially private by proof, delta = 0.
    Pure,
    /// The published bound does not survive an exact audit.
    Unproven,
}

impl Claim {
    /// The claim for a design.
    #[must_use]
    pub const fn of(design: DesignName) -> Self {
        match design {
            DesignName::Interim | DesignName::Uniform => Self::Pure,
            DesignName::Conse | DesignName::DpConse => Self::Unproven,
        }
    }
}

/// When the next look falls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextLook {
    /// After this count.
    After(u32),
    /// At `CLOSE`.
    AtClose,
    /// Looks are not a public event of this trial, or there is none left.
    None,
}

/// A decimal in units of 10^-6.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Micro(pub i32);

impl fmt::Display for Micro {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (sign, size) = (if self.0 < 0 { "-" } else { "" }, self.0.unsigned_abs());
        write!(f, "{sign}{}.{:06}", size / 1_000_000, size % 1_000_000)
    }
}

impl Micro {
    /// Reads what `Display` writes.
    #[must_use]
    pub fn parse(text: &[u8]) -> Option<Self> {
        let (sign, size) = text.strip_prefix(b"-").map_or((1, text), |size| (-1, size));
        let point = size.iter().position(|b| *b == b'.')?;
        let (whole, places) = (size.get(..point)?, size.get(point + 1..)?);
        if whole.is_empty() || places.len() != 6 {
            return None;
        }
        let mut value = 0i64;
        for digit in whole.iter().chain(places) {
            let digit = char::from(*digit).to_digit(10)?;
            value = value.checked_mul(10)?.checked_add(digit.into())?;
        }
        i32::try_from(sign * value).ok().map(Self)
    }
}

/// One feature of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// The feature.
    pub feature: u8,
    /// Mean outcome of arm 1 minus that of arm 0, each in units of the scale.
    pub estimate: Micro,
    /// Its standard error.
    pub error: Micro,
    /// Lower end of the 95 % interval.
    pub low: Micro,
    /// Upper end of the 95 % interval.
    pub high: Micro,
    /// Noisy number of outcomes behind it.
    pub outcomes: u32,
    /// Its noisy ledger, where the design has one (`interim`, `uniform`).
    pub basis: Option<RowBasis>,
}

/// The noisy ledger of a row ([`crate::estimate::Basis`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowBasis {
    /// Information fraction: the part of the estimate's weight that is spent.
    pub spent: Micro,
    /// The same after the last look up to half, rounded to 1/256.
    pub half: Micro,
    /// The planned looks in which the feature took part: bit k is look number k + 1.
    pub looks: u32,
    /// Windows read so far.
    pub windows: u8,
    /// Arm 0 and arm 1.
    pub arms: [RowArm; 2],
}

/// One arm of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowArm {
    /// Noisy number of outcomes.
    pub outcomes: u32,
    /// Their noisy mean over the scale.
    pub mean: Micro,
}

/// Whether a report is of a running trial or of a closed one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The trial goes on.
    Interim,
    /// The trial is closed.
    Final,
}

/// The last look before a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastLook {
    /// Its number, from 1 on; 0 before the first.
    pub number: u8,
    /// Planned looks, the close included.
    pub of: u8,
    /// The count of resolved patients at which it fell; none for a close.
    pub at: Option<u32>,
}

/// The facts at the end of a report, as its MAC signs them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ending {
    /// How many rows there were.
    pub rows: u8,
    /// Whether the trial is closed.
    pub stage: Stage,
    /// The last look, where looks are public (`interim`, `uniform`).
    pub look: Option<LastLook>,
    /// Patients assigned.
    pub assigned: u32,
    /// Patients whose outcome was recorded or declared lost, or who waited at the close.
    pub resolved: u32,
    /// Noisy number of outcomes behind all rows.
    pub counted: u32,
}

/// Random id of a trial, drawn with its plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrialId(pub [u8; 8]);

impl TrialId {
    /// Stands for the trial in proofs for a blank device.
    pub const NONE: Self = Self([0; 8]);
}

/// Digest of the trial file's meaning; zeros if the trial was begun without one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileDigest(pub [u8; 8]);

impl FileDigest {
    /// The trial was begun without a trial file.
    pub const NONE: Self = Self([0; 8]);
}

/// The first bytes of the SHA-256 of a firmware image as it lies on flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageHash(pub [u8; 8]);

/// Which trial: its id and the digest of its trial file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrialName {
    /// Drawn at random when the trial began.
    pub id: TrialId,
    /// As sent with the plan.
    pub file: FileDigest,
}

impl fmt::Display for FileDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Hex(&self.0).fmt(f)
    }
}

impl fmt::Display for ImageHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Hex(&self.0).fmt(f)
    }
}

impl fmt::Display for TrialId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Hex(&self.0).fmt(f)
    }
}

/// The name of each value of an enum, for writing and reading.
macro_rules! named {
    ($type:ident: $($variant:ident $name:literal)*) => {
        impl $type {
            /// The word on the line.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
            /// The value of a word.
            #[must_use]
            pub fn named(word: &[u8]) -> Option<Self> {
                $(if word == $name.as_bytes() { return Some(Self::$variant); })*
                None
            }
        }
    };
}
named!(State: Blank "blank" Running "running" Closed "closed" Fault "fault" Foreign "foreign");
named!(Restart: Power "power" Reset "reset" Watchdog "watchdog" Fault "fault");
named!(FlashTrouble: Refused "refused" Size "size" Unknown "unknown" Damaged "damaged" Repair "repair");
named!(Stage: Interim "interim" Final "final");
named!(Claim: Pure "pure" Unproven "unproven");

impl fmt::Display for NextLook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::After(count) => write!(f, "{count}"),
            Self::AtClose => f.write_str("close"),
            Self::None => f.write_str("none"),
        }
    }
}

impl NextLook {
    pub(super) fn parse(text: &[u8]) -> Option<Self> {
        match text {
            b"close" => Some(Self::AtClose),
            b"none" => Some(Self::None),
            count => Words::new(count).number().ok().map(Self::After),
        }
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { feature, estimate, error, low, high, outcomes, basis } = self;
        write!(f, "ROW {feature} {estimate} {error} {low} {high} {outcomes}")?;
        let Some(RowBasis { spent, half, looks, windows, arms: [zero, one] }) = basis else {
            return Ok(());
        };
        write!(f, " spent={spent} half={half} looks={looks} windows={windows}")?;
        write!(
            f,
            " n0={} mean0={} n1={} mean1={}",
            zero.outcomes, zero.mean, one.outcomes, one.mean
        )
    }
}

impl Row {
    /// The keys of its words.
    pub(super) const KEYS: [&'static str; 8] =
        ["spent", "half", "looks", "windows", "n0", "mean0", "n1", "mean1"];

    /// Reads the words behind `ROW`.
    pub(super) fn read(words: &mut Words<'_>) -> Option<Self> {
        let feature = u8::try_from(words.number().ok()?).ok()?;
        let mut micro = || Micro::parse(words.next_word());
        let (estimate, error, low, high) = (micro()?, micro()?, micro()?, micro()?);
        let outcomes = words.number().ok()?;
        let has_basis = words.peek().starts_with(b"spent=");
        let basis = if has_basis { Some(RowBasis::read(words)?) } else { None };
        Some(Self { feature, estimate, error, low, high, outcomes, basis })
    }
}

impl RowBasis {
    fn read(words: &mut Words<'_>) -> Option<Self> {
        let [spent, half] = [words.micro("spent")?, words.micro("half")?];
        let looks = words.count("looks")?;
        let windows = u8::try_from(words.count("windows")?).ok()?;
        let zero = RowArm { outcomes: words.count("n0")?, mean: words.micro("mean0")? };
        let one = RowArm { outcomes: words.count("n1")?, mean: words.micro("mean1")? };
        Some(Self { spent, half, looks, windows, arms: [zero, one] })
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rows, stage, look, assigned, resolved, counted } = self;
        write!(f, "END {rows} stage={}", stage.name())?;
        if let Some(LastLook { number, of, at }) = look {
            write!(f, " look={number} of={of}")?;
            at.map_or(Ok(()), |at| write!(f, " at={at}"))?;
        }
        write!(f, " assigned={assigned} resolved={resolved} counted={counted}")
    }
}

impl Ending {
    /// The keys of its words.
    pub(super) const KEYS: [&'static str; 7] =
        ["stage", "look", "of", "at", "assigned", "resolved", "counted"];

    /// Reads the words behind `END`.
    pub(super) fn read(words: &mut Words<'_>) -> Option<Self> {
        let small = |number: u32| u8::try_from(number).ok();
        let rows = small(words.number().ok()?)?;
        let stage = Stage::named(words.value("stage")?)?;
        let look = if words.peek().starts_with(b"look=") {
            let (number, of) = (small(words.count("look")?)?, small(words.count("of")?)?);
            let has_count = words.peek().starts_with(b"at=");
            Some(LastLook {
                number,
                of,
                at: if has_count { Some(words.count("at")?) } else { None },
            })
        } else {
            None
        };
        let (assigned, resolved) = (words.count("assigned")?, words.count("resolved")?);
        Some(Self { rows, stage, look, assigned, resolved, counted: words.count("counted")? })
    }
}
