//! Simulations for the page: a grid of scenarios, and power over patients and effect.

use crate::chart::{Axis, Chart, Look, Point, Series};
use crate::planner::compare::proposals;
use crate::planner::keys::keys;
use crate::planner::search::Effort;
use crate::planner::{Candidate, Proposal, Question, fresh};
use crate::scenarios::{self, Cell};
use crate::simulate::delays::MAX_DELAY;
use crate::simulate::{Arrivals, Scenario, SimulateError, Summary};

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
    let scenario = question.scenario(&found.proposal, Effort::Fine)?;
    let (plan, world) = (&scenario.plan, &scenario.world);
    let (baseline, effect) = (question.baseline, found.proposal.effect);
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
    // A scenario must differ from the plan, or it tests nothing: twice the delay at least, another
    // drift, other arrivals.
    let rise = f64::min(0.1, (1.0 - most - drift.max(0.0)) / 2.0).max(0.01);
    let drift = drift + rise;
    let late = (plan.patients() / 20).clamp(1, 4000).max(2 * world.delay.to).min(MAX_DELAY);
    let uneven = match world.arrivals {
        Arrivals::Zipf(steepness) => format!("zipf:{}", steepness + 1.0),
        _ => "zipf".to_owned(),
    };
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
         [[scenario]]\nname = \"rates rise by {drift:.2} over the trial\"\ndrift = {drift:.2}\n\n\
         [[scenario]]\nname = \"uneven arrivals\"\narrivals = \"{uneven}\"\n",
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
    along: impl Fn(&Proposal, f64) -> Option<(Proposal, f64)>,
) -> Result<Vec<Series>, SimulateError> {
    let mut all = Vec::new();
    for proposal in proposals(&found.proposal) {
        let mut points = Vec::new();
        let mut name = String::new();
        for share in SHARES {
            let Some((proposal, x)) = along(&proposal, share) else { continue };
            let scenario = question.scenario(&proposal, Effort::Rough)?;
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
    let (patients, effect) = (found.proposal.patients, found.proposal.effect);
    let least = 20 * u32::from(question.base.plan.features());
    let over_patients = curves(question, found, |proposal, share| {
        let patients = ((f64::from(patients) * share) as u32).max(least);
        Some((Proposal { patients, ..*proposal }, f64::from(patients)))
    })?;
    let over_effect = curves(question, found, |proposal, share| {
        let effect = effect * share;
        let fits = (0.0..=1.0).contains(&(question.baseline + effect));
        fits.then_some((Proposal { effect, ..*proposal }, effect))
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
        let plan = Plan::parse("features=2 patients=200 better=high epsilon=1 reports=2").unwrap();
        let mut base = Scenario::new(plan, Instance::same(2, 0.4, 0.6), 1, 1);
        base.boundary = Some(Kind::Pocock);
        let given = Given { patients: Some(200), effect: Some(0.2), epsilon: None, alpha: None };
        let wish =
            Wish { power: None, width: None, better: None, regret: None, target: Target::Feature };
        let question = Question {
            base,
            baseline: 0.4,
            given,
            wish,
            is_design_given: true,
            at_most: 1.5,
            meter: &Silent,
        };
        let proposal = question.start();
        let small = Scenario { runs: 2, ..question.scenario(&proposal, Effort::Rough).unwrap() };
        let summary = question.play(&small).unwrap();
        let found = Candidate { proposal, summary, error: None };
        let cells = scenarios::parse("g", &grid(&question, &found).unwrap()).unwrap();
        assert!(cells.iter().all(|cell| cell.scenario.boundary == Some(Kind::Pocock)));
        assert!(cells.iter().all(|cell| cell.scenario.plan.reports() == 2));
    }

    /// Every scenario but the first differs from the plan in the world it names, also where the
    /// plan has late outcomes, drift and uneven arrivals itself.
    #[test]
    fn scenarios_differ_from_the_plan() {
        let plan = Plan::parse("features=2 patients=2000 better=high epsilon=1").unwrap();
        let mut base = Scenario::new(plan, Instance::same(2, 0.4, 0.6), 1, 1);
        base.world.delay = crate::simulate::Delay::fixed(180);
        base.world.arrivals = Arrivals::Zipf(1.0);
        base.world.instance.drift = 0.1;
        let given = Given { patients: Some(2000), effect: Some(0.2), epsilon: None, alpha: None };
        let wish =
            Wish { power: None, width: None, better: None, regret: None, target: Target::Feature };
        let (is_design_given, at_most) = (true, 1.5);
        let question =
            Question { base, baseline: 0.4, given, wish, is_design_given, at_most, meter: &Silent };
        let proposal = question.start();
        let small = Scenario { runs: 2, ..question.scenario(&proposal, Effort::Rough).unwrap() };
        let summary = question.play(&small).unwrap();
        let found = Candidate { proposal, summary, error: None };
        let cells = scenarios::parse("g", &grid(&question, &found).unwrap()).unwrap();
        let world = |name: &str| {
            let is_planned = |cell: &&Cell| cell.effect == scenarios::Effect::Planned;
            let found = cells.iter().filter(is_planned).find(|cell| cell.name.contains(name));
            found.unwrap_or_else(|| panic!("{name}")).scenario.world.clone()
        };
        let planned = world("as planned");
        assert_eq!(planned.delay, crate::simulate::Delay::fixed(180));
        for name in ["outcomes lost", "lost in arm 1", "late", "rise", "uneven"] {
            assert_ne!(world(name), planned, "{name}");
        }
        assert_eq!(world("late").delay, crate::simulate::Delay::fixed(360));
    }
}
