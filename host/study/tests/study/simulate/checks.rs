//! Graded outcomes, the overall effect, peers, futility and rows of runs against closed forms.

use super::{above, comparison, scenario};
use equipoise::plan::Plan;
use equipoise::terms::Arm;
use equipoise_study::boundaries::Kind;
use equipoise_study::simulate::{
    Arrivals, Comparator, Delay, Instance, Lost, Policy, Scenario, run, sums,
};

/// The closed forms of a comparison of two means with known variances, of `fixed` with graded
/// outcomes: mean squared error, width, power and type I error, with the law's own deviation and
/// with assumed ones on either side of it.
#[test]
fn graded_outcomes_have_closed_forms() {
    for (scale, rates, sd, patients) in [
        (10, [0.45, 0.50], None, 1200),
        (10, [0.45, 0.50], Some(0.15), 1200),
        (10, [0.45, 0.50], Some(0.40), 4000),
        (100, [0.30, 0.36], Some(0.2), 1000),
        (4, [0.7, 0.8], Some(0.3), 900),
    ] {
        let plan = format!("features=1 patients={patients} epsilon=1 scale={scale}");
        let mut s = comparison("fixed", &plan, 6000);
        s.world.instance = Instance::same(1, rates[0], rates[1]);
        s.world.sd = sd;
        let variance: f64 = Arm::BOTH.iter().map(|arm| s.world.variance(0, *arm, scale)).sum();
        if let Some(sd) = sd {
            assert!((variance - 2.0 * sd * sd).abs() < 1e-12);
        }
        // Means of 1/N of a binomial N to second order.
        let n = f64::from(patients) / 2.0;
        let variance = variance * (1.0 + 0.5 / n) / n;
        let (z, deviation, effect) = (1.959_964, variance.sqrt(), rates[1] - rates[0]);
        let found = run(&s).unwrap();
        let mse = found.mse.unwrap();
        assert!((mse.mean - variance).abs() < 3.0 * mse.error, "{plan} {sd:?}: {mse:?} {variance}");
        let width = found.width.unwrap();
        assert!((width / (2.0 * z * deviation) - 1.0).abs() < 0.004, "{plan} {sd:?}: {width}");
        let power = above(z - effect / deviation) + above(z + effect / deviation);
        let share = found.excludes_0.unwrap();
        assert!((share.mean - power).abs() < 3.0 * share.error + 0.002, "{plan} {share:?} {power}");
        let coverage = found.coverage.unwrap();
        assert!((coverage.mean - 0.95).abs() < 3.0 * coverage.error + 0.002, "{plan} {coverage:?}");
        s.world.instance.p1 = vec![rates[0]];
        let null = run(&s).unwrap().excludes_0.unwrap();
        assert!((null.mean - 0.05).abs() < 3.0 * null.error + 0.002, "{plan} {null:?}");
    }
}

/// An assumed deviation keeps its value under a drift, and one that no law has is refused.
#[test]
fn assumed_deviation_survives_drift() {
    let mut s = comparison("fixed", "features=1 patients=2000 epsilon=1 scale=20", 4000);
    s.world.instance = Instance::same(1, 0.3, 0.4);
    s.world.instance.drift = 0.25;
    for sd in [0.1, 0.35] {
        s.world.sd = Some(sd);
        let found = run(&s).unwrap();
        // The drift itself varies the outcomes of an arm by 0.25^2/12.
        let variance = 2.0 * (sd * sd + 0.25f64.powi(2) / 12.0) / 1000.0;
        let mse = found.mse.unwrap();
        assert!((mse.mean - variance).abs() < 3.0 * mse.error, "{sd}: {mse:?} {variance}");
        assert!(found.bias.unwrap().abs() < 0.001, "{found:?}");
    }
    for (sd, scale) in [(0.02, 20), (0.5, 20), (0.2, 1)] {
        s.plan =
            Plan::parse(&format!("features=1 patients=2000 better=high epsilon=1 scale={scale}"))
                .unwrap();
        s.world.sd = Some(sd);
        let error = run(&s).unwrap_err().to_string();
        assert!(error.starts_with(&format!("sd={sd} allowed ")), "{error}");
    }
}

/// The overall effect is the mean over patients: features of unlike sizes and effects against the
/// closed form with weights by outcomes.
#[test]
fn overall_effect_is_weighted_by_outcomes() {
    for design in ["fixed", "uniform"] {
        let plan = "design=uniform features=3 patients=3000 epsilon=2";
        let mut s =
            if design == "fixed" { comparison("fixed", plan, 3000) } else { scenario(plan, 3000) };
        s.world.arrivals = Arrivals::parse("shares:6,3,1").unwrap().unwrap();
        s.world.instance = Instance { p0: vec![0.4; 3], p1: vec![0.45, 0.4, 0.2], drift: 0.0 };
        let found = run(&s).unwrap();
        let shares = [0.6, 0.3, 0.1];
        // v of a cell's noise, as in the closed form of `uniform`.
        let q = (-1.0f64).exp();
        let noise = if design == "fixed" { 0.0 } else { 2.0 * q / (1.0 - q).powi(2) };
        let mut variance = 0.0;
        for (share, p1) in shares.iter().zip([0.45, 0.4, 0.2]) {
            let n = 1500.0 * share;
            let arm = |p: f64| p * (1.0 - p) / n + noise * (p * p + (1.0 - p).powi(2)) / (n * n);
            variance += share * share * (arm(0.4) + arm(p1));
        }
        let effect: f64 = shares.iter().zip([0.05, 0.0, -0.2]).map(|(w, d)| w * d).sum();
        let (z, deviation) = (1.959_964, variance.sqrt());
        let power = above(z - effect / deviation) + above(z + effect / deviation);
        let share = found.overall_excludes_0.unwrap();
        assert!((share.mean - power).abs() < 3.0 * share.error + 0.004, "{share:?} {power}");
        let width = found.overall_width.unwrap();
        assert!((width / (2.0 * z * deviation) - 1.0).abs() < 0.01, "{width} {deviation}");
        let coverage = found.overall_coverage.unwrap();
        assert!((coverage.mean - 0.95).abs() < 3.0 * coverage.error + 0.005, "{coverage:?}");
    }
}

/// Clipped Thompson sampling with AIPW intervals: unbiased, intervals that hold, hardly disturbed
/// by a drift, and regret between that of fair coins and of Thompson sampling.
#[test]
fn clipped_thompson_holds_its_level() {
    let plan = "features=2 patients=2000 epsilon=1";
    let mut s = comparison("thompson-aipw", plan, 1500);
    let found = run(&s).unwrap();
    let coverage = found.coverage.unwrap();
    assert!((coverage.mean - 0.95).abs() < 4.0 * coverage.error + 0.005, "{found:?}");
    assert!(found.bias.unwrap().abs() < 0.003, "{found:?}");
    // At least a tenth on the worse arm, and hardly more.
    assert!(found.worse_share > 0.1 && found.worse_share < 0.15, "{found:?}");
    s.world.instance = Instance::same(2, 0.3, 0.3);
    s.world.instance.drift = 0.3;
    let null = run(&s).unwrap().excludes_0.unwrap();
    assert!((null.mean - 0.05).abs() < 4.0 * null.error + 0.005, "{null:?}");
    s.policy = Policy::Comparator(Comparator::Thompson);
    let popular = run(&s).unwrap().excludes_0.unwrap();
    assert!(popular.mean > 0.15, "{popular:?}");
    // Late and lost outcomes go by the probability at their assignment.
    let mut s = comparison("thompson-aipw", plan, 800);
    (s.world.delay, s.world.lost) = (Delay { from: 0, to: 200 }, Lost([0.1, 0.1]));
    let late = run(&s).unwrap();
    let coverage = late.coverage.unwrap();
    assert!((coverage.mean - 0.95).abs() < 4.0 * coverage.error + 0.005, "{late:?}");
}

/// Crossings of the futility boundary of `uniform` without an effect, by hand from the repeated
/// intervals of each run; a comparator has none.
#[test]
fn futility_crossings_are_counted() {
    let mut s = scenario("design=uniform features=2 patients=1200 epsilon=1 reports=2", 200);
    s.boundary = Some(Kind::OBrienFleming);
    s.world.instance = Instance::same(2, 0.4, 0.4);
    assert_eq!(run(&s).unwrap().futile, None);
    let at = |planned: f64| {
        let futile = run(&Scenario { planned: Some(planned), ..s.clone() }).unwrap().futile;
        futile.unwrap().mean
    };
    // The last interval is about 2.0 standard errors on either side: 0.049 without noise.
    let deviation = (2.0 * 0.24 / 300.0f64).sqrt() * 1.06;
    let expected = above(2.0 - 0.15 / deviation);
    assert!((at(0.15) - expected).abs() < 0.06, "{} {expected}", at(0.15));
    assert!((at(-0.15) - expected).abs() < 0.06, "{} {expected}", at(-0.15));
    assert!(at(0.3) > 0.99 && at(0.01) < 0.1, "{} {}", at(0.3), at(0.01));
    let fixed = Policy::Comparator(Comparator::Fixed);
    let fixed = run(&Scenario { planned: Some(0.3), policy: fixed, ..s }).unwrap();
    assert_eq!(fixed.futile, None);
}

/// The rows of runs add up to the figures, and the sums are those of a simulation without rows.
#[test]
fn rows_of_runs_add_up() {
    use equipoise_study::simulate::runs::{heading, sums_and_rows};
    let s = scenario("features=2 patients=1600 epsilon=2", 60);
    let mut file = heading(&s).into_bytes();
    let found = sums_and_rows(&s, 0..60, &|| (), &mut file).unwrap();
    assert_eq!(found, sums(&s, 0..60, &|| ()).unwrap());
    let text = String::from_utf8(file).unwrap();
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(rows.len(), 1 + 120);
    let column = |name: &str| {
        let at = rows[0].iter().position(|column| *column == name).unwrap();
        rows[1..].iter().map(|row| row[at].parse::<f64>().ok()).collect::<Vec<_>>()
    };
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let of = |name: &str| column(name).into_iter().flatten().collect::<Vec<_>>();
    let summary = found.summary();
    assert!((mean(&of("estimate")) - 0.3 - summary.bias.unwrap()).abs() < 1e-9);
    let widths: Vec<f64> = of("high").iter().zip(of("low")).map(|(high, low)| high - low).collect();
    assert!((mean(&widths) - summary.width.unwrap()).abs() < 1e-9);
    assert_eq!(of("patients0").iter().sum::<f64>() / 96_000.0, summary.worse_share);
    assert_eq!(of("patients0").iter().chain(&of("patients1")).sum::<f64>(), 96_000.0);
    // Features settle at looks up to half; those before half are the ones with a trailing arm.
    let (settled, trailing) = (column("settled_at"), column("dropped"));
    assert!(settled.iter().flatten().count() > 60, "{settled:?}");
    for (settled, trailing) in settled.iter().zip(&trailing) {
        assert_eq!(settled.is_some_and(|at| at < 800.0), trailing.is_some());
        assert!(settled.is_none_or(|at| at <= 800.0));
    }
    assert!(of("coins").iter().all(|coins| *coins >= 1.0));
    let early = trailing.iter().flatten().count() as f64 / 120.0;
    assert_eq!(early, summary.dropped);
}
