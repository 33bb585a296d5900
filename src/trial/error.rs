//! Why a trial refuses.

use core::fmt;

/// Why a trial refused a plan, a patient or an outcome. Nothing has changed, but that a look or
/// turn that was due has been done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum TrialError {
    /// The plan has more features than this trial has room for.
    Capacity,
    /// No such feature.
    Feature,
    /// As many patients wait for their outcome as there is room for.
    Full,
    /// All patients of the plan have been assigned.
    Complete,
    /// The trial is closed.
    Closed,
    /// No such patient has been assigned.
    Unknown,
    /// The outcome is above the scale.
    Range,
    /// The state of a feature is of another design: memory is damaged.
    Fault,
}

impl fmt::Display for TrialError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Capacity => "the plan has more features than there is room for",
            Self::Feature => "no such feature",
            Self::Full => "no room for another waiting patient",
            Self::Complete => "all patients of the plan have been assigned",
            Self::Closed => "the trial is closed",
            Self::Unknown => "no such patient has been assigned",
            Self::Range => "the outcome is above the scale",
            Self::Fault => "the state of a feature is of another design",
        })
    }
}

impl core::error::Error for TrialError {}
