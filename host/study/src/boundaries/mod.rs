//! Group-sequential boundaries: critical values that are valid at all looks together.
//!
//! The estimate of `interim` and `uniform` is an inverse-normal combination, so its statistics at
//! the reports and at the close have independent increments, and the theory of group-sequential
//! trials applies with the part of the weights that is spent as information fraction ([`course`]).
//! At information fractions t_1 < .. < t_K the probability that any |Z_k|
//! exceeds its critical value c_k is found by recursive numerical integration (Armitage, McPherson
//! and Rowe 1969): the density of the score at look k on the region where the trial has gone on,
//! by Simpson's rule, and from it the next one's.
//!
//! * **Lan-DeMets spending** ([`Kind::critical`]): of the level a, f(t_k) - f(t_(k-1)) is spent at
//!   look k. O'Brien-Fleming-like: f(t) = 4 (1 - N(q / sqrt t)) with q the 1 - a/4 quantile;
//!   Pocock-like: f(t) = a ln(1 + (e-1) t).
//! * **Classical constants** ([`Kind::constant`]) for equally spaced looks: c_k = C (Pocock) and
//!   c_k = C sqrt(K/k) (O'Brien-Fleming), as in the published tables.
//!
//! A close before the end spends the part of its fraction, by O'Brien and Fleming's function
//! whatever the kind ([`Kind::critical_at_close`]). If it spent all that is left of the level, a
//! person who may choose the moment could wait for a report that just misses its boundary, and
//! close; and Pocock's function spends so much early that closes at looks which are no reports
//! would add to it.
//!
//! A repeated confidence interval is the estimate +- c_k standard errors. All of them together hold
//! the effect with probability 95 % at least, whatever is decided on seeing them.

pub mod adjusted;
pub mod course;
mod integral;
mod planned;

use crate::normal::{normal, probit};
use course::Course;
use equipoise::plan::Plan;
use integral::Walk;

/// A kind of boundary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Spends little at first: the last critical value is close to that of a single look.
    OBrienFleming,
    /// Spends nearly evenly: about the same critical value at every look.
    Pocock,
}

impl Kind {
    /// Both.
    pub const ALL: [Self; 2] = [Self::OBrienFleming, Self::Pocock];

    /// The name in trial files and on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::OBrienFleming => "obrien-fleming",
            Self::Pocock => "pocock",
        }
    }

    /// The kind of a name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Part of the two-sided level `level` that may be spent up to information fraction `t`.
    #[must_use]
    pub fn spent(self, level: f64, t: f64) -> f64 {
        if t >= 1.0 {
            return level;
        }
        match self {
            Self::OBrienFleming => 4.0 * normal(probit(level / 4.0) / t.sqrt()),
            Self::Pocock => level * (1.0 + (std::f64::consts::E - 1.0) * t).ln(),
        }
    }

    /// The critical values at these information fractions, by spending the two-sided `level`. At a
    /// fraction of 0 there is no estimate, and the value is infinite.
    #[must_use]
    pub fn critical(self, level: f64, fractions: &[f64]) -> Vec<f64> {
        let spent: Vec<f64> = fractions.iter().map(|t| self.spent(level, *t)).collect();
        spend(fractions, &spent)
    }

    /// The same after looks up to half, at the fractions `early`, at which nobody closed the trial.
    ///
    /// A close there would have been judged by O'Brien and Fleming's function, so under that
    /// boundary these looks spend like reports. Under Pocock's they do not: what they spend is
    /// little beside the first report's, and a person who closes when it pays has 5.1 % all the
    /// same, where under O'Brien and Fleming's he had 5.7 %.
    #[must_use]
    pub fn critical_after(self, level: f64, early: &[f64], reports: &[f64]) -> Vec<f64> {
        let early = if self == Self::OBrienFleming { early } else { &[] };
        self.critical(level, &[early, reports].concat()).split_off(early.len())
    }

    /// The critical value at a close before the end, at the fraction `spent`, after looks at which
    /// the trial might have been closed and after reports, at these fractions.
    #[must_use]
    pub fn critical_at_close(
        self,
        level: f64,
        early: &[f64],
        reports: &[f64],
        spent: f64,
    ) -> Option<f64> {
        let close = |t: &f64| (*t, Self::OBrienFleming.spent(level, *t));
        let report = |t: &f64| (*t, self.spent(level, *t));
        let looks =
            early.iter().map(close).chain(reports.iter().map(report)).chain([close(&spent)]);
        let (fractions, mut levels): (Vec<f64>, Vec<f64>) = looks.unzip();
        // What a report has spent stays spent.
        let mut most = 0.0;
        for level in &mut levels {
            most = f64::max(most, *level);
            *level = most;
        }
        spend(&fractions, &levels).pop()
    }

    /// The critical values at the reports of a plan and at its end, at the level of 5 %, for an
    /// estimate with this course.
    #[must_use]
    pub fn of_course(self, plan: &Plan, course: Course) -> Vec<f64> {
        let pairs: Vec<(f64, f64)> = course.pairs(plan).chain([(1.0, 1.0)]).collect();
        let fractions: Vec<f64> = pairs.iter().map(|(fraction, _)| *fraction).collect();
        let early = course.early(plan, plan.half() + 1);
        let values = self.critical_after(adjusted::LEVEL, &early, &fractions);
        values.into_iter().zip(pairs).map(|(value, pair)| of_estimate(value, pair)).collect()
    }

    /// The constant C of the classical boundary with `looks` equally spaced looks.
    #[must_use]
    pub fn constant(self, level: f64, looks: u32) -> f64 {
        let all = f64::from(looks);
        solve(|c| {
            let mut walk = Walk::new();
            let crossed = (1..=looks).map(|k| {
                let t = f64::from(k) / all;
                let value = match self {
                    Self::Pocock => c,
                    Self::OBrienFleming => c / t.sqrt(),
                };
                let exit = walk.exit(t, value);
                walk.step(t, value, 1.0 / all);
                exit
            });
            crossed.sum::<f64>() - level
        })
    }
}

/// The critical value of an estimate, from that at the fraction by which a boundary goes: the score
/// is the same.
fn of_estimate(value: f64, (fraction, own): (f64, f64)) -> f64 {
    if own > 0.0 { value * (fraction / own).sqrt() } else { value }
}

/// The critical values at these fractions that spend these parts of a level, each counted from the
/// start. At a fraction of 0 there is no estimate, and the value is infinite.
fn spend(fractions: &[f64], spent: &[f64]) -> Vec<f64> {
    let mut walk = Walk::new();
    let (mut before, mut values) = (0.0, Vec::new());
    // The first increment after a look.
    let next = |k: usize| {
        let mut after = fractions.get(k..).unwrap_or(&[]).windows(2).map(|pair| pair[1] - pair[0]);
        after.find(|increment| *increment > 0.0).unwrap_or(1.0)
    };
    for (k, t) in fractions.iter().enumerate() {
        if *t <= 0.0 {
            values.push(f64::INFINITY);
            continue;
        }
        let spent = spent.get(k).copied().unwrap_or(before);
        let value = solve(|c| walk.exit(*t, c) - (spent - before));
        walk.step(*t, value, next(k));
        before = spent;
        values.push(value);
    }
    values
}

/// Largest critical value: beyond it nothing can be spent.
const MOST: f64 = 10.0;

/// Halvings: to 10 over 2^34.
const SOLVED: u32 = 34;

/// Where a falling function is 0, by halving.
fn solve(f: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (0.0, MOST);
    for _ in 0..SOLVED {
        let middle = f64::midpoint(low, high);
        if f(middle) > 0.0 { low = middle } else { high = middle }
    }
    f64::midpoint(low, high)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tables of Pocock (1977) and of O'Brien and Fleming (1979), 5 % two-sided, as in Jennison
    /// and Turnbull (2000), tables 2.1 and 2.3.
    #[test]
    fn published_constants_to_three_decimals() {
        let pocock = [2.178, 2.289, 2.361, 2.413, 2.453, 2.485, 2.512];
        let fleming = [1.977, 2.004, 2.024, 2.040, 2.053, 2.063, 2.072];
        for (looks, (p, f)) in (2..=8).zip(pocock.into_iter().zip(fleming)) {
            for (kind, published) in [(Kind::Pocock, p), (Kind::OBrienFleming, f)] {
                let found = kind.constant(0.05, looks);
                assert!((found - published).abs() < 0.0005 + 1e-9, "{kind:?} {looks}: {found}");
            }
        }
    }

    /// Spending boundaries at five equally spaced looks, as in Proschan, Lan and Wittes (2006) and
    /// the R package ldbounds.
    #[test]
    fn spending_boundaries_of_five_looks() {
        let fractions = [0.2, 0.4, 0.6, 0.8, 1.0];
        let fleming = Kind::OBrienFleming.critical(0.05, &fractions);
        for (found, published) in fleming.iter().zip([4.8769, 3.3569, 2.6803, 2.2898, 2.0310]) {
            assert!((found - published).abs() < 0.0006, "{fleming:?}");
        }
        let pocock = Kind::Pocock.critical(0.05, &fractions);
        for (found, published) in pocock.iter().zip([2.4380, 2.4268, 2.4101, 2.3966, 2.3859]) {
            assert!((found - published).abs() < 0.0006, "{pocock:?}");
        }
        assert!((Kind::Pocock.critical(0.05, &[1.0])[0] - 1.959_964).abs() < 1e-5);
    }

    /// Uneven looks, one of them right before the end, spend no more and no less than the level; a
    /// trial that is closed before its end spends the part of its fraction. A look that adds
    /// nothing, and one without an estimate, spend nothing.
    #[test]
    fn uneven_looks_spend_the_level() {
        for (kind, fractions) in Kind::ALL.into_iter().flat_map(|kind| {
            [&[0.5, 0.55, 0.9, 0.99, 1.0][..], &[0.6, 0.7], &[0.0, 0.4, 0.4, 1.0]]
                .map(|fractions| (kind, fractions))
        }) {
            let values = kind.critical(0.05, fractions);
            let mut walk = Walk::new();
            let mut total = 0.0;
            for (t, c) in fractions.iter().zip(&values).filter(|(t, _)| **t > 0.0) {
                total += walk.exit(*t, *c);
                walk.step(*t, *c, 0.01);
            }
            let last = fractions.last().copied().unwrap_or(0.0);
            let spent = kind.spent(0.05, last);
            assert!((total - spent).abs() < 1e-6, "{kind:?} {total} {spent} {values:?}");
        }
    }
}
