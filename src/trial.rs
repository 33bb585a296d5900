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
//!
//! # State as bytes
//! The state is a fixed set of [`Part`]s of fixed size, so that a journal can write what an operation touched and
//! nothing else. [`Trial::encode`] is all of them behind a version byte:
//!
//! ```text
//! version 1 | plan 33 | progress 12 | U x waiting 6 | M x (tally 33 | ledger 101)
//! ```
//!
//! A tally holds sums of outcomes (in `interim` noise is added to them ahead of the look); whoever sees a tally before
//! and after one outcome sees that outcome, so a superseded tally must be wiped from storage.

use crate::chance::Chance;
use crate::design::conse::{self, Conse, Steps};
use crate::design::dp_conse::DpConse;
use crate::design::interim::{self, Look, Schedule};
use crate::design::{Arm, Choice, LEDGER_BYTES, TALLY_BYTES, Writer, arm_byte, arm_from_byte};
use crate::estimate::Estimate;
use crate::plan::{Design, MAX_FEATURES, PLAN_BYTES, Plan, take};

/// Version of the byte form.
pub const STATE_VERSION: u8 = 1;
/// Bytes of [`Part::Progress`].
pub const PROGRESS_BYTES: usize = 12;
/// Bytes of [`Part::Waiting`].
pub const WAITING_BYTES: usize = 6;
/// Bytes of the largest part.
pub const MAX_PART_BYTES: usize = LEDGER_BYTES;

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

/// A piece of the state that is stored on its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Counts, phase, and the last patient's arm and tag.
    Progress,
    /// A slot of the table of waiting patients.
    Waiting(u16),
    /// What changes with every outcome of a feature.
    Tally(u8),
    /// What changes at looks and batch ends of a feature.
    Ledger(u8),
}

/// The parts an operation has changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Touched {
    progress: bool,
    slot: Option<u16>,
    all_slots: bool,
    tallies: u64,
    ledgers: u64,
}

impl Touched {
    /// Has nothing changed?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Has this part changed?
    #[must_use]
    pub fn contains(&self, part: Part) -> bool {
        match part {
            Part::Progress => self.progress,
            Part::Waiting(slot) => self.all_slots || self.slot == Some(slot),
            Part::Tally(j) => self.tallies >> (j & 63) & 1 == 1,
            Part::Ledger(j) => self.ledgers >> (j & 63) & 1 == 1,
        }
    }

    const fn everything() -> Self {
        Self { progress: true, slot: None, all_slots: true, tallies: u64::MAX, ledgers: u64::MAX }
    }
}

/// A patient whose outcome has not come; `patient` 0 marks a free slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Waiting {
    patient: u32,
    feature: u8,
    choice: Choice,
}

impl Waiting {
    const FREE: Self = Self { patient: 0, feature: 0, choice: Choice { arm: Arm::Zero, counts: false } };
}

/// The last patient's arm, kept to answer a repeated request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Last {
    arm: Arm,
    tag: Option<u32>,
}

/// Features and rules of the trial's design.
#[allow(clippy::large_enum_variant, reason = "one trial in static memory; there is no heap to box into")]
#[derive(Clone, Debug)]
enum Rules<const M: usize> {
    Conse(Conse, [conse::Feature; M]),
    DpConse(DpConse, [conse::Feature; M]),
    Interim(interim::Rules, [interim::Feature; M]),
}

/// A trial with room for `M` features and `U` waiting patients.
#[derive(Clone, Debug)]
pub struct Trial<const M: usize = 64, const U: usize = 128> {
    plan: Plan,
    rules: Rules<M>,
    phase: Phase,
    assigned: u32,
    looks: u8,
    /// Patient count of the next look or turn; [`NEVER`] when only the closing look is left.
    next_look: u32,
    last: Option<Last>,
    unresolved: u16,
    waiting: [Waiting; U],
    touched: Touched,
}

const NEVER: u32 = u32::MAX;

impl<const M: usize, const U: usize> Trial<M, U> {
    const CAPACITY: () = assert!(M >= 1 && M <= MAX_FEATURES as usize && U >= 1 && U < u16::MAX as usize);

    /// Bytes of the whole state.
    pub const STATE_BYTES: usize =
        1 + PLAN_BYTES + PROGRESS_BYTES + U * WAITING_BYTES + M * (TALLY_BYTES + LEDGER_BYTES);

    /// Starts a trial.
    ///
    /// # Errors
    /// [`TrialError::Capacity`] if the plan has more than `M` features.
    pub fn new(plan: Plan) -> Result<Self, TrialError> {
        let () = Self::CAPACITY;
        if usize::from(plan.features()) > M {
            return Err(TrialError::Capacity);
        }
        let rules = match plan.design() {
            Design::Conse => Rules::Conse(Conse, [conse::Feature::NEW; M]),
            Design::DpConse => Rules::DpConse(DpConse::new(&plan), [conse::Feature::NEW; M]),
            Design::Interim => Rules::Interim(interim::Rules::new(&plan), [interim::Feature::NEW; M]),
        };
        let mut trial = Self {
            plan,
            rules,
            phase: Phase::Explore,
            assigned: 0,
            looks: 0,
            next_look: NEVER,
            last: None,
            unresolved: 0,
            waiting: [Waiting::FREE; U],
            touched: Touched::everything(),
        };
        trial.schedule();
        Ok(trial)
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
    /// What has changed since the last call.
    pub fn take_touched(&mut self) -> Touched {
        core::mem::take(&mut self.touched)
    }

    fn schedule(&mut self) {
        let next = match self.rules {
            Rules::Interim(..) => Schedule::next(&self.plan, self.looks),
            Rules::Conse(..) | Rules::DpConse(..) => (self.looks == 0).then_some(self.plan.half()),
        };
        self.next_look = next.unwrap_or(NEVER);
    }

    /// The stored arm, if the last patient is `patient` and was assigned with this very tag.
    #[must_use]
    pub fn repeat(&self, patient: u32, tag: u32) -> Option<Arm> {
        let last = self.last.filter(|last| patient == self.assigned && last.tag == Some(tag));
        last.map(|last| last.arm)
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
        // `interim` has just had its look; the paper's designs turn here.
        if self.assigned == self.next_look {
            self.turn(chance);
        }
        let j = usize::from(feature);
        let explore = self.phase == Phase::Explore;
        let choice = match &mut self.rules {
            Rules::Interim(_, features) => {
                let feature = features.get(j).ok_or(TrialError::Feature)?;
                let arm = if explore { feature.explore(chance) } else { feature.measure(chance) };
                Choice { arm, counts: true }
            }
            Rules::Conse(_, features) | Rules::DpConse(_, features) => {
                let state = features.get_mut(j).ok_or(TrialError::Feature)?;
                self.touched.tallies |= bit(feature);
                if explore { state.explore(chance) } else { state.measure(chance) }
            }
        };
        self.assigned += 1;
        let patient = self.assigned;
        // Patients arrive and are resolved in about the same order, so the slot after the last one is mostly free.
        let start = patient as usize % U;
        let free = |slots: &[Waiting]| slots.iter().position(|w| w.patient == 0);
        let (tail, head) =
            (self.waiting.get(start..).unwrap_or(&[]), self.waiting.get(..start).unwrap_or(&[]));
        let slot = free(tail).map(|at| start + at).or_else(|| free(head)).unwrap_or(start);
        if let Some(entry) = self.waiting.get_mut(slot) {
            *entry = Waiting { patient, feature, choice };
        }
        self.unresolved += 1;
        self.last = Some(Last { arm: choice.arm, tag });
        self.touched.progress = true;
        self.touched.slot = Some(slot as u16);
        Ok(choice.arm)
    }

    /// Takes a waiting patient out of the table.
    #[inline]
    fn resolve(&mut self, patient: u32) -> Option<Waiting> {
        let start = patient as usize % U;
        let slots = (start..U).chain(0..start);
        for slot in slots {
            let entry = self.waiting.get_mut(slot)?;
            if entry.patient == patient {
                let found = *entry;
                *entry = Waiting::FREE;
                self.unresolved -= 1;
                self.touched.slot = Some(slot as u16);
                return Some(found);
            }
        }
        None
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
        if !matches!(self.rules, Rules::Interim(..)) {
            self.touched.ledgers |= bit(feature);
        }
        let explore = self.phase == Phase::Explore;
        if !explore && patient <= self.plan.half() {
            return;
        }
        let (j, plan) = (usize::from(feature), &self.plan);
        match &mut self.rules {
            Rules::Interim(_, features) => {
                if let (Some(feature), Some(y)) = (features.get_mut(j), y) {
                    feature.record(choice.arm, y, plan.scale());
                }
            }
            Rules::Conse(steps, features) => {
                if let Some(feature) = features.get_mut(j) {
                    published(feature, choice, y, explore, plan, steps, chance);
                }
            }
            Rules::DpConse(steps, features) => {
                if let Some(feature) = features.get_mut(j) {
                    published(feature, choice, y, explore, plan, steps, chance);
                }
            }
        }
    }

    /// Is a look due before anything else?
    #[inline]
    #[must_use]
    pub fn look_due(&self) -> bool {
        if !matches!(self.rules, Rules::Interim(..)) || self.phase == Phase::Closed {
            return false;
        }
        self.assigned == self.next_look || (self.assigned == self.plan.patients() && self.unresolved == 0)
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
        let used = usize::from(self.plan.features());
        match &mut self.rules {
            Rules::Interim(rules, features) => {
                let look = match (self.phase, at_half) {
                    (Phase::Explore, false) => Look::Explore,
                    (Phase::Explore, true) => Look::Turn,
                    _ => Look::Measure,
                };
                interim::look(features.get_mut(..used).unwrap_or(&mut []), &self.plan, rules, look, chance);
            }
            Rules::Conse(steps, features) => {
                turn_published(features.get_mut(..used).unwrap_or(&mut []), &self.plan, steps, chance);
            }
            Rules::DpConse(steps, features) => {
                turn_published(features.get_mut(..used).unwrap_or(&mut []), &self.plan, steps, chance);
            }
        }
        if at_half {
            self.phase = Phase::Measure;
        }
        self.looks = self.looks.saturating_add(1);
        self.schedule();
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
            let entry = self.waiting.get_mut(slot).map(|w| core::mem::replace(w, Waiting::FREE));
            if let Some(entry) = entry.filter(|w| w.patient != 0) {
                self.record(entry, None, chance);
            }
        }
        self.unresolved = 0;
        self.touched.all_slots = true;
        let used = usize::from(self.plan.features());
        match &mut self.rules {
            Rules::Interim(rules, features) => {
                let features = features.get_mut(..used).unwrap_or(&mut []);
                if self.phase == Phase::Measure {
                    interim::look(features, &self.plan, rules, Look::Measure, chance);
                    self.looks = self.looks.saturating_add(1);
                }
                features.iter_mut().for_each(interim::Feature::wipe);
            }
            Rules::Conse(_, features) | Rules::DpConse(_, features) => {
                features.iter_mut().for_each(conse::Feature::wipe);
            }
        }
        self.phase = Phase::Closed;
        self.touch_features();
    }

    /// Draws the next look's noise for one more feature. False when all have theirs.
    pub fn draw_ahead(&mut self, chance: &mut impl Chance) -> bool {
        if self.phase == Phase::Closed {
            return false;
        }
        let used = usize::from(self.plan.features());
        match &mut self.rules {
            Rules::Interim(rules, features) => {
                features.iter_mut().take(used).any(|feature| feature.mask(rules, chance))
            }
            Rules::Conse(..) | Rules::DpConse(..) => false,
        }
    }

    /// The measured effect of a feature, once there is one.
    #[must_use]
    pub fn estimate(&self, feature: u8) -> Option<Estimate> {
        let j = usize::from(feature);
        if feature >= self.plan.features() {
            return None;
        }
        match &self.rules {
            Rules::Interim(rules, features) => {
                let looks = self.looks.saturating_sub(Schedule::explore_looks(&self.plan));
                features.get(j)?.estimate(rules, looks)
            }
            Rules::Conse(steps, features) => features.get(j)?.estimate(&self.plan, steps),
            Rules::DpConse(steps, features) => features.get(j)?.estimate(&self.plan, steps),
        }
    }

    /// The arm dropped in a feature; private in the paper's designs, a function of the ledger in `interim`.
    #[must_use]
    pub fn dropped(&self, feature: u8) -> Option<Arm> {
        let j = usize::from(feature);
        match &self.rules {
            Rules::Interim(_, features) => features.get(j)?.dropped(),
            Rules::Conse(_, features) | Rules::DpConse(_, features) => features.get(j)?.dropped(),
        }
    }

    /// The noisy ledger of a feature (`interim`): A0, B0, A1, B1. All that later arms and reports are made of.
    #[must_use]
    pub fn ledger(&self, feature: u8) -> Option<[i64; 4]> {
        match &self.rules {
            Rules::Interim(_, features) => Some(features.get(usize::from(feature))?.ledger()),
            Rules::Conse(..) | Rules::DpConse(..) => None,
        }
    }

    /// Epoch and length of the present batch or trial of a feature (the paper's designs); for tests and audits.
    #[must_use]
    pub fn batch(&self, feature: u8) -> Option<(u8, u32)> {
        match &self.rules {
            Rules::Conse(_, features) | Rules::DpConse(_, features) => {
                features.get(usize::from(feature)).map(|f| (f.epoch(), f.length()))
            }
            Rules::Interim(..) => None,
        }
    }

    /// Bytes of a part under this plan.
    #[must_use]
    pub const fn length(&self, part: Part) -> usize {
        match (part, &self.rules) {
            (Part::Progress, _) => PROGRESS_BYTES,
            (Part::Waiting(_), _) => WAITING_BYTES,
            (Part::Tally(_), Rules::Interim(..)) => interim::TALLY,
            (Part::Tally(_), _) => conse::TALLY,
            (Part::Ledger(_), Rules::Interim(..)) => interim::LEDGER,
            (Part::Ledger(_), _) => conse::LEDGER,
        }
    }

    /// Bytes of a part in the fixed byte form, the same under every plan.
    const fn slot_length(part: Part) -> usize {
        match part {
            Part::Progress => PROGRESS_BYTES,
            Part::Waiting(_) => WAITING_BYTES,
            Part::Tally(_) => TALLY_BYTES,
            Part::Ledger(_) => LEDGER_BYTES,
        }
    }

    /// Writes a part; its length.
    pub fn encode_part(&self, part: Part, out: &mut [u8; MAX_PART_BYTES]) -> usize {
        match part {
            Part::Progress => {
                let last = self.last;
                let mut out = Writer(out.iter_mut());
                out.put(&[self.phase as u8, self.looks, arm_byte(last.map(|l| l.arm))]);
                out.put(&[u8::from(last.is_some_and(|l| l.tag.is_some()))]);
                out.put(&self.assigned.to_le_bytes());
                out.put(&last.and_then(|l| l.tag).unwrap_or(0).to_le_bytes());
                PROGRESS_BYTES
            }
            Part::Waiting(slot) => {
                let entry = self.waiting.get(usize::from(slot)).copied().unwrap_or(Waiting::FREE);
                let mut out = Writer(out.iter_mut());
                out.put(&entry.patient.to_le_bytes());
                out.put(&[entry.feature, entry.choice.arm as u8 | u8::from(entry.choice.counts) << 1]);
                WAITING_BYTES
            }
            Part::Tally(j) => {
                let mut tally = [0; TALLY_BYTES];
                let j = usize::from(j);
                match &self.rules {
                    Rules::Interim(_, features) => features.get(j).map(|f| f.encode_tally(&mut tally)),
                    Rules::Conse(_, features) | Rules::DpConse(_, features) => {
                        features.get(j).map(|f| f.encode_tally(&mut tally))
                    }
                };
                Writer(out.iter_mut()).put(&tally);
                self.length(part)
            }
            Part::Ledger(j) => {
                *out = [0; LEDGER_BYTES];
                let j = usize::from(j);
                match &self.rules {
                    Rules::Interim(_, features) => features.get(j).map(|f| f.encode_ledger(out)),
                    Rules::Conse(_, features) | Rules::DpConse(_, features) => {
                        features.get(j).map(|f| f.encode_ledger(out))
                    }
                };
                self.length(part)
            }
        }
    }

    /// Takes a part back, in any order, into a trial made with the same plan. `None` if it cannot be one.
    #[must_use]
    pub fn decode_part(&mut self, part: Part, mut bytes: &[u8]) -> Option<()> {
        match part {
            Part::Progress => {
                let [phase, looks, arm, tagged] = take(&mut bytes)?;
                self.phase = *[Phase::Explore, Phase::Measure, Phase::Closed].get(usize::from(phase))?;
                self.looks = looks;
                self.assigned = u32::from_le_bytes(take(&mut bytes)?);
                if self.assigned > self.plan.patients() {
                    return None;
                }
                let tag = u32::from_le_bytes(take(&mut bytes)?);
                self.last = arm_from_byte(arm)?.map(|arm| Last { arm, tag: (tagged == 1).then_some(tag) });
                self.schedule();
                Some(())
            }
            Part::Waiting(slot) => {
                let patient = u32::from_le_bytes(take(&mut bytes)?);
                let [feature, mark] = take(&mut bytes)?;
                if feature >= self.plan.features() || mark > 3 || patient > self.plan.patients() {
                    return None;
                }
                let choice = Choice { arm: Arm::from_bit(mark & 1 == 1), counts: mark & 2 != 0 };
                let entry = self.waiting.get_mut(usize::from(slot))?;
                self.unresolved -= u16::from(entry.patient != 0);
                *entry = Waiting { patient, feature, choice };
                self.unresolved += u16::from(patient != 0);
                Some(())
            }
            Part::Tally(j) => {
                let j = usize::from(j);
                match &mut self.rules {
                    Rules::Interim(_, features) => features.get_mut(j)?.decode_tally(bytes),
                    Rules::Conse(_, features) | Rules::DpConse(_, features) => {
                        features.get_mut(j)?.decode_tally(bytes)
                    }
                }
            }
            Part::Ledger(j) => {
                let j = usize::from(j);
                match &mut self.rules {
                    Rules::Interim(_, features) => features.get_mut(j)?.decode_ledger(bytes),
                    Rules::Conse(_, features) | Rules::DpConse(_, features) => {
                        features.get_mut(j)?.decode_ledger(bytes)
                    }
                }
            }
        }
    }

    /// All parts, in the order of the byte form.
    pub fn parts() -> impl Iterator<Item = Part> {
        let waiting = (0..U).map(|slot| Part::Waiting(slot as u16));
        let features = (0..M).flat_map(|j| [Part::Tally(j as u8), Part::Ledger(j as u8)]);
        core::iter::once(Part::Progress).chain(waiting).chain(features)
    }

    /// Writes the whole state; `None` if `out` is shorter than [`Self::STATE_BYTES`].
    pub fn encode(&self, out: &mut [u8]) -> Option<usize> {
        let mut rest = out.get_mut(..Self::STATE_BYTES)?;
        let mut put = |bytes: &[u8]| {
            let (head, tail) = core::mem::take(&mut rest).split_at_mut_checked(bytes.len())?;
            head.copy_from_slice(bytes);
            rest = tail;
            Some(())
        };
        put(&[STATE_VERSION])?;
        put(&self.plan.encode())?;
        for part in Self::parts() {
            let mut bytes = [0; MAX_PART_BYTES];
            self.encode_part(part, &mut bytes);
            put(bytes.get(..Self::slot_length(part))?)?;
        }
        Some(Self::STATE_BYTES)
    }

    /// Reads the whole state back; `None` if the bytes are not one.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let mut rest = bytes.get(..Self::STATE_BYTES)?;
        let [version] = take(&mut rest)?;
        if version != STATE_VERSION {
            return None;
        }
        let mut trial = Self::new(Plan::decode(&take(&mut rest)?)?).ok()?;
        for part in Self::parts() {
            let (head, tail) = rest.split_at_checked(Self::slot_length(part))?;
            trial.decode_part(part, head)?;
            rest = tail;
        }
        trial.touched = Touched::default();
        Some(trial)
    }
}

/// The mask of one feature.
const fn bit(feature: u8) -> u64 {
    1 << (feature & 63)
}

/// An outcome or loss of the paper's designs.
#[inline]
fn published(
    feature: &mut conse::Feature,
    choice: Choice,
    y: Option<u16>,
    explore: bool,
    plan: &Plan,
    steps: &impl Steps,
    chance: &mut impl Chance,
) {
    match (choice.counts, explore, y) {
        (false, ..) | (_, true, None) => {}
        (true, true, Some(y)) => feature.explored(choice.arm, y, plan, steps, chance),
        (true, false, y) => feature.measured(choice.arm, y, plan, steps, chance),
    }
}

/// T_min = max(ln n / epsilon, min_j f_j^(1-alpha)), then T_j of every feature (Algorithm 1, lines 17-20).
fn turn_published(
    features: &mut [conse::Feature],
    plan: &Plan,
    steps: &impl Steps,
    chance: &mut impl Chance,
) {
    let floor = libm::log(f64::from(plan.patients())) / steps.epsilon();
    let least = features.iter().map(|feature| feature.wish(plan)).fold(f64::INFINITY, f64::min);
    for feature in features {
        feature.turn(f64::max(floor, least), steps, chance);
    }
}
