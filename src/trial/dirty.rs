//! Which parts of the state an operation has changed.

use super::Part;

/// The parts an operation has changed, and an iterator over them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dirty {
    progress: bool,
    history: bool,
    /// From the first to before the second.
    slots: (u16, u16),
    tallies: u64,
    ledgers: u64,
}

impl Dirty {
    pub(super) const NOTHING: Self =
        Self { progress: false, history: false, slots: (0, 0), tallies: 0, ledgers: 0 };

    /// Everything in a trial with room for so many slots and for these features.
    pub(super) const fn everything(slots: u16, features: u64) -> Self {
        Self {
            progress: true,
            history: true,
            slots: (0, slots),
            tallies: features,
            ledgers: features,
        }
    }

    /// Whether nothing has changed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::NOTHING
    }

    /// Whether a look has changed [`Part::History`], which the iterator leaves out: the device
    /// keeps it with the plan.
    pub const fn has_history(&self) -> bool {
        self.history
    }

    /// Marks a part, or takes its mark away. (Slots are marked one by one with
    /// [`Self::mark_slot`].)
    pub(super) fn set(&mut self, part: Part, marked: bool) {
        let bit = |mask: u64, j: u8| (mask & !(1 << (j & 63))) | u64::from(marked) << (j & 63);
        match part {
            Part::Progress => self.progress = marked,
            Part::History => {}
            Part::Waiting(_) => {}
            Part::Tally(j) => self.tallies = bit(self.tallies, j),
            Part::Ledger(j) => self.ledgers = bit(self.ledgers, j),
        }
    }

    /// Marks all changes as stored.
    #[inline]
    pub(super) const fn clear(&mut self) {
        self.progress = false;
        self.slots = (0, 0);
        // Usually empty; and the Cortex-M0 has no wide stores.
        if self.tallies | self.ledgers != 0 {
            (self.tallies, self.ledgers) = (0, 0);
            self.history = false;
        }
    }

    #[inline]
    pub(super) const fn mark_progress(&mut self) {
        self.progress = true;
    }

    /// Marks this slot and no other: a request changes one at most.
    #[inline]
    pub(super) const fn mark_slot(&mut self, slot: u16) {
        self.slots = (slot, slot.saturating_add(1));
    }

    /// Marks the slots before `end`.
    pub(super) const fn mark_slots(&mut self, end: u16) {
        self.slots = (0, end);
    }

    /// Outcomes of these features were recorded or lost. `ledgers`: in a design that acts on every
    /// outcome.
    #[inline]
    pub(super) const fn mark_outcomes(&mut self, features: u64, ledgers: bool) {
        self.tallies |= features;
        if ledgers {
            self.ledgers |= features;
        }
    }

    /// Marks what a look or a turn changes: progress, history and both parts of these features.
    pub(super) const fn mark_features(&mut self, features: u64) {
        (self.progress, self.history) = (true, true);
        self.mark_outcomes(features, true);
    }
}

impl Iterator for Dirty {
    type Item = Part;

    // Saves 53 instructions of an `ASSIGN` on the Cortex-M0, and costs 1,020 bytes.
    #[inline(always)]
    fn next(&mut self) -> Option<Part> {
        if core::mem::take(&mut self.progress) {
            return Some(Part::Progress);
        }
        if self.slots.0 < self.slots.1 {
            self.slots.0 += 1;
            return Some(Part::Waiting(self.slots.0 - 1));
        }
        let (bits, part): (_, fn(u8) -> Part) = match (self.tallies, self.ledgers) {
            (0, 0) => return None,
            (0, _) => (&mut self.ledgers, Part::Ledger),
            _ => (&mut self.tallies, Part::Tally),
        };
        let feature = bits.trailing_zeros() as u8;
        *bits &= *bits - 1;
        Some(part(feature))
    }
}
