//! `equipoise plan`.

use clap::builder::TypedValueParser;

use super::error::CliError;
use super::progress::Bar;
use super::simulate::world::KeyArgs;
use super::values::{boundary, named, ratio, share};
use equipoise::plan::{Better, Close, DesignName, Parameters, Plan, Ratio, Results};
use equipoise_study::boundaries::Kind;
use equipoise_study::dossier::{self, Dossier};
use equipoise_study::output::{check_file, say, write_file};
use equipoise_study::planner::answer::Answer;
use equipoise_study::planner::board::BoardName;
use equipoise_study::planner::describe::describe;
use equipoise_study::planner::verdict::{out_of_reach, refusal};
use equipoise_study::planner::{Given, MAX_PATIENTS, Question, Target, Wish};
use equipoise_study::simulate::{Delay, Instance, Policy, Scenario, SimulateError, World};
use equipoise_ward::records::due::Due;
use equipoise_ward::records::plan_file::Words;
use equipoise_ward::records::trial_file::TrialFile;

/// `equipoise plan`
#[derive(Clone, Debug, clap::Args)]
pub struct PlannerArgs {
    /// Kinds of patient, 1..=64
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=64))]
    features: u8,
    /// Patients of the trial; found if not given
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=i64::from(MAX_PATIENTS)))]
    patients: Option<u32>,
    /// Mean outcome (0 to 1) under arm 0
    #[arg(long, value_name = "P", value_parser = share)]
    baseline: f64,
    /// Mean outcome under arm 1 less that under arm 0; the smallest that can be seen if not given
    #[arg(long, value_name = "D", allow_hyphen_values = true, value_parser = effect)]
    effect: Option<f64>,
    /// Privacy loss of one patient, 1/1000..=20; the least that is enough if not given
    #[arg(long, value_name = "E", value_parser = ratio)]
    epsilon: Option<Ratio>,
    /// 0: best estimate, 1: most patients on the better arm; if not given, the one that spares
    /// most patients the worse arm
    #[arg(long, value_name = "A", value_parser = ratio)]
    alpha: Option<Ratio>,
    /// Wanted: this share of the 95 % intervals excludes 0
    #[arg(long, value_name = "P", value_parser = power)]
    power: Option<f64>,
    /// Wanted: 95 % intervals of at most this mean width
    #[arg(long, value_name = "W", value_parser = width)]
    width: Option<f64>,
    /// Wanted: at least this share of the patients on the better arm
    #[arg(long, value_name = "S", value_parser = better)]
    better: Option<f64>,
    /// Wanted: at most this many outcomes lost in a trial, and the best estimate with it
    #[arg(long, value_name = "R", value_parser = positive, requires = "patients")]
    regret: Option<f64>,
    /// Whose intervals are meant by power and width
    #[arg(long, value_name = "WHOSE", default_value = "feature", value_parser = target())]
    of: Target,
    /// The design; if not given, interim where adaptation pays, else uniform
    #[arg(long, value_parser = design())]
    design: Option<DesignName>,
    /// Most patients of an adaptive trial whose alpha is found, in those of the uniform trial
    #[arg(long, value_name = "TIMES", default_value = "1.5", value_parser = at_most)]
    at_most: f64,
    /// Two-sided significance level at which a feature settles, its coin staying
    #[arg(long, default_value = "1/20", value_parser = ratio)]
    beta: Ratio,
    /// Largest outcome, 1..=65535; 1 is yes/no
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    scale: u16,
    /// Which outcomes are the better ones; high if not given
    #[arg(long, value_name = "HIGH|LOW", value_parser = direction())]
    direction: Option<Better>,
    /// Planned reports in the second half, 0..=8
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=8))]
    reports: u8,
    /// With --reports: intervals valid at all reports together, obrien-fleming or pocock
    #[arg(long, value_name = "KIND", value_parser = boundary(), requires = "reports")]
    boundary: Option<Kind>,
    #[command(flatten)]
    keys: KeyArgs,
    /// Time from enrolment to outcome, e.g. "14 days"; needs --per-day, replaces --delay
    #[arg(long, value_name = "TIME", requires = "per_day", conflicts_with = "delay")]
    follow_up: Option<Due>,
    /// Patients enrolled a day
    #[arg(long, value_name = "N", requires = "follow_up")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=100_000))]
    per_day: Option<u32>,
    /// The board that must have room for the patients who wait: v1, pico2 or v2
    #[arg(long, default_value = "v1", value_parser = board())]
    board: BoardName,
    /// All randomness of the search comes from it; the figures shown come from the next one
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Where to write the trial file
    #[arg(long, value_name = "TRIAL.toml")]
    out: Option<String>,
    /// Also write one page for the protocol's appendix: scenarios, power curves, privacy in words
    #[arg(long, value_name = "FILE.html")]
    dossier: Option<String>,
    /// Overwrite files that exist
    #[arg(long)]
    force: bool,
    /// Name of the trial
    #[arg(long, default_value = "A trial")]
    title: String,
    /// Names of the arms, by a comma
    #[arg(long, default_value = "Arm 0,Arm 1", value_delimiter = ',')]
    arms: Vec<String>,
    /// Names of the features, by commas; numbers if not given
    #[arg(long, value_delimiter = ',')]
    names: Vec<String>,
    /// Question about a patient's outcome; needs --direction
    #[arg(long, default_value = "Outcome good?", requires = "direction")]
    question: String,
}

fn direction() -> impl TypedValueParser<Value = Better> {
    named(Better::ALL, Better::name)
}

fn number(text: &str, allowed: &str, good: impl FnOnce(f64) -> bool) -> Result<f64, String> {
    let value = text.trim().parse::<f64>().ok().filter(|value| value.is_finite() && good(*value));
    value.ok_or_else(|| format!("allowed {allowed}"))
}

fn effect(text: &str) -> Result<f64, String> {
    number(text, "not 0, and baseline + effect in 0..=1", |x| x != 0.0 && x.abs() <= 1.0)
}

fn power(text: &str) -> Result<f64, String> {
    number(text, "at least 0.1, at most 0.999", |x| (0.1..=0.999).contains(&x))
}

fn width(text: &str) -> Result<f64, String> {
    number(text, "above 0, below 2", |x| x > 0.0 && x < 2.0)
}

fn better(text: &str) -> Result<f64, String> {
    number(text, "at least 0.5, below 1", |x| (0.5..1.0).contains(&x))
}

fn positive(text: &str) -> Result<f64, String> {
    number(text, "above 0", |x| x > 0.0)
}

fn at_most(text: &str) -> Result<f64, String> {
    number(text, "at least 1, at most 10", |x| (1.0..=10.0).contains(&x))
}

fn target() -> impl TypedValueParser<Value = Target> {
    named([Target::Feature, Target::Overall], |target| match target {
        Target::Feature => "feature",
        Target::Overall => "overall",
    })
}

fn board() -> impl TypedValueParser<Value = BoardName> {
    named(BoardName::ALL, BoardName::name)
}

fn design() -> impl TypedValueParser<Value = DesignName> {
    named([DesignName::Interim, DesignName::Uniform], DesignName::name)
}

impl PlannerArgs {
    /// The world that is planned for.
    fn world(&self) -> World {
        let effect = self.effect.unwrap_or(0.0);
        let instance = Instance::with_effect(self.features, self.baseline, effect);
        let mut world = self.keys.world(instance);
        if let (Some(due), Some(per_day)) = (&self.follow_up, self.per_day) {
            // More than a simulation can hold fits no board either.
            world.delay = Delay::fixed((f64::from(per_day) * due.days()).ceil() as u32);
        }
        world
    }

    fn check(&self) -> Result<(), CliError> {
        let effect = self.effect.unwrap_or(0.0);
        if !(0.0..=1.0).contains(&(self.baseline + effect)) {
            return Err(CliError::usage(format!(
                "effect={effect} allowed not 0, and baseline + effect in 0..=1"
            )));
        }
        let missing: Vec<&str> = [
            (self.patients.is_none(), "--patients"),
            (self.effect.is_none(), "--effect"),
            (self.epsilon.is_none(), "--epsilon"),
        ]
        .into_iter()
        .filter_map(|(missing, name)| missing.then_some(name))
        .collect();
        let wish = self.wish();
        if missing.len() > 1 {
            return Err(CliError::usage(format!(
                "{} are not given: one of them can be found, not several",
                missing.join(" and ")
            )));
        }
        if !wish.measures() && !wish.cares() && !missing.is_empty() {
            return Err(CliError::usage(format!(
                "{} is to be found: say what is wanted, with --power, --width, --better or --regret",
                missing.join("")
            )));
        }
        if self.effect.is_none() && wish.power.is_none() {
            return Err(CliError::usage("--effect is to be found: --power says for which power"));
        }
        Ok(())
    }

    fn wish(&self) -> Wish {
        Wish {
            power: self.power,
            width: self.width,
            better: self.better,
            regret: self.regret,
            target: self.of,
        }
    }

    fn base(&self, world: World) -> Result<Scenario, SimulateError> {
        let least = 2 * u32::from(self.features);
        let plan = Plan::new(Parameters {
            design: self.design.unwrap_or(DesignName::Interim),
            features: self.features,
            patients: self.patients.unwrap_or(least),
            scale: self.scale,
            alpha: self.alpha.unwrap_or(Ratio::QUARTER),
            epsilon: self.epsilon.unwrap_or(Ratio::ONE),
            beta: self.beta,
            reports: self.reports,
            better: self.direction.unwrap_or(Better::High),
            results: Results::Custodian,
            close: Close::Custodian,
            kits: 0,
        })?;
        let (boundary, planned, seed) = (self.boundary, self.effect, self.seed);
        let policy = Policy::Core;
        let base = Scenario { plan, policy, boundary, planned, world, runs: 1, seed };
        base.check().map(|()| base)
    }

    fn words(&self, effect: f64) -> Words {
        let more = self.boundary.map_or(String::new(), |kind| {
            format!("\n[boundary]\nkind = \"{}\"\neffect = {effect}\n", kind.name())
        });
        Words {
            title: self.title.clone(),
            arms: self.arms.clone(),
            features: self.names.clone(),
            question: self.question.clone(),
            due: self.follow_up,
            more,
        }
    }
}

impl PlannerArgs {
    /// How long the trial takes, where that is known.
    fn duration(&self, patients: u32) -> Option<String> {
        const DAYS_A_MONTH: f64 = 365.25 / 12.0;
        let per_day = self.per_day?;
        let enrolment = f64::from(patients) / f64::from(per_day);
        let follow_up = self.follow_up.map_or(0.0, Due::days);
        let days = (enrolment + follow_up).ceil();
        let whole = if days < 2.0 * DAYS_A_MONTH {
            format!("{days} days")
        } else {
            format!("{:.1} months ({days} days)", days / DAYS_A_MONTH)
        };
        Some(format!(
            "about {whole}: {:.0} days of enrolment at {per_day} patients a day, and the follow-up",
            enrolment.ceil()
        ))
    }

    /// The command for the trial of the other design.
    fn other(&self, design: DesignName) -> String {
        let other = match design {
            DesignName::Uniform => DesignName::Interim,
            _ => DesignName::Uniform,
        };
        let mut words: Vec<String> = words().collect();
        if let Some(at) = words.iter().position(|word| word == "--design") {
            words.drain(at..words.len().min(at + 2));
        }
        words.retain(|word| !word.starts_with("--design="));
        let command = words.join(" ");
        format!("\nThe {other} trial instead:\n{command} --design {other}\n")
    }
}

/// Finds a plan and writes its trial file.
///
/// # Errors
/// A value that is not allowed, a file that exists or cannot be written, a plan that is refused.
pub fn plan(args: &PlannerArgs) -> Result<(), CliError> {
    args.check()?;
    // Before the simulations, which take their time.
    for out in [&args.out, &args.dossier].into_iter().flatten() {
        check_file(out, args.force).map_err(|error| CliError::file(out, &error))?;
    }
    let world = args.world();
    if let Some(why) = args.board.refusal(world.delay.to) {
        return Err(CliError::refused(format!("don't: {why}")));
    }
    let base = args.base(world)?;
    let name = "TRIAL.toml";
    args.words(args.effect.unwrap_or(0.1)).trial_file(name, &base.plan)?;
    let given = Given {
        patients: args.patients,
        effect: args.effect,
        epsilon: args.epsilon,
        alpha: args.alpha,
    };
    let bar = Bar::of_search();
    let question = Question {
        base,
        baseline: args.baseline,
        given,
        wish: args.wish(),
        is_design_given: args.design.is_some(),
        at_most: args.at_most,
        meter: &bar,
    };
    let Some(answer) = question.answer()? else {
        return Err(CliError::refused(out_of_reach(&question)?));
    };
    let Answer { found, comparison, .. } = &answer;
    if let Some(why) = refusal(&question, found)? {
        return Err(CliError::refused(why));
    }
    let mut text = describe(&question, &answer)?;
    let duration = args.duration(found.proposal.patients);
    if let Some(duration) = &duration {
        text += &format!("\nThe trial takes {duration}.\n");
    }
    text += &args.other(found.proposal.design);
    let scenario =
        question.scenario(&found.proposal, equipoise_study::planner::search::Effort::Fine);
    let file = args.words(found.proposal.effect).trial_file(name, &scenario?.plan)?;
    if let Some(path) = &args.dossier {
        let words = dossier::Words {
            title: args.title.clone(),
            arms: [0, 1].map(|arm| args.arms.get(arm).cloned().unwrap_or_default()),
            question: args.question.clone(),
            direction: TrialFile::parse(name, &file)?.direction(),
            board: args.board.to_string(),
            duration,
            command: command_line(),
            trial_file: file.clone(),
        };
        let study = dossier::study(&question, found)?;
        let page = Dossier {
            question: &question,
            found,
            comparison,
            answer: &answer,
            study: &study,
            words: &words,
        };
        let page = page.html()?;
        write_file(path, page, args.force).map_err(|error| CliError::file(path, &error))?;
        text += &format!("\nThe dossier is in {path}.\n");
    }
    bar.clear();
    match &args.out {
        Some(out) => {
            write_file(out, &file, args.force).map_err(|error| CliError::file(out, &error))?;
            text += &format!("\nWritten to {out}.\n");
        }
        None => text += &format!("\nThe trial file (--out writes it):\n\n{file}"),
    }
    say(&text);
    Ok(())
}

/// The command as it was given, with quotes where a shell needs them.
fn command_line() -> String {
    words().collect::<Vec<_>>().join(" ")
}

/// Its words.
fn words() -> impl Iterator<Item = String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=./:,+".contains(c);
    let quoted = move |word: String| {
        if word.chars().all(plain) { word } else { format!("'{}'", word.replace('\'', "'\\''")) }
    };
    let words = std::env::args().skip(1).map(quoted);
    core::iter::once("equipoise".to_owned()).chain(words)
}
