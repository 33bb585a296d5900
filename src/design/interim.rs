//! `interim` and `uniform`: noisy ledgers read at looks.
//!
//! `interim` steers patients to the arm that leads and measures the effect with every patient.
//! `uniform` is the fixed trial to compare it with: a fair coin to the end, and the same cells, noise,
//! estimate and proof. They differ in [`LedgerDesign::takes_part`], [`LedgerDesign::window_weight`] and in
//! that `uniform` never settles a feature.
//!
//! # State
//! A feature has two *windows* of raw [cells](super::cells): one for patients assigned by its fair
//! coin, one for patients assigned by its biased coin. An outcome goes into the window of its
//! patient's coin when it is recorded. Nothing acts on a window. At a **look** every cell of a window
//! gets one fresh discrete Laplace draw of rate epsilon/(2uY), the result is added to the feature's
//! *noisy ledger*, and the window starts again from zero. (Addition commutes, so a draw may be added
//! to a window ahead of its look: [`LedgerDesign::draw_ahead`].) Decisions and exports are functions
//! of the ledger alone.
//!
//! # Looks
//! Looks fall at counts c of resolved patients ([`super::schedule`]). A feature that is *settled*
//! takes part in reports and in the close only. A feature whose expected window is too small is left
//! out of a look before half and of a report: N (c - c')/c' outcomes (c/M at its first look), N from
//! the ledger and c' its previous look, of which the rarer arm's share must be at least 5 + sqrt(2v).
//! Its windows then go on. v is the variance of one draw over (uY)^2.
//!
//! # The coin
//! A feature that is not settled throws a fair coin. A settled one gives the trailing arm with
//! probability pi, else the leading one, to the end of the trial. It settles at a look before half
//! if |z| of the whole ledger reaches the two-sided level beta and both arms hold enough outcomes
//! that noise alone decides nothing; at half every feature settles. The leading arm is the sign of z,
//! a fair coin at 0. pi = min(1/2, target/(patients of the feature still to come)), with
//! target(all) = max(ceil(ln n / epsilon), floor((all half/n)^(1-alpha)))/2 and all = N n/c.
//!
//! # The estimate
//! A window that enters at c has n_a outcomes of arm a, the difference of means D and its variance V
//! (noise included). With its weight W, fixed before the window began: k = sqrt(W/V), P += k D,
//! Q += k, spent += W. The estimate is P/Q with standard error sqrt(spent)/Q: the inverse-normal
//! combination of adaptive trials (Lehmacher and Wassmer 1999; Bauer and Koehne 1994). Given the past,
//! (D - effect)/sqrt(V) is about standard normal, and weights depend on the past and on the moment of
//! the close only, so (P - effect Q)/sqrt(spent) is about standard normal.
//! A late fair-coin window of a settled feature enters beside the biased one if it holds enough
//! outcomes, the weight split in proportion 1/V; otherwise its cells only join the ledger.
//!
//! Readings of the design where its description leaves a choice:
//! 1. W is a function of the ledger before the look, of c', spent and c+, the first planned count in
//!    which the feature takes part (n if there is none). A feature that was left out has one window
//!    from c' to c. At a close before c+, W is multiplied by (c - c')/(c+ - c').
//! 2. A settled feature's W is (1 - spent)(c+ - c')/(n - c'): its part of the patients left. In
//!    `uniform` W is (c+ - c')/n.
//! 3. Both windows of a settled feature join the ledger before either is compared.
//! 4. N of the ledger counts as at least 4 wherever it is a divisor or a forecast.
//! 5. A wish of floor(x) patients allows for rounding in x.
//!
//! # Privacy: epsilon-differentially private, delta = 0
//! Neighbours are two trials that differ in everything about one patient t - feature, arm, outcome,
//! recorded or lost - while requests come at the same moments. The adversary sees every arm but t's,
//! every acknowledgement and the whole ledger after every look, which is more than any reply holds.
//! Fix the ledger up to some look and every arm but t's. Then the count of the next look, the features
//! that take part in it, pi, the leading arms and the law of every coin are the same in both trials,
//! and raw windows differ only by t's contribution: amounts that add up to uY removed from one window
//! of one feature, and the like added to one window, perhaps of another feature that is read at
//! another look. Draws of rate epsilon/(2uY) on every cell bound the likelihood ratio of the first
//! by e^(epsilon/2) and of the second by e^(epsilon/2). All other windows have equal laws. Multiply
//! over looks; mixing over t's hidden arm cannot exceed the worst pair of arms; what is computed from
//! the ledger cannot add to this.
//!
//! The argument needs: one outcome a patient, ever; no output that reads a window; noise in every
//! cell of a window that is read, with or without patients; draws that are never clamped or used
//! twice; a look that happens once, also across a power cut. [`crate::trial`] and [`crate::device`]
//! keep the first and the last, this module the others.

use super::cells::{Cells, MAX_CELLS_BYTES, Sums, Unit};
use super::schedule::{self, LookKind};
use super::{AnyFeature, Arm, Choice, Look};
use crate::chance::{Chance, Fraction};
use crate::codec::{Reader, Writer};
use crate::estimate::Estimate;
use crate::noise::Laplace;
use crate::plan::{Design, Plan};

/// Expected outcomes an arm below which a window is not read, before the allowance for noise.
const MIN_WINDOW: f64 = 5.0;
/// Outcomes an arm below which a feature does not settle, before the allowance for noise.
const MIN_SETTLED: f64 = 10.0;
/// Least N of a ledger wherever it is a divisor or a forecast.
const MIN_OUTCOMES: f64 = 4.0;
/// Means are kept this far from 0 and 1 where a variance is made of them.
const MEAN_MARGIN: f64 = 0.02;
/// A graded outcome's variance is at least this share of a yes/no outcome's with the same mean.
const MIN_VARIANCE_SHARE: f64 = 1.0 / 20.0;
/// Added before a number of patients is rounded down, so that rounding of the number loses none.
const ROUNDING: f64 = 1.0 / (1u64 << 20) as f64;
const TWO_TO_32: f64 = 4_294_967_296.0;

/// The constants of a plan.
#[derive(Clone, Debug)]
pub(crate) struct LedgerDesign {
    adaptive: bool,
    noise: Laplace,
    unit: Unit,
    /// uY: what one outcome adds to the cells.
    weight: f64,
    beta: f64,
    /// v: variance of one draw over (uY)^2.
    variance: f64,
    /// ceil(ln n / epsilon).
    min_target: f64,
    /// n, half and the exponent 1 - alpha.
    patients: f64,
    half: f64,
    exponent: f64,
    /// n/M: patients a feature expected before anything is known.
    expected: f64,
}

/// How one arm's outcomes of a window or ledger are distributed.
#[derive(Clone, Copy, Debug)]
struct Spread {
    mean: f64,
    variance: f64,
}

/// A window's difference of means and its variance.
#[derive(Clone, Copy, Debug)]
struct Difference {
    d: f64,
    v: f64,
}

impl LedgerDesign {
    /// Prepares the constants of a plan.
    pub fn new(plan: &Plan) -> Self {
        let unit = Unit::of(plan);
        let weight = f64::from(unit.weight());
        let epsilon = plan.epsilon().to_f64();
        // 2q/(1-q)^2 with 1 - q = -expm1(-rate), without cancellation.
        let less = libm::expm1(-epsilon / (2.0 * weight));
        let patients = f64::from(plan.patients());
        Self {
            adaptive: plan.design() == Design::Interim,
            noise: Laplace::new(plan.epsilon().half_over(unit.weight())),
            unit,
            weight,
            beta: plan.beta().to_f64(),
            variance: 2.0 * (1.0 + less) / (less * less * weight * weight),
            min_target: libm::ceil(libm::log(patients) / epsilon),
            patients,
            half: f64::from(plan.half()),
            exponent: 1.0 - plan.alpha().to_f64(),
            expected: patients / f64::from(plan.features()),
        }
    }

    /// The unit of the plan's outcomes.
    pub const fn unit(&self) -> Unit {
        self.unit
    }

    /// 5 + sqrt(2v).
    fn min_window(&self) -> f64 {
        MIN_WINDOW + libm::sqrt(2.0 * self.variance)
    }

    /// N: the number of outcomes of both arms.
    fn count(&self, [zero, one]: [Sums; 2]) -> f64 {
        (zero.all + one.all) / self.weight
    }

    /// g(mu): the weight of one draw's variance in the variance of a mean.
    fn noise_weight(&self, mean: f64, counted: bool) -> f64 {
        let ends = if counted { mean * mean + (1.0 - mean) * (1.0 - mean) } else { 1.0 };
        let middle = if self.unit.has_spread() { (0.5 - mean) * (0.5 - mean) } else { 0.0 };
        ends + middle
    }

    /// Mean and variance of an arm's outcomes as a share of the scale, kept away from 0.
    fn spread(&self, sums: Sums) -> Spread {
        let count = f64::max(sums.all / self.weight, 0.0) + 2.0;
        let mean = ((sums.outcomes / self.weight + 1.0) / count).clamp(MEAN_MARGIN, 1.0 - MEAN_MARGIN);
        let most = mean * (1.0 - mean);
        let variance = most - sums.spread / (self.weight * count);
        let variance = variance.clamp(MIN_VARIANCE_SHARE * most, most);
        Spread { mean, variance }
    }

    /// D and V of a window, given the ledger that includes it and the outcomes expected of each arm.
    fn compare(&self, window: [Sums; 2], ledger: [Spread; 2], expected: [f64; 2]) -> Difference {
        let allowance = 2.0 * libm::sqrt(2.0 * self.variance);
        let arm = |arm: Arm| {
            let (sums, known) = (arm.of(window), arm.of(ledger));
            let least = f64::min(arm.of(expected) / 2.0, allowance);
            let seen = sums.all / self.weight;
            let n = f64::max(f64::max(seen, least), 1.0);
            let variance = f64::max(known.variance, self.spread(sums).variance);
            let noise = self.variance * self.noise_weight(known.mean, n <= seen);
            (sums.outcomes / (self.weight * n), variance / n + noise / (n * n))
        };
        let ((zero, v0), (one, v1)) = (arm(Arm::Zero), arm(Arm::One));
        Difference { d: one - zero, v: v0 + v1 }
    }

    /// inf(x, y): the precision of a comparison of x with y outcomes.
    fn precision(&self, x: f64, y: f64) -> f64 {
        let part = |x: f64| {
            let x = f64::max(x, 0.5);
            1.0 / x + 2.0 * self.variance / (x * x)
        };
        1.0 / (part(x) + part(y))
    }

    /// target(all): trailing patients wanted of a feature with `all` patients.
    fn target(&self, all: f64) -> f64 {
        let wish = libm::pow(all * self.half / self.patients, self.exponent);
        let wish = libm::floor(wish + ROUNDING);
        f64::max(self.min_target, wish) / 2.0
    }

    /// `all`: outcomes that a feature with `outcomes` at `count` resolved patients has at the end.
    fn forecast(&self, outcomes: f64, count: u32) -> f64 {
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
            let (here, rest) = (self.precision(here, here), self.precision(trailing, rest - trailing));
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
        expected * f64::min(zero, one) >= self.min_window()
    }

    /// Adds the noise of a feature's next look to the windows that it reads, where it is missing.
    fn mask(&self, feature: &mut Feature, chance: &mut impl Chance) {
        if !feature.fair_masked {
            feature.fair.add_noise(&self.noise, self.unit, chance);
            feature.fair_masked = true;
        }
        if feature.leading.is_some() && !feature.biased_masked {
            feature.biased.add_noise(&self.noise, self.unit, chance);
            feature.biased_masked = true;
        }
    }

    /// The features, as a mask, that take part in the next planned look and lack its noise.
    pub fn lacks_noise(&self, features: &mut [AnyFeature], look: &Look) -> u64 {
        each(features).zip(0..).fold(0, |lacking, (feature, j)| {
            let lacks = !feature.fair_masked || feature.leading.is_some() && !feature.biased_masked;
            lacking | u64::from(lacks && self.takes_part(feature, look)) << (j & 63)
        })
    }

    /// Adds the noise of the next look to the windows of one feature, ahead of the look.
    pub fn draw_ahead(&self, feature: &mut AnyFeature, chance: &mut impl Chance) {
        if let AnyFeature::Ledger(feature) = feature {
            self.mask(feature, chance);
        }
    }

    /// A look: windows of the features that take part join their ledgers and estimates, and features
    /// settle. Noise is drawn for the features of the next planned look first, then, at a close that
    /// comes before it, for the others: the order does not depend on what was drawn ahead.
    pub fn look(&self, features: &mut [AnyFeature], plan: &Plan, look: &Look, chance: &mut impl Chance) {
        let upcoming = look.upcoming(plan);
        for part in [&upcoming, look] {
            for feature in each(features) {
                if self.takes_part(feature, part) {
                    self.mask(feature, chance);
                }
            }
        }
        for feature in each(features) {
            if self.takes_part(feature, look) {
                feature.enter(self, plan, look);
                let may_settle = matches!(look.kind, LookKind::Early | LookKind::Half);
                if may_settle && feature.leading.is_none() {
                    feature.settle(self, look, chance);
                }
            }
        }
    }
}

/// Most bytes of a tally: both windows and which of them are masked.
pub(crate) const MAX_TALLY_BYTES: usize = 2 * MAX_CELLS_BYTES + 1;
/// Most bytes of a ledger: cells, P, Q, spent, last, share, looks, leading.
pub(crate) const MAX_LEDGER_BYTES: usize = MAX_CELLS_BYTES + 3 * 8 + 4 + 4 + 1 + 1;

/// The state of one feature.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Feature {
    /// P, Q and the sum of the weights so far.
    p: f64,
    q: f64,
    spent: f64,
    /// c': the count of the feature's previous look, 0 before the first.
    last: u32,
    /// pi, once settled.
    share: Fraction,
    /// Raw cells of the patients of each coin.
    fair: Cells,
    biased: Cells,
    /// Whether the next look's noise is in them.
    fair_masked: bool,
    biased_masked: bool,
    ledger: Cells,
    /// Looks of its fair window before it settled.
    looks: u8,
    /// The leading arm, once settled.
    leading: Option<Arm>,
}

impl Feature {
    pub const NEW: Self = Self {
        p: 0.0,
        q: 0.0,
        spent: 0.0,
        last: 0,
        share: Fraction(0),
        fair: Cells::EMPTY,
        biased: Cells::EMPTY,
        fair_masked: false,
        biased_masked: false,
        ledger: Cells::EMPTY,
        looks: 0,
        leading: None,
    };

    /// The leading arm of a settled feature.
    #[cfg(feature = "host")]
    pub const fn leading(&self) -> Option<Arm> {
        self.leading
    }

    /// The arm of the next patient; marked if the coin was the biased one. Both coins take the same
    /// randomness, so that the generator's progress does not depend on the feature.
    #[inline]
    pub fn choose(&self, chance: &mut impl Chance) -> Choice {
        let heads = chance.biased_coin(self.share());
        match self.leading {
            None => Choice { arm: Arm::from_bit(heads), mark: false },
            Some(leading) => Choice { arm: if heads { leading.other() } else { leading }, mark: true },
        }
    }

    /// Adds an outcome to the window of its patient's coin.
    #[inline]
    pub fn record(&mut self, choice: Choice, y: u16, unit: Unit) {
        self.window_mut(choice.mark).add_outcome(choice.arm, y, unit);
    }

    /// Adds equal outcomes of patients assigned by the present coin.
    #[cfg(feature = "host")]
    pub fn record_many(&mut self, arm: Arm, y: u16, count: u32, unit: Unit) {
        self.window_mut(self.leading.is_some()).add_outcomes(arm, y, count, unit);
    }

    #[inline]
    const fn window_mut(&mut self, biased: bool) -> &mut Cells {
        if biased { &mut self.biased } else { &mut self.fair }
    }

    /// Forgets the windows: a closed trial takes no outcomes.
    pub const fn wipe(&mut self) {
        (self.fair, self.fair_masked) = (Cells::EMPTY, false);
        (self.biased, self.biased_masked) = (Cells::EMPTY, false);
    }

    /// The probability of heads.
    #[inline]
    const fn share(&self) -> Fraction {
        if self.leading.is_some() { self.share } else { Fraction::HALF }
    }

    /// The coin's probability of each arm.
    fn shares(&self) -> [f64; 2] {
        let trailing = f64::from(self.share().0) / TWO_TO_32;
        match self.leading {
            None => [0.5; 2],
            Some(Arm::Zero) => [1.0 - trailing, trailing],
            Some(Arm::One) => [trailing, 1.0 - trailing],
        }
    }

    /// N of the ledger, at least 4.
    fn outcomes(&self, design: &LedgerDesign) -> f64 {
        f64::max(design.count(self.ledger.sums()), MIN_OUTCOMES)
    }

    /// Moves the windows into the ledger and the estimate.
    fn enter(&mut self, design: &LedgerDesign, plan: &Plan, look: &Look) {
        let weight = design.window_weight(self, plan, look);
        let (fair, biased) = (self.fair, self.leading.map(|_| self.biased));
        self.wipe();
        self.ledger.add(&fair);
        if let Some(biased) = &biased {
            self.ledger.add(biased);
        }
        let ledger = self.ledger.sums().map(|sums| design.spread(sums));
        let (count, since) = (f64::from(look.count), f64::from(self.last));
        let expected = self.outcomes(design) * (count - since) / count;
        let fair = fair.sums();
        let fair_difference = design.compare(fair, ledger, [expected / 2.0; 2]);
        match biased {
            None => self.combine(weight, fair_difference),
            Some(biased) => {
                let shares = self.shares().map(|share| share * expected);
                let biased = design.compare(biased.sums(), ledger, shares);
                if design.count(fair) / 2.0 >= design.min_window() {
                    let (f, b) = (1.0 / fair_difference.v, 1.0 / biased.v);
                    self.combine(weight * f / (f + b), fair_difference);
                    self.combine(weight * b / (f + b), biased);
                } else {
                    self.combine(weight, biased);
                }
            }
        }
        self.last = look.count;
        self.looks = self.looks.saturating_add(1);
    }

    /// Adds a difference with its weight to the estimate.
    fn combine(&mut self, weight: f64, difference: Difference) {
        if weight > 0.0 {
            let k = libm::sqrt(weight / difference.v);
            self.p += k * difference.d;
            self.q += k;
            self.spent += weight;
        }
    }

    /// Settles the feature at half, or before it if its ledger shows which arm leads.
    fn settle(&mut self, design: &LedgerDesign, look: &Look, chance: &mut impl Chance) {
        let ledger = self.ledger.sums();
        let noise = f64::from(self.looks) * design.variance;
        let arm = |arm: Arm| {
            let sums = arm.of(ledger);
            let n = f64::max(sums.all / design.weight, 1.0);
            let Spread { mean, variance } = design.spread(sums);
            let noise = noise * design.noise_weight(mean, true);
            // One division of exact numbers, so that equal means are equal.
            (sums.outcomes / f64::max(sums.all, design.weight), variance / n + noise / (n * n))
        };
        let ((zero, v0), (one, v1)) = (arm(Arm::Zero), arm(Arm::One));
        let z = (one - zero) / libm::sqrt(v0 + v1);
        if look.kind == LookKind::Early {
            let draws = if design.unit.has_spread() { 3.0 } else { 2.0 };
            let least = MIN_SETTLED + 4.0 * libm::sqrt(draws * noise);
            let enough = ledger.iter().all(|sums| sums.all / design.weight >= least);
            // The two-sided p-value of z.
            if !enough || libm::erfc(libm::fabs(z) / core::f64::consts::SQRT_2) > design.beta {
                return;
            }
        }
        let one_leads = if z == 0.0 { chance.coin() } else { z > 0.0 };
        self.leading = Some(Arm::from_bit(one_leads));
        let all = design.forecast(self.outcomes(design), look.count);
        let to_come = all * (design.patients - f64::from(look.assigned)) / design.patients;
        // With nobody to come the quotient is infinite and pi is 1/2.
        let share = f64::min(design.target(all) / to_come, 0.5);
        self.share = Fraction((share * TWO_TO_32) as u32);
    }

    /// The effect, once a window has entered.
    pub fn estimate(&self, design: &LedgerDesign) -> Option<Estimate> {
        let outcomes = f64::max(design.count(self.ledger.sums()), 0.0);
        (self.q > 0.0).then(|| Estimate::new(self.p / self.q, libm::sqrt(self.spent) / self.q, outcomes))
    }

    /// Bytes of the tally under a plan.
    pub const fn tally_bytes(unit: Unit) -> usize {
        2 * unit.cells_bytes() + 1
    }

    /// Bytes of the ledger under a plan.
    pub const fn ledger_bytes(unit: Unit) -> usize {
        MAX_LEDGER_BYTES - MAX_CELLS_BYTES + unit.cells_bytes()
    }

    pub fn encode_tally(&self, unit: Unit, out: &mut [u8]) {
        let mut out = Writer(out);
        self.fair.encode(unit, &mut out);
        self.biased.encode(unit, &mut out);
        out.put(&[u8::from(self.fair_masked) | u8::from(self.biased_masked) << 1]);
    }

    pub fn decode_tally(&mut self, unit: Unit, bytes: &[u8]) -> Option<()> {
        let mut bytes = Reader(bytes);
        (self.fair, self.biased) = (Cells::decode(unit, &mut bytes)?, Cells::decode(unit, &mut bytes)?);
        let [masked @ 0..=3] = bytes.take()? else { return None };
        (self.fair_masked, self.biased_masked) = (masked & 1 == 1, masked & 2 == 2);
        Some(())
    }

    pub fn encode_ledger(&self, unit: Unit, out: &mut [u8]) {
        let mut out = Writer(out);
        self.ledger.encode(unit, &mut out);
        [self.p, self.q, self.spent].iter().for_each(|value| out.put(&value.to_le_bytes()));
        out.put(&self.last.to_le_bytes());
        out.put(&self.share.0.to_le_bytes());
        out.put(&[self.looks, super::arm_byte(self.leading)]);
    }

    pub fn decode_ledger(&mut self, unit: Unit, bytes: &[u8]) -> Option<()> {
        let mut bytes = Reader(bytes);
        self.ledger = Cells::decode(unit, &mut bytes)?;
        let mut float = || bytes.take().map(f64::from_le_bytes).filter(|value| value.is_finite());
        (self.p, self.q, self.spent) = (float()?, float()?, float()?);
        self.last = u32::from_le_bytes(bytes.take()?);
        self.share = Fraction(u32::from_le_bytes(bytes.take()?));
        let [looks, leading] = bytes.take()?;
        self.looks = looks;
        self.leading = super::arm_from_byte(leading)?;
        Some(())
    }

    /// What the adversary of the proof sees, and what tests compare.
    #[cfg(feature = "host")]
    pub fn inspect(&self) -> super::LedgerView {
        super::LedgerView {
            cells: self.ledger.values(),
            leading: self.leading,
            share: self.share(),
            p: self.p,
            q: self.q,
            spent: self.spent,
            last: self.last,
        }
    }
}

/// The features of a trial of this design.
fn each(features: &mut [AnyFeature]) -> impl Iterator<Item = &mut Feature> {
    features.iter_mut().filter_map(|feature| match feature {
        AnyFeature::Ledger(feature) => Some(feature),
        AnyFeature::Published(_) => None,
    })
}
