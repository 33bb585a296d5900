//! `equipoise pareto`: regret against error, what privacy costs, and what a rare feature costs.
//!
//! * `--over alpha`: the plane of regret and mean squared error, both logarithmic. One curve a
//!   design over alpha from 0 to 1, comparators as points, and two floors: no design that estimates
//!   from patients of a fair coin alone comes below regret * MSE / M = gap (s0^2 + s1^2), and none
//!   below gap * s_bad^2, which a design reaches if every outcome of the better arm counts and only
//!   those of the worse arm limit it.
//! * `--over epsilon`: regret * MSE / M of the private designs against epsilon, with the others as
//!   reference.
//! * `--over fmin`: the plane again, with the error of the worst feature as in the paper; one curve
//!   of the first design for each number of patients of the rarest feature. The fewer, the shorter
//!   the curve.
//!
//! For features that differ, a floor is taken over the best split of regret among them: with c_j
//! the floor of feature j it is the square of the mean of sqrt(c_j) (Cauchy-Schwarz).
//!
//! `--out FILE.csv` writes the numbers instead of a picture.

use std::fmt::Write;

use crate::chart::{Axis, Chart, Look, Point, Series};
use crate::simulate::figures;
use crate::simulate::{
    Arrivals, Chooser, Instance, Policy, Scenario, SimulateError, Summary, World,
};
use equipoise::plan::{DesignName, Plan, Ratio};
use equipoise::terms::Arm;

/// The parameter along a curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// The trade between regret and error.
    Alpha,
    /// The cost of privacy.
    Epsilon,
    /// The cost of a rare feature.
    Fmin,
}

/// Content of a picture.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// The parameter along a curve.
    pub over: Over,
    /// Designs with a curve; one at least.
    pub designs: &'a [Chooser],
    /// Comparators, each a point or a level.
    pub comparators: &'a [Chooser],
    /// The first design with the plan's own alpha and epsilon; the world, runs and seed of all.
    pub base: Scenario,
}

/// Values along the curves, as numerator and denominator.
const ALPHAS: [(u32, u32); 9] =
    [(0, 1), (1, 8), (1, 4), (3, 8), (1, 2), (5, 8), (3, 4), (7, 8), (1, 1)];
const EPSILONS: [(u32, u32); 8] =
    [(1, 10), (1, 5), (2, 5), (3, 4), (3, 2), (3, 1), (6, 1), (12, 1)];
/// Patients of the rarest feature, as fractions of an equal share.
const RARITIES: [f64; 4] = [1.0, 0.2, 0.04, 0.01];

fn ratios(list: &[(u32, u32)]) -> impl Iterator<Item = Ratio> {
    list.iter().filter_map(|(num, den)| Ratio::new(*num, *den))
}

/// A point of a picture before its simulation.
pub struct Planned {
    series: String,
    value: String,
    /// The scenario to simulate.
    pub scenario: Scenario,
}

impl Planned {
    /// The point with the result of its simulation.
    #[must_use]
    pub fn measured(self, summary: Summary) -> Measured {
        Measured { point: self, summary }
    }
}

/// A simulated point of a picture.
pub struct Measured {
    point: Planned,
    summary: Summary,
}

impl Request<'_> {
    fn scenario(
        &self,
        chooser: &Chooser,
        alpha: Option<Ratio>,
        epsilon: Option<Ratio>,
    ) -> Result<Scenario, SimulateError> {
        let mut parameters = self.base.plan.parameters();
        parameters.design = chooser.design;
        parameters.alpha = alpha.unwrap_or(parameters.alpha);
        parameters.epsilon = epsilon.unwrap_or(parameters.epsilon);
        let plan = Plan::new(parameters)?;
        Ok(Scenario { plan, policy: chooser.policy, ..self.base.clone() })
    }

    /// Curves of those that depend on the parameter, then points of the others.
    fn curves_and_points(
        &self,
        depends: fn(DesignName) -> bool,
        values: &[(u32, u32)],
        scenario: impl Fn(&Chooser, Option<Ratio>) -> Result<Scenario, SimulateError>,
    ) -> Result<Vec<Planned>, SimulateError> {
        let curve = |chooser: &&Chooser| chooser.policy == Policy::Core && depends(chooser.design);
        let planned = |chooser: &Chooser, value: Option<Ratio>| {
            let scenario = scenario(chooser, value)?;
            let value = value.map_or_else(String::new, |value| value.to_string());
            Ok(Planned { series: scenario.name(), value, scenario })
        };
        let curves = self.designs.iter().filter(curve);
        let points = self.designs.iter().filter(|chooser| !curve(chooser)).chain(self.comparators);
        let along = |chooser| ratios(values).map(move |value| (chooser, Some(value)));
        let all = curves.flat_map(along).chain(points.map(|chooser| (chooser, None)));
        all.map(|(chooser, value)| planned(chooser, value)).collect()
    }

    /// Curves over alpha, each with another share of the rarest feature.
    fn rare_features(&self) -> Result<Vec<Planned>, SimulateError> {
        let Some(first) = self.designs.first() else { return Ok(Vec::new()) };
        let mut points = Vec::new();
        for rarity in RARITIES {
            for value in ratios(&ALPHAS) {
                let mut scenario = self.scenario(first, Some(value), None)?;
                let others = usize::from(scenario.plan.features()).max(2) - 1;
                let mut weights = vec![1.0; others];
                let share = rarity / (others as f64 + 1.0);
                weights.push(share * others as f64 / (1.0 - share));
                let rarest = share * f64::from(scenario.plan.patients());
                scenario.world.arrivals = Arrivals::Shares(weights);
                scenario.check()?;
                let (series, value) = (format!("f_min = {rarest:.0}"), value.to_string());
                points.push(Planned { series, value, scenario });
            }
        }
        Ok(points)
    }
}

/// Points of a picture, to be simulated.
///
/// # Errors
/// A value that is not allowed.
pub fn points(request: &Request<'_>) -> Result<Vec<Planned>, SimulateError> {
    match request.over {
        Over::Alpha => request.curves_and_points(
            |design| design != DesignName::Uniform,
            &ALPHAS,
            |chooser, alpha| request.scenario(chooser, alpha, None),
        ),
        Over::Epsilon => request.curves_and_points(
            |design| design != DesignName::Conse,
            &EPSILONS,
            |chooser, epsilon| request.scenario(chooser, None, epsilon),
        ),
        Over::Fmin => request.rare_features(),
    }
}

/// The floors of regret * MSE / M: fair-coin patients only, and all outcomes of the better arm.
#[must_use]
pub fn floors(world: &World, scale: u16) -> [f64; 2] {
    let instance = &world.instance;
    let mut roots = [0.0; 2];
    for (j, effect) in instance.effects().enumerate() {
        let [zero, one] = Arm::BOTH.map(|arm| world.variance(j, arm, scale));
        let worse = if effect > 0.0 { zero } else { one };
        roots[0] += (effect.abs() * (zero + one)).sqrt();
        roots[1] += (effect.abs() * worse).sqrt();
    }
    roots.map(|root| (root / instance.p0.len() as f64).powi(2))
}

/// Theorem 1 of the paper: for every design there are instances with the gap of this one on which
/// regret * MSE / M is not below this.
///
/// The theorem states no constant; this is that of its proof. For outcomes of -1 and 1 and one
/// feature, lemma 1.1 (the last line of its proof, with 8/3) and phi^2 = 3 gap / (32 regret) give
/// error >= phi^2 / 4, so regret * error >= 3 gap / 128. Outcomes of 0 and 1 halve gap and regret
/// and quarter the error: 3 gap / 512. Errors are the largest and regret is the sum over features,
/// so with M features the bound is that of the mean gap, times M.
#[must_use]
pub fn theorem_1(instance: &Instance) -> f64 {
    let features = instance.p0.len() as f64;
    3.0 * instance.effects().map(f64::abs).sum::<f64>() / features / 512.0
}

/// The columns of the figures behind a picture, before and after the plan.
const COLUMNS: [&[&str]; 2] = [
    &[
        "regret",
        "regret_se",
        "mse",
        "mse_se",
        "max_mse",
        "product",
        "product_se",
        "bias",
        "coverage",
        "excludes_0",
        "excludes_0_se",
        "wrong_side",
        "any_error",
    ],
    &[
        "wrong_side_se",
        "any_error_se",
        "overall_excludes_0",
        "overall_excludes_0_se",
        "overall_coverage",
        "overall_coverage_se",
    ],
];

/// The numbers behind a picture.
#[must_use]
pub fn csv(measured: &[Measured]) -> String {
    let [before, after] = COLUMNS.map(|columns| columns.join(","));
    let mut text = format!("series,value,{before},plan,{after}\n");
    for Measured { point: Planned { series, value, scenario }, summary } in measured {
        let cells = |columns: &[&str]| {
            let cells = columns.iter().map(|column| figures::value(summary, column).csv());
            cells.collect::<Vec<_>>().join(",")
        };
        let [before, after] = COLUMNS.map(cells);
        let _ = writeln!(text, "{series},{value},{before},{},{after}", scenario.plan);
    }
    text
}

/// Consecutive points of one name are one series.
fn series(measured: &[Measured], point: impl Fn(&Measured) -> Option<Point>) -> Vec<Series> {
    let mut all: Vec<Series> = Vec::new();
    for m in measured {
        if all.last().is_none_or(|last| last.name != m.point.series) {
            let look = if m.point.value.is_empty() { Look::Points } else { Look::Curve };
            all.push(Series { name: m.point.series.clone(), look, points: Vec::new() });
        }
        if let Some(last) = all.last_mut() {
            last.points.extend(point(m));
        }
    }
    all
}

/// The picture.
#[must_use]
pub fn chart(over: Over, measured: &[Measured]) -> Chart {
    let Some(first) = measured.first() else {
        return Chart {
            title: String::new(),
            subtitle: String::new(),
            axes: [Axis { name: "", log: false }, Axis { name: "", log: false }],
            series: Vec::new(),
        };
    };
    let (plan, world) = (&first.point.scenario.plan, &first.point.scenario.world);
    let m = f64::from(plan.features());
    let same = |rates: &[f64]| rates.iter().all(|rate| *rate == rates[0]).then(|| rates[0]);
    let rates = match (same(&world.instance.p0), same(&world.instance.p1)) {
        (Some(zero), Some(one)) => format!("rates {zero} and {one}"),
        _ => "rates by feature".into(),
    };
    let sizes = format!("{} patients, {} features, {rates}", plan.patients(), plan.features());
    let runs = format!("{} runs", first.point.scenario.runs);
    let ends = |m: &Measured| {
        ["0", "1"].contains(&m.point.value.as_str()).then(|| format!("alpha {}", m.point.value))
    };
    match over {
        Over::Alpha => {
            let mut series = series(measured, |m| {
                let mse = m.summary.mse?;
                let (at, error) =
                    ([m.summary.regret.mean, mse.mean], [m.summary.regret.error, mse.error]);
                let label = if m.point.series == "interim" { ends(m) } else { None };
                Some(Point { at, error, label })
            });
            let drawn: Vec<f64> = series.iter().flat_map(|s| &s.points).map(|p| p.at[0]).collect();
            let (low, high) =
                drawn.iter().fold((f64::MAX, 0.0f64), |(l, h), x| (l.min(*x), h.max(*x)));
            let names = ["floor, fair coins only", "floor, all outcomes of\nthe better arm count"];
            for (name, floor) in names.iter().zip(floors(world, plan.scale())) {
                let on = |x: f64| Point { at: [x, floor * m / x], ..Point::default() };
                let points = vec![on(low * 0.3), on(high * 3.0)];
                series.push(Series { name: (*name).into(), look: Look::Reference, points });
            }
            let bound = theorem_1(&world.instance);
            let on = |x: f64| Point { at: [x, bound * m / x], ..Point::default() };
            let name = "Theorem 1: no design is\nbelow on all instances".to_owned();
            let points = vec![on(low), on(high)];
            series.push(Series { name, look: Look::Bound, points });
            Chart {
                title: "The trade between regret and error, alpha from 0 to 1".into(),
                subtitle: format!(
                    "{sizes}, epsilon {}, {runs}; bars: 1 standard error",
                    plan.epsilon()
                ),
                axes: [
                    Axis { name: "regret (outcomes lost in a trial)", log: true },
                    Axis { name: "mean squared error of the effect", log: true },
                ],
                series,
            }
        }
        Over::Epsilon => {
            let mut series = series(measured, |m| {
                let product = m.summary.product?;
                let epsilon = m.point.scenario.plan.epsilon().to_f64();
                Some(Point {
                    at: [epsilon, product.mean],
                    error: [0.0, product.error],
                    label: None,
                })
            });
            for series in series.iter_mut().filter(|s| s.look == Look::Points) {
                series.look = Look::Level;
                series.name += " (no privacy)";
            }
            Chart {
                title: "What privacy costs".into(),
                subtitle: format!(
                    "{sizes}, alpha {}, {runs}; bars: 1 standard error",
                    plan.alpha()
                ),
                axes: [
                    Axis { name: "epsilon (privacy loss of one patient)", log: true },
                    Axis { name: "regret x MSE / features", log: true },
                ],
                series,
            }
        }
        Over::Fmin => Chart {
            title: format!(
                "What a rare feature costs: {}, alpha from 0 to 1",
                first.point.scenario.name()
            ),
            subtitle: format!("{sizes}, epsilon {}, {runs}", plan.epsilon()),
            axes: [
                Axis { name: "regret (outcomes lost in a trial)", log: true },
                Axis { name: "mean squared error, worst feature", log: true },
            ],
            series: series(measured, |m| {
                let (at, error) =
                    ([m.summary.regret.mean, m.summary.max_mse?], [m.summary.regret.error, 0.0]);
                let label = if m.point.series == first.point.series { ends(m) } else { None };
                Some(Point { at, error, label })
            })
            .into_iter()
            .map(|s| Series { name: s.name + " patients\nof the rarest feature", ..s })
            .collect(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: 3/512 of the mean gap, and the two floors at 0.35 and 0.65.
    #[test]
    fn bounds_by_hand() {
        let mut instance = Instance::same(2, 0.35, 0.65);
        assert!((theorem_1(&instance) - 3.0 * 0.3 / 512.0).abs() < 1e-12);
        let variance = 0.35 * 0.65;
        let [fair, all] = floors(&World::plain(instance.clone()), 1);
        assert!((fair - 0.3 * 2.0 * variance).abs() < 1e-9, "{fair}");
        assert!((all - 0.3 * variance).abs() < 1e-9, "{all}");
        instance.p1 = vec![0.65, 0.25];
        assert!((theorem_1(&instance) - 3.0 * 0.2 / 512.0).abs() < 1e-12);
    }
}
