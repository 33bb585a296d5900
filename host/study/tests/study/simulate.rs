//! The simulator: the same result however it is cut, and figures that can be checked by hand.

mod checks;

use equipoise::design::schedule;
use equipoise::plan::Plan;
use equipoise_study::simulate::{
    Arrivals, Comparator, Delay, Instance, Lost, Policy, Scenario, run, sums,
};

fn scenario(plan: &str, runs: u32) -> Scenario {
    let plan = Plan::parse(&format!("{plan} better=high")).unwrap();
    Scenario::new(plan, Instance::same(plan.features(), 0.35, 0.65), runs, 1)
}

fn comparison(rule: &str, plan: &str, runs: u32) -> Scenario {
    let rule = Comparator::parse(rule).unwrap().unwrap();
    Scenario { policy: Policy::Comparator(rule), ..scenario(plan, runs) }
}

/// The result does not depend on threads or on how the runs are split.
#[test]
fn result_is_the_same_for_any_split() {
    let mut s = scenario("features=3 patients=1000 epsilon=1 scale=7", 24);
    s.world.arrivals = Arrivals::Zipf(1.0);
    s.world.delay = Delay { from: 3, to: 200 };
    s.world.lost = Lost([0.1, 0.2]);
    let with = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| sums(&s, 0..24, &|| ()).unwrap())
    };
    let whole = with(1);
    assert_eq!(with(3), whole);
    let piece = |runs| sums(&s, runs, &|| ()).unwrap();
    assert_eq!(piece(17..24).merge(piece(0..5)).merge(piece(5..17)), whole);
    assert_ne!(piece(0..23), whole);
}

/// A uniform trial has the regret and the error of the formulas.
#[test]
fn uniform_trial_follows_the_formulas() {
    let summary = run(&comparison("fixed", "features=10 patients=20000 epsilon=1", 200)).unwrap();
    // Half of 20,000 patients lose 0.3 each; 2,000 patients a feature estimate with 2 * 2 * 0.2275
    // / 2000.
    let (mse, product) = (summary.mse.unwrap(), summary.product.unwrap());
    assert!((summary.regret.mean - 3000.0).abs() < 4.0 * summary.regret.error, "{summary:?}");
    assert!((mse.mean - 0.000_455).abs() < 4.0 * mse.error, "{summary:?}");
    assert!((product.mean - 0.1365).abs() < 4.0 * product.error, "{summary:?}");
    // The squared error of a normal estimate has relative deviation sqrt(2), over 2,000 of them.
    assert!((mse.error / 0.000_455 - (2.0f64 / 2000.0).sqrt()).abs() < 0.005, "{summary:?}");
    assert!((summary.coverage.unwrap().mean - 0.95).abs() < 0.02, "{summary:?}");
    assert_eq!((summary.estimates, summary.wrong_drops, summary.first_drop), (1.0, 0.0, None));
}

/// P(Z > x) of a standard normal Z.
fn above(x: f64) -> f64 {
    0.5 * libm::erfc(x / std::f64::consts::SQRT_2)
}

/// Power, errors on the wrong side, errors anywhere and the overall effect of the fixed trial agree
/// with the normal approximation.
#[test]
fn power_and_errors_follow_the_formulas() {
    let mut s = comparison("fixed", "features=4 patients=2000 epsilon=1", 2000);
    let (z, deviation) = (1.959_964, (2.0 * 2.0 * 0.25 / 500.0f64).sqrt());
    for effect in [0.0, 0.02, 0.1] {
        s.world.instance = Instance::same(4, 0.5 - effect / 2.0, 0.5 + effect / 2.0);
        let found = run(&s).unwrap();
        let (right, wrong) = (above(z - effect / deviation), above(z + effect / deviation));
        let excludes = found.excludes_0.unwrap();
        let power = right + wrong;
        assert!(
            (excludes.mean - power).abs() < 0.004 + 4.0 * excludes.error,
            "{effect}: {found:?}"
        );
        let expected = (power * (1.0 - power) / 8000.0).sqrt();
        assert!((excludes.error / expected - 1.0).abs() < 0.2, "{effect}: {found:?}");
        let wrong_side = if effect == 0.0 { 0.0 } else { wrong };
        assert!((found.wrong_side.unwrap().mean - wrong_side).abs() < 0.006, "{effect}: {found:?}");
        let an_error = if effect == 0.0 { power } else { wrong };
        assert!(
            (found.any_error.mean - (1.0 - (1.0 - an_error).powi(4))).abs() < 0.035,
            "{effect}: {found:?}"
        );
        // The mean of four features has half the deviation of one.
        let overall = above(z - 2.0 * effect / deviation) + above(z + 2.0 * effect / deviation);
        let share = found.overall_excludes_0.unwrap();
        assert!((share.mean - overall).abs() < 0.004 + 4.0 * share.error, "{effect}: {found:?}");
        assert!((found.overall_coverage.unwrap().mean - 0.95).abs() < 0.025, "{effect}: {found:?}");
        assert!(
            (found.overall_width.unwrap() / (z * deviation) - 1.0).abs() < 0.02,
            "{effect}: {found:?}"
        );
    }
}

/// Far fewer patients on the worse arm than in a fixed trial, an unbiased estimate, and features
/// that settle before half for the better arm.
#[test]
fn interim_has_its_figures() {
    let summary = run(&scenario("features=4 patients=4000 epsilon=1", 600)).unwrap();
    let product = summary.product.unwrap();
    assert!((product.mean - 0.1201).abs() < 4.0 * product.error, "{summary:?}");
    assert!((summary.regret.mean - 165.0).abs() < 4.0 * summary.regret.error + 0.5, "{summary:?}");
    assert!(summary.bias.unwrap().abs() < 0.01, "{summary:?}");
    let coverage = summary.coverage.unwrap();
    assert!((coverage.mean - 0.948).abs() < 4.0 * coverage.error, "{summary:?}");
    assert!(summary.dropped > 0.65 && summary.wrong_drops < 0.01, "{summary:?}");
    assert!(summary.first_drop.unwrap() < 600.0, "{summary:?}");
}

/// Looks count resolved patients, so late outcomes settle features at the same counts, with more
/// patients assigned by the fair coin.
#[test]
fn late_outcomes_cost_regret() {
    let mut s = scenario("features=2 patients=4000 epsilon=1", 50);
    let at_once = run(&s).unwrap();
    s.world.delay = Delay::fixed(500);
    let late = run(&s).unwrap();
    assert!((late.first_drop.unwrap() - at_once.first_drop.unwrap()).abs() < 100.0);
    assert!(late.regret.mean > at_once.regret.mean + 50.0, "{late:?}");
    // A delay of one patient is seen through the other path of the harness; only luck differs.
    s.world.delay = Delay::fixed(1);
    let one = run(&s).unwrap();
    assert!((one.regret.mean / at_once.regret.mean - 1.0).abs() < 0.1, "{one:?}");
}

#[test]
fn a_drop_is_dated_at_its_look() {
    let s = scenario("features=2 patients=4000 epsilon=4", 20);
    let stage = sums(&s, 0..20, &|| ()).unwrap();
    let looks: Vec<u64> = schedule::looks(&s.plan).map(u64::from).collect();
    for run in 0..20 {
        let one = sums(&s, run..run + 1, &|| ()).unwrap();
        assert!(one.drops == 0 || looks.contains(&one.first_drop), "{one:?} {looks:?}");
    }
    assert_eq!(stage.drops, 20);
}

/// A graded outcome has its mean, and losses have their rate.
#[test]
fn graded_outcomes_and_losses_have_rates() {
    let mut s = comparison("fixed", "features=2 patients=10000 epsilon=1 scale=10", 50);
    s.world.instance = Instance { p0: vec![0.25, 0.5], p1: vec![0.83, 0.9], drift: 0.0 };
    let summary = run(&s).unwrap();
    assert!(summary.max_bias.unwrap() < 0.003, "{summary:?}");
    let coverage = summary.coverage.unwrap();
    assert!((coverage.mean - 0.95).abs() < 4.0 * coverage.error + 0.005, "{summary:?}");
    let all = summary.mse.unwrap().mean;
    s.world.lost = Lost([0.5, 0.5]);
    let half = run(&s).unwrap().mse.unwrap().mean;
    assert!((half / all - 2.0).abs() < 0.8, "{half} {all}");
}

#[test]
fn a_drift_of_both_arms_leaves_the_effect_alone() {
    let mut s = comparison("fixed", "features=1 patients=20000 epsilon=1", 50);
    s.world.instance.drift = 0.3;
    let summary = run(&s).unwrap();
    assert!(summary.bias.unwrap().abs() < 0.004, "{summary:?}");
    s.world.instance.drift = -0.36;
    assert_eq!(
        run(&s).unwrap_err().to_string(),
        "drift=-0.36 allowed what leaves every rate in 0..=1"
    );
}

#[test]
fn bandits_lose_less_and_overstate_more() {
    let plan = "features=10 patients=20000 epsilon=1";
    let [uniform, ucb1, thompson, etc] =
        ["fixed", "ucb1", "thompson", "etc"].map(|rule| run(&comparison(rule, plan, 40)).unwrap());
    assert!(thompson.regret.mean < ucb1.regret.mean && ucb1.regret.mean < uniform.regret.mean);
    assert!((ucb1.bias.unwrap() - 0.012).abs() < 0.006, "{ucb1:?}");
    assert!((thompson.bias.unwrap() - 0.055).abs() < 0.02, "{thompson:?}");
    assert!((etc.regret.mean - 300.0).abs() < 5.0, "{etc:?}");
    assert!((etc.product.unwrap().mean - 0.074).abs() < 0.012, "{etc:?}");
}

#[test]
fn arrivals_have_their_shares() {
    let shares = |arrivals: Arrivals| {
        let mut s = comparison("fixed", "features=4 patients=70000 epsilon=1", 2);
        s.world.arrivals = arrivals;
        sums(&s, 0..2, &|| ())
            .unwrap()
            .features
            .iter()
            .map(|f| f.patients as f64)
            .collect::<Vec<_>>()
    };
    let named = |name: &str| Arrivals::parse(name).unwrap().unwrap();
    // Weekdays (5 of 7) have weights 3 and 1, weekends 1 and 3; the wave averages out.
    let (even, odd) = ((5.0 * 3.0 + 2.0) / 7.0 / 8.0, (5.0 + 2.0 * 3.0) / 7.0 / 8.0);
    for (arrivals, expected) in [
        (named("uniform"), [0.25; 4]),
        (named("zipf"), [12.0 / 25.0, 6.0 / 25.0, 4.0 / 25.0, 3.0 / 25.0]),
        (named("zipf:0"), [0.25; 4]),
        (named("shares:0,3,1,0"), [0.0, 0.75, 0.25, 0.0]),
        (named("seasonal"), [even, odd, even, odd]),
        (Arrivals::trace("0 1 1\n3,3 3 3").unwrap(), [1.0 / 7.0, 2.0 / 7.0, 0.0, 4.0 / 7.0]),
    ] {
        for (seen, share) in shares(arrivals.clone()).iter().zip(expected) {
            let patients = 140_000.0 * share;
            assert!(
                (seen - patients).abs() <= 5.0 * patients.sqrt(),
                "{arrivals} {seen} {patients}"
            );
        }
    }
}

/// A scenario that cannot be simulated is refused; the message names what is allowed.
#[test]
fn impossible_scenarios_are_named() {
    let good = scenario("features=2 patients=100 epsilon=1", 2);
    let message = |s: Scenario| run(&s).unwrap_err().to_string();
    assert_eq!(message(Scenario { runs: 0, ..good.clone() }), "runs=0 allowed 1..=1000000");
    let mut bad = good.clone();
    bad.world.instance.p1[1] = 1.5;
    assert_eq!(message(bad), "baseline + effect=1.5 allowed 0..=1");
    let mut bad = good.clone();
    bad.world.instance.p0.pop();
    assert_eq!(message(bad), "baseline=1 rates allowed one rate, or one a feature of the plan");
    let mut bad = good.clone();
    bad.world.arrivals = Arrivals::Trace(vec![0, 2].into());
    assert_eq!(message(bad), "arrivals feature=2 allowed 0..features");
    let mut bad = good;
    bad.world.delay = Delay { from: 3, to: 2 };
    assert_eq!(message(bad), "delay=3..2 allowed D or A..B patients, 0..=16000, A at most B");
    assert!(
        Lost::parse("0.1,2").is_err() && Lost::parse("x").is_err() && Lost::parse("0.1").is_ok()
    );
    assert!(Comparator::parse("etc:2").is_err() && Comparator::parse("best").unwrap().is_none());
    assert!(Instance::parse("p0,p1\n0.1,0.2\n0.3").is_err());
}

/// Errors of the estimates are normal with twice the published variance.
#[test]
fn errors_are_normal_with_our_variance() {
    use equipoise_study::normality::Errors;
    for (design, factor) in
        [("conse", true), ("dp-conse", true), ("interim", false), ("uniform", false)]
    {
        let s = scenario(&format!("design={design} features=10 patients=20000 epsilon=1"), 150);
        let errors = Errors::of(&s, &|| ()).unwrap();
        let (mean, variance) = errors.moments();
        // 1,500 estimates: standard errors 0.026 and 0.037.
        assert!(mean.abs() < 0.08 && (variance - 1.0).abs() < 0.12, "{design} {mean} {variance}");
        assert!(errors.p_value() > 0.01, "{design} {} {}", errors.distance(), errors.p_value());
        assert_eq!(errors.factor.is_some(), factor);
        assert!(
            errors.factor.is_none_or(|f| (f - 2.0).abs() < 0.25),
            "{design} {:?}",
            errors.factor
        );
    }
    // The same check is red for errors that are not standard normal.
    let flat = Errors {
        name: String::new(),
        sorted: (0..1500).map(|i| f64::from(i) / 300.0 - 2.5).collect(),
        factor: None,
    };
    assert!(flat.p_value() < 0.001);
}
