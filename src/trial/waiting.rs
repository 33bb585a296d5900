//! The table of patients whose outcome has not come.
//!
//! A slot is one word: patient number in 24 bits, feature in 6, the arm and the design's mark in
//! one bit each; patient 0 means free. A free slot is found before an arm is chosen ([`Vacancy`]),
//! so a full table refuses a patient and never overwrites one.

use crate::codec::Reader;
use crate::design::{Arm, Choice};
use crate::plan::{MAX_FEATURES, MAX_PATIENTS, Plan};

const PATIENT_BITS: u32 = 24;
const FEATURE_BITS: u32 = 6;
const ARM_BIT: u32 = PATIENT_BITS + FEATURE_BITS;
const MARK_BIT: u32 = ARM_BIT + 1;
const _: () = assert!(MAX_PATIENTS < 1 << PATIENT_BITS && MAX_FEATURES as u32 <= 1 << FEATURE_BITS);
const _: () = assert!(MARK_BIT + 1 == u32::BITS);

/// Bytes of a slot.
pub const WAITING_BYTES: usize = 4;

/// A patient whose outcome has not come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Waiting {
    pub patient: u32,
    pub feature: u8,
    pub choice: Choice,
}

/// A place for a waiting patient.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Slot(u32);

impl Slot {
    const FREE: Self = Self(0);

    #[inline]
    const fn new(w: Waiting) -> Self {
        let choice = (w.choice.arm.index() as u32) << ARM_BIT | (w.choice.mark as u32) << MARK_BIT;
        Self(w.patient | (w.feature as u32) << PATIENT_BITS | choice)
    }

    #[inline]
    const fn patient(self) -> u32 {
        self.0 & ((1 << PATIENT_BITS) - 1)
    }

    #[inline]
    const fn waiting(self) -> Waiting {
        let choice = Choice {
            arm: Arm::from_bit(self.0 >> ARM_BIT & 1 == 1),
            mark: self.0 >> MARK_BIT & 1 == 1,
        };
        let feature = (self.0 >> PATIENT_BITS) as u8 & (MAX_FEATURES - 1);
        Waiting { patient: self.patient(), feature, choice }
    }
}

/// A free slot.
pub(super) struct Vacancy(u16);

#[cfg(feature = "host")]
impl Vacancy {
    pub const fn slot(&self) -> u16 {
        self.0
    }
}

/// Up to `U` waiting patients.
#[derive(Clone, Debug)]
pub(super) struct WaitingTable<const U: usize> {
    slots: [Slot; U],
    len: u16,
}

impl<const U: usize> WaitingTable<U> {
    const CAPACITY: () = assert!(U >= 1 && U < u16::MAX as usize);

    pub const fn new() -> Self {
        let () = Self::CAPACITY;
        Self { slots: [Slot::FREE; U], len: 0 }
    }

    /// Forgets everybody, in place.
    pub fn clear(&mut self) {
        self.slots.iter_mut().for_each(|slot| *slot = Slot::FREE);
        self.len = 0;
    }

    pub const fn len(&self) -> u16 {
        self.len
    }

    /// The slot of a waiting patient, or for 0 a free one. Patients arrive and are resolved in
    /// about the same order, so it is mostly the slot of `near`, the patient it is or will be
    /// of.
    #[inline]
    fn find(&self, patient: u32, near: u32) -> Option<u16> {
        let start = near as usize % U;
        let is =
            |slot: &usize| self.slots.get(*slot).is_some_and(|entry| entry.patient() == patient);
        let found = if is(&start) { Some(start) } else { (start + 1..U).chain(0..start).find(is) };
        found.map(|slot| slot as u16)
    }

    /// A free slot for patient number `patient`; `None` if the table is full.
    #[inline]
    pub fn vacancy(&self, patient: u32) -> Option<Vacancy> {
        self.find(0, patient).map(Vacancy)
    }

    /// Puts a patient into a free slot; its number.
    #[inline]
    pub fn fill(&mut self, vacancy: Vacancy, waiting: Waiting) -> u16 {
        if let Some(slot) = self.slots.get_mut(usize::from(vacancy.0)) {
            *slot = Slot::new(waiting);
            self.len = self.len.saturating_add(1);
        }
        vacancy.0
    }

    /// Takes a patient out; the slot and who waited there.
    #[inline]
    pub fn take(&mut self, patient: u32) -> Option<(u16, Waiting)> {
        let slot = self.find(patient, patient)?;
        self.empty(slot).map(|waiting| (slot, waiting))
    }

    /// Empties a slot; who waited there, if anybody.
    #[inline]
    pub fn empty(&mut self, slot: u16) -> Option<Waiting> {
        let entry = core::mem::replace(self.slots.get_mut(usize::from(slot))?, Slot::FREE);
        (entry.patient() != 0).then(|| {
            self.len = self.len.saturating_sub(1);
            entry.waiting()
        })
    }

    /// Whether nobody waits in a slot.
    pub fn is_free(&self, slot: u16) -> bool {
        self.slots.get(usize::from(slot)).is_none_or(|entry| entry.patient() == 0)
    }

    /// How many patients of a feature with a number above `above` wait.
    pub fn count(&self, feature: u8, above: u32) -> u32 {
        let waits = |slot: &&Slot| slot.patient() > above && slot.waiting().feature == feature;
        self.slots.iter().filter(waits).count() as u32
    }

    pub fn encode(&self, slot: u16) -> [u8; WAITING_BYTES] {
        let entry = self.slots.get(usize::from(slot)).copied().unwrap_or(Slot::FREE);
        entry.0.to_le_bytes()
    }

    /// Takes a slot back from its bytes; `None` if they cannot be one under this plan.
    pub fn decode(&mut self, slot: u16, plan: &Plan, mut bytes: Reader<'_>) -> Option<()> {
        let entry = Slot(u32::from_le_bytes(bytes.take()?));
        if entry.patient() > plan.patients() || entry.waiting().feature >= plan.features() {
            return None;
        }
        self.empty(slot);
        if entry.patient() != 0 {
            self.fill(Vacancy(slot), entry.waiting());
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting(patient: u32) -> Waiting {
        let choice =
            Choice { arm: Arm::from_bit(patient % 2 == 1), mark: patient.is_multiple_of(3) };
        Waiting { patient, feature: (patient % 64) as u8, choice }
    }

    /// The largest patient number and feature survive the packing.
    #[test]
    fn a_slot_holds_every_patient() {
        for patient in [1, 2, 63, MAX_PATIENTS - 1, MAX_PATIENTS] {
            assert_eq!(Slot::new(waiting(patient)).waiting(), waiting(patient));
        }
    }

    /// A full table has no vacancy, and nobody in it is lost.
    #[test]
    fn a_full_table_has_no_vacancy() {
        let mut table = WaitingTable::<3>::new();
        for patient in [5, 8, 11] {
            let vacancy = table.vacancy(patient).unwrap();
            table.fill(vacancy, waiting(patient));
        }
        assert!(table.vacancy(12).is_none());
        assert_eq!(table.len(), 3);
        for patient in [8, 5, 11] {
            assert_eq!(table.take(patient).unwrap().1, waiting(patient));
            assert!(table.take(patient).is_none());
        }
        assert_eq!(table.len(), 0);
    }
}
