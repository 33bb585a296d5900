//! The skeleton that the three designs share: explore, then measure and exploit.
//!
//! Patients 1..=half explore: in each feature arms by fair coin until one arm is dropped, then the survivor.
//! The second half measures the effect and exploits what was learned. [`conse`] holds the paper's Algorithm 1
//! and everything Algorithm 2 shares with it; [`dp_conse`] the four steps in which Algorithm 2 differs;
//! [`interim`] our own design. What they all promise to [`crate::trial`]:
//!
//! * an arm is chosen from the feature's state and [`crate::chance::Chance`] alone;
//! * every outcome is folded into sums at once; no design keeps the outcome of one patient.

pub mod conse;
pub mod dp_conse;
pub mod interim;

use core::fmt;

/// One of the two treatments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Arm {
    /// Arm 0.
    Zero,
    /// Arm 1.
    One,
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
        self as usize
    }

    /// The other arm.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Zero => Self::One,
            Self::One => Self::Zero,
        }
    }

    /// This arm's entry of a pair.
    pub(crate) const fn of<T: Copy>(self, pair: [T; 2]) -> T {
        let [zero, one] = pair;
        match self {
            Self::Zero => zero,
            Self::One => one,
        }
    }

    /// This arm's entry of a pair, to change.
    pub(crate) const fn of_mut<T>(self, pair: &mut [T; 2]) -> &mut T {
        let [zero, one] = pair;
        match self {
            Self::Zero => zero,
            Self::One => one,
        }
    }
}

impl fmt::Display for Arm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.index())
    }
}

/// A chosen arm, and whether the patient's outcome will be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Choice {
    pub arm: Arm,
    pub counts: bool,
}

/// Which half of the trial a patient, an outcome or a rule belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Half {
    /// Patients 1..=half.
    Explore,
    /// The rest.
    Measure,
}

/// Bytes of the part of a feature's state that changes with every outcome.
pub const TALLY_BYTES: usize = 33;
/// Bytes of the part of a feature's state that changes at looks and batch ends.
pub const LEDGER_BYTES: usize = 101;

/// Writes little-endian fields one after another; what does not fit is dropped, which the sizes rule out.
pub(crate) struct Writer<'a>(pub core::slice::IterMut<'a, u8>);

impl Writer<'_> {
    pub fn put(&mut self, field: &[u8]) {
        self.0.by_ref().zip(field).for_each(|(to, from)| *to = *from);
    }
}

/// An optional arm as a byte: 0, 1, or 2 for none.
pub(crate) const fn arm_byte(arm: Option<Arm>) -> u8 {
    match arm {
        Some(arm) => arm as u8,
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
