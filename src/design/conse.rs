//! Successive elimination and a trial of fixed length: the paper's Algorithm 1, and what Algorithm
//! 2 shares.
//!
//! Explore, per feature with both arms alive: a fair coin; the outcome joins the batch's means
//! (line 7). When the batch has its length (line 9) and is not the empty epoch 0, an arm whose mean
//! trails by more than the threshold is dropped (lines 10-11), and the next, longer batch begins
//! (lines 12-14). At half the length T_j of each feature's randomised trial is fixed (lines 17-20).
//! Measure: fair coins for T_j patients (lines 26-27), then the estimate (lines 28-29); after that
//! the survivor (line 31), or a fair coin if both survive.
//!
//! The two algorithms differ in four steps, the methods of [`Steps`]: the length of a batch, the
//! noise on a mean, the length of a trial and the noise on an estimate. [`Conse`] is exact in all
//! four.
//!
//! Outcomes count when they are recorded. A batch ends at its R-th recorded outcome; a trial ends
//! when its T_j patients are all recorded or lost. With every outcome recorded before the next
//! patient arrives this is the paper's algorithm to the letter. An explore outcome recorded after
//! the half is not used.
//!
//! Means are compared in f64. IEEE division, multiplication and addition give the same bits on the
//! board (in software) and on a host, and so do libm's logarithms and powers.

use super::{AnyFeature, Choice, Design, Half, Look, published};
use crate::chance::Chance;
use crate::codec::{Reader, Writer};
use crate::estimate::Estimate;
use crate::plan::Plan;
use crate::terms::{Arm, arm_byte, arm_from_byte};

pub(crate) use super::steps::{Conse, Epoch, Steps};

/// Bytes of a tally: sums, counts, seen but for who waits, resolved.
pub(crate) const TALLY: usize = 2 * 8 + 2 * 4 + 4 + 4;
/// Bytes of a ledger: epoch, dropped, estimated, length, estimate, counted.
pub(crate) const LEDGER: usize = 3 + 4 + 8 + 4;

/// The state of one feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Feature {
    /// Sum of recorded outcomes per arm, of this batch or trial.
    sums: [u64; 2],
    /// Recorded outcomes per arm, of this batch or trial.
    counts: [u32; 2],
    /// n_j: patients of the feature in this half.
    seen: u32,
    /// r_j: recorded outcomes of this batch; in the second half, resolved patients of the trial.
    resolved: u32,
    /// R^j_e: outcomes that end this batch; in the second half T_j.
    length: u32,
    epoch: u8,
    dropped: Option<Arm>,
    /// The estimate in units of 1/(T_j Y), once T_j patients are resolved.
    estimate: Option<i64>,
    /// Outcomes behind the estimate, at least 1; noisy in Algorithm 2.
    counted: u32,
}

impl Feature {
    pub const NEW: Self = Self {
        sums: [0; 2],
        counts: [0; 2],
        seen: 0,
        resolved: 0,
        length: 0,
        epoch: 0,
        dropped: None,
        estimate: None,
        counted: 0,
    };

    #[cfg(feature = "std")]
    pub const fn dropped(&self) -> Option<Arm> {
        self.dropped
    }

    #[cfg(feature = "inspect")]
    pub const fn epoch(&self) -> u8 {
        self.epoch
    }

    #[cfg(feature = "inspect")]
    /// R^j_e, or T_j in the second half.
    pub const fn length(&self) -> u32 {
        self.length
    }

    /// The arm of the next patient.
    #[inline]
    pub fn choose(&mut self, half: Half, chance: &mut impl Chance) -> Choice {
        match half {
            Half::Explore => self.explore(chance),
            Half::Measure => self.measure(chance),
        }
    }

    #[inline]
    fn explore(&mut self, chance: &mut impl Chance) -> Choice {
        self.seen = self.seen.saturating_add(1);
        match self.dropped {
            None => Choice { arm: Arm::from_bit(chance.coin()), mark: true },
            Some(dropped) => Choice { arm: dropped.other(), mark: false },
        }
    }

    #[inline]
    fn measure(&mut self, chance: &mut impl Chance) -> Choice {
        self.seen = self.seen.saturating_add(1);
        let counts = self.seen <= self.length;
        match self.dropped {
            Some(dropped) if !counts => Choice { arm: dropped.other(), mark: counts },
            _ => Choice { arm: Arm::from_bit(chance.coin()), mark: counts },
        }
    }

    fn add(&mut self, arm: Arm, y: u16) {
        let (sum, count) = (arm.of_mut(&mut self.sums), arm.of_mut(&mut self.counts));
        *sum = sum.saturating_add(u64::from(y));
        *count = count.saturating_add(1);
    }

    /// The mean of an arm in outcome units; 0 before its first outcome, as initialised in line 2.
    fn mean(&self, arm: Arm, scale: u16) -> f64 {
        let count = arm.of(self.counts);
        if count == 0 {
            return 0.0;
        }
        arm.of(self.sums) as f64 / (f64::from(count) * f64::from(scale))
    }

    /// Records an outcome or, with `None`, writes it off; one that was not coin-assigned for
    /// measuring is not used. True if that ended a batch.
    #[inline]
    pub fn record(
        &mut self,
        plan: &Plan,
        half: Half,
        choice: Choice,
        y: Option<u16>,
        steps: &impl Steps,
        chance: &mut impl Chance,
    ) -> bool {
        match (choice.mark, half, y) {
            (false, ..) | (_, Half::Explore, None) => false,
            (true, Half::Explore, Some(y)) => self.explored(choice.arm, y, plan, steps, chance),
            (true, Half::Measure, y) => {
                self.measured(choice.arm, y, plan, steps, chance);
                false
            }
        }
    }

    #[inline]
    fn explored(
        &mut self,
        arm: Arm,
        y: u16,
        plan: &Plan,
        steps: &impl Steps,
        chance: &mut impl Chance,
    ) -> bool {
        if self.dropped.is_some() {
            return false;
        }
        self.add(arm, y);
        self.resolved = self.resolved.saturating_add(1);
        let ended = self.resolved >= self.length;
        if ended {
            self.end_batch(plan, steps, chance);
        }
        ended
    }

    #[cold]
    fn end_batch(&mut self, plan: &Plan, steps: &impl Steps, chance: &mut impl Chance) {
        let constants = |e| Epoch::new(e, plan.patients(), steps.epsilon());
        if self.epoch >= 1 {
            let epoch = constants(self.epoch);
            let zero = self.mean(Arm::Zero, plan.scale()) + steps.mean_noise(epoch.length, chance);
            let one = self.mean(Arm::One, plan.scale()) + steps.mean_noise(epoch.length, chance);
            let threshold = steps.threshold(epoch);
            if one - zero > threshold {
                self.dropped = Some(Arm::Zero);
            } else if zero - one > threshold {
                self.dropped = Some(Arm::One);
            }
        }
        self.epoch = self.epoch.saturating_add(1);
        self.length = steps.batch(constants(self.epoch).length, chance);
        self.restart();
    }

    /// Forgets what a closed trial no longer needs.
    pub fn wipe(&mut self) {
        self.restart();
        self.seen = 0;
    }

    /// Adds to a state taken back from its bytes the patients of this half who wait.
    pub const fn count_waiting(&mut self, waiting: u32) {
        self.seen = self.seen.saturating_add(waiting);
    }

    fn restart(&mut self) {
        self.sums = [0; 2];
        self.counts = [0; 2];
        self.resolved = 0;
    }

    /// f_j^(1-alpha), this feature's bid for T_min.
    fn wish(&self, plan: &Plan) -> f64 {
        libm::pow(f64::from(self.seen), 1.0 - plan.alpha().to_f64())
    }

    /// Starts the second half with a trial planned as `t_min`.
    fn turn(&mut self, t_min: f64, steps: &impl Steps, chance: &mut impl Chance) {
        self.length = steps.trial(t_min, chance);
        self.seen = 0;
        self.restart();
    }

    #[inline]
    fn measured(
        &mut self,
        arm: Arm,
        y: Option<u16>,
        plan: &Plan,
        steps: &impl Steps,
        chance: &mut impl Chance,
    ) {
        if let Some(y) = y {
            self.add(arm, y);
        }
        self.resolved = self.resolved.saturating_add(1);
        if self.resolved == self.length {
            // Rounded to the grid of the noise first: an estimate off the grid would carry the
            // exact means in its fraction.
            let difference = self.mean(Arm::One, plan.scale()) - self.mean(Arm::Zero, plan.scale());
            let units = difference * f64::from(self.length) * f64::from(plan.scale());
            self.estimate =
                Some((libm::round(units) as i64).saturating_add(steps.estimate_noise(chance)));
            let [zero, one] = self.counts.map(i64::from);
            let counted = (zero + one).saturating_add(steps.count_noise(chance));
            self.counted = counted.clamp(1, self.length.into()) as u32;
        }
    }

    /// The estimate with its interval. The arms' variances are private, so the interval takes the
    /// largest they can be, 1/4 each: 2 (1/4 + 1/4) over the outcomes counted, plus the noise.
    pub fn estimate(&self, plan: &Plan, steps: &impl Steps) -> Option<Estimate> {
        let effect = self.estimate? as f64 / (f64::from(self.length) * f64::from(plan.scale()));
        let counted = f64::from(self.counted);
        let variance = 1.0 / counted + steps.estimate_noise_variance(self.length);
        Some(Estimate::new(effect, libm::sqrt(variance), counted))
    }

    /// Patients who wait are not in it: they are in the table of waiting patients, so that
    /// assigning one need not rewrite the tally.
    pub fn encode_tally(&self, waiting: u32, out: &mut [u8]) {
        let seen = self.seen.saturating_sub(waiting);
        let mut out = Writer(out);
        self.sums.iter().for_each(|sum| out.put(&sum.to_le_bytes()));
        self.counts.iter().chain([&seen, &self.resolved]).for_each(|n| out.put(&n.to_le_bytes()));
    }

    pub fn decode_tally(&mut self, bytes: &[u8]) -> Option<()> {
        let mut bytes = Reader(bytes);
        let mut sum = || bytes.take().map(u64::from_le_bytes);
        self.sums = [sum()?, sum()?];
        let mut count = || bytes.take().map(u32::from_le_bytes);
        self.counts = [count()?, count()?];
        self.seen = count()?;
        self.resolved = count()?;
        Some(())
    }

    pub fn encode_ledger(&self, out: &mut [u8]) {
        let mut out = Writer(out);
        out.put(&[self.epoch, arm_byte(self.dropped), u8::from(self.estimate.is_some())]);
        out.put(&self.length.to_le_bytes());
        out.put(&self.estimate.unwrap_or(0).to_le_bytes());
        out.put(&self.counted.to_le_bytes());
    }

    pub fn decode_ledger(&mut self, bytes: &[u8]) -> Option<()> {
        let mut bytes = Reader(bytes);
        let [epoch, dropped, estimated] = bytes.take()?;
        self.epoch = epoch;
        self.dropped = arm_from_byte(dropped)?;
        self.length = u32::from_le_bytes(bytes.take()?);
        let estimate = i64::from_le_bytes(bytes.take()?);
        self.estimate = (estimated == 1).then_some(estimate);
        self.counted = u32::from_le_bytes(bytes.take()?);
        Some(())
    }
}

impl<S: Steps> Design for S {
    type Feature = Feature;
    const HAS_LOOKS: bool = false;

    #[inline]
    fn choose(&self, feature: &mut Feature, half: Half, chance: &mut impl Chance) -> Choice {
        feature.choose(half, chance)
    }

    #[inline]
    fn record(
        &self,
        feature: &mut Feature,
        plan: &Plan,
        half: Half,
        choice: Choice,
        y: Option<u16>,
        chance: &mut impl Chance,
    ) {
        feature.record(plan, half, choice, y, self, chance);
    }

    /// The turn at half: T_min = max(ln n / epsilon, min_j f_j^(1-alpha)), then T_j of every
    /// feature (Algorithm 1, lines 17-20).
    fn look(&self, features: &mut [AnyFeature], plan: &Plan, _: &Look, chance: &mut impl Chance) {
        let floor = libm::log(f64::from(plan.patients())) / self.epsilon();
        let least =
            published(features).map(|feature| feature.wish(plan)).fold(f64::INFINITY, f64::min);
        for feature in published(features) {
            feature.turn(f64::max(floor, least), self, chance);
        }
    }

    fn planned_look(&self, plan: &Plan, done: u8) -> Option<u32> {
        (done == 0).then_some(plan.half())
    }

    fn estimate(&self, feature: &Feature, plan: &Plan) -> Option<Estimate> {
        feature.estimate(plan, self)
    }

    fn count_waiting(&self, feature: &mut Feature, waiting: u32) {
        feature.count_waiting(waiting);
    }

    fn tally_bytes(&self) -> usize {
        TALLY
    }

    fn ledger_bytes(&self) -> usize {
        LEDGER
    }

    fn encode_tally(&self, feature: &Feature, waiting: u32, out: &mut [u8]) {
        feature.encode_tally(waiting, out);
    }

    fn decode_tally(&self, feature: &mut Feature, bytes: &[u8]) -> Option<()> {
        feature.decode_tally(bytes)
    }

    fn encode_ledger(&self, feature: &Feature, out: &mut [u8]) {
        feature.encode_ledger(out);
    }

    fn decode_ledger(&self, feature: &mut Feature, bytes: &[u8]) -> Option<()> {
        feature.decode_ledger(bytes)
    }
}
