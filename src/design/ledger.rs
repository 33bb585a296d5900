//! The state of one feature of `interim` and `uniform`: two windows of raw cells, the noisy ledger,
//! the coin and the estimate. What they mean is said in [`super::interim`].

mod basis;

use super::cells::{Cells, MAX_CELLS_BYTES, Unit};
use super::comparison::{Difference, larger, smaller};
use super::forecast::Forecast;
use super::interim::LedgerDesign;
use super::look::Shared;
use super::root::root;
use super::schedule::{LookKind, MAX_LOOKS};
use super::{Choice, Look};
use crate::chance::{Chance, Fraction};
use crate::codec::{Reader, Writer};
use crate::noise::Laplace;
use crate::terms::Arm;
use core::cmp::Ordering;

/// Least N of a ledger wherever it is a divisor or a forecast.
const MIN_OUTCOMES: f64 = 4.0;
const TWO_TO_32: f64 = 4_294_967_296.0;
const TWO_TO_16: f64 = 65_536.0;
const TWO_TO_8: f64 = 256.0;

/// Most bytes of a tally: both windows and which of them are masked.
pub(super) const MAX_TALLY_BYTES: usize = 2 * MAX_CELLS_BYTES + 1;
/// Most bytes of a ledger: cells, P, Q, spent, coins, both coins' shares, spent at half, reports,
/// emptied, settled and windows read.
pub(super) const MAX_LEDGER_BYTES: usize = MAX_CELLS_BYTES + 2 * 8 + 4 + 4 + 4 + 2 + 1 + 1 + 2 + 1;

/// The bits of `masked` that say which windows have their noise.
const MASKS: u8 = 3;
/// Most windows read: two at every look.
const MOST_WINDOWS: u8 = 2 * (MAX_LOOKS as u8 + 1);
const MOST_SETTLED_AND_READ: u8 = 2 * MOST_WINDOWS + 1;
const _: () = assert!(MOST_WINDOWS <= u8::MAX >> MASKS.count_ones());

/// The number of a coin, modulo 2: the window of its patients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Parity(bool);

impl Parity {
    const fn other(self) -> Self {
        Self(!self.0)
    }

    /// The parity's bit of a mask.
    const fn bit(self) -> u8 {
        1 << self.0 as u8
    }

    /// The parity's entry of a pair.
    #[cfg(feature = "inspect")]
    const fn of<T: Copy>(self, pair: [T; 2]) -> T {
        Arm::from_bit(self.0).of(pair)
    }

    /// The parity's entry of a pair, to change.
    #[inline]
    const fn of_mut<T>(self, pair: &mut [T; 2]) -> &mut T {
        Arm::from_bit(self.0).of_mut(pair)
    }
}

/// The state of one feature. A new one is all zeros ([`crate::trial::Trial::vacant`]), so coins are
/// kept as their difference from a fair one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Feature {
    /// P, Q and the sum of the weights so far.
    p: f64,
    q: f64,
    spent: f32,
    /// The looks that changed the coin: bit k is look number k + 1.
    coins: u32,
    /// The coin's probability of arm 1 in units of 2^-32, its highest bit turned over.
    lean: u32,
    /// The same of the coin before, in units of 2^-16.
    lean_before: u16,
    /// `spent` after the last look up to half, in units of 2^-8, and the reports in which the
    /// feature took part, the first in bit 0: with them the information fraction of every report
    /// can be told.
    half_spent: u8,
    reports: u8,
    /// Raw cells of the patients of each parity.
    windows: [Cells; 2],
    ledger: Cells,
    /// The number of the look that last read or forgot each window, 0 for none.
    emptied: [u8; 2],
    /// Whether the next look's noise is in each window: bit 0 for even coins, bit 1 for odd ones.
    /// Above them the number of windows read. (One byte for both: memory is short.)
    masked: u8,
    /// Whether the coin stays to the end.
    pub(super) settled: bool,
}

impl Feature {
    pub const NEW: Self = Self {
        p: 0.0,
        q: 0.0,
        spent: 0.0,
        coins: 0,
        lean: 0,
        lean_before: 0,
        half_spent: 0,
        reports: 0,
        windows: [Cells::EMPTY; 2],
        ledger: Cells::EMPTY,
        emptied: [0; 2],
        masked: 0,
        settled: false,
    };

    /// The arm that the coin of a settled feature favours.
    #[cfg(feature = "std")]
    pub fn leading(&self) -> Option<Arm> {
        let one = self.coin();
        (self.settled && one != Fraction::HALF).then(|| Arm::from_bit(one > Fraction::HALF))
    }

    /// The looks that changed the coin, as a mask.
    #[cfg(feature = "std")]
    pub const fn coins(&self) -> u32 {
        self.coins
    }

    /// The probability of arm 1.
    #[inline]
    const fn coin(&self) -> Fraction {
        Fraction(self.lean ^ Fraction::HALF.0)
    }

    /// The parity of the present coin.
    #[inline]
    const fn now(&self) -> Parity {
        Parity(self.coins.count_ones() & 1 == 1)
    }

    /// The arm of the next patient, marked with the parity of the coin.
    #[inline]
    pub fn choose(&self, chance: &mut impl Chance) -> Choice {
        Choice { arm: Arm::from_bit(chance.biased_coin(self.coin())), mark: self.now().0 }
    }

    /// Adds an outcome to the window of its patient's coin.
    #[inline]
    pub fn record(&mut self, choice: Choice, y: u16, unit: Unit) {
        Parity(choice.mark).of_mut(&mut self.windows).add_outcome(choice.arm, y, unit);
    }

    /// Adds equal outcomes of patients assigned by the present coin.
    #[cfg(feature = "std")]
    pub fn record_many(&mut self, arm: Arm, y: u16, count: u32, unit: Unit) {
        self.now().of_mut(&mut self.windows).add_outcomes(arm, y, count, unit);
    }

    /// Forgets the windows: a closed trial takes no outcomes.
    pub const fn wipe(&mut self) {
        self.windows = [Cells::EMPTY; 2];
        self.masked &= !MASKS;
    }

    /// The coin's probability of each arm.
    pub fn shares(&self) -> [f64; 2] {
        let one = f64::from(self.coin().0) / TWO_TO_32;
        [1.0 - one, one]
    }

    /// The same of the coin before.
    pub fn before_shares(&self) -> [f64; 2] {
        let one = f64::from(self.lean_before ^ 1 << 15) / TWO_TO_16;
        [1.0 - one, one]
    }

    /// N of the ledger, at least 4.
    pub fn outcomes(&self, design: &LedgerDesign) -> f64 {
        f64::max(design.measure.count(self.ledger.sums()), MIN_OUTCOMES)
    }

    /// The sum of the weights so far.
    pub fn spent(&self) -> f64 {
        self.spent.into()
    }

    /// The number of the last look in which the feature took part, 0 for none: each read a window.
    pub fn last_look(&self) -> u8 {
        let [even, odd] = self.emptied;
        even.max(odd)
    }

    /// The place, counted from 0, of the look at which the present coin began.
    pub fn coin_look(&self) -> Option<u8> {
        self.coins.checked_ilog2().map(|place| place as u8)
    }

    /// The windows that a look reads and whose noise is missing, the now-window first.
    pub(super) fn lacking(&self, forecast: &Forecast) -> impl Iterator<Item = Parity> + use<> {
        let (now, masked) = (self.now(), self.masked);
        let windows = [(now, forecast.reads_now), (now.other(), forecast.reads_before)];
        windows
            .into_iter()
            .filter(move |(at, reads)| *reads && masked & at.bit() == 0)
            .map(|(at, _)| at)
    }

    /// Adds the noise of the next look to a window.
    pub(super) fn mask(
        &mut self,
        at: Parity,
        noise: &Laplace,
        unit: Unit,
        chance: &mut impl Chance,
    ) {
        at.of_mut(&mut self.windows).add_noise(noise, unit, chance);
        self.masked |= at.bit();
    }

    /// Empties a window at a look.
    fn empty(&mut self, at: Parity, look: &Look<'_>) -> Cells {
        self.masked &= !at.bit();
        *at.of_mut(&mut self.emptied) = look.number;
        core::mem::replace(at.of_mut(&mut self.windows), Cells::EMPTY)
    }

    /// Moves the windows that are read into the ledger and, with this weight, into the estimate.
    /// Returns the ledger's outcomes a patient resolved, with N at least 4.
    pub(super) fn enter(
        &mut self,
        design: &LedgerDesign,
        look: &Look<'_>,
        forecast: &Forecast,
        weight: f64,
    ) -> f64 {
        let now = self.now();
        let fresh = forecast.reads_now.then(|| self.empty(now, look));
        let late = forecast.reads_before.then(|| self.empty(now.other(), look));
        for window in [&fresh, &late].into_iter().flatten() {
            self.ledger.add(window);
            self.masked = self.masked.saturating_add(MASKS + 1);
        }
        if look.kind == LookKind::Report {
            let place = u32::from(look.number).wrapping_sub(1 + u32::from(design.looks_to_half));
            self.reports |= 1u8.checked_shl(place).unwrap_or(0);
        }
        let sums = self.ledger.sums();
        let outcomes = larger(design.measure.count(sums), MIN_OUTCOMES);
        let forecast = forecast.revised(outcomes, look.count);
        if weight > 0.0 {
            let known = sums.map(|sums| design.measure.spread(sums));
            let compare = |window: Option<Cells>, expected: Option<[f64; 2]>| {
                let (window, expected) = window.zip(expected)?;
                Some(design.measure.compare(window.sums(), sums, known, expected))
            };
            let fresh = compare(fresh, forecast.now(self));
            let late = compare(late, forecast.before(self));
            self.combine(weight, [fresh, late]);
        }
        forecast.rate
    }

    /// Adds differences with their weight to the estimate; two share it in proportion 1/V.
    fn combine(&mut self, weight: f64, differences: [Option<Difference>; 2]) {
        let share = match differences {
            [Some(one), Some(other)] => weight / (1.0 / one.v + 1.0 / other.v),
            // All of it, over 1/V.
            [Some(one), None] | [None, Some(one)] => weight * one.v,
            [None, None] => return,
        };
        let root = root(share);
        for Difference { d, v } in differences.into_iter().flatten() {
            // sqrt(W/V) with W = share/V.
            let k = root / v;
            self.p += k * d;
            self.q += k;
        }
        self.spent = (self.spent() + weight) as f32;
    }

    /// The coin after an early look or the one at half, with this many outcomes of the feature a
    /// patient resolved.
    pub(super) fn change_coin(
        &mut self,
        design: &LedgerDesign,
        look: &Look<'_>,
        rate: f64,
        shared: &mut Shared,
    ) {
        let z = if self.spent > 0.0 { self.p / shared.root.of(self.spent(), root) } else { 0.0 };
        // The two-sided p-value of z.
        let p_value = libm::erfc(libm::fabs(z) / core::f64::consts::SQRT_2);
        let is_sure = p_value <= design.beta;
        let confidence = if is_sure { 1.0 } else { 1.0 - p_value / 2.0 };
        let to_come = rate * (design.patients - f64::from(look.assigned));
        // With nobody to come the quotient is infinite and the coin fair.
        let target = shared.target.of(rate * design.patients, |all| design.target(all));
        let wish = smaller(target / to_come, 0.5);
        let trailing = confidence * wish + (1.0 - confidence) * (1.0 - wish);
        let trailing = ((trailing * TWO_TO_32) as u32).clamp(1, Fraction::HALF.0);
        let one = match z.partial_cmp(&0.0) {
            Some(Ordering::Greater) => trailing.wrapping_neg(),
            Some(Ordering::Less) => trailing,
            _ => Fraction::HALF.0,
        };
        // Rounded, and never 0 or 1.
        let before = (u64::from(self.coin().0) + (1 << 15)) >> 16;
        self.lean_before = before.clamp(1, u16::MAX.into()) as u16 ^ 1 << 15;
        self.lean = one ^ Fraction::HALF.0;
        // The before-window is forgotten unless it was read: the new coin's patients take it over.
        let before = self.now().other();
        self.empty(before, look);
        self.coins |= 1u32.checked_shl(u32::from(look.number).wrapping_sub(1)).unwrap_or(0);
        self.half_spent = libm::round(self.spent() * TWO_TO_8) as u8;
        self.settled = is_sure || look.kind == LookKind::Half;
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
        self.windows.iter().for_each(|window| window.encode(unit, &mut out));
        out.put(&[self.masked & MASKS]);
    }

    pub fn decode_tally(&mut self, unit: Unit, bytes: &[u8]) -> Option<()> {
        let mut bytes = Reader(bytes);
        self.windows = [Cells::decode(unit, &mut bytes)?, Cells::decode(unit, &mut bytes)?];
        let [masked @ ..=MASKS] = bytes.take()? else { return None };
        self.masked = self.masked & !MASKS | masked;
        Some(())
    }

    pub fn encode_ledger(&self, unit: Unit, out: &mut [u8]) {
        let mut out = Writer(out);
        self.ledger.encode(unit, &mut out);
        [self.p, self.q].iter().for_each(|value| out.put(&value.to_le_bytes()));
        out.put(&self.spent.to_le_bytes());
        out.put(&self.coins.to_le_bytes());
        out.put(&self.lean.to_le_bytes());
        out.put(&self.lean_before.to_le_bytes());
        out.put(&[self.half_spent, self.reports]);
        out.put(&self.emptied);
        out.put(&[u8::from(self.settled) | self.windows_read() << 1]);
    }

    pub fn decode_ledger(&mut self, unit: Unit, bytes: &[u8]) -> Option<()> {
        let mut bytes = Reader(bytes);
        self.ledger = Cells::decode(unit, &mut bytes)?;
        let mut float = || bytes.take().map(f64::from_le_bytes).filter(|value| value.is_finite());
        (self.p, self.q) = (float()?, float()?);
        self.spent = bytes.take().map(f32::from_le_bytes).filter(|value| value.is_finite())?;
        self.coins = u32::from_le_bytes(bytes.take()?);
        self.lean = u32::from_le_bytes(bytes.take()?);
        self.lean_before = u16::from_le_bytes(bytes.take()?);
        [self.half_spent, self.reports] = bytes.take()?;
        self.emptied = bytes.take()?;
        let [settled_and_read @ ..=MOST_SETTLED_AND_READ] = bytes.take()? else { return None };
        self.settled = settled_and_read & 1 == 1;
        self.masked = self.masked & MASKS | (settled_and_read >> 1) << MASKS.count_ones();
        Some(())
    }

    /// Raw cells of the now-window and of the before-window, and whether each has its noise.
    #[cfg(feature = "inspect")]
    pub fn windows(&self) -> [([[i64; 3]; 2], bool); 2] {
        let now = self.now();
        [now, now.other()].map(|at| (at.of(self.windows).values(), self.masked & at.bit() != 0))
    }

    /// State that the adversary of the proof sees, and that tests compare.
    #[cfg(feature = "inspect")]
    pub fn inspect(&self) -> super::LedgerView {
        super::LedgerView {
            cells: self.ledger.values(),
            settled: self.settled,
            coin: self.coin(),
            before: self.lean_before ^ 1 << 15,
            coins: self.coins,
            emptied: self.emptied,
            p: self.p,
            q: self.q,
            spent: self.spent(),
        }
    }
}
