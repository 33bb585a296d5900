//! The kits of a blinded trial: how many of each arm were given, and the last ones, to answer a
//! repeated request.
//!
//! **Which kit.** The `i`-th kit of an arm goes to the `i`-th patient or replacement of that arm
//! ([`crate::kits`]). Counting patients, replacements and kits of arm 1 is enough to know `i`.
//!
//! **Enough kits.** A plan has a kit of each arm for every patient, and what it has beyond that is
//! the reserve for replacements. So `ASSIGN` is never refused for want of a kit, and a replacement
//! is refused at a public count, whatever the arms were.

use super::waiting::MAX_REPLACEMENTS;
use super::{Phase, Trial};
use crate::codec::Reader;
use crate::terms::{Arm, MAX_KITS, NoKit};

/// Bytes that [`super::Part::Progress`] has more in a blinded trial.
pub(super) const KITS_BYTES: usize = 20;

/// Kits given so far. All zeros in a trial that is not blinded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Given {
    /// Kits of arm 1.
    ones: u32,
    /// Replacements.
    replaced: u32,
    /// The last patient's first kit.
    last: u32,
    /// The last replacement: its [`name`], and the kit.
    replacement: (u32, u32),
}

/// A patient and which of their replacements, in one word. 0 is none.
const fn name(patient: u32, count: u32) -> u32 {
    patient << 2 | count
}

impl Given {
    pub const NOTHING: Self = Self { ones: 0, replaced: 0, last: 0, replacement: (0, 0) };

    /// The words that are stored.
    pub fn words(&self) -> [u32; KITS_BYTES / 4] {
        let (name, kit) = self.replacement;
        [self.ones, self.replaced, self.last, name, kit]
    }

    pub fn decode(bytes: &mut Reader<'_>) -> Option<Self> {
        let mut words = [0; KITS_BYTES / 4];
        for word in &mut words {
            *word = u32::from_le_bytes(bytes.take()?);
        }
        let [ones, replaced, last, name, kit] = words;
        Some(Self { ones, replaced, last, replacement: (name, kit) })
    }
}

impl<const M: usize, const U: usize> Trial<M, U> {
    /// Replacements given so far.
    #[must_use]
    pub const fn replaced(&self) -> u32 {
        self.given.replaced
    }

    /// Kits given so far, of both arms.
    const fn kits_given(&self) -> u32 {
        self.assigned.saturating_add(self.given.replaced)
    }

    /// Whether another kit may be given.
    #[must_use]
    pub fn wants_kits(&self) -> bool {
        self.phase != Phase::Closed && self.kits_given() < self.plan.kits()
    }

    /// Whether the counts can be those of this plan.
    pub(super) fn kits_are_good(&self) -> bool {
        let reserve = self.plan.kits().saturating_sub(self.plan.patients());
        self.given.ones <= self.kits_given() && self.given.replaced <= reserve
    }

    /// The place in its arm's order of the next kit of this arm.
    #[must_use]
    pub fn next_kit(&self, arm: Arm) -> u32 {
        let ones = self.given.ones;
        arm.of([self.kits_given().saturating_sub(ones), ones])
    }

    /// The patient just assigned to this arm gets this kit.
    pub fn give_kit(&mut self, arm: Arm, kit: u32) {
        self.given.ones = self.given.ones.saturating_add(arm.index() as u32);
        self.given.last = kit;
    }

    /// The kit that the last patient got when assigned.
    #[must_use]
    pub const fn last_kit(&self) -> u32 {
        self.given.last
    }

    /// The kit of this replacement, if it was the last one given.
    #[must_use]
    pub fn repeat_replacement(&self, patient: u32, count: u32) -> Option<u32> {
        let (last, kit) = self.given.replacement;
        let possible = patient <= MAX_KITS && (1..=MAX_REPLACEMENTS.into()).contains(&count);
        (possible && last == name(patient, count)).then_some(kit)
    }

    /// The arm of which this patient may be given replacement number `count`, from 1.
    ///
    /// # Errors
    /// Why not.
    pub fn replaces(&self, patient: u32, count: u32) -> Result<Arm, NoKit> {
        if !self.plan.is_blinded() {
            return Err(NoKit::Open);
        }
        if patient == 0 || patient > self.assigned {
            return Err(NoKit::Unknown);
        }
        if self.phase == Phase::Closed {
            return Err(NoKit::Closed);
        }
        let (_, waiting) = self.waiting.get(patient).ok_or(NoKit::Resolved)?;
        if waiting.replaced >= MAX_REPLACEMENTS {
            return Err(NoKit::Most);
        }
        let next = waiting.replaced + 1;
        if count != u32::from(next) {
            return Err(NoKit::Order(next));
        }
        if self.given.replaced >= self.plan.kits().saturating_sub(self.plan.patients()) {
            return Err(NoKit::Reserve);
        }
        Ok(waiting.choice.arm)
    }

    /// Gives this kit to a patient who [may have it](Self::replaces).
    ///
    /// # Errors
    /// [`NoKit::Resolved`] for a patient who does not wait or has had as many as there may be;
    /// nobody may be given the kit then.
    pub fn replace(&mut self, patient: u32, arm: Arm, kit: u32) -> Result<(), NoKit> {
        let (slot, count) = self.waiting.count_replacement(patient).ok_or(NoKit::Resolved)?;
        self.given.ones = self.given.ones.saturating_add(arm.index() as u32);
        self.given.replaced = self.given.replaced.saturating_add(1);
        self.given.replacement = (name(patient, count.into()), kit);
        self.dirty.mark_progress();
        self.dirty.mark_slot(slot);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Plan;

    /// Counts of kits that no trial can have are not taken for a state: more of an arm than were
    /// given, or more replacements than the reserve.
    #[test]
    fn impossible_counts_are_refused() {
        let plan = Plan::parse("features=1 patients=6 better=high epsilon=1 kits=8").unwrap();
        let read_back = |ones, replaced| {
            let mut trial = Trial::<1, 4>::new(plan).unwrap();
            trial.assigned = 3;
            trial.given = Given { ones, replaced, ..Given::NOTHING };
            let mut bytes = vec![0; Trial::<1, 4>::STATE_BYTES];
            trial.encode(&mut bytes).unwrap();
            Trial::<1, 4>::decode(&bytes).map(|trial| (trial.given.ones, trial.given.replaced))
        };
        for (ones, replaced) in [(0, 0), (3, 0), (5, 2)] {
            assert_eq!(read_back(ones, replaced), Some((ones, replaced)));
        }
        for (ones, replaced) in [(4, 0), (6, 2), (0, 3), (u32::MAX, 0), (0, u32::MAX)] {
            assert_eq!(read_back(ones, replaced), None, "{ones} of arm 1, {replaced} replaced");
        }
    }
}
