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
mod evidence;
pub mod interim;

use crate::chance::Chance;
use crate::estimate::Estimate;
use crate::plan::{Design, Plan};
use conse::Conse;
use core::fmt;
use dp_conse::DpConse;

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

    /// This arm's entry of a pair. Found by its place: a branch on a random arm is mispredicted every other time.
    #[allow(clippy::indexing_slicing, reason = "0 or 1, in a pair")]
    pub(crate) const fn of<T: Copy>(self, pair: [T; 2]) -> T {
        pair[self.index() & 1]
    }

    /// This arm's entry of a pair, to change.
    #[allow(clippy::indexing_slicing, reason = "0 or 1, in a pair")]
    pub(crate) const fn of_mut<T>(self, pair: &mut [T; 2]) -> &mut T {
        &mut pair[self.index() & 1]
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

/// Which half of the trial a patient belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Half {
    /// Patients 1..=half.
    Explore,
    /// The rest.
    Measure,
}

/// A moment at which all features are dealt with at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    /// Inside explore (`interim`).
    Explore,
    /// At half: the last of explore; it fixes the second half.
    Turn,
    /// In the second half (`interim`).
    Measure,
}

/// The state of one feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Feature {
    /// Of `conse` and `dp-conse`.
    Published(conse::Feature),
    /// Of `interim`.
    Interim(interim::Feature),
}

impl Feature {
    pub const VACANT: Self = Self::Published(conse::Feature::NEW);

    pub const fn dropped(&self) -> Option<Arm> {
        match self {
            Self::Published(feature) => feature.dropped(),
            Self::Interim(feature) => feature.dropped(),
        }
    }

    /// Forgets what a closed trial no longer needs.
    pub fn wipe(&mut self) {
        match self {
            Self::Published(feature) => feature.wipe(),
            Self::Interim(feature) => feature.wipe(),
        }
    }

    /// `waiting` of the feature's patients of this half wait.
    pub fn encode_tally(&self, waiting: u32, out: &mut [u8]) {
        match self {
            Self::Published(feature) => feature.encode_tally(waiting, out),
            Self::Interim(feature) => feature.encode_tally(out),
        }
    }

    pub fn decode_tally(&mut self, bytes: &[u8]) -> Option<()> {
        match self {
            Self::Published(feature) => feature.decode_tally(bytes),
            Self::Interim(feature) => feature.decode_tally(bytes),
        }
    }

    pub fn encode_ledger(&self, out: &mut [u8]) {
        match self {
            Self::Published(feature) => feature.encode_ledger(out),
            Self::Interim(feature) => feature.encode_ledger(out),
        }
    }

    pub fn decode_ledger(&mut self, bytes: &[u8]) -> Option<()> {
        match self {
            Self::Published(feature) => feature.decode_ledger(bytes),
            Self::Interim(feature) => feature.decode_ledger(bytes),
        }
    }
}

/// The design of a trial, with the constants of its plan. Features given to it are of its own making.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "one a trial, in static memory; there is no heap to box into")]
pub(crate) enum Rules {
    Conse(Conse),
    DpConse(DpConse),
    Interim(interim::Rules),
}

impl Rules {
    pub fn new(plan: &Plan) -> Self {
        match plan.design() {
            Design::Conse => Self::Conse(Conse),
            Design::DpConse => Self::DpConse(DpConse::new(plan)),
            Design::Interim => Self::Interim(interim::Rules::new(plan)),
        }
    }

    pub const fn is_interim(&self) -> bool {
        matches!(self, Self::Interim(_))
    }

    pub const fn feature(&self) -> Feature {
        if self.is_interim() { Feature::Interim(interim::Feature::NEW) } else { Feature::VACANT }
    }

    /// The arm of a patient of this feature.
    #[inline(always)]
    pub fn choose(&self, feature: &mut Feature, half: Half, chance: &mut impl Chance) -> Choice {
        match feature {
            Feature::Interim(feature) => feature.choose(half, chance),
            Feature::Published(feature) => feature.choose(half, chance),
        }
    }

    /// Folds an outcome, or with `None` its loss, into the feature of its patient.
    #[inline(always)]
    pub fn record(
        &self,
        feature: &mut Feature,
        plan: &Plan,
        half: Half,
        choice: Choice,
        y: Option<u16>,
        chance: &mut impl Chance,
    ) {
        match (self, feature) {
            (_, Feature::Interim(feature)) => {
                if let Some(y) = y {
                    feature.record(choice.arm, y, plan.scale());
                }
            }
            (Self::Conse(steps), Feature::Published(f)) => {
                f.record(plan, half, choice, y, steps, chance);
            }
            (Self::DpConse(steps), Feature::Published(f)) => {
                f.record(plan, half, choice, y, steps, chance);
            }
            (Self::Interim(_), Feature::Published(_)) => {}
        }
    }

    /// Deals with all features at once.
    pub fn look(&self, features: &mut [Feature], plan: &Plan, look: Look, chance: &mut impl Chance) {
        match self {
            Self::Conse(steps) => conse::turn(features, plan, steps, chance),
            Self::DpConse(steps) => conse::turn(features, plan, steps, chance),
            Self::Interim(rules) => interim::look(features, plan, rules, look, chance),
        }
    }

    /// Draws noise ahead for one feature that lacks it; false if none does.
    pub fn draw_ahead(&self, features: &mut [Feature], chance: &mut impl Chance) -> bool {
        match self {
            Self::Conse(_) | Self::DpConse(_) => false,
            Self::Interim(rules) => interim::each(features).any(|feature| feature.mask(rules, chance)),
        }
    }

    /// The measured effect of a feature after `looks` looks at its second half (`interim`).
    pub fn estimate(&self, feature: &Feature, plan: &Plan, looks: u8) -> Option<Estimate> {
        match (self, feature) {
            (Self::Conse(steps), Feature::Published(feature)) => feature.estimate(plan, steps),
            (Self::DpConse(steps), Feature::Published(feature)) => feature.estimate(plan, steps),
            (Self::Interim(rules), Feature::Interim(feature)) => feature.estimate(rules, looks),
            _ => None,
        }
    }
}

/// Bytes of the part of a feature's state that changes with every outcome.
pub const TALLY_BYTES: usize = 33;
/// Bytes of the part of a feature's state that changes at looks and batch ends.
pub const LEDGER_BYTES: usize = 101;

/// Writes little-endian fields one after another; what does not fit is dropped, which the sizes rule out.
pub(crate) struct Writer<'a>(pub &'a mut [u8]);

impl Writer<'_> {
    pub fn put<const N: usize>(&mut self, field: &[u8; N]) {
        if let Some((to, rest)) = core::mem::take(&mut self.0).split_first_chunk_mut() {
            *to = *field;
            self.0 = rest;
        }
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
