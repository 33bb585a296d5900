//! Pairs of neighbouring trials of any size, in lock step over the lines of two devices: the exact
//! likelihood ratio of what both show.
//!
//! A [`Pair`] is a trial and a patient t with two records. Two devices that ship run it side by
//! side. The first one's chance is drawn. The second one's is chosen so that it shows the same: the
//! same answers of coins for every patient but t, and at looks the noise that brings each cell to
//! the value that the first device's cell has got. What is seen - every reply to every request but
//! t's arm, replies to everything that anybody may ask, the noisy windows, the ledgers - must then
//! be equal. If it is, the second trial shows it with this one sequence of answers and with no
//! other, because every draw can be read off a noisy window; so the ratio of the products of the
//! probabilities of all answers, as the laws that the device asked for give them, is the exact
//! likelihood ratio, and its logarithm a loss. If anything differs, something depends on t by
//! another way than through noise, and the loss is infinite.
//!
//! Nothing of the proof is used. Chance is observed where it enters, so each check is about the
//! code that runs: a window holds its raw cells plus the draws, unclamped; the ledger grows by just
//! the windows that were read.
//!
//! Pairs are drawn at random from kinds of trials that pass through all that can happen to an
//! outcome ([`Passed`]); a [`Survey`] counts how many did. [`Pair::random`] gives trials of up to
//! 620 patients and 3 features, [`Pair::large`] trials of 1,100 patients and more in 4, 16 or 64
//! features.
//!
//! # Blinded trials
//! [`Pair::blinded`] gives trials with kits, in which patients get other kits until the reserve is
//! used up and beyond. In half of them ([`Arms::Shown`]) only t differs, and a kit counts as its
//! arm: the loss is as above. In the others ([`Arms::Swapped`]) every patient has the other arm in
//! the second trial, and of a kit nothing is compared but that it is one: whatever the arms, all
//! else must be equal. Numbers of kits are the matter of [`super::kits`].

mod draw;
mod notes;
mod script;
mod shown;
mod steps;
mod windows;

use rayon::prelude::*;

use super::desk::Fault;
use super::exact::Record;
use super::finding::{Finding, Method, claim};
use super::loss::Loss;
use equipoise::plan::{DesignName, Plan};
use steps::{Differs, Steps};

/// A fault in the use of noise: the value used for a draw, from its number within its window.
pub type PairFault = fn(usize, i64) -> i64;

/// Event that t's outcome met in at least one of the two trials.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passed {
    /// It was read at a look before half.
    EarlyLook,
    /// Its feature, being settled, skipped a look.
    SettledSkips,
    /// Its feature was left out of a look because its window was not worth reading.
    LeftOut,
    /// It was t of a settled feature in one trial, of an unsettled one in the other.
    AcrossSettling,
    /// It was t of a coin that leaned, of a feature that had not settled.
    SoftCoin,
    /// It was in another feature in the other trial.
    OtherFeature,
    /// It was read in the before-window.
    BeforeRead,
    /// Both windows of its feature were read at one look.
    BothWindows,
    /// Its window was forgotten unread when the coin changed, or at the close.
    Forgotten,
    /// It came two coins late or later.
    TwoCoinsLate,
    /// It went into the cell F.
    Spread,
    /// A look fell between its assignment and its outcome.
    Late,
    /// It was read at a planned report.
    Report,
    /// It was read at a close before all patients were resolved.
    EarlyClose,
}

impl Passed {
    /// All of them.
    pub const ALL: [Self; 14] = [
        Self::EarlyLook,
        Self::SettledSkips,
        Self::LeftOut,
        Self::AcrossSettling,
        Self::SoftCoin,
        Self::OtherFeature,
        Self::BeforeRead,
        Self::BothWindows,
        Self::Forgotten,
        Self::TwoCoinsLate,
        Self::Spread,
        Self::Late,
        Self::Report,
        Self::EarlyClose,
    ];
}

/// The outcomes of the other patients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Others {
    /// By chance.
    Vary,
    /// By their arms, so that features settle.
    FollowTheirArms,
    /// So that both arms of a feature have equal sums: one patient makes the difference.
    Tie,
}

/// The part of arms in what is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arms {
    /// All arms but t's are seen.
    Shown,
    /// No arm is seen, and all differ.
    Swapped,
}

/// A trial, a patient and two records of that patient.
#[derive(Clone, Debug)]
pub struct Pair {
    /// The public parameters.
    pub plan: Plan,
    /// The number of the patient.
    pub open: u32,
    /// The patient in the one trial and in the other, with arms.
    pub records: [Record; 2],
    /// The patient's outcome comes after so many more patients.
    pub delay: u32,
    /// The outcome of another patient comes after at most so many more.
    pub lag: u32,
    /// The outcomes of the other patients.
    pub others: Others,
    /// The feature of most patients.
    pub usual: u8,
    /// One patient in so many is of any feature.
    pub rare: u32,
    /// Patients assigned before the close.
    pub assigned: u32,
    /// All is asked after every patient whose number is a multiple of this.
    pub probed: u32,
    /// The arms of a blinded trial.
    pub arms: Arms,
    /// Once t is resolved, noise is drawn as soon as it can be.
    pub eager: bool,
    /// Everything else that is random.
    pub seed: u64,
}

impl Pair {
    /// Runs both trials: the loss, and what t's outcome passed through.
    #[must_use]
    pub fn run(&self, fault: Option<Fault>, noise: Option<PairFault>) -> (Loss, Vec<Passed>) {
        match self.plan.features() {
            ..=3 => self.run_in::<3, 128>(fault, noise),
            4 => self.run_in::<4, 32>(fault, noise),
            5..=16 => self.run_in::<16, 32>(fault, noise),
            _ => self.run_in::<64, 32>(fault, noise),
        }
    }

    /// The same with devices of this room.
    fn run_in<const M: usize, const U: usize>(
        &self,
        fault: Option<Fault>,
        noise: Option<PairFault>,
    ) -> (Loss, Vec<Passed>) {
        let mut steps = Steps::<M, U>::new(self, fault, noise);
        let epsilon = match steps.run() {
            Ok(()) if self.arms == Arms::Swapped => 0.0,
            Ok(()) => (steps.log[0] - steps.log[1]).abs(),
            Err(Differs) => f64::INFINITY,
        };
        let delta = if epsilon.is_finite() { 0.0 } else { 1.0 };
        (Loss { epsilon, delta }, steps.passed)
    }
}

/// Result of many pairs.
#[derive(Clone, Debug)]
pub struct Survey {
    /// The worst loss.
    pub loss: Loss,
    /// How many pairs passed through each of [`Passed::ALL`].
    pub passed: [u32; Passed::ALL.len()],
}

/// Draws a pair of a design at an epsilon, from a seed.
pub type Kind = fn(DesignName, &str, u64) -> Pair;

/// Runs pairs of a kind, of a design at an epsilon.
#[must_use]
pub fn survey(
    kind: Kind,
    (design, epsilon): (DesignName, &str),
    pairs: u32,
    fault: Option<Fault>,
    noise: Option<PairFault>,
) -> Survey {
    let none = || Survey { loss: Loss::NONE, passed: [0; Passed::ALL.len()] };
    let one = |seed: u32| {
        let (loss, passed) = kind(design, epsilon, seed.into()).run(fault, noise);
        Survey { loss, passed: Passed::ALL.map(|what| passed.contains(&what).into()) }
    };
    let both = |a: Survey, b: Survey| Survey {
        loss: a.loss.or(b.loss),
        passed: core::array::from_fn(|i| a.passed[i] + b.passed[i]),
    };
    (0..pairs).into_par_iter().map(one).reduce(none, both)
}

/// The line of the audit for pairs of a kind, which is described by `about`.
#[must_use]
pub fn finding(
    (kind, about): (Kind, &str),
    (design, epsilon): (DesignName, &str),
    pairs: u32,
) -> Finding {
    let survey = survey(kind, (design, epsilon), pairs, None, None);
    let plan = kind(design, epsilon, 0).plan;
    let instance =
        format!("{about} eps={epsilon}, {pairs} pairs of trials; ledger, line and flash work seen");
    Finding::new(design, Method::Pairs, instance, claim(&plan), survey.loss)
}
