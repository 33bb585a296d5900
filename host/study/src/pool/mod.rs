//! The reports of several devices that ran the same trial file, combined.
//!
//! # Methods
//! With estimates y_i and standard errors s_i of k sites, w_i = 1/s_i^2:
//!
//! * **Fixed effect**: the mean weighted by w_i, standard error 1/sqrt(sum w).
//! * **Q** = sum w_i (y_i - fixed)^2, chi-squared with k-1 degrees of freedom if all sites have the
//!   same effect; **I2** = max(0, (Q - (k-1))/Q), the share of variation that is not chance.
//! * **Random effects** (DerSimonian and Laird 1986): tau2 = max(0, (Q - (k-1)) / (sum w - sum w^2
//!   / sum w)), weights 1/(s_i^2 + tau2). The interval is that of **Hartung and Knapp** (2001):
//!   variance max(1, sum w* (y - random)^2 / (k-1)) / sum w*, quantile of Student's law with k-1
//!   degrees of freedom. (The 1 is Knapp and Hartung's own limit of 2003: without it sites that
//!   happen to agree would give an interval of no width.) It exists from two sites on.
//!
//! # Privacy
//! Raw outcomes of no site leave it: only its report does, which is private already. A patient is
//! in one site's report, so pooling is post-processing and costs no further epsilon.
//!
//! # Checks
//! All reports name the same trial file digest and plan; no trial id is there twice. With the
//! custodians' keys, every MAC is recomputed from the rows.

pub mod forest;

use equipoise::estimate::Z95;

/// One site's estimate.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// The site's name.
    pub site: String,
    /// Arm 1 minus arm 0.
    pub estimate: f64,
    /// Its standard error.
    pub error: f64,
}

/// An estimate over sites.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pooled {
    /// Arm 1 minus arm 0.
    pub estimate: f64,
    /// Its standard error.
    pub error: f64,
    /// Ends of the 95 % interval.
    pub ends: [f64; 2],
}

/// Pooled result of the sites for one effect.
#[derive(Clone, Debug, PartialEq)]
pub struct Combined {
    /// The feature's name, or `overall`.
    pub name: String,
    /// The sites.
    pub parts: Vec<Part>,
    /// Fixed effect.
    pub fixed: Pooled,
    /// Random effects; none with a single site.
    pub random: Option<Pooled>,
    /// Cochran's Q and its p-value; none with a single site.
    pub q: Option<[f64; 2]>,
    /// Share of variation that is not chance.
    pub i2: f64,
    /// Variance between sites.
    pub tau2: f64,
}

/// Combines the estimates of sites; none without any.
#[must_use]
pub fn combine(name: &str, parts: Vec<Part>) -> Option<Combined> {
    let sum = |f: &dyn Fn(&Part) -> f64| parts.iter().map(f).sum::<f64>();
    let weight = |part: &Part| 1.0 / part.error.powi(2);
    if parts.is_empty() || parts.iter().any(|part| part.error.is_nan() || part.error <= 0.0) {
        return None;
    }
    let total = sum(&weight);
    let mean = sum(&|part| weight(part) * part.estimate) / total;
    let fixed = pooled(mean, total.recip().sqrt(), Z95);
    let freedom = parts.len() as f64 - 1.0;
    let q = sum(&|part| weight(part) * (part.estimate - mean).powi(2));
    let excess = (q - freedom).max(0.0);
    let spread = total - sum(&|part| weight(part).powi(2)) / total;
    let tau2 = if spread > 0.0 { excess / spread } else { 0.0 };
    let random = (freedom > 0.0).then(|| {
        let weight = |part: &Part| 1.0 / (part.error.powi(2) + tau2);
        let total = sum(&weight);
        let mean = sum(&|part| weight(part) * part.estimate) / total;
        let squares = sum(&|part| weight(part) * (part.estimate - mean).powi(2));
        let inflation = (squares / freedom).max(1.0);
        pooled(mean, (inflation / total).sqrt(), student_quantile(0.975, freedom))
    });
    Some(Combined {
        name: name.to_owned(),
        fixed,
        random,
        q: random.map(|_| [q, 1.0 - chi_squared(q, freedom)]),
        i2: if freedom > 0.0 && q > 0.0 { excess / q } else { 0.0 },
        tau2,
        parts,
    })
}

fn pooled(estimate: f64, error: f64, quantile: f64) -> Pooled {
    let half = quantile * error;
    Pooled { estimate, error, ends: [estimate - half, estimate + half] }
}

/// The chi-squared distribution function: the regularised lower incomplete gamma function.
#[must_use]
pub fn chi_squared(x: f64, freedom: f64) -> f64 {
    let (a, x) = (freedom / 2.0, x / 2.0);
    if x <= 0.0 {
        return 0.0;
    }
    let scale = (a * x.ln() - x - libm::lgamma(a)).exp();
    if x < a + 1.0 {
        let (mut term, mut sum) = (1.0 / a, 1.0 / a);
        for k in 1..1000 {
            term *= x / (a + f64::from(k));
            sum += term;
        }
        return (scale * sum).min(1.0);
    }
    // Lentz's continued fraction for the upper part.
    let (mut b, mut c) = (x + 1.0 - a, 1e300);
    let mut d = 1.0 / b;
    let mut h = d;
    for k in 1..1000 {
        let k = f64::from(k);
        let an = -k * (k - a);
        b += 2.0;
        d = 1.0 / (an * d + b);
        c = b + an / c;
        h *= d * c;
    }
    1.0 - scale * h
}

/// Student's distribution function, by Simpson's rule on its density.
#[must_use]
fn student(x: f64, freedom: f64) -> f64 {
    let log = libm::lgamma((freedom + 1.0) / 2.0) - libm::lgamma(freedom / 2.0);
    let scale = log.exp() / (freedom * std::f64::consts::PI).sqrt();
    // With x = sqrt(freedom) tan(a) the density is a power of a cosine on a finite range.
    let end = (x / freedom.sqrt()).atan();
    const STEPS: u32 = 2000;
    let width = end / f64::from(STEPS);
    let at = |i: u32| (f64::from(i) * width).cos().powf(freedom - 1.0);
    let inner: f64 = (1..STEPS).map(|i| at(i) * if i % 2 == 1 { 4.0 } else { 2.0 }).sum();
    0.5 + scale * freedom.sqrt() * width / 3.0 * (at(0) + inner + at(STEPS))
}

/// The quantile of probability `p` above 1/2 of Student's law, by halving.
#[must_use]
pub fn student_quantile(p: f64, freedom: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1e4);
    for _ in 0..80 {
        let middle = f64::midpoint(low, high);
        if student(middle, freedom) < p { low = middle } else { high = middle }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_the_tables() {
        for (freedom, t) in [(1.0, 12.7062), (2.0, 4.30265), (5.0, 2.57058), (30.0, 2.04227)] {
            assert!((student_quantile(0.975, freedom) - t).abs() < 1e-4, "{freedom}");
        }
        for (freedom, x) in [(1.0, 3.8415), (2.0, 5.9915), (5.0, 11.0705), (10.0, 18.3070)] {
            assert!((chi_squared(x, freedom) - 0.95).abs() < 1e-5, "{freedom}");
        }
        assert!((chi_squared(0.5, 3.0) - 0.081_108_6).abs() < 1e-6);
    }

    /// Three sites by hand: w = 100, 25, 25; fixed 0.2; Q = 100 * 0.1^2 + 25 * 0.2^2 + 25 * 0.2^2 =
    /// 3; tau2 = (3 - 2)/(150 - 11250/150) = 1/75; I2 = 1/3.
    #[test]
    fn three_sites_by_hand() {
        let part = |estimate, error| Part { site: String::new(), estimate, error };
        let sites = vec![part(0.1, 0.1), part(0.4, 0.2), part(0.4, 0.2)];
        let found = combine("x", sites).unwrap();
        let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-9, "{a} {b} {found:?}");
        near(found.fixed.estimate, 0.2);
        near(found.fixed.error, 1.0 / 150f64.sqrt());
        near(found.q.unwrap()[0], 3.0);
        // With 2 degrees of freedom the chance of more is e^(-Q/2).
        near(found.q.unwrap()[1], (-1.5f64).exp());
        near(found.tau2, 1.0 / 75.0);
        near(found.i2, 1.0 / 3.0);
        // Weights 1/(1/100 + 1/75) = 300/7 and 1/(1/25 + 1/75) = 75/4 twice.
        let (one, two) = (300.0 / 7.0, 75.0 / 4.0);
        let mean = (one * 0.1 + two * 0.8) / (one + 2.0 * two);
        let random = found.random.unwrap();
        near(random.estimate, mean);
        let squares = one * (0.1 - mean).powi(2) + 2.0 * two * (0.4 - mean).powi(2);
        let inflation = (squares / 2.0f64).max(1.0);
        near(random.error, (inflation / (one + 2.0 * two)).sqrt());
        assert!((random.ends[1] - mean - 4.302_65 * random.error).abs() < 1e-5);
    }

    #[test]
    fn one_site_has_no_random_effects() {
        let one = vec![Part { site: "a".into(), estimate: 0.1, error: 0.2 }];
        let found = combine("x", one).unwrap();
        assert_eq!((found.random, found.q, found.i2), (None, None, 0.0));
        assert_eq!(combine("x", Vec::new()), None);
    }
}
