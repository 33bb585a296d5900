//! The words that a plan chooses from: its design, its direction, and who may do what.

use core::fmt;

/// The algorithm of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum DesignName {
    /// Algorithm 1 of the paper; no privacy, host only.
    Conse,
    /// Algorithm 2 of the paper, as published.
    DpConse,
    /// Noisy ledgers at looks, adaptive; private by proof.
    Interim,
    /// A fixed trial with the noise of `interim`; private by the same proof.
    Uniform,
}

impl DesignName {
    /// All designs, in the order of their codes.
    pub const ALL: [Self; 4] = [Self::Conse, Self::DpConse, Self::Interim, Self::Uniform];

    /// The name used in plans and replies.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Conse => "conse",
            Self::DpConse => "dp-conse",
            Self::Interim => "interim",
            Self::Uniform => "uniform",
        }
    }
}

impl fmt::Display for DesignName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Who ends a trial whose patients are all resolved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Close {
    /// The custodian.
    Custodian,
    /// The trial itself: its closing look falls after its last outcome.
    Auto,
}

impl Close {
    /// Both, in the order of their codes.
    pub const ALL: [Self; 2] = [Self::Custodian, Self::Auto];

    /// The word used in plans.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Custodian => "custodian",
            Self::Auto => "auto",
        }
    }
}

/// Which outcomes are the better ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Better {
    /// Large ones: the patient walks.
    High,
    /// Small ones: the patient has died.
    Low,
}

impl Better {
    /// Both, in the order of their codes.
    pub const ALL: [Self; 2] = [Self::High, Self::Low];

    /// The word used in plans and replies.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::High => "high",
            Self::Low => "low",
        }
    }
}

/// Who may ask for the report of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Results {
    /// A holder of the report key or the custodian's, with a proof.
    Custodian,
    /// The same; everybody once the trial is closed.
    Close,
    /// Everybody.
    Open,
}

impl Results {
    /// All of them, in the order of their codes.
    pub const ALL: [Self; 3] = [Self::Custodian, Self::Close, Self::Open];

    /// The word used in plans and replies.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Custodian => "custodian",
            Self::Close => "close",
            Self::Open => "open",
        }
    }

    /// Whether the report of a trial that is closed or not takes a proof.
    #[must_use]
    pub const fn takes_proof(self, closed: bool) -> bool {
        match self {
            Self::Custodian => true,
            Self::Close => !closed,
            Self::Open => false,
        }
    }
}
