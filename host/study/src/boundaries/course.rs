//! Information fractions of an estimate at the reports of a trial.
//!
//! The information fraction of an estimate of `interim` or `uniform` is `spent`, the sum of the
//! weights of its windows: given the past, the increments of P are normal with these variances. The
//! count of patients would be wrong: `interim` weighs early windows more than their share.
//!
//! After half a look at c weighs (1 - spent)(c - c')/(n - c'), c' being the feature's last look. So
//! with s spent at its last look up to half, at h, the fraction at a report in which it takes part
//! is 1 - (1 - s)(n - c)/(n - h); at one in which it does not, the estimate and the fraction stay
//! as they were. **Before the first report in which it takes part it has no fraction**: its
//! estimate is that of an early look, and it is kept because of what it was (a feature that settled
//! by luck has few patients on one arm, and so no window worth reading). Testing it there would be
//! one more test of each early look.
//!
//! A feature that took part in a look up to half goes by the fractions of [`super::planned`], if
//! they are larger: evidence makes its own ones smaller, and a boundary must not follow evidence.
//!
//! The overall effect is treated as one feature that takes part in every report. Its fraction at
//! half is the mean of the features', weighted by their parts of its variance; evidence in one of
//! them moves it little, so it stands, but where there is one feature only.

use super::planned::Fair;
use equipoise::design::schedule;
use equipoise::estimate::Basis;
use equipoise::plan::Plan;

/// Units of the fraction at half, as the device keeps it.
const UNITS: f64 = 256.0;

/// The public facts from which the fractions of an estimate follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Course {
    /// Looks up to half in which it took part: bit k is look number k + 1.
    early: u32,
    /// The count of the last of them, 0 for none.
    since: u32,
    /// The fraction after that look, in units of 1/256.
    half: u8,
    /// Reports in which it takes part, the first in bit 0.
    reports: u32,
}

/// The fraction at `count` after half, with this fraction at the last look up to half, at `since`.
fn going_on(plan: &Plan, since: u32, spent: f64, count: u32) -> f64 {
    let to_come = |from: u32| f64::from(plan.patients().saturating_sub(from));
    1.0 - (1.0 - spent) * to_come(count) / to_come(since).max(1.0)
}

impl Course {
    /// The course of a feature.
    #[must_use]
    pub fn of(plan: &Plan, basis: &Basis) -> Self {
        let took_part = |place: usize| basis.looks >> (place & 31) & 1 == 1;
        let counts = schedule::looks(plan).take_while(|count| *count <= plan.half());
        let (mut since, mut to_half) = (0, 0);
        for (place, count) in counts.enumerate() {
            to_half = place + 1;
            since = if took_part(place) { count } else { since };
        }
        let half = (basis.half_spent * UNITS).round() as u8;
        let early = basis.looks & !(u32::MAX << (to_half & 31));
        Self { early, since, half, reports: basis.looks >> (to_half & 31) }
    }

    /// The course of the overall effect, from the features' and their parts of its variance.
    #[must_use]
    pub fn overall(plan: &Plan, features: impl Iterator<Item = (Self, f64)>) -> Self {
        let (mut sum, mut weights, mut early) = (0.0, 0.0, 0);
        for (course, weight) in features {
            early |= if plan.features() == 1 { course.early } else { 0 };
            sum += weight * course.at(plan, plan.half());
            weights += weight;
        }
        let half = if weights > 0.0 { sum / weights } else { 0.0 };
        let half = (half * UNITS).round() as u8;
        Self { early, since: plan.half(), half, reports: u32::MAX }
    }

    /// The fraction at a count after the last look up to half.
    fn at(self, plan: &Plan, count: u32) -> f64 {
        going_on(plan, self.since, f64::from(self.half) / UNITS, count)
    }

    /// At each planned report the fraction by which a boundary goes ([`super::planned`]), and that
    /// of the estimate; both 0 before the first report in which it takes part.
    pub(super) fn pairs(self, plan: &Plan) -> impl Iterator<Item = (f64, f64)> {
        let fair = (self.early != 0).then(|| Fair::before(plan, plan.half()));
        let reports = schedule::looks(plan).filter(|count| *count > plan.half());
        let mut now = (0.0, 0.0);
        reports.zip(self.fractions(plan)).enumerate().map(move |(place, (count, own))| {
            if self.reports >> (place & 31) & 1 == 1 {
                let fair = fair.map_or(0.0, |fair| going_on(plan, fair.since, fair.spent, count));
                now = (f64::max(fair, own), own);
            }
            now
        })
    }

    /// The fractions by which a boundary goes at the looks up to half in which it took part, of
    /// those before `count`.
    pub(super) fn early(self, plan: &Plan, count: u32) -> Vec<f64> {
        let took_part = |place: usize| self.early >> (place & 31) & 1 == 1;
        let counts = schedule::looks(plan).take_while(|look| *look < count);
        let looks = counts.enumerate().zip(Fair::early(plan));
        let early = looks.filter(|((place, _), _)| took_part(*place)).map(|(_, fair)| fair.spent);
        let mut early: Vec<f64> = early.collect();
        early.dedup();
        early
    }

    /// The fraction by which a boundary goes at a close at `count`, with the part `spent` of the
    /// estimate.
    pub(super) fn at_close(self, plan: &Plan, count: u32, spent: f64) -> f64 {
        let fair = if self.early == 0 {
            0.0
        } else if count <= plan.half() {
            Fair::before(plan, count.saturating_sub(1)).read(count).spent
        } else {
            let half = Fair::before(plan, plan.half());
            going_on(plan, half.since, half.spent, count)
        };
        fair.max(spent)
    }

    /// The fractions at the planned reports; 0 before the first in which it takes part.
    pub fn fractions(self, plan: &Plan) -> impl Iterator<Item = f64> {
        let mut now = 0.0;
        let reports = schedule::looks(plan).filter(|count| *count > plan.half());
        reports.enumerate().map(move |(place, count)| {
            if self.reports >> (place & 31) & 1 == 1 {
                now = self.at(plan, count);
            }
            now
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use equipoise::estimate::ArmBasis;

    fn basis(looks: u32, half_spent: f64) -> Basis {
        let arm = ArmBasis { outcomes: 0.0, mean: 0.0 };
        Basis { spent: 0.0, half_spent, looks, windows: 0, arms: [arm; 2] }
    }

    /// A fixed trial's fractions are its counts; a report that a feature misses repeats the last.
    #[test]
    fn fractions_follow_the_weights() {
        let plan =
            Plan::parse("design=uniform features=1 patients=4000 epsilon=1 reports=3 better=high");
        let plan = plan.unwrap();
        let all =
            |basis: &Basis| -> Vec<f64> { Course::of(&plan, basis).fractions(&plan).collect() };
        assert_eq!(all(&basis(0b111, 0.0)), [0.625, 0.75, 0.875]);
        assert_eq!(all(&basis(0b110, 0.0)), [0.0, 0.75, 0.875]);
        let plan = Plan::parse("features=1 patients=4000 epsilon=1 reports=3 better=high").unwrap();
        let early = schedule::looks(&plan).filter(|count| *count < 2000).count();
        let all =
            |basis: &Basis| -> Vec<f64> { Course::of(&plan, basis).fractions(&plan).collect() };
        // Half of the weight at half: the rest follows the patients.
        assert_eq!(all(&basis(0b1111 << early, 0.5)), [0.625, 0.75, 0.875]);
        assert_eq!(all(&basis(0b1011 << early, 0.5)), [0.625, 0.625, 0.875]);
        assert_eq!(all(&basis(0b1001 << early, 0.5)), [0.0, 0.0, 0.875]);
        // Settled at the first look, with a quarter spent at 88.
        let found = all(&basis(0b1110 << early | 1, 0.25));
        let first = schedule::looks(&plan).next().unwrap();
        let expected = 1.0 - 0.75 * 1500.0 / f64::from(4000 - first);
        assert!((found[0] - expected).abs() < 1e-12, "{found:?} {expected}");
    }
}
