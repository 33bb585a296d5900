//! The parts of a design whose laws are known in closed form, at full size: no enumeration, no
//! sampling.
//!
//! Each function computes the laws of what is seen in two neighbouring trials by sums over the
//! noise law and hands them to [`super::loss`]; the result is exact up to the rounding of f64
//! unless it says otherwise.
//!
//! # Algorithm 2 (`dp-conse`)
//! **[`boundary`]**: a batch of a feature ends at its R-th patient, R drawn as Lap+ around R_e at
//! rate epsilon/2. In one trial t is a patient of this feature, arriving after m others; in the
//! other t belongs elsewhere. Count the others in the batch, B. Without t, B = R. With t, B = R for
//! R <= m and B = R - 1 above, so B = m gets the mass of two lengths: it is the *gap* between two
//! patients in which the batch ends, not its length, that gives t away: a loss of
//! ln(1 + e^(epsilon/2)/2). An arm is dropped at
//! this boundary (the effect is taken to be large, so that this is certain); before it the others'
//! arms are fair coins, after it all are the survivor. An adversary who sees them sees exactly the
//! place L of the last patient with the dropped arm, P(L = l | B) = 2^-(B-l+1) for l = 1..B and
//! 2^-B for l = 0.
//!
//! **[`trial_lengths`]**: T_1..T_M are independent draws around one T_min; one patient of the
//! smallest feature moves T_min by 1, and with it all M laws. Seen: the T_j themselves
//! ([`Seen::Lengths`]), or only which second-half patients of each feature got which arm
//! ([`Seen::LaterArms`]): after the T_j-th all get the same one, and the place of the last who got
//! the other tells about T_j, as above. That is so where an arm was dropped, and also where both
//! are left and the "any" arm of Algorithm 2 is a fixed one; [`equipoise::design::conse`] throws a
//! coin there.
//!
//! **[`moved_patient`]**: a mean over R_e/2 pulls moves by up to 2/R_e with one patient, two units
//! of the noise's grid, whose rate is epsilon/2: a loss of epsilon a mean. A patient moved to
//! another feature moves two means. Seen: both noisy means ([`Seen::Means`]), or only whether an
//! arm was dropped in each feature ([`Seen::LaterArms`]), at the thresholds that tell most.
//!
//! # `interim` and `uniform`
//! **[`ledger`]**: t's outcome adds amounts to the cells E, F, G of one arm of one window that sum
//! to uY; another record adds the like to three others. Each cell carries noise of rate
//! epsilon/(2uY). All other windows, of all looks and all features, have equal laws in both trials
//! and add nothing, whatever n and M are.

use super::enumerator::{lap_plus, laplace};
use super::loss::{Loss, delta};
use equipoise::design::Epoch;

/// Results of a step of Algorithm 2 that the adversary sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// The drawn lengths T_j.
    Lengths,
    /// The noisy means.
    Means,
    /// The arms of later patients.
    LaterArms,
}

/// Noise beyond this many multiples of its scale has a mass below 1e-17.
const REACH: f64 = 40.0;

/// The loss at one boundary of a batch of epoch 1, for the place of t that tells most.
#[must_use]
pub fn boundary(patients: u32, epsilon: f64) -> Loss {
    let rate = epsilon / 2.0;
    let center = Epoch::new(1, patients, epsilon).length as u64;
    let top = center + (REACH / rate) as u64;
    let without: Vec<f64> = (0..=top + 1).map(|length| lap_plus(rate, center, length)).collect();
    // Beyond the last length the law goes on geometrically, in both trials.
    let beyond = 1.0 / (1.0 - (-rate).exp() / 2.0);
    let seen_without = last_dropped(&without, beyond);
    let from = center.saturating_sub((REACH / rate) as u64) as usize;
    let places = from..top as usize;
    places.fold(Loss::NONE, |worst, m| {
        let mut with = without.clone();
        with.remove(m);
        with[m] += without[m];
        let seen_with = last_dropped(&with, beyond);
        // Far from the center probabilities are too small to divide.
        let pairs = || seen_with.iter().copied().zip(seen_without.iter().copied()).skip(from);
        worst.or(pair_loss(pairs, epsilon)).or(pair_loss(|| pairs().map(|(p, q)| (q, p)), epsilon))
    })
}

/// The law of the place of the last patient with the dropped arm, from the law of the number of
/// coin-assigned patients. Its last entry counts `beyond` times: 1 if no larger number is possible.
fn last_dropped(lengths: &[f64], beyond: f64) -> Vec<f64> {
    let mut seen = vec![0.0; lengths.len()];
    let mut sum = 0.0;
    for (place, length) in lengths.iter().enumerate().rev() {
        let times = if place + 1 == lengths.len() { beyond } else { 1.0 };
        // The coin-assigned patients after this place all happened to get the survivor.
        sum = length * times + sum / 2.0;
        seen[place] = if place == 0 { sum } else { sum / 2.0 };
    }
    seen
}

fn pair_loss<I: Iterator<Item = (f64, f64)>>(pair: impl Fn() -> I, claimed: f64) -> Loss {
    const FAINT: f64 = 1e-250;
    let ratio = |(p, q): (f64, f64)| if p > FAINT && q > FAINT { (p / q).ln() } else { 0.0 };
    Loss { epsilon: pair().map(ratio).fold(0.0, f64::max), delta: delta(pair(), claimed) }
}

/// The loss through T_1..T_M when one patient moves T_min from `center` to `center - 1` (and back:
/// the worse of both).
///
/// `smallest` bounds how many second-half patients the smallest feature has; the others have
/// enough. With [`Seen::LaterArms`] losses are rounded down to a grid of 1e-5, so that delta is a
/// lower bound, short by less than 1e-4.
#[must_use]
pub fn trial_lengths(
    features: usize,
    epsilon: f64,
    center: u64,
    seen: Seen,
    smallest: Option<usize>,
) -> [Loss; 2] {
    let rate = epsilon / 2.0;
    let top = center + (REACH / rate) as u64;
    let law = |center| (0..=top).map(|length| lap_plus(rate, center, length)).collect::<Vec<_>>();
    let cut = |mut law: Vec<f64>, most: Option<usize>| {
        // A length beyond the feature's last patient ends with that patient.
        if let Some(most) = most.filter(|most| *most + 1 < law.len()) {
            law[most] += law.drain(most + 1..).sum::<f64>();
        }
        law
    };
    let sight = |center, most| match seen {
        Seen::LaterArms => last_dropped(&cut(law(center), most), 1.0),
        _ => law(center),
    };
    let directions = [(center, center - 1), (center - 1, center)];
    directions.map(|(here, there)| {
        let atoms = |most| LossLaw::of(&sight(here, most), &sight(there, most));
        let others = (1..features).fold(LossLaw::nothing(), |sum, _| sum.and(&atoms(None)));
        others.and(&atoms(smallest)).loss(epsilon)
    })
}

/// The loss through the noisy means of two features between which t is moved, outcomes yes/no.
#[must_use]
pub fn moved_patient(epsilon: f64, seen: Seen) -> Loss {
    let rate = epsilon / 2.0;
    let reach = (REACH / rate) as i64;
    /// 1/(R_e/2) in units of 1/R_e.
    const SHIFT: i64 = 2;
    let law = |shift: i64| (-reach..=reach).map(move |k| laplace(rate, k - shift));
    if seen == Seen::Means {
        let one = LossLaw::of(&law(SHIFT).collect::<Vec<_>>(), &law(0).collect::<Vec<_>>());
        return one.and(&one).loss(epsilon);
    }
    // An arm is dropped when the difference of two noisy means exceeds a threshold: P(difference >
    // x).
    let difference = |x: i64| {
        let above = |k: i64| (k + 1..=2 * reach).map(|j| laplace(rate, j)).sum::<f64>();
        let tails: Vec<f64> = (-3 * reach..=3 * reach).map(above).collect();
        (-reach..=reach)
            .map(|k| laplace(rate, k) * tails[(x + k + 3 * reach) as usize])
            .sum::<f64>()
    };
    let thresholds = -reach / 4..=reach / 4;
    thresholds.fold(Loss::NONE, |worst, x| {
        let (here, there) = (difference(x - SHIFT), difference(x));
        let both = |p: f64| [p * p, p * (1.0 - p), (1.0 - p) * p, (1.0 - p) * (1.0 - p)];
        worst.or(pair_loss(|| both(here).into_iter().zip(both(there)), epsilon))
    })
}

/// Delta at `epsilon` of a moved patient when only drops are seen and the noise is the paper's, on
/// the real line; the shipping noise is on a grid ([`moved_patient`]).
#[must_use]
pub fn published_drops(epsilon: f64) -> f64 {
    // P(N1 - N0 > x) for two Laplace variables of scale 1; a moved patient shifts x by epsilon.
    let tail = |x: f64| (2.0 + x.abs()) / 4.0 * (-x.abs()).exp();
    let above = |x: f64| if x < 0.0 { 1.0 - tail(x) } else { tail(x) };
    let thresholds = (-4000..=4000).map(|i| f64::from(i) / 1000.0);
    let excess = |x: f64| above(x).powi(2) - epsilon.exp() * above(x + epsilon).powi(2);
    thresholds.map(excess).fold(0.0, f64::max)
}

/// Amounts that an outcome adds to the cells E, F, G of its arm, and their sum uY.
pub(super) fn amounts(scale: u16, y: u16) -> ([i64; 3], f64) {
    let (whole, y) = (i64::from(scale), i64::from(y));
    let unit = if scale <= 100 { whole } else { 1 };
    let spread = if scale == 1 { 0 } else { unit * y * (whole - y) / whole };
    ([unit * y - spread, 2 * spread, unit * (whole - y) - spread], (unit * whole) as f64)
}

/// The loss of the whole noisy ledger of `interim` or `uniform` for two outcomes on a scale,
/// recorded in different windows.
#[must_use]
pub fn ledger(epsilon: f64, scale: u16, outcomes: [u16; 2]) -> Loss {
    let [(here, total), (there, _)] = outcomes.map(|y| amounts(scale, y));
    let rate = epsilon / (2.0 * total);
    let shifts = [here, there].concat();
    // A cell that t has shifted by s: the loss is rate * (|k| - |k - s|), a multiple of the rate.
    let reach = (REACH / rate) as i64;
    let mut sum = vec![1.0];
    for (cell, s) in shifts.into_iter().enumerate() {
        let mut atoms = vec![0.0; 2 * s as usize + 1];
        for k in -reach - s..=reach + s {
            // Seen is k. The first three cells are shifted here, the others in the other trial.
            let (here, there) = if cell < 3 { (k - s, k) } else { (k, k - s) };
            atoms[(there.abs() - here.abs() + s) as usize] += laplace(rate, here);
        }
        let mut next = vec![0.0; sum.len() + atoms.len() - 1];
        for (i, p) in sum.iter().enumerate() {
            atoms.iter().enumerate().for_each(|(j, q)| next[i + j] += p * q);
        }
        sum = next;
    }
    let zero = (sum.len() / 2) as f64;
    let loss = |i: usize| rate * (i as f64 - zero);
    let excess = |(i, p): (usize, &f64)| p * f64::max(0.0, -(epsilon - loss(i) + 1e-12).exp_m1());
    Loss {
        epsilon: sum
            .iter()
            .enumerate()
            .filter(|(_, p)| **p > 0.0)
            .map(|(i, _)| loss(i))
            .fold(0.0, f64::max),
        delta: sum.iter().enumerate().map(excess).sum(),
    }
}

/// The law of the privacy loss ln(P/Q) under P, on a grid.
struct LossLaw {
    /// Mass by loss in grid units, the first entry at `lowest`.
    mass: Vec<f64>,
    lowest: i64,
    /// The largest loss, not rounded.
    largest: f64,
}

impl LossLaw {
    const GRID: f64 = 1e-5;

    fn nothing() -> Self {
        Self { mass: vec![1.0], lowest: 0, largest: 0.0 }
    }

    fn of(p: &[f64], q: &[f64]) -> Self {
        let atoms: Vec<(f64, f64)> = p
            .iter()
            .zip(q)
            .filter(|(p, q)| **p > 0.0 && **q > 0.0)
            .map(|(p, q)| ((p / q).ln(), *p))
            .collect();
        // A hair up, so that a loss on the grid stays there.
        let unit = |loss: f64| (loss / Self::GRID + 1e-6).floor() as i64;
        let largest = atoms.iter().map(|a| a.0).fold(f64::NEG_INFINITY, f64::max);
        let lowest = atoms.iter().map(|a| unit(a.0)).min().unwrap_or(0);
        let mut mass = vec![0.0; (unit(largest) - lowest + 1) as usize];
        atoms.iter().for_each(|(loss, p)| mass[(unit(*loss) - lowest) as usize] += p);
        Self { mass, lowest, largest }
    }

    /// The loss of two independent sights.
    fn and(&self, other: &Self) -> Self {
        let mut mass = vec![0.0; self.mass.len() + other.mass.len() - 1];
        for (j, q) in other.mass.iter().enumerate().filter(|(_, q)| **q > 0.0) {
            self.mass.iter().enumerate().for_each(|(i, p)| mass[i + j] += p * q);
        }
        Self { mass, lowest: self.lowest + other.lowest, largest: self.largest + other.largest }
    }

    fn loss(&self, claimed: f64) -> Loss {
        let at = |i: usize| (self.lowest + i as i64) as f64 * Self::GRID;
        let excess = |(i, p): (usize, &f64)| p * f64::max(0.0, -(claimed - at(i)).exp_m1());
        Loss { epsilon: self.largest, delta: self.mass.iter().enumerate().map(excess).sum() }
    }
}
