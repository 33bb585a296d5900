//! Intervals that stay valid over several reports and over several features.
//!
//! * **Over reports**: the trial file names a boundary. At look k the repeated interval is the
//!   estimate +- c_k standard errors; the information fraction of a look is the part of the
//!   estimate's weight that is spent there ([`super::course`]). **Efficacy**: the repeated interval
//!   excludes 0. **Futility**: it excludes the planned effect on the side of 0; the trial may go on
//!   all the same, as no critical value counts on its stopping (non-binding).
//! * **Over features**, on request: Bonferroni divides the level by the number of features. Holm
//!   steps down: features are tested from the largest |z| on, at level a/M, a/(M-1) and so on,
//!   until one is not rejected. The intervals are Bonferroni's; that of a rejected feature ends at
//!   0 if it would go beyond. So more features can be found to differ from 0, with the same
//!   probability of any false finding, and the intervals hold all effects together as Bonferroni's
//!   do.
//!
//! Everything is computed from what the device reports already (estimate, standard error, public
//! counts): the device sends nothing more, and privacy is not touched.

use super::course::Course;
use super::{Kind, of_estimate};
use crate::normal::probit;
use equipoise::design::schedule;
use equipoise::plan::Plan;

/// The two-sided level of all intervals together.
pub(super) const LEVEL: f64 = 0.05;

/// A fraction above which all is spent: `spent` is a sum of rounded numbers.
const ALL: f64 = 1.0 - 1e-5;

/// Rule for several reports, from the trial file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Boundary {
    /// The kind.
    pub kind: Kind,
    /// The planned effect, in millionths, for the futility boundary.
    pub effect: Option<i32>,
}

/// `[boundary]` of a trial file.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawBoundary {
    kind: String,
    effect: Option<f64>,
}

impl TryFrom<RawBoundary> for Boundary {
    type Error = String;

    fn try_from(raw: RawBoundary) -> Result<Self, String> {
        let kind = Kind::parse(&raw.kind).ok_or_else(|| {
            let allowed = Kind::ALL.map(Kind::name).join(" ");
            format!("boundary.kind = {:?}, allowed {allowed}", raw.kind)
        })?;
        let millionths = |effect: f64| {
            let good = effect != 0.0 && (-1.0..=1.0).contains(&effect);
            let error = || format!("boundary.effect = {effect}, allowed -1..=1, not 0");
            good.then(|| (effect * 1e6).round() as i32).ok_or_else(error)
        };
        Ok(Self { kind, effect: raw.effect.map(millionths).transpose()? })
    }
}

impl Boundary {
    /// The lines of a trial file's canonical form.
    #[must_use]
    pub fn canonical(&self) -> String {
        let effect = self.effect.map_or(String::new(), |effect| format!(" {effect}"));
        format!("boundary {}{effect}\n", self.kind.name())
    }
}

/// An adjustment over features.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Simultaneous {
    /// Every feature at level a/M.
    Bonferroni,
    /// Step by step.
    Holm,
}

impl Simultaneous {
    /// The name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bonferroni => "bonferroni",
            Self::Holm => "holm",
        }
    }
}

/// Looks of a trial that a report was due at, up to now.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Looks {
    plan: Plan,
    /// Planned reports done.
    reports: usize,
    /// Patients resolved at the close.
    closed: Option<u32>,
}

impl Looks {
    /// The looks of a plan after `looks` public looks, or after a close at `resolved` patients.
    #[must_use]
    pub fn new(plan: &Plan, looks: u32, closed: Option<u32>) -> Self {
        let counts = || schedule::looks(plan);
        let until = match closed {
            // The close takes the place of reports that it came before.
            Some(at) => at.saturating_sub(1),
            None => counts().take(looks as usize).max().unwrap_or(0),
        };
        let reports = counts().filter(|at| *at > plan.half() && *at <= until).count();
        Self { plan: *plan, reports, closed }
    }

    /// The number of this report, the close being the last one.
    #[must_use]
    pub const fn place(&self) -> usize {
        self.reports + self.closed.is_some() as usize
    }

    /// Planned reports, and the close.
    #[must_use]
    pub fn planned(&self) -> usize {
        schedule::looks(&self.plan).filter(|at| *at > self.plan.half()).count() + 1
    }

    /// The critical value of an estimate at the last of these looks, `spent` being its fraction.
    fn critical(&self, kind: Kind, level: f64, course: Course, spent: f64) -> Option<f64> {
        let pairs: Vec<(f64, f64)> = course.pairs(&self.plan).take(self.reports).collect();
        let mut reports: Vec<f64> = pairs.iter().map(|(fraction, _)| *fraction).collect();
        let early = course.early(&self.plan, self.closed.unwrap_or(self.plan.patients()));
        match self.closed {
            Some(count) if spent <= ALL => {
                let close = course.at_close(&self.plan, count, spent);
                let value = kind.critical_at_close(level, &early, &reports, close)?;
                Some(of_estimate(value, (close, spent)))
            }
            Some(_) => {
                reports.push(1.0);
                kind.critical_after(level, &early, &reports).pop()
            }
            None => {
                let value = kind.critical_after(level, &early, &reports).pop()?;
                Some(of_estimate(value, pairs.last().copied()?))
            }
        }
    }
}

/// An estimate to be adjusted.
#[derive(Clone, Debug, PartialEq)]
pub struct Effect {
    /// Its name in the report.
    pub name: String,
    /// Whether it is that of a feature; the others take no part in an adjustment over features.
    pub of_feature: bool,
    /// Arm 1 minus arm 0.
    pub estimate: f64,
    /// Its standard error.
    pub error: f64,
    /// Its course and the part of its weight that is spent, which a boundary needs.
    pub course: Option<(Course, f64)>,
}

/// An adjusted interval and what it says.
#[derive(Clone, Debug, PartialEq)]
pub struct AdjustedRow {
    /// The name of the estimate.
    pub name: String,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Which boundary is crossed, or whether 0 is excluded.
    pub says: &'static str,
}

/// Adjusted intervals.
#[derive(Clone, Debug, PartialEq)]
pub struct Adjusted {
    /// Comparisons for which they are valid together, in words.
    pub method: String,
    /// One an estimate.
    pub rows: Vec<AdjustedRow>,
}

/// Adjusts estimates for the looks of a trial, for its features, or for both. None if nothing asks
/// for it.
#[must_use]
pub fn adjust(
    effects: &[Effect],
    boundary: Option<(Boundary, &Looks)>,
    simultaneous: Option<Simultaneous>,
) -> Option<Adjusted> {
    if boundary.is_none() && simultaneous.is_none() {
        return None;
    }
    let critical = |effect: &Effect, level: f64| match boundary {
        None => probit(1.0 - level / 2.0),
        Some((boundary, looks)) => {
            let value = effect
                .course
                .and_then(|(course, spent)| looks.critical(boundary.kind, level, course, spent));
            value.unwrap_or(f64::INFINITY)
        }
    };
    let features: Vec<&Effect> = effects.iter().filter(|effect| effect.of_feature).collect();
    let each = LEVEL / features.len().max(1) as f64;
    let rejected = match simultaneous {
        Some(Simultaneous::Holm) => holm(&features, critical),
        _ => vec![false; features.len()],
    };
    let mut rejected = rejected.into_iter();
    let mut rows = Vec::new();
    for effect in effects {
        let (level, rejected) = match (effect.of_feature, simultaneous) {
            (true, Some(_)) => (each, rejected.next().unwrap_or(false)),
            // Without a boundary the interval of the report stands.
            (false, _) if boundary.is_none() => continue,
            _ => (LEVEL, false),
        };
        let c = critical(effect, level);
        rows.push(row(effect, c, rejected, boundary));
    }
    let mut method = Vec::new();
    if let Some((Boundary { kind, .. }, looks)) = boundary {
        let (place, of, name) = (looks.place(), looks.planned(), kind.name());
        method.push(format!("valid at all {of} reports together ({name}, this is number {place})"));
    }
    if let Some(simultaneous) = simultaneous {
        let (name, count) = (simultaneous.name(), features.len());
        method.push(format!("valid in all {count} features together ({name})"));
    }
    Some(Adjusted { method: method.join(", "), rows })
}

/// Whether each feature is rejected by Holm's procedure: while one is at the level divided by the
/// number of those that are left, it is set aside. (Critical values differ between features, so
/// that the largest |z| need not come first.)
fn holm(features: &[&Effect], critical: impl Fn(&Effect, f64) -> f64) -> Vec<bool> {
    let mut rejected = vec![false; features.len()];
    for left in (1..=features.len()).rev() {
        let found = features.iter().zip(&rejected).position(|(feature, rejected)| {
            let z = feature.estimate.abs() / feature.error;
            !rejected && z > critical(feature, LEVEL / left as f64)
        });
        match found {
            Some(place) => rejected[place] = true,
            None => break,
        }
    }
    rejected
}

fn row(
    effect: &Effect,
    c: f64,
    rejected: bool,
    boundary: Option<(Boundary, &Looks)>,
) -> AdjustedRow {
    let Effect { name, estimate, error, .. } = effect;
    let (mut low, mut high) = (estimate - c * error, estimate + c * error);
    if rejected {
        (low, high) = if *estimate > 0.0 { (low.max(0.0), high) } else { (low, high.min(0.0)) };
    }
    let (low, high) = (low.max(-1.0), high.min(1.0));
    let excludes = rejected || low > 0.0 || high < 0.0;
    let says = match boundary {
        None if excludes => "excludes 0",
        None => "holds 0",
        Some(_) if excludes => "EFFICACY boundary crossed",
        Some((Boundary { effect, .. }, looks)) => {
            let planned = effect.map_or(0.0, |effect| f64::from(effect) / 1e6);
            let futile = planned > 0.0 && high < planned || planned < 0.0 && low > planned;
            match (futile, looks.closed.is_some()) {
                (true, _) => "futility boundary crossed",
                (false, true) => "no boundary crossed",
                (false, false) => "no boundary crossed: go on",
            }
        }
    };
    AdjustedRow { name: name.clone(), low, high, says }
}

#[cfg(test)]
mod tests {
    use super::*;
    use equipoise::estimate::{ArmBasis, Basis};

    fn plan() -> Plan {
        Plan::parse("design=uniform features=4 patients=4000 epsilon=1 reports=3 better=high")
            .unwrap()
    }

    fn effects(list: &[f64]) -> Vec<Effect> {
        let arm = ArmBasis { outcomes: 0.0, mean: 0.0 };
        let basis =
            Basis { spent: 0.625, half_spent: 0.0, looks: 0b111, windows: 1, arms: [arm; 2] };
        let effect = |estimate: &f64| Effect {
            name: estimate.to_string(),
            of_feature: true,
            estimate: *estimate,
            error: 0.1,
            course: Some((Course::of(&plan(), &basis), 0.625)),
        };
        list.iter().map(effect).collect()
    }

    /// Holm by hand: z = 3, 2.3, 1 against the quantiles of 0.05/3, 0.05/2 and 0.05.
    #[test]
    fn holm_steps_down() {
        let found = adjust(&effects(&[0.1, 0.3, -0.23]), None, Some(Simultaneous::Holm)).unwrap();
        let says: Vec<&str> = found.rows.iter().map(|row| row.says).collect();
        assert_eq!(says, ["holds 0", "excludes 0", "excludes 0"]);
        let third = probit(1.0 - 0.05 / 6.0);
        assert!((found.rows[0].low - (0.1 - third * 0.1)).abs() < 1e-9, "{found:?}");
        // z = 2.3 is rejected at its step and not by Bonferroni: its interval ends at 0.
        assert_eq!(found.rows[2].high, 0.0);
        let plain = adjust(&effects(&[0.1, 0.3, -0.23]), None, Some(Simultaneous::Bonferroni));
        assert_eq!(plain.unwrap().rows[2].says, "holds 0");
        let up = adjust(&effects(&[0.1, 0.3, 0.23]), None, Some(Simultaneous::Holm)).unwrap();
        assert_eq!(up.rows[2].low, 0.0);
        assert_eq!(adjust(&effects(&[0.1]), None, None), None);
    }

    #[test]
    fn looks_of_a_plan() {
        let plan = Plan::parse("features=4 patients=4000 better=high epsilon=1 reports=3").unwrap();
        let early = schedule::looks(&plan).filter(|at| *at <= 2000).count();
        // Nothing is spent at half.
        let course = Course::overall(&plan, std::iter::empty());
        let critical = |looks: Looks, spent| looks.critical(Kind::Pocock, LEVEL, course, spent);
        let pocock = |fractions: &[f64]| Kind::Pocock.critical(LEVEL, fractions).pop();
        let closed =
            |reports: &[f64], spent| Kind::Pocock.critical_at_close(LEVEL, &[], reports, spent);
        let two = Looks::new(&plan, early as u32 + 2, None);
        assert_eq!((two.place(), two.planned()), (2, 4));
        assert_eq!(critical(two, 0.5), pocock(&[0.25, 0.5]));
        let end = Looks::new(&plan, 0, Some(4000));
        assert_eq!(critical(end, 1.0), pocock(&[0.25, 0.5, 0.75, 1.0]));
        // A close at the count of a report takes its place; one before n has what is spent.
        assert_eq!(critical(Looks::new(&plan, 0, Some(2500)), 0.3), closed(&[], 0.3));
        assert_eq!(critical(Looks::new(&plan, 0, Some(2600)), 0.3), closed(&[0.25], 0.3));
        // Alone it is O'Brien and Fleming's; behind a report of Pocock's nothing is left for it.
        let alone = Kind::OBrienFleming.critical(LEVEL, &[0.3]).pop();
        assert_eq!(closed(&[], 0.3), alone);
        assert!(closed(&[0.25], 0.3).unwrap() > 5.0);
    }

    #[test]
    fn boundaries_are_named_when_crossed() {
        let looks = Looks::new(&plan(), 1, None);
        let boundary = Boundary { kind: Kind::OBrienFleming, effect: Some(300_000) };
        let found = adjust(&effects(&[0.4, 0.02, -0.05]), Some((boundary, &looks)), None).unwrap();
        let says: Vec<&str> = found.rows.iter().map(|row| row.says).collect();
        assert_eq!(says[0], "EFFICACY boundary crossed");
        assert_eq!(says[1..], ["futility boundary crossed"; 2]);
        let open = Boundary { effect: None, ..boundary };
        let found = adjust(&effects(&[0.02]), Some((open, &looks)), None).unwrap();
        assert_eq!(found.rows[0].says, "no boundary crossed: go on");
        assert!(found.method.contains("all 4 reports"), "{}", found.method);
    }

    /// An interval that holds the planned effect is not futile, on either side of 0; one that ends
    /// before it is.
    #[test]
    fn futility_is_on_the_side_of_0() {
        let looks = Looks::new(&plan(), 1, None);
        let says = |planned: i32, estimate: f64| {
            let boundary = Boundary { kind: Kind::OBrienFleming, effect: Some(planned) };
            let found = adjust(&effects(&[estimate]), Some((boundary, &looks)), None).unwrap();
            found.rows[0].says
        };
        assert_eq!(says(300_000, 0.2), "no boundary crossed: go on");
        assert_eq!(says(-300_000, -0.2), "no boundary crossed: go on");
        assert_eq!(says(-300_000, 0.05), "futility boundary crossed");
    }

    #[test]
    fn boundaries_of_a_file_are_checked() {
        let read = |kind: &str, effect| {
            Boundary::try_from(RawBoundary { kind: kind.into(), effect: Some(effect) })
        };
        assert_eq!(read("pocock", -0.25).map(|found| found.effect), Ok(Some(-250_000)));
        assert!(read("pocock", 0.0).unwrap_err().contains("effect = 0, allowed -1..=1, not 0"));
        assert!(read("pocock", 1.5).is_err() && read("x", 0.1).is_err());
    }
}
