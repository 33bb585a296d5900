//! Patients whose outcomes come late or never, many in one call.
//!
//! `interim` and `uniform` act on outcomes at looks alone, and a look at count c cannot fall before
//! patient c is assigned. A simulation knows when an outcome will come. If that is before patient c
//! is assigned, the outcome is in the window that the look reads, whatever comes between; sums do
//! not depend on the order of their terms, so it may be added when its patient is assigned.
//! [`Trial::late`] does so and leaves out the table of waiting patients for such a patient. Arms
//! are chosen and outcomes are added by the designs' own code, the same that [`Trial::assign`] and
//! [`Trial::outcome`] run.

use super::waiting::Waiting;
use super::{Last, Phase, Trial, TrialError, bit};
use crate::chance::Chance;
use crate::design::cells::Unit;
use crate::design::{AnyDesign, AnyFeature};
use crate::plan::Plan;
use crate::terms::Arm;
use std::prelude::rust_2024::*;

/// Patients who come one after another, and what becomes of them.
pub trait Late {
    /// The feature of patient number `patient`. Asked for in order.
    fn feature(&mut self, patient: u32) -> u8;
    /// The answer, under this arm, of the patient whose feature was asked for last, before patient
    /// number `end` is assigned.
    fn answer(&mut self, patient: u32, arm: Arm, end: u32) -> Answer;
}

/// A patient's outcome by a given time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Whether the outcome or its loss is known by then. If not, [`Trial::outcome`] or
    /// [`Trial::lost`] must tell it afterwards.
    pub comes: bool,
    /// Whether the outcome is lost.
    pub lost: bool,
    /// The outcome, if it is not.
    pub y: u16,
}

/// Outcomes counted before they are added to the windows, many equal ones at once.
struct Counts {
    counts: Vec<u32>,
    /// Places of an arm: one for each outcome, and one for those that are lost.
    places: usize,
}

/// The longest scale whose outcomes are counted; with others each is added by itself.
const MAX_COUNTED: u16 = 255;

impl Counts {
    fn new(features: usize, scale: u16) -> Self {
        let places = if scale <= MAX_COUNTED { usize::from(scale) + 2 } else { 0 };
        Self { counts: vec![0; features * 2 * places], places }
    }

    /// Counts what came of a patient; false if it cannot be counted. Lost outcomes have a place of
    /// their own, because a branch on them is often mispredicted.
    // With `Calendar`: 11 % fewer instructions of `simulate --delay`.
    #[inline(always)]
    fn add(&mut self, feature: u8, arm: Arm, answer: Answer) -> bool {
        let outcome = if answer.lost { self.places.wrapping_sub(1) } else { answer.y.into() };
        let place = (usize::from(feature) * 2 + arm.index()) * self.places + outcome;
        self.counts.get_mut(place).map(|count| *count += 1).is_some()
    }

    /// Adds what was counted to the windows of the features' present coins.
    fn record(&self, features: &mut [AnyFeature], plan: &Plan, unit: Unit) {
        let Some(outcomes) = self.places.checked_sub(1) else { return };
        let arms = Arm::BOTH.into_iter().cycle().zip(self.counts.chunks(self.places));
        for (place, (arm, counts)) in arms.enumerate() {
            if let Some(AnyFeature::Ledger(feature)) = features.get_mut(place / 2) {
                for (y, count) in (0..).zip(counts.iter().take(outcomes)) {
                    feature.record_many(arm, plan.oriented(y), *count, unit);
                }
            }
        }
    }
}

impl<const M: usize, const U: usize> Trial<M, U> {
    /// Does a look that is due. Returns the first patient whose assignment may come after another
    /// look or turn; those before can be taken by [`Self::late`]. 0 if there are none: the paper's
    /// designs act on every outcome.
    pub fn calm_until(&mut self, chance: &mut impl Chance) -> u32 {
        if self.look_due() {
            self.look(chance);
        }
        let calm = self.design.has_looks() && self.phase != Phase::Closed;
        if calm { self.next_look } else { 0 }
    }

    /// Takes patients up to the one before [`Self::calm_until`] or to the last.
    ///
    /// After every outcome that comes before patient `calm_until` is assigned has come, the trial
    /// is as [`Trial::assign`] without a tag, [`Trial::outcome`] and [`Trial::lost`] would leave
    /// it, and as much randomness is used. Only the slots of waiting patients may be others.
    ///
    /// # Errors
    /// `Feature` or `Full`, for the patient asked for last; those before are taken.
    pub fn late(
        &mut self,
        patients: &mut impl Late,
        chance: &mut impl Chance,
    ) -> Result<(), TrialError> {
        let end = self.calm_until(chance);
        let AnyDesign::Ledger(design) = &self.design else { return Ok(()) };
        let used = usize::from(self.plan.features());
        let features = self.features.get_mut(..used).unwrap_or(&mut []);
        let last = self.plan.patients().min(end.saturating_sub(1));
        let mut counts = Counts::new(used, self.plan.scale());
        let (mut seen, mut result) = (0, Ok(()));
        while self.assigned < last {
            let patient = self.assigned + 1;
            let feature = patients.feature(patient);
            let Some(AnyFeature::Ledger(state)) = features.get_mut(usize::from(feature)) else {
                result = Err(TrialError::Feature);
                break;
            };
            let choice = state.choose(chance);
            let answer = patients.answer(patient, choice.arm, end);
            if !answer.comes {
                let Some(vacancy) = self.waiting.vacancy(patient) else {
                    result = Err(TrialError::Full);
                    break;
                };
                self.waiting.fill(vacancy, Waiting { patient, replaced: 0, feature, choice });
            } else if !counts.add(feature, choice.arm, answer) && !answer.lost {
                state.record(choice, self.plan.oriented(answer.y), design.unit());
            }
            self.assigned = patient;
            self.last = Last { arm: Some(choice.arm), tag: None };
            seen |= bit(feature);
        }
        counts.record(features, &self.plan, design.unit());
        self.dirty.mark_outcomes(seen, false);
        self.dirty.mark_progress();
        self.dirty.mark_slots(U as u16);
        result
    }
}
