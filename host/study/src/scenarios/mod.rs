//! A grid of scenarios from one file, for `equipoise simulate --scenarios FILE.toml`.
//!
//! | key | meaning | if absent |
//! |---|---|---|
//! | `designs` | designs and comparators, by their names in `simulate` | `interim`, `uniform`, `fixed` |
//! | `effects` | which effects: `no-effect`, `planned`, `half`, `reversed`, `one-against` | all of them |
//! | `runs`, `seed` | trials of a scenario, and where their randomness comes from | 1000, 1 |
//! | `[plan]` | the keys of [`equipoise::plan`], but for `design` | |
//! | `[plan]` `boundary` | with `reports`: `obrien-fleming` or `pocock` | `none` |
//! | `[world]` `baseline` | mean outcome (0 to 1) under arm 0, of all features | required |
//! | `[world]` `effect` | what arm 1 adds to it as planned | required |
//! | `[world]`, every other key of [`KEYS`] | as the option of `simulate` of this name | its default |
//! | `[[scenario]]` | `name`, and keys of `[plan]` and `[world]` that it changes | one scenario, `base` |
//!
//! A value of `[plan]`, `[world]` or a `[[scenario]]` may be a list: every combination is a
//! scenario, in the order of the file, the last list fastest. Effects: `no-effect` is none, `half`
//! is half the planned one, `reversed` its opposite, `one-against` reverses it in feature 0 alone.
//!
//! Run i of every scenario has the same seed, so scenarios that differ in the effect or the design
//! see the same patients.

pub mod table;

use crate::boundaries::Kind;
use crate::simulate::world::{KEYS, number};
use crate::simulate::{Chooser, Instance, Scenario, SimulateError, World};
use equipoise::plan::Plan;

/// An effect of the grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// None.
    Null,
    /// As planned.
    Planned,
    /// Half of it.
    Half,
    /// Its opposite.
    Reversed,
    /// Its opposite in feature 0, as planned in the others.
    OneAgainst,
}

impl Effect {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Null, Self::Planned, Self::Half, Self::Reversed, Self::OneAgainst];

    /// The name in the file and in the table.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Null => "no-effect",
            Self::Planned => "planned",
            Self::Half => "half",
            Self::Reversed => "reversed",
            Self::OneAgainst => "one-against",
        }
    }

    /// The instance with this effect.
    #[must_use]
    pub fn instance(self, features: u8, baseline: f64, effect: f64) -> Instance {
        let factor = match self {
            Self::Null => 0.0,
            Self::Planned | Self::OneAgainst => 1.0,
            Self::Half => 0.5,
            Self::Reversed => -1.0,
        };
        let mut instance = Instance::with_effect(features, baseline, factor * effect);
        if let (Self::OneAgainst, Some(first)) = (self, instance.p1.first_mut()) {
            *first = baseline - effect;
        }
        instance
    }
}

/// One scenario of the grid, under one design.
#[derive(Clone, Debug)]
pub struct Cell {
    /// Its place among the scenarios of the file, from 1; designs of one scenario share it.
    pub number: usize,
    /// The name of its `[[scenario]]`.
    pub name: String,
    /// Its effect.
    pub effect: Effect,
    /// The simulated scenario.
    pub scenario: Scenario,
}

const PLAN_KEYS: [&str; 8] =
    ["features", "patients", "scale", "alpha", "epsilon", "beta", "reports", "close"];
/// The key of `[plan]` that the device does not know: the boundary is the terminal's.
const BOUNDARY: &str = "boundary";
/// The keys of `[world]` that make the rates.
const RATES: [&str; 2] = ["baseline", "effect"];

/// All keys of `[world]`.
fn world_keys() -> Vec<&'static str> {
    RATES.into_iter().chain(KEYS.iter().map(|key| key.name)).collect()
}

fn refused(text: impl Into<String>) -> SimulateError {
    SimulateError::Refused(text.into())
}

fn text(key: &str, value: &toml::Value) -> Result<String, SimulateError> {
    match value {
        toml::Value::String(text) => Ok(text.clone()),
        toml::Value::Integer(number) => Ok(number.to_string()),
        toml::Value::Float(number) => Ok(number.to_string()),
        other => Err(refused(format!("{key} = {other}, allowed a number, a text or a list"))),
    }
}

/// A key with all its values, in order.
type Axis = (String, Vec<String>);

fn axes(table: &toml::Table, allowed: &[&str]) -> Result<Vec<Axis>, SimulateError> {
    let axis = |(key, value): (&String, &toml::Value)| {
        if !allowed.contains(&key.as_str()) {
            let allowed = allowed.join(" ");
            return Err(refused(format!("{key} is no key of a scenario, allowed {allowed}")));
        }
        let values = match value {
            toml::Value::Array(list) => list.iter().map(|v| text(key, v)).collect(),
            one => text(key, one).map(|one| vec![one]),
        }?;
        if values.is_empty() {
            return Err(refused(format!("{key} = [], allowed at least one value")));
        }
        Ok((key.clone(), values))
    };
    table.iter().map(axis).collect()
}

/// Every combination, the last axis fastest.
fn product(axes: &[Axis]) -> Vec<Vec<(String, String)>> {
    axes.iter().fold(vec![Vec::new()], |all, (key, values)| {
        let with = |row: &Vec<(String, String)>, value: &String| {
            row.iter().cloned().chain([(key.clone(), value.clone())]).collect()
        };
        all.iter().flat_map(|row| values.iter().map(move |value| with(row, value))).collect()
    })
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    designs: Option<Vec<String>>,
    effects: Option<Vec<String>>,
    runs: Option<u32>,
    seed: Option<u64>,
    #[serde(default)]
    plan: toml::Table,
    #[serde(default)]
    world: toml::Table,
    #[serde(default)]
    scenario: Vec<toml::Table>,
}

/// All scenarios of a file, each under every design.
///
/// # Errors
/// The first thing in the file that is not allowed.
pub fn parse(path: &str, file: &str) -> Result<Vec<Cell>, SimulateError> {
    let failed = |error: SimulateError| SimulateError::File(path.into(), error.to_string());
    let file: File =
        toml::from_str(file).map_err(|error| refused(error.to_string())).map_err(failed)?;
    grid(&file).map_err(failed)
}

fn grid(file: &File) -> Result<Vec<Cell>, SimulateError> {
    let names = ["interim", "uniform", "fixed"].map(String::from).to_vec();
    let choosers = file.designs.as_ref().unwrap_or(&names).iter().map(|name| Chooser::parse(name));
    let choosers = choosers.collect::<Result<Vec<_>, _>>()?;
    let effects = match &file.effects {
        None => Effect::ALL.to_vec(),
        Some(names) => names.iter().map(|name| effect(name)).collect::<Result<_, _>>()?,
    };
    let base: Vec<Axis> = [
        axes(&file.plan, &[&PLAN_KEYS[..], &[BOUNDARY]].concat())?,
        axes(&file.world, &world_keys())?,
    ]
    .concat();
    let named = match &file.scenario[..] {
        [] => vec![("base".to_owned(), base)],
        list => list.iter().map(|table| changed(&base, table)).collect::<Result<_, _>>()?,
    };
    let mut cells = Vec::new();
    let mut number = 0;
    for (name, axes) in &named {
        for values in product(axes) {
            for effect in &effects {
                number += 1;
                for chooser in &choosers {
                    let scenario = scenario(&values, *effect, *chooser, file)?;
                    // One feature cannot differ from the others where there are none.
                    if *effect == Effect::OneAgainst && scenario.plan.features() < 2 {
                        continue;
                    }
                    let (name, effect) = (name.clone(), *effect);
                    cells.push(Cell { number, name, effect, scenario });
                }
            }
        }
    }
    Ok(cells)
}

fn effect(name: &str) -> Result<Effect, SimulateError> {
    let found = Effect::ALL.into_iter().find(|effect| effect.name() == name);
    let allowed = Effect::ALL.map(Effect::name).join(" ");
    found.ok_or_else(|| refused(format!("effects: {name:?}, allowed {allowed}")))
}

/// The axes of a `[[scenario]]`: those of the base, with its own in their places or behind them.
fn changed(base: &[Axis], table: &toml::Table) -> Result<(String, Vec<Axis>), SimulateError> {
    let mut table = table.clone();
    let name = match table.remove("name") {
        Some(toml::Value::String(name)) => name,
        _ => return Err(refused("a [[scenario]] without a name, allowed name = \"..\"")),
    };
    let mut all = base.to_vec();
    for (key, values) in axes(&table, &[&PLAN_KEYS[..], &[BOUNDARY], &world_keys()].concat())? {
        match all.iter_mut().find(|(known, _)| *known == key) {
            Some(known) => known.1 = values,
            None => all.push((key, values)),
        }
    }
    Ok((name, all))
}

fn scenario(
    values: &[(String, String)],
    effect: Effect,
    chooser: Chooser,
    file: &File,
) -> Result<Scenario, SimulateError> {
    let of = |key: &str| values.iter().find(|(name, _)| name == key).map(|(_, value)| &**value);
    let rate = |key: &'static str| {
        number(key, of(key).ok_or_else(|| refused(format!("[world] {key} is missing")))?)
    };
    let plan = PLAN_KEYS.iter().filter_map(|key| of(key).map(|value| (*key, value)));
    // A simulated world's better outcomes are its larger ones.
    let fixed = [("design", chooser.design.name()), ("better", "high")];
    let plan = Plan::from_pairs(fixed.into_iter().chain(plan))?;
    let [baseline, planned] = RATES.map(rate);
    let (baseline, planned) = (baseline?, planned?);
    let mut world = World::plain(effect.instance(plan.features(), baseline, planned));
    for key in &KEYS {
        (key.read)(of(key.name).unwrap_or(key.default))?.apply(&mut world);
    }
    let (runs, seed) = (file.runs.unwrap_or(1000), file.seed.unwrap_or(1));
    let boundary =
        match of(BOUNDARY) {
            None | Some("none") => None,
            Some(name) => Some(Kind::parse(name).ok_or_else(|| {
                SimulateError::value(BOUNDARY, name, "none obrien-fleming pocock")
            })?),
        };
    let (policy, planned) = (chooser.policy, Some(planned));
    let scenario = Scenario { plan, policy, boundary, planned, world, runs, seed };
    scenario.check().map(|()| scenario)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::{Delay, Lost};

    const FILE: &str = "runs = 10\n[plan]\nfeatures = 2\npatients = [100, 200]\nepsilon = 1\n\
                        [world]\nbaseline = 0.4\neffect = 0.2\n";

    #[test]
    fn lists_make_a_grid() {
        let cells = parse("f", FILE).unwrap();
        assert_eq!((cells.len(), cells[29].number), (2 * 5 * 3, 10));
        assert_eq!(cells[0].scenario.world.instance.p1, [0.4, 0.4]);
        let against = cells.iter().find(|cell| cell.effect == Effect::OneAgainst).unwrap();
        assert_eq!(against.scenario.world.instance.p1, [0.2, 0.6]);
        let p1 = |effect| {
            let cell = cells.iter().find(|cell| cell.effect == effect).unwrap();
            cell.scenario.world.instance.p1.clone()
        };
        assert_eq!((p1(Effect::Half), p1(Effect::Reversed)), (vec![0.5; 2], vec![0.2; 2]));
        assert_eq!(cells[15].scenario.plan.patients(), 200);
        let file = format!(
            "effects = [\"half\"]\ndesigns = [\"interim\"]\n{FILE}[[scenario]]\nname = \"late\"\ndelay = [10, 20]\n[[scenario]]\nname = \"lost\"\nlost = \"0,0.2\"\n"
        );
        let cells = parse("f", &file).unwrap();
        let names: Vec<&str> = cells.iter().map(|cell| cell.name.as_str()).collect();
        assert_eq!(names, ["late", "late", "late", "late", "lost", "lost"]);
        assert_eq!(cells[1].scenario.world.delay, Delay::fixed(20));
        assert_eq!(cells[4].scenario.world.lost, Lost([0.0, 0.2]));
    }

    #[test]
    fn a_boundary_is_a_key_of_the_plan() {
        let with = |line: &str| parse("f", &FILE.replacen("features = 2", line, 1));
        let cells = with("features = 2\nreports = 2\nboundary = [\"none\", \"pocock\"]").unwrap();
        let kinds: Vec<_> = cells.iter().step_by(15).map(|cell| cell.scenario.boundary).collect();
        assert_eq!(kinds, [None, None, Some(Kind::Pocock), Some(Kind::Pocock)]);
        for (lines, why) in [
            ("features = 2\nboundary = \"pocock\"", "boundary=pocock allowed with interim"),
            ("features = 2\nboundary = \"x\"", "boundary=x allowed none obrien-fleming pocock"),
        ] {
            let error = with(lines).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }

    #[test]
    fn bad_files_are_refused_by_name() {
        for (from, to, message) in [
            ("baseline = 0.4", "colour = 1", "f: colour is no key of a scenario, allowed baseline"),
            ("baseline = 0.4\n", "", "f: [world] baseline is missing"),
            ("baseline = 0.4", "baseline = \"x\"", "f: baseline=x allowed a number"),
            ("epsilon = 1", "epsilon = 0", "f: epsilon=0 allowed 1/1000..=20"),
            ("runs = 10", "effects = [\"all\"]", "f: effects: \"all\", allowed no-effect planned"),
            ("effect = 0.2", "effect = 0.7", "f: baseline + effect=1.1 allowed 0..=1"),
        ] {
            let error = parse("f", &FILE.replacen(from, to, 1)).unwrap_err().to_string();
            assert!(error.starts_with(message), "{error}");
        }
    }

    /// A key of a `[[scenario]]` takes the place of the base's, drift reaches the world, and a
    /// single feature cannot be against the others.
    #[test]
    fn scenarios_change_the_base() {
        let base = FILE.replacen("effect = 0.2", "effect = 0.2\ndelay = 7\ndrift = 0.1", 1);
        let file = base.clone() + "[[scenario]]\nname = \"x\"\ndelay = 9\n";
        let cells = parse("f", &file).unwrap();
        assert_eq!(cells.len(), 2 * 5 * 3);
        assert!(cells.iter().all(|cell| cell.scenario.world.delay == Delay::fixed(9)));
        assert!(cells.iter().all(|cell| cell.scenario.world.instance.drift == 0.1));
        let one = parse("f", &base.replacen("features = 2", "features = 1", 1)).unwrap();
        assert_eq!(one.len(), 2 * 4 * 3);
    }
}
