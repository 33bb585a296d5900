//! Orders from the page, and their checks.

use serde::Deserialize;
use serde_json::json;
use zeroize::Zeroizing;

use super::hub::Hub;
use crate::bedside::orders::Order;
use crate::records::alike::folded;
use crate::records::eligibility::Answer;
use crate::records::log::NoteKind;
use crate::records::pin::Pin;
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
    /// Random name of the tab, where there is a staff file.
    #[serde(default)]
    seat: String,
    /// The PIN of the person at the tab, for an act that is signed.
    pin: Option<String>,
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
    /// Whether a code could be enrolled; with one level a factor, if they were chosen.
    Check {
        code: String,
        #[serde(default)]
        levels: Vec<usize>,
    },
    /// The form in which part of a code is searched for: the page compares, and folds nothing.
    Fold(Code),
    /// With one level a factor, by place.
    Enrol {
        code: String,
        levels: Vec<usize>,
        /// Answers about eligibility and consent.
        #[serde(default)]
        answers: Vec<Answer>,
    },
    NotEligible {
        answers: Vec<Answer>,
    },
    /// With the PIN of the post.
    SignIn {
        id: String,
    },
    SignOut {},
    Here {},
    /// Whether the PIN of the post is right.
    Pin {},
    Outcome {
        patient: u32,
        outcome: u16,
        /// In spite of a doubt that was shown.
        #[serde(default)]
        anyway: bool,
    },
    Lost(Number),
    Replace {
        patient: u32,
        reason: String,
    },
    Unblind {
        patient: u32,
        reason: String,
    },
    Note {
        patient: u32,
        kind: NoteKind,
        text: String,
        /// Levels of the kind of patient that would have been right.
        #[serde(default)]
        should_be: Vec<usize>,
    },
    Elsewhere {
        gap: String,
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
    let Posted { form, seat, pin, ask } = serde_json::from_slice(body).ok()?;
    let is_name =
        |name: &str| name.len() == NAME_DIGITS && name.bytes().all(|b| b.is_ascii_hexdigit());
    if !is_name(&form) || !(seat.is_empty() || is_name(&seat)) {
        return None;
    }
    let pin = pin.map(Zeroizing::new).map(|pin| Pin::typed(&pin));
    if matches!(ask, Ask::Fold(_)) && !hub.with_state(|state| state.is_open(&seat)) {
        return Some(json!({ "failed": "sign in first" }).to_string());
    }
    let order = match ask {
        Ask::Check { code, levels } => {
            let feature = hub.with_state(|state| feature(state.trial(), &levels));
            Order::Check { code, feature }
        }
        Ask::Fold(Code { code }) => {
            return Some(json!({ "done": "folded", "folded": folded(&code) }).to_string());
        }
        Ask::Enrol { code, levels, answers } => {
            let feature = hub.with_state(|state| feature(state.trial(), &levels))?;
            Order::Enrol { code, feature, answers }
        }
        Ask::NotEligible { answers } => Order::NotEligible { answers },
        Ask::SignIn { id } => Order::SignIn { id, pin: pin.clone()? },
        Ask::SignOut {} => Order::SignOut,
        Ask::Here {} => Order::Here,
        Ask::Pin {} => Order::CheckPin,
        Ask::Outcome { patient, outcome, anyway } => {
            Order::Outcome { number: patient, y: outcome, anyway }
        }
        Ask::Lost(Number { patient }) => Order::Lost { number: patient },
        Ask::Replace { patient, reason } => Order::Replace { number: patient, reason },
        Ask::Unblind { patient, reason } => Order::Unblind { number: patient, reason },
        Ask::Elsewhere { gap } => Order::Elsewhere { gap },
        Ask::Note { patient, kind, text, should_be } => {
            let right = hub.with_state(|state| feature(state.trial(), &should_be));
            let should_be = if should_be.is_empty() { None } else { Some(right?) };
            Order::Note { number: patient, kind, text, should_be }
        }
        Ask::Find(Code { code }) => Order::Find { code },
        Ask::Operator { name } => Order::Operator { name },
        Ask::Report {} => Order::Report,
        Ask::List {} => Order::List,
        Ask::Drop(Code { code }) => Order::Drop { code },
    };
    if let Err(why) = hub.give(&form, &seat, pin, order) {
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
