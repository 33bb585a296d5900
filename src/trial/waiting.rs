//! The table of patients whose outcome has not come.
//!
//! A slot is one word: patient number in 24 bits, feature in 6, the arm and the design's mark in
//! one bit each; patient 0 means free. In a blinded trial the patient number has 22 bits, which is
//! enough for its kits, and the two bits above count the patient's replacement kits. A free slot is
//! found before an arm is chosen ([`Vacancy`]), so a full table refuses a patient and never
//! overwrites one.

use crate::codec::Reader;
use crate::design::Choice;
use crate::plan::Plan;
use crate::terms::Arm;
use crate::terms::MAX_KITS;
use crate::terms::{MAX_FEATURES, MAX_PATIENTS};

const PATIENT_BITS: u32 = 24;
const FEATURE_BITS: u32 = 6;
const ARM_BIT: u32 = PATIENT_BITS + FEATURE_BITS;
const MARK_BIT: u32 = ARM_BIT + 1;
const _: () = assert!(MAX_PATIENTS < 1 << PATIENT_BITS && MAX_FEATURES as u32 <= 1 << FEATURE_BITS);
const _: () = assert!(MARK_BIT + 1 == u32::BITS);

/// Most replacement kits of a patient.
pub const MAX_REPLACEMENTS: u8 = (1 << COUNT_BITS) - 1;

/// Bits of the patient number that count replacements in a blinded trial.
const COUNT_BITS: u32 = 2;
const COUNT_BIT: u32 = PATIENT_BITS - COUNT_BITS;
const _: () = assert!(MAX_KITS < 1 << COUNT_BIT);

/// Bytes of a slot.
pub const WAITING_BYTES: usize = 4;

/// A patient whose outcome has not come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Waiting {
    pub patient: u32,
    /// Replacement kits given to the patient.
    pub replaced: u8,
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
        let patient = w.patient | (w.replaced as u32) << COUNT_BIT;
        Self(patient | (w.feature as u32) << PATIENT_BITS | choice)
    }

    /// Who waits, by the bits that hold the number.
    #[inline]
    const fn patient(self, numbers: u32) -> u32 {
        self.0 & numbers
    }

    #[inline]
    const fn waiting(self, numbers: u32) -> Waiting {
        let choice = Choice {
            arm: Arm::from_bit(self.0 >> ARM_BIT & 1 == 1),
            mark: self.0 >> MARK_BIT & 1 == 1,
        };
        let feature = (self.0 >> PATIENT_BITS) as u8 & (MAX_FEATURES - 1);
        let replaced = (self.0 & !numbers) >> COUNT_BIT & MAX_REPLACEMENTS as u32;
        Waiting { patient: self.patient(numbers), replaced: replaced as u8, feature, choice }
    }
}

/// A free slot.
pub(super) struct Vacancy(u16);

#[cfg(feature = "std")]
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
    /// Bits of a patient number that count replacements.
    count_bits: u8,
}

impl<const U: usize> WaitingTable<U> {
    const CAPACITY: () = assert!(U >= 1 && U < u16::MAX as usize);

    pub const fn new() -> Self {
        let () = Self::CAPACITY;
        Self { slots: [Slot::FREE; U], len: 0, count_bits: 0 }
    }

    /// Forgets everybody, in place.
    pub fn clear(&mut self, blinded: bool) {
        self.slots.iter_mut().for_each(|slot| *slot = Slot::FREE);
        self.len = 0;
        self.count_bits = if blinded { COUNT_BITS as u8 } else { 0 };
    }

    /// The bits of a slot that hold the patient's number.
    #[inline]
    fn numbers(&self) -> u32 {
        ((1 << PATIENT_BITS) - 1) >> (self.count_bits & 3)
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
        let numbers = self.numbers();
        let is = |slot: &usize| {
            self.slots.get(*slot).is_some_and(|entry| entry.patient(numbers) == patient)
        };
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

    /// The slot of a waiting patient, and who waits there.
    #[inline]
    pub fn get(&self, patient: u32) -> Option<(u16, Waiting)> {
        let slot = self.find(patient, patient)?;
        self.slots.get(usize::from(slot)).map(|entry| (slot, entry.waiting(self.numbers())))
    }

    /// Counts one more replacement of a patient; the slot, and how many there are now. `None` if
    /// the patient does not wait or had as many as there may be.
    pub fn count_replacement(&mut self, patient: u32) -> Option<(u16, u8)> {
        // 0 is in every free slot.
        let slot = self.find(patient, patient).filter(|_| patient != 0)?;
        let numbers = self.numbers();
        let entry = self.slots.get_mut(usize::from(slot))?;
        let waiting = entry.waiting(numbers);
        let replaced = waiting.replaced + 1;
        (replaced <= MAX_REPLACEMENTS).then(|| {
            *entry = Slot::new(Waiting { replaced, ..waiting });
            (slot, replaced)
        })
    }

    /// Empties a slot in which somebody waits.
    #[inline]
    pub fn free(&mut self, slot: u16) {
        if let Some(entry) = self.slots.get_mut(usize::from(slot)) {
            *entry = Slot::FREE;
            self.len = self.len.saturating_sub(1);
        }
    }

    /// Empties a slot; who waited there, if anybody.
    #[inline]
    pub fn empty(&mut self, slot: u16) -> Option<Waiting> {
        let numbers = self.numbers();
        let entry = core::mem::replace(self.slots.get_mut(usize::from(slot))?, Slot::FREE);
        (entry.patient(numbers) != 0).then(|| {
            self.len = self.len.saturating_sub(1);
            entry.waiting(numbers)
        })
    }

    /// Whether nobody waits in a slot.
    pub fn is_free(&self, slot: u16) -> bool {
        self.slots.get(usize::from(slot)).is_none_or(|entry| *entry == Slot::FREE)
    }

    /// How many patients of a feature with a number above `above` wait.
    pub fn count(&self, feature: u8, above: u32) -> u32 {
        let numbers = self.numbers();
        let waits = |slot: &&Slot| {
            slot.patient(numbers) > above && slot.waiting(numbers).feature == feature
        };
        self.slots.iter().filter(waits).count() as u32
    }

    /// A slot as it is stored.
    pub fn word(&self, slot: u16) -> u32 {
        self.slots.get(usize::from(slot)).copied().unwrap_or(Slot::FREE).0
    }

    /// Takes a slot back from its bytes; `None` if they cannot be one under this plan.
    pub fn decode(&mut self, slot: u16, plan: &Plan, mut bytes: Reader<'_>) -> Option<()> {
        let entry = Slot(u32::from_le_bytes(bytes.take()?));
        let waiting = entry.waiting(self.numbers());
        if waiting.patient > plan.patients() || waiting.feature >= plan.features() {
            return None;
        }
        self.empty(slot);
        if waiting.patient != 0 {
            self.fill(Vacancy(slot), waiting);
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::prelude::rust_2024::*;

    fn waiting(patient: u32) -> Waiting {
        let choice =
            Choice { arm: Arm::from_bit(patient % 2 == 1), mark: patient.is_multiple_of(3) };
        Waiting { patient, replaced: 0, feature: (patient % 64) as u8, choice }
    }

    /// Takes a patient out of the table.
    fn take<const U: usize>(table: &mut WaitingTable<U>, patient: u32) -> Option<Waiting> {
        table.get(patient).and_then(|(slot, _)| table.empty(slot))
    }

    /// The largest patient number and feature survive the packing.
    #[test]
    fn a_slot_holds_every_patient() {
        for patient in [1, 2, 63, MAX_PATIENTS - 1, MAX_PATIENTS] {
            assert_eq!(Slot::new(waiting(patient)).waiting((1 << 24) - 1), waiting(patient));
        }
        for (patient, replaced) in [(1, 0), (MAX_KITS, 1), (MAX_KITS - 1, 3)] {
            let blinded = Waiting { replaced, ..waiting(patient) };
            assert_eq!(Slot::new(blinded).waiting((1 << 22) - 1), blinded);
        }
    }

    /// Three replacements are counted, for this patient alone, and a fourth is not.
    #[test]
    fn three_replacements_are_counted() {
        let mut table = WaitingTable::<3>::new();
        table.clear(true);
        for patient in [5, 8] {
            let vacancy = table.vacancy(patient).unwrap();
            table.fill(vacancy, waiting(patient));
        }
        let counts: Vec<_> = (0..4).map(|_| table.count_replacement(8)).collect();
        assert_eq!(counts, [Some((0, 1)), Some((0, 2)), Some((0, 3)), None]);
        assert_eq!(table.count_replacement(9), None);
        assert_eq!(table.get(5).unwrap().1, waiting(5));
        assert_eq!(take(&mut table, 8), Some(Waiting { replaced: 3, ..waiting(8) }));
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
            assert_eq!(take(&mut table, patient), Some(waiting(patient)));
            assert!(take(&mut table, patient).is_none());
        }
        assert_eq!(table.len(), 0);
    }

    /// A blinded trial counts replacements in two bits of the number.
    #[test]
    fn numbers_leave_room_for_replacements() {
        let mut table = WaitingTable::<4>::new();
        for (blinded, numbers) in [(false, 0xff_ffff), (true, 0x3f_ffff)] {
            table.clear(blinded);
            assert_eq!(table.numbers(), numbers);
        }
    }

    /// Patients and features that the plan does not have are refused, each by itself.
    #[test]
    fn impossible_slots_are_refused() {
        let plan = Plan::parse("features=3 patients=20 better=high epsilon=1").unwrap();
        let mut table = WaitingTable::<4>::new();
        let mut reads = |patient, feature| {
            let slot = Slot::new(Waiting { feature, ..waiting(patient) }).0.to_le_bytes();
            table.decode(1, &plan, Reader(&slot)).is_some()
        };
        assert!(reads(20, 2) && !reads(21, 2) && !reads(20, 3));
    }
}
