//! Where a trial stands.

use crate::design::Half;

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
    /// The half whose rules apply; a closed trial has no patients left to apply them to.
    pub(super) const fn half(self) -> Half {
        match self {
            Self::Explore => Half::Explore,
            Self::Measure | Self::Closed => Half::Measure,
        }
    }

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
