//! Wishes for a plan, and the distance of a simulated trial from them.

use super::FINE;
use crate::normal::{density, probit};
use crate::simulate::{Figure, Summary};

/// Whose interval counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// The interval of a feature, on average over features.
    Feature,
    /// The interval of the overall effect.
    Overall,
}

/// Wishes for a plan.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wish {
    /// Share of intervals that exclude 0, at least.
    pub power: Option<f64>,
    /// Mean width of the intervals, at most.
    pub width: Option<f64>,
    /// Share of the patients on the better arm, at least.
    pub better: Option<f64>,
    /// Outcomes lost in a trial, at most.
    pub regret: Option<f64>,
    /// Whose interval counts.
    pub target: Target,
}

impl Wish {
    /// Whether anything is wanted of the estimate.
    #[must_use]
    pub const fn measures(&self) -> bool {
        self.power.is_some() || self.width.is_some()
    }

    /// Whether anything is wanted for the patients.
    #[must_use]
    pub const fn cares(&self) -> bool {
        self.better.is_some() || self.regret.is_some()
    }

    /// The share of intervals that exclude 0.
    #[must_use]
    pub fn power_of(&self, summary: &Summary) -> Option<Figure> {
        match self.target {
            Target::Feature => summary.excludes_0,
            Target::Overall => summary.overall_excludes_0,
        }
    }

    /// The mean width of the intervals.
    #[must_use]
    pub fn width_of(&self, summary: &Summary) -> f64 {
        let width = match self.target {
            Target::Feature => summary.width,
            Target::Overall => summary.overall_width,
        };
        width.unwrap_or(f64::INFINITY)
    }

    /// Score of the wishes about the estimate: achieved minus wanted; at least 0 if they are met.
    pub(super) fn measured(&self, summary: &Summary) -> f64 {
        let floor = 0.5 / f64::from(FINE);
        let power = self.power.map(|wanted| {
            let power = self.power_of(summary).map_or(0.0, |power| power.mean);
            probit(power.clamp(floor, 1.0 - floor)) - probit(wanted)
        });
        let width = self.width.map(|wanted| 2.0 * (wanted / self.width_of(summary)).ln());
        [power, width].into_iter().flatten().fold(f64::INFINITY, f64::min)
    }

    /// Score of the wishes for the patients: achieved minus wanted; at least 0 if they are met.
    pub(super) fn cared(&self, summary: &Summary) -> f64 {
        let better = self.better.map(|wanted| 4.0 * (1.0 - summary.worse_share - wanted));
        let regret = self.regret.map(|budget| (budget / f64::max(summary.regret.mean, 1e-9)).ln());
        [better, regret].into_iter().flatten().fold(f64::INFINITY, f64::min)
    }

    pub(super) fn score(&self, summary: &Summary) -> f64 {
        f64::min(self.measured(summary), self.cared(summary)).min(1e9)
    }
}

/// The standard error of a score: that of the power, on the scale of quantiles.
pub(super) fn score_error(wish: &Wish, summary: &Summary) -> f64 {
    match (wish.power, wish.power_of(summary)) {
        (Some(wanted), Some(power)) => power.error / density(probit(wanted)),
        _ => 0.0,
    }
}
