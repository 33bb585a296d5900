//! Reasons why a received line is not a message.

use core::fmt;

use super::LINE_LIMIT;
use crate::plan::{Excerpt, PlanError};

/// Reason why a received line is not a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WireError {
    /// More than [`LINE_LIMIT`] characters.
    Length,
    /// The checksum is wrong, or missing (`got` is `None`) where it must be.
    Checksum {
        /// The checksum that was there.
        got: Option<u16>,
        /// The checksum of what stood before it.
        expected: u16,
    },
    /// Not of the grammar.
    Syntax {
        /// The word that could not be taken; empty where one is missing.
        got: Excerpt,
        /// The words that were allowed.
        allowed: &'static str,
    },
    /// A plan whose words are well formed but whose values are not allowed.
    Plan(PlanError),
}

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length => write!(f, "more than {LINE_LIMIT} characters"),
            Self::Checksum { got: Some(got), expected } => {
                write!(f, "checksum {got:04X} instead of {expected:04X}")
            }
            Self::Checksum { got: None, expected } => {
                write!(f, "no checksum, {expected:04X} expected")
            }
            Self::Syntax { got, allowed } => write!(f, "{got:?} allowed {allowed}"),
            Self::Plan(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for WireError {}

impl WireError {
    /// The detail of the refusal of such a line.
    pub(super) fn write_detail(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length => write!(f, " allowed {LINE_LIMIT}"),
            Self::Checksum { got: Some(got), expected } => {
                write!(f, " got={got:04X} expected={expected:04X}")
            }
            Self::Checksum { got: None, expected } => {
                write!(f, " got=none expected={expected:04X}")
            }
            Self::Syntax { got, allowed } if got.is_empty() => {
                write!(f, " got=nothing allowed {allowed}")
            }
            Self::Syntax { got, allowed } => write!(f, " got={got} allowed {allowed}"),
            Self::Plan(error) => write!(f, " {error}"),
        }
    }
}
