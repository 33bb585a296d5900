//! The reports of several devices that ran the same trial file, combined.
//!
//! # Methods
//! With estimates y_i and standard errors s_i of k sites, w_i = 1/s_i^2:
//!
//! * **Fixed effect**: the mean weighted by w_i, standard error 1/sqrt(sum w).
//! * **Q** = sum w_i (y_i - fixed)^2, chi-squared with k-1 degrees of freedom if all sites have the
//!   same effect; **I2** = max(0, (Q - (k-1))/Q), the share of variation that is not chance.
//! * **Random effects** (DerSimonian and Laird 1986): tau2 = max(0, (Q - (k-1)) / (sum w - sum w^2
//!   / sum w)), weights 1/(s_i^2 + tau2). The interval is the **modified Hartung-Knapp** one:
//!   variance max(1, sum w* (y - random)^2 / (k-1)) / sum w*, quantile of Student's law with k-1
//!   degrees of freedom. (Hartung and Knapp 2001 have no 1; it is Knapp and Hartung's own limit of
//!   2003: without it sites that happen to agree would give an interval of no width.) It exists
//!   from two sites on, and so do Q, I2 and tau2.
//!
//! Estimates are taken before they were cut to [-1, 1] (a report shows the middle of its interval
//! through the end that was not cut), and only ends of intervals are cut, the same in table,
//! picture and JSON. A site whose standard error is not above 0, or whose interval holds every
//! possible effect or none, says nothing about that effect: it is left out and named.
//!
//! The weights over sites are pool's own. What is pooled as the overall effect is the overall
//! effect of each site, whose weights over kinds of patient are its outcomes.
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
pub struct SiteEstimate {
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
    /// The sites that say something.
    pub sites: Vec<SiteEstimate>,
    /// The names of the sites that say nothing.
    pub left_out: Vec<String>,
    /// Fixed effect.
    pub fixed: Pooled,
    /// Random effects; none with a single site.
    pub random: Option<Pooled>,
    /// Cochran's Q and its p-value; none with a single site.
    pub q: Option<[f64; 2]>,
    /// Share of variation that is not chance; none with a single site.
    pub i2: Option<f64>,
    /// Variance between sites; none with a single site.
    pub tau2: Option<f64>,
}

impl SiteEstimate {
    /// Whether the estimate says something: it has a standard error, and its interval holds some of
    /// the possible effects and not all.
    #[must_use]
    pub fn says_something(&self) -> bool {
        let [low, high] = [self.estimate - Z95 * self.error, self.estimate + Z95 * self.error];
        let finite = self.estimate.is_finite() && self.error.is_finite() && self.error > 0.0;
        finite && low < 1.0 && high > -1.0 && !(low <= -1.0 && high >= 1.0)
    }
}

/// Combines the estimates of sites; none if none says anything.
#[must_use]
pub fn combine(name: &str, sites: Vec<SiteEstimate>) -> Option<Combined> {
    let (sites, silent): (Vec<SiteEstimate>, Vec<SiteEstimate>) =
        sites.into_iter().partition(SiteEstimate::says_something);
    let left_out = silent.into_iter().map(|part| part.site).collect();
    let sum = |f: &dyn Fn(&SiteEstimate) -> f64| sites.iter().map(f).sum::<f64>();
    let weight = |part: &SiteEstimate| 1.0 / part.error.powi(2);
    if sites.is_empty() {
        return None;
    }
    let total = sum(&weight);
    let mean = sum(&|site| weight(site) * site.estimate) / total;
    let fixed = pooled(mean, total.recip().sqrt(), Z95);
    let freedom = sites.len() as f64 - 1.0;
    let q = sum(&|site| weight(site) * (site.estimate - mean).powi(2));
    let excess = (q - freedom).max(0.0);
    let spread = total - sum(&|site| weight(site).powi(2)) / total;
    let tau2 = if spread > 0.0 { excess / spread } else { 0.0 };
    let random = (freedom > 0.0).then(|| {
        let weight = |site: &SiteEstimate| 1.0 / (site.error.powi(2) + tau2);
        let total = sum(&weight);
        let mean = sum(&|site| weight(site) * site.estimate) / total;
        let squares = sum(&|site| weight(site) * (site.estimate - mean).powi(2));
        let inflation = (squares / freedom).max(1.0);
        pooled(mean, (inflation / total).sqrt(), student_quantile(0.975, freedom))
    });
    Some(Combined {
        name: name.to_owned(),
        fixed,
        random,
        q: random.map(|_| [q, above_chi_squared(q, freedom)]),
        i2: random.map(|_| if q > 0.0 { excess / q } else { 0.0 }),
        tau2: random.map(|_| tau2),
        sites,
        left_out,
    })
}

fn pooled(estimate: f64, error: f64, quantile: f64) -> Pooled {
    let half = quantile * error;
    // No effect can be larger.
    let ends = [estimate - half, estimate + half].map(|end| end.clamp(-1.0, 1.0));
    Pooled { estimate, error, ends }
}

/// The chance of more than `x` by the chi-squared law, exact in the far tail: the regularised upper
/// incomplete gamma function.
#[must_use]
pub fn above_chi_squared(x: f64, freedom: f64) -> f64 {
    let (a, x) = (freedom / 2.0, x / 2.0);
    if x <= 0.0 {
        return 1.0;
    }
    let scale = (a * x.ln() - x - libm::lgamma(a)).exp();
    if x < a + 1.0 {
        let (mut term, mut sum) = (1.0 / a, 1.0 / a);
        for k in 1..1000 {
            term *= x / (a + f64::from(k));
            sum += term;
        }
        return (1.0 - scale * sum).max(0.0);
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
    scale * h
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
            assert!((above_chi_squared(x, freedom) - 0.05).abs() < 1e-5, "{freedom}");
        }
        assert!((above_chi_squared(0.5, 3.0) - 0.918_891_4).abs() < 1e-6);
        // With 2 degrees of freedom the chance of more is e^(-x/2), however small.
        for x in [80.0, 200.0, 1400.0] {
            let exact = (-x / 2.0f64).exp();
            assert!((above_chi_squared(x, 2.0) / exact - 1.0).abs() < 1e-9, "{x}");
        }
    }

    /// Three sites by hand: w = 100, 25, 25; fixed 0.2; Q = 100 * 0.1^2 + 25 * 0.2^2 + 25 * 0.2^2 =
    /// 3; tau2 = (3 - 2)/(150 - 11250/150) = 1/75; I2 = 1/3.
    #[test]
    fn three_sites_by_hand() {
        let site = |estimate, error| SiteEstimate { site: String::new(), estimate, error };
        let sites = vec![site(0.1, 0.1), site(0.4, 0.2), site(0.4, 0.2)];
        let found = combine("x", sites).unwrap();
        let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-9, "{a} {b} {found:?}");
        near(found.fixed.estimate, 0.2);
        near(found.fixed.error, 1.0 / 150f64.sqrt());
        near(found.q.unwrap()[0], 3.0);
        // With 2 degrees of freedom the chance of more is e^(-Q/2).
        near(found.q.unwrap()[1], (-1.5f64).exp());
        near(found.tau2.unwrap(), 1.0 / 75.0);
        near(found.i2.unwrap(), 1.0 / 3.0);
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
        let one = vec![SiteEstimate { site: "a".into(), estimate: 0.1, error: 0.2 }];
        let found = combine("x", one).unwrap();
        assert_eq!((found.random, found.q, found.i2, found.tau2), (None, None, None, None));
        assert_eq!(combine("x", Vec::new()), None);
    }

    /// Sites without a standard error, with every effect in their interval or none, are left out by
    /// name; the others are pooled as if they were alone.
    #[test]
    fn sites_that_say_nothing_are_left_out() {
        let part =
            |site: &str, estimate, error| SiteEstimate { site: site.into(), estimate, error };
        let good = vec![part("a", 0.1, 0.1), part("b", 0.4, 0.2)];
        let alone = combine("x", good.clone()).unwrap();
        let silent = [part("exact", 0.2, 0.0), part("wide", 0.0, 0.6), part("beyond", 1.9, 0.3)];
        let all = combine("x", [&good[..], &silent[..]].concat()).unwrap();
        assert_eq!(all.left_out, ["exact", "wide", "beyond"]);
        assert_eq!(Combined { left_out: Vec::new(), ..all }, alone);
        assert_eq!(combine("x", silent.to_vec()), None);
        // Beyond 1, but not all of its interval.
        assert!(part("c", 1.2, 0.3).says_something() && !part("d", f64::NAN, 0.1).says_something());
    }
}
