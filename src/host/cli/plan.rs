//! `equipoise plan`.

use crate::prelude::*;
use std::fmt::Write;
use std::ops::Range;

use super::error::CliError;
use super::values::{arrivals, finite, ratio, share};
use crate::host::output::{check_file, say, write_file};
use crate::host::planner::{self, Wish};
use crate::host::simulate::{Arrivals, Delay, Instance, Lost, Scenario, SimulateError};
use crate::host::terminal::trial_file::TrialFile;
use crate::plan::{Close, Design, MAX_FEATURES, MAX_PATIENTS, Parameters, Plan, Ratio};

/// `equipoise plan`
#[derive(Clone, Debug, clap::Args)]
pub struct PlannerArgs {
    /// Kinds of patient, 1..=64
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=i64::from(MAX_FEATURES)))]
    features: u8,
    /// Patients of the trial, 2..=10000000
    #[arg(long, value_parser = clap::value_parser!(u32).range(2..=i64::from(MAX_PATIENTS)))]
    patients: u32,
    /// Mean outcome (0 to 1) under arm 0
    #[arg(long, value_name = "P", value_parser = share)]
    baseline: f64,
    /// What arm 1 adds to it, or takes away
    #[arg(long, value_name = "D", allow_negative_numbers = true, value_parser = finite)]
    effect: f64,
    /// Wanted: 95 % intervals of at most this mean width
    #[arg(long, value_name = "W", value_parser = width, required_unless_present = "better")]
    width: Option<f64>,
    /// Wanted: at least this share of the patients on the better arm
    #[arg(long, value_name = "S", value_parser = better)]
    better: Option<f64>,
    /// Two-sided level at which a look lets a feature leave the fair coin
    #[arg(long, default_value = "1/20", value_parser = ratio)]
    beta: Ratio,
    /// Largest outcome; 1 is yes/no
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    scale: u16,
    /// Features of the patients: uniform, `zipf[:S]`, `seasonal[:PATIENTS_A_DAY]`, shares:W,W,..,
    /// or a file of feature numbers
    #[arg(long, default_value = "uniform", value_parser = arrivals)]
    arrivals: Arrivals,
    /// Outcomes come this many patients late: D, or A..B
    #[arg(long, default_value = "0", value_parser = Delay::parse)]
    delay: Delay,
    /// Share of outcomes that never come: P, or P0,P1 by arm
    #[arg(long, default_value = "0", value_parser = Lost::parse)]
    lost: Lost,
    /// All randomness of the simulations comes from it
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Where to write the trial file
    #[arg(long, value_name = "TRIAL.toml")]
    out: Option<String>,
    /// Overwrite the file if it exists
    #[arg(long, requires = "out")]
    force: bool,
    /// Name of the trial
    #[arg(long, default_value = "A trial")]
    title: String,
    /// Names of the arms, by a comma
    #[arg(long, default_value = "Arm 0,Arm 1")]
    arms: String,
    /// Names of the features, by commas; numbers if not given
    #[arg(long)]
    names: Option<String>,
    /// What is asked about a patient
    #[arg(long, default_value = "Outcome good?")]
    question: String,
}

fn width(text: &str) -> Result<f64, String> {
    within(text, f64::MIN_POSITIVE..2.0, "above 0, below 2")
}

fn better(text: &str) -> Result<f64, String> {
    within(text, 0.5..1.0, "at least 0.5, below 1")
}

fn within(text: &str, range: Range<f64>, allowed: &str) -> Result<f64, String> {
    let value = finite(text).ok().filter(|value| range.contains(value));
    value.ok_or_else(|| format!("allowed {allowed}"))
}

impl PlannerArgs {
    fn base(&self) -> Result<Scenario, SimulateError> {
        let plan = Plan::new(Parameters {
            design: Design::Interim,
            features: self.features,
            patients: self.patients,
            scale: self.scale,
            alpha: Ratio::QUARTER,
            epsilon: Ratio::ONE,
            beta: self.beta,
            reports: 0,
            close: Close::Custodian,
        })?;
        let (baseline, effect) = (self.baseline, self.effect);
        if effect == 0.0 || !(0.0..=1.0).contains(&(baseline + effect)) {
            let allowed = "not 0, and baseline + effect in 0..=1";
            return Err(SimulateError::value("effect", effect, allowed));
        }
        let instance = Instance::same(plan.features(), baseline, baseline + effect);
        let mut base = Scenario::new(plan, instance, planner::runs(&plan), self.seed);
        base.world.arrivals = self.arrivals.clone();
        (base.world.delay, base.world.lost) = (self.delay, self.lost);
        base.check().map(|()| base)
    }

    /// The trial file of a plan.
    fn trial_file(&self, plan: &Plan) -> Result<String, CliError> {
        let quoted = |text: &str| toml::Value::String(text.trim().into()).to_string();
        let list =
            |names: Vec<String>| names.iter().map(|n| quoted(n)).collect::<Vec<_>>().join(", ");
        let split = |names: &str| names.split(',').map(String::from).collect::<Vec<_>>();
        let names = match &self.names {
            Some(names) => split(names),
            None => (0..plan.features()).map(|j| format!("feature {j}")).collect(),
        };
        let labels = if plan.scale() == 1 { "labels = [\"no\", \"yes\"]\n" } else { "" };
        let text = format!(
            "title = {}\narms = [{}]\nfeatures = [{}]\n\n[plan]\ndesign = \"{}\"\nfeatures = {}\npatients = {}\nscale = {}\n\
             alpha = \"{}\"\nepsilon = \"{}\"\nbeta = \"{}\"\nreports = {}\n\n[outcome]\nquestion = {}\n{labels}",
            quoted(&self.title),
            list(split(&self.arms)),
            list(names),
            plan.design(),
            plan.features(),
            plan.patients(),
            plan.scale(),
            plan.alpha(),
            plan.epsilon(),
            plan.beta(),
            plan.reports(),
            quoted(&self.question),
        );
        // What is written must be taken by `provision`: a bad name is found here, not at the
        // bedside.
        TrialFile::parse(self.out.as_deref().unwrap_or("TRIAL.toml"), &text)?;
        Ok(text)
    }
}

/// Finds the plan and writes its trial file.
///
/// # Errors
/// A value that is not allowed, a file that cannot be written, or a wish that no epsilon reaches.
pub fn plan(args: &PlannerArgs) -> Result<(), CliError> {
    if let Some(out) = &args.out {
        check_file(out, args.force).map_err(|error| CliError::file(out, &error))?;
    }
    let base = args.base()?;
    args.trial_file(&base.plan)?;
    let wish = Wish { width: args.width, better: args.better };
    let Some(found) = planner::find(&base, wish)? else {
        return Err(CliError::refused(planner::out_of_reach(&base)?));
    };
    let text = args.trial_file(&found.plan)?;
    let mut report = planner::describe(&base, &found)?;
    let _ = match &args.out {
        Some(out) => {
            write_file(out, &text, args.force).map_err(|error| CliError::file(out, &error))?;
            writeln!(report, "\nWritten to {out}.")
        }
        None => write!(report, "\nThe trial file (--out writes it):\n\n{text}"),
    };
    say(&report);
    Ok(())
}
