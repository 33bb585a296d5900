//! `equipoise simulate` and `equipoise merge`.
//!
//! Several designs may be named; each is run on the same patients. The figures go to standard
//! output as a table, and with `--json` or `--csv` to a file (`-` for standard output, then without
//! the table).

pub mod world;

use std::fs::File;
use std::io::{BufWriter, Write};

use super::error::CliError;
use super::progress::Bar;
use super::values::{Choosers, boundary, planned_effect, ratio, read};
use equipoise::plan::{Better, Close, DesignName, Parameters, Plan, PlanError, Ratio, Results};
use equipoise::terms::{MAX_FEATURES, MAX_PATIENTS, MAX_REPORTS};
use equipoise_study::boundaries::Kind;
use equipoise_study::output::{self, say};
use equipoise_study::scenarios::{self, Cell};
use equipoise_study::simulate::assumption::{counts, verdict};
use equipoise_study::simulate::output::{csv, table};
use equipoise_study::simulate::runs::{heading, sums_and_rows};
use equipoise_study::simulate::shards::{Shard, ShardIndex, merge};
use equipoise_study::simulate::{
    Arrivals, Chooser, MAX_RUNS, Scenario, SimulateError, World, pooled_sums, sums,
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
    /// Two-sided significance level at which a feature settles, its coin staying, between 0 and
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
    /// With --boundary: the planned effect, whose futility boundary is counted; if not given, the
    /// true effect where all features have the same
    #[arg(long, value_name = "D", requires = "boundary", allow_hyphen_values = true)]
    #[arg(value_parser = planned_effect)]
    planned_effect: Option<f64>,
}

impl PlanArgs {
    /// The planned effect of the futility boundary.
    fn planned(&self, world: &World) -> Option<f64> {
        let mut effects = world.instance.effects();
        // 0.4 - 0.3 is 0.1 for people.
        let first = effects.next().map(|effect| (effect * 1e12).round() / 1e12);
        let same = first.filter(|first| effects.all(|effect| (effect - first).abs() < 1e-9));
        self.planned_effect.or(same)
    }

    /// The plan with this design.
    ///
    /// # Errors
    /// The first value that is not allowed.
    pub fn plan(&self, design: DesignName) -> Result<Plan, PlanError> {
        Plan::new(Parameters {
            design,
            alpha: self.alpha,
            epsilon: self.epsilon,
            beta: self.beta,
            scale: self.scale,
            features: self.features,
            patients: self.patients,
            reports: self.reports,
            // A simulated world's better outcomes are its larger ones.
            better: Better::High,
            results: Results::Custodian,
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
        let (options, boundary) = (plan, plan.boundary);
        let plan = plan.plan(chooser.design)?;
        let world = self.keys.world(self.rates.instance(plan.features()));
        let planned = options.planned(&world);
        let (policy, runs, seed) = (chooser.policy, self.runs, self.seed);
        let scenario = Scenario { plan, policy, boundary, planned, world, runs, seed };
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
    /// thompson-aipw, `etc[:SHARE]`; several by commas
    #[arg(long, default_value = "interim", value_parser = Choosers::parse)]
    design: Choosers,
    #[command(flatten)]
    plan: PlanArgs,
    #[command(flatten)]
    world: WorldArgs,
    /// Run only part I of K (1/4 .. 4/4); give --json and put the parts together with `equipoise
    /// merge`
    #[arg(long, value_name = "I/K", default_value = "1/1", value_parser = ShardIndex::parse)]
    shard: ShardIndex,
    /// Run the grid of scenarios of this file instead: a row a scenario, design and feature;
    /// --shard then takes part I of K of its scenarios
    #[arg(long, value_name = "FILE.toml")]
    scenarios: Option<String>,
    /// Also run every trial on this many devices, each with its part of the patients, and pool
    /// them
    #[arg(long, value_name = "K", default_value_t = 1, conflicts_with = "scenarios")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1000))]
    sites: u32,
    /// Also write every run as CSV, a line a run and feature
    #[arg(long, value_name = "FILE", conflicts_with = "scenarios")]
    runs_csv: Option<String>,
    #[command(flatten)]
    figures: FiguresArgs,
}

impl SimulateArgs {
    /// The file of the runs with its heading, if one is asked for.
    fn runs_file(&self, first: Option<&Scenario>) -> Result<Option<BufWriter<File>>, CliError> {
        let Some(path) = &self.runs_csv else { return Ok(None) };
        let failed = |error| CliError::file(path, &error);
        output::write_file(path, "", self.figures.force).map_err(failed)?;
        let mut file = BufWriter::new(File::options().append(true).open(path).map_err(failed)?);
        file.write_all(first.map_or_else(String::new, heading).as_bytes()).map_err(failed)?;
        Ok(Some(file))
    }
}

/// Runs the trials and writes their figures.
///
/// # Errors
/// A value that is not allowed, or a file that cannot be read or written.
pub fn simulate(args: &SimulateArgs) -> Result<(), CliError> {
    args.figures.check()?;
    if let Some(path) = &args.runs_csv {
        if path == "-" {
            return Err(CliError::usage("--runs-csv: -, allowed a file"));
        }
        output::check_file(path, args.figures.force)
            .map_err(|error| CliError::file(path, &error))?;
    }
    if let Some(path) = &args.scenarios {
        return grid(args, path);
    }
    let scenarios = args.design.0.iter().map(|chooser| args.world.scenario(&args.plan, *chooser));
    let scenarios = scenarios.collect::<Result<Vec<_>, _>>()?;
    let runs = args.shard.runs(args.world.runs)?;
    let copies = if args.sites > 1 { 2 } else { 1 };
    let bar = Bar::of(scenarios.iter(), (runs.end - runs.start) * copies);
    let mut file = args.runs_file(scenarios.first())?;
    let shard = args.world.on_threads(|| {
        let mut results = Vec::new();
        for scenario in &scenarios {
            let a_run = u64::from(scenario.plan.patients());
            let tick = || bar.done(a_run);
            let found = match &mut file {
                Some(file) => sums_and_rows(scenario, runs.clone(), &tick, file)?,
                None => sums(scenario, runs.clone(), &tick)?,
            };
            results.push((scenario, 1, found));
            if args.sites > 1 {
                let pooled = pooled_sums(scenario, args.sites, runs.clone(), &tick)?;
                results.push((scenario, args.sites, pooled));
            }
        }
        Ok(Shard::new(runs.clone(), &results))
    })?;
    bar.clear();
    if let (Some(file), Some(path)) = (&mut file, &args.runs_csv) {
        file.flush().map_err(|error| CliError::file(path, &error))?;
    }
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
    let bar = Bar::of(cells.iter().map(|cell| &cell.scenario), runs);
    let rows = args.world.on_threads(|| {
        let mut rows = Vec::new();
        for cell in cells {
            let a_run = u64::from(cell.scenario.plan.patients());
            let sums = sums(&cell.scenario, 0..cell.scenario.runs, &|| bar.done(a_run))?;
            rows.extend(scenarios::table::rows(cell, &sums.summary()));
        }
        Ok(rows)
    })?;
    bar.clear();
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
