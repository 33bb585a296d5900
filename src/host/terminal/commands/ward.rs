//! `terminal` for people; `assign`, `outcome`, `lost` and `status` for scripts.
//!
//! Scripts go the same way as the screen, through the same log: a script that died in the middle of an `assign` is
//! simply run again with the same code and gets the same patient's arm.

use crate::prelude::*;
use std::process::ExitCode;

use super::{AtWork, OnDevice, finish, say};
use crate::host::terminal::bedside::{Bedside, failure};
use crate::host::terminal::failure::Failure;
use crate::host::terminal::screen;
use crate::wire::{NextLook, State};

/// `equipoise terminal`
#[derive(Debug, clap::Args)]
pub struct TerminalArgs {
    #[command(flatten)]
    at: AtWork,
}

/// The bedside screen on a device.
#[must_use]
pub fn terminal(args: &TerminalArgs) -> ExitCode {
    finish(args.at.open().and_then(screen::run::run), false)
}

/// `equipoise assign`
#[derive(Debug, clap::Args)]
pub struct AssignArgs {
    /// Patient code, as in the ward's list
    code: String,
    /// Kind of patient: a name of the trial file, or its place there from 0
    feature: String,
    /// One line of JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    at: AtWork,
}

/// Enrols a patient and prints the arm.
#[must_use]
pub fn assign(args: &AssignArgs) -> ExitCode {
    finish(try_assign(args), args.json)
}

fn try_assign(args: &AssignArgs) -> Result<(), Failure> {
    let mut bedside = args.at.open()?;
    let feature = bedside.trial().feature(&args.feature).ok_or_else(|| {
        let names = bedside.trial().features.join("\", \"");
        let last = bedside.trial().plan.features() - 1;
        Failure::Usage(format!("no kind of patient {:?}: allowed \"{names}\", or 0..={last}", args.feature))
    })?;
    let patient = bedside.enrol(&args.code, feature)?;
    let (name, arm) = (bedside.trial().arm_name(patient.arm), patient.arm.index());
    say(&if args.json {
        let (code, number) = (&patient.code, patient.number);
        let line = serde_json::json!({ "code": code, "patient": number, "feature": feature, "arm": arm, "arm_name": name });
        format!("{line}\n")
    } else {
        format!("patient {}, number {}: arm {arm}, {name}\n", patient.code, patient.number)
    });
    Ok(())
}

/// `equipoise outcome`
#[derive(Debug, clap::Args)]
pub struct OutcomeArgs {
    /// Patient code, or `#` and the patient's number
    patient: String,
    /// A label of the trial file or a number; `-` reads it from standard input, so that no process list shows it
    outcome: String,
    /// One line of JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    at: AtWork,
}

/// Hands an outcome over.
#[must_use]
pub fn outcome(args: &OutcomeArgs) -> ExitCode {
    finish(try_outcome(args), args.json)
}

fn try_outcome(args: &OutcomeArgs) -> Result<(), Failure> {
    let mut bedside = args.at.open()?;
    let mut text = args.outcome.clone();
    if text == "-" {
        text.clear();
        std::io::stdin()
            .read_line(&mut text)
            .map_err(|error| Failure::Usage(format!("standard input: {error}")))?;
    }
    // The message does not repeat the value: it may end up in a file.
    let y = bedside.trial().outcome(text.trim()).ok_or_else(|| {
        let labels = bedside.trial().labels.clone().unwrap_or_default().join("\", \"");
        let scale = bedside.trial().plan.scale();
        let labels = if labels.is_empty() { String::new() } else { format!("\"{labels}\", or ") };
        Failure::Usage(format!("this outcome is not allowed: {labels}0..={scale}"))
    })?;
    let number = number(&bedside, &args.patient)?;
    bedside.outcome(number, y)?;
    recorded(&bedside, number, args.json);
    Ok(())
}

/// `equipoise lost`
#[derive(Debug, clap::Args)]
pub struct LostArgs {
    /// Patient code, or `#` and the patient's number
    patient: String,
    /// One line of JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    at: AtWork,
}

/// Declares an outcome lost.
#[must_use]
pub fn lost(args: &LostArgs) -> ExitCode {
    finish(try_lost(args), args.json)
}

fn try_lost(args: &LostArgs) -> Result<(), Failure> {
    let mut bedside = args.at.open()?;
    let number = number(&bedside, &args.patient)?;
    bedside.lost(number)?;
    recorded(&bedside, number, args.json);
    Ok(())
}

fn number(bedside: &Bedside, patient: &str) -> Result<u32, Failure> {
    if let Some(digits) = patient.strip_prefix('#') {
        let number = digits.parse().ok().filter(|number| *number > 0);
        return number
            .ok_or_else(|| Failure::Usage(format!("{patient}: behind # must stand a number from 1")));
    }
    bedside.register().number(patient).ok_or_else(|| {
        Failure::Refused(format!("the log knows no patient {patient}; `#` and a number names one without it"))
    })
}

fn recorded(bedside: &Bedside, number: u32, json: bool) {
    let code = bedside.register().code(number);
    say(&if json {
        format!("{}\n", serde_json::json!({ "code": code, "patient": number, "recorded": true }))
    } else {
        format!(
            "recorded for patient {}number {number}\n",
            code.map_or(String::new(), |code| format!("{code}, "))
        )
    });
}

/// `equipoise status`
#[derive(Debug, clap::Args)]
pub struct StatusArgs {
    /// One line of JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    device: OnDevice,
}

/// Prints the public facts of the trial.
#[must_use]
pub fn status(args: &StatusArgs) -> ExitCode {
    finish(try_status(args), args.json)
}

fn try_status(args: &StatusArgs) -> Result<(), Failure> {
    let mut client = args.device.client();
    let hello = client.connect()?;
    if matches!(hello.state, State::Blank | State::Fault | State::Foreign) {
        let (port, state) = (client.port().unwrap_or_default(), hello.state.name());
        say(&if args.json {
            format!("{}\n", serde_json::json!({ "state": state, "version": hello.version }))
        } else {
            format!("{port}: {state}\n")
        });
        return Ok(());
    }
    let status = client.status().map_err(failure)?;
    let next = match status.next_look {
        NextLook::After(patient) => Some(patient),
        NextLook::AtClose | NextLook::None => None,
    };
    say(&if args.json {
        let line = serde_json::json!({
            "state": hello.state.name(), "version": hello.version, "design": status.design.name(),
            "patients": status.patients, "assigned": status.assigned, "unresolved": status.unresolved,
            "phase": status.phase.name(), "looks": status.looks, "next_look": next,
        });
        format!("{line}\n")
    } else {
        format!(
            "{}: design {}, patient {} of {}, {} waiting for an outcome, phase {}, {} looks, next look {}\n",
            client.port().unwrap_or_default(),
            status.design,
            status.assigned,
            status.patients,
            status.unresolved,
            status.phase.name(),
            status.looks,
            next.map_or_else(|| status.next_look.to_string(), |patient| format!("after patient {patient}")),
        )
    });
    Ok(())
}
