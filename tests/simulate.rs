//! The simulator: the same result however it is cut, and figures that can be checked by hand.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use equipoise::host::simulate::{Arrivals, Comparator, Delay, Instance, Lost, Policy, Scenario, run, sums};
use equipoise::plan::Plan;

fn scenario(plan: &str, runs: u32) -> Scenario {
    let plan = Plan::parse(plan).unwrap();
    Scenario::new(plan, Instance::same(plan.features(), 0.35, 0.65), runs, 1)
}

fn comparison(rule: &str, plan: &str, runs: u32) -> Scenario {
    let rule = Comparator::parse(rule).unwrap().unwrap();
    Scenario { policy: Policy::Comparator(rule), ..scenario(plan, runs) }
}

#[test]
fn the_result_does_not_depend_on_threads_or_on_how_the_runs_are_split() {
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

#[test]
fn a_uniform_trial_has_the_regret_and_the_error_of_the_formulas() {
    let summary = run(&comparison("uniform", "features=10 patients=20000 epsilon=1", 200)).unwrap();
    // Half of 20,000 patients lose 0.3 each; 2,000 patients a feature estimate with 2 * 2 * 0.2275 / 2000.
    let (mse, product) = (summary.mse.unwrap(), summary.product.unwrap());
    assert!((summary.regret.mean - 3000.0).abs() < 4.0 * summary.regret.error, "{summary:?}");
    assert!((mse.mean - 0.000_455).abs() < 4.0 * mse.error, "{summary:?}");
    assert!((product.mean - 0.1365).abs() < 4.0 * product.error, "{summary:?}");
    // The squared error of a normal estimate has relative deviation sqrt(2), over 2,000 of them.
    assert!((mse.error / 0.000_455 - (2.0f64 / 2000.0).sqrt()).abs() < 0.005, "{summary:?}");
    assert!((summary.coverage.unwrap() - 0.95).abs() < 0.02, "{summary:?}");
    assert_eq!((summary.estimates, summary.wrong_drops, summary.first_drop), (1.0, 0.0, None));
}

#[test]
fn interim_gives_up_far_fewer_patients_than_a_uniform_trial_and_stays_unbiased() {
    let summary = run(&scenario("features=4 patients=4000 epsilon=1", 300)).unwrap();
    let product = summary.product.unwrap();
    assert!((product.mean - 0.28).abs() < 4.0 * product.error + 0.01, "{summary:?}");
    assert!((summary.regret.mean - 171.0).abs() < 4.0 * summary.regret.error + 1.0, "{summary:?}");
    assert!(summary.bias.unwrap().abs() < 0.01 && summary.coverage.unwrap() > 0.92, "{summary:?}");
    assert!(summary.wrong_drops < 0.05 && summary.first_drop.unwrap() < 2000.0, "{summary:?}");
}

#[test]
fn late_outcomes_delay_the_first_drop() {
    let mut s = scenario("features=2 patients=4000 epsilon=1", 50);
    let first = |s: &Scenario| run(s).unwrap().first_drop.unwrap();
    let at_once = first(&s);
    s.world.delay = Delay::fixed(500);
    assert!(first(&s) > at_once + 250.0);
    // A delay of one patient is seen through the other path of the harness; only luck differs.
    s.world.delay = Delay::fixed(1);
    assert!((first(&s) - at_once).abs() < 150.0);
}

#[test]
fn a_drop_is_dated_at_its_look() {
    let s = scenario("features=2 patients=4000 epsilon=4", 20);
    let stage = sums(&s, 0..20, &|| ()).unwrap();
    let mut at = 2000;
    let mut looks = vec![at];
    while at * 5 / 8 >= 160 {
        at = at * 5 / 8;
        looks.push(at);
    }
    for run in 0..20 {
        let one = sums(&s, run..run + 1, &|| ()).unwrap();
        assert!(one.drops == 0 || looks.contains(&one.first_drop), "{one:?} {looks:?}");
    }
    assert_eq!(stage.drops, 20);
}

#[test]
fn a_graded_outcome_has_its_mean_and_losses_have_their_rate() {
    let mut s = comparison("uniform", "features=2 patients=10000 epsilon=1 scale=10", 50);
    s.world.instance = Instance { p0: vec![0.25, 0.5], p1: vec![0.83, 0.9], drift: 0.0 };
    let summary = run(&s).unwrap();
    assert!(summary.max_bias.unwrap() < 0.003, "{summary:?}");
    // Uniform laws vary less than yes/no ones, so Wald intervals are too wide, never too narrow.
    assert!(summary.coverage.unwrap() > 0.98, "{summary:?}");
    let all = summary.mse.unwrap().mean;
    s.world.lost = Lost([0.5, 0.5]);
    let half = run(&s).unwrap().mse.unwrap().mean;
    assert!((half / all - 2.0).abs() < 0.8, "{half} {all}");
}

#[test]
fn a_drift_of_both_arms_leaves_the_effect_alone() {
    let mut s = comparison("uniform", "features=1 patients=20000 epsilon=1", 50);
    s.world.instance.drift = 0.3;
    let summary = run(&s).unwrap();
    assert!(summary.bias.unwrap().abs() < 0.004, "{summary:?}");
    s.world.instance.drift = -0.36;
    assert_eq!(run(&s).unwrap_err().to_string(), "drift=-0.36 allowed what leaves every rate in 0..=1");
}

#[test]
fn bandits_lose_less_and_overstate_more() {
    let plan = "features=10 patients=20000 epsilon=1";
    let [uniform, ucb1, thompson, etc] =
        ["uniform", "ucb1", "thompson", "etc"].map(|rule| run(&comparison(rule, plan, 40)).unwrap());
    assert!(thompson.regret.mean < ucb1.regret.mean && ucb1.regret.mean < uniform.regret.mean);
    assert!((ucb1.bias.unwrap() - 0.012).abs() < 0.006, "{ucb1:?}");
    assert!((thompson.bias.unwrap() - 0.055).abs() < 0.02, "{thompson:?}");
    assert!((etc.regret.mean - 300.0).abs() < 5.0, "{etc:?}");
    assert!((etc.product.unwrap().mean - 0.074).abs() < 0.012, "{etc:?}");
}

#[test]
fn arrivals_have_their_shares() {
    let shares = |arrivals: Arrivals| {
        let mut s = comparison("uniform", "features=4 patients=70000 epsilon=1", 2);
        s.world.arrivals = arrivals;
        sums(&s, 0..2, &|| ()).unwrap().features.iter().map(|f| f.patients as f64).collect::<Vec<_>>()
    };
    let named = |name: &str| Arrivals::parse(name).unwrap().unwrap();
    // Weekdays (5 of 7) have weights 3 and 1, weekends 1 and 3; the wave averages out.
    let (even, odd) = ((5.0 * 3.0 + 2.0) / 7.0 / 8.0, (5.0 + 2.0 * 3.0) / 7.0 / 8.0);
    for (arrivals, expected) in [
        (named("uniform"), [0.25; 4]),
        (named("zipf"), [12.0 / 25.0, 6.0 / 25.0, 4.0 / 25.0, 3.0 / 25.0]),
        (named("zipf:0"), [0.25; 4]),
        (named("seasonal"), [even, odd, even, odd]),
        (Arrivals::trace("0 1 1\n3,3 3 3").unwrap(), [1.0 / 7.0, 2.0 / 7.0, 0.0, 4.0 / 7.0]),
    ] {
        for (seen, share) in shares(arrivals.clone()).iter().zip(expected) {
            let patients = 140_000.0 * share;
            assert!((seen - patients).abs() <= 5.0 * patients.sqrt(), "{arrivals} {seen} {patients}");
        }
    }
}

#[test]
fn what_cannot_be_simulated_is_named_with_what_can() {
    let good = scenario("features=2 patients=100 epsilon=1", 2);
    let message = |s: Scenario| run(&s).unwrap_err().to_string();
    assert_eq!(message(Scenario { runs: 0, ..good.clone() }), "runs=0 allowed 1..=1000000");
    let mut bad = good.clone();
    bad.world.instance.p1[1] = 1.5;
    assert_eq!(message(bad), "p1=1.5 allowed 0..=1");
    let mut bad = good.clone();
    bad.world.instance.p0.pop();
    assert_eq!(message(bad), "p0=1 rates allowed one rate, or one a feature of the plan");
    let mut bad = good.clone();
    bad.world.arrivals = Arrivals::Trace(vec![0, 2]);
    assert_eq!(message(bad), "arrivals feature=2 allowed 0..features");
    let mut bad = good;
    bad.world.delay = Delay { from: 3, to: 2 };
    assert_eq!(message(bad), "delay=3..2 allowed D or A..B patients, 0..=16000, A at most B");
    assert!(Lost::parse("0.1,2").is_err() && Lost::parse("x").is_err() && Lost::parse("0.1").is_ok());
    assert!(Comparator::parse("etc:2").is_err() && Comparator::parse("best").unwrap().is_none());
    assert!(Instance::parse("p0,p1\n0.1,0.2\n0.3").is_err());
}
