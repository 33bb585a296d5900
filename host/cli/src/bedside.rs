//! `terminal` for people; `assign`, `outcome`, `lost` and `status` for scripts.
//!
//! Scripts use the same [`Bedside`](crate::host::terminal::bedside::Bedside) and log as the screen.
//! A script that died in the middle of an `assign` is run again with the same code and gets the
//! same patient's arm.

use std::str::FromStr;

use super::error::CliError;
use super::session::{PatientName, PortArgs, SessionArgs};
use super::values::named;
use equipoise::wire::{NextLook, State, Status};
use equipoise_study::output::say;
use equipoise_ward::bedside::screen;
use equipoise_ward::bedside::{Recorded, failure};
use equipoise_ward::line::client::Hello;
use equipoise_ward::records::eligibility::Answer;
use equipoise_ward::records::register::Treatment;
use equipoise_ward::records::staff::Role;
use equipoise_ward::records::trial_file::TrialFile;

/// `equipoise terminal`
#[derive(Debug, clap::Args)]
pub struct TerminalArgs {
    #[command(flatten)]
    session: SessionArgs,
}

/// The bedside screen on a device.
///
/// # Errors
/// The trial file, the log or the terminal cannot be used.
pub fn terminal(args: &TerminalArgs) -> Result<(), CliError> {
    Ok(screen::run::run(args.session.open()?)?)
}

/// `equipoise assign`
#[derive(Debug, clap::Args)]
pub struct AssignArgs {
    /// Patient code, as in the ward's list
    code: String,
    /// Kind of patient: a name of the trial file, or its place there from 0; for a trial with
    /// factors give --NAME LEVEL for each factor instead, as in `--sex f --age "65 or over"`
    #[arg(required_unless_present = "factor")]
    feature: Option<String>,
    /// Level of a factor of the trial file; --NAME LEVEL says the same
    #[arg(long, value_name = "NAME=LEVEL", value_parser = level, conflicts_with = "feature")]
    factor: Vec<(String, String)>,
    /// Confirm that the records of patients whom this log does not know are elsewhere; it is
    /// logged
    #[arg(long)]
    records_elsewhere: bool,
    /// Answer to a question of the trial file about eligibility; once for each, in their order
    #[arg(long, value_name = "yes|no", value_parser = named(Answer::ALL, Answer::name))]
    answer: Vec<Answer>,
    /// Print one line of JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    session: SessionArgs,
}

fn level(text: &str) -> Result<(String, String), String> {
    let pair = text.split_once('=').map(|(name, level)| (name.to_owned(), level.to_owned()));
    pair.ok_or_else(|| format!("{text:?} is no NAME=LEVEL"))
}

impl AssignArgs {
    fn feature_of(&self, trial: &TrialFile) -> Result<u8, CliError> {
        let Some(name) = &self.feature else {
            return trial.factors.named(&self.factor).map_err(CliError::usage);
        };
        feature_named(trial, name)
    }
}

/// The kind of patient of this name or number.
///
/// # Errors
/// The trial has no such kind.
pub fn feature_named(trial: &TrialFile, name: &str) -> Result<u8, CliError> {
    trial.feature(name).ok_or_else(|| {
        let names = trial.features.join("\", \"");
        let last = trial.plan.features() - 1;
        CliError::usage(format!("no kind of patient {name:?}, allowed \"{names}\", or 0..={last}"))
    })
}

/// Enrols a patient and prints the arm.
///
/// # Errors
/// Refused, no such kind of patient, or no device.
pub fn assign(args: &AssignArgs) -> Result<(), CliError> {
    let mut bedside = args.session.sign(&[Role::Enrol])?;
    let feature = args.feature_of(bedside.trial())?;
    if args.records_elsewhere {
        let status = bedside.status()?;
        let gap = bedside.gap(&status).map(|gap| gap.to_string());
        gap.map_or(Ok(()), |gap| bedside.confirm_elsewhere(&gap))?;
    }
    if !(bedside.trial().eligibility.is_empty() && args.answer.is_empty())
        && let Some(why) = bedside.screen(Some(&args.code), &args.answer)?
    {
        return Err(CliError::refused(format!("the patient is {why}")));
    }
    let patient = bedside.enrol(&args.code, feature)?;
    say(&if args.json {
        let (code, number) = (&patient.code, patient.number);
        let mut line = serde_json::json!({ "code": code, "patient": number, "feature": feature });
        add_given(&mut line, bedside.trial(), &patient.given);
        format!("{line}\n")
    } else {
        let given = bedside.trial().given(&patient.given);
        format!("patient {}, number {}: {given}\n", patient.code, patient.number)
    });
    Ok(())
}

/// Adds what a patient was given to a line of JSON.
pub fn add_given(line: &mut serde_json::Value, trial: &TrialFile, given: &Treatment) {
    match given {
        Treatment::Arm(arm) => {
            line["arm"] = arm.index().into();
            line["arm_name"] = trial.arm_name(*arm).into();
        }
        Treatment::Kits { replaced, .. } => {
            line["kit"] = given.kit().into();
            line["label"] = trial.given_name(given).into();
            line["replaced"] = (*replaced).into();
        }
    }
}

/// `equipoise lost`
#[derive(Debug, clap::Args)]
pub struct PatientArgs {
    /// Patient code, or `#` and the patient's number
    patient: PatientName,
    /// Print one line of JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    session: SessionArgs,
}

/// `equipoise replace`
#[derive(Debug, clap::Args)]
pub struct ReplaceArgs {
    #[command(flatten)]
    of: PatientArgs,
    /// Why the kit cannot be used, as "damaged"
    #[arg(long)]
    reason: String,
}

impl ReplaceArgs {
    /// Whether to print one line of JSON.
    pub const fn json(&self) -> bool {
        self.of.json
    }
}

/// Gives a patient of a blinded trial another kit of the same arm.
///
/// # Errors
/// Refused, the trial is not blinded, or no device.
pub fn replace(args: &ReplaceArgs) -> Result<(), CliError> {
    let ReplaceArgs { of, reason } = args;
    let mut bedside = of.session.sign(&[Role::Enrol])?;
    let number = of.patient.number(bedside.register())?;
    let patient = bedside.replace(number, reason)?;
    let old = bedside.trial().replaced_name(&patient.given);
    say(&if of.json {
        let mut line = serde_json::json!({ "code": patient.code, "patient": number });
        add_given(&mut line, bedside.trial(), &patient.given);
        format!("{line}\n")
    } else {
        let given = bedside.trial().given(&patient.given);
        let count = patient.given.replaced();
        let old = old.map_or(String::new(), |old| format!(" instead of {old}"));
        format!("patient {}, number {number}: {given}{old}, replacement {count}\n", patient.code)
    });
    Ok(())
}

/// An outcome on the command line, or on standard input.
#[derive(Clone)]
enum OutcomeText {
    Given(String),
    StandardInput,
}

impl std::fmt::Debug for OutcomeText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("OutcomeText(withheld)")
    }
}

impl FromStr for OutcomeText {
    type Err = std::convert::Infallible;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(if text == "-" { Self::StandardInput } else { Self::Given(text.trim().to_owned()) })
    }
}

impl OutcomeText {
    fn read(&self) -> Result<String, CliError> {
        let Self::Given(text) = self else {
            let mut text = String::new();
            let read = std::io::stdin().read_line(&mut text);
            return read
                .map(|_| text.trim().to_owned())
                .map_err(|error| CliError::usage(format!("standard input: {error}")));
        };
        Ok(text.clone())
    }
}

/// `equipoise outcome`
#[derive(Debug, clap::Args)]
pub struct OutcomeArgs {
    /// Patient code, or `#` and the patient's number
    patient: PatientName,
    /// A label of the trial file or a number; `-` reads it from standard input, so that no process
    /// list shows it
    outcome: OutcomeText,
    /// Record it in spite of a doubt, as for an outcome long before its due date
    #[arg(long)]
    anyway: bool,
    /// Print one line of JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    session: SessionArgs,
}

/// Records an outcome.
///
/// # Errors
/// Refused, recorded before, not an outcome of the trial, or no device.
pub fn outcome(args: &OutcomeArgs) -> Result<(), CliError> {
    let mut bedside = args.session.sign(&[Role::Outcome])?;
    let text = args.outcome.read()?;
    // The message does not repeat the value: it may end up in a file.
    let y = bedside.trial().outcome(&text).ok_or_else(|| {
        let labels = bedside.trial().labels.clone().unwrap_or_default().join("\", \"");
        let scale = bedside.trial().plan.scale();
        let labels = if labels.is_empty() { String::new() } else { format!("\"{labels}\", or ") };
        CliError::usage(format!("this outcome is not allowed: {labels}0..={scale}"))
    })?;
    let number = args.patient.number(bedside.register())?;
    if let Some(why) = bedside.doubt(number).filter(|_| !args.anyway) {
        return Err(CliError::refused(format!(
            "{why} Nothing was sent. If the outcome is right, record it with --anyway."
        )));
    }
    recorded(&bedside.outcome(number, y)?, args.json);
    Ok(())
}

/// Records that an outcome will never come.
///
/// # Errors
/// Refused, recorded before, or no device.
pub fn lost(args: &PatientArgs) -> Result<(), CliError> {
    let mut bedside = args.session.sign(&[Role::Outcome])?;
    let number = args.patient.number(bedside.register())?;
    recorded(&bedside.lost(number)?, args.json);
    Ok(())
}

fn recorded(recorded: &Recorded, json: bool) {
    let Recorded { number, code, lost, closed } = recorded;
    say(&if json {
        let done = if *lost { "lost" } else { "recorded" };
        let line =
            serde_json::json!({ "code": code, "patient": number, done: true, "closed": closed });
        format!("{line}\n")
    } else {
        let code = code.as_ref().map_or(String::new(), |code| format!("{code}, "));
        let what = if *lost { "declared lost: the outcome of" } else { "recorded for" };
        let closed = if *closed { "that was the last outcome: the trial is closed\n" } else { "" };
        format!("{what} patient {code}number {number}\n{closed}")
    });
}

/// `equipoise status`
#[derive(Debug, clap::Args)]
pub struct StatusArgs {
    /// Print one line of JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    device: PortArgs,
}

/// Prints the public facts of the trial.
///
/// # Errors
/// No device.
pub fn status(args: &StatusArgs) -> Result<(), CliError> {
    let mut client = args.device.client();
    let hello = client.connect().map_err(CliError::no_device)?;
    let port = client.port().unwrap_or_default().to_owned();
    let state = hello.state.name();
    let key = hello.custody.map(|(key, _)| key);
    let left = hello.custody.map(|(_, left)| left);
    let image = hello.image.map(|image| image.to_string());
    if matches!(hello.state, State::Blank | State::Fault | State::Foreign) {
        let left = left.map(|left| left.to_string());
        say(&if args.json {
            let line = serde_json::json!({
                "state": state, "version": hello.version, "image": image, "key_set": key,
                "epsilon_left": left,
            });
            format!("{line}\n")
        } else {
            let key = match key {
                Some(true) => ", a custodian's key is set",
                Some(false) => ", no custodian's key is set",
                None => "",
            };
            let left = left
                .map_or(String::new(), |left| format!(", lifetime budget left: epsilon {left}"));
            format!("{port}: {state}{key}{left}, program {}\n", program(&hello))
        });
        return Ok(());
    }
    let status = client.status().map_err(failure)?;
    say(&if args.json { as_json(&status, &hello) } else { in_words(&status, &port, &hello) });
    Ok(())
}

/// Which program the device runs.
fn program(hello: &Hello) -> String {
    let image = hello.image.map_or(String::new(), |image| format!(", image {image}"));
    format!("{}{image}", hello.version)
}

fn as_json(status: &Status, hello: &Hello) -> String {
    let next = match status.next_look {
        NextLook::After(resolved) => Some(resolved),
        NextLook::AtClose | NextLook::None => None,
    };
    let mut line = serde_json::json!({
        "state": hello.state.name(), "version": hello.version,
        "image": hello.image.map(|image| image.to_string()), "trial": status.name.id.to_string(),
        "digest": status.name.file.to_string(), "design": status.design.name(), "patients": status.patients,
        "assigned": status.assigned, "resolved": status.resolved, "waiting": status.waiting(),
        "capacity": status.capacity, "phase": status.phase.name(), "looks": status.looks, "next_look": next,
        "better": status.better.name(), "results": status.results.name(),
        "epsilon_left": hello.custody.map(|(_, left)| left.to_string()),
    });
    if let Some((kits, replaced)) = status.kits {
        line["kits"] = kits.into();
        line["replaced"] = replaced.into();
    }
    format!("{line}\n")
}

fn in_words(status: &Status, port: &str, hello: &Hello) -> String {
    let next = match status.next_look {
        NextLook::After(resolved) => format!("after {resolved} resolved patients"),
        NextLook::AtClose => "at the close".to_owned(),
        NextLook::None => "none".to_owned(),
    };
    let s = status;
    let kits = s.kits.map_or(String::new(), |(kits, replaced)| {
        let reserve = kits.saturating_sub(s.patients);
        format!("  kits      {kits} an arm, {replaced} of {reserve} replacements given\n")
    });
    format!(
        "{port}: {}\n  trial     {}, digest {}\n  design    {}, phase {}, better outcomes are {}, results={}\n  patients  {} of {}, {} resolved, {} \
         waiting, room for {}\n  looks     {}, next {next}\n  epsilon   {} left in the device's lifetime\n  \
         program   {}\n{kits}",
        hello.state.name(),
        s.name.id,
        s.name.file,
        s.design,
        s.phase.name(),
        s.better.name(),
        s.results.name(),
        s.assigned,
        s.patients,
        s.resolved,
        s.waiting(),
        s.capacity,
        s.looks,
        hello.custody.map_or_else(|| "none".to_owned(), |(_, left)| left.to_string()),
        program(hello)
    )
}
