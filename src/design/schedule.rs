//! When the looks of `interim` and `uniform` fall, as a function of the plan alone.
//!
//! Counts are of *resolved* patients: outcome recorded or declared lost. With n patients, M
//! features and half = floor(n/2), `interim` looks early at c = ceil(M (40 + 6v)), 2c, 4c .. while
//! 3/2 of the count is below half, then at half. (v is the variance of one draw,
//! [`super::comparison`]: with more noise the first look comes later.) Both designs look at K
//! planned reports, half + floor((n - half) i / (K+1)) for i = 1..=K, and at the close. Looks that
//! fall on the same count, which only happens in tiny trials, are one look.

use super::cells::Unit;
use super::comparison::Measure;
use crate::plan::{DesignName, Plan};
use crate::terms::{MAX_PATIENTS, MAX_REPORTS};

/// Patients a feature at the first look of `interim`, before the allowance for noise.
const FIRST_PATIENTS: f64 = 40.0;
/// The allowance, in variances of one draw.
const FIRST_VARIANCES: f64 = 6.0;

/// Most planned looks of a trial: early ones of the largest trial of one feature, half, reports.
pub(crate) const MAX_LOOKS: usize = {
    let (mut looks, mut count) = (1 + MAX_REPORTS as usize, FIRST_PATIENTS as u32);
    while is_early(count, MAX_PATIENTS / 2) {
        (looks, count) = (looks + 1, 2 * count);
    }
    looks
};

/// The kind of a look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LookKind {
    /// Before half: coins change, and features may settle.
    Early,
    /// At half: every feature that takes part settles.
    Half,
    /// A planned report.
    Report,
    /// The close.
    Close,
}

/// Whether 3/2 of a count is below half, so that it has an early look.
const fn is_early(count: u32, half: u32) -> bool {
    // At most 10^7 patients, so nothing overflows.
    count < MAX_PATIENTS && 3 * count < 2 * half
}

/// The count of the first early look, if half is late enough for one.
pub(crate) fn first(plan: &Plan) -> u32 {
    let variance = Measure::new(Unit::of(plan), plan.epsilon().to_f64()).variance;
    let patients = FIRST_PATIENTS + FIRST_VARIANCES * variance;
    // A count beyond every trial stops at the largest number.
    libm::ceil(f64::from(plan.features()) * patients) as u32
}

/// The planned counts in ascending order, of a plan whose [`first`] early look is known.
pub(crate) fn counts(plan: &Plan, first: u32) -> impl Iterator<Item = u32> {
    let half = plan.half();
    let adaptive = plan.design() == DesignName::Interim;
    let early = core::iter::successors(Some(first), |at| Some(at.saturating_mul(2)));
    let early = early.take_while(move |at| is_early(*at, half));
    let reports = u32::from(plan.reports());
    let rest = plan.patients() - half;
    // At most 8 times 10^7.
    let report = move |i| half + rest * i / (reports + 1);
    let mut last = 0;
    let looks = early.chain(core::iter::once(half)).filter(move |_| adaptive);
    looks.chain((1..=reports).map(report)).filter(move |at| {
        let is_new = *at > last;
        last = *at;
        is_new
    })
}

/// The counts of the planned looks, but for the closing look's.
pub fn looks(plan: &Plan) -> impl Iterator<Item = u32> {
    counts(plan, first(plan))
}

/// The kind of the planned look at `count`.
pub(crate) fn kind(plan: &Plan, count: u32) -> LookKind {
    match (plan.design(), count.cmp(&plan.half())) {
        (DesignName::Interim, core::cmp::Ordering::Less) => LookKind::Early,
        (DesignName::Interim, core::cmp::Ordering::Equal) => LookKind::Half,
        _ => LookKind::Report,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    fn of(plan: &str) -> Vec<u32> {
        looks(&Plan::parse(&std::format!("{plan} better=high")).unwrap()).collect()
    }

    /// The counts of a large trial, of a small one, of a fixed trial and of one of two patients.
    #[test]
    fn looks_fall_where_the_header_says() {
        // v = 7.835 at epsilon 1: 10 (40 + 47.01) = 870.1.
        let early = [871, 1742, 3484, 10_000];
        assert_eq!(of("features=10 patients=20000 epsilon=1"), early);
        assert_eq!(of("features=4 patients=500 epsilon=1 reports=2"), [250, 333, 416]);
        assert_eq!(of("design=uniform features=4 patients=500 epsilon=1 reports=1"), [375]);
        assert_eq!(of("design=uniform features=4 patients=500 epsilon=1"), [0; 0]);
        assert_eq!(of("features=1 patients=2 epsilon=1 reports=8"), [1]);
        assert_eq!(of("features=64 patients=10000000 epsilon=1/100"), [5_000_000]);
    }

    /// No plan has more looks than there is room for, and the largest has as many.
    #[test]
    fn looks_fit_their_table() {
        let most = of("features=1 patients=10000000 epsilon=20 reports=8");
        assert!(most.len() <= MAX_LOOKS, "{} {MAX_LOOKS}", most.len());
        assert!(most.len() + 1 >= MAX_LOOKS && MAX_LOOKS < 32, "{} {MAX_LOOKS}", most.len());
    }
}
