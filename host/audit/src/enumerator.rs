//! Every answer chance can give, each with its exact probability.
//!
//! [`Enumerator`] is a [`Chance`] that does not draw but chooses: [`Enumerator::every`] runs an
//! operation again and again, each time along the next path of choices, until all have been taken.
//! The operation is the code that ships; it cannot tell the enumerator from a sampler.
//! Probabilities are products of f64 and exact to about 1e-15 each.
//!
//! Coins have two answers, noise has infinitely many. What is left out, and why no loss is hidden:
//! * A **noise** draw k is walked where cell + k lies in a *frame* of cells that the caller gives,
//!   widened on both sides until the part outside has a mass of at most [`TAIL`]. The frame is the
//!   same for all trials that are compared, so every ledger inside it has its full probability in
//!   every one of them, and no ratio is changed by the cut. The mass outside is missing from the
//!   sum of the weights; the caller counts it as delta.
//! * A draw whose frame is a single cell value is not walked: its noise is **given** as 0. The cell
//!   then is the same in all trials that are compared, its noise has one law in all of them, and
//!   the laws found are those given this noise.
//! * A **length** above the horizon is never reached, so all such lengths are one answer. Nothing
//!   is left out.

use equipoise::chance::{Chance, Fraction};
use equipoise::noise::{Laplace, Rate};

/// Most mass of one noise draw that is left out. A trial makes a few draws and leaves out at most
/// 1e-12 in all.
pub const TAIL: f64 = 2e-13;

/// Walks every answer of an operation.
#[derive(Debug, Default)]
pub struct Enumerator {
    /// The answer taken at each question, and how many there were.
    path: Vec<(usize, usize)>,
    asked: usize,
    weight: f64,
    /// Lowest and highest noise, before the tails, of each draw to come; `None` where it is given.
    frame: Vec<Option<(i64, i64)>>,
    drawn: usize,
    horizon: u64,
    /// The law of the last draw: its rate, the rate as a double, the farthest noise, P(0).
    law: Option<(Rate, f64, i64, f64)>,
}

impl Enumerator {
    /// The results of `operation` on every path with their probabilities. `frame` holds, for each
    /// noise draw in order, the noise that brings its cell to the ends of the frame; `horizon`
    /// is the number of patients.
    pub fn every<T>(
        horizon: u32,
        frame: &[Option<(i64, i64)>],
        mut operation: impl FnMut(&mut Self) -> T,
    ) -> Vec<(f64, T)> {
        let mut walk = Self {
            path: Vec::new(),
            asked: 0,
            weight: 1.0,
            frame: frame.into(),
            drawn: 0,
            horizon: horizon.into(),
            law: None,
        };
        let mut results = Vec::new();
        loop {
            (walk.asked, walk.weight, walk.drawn) = (0, 1.0, 0);
            let result = operation(&mut walk);
            results.push((walk.weight, result));
            while walk.path.last().is_some_and(|(taken, options)| taken + 1 == *options) {
                walk.path.pop();
            }
            match walk.path.last_mut() {
                Some((taken, _)) => *taken += 1,
                None => return results,
            }
        }
    }

    fn choose(&mut self, options: usize) -> usize {
        if self.asked == self.path.len() {
            self.path.push((0, options));
        }
        self.asked += 1;
        self.path[self.asked - 1].0
    }

    /// Passes over the frame of a draw that is not made (for mechanisms broken on purpose).
    pub fn pass(&mut self) {
        self.drawn += 1;
    }
}

/// Farthest noise that must be walked for the mass beyond it, on both sides, to be at most
/// [`TAIL`].
fn reach(rate: f64) -> i64 {
    // 2 q^(k+1) / (1+q) <= TAIL
    let mut k = 0;
    while 2.0 * (-rate * (k + 1) as f64).exp() / (1.0 + (-rate).exp()) > TAIL {
        k += 1;
    }
    k
}

/// The rate of a law as a double.
#[must_use]
pub fn rate(law: &Laplace) -> f64 {
    law.rate().num() as f64 / law.rate().den() as f64
}

/// P(k) of the discrete Laplace law.
#[must_use]
pub fn laplace(rate: f64, k: i64) -> f64 {
    (rate / 2.0).tanh() * (-rate * k.unsigned_abs() as f64).exp()
}

/// P(value) of the law around `center`, conditioned on being at least 0.
#[must_use]
pub fn lap_plus(rate: f64, center: u64, value: u64) -> f64 {
    let norm = rate.exp_m1() / (rate.exp() + 1.0 - (-rate * center as f64).exp());
    norm * (-rate * value.abs_diff(center) as f64).exp()
}

impl Chance for Enumerator {
    fn coin(&mut self) -> bool {
        self.weight *= 0.5;
        self.choose(2) == 1
    }

    fn biased_coin(&mut self, p: Fraction) -> bool {
        if p.0 == 0 {
            return false;
        }
        let heads = f64::from(p.0) / 4_294_967_296.0;
        let answer = self.choose(2) == 1;
        self.weight *= if answer { heads } else { 1.0 - heads };
        answer
    }

    fn discrete_laplace(&mut self, law: &Laplace) -> i64 {
        let known = self.law.filter(|(known, ..)| *known == law.rate());
        let (_, rate, reach, none) = *self.law.insert(known.unwrap_or_else(|| {
            let rate = rate(law);
            (law.rate(), rate, reach(rate), laplace(rate, 0))
        }));
        let frame = self.frame.get(self.drawn).copied().unwrap_or(Some((0, 0)));
        self.drawn += 1;
        let Some((low, high)) = frame else { return 0 };
        let (low, high) = (low - reach, high + reach);
        let k = low + self.choose((high - low + 1) as usize) as i64;
        self.weight *= none * (-rate * k.unsigned_abs() as f64).exp();
        k
    }

    fn lap_plus(&mut self, center: u64, law: &Laplace) -> u64 {
        let rate = rate(law);
        let within = |horizon| (0..=horizon).map(|value| lap_plus(rate, center, value));
        let beyond = f64::max(0.0, 1.0 - within(self.horizon).sum::<f64>());
        let options = within(self.horizon).chain([beyond]);
        // Lengths whose probability is lost in the rounding of a double are left out.
        let possible: Vec<_> = options.enumerate().filter(|(_, p)| *p > 1e-16).collect();
        let (value, p) = possible[self.choose(possible.len())];
        self.weight *= p;
        value as u64
    }
}
