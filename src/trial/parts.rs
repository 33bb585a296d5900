//! The state of a trial as bytes.
//!
//! The state is a fixed set of [`Part`]s of fixed size, so that a journal can write what an
//! operation changed and nothing else.
//!
//! A tally holds sums of outcomes (in `interim` noise is added to them ahead of the look); two
//! tallies in a row reveal an outcome, so a superseded tally must be wiped from storage.

use super::kits::{Given, KITS_BYTES};
use super::waiting::WAITING_BYTES;
use super::{Dirty, Last, Phase, Plan, Trial, TrialError};
use crate::codec::{Reader, Writer};
use crate::design::{Count, History, LEDGER_BYTES, TALLY_BYTES};
use crate::terms::{arm_byte, arm_from_byte};

/// Version of the byte form.
pub const STATE_VERSION: u8 = 4;
/// Bytes of [`Part::Progress`] in a trial that is not blinded.
const PROGRESS_BYTES: usize = 12;
/// Bytes of [`Part::Progress`] in a blinded trial.
pub(super) const BLINDED_PROGRESS_BYTES: usize = PROGRESS_BYTES + KITS_BYTES;
/// Bytes of [`Part::History`].
pub(crate) const HISTORY_BYTES: usize = size_of::<History>();
/// Bytes of the largest part.
pub const MAX_PART_BYTES: usize = {
    let feature = if TALLY_BYTES > LEDGER_BYTES { TALLY_BYTES } else { LEDGER_BYTES };
    if feature > HISTORY_BYTES { feature } else { HISTORY_BYTES }
};

/// A piece of the state that is stored on its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Counts, phase, and the last patient's arm and tag.
    Progress,
    /// Patients assigned at each planned look.
    History,
    /// A slot of the table of waiting patients.
    Waiting(u16),
    /// State that changes with every outcome of a feature.
    Tally(u8),
    /// State that changes at looks and batch ends of a feature.
    Ledger(u8),
}

impl<const M: usize, const U: usize> Trial<M, U> {
    /// Takes the plan of a trial whose history is to be decoded next.
    ///
    /// # Errors
    /// As [`Self::restart`].
    pub(crate) fn take_plan(&mut self, plan: Plan) -> Result<(), TrialError> {
        self.plan = plan;
        if usize::from(plan.features()) > M { Err(TrialError::Capacity) } else { Ok(()) }
    }

    /// [`Self::restart`] with the plan and the history that were decoded.
    pub(crate) fn restart_decoded(&mut self) {
        let history = self.history;
        // The plan has room: it was taken.
        let _ = self.restart(self.plan);
        self.history = history;
    }

    /// Makes every feature one without patients.
    // Not inlined: a copy of a feature on the stack of the mount is too much for the v1.
    #[inline(never)]
    pub(super) fn clear_features(&mut self) {
        let fresh = self.design.feature();
        self.features.iter_mut().for_each(|feature| *feature = fresh);
    }

    /// Changes since the last [`Self::mark_clean`].
    pub(crate) const fn dirty(&self) -> Dirty {
        self.dirty
    }
    /// While the state is taken back from storage, "changed" means that a part was found absent.
    pub(crate) fn mark_absent(&mut self, part: Part, absent: bool) {
        self.dirty.set(part, absent);
    }
    /// Marks all changes as stored.
    pub(crate) fn mark_clean(&mut self) {
        self.dirty.clear();
    }

    /// Bytes of a part under this plan.
    pub(crate) fn length(&self, part: Part) -> usize {
        match part {
            Part::Progress if self.plan.is_blinded() => BLINDED_PROGRESS_BYTES,
            Part::Progress => PROGRESS_BYTES,
            Part::History => HISTORY_BYTES,
            Part::Waiting(_) => WAITING_BYTES,
            Part::Tally(_) => self.design.tally_bytes(),
            Part::Ledger(_) => self.design.ledger_bytes(),
        }
    }

    /// Whether nobody waits in this slot.
    pub(crate) fn is_free(&self, slot: u16) -> bool {
        self.waiting.is_free(slot)
    }

    /// Writes a part into `out`, which has room for it; its length. Bytes behind it stay as they
    /// are.
    pub(crate) fn encode_part(&self, part: Part, out: &mut [u8]) -> usize {
        match part {
            Part::Progress => {
                let mut out = Writer(out);
                self.progress_words(|word| out.put(&word.to_le_bytes()));
                self.length(part)
            }
            Part::History => {
                let mut out = Writer(out);
                self.history.iter().for_each(|assigned| out.put(&assigned.0));
                HISTORY_BYTES
            }
            Part::Waiting(slot) => {
                Writer(out).put(&self.waiting_word(slot).to_le_bytes());
                WAITING_BYTES
            }
            Part::Tally(j) => {
                if let Some(feature) = self.features.get(usize::from(j)) {
                    let waiting = if self.design.has_looks() { 0 } else { self.waiting_of(j) };
                    // Only in damaged memory is a feature of another design, and then the device
                    // stores nothing: changes of the feature fail, and so does `is_sound`.
                    let _ = self.design.encode_tally(feature, waiting, out);
                }
                self.length(part)
            }
            Part::Ledger(j) => {
                if let Some(feature) = self.features.get(usize::from(j)) {
                    let _ = self.design.encode_ledger(feature, out);
                }
                self.length(part)
            }
        }
    }

    /// The words of [`Part::Progress`], one by one.
    pub(crate) fn progress_words(&self, mut put: impl FnMut(u32)) {
        let Last { arm, tag } = self.last;
        let tagged = u8::from(tag.is_some());
        put(u32::from_le_bytes([self.phase as u8, self.looks, arm_byte(arm), tagged]));
        put(self.assigned);
        put(tag.unwrap_or(0));
        if self.plan.is_blinded() {
            self.given.words().into_iter().for_each(put);
        }
    }

    /// The word of [`Part::Waiting`].
    pub(crate) fn waiting_word(&self, slot: u16) -> u32 {
        self.waiting.word(slot)
    }

    /// Takes a part back, in any order, into a trial made with the same plan. `None` if it cannot
    /// be one.
    #[must_use]
    pub(crate) fn decode_part(&mut self, part: Part, bytes: &[u8]) -> Option<()> {
        let mut bytes = Reader(bytes);
        match part {
            Part::Progress => {
                let [phase, looks, arm, tagged] = bytes.take()?;
                self.phase =
                    *[Phase::Closed, Phase::Explore, Phase::Measure].get(usize::from(phase))?;
                self.looks = looks;
                self.assigned = u32::from_le_bytes(bytes.take()?);
                if self.assigned > self.plan.patients() {
                    return None;
                }
                let tag = u32::from_le_bytes(bytes.take()?);
                self.last = Last { arm: arm_from_byte(arm)?, tag: (tagged == 1).then_some(tag) };
                self.schedule();
                if self.plan.is_blinded() {
                    self.given = Given::decode(&mut bytes)?;
                    return self.kits_are_good().then_some(());
                }
                Some(())
            }
            Part::History => {
                for assigned in &mut self.history {
                    *assigned = Count(bytes.take()?);
                }
                let patients = self.plan.patients();
                self.history.iter().all(|assigned| assigned.get() <= patients).then_some(())
            }
            Part::Waiting(slot) => self.waiting.decode(slot, &self.plan, bytes),
            Part::Tally(j) => {
                self.design.decode_tally(self.features.get_mut(usize::from(j))?, bytes.0)
            }
            Part::Ledger(j) => {
                self.design.decode_ledger(self.features.get_mut(usize::from(j))?, bytes.0)
            }
        }
    }

    /// Whether every feature is of the trial's design. If not, memory is damaged. To be asked
    /// before a look, which deals with all features at once and leaves out others.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.features.iter().all(|feature| self.design.holds(feature))
    }

    /// How many patients of this half and this feature wait.
    fn waiting_of(&self, feature: u8) -> u32 {
        let before = if self.phase == Phase::Explore { 0 } else { self.plan.half() };
        self.waiting.count(feature, before)
    }

    /// To be called once, when all parts have been taken back: adds who waits to the features'
    /// counts.
    pub(crate) fn recount(&mut self) {
        for j in 0..self.plan.features() {
            let waiting = self.waiting_of(j);
            if let Some(feature) = self.features.get_mut(usize::from(j)) {
                self.design.count_waiting(feature, waiting);
            }
        }
    }
}
