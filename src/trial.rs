//! The state machine of a trial: assign, outcome, lost, look, close.
//!
//! # What it promises
//! * Patients are numbered 1..=n in the order in which they are assigned.
//! * One outcome a patient, ever. A repeat, a correction or a late `lost` changes nothing and is no error, so the
//!   caller's answer cannot tell whether there was one before.
//! * At most `U` patients wait for their outcome; one more is refused until some are resolved.
//! * Outcomes are folded into sums when they come. No individual outcome is kept.
//! * A look falls right after its patient count, whatever comes next: every operation first does a look that is due.
//!   (The paper's designs have no looks; they turn to the second half when patient half+1 is assigned, so that all
//!   outcomes of the first half may count.)
//! * No plan that [`Plan`] lets through and no sequence of calls panics or overflows.

use crate::chance::Chance;
use crate::design::conse::Conse;
use crate::design::interim::Schedule;
use crate::design::{Arm, Choice, Feature, Half, Look, Rules};
use crate::estimate::Estimate;
use crate::plan::{MAX_FEATURES, Plan};

mod at_once;
mod state;

pub use at_once::AtOnce;
pub use state::{MAX_PART_BYTES, PROGRESS_BYTES, Part, STATE_VERSION, Touched, WAITING_BYTES};

/// Where a trial stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Phase {
    /// First half: learn which arm is better.
    Explore,
    /// Second half: measure the effect, exploit what was learned.
    Measure,
    /// Over: estimates are final, nobody is assigned.
    Closed,
}

impl Phase {
    /// The half whose rules apply; a closed trial has no patients left to apply them to.
    const fn half(self) -> Half {
        match self {
            Self::Explore => Half::Explore,
            Self::Measure | Self::Closed => Half::Measure,
        }
    }

    /// The name used in replies.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Explore => "explore",
            Self::Measure => "measure",
            Self::Closed => "closed",
        }
    }
}

/// Why a trial refused a plan, a patient or an outcome. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum TrialError {
    /// The plan has more features than this trial has room for.
    Capacity,
    /// No such feature.
    Feature,
    /// As many patients wait for their outcome as there is room for.
    Full,
    /// All patients of the plan have been assigned.
    Complete,
    /// The trial is closed.
    Closed,
    /// No such patient has been assigned.
    Unknown,
    /// The outcome is above the scale.
    Range,
}

/// A patient whose outcome has not come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Waiting {
    patient: u32,
    feature: u8,
    choice: Choice,
}

/// A place for a waiting patient, free if its patient is 0. One word, so that what has just been written can be read
/// back at once: a processor stalls on reading several small writes as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Slot(u64);

impl Slot {
    const FREE: Self = Self(0);

    #[inline]
    const fn new(w: Waiting) -> Self {
        let choice = (w.choice.arm as u64) | (w.choice.counts as u64) << 1;
        Self(w.patient as u64 | (w.feature as u64) << 32 | choice << 40)
    }

    #[inline]
    const fn patient(self) -> u32 {
        self.0 as u32
    }

    #[inline]
    const fn feature(self) -> u8 {
        (self.0 >> 32) as u8
    }

    #[inline]
    const fn waiting(self) -> Waiting {
        let choice = Choice { arm: Arm::from_bit(self.0 >> 40 & 1 == 1), counts: self.0 >> 41 & 1 == 1 };
        Waiting { patient: self.patient(), feature: self.feature(), choice }
    }
}

/// The last patient's arm, kept to answer a repeated request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Last {
    arm: Arm,
    tag: Option<u32>,
}

/// A trial with room for `M` features and `U` waiting patients.
#[derive(Clone, Debug)]
pub struct Trial<const M: usize = 64, const U: usize = 128> {
    plan: Plan,
    rules: Rules,
    phase: Phase,
    assigned: u32,
    looks: u8,
    /// Patient count of the next look or turn; [`NEVER`] when only the closing look is left.
    next_look: u32,
    last: Option<Last>,
    unresolved: u16,
    waiting: [Slot; U],
    features: [Feature; M],
    touched: Touched,
}

const NEVER: u32 = u32::MAX;

impl<const M: usize, const U: usize> Trial<M, U> {
    const CAPACITY: () = assert!(M >= 1 && M <= MAX_FEATURES as usize && U >= 1 && U < u16::MAX as usize);

    /// Room for a trial: closed, with no patients. A small machine makes it in place, once, and then only
    /// [restarts](Self::restart) it, because the whole is too large to pass through the stack.
    #[must_use]
    pub const fn vacant() -> Self {
        let () = Self::CAPACITY;
        Self {
            plan: Plan::LEAST,
            rules: Rules::Conse(Conse),
            phase: Phase::Closed,
            assigned: 0,
            looks: 0,
            next_look: NEVER,
            last: None,
            unresolved: 0,
            waiting: [Slot::FREE; U],
            features: [Feature::VACANT; M],
            touched: Touched::NOTHING,
        }
    }

    /// Starts a trial.
    ///
    /// # Errors
    /// [`TrialError::Capacity`] if the plan has more than `M` features.
    pub fn new(plan: Plan) -> Result<Self, TrialError> {
        let mut trial = Self::vacant();
        trial.restart(plan)?;
        Ok(trial)
    }

    /// Forgets everything and starts a trial, in place.
    ///
    /// # Errors
    /// [`TrialError::Capacity`] if the plan has more than `M` features; nothing is forgotten then.
    pub fn restart(&mut self, plan: Plan) -> Result<(), TrialError> {
        if usize::from(plan.features()) > M {
            return Err(TrialError::Capacity);
        }
        self.plan = plan;
        self.rules = Rules::new(&plan);
        self.phase = Phase::Explore;
        (self.assigned, self.looks, self.last, self.unresolved) = (0, 0, None, 0);
        self.waiting.iter_mut().for_each(|slot| *slot = Slot::FREE);
        let fresh = self.rules.feature();
        self.features.iter_mut().for_each(|feature| *feature = fresh);
        let features = u64::MAX >> (u64::BITS - M as u32);
        self.touched = Touched { progress: true, slots: (0, U as u16), tallies: features, ledgers: features };
        self.schedule();
        Ok(())
    }

    /// The features the plan has.
    fn used(&mut self) -> &mut [Feature] {
        let used = usize::from(self.plan.features());
        self.features.get_mut(..used).unwrap_or(&mut [])
    }

    /// The plan.
    #[must_use]
    pub const fn plan(&self) -> &Plan {
        &self.plan
    }
    /// Patients assigned so far.
    #[must_use]
    pub const fn assigned(&self) -> u32 {
        self.assigned
    }
    /// Patients whose outcome has not come.
    #[must_use]
    pub const fn unresolved(&self) -> u16 {
        self.unresolved
    }
    /// Where the trial stands.
    #[must_use]
    pub const fn phase(&self) -> Phase {
        self.phase
    }
    /// Looks done.
    #[must_use]
    pub const fn looks(&self) -> u8 {
        self.looks
    }
    /// The patient count of the next planned look; `None` when only the closing one is left.
    #[must_use]
    pub fn next_look(&self) -> Option<u32> {
        (self.phase != Phase::Closed && self.next_look != NEVER).then_some(self.next_look)
    }
    /// What has changed since the last [`Self::take_touched`].
    #[must_use]
    pub const fn touched(&self) -> Touched {
        self.touched
    }
    /// What has changed is stored: [`Self::take_touched`] without taking it.
    pub fn clear_touched(&mut self) {
        self.touched.progress = false;
        self.touched.slots = (0, 0);
        // Mostly there is nothing here, and a small machine has no long stores.
        if self.touched.tallies | self.touched.ledgers != 0 {
            (self.touched.tallies, self.touched.ledgers) = (0, 0);
        }
    }
    /// What has changed since the last call.
    pub fn take_touched(&mut self) -> Touched {
        let touched = self.touched;
        self.clear_touched();
        touched
    }

    fn schedule(&mut self) {
        let next = if self.rules.is_interim() {
            Schedule::next(&self.plan, self.looks)
        } else {
            (self.looks == 0).then_some(self.plan.half())
        };
        self.next_look = next.unwrap_or(NEVER);
    }

    /// The stored arm, if the last patient is `patient` and was assigned with this very tag.
    #[must_use]
    pub fn repeat(&self, patient: u32, tag: u32) -> Option<Arm> {
        let last = self.last.filter(|last| patient == self.assigned && last.tag == Some(tag));
        last.map(|last| last.arm)
    }

    /// Did the last patient come with a tag?
    #[must_use]
    pub fn is_tagged(&self) -> bool {
        self.last.is_some_and(|last| last.tag.is_some())
    }

    /// Could a patient of this feature be assigned now? The errors of [`Trial::assign`], without the patient.
    ///
    /// # Errors
    /// As [`Trial::assign`].
    #[inline]
    pub fn admits(&self, feature: u8) -> Result<(), TrialError> {
        if self.phase == Phase::Closed {
            Err(TrialError::Closed)
        } else if self.assigned >= self.plan.patients() {
            Err(TrialError::Complete)
        } else if feature >= self.plan.features() {
            Err(TrialError::Feature)
        } else if usize::from(self.unresolved) >= U {
            Err(TrialError::Full)
        } else {
            Ok(())
        }
    }

    /// Assigns the next patient, number [`Trial::assigned`] + 1.
    ///
    /// # Errors
    /// `Closed`, `Complete`, `Feature` or `Full`.
    #[inline]
    pub fn assign(
        &mut self,
        feature: u8,
        tag: Option<u32>,
        chance: &mut impl Chance,
    ) -> Result<Arm, TrialError> {
        if self.look_due() {
            self.look(chance);
        }
        self.admits(feature)?;
        if self.turns_next() {
            self.turn(chance);
        }
        let state = self.features.get_mut(usize::from(feature)).ok_or(TrialError::Feature)?;
        let choice = self.rules.choose(state, self.phase.half(), chance);
        self.assigned += 1;
        let patient = self.assigned;
        // There is room: `admits` has seen to it.
        let slot = self.find(0, patient).unwrap_or(0);
        if let Some(entry) = self.waiting.get_mut(slot) {
            *entry = Slot::new(Waiting { patient, feature, choice });
        }
        self.unresolved += 1;
        self.last = Some(Last { arm: choice.arm, tag });
        self.touched.progress = true;
        self.touched.touch_slot(slot as u16);
        Ok(choice.arm)
    }

    /// The slot of a waiting patient, or for 0 a free one. Patients arrive and are resolved in about the same order, so
    /// it is mostly the slot of `near`, the number of the patient it is or will be of.
    #[inline]
    fn find(&self, patient: u32, near: u32) -> Option<usize> {
        let start = near as usize % U;
        let is = |slot: &usize| self.waiting.get(*slot).is_some_and(|entry| entry.patient() == patient);
        if is(&start) { Some(start) } else { (start + 1..U).chain(0..start).find(is) }
    }

    /// Takes a waiting patient out of the table.
    #[inline]
    fn resolve(&mut self, patient: u32) -> Option<Waiting> {
        let slot = self.find(patient, patient)?;
        let entry = core::mem::replace(self.waiting.get_mut(slot)?, Slot::FREE);
        self.unresolved -= 1;
        self.touched.touch_slot(slot as u16);
        Some(entry.waiting())
    }

    /// Records the outcome of an assigned patient; a repeat is ignored.
    ///
    /// # Errors
    /// `Unknown` for a patient not yet assigned, `Range` for an outcome above the scale.
    #[inline]
    pub fn outcome(&mut self, patient: u32, y: u16, chance: &mut impl Chance) -> Result<(), TrialError> {
        if y > self.plan.scale() {
            return Err(TrialError::Range);
        }
        self.settle(patient, Some(y), chance)
    }

    /// Writes off the outcome of an assigned patient; a repeat is ignored.
    ///
    /// # Errors
    /// `Unknown` for a patient not yet assigned.
    pub fn lost(&mut self, patient: u32, chance: &mut impl Chance) -> Result<(), TrialError> {
        self.settle(patient, None, chance)
    }

    #[inline]
    fn settle(&mut self, patient: u32, y: Option<u16>, chance: &mut impl Chance) -> Result<(), TrialError> {
        if patient == 0 || patient > self.assigned {
            return Err(TrialError::Unknown);
        }
        if self.look_due() {
            self.look(chance);
        }
        if let Some(waiting) = self.resolve(patient) {
            self.record(waiting, y, chance);
        }
        Ok(())
    }

    /// Folds an outcome, or its loss, into the state of its feature.
    #[inline]
    fn record(&mut self, waiting: Waiting, y: Option<u16>, chance: &mut impl Chance) {
        let Waiting { patient, feature, choice } = waiting;
        // Touched by a loss, a late outcome and the last of a batch alike, so that storage cannot tell them apart.
        self.touched.tallies |= bit(feature);
        if !self.rules.is_interim() {
            self.touched.ledgers |= bit(feature);
        }
        let half = self.phase.half();
        if half == Half::Measure && patient <= self.plan.half() {
            return;
        }
        if let Some(state) = self.features.get_mut(usize::from(feature)) {
            self.rules.record(state, &self.plan, half, choice, y, chance);
        }
    }

    /// Is a look due before anything else?
    #[inline]
    #[must_use]
    pub fn look_due(&self) -> bool {
        // What is rarely true comes first: this is asked twice a patient.
        let last = self.assigned == self.plan.patients() && self.unresolved == 0;
        (self.assigned == self.next_look || last) && self.rules.is_interim() && self.phase != Phase::Closed
    }

    /// Will the next patient turn the trial to its second half, and so change every feature? (The paper's designs;
    /// `interim` turns in a look of its own.)
    #[must_use]
    pub fn turns_next(&self) -> bool {
        self.assigned == self.next_look && !self.rules.is_interim() && self.phase == Phase::Explore
    }

    /// Does the look that is due; nothing otherwise. When every patient is in and resolved it is the closing one.
    #[cold]
    pub fn look(&mut self, chance: &mut impl Chance) {
        // In a trial of a few patients several looks can fall on one count.
        while self.look_due() && self.assigned == self.next_look {
            self.turn(chance);
        }
        if self.look_due() {
            self.close(chance);
        }
    }

    /// The planned look or, for the paper's designs, the turn to the second half.
    #[cold]
    fn turn(&mut self, chance: &mut impl Chance) {
        let at_half = self.assigned == self.plan.half();
        let look = match (self.phase, at_half) {
            (Phase::Explore, false) => Look::Explore,
            (Phase::Explore, true) => Look::Turn,
            _ => Look::Measure,
        };
        self.look_at_all(look, chance);
        if at_half {
            self.phase = Phase::Measure;
        }
        self.schedule();
    }

    fn look_at_all(&mut self, look: Look, chance: &mut impl Chance) {
        let used = usize::from(self.plan.features());
        let features = self.features.get_mut(..used).unwrap_or(&mut []);
        self.rules.look(features, &self.plan, look, chance);
        self.looks = self.looks.saturating_add(1);
        self.touch_features();
    }

    fn touch_features(&mut self) {
        let all = u64::MAX >> (MAX_FEATURES - self.plan.features());
        self.touched.progress = true;
        self.touched.tallies |= all;
        self.touched.ledgers |= all;
    }

    /// Ends the trial: who is unresolved is lost, the closing look is done. Nothing if it is closed already.
    pub fn close(&mut self, chance: &mut impl Chance) {
        while self.look_due() && self.assigned == self.next_look {
            self.turn(chance);
        }
        if self.phase == Phase::Closed {
            return;
        }
        for slot in 0..U {
            let entry = self.waiting.get_mut(slot).map(|slot| core::mem::replace(slot, Slot::FREE));
            if let Some(entry) = entry.filter(|slot| slot.patient() != 0) {
                self.record(entry.waiting(), None, chance);
            }
        }
        self.unresolved = 0;
        self.touched.slots = (0, U as u16);
        if self.rules.is_interim() && self.phase == Phase::Measure {
            self.look_at_all(Look::Measure, chance);
        }
        self.used().iter_mut().for_each(Feature::wipe);
        self.phase = Phase::Closed;
        self.touch_features();
    }

    /// Draws the next look's noise for one more feature. False when all have theirs.
    pub fn draw_ahead(&mut self, chance: &mut impl Chance) -> bool {
        if self.phase == Phase::Closed {
            return false;
        }
        let used = usize::from(self.plan.features());
        self.rules.draw_ahead(self.features.get_mut(..used).unwrap_or(&mut []), chance)
    }

    fn feature(&self, feature: u8) -> Option<&Feature> {
        let inside = feature < self.plan.features();
        self.features.get(usize::from(feature)).filter(|_| inside)
    }

    /// The measured effect of a feature, once there is one.
    #[must_use]
    pub fn estimate(&self, feature: u8) -> Option<Estimate> {
        let looks = self.looks.saturating_sub(Schedule::explore_looks(&self.plan));
        self.rules.estimate(self.feature(feature)?, &self.plan, looks)
    }

    /// The arm dropped in a feature; private in the paper's designs, a function of the ledger in `interim`.
    #[must_use]
    pub fn dropped(&self, feature: u8) -> Option<Arm> {
        self.feature(feature)?.dropped()
    }

    /// The noisy ledger of a feature (`interim`): A0, B0, A1, B1. All that later arms and reports are made of.
    #[must_use]
    pub fn ledger(&self, feature: u8) -> Option<[i64; 4]> {
        match self.feature(feature)? {
            Feature::Interim(feature) => Some(feature.ledger()),
            Feature::Published(_) => None,
        }
    }

    /// Epoch and length of the present batch or trial of a feature (the paper's designs); for tests and audits.
    #[must_use]
    pub fn batch(&self, feature: u8) -> Option<(u8, u32)> {
        match self.feature(feature)? {
            Feature::Published(feature) => Some((feature.epoch(), feature.length())),
            Feature::Interim(_) => None,
        }
    }
}

/// The mask of one feature.
const fn bit(feature: u8) -> u64 {
    1 << (feature & 63)
}
