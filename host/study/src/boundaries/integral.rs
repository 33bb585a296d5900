//! The score of a trial that has gone on so far, by recursive numerical integration.

use crate::normal::{density, normal};

/// Grid steps a standard deviation of the coming increment, and the limits of the grid.
const STEPS_A_DEVIATION: f64 = 8.0;
const STEPS: (usize, usize) = (60, 6000);
/// Least standard deviation of an increment that the grid is made for.
const FINEST: f64 = 0.05;
/// Standard deviations beyond which the density counts as 0.
const REACH: f64 = 9.0;

/// The density of the score (the statistic times the root of the information fraction) among the
/// trials that have crossed no boundary.
pub(super) struct Walk {
    /// Information fraction of the last look, 0 before the first.
    t: f64,
    /// Half the width of the region in which a trial goes on.
    half: f64,
    /// Density times Simpson's weight, on an even grid over the region. Empty before the first
    /// look.
    mass: Vec<f64>,
}

impl Walk {
    pub fn new() -> Self {
        Self { t: 0.0, half: 0.0, mass: Vec::new() }
    }

    /// The points of the grid with their mass.
    fn points(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        let step = 2.0 * self.half / (self.mass.len().max(2) - 1) as f64;
        self.mass.iter().enumerate().map(move |(i, mass)| (i as f64 * step - self.half, *mass))
    }

    /// The probability of going on so far and crossing +-c at information fraction `t`.
    pub fn exit(&self, t: f64, c: f64) -> f64 {
        let edge = c * t.sqrt();
        if self.mass.is_empty() {
            return 2.0 * normal(-c);
        }
        let deviation = (t - self.t).max(0.0).sqrt();
        if deviation == 0.0 {
            return self.points().filter(|(s, _)| s.abs() > edge).map(|(_, mass)| mass).sum();
        }
        let beyond = |s: f64| normal((s - edge) / deviation) + normal((-s - edge) / deviation);
        self.points().map(|(s, mass)| mass * beyond(s)).sum()
    }

    /// Goes on inside +-c at information fraction `t`; the next look adds `next` to it.
    pub fn step(&mut self, t: f64, c: f64, next: f64) {
        let half = (c * t.sqrt()).min(REACH * t.sqrt());
        let deviation = if self.mass.is_empty() { t.sqrt() } else { (t - self.t).sqrt() };
        if deviation <= 0.0 {
            return;
        }
        // Fine enough for the density here and for the next increment.
        let fine = deviation.min(next.sqrt().max(FINEST));
        let steps = (2.0 * half / fine * STEPS_A_DEVIATION) as usize;
        let steps = steps.clamp(STEPS.0, STEPS.1).next_multiple_of(2);
        let width = 2.0 * half / steps as f64;
        let at = |s: f64| {
            if self.mass.is_empty() {
                density(s / deviation) / deviation
            } else {
                let from = |(u, mass): (f64, f64)| mass * density((s - u) / deviation);
                self.points().map(from).sum::<f64>() / deviation
            }
        };
        let weight = |i: usize| match i {
            0 => 1.0,
            i if i == steps => 1.0,
            i if i % 2 == 1 => 4.0,
            _ => 2.0,
        };
        let mass = (0..=steps).map(|i| at(i as f64 * width - half) * weight(i) * width / 3.0);
        let mass = mass.collect();
        (self.t, self.half, self.mass) = (t, half, mass);
    }
}
