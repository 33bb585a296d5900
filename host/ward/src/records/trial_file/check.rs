//! The text of a trial file, checked.

use serde::Deserialize;

use super::{TrialFile, VERSION};
use crate::records::code::{CheckDigit, CodeRule};
use crate::records::eligibility::{Eligibility, RawQuestion};
use crate::records::expect::Expect;
use crate::records::factors::{Factors, names};
use crate::records::kit_label::{KitLabel, RawLabel};
use crate::records::signing::Signing;
use crate::records::staff::Role;
use crate::records::text;
use equipoise::plan::{Better, Key, Plan};
use equipoise::terms::MAX_KITS;
use equipoise_study::boundaries::adjusted::{Boundary, RawBoundary};

/// Most labels a graded outcome may have before it must be entered as a number.
const MAX_LABELS: usize = 12;
const MAX_SENTENCE: usize = 160;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    #[serde(rename = "version")]
    _version: i64,
    title: String,
    features: Option<Vec<String>>,
    factors: Option<toml::Table>,
    arms: Vec<String>,
    code: Option<String>,
    #[serde(rename = "code-check")]
    code_check: Option<CheckDigit>,
    #[serde(rename = "code-example")]
    code_example: Option<String>,
    #[serde(rename = "code-unicode", default)]
    code_unicode: bool,
    #[serde(default)]
    blinded: bool,
    #[serde(default)]
    sign: Vec<Role>,
    #[serde(rename = "lock-after")]
    lock_after: Option<f64>,
    #[serde(default)]
    eligibility: Vec<RawQuestion>,
    kits: Option<RawLabel>,
    plan: toml::Table,
    boundary: Option<RawBoundary>,
    expect: Option<Expect>,
    outcome: RawOutcome,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawOutcome {
    question: String,
    labels: Option<Vec<String>>,
    better: Option<String>,
    due: Option<String>,
}

/// The version alone, which is read before anything else.
#[derive(Deserialize)]
struct RawVersion {
    version: Option<toml::Value>,
}

fn version(text: &str) -> Result<(), String> {
    match parsed::<RawVersion>(text)?.version {
        Some(toml::Value::Integer(VERSION)) => Ok(()),
        Some(other) => Err(format!("version = {other}, allowed {VERSION}")),
        None => Err(format!(
            "there is no version: it is a trial file of version 1, as equipoise 0.1 and 0.2 read it, allowed version = \
             {VERSION}. Finish a running trial with equipoise 0.2; a new trial takes a file of version {VERSION}, see \
             CHANGELOG.md"
        )),
    }
}

fn parsed<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, String> {
    toml::from_str(text).map_err(|error| error.to_string().trim_end().to_owned())
}

/// The trial of this text; what is not allowed, if it is none.
pub(super) fn check(text: &str) -> Result<TrialFile, String> {
    version(text)?;
    let raw: Raw = parsed(text)?;
    text::check("title", &raw.title, MAX_SENTENCE)?;
    text::check("outcome.question", &raw.outcome.question, MAX_SENTENCE)?;
    let factors = factors(raw.features, raw.factors)?;
    let features = factors.kinds();
    names("arms", &raw.arms)?;
    let better = better(&raw.outcome)?;
    let plan = plan(&raw.plan, features.len(), better)?;
    if features.len() != usize::from(plan.features()) {
        let (named, planned) = (features.len(), plan.features());
        return Err(format!(
            "plan.features = {planned}, but features has {named} names: they must agree"
        ));
    }
    let arms = <[String; 2]>::try_from(raw.arms)
        .map_err(|arms| format!("arms has {} names, allowed exactly 2", arms.len()))?;
    let outcomes = usize::from(plan.scale()) + 1;
    if let Some(labels) = &raw.outcome.labels {
        names("outcome.labels", labels)?;
        if outcomes > MAX_LABELS {
            return Err(format!(
                "outcome.labels is for a scale below {MAX_LABELS}, plan.scale = {}: leave the labels out",
                plan.scale()
            ));
        }
        if labels.len() != outcomes {
            return Err(format!(
                "outcome.labels has {} names, allowed exactly {outcomes} (0..=plan.scale)",
                labels.len()
            ));
        }
    }
    Ok(TrialFile {
        title: raw.title,
        plan,
        factors,
        features,
        arms,
        question: raw.outcome.question,
        labels: raw.outcome.labels,
        code: CodeRule::new(raw.code, raw.code_check)?
            .with_unicode(raw.code_unicode)
            .with_example(raw.code_example)?,
        due: raw.outcome.due.map(|due| due.parse()).transpose()?,
        boundary: raw.boundary.map(Boundary::try_from).transpose()?,
        expect: raw
            .expect
            .map(Expect::check)
            .transpose()
            .map_err(|why| format!("[expect] {why}"))?,
        kits: kits(raw.blinded, raw.kits, &plan)?,
        eligibility: Eligibility::new(raw.eligibility)?,
        signing: Signing::new(raw.sign, raw.lock_after)?,
    })
}

/// The labels of a blinded trial's kits.
fn kits(blinded: bool, raw: Option<RawLabel>, plan: &Plan) -> Result<Option<KitLabel>, String> {
    match (blinded, plan.kits()) {
        (true, 0) => Err(format!(
            "blinded = true, but plan.kits is 0 or missing, allowed {}..={MAX_KITS}",
            plan.patients()
        )),
        (false, 1..) => {
            Err(format!("plan.kits = {}, but blinded is not true: they must agree", plan.kits()))
        }
        (false, 0) if raw.is_some() => {
            Err("[kits] is there, but blinded is not true: they must agree".to_owned())
        }
        (false, 0) => Ok(None),
        (true, kits) => KitLabel::new(raw.unwrap_or_default(), kits).map(Some),
    }
}

/// The better outcome: a word of the plan, or the first or last label.
fn better(outcome: &RawOutcome) -> Result<Better, String> {
    let labels = outcome.labels.as_deref().unwrap_or_default();
    let [first, last] = match labels {
        [first, .., last] => [first, last].map(String::as_str),
        _ => [Better::Low.name(), Better::High.name()],
    };
    let Some(text) = outcome.better.as_deref() else {
        return Err(format!(
            "there is no outcome.better: add to [outcome] the line better = \"{last}\" or the line better = \
             \"{first}\", whichever outcome is the better one"
        ));
    };
    let by_label = match text {
        _ if text == first => Some(Better::Low),
        _ if text == last => Some(Better::High),
        _ => None,
    };
    let by_word = Better::ALL.into_iter().find(|better| better.name() == text);
    match (by_label, by_word) {
        (Some(label), Some(word)) if label != word => Err(format!(
            "outcome.better = \"{text}\" could mean the label or a {text} number: choose other labels"
        )),
        (Some(better), _) | (None, Some(better)) => Ok(better),
        (None, None) if labels.is_empty() => {
            Err(format!("outcome.better = \"{text}\", allowed \"high\" \"low\""))
        }
        (None, None) => Err(format!(
            "outcome.better = \"{text}\", allowed \"high\" \"low\" \"{last}\" \"{first}\""
        )),
    }
}

fn plan(table: &toml::Table, features: usize, better: Better) -> Result<Plan, String> {
    let mut pairs = Vec::new();
    for (key, value) in table {
        let text = match value {
            toml::Value::String(text) => text.clone(),
            toml::Value::Integer(number) => number.to_string(),
            toml::Value::Float(number) => number.to_string(),
            other => return Err(format!("plan.{key} = {other}, allowed a number or a text")),
        };
        pairs.push((key.as_str(), text));
    }
    let count = features.to_string();
    if !table.contains_key(Key::Features.name()) {
        pairs.push((Key::Features.name(), count));
    }
    pairs.push((Key::Better.name(), better.name().to_owned()));
    Plan::from_pairs(pairs.iter().map(|(key, value)| (*key, value.as_str())))
        .map_err(|error| format!("[plan] {error}"))
}

fn factors(features: Option<Vec<String>>, factors: Option<toml::Table>) -> Result<Factors, String> {
    match (features, factors) {
        (Some(features), None) => names("features", &features).map(|()| Factors::flat(features)),
        (None, Some(table)) => {
            let levels = |(name, value): (String, toml::Value)| {
                let texts = value
                    .as_array()
                    .map(|list| list.iter().map(|level| level.as_str().map(str::to_owned)));
                match texts.and_then(|texts| texts.collect::<Option<Vec<String>>>()) {
                    Some(levels) => Ok((name, levels)),
                    None => Err(format!("factors.{name} = {value}, allowed a list of texts")),
                }
            };
            Factors::new(table.into_iter().map(levels).collect::<Result<_, _>>()?)
        }
        (Some(_), Some(_)) => {
            Err("features and [factors] are both there, allowed one of them".to_owned())
        }
        (None, None) => Err("features and [factors] are missing, allowed one of them".to_owned()),
    }
}
