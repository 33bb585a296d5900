//! Treatment of a patient: an arm, or the kits of a blinded trial.

use equipoise::terms::Arm;

/// Treatment given to a patient.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Treatment {
    /// An arm.
    Arm(Arm),
    /// Kits of a blinded trial.
    Kits {
        /// The first one and its replacements, as far as this log knows them; the last one counts.
        kits: Vec<u32>,
        /// How many replacements the patient had, known or not.
        replaced: u8,
    },
}

impl Treatment {
    /// The arm, if it is known.
    #[must_use]
    pub const fn arm(&self) -> Option<Arm> {
        match self {
            Self::Arm(arm) => Some(*arm),
            Self::Kits { .. } => None,
        }
    }

    /// The kit that counts, in a blinded trial.
    #[must_use]
    pub fn kit(&self) -> Option<u32> {
        match self {
            Self::Arm(_) => None,
            Self::Kits { kits, .. } => kits.last().copied(),
        }
    }

    /// Replacements so far.
    #[must_use]
    pub const fn replaced(&self) -> u8 {
        match self {
            Self::Arm(_) => 0,
            Self::Kits { replaced, .. } => *replaced,
        }
    }
}
