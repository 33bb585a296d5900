//! `interim` and `uniform`: noisy ledgers read at looks.
//!
//! `interim` throws a coin as biased as the evidence and measures the effect with every patient.
//! `uniform` is the fixed trial to compare it with: a fair coin to the end, and the same cells,
//! noise, estimate and proof. They differ in [`super::schedule`], by which `uniform` has no look
//! before or at half and so never changes a coin, and in [`LedgerDesign::weight`].
//!
//! # State
//! A feature has two *windows* of raw [cells](super::cells): *now* for patients of its present
//! coin, *before* for patients of the coin it had before. Coins are numbered from 0; a waiting
//! patient keeps the parity of the number of his coin, and his outcome goes into the window of that
//! parity when it is recorded. (One that comes two coins late falls into the now-window.) Nothing
//! acts on a window. At a **look** every cell of a window that is read gets one fresh discrete
//! Laplace draw of rate epsilon/(2uY), the result is added to the feature's *noisy ledger*, and the
//! window starts again from zero. (Addition commutes, so a draw may be added to a window ahead of
//! its look: [`LedgerDesign::draw_ahead`].) Decisions and exports are functions of the ledger and
//! of public counts alone.
//!
//! # Looks
//! Looks fall at counts c of resolved patients ([`super::schedule`]). At a look, with N outcomes in
//! the ledger (at least 4), c' the count of the last look in which the feature took part and a1 the
//! patients assigned when its present coin began, max(0, min(a1, c) - c') of the patients resolved
//! since c' are expected of the coin before and the others of the present one, N/c' outcomes each
//! (1/M before the feature's first look). A window is *worth reading* if its expected outcomes of
//! the arm that its coin makes rarer are at least 12 + sqrt(2v). v is the variance of one draw over
//! (uY)^2.
//!
//! A feature takes part in an early look and at half if it is not settled and its now-window is
//! worth reading, in a report if a window is worth reading, and in the close always. The windows
//! worth reading are read; at the close the now-window is read whatever is expected of it, because
//! whether it is read must not depend on the ledger: a feature settled by luck would keep its z. A
//! before-window that is not worth reading is forgotten unread when the coin changes.
//!
//! # The coin
//! After an early look or the one at half in which the feature took part it gets a new coin. With
//! z = P/sqrt(spent) of the estimate, its two-sided p-value p, confidence q = 1 if p <= beta and
//! 1 - p/2 otherwise, and piT = min(1/2, target/(patients of the feature still to come)), the
//! trailing arm gets pi = q piT + (1 - q)(1 - piT). The arm with the sign of z leads; at z = 0 pi
//! is 1/2. With p <= beta, or at half, the feature is *settled*: its coin stays to the end. One
//! that does not take part at half keeps its coin, too.
//! t = max(ceil(ln n / epsilon), floor((all half/n)^(1-alpha)))/2 trailing patients are wanted,
//! with all = N n/c, and target = t/2 + sqrt(t^2/4 + 4vt) of them are worth t after the noise of
//! two readings: 1/target + 4v/target^2 = 1/t.
//!
//! # The estimate
//! A window that is read at c has n_a outcomes of arm a, the difference of means D and its variance
//! V (noise included). With the look's weight W, fixed before the window began: k = sqrt(W/V),
//! P += k D, Q += k, spent += W; two windows of one look share W in proportion 1/V. The estimate is
//! P/Q with standard error sqrt(spent)/Q: the inverse-normal combination of adaptive trials
//! (Lehmacher and Wassmer 1999; Bauer and Koehne 1994; for bandits Zhang, Janson and Murphy 2020).
//! Given the past, (D - effect)/sqrt(V) is about standard normal, and weights depend on the past
//! and on the moment of the close only, so (P - effect Q)/sqrt(spent) is about standard normal.
//!
//! With A_a the sum of arm a's outcomes y/Y in the window, N_a their number and mu_a the arm's mean
//! in the ledger, D = (A_1 - m N_1)/n_1 - (A_0 - m N_0)/n_0. n_a is N_a, but at least
//! min(w_a/2, 2 sqrt(2v)) and 1, w_a being the outcomes expected of the arm: noise must not make a
//! divisor of 0. Where n_a = N_a for both arms, m cancels and D is the difference of means. Where
//! arrivals fall, n_a exceeds N_a. If it does in both arms, m is the middle of mu_0 and mu_1, so
//! that D without an effect is centred on 0; if it does in arm a alone, m is the window's mean of
//! the other arm o less (mu_o - mu_a)/2, so that drift does not move D.
//!
//! # Weights
//! inf(x, y) = 1/(f(x) + f(y)), f(x) = 1/x + 2v/x^2, is the precision of a comparison of x with y
//! outcomes. With h the sum of inf over the outcomes expected of the windows to be read, and
//! rest = inf(t, r - t) for the r = all (n - c)/n outcomes after c, t = min(target, r/2) of them
//! trailing: W = (1 - spent) h/(h + rest). A settled feature and every look after half have
//! W = (1 - spent)(c - c')/(n - c'). At a close before n, h = inf(x, x) with x half of the outcomes
//! expected since c', as if a fair coin had been thrown: a W cut in proportion to the patients
//! gives a type I error of 7 % there. In `uniform` W is (c - c')/n.
//!
//! Readings of the design where its description leaves a choice:
//! 1. A coin's probability of arm 1 is a multiple of 2^-32: pi is rounded down to one, at least 1,
//!    and the leading arm gets the rest. The before-coin's is kept as a multiple of 2^-16.
//! 2. `spent` is kept as a 32-bit float and computed as a 64-bit one.
//! 3. N of the ledger counts as at least 4 wherever it is a divisor or a forecast.
//! 4. A wish of floor(x) patients allows for rounding in x.
//! 5. A mean is kept 1/(N_a + 2) away from 0 and 1, in the ledger and in a window.
//! 6. A close at the count of the feature's last look reads its now-window with W = 0.
//!
//! # Privacy: epsilon-differentially private, delta = 0
//! Neighbours are two trials that differ in everything about one patient t - feature, arm, outcome,
//! recorded or lost - while requests come at the same moments. The adversary sees every arm but
//! t's, every acknowledgement and the whole ledger after every look, which is more than any reply
//! holds. Fix the ledger up to some look and every arm but t's. Then the count of the next look,
//! the features that take part in it, the windows of theirs that are read, kept or forgotten, and
//! the law of every coin are the same in both trials, and raw windows differ only by t's
//! contribution: amounts that add up to uY removed from one window of one feature (or from none, if
//! it is forgotten unread), and the like added to one window, perhaps of another feature that is
//! read at another look. Draws of rate epsilon/(2uY) on every cell bound the likelihood ratio of
//! the first by e^(epsilon/2) and of the second by e^(epsilon/2). All other windows have equal
//! laws. Multiply over looks; mixing over t's hidden arm cannot exceed the worst pair of arms; what
//! is computed from the ledger cannot add to this. (The parity of t's coin decides only where t's
//! own outcome goes.)
//!
//! The argument needs: one outcome a patient, ever; no output that reads a window; noise in every
//! cell of a window that is read, with or without patients; draws that are never clamped or used
//! twice; a look that happens once, also across a power cut. [`crate::trial`] and [`crate::device`]
//! keep the first and the last, this module the others.

use super::cells::Unit;
use super::comparison::Measure;
use super::forecast::Forecast;
use super::ledger::Feature;
use super::look::Shared;
use super::power::floor_power;
use super::root::root;
use super::schedule::{self, LookKind};
use super::{AnyFeature, Choice, Design, Half, Look, ledgers};
use crate::chance::Chance;
use crate::estimate::Estimate;
use crate::noise::Laplace;
use crate::plan::{DesignName, Plan};

/// The constants of a plan.
#[derive(Clone, Debug)]
pub(crate) struct LedgerDesign {
    /// `interim`; otherwise `uniform`.
    adaptive: bool,
    /// Looks before half and at half.
    pub(super) looks_to_half: u8,
    /// Count of the first early look.
    first_look: u32,
    noise: Laplace,
    pub(super) measure: Measure,
    pub(super) beta: f64,
    /// ceil(ln n / epsilon).
    min_target: f64,
    /// n, half and the exponent 1 - alpha.
    pub(super) patients: f64,
    half: f64,
    exponent: f64,
    /// 1/M: outcomes a patient that a feature is expected to have before anything is known.
    pub(super) first_rate: f64,
}

impl LedgerDesign {
    /// Prepares the constants of a plan. (Not inlined, as [`super::dp_conse::DpConse::new`].)
    #[inline(never)]
    pub fn new(plan: &Plan) -> Self {
        let unit = Unit::of(plan);
        let epsilon = plan.epsilon().to_f64();
        let patients = f64::from(plan.patients());
        let first_look = schedule::first(plan);
        let to_half = schedule::counts(plan, first_look).take_while(|at| *at <= plan.half());
        Self {
            adaptive: plan.design() == DesignName::Interim,
            looks_to_half: to_half.count() as u8,
            first_look,
            noise: Laplace::new(plan.epsilon().half_over(unit.weight())),
            measure: Measure::new(unit, epsilon),
            beta: plan.beta().to_f64(),
            min_target: libm::ceil(libm::log(patients) / epsilon),
            patients,
            half: f64::from(plan.half()),
            exponent: 1.0 - plan.alpha().to_f64(),
            first_rate: 1.0 / f64::from(plan.features()),
        }
    }

    /// The unit of the plan's outcomes.
    pub const fn unit(&self) -> Unit {
        self.measure.unit
    }

    /// target(all): trailing patients wanted of a feature with `all` patients, noise made up for.
    pub(super) fn target(&self, all: f64) -> f64 {
        let before_half = all * self.half / self.patients;
        // The power of a number from 1 on is not above it: the most costly step can be left out.
        let wish = if before_half > self.min_target {
            floor_power(before_half, self.exponent)
        } else {
            self.min_target
        };
        let half = f64::max(self.min_target, wish) / 4.0;
        half + root(half * half + 8.0 * self.measure.variance * half)
    }

    /// The count of look number `number`, 0 for none.
    pub fn count_of(&self, plan: &Plan, number: u8) -> u32 {
        let place = usize::from(number).checked_sub(1);
        place.and_then(|place| schedule::counts(plan, self.first_look).nth(place)).unwrap_or(0)
    }

    /// W of the windows that are read at `look`, from the state of their feature before the look.
    fn weight(&self, feature: &Feature, look: &Look<'_>, forecast: &Forecast) -> f64 {
        let (count, since) = (f64::from(look.count), f64::from(forecast.since));
        if count <= since {
            return 0.0;
        }
        if !self.adaptive {
            return (count - since) / self.patients;
        }
        let left = 1.0 - feature.spent();
        let early_close = look.kind == LookKind::Close && count < self.patients;
        if !early_close && (feature.settled || count > self.half) {
            return left * (count - since) / (self.patients - since);
        }
        let here = if early_close {
            let half = forecast.rate * (count - since) / 2.0;
            self.measure.precision([half; 2])
        } else {
            let precision = |outcomes: Option<[f64; 2]>| {
                outcomes.map_or(0.0, |outcomes| self.measure.precision(outcomes))
            };
            precision(forecast.now(feature)) + precision(forecast.before(feature))
        };
        let rest = forecast.rate * (self.patients - count);
        let trailing = f64::min(self.target(forecast.rate * self.patients), rest / 2.0);
        let rest = self.measure.precision([trailing, rest - trailing]);
        left * here / (here + rest)
    }

    /// Adds the noise of a look to the windows that it reads, where it is missing.
    fn mask(&self, feature: &mut Feature, forecast: &Forecast, chance: &mut impl Chance) {
        for parity in feature.lacking(forecast) {
            feature.mask(parity, &self.noise, self.measure.unit, chance);
        }
    }
}

impl Design for LedgerDesign {
    type Feature = Feature;
    const HAS_LOOKS: bool = true;

    #[inline]
    fn choose(&self, feature: &mut Feature, _: Half, chance: &mut impl Chance) -> Choice {
        feature.choose(chance)
    }

    #[inline]
    fn record(
        &self,
        feature: &mut Feature,
        _: &Plan,
        _: Half,
        choice: Choice,
        y: Option<u16>,
        _: &mut impl Chance,
    ) {
        if let Some(y) = y {
            feature.record(choice, y, self.unit());
        }
    }

    /// Windows of the features that take part join their ledgers and estimates, and coins change.
    /// Noise is drawn for the windows of the next planned look first, then, at a close that comes
    /// before it, for the others: the order does not depend on what was drawn ahead.
    fn look(
        &self,
        features: &mut [AnyFeature],
        plan: &Plan,
        look: &Look<'_>,
        chance: &mut impl Chance,
    ) {
        let upcoming = look.upcoming(plan);
        let is_upcoming = upcoming.count == look.count;
        if !is_upcoming {
            for look in [&upcoming, look] {
                for feature in ledgers(features) {
                    let forecast = Forecast::of(feature, self, plan, look);
                    self.mask(feature, &forecast, chance);
                }
            }
        }
        // Before its first window nothing is known of a feature, so all have the same weight.
        let (mut first, mut shared) = (None, Shared::NONE);
        for feature in ledgers(features) {
            let forecast = Forecast::of(feature, self, plan, look);
            if !forecast.takes_part() {
                continue;
            }
            if is_upcoming {
                self.mask(feature, &forecast, chance);
            }
            let weigh = || self.weight(feature, look, &forecast);
            let weight =
                if forecast.since == 0 { *first.get_or_insert_with(weigh) } else { weigh() };
            let rate = feature.enter(self, look, &forecast, weight);
            if matches!(look.kind, LookKind::Early | LookKind::Half) {
                feature.change_coin(self, look, rate, &mut shared);
            }
        }
    }

    fn planned_look(&self, plan: &Plan, done: u8) -> Option<u32> {
        schedule::counts(plan, self.first_look).nth(done.into())
    }

    fn lacks_noise(&self, feature: &Feature, plan: &Plan, upcoming: &Look<'_>) -> bool {
        let forecast = Forecast::of(feature, self, plan, upcoming);
        feature.lacking(&forecast).next().is_some()
    }

    fn draw_ahead(
        &self,
        feature: &mut Feature,
        plan: &Plan,
        upcoming: &Look<'_>,
        chance: &mut impl Chance,
    ) {
        let forecast = Forecast::of(feature, self, plan, upcoming);
        self.mask(feature, &forecast, chance);
    }

    fn estimate(&self, feature: &Feature, _: &Plan) -> Option<Estimate> {
        feature.estimate(self)
    }

    fn tally_bytes(&self) -> usize {
        Feature::tally_bytes(self.unit())
    }

    fn ledger_bytes(&self) -> usize {
        Feature::ledger_bytes(self.unit())
    }

    fn encode_tally(&self, feature: &Feature, _: u32, out: &mut [u8]) {
        feature.encode_tally(self.unit(), out);
    }

    fn decode_tally(&self, feature: &mut Feature, bytes: &[u8]) -> Option<()> {
        feature.decode_tally(self.unit(), bytes)
    }

    fn encode_ledger(&self, feature: &Feature, out: &mut [u8]) {
        feature.encode_ledger(self.unit(), out);
    }

    fn decode_ledger(&self, feature: &mut Feature, bytes: &[u8]) -> Option<()> {
        feature.decode_ledger(self.unit(), bytes)
    }
}
