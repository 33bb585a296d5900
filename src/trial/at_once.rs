//! Patients whose outcome comes before the next patient, many in one call.
//!
//! A simulation plays millions of them. No patient waits, so [`Trial::at_once`] skips the waiting
//! table and its search, and dirty marks are set once a block. Arms are chosen by the designs' own
//! code, the same that [`Trial::assign`] runs, and outcomes are counted by theirs, many equal ones
//! at once where the design allows it. A patient with whom a turn falls is handed to
//! [`Trial::assign`].

use super::{Last, Phase, Trial, TrialError, bit};
use crate::chance::Chance;
use crate::design::conse::Steps;
use crate::design::interim::LedgerDesign;
use crate::design::{AnyDesign, AnyFeature, Half};
use crate::plan::Plan;
use crate::terms::Arm;
use crate::terms::MAX_FEATURES;

/// Patients who come one after another, each with a yes/no outcome before the next.
pub trait AtOnce {
    /// The feature of patient number `patient`. Asked for in order.
    fn feature(&mut self, patient: u32) -> u8;
    /// The outcome, 1 for true, that this arm has with the patient whose feature was asked for
    /// last.
    fn outcome(&mut self, arm: Arm) -> bool;
}

impl<const M: usize, const U: usize> Trial<M, U> {
    /// The arm dropped in a feature (`conse`, `dp-conse`); private.
    #[must_use]
    pub fn dropped(&self, feature: u8) -> Option<Arm> {
        self.feature(feature)?.dropped()
    }

    /// The leading arm of a settled feature (`interim`): a function of the ledger.
    #[must_use]
    pub fn leading(&self, feature: u8) -> Option<Arm> {
        self.feature(feature)?.leading()
    }

    /// How many coins a feature has had after its first (`interim`): a function of the ledger.
    #[must_use]
    pub fn coins(&self, feature: u8) -> Option<u32> {
        self.feature(feature)?.coins().map(u32::count_ones)
    }

    /// The number of the look at which a feature settled (`interim`): a function of the ledger.
    #[must_use]
    pub fn settling_look(&self, feature: u8) -> Option<u32> {
        let feature = self.feature(feature)?;
        // The coin of a settled feature is its last one.
        feature.coins()?.checked_ilog2().filter(|_| feature.is_settled()).map(|place| place + 1)
    }

    /// Takes patients, at least one, until a look is due, a batch has ended or the trial has
    /// turned, or until all are in. A look that is due at the beginning is done first. So an
    /// arm is dropped with the last of them or not at all.
    ///
    /// The trial is left as [`Trial::assign`] without a tag and [`Trial::outcome`], one patient
    /// after another, would leave it, and as much randomness is used.
    ///
    /// # Errors
    /// As [`Trial::assign`], for the patient asked for last; those before are taken.
    pub fn at_once(
        &mut self,
        patients: &mut impl AtOnce,
        chance: &mut impl Chance,
    ) -> Result<(), TrialError> {
        if self.look_due() {
            self.look(chance);
        }
        if self.undisturbed(patients, chance)? {
            return Ok(());
        }
        let patient = self.assigned.saturating_add(1);
        let feature = patients.feature(patient);
        let arm = self.assign(feature, None, chance)?;
        self.outcome(patient, u16::from(patients.outcome(arm)), chance)
    }

    /// Takes the patients up to the next look or turn. False if there were none.
    fn undisturbed(
        &mut self,
        patients: &mut impl AtOnce,
        chance: &mut impl Chance,
    ) -> Result<bool, TrialError> {
        if self.phase == Phase::Closed || usize::from(self.waiting.len()) >= U {
            return Ok(false);
        }
        let (plan, used) = (&self.plan, usize::from(self.plan.features()));
        // Looks count resolved patients, the turn assigned ones.
        let waiting = if self.design.has_looks() { u32::from(self.waiting.len()) } else { 0 };
        let mut block = Block {
            half: Half::of(self.phase),
            features: self.features.get_mut(..used).unwrap_or(&mut []),
            assigned: self.assigned,
            end: plan.patients().min(self.next_look.saturating_add(waiting)),
            seen: 0,
            last: None,
        };
        let ended = match &self.design {
            AnyDesign::Conse(steps) => block.published(plan, steps, patients, chance),
            AnyDesign::DpConse(steps) => block.published(plan, steps, patients, chance),
            AnyDesign::Ledger(design) => block.ledger(plan, design, patients, chance),
        };
        let Block { assigned, seen, last, .. } = block;
        if let Some(arm) = last {
            self.assigned = assigned;
            self.last = Last { arm: Some(arm), tag: None };
            self.dirty.mark_progress();
            if let Some(vacancy) = self.waiting.vacancy(assigned) {
                self.dirty.mark_slot(vacancy.slot());
            }
            self.dirty.mark_outcomes(seen, !self.design.has_looks());
        }
        ended.map(|()| last.is_some())
    }
}

/// Patients for whom design and half are the same.
struct Block<'a> {
    half: Half,
    features: &'a mut [AnyFeature],
    /// The number of the last patient taken, and of the last to take.
    assigned: u32,
    end: u32,
    /// The mask of the features seen.
    seen: u64,
    /// The arm of the last patient taken.
    last: Option<Arm>,
}

impl Block<'_> {
    /// Patients of `conse` and `dp-conse`.
    fn published<P: AtOnce, C: Chance>(
        &mut self,
        plan: &Plan,
        steps: &impl Steps,
        patients: &mut P,
        chance: &mut C,
    ) -> Result<(), TrialError> {
        // A loop for each half, so that it is not asked for with every patient.
        let take = |half: Half, feature: &mut AnyFeature, patients: &mut P, chance: &mut C| {
            let AnyFeature::Published(feature) = feature else { return None };
            let choice = feature.choose(half, chance);
            let y = plan.oriented(patients.outcome(choice.arm).into());
            Some((choice.arm, feature.record(plan, half, choice, Some(y), steps, chance)))
        };
        match self.half {
            Half::Explore => self.run(patients, chance, |_, f, p, c| take(Half::Explore, f, p, c)),
            Half::Measure => self.run(patients, chance, |_, f, p, c| take(Half::Measure, f, p, c)),
        }
    }

    /// Patients of `interim` and `uniform`: no coin changes before the next look, so outcomes are
    /// counted first and added to the windows at the end.
    fn ledger<P: AtOnce, C: Chance>(
        &mut self,
        plan: &Plan,
        design: &LedgerDesign,
        patients: &mut P,
        chance: &mut C,
    ) -> Result<(), TrialError> {
        let mut counts = [[[0u32; 2]; 2]; MAX_FEATURES as usize];
        let taken = self.run(patients, chance, |j, feature, patients, chance| {
            let AnyFeature::Ledger(feature) = feature else { return None };
            let arm = feature.choose(chance).arm;
            let y = Arm::from_bit(patients.outcome(arm));
            let counts = counts.get_mut(usize::from(j))?;
            *y.of_mut(arm.of_mut(counts)) += 1;
            Some((arm, false))
        });
        for (feature, counts) in self.features.iter_mut().zip(counts) {
            let AnyFeature::Ledger(feature) = feature else { continue };
            for (arm, [no, yes]) in Arm::BOTH.into_iter().zip(counts) {
                feature.record_many(arm, plan.oriented(0), no, design.unit());
                feature.record_many(arm, plan.oriented(1), yes, design.unit());
            }
        }
        taken
    }

    /// Takes patients up to the end, or to the end of a batch. `take` plays one patient of a
    /// feature: it returns the arm and whether a batch ended, or nothing if the feature is not
    /// of its design.
    fn run<P: AtOnce, C: Chance>(
        &mut self,
        patients: &mut P,
        chance: &mut C,
        mut take: impl FnMut(u8, &mut AnyFeature, &mut P, &mut C) -> Option<(Arm, bool)>,
    ) -> Result<(), TrialError> {
        while self.assigned < self.end {
            let feature = patients.feature(self.assigned + 1);
            let state = self.features.get_mut(usize::from(feature)).ok_or(TrialError::Feature)?;
            let (arm, ended) = take(feature, state, patients, chance).ok_or(TrialError::Fault)?;
            self.assigned += 1;
            self.seen |= bit(feature);
            self.last = Some(arm);
            if ended {
                break;
            }
        }
        Ok(())
    }
}
