//! Value parsers that several commands share.

use crate::prelude::*;
use std::io::Read;
use std::ops::RangeInclusive;

use clap::builder::{PossibleValuesParser, TypedValueParser};

use crate::host::boundaries::Kind;
use crate::host::simulate::{Arrivals, Chooser, Instance, SimulateError};
use crate::plan::{NotARatio, Ratio};

/// A number from 0 to 1.
pub fn share(text: &str) -> Result<f64, String> {
    number(text, 0.0..=1.0).ok_or_else(|| "allowed 0..=1".to_owned())
}

/// Any number but infinity.
pub fn finite(text: &str) -> Result<f64, String> {
    number(text, f64::MIN..=f64::MAX).ok_or_else(|| "allowed a number".to_owned())
}

fn number(text: &str, allowed: RangeInclusive<f64>) -> Option<f64> {
    text.trim().parse().ok().filter(|value| allowed.contains(value))
}

/// An exact rational; the plan checks its range.
pub fn ratio(text: &str) -> Result<Ratio, NotARatio> {
    text.parse()
}

/// Numbers from 0 to 1, by commas.
#[derive(Clone, Debug)]
pub struct Rates(Vec<f64>);

impl Rates {
    /// Reads the list.
    pub fn parse(text: &str) -> Result<Self, String> {
        text.split(',').map(share).collect::<Result<_, _>>().map(Self)
    }

    /// One a feature: a single rate is that of all features.
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

/// Arrivals by their name, or from a file of feature numbers.
pub fn arrivals(text: &str) -> Result<Arrivals, SimulateError> {
    match Arrivals::parse(text)? {
        Some(arrivals) => Ok(arrivals),
        None => match std::fs::read_to_string(text) {
            Ok(trace) => Arrivals::trace(&trace),
            Err(_) => Err(Arrivals::unknown(text)),
        },
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

/// The kinds of boundary.
pub fn boundary() -> impl TypedValueParser<Value = Kind> {
    PossibleValuesParser::new(Kind::ALL.map(Kind::name))
        .map(|name| Kind::parse(&name).unwrap_or(Kind::OBrienFleming))
}
