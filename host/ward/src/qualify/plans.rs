//! The fixed plans of a qualification, and what they spend of a device's lifetime budget.

use super::bench::{Trouble, finding};
use equipoise::plan::Plan;

const RULES: &str = "design=uniform features=2 patients=20 better=high epsilon=1/100";
const BLINDED: &str = "design=uniform features=1 patients=8 kits=12 better=high epsilon=1/100";
/// More patients than any board lets wait.
const CAPACITY: &str = "design=uniform features=1 patients=10000 better=high epsilon=1/100";
/// 256 noisy cells: two of each arm of 64 kinds.
const NOISE: &str = "design=uniform features=64 patients=512 better=high epsilon=4";

fn plan(text: &str) -> Result<Plan, Trouble> {
    Plan::parse(text).or_else(|error| finding(format!("{text}: {error}")))
}

/// A small open trial for the rules of the line.
pub fn rules() -> Result<Plan, Trouble> {
    plan(RULES)
}

/// A small blinded trial.
pub fn blinded() -> Result<Plan, Trouble> {
    plan(BLINDED)
}

/// A trial in which nobody is resolved.
pub fn capacity() -> Result<Plan, Trouble> {
    plan(CAPACITY)
}

/// The trial of 64 kinds of patient.
pub fn noise() -> Result<Plan, Trouble> {
    plan(NOISE)
}

/// Epsilon that the fixed plans spend.
#[must_use]
pub fn spent() -> f64 {
    let plans = [rules(), blinded(), capacity(), noise()];
    plans.iter().flatten().map(epsilon).sum()
}

/// Epsilon of a plan, as a number.
#[must_use]
pub fn epsilon(plan: &Plan) -> f64 {
    let text = plan.epsilon().to_string();
    let (above, below) = text.split_once('/').unwrap_or((&text, "1"));
    let number = |text: &str| text.parse::<f64>().unwrap_or(f64::NAN);
    number(above) / number(below)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every fixed plan is one that a device takes.
    #[test]
    fn fixed_plans_are_valid() {
        assert_eq!(noise().unwrap().features(), 64);
        assert!(blinded().unwrap().is_blinded() && rules().is_ok() && capacity().is_ok());
        assert!((spent() - 4.03).abs() < 1e-9);
    }
}
