//! `equipoise simulate` and `equipoise merge`.
//!
//! Several designs may be named; each is run on the same patients. The figures go to standard
//! output as a table, and with `--json` or `--csv` to a file (`-` for standard output, then without
//! the table).

pub mod world;

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressStyle};

use super::error::CliError;
use super::values::{Choosers, boundary, ratio, read};
use equipoise::plan::{Close, Design, Parameters, Plan, PlanError, Ratio};
use equipoise::terms::{MAX_FEATURES, MAX_PATIENTS, MAX_REPORTS};
use equipoise_study::boundaries::Kind;
use equipoise_study::output::{self, say};
use equipoise_study::scenarios::{self, Cell};
use equipoise_study::simulate::assumption::{counts, verdict};
use equipoise_study::simulate::output::{csv, table};
use equipoise_study::simulate::shards::{Part, Shard, merge};
use equipoise_study::simulate::{
    Arrivals, Chooser, MAX_RUNS, Scenario, SimulateError, pooled_sums, sums,
};
use world::{KeyArgs, RateArgs};

/// The plan, but for its design.
#[derive(Clone, Debug, clap::Args)]
pub struct PlanArgs {
    /// Kinds of patient, 1..=64
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u8).range(1..=i64::from(MAX_FEATURES)))]
    features: u8,
    /// Patients of a trial, 2..=10000000
    #[arg(long, default_value_t = 20_000, value_parser = clap::value_parser!(u32).range(2..=i64::from(MAX_PATIENTS)))]
    patients: u32,
    /// 0: best estimate, 1: least regret
    #[arg(long, default_value = "1/4", value_parser = ratio)]
    alpha: Ratio,
    /// Privacy loss of one patient, 1/1000..=20 (conse and the comparators ignore it)
    #[arg(long, default_value = "1", value_parser = ratio)]
    epsilon: Ratio,
    /// Two-sided significance level at which a feature switches to the biased coin, between 0 and
    /// 1
    #[arg(long, default_value = "1/20", value_parser = ratio)]
    beta: Ratio,
    /// Largest outcome, 1..=65535; 1 is yes/no
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    scale: u16,
    /// Planned reports in the second half, 0..=8
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u8).range(..=i64::from(MAX_REPORTS)))]
    reports: u8,
    /// With --reports: intervals valid at all reports together, obrien-fleming or pocock; they
    /// exclude 0 if one at any report does
    #[arg(long, value_name = "KIND", value_parser = boundary(), requires = "reports")]
    boundary: Option<Kind>,
}

impl PlanArgs {
    /// The plan with this design.
    ///
    /// # Errors
    /// The first value that is not allowed.
    pub fn plan(&self, design: Design) -> Result<Plan, PlanError> {
        Plan::new(Parameters {
            design,
            alpha: self.alpha,
            epsilon: self.epsilon,
            beta: self.beta,
            scale: self.scale,
            features: self.features,
            patients: self.patients,
            reports: self.reports,
            close: Close::Custodian,
            kits: 0,
        })
    }
}

/// The world of the patients, and how often to run it.
#[derive(Clone, Debug, clap::Args)]
pub struct WorldArgs {
    #[command(flatten)]
    rates: RateArgs,
    #[command(flatten)]
    keys: KeyArgs,
    /// Trials to run, 1..=1000000
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_RUNS)))]
    runs: u32,
    /// All randomness comes from it
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Threads; 0 for all cores. The result does not depend on it
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u16).range(..=1024))]
    threads: u16,
}

impl WorldArgs {
    /// The scenario of a design or comparator in this world.
    ///
    /// # Errors
    /// The first value that is not allowed.
    pub fn scenario(&self, plan: &PlanArgs, chooser: Chooser) -> Result<Scenario, SimulateError> {
        let boundary = plan.boundary;
        let plan = plan.plan(chooser.design)?;
        let world = self.keys.world(self.rates.instance(plan.features()));
        let policy = chooser.policy;
        let scenario = Scenario { plan, policy, boundary, world, runs: self.runs, seed: self.seed };
        scenario.check().map(|()| scenario)
    }

    /// Runs `work` on the asked number of threads.
    ///
    /// # Errors
    /// The threads cannot be started, or what `work` returns.
    pub fn on_threads<T: Send>(
        &self,
        work: impl FnOnce() -> Result<T, SimulateError> + Send,
    ) -> Result<T, CliError> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(self.threads.into()).build();
        Ok(pool.map_err(CliError::usage)?.install(work)?)
    }
}

/// A bar on standard error, if somebody watches it.
pub fn progress<'a>(scenarios: impl IntoIterator<Item = &'a Scenario>, runs: u32) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let patients: u64 = scenarios.into_iter().map(|s| u64::from(s.plan.patients())).sum();
    let bar = ProgressBar::new(patients * u64::from(runs));
    let style = "{bar:40} {human_pos} of {human_len} patients, {per_sec}, {eta} left";
    bar.with_style(
        ProgressStyle::with_template(style).unwrap_or_else(|_| ProgressStyle::default_bar()),
    )
}

/// Where the figures go.
#[derive(Clone, Debug, clap::Args)]
pub struct FiguresArgs {
    /// Write everything, exact sums included, as JSON (- for standard output)
    #[arg(long, value_name = "FILE")]
    json: Option<String>,
    /// Write the figures as CSV, a line a design (- for standard output)
    #[arg(long, value_name = "FILE")]
    csv: Option<String>,
    /// Overwrite files that exist
    #[arg(long)]
    force: bool,
}

impl FiguresArgs {
    /// Finds out before the simulations whether the files may be written.
    fn check(&self) -> Result<(), CliError> {
        let paths = [&self.json, &self.csv].into_iter().flatten();
        paths.filter(|path| *path != "-").try_for_each(|path| {
            output::check_file(path, self.force).map_err(|error| CliError::file(path, &error))
        })
    }

    fn write(&self, shard: &Shard) -> Result<(), CliError> {
        self.put(&|| shard.to_json(), &|| csv(shard), &|| table(shard))
    }

    fn put(
        &self,
        json: &dyn Fn() -> String,
        csv: &dyn Fn() -> String,
        table: &dyn Fn() -> String,
    ) -> Result<(), CliError> {
        let write = |path: &Option<String>, text: &dyn Fn() -> String| match path.as_deref() {
            Some("-") => {
                say(&text());
                Ok(())
            }
            Some(path) => output::write_file(path, text(), self.force)
                .map_err(|error| CliError::file(path, &error)),
            None => Ok(()),
        };
        write(&self.json, json)?;
        write(&self.csv, csv)?;
        if ![&self.json, &self.csv].into_iter().any(|path| path.as_deref() == Some("-")) {
            say(&table());
        }
        Ok(())
    }
}

/// `equipoise simulate`
#[derive(Clone, Debug, clap::Args)]
pub struct SimulateArgs {
    /// Who chooses the arms: conse, dp-conse, interim, uniform, fixed, ucb1, thompson,
    /// `etc[:SHARE]`; several by commas
    #[arg(long, default_value = "interim", value_parser = Choosers::parse)]
    design: Choosers,
    #[command(flatten)]
    plan: PlanArgs,
    #[command(flatten)]
    world: WorldArgs,
    /// Run only part I of K (1/4 .. 4/4); give --json and put the parts together with `equipoise
    /// merge`
    #[arg(long, value_name = "I/K", default_value = "1/1", value_parser = Part::parse)]
    shard: Part,
    /// Run the grid of scenarios of this file instead: a row a scenario, design and feature;
    /// --shard then takes part I of K of its scenarios
    #[arg(long, value_name = "FILE.toml")]
    scenarios: Option<String>,
    /// Also run every trial on this many devices, each with its part of the patients, and pool
    /// them
    #[arg(long, value_name = "K", default_value_t = 1, conflicts_with = "scenarios")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1000))]
    sites: u32,
    #[command(flatten)]
    figures: FiguresArgs,
}

/// Runs the trials and writes their figures.
///
/// # Errors
/// A value that is not allowed, or a file that cannot be read or written.
pub fn simulate(args: &SimulateArgs) -> Result<(), CliError> {
    args.figures.check()?;
    if let Some(path) = &args.scenarios {
        return grid(args, path);
    }
    let scenarios = args.design.0.iter().map(|chooser| args.world.scenario(&args.plan, *chooser));
    let scenarios = scenarios.collect::<Result<Vec<_>, _>>()?;
    let runs = args.shard.runs(args.world.runs)?;
    let bar = progress(&scenarios, (runs.end - runs.start) * if args.sites > 1 { 2 } else { 1 });
    let shard = args.world.on_threads(|| {
        let mut results = Vec::new();
        for scenario in &scenarios {
            let a_run = u64::from(scenario.plan.patients());
            results.push((scenario, 1, sums(scenario, runs.clone(), &|| bar.inc(a_run))?));
            if args.sites > 1 {
                let tick = || bar.inc(a_run);
                let pooled = pooled_sums(scenario, args.sites, runs.clone(), &tick)?;
                results.push((scenario, args.sites, pooled));
            }
        }
        Ok(Shard::new(runs.clone(), &results))
    })?;
    bar.finish_and_clear();
    args.figures.write(&shard)?;
    if let Some(Scenario { plan, world, seed, .. }) = scenarios.first()
        && matches!(world.arrivals, Arrivals::Trace(_) | Arrivals::Seasonal(_))
    {
        let counts = counts(&world.arrivals, plan.features(), plan.patients(), *seed);
        // Beside the figures, which may go to standard output as data.
        eprintln!("{}", verdict(&counts));
    }
    Ok(())
}

/// Runs a grid of scenarios.
fn grid(args: &SimulateArgs, path: &str) -> Result<(), CliError> {
    let cells = scenarios::parse(path, &read(path)?)?;
    let last = cells.iter().map(|cell| cell.number).max().unwrap_or(0);
    let part = args.shard.runs(last as u32)?;
    let mine = |cell: &&Cell| part.contains(&(cell.number as u32 - 1));
    let cells: Vec<&Cell> = cells.iter().filter(mine).collect();
    let runs = cells.first().map_or(0, |cell| cell.scenario.runs);
    let bar = progress(cells.iter().map(|cell| &cell.scenario), runs);
    let rows = args.world.on_threads(|| {
        let mut rows = Vec::new();
        for cell in cells {
            let a_run = u64::from(cell.scenario.plan.patients());
            let sums = sums(&cell.scenario, 0..cell.scenario.runs, &|| bar.inc(a_run))?;
            rows.extend(scenarios::table::rows(cell, &sums.summary()));
        }
        Ok(rows)
    })?;
    bar.finish_and_clear();
    let [json, csv, table] = [
        scenarios::table::json(&rows),
        scenarios::table::csv(&rows),
        scenarios::table::table(&rows),
    ];
    args.figures.put(&|| json.clone(), &|| csv.clone(), &|| table.clone())
}

/// `equipoise merge`
#[derive(Clone, Debug, clap::Args)]
pub struct MergeArgs {
    /// JSON files of all parts, in any order
    #[arg(required = true)]
    files: Vec<String>,
    #[command(flatten)]
    figures: FiguresArgs,
}

/// Puts the parts of a simulation together.
///
/// # Errors
/// A file that cannot be read or written, or parts that do not make a whole.
pub fn merge_parts(args: &MergeArgs) -> Result<(), CliError> {
    args.figures.check()?;
    let parts = args.files.iter().map(|path| Shard::from_json(path, &read(path)?));
    args.figures.write(&merge(parts.collect::<Result<_, _>>()?)?)
}
