//! The designs, and what they share.
//!
//! [`conse`] holds the paper's Algorithm 1 and everything Algorithm 2 shares with it; [`dp_conse`]
//! the steps in which Algorithm 2 differs. [`interim`] holds our own two designs, `interim` and
//! `uniform`, with [`cells`] and [`schedule`]. What they all promise to [`crate::trial`]:
//!
//! * an arm is chosen from the feature's state and [`crate::chance::Chance`] alone;
//! * every outcome is folded into sums at once; no design keeps the outcome of one patient.
//!
//! [`Design`] is the trait of all designs; [`AnyDesign`] dispatches to it. What a device runs tells
//! designs apart here alone: `paired!` pairs a design with the state of one feature, and
//! [`published`] and [`ledgers`] give a design all of its features at a look. (The short ways of a
//! simulation, `trial::at_once` and `trial::late`, and the views for tests do it themselves.)

pub(crate) mod cells;
mod comparison;
pub mod conse;
pub mod dp_conse;
mod forecast;
pub mod interim;
mod ledger;
mod look;
mod power;
mod root;
pub mod schedule;
mod steps;

use crate::chance::Chance;
#[cfg(feature = "inspect")]
use crate::chance::Fraction;
use crate::estimate::Estimate;
use crate::plan::{DesignName, Plan};
use crate::terms::{Arm, Phase};
use conse::Conse;
use dp_conse::DpConse;
use interim::LedgerDesign;
pub(crate) use look::{Count, History, Look};
#[cfg(feature = "inspect")]
pub use steps::Epoch;

/// A chosen arm, with one bit that the design keeps until the patient is resolved: for `conse` and
/// `dp-conse` whether the outcome counts, for the others the parity of the coin's number.
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

impl Half {
    /// The half whose rules apply; a closed trial has no patients left to apply them to.
    pub const fn of(phase: Phase) -> Self {
        match phase {
            Phase::Explore => Self::Explore,
            Phase::Measure | Phase::Closed => Self::Measure,
        }
    }
}

/// The state of one feature.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum AnyFeature {
    /// Of `conse` and `dp-conse`.
    Published(conse::Feature),
    /// Of `interim` and `uniform`.
    Ledger(ledger::Feature),
}

impl AnyFeature {
    pub const VACANT: Self = Self::Ledger(ledger::Feature::NEW);

    #[cfg(feature = "std")]
    /// The arm dropped by `conse` or `dp-conse`.
    pub const fn dropped(&self) -> Option<Arm> {
        match self {
            Self::Published(feature) => feature.dropped(),
            Self::Ledger(_) => None,
        }
    }

    #[cfg(feature = "std")]
    /// The leading arm of a settled feature of `interim`.
    pub fn leading(&self) -> Option<Arm> {
        match self {
            Self::Published(_) => None,
            Self::Ledger(feature) => feature.leading(),
        }
    }

    #[cfg(feature = "std")]
    /// The looks that changed the coin of a feature of `interim`, as a mask.
    pub const fn coins(&self) -> Option<u32> {
        match self {
            Self::Published(_) => None,
            Self::Ledger(feature) => Some(feature.coins()),
        }
    }

    #[cfg(feature = "std")]
    /// Whether a feature of `interim` is settled.
    pub const fn is_settled(&self) -> bool {
        match self {
            Self::Published(_) => false,
            Self::Ledger(feature) => feature.settled,
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
#[cfg(feature = "inspect")]
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs, reason = "named as in the header of `interim`")]
pub struct LedgerView {
    /// E, F, G of arm 0 and of arm 1.
    pub cells: [[i64; 3]; 2],
    pub settled: bool,
    /// The coin's probability of arm 1.
    pub coin: Fraction,
    /// The same of the coin before, in units of 2^-16.
    pub before: u16,
    /// The looks that changed the coin: bit k is look number k + 1.
    pub coins: u32,
    /// The number of the look that last read or forgot each window, by the parity of its coin.
    pub emptied: [u8; 2],
    pub p: f64,
    pub q: f64,
    pub spent: f64,
}

/// A way to run a trial: the constants of a plan, and what is done with the state of a feature.
pub(crate) trait Design {
    /// The state of one feature.
    type Feature;
    /// Whether noisy ledgers are read at looks. Otherwise there is one turn, at half.
    const HAS_LOOKS: bool;

    /// The arm of the next patient.
    fn choose(&self, feature: &mut Self::Feature, half: Half, chance: &mut impl Chance) -> Choice;

    /// Folds an outcome, or with `None` its loss, into the feature of its patient.
    fn record(
        &self,
        feature: &mut Self::Feature,
        plan: &Plan,
        half: Half,
        choice: Choice,
        y: Option<u16>,
        chance: &mut impl Chance,
    );

    /// Deals with all features at once: a look, or the turn.
    fn look(
        &self,
        features: &mut [AnyFeature],
        plan: &Plan,
        look: &Look<'_>,
        chance: &mut impl Chance,
    );

    /// The count at which the planned look after `done` looks, or the turn, falls.
    fn planned_look(&self, plan: &Plan, done: u8) -> Option<u32>;

    /// Whether a feature takes part in the next planned look and lacks its noise.
    fn lacks_noise(&self, _: &Self::Feature, _: &Plan, _: &Look<'_>) -> bool {
        false
    }

    /// Draws the noise of the next look for one feature.
    fn draw_ahead(&self, _: &mut Self::Feature, _: &Plan, _: &Look<'_>, _: &mut impl Chance) {}

    /// The measured effect of a feature.
    fn estimate(&self, feature: &Self::Feature, plan: &Plan) -> Option<Estimate>;

    /// Adds to a state taken back from its bytes the patients of this half who wait.
    fn count_waiting(&self, _: &mut Self::Feature, _waiting: u32) {}

    /// Bytes of a tally under the plan.
    fn tally_bytes(&self) -> usize;
    /// Bytes of a ledger under the plan.
    fn ledger_bytes(&self) -> usize;
    /// Writes the tally of a feature of which `waiting` patients of this half wait.
    fn encode_tally(&self, feature: &Self::Feature, waiting: u32, out: &mut [u8]);
    /// Takes a tally back from its bytes.
    fn decode_tally(&self, feature: &mut Self::Feature, bytes: &[u8]) -> Option<()>;
    /// Writes the ledger of a feature.
    fn encode_ledger(&self, feature: &Self::Feature, out: &mut [u8]);
    /// Takes a ledger back from its bytes.
    fn decode_ledger(&self, feature: &mut Self::Feature, bytes: &[u8]) -> Option<()>;
}

/// The design of a trial, with the constants of its plan.
#[derive(Clone, Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "one a trial, in static memory; there is no heap to box into"
)]
#[repr(u8)]
pub(crate) enum AnyDesign {
    Conse(Conse),
    DpConse(DpConse),
    /// `interim` and `uniform`.
    Ledger(LedgerDesign),
}

/// `$call` with the design of a trial.
macro_rules! any {
    ($design:expr, |$d:ident| $call:expr) => {
        match $design {
            AnyDesign::Conse($d) => $call,
            AnyDesign::DpConse($d) => $call,
            AnyDesign::Ledger($d) => $call,
        }
    };
}

/// `$call` with the design of a trial and the state of one of its features. Features are made by
/// [`AnyDesign::feature`], so another pair means that memory is damaged: `None`.
macro_rules! paired {
    ($design:expr, $feature:expr, |$d:ident, $f:ident| $call:expr) => {
        match ($design, $feature) {
            (AnyDesign::Conse($d), AnyFeature::Published($f)) => Some($call),
            (AnyDesign::DpConse($d), AnyFeature::Published($f)) => Some($call),
            (AnyDesign::Ledger($d), AnyFeature::Ledger($f)) => Some($call),
            _ => None,
        }
    };
}

/// [`Design`], for whichever design the plan names. `None` for a feature of another design.
impl AnyDesign {
    pub fn new(plan: &Plan) -> Self {
        match plan.design() {
            DesignName::Conse => Self::Conse(Conse),
            DesignName::DpConse => Self::DpConse(DpConse::new(plan)),
            DesignName::Interim | DesignName::Uniform => Self::Ledger(LedgerDesign::new(plan)),
        }
    }

    /// The state of a feature without patients.
    pub const fn feature(&self) -> AnyFeature {
        match self {
            Self::Conse(_) | Self::DpConse(_) => AnyFeature::Published(conse::Feature::NEW),
            Self::Ledger(_) => AnyFeature::VACANT,
        }
    }

    pub fn has_looks(&self) -> bool {
        fn of<D: Design>(_: &D) -> bool {
            D::HAS_LOOKS
        }
        any!(self, |d| of(d))
    }

    pub fn choose(
        &self,
        feature: &mut AnyFeature,
        half: Half,
        chance: &mut impl Chance,
    ) -> Option<Choice> {
        paired!(self, feature, |d, f| d.choose(f, half, chance))
    }

    pub fn record(
        &self,
        feature: &mut AnyFeature,
        plan: &Plan,
        half: Half,
        choice: Choice,
        y: Option<u16>,
        chance: &mut impl Chance,
    ) -> Option<()> {
        paired!(self, feature, |d, f| d.record(f, plan, half, choice, y, chance))
    }

    pub fn look(
        &self,
        features: &mut [AnyFeature],
        plan: &Plan,
        look: &Look<'_>,
        chance: &mut impl Chance,
    ) {
        any!(self, |d| d.look(features, plan, look, chance));
    }

    pub fn planned_look(&self, plan: &Plan, done: u8) -> Option<u32> {
        any!(self, |d| d.planned_look(plan, done))
    }

    /// The features, as a mask, that take part in the next planned look and lack its noise.
    pub fn lacking_noise(&self, features: &[AnyFeature], plan: &Plan, upcoming: &Look<'_>) -> u64 {
        features.iter().zip(0..).fold(0, |lacking, (feature, j)| {
            let lacks = paired!(self, feature, |d, f| d.lacks_noise(f, plan, upcoming));
            lacking | u64::from(lacks == Some(true)) << (j & 63)
        })
    }

    pub fn draw_ahead(
        &self,
        feature: &mut AnyFeature,
        plan: &Plan,
        upcoming: &Look<'_>,
        chance: &mut impl Chance,
    ) -> Option<()> {
        paired!(self, feature, |d, f| d.draw_ahead(f, plan, upcoming, chance))
    }

    pub fn estimate(&self, feature: &AnyFeature, plan: &Plan) -> Option<Estimate> {
        paired!(self, feature, |d, f| d.estimate(f, plan))?
    }

    pub fn count_waiting(&self, feature: &mut AnyFeature, waiting: u32) -> Option<()> {
        paired!(self, feature, |d, f| d.count_waiting(f, waiting))
    }

    /// Whether a feature is of this design.
    pub fn holds(&self, feature: &AnyFeature) -> bool {
        matches!(self, Self::Ledger(_)) == matches!(feature, AnyFeature::Ledger(_))
    }

    pub fn tally_bytes(&self) -> usize {
        any!(self, |d| d.tally_bytes())
    }

    pub fn ledger_bytes(&self) -> usize {
        any!(self, |d| d.ledger_bytes())
    }

    pub fn encode_tally(&self, feature: &AnyFeature, waiting: u32, out: &mut [u8]) -> Option<()> {
        paired!(self, feature, |d, f| d.encode_tally(f, waiting, out))
    }

    pub fn decode_tally(&self, feature: &mut AnyFeature, bytes: &[u8]) -> Option<()> {
        paired!(self, feature, |d, f| d.decode_tally(f, bytes))?
    }

    pub fn encode_ledger(&self, feature: &AnyFeature, out: &mut [u8]) -> Option<()> {
        paired!(self, feature, |d, f| d.encode_ledger(f, out))
    }

    pub fn decode_ledger(&self, feature: &mut AnyFeature, bytes: &[u8]) -> Option<()> {
        paired!(self, feature, |d, f| d.decode_ledger(f, bytes))?
    }
}

/// The features of a trial of `conse` or `dp-conse`. One of another design is left out; the device
/// has asked before ([`AnyDesign::holds`]).
fn published(features: &mut [AnyFeature]) -> impl Iterator<Item = &mut conse::Feature> {
    features.iter_mut().filter_map(|feature| match feature {
        AnyFeature::Published(feature) => Some(feature),
        AnyFeature::Ledger(_) => None,
    })
}

/// The features of a trial of `interim` or `uniform`, likewise.
fn ledgers(features: &mut [AnyFeature]) -> impl Iterator<Item = &mut ledger::Feature> {
    features.iter_mut().filter_map(|feature| match feature {
        AnyFeature::Ledger(feature) => Some(feature),
        AnyFeature::Published(_) => None,
    })
}

/// Most bytes of the part of a feature's state that changes with every outcome.
pub(crate) const TALLY_BYTES: usize = max(ledger::MAX_TALLY_BYTES, conse::TALLY);
/// Most bytes of the part of a feature's state that changes at looks and batch ends.
pub(crate) const LEDGER_BYTES: usize = max(ledger::MAX_LEDGER_BYTES, conse::LEDGER);

const fn max(a: usize, b: usize) -> usize {
    if a > b { a } else { b }
}

// A board's 64 features and its statics must fit 11 KB.
const _: () = assert!(size_of::<AnyFeature>() == 144);
