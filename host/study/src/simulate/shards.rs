//! Parts of a simulation, on one machine or many.
//!
//! Part I of K holds the runs floor(R (I-1)/K) .. floor(R I/K) of R. A run depends on the seed and
//! its number alone and sums are exact integers, so parts add up to what one process would have
//! found: [`merge`] gives the same bytes. Parts must come from the same setup, none twice, none
//! missing; anything else is refused by name.
//!
//! # The file
//! One JSON object: `format` 4, `from` and `to` (the runs it holds, `to` excluded), and `results`,
//! one a design: `setup` (everything that fixes the result), `summary` (the figures) and `sums`
//! (exact; wide integers as decimal text, in units of 2^-20 for regret and 2^-44 for errors).
//! Members keep this order. Format 3 had the plain mean over features as the overall effect.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use equipoise::plan::Plan;

use super::{Scenario, SimulateError, Summary, Sums, World};

/// Version of the file.
const FORMAT: u32 = 4;

/// Part I of K.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShardIndex {
    number: u32,
    of: u32,
}

impl ShardIndex {
    /// Reads `I/K`.
    ///
    /// # Errors
    /// Anything else.
    pub fn parse(text: &str) -> Result<Self, SimulateError> {
        let part = text.split_once('/').and_then(|(number, of)| {
            let (number, of) = (number.parse().ok()?, of.parse().ok()?);
            (1..=of).contains(&number).then_some(Self { number, of })
        });
        part.ok_or_else(|| Self::refused(text))
    }

    /// The runs of this part.
    ///
    /// # Errors
    /// There are more parts than runs.
    pub fn runs(self, runs: u32) -> Result<Range<u32>, SimulateError> {
        let Self { number, of } = self;
        if of > runs.max(1) {
            return Err(Self::refused(&format!("{number}/{of}")));
        }
        let at = |part: u32| (u64::from(runs) * u64::from(part) / u64::from(of)) as u32;
        Ok(at(number - 1)..at(number))
    }

    fn refused(text: &str) -> SimulateError {
        SimulateError::value("shard", text, "I/K with 1 <= I <= K <= runs")
    }
}

/// Everything that fixes a result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the options of the command line, by the same names")]
pub struct Setup {
    pub design: String,
    pub plan: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boundary: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planned_effect: Option<f64>,
    pub features: u8,
    pub patients: u32,
    #[serde(flatten)]
    pub world: World,
    pub runs: u32,
    pub seed: u64,
}

/// The canonical plan without its design: a comparator uses only the sizes.
fn parameters(plan: &Plan) -> String {
    let plan = plan.to_string();
    plan.split_once(' ').map_or_else(String::new, |(_, rest)| rest.into())
}

impl Setup {
    fn new(scenario: &Scenario, sites: u32) -> Self {
        let name = scenario.name();
        Self {
            design: if sites > 1 { format!("{name}, {sites} sites") } else { name },
            plan: parameters(&scenario.plan),
            boundary: scenario.used_boundary().map(|kind| kind.name().into()),
            planned_effect: scenario.futility(),
            features: scenario.plan.features(),
            patients: scenario.plan.patients(),
            world: scenario.world.clone(),
            runs: scenario.runs,
            seed: scenario.seed,
        }
    }

    /// The plan, as that of the default design: what a comparator uses of it has no other.
    pub(super) fn plan(&self) -> Option<Plan> {
        Plan::parse(&self.plan).ok()
    }
}

/// The result of one design.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// The setup that was run.
    pub setup: Setup,
    /// The figures.
    pub summary: Summary,
    /// The exact sums behind them.
    pub sums: Sums,
}

/// Some or all runs of some designs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Shard {
    format: u32,
    from: u32,
    to: u32,
    /// One a design.
    pub results: Vec<Outcome>,
}

impl Shard {
    /// The result of these runs; of each scenario the devices it ran on and its sums.
    #[must_use]
    pub fn new(runs: Range<u32>, results: &[(&Scenario, u32, Sums)]) -> Self {
        let outcome = |(scenario, sites, sums): &(&Scenario, u32, Sums)| Outcome {
            setup: Setup::new(scenario, *sites),
            summary: sums.summary(),
            sums: sums.clone(),
        };
        Self {
            format: FORMAT,
            from: runs.start,
            to: runs.end,
            results: results.iter().map(outcome).collect(),
        }
    }

    /// The file.
    #[must_use]
    pub fn to_json(&self) -> String {
        // Plain structs of numbers and text always serialise.
        serde_json::to_string_pretty(self).map(|text| text + "\n").unwrap_or_default()
    }

    /// Reads a file back.
    ///
    /// # Errors
    /// Text that is not a part of a simulation.
    pub fn from_json(path: &str, text: &str) -> Result<Self, SimulateError> {
        let failed = |reason: String| SimulateError::File(path.into(), reason);
        let mut shard: Self =
            serde_json::from_str(text).map_err(|error| failed(error.to_string()))?;
        if shard.format != FORMAT {
            return Err(failed(format!("format={} allowed {FORMAT}", shard.format)));
        }
        for Outcome { setup, sums, .. } in &mut shard.results {
            let instance = &setup.world.instance;
            let sizes = [instance.p0.len(), instance.p1.len(), sums.features.len()];
            if sizes != [usize::from(setup.features); 3] {
                return Err(failed("the numbers of features differ".into()));
            }
            sums.restore(instance, setup.patients, setup.planned_effect.is_some());
        }
        Ok(shard)
    }

    fn setups(&self) -> impl PartialEq + use<> {
        self.results.iter().map(|outcome| outcome.setup.clone()).collect::<Vec<_>>()
    }
}

/// Puts all parts together.
///
/// # Errors
/// Parts of different simulations, a part that is there twice, or one that is missing.
pub fn merge(mut parts: Vec<Shard>) -> Result<Shard, SimulateError> {
    let failed = |reason: String| Err(SimulateError::Refused(reason));
    parts.sort_by_key(|part| (part.from, part.to));
    let runs = parts.iter().flat_map(|part| &part.results).map(|outcome| outcome.setup.runs).max();
    let mut parts = parts.into_iter();
    let (Some(mut whole), Some(runs)) = (parts.next(), runs) else {
        return failed("no parts to merge".into());
    };
    if whole.from != 0 {
        return failed(format!("runs 0..{} are missing", whole.from));
    }
    for part in parts {
        if part.setups() != whole.setups() {
            return failed(
                "the parts come from different simulations (their setups differ)".into(),
            );
        }
        if part.from < whole.to {
            return failed(format!(
                "runs {}..{} are there twice",
                part.from,
                whole.to.min(part.to)
            ));
        }
        if part.from > whole.to {
            return failed(format!("runs {}..{} are missing", whole.to, part.from));
        }
        whole.to = part.to;
        for (to, from) in whole.results.iter_mut().zip(part.results) {
            to.sums = to.sums.clone().merge(from.sums);
        }
    }
    if whole.to != runs {
        return failed(format!("runs {}..{runs} are missing", whole.to));
    }
    for outcome in &mut whole.results {
        outcome.summary = outcome.sums.summary();
    }
    Ok(whole)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::boundaries::Kind;
    use crate::simulate::world::KEYS;
    use crate::simulate::{Instance, sums};

    /// Parts with and without a boundary count other things and make no whole; the file of one
    /// without is as it was before there were boundaries.
    #[test]
    fn parts_of_another_boundary_are_refused() {
        let plan = Plan::parse("features=1 patients=40 better=high epsilon=1 reports=1").unwrap();
        let part = |runs: Range<u32>, boundary| {
            let instance = Instance::same(1, 0.3, 0.6);
            let scenario = Scenario { boundary, ..Scenario::new(plan, instance, 4, 1) };
            let found = sums(&scenario, runs.clone(), &|| ()).unwrap();
            Shard::new(runs, &[(&scenario, 1, found)])
        };
        let pocock = Some(Kind::Pocock);
        let error = merge(vec![part(0..2, None), part(2..4, pocock)]).unwrap_err().to_string();
        assert!(error.contains("their setups differ"), "{error}");
        let whole = merge(vec![part(0..2, pocock), part(2..4, pocock)]).unwrap();
        assert_eq!(whole, part(0..4, pocock));
        assert!(whole.to_json().contains("\"pocock\""));
        assert!(!part(0..4, None).to_json().contains("boundary"));
    }

    /// Parts of worlds that differ in a single value make no whole, whichever value it is, once
    /// they were written to files and read back.
    #[test]
    fn parts_of_another_world_are_refused() {
        let plan = Plan::parse("features=2 patients=40 better=high epsilon=1 scale=10").unwrap();
        let part = |runs: Range<u32>, change: &dyn Fn(&mut World)| {
            let mut scenario = Scenario::new(plan, Instance::same(2, 0.3, 0.6), 4, 1);
            change(&mut scenario.world);
            let found = sums(&scenario, runs.clone(), &|| ()).unwrap();
            let file = Shard::new(runs, &[(&scenario, 1, found)]).to_json();
            Shard::from_json("part", &file).unwrap()
        };
        let refused = |name: &str, change: &dyn Fn(&mut World)| {
            let error = merge(vec![part(0..2, &|_| ()), part(2..4, change)]);
            let error = error.expect_err(name).to_string();
            assert!(error.contains("their setups differ"), "{name}: {error}");
            merge(vec![part(0..2, change), part(2..4, change)]).expect(name);
        };
        refused("p0", &|world| world.instance.p0[1] = 0.4);
        refused("p1", &|world| world.instance.p1[1] = 0.5);
        for key in &KEYS {
            let change = (key.read)(key.example).unwrap();
            refused(key.name, &|world| change.apply(world));
        }
        let trace = |text: &'static str| {
            move |world: &mut World| {
                world.arrivals = crate::simulate::Arrivals::trace(text).unwrap();
            }
        };
        let parts = vec![part(0..2, &trace("0 1 1")), part(2..4, &trace("0 1 0"))];
        assert!(merge(parts).unwrap_err().to_string().contains("their setups differ"));
    }
}
