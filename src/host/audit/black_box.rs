//! The device as a black box: driven over its line on two neighbouring trials, many times, and only
//! the replies kept.
//!
//! Each run is a device of its own, with flash in memory and a generator of its own seed; the two
//! trials of an [`Experiment`] differ in one patient. The replies of a run, without those to the
//! open patient's own requests, are put into one of a few categories, fixed beforehand. For every
//! category and every set of categories from some number up, the Clopper-Pearson bounds of its
//! probability in both trials bound epsilon and delta from below.
//!
//! **False alarms.** All bounds of an experiment hold together with probability at least 1 -
//! [`FALSE_ALARMS`]: the error is shared out evenly over all bounds (Bonferroni). So a device that
//! keeps its claim is said to exceed it with probability at most that. The seeds are fixed: the
//! same runs give the same answer every time. A pass proves nothing beyond these sets; the exact
//! audit does.

use crate::prelude::*;
use rayon::prelude::*;

use super::loss::Loss;
use super::suite::{Finding, Method, claim};
use crate::device::auth::CustodianKey;
use crate::host::virtual_board::{Flash, VirtualBoard};
use crate::plan::Plan;
use crate::wire::{Hex, TrialId, unhex};

/// Probability that any bound of an experiment is wrong.
pub const FALSE_ALARMS: f64 = 1e-6;
/// The custodian's key of every device.
const KEY: [u8; 32] = [0x5a; 32];
/// Pages of flash of a device.
const PAGES: usize = 32;

/// Two neighbouring trials, and what is made of the replies.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// What it is about.
    pub about: &'static str,
    /// The plan.
    pub plan: Plan,
    /// Feature and outcome of every patient, in the one trial and in the other.
    pub trials: [Vec<(u8, u16)>; 2],
    /// The patient, from 0, in whom the two differ.
    pub open: usize,
    /// The category of what was seen.
    pub category: fn(&str) -> usize,
}

/// The rows of a report in `replies`: estimate and patients.
fn rows(replies: &str) -> impl Iterator<Item = (f64, u32)> {
    replies.lines().filter_map(|line| {
        let mut words = line.split('*').next()?.split_ascii_whitespace();
        (words.next()? == "ROW").then_some(())?;
        let [_, estimate, _, _, _, patients] = std::array::from_fn(|_| words.next());
        Some((estimate?.parse().ok()?, patients?.parse().ok()?))
    })
}

/// The experiments.
#[must_use]
pub fn experiments() -> Vec<Experiment> {
    let plan = |text| Plan::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let mut outcome = vec![(0, 0); 4];
    let base = outcome.clone();
    outcome[2].1 = 1;
    let round: Vec<(u8, u16)> = (0..200).map(|k| (k % 10, 0)).collect();
    let mut moved = round.clone();
    moved[0].0 = 1;
    vec![
        Experiment {
            about: "outcome 1 or 0, size of the effect in the report",
            plan: plan("features=1 patients=4 epsilon=20 close=auto"),
            trials: [outcome, base],
            open: 2,
            // The sign says nothing, t's arm being a coin.
            category: |replies| {
                rows(replies).next().map_or(0, |(effect, _)| 1 + (effect.abs() * 4.0) as usize)
            },
        },
        Experiment {
            about: "patient of one feature or another, rows with fewer than 10 patients",
            plan: plan("design=dp-conse features=10 patients=200 epsilon=1 alpha=0"),
            trials: [round, moved],
            open: 0,
            category: |replies| 10 - rows(replies).filter(|(_, patients)| *patients < 10).count(),
        },
    ]
}

impl Experiment {
    /// Runs both trials so many times, on fixed seeds, and holds the bounds against the claim.
    #[must_use]
    pub fn finding(&self, runs: u32) -> Finding {
        let counts = [0, 1].map(|trial| self.count(trial, runs));
        let claimed = claim(&self.plan);
        let (epsilon, delta) = claimed.map_or((0.0, 0.0), |claim| (claim.epsilon, claim.delta));
        let found = bounds(&counts, runs, epsilon, delta);
        let instance = format!(
            "M={} n={} eps={}, {}; {runs} runs a trial",
            self.plan.features(),
            self.plan.patients(),
            self.plan.epsilon(),
            self.about
        );
        Finding::new(self.plan.design(), Method::BlackBox, instance, claimed, found)
    }

    /// How often each category came up.
    fn count(&self, trial: usize, runs: u32) -> Vec<u32> {
        let seed = |run: u32| u64::from(run) << 1 | trial as u64;
        let sum = |mut a: Vec<u32>, b: Vec<u32>| {
            a.resize(a.len().max(b.len()), 0);
            a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
            a
        };
        let one = |mut counts: Vec<u32>, run| {
            let category = (self.category)(&self.run(trial, seed(run)));
            counts.resize(counts.len().max(category + 1), 0);
            counts[category] += 1;
            counts
        };
        (0..runs).into_par_iter().fold(Vec::new, one).reduce(Vec::new, sum)
    }

    /// All replies of one device to one trial, but for those to the open patient.
    fn run(&self, trial: usize, seed: u64) -> String {
        let mut board = VirtualBoard::<64, 256>::seeded(Flash::in_memory(PAGES), seed);
        let mut replies = String::new();
        board.ask(&format!("KEY {}", Hex(&KEY)));
        let plan = format!("PLAN {}", self.plan);
        let challenge = board.ask("AUTH");
        let nonce = challenge.split(['*', ' ']).nth(1).and_then(|hex| unhex(hex.trim().as_bytes()));
        let proof = CustodianKey::new(KEY).proof(
            &nonce.unwrap_or_default(),
            TrialId::NONE,
            plan.as_bytes(),
        );
        let begun = board.ask(&format!("{plan} proof={}", Hex(&proof)));
        assert!(begun.starts_with("OK"), "the device refuses the plan of the audit: {begun}");
        replies += &begun;
        for (k, (feature, y)) in self.trials[trial].iter().enumerate() {
            for line in [format!("ASSIGN {} {feature}", k + 1), format!("OUTCOME {} {y}", k + 1)] {
                let reply = board.ask(&line);
                if k != self.open {
                    replies += &reply;
                }
            }
        }
        replies + &board.ask("REPORT")
    }
}

/// Lower bounds of epsilon (at the claimed delta) and of delta (at the claimed epsilon) from counts
/// of categories.
fn bounds(counts: &[Vec<u32>; 2], runs: u32, epsilon: f64, delta: f64) -> Loss {
    let categories = counts[0].len().max(counts[1].len());
    let count = |trial: usize, from: usize, to: usize| {
        (from..to).map(|c| counts[trial].get(c).copied().unwrap_or(0)).sum::<u32>()
    };
    let singles = (0..categories).map(|c| (c, c + 1));
    let (upward, downward) =
        ((1..categories).map(|c| (c, categories)), (1..categories).map(|c| (0, c)));
    let sets: Vec<_> = singles.chain(upward).chain(downward).collect();
    // Two directions, and an upper and a lower bound each.
    let error = FALSE_ALARMS / (4 * sets.len()) as f64;
    let mut worst = Loss::NONE;
    for (from, to) in sets {
        for (p, q) in [(0, 1), (1, 0)] {
            let low = lower_bound(count(p, from, to), runs, error);
            let high = 1.0 - lower_bound(runs - count(q, from, to), runs, error);
            let found = Loss {
                epsilon: ((low - delta).max(f64::MIN_POSITIVE) / high).ln(),
                delta: low - epsilon.exp() * high,
            };
            worst = worst.or(found);
        }
    }
    worst
}

/// The Clopper-Pearson lower bound of a probability: the p at which `count` or more of `runs` have
/// probability `error`.
fn lower_bound(count: u32, runs: u32, error: f64) -> f64 {
    if count == 0 {
        return 0.0;
    }
    let (mut low, mut high) = (0.0, f64::from(count) / f64::from(runs));
    for _ in 0..60 {
        let p = f64::midpoint(low, high);
        if at_least(count, runs, p) < error { low = p } else { high = p }
    }
    low
}

/// P(Binomial(runs, p) >= count) for count/runs > p: the terms fall by at least a fixed factor.
fn at_least(count: u32, runs: u32, p: f64) -> f64 {
    let (n, k) = (f64::from(runs), f64::from(count));
    let choose = libm::lgamma(n + 1.0) - libm::lgamma(k + 1.0) - libm::lgamma(n - k + 1.0);
    let mut term = (choose + k * p.ln() + (n - k) * (-p).ln_1p()).exp();
    let (mut sum, mut at) = (0.0, k);
    while term > sum * 1e-16 && at <= n {
        sum += term;
        term *= (n - at) / (at + 1.0) * (p / (1.0 - p));
        at += 1.0;
    }
    sum.min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lower_bound_is_where_the_tail_has_the_error() {
        // 10 of 10 at error 5 %: p^10 = 0.05.
        assert!((lower_bound(10, 10, 0.05) - 0.05f64.powf(0.1)).abs() < 1e-12);
        // 1 of n: 1 - (1-p)^n = error.
        assert!((lower_bound(1, 50, 0.05) - (1.0 - 0.95f64.powf(0.02))).abs() < 1e-12);
        assert_eq!(lower_bound(0, 50, 0.05), 0.0);
        assert!((at_least(500_100, 1_000_000, 0.5) - 0.421).abs() < 0.001);
    }

    #[test]
    fn equal_counts_show_no_loss_and_disjoint_ones_show_much() {
        let same = bounds(&[vec![500, 500], vec![500, 500]], 1000, 1.0, 0.0);
        assert!(same.epsilon <= 0.0 && same.delta <= 0.0, "{same:?}");
        let apart = bounds(&[vec![1000, 0], vec![0, 1000]], 1000, 1.0, 0.0);
        assert!(apart.epsilon > 3.0 && apart.delta > 0.9, "{apart:?}");
    }
}
