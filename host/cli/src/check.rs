//! `equipoise check`: a trial file without a device.

use std::path::PathBuf;

use super::error::CliError;
use super::values::share;
use equipoise::plan::{DesignName, Plan};
use equipoise::wire::Hex;
use equipoise_study::output::say;
use equipoise_study::planner::board::BoardName;
use equipoise_study::simulate::{Instance, Scenario, run as simulate};
use equipoise_ward::records::expect::Expect;
use equipoise_ward::records::trial_file::TrialFile;

/// Patients simulated, and the limits of the number of trials.
const PATIENTS: u32 = 1_000_000;
const RUNS: (u32, u32) = (20, 200);
/// A share on the better arm below which a design has not adapted.
const HARDLY: f64 = 0.55;

/// `equipoise check`
#[derive(Debug, clap::Args)]
pub struct CheckArgs {
    /// Trial file with plan and names
    #[arg(value_name = "TRIAL")]
    file: PathBuf,
    /// Patients enrolled a day, to warn if too many wait for their outcome at a time
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    per_day: Option<u32>,
    /// Mean outcome (0 to 1) expected under arm 0, to see if the trial is too small; by default
    /// that of [expect] in the trial file
    #[arg(long, value_name = "P", requires = "effect", value_parser = share)]
    baseline: Option<f64>,
    /// Mean outcome expected under arm 1 less that under arm 0
    #[arg(long, value_name = "D", requires = "baseline", allow_negative_numbers = true)]
    effect: Option<f64>,
    /// Exit with 0 although the trial is too small to see the effect
    #[arg(long)]
    anyway: bool,
}

/// Validates a trial file and prints what it means, with warnings.
///
/// # Errors
/// The first thing in the file that is not allowed, or a trial too small for its effect.
pub fn check(args: &CheckArgs) -> Result<(), CliError> {
    let trial = TrialFile::read(&args.file)?;
    trial.check_new().map_err(|why| CliError::usage(format!("{}: {why}", args.file.display())))?;
    let mut text = format!(
        "{}: a valid trial file\n  title    {}\n  arms     0 {}, 1 {}\n  kinds    {}\n  outcome  {}\n  plan     {}\n  digest   {}\n",
        args.file.display(),
        trial.title,
        trial.arms[0],
        trial.arms[1],
        trial.features.join("; "),
        trial.labels.as_ref().map_or_else(
            || format!("{} 0..={}", trial.question, trial.plan.scale()),
            |labels| format!("{} {}", trial.question, labels.join(", "))
        ),
        trial.plan,
        Hex(&trial.digest()),
    );
    text += &format!("{}.\n", trial.direction());
    if let Some(due) = trial.due {
        text += &format!("  due      {due} after the enrolment\n");
    }
    for question in trial.eligibility.questions() {
        let consent = if question.consent { ", consent" } else { "" };
        text += &format!("  asks     {} ({}{consent})\n", question.text, question.allowed.name());
    }
    if !trial.signing.acts.is_empty() {
        let acts: Vec<&str> = trial.signing.acts.iter().map(|act| act.name()).collect();
        text += &format!("  signed   {}, by people of the staff file\n", acts.join(", "));
    }
    if trial.code.unicode() {
        text += "  codes    letters and digits of all scripts, compared after NFKC\n";
    } else if trial.code.pattern().is_some_and(|pattern| !pattern.is_ascii()) {
        text += "WARNING: code has characters that are not ASCII, and no patient code may have them without \
                 code-unicode = true\n";
    }
    text += &waiting(args, &trial);
    let given =
        args.baseline.zip(args.effect).map(|(baseline, effect)| Expect { baseline, effect });
    let size = given.or(trial.expect).map(|expect| size(&trial.plan, expect)).transpose()?;
    text += size.as_ref().map_or("", |size| size.text.as_str());
    say(&text);
    match size {
        Some(Size { too_small: true, .. }) if !args.anyway => Err(CliError::refused(
            "the trial is too small to see the effect; to take it as it is: --anyway",
        )),
        _ => Ok(()),
    }
}

/// A warning if more patients wait at a time than a device has room for.
fn waiting(args: &CheckArgs, trial: &TrialFile) -> String {
    let Some(per_day) = args.per_day else { return String::new() };
    let Some(due) = trial.due else {
        return "WARNING: without [outcome] due it is not known how many patients wait at a time\n"
            .to_owned();
    };
    let waiting = (f64::from(per_day) * due.days()).ceil().min(f64::from(trial.plan.patients()));
    let boards = |fit: bool| {
        let fits = |board: &BoardName| (waiting <= f64::from(board.room())) == fit;
        let named = BoardName::ALL.into_iter().filter(fits);
        named.map(|board| format!("{} on the {board}", board.room())).collect::<Vec<_>>().join(", ")
    };
    let (enough, full) = (boards(true), boards(false));
    let mut text = String::new();
    if !enough.is_empty() {
        text += &format!("  waiting  about {waiting} patients at a time; room for {enough}\n");
    }
    if !full.is_empty() {
        text += &format!(
            "WARNING: with {per_day} patients a day and outcomes due after {due}, about {waiting} patients wait at a time; \
             there is room for {full}: it would refuse to enrol more\n"
        );
    }
    text
}

/// How large a trial is for the effect it was planned for.
pub struct Size {
    /// Figures and warnings, a line each.
    pub text: String,
    /// Whether the effect will usually not be seen.
    pub too_small: bool,
}

/// Simulates trials in which every kind of patient has this baseline and effect.
///
/// # Errors
/// Means that are not possible.
pub fn size(plan: &Plan, expect: Expect) -> Result<Size, CliError> {
    let Expect { baseline, effect } = expect.check().map_err(CliError::usage)?;
    let runs = (PATIENTS / plan.patients()).clamp(RUNS.0, RUNS.1);
    let instance = Instance::same(plan.features(), baseline, baseline + effect);
    let summary = simulate(&Scenario::new(*plan, instance, runs, 1)).map_err(CliError::usage)?;
    let better = 1.0 - summary.worse_share;
    let width = summary.width.unwrap_or(f64::INFINITY);
    let mut text = format!(
        "  simulated {runs} times: {:.0} % of the patients get the better arm, intervals are {width:.3} wide\n",
        100.0 * better
    );
    if plan.design() != DesignName::Uniform && better < HARDLY {
        text += &format!(
            "WARNING: too small to adapt: {:.0} % of the patients get the better arm, where fair coins give 50 %; more \
             patients, fewer kinds or a larger epsilon\n",
            100.0 * better
        );
    }
    let too_small = width > 2.0 * effect.abs();
    if too_small {
        text += &format!(
            "WARNING: too small to see the effect: the intervals of a kind of patient are {width:.3} wide, so one around \
             {effect} usually holds 0; more patients, fewer kinds or a larger epsilon\n"
        );
    }
    Ok(Size { text, too_small })
}
