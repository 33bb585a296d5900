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
//! outcome ([`Passed`]); a [`Survey`] counts how many did.

mod notes;
mod script;
mod steps;
mod windows;

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;

use super::desk::Leak;
use super::exact::{Patient, Record};
use super::finding::{Finding, Method, claim};
use super::loss::Loss;
use equipoise::plan::{DesignName, Plan};
use equipoise::terms::Arm;
use steps::{Differs, Steps};

/// Room of the devices.
const FEATURES: usize = 3;
const WAITING: usize = 128;

/// A fault in the replies of both devices.
pub type PairLeak = Leak<FEATURES, WAITING>;
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
    /// One patient in so many is not of feature 0.
    pub rare: u32,
    /// Patients assigned before the close.
    pub assigned: u32,
    /// Everything else that is random.
    pub seed: u64,
}

impl Pair {
    /// A pair of a design at an epsilon; a function of the seed.
    ///
    /// # Panics
    /// The epsilon is not allowed.
    #[must_use]
    pub fn random(design: DesignName, epsilon: &str, seed: u64) -> Self {
        let mut words = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut below = |n: u32| words.next_u32() % n;
        // At epsilon 1 the first look falls at 88 patients a feature, and 3/2 of it must be below
        // half. The last three kinds have a look before half, two, and one of two features.
        let (features, patients, most) = match below(4) {
            0 => (1 + below(3), 4 + below(30), 20),
            1 => (1, 270 + below(60), 130),
            2 => (1, 540 + below(60), 260),
            _ => (2, 560 + below(60), 280),
        };
        let scale = [1, 1, 2, 2, 10, 101][below(6) as usize];
        let (reports, beta) = (below(4), ["1/20", "9/10"][below(2) as usize]);
        let text = format!(
            "design={design} features={features} patients={patients} epsilon={epsilon} \
             better=high results=open scale={scale} reports={reports} beta={beta} alpha={}/4",
            below(4)
        );
        let plan = Plan::parse(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
        let mut record = || Record {
            patient: Patient {
                feature: below(features) as u8,
                outcome: (below(8) > 0).then(|| match below(3) {
                    0 => 0,
                    1 => scale,
                    _ => below(u32::from(scale) + 1) as u16,
                }),
            },
            arm: Some(Arm::from_bit(below(2) == 1)),
        };
        let records = [record(), record()];
        let lag = [0, 5, 40, 120][below(4) as usize];
        let assigned =
            if below(3) > 0 { patients } else { patients.saturating_sub(below(most)).max(1) };
        Self {
            plan,
            // As many in the first quarter, where looks before half read them, as later.
            open: 1 + if below(2) == 0 { below(assigned.div_ceil(4)) } else { below(assigned) },
            records,
            delay: if below(2) == 0 { lag } else { below(patients) },
            lag,
            others: [Others::Vary, Others::FollowTheirArms, Others::Tie][below(3) as usize],
            rare: [2, 40][below(2) as usize],
            assigned,
            seed: seed ^ u64::from(below(u32::MAX)),
        }
    }

    /// Runs both trials: the loss, and what t's outcome passed through.
    #[must_use]
    pub fn run(&self, leak: Option<PairLeak>, fault: Option<PairFault>) -> (Loss, Vec<Passed>) {
        let mut steps = Steps::new(self, leak, fault);
        let done = steps.run();
        let epsilon = match done {
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

/// Runs pairs of a design at an epsilon.
#[must_use]
pub fn survey(
    design: DesignName,
    epsilon: &str,
    pairs: u32,
    leak: Option<PairLeak>,
    fault: Option<PairFault>,
) -> Survey {
    let none = || Survey { loss: Loss::NONE, passed: [0; Passed::ALL.len()] };
    let one = |seed: u32| {
        let (loss, passed) = Pair::random(design, epsilon, seed.into()).run(leak, fault);
        Survey { loss, passed: Passed::ALL.map(|what| passed.contains(&what).into()) }
    };
    let both = |a: Survey, b: Survey| Survey {
        loss: a.loss.or(b.loss),
        passed: core::array::from_fn(|i| a.passed[i] + b.passed[i]),
    };
    (0..pairs).into_par_iter().map(one).reduce(none, both)
}

/// The line of the audit for pairs of a design at an epsilon.
///
/// # Panics
/// The epsilon is not allowed.
#[must_use]
pub fn finding(design: DesignName, epsilon: &str, pairs: u32) -> Finding {
    let survey = survey(design, epsilon, pairs, None, None);
    let plan = Pair::random(design, epsilon, 0).plan;
    let instance = format!(
        "n=4..620 M=1..3 Y=1..101 eps={epsilon}, {pairs} pairs of trials; ledger and line seen"
    );
    Finding::new(design, Method::Pairs, instance, claim(&plan), survey.loss)
}
