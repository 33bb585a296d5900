//! Patients whose outcome comes before the next patient, many in one call.
//!
//! A simulation plays millions of them. As nobody ever waits, the table of waiting patients, the search for a patient in
//! it and the marks of what was touched say nothing that is not known when the last of them is in;
//! [`Trial::at_once`] leaves them out. What is random and what is counted is the designs' own code, the same that
//! [`Trial::assign`] and [`Trial::outcome`] run, and a patient with whom a look or the turn falls is handed to these two.

use super::{Last, Phase, Trial, TrialError, bit};
use crate::chance::Chance;
use crate::design::conse::Steps;
use crate::design::{Arm, Feature, Half, Rules};
use crate::plan::Plan;

/// Patients who come one after another, each with a yes/no outcome before the next.
pub trait AtOnce {
    /// The feature of patient number `patient`. Asked for in order.
    fn feature(&mut self, patient: u32) -> u8;
    /// The outcome, 1 for true, that this arm has with the patient whose feature was asked for last.
    fn outcome(&mut self, arm: Arm) -> bool;
}

impl<const M: usize, const U: usize> Trial<M, U> {
    /// Takes patients, at least one, until with one of them a batch has ended, a look has been done or the trial has
    /// turned, or until all are in. So an arm is dropped with the last of them or not at all.
    ///
    /// The trial is left as [`Trial::assign`] without a tag and [`Trial::outcome`], one patient after another, would
    /// leave it, and as much randomness is used.
    ///
    /// # Errors
    /// As [`Trial::assign`], for the patient asked for last; those before are taken.
    pub fn at_once(
        &mut self,
        patients: &mut impl AtOnce,
        chance: &mut impl Chance,
    ) -> Result<(), TrialError> {
        if self.undisturbed(patients, chance)? {
            return Ok(());
        }
        let patient = self.assigned.saturating_add(1);
        let feature = patients.feature(patient);
        let arm = self.assign(feature, None, chance)?;
        self.outcome(patient, u16::from(patients.outcome(arm)), chance)
    }

    /// Takes the patients before the next look or turn. True if that was all to do: with the last of them a batch has
    /// ended, or all are in.
    fn undisturbed(
        &mut self,
        patients: &mut impl AtOnce,
        chance: &mut impl Chance,
    ) -> Result<bool, TrialError> {
        if self.phase == Phase::Closed || usize::from(self.unresolved) >= U {
            return Ok(false);
        }
        let (plan, used) = (&self.plan, usize::from(self.plan.features()));
        let mut block = Block {
            half: self.phase.half(),
            features: self.features.get_mut(..used).unwrap_or(&mut []),
            assigned: self.assigned,
            end: plan.patients().min(self.next_look.saturating_sub(1)),
            seen: 0,
            last: None,
        };
        let ended = match &self.rules {
            Rules::Conse(steps) => block.run(patients, chance, published(plan, steps)),
            Rules::DpConse(steps) => block.run(patients, chance, published(plan, steps)),
            Rules::Interim(_) => block.run(patients, chance, interim(plan)),
        };
        let Block { assigned, seen, last, .. } = block;
        if let Some(arm) = last {
            self.assigned = assigned;
            self.last = Some(Last { arm, tag: None });
            self.touched.progress = true;
            if let Some(slot) = self.find(0, assigned) {
                self.touched.touch_slot(slot as u16);
            }
            self.touched.tallies |= seen;
            if !self.rules.is_interim() {
                self.touched.ledgers |= seen;
            }
        }
        Ok(ended? || last.is_some() && assigned >= self.plan.patients())
    }
}

/// Patients for whom design and half are the same.
struct Block<'a> {
    half: Half,
    features: &'a mut [Feature],
    /// The number of the last patient taken, and of the last to take.
    assigned: u32,
    end: u32,
    /// The mask of the features seen.
    seen: u64,
    /// The arm of the last patient taken.
    last: Option<Arm>,
}

impl Block<'_> {
    /// Takes them up to the end, or the end of a batch (then true). `take` plays one patient of a feature: it returns
    /// the arm and whether a batch ended, or nothing if the feature is not of its design, which does not happen.
    #[inline(always)]
    fn run<P: AtOnce, C: Chance>(
        &mut self,
        patients: &mut P,
        chance: &mut C,
        take: impl Fn(Half, &mut Feature, &mut P, &mut C) -> Option<(Arm, bool)>,
    ) -> Result<bool, TrialError> {
        // A loop for each half, so that it is not asked for with every patient.
        match self.half {
            Half::Explore => self.run_half(patients, chance, |f, p, c| take(Half::Explore, f, p, c)),
            Half::Measure => self.run_half(patients, chance, |f, p, c| take(Half::Measure, f, p, c)),
        }
    }

    #[inline(always)]
    fn run_half<P: AtOnce, C: Chance>(
        &mut self,
        patients: &mut P,
        chance: &mut C,
        take: impl Fn(&mut Feature, &mut P, &mut C) -> Option<(Arm, bool)>,
    ) -> Result<bool, TrialError> {
        while self.assigned < self.end {
            let feature = patients.feature(self.assigned + 1);
            let state = self.features.get_mut(usize::from(feature)).ok_or(TrialError::Feature)?;
            let (arm, ended) = take(state, patients, chance).ok_or(TrialError::Feature)?;
            self.assigned += 1;
            self.seen |= bit(feature);
            self.last = Some(arm);
            if ended {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// A patient of `conse` and `dp-conse`.
#[inline(always)]
fn published<P: AtOnce, C: Chance>(
    plan: &Plan,
    steps: &impl Steps,
) -> impl Fn(Half, &mut Feature, &mut P, &mut C) -> Option<(Arm, bool)> {
    #[inline(always)]
    move |half, feature, patients, chance| {
        let Feature::Published(feature) = feature else { return None };
        let choice = feature.choose(half, chance);
        let y = u16::from(patients.outcome(choice.arm));
        Some((choice.arm, feature.record(plan, half, choice, Some(y), steps, chance)))
    }
}

/// A patient of `interim`.
#[inline(always)]
fn interim<P: AtOnce, C: Chance>(
    plan: &Plan,
) -> impl Fn(Half, &mut Feature, &mut P, &mut C) -> Option<(Arm, bool)> {
    #[inline(always)]
    move |half, feature, patients, chance| {
        let Feature::Interim(feature) = feature else { return None };
        let choice = feature.choose(half, chance);
        feature.record(choice.arm, u16::from(patients.outcome(choice.arm)), plan.scale());
        Some((choice.arm, false))
    }
}
