//! `equipoise pareto` and `equipoise normality`.

use super::chart_file::{check, save};
use super::error::CliError;
use super::progress::Bar;
use super::simulate::{PlanArgs, WorldArgs};
use super::values::{Choosers, over};
use equipoise_study::chart::Chart;
use equipoise_study::normality::{self, Errors};
use equipoise_study::output::say;
use equipoise_study::pareto::{self, Over, Request};
use equipoise_study::simulate::{Policy, Scenario, SimulateError, sums};

/// `equipoise pareto`
#[derive(Clone, Debug, clap::Args)]
pub struct ParetoArgs {
    /// Where to: FILE.svg, FILE.png or, for the numbers alone, FILE.csv
    #[arg(long, value_name = "FILE")]
    out: String,
    /// Overwrite the file if it exists
    #[arg(long)]
    force: bool,
    /// Which picture
    #[arg(long, default_value = "alpha", value_parser = over())]
    over: Over,
    /// Designs with a curve, by commas
    #[arg(long, alias = "designs", default_value = "interim,dp-conse,conse,uniform", value_parser = Choosers::parse)]
    design: Choosers,
    /// Comparators, by commas
    #[arg(long, default_value = "fixed,ucb1,thompson,etc", value_parser = Choosers::parse)]
    comparators: Choosers,
    #[command(flatten)]
    plan: PlanArgs,
    #[command(flatten)]
    world: WorldArgs,
}

/// Simulates the points of a picture and draws it.
///
/// # Errors
/// A value that is not allowed, or a file that cannot be written.
pub fn pareto(args: &ParetoArgs) -> Result<(), CliError> {
    check(&args.out, args.force)?;
    let first = args.design.0.first();
    let first = first.ok_or_else(|| SimulateError::value("design", "", "one at least"))?;
    let points = pareto::points(&Request {
        over: args.over,
        designs: &args.design.0,
        comparators: &args.comparators.0,
        base: args.world.scenario(&args.plan, *first)?,
    })?;
    let runs = points.first().map_or(0, |point| point.scenario.runs);
    let bar = Bar::of(points.iter().map(|point| &point.scenario), runs);
    let measured = args.world.on_threads(|| {
        let measure = |point: pareto::Planned| {
            let scenario = &point.scenario;
            let tick = || bar.done(u64::from(scenario.plan.patients()));
            let summary = sums(scenario, 0..scenario.runs, &tick)?.summary();
            Ok(point.measured(summary))
        };
        points.into_iter().map(measure).collect::<Result<Vec<_>, _>>()
    })?;
    bar.clear();
    save(&args.out, &pareto::chart(args.over, &measured), &pareto::csv(&measured), args.force)
}

/// `equipoise normality`
#[derive(Clone, Debug, clap::Args)]
pub struct NormalityArgs {
    /// Also draw a Q-Q picture: FILE.svg, FILE.png, or FILE.csv for the quantiles
    #[arg(long, value_name = "FILE")]
    out: Option<String>,
    /// Overwrite the file if it exists
    #[arg(long, requires = "out")]
    force: bool,
    /// Designs, by commas: conse, dp-conse, interim, uniform
    #[arg(long, alias = "designs", default_value = "conse,dp-conse,interim,uniform", value_parser = Choosers::parse)]
    design: Choosers,
    #[command(flatten)]
    plan: PlanArgs,
    #[command(flatten)]
    world: WorldArgs,
}

/// Simulates the errors of the estimates, prints their figures, and draws them if asked.
///
/// # Errors
/// A value that is not allowed, or a file that cannot be written.
pub fn normality(args: &NormalityArgs) -> Result<(), CliError> {
    args.out.as_deref().map_or(Ok(()), |out| check(out, args.force))?;
    if args.design.0.iter().any(|chooser| chooser.policy != Policy::Core) {
        return Err(CliError::usage(
            "--design: a comparator has no interval, allowed conse dp-conse interim uniform",
        ));
    }
    let scenarios = args.design.0.iter().map(|chooser| args.world.scenario(&args.plan, *chooser));
    let scenarios = scenarios.collect::<Result<Vec<_>, _>>()?;
    let bar = Bar::of(scenarios.iter(), scenarios.first().map_or(0, |scenario| scenario.runs));
    let all = args.world.on_threads(|| {
        let measure = |s: &Scenario| Errors::of(s, &|| bar.done(u64::from(s.plan.patients())));
        scenarios.iter().map(measure).collect::<Result<Vec<_>, _>>()
    })?;
    bar.clear();
    say(&normality::table(&all));
    if let (Some(out), Some(first)) = (&args.out, scenarios.first()) {
        let (chart, csv): (Chart, String) = normality::picture(first, &all);
        save(out, &chart, &csv, args.force)?;
    }
    Ok(())
}
