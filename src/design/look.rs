//! A look, as designs are told of it.

use super::schedule::{self, LookKind, MAX_LOOKS};
use crate::plan::Plan;
use crate::terms::MAX_PATIENTS;

/// A number of patients in three bytes: memory is short on the smallest board.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Count(pub [u8; 3]);

const _: () = assert!(MAX_PATIENTS < 1 << 24);

impl Count {
    pub const NONE: Self = Self([0; 3]);

    pub const fn new(patients: u32) -> Self {
        let [low, middle, high, _] = patients.to_le_bytes();
        Self([low, middle, high])
    }

    pub const fn get(self) -> u32 {
        let [low, middle, high] = self.0;
        u32::from_le_bytes([low, middle, high, 0])
    }
}

/// Patients assigned at each planned look done.
pub(crate) type History = [Count; MAX_LOOKS];

/// A look, in public counts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look<'a> {
    pub kind: LookKind,
    /// Its number, from 1 on.
    pub number: u8,
    /// c: patients resolved so far.
    pub count: u32,
    /// c+: the planned count at or above c; n if there is none.
    pub planned: u32,
    /// Patients assigned so far.
    pub assigned: u32,
    /// Patients assigned at each planned look before.
    pub history: &'a History,
}

impl Look<'_> {
    /// Patients assigned at the planned look with this place, counted from 0.
    pub fn assigned_at(&self, place: u8) -> u32 {
        self.history.get(usize::from(place)).map_or(0, |assigned| assigned.get())
    }

    /// The next planned look, for which noise is drawn ahead: this one unless it is an early close.
    pub fn upcoming(&self, plan: &Plan) -> Self {
        let planned = self.planned < plan.patients();
        let kind = if planned { schedule::kind(plan, self.planned) } else { LookKind::Close };
        Self { kind, count: self.planned, ..*self }
    }
}

/// The last value of a function: features with the same argument share the work.
pub(super) struct Last {
    argument: f64,
    value: f64,
}

impl Last {
    /// No value: nothing equals what is not a number.
    const NONE: Self = Self { argument: f64::NAN, value: f64::NAN };

    /// The function's value at `argument`.
    pub fn of(&mut self, argument: f64, function: impl FnOnce(f64) -> f64) -> f64 {
        if self.argument != argument {
            *self = Self { argument, value: function(argument) };
        }
        self.value
    }
}

/// Steps of a look that its features share: all that took part in the same looks have spent the
/// same until their numbers of outcomes differ.
pub(super) struct Shared {
    /// The target, by all patients of a feature.
    pub target: Last,
    /// The square root of `spent`.
    pub root: Last,
}

impl Shared {
    pub const NONE: Self = Self { target: Last::NONE, root: Last::NONE };
}
