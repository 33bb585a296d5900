//! `equipoise normality`: whether errors of the estimates are normal with the stated variance.
//!
//! Every error is divided by the standard deviation that the estimate should have. A trial of T
//! fair-coin patients has about T/2 in each arm, so the difference of means has variance
//! 2 (s0^2 + s1^2)/T, plus the noise where there is some; the published theorem has half of that.
//! `conse` and `dp-conse` are divided by our figure, with the true s0 and s1; `interim` and
//! `uniform` by the standard error that they report. The quotients should be standard normal.
//!
//! The Kolmogorov-Smirnov figure is the largest distance between the two distribution functions;
//! its p-value is the asymptotic one. (Computed here: thirty lines, no crate needed.)

use std::fmt::Write;

use crate::chart::{Axis, Chart, Look, Point, Series};
use crate::normal::normal;
use crate::simulate::{Scenario, SimulateError, estimates};
use equipoise::plan::DesignName;
use equipoise::terms::Arm;

/// Standardised errors of one design.
#[derive(Clone, Debug)]
pub struct Errors {
    /// The design.
    pub name: String,
    /// In increasing order.
    pub sorted: Vec<f64>,
    /// Mean of T (error)^2 less T (noise), over (s0^2 + s1^2); only for fair-coin trials of T
    /// patients.
    pub factor: Option<f64>,
}

impl Errors {
    /// Simulates a scenario; `tick` is called after each run.
    ///
    /// # Errors
    /// A value out of its range.
    pub fn of(scenario: &Scenario, tick: &(dyn Fn() + Sync)) -> Result<Self, SimulateError> {
        let instance = &scenario.world.instance;
        let effects: Vec<f64> = instance.effects().collect();
        let (mut sorted, mut factors) = (Vec::new(), Vec::new());
        for (j, estimate) in estimates(scenario, tick)? {
            let error = estimate.effect - effects[j];
            let reported = estimate.deviation * estimate.deviation;
            let variance =
                if matches!(scenario.plan.design(), DesignName::Interim | DesignName::Uniform) {
                    reported
                } else {
                    // The designs of the paper report 1/T for the outcomes, the most there can be,
                    // plus the noise.
                    let (length, noise) = (estimate.patients, reported - 1.0 / estimate.patients);
                    let [zero, one] =
                        Arm::BOTH.map(|arm| scenario.world.variance(j, arm, scenario.plan.scale()));
                    factors.push(length * (error * error - noise) / (zero + one));
                    2.0 * (zero + one) / length + noise
                };
            sorted.push(error / variance.sqrt());
        }
        sorted.sort_by(f64::total_cmp);
        let factor =
            (!factors.is_empty()).then(|| factors.iter().sum::<f64>() / factors.len() as f64);
        Ok(Self { name: scenario.name(), sorted, factor })
    }

    /// Mean and variance.
    #[must_use]
    pub fn moments(&self) -> (f64, f64) {
        let count = self.sorted.len() as f64;
        let mean = self.sorted.iter().sum::<f64>() / count;
        (mean, self.sorted.iter().map(|z| (z - mean) * (z - mean)).sum::<f64>() / (count - 1.0))
    }

    /// The largest distance to the normal distribution function.
    #[must_use]
    pub fn distance(&self) -> f64 {
        let count = self.sorted.len() as f64;
        let each = self.sorted.iter().enumerate().map(|(i, z)| {
            let p = normal(*z);
            f64::max((p - i as f64 / count).abs(), ((i + 1) as f64 / count - p).abs())
        });
        each.fold(0.0, f64::max)
    }

    /// The chance of such a distance if the law were exactly normal (Kolmogorov's series).
    #[must_use]
    pub fn p_value(&self) -> f64 {
        let root = (self.sorted.len() as f64).sqrt();
        let x = self.distance() * (root + 0.12 + 0.11 / root);
        let term = |k: i32| {
            let sign = if k % 2 == 1 { 2.0 } else { -2.0 };
            sign * (-2.0 * f64::from(k * k) * x * x).exp()
        };
        if x < 0.2 { 1.0 } else { (1..=100).map(term).sum::<f64>().clamp(0.0, 1.0) }
    }

    /// The observed quantile of probability `p`.
    fn quantile(&self, p: f64) -> f64 {
        let at = (p * self.sorted.len() as f64) as usize;
        self.sorted.get(at.min(self.sorted.len().saturating_sub(1))).copied().unwrap_or(0.0)
    }
}

/// The figures of several designs, as a table.
#[must_use]
pub fn table(all: &[Errors]) -> String {
    let mut text = format!(
        "{:<10}{:>11}{:>10}{:>10}{:>10}{:>10}{:>28}\n",
        "design", "estimates", "mean", "variance", "KS", "p-value", "variance / ((s0^2+s1^2)/T)"
    );
    for errors in all {
        let ((mean, variance), factor) = (errors.moments(), errors.factor);
        let factor = factor.map_or("-".into(), |factor| format!("{factor:.3}"));
        let _ = writeln!(
            text,
            "{:<10}{:>11}{mean:>10.4}{variance:>10.4}{:>10.4}{:>10.3}{factor:>28}",
            errors.name,
            errors.sorted.len(),
            errors.distance(),
            errors.p_value()
        );
    }
    text += "\nErrors are divided by the deviation they should have: mean 0, variance 1. The last column is 2 for a\n\
             trial of T fair-coin patients (T/2 in each arm); the published theorem has 1.\n";
    text
}

/// Quantiles shown: this many on each side of the median, this far apart.
const SHOWN: i32 = 11;
const APART: f64 = 0.25;

/// A Q-Q picture, and the quantiles behind it as CSV.
#[must_use]
pub fn picture(first: &Scenario, all: &[Errors]) -> (Chart, String) {
    let mut csv = "design,normal_quantile,observed_quantile\n".to_owned();
    let mut series = Vec::new();
    for errors in all {
        let at = |x: f64| Point { at: [x, errors.quantile(normal(x))], ..Point::default() };
        let points: Vec<Point> = (-SHOWN..=SHOWN).map(|k| at(f64::from(k) * APART)).collect();
        for point in &points {
            let _ = writeln!(csv, "{},{},{}", errors.name, point.at[0], point.at[1]);
        }
        series.push(Series { name: errors.name.clone(), look: Look::Points, points });
    }
    let line = |name: &str, slope: f64| {
        let points = [-4.0, 4.0].map(|x| Point { at: [x, slope * x], ..Point::default() });
        Series { name: name.into(), look: Look::Reference, points: points.into() }
    };
    series.push(line("standard normal", 1.0));
    series.push(line("conse with the\npublished variance", std::f64::consts::SQRT_2));
    let plan = &first.plan;
    let chart = Chart {
        title: "Standardised errors against the normal law".into(),
        subtitle: format!(
            "{} patients, {} features, epsilon {}, alpha {}, {} runs",
            plan.patients(),
            plan.features(),
            plan.epsilon(),
            plan.alpha(),
            first.runs
        ),
        axes: [
            Axis { name: "quantile of the standard normal law (standard deviations)", log: false },
            Axis { name: "quantile of error / its standard deviation", log: false },
        ],
        series,
    };
    (chart, csv)
}
