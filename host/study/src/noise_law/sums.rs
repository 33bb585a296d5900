//! Sums of outcomes by kind and arm held against those of a report, under the law of the noise.
//!
//! A report tells of each kind of patient and each arm the noisy number of outcomes and their noisy
//! mean. From them follow two sums: of the outcomes, and of what they lack to the scale. Each has
//! the noise of its cells and windows. Those who hold the true outcomes can compare.
//!
//! # Measures
//! Mistakes have different shapes, so several measures are taken: all squared differences together;
//! for each arm the sum of outcomes over all kinds against the number of them, which moves where
//! values were changed; and for each arm the number of outcomes, which moves where outcomes are
//! missing or there twice. The verdict goes by the measure that is the least likely one.
//!
//! # Law
//! The law of all measures together is found by drawing: the sampler that ships makes noise for the
//! true sums, and numbers and means follow from it as the device computes them, with every rounding
//! and bound. The verdict is the rank of what was reported among the draws, so right sums are
//! called wrong as often as the level says, however the measures depend on each other.

use equipoise::chance::{Chance, DeviceSampler};
use equipoise::noise::Laplace;
use equipoise::plan::{Better, Plan};

use super::{FINE_SCALE, SEED};

/// Draws of all measures.
const DRAWS: usize = 4000;

/// True outcomes of a kind and an arm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Their number.
    pub outcomes: u32,
    /// Their sum.
    pub total: u64,
}

impl Tally {
    /// Adds an outcome.
    pub fn add(&mut self, outcome: u16) {
        self.outcomes += 1;
        self.total += u64::from(outcome);
    }

    /// Adds those of another tally.
    pub fn join(&mut self, other: Self) {
        self.outcomes += other.outcomes;
        self.total += other.total;
    }
}

/// Noisy outcomes of a kind and an arm, as a report tells them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Told {
    /// Their number.
    pub outcomes: u32,
    /// Their mean over the scale.
    pub mean: f64,
}

impl Told {
    /// The sum of outcomes over the scale, and what they lack to it.
    fn sums(self) -> [f64; 2] {
        let all = f64::from(self.outcomes);
        [all * self.mean, all * (1.0 - self.mean)]
    }
}

/// A kind of patient: arm 0 and arm 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Kind {
    /// True outcomes.
    pub truth: [Tally; 2],
    /// Reported ones.
    pub told: [Told; 2],
    /// Windows that were read, each with fresh noise in every cell.
    pub windows: u32,
}

/// A measure of the difference between true and reported sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// All kinds and arms, one by one.
    Kinds,
    /// Values of outcomes of an arm, all kinds together; 0 for both arms of a blinded trial.
    Values(usize),
    /// Number of outcomes of an arm, all kinds together.
    Numbers(usize),
}

/// Result of a comparison.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Verdict {
    /// Probability of so large a difference, or a larger one, if all is right.
    pub probability: f64,
    /// The measure that is the least likely one.
    pub measure: Measure,
}

/// The noise of a plan, and how a device reports sums.
struct Law {
    noise: Laplace,
    scale: f64,
    /// Amount that one outcome adds to the cells.
    weight: f64,
    has_spread: bool,
    is_turned: bool,
}

impl Law {
    fn new(plan: &Plan) -> Self {
        let scale = plan.scale();
        let unit = if scale <= FINE_SCALE { scale } else { 1 };
        Self {
            noise: Laplace::new(plan.cell_rate()),
            scale: scale.into(),
            weight: f64::from(unit) * f64::from(scale),
            has_spread: scale > 1,
            is_turned: plan.better() == Better::Low,
        }
    }

    /// The sum over the scale, and what is lacking to it.
    fn sums(&self, tally: Tally) -> [f64; 2] {
        let sum = tally.total as f64 / self.scale;
        [sum, f64::from(tally.outcomes) - sum]
    }

    /// A report of these outcomes with fresh noise, as `design::ledger` computes it.
    fn draw(&self, tally: Tally, windows: u32, chance: &mut impl Chance) -> Told {
        let mut noise = || {
            (0..windows).map(|_| chance.discrete_laplace(&self.noise)).sum::<i64>() as f64
                / self.weight
        };
        let (high, low) = (noise(), noise());
        let spread = if self.has_spread { noise() } else { 0.0 };
        let [sum, rest] = self.sums(tally);
        let counted = if self.is_turned { rest } else { sum };
        let all = f64::from(tally.outcomes) + high + spread + low;
        let mean = ((counted + high + spread / 2.0) / all.max(1.0)).clamp(0.0, 1.0);
        let mean = if self.is_turned { 1.0 - mean } else { mean };
        Told { outcomes: all.max(0.0).round() as u32, mean }
    }

    /// Differences of sums of a kind: of arm 0 and arm 1, or of both together.
    fn differences(&self, kind: &Kind, told: [Told; 2], by_arm: bool) -> Vec<[f64; 2]> {
        let arms = kind.truth.iter().zip(told).map(|(truth, told)| {
            let ([sum, rest], [of_sum, of_rest]) = (told.sums(), self.sums(*truth));
            [sum - of_sum, rest - of_rest]
        });
        if by_arm {
            return arms.collect();
        }
        vec![arms.fold([0.0; 2], |[sum, rest], [s, r]| [sum + s, rest + r])]
    }
}

/// The true outcomes of both arms together, shared out as the report does: in a blinded trial
/// nobody who holds a chart knows arms, and only bounds at 0 depend on the shares.
#[must_use]
pub fn shared_out(both: Tally, told: [Told; 2]) -> [Tally; 2] {
    let share = |parts: [f64; 2]| {
        let [zero, one] = parts;
        if zero + one > 0.0 { zero / (zero + one) } else { 0.5 }
    };
    let [zero, one] = told.map(Told::sums);
    let events = (both.total as f64 * share([zero[0], one[0]])).round() as u64;
    let outcomes = share(told.map(|told| f64::from(told.outcomes)));
    let outcomes = (f64::from(both.outcomes) * outcomes).round() as u32;
    let first = Tally { outcomes, total: events };
    let second = Tally { outcomes: both.outcomes - outcomes, total: both.total - events };
    [first, second]
}

/// Compares the sums of a chart with those of a report; none without kinds. Without `by_arm` both
/// arms are taken together.
#[must_use]
pub fn compare(plan: &Plan, kinds: &[Kind], by_arm: bool) -> Option<Verdict> {
    compare_with(plan, kinds, by_arm, DRAWS)
}

/// The same with this many draws.
#[must_use]
pub fn compare_with(plan: &Plan, kinds: &[Kind], by_arm: bool, count: usize) -> Option<Verdict> {
    if kinds.is_empty() {
        return None;
    }
    let law = Law::new(plan);
    let mut chance = DeviceSampler::seed_from_u64(SEED);
    let found: Vec<[f64; 2]> =
        kinds.iter().flat_map(|kind| law.differences(kind, kind.told, by_arm)).collect();
    let mut draws: Vec<Vec<[f64; 2]>> = Vec::with_capacity(count + 1);
    for _ in 0..count {
        let drawn = kinds.iter().flat_map(|kind| {
            let told = kind.truth.map(|tally| law.draw(tally, kind.windows, &mut chance));
            law.differences(kind, told, by_arm)
        });
        draws.push(drawn.collect());
    }
    // Bounds at 0 move the middle of small sums.
    let moments = moments(&draws);
    draws.push(found);
    let arms = if by_arm { 2 } else { 1 };
    let measures = (0..arms).flat_map(|arm| [Measure::Values(arm), Measure::Numbers(arm)]);
    // Of equally rare ones the first is told, so the one that says least comes last.
    let measures: Vec<Measure> = measures.chain([Measure::Kinds]).collect();
    // The least likely measure of each draw, and of what was found, which is the last one.
    let mut least = vec![(usize::MAX, Measure::Kinds); draws.len()];
    for measure in measures {
        let values: Vec<f64> =
            draws.iter().map(|draw| size(measure, arms, draw, &moments)).collect();
        let mut sorted = values.clone();
        sorted.sort_by(f64::total_cmp);
        for (value, least) in values.iter().zip(&mut least) {
            let above = sorted.len() - sorted.partition_point(|other| other < value);
            if above < least.0 {
                *least = (above, measure);
            }
        }
    }
    let (rank, measure) = *least.last()?;
    let as_rare = least.iter().filter(|(other, _)| *other <= rank).count();
    Some(Verdict { probability: as_rare as f64 / least.len() as f64, measure })
}

/// Mean and variance of each difference.
fn moments(draws: &[Vec<[f64; 2]>]) -> Vec<[(f64, f64); 2]> {
    let count = draws.len() as f64;
    let places = draws.first().map_or(0, Vec::len);
    let of = |place: usize, side: usize| {
        let mean = draws.iter().map(|draw| draw[place][side]).sum::<f64>() / count;
        let square = |draw: &Vec<[f64; 2]>| (draw[place][side] - mean).powi(2);
        (mean, draws.iter().map(square).sum::<f64>() / count)
    };
    (0..places).map(|place| [of(place, 0), of(place, 1)]).collect()
}

/// The size of a measure.
fn size(measure: Measure, arms: usize, draw: &[[f64; 2]], moments: &[[(f64, f64); 2]]) -> f64 {
    let centred = draw.iter().zip(moments).map(|(found, moments)| {
        [0, 1].map(|side| (found[side] - moments[side].0, moments[side].1))
    });
    let total = |arm: usize, sign: f64| {
        let own = centred.clone().skip(arm).step_by(arms);
        own.map(|[(sum, _), (rest, _)]| sum + sign * rest).sum::<f64>().abs()
    };
    match measure {
        Measure::Kinds => {
            let square = |(off, variance): (f64, f64)| off * off / variance.max(f64::MIN_POSITIVE);
            centred.clone().flatten().map(square).sum()
        }
        Measure::Values(arm) => total(arm, -1.0),
        Measure::Numbers(arm) => total(arm, 1.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(words: &str) -> Plan {
        let text = "design=uniform features=4 patients=400 epsilon=1";
        Plan::parse(&format!("{text} {words}")).unwrap()
    }

    fn tally(outcomes: u32, total: u64) -> Tally {
        Tally { outcomes, total }
    }

    /// Kinds as a device with this plan reports them.
    fn kinds(plan: &Plan, truth: [Tally; 2], seed: u64) -> Vec<Kind> {
        let (law, mut chance) = (Law::new(plan), DeviceSampler::seed_from_u64(seed));
        let mut kind = || {
            let told = truth.map(|tally| law.draw(tally, 2, &mut chance));
            Kind { truth, told, windows: 2 }
        };
        (0..4).map(|_| kind()).collect()
    }

    /// Right sums pass about as often as the level says, also where bounds at 0 and 1 cut the noise
    /// off, with outcomes turned round and with graded ones.
    #[test]
    fn right_sums_pass_at_the_level() {
        for (words, truth) in [
            ("better=high", [tally(50, 17), tally(50, 30)]),
            ("better=low", [tally(9, 0), tally(4, 1)]),
            ("better=high scale=10", [tally(40, 170), tally(60, 420)]),
        ] {
            let plan = plan(words);
            let alarm = |seed| {
                let kinds = kinds(&plan, truth, 1000_u64 + seed);
                compare_with(&plan, &kinds, true, 400).unwrap().probability < 0.05
            };
            let alarms = (0..80).filter(|seed| alarm(*seed)).count();
            // 4 of 80 are expected; more than 11 come once in 1,500 times.
            assert!(alarms <= 11, "{words}: {alarms} of 80");
        }
    }

    /// Changed values of an arm and missing outcomes are found, each by its own measure; without
    /// arms, both together.
    #[test]
    fn wrong_sums_are_found() {
        let plan = plan("better=high");
        let truth = [tally(50, 17), tally(50, 30)];
        let verdict = |change: fn(&mut Kind), by_arm| {
            let mut kinds = kinds(&plan, truth, 5);
            kinds.iter_mut().for_each(change);
            compare(&plan, &kinds, by_arm).unwrap()
        };
        let right = verdict(|_| (), true);
        assert!(right.probability > 0.05, "{right:?}");
        let values = verdict(|kind| kind.truth[1].total -= 9, true);
        assert!(values.probability < 0.01, "{values:?}");
        assert_eq!(values.measure, Measure::Values(1));
        let numbers = verdict(|kind| kind.truth[0] = tally(34, 11), true);
        assert!(numbers.probability < 0.01, "{numbers:?}");
        assert_eq!(numbers.measure, Measure::Numbers(0));
        let both = verdict(|kind| kind.truth[1].total -= 14, false);
        assert!(both.probability < 0.01, "{both:?}");
        assert_eq!(compare(&plan, &[], true), None);
    }
}
