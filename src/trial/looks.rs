//! Looks, the turn at half, and the close: what deals with all features at once.

use super::{Phase, Trial};
use crate::chance::Chance;
use crate::design::schedule::{self, LookKind};
use crate::design::{AnyFeature, Count, Look};
use crate::terms::MAX_FEATURES;

/// A look of a kind at the present counts of a trial. (A macro, so that it borrows no features.)
macro_rules! look_now {
    ($trial:expr, $kind:expr) => {
        Look {
            kind: $kind,
            number: $trial.looks.saturating_add(1),
            count: $trial.resolved(),
            planned: $trial.next_look.min($trial.plan.patients()),
            assigned: $trial.assigned,
            history: &$trial.history,
        }
    };
}

impl<const M: usize, const U: usize> Trial<M, U> {
    /// Whether a look is due before anything else.
    #[inline]
    #[must_use]
    pub fn look_due(&self) -> bool {
        // What is rarely true comes first: this is asked twice a patient.
        let resolved = self.resolved();
        let over = self.plan.closes_by_itself() && resolved == self.plan.patients();
        let due = resolved == self.next_look || over;
        due && self.design.has_looks() && self.phase != Phase::Closed
    }

    /// Whether the next patient turns the trial to its second half, and so changes every feature
    /// (the paper's designs; the others do that at a look).
    #[must_use]
    pub fn turns_next(&self) -> bool {
        self.assigned == self.next_look && !self.design.has_looks() && self.phase == Phase::Explore
    }

    /// Does the look that is due; nothing otherwise. When every patient is resolved it is the
    /// closing one.
    #[cold]
    pub fn look(&mut self, chance: &mut impl Chance) {
        if self.look_due() && self.resolved() == self.next_look {
            self.do_planned(chance);
        }
        if self.look_due() {
            self.close(chance);
        }
    }

    /// The planned look or, for the paper's designs, the turn to the second half.
    #[cold]
    pub(super) fn do_planned(&mut self, chance: &mut impl Chance) {
        let at_half = self.next_look == self.plan.half();
        self.look_at_all(schedule::kind(&self.plan, self.next_look), chance);
        if at_half {
            self.phase = Phase::Measure;
        }
        self.schedule();
    }

    fn look_at_all(&mut self, kind: LookKind, chance: &mut impl Chance) {
        let used = usize::from(self.plan.features());
        let look = look_now!(self, kind);
        let features = self.features.get_mut(..used).unwrap_or(&mut []);
        self.design.look(features, &self.plan, &look, chance);
        if let Some(assigned) = self.history.get_mut(usize::from(self.looks)) {
            *assigned = Count::new(self.assigned);
        }
        self.looks = self.looks.saturating_add(1);
        self.mark_features();
    }

    fn mark_features(&mut self) {
        let all = u64::MAX >> (MAX_FEATURES - self.plan.features());
        self.dirty.mark_features(all);
    }

    /// Ends the trial: patients who wait are lost, the closing look is done. Nothing if it is
    /// closed already.
    pub fn close(&mut self, chance: &mut impl Chance) {
        if self.look_due() && self.resolved() == self.next_look {
            self.do_planned(chance);
        }
        if self.phase == Phase::Closed {
            return;
        }
        if self.design.has_looks() {
            // Before the waiting patients are written off: the look counts who was resolved.
            self.look_at_all(LookKind::Close, chance);
        }
        for slot in 0..U as u16 {
            if let Some(waiting) = self.waiting.empty(slot) {
                // A loss changes nothing that the close keeps; a damaged feature shows in its
                // estimate.
                let _ = self.record(waiting, None, chance);
            }
        }
        self.dirty.mark_slots(U as u16);
        self.used().iter_mut().for_each(AnyFeature::wipe);
        self.phase = Phase::Closed;
        self.mark_features();
    }

    /// Draws the next look's noise for one more feature. False when all that take part have theirs.
    pub fn draw_ahead(&mut self, chance: &mut impl Chance) -> bool {
        if self.phase == Phase::Closed {
            return false;
        }
        let upcoming = look_now!(self, LookKind::Close).upcoming(&self.plan);
        let used = usize::from(self.plan.features());
        let features = self.features.get_mut(..used).unwrap_or(&mut []);
        let (design, plan) = (&self.design, &self.plan);
        let lacking =
            self.lacking.get_or_insert_with(|| design.lacking_noise(features, plan, &upcoming));
        let Some(feature) = features.get_mut(lacking.trailing_zeros() as usize) else {
            return false;
        };
        *lacking &= *lacking - 1;
        design.draw_ahead(feature, plan, &upcoming, chance).is_some()
    }
}
