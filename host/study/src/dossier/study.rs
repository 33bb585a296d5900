//! Simulations for the page: a grid of scenarios, and power over patients and effect.

use crate::chart::{Axis, Chart, Look, Point, Series};
use crate::planner::compare::choices;
use crate::planner::keys::keys;
use crate::planner::search::Effort;
use crate::planner::{Candidate, Choice, Question, fresh};
use crate::scenarios::{self, Cell};
use crate::simulate::{Scenario, SimulateError, Summary};

/// Trials of a scenario of the grid.
const RUNS: u32 = 1000;
/// Places of the curves, as shares of the planned number of patients and effect.
const SHARES: [f64; 7] = [0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0];

/// The simulations behind a page.
pub struct Study {
    /// The grid as a file for `equipoise simulate --scenarios`.
    pub grid: String,
    /// Its scenarios with their figures.
    pub cells: Vec<(Cell, Summary)>,
    /// Power over patients, over the effect, and by scenario.
    pub charts: Vec<Chart>,
}

/// The grid: what was planned, and what may go otherwise.
fn grid(question: &Question, found: &Candidate) -> Result<String, SimulateError> {
    let scenario = question.scenario(&found.choice, Effort::Fine)?;
    let (plan, world) = (&scenario.plan, &scenario.world);
    let (baseline, effect) = (question.baseline, found.choice.effect);
    let drift = world.instance.drift;
    let fits = |rate: f64| [rate, rate + drift].iter().all(|rate| (0.0..=1.0).contains(rate));
    let all = ["no-effect", "planned", "half", "reversed", "one-against"];
    let mut effects = all.to_vec();
    if !fits(baseline - effect) {
        effects.truncate(3);
    } else if plan.features() < 2 {
        effects.truncate(4);
    }
    let most = [baseline, baseline + effect, baseline - effect].into_iter().fold(0.0, f64::max);
    let drift = f64::min(0.1, (1.0 - most) / 2.0).max(0.0);
    let late = (plan.patients() / 20).clamp(1, 4000).max(world.delay.to);
    let [lost0, lost1] = world.lost.0;
    let boundary =
        scenario.boundary.map_or(String::new(), |kind| format!("boundary = \"{}\"\n", kind.name()));
    Ok(format!(
        "designs = [\"{}\", \"uniform\", \"fixed\"]\neffects = {effects:?}\nruns = {RUNS}\nseed = {}\n\n\
         [plan]\n{}{boundary}\n\
         [world]\nbaseline = {baseline}\neffect = {effect}\n{}\n\
         [[scenario]]\nname = \"as planned\"\n\n\
         [[scenario]]\nname = \"10 % more outcomes lost\"\nlost = \"{},{}\"\n\n\
         [[scenario]]\nname = \"20 % more lost in arm 1\"\nlost = \"{lost0},{}\"\n\n\
         [[scenario]]\nname = \"outcomes {late} patients late\"\ndelay = {late}\n\n\
         [[scenario]]\nname = \"rates rise by {drift:.2}\"\ndrift = {drift:.2}\n\n\
         [[scenario]]\nname = \"uneven arrivals\"\narrivals = \"zipf\"\n",
        if plan.design().name() == "uniform" { "interim" } else { plan.design().name() },
        fresh(scenario.seed),
        keys(plan),
        world.grid_keys(),
        (lost0 + 0.1).min(1.0),
        (lost1 + 0.1).min(1.0),
        (lost1 + 0.2).min(1.0),
    ))
}

/// Power of the three trials along `values`.
fn curves(
    question: &Question,
    found: &Candidate,
    along: impl Fn(&Choice, f64) -> Option<(Choice, f64)>,
) -> Result<Vec<Series>, SimulateError> {
    let mut all = Vec::new();
    for choice in choices(&found.choice) {
        let mut points = Vec::new();
        let mut name = String::new();
        for share in SHARES {
            let Some((choice, x)) = along(&choice, share) else { continue };
            let scenario = question.scenario(&choice, Effort::Rough)?;
            let scenario = Scenario { seed: fresh(scenario.seed), ..scenario };
            name = scenario.name();
            let summary = question.play(&scenario)?;
            let Some(power) = question.wish.power_of(&summary) else { continue };
            let (at, error) = ([x, power.mean], [0.0, power.error]);
            points.push(Point { at, error, label: None });
        }
        let name = if name == "fixed" { "fixed,\nno privacy".into() } else { name };
        all.push(Series { name, look: Look::Curve, points });
    }
    Ok(all)
}

/// Simulates everything the page shows beside the plan itself.
///
/// # Errors
/// A value out of its range.
pub fn study(question: &Question, found: &Candidate) -> Result<Study, SimulateError> {
    let grid = grid(question, found)?;
    let mut cells = Vec::new();
    for cell in scenarios::parse("the grid of the dossier", &grid)? {
        let summary = question.play(&cell.scenario)?;
        cells.push((cell, summary));
    }
    let (patients, effect) = (found.choice.patients, found.choice.effect);
    let least = 20 * u32::from(question.base.plan.features());
    let over_patients = curves(question, found, |choice, share| {
        let patients = ((f64::from(patients) * share) as u32).max(least);
        Some((Choice { patients, ..*choice }, f64::from(patients)))
    })?;
    let over_effect = curves(question, found, |choice, share| {
        let effect = effect * share;
        let fits = (0.0..=1.0).contains(&(question.baseline + effect));
        fits.then_some((Choice { effect, ..*choice }, effect))
    })?;
    let power = Axis { name: "power (share of intervals that exclude 0)", log: false };
    let chart = |title: &str, subtitle: String, axis: &'static str, series: Vec<Series>| Chart {
        title: title.into(),
        subtitle,
        axes: [Axis { name: axis, log: false }, power.clone()],
        series,
    };
    let rates = format!("rates {} and {:.4}", question.baseline, question.baseline + effect);
    let charts = vec![
        chart("Power and patients", rates, "patients of the trial", over_patients),
        chart(
            "Power and effect",
            format!("{patients} patients, baseline {}", question.baseline),
            "effect (arm 1 minus arm 0)",
            over_effect,
        ),
    ];
    Ok(Study { grid, cells, charts })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::boundaries::Kind;
    use crate::planner::{Given, Silent, Target, Wish};
    use crate::simulate::Instance;
    use equipoise::plan::Plan;

    /// The grid of a plan with a boundary has it too, so that the page shows one kind of power.
    #[test]
    fn grid_has_the_plan_s_boundary() {
        let plan = Plan::parse("features=2 patients=200 epsilon=1 reports=2").unwrap();
        let mut base = Scenario::new(plan, Instance::same(2, 0.4, 0.6), 1, 1);
        base.boundary = Some(Kind::Pocock);
        let given = Given { patients: Some(200), effect: Some(0.2), epsilon: None, alpha: None };
        let wish =
            Wish { power: None, width: None, better: None, regret: None, target: Target::Feature };
        let question = Question { base, baseline: 0.4, given, wish, meter: &Silent };
        let choice = question.start();
        let small = Scenario { runs: 2, ..question.scenario(&choice, Effort::Rough).unwrap() };
        let summary = question.play(&small).unwrap();
        let found = Candidate { choice, summary, error: None };
        let cells = scenarios::parse("g", &grid(&question, &found).unwrap()).unwrap();
        assert!(cells.iter().all(|cell| cell.scenario.boundary == Some(Kind::Pocock)));
        assert!(cells.iter().all(|cell| cell.scenario.plan.reports() == 2));
    }
}
