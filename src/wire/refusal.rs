//! Why a request was refused: one word for programs, a detail for people.

use core::fmt::{self, Write};

use super::{Micro, RequestName, Stored, WireError};
use crate::plan::{PlanError, Ratio};
use crate::terms::NoKit;

/// The first word behind `ERR`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Word {
    /// The checksum is wrong, or missing where it must be.
    Checksum,
    /// The line is not of the grammar.
    Syntax,
    /// The line is too long.
    Length,
    /// Not the patient who is next.
    Order,
    /// The trial has no such feature.
    Feature,
    /// A number is outside of what is allowed.
    Range,
    /// No patient of this number was assigned.
    Unknown,
    /// No room for another patient.
    Full,
    /// No replacement for a kit.
    Kits,
    /// Nothing to report yet.
    Early,
    /// The trial is closed.
    Closed,
    /// There is no trial.
    Blank,
    /// Not before something else is done.
    Locked,
    /// The custodian has not proved who they are.
    Auth,
    /// The device's lifetime budget of epsilon does not cover the plan.
    Budget,
    /// The flash failed; the device refuses everything until power-up.
    Storage,
    /// The entropy source failed its health test.
    Entropy,
    /// The flash was written by a firmware of another version.
    Foreign,
}

impl Word {
    /// All words, in the order of the protocol table.
    pub const ALL: [Self; 18] = [
        Self::Checksum,
        Self::Syntax,
        Self::Length,
        Self::Order,
        Self::Feature,
        Self::Range,
        Self::Unknown,
        Self::Full,
        Self::Kits,
        Self::Early,
        Self::Closed,
        Self::Blank,
        Self::Locked,
        Self::Auth,
        Self::Budget,
        Self::Storage,
        Self::Entropy,
        Self::Foreign,
    ];

    /// The word as written.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Checksum => "checksum",
            Self::Syntax => "syntax",
            Self::Length => "length",
            Self::Order => "order",
            Self::Feature => "feature",
            Self::Range => "range",
            Self::Unknown => "unknown",
            Self::Full => "full",
            Self::Kits => "kits",
            Self::Early => "early",
            Self::Closed => "closed",
            Self::Blank => "blank",
            Self::Locked => "locked",
            Self::Auth => "auth",
            Self::Budget => "budget",
            Self::Storage => "storage",
            Self::Entropy => "entropy",
            Self::Foreign => "foreign",
        }
    }
}

/// Reason for the answer `ERR locked`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Lock {
    /// Three wrong proofs: custodian commands are off until power-up.
    WrongProofs,
    /// The device holds a trial: `PLAN` needs a blank one.
    Trial,
    /// The device ran a blinded trial of this trial file: it would give the same kits again.
    UsedFile,
}

/// A refusal with its detail. A device puts nothing into one but the request itself, public counts
/// and constants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal<'a> {
    /// A line that is not a request ([`Word::Checksum`], [`Word::Length`], [`Word::Syntax`]), or a
    /// plan that cannot be ([`Word::Range`]).
    Line(WireError),
    /// See [`Word::Order`]; the patient who is next.
    Order {
        /// The only number that would be assigned.
        expected: u32,
    },
    /// See [`Word::Feature`].
    Feature {
        /// The feature asked for.
        got: u32,
        /// How many there are.
        features: u8,
    },
    /// An outcome above the plan's scale ([`Word::Range`]).
    Outcome {
        /// The outcome sent.
        got: u32,
        /// The largest allowed.
        scale: u16,
    },
    /// A plan with more features than this device has room for ([`Word::Range`]).
    Capacity {
        /// The features of the plan.
        got: u8,
        /// The most this device can hold.
        features: u8,
    },
    /// The flash cannot carry the plan ([`Word::Range`]).
    Flash {
        /// Pages that can be used.
        pages: u32,
        /// Pages that the plan needs.
        needed: u32,
    },
    /// A plan of the design without privacy, which runs on the host only ([`Word::Range`]).
    NotPrivate,
    /// See [`Word::Unknown`].
    Unknown {
        /// The number asked for.
        patient: u32,
        /// How many patients there are.
        assigned: u32,
    },
    /// Every patient of the plan is assigned ([`Word::Full`]).
    Full {
        /// The patients of the plan.
        patients: u32,
    },
    /// Too many patients without outcome ([`Word::Full`]): send outcomes or losses first.
    Waiting {
        /// The most that may wait at once.
        capacity: u32,
    },
    /// See [`Word::Kits`]; why, and the number of the patient or of the replacements given.
    Kits(NoKit, u32),
    /// See [`Word::Early`].
    Early,
    /// See [`Word::Closed`].
    Closed,
    /// See [`Word::Blank`].
    Blank,
    /// See [`Word::Locked`].
    Locked(Lock),
    /// See [`Word::Auth`]; what is missing.
    Auth(&'static str),
    /// See [`Word::Budget`].
    Budget {
        /// The plan's epsilon.
        epsilon: Ratio,
        /// The lifetime budget left.
        left: Micro,
    },
    /// See [`Word::Storage`].
    Storage,
    /// See [`Word::Entropy`].
    Entropy,
    /// See [`Word::Foreign`]; the version on flash.
    Foreign(Stored),
    /// As received by a terminal.
    Told(Word, &'a str),
}

impl Refusal<'_> {
    /// The word for programs.
    #[must_use]
    pub const fn word(&self) -> Word {
        match self {
            Self::Line(WireError::Checksum { .. }) => Word::Checksum,
            Self::Line(WireError::Length) => Word::Length,
            Self::Line(
                WireError::Syntax { .. }
                | WireError::Plan(
                    PlanError::Missing(_) | PlanError::Twice(_) | PlanError::Unknown(_),
                ),
            ) => Word::Syntax,
            Self::Order { .. } => Word::Order,
            Self::Feature { .. } => Word::Feature,
            Self::Outcome { .. }
            | Self::Line(WireError::Plan(
                PlanError::Value(..) | PlanError::Fraction(..) | PlanError::Kits { .. },
            ))
            | Self::Capacity { .. }
            | Self::Flash { .. }
            | Self::NotPrivate => Word::Range,
            Self::Unknown { .. } => Word::Unknown,
            Self::Full { .. } | Self::Waiting { .. } => Word::Full,
            Self::Kits(..) => Word::Kits,
            Self::Early => Word::Early,
            Self::Closed => Word::Closed,
            Self::Blank => Word::Blank,
            Self::Locked(_) => Word::Locked,
            Self::Auth(_) => Word::Auth,
            Self::Budget { .. } => Word::Budget,
            Self::Storage => Word::Storage,
            Self::Entropy => Word::Entropy,
            Self::Foreign(_) => Word::Foreign,
            Self::Told(word, _) => *word,
        }
    }
}

impl fmt::Display for Refusal<'_> {
    /// The word and the detail.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word().name())?;
        self.write_detail(f)
    }
}

impl Refusal<'_> {
    /// The reply without checksum.
    pub(super) fn compose(&self, request: Option<RequestName>, f: &mut dyn Write) -> fmt::Result {
        write!(f, "ERR {}", self.word().name())?;
        if let Some(request) = request {
            write!(f, " re={request}")?;
        }
        write!(f, "{}", Detail(self))
    }

    /// The detail, with a blank before it.
    fn write_detail(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(error) => error.write_detail(f),
            Self::Order { expected } => write!(f, " expected={expected}"),
            Self::Feature { got, features } => write!(f, " got={got} allowed 0..{features}"),
            Self::Outcome { got, scale } => write!(f, " y={got} allowed 0..={scale}"),
            Self::Capacity { got, features } => {
                write!(f, " features={got} allowed 1..={features} on this device")
            }
            Self::Flash { pages, needed } => {
                write!(f, " flash pages={pages} allowed {needed} or more for this plan")
            }
            Self::NotPrivate => {
                f.write_str(" design=conse allowed dp-conse interim uniform on a device")
            }
            Self::Unknown { patient, assigned } => {
                write!(f, " patient={patient} allowed 1..={assigned}")
            }
            Self::Full { patients } => write!(f, " patients={patients}"),
            Self::Waiting { capacity } => {
                write!(f, " waiting={capacity} send OUTCOME or LOST first")
            }
            Self::Kits(why, number) => match why.in_words() {
                Some((what, meaning)) => write!(f, " {what}={number} {meaning}"),
                None => Ok(()),
            },
            Self::Early => f.write_str(" no estimate yet"),
            Self::Closed | Self::Blank => Ok(()),
            Self::Locked(Lock::WrongProofs) => f.write_str(" wrong proofs until=power-up"),
            Self::Locked(Lock::Trial) => f.write_str(" trial until=ERASE"),
            Self::Locked(Lock::UsedFile) => {
                f.write_str(" file ran blinded here before, raise its use")
            }
            Self::Auth(missing) => write!(f, " {missing}"),
            Self::Budget { epsilon, left } => write!(f, " epsilon={epsilon} left={left}"),
            Self::Storage => f.write_str(" until=power-up"),
            Self::Entropy => f.write_str(" health test failed"),
            Self::Foreign(stored) => write!(f, " stored={stored} use the firmware that wrote it"),
            Self::Told(_, "") => Ok(()),
            Self::Told(_, detail) => write!(f, " {detail}"),
        }
    }
}

/// The detail of a refusal alone.
struct Detail<'a>(&'a Refusal<'a>);

impl fmt::Display for Detail<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.write_detail(f)
    }
}

impl core::error::Error for Refusal<'_> {}

impl From<WireError> for Refusal<'_> {
    fn from(error: WireError) -> Self {
        Self::Line(error)
    }
}
