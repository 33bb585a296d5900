//! `waiting`, `list`, `show` and `note`: what a coordinator reads from the log and adds to it. No
//! device is needed.

use std::path::PathBuf;

use jiff::Timestamp;

use super::bedside::{add_given, feature_named};
use super::consort::ConsortArgs;
use super::error::CliError;
use super::session::{OperatorArgs, OutputArgs, PatientName, TrialArgs};
use super::values::note_kind;
use equipoise_study::output::say;
use equipoise_ward::bedside::{check_note, right_kind};
use equipoise_ward::records::code_break;
use equipoise_ward::records::log::{self, Entry, Event, NoteKind};
use equipoise_ward::records::place;
use equipoise_ward::records::register::{Patient, Register};
use equipoise_ward::records::staff::Role;
use equipoise_ward::records::table::Table;
use equipoise_ward::records::tie::same_trial;
use equipoise_ward::records::trial_file::TrialFile;
use equipoise_ward::records::words::{moment, stamp, told};

/// Which log, of which trial.
#[derive(Debug, clap::Args)]
pub struct LogArgs {
    #[command(flatten)]
    trial: TrialArgs,
    /// Log of the terminal; by default the one for the trial in the data folder
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
}

impl LogArgs {
    /// The trial file.
    ///
    /// # Errors
    /// There is none, or it is not valid.
    pub fn trial(&self) -> Result<TrialFile, CliError> {
        self.trial.read()
    }

    /// Where the log lies.
    ///
    /// # Errors
    /// There is no data folder.
    pub fn path(&self, trial: &TrialFile) -> Result<PathBuf, CliError> {
        Ok(self.log.clone().map_or_else(|| place::log(trial), Ok)?)
    }

    /// The register of a log that nobody changed.
    ///
    /// # Errors
    /// The log or the trial file cannot be used.
    pub fn read(&self) -> Result<(Register, TrialFile), CliError> {
        let trial = self.trial.read()?;
        let path = self.path(&trial)?;
        let register = Register::read(&self.entries(&trial)?);
        same_trial(&register, &trial, &path)?;
        Ok((register, trial))
    }

    /// The lines of a log that nobody changed.
    ///
    /// # Errors
    /// The log cannot be used.
    pub fn entries(&self, trial: &TrialFile) -> Result<Vec<Entry>, CliError> {
        Ok(log::verify(&self.path(trial)?, None)?.1)
    }
}

/// Where a list goes.
#[derive(Debug, clap::Args)]
pub struct ListArgs {
    /// Write CSV
    #[arg(long)]
    csv: bool,
    #[command(flatten)]
    output: OutputArgs,
}

impl ListArgs {
    /// Writes a table as CSV or aligned.
    fn write(&self, table: &Table) -> Result<(), CliError> {
        self.output.write(&if self.csv { table.csv() } else { table.aligned() })
    }
}

/// `equipoise waiting`
#[derive(Debug, clap::Args)]
pub struct WaitingArgs {
    /// Only patients whose outcome is overdue; the trial file must say when outcomes are due
    #[arg(long)]
    overdue: bool,
    #[command(flatten)]
    list: ListArgs,
    #[command(flatten)]
    log: LogArgs,
}

/// Lists the patients whose outcome is missing.
///
/// # Errors
/// The log or the trial file cannot be used.
pub fn waiting(args: &WaitingArgs) -> Result<(), CliError> {
    let (register, trial) = args.log.read()?;
    if args.overdue && trial.due.is_none() {
        return Err(CliError::usage(
            "the trial file does not say when outcomes are due: [outcome] due = \"14 days\"",
        ));
    }
    let now = Timestamp::now();
    let due = |patient: &Patient| trial.due.map(|due| due.after(patient.since));
    let overdue = |patient: &Patient| {
        !patient.marks.is_withdrawn() && due(patient).is_some_and(|due| due < now)
    };
    let rows =
        register.waiting().filter(|patient| !args.overdue || overdue(patient)).map(|patient| {
            vec![
                patient.code.clone(),
                patient.number.to_string(),
                trial.feature_name(patient.feature),
                stamp(patient.since),
                patient.operator.clone(),
                due(patient).map_or_else(String::new, stamp),
                if overdue(patient) { "overdue".to_owned() } else { String::new() },
                patient.marks.words(),
            ]
        });
    let header = ["code", "patient", "kind", "enrolled", "enrolled_by", "due", "state", "marks"];
    args.list.write(&Table::new(&header, rows))
}

/// `equipoise list`
#[derive(Debug, clap::Args)]
pub struct EnrolmentArgs {
    #[command(flatten)]
    list: ListArgs,
    #[command(flatten)]
    consort: ConsortArgs,
    #[command(flatten)]
    log: LogArgs,
}

/// Lists every patient of the log with arm, times and notes. Never an outcome.
///
/// # Errors
/// The log or the trial file cannot be used.
pub fn list(args: &EnrolmentArgs) -> Result<(), CliError> {
    let (register, trial) = args.log.read()?;
    if let Some(key) = args.consort.key()? {
        code_break::not_another_key(&key, &trial, &args.log.entries(&trial)?)?;
    }
    if let Some(text) = args.consort.text(&register, &trial, args.list.csv)? {
        return args.list.output.write(&text);
    }
    args.list.write(&Table::enrolments(&register, &trial))
}

/// `equipoise show`
#[derive(Debug, clap::Args)]
pub struct ShowArgs {
    /// Patient code, or `#` and the patient's number
    patient: PatientName,
    /// Print one line of JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    log: LogArgs,
}

/// Prints arm, times and notes of a patient.
///
/// # Errors
/// The log does not know the patient.
pub fn show(args: &ShowArgs) -> Result<(), CliError> {
    let (register, trial) = args.log.read()?;
    let number = args.patient.number(&register)?;
    let patient = register.patient(number);
    let patient = patient.ok_or_else(|| {
        CliError::refused(format!("the log has no arm of patient number {number}"))
    })?;
    let kind = trial.feature_name(patient.feature);
    let (resolved, notes) = (register.resolved(number), register.notes(number));
    if args.json {
        let notes: Vec<_> = notes
            .iter()
            .map(|note| serde_json::json!({ "time": note.time, "operator": note.operator, "kind": note.kind, "text": note.text, "should_be": note.should_be }))
            .collect();
        let mut line = serde_json::json!({
            "code": patient.code, "patient": number, "feature": patient.feature, "kind": kind,
            "enrolled": stamp(patient.since), "operator": patient.operator,
            "state": resolved.map_or("waiting", |resolved| resolved.ending.name()),
            "resolved": resolved.map(|resolved| &resolved.time),
            "resolved_by": resolved.map(|resolved| &resolved.operator), "notes": notes,
            "marks": patient.marks.words(),
        });
        if trial.kits.is_some() {
            let kits = register.kits(number).iter().map(|given| {
                serde_json::json!({
                    "kit": given.kit, "label": trial.kit_label(given.kit),
                    "time": stamp(given.time), "operator": given.operator,
                    "reason": given.reason,
                })
            });
            line["kits"] = kits.collect();
        }
        add_given(&mut line, &trial, &patient.given);
        say(&format!("{line}\n"));
        return Ok(());
    }
    let mut text = format!(
        "patient {}, number {number}, {kind}: {}\nenrolled {} by {}\n",
        patient.code,
        trial.given(&patient.given),
        moment(patient.since),
        patient.operator
    );
    text += &resolved.map_or_else(
        || "waiting for the outcome\n".to_owned(),
        |resolved| format!("outcome {}\n", resolved.in_words()),
    );
    let marks = patient.marks.words();
    if !marks.is_empty() {
        text += &format!("{marks}\n");
    }
    for given in register.kits(number) {
        let reason = given.reason.as_ref();
        let reason = reason.map_or(String::new(), |reason| format!(", because: {reason}"));
        let label = trial.kit_label(given.kit);
        text += &format!("kit {label} {} by {}{reason}\n", moment(given.time), given.operator);
    }
    for note in notes {
        let right = note.should_be.as_ref();
        let right = right.map_or(String::new(), |right| format!(", should be {right}"));
        text += &format!(
            "note {} by {}, {}{right}: {}\n",
            told(&note.time),
            note.operator,
            note.kind.name(),
            note.text
        );
    }
    say(&text);
    Ok(())
}

/// `equipoise note`
#[derive(Debug, clap::Args)]
pub struct NoteArgs {
    /// Patient code, or `#` and the patient's number
    patient: PatientName,
    /// Kind of note
    #[arg(long, default_value = "other", value_parser = note_kind())]
    kind: NoteKind,
    /// Kind of patient that would have been right, by name or number; with --kind wrong-kind
    #[arg(long, value_name = "KIND")]
    should_be: Option<String>,
    /// The note. Do not write an outcome here: notes stay readable in the log
    #[arg(value_parser = note_text)]
    text: String,
    #[command(flatten)]
    log: LogArgs,
    #[command(flatten)]
    operator: OperatorArgs,
}

fn note_text(text: &str) -> Result<String, String> {
    check_note(text).map(|()| text.trim().to_owned())
}

/// Writes a note on a patient to the log.
///
/// # Errors
/// The log does not know the patient, or is in use.
pub fn note(args: &NoteArgs) -> Result<(), CliError> {
    let trial = args.log.trial.read()?;
    let path = args.log.path(&trial)?;
    if !path.exists() {
        return Err(CliError::usage(format!("there is no log {}", path.display())));
    }
    let staff = args.log.trial.staff(&trial)?;
    let roles = [Role::Enrol, Role::Outcome, Role::Coordinate];
    let (mut log, entries) = args.operator.sign(&path, staff, &roles)?;
    let register = Register::read(&entries);
    same_trial(&register, &trial, &path)?;
    let number = args.patient.number(&register)?;
    let Some(code) = register.code(number).map(str::to_owned) else {
        return Err(CliError::refused(format!(
            "the log has no patient number {number}; nothing was written"
        )));
    };
    let (text, kind) = (args.text.clone(), args.kind);
    let should_be = args.should_be.as_ref().map(|name| feature_named(&trial, name)).transpose()?;
    let should_be = right_kind(&trial, kind, should_be)?;
    let event = Event::Note { code: code.clone(), patient: number, kind, text, should_be };
    let entry = log.append(event)?;
    say(&format!(
        "noted for patient {code}, number {number}, at {}: it stays, and the device does not learn of it\n",
        told(&entry.time)
    ));
    Ok(())
}
