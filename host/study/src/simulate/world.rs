//! The simulated world, described once.
//!
//! A [`World`] is everything patients do: the mean outcomes of their features, how they arrive, how
//! late they answer, how many get lost, how rates drift. It is one serde type: the file of a shard
//! holds it whole, so parts of unlike worlds cannot be merged.
//!
//! # Keys
//! [`KEYS`] has one row for each option of the world but the rates. From a row follow the option
//! `--NAME` of `simulate`, `pareto`, `normality` and `plan` with its parser, default and help; the
//! key `NAME` of a grid; the columns of both tables; the command and the grid that a plan and a
//! dossier print; and the row of `docs/simulate.md`, which a test compares.
//!
//! A field that is added later has `#[serde(default, skip_serializing_if = "..")]`, so that files
//! of worlds without it keep their bytes.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::figures::Unit;
use super::{Arrivals, Delay, Instance, Lost, SimulateError};
use crate::output::Value;
use equipoise::terms::Arm;

/// How patients react, arrive, answer late or get lost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct World {
    /// The outcome rates of every feature and arm, and their drift.
    #[serde(flatten)]
    pub instance: Instance,
    /// The features of the patients.
    pub arrivals: Arrivals,
    /// How late outcomes come.
    pub delay: Delay,
    /// How many never come.
    pub lost: Lost,
    /// Assumed standard deviation of r = y/Y; none for that of the law in [`super::instance`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sd: Option<f64>,
}

impl World {
    /// Patients of equally frequent features, outcomes at once and complete.
    #[must_use]
    pub fn plain(instance: Instance) -> Self {
        Self {
            instance,
            arrivals: Arrivals::Uniform,
            delay: Delay::NONE,
            lost: Lost::NONE,
            sd: None,
        }
    }

    /// The variance of r = y/Y of a feature under an arm, without drift.
    #[must_use]
    pub fn variance(&self, feature: usize, arm: Arm, scale: u16) -> f64 {
        self.sd.map_or_else(|| self.instance.variance(feature, arm, scale), |sd| sd * sd)
    }

    /// The standard deviation of r = y/Y under each arm: root mean square over features.
    #[must_use]
    pub fn deviations(&self, scale: u16) -> [f64; 2] {
        let features = self.instance.p0.len();
        Arm::BOTH.map(|arm| {
            let sum: f64 = (0..features).map(|j| self.variance(j, arm, scale)).sum();
            (sum / features as f64).sqrt()
        })
    }

    /// Whether every outcome comes as it is, before the next patient.
    pub(super) fn is_prompt(&self) -> bool {
        self.delay == Delay::NONE && self.lost.is_none()
    }

    /// Checks what the types leave open.
    pub(super) fn check(&self, features: u8, scale: u16) -> Result<(), SimulateError> {
        self.instance.check(features)?;
        self.sd.map_or(Ok(()), |sd| self.instance.check_sd(sd, scale))?;
        self.arrivals.check(features)?;
        self.delay.check()?;
        self.lost.check()
    }

    /// The options of `simulate` that make this world, but for the rates.
    #[must_use]
    pub fn options(&self) -> String {
        let option = |key: &Key| format!(" --{} {}", key.name, (key.text)(self));
        KEYS.iter().map(option).collect::<String>().trim_start().into()
    }

    /// The keys of `[world]` in a grid that make this world, but for the rates, a line each.
    #[must_use]
    pub fn grid_keys(&self) -> String {
        KEYS.iter().map(|key| format!("{} = \"{}\"\n", key.name, (key.text)(self))).collect()
    }
}

/// A change of a world: a value that has been read.
#[derive(Clone)]
pub struct Change(Arc<dyn Fn(&mut World) + Send + Sync>);

impl fmt::Debug for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Change")
    }
}

impl Change {
    fn new(change: impl Fn(&mut World) + Send + Sync + 'static) -> Self {
        Self(Arc::new(change))
    }

    /// Makes the change.
    pub fn apply(&self, world: &mut World) {
        (self.0)(world);
    }
}

/// Names and values of columns.
pub type Cells = Vec<(&'static str, Value)>;

/// An option of the world; see the module's header for everything that follows from it.
pub struct Key {
    /// `--NAME` on the command line, `NAME = ..` in a grid.
    pub name: &'static str,
    /// Its value in the help.
    pub value_name: &'static str,
    /// The value if the key is absent.
    pub default: &'static str,
    /// A value other than the default, for two features: what tests try.
    pub example: &'static str,
    /// The help of the command line and the row of `docs/simulate.md`.
    pub help: &'static str,
    /// Its name among the assumptions of a dossier.
    pub assumption: &'static str,
    /// Reads a value.
    pub read: fn(&str) -> Result<Change, SimulateError>,
    /// The value of a world as `read` takes it.
    pub text: fn(&World) -> String,
    /// The value of a world in the words of a dossier.
    pub words: fn(&World, u16) -> String,
    /// Its columns in the CSV form of `simulate`, of a plan with this scale.
    pub columns: fn(&World, u16) -> Cells,
    /// Its columns in the table of a grid, one number each.
    pub tidy: fn(&World, u16) -> Cells,
}

/// The options of the world but the rates, in the order of columns, help and documents.
pub const KEYS: [Key; 5] = [
    Key {
        name: "arrivals",
        value_name: "HOW",
        default: "uniform",
        example: "zipf:2",
        help: "Features of the patients: uniform, zipf[:S] (feature j weighs 1/j^S), \
               seasonal[:PATIENTS_A_DAY] (week and season), shares:W,W,.. (a weight a feature), or \
               a file of feature numbers",
        assumption: "assumed arrivals of the kinds",
        read: |text| {
            let arrivals = Arrivals::read(text)?;
            Ok(Change::new(move |world| world.arrivals = arrivals.clone()))
        },
        text: |world| world.arrivals.to_string(),
        words: |world, _| world.arrivals.to_string(),
        columns: |world, _| vec![("arrivals", Value::Text(world.arrivals.to_string()))],
        tidy: |world, _| vec![("arrivals", Value::Text(world.arrivals.to_string()))],
    },
    Key {
        name: "delay",
        value_name: "D",
        default: "0",
        example: "3..9",
        help: "Outcomes come this many patients late: D, or A..B drawn uniformly",
        assumption: "outcomes come late by, in patients",
        read: |text| {
            let delay = Delay::parse(text)?;
            Ok(Change::new(move |world| world.delay = delay))
        },
        text: |world| world.delay.to_string(),
        words: |world, _| world.delay.to_string(),
        columns: |world, _| vec![("delay", Value::Text(world.delay.to_string()))],
        tidy: |world, _| {
            let Delay { from, to } = world.delay;
            vec![("delay_from", Value::Whole(from.into())), ("delay_to", Value::Whole(to.into()))]
        },
    },
    Key {
        name: "lost",
        value_name: "P",
        default: "0",
        example: "0,0.2",
        help: "Share of outcomes that never come: P, or P0,P1 by arm",
        assumption: "outcomes that never come, arm 0 and arm 1",
        read: |text| {
            let lost = Lost::parse(text)?;
            Ok(Change::new(move |world| world.lost = lost))
        },
        text: |world| world.lost.to_string(),
        words: |world, _| world.lost.0.map(|share| Unit::Share.write(share)).join(" and "),
        columns: lost_by_arm,
        tidy: lost_by_arm,
    },
    Key {
        name: "drift",
        value_name: "D",
        default: "0",
        example: "0.1",
        help: "What the mean outcomes of both arms gain from the first patient to the last",
        assumption: "mean outcomes of both arms gain over the trial",
        read: |text| {
            let drift = number("drift", text)?;
            Ok(Change::new(move |world| world.instance.drift = drift))
        },
        text: |world| world.instance.drift.to_string(),
        words: |world, _| world.instance.drift.to_string(),
        columns: |world, _| vec![("drift", Value::Number(world.instance.drift))],
        tidy: |world, _| vec![("drift", Value::Number(world.instance.drift))],
    },
    Key {
        name: "sd",
        value_name: "S",
        default: LAW,
        example: "0.2",
        help: "Standard deviation of a graded outcome over its scale (0 to 1), the same in both \
               arms; law: that of the simulator's own law",
        assumption: "assumed standard deviation of an outcome over its scale, arm 0 and arm 1",
        read: |text| {
            let sd = if text.trim() == LAW { None } else { Some(number("sd", text)?) };
            Ok(Change::new(move |world| world.sd = sd))
        },
        text: |world| world.sd.map_or_else(|| LAW.into(), |sd| sd.to_string()),
        words: |world, scale| {
            let both = world.deviations(scale).map(|sd| format!("{sd:.3}")).join(" and ");
            both + if world.sd.is_none() { " (the simulator's law)" } else { "" }
        },
        columns: deviations,
        tidy: deviations,
    },
];

/// The value of `sd` for the law of [`super::instance`].
const LAW: &str = "law";

fn deviations(world: &World, scale: u16) -> Cells {
    const DECIMALS: f64 = 1e6;
    let [zero, one] = world.deviations(scale).map(|sd| (sd * DECIMALS).round() / DECIMALS);
    vec![("sd0", Value::Number(zero)), ("sd1", Value::Number(one))]
}

fn lost_by_arm(world: &World, _: u16) -> Cells {
    let [zero, one] = world.lost.0;
    vec![("lost0", Value::Number(zero)), ("lost1", Value::Number(one))]
}

/// Reads a number that is not infinite.
///
/// # Errors
/// Anything else, by the name of the key.
pub fn number(name: &'static str, text: &str) -> Result<f64, SimulateError> {
    let number = text.trim().parse().ok().filter(|number: &f64| number.is_finite());
    number.ok_or_else(|| SimulateError::value(name, text, "a number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain() -> World {
        World::plain(Instance::same(2, 0.3, 0.6))
    }

    /// The default of a key is the plain world, its example is another one, and the text of a world
    /// is read back as that world.
    #[test]
    fn keys_are_read_and_written() {
        for key in &KEYS {
            let read = |text: &str| {
                let mut world = plain();
                (key.read)(text).unwrap().apply(&mut world);
                world.check(2, 10).unwrap();
                world
            };
            let other = read(key.example);
            assert_eq!(read(key.default), plain(), "{}", key.name);
            assert_ne!(other, plain(), "{}", key.name);
            assert_eq!(read(&(key.text)(&other)), other, "{}", key.name);
            assert_ne!((key.columns)(&other, 10), (key.columns)(&plain(), 10), "{}", key.name);
            assert_ne!((key.tidy)(&other, 10), (key.tidy)(&plain(), 10), "{}", key.name);
        }
    }

    /// A world is the same after it was written to a file and read back.
    #[test]
    fn a_world_survives_its_file() {
        let mut world = plain();
        for key in &KEYS {
            (key.read)(key.example).unwrap().apply(&mut world);
        }
        let text = serde_json::to_string(&world).unwrap();
        let first = "{\"p0\":[0.3,0.3],\"p1\":[0.6,0.6],\"drift\":0.1,\"arrivals\":\"zipf:2\",\
                     \"delay\":\"3..9\",\"lost\":[0.0,0.2]";
        assert!(text.starts_with(first), "{text}");
        assert_eq!(serde_json::from_str::<World>(&text).unwrap(), world);
        // Of a file of arrivals a shard holds length and checksum: enough to compare.
        world.arrivals = Arrivals::trace("0 1 1").unwrap();
        let text = serde_json::to_string(&world).unwrap();
        let read: World = serde_json::from_str(&text).unwrap();
        assert_eq!(read.arrivals.to_string(), world.arrivals.to_string());
        assert!(read.check(2, 10).is_err());
    }

    /// `docs/simulate.md` has the row of every key, in the words of the help.
    #[test]
    fn the_document_has_every_key() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/simulate.md");
        let text = std::fs::read_to_string(path).unwrap();
        for key in &KEYS {
            let row = format!("| `--{}` | {} |", key.name, key.help);
            assert!(text.contains(&row), "docs/simulate.md lacks\n{row}");
        }
    }
}
