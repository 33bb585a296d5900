//! Information fractions that a plan gives to a feature before there is any evidence.
//!
//! `interim` settles a feature early if its statistic is large by then, and weighs what follows
//! less. So the part of the weight that is spent at a report is smaller where the statistic is
//! larger, and a boundary at that part is crossed too often: of features without an effect (4 kinds
//! of patient, 4,000 patients, alpha 1/4, epsilon 1) the square of the statistic at the first
//! report is 1.7 on average where 0.65 to 0.7 is spent and 0.6 where more than 0.8 is. The score,
//! the statistic times the root of the part spent, knows nothing of that: its variance is the
//! *mean* of what is spent. So a boundary for the score goes by fractions that were known
//! beforehand, those of a feature whose coin stays fair. These are the largest that evidence
//! leaves, which errs on the side of the level.
//!
//! The weights are those of [`equipoise::design`], with n/M patients of the feature: at a look at c
//! after one at c', (1 - spent) h/(h + rest), with h = inf(x, x) for half of the outcomes between
//! the looks, and rest = inf(t, r - t) for the r outcomes after c, t = min(target, r/2).

use crate::ratios::draw_variance;
use equipoise::design::schedule;
use equipoise::plan::Plan;

/// Outcomes of an arm below which a window is not read, before the allowance for noise.
const LEAST: f64 = 12.0;

/// A feature with n/M patients and a fair coin, up to some look.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fair<'a> {
    plan: &'a Plan,
    /// v: the variance of one draw.
    variance: f64,
    /// Count of the last look in which it takes part, 0 before the first.
    pub since: u32,
    /// The fraction after it.
    pub spent: f64,
}

impl<'a> Fair<'a> {
    fn new(plan: &'a Plan) -> Self {
        Self { plan, variance: draw_variance(plan), since: 0, spent: 0.0 }
    }

    /// The states after each of the looks up to half.
    pub fn early(plan: &'a Plan) -> impl Iterator<Item = Self> {
        let counts = schedule::looks(plan).take_while(|count| *count <= plan.half());
        let mut now = Self::new(plan);
        counts.map(move |count| {
            if now.outcomes(count) >= LEAST + (2.0 * now.variance).sqrt() {
                now = now.read(count);
            }
            now
        })
    }

    /// The state after the last look up to `count`, which is at most half.
    pub fn before(plan: &'a Plan, count: u32) -> Self {
        let looks = schedule::looks(plan).take_while(|look| *look <= count.min(plan.half()));
        Self::early(plan).take(looks.count()).last().unwrap_or(Self::new(plan))
    }

    /// Outcomes of each arm between the last look and `count`.
    fn outcomes(&self, count: u32) -> f64 {
        f64::from(count.saturating_sub(self.since)) / f64::from(self.plan.features()) / 2.0
    }

    /// inf(x, y), the precision of a comparison of x with y outcomes.
    fn precision(&self, x: f64, y: f64) -> f64 {
        let part = |x: f64| {
            let x = x.max(0.5);
            1.0 / x + 2.0 * self.variance / (x * x)
        };
        1.0 / (part(x) + part(y))
    }

    /// Trailing patients wanted of the feature.
    fn target(&self) -> f64 {
        let patients = f64::from(self.plan.patients());
        let least = (patients.ln() / self.plan.epsilon().to_f64()).ceil();
        let to_half = f64::from(self.plan.half()) / f64::from(self.plan.features());
        let wish = to_half.powf(1.0 - self.plan.alpha().to_f64()).floor();
        let t = least.max(wish) / 2.0;
        t / 2.0 + (t * t / 4.0 + 4.0 * self.variance * t).sqrt()
    }

    /// The state after a look up to half, or after a close, at `count`.
    pub fn read(self, count: u32) -> Self {
        let x = self.outcomes(count);
        let here = self.precision(x, x);
        let left = f64::from(self.plan.patients().saturating_sub(count));
        let rest = left / f64::from(self.plan.features());
        let trailing = self.target().min(rest / 2.0);
        let rest = self.precision(trailing, rest - trailing);
        Self { since: count, spent: self.spent + (1.0 - self.spent) * here / (here + rest), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use equipoise::chance::Sampler;
    use equipoise::trial::Trial;
    use rand_xoshiro::Xoshiro256PlusPlus;

    /// Up to the first look every coin is fair, and nothing is known of arrivals: the device spends
    /// what is written here. Later no feature without an effect has spent much more (its patients
    /// are not quite n/M), and some have spent as much.
    #[test]
    fn fair_coins_spend_what_the_device_spends() {
        for words in ["epsilon=1 alpha=1/4", "epsilon=2 alpha=0 scale=10", "epsilon=1/2 alpha=1/2"]
        {
            let text = format!("features=4 patients=4000 better=high {words}");
            let plan = Plan::parse(&text).unwrap();
            let fair: Vec<Fair<'_>> = Fair::early(&plan).collect();
            let mut most = 0.0;
            for run in 0..40 {
                let mut trial = Trial::<4, 8>::new(plan).unwrap();
                let mut coins = Sampler::<Xoshiro256PlusPlus>::seed_from_u64(run);
                for patient in 1..=plan.half() {
                    // Outcomes in turn: hardly any evidence.
                    let y = if patient / 4 % 2 == 0 { 0 } else { plan.scale() };
                    trial.assign((patient % 4) as u8, None, &mut coins).unwrap();
                    trial.outcome(patient, y, &mut coins).unwrap();
                    trial.look(&mut coins);
                    if patient == fair[0].since {
                        let spent = trial.estimate(0).unwrap().basis.unwrap().spent;
                        assert!((spent - fair[0].spent).abs() < 1e-6, "{text}: {spent} {fair:?}");
                    }
                }
                let spent = |j| trial.estimate(j).unwrap().basis.unwrap().spent;
                most = (0..4).map(spent).fold(most, f64::max);
            }
            let last = fair[fair.len() - 1];
            assert_eq!(last.since, plan.half());
            assert!((most - last.spent).abs() < 0.02, "{text}: {most} {last:?}");
        }
    }
}
