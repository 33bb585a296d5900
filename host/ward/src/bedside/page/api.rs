//! Orders from the page, and their checks.

use serde::Deserialize;
use serde_json::{Value, json};

use super::hub::Hub;
use crate::bedside::orders::Order;
use crate::records::alike::{alike, folded};
use crate::records::log::NoteKind;
use crate::records::trial_file::TrialFile;

/// Most bytes of an order. The longest note takes 2,400, with every character escaped.
pub const MOST_BYTES: usize = 4096;
/// Hex digits of a form's name.
const NAME_DIGITS: usize = 32;

/// An order as the page sends it. It has no `Debug`: it may hold an outcome.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Posted {
    /// Random name of the form, the same in every repeat.
    form: String,
    ask: Ask,
}

/// An order about a patient code.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Code {
    code: String,
}

/// An order about a patient's number.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Number {
    patient: u32,
}

#[derive(Deserialize)]
#[serde(tag = "order", rename_all = "kebab-case", deny_unknown_fields)]
enum Ask {
    /// Whether a code could be enrolled.
    Check(Code),
    /// The form in which part of a code is searched for: the page compares, and folds nothing.
    Fold(Code),
    /// With one level a factor, by place.
    Enrol {
        code: String,
        levels: Vec<usize>,
    },
    Outcome {
        patient: u32,
        outcome: u16,
    },
    Lost(Number),
    Replace(Number),
    Note {
        patient: u32,
        kind: NoteKind,
        text: String,
    },
    Find(Code),
    Operator {
        name: String,
    },
    Report {},
    List {},
    Drop(Code),
}

/// Carries out an order and gives its answer; `None` if the body is not an order.
pub async fn answer(hub: &Hub, body: &[u8]) -> Option<String> {
    let Posted { form, ask } = serde_json::from_slice(body).ok()?;
    let is_name = form.len() == NAME_DIGITS && form.bytes().all(|b| b.is_ascii_hexdigit());
    if !is_name {
        return None;
    }
    let order = match ask {
        Ask::Check(Code { code }) => return Some(check(hub, &code).to_string()),
        Ask::Fold(Code { code }) => {
            return Some(json!({ "done": "folded", "folded": folded(&code) }).to_string());
        }
        Ask::Enrol { code, levels } => {
            let feature = hub.with_state(|state| feature(state.trial(), &levels))?;
            Order::Enrol { code, feature }
        }
        Ask::Outcome { patient, outcome } => Order::Outcome { number: patient, y: outcome },
        Ask::Lost(Number { patient }) => Order::Lost { number: patient },
        Ask::Replace(Number { patient }) => Order::Replace { number: patient },
        Ask::Note { patient, kind, text } => Order::Note { number: patient, kind, text },
        Ask::Find(Code { code }) => Order::Find { code },
        Ask::Operator { name } => Order::Operator { name },
        Ask::Report {} => Order::Report,
        Ask::List {} => Order::List,
        Ask::Drop(Code { code }) => Order::Drop { code },
    };
    if let Err(why) = hub.give(&form, order) {
        return Some(json!({ "failed": why }).to_string());
    }
    Some(hub.answer(&form).await)
}

/// The kind of patient with these levels, if every factor has one of its own.
fn feature(trial: &TrialFile, levels: &[usize]) -> Option<u8> {
    let known = |(factor, level): (_, &usize)| {
        trial.factors.get(factor).is_some_and(|factor| *level < factor.levels.len())
    };
    levels.iter().enumerate().all(known).then(|| trial.factors.feature(levels)).flatten()
}

/// Whether a code is one of the trial and not on the waiting list; the log is asked when the
/// patient is enrolled.
fn check(hub: &Hub, code: &str) -> Value {
    hub.with_state(|state| {
        if let Some(known) = state.waiting().iter().find(|one| alike(&one.code, code)) {
            let why =
                format!("patient {} is already enrolled, as number {}", known.code, known.number);
            return json!({ "failed": why });
        }
        match state.trial().code.check(code) {
            Err(why) => json!({ "failed": why }),
            Ok(code) => json!({ "done": "checked", "code": code }),
        }
    })
}
