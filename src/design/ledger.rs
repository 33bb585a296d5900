//! The state of one feature of `interim` and `uniform`: two windows of raw cells, the noisy ledger
//! and the estimate. What they mean is said in [`super::interim`].

use super::cells::{Cells, MAX_CELLS_BYTES, Sums, Unit};
use super::comparison::{Difference, Measure, Spread};
use super::interim::LedgerDesign;
use super::schedule::LookKind;
use super::{Choice, Look};
use crate::chance::{Chance, Fraction};
use crate::codec::{Reader, Writer};
use crate::estimate::Estimate;
use crate::terms::{Arm, arm_byte, arm_from_byte};

/// Least N of a ledger wherever it is a divisor or a forecast.
const MIN_OUTCOMES: f64 = 4.0;
const TWO_TO_32: f64 = 4_294_967_296.0;

/// Most bytes of a tally: both windows and which of them are masked.
pub(super) const MAX_TALLY_BYTES: usize = 2 * MAX_CELLS_BYTES + 1;
/// Most bytes of a ledger: cells, P, Q, spent, last, share, looks, leading.
pub(super) const MAX_LEDGER_BYTES: usize = MAX_CELLS_BYTES + 3 * 8 + 4 + 4 + 1 + 1;

/// The state of one feature.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Feature {
    /// P, Q and the sum of the weights so far.
    p: f64,
    q: f64,
    pub(super) spent: f64,
    /// c': the count of the feature's previous look, 0 before the first.
    pub(super) last: u32,
    /// pi, once settled.
    share: Fraction,
    /// Raw cells of the patients of each coin.
    pub(super) fair: Cells,
    pub(super) biased: Cells,
    /// Whether the next look's noise is in them.
    pub(super) fair_masked: bool,
    pub(super) biased_masked: bool,
    ledger: Cells,
    /// Looks of its fair window before it settled.
    looks: u8,
    /// The leading arm, once settled.
    pub(super) leading: Option<Arm>,
}

/// Figures of a ledger, worked out once a look.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    spreads: [Spread; 2],
    /// N, at least 4.
    outcomes: f64,
}

impl Known {
    fn of(sums: [Sums; 2], measure: &Measure) -> Self {
        let spreads = sums.map(|sums| measure.spread(sums));
        Self { spreads, outcomes: outcomes(measure, sums) }
    }
}

/// N of a ledger, at least 4.
fn outcomes(measure: &Measure, ledger: [Sums; 2]) -> f64 {
    f64::max(measure.count(ledger), MIN_OUTCOMES)
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
    #[cfg(feature = "std")]
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
            Some(leading) => {
                Choice { arm: if heads { leading.other() } else { leading }, mark: true }
            }
        }
    }

    /// Adds an outcome to the window of its patient's coin.
    #[inline]
    pub fn record(&mut self, choice: Choice, y: u16, unit: Unit) {
        self.window_mut(choice.mark).add_outcome(choice.arm, y, unit);
    }

    /// Adds equal outcomes of patients assigned by the present coin.
    #[cfg(feature = "std")]
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
    pub fn shares(&self) -> [f64; 2] {
        let trailing = f64::from(self.share().0) / TWO_TO_32;
        match self.leading {
            None => [0.5; 2],
            Some(Arm::Zero) => [1.0 - trailing, trailing],
            Some(Arm::One) => [trailing, 1.0 - trailing],
        }
    }

    /// N of the ledger, at least 4.
    pub fn outcomes(&self, design: &LedgerDesign) -> f64 {
        outcomes(&design.measure, self.ledger.sums())
    }

    /// Moves the windows into the ledger and, with this weight, into the estimate.
    pub(super) fn enter(&mut self, design: &LedgerDesign, look: &Look, weight: f64) -> Known {
        let (fair, biased) = (self.fair, self.leading.map(|_| self.biased));
        self.wipe();
        self.ledger.add(&fair);
        if let Some(biased) = &biased {
            self.ledger.add(biased);
        }
        let known = Known::of(self.ledger.sums(), &design.measure);
        let ledger = known.spreads;
        let (count, since) = (f64::from(look.count), f64::from(self.last));
        let expected = known.outcomes * (count - since) / count;
        let fair = fair.sums();
        let fair_difference = design.measure.compare(fair, ledger, [expected / 2.0; 2]);
        match biased {
            None => self.combine(weight, fair_difference),
            Some(biased) => {
                let shares = self.shares().map(|share| share * expected);
                let biased = design.measure.compare(biased.sums(), ledger, shares);
                if design.measure.count(fair) / 2.0 >= design.measure.min_window() {
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
        known
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
    pub(super) fn settle(
        &mut self,
        design: &LedgerDesign,
        look: &Look,
        known: Known,
        chance: &mut impl Chance,
    ) {
        let (sums, Known { spreads, outcomes }) = (self.ledger.sums(), known);
        let z = design.measure.z(sums, spreads, self.looks);
        // The two-sided p-value of z.
        let p_value = || libm::erfc(libm::fabs(z) / core::f64::consts::SQRT_2);
        let early = look.kind == LookKind::Early;
        if early && (!design.measure.is_enough(sums, self.looks) || p_value() > design.beta) {
            return;
        }
        let one_leads = if z == 0.0 { chance.coin() } else { z > 0.0 };
        self.leading = Some(Arm::from_bit(one_leads));
        let all = design.forecast(outcomes, look.count);
        let to_come = all * (design.patients - f64::from(look.assigned)) / design.patients;
        // With nobody to come the quotient is infinite and pi is 1/2.
        let share = f64::min(design.target(all) / to_come, 0.5);
        self.share = Fraction((share * TWO_TO_32) as u32);
    }

    /// The effect, once a window has entered.
    pub fn estimate(&self, design: &LedgerDesign) -> Option<Estimate> {
        let outcomes = f64::max(design.measure.count(self.ledger.sums()), 0.0);
        (self.q > 0.0)
            .then(|| Estimate::new(self.p / self.q, libm::sqrt(self.spent) / self.q, outcomes))
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
        (self.fair, self.biased) =
            (Cells::decode(unit, &mut bytes)?, Cells::decode(unit, &mut bytes)?);
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
        out.put(&[self.looks, arm_byte(self.leading)]);
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
        self.leading = arm_from_byte(leading)?;
        Some(())
    }

    /// Raw cells of the fair and of the biased window, and whether each has its noise.
    #[cfg(feature = "inspect")]
    pub fn windows(&self) -> [([[i64; 3]; 2], bool); 2] {
        [(self.fair.values(), self.fair_masked), (self.biased.values(), self.biased_masked)]
    }

    /// State that the adversary of the proof sees, and that tests compare.
    #[cfg(feature = "inspect")]
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
