//! The two treatments.

use core::fmt;

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
