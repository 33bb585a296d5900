//! How late outcomes come, and how many never come.
//!
//! A delay is counted in patients: an outcome with delay d is recorded when d further patients have
//! been assigned, just before the next one. `500` is the same delay for all, `100..900` a uniform
//! draw, ends included. After the last patient the outcomes still out are recorded in the order in
//! which they fall due, and the trial closes.
//!
//! `lost` is the probability, per arm, that an outcome is declared lost at the moment at which it
//! would have come.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::SimulateError;
use super::instance::ONE;
use equipoise::terms::Arm;

/// Longest delay; the simulation's largest table of waiting patients has room for it.
pub const MAX_DELAY: u32 = 16_000;

/// Patients assigned between a patient and its outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Delay {
    /// Least.
    pub from: u32,
    /// Most.
    pub to: u32,
}

impl Delay {
    /// Outcomes come before the next patient.
    pub const NONE: Self = Self { from: 0, to: 0 };

    /// The same delay for all.
    #[must_use]
    pub const fn fixed(patients: u32) -> Self {
        Self { from: patients, to: patients }
    }

    /// Reads `D` or `A..B`.
    ///
    /// # Errors
    /// Anything else.
    pub fn parse(text: &str) -> Result<Self, SimulateError> {
        let (from, to) = text.split_once("..").unwrap_or((text, text));
        let delay = from.parse().and_then(|from| to.parse().map(|to| Self { from, to }));
        let delay = delay.map_err(|_| SimulateError::value("delay", text, Self::ALLOWED))?;
        delay.check().map(|()| delay)
    }

    const ALLOWED: &str = "D or A..B patients, 0..=16000, A at most B";

    pub(super) fn check(self) -> Result<(), SimulateError> {
        let good = self.from <= self.to && self.to <= MAX_DELAY;
        if good { Ok(()) } else { Err(SimulateError::value("delay", self, Self::ALLOWED)) }
    }

    /// The delay of one outcome.
    #[inline]
    pub(super) fn draw(self, word: u32) -> u32 {
        let span = u64::from(self.to - self.from) + 1;
        self.from + ((u64::from(word) * span) >> 32) as u32
    }
}

impl fmt::Display for Delay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.from == self.to {
            write!(f, "{}", self.from)
        } else {
            write!(f, "{}..{}", self.from, self.to)
        }
    }
}

impl From<Delay> for String {
    fn from(delay: Delay) -> Self {
        delay.to_string()
    }
}

impl TryFrom<String> for Delay {
    type Error = SimulateError;

    fn try_from(text: String) -> Result<Self, SimulateError> {
        Self::parse(&text)
    }
}

/// The probability that an outcome is lost, per arm.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lost(pub [f64; 2]);

impl Lost {
    /// All outcomes come.
    pub const NONE: Self = Self([0.0; 2]);

    /// Reads `P` for both arms or `P0,P1`.
    ///
    /// # Errors
    /// Anything else.
    pub fn parse(text: &str) -> Result<Self, SimulateError> {
        let (zero, one) = text.split_once(',').unwrap_or((text, text));
        let lost =
            zero.trim().parse().and_then(|zero| one.trim().parse().map(|one| Self([zero, one])));
        let lost = lost.map_err(|_| SimulateError::value("lost", text, Self::ALLOWED))?;
        lost.check().map(|()| lost)
    }

    const ALLOWED: &str = "P or P0,P1, each 0..=1";

    pub(super) fn check(self) -> Result<(), SimulateError> {
        match self.0.iter().find(|p| !(0.0..=1.0).contains(*p)) {
            Some(p) => Err(SimulateError::value("lost", p, Self::ALLOWED)),
            None => Ok(()),
        }
    }

    pub(super) fn is_none(self) -> bool {
        self == Self::NONE
    }

    /// The outcome of a patient of this arm is lost if a draw of 32 bits is below.
    pub(super) fn threshold(self, arm: Arm) -> u64 {
        (arm.of(self.0) * ONE).ceil() as u64
    }
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [zero, one] = self.0;
        write!(f, "{zero},{one}")
    }
}
