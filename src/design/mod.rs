//! The designs, and what they share.
//!
//! [`conse`] holds the paper's Algorithm 1 and everything Algorithm 2 shares with it; [`dp_conse`]
//! the steps in which Algorithm 2 differs. [`interim`] holds our own two designs, `interim` and
//! `uniform`, with [`cells`] and [`schedule`]. What they all promise to [`crate::trial`]:
//!
//! * an arm is chosen from the feature's state and [`crate::chance::Chance`] alone;
//! * every outcome is folded into sums at once; no design keeps the outcome of one patient.
//!
//! [`AnyDesign`] is the only place where designs are told apart, and [`paired!`] the only one where a
//! design meets the state of a feature.

pub(crate) mod cells;
pub mod conse;
pub mod dp_conse;
pub mod interim;
pub mod schedule;

use crate::chance::Chance;
#[cfg(feature = "host")]
use crate::chance::Fraction;
use crate::estimate::Estimate;
use crate::plan::{Design, Plan};
use conse::Conse;
use core::fmt;
use dp_conse::DpConse;
use interim::LedgerDesign;
use schedule::LookKind;

pub(crate) use crate::codec::Writer;

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

    /// This arm's entry of a pair. Found by its place: a branch on a random arm is mispredicted every other time.
    #[allow(clippy::indexing_slicing, reason = "0 or 1, in a pair")]
    pub(crate) const fn of<T: Copy>(self, pair: [T; 2]) -> T {
        pair[self.index()]
    }

    /// This arm's entry of a pair, to change.
    #[allow(clippy::indexing_slicing, reason = "0 or 1, in a pair")]
    pub(crate) const fn of_mut<T>(self, pair: &mut [T; 2]) -> &mut T {
        &mut pair[self.index()]
    }
}

impl fmt::Display for Arm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.index())
    }
}

/// A chosen arm, with one bit that the design keeps until the patient is resolved: for `conse` and
/// `dp-conse` whether the outcome counts, for the others whether the coin was the biased one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Choice {
    pub arm: Arm,
    pub mark: bool,
}

/// Which half of the trial a patient belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Half {
    /// Patients 1..=half.
    Explore,
    /// The rest.
    Measure,
}

/// A look, in public counts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look {
    pub kind: LookKind,
    /// c: patients resolved so far.
    pub count: u32,
    /// c+: the planned count at or above c; n if there is none.
    pub planned: u32,
    /// Patients assigned so far.
    pub assigned: u32,
}

impl Look {
    /// The next planned look, for which noise is drawn ahead: this one unless it is an early close.
    pub fn upcoming(&self, plan: &Plan) -> Self {
        let planned = self.planned < plan.patients();
        let kind = if planned { schedule::kind(plan, self.planned) } else { LookKind::Close };
        Self { kind, count: self.planned, ..*self }
    }
}

/// The state of one feature.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum AnyFeature {
    /// Of `conse` and `dp-conse`.
    Published(conse::Feature),
    /// Of `interim` and `uniform`.
    Ledger(interim::Feature),
}

impl AnyFeature {
    pub const VACANT: Self = Self::Ledger(interim::Feature::NEW);

    #[cfg(feature = "host")]
    /// The arm dropped by `conse` or `dp-conse`.
    pub const fn dropped(&self) -> Option<Arm> {
        match self {
            Self::Published(feature) => feature.dropped(),
            Self::Ledger(_) => None,
        }
    }

    #[cfg(feature = "host")]
    /// The leading arm of a settled feature of `interim`.
    pub const fn leading(&self) -> Option<Arm> {
        match self {
            Self::Published(_) => None,
            Self::Ledger(feature) => feature.leading(),
        }
    }

    /// Forgets what a closed trial no longer needs.
    pub fn wipe(&mut self) {
        match self {
            Self::Published(feature) => feature.wipe(),
            Self::Ledger(feature) => feature.wipe(),
        }
    }
}

/// The ledger of a feature and what was made of it, for audit and tests.
#[cfg(feature = "host")]
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs, reason = "named as in the header of `interim`")]
pub struct LedgerView {
    /// E, F, G of arm 0 and of arm 1.
    pub cells: [[i64; 3]; 2],
    pub leading: Option<Arm>,
    /// pi; one half before the feature settles.
    pub share: Fraction,
    pub p: f64,
    pub q: f64,
    pub spent: f64,
    /// c': resolved patients at the feature's last look.
    pub last: u32,
}

/// A design and the state of one of its features. The trial makes features by [`AnyDesign::feature`],
/// so another pair means that memory is damaged: `None`.
macro_rules! paired {
    ($design:expr, $feature:expr, |$d:ident, $f:ident| $published:expr, $ledger:expr) => {
        match ($design, $feature) {
            (AnyDesign::Conse($d), AnyFeature::Published($f)) => Some($published),
            (AnyDesign::DpConse($d), AnyFeature::Published($f)) => Some($published),
            (AnyDesign::Ledger($d), AnyFeature::Ledger($f)) => Some($ledger),
            _ => None,
        }
    };
}

/// The design of a trial, with the constants of its plan.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "one a trial, in static memory; there is no heap to box into")]
#[repr(u8)]
pub(crate) enum AnyDesign {
    Conse(Conse),
    DpConse(DpConse),
    /// `interim` and `uniform`.
    Ledger(LedgerDesign),
}

impl AnyDesign {
    pub fn new(plan: &Plan) -> Self {
        match plan.design() {
            Design::Conse => Self::Conse(Conse),
            Design::DpConse => Self::DpConse(DpConse::new(plan)),
            Design::Interim | Design::Uniform => Self::Ledger(LedgerDesign::new(plan)),
        }
    }

    /// Whether the design reads noisy ledgers at looks. The others turn once, at half.
    pub const fn has_looks(&self) -> bool {
        matches!(self, Self::Ledger(_))
    }

    /// The state of a feature without patients.
    pub const fn feature(&self) -> AnyFeature {
        if self.has_looks() { AnyFeature::VACANT } else { AnyFeature::Published(conse::Feature::NEW) }
    }

    /// The arm of a patient of this feature.
    #[inline(always)]
    pub fn choose(&self, feature: &mut AnyFeature, half: Half, chance: &mut impl Chance) -> Choice {
        match feature {
            AnyFeature::Ledger(feature) => feature.choose(chance),
            AnyFeature::Published(feature) => feature.choose(half, chance),
        }
    }

    /// Folds an outcome, or with `None` its loss, into the feature of its patient. `None` if the
    /// feature is of another design.
    #[inline(always)]
    pub fn record(
        &self,
        feature: &mut AnyFeature,
        plan: &Plan,
        half: Half,
        choice: Choice,
        y: Option<u16>,
        chance: &mut impl Chance,
    ) -> Option<()> {
        paired!(
            self,
            feature,
            |d, f| {
                f.record(plan, half, choice, y, d, chance);
            },
            if let Some(y) = y {
                f.record(choice, y, d.unit());
            }
        )
    }

    /// Deals with all features at once: a look, or for the paper's designs the turn at half.
    pub fn look(&self, features: &mut [AnyFeature], plan: &Plan, look: &Look, chance: &mut impl Chance) {
        match self {
            Self::Conse(steps) => conse::turn(features, plan, steps, chance),
            Self::DpConse(steps) => conse::turn(features, plan, steps, chance),
            Self::Ledger(design) => design.look(features, plan, look, chance),
        }
    }

    /// The features, as a mask, that take part in the next planned look and lack its noise.
    pub fn lacks_noise(&self, features: &mut [AnyFeature], upcoming: &Look) -> u64 {
        match self {
            Self::Conse(_) | Self::DpConse(_) => 0,
            Self::Ledger(design) => design.lacks_noise(features, upcoming),
        }
    }

    /// Draws the noise of the next look for one feature.
    pub fn draw_ahead(&self, feature: &mut AnyFeature, chance: &mut impl Chance) {
        if let Self::Ledger(design) = self {
            design.draw_ahead(feature, chance);
        }
    }

    /// The measured effect of a feature.
    pub fn estimate(&self, feature: &AnyFeature, plan: &Plan) -> Option<Estimate> {
        paired!(self, feature, |d, f| f.estimate(plan, d), f.estimate(d))?
    }

    /// The count at which the planned look after `done` looks falls; for the paper's designs the turn.
    pub fn next_look(&self, plan: &Plan, done: u8) -> Option<u32> {
        match self {
            Self::Conse(_) | Self::DpConse(_) => (done == 0).then_some(plan.half()),
            Self::Ledger(_) => schedule::next_look(plan, done),
        }
    }

    /// Bytes of a tally under this plan.
    pub const fn tally_bytes(&self) -> usize {
        match self {
            Self::Conse(_) | Self::DpConse(_) => conse::TALLY,
            Self::Ledger(design) => interim::Feature::tally_bytes(design.unit()),
        }
    }

    /// Bytes of a ledger under this plan.
    pub const fn ledger_bytes(&self) -> usize {
        match self {
            Self::Conse(_) | Self::DpConse(_) => conse::LEDGER,
            Self::Ledger(design) => interim::Feature::ledger_bytes(design.unit()),
        }
    }

    /// Writes the tally of a feature of which `waiting` patients of this half wait.
    pub fn encode_tally(&self, feature: &AnyFeature, waiting: u32, out: &mut [u8]) -> Option<()> {
        paired!(self, feature, |_d, f| f.encode_tally(waiting, out), f.encode_tally(_d.unit(), out))
    }

    pub fn decode_tally(&self, feature: &mut AnyFeature, bytes: &[u8]) -> Option<()> {
        paired!(self, feature, |_d, f| f.decode_tally(bytes), f.decode_tally(_d.unit(), bytes))?
    }

    pub fn encode_ledger(&self, feature: &AnyFeature, out: &mut [u8]) -> Option<()> {
        paired!(self, feature, |_d, f| f.encode_ledger(out), f.encode_ledger(_d.unit(), out))
    }

    pub fn decode_ledger(&self, feature: &mut AnyFeature, bytes: &[u8]) -> Option<()> {
        paired!(self, feature, |_d, f| f.decode_ledger(bytes), f.decode_ledger(_d.unit(), bytes))?
    }
}

/// Most bytes of the part of a feature's state that changes with every outcome.
pub const TALLY_BYTES: usize = max(interim::MAX_TALLY_BYTES, conse::TALLY);
/// Most bytes of the part of a feature's state that changes at looks and batch ends.
pub const LEDGER_BYTES: usize = max(interim::MAX_LEDGER_BYTES, conse::LEDGER);

const fn max(a: usize, b: usize) -> usize {
    if a > b { a } else { b }
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

// A board's 64 features and its statics must fit 11 KB.
const _: () = assert!(size_of::<AnyFeature>() == 144);
