//! A world of patients for tests of operating characteristics, around the shipping [`Trial`].
//!
//! It is a second simulator beside `equipoise simulate`: simpler, slower, and with circumstances
//! that the product's simulator does not have (steps at half, arrivals that change, early closes).

pub mod random;

use equipoise::chance::Sampler;
use equipoise::plan::Plan;
use equipoise::trial::Trial;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;

/// Which features the patients have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arrivals {
    Even,
    /// Feature j (from 1) with weight 1/j.
    Zipf,
    /// Even features are ten times as frequent as odd ones before half, then the other way round.
    Tenfold,
}

/// A plan and everything that patients do.
#[derive(Clone, Debug)]
pub struct Setting {
    pub plan: Plan,
    /// Mean outcome (0 to 1) under each arm at the start; odd features have them the other way
    /// round if `mirrored`.
    pub rates: [f64; 2],
    pub mirrored: bool,
    /// Gain of both means from the first patient to the last, linearly.
    pub drift: f64,
    /// Gain of both means at half.
    pub step: f64,
    /// Outcomes come this many patients late: least and most.
    pub delay: [usize; 2],
    /// Share of outcomes that are lost, per arm.
    pub lost: [f64; 2],
    pub arrivals: Arrivals,
    /// A graded outcome is the mean of this many coins, rounded at random to the scale.
    pub coins: u32,
    /// The trial closes when this share of its patients has been assigned.
    pub enrolled: f64,
}

impl Setting {
    /// Yes/no outcomes of evenly arriving patients, at once and complete.
    pub fn new(plan: &str, rates: [f64; 2]) -> Self {
        Self {
            plan: Plan::parse(&format!("{plan} better=high"))
                .unwrap_or_else(|error| panic!("{plan}: {error}")),
            rates,
            mirrored: false,
            drift: 0.0,
            step: 0.0,
            delay: [0, 0],
            lost: [0.0, 0.0],
            arrivals: Arrivals::Even,
            coins: 1,
            enrolled: 1.0,
        }
    }

    pub fn late(self, patients: usize) -> Self {
        Self { delay: [patients, patients], ..self }
    }

    fn rates_of(&self, feature: usize) -> [f64; 2] {
        let [zero, one] = self.rates;
        if self.mirrored && feature % 2 == 1 { [one, zero] } else { [zero, one] }
    }
}

/// Averages over trials and features.
#[derive(Clone, Copy, Debug, Default)]
pub struct Found {
    pub trials: f64,
    /// Share of features with an estimate.
    pub estimates: f64,
    pub regret: f64,
    pub mse: f64,
    pub bias: f64,
    /// Share of intervals that hold the effect, among the estimates.
    pub covered: f64,
    /// The same among features 0, 2, 4, .., whose arrivals fall if they change tenfold.
    pub covered_even: f64,
    even_estimates: f64,
    /// Share of intervals that exclude 0.
    pub excluded: f64,
    pub width: f64,
    /// regret * MSE / M, and its standard error as a share of it.
    pub product: f64,
    pub product_error: f64,
    /// Features settled at each look, and of these the ones whose interval holds the effect.
    pub by_look: [[f64; 2]; 32],
    /// Sums of squares of a trial's regret and squared errors, and of their product.
    squares: [f64; 3],
}

impl Found {
    fn plus(self, o: Self) -> Self {
        Self {
            trials: self.trials + o.trials,
            estimates: self.estimates + o.estimates,
            regret: self.regret + o.regret,
            mse: self.mse + o.mse,
            bias: self.bias + o.bias,
            covered: self.covered + o.covered,
            covered_even: self.covered_even + o.covered_even,
            even_estimates: self.even_estimates + o.even_estimates,
            excluded: self.excluded + o.excluded,
            width: self.width + o.width,
            by_look: std::array::from_fn(|look| {
                std::array::from_fn(|i| self.by_look[look][i] + o.by_look[look][i])
            }),
            squares: std::array::from_fn(|i| self.squares[i] + o.squares[i]),
            ..Self::default()
        }
    }

    /// Standard error of `covered` or `excluded` near 95 or 5 %.
    pub fn share_error(&self, features: f64) -> f64 {
        (0.95 * 0.05 / (self.trials * features * self.estimates)).sqrt()
    }
}

/// Runs `trials` of a setting; seeds differ between settings with different `seed`.
pub fn simulate(setting: &Setting, trials: u64, seed: u64) -> Found {
    let features = f64::from(setting.plan.features());
    let one = |run| one_trial(setting, seed << 32 | run);
    let sum = (0..trials).into_par_iter().map(one).reduce(Found::default, Found::plus);
    let estimates = sum.estimates.max(1.0);
    let (regret, squared) = (sum.regret / sum.trials, sum.mse / sum.trials);
    let variance = |square: f64, mean: f64| square / sum.trials - mean * mean;
    let covariance = sum.squares[2] / sum.trials - regret * squared;
    let relative = variance(sum.squares[0], regret) / regret.powi(2).max(1e-300)
        + variance(sum.squares[1], squared) / squared.powi(2)
        + 2.0 * covariance / (regret * squared).max(1e-300);
    Found {
        trials: sum.trials,
        estimates: sum.estimates / (sum.trials * features),
        regret,
        mse: sum.mse / estimates,
        bias: sum.bias / estimates,
        covered: sum.covered / estimates,
        covered_even: sum.covered_even / sum.even_estimates.max(1.0),
        even_estimates: sum.even_estimates,
        excluded: sum.excluded / estimates,
        width: sum.width / estimates,
        product: regret * sum.mse / estimates / features,
        product_error: (relative.max(0.0) / sum.trials).sqrt(),
        by_look: sum.by_look,
        squares: sum.squares,
    }
}

/// One trial.
fn one_trial(setting: &Setting, seed: u64) -> Found {
    let plan = setting.plan;
    let (n, m) = (plan.patients() as usize, usize::from(plan.features()));
    let enrolled = ((n as f64 * setting.enrolled).round() as usize).clamp(1, n);
    let mut world = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut chance = Sampler::<Xoshiro256PlusPlus>::seed_from_u64(!seed);
    let mut uniform = || (world.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
    let mut trial = Trial::<64, 8192>::new(plan).unwrap();
    let mut found = Found { trials: 1.0, ..Found::default() };
    let days = setting.delay[1] + 1;
    let mut calendar: Vec<Vec<(u32, Option<u16>)>> = vec![Vec::new(); days];
    for patient in 1..=enrolled + setting.delay[1] {
        if patient <= enrolled {
            let late = patient > n / 2;
            let feature = arrival(setting.arrivals, m, late, uniform());
            let arm = trial.assign(feature as u8, None, &mut chance).unwrap().index();
            let rates = setting.rates_of(feature);
            found.regret += (rates[1 - arm] - rates[arm]).max(0.0);
            let gain =
                setting.drift * patient as f64 / n as f64 + if late { setting.step } else { 0.0 };
            let p = rates[arm] + gain;
            let heads = (0..setting.coins).filter(|_| uniform() < p).count() as f64;
            let exact = heads * f64::from(plan.scale()) / f64::from(setting.coins);
            let y = exact.floor() + f64::from(u8::from(uniform() < exact.fract()));
            let lost = uniform() < setting.lost[arm];
            let [least, most] = setting.delay;
            let due = patient + least + (uniform() * (most - least + 1) as f64) as usize;
            calendar[due % days].push((patient as u32, (!lost).then_some(y as u16)));
        }
        for (patient, y) in std::mem::take(&mut calendar[patient % days]) {
            let done = match y {
                Some(y) => trial.outcome(patient, y, &mut chance),
                None => trial.lost(patient, &mut chance),
            };
            done.unwrap();
        }
    }
    trial.close(&mut chance);
    let mut squared = 0.0;
    for feature in 0..m {
        let Some(estimate) = trial.estimate(feature as u8) else { continue };
        let rates = setting.rates_of(feature);
        let effect = rates[1] - rates[0];
        let error = estimate.effect.clamp(-1.0, 1.0) - effect;
        found.estimates += 1.0;
        squared += error * error;
        found.bias += if effect < 0.0 { -error } else { error };
        // The ends of an effect at 0.6 - 0.6 carry rounding.
        let inside = estimate.low() <= effect + 1e-12 && effect <= estimate.high() + 1e-12;
        found.covered += f64::from(u8::from(inside));
        if let Some(look) = trial.settling_look(feature as u8) {
            let [settled, covered] = &mut found.by_look[look as usize];
            *settled += 1.0;
            *covered += f64::from(u8::from(inside));
        }
        if feature % 2 == 0 {
            found.covered_even += f64::from(u8::from(inside));
            found.even_estimates += 1.0;
        }
        found.excluded += f64::from(u8::from(estimate.low() > 0.0 || estimate.high() < 0.0));
        found.width += estimate.high() - estimate.low();
    }
    found.mse = squared;
    found.squares = [found.regret * found.regret, squared * squared, found.regret * squared];
    found
}

/// The feature of a patient from a uniform number.
fn arrival(arrivals: Arrivals, m: usize, late: bool, uniform: f64) -> usize {
    let weight = |j: usize| match arrivals {
        Arrivals::Even => 1.0,
        Arrivals::Zipf => 1.0 / (j + 1) as f64,
        Arrivals::Tenfold => {
            if (j % 2 == 1) == late {
                10.0
            } else {
                1.0
            }
        }
    };
    if arrivals == Arrivals::Even {
        return (uniform * m as f64) as usize;
    }
    let mut left = uniform * (0..m).map(weight).sum::<f64>();
    for j in 0..m {
        left -= weight(j);
        if left < 0.0 {
            return j;
        }
    }
    m - 1
}
