//! The device as a black box: driven over its line on two neighbouring trials, many times, and only
//! the replies kept.
//!
//! Each run is a device of its own, with flash in memory and the generator that ships, of its own
//! seed; the two trials of an [`Experiment`] differ in one patient t. The replies of a run, without
//! the arm of t, are put into one of a few categories, fixed beforehand. For every category and
//! every set of categories from some number up, the Clopper-Pearson bounds of its probability in
//! both trials bound epsilon and delta from below.
//!
//! # Replies that may not vary
//! Arms and reports are random, and the categories are made of them. All other replies depend on
//! public counts alone: those to outcomes, to the close, and to what anybody may ask
//! ([`Desk::probe_line`], without a report), which is asked after every patient whose number is a
//! multiple of [`PROBED`] and before the close, but never with t as the last patient. Without what
//! is random by design ([`public`]) they are the same in every run of both trials; so are flash
//! work and the moments of replies. They are
//! compared with those of a reference run, and if any byte differs, a reply depends on a patient or
//! on chance: nothing bounds the loss then, and it counts as infinite.
//!
//! # The attack on `interim` and `uniform`
//! [`residue`] plays the adversary who knows everything about the others. They have been recorded,
//! and a close has read one window of fair coins. Its row gives the effect E1/N1 - E0/N0 to a
//! millionth and the number of outcomes N, which is enough to find the four noisy cells near those
//! that the others' outcomes make. The difference, the residue, is t's outcome plus noise, in an
//! arm that is not known: E of both arms at least 1 and G of both at most 0 is e^epsilon times as
//! likely if t's outcome is 1 as if it is 0, and at epsilon 1 that is seen in every tenth run. So a
//! few thousand runs show a good part of epsilon, and more than epsilon if noise is halved.
//!
//! # False alarms
//! All bounds of an experiment hold together with probability at least 1 - [`FALSE_ALARMS`]: the
//! error is shared out evenly over all bounds (Bonferroni). So a device that keeps its claim is
//! said to exceed it with probability at most that. The seeds are fixed: the same runs give the
//! same answer every time. A pass proves nothing beyond these sets; the exact audit does.

use rayon::prelude::*;

use super::desk::{Beside, Desk, Fault, arm_of};
use super::finding::{Finding, Method, claim};
use super::loss::Loss;
use equipoise::device::generator::{Generator, Seeded};
use equipoise::device::health::Repeatable;
use equipoise::plan::Plan;
use equipoise::terms::Arm;

/// Probability that any bound of an experiment is wrong.
pub const FALSE_ALARMS: f64 = 1e-6;
/// Pages of flash of a device.
const PAGES: usize = 32;
/// After every patient whose number is a multiple of this, a device is asked all that anybody may
/// ask.
const PROBED: u32 = 8;
/// Residues are sought up to this size: noise beyond it has a probability below 1/400 a cell at
/// epsilon 1.
const FARTHEST: i64 = 12;

/// Two neighbouring trials, and what is made of the replies.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// Short description.
    pub about: &'static str,
    /// The plan.
    pub plan: Plan,
    /// Feature and outcome of every patient, in the one trial and in the other. The custodian
    /// closes the trial after them.
    pub trials: [Vec<(u8, u16)>; 2],
    /// The patient, from 0, in whom the two differ.
    pub open: usize,
    /// The category of what was seen.
    pub category: fn(&Seen) -> usize,
}

/// Facts that the adversary knows at the end of a run.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// E0, G0, E1, G1 of all patients but t, from their arms and outcomes.
    pub others: [i64; 4],
    /// The rows of the report: estimate in millionths, outcomes.
    pub rows: Vec<(i64, i64)>,
    /// Replies that are the same in every run of both trials, flash work and moments of replies.
    pub transcript: String,
}

/// Replies without what is random by design: nonces, the id of the trial and what is computed from
/// it (a checksum, a proof of presence), and the arm in the reply that was `given` to the last
/// patient, if it comes again just as it was.
fn public(replies: &str, given: &str) -> String {
    let mut kept = String::new();
    for line in replies.split_inclusive('\n') {
        if line == given {
            kept += "the same arm\n";
        } else if line.starts_with("NONCE ") {
            kept += "a nonce\n";
        } else if line.starts_with("PROOF ") {
            kept += "a proof\n";
        } else if let Some((before, named)) = line.split_once("trial=") {
            let after = named.find(' ').map_or("", |end| &named[end..]);
            let (text, checksum) = after.rsplit_once('*').unwrap_or((after, ""));
            kept += before;
            kept += text;
            kept += checksum.get(4..).unwrap_or("");
        } else {
            kept += line;
        }
    }
    kept
}

/// The rows of a report.
fn rows(replies: &str) -> Vec<(i64, i64)> {
    let row = |line: &str| {
        let mut words = line.split('*').next()?.split_ascii_whitespace();
        (words.next()? == "ROW").then_some(())?;
        let [_, estimate, _, _, _, outcomes] = std::array::from_fn(|_| words.next());
        let millionths = (estimate?.parse::<f64>().ok()? * 1e6).round() as i64;
        Some((millionths, outcomes?.parse().ok()?))
    };
    replies.lines().filter_map(row).collect()
}

/// The noisy cells less what the others put in, if the row gives them away: E0, G0, E1, G1.
fn residue(seen: &Seen) -> Option<[i64; 4]> {
    let (effect, outcomes) = *seen.rows.first()?;
    let others: i64 = seen.others.iter().sum();
    let range = -FARTHEST..=FARTHEST;
    let mut found: Option<[i64; 4]> = None;
    for e0 in range.clone() {
        for g0 in range.clone() {
            for e1 in range.clone() {
                let g1 = outcomes - others - e0 - g0 - e1;
                let residue = [e0, g0, e1, g1];
                let [zero_e, zero_g, one_e, one_g] =
                    core::array::from_fn(|i| (seen.others[i] + residue[i]) as f64);
                let effect_here = one_e / (one_e + one_g) - zero_e / (zero_e + zero_g);
                let fits = g1.abs() <= FARTHEST && (effect_here * 1e6).round() as i64 == effect;
                // Of several the smallest, as the likeliest.
                let size = |cells: [i64; 4]| cells.iter().map(|cell| cell.abs()).sum::<i64>();
                if fits && found.is_none_or(|known| size(residue) < size(known)) {
                    found = Some(residue);
                }
            }
        }
    }
    found
}

/// 2: t's outcome looks like 1; 0: like 0; 1: neither.
fn verdict(seen: &Seen) -> usize {
    match residue(seen) {
        Some([e0, g0, e1, g1]) if e0.min(e1) >= 1 && g0.max(g1) <= 0 => 2,
        Some([e0, g0, e1, g1]) if g0.min(g1) >= 1 && e0.max(e1) <= 0 => 0,
        _ => 1,
    }
}

/// The experiments.
#[must_use]
pub fn experiments() -> Vec<Experiment> {
    let plan = super::suite::parse;
    // Enough others that noise leaves both arms far from empty.
    let mut outcome: Vec<(u8, u16)> = (0..60).map(|k| (0, u16::from(k % 3 != 0))).collect();
    let base = outcome.clone();
    outcome[0].1 = 1;
    let round: Vec<(u8, u16)> = (0..200).map(|k| (k % 10, 0)).collect();
    let mut moved = round.clone();
    moved[0].0 = 1;
    let cells = |about, text| Experiment {
        about,
        plan: plan(text),
        trials: [outcome.clone(), base.clone()],
        open: 0,
        category: verdict,
    };
    vec![
        cells(
            "closed early, outcome 1 or 0, cells from the report",
            "features=1 patients=256 epsilon=1",
        ),
        cells(
            "outcome 1 or 0, cells from the report",
            "design=uniform features=1 patients=60 epsilon=1",
        ),
        Experiment {
            about: "patient of one feature or another, rows with fewer than 10 patients",
            plan: plan("design=dp-conse features=10 patients=200 epsilon=1 alpha=0"),
            trials: [round, moved],
            open: 0,
            category: |seen| 10 - seen.rows.iter().filter(|(_, outcomes)| *outcomes < 10).count(),
        },
    ]
}

impl Experiment {
    /// Runs both trials so many times, on fixed seeds, and compares the bounds with the claim.
    #[must_use]
    pub fn finding(&self, runs: u32) -> Finding {
        self.finding_of::<Generator>(runs, None)
    }

    /// The same for devices with another generator, or with a fault.
    #[must_use]
    pub fn finding_of<G: Seeded>(&self, runs: u32, fault: Option<Fault>) -> Finding {
        let reference = self.run::<G>(0, 0, fault).transcript;
        let counts = [0, 1].map(|trial| self.count::<G>(trial, runs, fault, &reference));
        let claimed = claim(&self.plan);
        let (epsilon, delta) = claimed.map_or((0.0, 0.0), |claim| (claim.epsilon, claim.delta));
        let found = match counts {
            [Some(first), Some(second)] => bounds(&[first, second], runs, epsilon, delta),
            _ => Loss { epsilon: f64::INFINITY, delta: 1.0 },
        };
        let instance = format!(
            "M={} n={} eps={}, {}; {runs} runs a trial",
            self.plan.features(),
            self.plan.patients(),
            self.plan.epsilon(),
            self.about
        );
        Finding::new(self.plan.design(), Method::BlackBox, instance, claimed, found)
    }

    /// How often each category came up; `None` if a run has another transcript than the reference.
    fn count<G: Seeded>(
        &self,
        trial: usize,
        runs: u32,
        fault: Option<Fault>,
        reference: &str,
    ) -> Option<Vec<u32>> {
        let seed = |run: u32| u64::from(run) << 1 | trial as u64;
        let sum = |mut a: Vec<u32>, b: Vec<u32>| {
            a.resize(a.len().max(b.len()), 0);
            a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
            Some(a)
        };
        let one = |mut counts: Vec<u32>, run| {
            let seen = self.run::<G>(trial, seed(run), fault);
            if seen.transcript != reference {
                return None;
            }
            let category = (self.category)(&seen);
            counts.resize(counts.len().max(category + 1), 0);
            counts[category] += 1;
            Some(counts)
        };
        (0..runs).into_par_iter().try_fold(Vec::new, one).try_reduce(Vec::new, sum)
    }

    /// Runs one device through one trial and returns what it shows.
    fn run<G: Seeded>(&self, trial: usize, seed: u64, fault: Option<Fault>) -> Seen {
        let entropy = Repeatable::new(seed);
        let mut desk = Desk::<10, 8, Repeatable, G>::new(&self.plan, entropy, PAGES, fault)
            .unwrap_or_else(|refused| {
                panic!("the device refuses the plan of the audit: {refused}")
            });
        // A fault reads raw cells, which the main loop hides under noise as soon as it can.
        if fault.is_none() {
            desk = desk.stepping();
        }
        let mut seen = Seen::default();
        let mut given = String::new();
        for (patient, (feature, y)) in (1..).zip(&self.trials[trial]) {
            let is_open = patient == self.open as u32 + 1;
            if is_open {
                desk.hide(patient);
            }
            given = desk.assign(patient, (*feature).into());
            seen.transcript += &desk.ask(&format!("OUTCOME {patient} {y}"));
            if is_open {
                continue;
            }
            let one = arm_of(&given) == Some(Arm::One);
            seen.others[usize::from(*y == 0) + if one { 2 } else { 0 }] += 1;
            if patient.is_multiple_of(PROBED) {
                seen.transcript += &public(&desk.probe_line(false), &given);
            }
        }
        seen.transcript += &public(&desk.probe_line(false), &given);
        seen.transcript += &desk.order("CLOSE");
        let Beside { flash, moments, .. } = desk.beside();
        seen.transcript += &format!("{flash:?} {moments:?}");
        seen.rows = rows(&desk.ask("REPORT"));
        seen
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

    /// Nonces, ids, the checksums over them and a repeated arm go; any other byte stays, to the
    /// last space.
    #[test]
    fn public_part_keeps_every_other_byte() {
        let given = "ARM 8 1*0000\n";
        let seen = "STATUS trial=12ab file=7 n=60*BEEF\n OK*1234\nARM 8 1*0000\nARM 8 0*0000\nNONCE 12*7\nPROOF 34*8\n";
        let expected =
            "STATUS  file=7 n=60\n OK*1234\nthe same arm\nARM 8 0*0000\na nonce\na proof\n";
        assert_eq!(public(seen, given), expected);
    }

    /// The bound is the probability at which the tail has the error.
    #[test]
    fn a_lower_bound_is_where_the_tail_has_the_error() {
        // 10 of 10 at error 5 %: p^10 = 0.05.
        assert!((lower_bound(10, 10, 0.05) - 0.05f64.powf(0.1)).abs() < 1e-12);
        // 1 of n: 1 - (1-p)^n = error.
        assert!((lower_bound(1, 50, 0.05) - (1.0 - 0.95f64.powf(0.02))).abs() < 1e-12);
        assert_eq!(lower_bound(0, 50, 0.05), 0.0);
        assert!((at_least(500_100, 1_000_000, 0.5) - 0.421).abs() < 0.001);
    }

    /// Equal counts show no loss, and counts without a common category show much.
    #[test]
    fn bounds_of_equal_and_disjoint_counts() {
        let same = bounds(&[vec![500, 500], vec![500, 500]], 1000, 1.0, 0.0);
        assert!(same.epsilon <= 0.0 && same.delta <= 0.0, "{same:?}");
        let apart = bounds(&[vec![1000, 0], vec![0, 1000]], 1000, 1.0, 0.0);
        assert!(apart.epsilon > 3.0 && apart.delta > 0.9, "{apart:?}");
    }
}
