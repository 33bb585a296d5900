//! The durable state of the device, as the journal keeps it: custody, the plan with its trial's
//! name, and the trial.
//!
//! ```text
//! key 0            custody                 62 bytes
//! key 1            version, id, file, plan 57 bytes, patients assigned at each look 78 bytes;
//!                  absent on a blank device
//! key 2            the trial's progress
//! then M times     tally                   wiped when superseded: two in a row reveal an outcome
//!                  ledger
//! then U times     waiting patient         wiped likewise: it holds a feature and an arm
//! ```
//! A trial's parts are absent while there is no trial, and so are waiting entries without a patient
//! and features that the plan does not have: who waits and how many features there are is public.
//! Beginning and erasing a trial writes them all. They can be read only by a trial made from the
//! plan, which may come anywhere in the log, so values are read in two passes: first the plan, then
//! the rest. Erasing a trial leaves none of its values on flash, so an older value is of the same
//! trial, or absent. Missing parts are detected after all values are read
//! ([`DeviceState::finish`]).
//!
//! # Version
//! The plan's first byte is [`STATE_VERSION`], the version of what all the other parts mean. If the
//! version is another one, the second pass stops at its first value. The mount then fails before it
//! repairs anything, so that the firmware that wrote the flash can still read it
//! ([`DeviceState::foreign`]).

use super::custodian::{CUSTODY_BYTES, Custody};
use super::kits::Prepared;
use crate::codec::{Reader, Writer};
use crate::journal::{BadPart, MAX_KEYS, MAX_LONG_KEYS, MAX_PART, MAX_SHORT_PART, Parts, Place};
use crate::plan::{PLAN_BYTES, Plan};
use crate::trial::{
    Dirty, HISTORY_BYTES, MAX_PART_BYTES, Part, STATE_VERSION, Trial, TrialError, WAITING_BYTES,
};
use crate::wire::{FileDigest, TrialId, TrialName};

const CUSTODY: u16 = 0;
const PLAN: u16 = 1;
const PROGRESS: u16 = 2;
const TALLIES: u16 = 3;
const PLAN_PART_BYTES: usize = 1 + size_of::<TrialName>() + PLAN_BYTES + HISTORY_BYTES;

const _: () =
    assert!(MAX_PART_BYTES <= MAX_PART && CUSTODY_BYTES <= MAX_PART && PLAN_PART_BYTES <= MAX_PART);
const _: () = assert!(WAITING_BYTES <= MAX_SHORT_PART);

/// The journal's RAM, for the secret parts.
#[derive(Clone, Debug)]
struct Places<const M: usize, const U: usize> {
    custody: Place,
    tallies: [Place; M],
    waiting: [Place; U],
}

/// All durable state, with room for `M` features and `U` waiting patients.
#[derive(Clone, Debug)]
pub struct DeviceState<const M: usize = 64, const U: usize = 256> {
    custody: Custody,
    /// Which trial, if there is one.
    name: Option<TrialName>,
    /// Never moved: it is too large for the stack of a board.
    pub(super) trial: Trial<M, U>,
    /// Kits made ready for a blinded trial.
    pub(super) prepared: Prepared,
    /// Custody has changed.
    custody_dirty: bool,
    /// A trial has begun or ended.
    all_dirty: bool,
    /// The version of a plan written by another firmware.
    foreign: Option<u8>,
    places: Places<M, U>,
    /// The first pass of reading, which takes the plan only.
    seeking_plan: bool,
}

impl<const M: usize, const U: usize> DeviceState<M, U> {
    const COUNT: u16 = {
        let count = TALLIES as usize + 2 * M + U;
        assert!(count <= MAX_KEYS as usize && Self::WAITING <= MAX_LONG_KEYS && M <= 64);
        count as u16
    };
    const WAITING: u16 = TALLIES + 2 * M as u16;

    /// The state of a device fresh from the factory.
    #[allow(
        clippy::declare_interior_mutable_const,
        reason = "a start value, copied into its place once"
    )]
    pub const BLANK: Self = Self {
        custody: Custody::NEW,
        name: None,
        trial: Trial::vacant(),
        prepared: Prepared::NONE,
        custody_dirty: false,
        all_dirty: false,
        foreign: None,
        places: Places {
            custody: Place::NEW,
            tallies: [const { Place::NEW }; M],
            waiting: [const { Place::NEW }; U],
        },
        seeking_plan: false,
    };

    /// Back to [`Self::BLANK`], in place.
    pub(super) fn clear(&mut self) {
        self.custody = Custody::NEW;
        self.forget();
        (self.custody_dirty, self.all_dirty, self.seeking_plan) = (false, false, false);
    }

    /// Everything has been read from flash, which is not a change. Whether it is complete.
    pub(super) fn finish(&mut self) -> bool {
        self.trial.recount();
        // Parts found absent are marked as changed.
        let complete = self.name.is_none() || self.trial.dirty().is_empty();
        self.mark_clean();
        self.start_kits();
        complete
    }

    /// The version of what is on flash, if another firmware wrote it.
    pub(super) const fn foreign(&self) -> Option<u8> {
        self.foreign
    }

    pub(super) const fn custody(&self) -> &Custody {
        &self.custody
    }

    pub(super) fn custody_mut(&mut self) -> &mut Custody {
        self.custody_dirty = true;
        &mut self.custody
    }

    /// Which trial, on a device that has one.
    pub(super) const fn name(&self) -> Option<TrialName> {
        self.name
    }

    pub(super) fn trial(&self) -> Option<&Trial<M, U>> {
        self.name.map(|_| &self.trial)
    }

    pub(super) fn trial_mut(&mut self) -> Option<&mut Trial<M, U>> {
        self.name.map(|_| &mut self.trial)
    }

    /// Begins a trial.
    ///
    /// # Errors
    /// [`TrialError::Capacity`]; nothing has changed.
    pub(super) fn begin(&mut self, name: TrialName, plan: Plan) -> Result<(), TrialError> {
        self.trial.restart(plan)?;
        self.name = Some(name);
        self.all_dirty = true;
        self.start_kits();
        Ok(())
    }

    /// Forgets the trial, on flash too.
    pub(super) fn erase(&mut self) {
        self.forget();
        self.all_dirty = true;
    }

    fn forget(&mut self) {
        (self.name, self.foreign) = (None, None);
        self.prepared = Prepared::NONE;
        // The smallest plan fits every room.
        let _ = self.trial.restart(Plan::LEAST);
    }

    /// The keys of what has changed since [`Self::mark_clean`].
    pub(super) fn dirty(&self) -> impl Iterator<Item = u16> + Clone + use<M, U> {
        let first = if self.custody_dirty { CUSTODY } else { PLAN };
        // A look has a place in the plan's part.
        let own = PLAN + u16::from(self.trial.dirty().has_history());
        let mut keys = first..if self.all_dirty { Self::COUNT } else { own };
        let mut parts = if self.all_dirty { Dirty::default() } else { self.trial.dirty() };
        core::iter::from_fn(move || keys.next().or_else(|| parts.next().map(Self::key)))
    }

    /// Marks all changes as durable.
    pub(super) fn mark_clean(&mut self) {
        (self.custody_dirty, self.all_dirty) = (false, false);
        self.trial.mark_clean();
    }

    /// The key of a part of the trial.
    fn key(part: Part) -> u16 {
        match part {
            Part::Progress => PROGRESS,
            Part::History => PLAN,
            Part::Waiting(slot) => Self::WAITING + slot,
            Part::Tally(j) => TALLIES + 2 * u16::from(j),
            Part::Ledger(j) => TALLIES + 2 * u16::from(j) + 1,
        }
    }

    /// The part of the trial behind a key.
    const fn part(key: u16) -> Part {
        if key >= Self::WAITING {
            return Part::Waiting(key - Self::WAITING);
        }
        match key.checked_sub(TALLIES) {
            None => Part::Progress,
            Some(index) if index.is_multiple_of(2) => Part::Tally((index / 2) as u8),
            Some(index) => Part::Ledger((index / 2) as u8),
        }
    }

    /// Reads the plan's part; the trial begins anew after this pass ([`Self::begin_decoded`]).
    fn decode_plan(&mut self, bytes: &[u8]) -> Option<()> {
        (self.name, self.foreign) = (None, None);
        if bytes.is_empty() {
            return Some(());
        }
        let mut bytes = Reader(bytes);
        let [version] = bytes.take()?;
        if version != STATE_VERSION {
            self.foreign = Some(version);
            return Some(());
        }
        let name = TrialName { id: TrialId(bytes.take()?), file: FileDigest(bytes.take()?) };
        self.trial.take_plan(Plan::decode(&bytes.take()?)?).ok()?;
        self.trial.decode_part(Part::History, bytes.0)?;
        self.name = Some(name);
        Some(())
    }

    /// Makes the trial of the plan that was read, or none. (Between the passes: while a value is
    /// read the stack of the v1 has no room for it.)
    #[inline(never)]
    fn begin_decoded(&mut self) {
        if self.name.is_some() {
            self.trial.restart_decoded();
        } else {
            let foreign = self.foreign;
            self.forget();
            self.foreign = foreign;
        }
        self.trial.mark_clean();
    }
}

impl<const M: usize, const U: usize> Parts for DeviceState<M, U> {
    fn count(&self) -> u16 {
        Self::COUNT
    }

    fn encode(&self, key: u16, out: &mut [u8]) {
        match (key, self.name) {
            (CUSTODY, _) => Writer(out).put(&self.custody.encode()),
            (_, None) => {}
            (PLAN, Some(name)) => {
                let mut out = Writer(out);
                out.put(&[STATE_VERSION]);
                out.put(&name.id.0);
                out.put(&name.file.0);
                out.put(&self.trial.plan().encode());
                self.trial.encode_part(Part::History, out.0);
            }
            (_, Some(_)) => {
                self.trial.encode_part(Self::part(key), out);
            }
        }
    }

    fn encode_words(&self, key: u16, mut put: impl FnMut(u32)) -> bool {
        if self.name.is_none() {
            return false;
        }
        if let Some(slot) = key.checked_sub(Self::WAITING) {
            put(self.trial.waiting_word(slot));
            return true;
        }
        if key == PROGRESS {
            self.trial.progress_words(put);
        }
        key == PROGRESS
    }

    fn length(&self, key: u16) -> usize {
        match key {
            CUSTODY => CUSTODY_BYTES,
            _ if self.name.is_none() => 0,
            _ if key >= Self::WAITING => {
                if self.trial.is_free(key - Self::WAITING) {
                    0
                } else {
                    WAITING_BYTES
                }
            }
            PLAN => PLAN_PART_BYTES,
            PROGRESS => self.trial.length(Part::Progress),
            _ => match Self::part(key) {
                Part::Tally(j) | Part::Ledger(j) if j >= self.trial.plan().features() => 0,
                part => self.trial.length(part),
            },
        }
    }

    fn longest(&self, key: u16) -> usize {
        if self.name.is_some() && key >= Self::WAITING { WAITING_BYTES } else { self.length(key) }
    }

    fn another_pass(&mut self, done: u8) -> bool {
        self.seeking_plan = done == 0;
        if done == 1 {
            self.begin_decoded();
        }
        done < 2
    }

    fn decode(&mut self, key: u16, bytes: &[u8]) -> Result<(), BadPart> {
        if !self.seeking_plan && self.foreign.is_some() {
            return Err(BadPart);
        }
        if self.seeking_plan != (key == PLAN) {
            return Ok(());
        }
        match (key, self.name) {
            (CUSTODY, _) => Custody::decode(bytes).map(|custody| self.custody = custody),
            (PLAN, _) => self.decode_plan(bytes),
            (_, None) => Some(()),
            (_, Some(_)) => match (Self::part(key), bytes) {
                (part @ Part::Waiting(_), []) => self.trial.decode_part(part, &[0; WAITING_BYTES]),
                (Part::Tally(j) | Part::Ledger(j), []) if j >= self.trial.plan().features() => {
                    Some(())
                }
                (part, _) => {
                    self.trial.mark_absent(part, bytes.is_empty());
                    if bytes.is_empty() { Some(()) } else { self.trial.decode_part(part, bytes) }
                }
            },
        }
        .ok_or(BadPart)
    }

    fn secret(&self, key: u16) -> Option<&Place> {
        // (By the key: through `Self::part` it takes half as long again on the Cortex-M0.)
        if let Some(slot) = key.checked_sub(Self::WAITING) {
            return self.places.waiting.get(usize::from(slot));
        }
        match key.checked_sub(TALLIES) {
            Some(index) if index.is_multiple_of(2) => {
                self.places.tallies.get(usize::from(index / 2))
            }
            None if key == CUSTODY => Some(&self.places.custody),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
