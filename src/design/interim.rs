//! Noisy ledgers at looks: private by proof, adaptive early, honest about its effect.
//!
//! # What it keeps
//! Per feature a *window* of four cells A0 B0 A1 B1, in outcome units. An outcome y of arm a adds y to A_a and
//! Y - y to B_a. Before the window is looked at, each cell also gets one fresh discrete Laplace draw of rate
//! epsilon/(2Y); addition commutes, so the draw can be made at any time since the last look, ahead of need
//! ([`Feature::mask`]). At a **look** the window's masked cells are added to the *noisy ledger* and the window
//! starts again from zero. Nothing else ever reads a window.
//!
//! # What it does
//! * **Looks** come after public patient counts ([`Schedule`]): at half, and before it at half (5/8)^i down to
//!   about 80 patients a feature; in the second half at the planned reports and at the close.
//! * **Dropping an arm**: see [`super::evidence`]. A nonnegative supermartingale under "this arm is not worse" is built from
//!   the noisy increments of explore, so by Ville's inequality the better arm of a feature is ever dropped with
//!   probability at most beta, at all looks together. Once an arm is dropped explore plays the survivor.
//! * **At half**, from the explore ledger: f outcomes seen, T = max(ceil(ln n / eps), floor(f^(1-alpha))),
//!   n2 = f (n-half)/half patients to come, and the trailing arm (the dropped one, else the lower mean) is given
//!   to a second-half patient with probability pi = min(1/2, T/(2 n2)). The ledger then starts again from zero.
//! * **The estimate** comes from the second half's ledger alone.
//!
//! # Why it is epsilon-differentially private, delta = 0
//! Take two trials that differ in everything about one patient t - feature, arm, outcome, recorded or lost -
//! while requests come at the same moments. The adversary sees every arm but t's, every acknowledgement and the
//! whole ledger after every look, which is more than any reply holds. Fix the ledger up to some look and every
//! arm but t's. Then in both trials the next look falls at the same patient count, every coin before it has the
//! same law (coins read the ledger, the feature of their own patient, and nothing else), and the windows differ
//! only by t's contribution: (y, Y-y) in one pair of cells removed, (y', Y-y') in one pair added, at most Y + Y in
//! L1 norm, and only in the one window in which t's outcome was recorded. Four independent draws a feature of
//! rate epsilon/(2Y) bound the ratio of that window's likelihoods by exp(2Y epsilon/(2Y)) = e^epsilon. All other
//! windows have equal laws. Multiply over looks; t's own arm is mixed over with weights that do not exceed the
//! worst pair. Whatever is computed from the ledger afterwards cannot add to this.
//!
//! The argument needs: one outcome a patient, ever; no output that reads a window; draws that are never clamped
//! or used twice; a look that happens once, also across a power cut. [`crate::trial`] and [`crate::device`] keep
//! the first and the last, this module the others.

use super::evidence::{Bets, Centre, EVIDENCE_BYTES, Evidence, Wager};
use super::{Arm, Choice, Half, LEDGER_BYTES, Look, TALLY_BYTES, Writer, arm_byte, arm_from_byte};
use crate::chance::{Chance, Fraction};
use crate::estimate::Estimate;
use crate::noise::Laplace;
use crate::plan::{MAX_FEATURES, Plan, take};

/// By how much the rate of a draw may lie below the one stated (see [`crate::noise`]).
const RATE_ERROR: f64 = 1.0 / (1u64 << 49) as f64;
/// Looks stop at this many patients a feature.
const PATIENTS_A_LOOK: u32 = 80;

/// The four cells of a window or ledger: A0, B0, A1, B1.
type Cells = [i64; 4];

/// When looks happen, as a function of the plan alone.
#[derive(Clone, Copy, Debug)]
pub struct Schedule;

impl Schedule {
    /// Looks of the first half, at least 1.
    #[must_use]
    pub fn explore_looks(plan: &Plan) -> u8 {
        let floor = PATIENTS_A_LOOK.saturating_mul(u32::from(plan.features()));
        let (mut count, mut at) = (1, earlier(plan.half()));
        while at >= floor {
            count += 1;
            at = earlier(at);
        }
        count
    }

    /// The patient count of the look after `done` looks, but for the closing one.
    #[must_use]
    pub fn next(plan: &Plan, done: u8) -> Option<u32> {
        let explore = Self::explore_looks(plan);
        if let Some(before_half) = explore.checked_sub(done.saturating_add(1)) {
            return Some((0..before_half).fold(plan.half(), |at, _| earlier(at)));
        }
        let report = u64::from(done - explore) + 1;
        let reports = u64::from(plan.reports());
        if report > reports {
            return None;
        }
        let (n, half) = (u64::from(plan.patients()), u64::from(plan.half()));
        // At most n, which fits.
        Some((half + (n - half) * report / (reports + 1)) as u32)
    }
}

/// The look before the one at `count`: looks grow by 8/5.
const fn earlier(count: u32) -> u32 {
    // At most 10^7 patients, so no overflow.
    count * 5 / 8
}

/// The constants of a plan.
#[derive(Clone, Debug)]
pub(crate) struct Rules {
    noise: Laplace,
    wager: Wager,
    scale: f64,
    /// Variance of one draw over Y^2.
    noise_variance: f64,
}

impl Rules {
    /// Prepares the constants of a plan.
    pub fn new(plan: &Plan) -> Self {
        let scale = f64::from(plan.scale());
        let rate = plan.epsilon().to_f64() / (2.0 * scale) - RATE_ERROR;
        // 2q/(1-q)^2 = 1/(cosh a - 1) = 1/(2 sinh^2(a/2)), without cancellation.
        let sinh = libm::sinh(rate / 2.0);
        Self {
            noise: Laplace::new(plan.cell_rate()),
            wager: Wager::new(plan, rate),
            scale,
            noise_variance: 1.0 / (2.0 * sinh * sinh * scale * scale),
        }
    }
}

/// Bytes of a tally: window, masked.
pub(crate) const TALLY: usize = 4 * 8 + 1;
/// Bytes of a ledger: ledger, evidence, share, dropped and trailing.
pub(crate) const LEDGER: usize = 4 * 8 + EVIDENCE_BYTES + 4 + 1;
const _: () = assert!(TALLY <= TALLY_BYTES && LEDGER <= LEDGER_BYTES);

/// The state of one feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Feature {
    window: Cells,
    /// Has the window its noise?
    masked: bool,
    ledger: Cells,
    evidence: Evidence,
    dropped: Option<Arm>,
    /// Second half: the arm given with probability `share`.
    trailing: Arm,
    share: Fraction,
}

impl Feature {
    pub const NEW: Self = Self {
        window: [0; 4],
        masked: false,
        ledger: [0; 4],
        evidence: Evidence::NONE,
        dropped: None,
        trailing: Arm::Zero,
        share: Fraction::HALF,
    };

    pub const fn dropped(&self) -> Option<Arm> {
        self.dropped
    }

    pub const fn ledger(&self) -> Cells {
        self.ledger
    }

    /// The arm of the next patient.
    #[inline]
    pub fn choose(&self, half: Half, chance: &mut impl Chance) -> Choice {
        match half {
            Half::Explore => self.explore(chance),
            Half::Measure => self.measure(chance),
        }
    }

    #[inline]
    fn explore(&self, chance: &mut impl Chance) -> Choice {
        // The coin is thrown in any case: how much randomness a patient takes must not depend on the feature.
        let heads = chance.coin();
        let arm = self.dropped.map_or(Arm::from_bit(heads), Arm::other);
        Choice { arm, counts: true }
    }

    #[inline]
    fn measure(&self, chance: &mut impl Chance) -> Choice {
        let arm = if chance.biased_coin(self.share) { self.trailing } else { self.trailing.other() };
        Choice { arm, counts: true }
    }

    #[inline]
    pub fn record(&mut self, arm: Arm, y: u16, scale: u16) {
        let from = 2 * arm.index();
        if let Some([a, b]) = self.window.get_mut(from..from + 2) {
            // A draw is below 2^62 and all outcomes of a trial together below 2^40, so neither sum overflows; and the
            // trial takes no y above the scale.
            *a = a.wrapping_add(i64::from(y));
            *b = b.wrapping_add(i64::from(scale.wrapping_sub(y)));
        }
    }

    /// Forgets what a closed trial no longer needs.
    pub fn wipe(&mut self) {
        self.window = [0; 4];
        self.masked = false;
    }

    /// Adds the window's noise, once. True if it was missing.
    pub fn mask(&mut self, rules: &Rules, chance: &mut impl Chance) -> bool {
        let missing = !self.masked;
        if missing {
            for cell in &mut self.window {
                *cell = cell.saturating_add(chance.discrete_laplace(&rules.noise));
            }
            self.masked = true;
        }
        missing
    }

    /// Moves the masked window into the ledger.
    fn enter_window(&mut self) {
        for (cell, masked) in self.ledger.iter_mut().zip(core::mem::take(&mut self.window)) {
            *cell = cell.saturating_add(masked);
        }
        self.masked = false;
    }

    /// What half fixes for the second half; the explore ledger ends here.
    fn turn(&mut self, plan: &Plan, rules: &Rules) {
        let [a0, b0, a1, b1] = self.ledger.map(|cell| cell as f64 / rules.scale);
        let outcomes = f64::max(0.0, a0 + b0 + a1 + b1);
        let (n, half) = (f64::from(plan.patients()), f64::from(plan.half()));
        let floor = libm::ceil(libm::log(n) / plan.epsilon().to_f64());
        let wish = libm::floor(libm::pow(outcomes, 1.0 - plan.alpha().to_f64()));
        let trial = f64::max(floor, wish);
        let expected = outcomes * (n - half) / half;
        // 2^32 pi; for no outcomes at all the quotient is infinite and pi is 1/2.
        let share = libm::floor(trial / (2.0 * expected) * 4_294_967_296.0);
        self.share = Fraction(f64::min(share, f64::from(Fraction::HALF.0)) as u32);
        let lower = if mean(a1, b1) < mean(a0, b0) { Arm::One } else { Arm::Zero };
        self.trailing = self.dropped.unwrap_or(lower);
        // The second half needs neither ledger nor evidence of the first.
        self.ledger = [0; 4];
        self.evidence = Evidence::NONE;
    }

    /// The effect from the second half's ledger after `looks` looks at it.
    pub fn estimate(&self, rules: &Rules, looks: u8) -> Option<Estimate> {
        if looks == 0 {
            return None;
        }
        let [a0, b0, a1, b1] = self.ledger.map(|cell| cell as f64 / rules.scale);
        let noise = f64::from(looks) * rules.noise_variance;
        let variance = |a, b| {
            let (mu, n) = (mean(a, b), f64::max(1.0, a + b));
            mu * (1.0 - mu) / n + noise * (mu * mu + (1.0 - mu) * (1.0 - mu)) / (n * n)
        };
        let deviation = libm::sqrt(variance(a0, b0) + variance(a1, b1));
        let patients = f64::max(0.0, a0 + b0 + a1 + b1);
        Some(Estimate::new(mean(a1, b1) - mean(a0, b0), deviation, patients))
    }

    pub fn encode_tally(&self, out: &mut [u8]) {
        let mut out = Writer(out);
        self.window.iter().for_each(|cell| out.put(&cell.to_le_bytes()));
        out.put(&[u8::from(self.masked)]);
    }

    pub fn decode_tally(&mut self, mut bytes: &[u8]) -> Option<()> {
        for cell in &mut self.window {
            *cell = i64::from_le_bytes(take(&mut bytes)?);
        }
        let [masked] = take(&mut bytes)?;
        self.masked = masked == 1;
        Some(())
    }

    pub fn encode_ledger(&self, out: &mut [u8]) {
        let mut out = Writer(out);
        self.ledger.iter().for_each(|cell| out.put(&cell.to_le_bytes()));
        self.evidence.encode(&mut out);
        out.put(&self.share.0.to_le_bytes());
        out.put(&[arm_byte(self.dropped) << 4 | self.trailing as u8]);
    }

    pub fn decode_ledger(&mut self, mut bytes: &[u8]) -> Option<()> {
        for cell in &mut self.ledger {
            *cell = i64::from_le_bytes(take(&mut bytes)?);
        }
        self.evidence.decode(&mut bytes)?;
        self.share = Fraction(u32::from_le_bytes(take(&mut bytes)?));
        let [arms] = take(&mut bytes)?;
        self.dropped = arm_from_byte(arms >> 4)?;
        self.trailing = arm_from_byte(arms & 0xF)??;
        Some(())
    }
}

/// A/(A+B) clamped to [0, 1]; 1/2 where the noise left nothing.
fn mean(a: f64, b: f64) -> f64 {
    if a + b <= 0.0 { 0.5 } else { (a / (a + b)).clamp(0.0, 1.0) }
}

fn floats(cells: Cells) -> [f64; 4] {
    cells.map(|cell| cell as f64)
}

/// The features of a trial of this design.
pub(crate) fn each(features: &mut [super::Feature]) -> impl Iterator<Item = &mut Feature> {
    features.iter_mut().filter_map(|feature| match feature {
        super::Feature::Interim(feature) => Some(feature),
        super::Feature::Published(_) => None,
    })
}

/// A look at all features: their masked windows join their ledgers, and the rules act on the ledgers.
pub(crate) fn look(
    features: &mut [super::Feature],
    plan: &Plan,
    rules: &Rules,
    look: Look,
    chance: &mut impl Chance,
) {
    for feature in each(features) {
        feature.mask(rules, chance);
    }
    if look != Look::Measure {
        // Centres come from the ledger before this look. Bets depend on the centre alone and are dear on a small
        // machine: make each set once.
        let mut centres = [Centre::default(); MAX_FEATURES as usize];
        for (centre, feature) in centres.iter_mut().zip(each(features)) {
            *centre = Centre::of(floats(feature.ledger));
        }
        for centre in Centre::all() {
            let mut bets = None;
            for (feature, _) in each(features).zip(centres).filter(|(_, c)| *c == centre) {
                if feature.dropped.is_none() {
                    let bets = bets.get_or_insert_with(|| Bets::new(&rules.wager, centre));
                    feature.dropped = feature.evidence.weigh(bets, floats(feature.window), &rules.wager);
                }
            }
        }
    }
    for feature in each(features) {
        feature.enter_window();
        if look == Look::Turn {
            feature.turn(plan, rules);
        }
    }
}
