//! Tests of the report: the overall effect, and estimates that say nothing.

use super::*;
use crate::records::report::write::csv;
use equipoise::wire::{Ending, LastLook, Micro, RowArm, RowBasis, Stage};

/// The progress of a trial that ran to its end.
fn progress(resolved: u32, counted: u32) -> Progress {
    let look = Some(LastLook { number: 5, of: 5, at: None });
    let stage = Stage::Final;
    let end = Ending { rows: 1, stage, look, assigned: resolved, resolved, counted };
    Progress { end, date: String::new(), waiting: 0 }
}

/// A report of these rows.
pub fn effects(rows: Vec<Estimate>) -> Effects {
    Effects {
        trial: TrialId([7; 8]),
        enrolled: 9,
        progress: progress(9, 9),
        rows,
        levels: Vec::new(),
        overall: None,
        why: String::new(),
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
    let (basis, ratios, truth) = (None, None, None);
    Estimate { feature, name, estimate, standard_error, low, high, outcomes, basis, ratios, truth }
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

/// The reasons come from the counts: none is given that they do not show.
#[test]
fn counts_say_why_they_differ() {
    let plan = Plan::parse("features=2 patients=400 epsilon=1 better=high").unwrap();
    let basis = |windows| RowBasis {
        spent: Micro(1_000_000),
        half: Micro(500_000),
        looks: 1,
        windows,
        arms: [RowArm { outcomes: 100, mean: Micro(500_000) }; 2],
    };
    let read = |rows: usize| vec![Estimate { basis: Some(basis(2)), ..row(0.1, 0.1, 199) }; rows];
    let ended = progress(400, 395).reasons(&read(2), Some(&plan));
    // 8 cells in 2 windows each, v = 7.84 at epsilon 1: sqrt(4 * 4 * 7.84) = 11.2.
    assert_eq!(
        ended,
        "the count carries noise with a standard deviation of 11 that protects each patient"
    );
    let lost = progress(400, 300).reasons(&read(2), Some(&plan));
    assert!(lost.starts_with("about 100 have no outcome here: they were lost,"), "{lost}");
    let mut early = progress(250, 201);
    early.end.stage = Stage::Interim;
    early.end.look = Some(LastLook { number: 1, of: 3, at: Some(200) });
    assert_eq!(early.headline(), "look 1 of 3, INTERIM");
    let early = early.reasons(&read(1), Some(&plan));
    assert!(
        early.starts_with("50 were resolved after this look and are not read yet; 1 "),
        "{early}"
    );
    assert!(!early.contains("lost"), "{early}");
    assert_eq!(progress(9, 9).headline(), "look 5 of 5, FINAL");
}
