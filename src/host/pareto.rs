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

use crate::prelude::*;
use std::fmt::Write;
use std::process::ExitCode;

use super::chart::{Axis, Chart, Look, Point, Series, check_name, save};
use super::simulate::command::{PlanArgs, WorldArgs, policy, progress};
use super::simulate::{Arrivals, Instance, Scenario, SimulateError, Summary, sums};
use crate::design::Arm;

/// The parameter along a curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Over {
    /// The trade between regret and error
    Alpha,
    /// What privacy costs
    Epsilon,
    /// What a rare feature costs
    Fmin,
}

/// What `equipoise pareto` takes.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Where to: FILE.svg, FILE.png or, for the numbers alone, FILE.csv
    #[arg(long, value_name = "FILE")]
    out: String,
    /// Which picture
    #[arg(long, value_enum, default_value = "alpha")]
    over: Over,
    /// Designs with a curve, by commas
    #[arg(long, default_value = "interim,dp-conse,conse,uniform")]
    designs: String,
    /// Comparators, by commas
    #[arg(long, default_value = "fixed,ucb1,thompson,etc")]
    comparators: String,
    #[command(flatten)]
    plan: PlanArgs,
    #[command(flatten)]
    world: WorldArgs,
}

const ALPHAS: [&str; 9] = ["0", "1/8", "1/4", "3/8", "1/2", "5/8", "3/4", "7/8", "1"];
const EPSILONS: [&str; 8] = ["1/10", "1/5", "2/5", "3/4", "3/2", "3", "6", "12"];
/// Patients of the rarest feature, as fractions of an equal share.
const RARITIES: [f64; 4] = [1.0, 0.2, 0.04, 0.01];

/// Whether a design depends on alpha; the others are points.
fn has_alpha(name: &str) -> bool {
    name != "uniform"
}

/// One simulated point of a picture.
struct Measured {
    series: String,
    value: String,
    scenario: Scenario,
    summary: Summary,
}

impl Args {
    fn scenario(&self, name: &str, alpha: &str, epsilon: &str) -> Result<Scenario, SimulateError> {
        let (design, policy) = policy(name)?;
        let args = PlanArgs { alpha: alpha.into(), epsilon: epsilon.into(), ..self.plan.clone() };
        let plan = args.plan(design)?;
        let (runs, seed) = (self.world.runs()?, self.world.seed()?);
        let scenario =
            Scenario { plan, policy, world: self.world.world(plan.features())?, runs, seed };
        scenario.check().map(|()| scenario)
    }

    /// What is to be simulated: series, value along it, scenario.
    fn points(&self) -> Result<Vec<(String, String, Scenario)>, SimulateError> {
        let names = |list: &str| -> Vec<String> {
            list.split(',').map(str::trim).filter(|name| !name.is_empty()).map(Into::into).collect()
        };
        let (alpha, epsilon) = (self.plan.alpha.as_str(), self.plan.epsilon.as_str());
        let (designs, comparators) = (names(&self.designs), names(&self.comparators));
        let mut points = Vec::new();
        match self.over {
            Over::Alpha => {
                for name in designs.iter().filter(|name| has_alpha(name)) {
                    for value in ALPHAS {
                        points.push((
                            name.clone(),
                            value.into(),
                            self.scenario(name, value, epsilon)?,
                        ));
                    }
                }
                for name in designs.iter().filter(|name| !has_alpha(name)).chain(&comparators) {
                    points.push((
                        name.clone(),
                        String::new(),
                        self.scenario(name, alpha, epsilon)?,
                    ));
                }
            }
            Over::Epsilon => {
                for name in designs.iter().filter(|name| *name != "conse") {
                    for value in EPSILONS {
                        points.push((
                            name.clone(),
                            value.into(),
                            self.scenario(name, alpha, value)?,
                        ));
                    }
                }
                for name in designs.iter().filter(|name| *name == "conse").chain(&comparators) {
                    points.push((
                        name.clone(),
                        String::new(),
                        self.scenario(name, alpha, epsilon)?,
                    ));
                }
            }
            Over::Fmin => {
                let name = designs
                    .first()
                    .ok_or_else(|| SimulateError::value("designs", "", "one at least"))?;
                for rarity in RARITIES {
                    for value in ALPHAS {
                        let mut scenario = self.scenario(name, value, epsilon)?;
                        let others = usize::from(scenario.plan.features()).max(2) - 1;
                        let mut weights = vec![1.0; others];
                        let share = rarity / (others as f64 + 1.0);
                        weights.push(share * others as f64 / (1.0 - share));
                        let rarest = share * f64::from(scenario.plan.patients());
                        scenario.world.arrivals = Arrivals::Shares(weights);
                        scenario.check()?;
                        points.push((format!("f_min = {rarest:.0}"), value.into(), scenario));
                    }
                }
            }
        }
        Ok(points)
    }
}

/// Runs `equipoise pareto`.
///
/// # Errors
/// A value that is not allowed, or a file that cannot be written.
pub fn run(args: &Args) -> Result<ExitCode, SimulateError> {
    check_name(&args.out)?;
    let points = args.points()?;
    let total =
        points.iter().map(|(_, _, s)| u64::from(s.plan.patients()) * u64::from(s.runs)).sum();
    let bar = progress(total);
    let measured = args.world.on_threads(|| {
        let measure = |(series, value, scenario): (String, String, Scenario)| {
            let a_run = u64::from(scenario.plan.patients());
            let summary = sums(&scenario, 0..scenario.runs, &|| bar.inc(a_run))?.summary();
            Ok(Measured { series, value, scenario, summary })
        };
        points.into_iter().map(measure).collect::<Result<Vec<_>, _>>()
    })?;
    bar.finish_and_clear();
    save(&args.out, &chart(args, &measured), &csv(&measured))?;
    Ok(ExitCode::SUCCESS)
}

/// The floors of regret * MSE / M: fair-coin patients only, and all outcomes of the better arm.
#[must_use]
pub fn floors(instance: &Instance, scale: u16) -> [f64; 2] {
    let mut roots = [0.0; 2];
    for (j, effect) in instance.effects().enumerate() {
        let [zero, one] = Arm::BOTH.map(|arm| instance.variance(j, arm, scale));
        let worse = if effect > 0.0 { zero } else { one };
        roots[0] += (effect.abs() * (zero + one)).sqrt();
        roots[1] += (effect.abs() * worse).sqrt();
    }
    roots.map(|root| (root / instance.p0.len() as f64).powi(2))
}

fn csv(measured: &[Measured]) -> String {
    let mut text =
        "series,value,regret,regret_se,mse,mse_se,max_mse,product,product_se,bias,coverage,excludes_0,excludes_0_se,wrong_side,any_error,plan\n".to_owned();
    for Measured { series, value, scenario, summary: s } in measured {
        let some = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
        let _ = writeln!(
            text,
            "{series},{value},{},{},{},{},{},{},{},{},{},{},{},{},{},{}",
            s.regret.mean,
            s.regret.error,
            some(s.mse.map(|f| f.mean)),
            some(s.mse.map(|f| f.error)),
            some(s.max_mse),
            some(s.product.map(|f| f.mean)),
            some(s.product.map(|f| f.error)),
            some(s.bias),
            some(s.coverage.map(|f| f.mean)),
            some(s.excludes_0.map(|f| f.mean)),
            some(s.excludes_0.map(|f| f.error)),
            some(s.wrong_side),
            s.any_error,
            scenario.plan
        );
    }
    text
}

/// Consecutive points of one name are one series.
fn series(measured: &[Measured], point: impl Fn(&Measured) -> Option<Point>) -> Vec<Series> {
    let mut all: Vec<Series> = Vec::new();
    for m in measured {
        if all.last().is_none_or(|last| last.name != m.series) {
            let look = if m.value.is_empty() { Look::Points } else { Look::Curve };
            all.push(Series { name: m.series.clone(), look, points: Vec::new() });
        }
        if let Some(last) = all.last_mut() {
            last.points.extend(point(m));
        }
    }
    all
}

fn chart(args: &Args, measured: &[Measured]) -> Chart {
    let Some(first) = measured.first() else {
        return Chart {
            title: String::new(),
            subtitle: String::new(),
            axes: [Axis { name: "", log: false }, Axis { name: "", log: false }],
            series: Vec::new(),
        };
    };
    let (plan, world) = (&first.scenario.plan, &first.scenario.world);
    let m = f64::from(plan.features());
    let same = |rates: &[f64]| rates.iter().all(|rate| *rate == rates[0]).then(|| rates[0]);
    let rates = match (same(&world.instance.p0), same(&world.instance.p1)) {
        (Some(zero), Some(one)) => format!("rates {zero} and {one}"),
        _ => "rates by feature".into(),
    };
    let sizes = format!("{} patients, {} features, {rates}", plan.patients(), plan.features());
    let runs = format!("{} runs", first.scenario.runs);
    let ends =
        |m: &Measured| ["0", "1"].contains(&m.value.as_str()).then(|| format!("alpha {}", m.value));
    match args.over {
        Over::Alpha => {
            let mut series = series(measured, |m| {
                let mse = m.summary.mse?;
                let (at, error) =
                    ([m.summary.regret.mean, mse.mean], [m.summary.regret.error, mse.error]);
                let label = if m.series == "interim" { ends(m) } else { None };
                Some(Point { at, error, label })
            });
            let drawn: Vec<f64> = series.iter().flat_map(|s| &s.points).map(|p| p.at[0]).collect();
            let (low, high) =
                drawn.iter().fold((f64::MAX, 0.0f64), |(l, h), x| (l.min(*x), h.max(*x)));
            let names = ["floor, fair coins only", "floor, all outcomes of\nthe better arm count"];
            for (name, floor) in names.iter().zip(floors(&world.instance, plan.scale())) {
                let on = |x: f64| Point { at: [x, floor * m / x], ..Point::default() };
                let points = vec![on(low * 0.3), on(high * 3.0)];
                series.push(Series { name: (*name).into(), look: Look::Reference, points });
            }
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
                let epsilon = m.scenario.plan.epsilon().to_f64();
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
                first.scenario.name()
            ),
            subtitle: format!("{sizes}, epsilon {}, {runs}", plan.epsilon()),
            axes: [
                Axis { name: "regret (outcomes lost in a trial)", log: true },
                Axis { name: "mean squared error, worst feature", log: true },
            ],
            series: series(measured, |m| {
                let (at, error) =
                    ([m.summary.regret.mean, m.summary.max_mse?], [m.summary.regret.error, 0.0]);
                let label = if m.series == first.series { ends(m) } else { None };
                Some(Point { at, error, label })
            })
            .into_iter()
            .map(|s| Series { name: s.name + " patients\nof the rarest feature", ..s })
            .collect(),
        },
    }
}
