//! `equipoise plan`: power, errors and widths against closed forms, sample sizes, and the plans it
//! refuses.

mod alpha;
mod boundary;
mod transcription;

use equipoise::plan::Plan;
use equipoise_study::boundaries::Kind;
use equipoise_study::normal::normal;
use equipoise_study::planner::{Given, Proposal, Question, Silent, Target, Wish};
use equipoise_study::simulate::{Instance, Policy, Scenario, run, runs};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

const Z: f64 = 1.959_963_984_540_054;

/// The variance of the difference of two means of fair coins, with discrete Laplace noise of rate
/// epsilon/2 on the yes and no cells of each arm.
fn variance(patients: f64, features: f64, epsilon: f64, rates: [f64; 2]) -> f64 {
    let q = (-epsilon / 2.0f64).exp();
    let noise = 2.0 * q / (1.0 - q).powi(2);
    let share = 1.0 / (2.0 * features);
    let n = patients * share;
    // Second-order means of 1/N and 1/N^2 of a binomial N.
    let (once, twice) = ((1.0 + (1.0 - share) / n) / n, (1.0 + 3.0 * (1.0 - share) / n) / (n * n));
    let arm = |p: f64| p * (1.0 - p) * once + noise * (p * p + (1.0 - p).powi(2)) * twice;
    arm(rates[0]) + arm(rates[1])
}

fn power(variance: f64, effect: f64) -> f64 {
    let shift = effect.abs() / variance.sqrt();
    normal(shift - Z) + normal(-shift - Z)
}

/// Patients for a power by the closed form.
fn closed_form(wanted: f64, features: f64, epsilon: f64, rates: [f64; 2]) -> f64 {
    let (mut low, mut high) = (10.0, 1e7);
    for _ in 0..100 {
        let middle = f64::sqrt(low * high);
        let enough = power(variance(middle, features, epsilon, rates), rates[1] - rates[0]);
        if enough < wanted { low = middle } else { high = middle }
    }
    high
}

fn question(plan: &str, baseline: f64, wanted: f64) -> Question<'static> {
    let plan = Plan::parse(&format!("{plan} better=high")).unwrap();
    let base = Scenario::new(plan, Instance::same(plan.features(), baseline, baseline), 1, 1);
    let given = Given {
        patients: None,
        effect: None,
        epsilon: Some(plan.epsilon()),
        alpha: Some(plan.alpha()),
    };
    let power = Some(wanted);
    let wish = Wish { power, width: None, better: None, regret: None, target: Target::Feature };
    Question { base, baseline, given, wish, is_design_given: true, at_most: 1.5, meter: &Silent }
}

fn proposal(question: &Question, effect: f64) -> Proposal {
    let plan = &question.base.plan;
    Proposal {
        design: plan.design(),
        policy: Policy::Core,
        patients: plan.patients(),
        effect,
        epsilon: plan.epsilon(),
        alpha: plan.alpha(),
    }
}

/// Power, type I error and width of `uniform` are those of a two-sample comparison with added
/// noise, at 12 settings: within 3 standard errors of a [transcription], and near the closed form.
#[test]
fn uniform_agrees_with_closed_forms() {
    for (patients, features, epsilon, rates) in [
        (400, 1, "1", [0.35, 0.50]),
        (800, 1, "1", [0.35, 0.45]),
        (800, 1, "1/4", [0.35, 0.45]),
        (1600, 1, "1/2", [0.50, 0.57]),
        (3000, 1, "2", [0.30, 0.35]),
        (2000, 4, "1", [0.35, 0.50]),
        (4000, 4, "1", [0.35, 0.45]),
        (4000, 4, "1/3", [0.60, 0.50]),
        (6000, 10, "1", [0.35, 0.50]),
        (6000, 10, "3", [0.20, 0.30]),
        (1000, 2, "1", [0.80, 0.70]),
        (2400, 3, "1/2", [0.10, 0.18]),
    ] {
        let text = format!(
            "design=uniform features={features} patients={patients} better=high epsilon={epsilon}"
        );
        let plan = Plan::parse(&text).unwrap();
        let variance =
            |rates| variance(patients.into(), features.into(), plan.epsilon().to_f64(), rates);
        let simulate = |rates: [f64; 2]| {
            let instance = Instance::same(features as u8, rates[0], rates[1]);
            run(&Scenario::new(plan, instance, 12_000u32.div_ceil(features), 5)).unwrap()
        };
        let found = simulate(rates);
        let expected = power(variance(rates), rates[1] - rates[0]);
        let figure = found.excludes_0.unwrap();
        let far = (figure.mean - expected).abs();
        assert!(far < 0.01 + 3.0 * figure.error, "{text} power {figure:?} for {expected}");
        let width = 2.0 * Z * variance(rates).sqrt();
        assert!(
            (found.width.unwrap() / width - 1.0).abs() < 0.02,
            "{text} {:?} {width}",
            found.width
        );
        let null = simulate([rates[0]; 2]).excludes_0.unwrap();
        for (rates, figure) in [(rates, figure), ([rates[0]; 2], null)] {
            let epsilon = plan.epsilon().to_f64();
            let (share, error, width) =
                transcription::excludes_0(patients, features, epsilon, rates);
            println!("{text} {rates:?}: {figure:?} for {share:.4} +- {error:.4}, width {width:.4}");
            let far = (figure.mean - share).abs();
            assert!(far < 3.0 * figure.error.hypot(error), "{text} {figure:?} for {share}");
        }
    }
}

/// Where lower outcomes are better the figures are those of the mirrored rates with higher ones,
/// and the same arm gets the patients.
#[test]
fn low_figures_are_those_of_the_mirrored_trial() {
    for words in ["design=uniform", "alpha=1/4", "alpha=1/4 reports=2"] {
        let simulate = |better: &str, rates: [f64; 2], seed| {
            let text = format!("features=2 patients=1500 epsilon=1 better={better} {words}");
            let instance = Instance::same(2, rates[0], rates[1]);
            let scenario = Scenario::new(Plan::parse(&text).unwrap(), instance, 3000, seed);
            let (mut rows, heading) = (Vec::new(), runs::heading(&scenario));
            let sums = runs::sums_and_rows(&scenario, 0..3000, &|| (), &mut rows).unwrap();
            let column = heading.trim_end().split(',').position(|name| name == "patients1");
            let of = |line: &str| -> f64 {
                line.split(',').nth(column.unwrap()).unwrap().parse().unwrap()
            };
            let on_one: f64 = String::from_utf8(rows).unwrap().lines().map(of).sum();
            (sums.summary(), on_one / (3000.0 * 1500.0))
        };
        let (high, on_one) = simulate("high", [0.25, 0.4], 5);
        let (low, on_one_too) = simulate("low", [0.75, 0.6], 6);
        for (name, a, b) in [
            ("power", high.excludes_0.unwrap(), low.excludes_0.unwrap()),
            ("coverage", high.coverage.unwrap(), low.coverage.unwrap()),
            ("regret", high.regret, low.regret),
        ] {
            println!("{words} {name}: {a:?} {b:?}");
            let far = (a.mean - b.mean).abs();
            assert!(far < 3.5 * a.error.hypot(b.error), "{words} {name} {a:?} {b:?}");
        }
        assert!((high.width.unwrap() / low.width.unwrap() - 1.0).abs() < 0.01);
        // Arm 1 is the better one in both.
        for (summary, on_one) in [(&high, on_one), (&low, on_one_too)] {
            println!("{words}: {on_one:.4} on arm 1, {:.4} on the worse", summary.worse_share);
            assert!((on_one + summary.worse_share - 1.0).abs() < 1e-6, "{on_one} {summary:?}");
        }
        assert!((on_one - on_one_too).abs() < 0.01, "{on_one} {on_one_too}");
    }
}

/// Patients that `plan` finds for `uniform` lie within 3 % of the closed form, at 6 settings.
#[test]
fn sample_sizes_of_uniform() {
    for (features, epsilon, rates, wanted) in [
        (1, "1", [0.35, 0.45], 0.8),
        (1, "1/2", [0.50, 0.60], 0.9),
        (1, "2", [0.20, 0.30], 0.8),
        (4, "1", [0.35, 0.50], 0.8),
        (4, "1/4", [0.60, 0.45], 0.9),
        (8, "1", [0.40, 0.55], 0.85),
    ] {
        let plan = format!("design=uniform features={features} patients=100 epsilon={epsilon}");
        let question = question(&plan, rates[0], wanted);
        let at = proposal(&question, rates[1] - rates[0]);
        let found = question.fewest_patients(&at, &question.wish).unwrap().unwrap();
        let epsilon = question.base.plan.epsilon().to_f64();
        let expected = closed_form(wanted, features.into(), epsilon, rates);
        let ratio = f64::from(found.proposal.patients) / expected;
        println!("{plan} {rates:?} {wanted}: {} for {expected:.0}", found.proposal.patients);
        assert!((ratio - 1.0).abs() < 0.03, "{plan} {rates:?}: {ratio}");
        assert!(found.error.unwrap() < 0.02 * expected, "{found:?}");
    }
}

/// Patients for the overall effect of `uniform`: within 3 standard errors of the transcription, and
/// near the closed form of a mean over kinds of patient of the same size, whose variance is that of
/// one kind over their number.
#[test]
fn sample_sizes_of_the_overall_effect() {
    for (features, rates, wanted) in [(3, [0.35, 0.50], 0.8), (5, [0.6, 0.45], 0.9)] {
        let plan = format!("design=uniform features={features} patients=100 epsilon=2");
        let mut question = question(&plan, rates[0], wanted);
        question.wish.target = Target::Overall;
        let at = proposal(&question, rates[1] - rates[0]);
        let found = question.fewest_patients(&at, &question.wish).unwrap().unwrap();
        let of = |patients| variance(patients, features.into(), 2.0, rates) / f64::from(features);
        let patients = f64::from(found.proposal.patients);
        let expected = power(of(patients), rates[1] - rates[0]);
        let figure = found.summary.overall_excludes_0.unwrap();
        println!("{plan} {rates:?}: {patients} patients, {figure:?} for {expected:.4}");
        let (share, error) =
            transcription::overall_excludes_0(found.proposal.patients, features, 2.0, rates);
        println!("transcribed {share:.4} +- {error:.4}");
        let far = (figure.mean - share).abs();
        assert!(far < 3.0 * figure.error.hypot(error), "{figure:?} {share}");
        assert!(figure.mean >= wanted && expected < wanted + 0.02, "{figure:?} {expected}");
    }
}

/// The power that `plan` promises for `interim` holds with another seed at 10 settings, without
/// many more patients than it takes.
#[test]
fn promised_power_is_found_again() {
    let mut beyond = Vec::new();
    for (plan, rates, wanted) in [
        ("features=1 epsilon=1 alpha=1/4", [0.35, 0.50], 0.8),
        ("features=1 epsilon=1 alpha=0", [0.35, 0.45], 0.8),
        ("features=1 epsilon=1/2 alpha=1/2", [0.30, 0.60], 0.8),
        ("features=1 epsilon=2 alpha=1/4", [0.50, 0.40], 0.9),
        ("features=2 epsilon=1 alpha=1/4", [0.50, 0.70], 0.9),
        ("features=4 epsilon=1 alpha=1/4", [0.35, 0.55], 0.8),
        ("features=4 epsilon=1/2 alpha=1/8", [0.35, 0.50], 0.7),
        ("features=4 epsilon=1 alpha=3/4", [0.20, 0.60], 0.8),
        ("features=8 epsilon=1 alpha=1/4", [0.40, 0.65], 0.8),
        ("features=4 epsilon=1 alpha=1/4 scale=10", [0.40, 0.50], 0.8),
    ] {
        let question = question(&format!("{plan} patients=100"), rates[0], wanted);
        let at = proposal(&question, rates[1] - rates[0]);
        let found = question.fewest_patients(&at, &question.wish).unwrap().unwrap();
        let mut scenario = question
            .scenario(&found.proposal, equipoise_study::planner::search::Effort::Fine)
            .unwrap();
        scenario.seed = 4711;
        let again = run(&scenario).unwrap().excludes_0.unwrap();
        // The promise has about the same error as its repetition.
        let error = again.error * f64::sqrt(2.0);
        println!("{plan} {rates:?}: {} patients, {again:?}", found.proposal.patients);
        assert!(found.summary.excludes_0.unwrap().mean >= wanted, "{plan}: {found:?}");
        assert!(again.mean > wanted - 3.0 * error, "{plan}: {again:?} for {wanted}");
        assert!(again.mean < wanted + 3.0 * error + 0.01, "{plan}: {again:?} for {wanted}");
        assert!(error < 0.006, "{plan} {error}");
        beyond.push(again.mean - wanted);
    }
    // All together fall short of nothing: the mean of 10 has an error of 0.1 %.
    let mean = beyond.iter().sum::<f64>() / beyond.len() as f64;
    println!("mean beyond the promise: {mean:.4}");
    assert!((-0.002..0.01).contains(&mean), "{mean}");
}
