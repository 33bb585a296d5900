//! Tests of the report: the overall effect, and estimates that say nothing.

use super::*;

/// A report of these rows.
pub fn effects(rows: Vec<Estimate>) -> Effects {
    Effects {
        trial: TrialId([7; 8]),
        enrolled: 9,
        rows,
        levels: Vec::new(),
        overall: None,
        why: "",
        file: String::new(),
        plan: None,
        better: Better::High,
        looks: None,
        adjusted: None,
    }
}

fn row(estimate: f64, standard_error: f64, outcomes: u32) -> Estimate {
    let (low, high) = (estimate - Z95 * standard_error, estimate + Z95 * standard_error);
    let (feature, name) = (Some(0), String::new());
    Estimate { feature, name, estimate, standard_error, low, high, outcomes, truth: None }
}

/// The weighted mean and its variance, computed by hand.
#[test]
fn overall_effect_is_weighted() {
    let rows = [row(0.5, 0.1, 300), row(-0.1, 0.2, 100)];
    let all = weighted("overall", &[&rows[0], &rows[1]]).unwrap();
    assert!((all.estimate - 0.35).abs() < 1e-12, "{all:?}");
    let error = f64::sqrt((0.75_f64 * 0.1).powi(2) + (0.25_f64 * 0.2).powi(2));
    assert!((all.standard_error - error).abs() < 1e-12, "{all:?}");
    assert!((all.high - (0.35 + Z95 * error)).abs() < 1e-12 && all.outcomes == 400);
}

/// Intervals as the device sends them: cut to [-1, 1], rounded outward. Requirement S10.
#[test]
fn worthless_estimates_are_named() {
    let row = |name: &str, low, high| Estimate {
        name: name.to_owned(),
        ..Estimate { low, high, ..row(0.0, 0.1, 5) }
    };
    let rows = vec![
        row("every effect", -1.0, 1.0),
        row("beyond", 1.0, 1.0),
        row("wide", -1.0, 0.999_999),
        row("at the end", 0.9, 1.0),
    ];
    let mut effects = effects(rows);
    let warning = effects.warning().unwrap();
    assert!(warning.ends_with(" nothing: every effect; beyond."), "{warning}");
    assert!(table(&effects, None).contains(&warning));
    let csv = csv(&effects);
    let marks = csv.lines().map(|line| line.rsplit(',').next().unwrap());
    assert_eq!(marks.collect::<Vec<_>>(), ["worthless", "true", "true", "false", "false"], "{csv}");
    effects.rows.drain(..2);
    assert_eq!(effects.warning(), None);
    assert!(!table(&effects, None).contains("nothing"));
}

/// Repeated intervals and pooling start from the estimate before it was cut.
#[test]
fn the_middle_of_a_cut_interval() {
    let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a} {b}");
    near(middle(0.4, 0.1, [0.2, 0.6]), 0.4);
    near(middle(1.0, 0.2, [1.3 - Z95 * 0.2, 1.0]), 1.3);
    near(middle(-1.0, 0.1, [-1.0, -1.1 + Z95 * 0.1]), -1.1);
    // Nothing is left of the interval, or all of it was cut.
    near(middle(1.0, 0.1, [1.0, 1.0]), 1.0);
    near(middle(1.0, 2.0, [-1.0, 1.0]), 1.0);
    let cut = Estimate { estimate: 1.0, low: 1.3 - Z95 * 0.2, high: 1.0, ..row(1.3, 0.2, 50) };
    let adjusted = effects(vec![cut]).adjust(Some(Simultaneous::Bonferroni)).adjusted.unwrap();
    near(adjusted.rows[0].low, 1.3 - Z95 * 0.2);
}

/// Without outcomes there is nothing to weigh by.
#[test]
fn no_outcomes_no_overall_effect() {
    assert_eq!(weighted("overall", &[&row(0.2, 0.1, 0)]), None);
    assert_eq!(weighted("overall", &[]), None);
}
