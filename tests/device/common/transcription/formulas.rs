//! Formulas of the text, in its order.

use super::{Feature, Kind, Look, Transcription};
use equipoise::plan::Plan;

impl Transcription {
    /// N_a.
    pub(super) fn count(&self, cells: &[i64; 3]) -> f64 {
        cells.iter().sum::<i64>() as f64 / (self.unit * self.scale) as f64
    }

    /// A_a/Y: the sum of r.
    pub(super) fn sum(&self, [e, f, _]: &[i64; 3]) -> f64 {
        (*e as f64 + *f as f64 / 2.0) / (self.unit * self.scale) as f64
    }

    /// C_a/Y: the sum of r (1-r).
    pub(super) fn spread(&self, cells: &[i64; 3]) -> f64 {
        cells[1] as f64 / 2.0 / (self.unit * self.scale) as f64
    }

    /// mu_a.
    pub(super) fn mean(&self, cells: &[i64; 3]) -> f64 {
        let n = self.count(cells).max(0.0) + 2.0;
        ((self.sum(cells) + 1.0) / n).clamp(1.0 / n, 1.0 - 1.0 / n)
    }

    /// s2_a.
    pub(super) fn variance(&self, cells: &[i64; 3]) -> f64 {
        let mu = self.mean(cells);
        let bernoulli = mu * (1.0 - mu);
        let spread = self.spread(cells) / (self.count(cells).max(0.0) + 2.0);
        (bernoulli - spread).clamp(bernoulli / 20.0, bernoulli)
    }

    /// g(mu), or its value for a denominator that is not the window's own.
    pub(super) fn g(&self, mu: f64, own: bool) -> f64 {
        let outer = if own { mu.powi(2) + (1.0 - mu).powi(2) } else { 1.0 };
        if self.scale >= 2 { outer + (0.5 - mu).powi(2) } else { outer }
    }

    /// N of a feature.
    pub(super) fn seen(&self, feature: &Feature) -> f64 {
        (self.count(&feature.ledger[0]) + self.count(&feature.ledger[1])).max(4.0)
    }

    /// The probability of each arm by the present coin of a feature.
    pub(super) fn now_shares(feature: &Feature) -> [f64; 2] {
        let one = f64::from(feature.share) / 2f64.powi(32);
        [1.0 - one, one]
    }

    /// The same by the coin before.
    pub(super) fn before_shares(feature: &Feature) -> [f64; 2] {
        let one = f64::from(feature.share_before) / 2f64.powi(16);
        [1.0 - one, one]
    }

    /// Patients resolved between c' and c who are expected of the present coin, and of the coin
    /// before.
    pub(super) fn patients_of(&self, feature: &Feature, c: u32) -> (f64, f64) {
        let late = (f64::from(feature.began.min(c)) - f64::from(feature.previous)).max(0.0);
        (f64::from(c) - f64::from(feature.previous) - late, late)
    }

    /// Outcomes of a feature expected for each patient, before the look.
    fn each(&self, feature: &Feature) -> f64 {
        if feature.previous == 0 {
            1.0 / self.m
        } else {
            self.seen(feature) / f64::from(feature.previous)
        }
    }

    fn worth_reading(&self, forecast: f64, [zero, one]: [f64; 2]) -> bool {
        forecast * zero.min(one) >= 12.0 + (2.0 * self.v).sqrt()
    }

    /// Whether a look reads the now-window and the before-window of a feature.
    pub(super) fn reads(&self, feature: &Feature, look: Look) -> [bool; 2] {
        let (fresh, late) = self.patients_of(feature, look.at);
        let each = self.each(feature);
        let now = self.worth_reading(each * fresh, Self::now_shares(feature));
        let before = self.worth_reading(each * late, Self::before_shares(feature));
        match look.kind {
            Kind::BeforeHalf | Kind::Half if feature.settled || !now => [false, false],
            Kind::BeforeHalf | Kind::Half => [true, before],
            Kind::Report => [now, before],
            Kind::Close => [true, before],
        }
    }

    /// W of a look in which a feature takes part, from its state before the look.
    pub(super) fn weight(&self, feature: &Feature, look: Look) -> f64 {
        let (c, before) = (f64::from(look.at), f64::from(feature.previous));
        if !self.adaptive {
            return (c - before) / self.n;
        }
        let left = 1.0 - feature.spent;
        let each = self.each(feature);
        let all = each * self.n;
        let h = if look.kind == Kind::Close && c < self.n {
            let x = all * (c - before) / (2.0 * self.n);
            self.information(x, x)
        } else if feature.settled || c > self.half {
            return left * (c - before) / (self.n - before);
        } else {
            let (fresh, late) = self.patients_of(feature, look.at);
            let part = |patients: f64, [zero, one]: [f64; 2]| {
                self.information(zero * each * patients, one * each * patients)
            };
            let reads_before = self.worth_reading(each * late, Self::before_shares(feature));
            let late = if reads_before { part(late, Self::before_shares(feature)) } else { 0.0 };
            part(fresh, Self::now_shares(feature)) + late
        };
        let r = all * (self.n - c) / self.n;
        let t = self.target(all).min(r / 2.0);
        left * h / (h + self.information(t, r - t))
    }

    /// inf(x, y).
    pub(super) fn information(&self, x: f64, y: f64) -> f64 {
        let f = |x: f64| {
            let x = x.max(0.5);
            1.0 / x + 2.0 * self.v / (x * x)
        };
        1.0 / (f(x) + f(y))
    }

    /// target(all).
    pub(super) fn target(&self, all: f64) -> f64 {
        let least = (libm::log(self.n) / self.epsilon).ceil();
        let wish = (libm::pow(all * self.half / self.n, 1.0 - self.alpha) + 2f64.powi(-20)).floor();
        let t = least.max(wish) / 2.0;
        t / 2.0 + (t * t / 4.0 + 4.0 * self.v * t).sqrt()
    }
}

/// The looks of a trial in ascending order, the close included.
pub(super) fn schedule(plan: &Plan, v: f64, adaptive: bool) -> Vec<Look> {
    let (n, half, reports) = (plan.patients(), plan.half(), u32::from(plan.reports()));
    let mut looks = Vec::new();
    if adaptive {
        let mut at = (f64::from(plan.features()) * (40.0 + 6.0 * v)).ceil();
        while 1.5 * at < f64::from(half) {
            looks.push(Look { at: at as u32, kind: Kind::BeforeHalf });
            at *= 2.0;
        }
        looks.push(Look { at: half, kind: Kind::Half });
    }
    for i in 1..=reports {
        looks.push(Look { at: half + (n - half) * i / (reports + 1), kind: Kind::Report });
    }
    looks.push(Look { at: n, kind: Kind::Close });
    looks.dedup_by_key(|look| look.at);
    looks
}
