//! The general case of a run: outcomes that are graded, drift, come late or never.
//!
//! A day is one patient: patient t is assigned on day t, and then everything that falls due on day
//! t is recorded. Where the core can take patients in blocks ([`Late`]) it does; the others wait in
//! the calendar until their day.

use rand_core::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::Delay;
use super::harness::{Player, Stage};
use super::instance::Law;
use super::statistics::Run;
use super::watch::Watch;
use equipoise::terms::Arm;
use equipoise::terms::MAX_FEATURES;
use equipoise::trial::{Answer, Late};

/// An outcome on its way; `None` if it gets lost.
#[derive(Clone, Copy, Debug)]
struct Pending {
    patient: u32,
    feature: u8,
    arm: Arm,
    y: Option<u16>,
}

/// Patients of one feature on one arm.
#[derive(Clone, Copy, Default)]
struct LateArm {
    /// The law of their outcomes, unless it drifts.
    law: Law,
    /// Their outcome is lost if a draw of 32 bits is below.
    lost: u64,
    patients: u32,
}

/// Patients as the world draws them, and those whose day has not come.
struct Calendar<'a> {
    stage: &'a Stage,
    world: Xoshiro256PlusPlus,
    arms: [[LateArm; 2]; MAX_FEATURES as usize],
    /// Place t holds what falls due on day t, modulo the longest delay and one.
    days: Vec<Vec<Pending>>,
    drifts: bool,
    /// The feature of the present patient, and the draw that decides its outcome.
    feature: u8,
    high: u32,
}

impl Calendar<'_> {
    fn of(&mut self, day: u32) -> Option<&mut Vec<Pending>> {
        let place = day as usize % self.days.len();
        self.days.get_mut(place)
    }

    /// Tells the player what falls due on a day; `after` is told the feature of each.
    fn tell<P: Player>(&mut self, day: u32, player: &mut P, mut after: impl FnMut(u8, &P)) {
        let Some(due) = self.of(day) else { return };
        for Pending { patient, feature, arm, y } in due.drain(..) {
            player.outcome(patient, feature, arm, y);
            after(feature, player);
        }
    }
}

impl Late for Calendar<'_> {
    // With `Counts::add`: 11 % fewer instructions of `simulate --delay`.
    #[inline(always)]
    fn feature(&mut self, patient: u32) -> u8 {
        let word = self.world.next_u64();
        self.high = (word >> 32) as u32;
        self.feature = self.stage.features.draw(patient, word as u32);
        self.feature
    }

    // With `Counts::add`: 11 % fewer instructions of `simulate --delay`.
    #[inline(always)]
    fn answer(&mut self, patient: u32, arm: Arm, end: u32) -> Answer {
        let (stage, feature) = (self.stage, self.feature);
        let of_arm = arm.of_mut(&mut self.arms[usize::from(feature % MAX_FEATURES)]);
        of_arm.patients += 1;
        let draws = self.world.next_u64();
        let law = if self.drifts { stage.outcomes.law(patient, feature, arm) } else { of_arm.law };
        let y = law.draw([self.high, draws as u32]);
        let lost = draws >> 32 < of_arm.lost;
        let late = if stage.world.delay.to == 0 {
            0
        } else {
            stage.world.delay.draw(self.world.next_u32())
        };
        let due = patient.saturating_add(late);
        let comes = due < end;
        if !comes && let Some(day) = self.of(due) {
            day.push(Pending { patient, feature, arm, y: (!lost).then_some(y) });
        }
        Answer { comes, lost, y }
    }
}

impl Stage {
    /// Plays a run day by day.
    pub(super) fn by_calendar<P: Player>(&self, mut player: P, world: Xoshiro256PlusPlus) -> Run {
        let (n, Delay { to: longest, .. }) = (self.plan.patients(), self.world.delay);
        let mut calendar = Calendar {
            stage: self,
            world,
            arms: core::array::from_fn(|j| {
                Arm::BOTH.map(|arm| LateArm {
                    law: self.outcomes.law(1, j as u8, arm),
                    lost: self.world.lost.threshold(arm),
                    patients: 0,
                })
            }),
            days: vec![Vec::new(); longest as usize + 1],
            drifts: self.outcomes.drifts(),
            feature: 0,
            high: 0,
        };
        let mut watch = Watch::default();
        let mut day = 0;
        while day < n.saturating_add(longest) {
            let calm = player.calm_until();
            if day < n && calm > day + 1 {
                // What comes before the next look may come now.
                for due in day + 1..calm.min(day.saturating_add(longest + 1)) {
                    calendar.tell(due, &mut player, |_, _| ());
                }
                day = player.late(&mut calendar);
                continue;
            }
            day += 1;
            if day <= n {
                let feature = calendar.feature(day);
                let arm = player.assign(feature);
                watch.dropped(day - 1, feature, &player);
                // All outcomes come on their day.
                calendar.answer(day, arm, 0);
            }
            calendar.tell(day, &mut player, |feature, player| {
                watch.dropped(day.min(n), feature, player);
            });
        }
        watch.patients = calendar.arms.map(|arms| arms.map(|arm| arm.patients));
        self.end(player, &watch)
    }
}
