//! The standard normal law: its distribution function, density and quantiles.

/// The distribution function.
#[must_use]
pub fn normal(x: f64) -> f64 {
    0.5 * libm::erfc(-x / std::f64::consts::SQRT_2)
}

/// The density.
#[must_use]
pub fn density(x: f64) -> f64 {
    (-x * x / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt()
}

/// The quantile of probability `p`, by Newton's method.
#[must_use]
pub fn probit(p: f64) -> f64 {
    if p <= 0.0 || p >= 1.0 {
        return if p <= 0.0 { f64::NEG_INFINITY } else { f64::INFINITY };
    }
    // Abramowitz and Stegun 26.2.23 to begin with, good to 0.0005.
    let tail = f64::min(p, 1.0 - p);
    let t = (-2.0 * tail.ln()).sqrt();
    let up = 2.515_517 + t * (0.802_853 + t * 0.010_328);
    let down = 1.0 + t * (1.432_788 + t * (0.189_269 + t * 0.001_308));
    let mut x = up / down - t;
    for _ in 0..4 {
        x -= (normal(x) - tail) / density(x);
    }
    if p < 0.5 { x } else { -x }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against tables, and far out in the tail.
    #[test]
    fn quantiles_of_the_normal_law() {
        for (p, x) in [(0.975, 1.959_963_984_540), (0.8, 0.841_621_233_573), (0.5, 0.0)] {
            assert!((probit(p) - x).abs() < 1e-9 && (probit(1.0 - p) + x).abs() < 1e-9, "{p}");
        }
        assert!((normal(probit(1e-9)) / 1e-9 - 1.0).abs() < 1e-6);
    }
}
