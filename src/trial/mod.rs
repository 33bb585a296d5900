//! The state machine of a trial: assign, outcome, lost, look, close.
//!
//! # What it promises
//! * Patients are numbered 1..=n in the order in which they are assigned.
//! * One outcome a patient, ever. A repeat, a correction or a late `lost` changes nothing and is no
//!   error, so the caller's answer cannot tell whether there was one before.
//! * At most `U` patients wait for their outcome; one more is refused until some are resolved.
//! * Outcomes are folded into sums when they come. No individual outcome is kept.
//! * A look falls right after the operation that resolved (recorded or wrote off) the patient of
//!   its count: every operation first does a look that is due. (The paper's designs have no looks;
//!   they turn to the second half when patient half+1 is assigned, so that all outcomes of the
//!   first half may count.)
//! * No plan that [`Plan`] lets through and no sequence of calls panics or overflows.

use crate::chance::Chance;
use crate::design::conse::Conse;
use crate::design::schedule::MAX_LOOKS;
use crate::design::{AnyDesign, AnyFeature, Count, Half, History};
use crate::estimate::Estimate;
use crate::plan::{Better, DesignName, Plan};
use crate::terms::Arm;
use crate::terms::{MAX_FEATURES, Phase};
use kits::Given;
use waiting::{Waiting, WaitingTable};

#[cfg(feature = "std")]
mod at_once;
mod dirty;
mod error;
#[cfg(feature = "inspect")]
mod inspect;
mod kits;
#[cfg(feature = "std")]
mod late;
mod looks;
mod parts;
#[cfg(feature = "inspect")]
pub mod stored;
mod waiting;
#[cfg(any(test, feature = "inspect"))]
mod whole;

#[cfg(feature = "std")]
pub use at_once::AtOnce;
pub(crate) use dirty::Dirty;
pub use error::TrialError;
#[cfg(feature = "std")]
pub use late::{Answer, Late};
pub(crate) use parts::{HISTORY_BYTES, MAX_PART_BYTES, Part, STATE_VERSION};
pub(crate) use waiting::WAITING_BYTES;

/// The last patient's arm and tag, kept to answer a repeated request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Last {
    arm: Option<Arm>,
    tag: Option<u32>,
}

impl Last {
    const NONE: Self = Self { arm: None, tag: None };
}

/// A trial with room for `M` features and `U` waiting patients.
///
/// ```
/// use equipoise::chance::DeviceSampler;
/// use equipoise::plan::Plan;
/// use equipoise::trial::Trial;
///
/// let plan = Plan::parse("design=uniform features=2 patients=40 better=high epsilon=1")?;
/// let (mut trial, mut chance) = (Trial::<2, 8>::new(plan)?, DeviceSampler::seed_from_u64(7));
/// for patient in 1..=40 {
///     let arm = trial.assign((patient % 2) as u8, None, &mut chance)?;
///     trial.outcome(patient, arm.index() as u16, &mut chance)?;
/// }
/// trial.close(&mut chance);
/// println!("feature 0, arm 1 minus arm 0: {:?}", trial.estimate(0));
/// # assert!(trial.estimate(0).is_some() && trial.assign(0, None, &mut chance).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Trial<const M: usize = 64, const U: usize = 256> {
    plan: Plan,
    design: AnyDesign,
    phase: Phase,
    assigned: u32,
    looks: u8,
    /// Patients assigned at each planned look done.
    history: History,
    /// Count of the next look (resolved patients) or turn (assigned patients); [`NEVER`] when only
    /// the closing look is left.
    next_look: u32,
    /// Features whose noise for the next look is still to be drawn ahead; `None` if not yet known.
    lacking: Option<u64>,
    last: Last,
    given: Given,
    waiting: WaitingTable<U>,
    features: [AnyFeature; M],
    dirty: Dirty,
}

const NEVER: u32 = u32::MAX;

impl<const M: usize, const U: usize> Trial<M, U> {
    const CAPACITY: () = assert!(M >= 1 && M <= MAX_FEATURES as usize);

    /// Room for a trial, to be [restarted](Self::restart) before use. A board makes it in place,
    /// once, because the whole is too large to pass through the stack. All of it is zeros, so
    /// that it takes no room in the image.
    #[must_use]
    pub const fn vacant() -> Self {
        let () = Self::CAPACITY;
        Self {
            plan: Plan::NONE,
            design: AnyDesign::Conse(Conse),
            phase: Phase::Closed,
            assigned: 0,
            looks: 0,
            history: [Count::NONE; MAX_LOOKS],
            next_look: 0,
            lacking: None,
            last: Last::NONE,
            given: Given::NOTHING,
            waiting: WaitingTable::new(),
            features: [AnyFeature::VACANT; M],
            dirty: Dirty::NOTHING,
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
        self.design = AnyDesign::new(&plan);
        // A fixed trial measures from its first patient.
        self.phase =
            if plan.design() == DesignName::Uniform { Phase::Measure } else { Phase::Explore };
        (self.assigned, self.looks, self.last) = (0, 0, Last::NONE);
        self.history = [Count::NONE; MAX_LOOKS];
        self.given = Given::NOTHING;
        self.waiting.clear(plan.is_blinded());
        self.clear_features();
        let features = u64::MAX >> (u64::BITS - M as u32);
        self.dirty = Dirty::everything(U as u16, features);
        self.schedule();
        Ok(())
    }

    /// The features the plan has.
    fn used(&mut self) -> &mut [AnyFeature] {
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
        self.waiting.len()
    }
    /// Patients whose outcome was recorded or written off.
    #[must_use]
    pub fn resolved(&self) -> u32 {
        self.assigned.saturating_sub(self.waiting.len().into())
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
    /// The count of resolved patients at which the next planned look falls (for the paper's
    /// designs, of assigned patients at the turn); `None` when only the closing look is left.
    #[must_use]
    pub fn next_look(&self) -> Option<u32> {
        (self.phase != Phase::Closed && self.next_look != NEVER).then_some(self.next_look)
    }

    fn schedule(&mut self) {
        self.next_look = self.design.planned_look(&self.plan, self.looks).unwrap_or(NEVER);
        self.lacking = None;
    }

    /// The stored arm, if the last patient is `patient` and was assigned with this very tag.
    #[must_use]
    pub fn repeat(&self, patient: u32, tag: u32) -> Option<Arm> {
        self.last.arm.filter(|_| patient == self.assigned && self.last.tag == Some(tag))
    }

    /// Whether the last patient was assigned with a tag.
    #[must_use]
    pub fn is_tagged(&self) -> bool {
        self.last.tag.is_some()
    }

    /// Checks whether a patient of this feature can be assigned now.
    ///
    /// # Errors
    /// As [`Trial::assign`], but for `Fault`.
    #[inline]
    pub fn admits(&self, feature: u8) -> Result<(), TrialError> {
        if self.phase == Phase::Closed {
            Err(TrialError::Closed)
        } else if self.assigned >= self.plan.patients() {
            Err(TrialError::Complete)
        } else if feature >= self.plan.features() {
            Err(TrialError::Feature)
        } else if usize::from(self.waiting.len()) >= U {
            Err(TrialError::Full)
        } else {
            Ok(())
        }
    }

    /// Assigns the next patient, number [`Trial::assigned`] + 1.
    ///
    /// # Errors
    /// `Closed`, `Complete`, `Feature` or `Full`; `Fault` if memory is damaged.
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
        self.enrol(feature, tag, chance)
    }

    /// [`Self::assign`] when no look is due and the feature is [admitted](Self::admits).
    #[inline]
    pub(crate) fn enrol(
        &mut self,
        feature: u8,
        tag: Option<u32>,
        chance: &mut impl Chance,
    ) -> Result<Arm, TrialError> {
        let patient = self.assigned.saturating_add(1);
        let vacancy = self.waiting.vacancy(patient).ok_or(TrialError::Full)?;
        if self.turns_next() {
            self.do_planned(chance);
        }
        let state = self.features.get_mut(usize::from(feature)).ok_or(TrialError::Feature)?;
        let choice =
            self.design.choose(state, Half::of(self.phase), chance).ok_or(TrialError::Fault)?;
        self.assigned = patient;
        let slot = self.waiting.fill(vacancy, Waiting { patient, replaced: 0, feature, choice });
        self.last = Last { arm: Some(choice.arm), tag };
        self.dirty.mark_progress();
        self.dirty.mark_slot(slot);
        Ok(choice.arm)
    }

    /// Records the outcome of an assigned patient; a repeat is ignored.
    ///
    /// # Errors
    /// `Unknown` for a patient not yet assigned, `Range` for an outcome above the scale; `Fault` if
    /// memory is damaged.
    #[inline]
    pub fn outcome(
        &mut self,
        patient: u32,
        y: u16,
        chance: &mut impl Chance,
    ) -> Result<(), TrialError> {
        self.look_and_resolve(patient, Some(y), chance)
    }

    /// Writes off the outcome of an assigned patient; a repeat is ignored.
    ///
    /// # Errors
    /// `Unknown` for a patient not yet assigned; `Fault` if memory is damaged.
    pub fn lost(&mut self, patient: u32, chance: &mut impl Chance) -> Result<(), TrialError> {
        self.look_and_resolve(patient, None, chance)
    }

    #[inline]
    fn look_and_resolve(
        &mut self,
        patient: u32,
        y: Option<u16>,
        chance: &mut impl Chance,
    ) -> Result<(), TrialError> {
        self.can_resolve(patient, y)?;
        if self.look_due() {
            self.look(chance);
        }
        self.resolve_assigned(patient, y, chance)
    }

    #[inline]
    fn can_resolve(&self, patient: u32, y: Option<u16>) -> Result<(), TrialError> {
        if y.is_some_and(|y| y > self.plan.scale()) {
            Err(TrialError::Range)
        } else if patient == 0 || patient > self.assigned {
            Err(TrialError::Unknown)
        } else {
            Ok(())
        }
    }

    /// [`Self::outcome`], or with `None` [`Self::lost`], when no look is due.
    #[inline]
    pub(crate) fn resolve(
        &mut self,
        patient: u32,
        y: Option<u16>,
        chance: &mut impl Chance,
    ) -> Result<(), TrialError> {
        self.can_resolve(patient, y)?;
        self.resolve_assigned(patient, y, chance)
    }

    /// [`Self::resolve`] for a patient and an outcome that [can be](Self::can_resolve).
    #[inline]
    fn resolve_assigned(
        &mut self,
        patient: u32,
        y: Option<u16>,
        chance: &mut impl Chance,
    ) -> Result<(), TrialError> {
        let Some((slot, waiting)) = self.waiting.get(patient) else { return Ok(()) };
        // First what can fail, so that after a fault the patient still waits.
        self.record(waiting, y, chance)?;
        self.waiting.free(slot);
        self.dirty.mark_slot(slot);
        Ok(())
    }

    /// Folds an outcome, or its loss, into the state of its feature. After an error nothing has
    /// changed but marks, and to store what has not changed does no harm.
    #[inline]
    fn record(
        &mut self,
        waiting: Waiting,
        y: Option<u16>,
        chance: &mut impl Chance,
    ) -> Result<(), TrialError> {
        let Waiting { patient, feature, choice, .. } = waiting;
        let (half, has_looks) = (Half::of(self.phase), self.design.has_looks());
        // Marked for a loss, a late outcome and the last of a batch alike, so that storage cannot
        // tell them apart.
        self.dirty.mark_outcomes(bit(feature), !has_looks);
        if !has_looks && half == Half::Measure && patient <= self.plan.half() {
            return Ok(());
        }
        let state = self.features.get_mut(usize::from(feature)).ok_or(TrialError::Fault)?;
        let y = y.map(|y| self.plan.oriented(y));
        self.design.record(state, &self.plan, half, choice, y, chance).ok_or(TrialError::Fault)
    }

    fn feature(&self, feature: u8) -> Option<&AnyFeature> {
        let inside = feature < self.plan.features();
        self.features.get(usize::from(feature)).filter(|_| inside)
    }

    /// The measured effect of a feature, once there is one.
    #[must_use]
    pub fn estimate(&self, feature: u8) -> Option<Estimate> {
        let estimate = self.design.estimate(self.feature(feature)?, &self.plan)?;
        Some(if self.plan.better() == Better::Low { estimate.turned() } else { estimate })
    }
}

/// The mask of one feature.
const fn bit(feature: u8) -> u64 {
    1 << (feature & 63)
}
