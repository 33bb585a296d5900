//! Which features the patients have.
//!
//! | name | patients |
//! |---|---|
//! | `uniform` | all features equally often |
//! | `zipf` or `zipf:S` | feature j (from 1) with weight 1/j^S; S = 1 if not given |
//! | `seasonal` or `seasonal:P` | the week and the season change the shares; P patients a day, 20 if not given |
//! | `shares:W,W,..` | features by these weights, one each |
//! | a file | one feature number (from 0) a word, in order; the file starts again when it ends |
//!
//! Seasonal: on five weekdays even features (0, 2, ..) weigh 3 and odd ones 1, on two weekend days
//! the other way round; on top of it a wave tilts the weights linearly from the last features to
//! the first and back, between factors 1/2 and 3/2, once in each half of the trial. So the shares
//! are never the same for long, and the two halves see about the same of each feature, which is
//! what the paper assumes.
//!
//! A share is a multiple of 2^-32 up to a last unit: one 32-bit draw decides through an alias
//! table.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::SimulateError;
use super::instance::ONE;

/// How features are drawn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Arrivals {
    /// All features equally often.
    Uniform,
    /// Feature j (from 1) with weight 1/j^s.
    Zipf(f64),
    /// Features by these weights.
    Shares(Vec<f64>),
    /// Week and season, with this many patients a day.
    Seasonal(u32),
    /// These features in turn.
    Trace(Trace),
}

/// The features of a file, in order, by their number and a checksum. From the file of a shard come
/// these two alone: they tell traces apart, and cannot be simulated.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    features: Vec<u8>,
    length: usize,
    checksum: u32,
}

impl From<Vec<u8>> for Trace {
    fn from(features: Vec<u8>) -> Self {
        let checksum = crc::Crc::<u32>::new(&crc::CRC_32_ISO_HDLC).checksum(&features);
        Self { length: features.len(), features, checksum }
    }
}

impl Trace {
    /// Reads `trace:LENGTH:CHECKSUM`.
    fn without_features(text: &str) -> Option<Self> {
        let (length, checksum) = text.strip_prefix("trace:")?.split_once(':')?;
        let checksum = u32::from_str_radix(checksum, 16).ok()?;
        Some(Self { features: Vec::new(), length: length.parse().ok()?, checksum })
    }
}

const DAY: u32 = 20;
const ALLOWED: &str = "uniform, zipf[:0..=10], seasonal[:1..=1000000], shares:W,W,.. (a weight a feature, not all 0) \
                       or a readable file of feature numbers";

impl Arrivals {
    /// Reads a name of the table above; `None` if it is none, and so may be a file.
    ///
    /// # Errors
    /// A number behind the name that is not allowed.
    pub fn parse(text: &str) -> Result<Option<Self>, SimulateError> {
        let (name, number) =
            text.split_once(':').map_or((text, None), |(name, number)| (name, Some(number)));
        let bad = || SimulateError::value("arrivals", text, ALLOWED);
        Ok(Some(match (name, number) {
            ("uniform", None) => Self::Uniform,
            ("zipf", None) => Self::Zipf(1.0),
            ("zipf", Some(s)) => Self::Zipf(s.parse().map_err(|_| bad())?),
            ("shares", Some(weights)) => Self::Shares(
                weights.split(',').map(str::parse).collect::<Result<_, _>>().map_err(|_| bad())?,
            ),
            ("seasonal", None) => Self::Seasonal(DAY),
            ("seasonal", Some(day)) => Self::Seasonal(day.parse().map_err(|_| bad())?),
            _ => return Ok(None),
        }))
    }

    /// Reads a name of the table above, or the file of that name.
    ///
    /// # Errors
    /// A number that is not allowed, or a text that is neither a name nor a file that can be read.
    pub fn read(text: &str) -> Result<Self, SimulateError> {
        if let Some(arrivals) = Self::parse(text)? {
            return Ok(arrivals);
        }
        let file = std::fs::read_to_string(text);
        Self::trace(&file.map_err(|_| SimulateError::value("arrivals", text, ALLOWED))?)
    }

    /// Reads the words of a file.
    ///
    /// # Errors
    /// The first word that is not a feature number.
    pub fn trace(text: &str) -> Result<Self, SimulateError> {
        let feature = |word: &str| {
            word.parse::<u8>()
                .map_err(|_| SimulateError::value("arrivals feature", word, "0..features"))
        };
        let words = text.split([',', ' ', '\t', '\r', '\n']).filter(|word| !word.is_empty());
        let features: Vec<u8> = words.map(feature).collect::<Result<_, _>>()?;
        Ok(Self::Trace(features.into()))
    }

    pub(super) fn check(&self, features: u8) -> Result<(), SimulateError> {
        let good = match self {
            Self::Uniform => true,
            Self::Zipf(s) => (0.0..=10.0).contains(s),
            Self::Seasonal(day) => (1..=1_000_000).contains(day),
            Self::Shares(weights) => {
                weights.len() == usize::from(features)
                    && weights.iter().all(|w| (0.0..=1e9).contains(w))
                    && weights.iter().sum::<f64>() > 0.0
            }
            Self::Trace(trace) => {
                if let Some(j) = trace.features.iter().find(|j| **j >= features) {
                    return Err(SimulateError::value("arrivals feature", j, "0..features"));
                }
                !trace.features.is_empty()
            }
        };
        if good { Ok(()) } else { Err(SimulateError::value("arrivals", self, ALLOWED)) }
    }
}

impl fmt::Display for Arrivals {
    /// The name as given; a trace by its length and checksum.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uniform => f.write_str("uniform"),
            Self::Zipf(s) => write!(f, "zipf:{s}"),
            Self::Seasonal(day) => write!(f, "seasonal:{day}"),
            Self::Shares(weights) => {
                let weights: Vec<String> = weights.iter().map(f64::to_string).collect();
                write!(f, "shares:{}", weights.join(","))
            }
            Self::Trace(trace) => write!(f, "trace:{}:{:08x}", trace.length, trace.checksum),
        }
    }
}

impl From<Arrivals> for String {
    fn from(arrivals: Arrivals) -> Self {
        arrivals.to_string()
    }
}

impl TryFrom<String> for Arrivals {
    type Error = SimulateError;

    fn try_from(text: String) -> Result<Self, SimulateError> {
        let known = match Self::parse(&text)? {
            None => Trace::without_features(&text).map(Self::Trace),
            named => named,
        };
        known.ok_or_else(|| SimulateError::value("arrivals", text, ALLOWED))
    }
}

/// Draws an index by given weights from one 32-bit word (Walker's alias method).
#[derive(Clone, Debug)]
pub(super) struct Alias {
    /// Per column: keep it if the rest of the draw is below, else take the other index.
    columns: Vec<(u64, u8)>,
}

impl Alias {
    fn new(weights: &[f64]) -> Self {
        let total: f64 = weights.iter().sum();
        let mut mass: Vec<f64> = weights.iter().map(|w| w * weights.len() as f64 / total).collect();
        let mut columns: Vec<(u64, u8)> =
            (0..weights.len()).map(|j| (ONE as u64, j as u8)).collect();
        let (mut small, mut large): (Vec<usize>, Vec<usize>) =
            (0..mass.len()).partition(|j| mass.get(*j).is_some_and(|m| *m < 1.0));
        while let (Some(low), Some(high)) = (small.pop(), large.last().copied()) {
            let Some(poor) = mass.get(low).copied() else { break };
            let Some(rich) = mass.get_mut(high) else { break };
            *rich -= 1.0 - poor;
            if *rich < 1.0 {
                large.pop();
                small.push(high);
            }
            if let Some(column) = columns.get_mut(low) {
                *column = ((poor * ONE).round() as u64, high as u8);
            }
        }
        Self { columns }
    }

    #[inline]
    fn draw(&self, word: u32) -> u8 {
        let product = u64::from(word) * self.columns.len() as u64;
        let column = (product >> 32) as usize;
        match self.columns.get(column) {
            Some((keep, other)) if product & 0xFFFF_FFFF >= *keep => *other,
            _ => column as u8,
        }
    }
}

/// Steps in which the season's wave is followed, in each half.
const STEPS: usize = 16;
/// Days of a week, and which of them are the weekend.
const WEEK: u32 = 7;
const WEEKDAYS: u32 = 5;

/// Arrivals prepared for drawing.
#[derive(Clone, Debug)]
pub(super) enum Features {
    Even(u64),
    Shares(Alias),
    Seasonal { day: u32, half: u32, tables: Vec<[Alias; 2]> },
    Trace(Vec<u8>),
}

impl Features {
    pub fn new(arrivals: &Arrivals, features: u8, patients: u32) -> Self {
        match arrivals {
            Arrivals::Uniform => Self::Even(u64::from(features)),
            Arrivals::Zipf(s) => {
                let weights: Vec<f64> =
                    (1..=features).map(|j| libm::pow(f64::from(j), -s)).collect();
                Self::Shares(Alias::new(&weights))
            }
            Arrivals::Shares(weights) => Self::Shares(Alias::new(weights)),
            Arrivals::Seasonal(day) => {
                let table = |step, parity| {
                    // From -1 to 1 over the features, from 1 to -1 and back over the half.
                    let tilt = |j: u8| 2.0 * (f64::from(j) + 0.5) / f64::from(features) - 1.0;
                    let wave = libm::cos(std::f64::consts::TAU * step as f64 / STEPS as f64);
                    let share = |j: u8| if j % 2 == parity { 3.0 } else { 1.0 };
                    let weight = |j| share(j) * (1.0 + 0.5 * tilt(j) * wave);
                    Alias::new(&(0..features).map(weight).collect::<Vec<_>>())
                };
                let tables = (0..STEPS).map(|step| [table(step, 0), table(step, 1)]).collect();
                Self::Seasonal { day: *day, half: patients.div_ceil(2), tables }
            }
            Arrivals::Trace(trace) => Self::Trace(trace.features.clone()),
        }
    }

    /// One of `features` equally frequent features.
    pub fn even(features: u64, word: u32) -> u8 {
        ((u64::from(word) * features) >> 32) as u8
    }

    /// The feature of patient number `patient` (from 1).
    // With `Law::draw` and `Watch::dropped`: 10 % fewer instructions of `simulate --delay`.
    #[inline(always)]
    pub fn draw(&self, patient: u32, word: u32) -> u8 {
        let before = patient.wrapping_sub(1);
        match self {
            Self::Even(features) => Self::even(*features, word),
            Self::Shares(alias) => alias.draw(word),
            Self::Seasonal { day, half, tables } => {
                let step = u64::from(before % half) * STEPS as u64 / u64::from(*half);
                let weekend = before / day % WEEK >= WEEKDAYS;
                tables.get(step as usize).map_or(0, |[workday, rest]| {
                    if weekend { rest.draw(word) } else { workday.draw(word) }
                })
            }
            Self::Trace(trace) => {
                trace.get(before as usize % trace.len().max(1)).copied().unwrap_or(0)
            }
        }
    }
}
