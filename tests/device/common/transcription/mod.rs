//! A plain float transcription of the designs `interim` and `uniform`, for comparison with the
//! shipping code.
//!
//! It follows the text of the design sentence by sentence: no packed state, no noise drawn ahead,
//! no shared code with `src/design`. Both take the same coins and draws from a [`Chance`], so every
//! arm, share, weight, estimate and standard error must agree.
//!
//! # Order of draws
//! A look draws noise for the windows that it reads, features in ascending order (at an early close
//! first for the windows that the next planned look would have read); for a feature the now-window
//! first, then the before-window; for a window arm 0, then arm 1, cells E, F (where kept), G. All
//! noise of a look is drawn before anything is decided. A draw for a window that an early close
//! then does not read is thrown away. Every patient takes one `biased_coin`: true for arm 1.
//!
//! # Readings
//! Where the text leaves a choice, this is the one made:
//! 1. The count of a look is the count of resolved patients. Looks with the same count are one
//!    look, and the look at half goes before a report. The look at `CLOSE` happens by itself at
//!    count n.
//! 2. `N` of a feature is max(4, N_0 + N_1) of its ledger wherever it is used.
//! 3. A share is a multiple of 2^-32: the trailing arm gets floor(pi 2^32), at least 1. The
//!    before-coin's share of arm 1 is rounded to a multiple of 2^-16.
//! 4. `spent` is rounded to a 32-bit float after every look.
//! 5. floor((all half/n)^(1-alpha)) adds 2^-20 before rounding down, so that rounding errors do not
//!    make 99 of 100.
//! 6. A mean is kept 1/(max(N_a, 0) + 2) away from 0 and 1.
//! 7. A close at the count of the feature's last look has W = 0: only the ledger grows.
//! 8. `uniform`: a feature is left out of a report by the same rule of size; a window's weight is
//!    (c - c')/n.
//! 9. A feature has an estimate if Q > 0.
//! 10. v comes from the stated rate, without cancellation: 1 - q = -expm1(-rate).

mod formulas;

use equipoise::chance::{Chance, Fraction};
use equipoise::noise::{Laplace, Rate};
use equipoise::plan::Plan;

use formulas::schedule;

/// E, F, G of both arms.
pub type Cells = [[i64; 3]; 2];

/// Why a look happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    BeforeHalf,
    Half,
    Report,
    Close,
}

/// A moment of the schedule, in resolved patients.
#[derive(Clone, Copy, Debug)]
struct Look {
    at: u32,
    kind: Kind,
}

/// The state of one feature.
#[derive(Clone, Debug)]
pub struct Feature {
    /// Raw cells of patients by the parity of the number of their coin.
    windows: [Cells; 2],
    pub ledger: Cells,
    /// c': the count of the last look in which it took part.
    pub previous: u32,
    /// The number of its present coin, and a1: patients assigned when that began.
    pub coin: usize,
    began: u32,
    /// The present coin's probability of arm 1, in units of 2^-32.
    pub share: u32,
    /// The same of the coin before, in units of 2^-16.
    pub share_before: u32,
    pub settled: bool,
    pub p: f64,
    pub q: f64,
    pub spent: f64,
}

impl Feature {
    const NEW: Self = Self {
        windows: [[[0; 3]; 2]; 2],
        ledger: [[0; 3]; 2],
        previous: 0,
        coin: 0,
        began: 0,
        share: 1 << 31,
        share_before: 1 << 15,
        settled: false,
        p: 0.0,
        q: 0.0,
        spent: 0.0,
    };
}

/// Effect and standard error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    pub effect: f64,
    pub error: f64,
}

/// Arm and coin of one patient, until resolved.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    feature: usize,
    arm: usize,
    /// The number of the coin that gave it.
    coin: usize,
}

/// One trial.
pub struct Transcription {
    adaptive: bool,
    /// M, n, half, Y, u.
    m: f64,
    n: f64,
    half: f64,
    scale: i64,
    unit: i64,
    alpha: f64,
    epsilon: f64,
    beta: f64,
    law: Laplace,
    /// One cell's noise variance over (uY)^2.
    v: f64,
    schedule: Vec<Look>,
    pub features: Vec<Feature>,
    waiting: Vec<Option<Waiting>>,
    pub resolved: u32,
    pub closed: bool,
    /// Before-windows that were read, and that were forgotten with outcomes in them.
    pub late: u32,
    pub forgotten: u32,
    /// A fault for tests: weights are chosen after their window was seen.
    pub peeks: bool,
}

impl Transcription {
    /// A trial of `interim` (`adaptive`) or of `uniform` with the parameters of `plan`.
    pub fn new(plan: &Plan, adaptive: bool) -> Self {
        let (n, half, scale) = (plan.patients(), plan.half(), i64::from(plan.scale()));
        let unit = if scale <= 100 { scale } else { 1 };
        let epsilon = plan.epsilon();
        let rate = Rate::new(
            u64::from(epsilon.num()),
            u64::from(epsilon.den()) * 2 * (unit * scale) as u64,
        )
        .unwrap();
        let r = epsilon.to_f64() / (2 * unit * scale) as f64;
        let one_minus_q = -libm::expm1(-r);
        let v = 2.0 * libm::exp(-r) / (one_minus_q * one_minus_q) / ((unit * scale) as f64).powi(2);
        Self {
            adaptive,
            m: f64::from(plan.features()),
            n: f64::from(n),
            half: f64::from(half),
            scale,
            unit,
            alpha: plan.alpha().to_f64(),
            epsilon: epsilon.to_f64(),
            beta: plan.beta().to_f64(),
            law: Laplace::new(rate),
            v,
            schedule: schedule(plan, v, adaptive),
            features: vec![Feature::NEW; usize::from(plan.features())],
            waiting: Vec::new(),
            resolved: 0,
            closed: false,
            late: 0,
            forgotten: 0,
            peeks: false,
        }
    }

    /// The arm of the next patient.
    pub fn assign(&mut self, feature: usize, chance: &mut impl Chance) -> usize {
        assert!(!self.closed && self.waiting.len() < self.n as usize);
        let Feature { share, coin, .. } = self.features[feature];
        let arm = usize::from(chance.biased_coin(Fraction(share)));
        self.waiting.push(Some(Waiting { feature, arm, coin }));
        arm
    }

    /// The outcome of patient 1, 2, ..; a repeat is ignored.
    pub fn outcome(&mut self, patient: usize, y: u16, chance: &mut impl Chance) {
        self.resolve(patient, Some(i64::from(y)), chance);
    }

    /// The patient is lost.
    pub fn lost(&mut self, patient: usize, chance: &mut impl Chance) {
        self.resolve(patient, None, chance);
    }

    fn resolve(&mut self, patient: usize, y: Option<i64>, chance: &mut impl Chance) {
        if self.closed {
            return;
        }
        let Some(Waiting { feature, arm, coin }) = self.waiting[patient - 1].take() else { return };
        if let Some(y) = y {
            let (u, scale) = (self.unit, self.scale);
            let f = u * y * (scale - y) / scale;
            let feature = &mut self.features[feature];
            for (cell, part) in feature.windows[coin % 2][arm].iter_mut().zip([
                u * y - f,
                2 * f,
                u * (scale - y) - f,
            ]) {
                *cell += part;
            }
        }
        self.resolved += 1;
        if let Some(look) = self.schedule.iter().find(|look| look.at == self.resolved).copied() {
            self.look(look, chance);
        }
    }

    /// Closes the trial, early unless everybody is resolved.
    pub fn close(&mut self, chance: &mut impl Chance) {
        if !self.closed {
            self.look(Look { at: self.resolved, kind: Kind::Close }, chance);
        }
    }

    /// Effect and standard error of a feature.
    pub fn estimate(&self, feature: usize) -> Option<Estimate> {
        let Feature { p, q, spent, .. } = self.features[feature];
        (q > 0.0).then(|| Estimate { effect: (p / q).clamp(-1.0, 1.0), error: spent.sqrt() / q })
    }

    /// N_0 + N_1 of the ledger, as noisy as it is.
    pub fn patients(&self, feature: usize) -> f64 {
        let ledger = &self.features[feature].ledger;
        self.count(&ledger[0]) + self.count(&ledger[1])
    }

    fn look(&mut self, look: Look, chance: &mut impl Chance) {
        let c = look.at;
        // A planned look at the count of the close has been done.
        let from = c + u32::from(look.kind == Kind::Close);
        let next = self.schedule.iter().find(|next| next.at >= from).copied().unwrap_or(look);
        let noise = self.draw(next, look, chance);
        for (j, noise) in noise.into_iter().enumerate() {
            let [now, before] = self.reads(&self.features[j], look);
            if !now && !before {
                continue;
            }
            let mut feature = self.features[j].clone();
            let take = |feature: &mut Feature, coin: usize, noise: Option<Cells>| {
                let mut window = core::mem::take(&mut feature.windows[coin % 2]);
                let noise = noise.unwrap();
                add(&mut window, &noise);
                window
            };
            let [noise_now, noise_before] = noise;
            let coin = feature.coin;
            let now = now.then(|| take(&mut feature, coin, noise_now));
            let before = before.then(|| take(&mut feature, coin + 1, noise_before));
            self.late += u32::from(before.is_some());
            let known = feature.clone();
            for window in [now, before].into_iter().flatten() {
                add(&mut feature.ledger, &window);
            }
            self.enter(&mut feature, &known, look, now, before);
            feature.previous = c;
            if matches!(look.kind, Kind::BeforeHalf | Kind::Half) {
                self.change_coin(&mut feature, look);
                // The new coin's window was that of the coin before the last: forgotten if unread.
                let forgotten = core::mem::take(&mut feature.windows[feature.coin % 2]);
                self.forgotten += u32::from(forgotten != Cells::default());
            }
            self.features[j] = feature;
        }
        self.closed = look.kind == Kind::Close;
    }

    /// Noise of the windows (now, before) of every feature that the next planned look reads, and
    /// then of those that only this look reads.
    fn draw(&self, next: Look, look: Look, chance: &mut impl Chance) -> Vec<[Option<Cells>; 2]> {
        let mut noise = vec![[None; 2]; self.features.len()];
        for look in [next, look] {
            for (feature, noise) in self.features.iter().zip(&mut noise) {
                for (reads, noise) in self.reads(feature, look).into_iter().zip(noise) {
                    if reads && noise.is_none() {
                        *noise = Some(self.noise(chance));
                    }
                }
            }
        }
        noise
    }

    fn noise(&self, chance: &mut impl Chance) -> Cells {
        let mut cells = Cells::default();
        for (index, cell) in cells.iter_mut().flatten().enumerate() {
            if self.scale >= 2 || index % 3 != 1 {
                *cell = chance.discrete_laplace(&self.law);
            }
        }
        cells
    }

    /// Enters windows of a feature into its estimate; `known` is the feature before the look.
    fn enter(
        &self,
        feature: &mut Feature,
        known: &Feature,
        look: Look,
        now: Option<Cells>,
        before: Option<Cells>,
    ) {
        if look.at == known.previous {
            return;
        }
        let mut weight = self.weight(known, look);
        let each = self.seen(feature) / f64::from(look.at);
        let (fresh, late) = self.patients_of(known, look.at);
        let mut entries = Vec::new();
        for (window, patients, share) in
            [(now, fresh, Self::now_shares(known)), (before, late, Self::before_shares(known))]
        {
            if let Some(window) = window {
                let expected = share.map(|share| share * each * patients);
                entries.push(self.compare(feature, &window, expected));
            }
        }
        if self.peeks && look.kind != Kind::Close {
            let striking = entries.iter().any(|(d, v)| d.abs() > 1.5 * v.sqrt());
            weight = if striking { 0.9 * (1.0 - feature.spent) } else { 0.1 * weight };
        }
        let precision: f64 = entries.iter().map(|(_, v)| 1.0 / v).sum();
        for (d, v) in entries {
            let k = (weight / v / precision / v).sqrt();
            feature.p += k * d;
            feature.q += k;
        }
        feature.spent = f64::from((feature.spent + weight) as f32);
    }

    /// D and V of a window, `expected` outcomes an arm.
    fn compare(&self, feature: &Feature, window: &Cells, expected: [f64; 2]) -> (f64, f64) {
        let mu = [0, 1].map(|a: usize| self.mean(&feature.ledger[a]));
        let count = [0, 1].map(|a: usize| self.count(&window[a]));
        let n = [0, 1].map(|a: usize| {
            count[a].max((expected[a] / 2.0).min(2.0 * (2.0 * self.v).sqrt())).max(1.0)
        });
        let short = [0, 1].map(|a: usize| n[a] > count[a]);
        let mut m = (mu[0] + mu[1]) / 2.0;
        if short[0] != short[1] {
            let (a, o) = if short[0] { (0, 1) } else { (1, 0) };
            m = self.sum(&window[o]) / count[o] - (mu[o] - mu[a]) / 2.0;
        }
        let mut d = [0.0; 2];
        let mut variance = 0.0;
        for a in 0..2 {
            d[a] = (self.sum(&window[a]) - m * count[a]) / n[a];
            let s2 = self.variance(&feature.ledger[a]).max(self.variance(&window[a]));
            variance += s2 / n[a] + self.v * self.g(mu[a], !short[a]) / (n[a] * n[a]);
        }
        (d[1] - d[0], variance)
    }

    /// The coin of a feature after a look before or at half.
    fn change_coin(&self, feature: &mut Feature, look: Look) {
        let z = if feature.spent == 0.0 { 0.0 } else { feature.p / feature.spent.sqrt() };
        let p = libm::erfc(z.abs() / std::f64::consts::SQRT_2);
        let q = if p <= self.beta { 1.0 } else { 1.0 - p / 2.0 };
        let all = self.seen(feature) * self.n / f64::from(look.at);
        let assigned = self.waiting.len() as f64;
        let wanted = if assigned == self.n {
            0.5
        } else {
            (self.target(all) / (all * (self.n - assigned) / self.n)).min(0.5)
        };
        let pi = q * wanted + (1.0 - q) * (1.0 - wanted);
        let trailing = ((pi * 2f64.powi(32)).floor() as u64).clamp(1, 1 << 31);
        feature.share_before =
            (f64::from(feature.share) / 65_536.0).round().clamp(1.0, 65_535.0) as u32;
        feature.share = if z > 0.0 {
            ((1u64 << 32) - trailing) as u32
        } else if z < 0.0 {
            trailing as u32
        } else {
            1 << 31
        };
        feature.coin += 1;
        feature.began = self.waiting.len() as u32;
        feature.settled = p <= self.beta || look.kind == Kind::Half;
    }
}

/// Adds cells to cells.
fn add(to: &mut Cells, cells: &Cells) {
    for (to, cell) in to.iter_mut().flatten().zip(cells.iter().flatten()) {
        *to += cell;
    }
}
