//! The few words that everybody needs: arms, phases, limits. A leaf: it imports no other module.

use core::fmt;

/// Most features a plan may have.
pub const MAX_FEATURES: u8 = 64;
/// Most patients a plan may have.
pub const MAX_PATIENTS: u32 = 10_000_000;
/// Most planned looks inside the second half.
pub const MAX_REPORTS: u8 = 8;
/// Most kits an arm.
pub const MAX_KITS: u32 = 1 << 20;

/// One of the two treatments. The lowest bit is the arm; 0 is left for "no arm", so that memory
/// without patients is all zeros (see [`crate::trial::Trial::vacant`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Arm {
    /// Arm 0.
    Zero = 2,
    /// Arm 1.
    One = 1,
}

impl Arm {
    /// Both arms, in order.
    pub const BOTH: [Self; 2] = [Self::Zero, Self::One];

    /// Arm 1 for `true`.
    #[must_use]
    pub const fn from_bit(bit: bool) -> Self {
        if bit { Self::One } else { Self::Zero }
    }

    /// 0 or 1.
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize & 1
    }

    /// The other arm.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Zero => Self::One,
            Self::One => Self::Zero,
        }
    }

    /// This arm's entry of a pair. Found by its place: a branch on a random arm is mispredicted
    /// every other time.
    #[allow(clippy::indexing_slicing, reason = "0 or 1, in a pair")]
    #[must_use]
    pub const fn of<T: Copy>(self, pair: [T; 2]) -> T {
        pair[self.index()]
    }

    /// This arm's entry of a pair, to change.
    #[allow(clippy::indexing_slicing, reason = "0 or 1, in a pair")]
    pub const fn of_mut<T>(self, pair: &mut [T; 2]) -> &mut T {
        &mut pair[self.index()]
    }
}

impl fmt::Display for Arm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.index())
    }
}

/// An optional arm as a byte: 0, 1, or 2 for none.
pub(crate) const fn arm_byte(arm: Option<Arm>) -> u8 {
    match arm {
        Some(arm) => arm.index() as u8,
        None => 2,
    }
}

/// The inverse of [`arm_byte`]; outer `None` for any other byte.
pub(crate) const fn arm_from_byte(byte: u8) -> Option<Option<Arm>> {
    match byte {
        0 => Some(Some(Arm::Zero)),
        1 => Some(Some(Arm::One)),
        2 => Some(None),
        _ => None,
    }
}

/// Where a trial stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Phase {
    /// Over: estimates are final, nobody is assigned.
    Closed,
    /// First half: learn which arm is better.
    Explore,
    /// Second half: measure the effect, exploit what was learned.
    Measure,
}

impl Phase {
    /// The name used in replies.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Explore => "explore",
            Self::Measure => "measure",
            Self::Closed => "closed",
        }
    }
}

/// Why a patient gets no other kit. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum NoKit {
    /// The trial is not blinded.
    Open,
    /// The trial is closed.
    Closed,
    /// No such patient has been assigned.
    Unknown,
    /// The patient's outcome was recorded or written off.
    Resolved,
    /// The replacement that would be the patient's next.
    Order(u8),
    /// The patient had as many replacements as there may be.
    Most,
    /// The reserve is used up.
    Reserve,
}

impl NoKit {
    /// Name of the number in `ERR kits`, and what is wrong with it; `None` for reasons that have
    /// another error word on the line. Nothing here depends on an arm.
    #[must_use]
    pub const fn in_words(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::Open => Some(("kits", "the trial is not blinded")),
            Self::Resolved => Some(("patient", "is resolved")),
            Self::Most => Some(("patient", "has had 3 replacements, the most allowed")),
            Self::Reserve => Some(("replaced", "the kits left are for patients to come")),
            Self::Closed | Self::Unknown | Self::Order(_) => None,
        }
    }
}

impl fmt::Display for NoKit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed => f.write_str("a closed trial gives no kits"),
            Self::Unknown => f.write_str("no kit for a patient who was not assigned"),
            Self::Order(next) => write!(f, "the patient's next replacement is number {next}"),
            _ => f.write_str(self.in_words().map_or("no kit", |(_, meaning)| meaning)),
        }
    }
}

impl core::error::Error for NoKit {}
