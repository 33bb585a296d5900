//! Privacy loss from laws: the smallest epsilon, and delta at a given one.
//!
//! Two laws P and Q of what is seen are (epsilon, delta)-close when P(S) <= e^epsilon Q(S) + delta
//! for every set S of sights. The least delta is the sum over sights of max(0, P - e^epsilon Q);
//! the least epsilon at delta = 0 is the largest ln(P/Q).

use std::collections::HashMap;

/// Mass that is put down to tails left out and to rounding, never more.
pub const ALLOWANCE: f64 = 1e-11;

/// Privacy loss found for one family of trials that differ in one patient.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Loss {
    /// The smallest epsilon for which delta is at most [`ALLOWANCE`]; infinite if there is none.
    pub epsilon: f64,
    /// The least delta at the epsilon that was claimed, the mass left out added.
    pub delta: f64,
}

impl Loss {
    /// No loss at all.
    pub const NONE: Self = Self { epsilon: 0.0, delta: 0.0 };

    /// The worse of both in each figure.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self { epsilon: self.epsilon.max(other.epsilon), delta: self.delta.max(other.delta) }
    }
}

/// The laws of what is seen, side by side, under each of several records of one patient.
#[derive(Clone, Debug)]
pub struct Laws {
    /// Sights whose probabilities stand in the same proportions are one entry.
    sights: HashMap<Box<[u64]>, Box<[f64]>>,
    records: usize,
}

/// A weight rounded to 36 bits, so that sums made in another order fall together.
#[must_use]
pub fn rounded(weight: f64) -> u64 {
    (weight.to_bits() + (1 << 15)) >> 16
}

impl Laws {
    /// No sights yet.
    #[must_use]
    pub fn new(records: usize) -> Self {
        Self { sights: HashMap::new(), records }
    }

    /// Adds a sight with its probability under each record.
    pub fn add(&mut self, weights: &[f64]) {
        let largest = weights.iter().copied().fold(0.0, f64::max);
        let key = weights.iter().map(|w| rounded(w / largest)).collect();
        let sums = self.sights.entry(key).or_insert_with(|| vec![0.0; weights.len()].into());
        sums.iter_mut().zip(weights).for_each(|(sum, w)| *sum += w);
    }

    /// Probabilities of sights that cannot be told apart, one entry a record.
    pub fn sights(&self) -> impl Iterator<Item = &[f64]> {
        self.sights.values().map(|weights| &**weights)
    }

    /// Sum of the weights of a record's sights: 1 less the mass left out.
    #[must_use]
    pub fn total(&self, record: usize) -> f64 {
        self.sights().map(|w| w[record]).sum()
    }

    /// The worst ordered pair of records.
    #[must_use]
    pub fn worst(&self, claimed: f64) -> Loss {
        let mut worst = Loss::NONE;
        for p in 0..self.records {
            let missing = f64::max(0.0, 1.0 - self.total(p));
            for q in (0..self.records).filter(|q| *q != p) {
                let pair = || self.sights().map(|w| (w[p], w[q]));
                let epsilon = smallest_epsilon(pair, worst.epsilon);
                worst = worst.or(Loss { epsilon, delta: delta(pair(), claimed) + missing });
            }
        }
        worst
    }
}

/// The least delta of a pair of laws at `epsilon`.
pub fn delta(pair: impl Iterator<Item = (f64, f64)>, epsilon: f64) -> f64 {
    let factor = epsilon.exp();
    // Below a relative 1e-12 the difference is rounding.
    pair.map(|(p, q)| p - factor * q * (1.0 + 1e-12)).filter(|excess| *excess > 0.0).sum()
}

/// The smallest epsilon with a delta of at most [`ALLOWANCE`], or anything up to `known` if it is
/// below that.
pub fn smallest_epsilon<I: Iterator<Item = (f64, f64)>>(pair: impl Fn() -> I, known: f64) -> f64 {
    let within = |epsilon| delta(pair(), epsilon) <= ALLOWANCE;
    if within(known) {
        return known;
    }
    let unmatched: f64 = pair().filter(|(_, q)| *q == 0.0).map(|(p, _)| p).sum();
    if unmatched > ALLOWANCE {
        return f64::INFINITY;
    }
    let ratio = |(p, q): (f64, f64)| if p > 0.0 && q > 0.0 { (p / q).ln() } else { 0.0 };
    let (mut low, mut high) = (known, pair().map(ratio).fold(known, f64::max));
    while high - low > 1e-12 {
        let middle = f64::midpoint(low, high);
        if middle <= low || middle >= high {
            break;
        }
        if within(middle) { high = middle } else { low = middle }
    }
    high
}
