//! A plain float transcription of the designs `interim` and `uniform`, for comparison with the
//! shipping code.
//!
//! It follows the text of the design sentence by sentence: no packed state, no noise drawn ahead,
//! no shared code with `src/design`. Both take the same coins and draws from a [`Chance`], so every
//! arm, share, weight, estimate and standard error must agree.
//!
//! # Order of draws
//! A look draws noise for the features that take part, in ascending order (at an early close first
//! for those that would have taken part in the next planned look); for a feature the fair-coin
//! window first, then (settled features only) the biased-coin window; for a window arm 0,
//! then arm 1, cells E, F (where kept), G. All noise of a look is drawn before anything is decided.
//! A tie at settling then throws `coin()` at its feature's turn; true: arm 1 leads. Every patient
//! takes one `biased_coin`: of probability 1/2 in an unsettled feature, true for arm 1; of
//! probability `share` in a settled one, true for the trailing arm.
//!
//! # Readings
//! Where the text leaves a choice, this is the one made:
//! 1. The count of a look is the count of resolved patients. Looks with the same count are one
//!    look, and the look at half goes before a report. The look at `CLOSE` happens by itself at
//!    count n.
//! 2. `N` of a feature is max(4, N_0 + N_1) of its ledger wherever it is used, also where a
//!    window's expected size is computed.
//! 3. A settled feature is left out at half: it has nothing to decide there, and its window began
//!    with the whole remaining weight. "Nobody is left out at half" is about small windows.
//! 4. c+ is the next look in which the feature takes part. It is known when the window begins,
//!    because taking part depends on the ledger alone.
//! 5. The coin's probabilities are share/2^32 with the share as it is stored: floor(pi 2^32), at
//!    most 2^31.
//! 6. At a look of a settled feature both windows join the ledger first; then D and V of each are
//!    computed with this ledger and the same w.
//! 7. "Noisy N_a of at least 5 + sqrt(2v) on average" means (N_0 + N_1)/2 of the window.
//! 8. V_L takes s2 from the ledger alone. L is the number of looks in which the feature took part,
//!    this one included.
//! 9. m_a is computed as one division (E + F/2)/max(E + F + G, u Y), so a tie is exact.
//! 10. floor((all half/n)^(1-alpha)) adds 2^-20 before rounding down, so that rounding errors do
//!     not make 99 of 100.
//! 11. "Share of the patients left" is (c+ - c)/(n - c), in resolved patients.
//! 12. `uniform`: a feature is left out of a report by the same rule of size; a window's weight is
//!     (c - c')/n, c' being the feature's previous look.
//! 13. An early close before half settles nobody: an unsettled feature enters its fair-coin window.
//! 14. A feature has an estimate if Q > 0.
//! 15. d_a is (window A_a/Y - m N_a)/n_a with m = (mu_0 + mu_1)/2 of the ledger, not A_a/(Y n_a).
//!     Both give the same D where each n_a is the window's own N_a. Where a window holds far fewer
//!     outcomes than expected the text's D is wrong by up to a whole mean, this one by part of the
//!     effect.
//! 16. v comes from the stated rate, without cancellation: 1 - q = -expm1(-rate).

mod formulas;

use equipoise::chance::{Chance, Fraction};
use equipoise::noise::{Laplace, Rate};
use equipoise::plan::Plan;

use formulas::{normal_quantile, schedule};

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

/// The biased coin of a settled feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settled {
    pub leading: usize,
    /// Probability of the trailing arm.
    pub share: Fraction,
}

/// The state of one feature.
#[derive(Clone, Debug, Default)]
pub struct Feature {
    /// Raw cells of patients assigned by the fair coin.
    fair: Cells,
    /// Raw cells of patients assigned by the biased coin.
    biased: Cells,
    pub ledger: Cells,
    /// Looks in which it took part.
    pub looks: u32,
    /// c': the count of the last of them.
    pub previous: u32,
    /// c+: the count of the next of them.
    next: f64,
    pub settled: Option<Settled>,
    /// W of the window that is open.
    pub weight: f64,
    pub p: f64,
    pub q: f64,
    pub spent: f64,
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
    biased: bool,
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
    /// |z| that settles a feature.
    quantile: f64,
    law: Laplace,
    /// One cell's noise variance over (uY)^2.
    v: f64,
    schedule: Vec<Look>,
    pub features: Vec<Feature>,
    waiting: Vec<Option<Waiting>>,
    pub resolved: u32,
    pub closed: bool,
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
        let mut trial = Self {
            adaptive,
            m: f64::from(plan.features()),
            n: f64::from(n),
            half: f64::from(half),
            scale,
            unit,
            alpha: plan.alpha().to_f64(),
            epsilon: epsilon.to_f64(),
            quantile: normal_quantile(1.0 - plan.beta().to_f64() / 2.0),
            law: Laplace::new(rate),
            v: 2.0 * libm::exp(-r) / (one_minus_q * one_minus_q) / ((unit * scale) as f64).powi(2),
            schedule: schedule(
                n,
                half,
                u32::from(plan.features()),
                u32::from(plan.reports()),
                adaptive,
            ),
            features: vec![Feature::default(); usize::from(plan.features())],
            waiting: Vec::new(),
            resolved: 0,
            closed: false,
            peeks: false,
        };
        for j in 0..trial.features.len() {
            let mut feature = trial.features[j].clone();
            trial.open_window(&mut feature, 0);
            trial.features[j] = feature;
        }
        trial
    }

    /// The arm of the next patient.
    pub fn assign(&mut self, feature: usize, chance: &mut impl Chance) -> usize {
        assert!(!self.closed && self.waiting.len() < self.n as usize);
        let settled = self.features[feature].settled;
        let arm = match settled {
            None => usize::from(chance.biased_coin(Fraction::HALF)),
            Some(Settled { leading, share }) if chance.biased_coin(share) => 1 - leading,
            Some(Settled { leading, .. }) => leading,
        };
        self.waiting.push(Some(Waiting { feature, arm, biased: settled.is_some() }));
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
        let Some(Waiting { feature, arm, biased }) = self.waiting[patient - 1].take() else {
            return;
        };
        if let Some(y) = y {
            let (u, scale) = (self.unit, self.scale);
            let f = u * y * (scale - y) / scale;
            let feature = &mut self.features[feature];
            let window = if biased { &mut feature.biased } else { &mut feature.fair };
            for (cell, part) in window[arm].iter_mut().zip([u * y - f, 2 * f, u * (scale - y) - f])
            {
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
        let mut taking_part: Vec<usize> = (0..self.features.len())
            .filter(|j| self.takes_part(&self.features[*j], look))
            .collect();
        // A planned look at the count of the close has been done.
        let from = c + u32::from(look.kind == Kind::Close);
        if let Some(next) = self.schedule.iter().find(|next| next.at >= from).copied() {
            taking_part.sort_by_key(|j| !self.takes_part(&self.features[*j], next));
        }
        let mut windows: Vec<_> = taking_part
            .iter()
            .map(|j| {
                let fair = core::mem::take(&mut self.features[*j].fair);
                let fair = self.with_noise(fair, chance);
                let biased = self.features[*j].settled.is_some().then(|| {
                    let biased = core::mem::take(&mut self.features[*j].biased);
                    self.with_noise(biased, chance)
                });
                (*j, fair, biased)
            })
            .collect();
        windows.sort_by_key(|(j, ..)| *j);
        for (j, fair, biased) in windows {
            let mut feature = self.features[j].clone();
            feature.looks += 1;
            for window in [Some(fair), biased].into_iter().flatten() {
                for (to, cell) in feature.ledger.iter_mut().flatten().zip(window.iter().flatten()) {
                    *to += cell;
                }
            }
            self.enter(&mut feature, look, fair, biased);
            feature.previous = c;
            if look.kind != Kind::Close {
                if self.adaptive && feature.settled.is_none() {
                    feature.settled = self.settle(&feature, look, chance);
                }
                self.open_window(&mut feature, c);
            }
            self.features[j] = feature;
        }
        self.closed = look.kind == Kind::Close;
    }

    fn with_noise(&self, mut window: Cells, chance: &mut impl Chance) -> Cells {
        for (index, cell) in window.iter_mut().flatten().enumerate() {
            if self.scale >= 2 || index % 3 != 1 {
                *cell += chance.discrete_laplace(&self.law);
            }
        }
        window
    }

    /// Enters the windows of a feature into its estimate.
    fn enter(&self, feature: &mut Feature, look: Look, fair: Cells, biased: Option<Cells>) {
        let (c, before) = (f64::from(look.at), f64::from(feature.previous));
        if look.at == feature.previous {
            return;
        }
        let mut weight = feature.weight;
        if look.kind == Kind::Close {
            weight *= (c - before) / (feature.next - before);
        }
        let w = self.seen(feature) * (c - before) / c;
        let entries = match biased {
            None => vec![self.compare(feature, &fair, [0.5; 2].map(|p| p * w))],
            Some(biased) => {
                let coin = Self::coin_of(feature.settled);
                let mut entries = vec![self.compare(feature, &biased, coin.map(|p| p * w))];
                let average = (self.count(&fair[0]) + self.count(&fair[1])) / 2.0;
                if average >= 5.0 + (2.0 * self.v).sqrt() {
                    entries.push(self.compare(feature, &fair, [0.5; 2].map(|p| p * w)));
                }
                entries
            }
        };
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
        feature.spent += weight;
    }

    /// D and V of a window, `expected` outcomes an arm.
    fn compare(&self, feature: &Feature, window: &Cells, expected: [f64; 2]) -> (f64, f64) {
        let mut d = [0.0; 2];
        let mut variance = 0.0;
        let m = (self.mean(&feature.ledger[0]) + self.mean(&feature.ledger[1])) / 2.0;
        for a in 0..2 {
            let count = self.count(&window[a]);
            let n = count.max((expected[a] / 2.0).min(2.0 * (2.0 * self.v).sqrt())).max(1.0);
            d[a] = (self.sum(&window[a]) - m * count) / n;
            let mu = self.mean(&feature.ledger[a]);
            let s2 = self.variance(&feature.ledger[a]).max(self.variance(&window[a]));
            variance += s2 / n + self.v * self.g(mu, n <= count) / (n * n);
        }
        (d[1] - d[0], variance)
    }

    /// The biased coin of a feature that settles at this look.
    fn settle(&self, feature: &Feature, look: Look, chance: &mut impl Chance) -> Option<Settled> {
        let v = f64::from(feature.looks) * self.v;
        let mut m = [0.0; 2];
        let mut variance = 0.0;
        let mut enough = true;
        for (a, cells) in feature.ledger.iter().enumerate() {
            let n = self.count(cells).max(1.0);
            m[a] = (cells[0] as f64 + cells[1] as f64 / 2.0)
                / cells.iter().sum::<i64>().max(self.unit * self.scale) as f64;
            let own = n <= self.count(cells);
            variance += self.variance(cells) / n + v * self.g(self.mean(cells), own) / (n * n);
            let draws = if self.scale >= 2 { 3.0 } else { 2.0 };
            enough &= self.count(cells) >= 10.0 + 4.0 * (draws * v).sqrt();
        }
        let z = (m[1] - m[0]) / variance.sqrt();
        if look.kind != Kind::Half && !(enough && z.abs() >= self.quantile) {
            return None;
        }
        let leading = if z == 0.0 { usize::from(chance.coin()) } else { usize::from(z > 0.0) };
        let all = self.all(feature, look.at);
        let to_come = all * (self.n - self.waiting.len() as f64) / self.n;
        let pi = (self.target(all) / to_come).min(0.5);
        Some(Settled { leading, share: Fraction((pi * 2f64.powi(32)).floor() as u32) })
    }
}
