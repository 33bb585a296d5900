//! Progress of simulations on standard error, if somebody watches it.
//!
//! A bar with the time left is shown where all work is known beforehand. A search does not know how
//! many simulations it will take, so it shows what is done and promises nothing.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressState, ProgressStyle};

use equipoise_study::planner::Meter;
use equipoise_study::simulate::Scenario;

/// Time between two drawings of a search's line.
const TICK: Duration = Duration::from_millis(200);

/// The line on standard error.
pub struct Bar(ProgressBar);

/// A number for people: three digits, in thousands or millions.
fn short(number: f64) -> String {
    match number {
        n if n >= 999.5e6 => format!("{:.2} billion", n / 1e9),
        n if n >= 99.95e6 => format!("{:.0} million", n / 1e6),
        n if n >= 9.995e6 => format!("{:.1} million", n / 1e6),
        n if n >= 999.5e3 => format!("{:.2} million", n / 1e6),
        n if n >= 1e4 => format!("{:.0},000", n / 1e3),
        n => format!("{n:.0}"),
    }
}

fn style(template: &str) -> ProgressStyle {
    let style =
        ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    let key = |write: fn(&ProgressState) -> f64| {
        move |state: &ProgressState, out: &mut dyn std::fmt::Write| {
            let _ = out.write_str(&short(write(state)));
        }
    };
    style
        .with_key("done", key(|state| state.pos() as f64))
        .with_key("all", key(|state| state.len().unwrap_or(0) as f64))
        .with_key("speed", key(ProgressState::per_sec))
}

impl Bar {
    /// The bar of simulations that are all known.
    pub fn of<'a>(scenarios: impl Iterator<Item = &'a Scenario>, runs: u32) -> Self {
        let patients: u64 = scenarios.map(|s| u64::from(s.plan.patients())).sum();
        let style = style("{bar:40} {done} of {all} patients, {speed} a second, about {eta} left");
        Self::shown(ProgressBar::new(patients * u64::from(runs)).with_style(style))
    }

    /// The line of a search, whose end nobody knows.
    pub fn of_search() -> Self {
        let style =
            style("{spinner} {done} patients simulated, {speed} a second, {elapsed} so far");
        let bar = Self::shown(ProgressBar::no_length().with_style(style));
        if !bar.0.is_hidden() {
            bar.0.enable_steady_tick(TICK);
        }
        bar
    }

    fn shown(bar: ProgressBar) -> Self {
        if std::io::stderr().is_terminal() { Self(bar) } else { Self(ProgressBar::hidden()) }
    }

    /// Takes the line away.
    pub fn clear(&self) {
        self.0.finish_and_clear();
    }

    /// This many patients are done.
    pub fn done(&self, patients: u64) {
        self.0.inc(patients);
    }
}

impl Meter for Bar {
    fn begin(&self, _: u64) {}

    fn done(&self, patients: u64) {
        self.0.inc(patients);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits() {
        for (number, text) in [
            (0.0, "0"),
            (9_999.0, "9999"),
            (45_397.0, "45,000"),
            (1_234_567.0, "1.23 million"),
            (45_397_845.001_5, "45.4 million"),
            (999_400_000.0, "999 million"),
            (1_234_000_000.0, "1.23 billion"),
        ] {
            assert_eq!(short(number), text);
        }
    }
}
