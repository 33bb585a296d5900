//! The parts of a search on a trial that is small enough to be simulated at once: rates 0.25 and
//! 0.75, one kind of patient.

use super::compare::{Column, Comparison, Yardstick, compare};
use super::verdict::{advice as advice_of, refusal};
use super::wish::score_error;
use super::*;
use crate::simulate::{Figure, run};

const NOTHING: Wish =
    Wish { power: None, width: None, better: None, regret: None, target: Target::Feature };

fn question(plan: &str, given: Given, wish: Wish) -> Question<'static> {
    let plan = Plan::parse(&format!("{plan} better=high")).unwrap();
    let base = Scenario::new(plan, Instance::same(plan.features(), 0.25, 0.75), 1, 1);
    Question {
        base,
        baseline: 0.25,
        given,
        wish,
        is_design_given: true,
        at_most: 1.5,
        meter: &Silent,
    }
}

fn given(patients: Option<u32>, alpha: Option<Ratio>) -> Given {
    Given { patients, effect: Some(0.5), epsilon: Some(Ratio::ONE), alpha }
}

const QUARTER: Option<Ratio> = Ratio::new(1, 4);

/// A summary with the figures that wishes ask for.
fn summary(power: f64, width: f64, worse: f64, regret: f64) -> Summary {
    let question = question("features=1 patients=20 epsilon=1", given(None, None), NOTHING);
    let small = Scenario { runs: 2, ..question.base.clone() };
    let figure = |mean: f64| Figure { mean, error: 0.01 };
    Summary {
        excludes_0: Some(figure(power)),
        overall_excludes_0: Some(figure(0.5)),
        width: Some(width),
        worse_share: worse,
        regret: figure(regret),
        ..run(&small).unwrap()
    }
}

/// Each wish is fulfilled from its own figure on, and the least fulfilled one counts.
#[test]
fn wishes_are_held_against_their_figures() {
    let found = summary(0.8, 0.3, 0.2, 100.0);
    let score = |wish: Wish| wish.score(&found);
    for (wish, good) in [
        (Wish { power: Some(0.79), ..NOTHING }, true),
        (Wish { power: Some(0.81), ..NOTHING }, false),
        (Wish { power: Some(0.51), target: Target::Overall, ..NOTHING }, false),
        (Wish { width: Some(0.31), ..NOTHING }, true),
        (Wish { width: Some(0.29), ..NOTHING }, false),
        (Wish { better: Some(0.79), ..NOTHING }, true),
        (Wish { better: Some(0.81), ..NOTHING }, false),
        (Wish { regret: Some(101.0), ..NOTHING }, true),
        (Wish { regret: Some(99.0), ..NOTHING }, false),
        (Wish { power: Some(0.79), regret: Some(99.0), ..NOTHING }, false),
    ] {
        assert_eq!(score(wish) >= 0.0, good, "{wish:?}");
    }
    // The error of a power of 80 %, on the scale of quantiles, where the density is 0.28.
    let wish = Wish { power: Some(0.8), ..NOTHING };
    assert!((score_error(&wish, &found) - 0.01 / 0.279_96).abs() < 1e-5);
}

/// A wish for the overall effect takes an interval a trial; what is shown has the next seed.
#[test]
fn figures_shown_come_from_fresh_trials() {
    let plan = "features=4 patients=40 epsilon=1";
    let of_feature = question(plan, given(Some(40), QUARTER), NOTHING);
    let whole = Wish { target: Target::Overall, ..NOTHING };
    let overall = question(plan, given(Some(40), QUARTER), whole);
    let proposal = of_feature.start();
    assert_eq!(of_feature.scenario(&proposal, Effort::Fine).unwrap().runs, 5_000);
    assert_eq!(overall.scenario(&proposal, Effort::Fine).unwrap().runs, 20_000);
    let mut scenario = of_feature.scenario(&proposal, Effort::Fine).unwrap();
    scenario.seed = 2;
    assert_eq!(of_feature.confirm(&proposal).unwrap(), run(&scenario).unwrap());
}

/// With a wish about the estimate alone alpha has the least regret that keeps it, with one for the
/// patients it is the smallest; where both cannot be had there is no plan.
#[test]
fn alpha_is_found_from_its_own_end() {
    let find = |wish: Wish, alpha| {
        let question = question("features=1 patients=300 epsilon=1", given(Some(300), alpha), wish);
        question.solve().unwrap().map(|found| found.proposal.alpha.to_f64())
    };
    let free = find(Wish { power: Some(0.3), ..NOTHING }, None).unwrap();
    let bound = find(Wish { width: Some(0.26), ..NOTHING }, None).unwrap();
    assert!(free > 0.3 && bound < free, "{free} {bound}");
    assert_eq!(find(Wish { better: Some(0.5), ..NOTHING }, None), Some(0.0));
    let both = Wish { better: Some(0.7), width: Some(0.1), ..NOTHING };
    assert_eq!(find(both, None), None);
    assert_eq!(find(Wish { width: Some(0.1), ..NOTHING }, QUARTER), None);
}

/// Patients and alpha together: the share on the better arm is kept by what is found.
#[test]
fn patients_and_alpha_keep_both_wishes() {
    let wish = Wish { power: Some(0.9), better: Some(0.55), ..NOTHING };
    let given = Given { effect: Some(0.2), ..given(None, None) };
    let question = question("features=1 patients=20 epsilon=1", given, wish);
    let found = question.solve().unwrap().unwrap();
    assert!(1.0 - found.summary.worse_share >= 0.55, "{:?}", found.proposal);
}

/// Of a trial whose size was given the comparison says how many patients would be enough, and its
/// errors are those of a world without an effect.
#[test]
fn the_comparison_is_by_what_is_needed() {
    let wish = Wish { power: Some(0.5), ..NOTHING };
    let plan = "design=uniform features=1 patients=300 epsilon=1";
    let question = question(plan, given(Some(300), QUARTER), wish);
    let found = question.solve().unwrap().unwrap();
    let comparison = compare(&question, &found, None).unwrap();
    let needed = comparison.columns[0].needed.as_ref().unwrap().proposal.patients;
    assert!(needed < 150, "{needed}");
    let null = comparison.columns[0].null.excludes_0.unwrap().mean;
    assert!((0.03..0.08).contains(&null), "{null}");
}

/// Refused from a width of twice the effect on.
#[test]
fn wide_intervals_are_refused() {
    let plan = "design=uniform features=1 patients=300 epsilon=1";
    let question = question(plan, given(Some(300), QUARTER), NOTHING);
    let candidate = |width| Candidate {
        proposal: question.start(),
        summary: summary(0.5, width, 0.5, 10.0),
        error: None,
    };
    assert_eq!(refusal(&question, &candidate(0.99)).unwrap(), None);
    let why = refusal(&question, &candidate(1.01)).unwrap().unwrap();
    assert!(why.contains("1.010 wide") && why.contains("Enough for a power of 80.0 %"), "{why}");
}

/// The advice depends on the patients on the worse arm, and on whether the design adapted.
#[test]
fn advice_weighs_patients_on_the_worse_arm() {
    let question = question("features=1 patients=300 epsilon=1", given(None, QUARTER), NOTHING);
    let column = |name: &str, patients, worse| {
        let summary = summary(0.8, 0.3, worse, 10.0);
        let proposal = Proposal { patients, ..question.start() };
        Column {
            name: name.into(),
            planned: summary.clone(),
            null: summary.clone(),
            needed: Some(Candidate { proposal, summary, error: None }),
        }
    };
    let advice = |patients, worse| {
        let columns = vec![column("interim", patients, worse), column("uniform", 1000, 0.5)];
        advice_of(&Comparison { columns, yardstick: Yardstick::Power(0.8), asked: false })
    };
    assert!(advice(1500, 0.3).starts_with("Adaptation pays"), "{}", advice(1500, 0.3));
    let price = "Adaptive for the share or regret that is wanted, at a price: ";
    assert!(advice(2000, 0.3).starts_with(&format!("{price}adaptation does not pay")));
    assert!(advice(1000, 0.46).starts_with(&format!("{price}too small to adapt")));
    let fixed = |asked, patients| {
        let columns = vec![column("uniform", 1000, 0.5), column("interim", patients, 0.3)];
        advice_of(&Comparison { columns, yardstick: Yardstick::Power(0.8), asked })
    };
    assert!(fixed(false, 2000).starts_with("A FIXED TRIAL: adaptation does not pay; for a power"));
}

/// The commands that are printed name the rates as people write them.
#[test]
fn second_rate_has_few_decimals() {
    for (baseline, effect, second) in [(0.35, 0.1, 0.45), (0.7, -0.6, 0.1), (0.1, 0.2, 0.3)] {
        assert_eq!(Instance::with_effect(1, baseline, effect).p1, [second]);
    }
}
