//! Formulas of the text, in its order.

use super::{Feature, Kind, Look, Settled, Transcription};

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
        ((self.sum(cells) + 1.0) / (self.count(cells).max(0.0) + 2.0)).clamp(0.02, 0.98)
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

    /// The probability of each arm by the coin of a feature.
    pub(super) fn coin_of(settled: Option<Settled>) -> [f64; 2] {
        let Some(Settled { leading, share }) = settled else { return [0.5; 2] };
        let pi = f64::from(share.0) / 2f64.powi(32);
        if leading == 1 { [pi, 1.0 - pi] } else { [1.0 - pi, pi] }
    }

    /// Whether a feature takes part in a look.
    pub(super) fn takes_part(&self, feature: &Feature, look: Look) -> bool {
        match look.kind {
            Kind::Close => return true,
            Kind::Half => return feature.settled.is_none(),
            Kind::BeforeHalf if feature.settled.is_some() => return false,
            Kind::BeforeHalf | Kind::Report => {}
        }
        let (c, before) = (f64::from(look.at), f64::from(feature.previous));
        let expected = if feature.previous == 0 {
            c / self.m
        } else {
            self.seen(feature) * (c - before) / before
        };
        Self::coin_of(feature.settled).iter().all(|p| p * expected >= 5.0 + (2.0 * self.v).sqrt())
    }

    /// c+: the next look of a feature after the one at `c`.
    pub(super) fn next_look(&self, feature: &Feature, c: u32) -> f64 {
        let next =
            self.schedule.iter().find(|look| look.at > c && self.takes_part(feature, **look));
        next.map_or(self.n, |look| f64::from(look.at))
    }

    /// Fixes end and weight of the window that a feature opens at `c`.
    pub(super) fn open_window(&self, feature: &mut Feature, c: u32) {
        feature.next = self.next_look(feature, c);
        feature.weight = self.next_weight(feature, c);
    }

    pub(super) fn next_weight(&self, feature: &Feature, c: u32) -> f64 {
        let next = feature.next;
        let count = f64::from(c);
        if !self.adaptive {
            return (next - count) / self.n;
        }
        let left = 1.0 - feature.spent;
        if feature.settled.is_some() {
            return left * (next - count) / (self.n - count);
        }
        let all = self.all(feature, c);
        let u = all * (next - count) / self.n;
        let h = self.information(u / 2.0, u / 2.0);
        let r = all * (self.n - next) / self.n;
        let t = self.target(all).min(r / 2.0);
        let rest = self.information(t, r - t);
        left * h / (h + rest)
    }

    /// The patients a feature is expected to have in the whole trial.
    pub(super) fn all(&self, feature: &Feature, c: u32) -> f64 {
        if c == 0 { self.n / self.m } else { self.seen(feature) * self.n / f64::from(c) }
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
        least.max(wish) / 2.0
    }
}

/// The looks of a trial in ascending order, the close included.
pub(super) fn schedule(n: u32, half: u32, m: u32, reports: u32, adaptive: bool) -> Vec<Look> {
    let mut looks = Vec::new();
    if adaptive {
        looks.push(Look { at: half, kind: Kind::Half });
        let mut at = half * 5 / 8;
        while at >= 80 * m {
            looks.insert(0, Look { at, kind: Kind::BeforeHalf });
            at = at * 5 / 8;
        }
    }
    for i in 1..=reports {
        looks.push(Look { at: half + (n - half) * i / (reports + 1), kind: Kind::Report });
    }
    looks.push(Look { at: n, kind: Kind::Close });
    looks.dedup_by_key(|look| look.at);
    looks
}

/// The x for which a normal variable is below x with probability `p`, by bisection.
pub(super) fn normal_quantile(p: f64) -> f64 {
    let below = |x: f64| 0.5 * libm::erfc(-x / std::f64::consts::SQRT_2);
    let (mut low, mut high) = (-40.0, 40.0);
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if below(middle) < p { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}
