//! Power of a plan with a boundary, over all its reports.

use super::*;

/// The share of Brownian motions with this drift that leave the boundary at any fraction.
fn crossing(drift: f64, fractions: &[f64], critical: &[f64]) -> f64 {
    let mut words = Xoshiro256PlusPlus::seed_from_u64(3);
    let mut uniform = move || (words.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
    let mut normal = move || {
        let (u, v) = (1.0 - uniform(), uniform());
        (-2.0 * u.ln()).sqrt() * (2.0 * std::f64::consts::PI * v).cos()
    };
    let walks = 40_000;
    let mut crossed = 0;
    for _ in 0..walks {
        let (mut score, mut before, mut out) = (0.0, 0.0, false);
        for (t, c) in fractions.iter().zip(critical) {
            score += drift * (t - before) + normal() * f64::sqrt(t - before);
            before = *t;
            out |= score.abs() > c * t.sqrt();
        }
        crossed += u32::from(out);
    }
    f64::from(crossed) / f64::from(walks)
}

/// With a boundary, power is the chance to exclude 0 at any report or the close, as a Brownian
/// motion has it; without an effect it is 5 %, and all intervals together hold the effect in 95 %.
#[test]
fn power_counts_all_reports_of_a_boundary() {
    for (kind, reports) in [(Kind::OBrienFleming, 3), (Kind::Pocock, 3), (Kind::Pocock, 8)] {
        let text = format!(
            "design=uniform features=2 patients=3000 better=high epsilon=3 reports={reports}"
        );
        let plan = Plan::parse(&text).unwrap();
        let simulate = |effect: f64, boundary: Option<Kind>| {
            let instance = Instance::same(2, 0.4, 0.4 + effect);
            run(&Scenario { boundary, ..Scenario::new(plan, instance, 6000, 9) }).unwrap()
        };
        let (plain, bounded) = (simulate(0.08, None), simulate(0.08, Some(kind)));
        let fractions: Vec<f64> =
            (0..=reports).map(|i| 0.5 + 0.5 * (i + 1) as f64 / (reports + 1) as f64).collect();
        let critical = kind.critical(0.05, &fractions);
        let drift = 0.08 / (plain.width.unwrap() / (2.0 * Z));
        let wider = bounded.width.unwrap() / plain.width.unwrap();
        assert!((wider - critical[reports] / Z).abs() < 0.002, "{wider} {critical:?}");
        let expected = crossing(drift, &fractions, &critical);
        let found = bounded.excludes_0.unwrap();
        println!("{kind:?} {reports}: {found:?} for {expected}, plain {:?}", plain.excludes_0);
        assert!((found.mean - expected).abs() < 0.01 + 3.0 * found.error, "{found:?} {expected}");
        let null = simulate(0.0, Some(kind)).excludes_0.unwrap();
        assert!((null.mean - 0.05).abs() < 0.003 + 3.0 * null.error, "{null:?}");
        let held = bounded.coverage.unwrap();
        assert!((held.mean - 0.95).abs() < 0.005 + 3.0 * held.error, "{held:?}");
        // The overall effect has the same boundary.
        let whole = simulate(0.0, Some(kind)).overall_excludes_0.unwrap();
        assert!((whole.mean - 0.05).abs() < 0.003 + 3.0 * whole.error, "{whole:?}");
    }
}
