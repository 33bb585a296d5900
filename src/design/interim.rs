//! `interim` and `uniform`: noisy ledgers read at looks.
//!
//! `interim` steers patients to the arm that leads and measures the effect with every patient.
//! `uniform` is the fixed trial to compare it with: a fair coin to the end, and the same cells,
//! noise, estimate and proof. They differ in [`super::schedule`], by which `uniform` has no look
//! before or at half and so never settles a feature, and in [`LedgerDesign::window_weight`].
//!
//! # State
//! A feature has two *windows* of raw [cells](super::cells): one for patients assigned by its fair
//! coin, one for patients assigned by its biased coin. An outcome goes into the window of its
//! patient's coin when it is recorded. Nothing acts on a window. At a **look** every cell of a
//! window gets one fresh discrete Laplace draw of rate epsilon/(2uY), the result is added to the
//! feature's *noisy ledger*, and the window starts again from zero. (Addition commutes, so a draw
//! may be added to a window ahead of its look: [`LedgerDesign::draw_ahead`].) Decisions and exports
//! are functions of the ledger alone.
//!
//! # Looks
//! Looks fall at counts c of resolved patients ([`super::schedule`]). A feature that is *settled*
//! takes part in reports and in the close only. A feature whose expected window is too small is
//! left out of a look before half and of a report: N (c - c')/c' outcomes (c/M at its first look),
//! N from the ledger and c' its previous look, of which the rarer arm's share must be at least 5 +
//! sqrt(2v). Its windows then go on. v is the variance of one draw over (uY)^2.
//!
//! # The coin
//! A feature that is not settled throws a fair coin. A settled one gives the trailing arm with
//! probability pi, else the leading one, to the end of the trial. It settles at a look before half
//! if |z| of the whole ledger reaches the two-sided level beta and both arms hold enough outcomes
//! that noise alone decides nothing; at half every feature settles. The leading arm is the sign of
//! z, a fair coin at 0. pi = min(1/2, target/(patients of the feature still to come)), with
//! target(all) = max(ceil(ln n / epsilon), floor((all half/n)^(1-alpha)))/2 and all = N n/c.
//!
//! # The estimate
//! A window that enters at c has n_a outcomes of arm a, the difference of means D and its variance
//! V (noise included). With its weight W, fixed before the window began: k = sqrt(W/V), P += k D,
//! Q += k, spent += W. The estimate is P/Q with standard error sqrt(spent)/Q: the inverse-normal
//! combination of adaptive trials (Lehmacher and Wassmer 1999; Bauer and Koehne 1994). Given the
//! past, (D - effect)/sqrt(V) is about standard normal, and weights depend on the past and on the
//! moment of the close only, so (P - effect Q)/sqrt(spent) is about standard normal.
//! With A_a the sum of arm a's outcomes y/Y in the window, N_a their number and m the middle of the
//! two arms' means in the ledger, D = (A_1 - m N_1)/n_1 - (A_0 - m N_0)/n_0. n_a is N_a, but at
//! least min(w_a/2, 2 sqrt(2v)) and 1, w_a being the outcomes expected of the arm: noise must not
//! make a divisor of 0. Where n_a = N_a for both arms, m cancels and D is the difference of means.
//! Where a feature's arrivals fall, a window holds fewer outcomes than n_a. Then A_a/n_a is short
//! of arm a's mean by up to all of it, and the more so in the arm that the coin makes rare: a bias
//! of V's size that planned reports add up (coverage fell to 62 %). Measured from m, D without an
//! effect is centred on 0 whatever the n_a, and with one it is at most short of the effect.
//! A late fair-coin window of a settled feature enters beside the biased one if it holds enough
//! outcomes, the weight split in proportion 1/V; otherwise its cells only join the ledger.
//!
//! Readings of the design where its description leaves a choice:
//! 1. W is a function of the ledger before the look, of c', spent and c+, the first planned count
//!    in which the feature takes part (n if there is none). A feature that was left out has one
//!    window from c' to c. At a close before c+, W is multiplied by (c - c')/(c+ - c').
//! 2. A settled feature's W is (1 - spent)(c+ - c')/(n - c'): its part of the patients left. In
//!    `uniform` W is (c+ - c')/n.
//! 3. Both windows of a settled feature join the ledger before either is compared.
//! 4. N of the ledger counts as at least 4 wherever it is a divisor or a forecast.
//! 5. A wish of floor(x) patients allows for rounding in x.
//! 6. Means of a window are measured from m, see above.
//!
//! # Privacy: epsilon-differentially private, delta = 0
//! Neighbours are two trials that differ in everything about one patient t - feature, arm, outcome,
//! recorded or lost - while requests come at the same moments. The adversary sees every arm but
//! t's, every acknowledgement and the whole ledger after every look, which is more than any reply
//! holds. Fix the ledger up to some look and every arm but t's. Then the count of the next look,
//! the features that take part in it, pi, the leading arms and the law of every coin are the same
//! in both trials, and raw windows differ only by t's contribution: amounts that add up to uY
//! removed from one window of one feature, and the like added to one window, perhaps of another
//! feature that is read at another look. Draws of rate epsilon/(2uY) on every cell bound the
//! likelihood ratio of the first by e^(epsilon/2) and of the second by e^(epsilon/2). All other
//! windows have equal laws. Multiply over looks; mixing over t's hidden arm cannot exceed the worst
//! pair of arms; what is computed from the ledger cannot add to this.
//!
//! The argument needs: one outcome a patient, ever; no output that reads a window; noise in every
//! cell of a window that is read, with or without patients; draws that are never clamped or used
//! twice; a look that happens once, also across a power cut. [`crate::trial`] and [`crate::device`]
//! keep the first and the last, this module the others.

use super::cells::Unit;
use super::comparison::Measure;
use super::ledger::Feature;
use super::schedule::{self, LookKind};
use super::{AnyFeature, Choice, Design, Half, Look, ledgers};
use crate::chance::Chance;
use crate::estimate::Estimate;
use crate::noise::Laplace;
use crate::plan::{Design as DesignName, Plan};

/// Added before a number of patients is rounded down, so that rounding of the number loses none.
const ROUNDING: f64 = 1.0 / (1u64 << 20) as f64;

/// The constants of a plan.
#[derive(Clone, Debug)]
pub(crate) struct LedgerDesign {
    /// `interim`; otherwise `uniform`.
    adaptive: bool,
    noise: Laplace,
    pub(super) measure: Measure,
    pub(super) beta: f64,
    /// ceil(ln n / epsilon).
    min_target: f64,
    /// n, half and the exponent 1 - alpha.
    pub(super) patients: f64,
    half: f64,
    exponent: f64,
    /// n/M: patients a feature expected before anything is known.
    expected: f64,
}

impl LedgerDesign {
    /// Prepares the constants of a plan. (Not inlined, as [`super::dp_conse::DpConse::new`].)
    #[inline(never)]
    pub fn new(plan: &Plan) -> Self {
        let unit = Unit::of(plan);
        let epsilon = plan.epsilon().to_f64();
        let patients = f64::from(plan.patients());
        Self {
            adaptive: plan.design() == DesignName::Interim,
            noise: Laplace::new(plan.epsilon().half_over(unit.weight())),
            measure: Measure::new(unit, epsilon),
            beta: plan.beta().to_f64(),
            min_target: libm::ceil(libm::log(patients) / epsilon),
            patients,
            half: f64::from(plan.half()),
            exponent: 1.0 - plan.alpha().to_f64(),
            expected: patients / f64::from(plan.features()),
        }
    }

    /// The unit of the plan's outcomes.
    pub const fn unit(&self) -> Unit {
        self.measure.unit
    }

    /// target(all): trailing patients wanted of a feature with `all` patients.
    pub(super) fn target(&self, all: f64) -> f64 {
        let before_half = all * self.half / self.patients;
        // The power of a number from 1 on is not above it: the most costly step can be left out.
        let wish = if before_half > self.min_target {
            libm::floor(libm::pow(before_half, self.exponent) + ROUNDING)
        } else {
            self.min_target
        };
        f64::max(self.min_target, wish) / 2.0
    }

    /// `all`: outcomes that a feature with `outcomes` at `count` resolved patients has at the end.
    pub(super) fn forecast(&self, outcomes: f64, count: u32) -> f64 {
        if count == 0 { self.expected } else { outcomes * self.patients / f64::from(count) }
    }

    /// c+: the first planned count from that of `look` on in which the feature takes part.
    fn planned(&self, feature: &Feature, plan: &Plan, look: &Look) -> u32 {
        let mut planned = look.planned;
        while planned < plan.patients() {
            let look = Look { kind: schedule::kind(plan, planned), count: planned, ..*look };
            if self.takes_part(feature, &look) {
                break;
            }
            planned = schedule::next_after(plan, planned).unwrap_or(plan.patients());
        }
        planned
    }

    /// W of the window that is read at `look`, from the state of its feature before the look.
    fn window_weight(&self, feature: &Feature, plan: &Plan, look: &Look) -> f64 {
        let since = f64::from(feature.last);
        let planned = f64::from(self.planned(feature, plan, look));
        if planned <= since {
            return 0.0;
        }
        let left = 1.0 - feature.spent;
        let weight = if !self.adaptive {
            (planned - since) / self.patients
        } else if feature.leading.is_some() {
            left * (planned - since) / (self.patients - since)
        } else {
            let all = self.forecast(feature.outcomes(self), feature.last);
            let here = all * (planned - since) / self.patients / 2.0;
            let rest = all * (self.patients - planned) / self.patients;
            let trailing = f64::min(self.target(all), rest / 2.0);
            let (here, rest) = (
                self.measure.precision(here, here),
                self.measure.precision(trailing, rest - trailing),
            );
            left * here / (here + rest)
        };
        weight * (f64::from(look.count) - since) / (planned - since)
    }

    /// Whether a feature takes part in a look: a function of its ledger and public counts.
    fn takes_part(&self, feature: &Feature, look: &Look) -> bool {
        match look.kind {
            LookKind::Close => return true,
            LookKind::Half => return feature.leading.is_none(),
            LookKind::Early if feature.leading.is_some() => return false,
            LookKind::Early | LookKind::Report => {}
        }
        let count = f64::from(look.count);
        let expected = if feature.last == 0 {
            self.expected * count / self.patients
        } else {
            let since = f64::from(feature.last);
            feature.outcomes(self) * (count - since) / since
        };
        let [zero, one] = feature.shares();
        expected * f64::min(zero, one) >= self.measure.min_window()
    }

    /// Adds the noise of a feature's next look to the windows that it reads, where it is missing.
    fn mask(&self, feature: &mut Feature, chance: &mut impl Chance) {
        if !feature.fair_masked {
            feature.fair.add_noise(&self.noise, self.measure.unit, chance);
            feature.fair_masked = true;
        }
        if feature.leading.is_some() && !feature.biased_masked {
            feature.biased.add_noise(&self.noise, self.measure.unit, chance);
            feature.biased_masked = true;
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

    /// Windows of the features that take part join their ledgers and estimates, and features
    /// settle. Noise is drawn for the features of the next planned look first, then, at a close
    /// that comes before it, for the others: the order does not depend on what was drawn ahead.
    fn look(
        &self,
        features: &mut [AnyFeature],
        plan: &Plan,
        look: &Look,
        chance: &mut impl Chance,
    ) {
        let upcoming = look.upcoming(plan);
        for part in [&upcoming, look] {
            for feature in ledgers(features) {
                if self.takes_part(feature, part) {
                    self.mask(feature, chance);
                }
            }
        }
        // Before its first window nothing is known of a feature, so all have the same weight.
        let mut first = None;
        for feature in ledgers(features) {
            if self.takes_part(feature, look) {
                let weigh = || self.window_weight(feature, plan, look);
                let weight =
                    if feature.last == 0 { *first.get_or_insert_with(weigh) } else { weigh() };
                let known = feature.enter(self, look, weight);
                let may_settle = matches!(look.kind, LookKind::Early | LookKind::Half);
                if may_settle && feature.leading.is_none() {
                    feature.settle(self, look, known, chance);
                }
            }
        }
    }

    fn next_look(&self, plan: &Plan, done: u8) -> Option<u32> {
        schedule::next_look(plan, done)
    }

    fn lacks_noise(&self, feature: &Feature, upcoming: &Look) -> bool {
        let lacks = !feature.fair_masked || feature.leading.is_some() && !feature.biased_masked;
        lacks && self.takes_part(feature, upcoming)
    }

    fn draw_ahead(&self, feature: &mut Feature, chance: &mut impl Chance) {
        self.mask(feature, chance);
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
