//! `equipoise simulate` and `equipoise merge`.
//!
//! Several designs may be named; each is run on the same patients. The figures go to standard
//! output as a table, and with `--json` or `--csv` to a file (`-` for standard output, then without
//! the table).

use crate::prelude::*;
use std::fs;
use std::io::{IsTerminal, Read};
use std::process::ExitCode;

use indicatif::{ProgressBar, ProgressStyle};

use super::shards::{Shard, merge};
use super::{
    Arrivals, Comparator, Delay, Instance, Lost, Policy, Scenario, SimulateError, World, output,
    sums,
};
use crate::plan::{Design, Plan};

/// The plan, but for its design.
#[derive(Clone, Debug, clap::Args)]
pub struct PlanArgs {
    /// Kinds of patient, 1..=64
    #[arg(long, default_value = "10")]
    pub features: String,
    /// Patients of a trial, 2..=10000000
    #[arg(long, default_value = "20000")]
    pub patients: String,
    /// 0: best estimate, 1: least regret
    #[arg(long, default_value = "1/4")]
    pub alpha: String,
    /// Privacy loss of one patient, 1/1000..=20 (conse and the comparators ignore it)
    #[arg(long, default_value = "1")]
    pub epsilon: String,
    /// Two-sided level at which a look lets a feature leave the fair coin, between 0 and 1
    #[arg(long, default_value = "1/20")]
    pub beta: String,
    /// Largest outcome, 1..=65535; 1 is yes/no
    #[arg(long, default_value = "1")]
    pub scale: String,
    /// Planned reports in the second half, 0..=8
    #[arg(long, default_value = "0")]
    pub reports: String,
}

impl PlanArgs {
    /// The plan with this design.
    ///
    /// # Errors
    /// The first value that is not allowed.
    pub fn plan(&self, design: Design) -> Result<Plan, SimulateError> {
        Ok(Plan::from_pairs([
            ("design", design.name()),
            ("features", &self.features),
            ("patients", &self.patients),
            ("alpha", &self.alpha),
            ("epsilon", &self.epsilon),
            ("beta", &self.beta),
            ("scale", &self.scale),
            ("reports", &self.reports),
        ])?)
    }
}

/// The world of the patients, and how often to run it.
#[derive(Clone, Debug, clap::Args)]
pub struct WorldArgs {
    /// Mean outcome (0 to 1) under arm 0: one for all features, or one each, by commas
    #[arg(long, default_value = "0.35", conflicts_with = "instance")]
    pub p0: String,
    /// Mean outcome (0 to 1) under arm 1
    #[arg(long, default_value = "0.65", conflicts_with = "instance")]
    pub p1: String,
    /// A file with the two means of a feature on each line instead
    #[arg(long, value_name = "FILE")]
    pub instance: Option<String>,
    /// What both means gain from the first patient to the last
    #[arg(long, default_value = "0", allow_negative_numbers = true)]
    pub drift: String,
    /// Features of the patients: uniform, `zipf[:S]`, `seasonal[:PATIENTS_A_DAY]`, or a file of
    /// feature numbers
    #[arg(long, default_value = "uniform")]
    pub arrivals: String,
    /// Outcomes come this many patients late: D, or A..B drawn uniformly
    #[arg(long, default_value = "0")]
    pub delay: String,
    /// Share of outcomes that never come: P, or P0,P1 by arm
    #[arg(long, default_value = "0")]
    pub lost: String,
    /// Trials to run, 1..=1000000
    #[arg(long, default_value = "1000")]
    pub runs: String,
    /// All randomness comes from it
    #[arg(long, default_value = "1")]
    pub seed: String,
    /// Threads; 0 for all cores. The result does not depend on it
    #[arg(long, default_value = "0")]
    pub threads: String,
}

fn number<T: std::str::FromStr>(
    name: &'static str,
    text: &str,
    allowed: &'static str,
) -> Result<T, SimulateError> {
    text.trim().parse().map_err(|_| SimulateError::value(name, text, allowed))
}

/// Reads a file; `-` is standard input.
pub(crate) fn read(path: &str) -> Result<String, SimulateError> {
    let failed = |error: std::io::Error| SimulateError::File(path.into(), error.to_string());
    if path == "-" {
        let mut text = String::new();
        return std::io::stdin().read_to_string(&mut text).map(|_| text).map_err(failed);
    }
    fs::read_to_string(path).map_err(failed)
}

/// Writes a file whole; `-` is standard output.
pub(crate) fn write(path: &str, bytes: &[u8]) -> Result<(), SimulateError> {
    let written = if path == "-" {
        std::io::Write::write_all(&mut std::io::stdout(), bytes)
    } else {
        fs::write(path, bytes)
    };
    written.map_err(|error| SimulateError::File(path.into(), error.to_string()))
}

fn rates(name: &'static str, text: &str, features: u8) -> Result<Vec<f64>, SimulateError> {
    let rates: Vec<f64> =
        text.split(',').map(|rate| number(name, rate, "0..=1")).collect::<Result<_, _>>()?;
    match rates[..] {
        [one] => Ok(vec![one; usize::from(features)]),
        _ => Ok(rates),
    }
}

impl WorldArgs {
    /// The world of a plan with this many features.
    ///
    /// # Errors
    /// The first value that is not allowed, or a file that cannot be read.
    pub fn world(&self, features: u8) -> Result<World, SimulateError> {
        let mut instance = match &self.instance {
            Some(path) => Instance::parse(&read(path)?)?,
            None => Instance {
                p0: rates("p0", &self.p0, features)?,
                p1: rates("p1", &self.p1, features)?,
                drift: 0.0,
            },
        };
        instance.drift = number("drift", &self.drift, "a number")?;
        let arrivals = match Arrivals::parse(&self.arrivals)? {
            Some(arrivals) => arrivals,
            None => match fs::read_to_string(&self.arrivals) {
                Ok(text) => Arrivals::trace(&text)?,
                Err(_) => return Err(Arrivals::unknown(&self.arrivals)),
            },
        };
        Ok(World {
            instance,
            arrivals,
            delay: Delay::parse(&self.delay)?,
            lost: Lost::parse(&self.lost)?,
        })
    }

    /// The number of runs.
    ///
    /// # Errors
    /// If it is no number.
    pub fn runs(&self) -> Result<u32, SimulateError> {
        number("runs", &self.runs, "1..=1000000")
    }

    /// The seed.
    ///
    /// # Errors
    /// If it is no number.
    pub fn seed(&self) -> Result<u64, SimulateError> {
        number("seed", &self.seed, "0..=18446744073709551615")
    }

    /// Runs `work` on the asked number of threads.
    ///
    /// # Errors
    /// A number of threads that is not allowed, or what `work` returns.
    pub fn on_threads<T: Send>(
        &self,
        work: impl FnOnce() -> Result<T, SimulateError> + Send,
    ) -> Result<T, SimulateError> {
        const ALLOWED: &str = "0..=1024";
        let threads: usize = number("threads", &self.threads, ALLOWED)?;
        if threads > 1024 {
            return Err(SimulateError::value("threads", threads, ALLOWED));
        }
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        pool.map_err(|error| SimulateError::value("threads", error, ALLOWED))?.install(work)
    }
}

const DESIGNS: &str = "conse dp-conse interim uniform fixed ucb1 thompson etc[:SHARE]";

/// The policy of a name.
pub(crate) fn policy(name: &str) -> Result<(Design, Policy), SimulateError> {
    if let Some(design) = Design::ALL.into_iter().find(|design| design.name() == name) {
        return Ok((design, Policy::Core));
    }
    match Comparator::parse(name)? {
        // The plan of a comparator lends its sizes only.
        Some(comparator) => Ok((Design::Conse, Policy::Comparator(comparator))),
        None => Err(SimulateError::value("design", name, DESIGNS)),
    }
}

/// A bar on standard error, if somebody watches it.
pub(crate) fn progress(patients: u64) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(patients);
    let style = "{bar:40} {human_pos} of {human_len} patients, {per_sec}, {eta} left";
    bar.with_style(
        ProgressStyle::with_template(style).unwrap_or_else(|_| ProgressStyle::default_bar()),
    )
}

/// What `equipoise simulate` takes.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Who chooses the arms: conse, dp-conse, interim, uniform, fixed, ucb1, thompson,
    /// `etc[:SHARE]`; several by commas
    #[arg(long, default_value = "interim")]
    design: String,
    #[command(flatten)]
    plan: PlanArgs,
    #[command(flatten)]
    world: WorldArgs,
    /// Run only part I of K (1/4 .. 4/4); give --json and put the parts together with `equipoise
    /// merge`
    #[arg(long, value_name = "I/K", default_value = "1/1")]
    shard: String,
    /// Write everything, exact sums included, as JSON (- for standard output)
    #[arg(long, value_name = "FILE")]
    json: Option<String>,
    /// Write the figures as CSV, a line a design (- for standard output)
    #[arg(long, value_name = "FILE")]
    csv: Option<String>,
}

/// The runs of part `I/K`.
fn part(text: &str, runs: u32) -> Result<std::ops::Range<u32>, SimulateError> {
    let bad = || SimulateError::value("shard", text, "I/K with 1 <= I <= K <= runs");
    let (i, k) = text.split_once('/').ok_or_else(bad)?;
    let (i, k): (u32, u32) = (i.parse().map_err(|_| bad())?, k.parse().map_err(|_| bad())?);
    if i < 1 || i > k || k > runs.max(1) {
        return Err(bad());
    }
    let at = |i: u32| (u64::from(runs) * u64::from(i) / u64::from(k)) as u32;
    Ok(at(i - 1)..at(i))
}

impl Args {
    fn scenarios(&self) -> Result<Vec<Scenario>, SimulateError> {
        let (runs, seed) = (self.world.runs()?, self.world.seed()?);
        let scenario = |name: &str| {
            let (design, policy) = policy(name.trim())?;
            let plan = self.plan.plan(design)?;
            let world = self.world.world(plan.features())?;
            let scenario = Scenario { plan, policy, world, runs, seed };
            scenario.check().map(|()| scenario)
        };
        self.design.split(',').map(scenario).collect()
    }
}

/// Runs `equipoise simulate`.
///
/// # Errors
/// A value that is not allowed, or a file that cannot be read or written.
pub fn run(args: &Args) -> Result<ExitCode, SimulateError> {
    let scenarios = args.scenarios()?;
    let runs = part(&args.shard, args.world.runs()?)?;
    let patients: u64 = scenarios.iter().map(|s| u64::from(s.plan.patients())).sum();
    let bar = progress(patients * runs.len() as u64);
    let shard = args.world.on_threads(|| {
        let mut results = Vec::new();
        for scenario in &scenarios {
            let a_run = u64::from(scenario.plan.patients());
            results.push((scenario, sums(scenario, runs.clone(), &|| bar.inc(a_run))?));
        }
        Ok(Shard::new(runs.clone(), &results))
    })?;
    bar.finish_and_clear();
    report(&shard, args.json.as_deref(), args.csv.as_deref())
}

fn report(shard: &Shard, json: Option<&str>, csv: Option<&str>) -> Result<ExitCode, SimulateError> {
    if let Some(path) = json {
        write(path, shard.to_json().as_bytes())?;
    }
    if let Some(path) = csv {
        write(path, output::csv(shard).as_bytes())?;
    }
    if json != Some("-") && csv != Some("-") {
        write("-", output::table(shard).as_bytes())?;
    }
    Ok(ExitCode::SUCCESS)
}

/// What `equipoise merge` takes.
#[derive(Clone, Debug, clap::Args)]
pub struct MergeArgs {
    /// JSON files of all parts, in any order
    #[arg(required = true)]
    files: Vec<String>,
    /// Write everything as JSON (- for standard output)
    #[arg(long, value_name = "FILE")]
    json: Option<String>,
    /// Write the figures as CSV (- for standard output)
    #[arg(long, value_name = "FILE")]
    csv: Option<String>,
}

/// Runs `equipoise merge`.
///
/// # Errors
/// A file that cannot be read, or parts that do not make a whole.
pub fn run_merge(args: &MergeArgs) -> Result<ExitCode, SimulateError> {
    let parts = args.files.iter().map(|path| Shard::from_json(path, &read(path)?));
    let whole = merge(parts.collect::<Result<_, _>>()?)?;
    report(&whole, args.json.as_deref(), args.csv.as_deref())
}
