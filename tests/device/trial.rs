//! Promises of a trial's state machine, for every sequence of requests.

mod blocks;
mod late;
mod looks;
mod rules;

use equipoise::chance::{Chance, Fraction, Sampler};
use equipoise::design::schedule;
use equipoise::noise::Laplace;
use equipoise::plan::{DesignName, Plan};
use equipoise::terms::Arm;
use equipoise::terms::MAX_PATIENTS;
use equipoise::terms::Phase;
use equipoise::trial::stored::{Dirty, Part, Stored};
use equipoise::trial::{AtOnce, Trial, TrialError};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

type Small = Trial<8, 16>;
type Generator = Sampler<Xoshiro256PlusPlus>;

const DESIGNS: [&str; 4] = ["conse", "dp-conse", "interim", "uniform"];

/// The plan of these words, in which larger outcomes are better.
fn plan(text: &str) -> Plan {
    Plan::parse(&format!("{text} better=high")).unwrap()
}

fn bytes<const M: usize, const U: usize>(trial: &Trial<M, U>) -> Vec<u8> {
    let mut out = vec![0; Trial::<M, U>::STATE_BYTES];
    assert_eq!(trial.encode(&mut out), Some(out.len()));
    out
}

/// Whether this part has changed.
fn names(mut dirty: Dirty, part: Part) -> bool {
    part == Part::History && dirty.has_history() || dirty.any(|changed| changed == part)
}

/// Whether it went well is not the question.
fn ignore<T>(_: T) {}

/// Answers coins from a script and draws no noise.
struct Scripted(Vec<bool>);

impl Chance for Scripted {
    fn coin(&mut self) -> bool {
        self.0.pop().unwrap_or(false)
    }
    fn biased_coin(&mut self, _: Fraction) -> bool {
        self.coin()
    }
    fn discrete_laplace(&mut self, _: &Laplace) -> i64 {
        0
    }
    fn lap_plus(&mut self, center: u64, _: &Laplace) -> u64 {
        center
    }
}
