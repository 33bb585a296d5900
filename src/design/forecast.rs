//! Outcomes that a feature is expected to bring to a look, and the windows that are worth reading
//! there: functions of its ledger and of public counts. The rules are in the header of
//! [`super::interim`].

use super::Look;
use super::comparison::smaller;
use super::interim::LedgerDesign;
use super::ledger::Feature;
use super::schedule::LookKind;
use crate::plan::Plan;

/// The windows of a feature at a look.
#[derive(Clone, Copy, Debug)]
pub(super) struct Forecast {
    /// c': count of the last look in which the feature took part, 0 before the first.
    pub since: u32,
    /// Patients resolved since then whose outcomes are expected in each window.
    fresh: f64,
    late: f64,
    /// Outcomes of the feature expected for each of them.
    pub rate: f64,
    /// Whether each window is read.
    pub reads_now: bool,
    pub reads_before: bool,
}

impl Forecast {
    /// The forecast at a look.
    pub fn of(feature: &Feature, design: &LedgerDesign, plan: &Plan, look: &Look<'_>) -> Self {
        let since = design.count_of(plan, feature.last_look());
        let began = feature.coin_look().map_or(0, |place| look.assigned_at(place));
        let late = began.min(look.count).saturating_sub(since);
        let fresh = look.count.saturating_sub(since).saturating_sub(late);
        let rate = if since == 0 {
            design.first_rate
        } else {
            feature.outcomes(design) / f64::from(since)
        };
        let (fresh, late) = (f64::from(fresh), f64::from(late));
        let least = design.measure.min_window();
        let worth = |patients: f64, shares: &dyn Fn() -> [f64; 2]| {
            let rarer = |[zero, one]: [f64; 2]| smaller(zero, one);
            patients > 0.0 && rate * patients * rarer(shares()) >= least
        };
        let now = worth(fresh, &|| feature.shares());
        let before = worth(late, &|| feature.before_shares());
        let (reads_now, reads_before) = match look.kind {
            LookKind::Early | LookKind::Half => {
                let takes_part = now && !feature.settled;
                (takes_part, takes_part && before)
            }
            LookKind::Report => (now, before),
            LookKind::Close => (true, before),
        };
        Self { since, fresh, late, rate, reads_now, reads_before }
    }

    /// Whether the feature takes part in the look.
    pub const fn takes_part(&self) -> bool {
        self.reads_now || self.reads_before
    }

    /// The same with the outcomes that the ledger holds after a look at `count`.
    pub fn revised(self, outcomes: f64, count: u32) -> Self {
        Self { rate: outcomes / f64::from(count.max(1)), ..self }
    }

    /// Outcomes of each arm expected in the now-window, if it is read.
    pub fn now(&self, feature: &Feature) -> Option<[f64; 2]> {
        self.reads_now.then(|| feature.shares().map(|share| share * self.rate * self.fresh))
    }

    /// Outcomes of each arm expected in the before-window, if it is read.
    pub fn before(&self, feature: &Feature) -> Option<[f64; 2]> {
        self.reads_before
            .then(|| feature.before_shares().map(|share| share * self.rate * self.late))
    }
}
