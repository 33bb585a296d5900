//! When to drop an arm: bets against "this arm is not better", paid in noisy outcomes.
//!
//! For each arm x a purse bets, look by look, that x is better than the other arm. Its wealth is an e-process: as long
//! as x is *not* better its expectation never exceeds 1, whenever it is read. By Ville's inequality it ever reaches
//! 1/beta with probability at most beta, so dropping the other arm at that moment errs with probability at most beta
//! over all looks together.
//!
//! **One bet.** With centre c in (-1, 1), stake d and r = y/Y, an outcome multiplies the wealth by
//!
//! ```text
//! arm x:          (1 + d(1-c))^r (1 - d(1+c))^(1-r)
//! the other arm:  (1 - d(1-c))^r (1 + d(1+c))^(1-r)
//! ```
//!
//! For yes/no outcomes of a coin-assigned patient the mean factor is 1 + d (mu_x - mu_other), at most 1 if x is not
//! better. A graded outcome's factor is convex in r, so it lies below the same line. c and d may depend on the past:
//! c is the pooled mean before the look (then an outcome lost more often on one arm moves the mean least), d is fixed.
//!
//! **Noise.** On the log scale the factor is linear in the window's cells, with slope s a unit of outcome. A noise draw
//! k in a cell multiplies the wealth by e^(s k), whose mean is e^psi(s), psi(s) = ln((cosh a - 1)/(cosh a - cosh s))
//! for rate a. Taking psi(s) off for each cell leaves the mean as it was. That needs |s| < a, which bounds the stake.
//!
//! **Stakes.** Eight purses with stakes in ratio 3/4 bet side by side; the evidence is their mean.
//!
//! **Rounding.** Log-wealth is fixed point, rounded down after an allowance for the float arithmetic of the look: less
//! wealth can only keep an arm.

use super::{Arm, Writer};
use crate::plan::{Plan, take};

/// Stakes tried side by side; their mean is the evidence.
const STAKES: usize = 8;
/// Each stake is this fraction of the one before it.
const STAKE_RATIO: f64 = 0.75;
/// Largest stake, however large epsilon.
const MAX_STAKE: f64 = 0.8;
/// |ln(1 - largest stake)| as a share of epsilon. Below 1/2 it keeps |s| < a, where the noise has moments.
const STAKE_PER_EPSILON: f64 = 0.46;
/// Centres are multiples of 1/16, so that a look computes few sets of bets.
const CENTRE_STEPS: i32 = 16;
/// Centres are clamped to +-14/16.
const MAX_CENTRE: i32 = 14;
/// Units of log-wealth.
const UNIT: f64 = (1 << 24) as f64;
/// Log-wealth that has fallen out of range; it stays there, which can only keep an arm.
const RUINED: i32 = i32::MIN;
/// Relative error allowed for the f64 arithmetic of one look; generous against 2^-52 a step.
const SLACK: f64 = 1.0 / (1u64 << 46) as f64;
/// Bytes of encoded evidence.
pub(super) const EVIDENCE_BYTES: usize = 2 * STAKES * 4;

/// The constants of a plan.
#[derive(Clone, Debug)]
pub(super) struct Wager {
    /// a, the rate of the noise.
    rate: f64,
    /// Y.
    scale: f64,
    max_stake: f64,
    /// STAKES/beta: the sum of wealths that drops an arm.
    goal: f64,
    /// Log-wealth of a single purse below which the sum cannot reach the goal.
    one_purse_goal: i32,
}

impl Wager {
    pub fn new(plan: &Plan, rate: f64) -> Self {
        let beta = plan.beta().to_f64();
        Self {
            rate,
            scale: f64::from(plan.scale()),
            max_stake: f64::min(MAX_STAKE, -libm::expm1(-STAKE_PER_EPSILON * plan.epsilon().to_f64())),
            goal: STAKES as f64 / beta,
            one_purse_goal: libm::floor(-libm::log(beta) * UNIT) as i32 - 1,
        }
    }

    /// psi(s), as products of sinh to keep its digits when a is tiny.
    fn moment(&self, s: f64) -> f64 {
        let a = self.rate;
        let base = libm::sinh(a / 2.0);
        -libm::log((libm::sinh((a + s) / 2.0) / base) * (libm::sinh((a - s) / 2.0) / base))
    }
}

/// A centre c, in sixteenths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Centre(i8);

impl Centre {
    /// All centres.
    pub fn all() -> impl Iterator<Item = Self> {
        (-MAX_CENTRE..=MAX_CENTRE).map(|c| Self(c as i8))
    }

    /// The centre nearest to a ledger's pooled mean; 0 where the ledger is empty.
    pub fn of([a0, b0, a1, b1]: [f64; 4]) -> Self {
        let all = a0 + b0 + a1 + b1;
        if all <= 0.0 {
            return Self(0);
        }
        let c = libm::round((2.0 * (a0 + a1) / all - 1.0) * f64::from(CENTRE_STEPS));
        Self((c as i32).clamp(-MAX_CENTRE, MAX_CENTRE) as i8)
    }
}

/// One stake at one centre: slopes of the four cells (A and B of arm x, A and B of the other), and the noise's share.
#[derive(Clone, Copy, Debug, Default)]
struct Bet {
    slopes: [f64; 4],
    cost: f64,
}

impl Bet {
    /// What a window adds to the log-wealth, rounded down.
    fn gain(&self, cells: [f64; 4]) -> i64 {
        let (mut sum, mut size) = (-self.cost, libm::fabs(self.cost));
        for (slope, cell) in self.slopes.iter().zip(cells) {
            sum += slope * cell;
            size += libm::fabs(slope * cell);
        }
        libm::floor((sum - size * SLACK) * UNIT) as i64
    }
}

/// All stakes at one centre.
pub(super) struct Bets([Bet; STAKES]);

impl Bets {
    pub fn new(wager: &Wager, centre: Centre) -> Self {
        let c = f64::from(centre.0) / f64::from(CENTRE_STEPS);
        let mut stake = wager.max_stake / (1.0 + libm::fabs(c));
        Self([(); STAKES].map(|()| {
            let (up, down) = (stake * (1.0 - c), stake * (1.0 + c));
            stake *= STAKE_RATIO;
            let slopes = [up, -down, -up, down].map(|t| libm::log1p(t) / wager.scale);
            Bet { slopes, cost: slopes.iter().map(|s| wager.moment(*s)).sum() }
        }))
    }
}

/// The log-wealth of a feature's purses: those that bet on arm 0, and on arm 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Evidence([[i32; STAKES]; 2]);

impl Evidence {
    pub const NONE: Self = Self([[0; STAKES]; 2]);

    /// Bets on a window of explore; the arm to drop, if that decides it.
    pub fn weigh(&mut self, bets: &Bets, [a0, b0, a1, b1]: [f64; 4], wager: &Wager) -> Option<Arm> {
        let sides = [[a0, b0, a1, b1], [a1, b1, a0, b0]];
        for (purses, cells) in self.0.iter_mut().zip(sides) {
            for (wealth, bet) in purses.iter_mut().zip(&bets.0) {
                if *wealth != RUINED {
                    let sum = i64::from(*wealth).saturating_add(bet.gain(cells));
                    *wealth = sum.clamp(i64::from(RUINED), i64::from(i32::MAX)) as i32;
                }
            }
        }
        // The mean cannot reach the goal before one purse does; this saves nearly all exponentials.
        if self.0.iter().flatten().all(|wealth| *wealth < wager.one_purse_goal) {
            return None;
        }
        let [zero, one] = self.0.map(|purses| total(&purses));
        let decided = f64::max(zero, one) * (1.0 - SLACK) >= wager.goal;
        decided.then_some(if one > zero { Arm::Zero } else { Arm::One })
    }

    pub fn encode(&self, out: &mut Writer<'_>) {
        self.0.iter().flatten().for_each(|wealth| out.put(&wealth.to_le_bytes()));
    }

    pub fn decode(&mut self, bytes: &mut &[u8]) -> Option<()> {
        for wealth in self.0.iter_mut().flatten() {
            *wealth = i32::from_le_bytes(take(bytes)?);
        }
        Some(())
    }
}

/// The sum of the purses' wealths.
fn total(purses: &[i32; STAKES]) -> f64 {
    purses.iter().filter(|w| **w != RUINED).map(|w| libm::exp(f64::from(*w) / UNIT)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Plans from one end of what is allowed to the other.
    const PLANS: [&str; 4] =
        ["epsilon=1/1000 scale=65535", "epsilon=1/10 scale=1", "epsilon=1 scale=10", "epsilon=20 scale=1"];

    fn wager(text: &str) -> Wager {
        let plan = Plan::parse(&format!("features=1 patients=100 {text}")).unwrap();
        Wager::new(&plan, plan.epsilon().to_f64() / (2.0 * f64::from(plan.scale())))
    }

    fn every_bet(wager: &Wager) -> impl Iterator<Item = Bet> {
        Centre::all().flat_map(|centre| Bets::new(wager, centre).0)
    }

    #[test]
    fn slopes_stay_where_the_noise_has_moments() {
        for wager in PLANS.map(wager) {
            for bet in every_bet(&wager) {
                assert!(bet.slopes.iter().all(|s| s.abs() < 0.95 * wager.rate), "{bet:?} {wager:?}");
                assert!(bet.cost.is_finite() && bet.cost > 0.0);
            }
        }
    }

    #[test]
    fn the_cost_of_a_bet_is_the_log_mean_of_its_noise() {
        for wager in [wager("epsilon=1/10 scale=1"), wager("epsilon=1 scale=10"), wager("epsilon=20 scale=1")]
        {
            let q = (-wager.rate).exp();
            for bet in every_bet(&wager).step_by(7) {
                let mean = |s: f64| {
                    let term = |k: i32| ((s * f64::from(k)).exp() + (-s * f64::from(k)).exp()) * q.powi(k);
                    (1.0 - q) / (1.0 + q)
                        * (1.0 + (1..200_000).map(term).take_while(|t| *t > 1e-17).sum::<f64>())
                };
                let cost: f64 = bet.slopes.iter().map(|s| mean(*s).ln()).sum();
                assert!((bet.cost / cost - 1.0).abs() < 1e-9, "{} and {cost}", bet.cost);
            }
        }
    }

    #[test]
    fn a_bet_on_an_arm_that_is_not_better_does_not_grow() {
        for wager in PLANS.map(wager) {
            let grid = || (0..=20).map(|i| f64::from(i) / 20.0);
            for bet in every_bet(&wager) {
                let factor = |cell: usize| (bet.slopes[cell] * wager.scale).exp();
                let mean = |x: f64, other: f64| {
                    let on_x = x * factor(0) + (1.0 - x) * factor(1);
                    let on_other = other * factor(2) + (1.0 - other) * factor(3);
                    (on_x + on_other) / 2.0
                };
                for (x, other) in grid().flat_map(|x| grid().map(move |other| (x, other))) {
                    assert_eq!(mean(x, other) <= 1.0 + 1e-12, x <= other, "{x} {other} {bet:?}");
                }
                // Graded outcomes: the factor of r lies below the line between no and yes.
                for r in grid() {
                    let graded = (wager.scale * (bet.slopes[0] * r + bet.slopes[1] * (1.0 - r))).exp();
                    assert!(graded <= r * factor(0) + (1.0 - r) * factor(1) + 1e-12);
                }
            }
        }
    }

    #[test]
    fn wealth_is_rounded_down_and_ruin_is_for_good() {
        let wager = wager("epsilon=1 scale=1");
        let bets = Bets::new(&wager, Centre(3));
        for bet in bets.0 {
            for cells in [[3.0, -2.0, 8.0, 1.0], [1e6, 2e6, 3e6, 4e6], [0.0; 4]] {
                let exact: f64 = bet.slopes.iter().zip(cells).map(|(s, c)| s * c).sum::<f64>() - bet.cost;
                let kept = bet.gain(cells) as f64 / UNIT;
                assert!(kept < exact && exact - kept < 2.0 / UNIT + exact.abs() * 1e-6, "{kept} {exact}");
            }
        }
        let mut evidence = Evidence::NONE;
        evidence.weigh(&bets, [0.0, 1e9, 1e9, 0.0], &wager);
        assert_eq!(evidence.0[1][0], i32::MAX);
        assert_eq!(evidence.0[0][0], RUINED);
        evidence.weigh(&bets, [1e9, 0.0, 0.0, 1e9], &wager);
        assert_eq!(evidence.0[0][0], RUINED);
    }
}
