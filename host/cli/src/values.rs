//! Value parsers that several commands share.

use std::io::Read;
use std::ops::RangeInclusive;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use equipoise::plan::{NotARatio, Ratio};
use equipoise_study::boundaries::Kind;
use equipoise_study::boundaries::adjusted::Simultaneous;
use equipoise_study::pareto::Over;
use equipoise_study::sample::Law;
use equipoise_study::simulate::{Chooser, Instance, SimulateError};
use equipoise_ward::demo;
use equipoise_ward::records::log::NoteKind;
use equipoise_ward::records::report::Format;

/// A number from 0 to 1.
pub fn share(text: &str) -> Result<f64, String> {
    number(text, 0.0..=1.0).ok_or_else(|| "allowed 0..=1".to_owned())
}

fn number(text: &str, allowed: RangeInclusive<f64>) -> Option<f64> {
    text.trim().parse().ok().filter(|value| allowed.contains(value))
}

/// A planned effect.
pub fn planned_effect(text: &str) -> Result<f64, String> {
    let good = number(text, -1.0..=1.0).filter(|effect| *effect != 0.0);
    good.ok_or_else(|| "allowed -1..=1, not 0".to_owned())
}

/// An exact rational; the plan checks its range.
pub fn ratio(text: &str) -> Result<Ratio, NotARatio> {
    text.parse()
}

/// Numbers by commas, one for all features or one each.
#[derive(Clone, Debug)]
pub struct Numbers(Vec<f64>);

impl Numbers {
    /// Reads numbers from 0 to 1.
    pub fn shares(text: &str) -> Result<Self, String> {
        text.split(',').map(share).collect::<Result<_, _>>().map(Self)
    }

    /// Reads numbers from -1 to 1.
    pub fn effects(text: &str) -> Result<Self, String> {
        let effect = |text| number(text, -1.0..=1.0).ok_or_else(|| "allowed -1..=1".to_owned());
        text.split(',').map(effect).collect::<Result<_, _>>().map(Self)
    }

    /// One a feature: a single number is that of all features.
    pub fn of(&self, features: u8) -> Vec<f64> {
        match self.0[..] {
            [one] => vec![one; usize::from(features)],
            _ => self.0.clone(),
        }
    }
}

/// Designs and comparators, by commas; none if the text is empty.
#[derive(Clone, Debug)]
pub struct Choosers(pub Vec<Chooser>);

impl Choosers {
    /// Reads the list.
    pub fn parse(text: &str) -> Result<Self, SimulateError> {
        let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
        names.map(Chooser::parse).collect::<Result<_, _>>().map(Self)
    }
}

/// An instance from a file.
pub fn instance(path: &str) -> Result<Instance, SimulateError> {
    Instance::parse(&read(path)?)
}

/// The text of a file; `-` is standard input.
pub fn read(path: &str) -> Result<String, SimulateError> {
    let mut text = String::new();
    let read = if path == "-" {
        std::io::stdin().read_to_string(&mut text).map(|_| text)
    } else {
        std::fs::read_to_string(path)
    };
    read.map_err(|error| SimulateError::File(path.into(), error.to_string()))
}

/// One of these words, each with what it means for the help.
///
/// The words stand here and not at the types, so that only the command line knows its parser.
fn words<T: Copy + Send + Sync + 'static>(
    words: &'static [(&'static str, T, &'static str)],
) -> impl TypedValueParser<Value = T> {
    let shown = words.iter().map(|(word, _, help)| PossibleValue::new(*word).help(*help));
    PossibleValuesParser::new(shown).try_map(move |given| {
        let known = words.iter().find(|(word, ..)| *word == given);
        known.map(|(_, value, _)| *value).ok_or(UNKNOWN)
    })
}

/// One of these values, by its name.
pub fn named<T: Copy + Send + Sync + 'static, const N: usize>(
    all: [T; N],
    name: fn(T) -> &'static str,
) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(all.map(name))
        .try_map(move |given| all.into_iter().find(|value| name(*value) == given).ok_or(UNKNOWN))
}

/// Said of a word that the parser let through and nobody knows.
const UNKNOWN: &str = "not one of the possible values";

/// The kinds of boundary.
pub fn boundary() -> impl TypedValueParser<Value = Kind> {
    named(Kind::ALL, Kind::name)
}

/// Ways to make intervals valid in all features together.
pub fn simultaneous() -> impl TypedValueParser<Value = Simultaneous> {
    named([Simultaneous::Bonferroni, Simultaneous::Holm], Simultaneous::name)
}

/// Parser of the kind of a note.
pub fn note_kind() -> impl TypedValueParser<Value = NoteKind> {
    words(&[
        ("withdrawn", NoteKind::Withdrawn, "The patient left the trial"),
        ("ineligible", NoteKind::Ineligible, "Not eligible, or randomised in error"),
        ("wrong-kind", NoteKind::WrongKind, "Enrolled as the wrong kind of patient"),
        ("deviation", NoteKind::Deviation, "The patient did not get what the arm says"),
        ("correction", NoteKind::Correction, "The marks of earlier notes are wrong"),
        ("other", NoteKind::Other, "Anything else"),
    ])
}

/// Which board plays the device in a demonstration.
pub fn demo_board() -> impl TypedValueParser<Value = demo::Kind> {
    words(&[
        ("virtual", demo::Kind::Virtual, "Inside this program"),
        ("qemu", demo::Kind::Qemu, "The firmware for the micro:bit v1, emulated"),
    ])
}

/// How a report is written.
pub fn format() -> impl TypedValueParser<Value = Format> {
    words(&[
        ("table", Format::Table, "For a person at a terminal"),
        ("csv", Format::Csv, "For a spreadsheet"),
        ("json", Format::Json, "For a program"),
        ("svg", Format::Svg, "A picture"),
    ])
}

/// The parameter along the curves of a picture.
pub fn over() -> impl TypedValueParser<Value = Over> {
    words(&[
        ("alpha", Over::Alpha, "The trade between regret and error"),
        ("epsilon", Over::Epsilon, "What privacy costs"),
        ("fmin", Over::Fmin, "What a rare feature costs"),
    ])
}

/// A noise law.
pub fn law() -> impl TypedValueParser<Value = Law> {
    words(&[
        (
            "discrete-laplace",
            Law::DiscreteLaplace,
            "k with probability (1-q)/(1+q) q^|k|, q = e^-rate",
        ),
        ("lap-plus", Law::LapPlus, "The same around a centre, conditioned on being at least 0"),
    ])
}
