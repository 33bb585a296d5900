//! When the looks of `interim` and `uniform` fall, as a function of the plan alone.
//!
//! Counts are of *resolved* patients: outcome recorded or declared lost. With n patients and
//! half = floor(n/2), `interim` looks at half, at 5/8 of it, 5/8 of that and so on down to 80
//! patients a feature (at half in any case). Both designs look at K planned reports,
//! half + floor((n - half) i / (K+1)) for i = 1..=K, and at the close. Looks that fall on the same
//! count, which only happens in tiny trials, are one look.

use crate::plan::{Design, Plan};

/// Resolved patients a feature below which `interim` does not look.
const MIN_PATIENTS_A_FEATURE: u32 = 80;

/// The kind of a look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LookKind {
    /// Before half: features may settle.
    Early,
    /// At half: every feature settles.
    Half,
    /// A planned report.
    Report,
    /// The close.
    Close,
}

/// The planned counts, in no particular order.
fn counts(plan: &Plan) -> impl Iterator<Item = u32> {
    let floor = MIN_PATIENTS_A_FEATURE.saturating_mul(u32::from(plan.features()));
    let half = plan.half();
    let adaptive = plan.design() == Design::Interim;
    // At most 10^7 patients, so nothing overflows.
    let early = core::iter::successors(Some(half * 5 / 8), |at| Some(at * 5 / 8));
    let early = early.take_while(move |at| *at >= floor);
    let reports = u64::from(plan.reports());
    let rest = u64::from(plan.patients() - half);
    let report = move |i| half + (rest * i / (reports + 1)) as u32;
    core::iter::once(half).chain(early).filter(move |_| adaptive).chain((1..=reports).map(report))
}

/// The first planned count above `count`, but for the closing look's.
pub(crate) fn next_after(plan: &Plan, count: u32) -> Option<u32> {
    counts(plan).filter(|at| *at > count).min()
}

/// The count of the planned look after `done` looks, but for the closing look's.
#[must_use]
pub fn next_look(plan: &Plan, done: u8) -> Option<u32> {
    (0..=done).try_fold(0, |at, _| next_after(plan, at))
}

/// The kind of the planned look at `count`.
pub(crate) fn kind(plan: &Plan, count: u32) -> LookKind {
    match (plan.design(), count.cmp(&plan.half())) {
        (Design::Interim, core::cmp::Ordering::Less) => LookKind::Early,
        (Design::Interim, core::cmp::Ordering::Equal) => LookKind::Half,
        _ => LookKind::Report,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    fn looks(plan: &str) -> Vec<u32> {
        let plan = Plan::parse(plan).unwrap();
        (0..).map_while(|done| next_look(&plan, done)).collect()
    }

    /// The counts of a large trial, of a small one, of a fixed trial and of one of two patients.
    #[test]
    fn looks_fall_where_the_header_says() {
        let early = [953, 1525, 2441, 3906, 6250, 10_000];
        assert_eq!(looks("features=10 patients=20000 epsilon=1"), early);
        assert_eq!(looks("features=4 patients=500 epsilon=1 reports=2"), [250, 333, 416]);
        assert_eq!(looks("design=uniform features=4 patients=500 epsilon=1 reports=1"), [375]);
        assert_eq!(looks("design=uniform features=4 patients=500 epsilon=1"), [0; 0]);
        assert_eq!(looks("features=1 patients=2 epsilon=1 reports=8"), [1]);
    }
}
