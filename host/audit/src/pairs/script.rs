//! Chance of two devices that must show the same.

use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::VecDeque;

use super::super::enumerator::rate;
use super::PairFault;
use equipoise::chance::{Chance, Fraction, Sampler};
use equipoise::noise::Laplace;

/// Chance for one operation of one device.
#[derive(Default)]
pub(super) struct Script {
    pub(super) words: Option<Sampler<Xoshiro256PlusPlus>>,
    /// t's coin, which nobody sees.
    pub(super) hidden: Option<bool>,
    /// Answers of coins: to repeat, or given so far.
    pub(super) answers: VecDeque<bool>,
    /// Noise for the draws to come.
    pub(super) noise: VecDeque<i64>,
    pub(super) fault: Option<PairFault>,
    /// The answers to repeat are turned over.
    pub(super) swapped: bool,
    pub(super) drawn: usize,
    /// ln P of all answers.
    pub(super) log: f64,
    /// Chance was asked for more, or for other things, than in the other trial.
    pub(super) strange: bool,
}

impl Script {
    fn answer(
        &mut self,
        p: f64,
        heads: impl FnOnce(&mut Sampler<Xoshiro256PlusPlus>) -> bool,
    ) -> bool {
        if let Some(hidden) = self.hidden {
            return hidden;
        }
        let heads = match &mut self.words {
            Some(words) => {
                let heads = heads(words);
                self.answers.push_back(heads);
                heads
            }
            None => match self.answers.pop_front() {
                Some(heads) => heads != self.swapped,
                None => {
                    self.strange = true;
                    false
                }
            },
        };
        self.log += if heads { p.ln() } else { (-p).ln_1p() };
        heads
    }
}

impl Chance for Script {
    fn coin(&mut self) -> bool {
        self.answer(0.5, Chance::coin)
    }

    fn biased_coin(&mut self, p: Fraction) -> bool {
        self.answer(f64::from(p.0) / 4_294_967_296.0, |words| words.biased_coin(p))
    }

    fn discrete_laplace(&mut self, law: &Laplace) -> i64 {
        let rate = rate(law);
        let Some(k) = self.noise.pop_front() else {
            self.strange = true;
            return 0;
        };
        self.log += (rate / 2.0).tanh().ln() - rate * k.unsigned_abs() as f64;
        self.drawn += 1;
        self.fault.map_or(k, |fault| fault(self.drawn - 1, k))
    }

    fn lap_plus(&mut self, center: u64, _: &Laplace) -> u64 {
        self.strange = true;
        center
    }
}
