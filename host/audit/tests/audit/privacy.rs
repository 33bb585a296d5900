//! Privacy, audited: the exact law of everything an adversary sees, on the code that ships; and
//! that the audit can fail.

mod leaks;
mod mutants;
mod over_the_line;
mod sampler;

use std::collections::HashMap;
use std::sync::LazyLock;

use equipoise::chance::{Chance, Sampler};
use equipoise::plan::{DesignName, Plan};
use equipoise_audit::enumerator::Enumerator;
use equipoise_audit::exact;
use equipoise_audit::exact::{Small, View};
use equipoise_audit::families::{Family, families};
use equipoise_audit::finding::{Finding, Method, Verdict, claim};
use equipoise_audit::loss::Laws;
use equipoise_audit::structured;
use equipoise_audit::structured::Seen;
use equipoise_audit::{Methods, findings_of};
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;

fn plan(text: &str) -> Plan {
    Plan::parse(&format!("{text} better=high results=open")).unwrap()
}

// ---- the designs, exactly ----

/// The family of `dp-conse`, which is one case, and its laws: two tests look at them, and they take
/// long.
static LENGTHS: LazyLock<(Family, Laws)> = LazyLock::new(|| {
    let family = families(DesignName::DpConse).remove(0);
    assert_eq!(family.cases.len(), 1);
    let laws = exact::laws(&family.cases[0], &family.records, &family.view);
    (family, laws)
});

/// No family of small trials loses more than epsilon, and a ledger that is seen loses exactly that.
/// Of a family of more than 20 trials every fourth is walked, in the long version (`cargo xtask
/// release-check --long`) each. Requirement S1.
#[test]
fn ledger_designs_lose_epsilon_and_no_more() {
    let mut families = [DesignName::Interim, DesignName::Uniform].map(families).concat();
    if std::env::var_os("EQUIPOISE_LONG").is_none() {
        for family in families.iter_mut().filter(|family| family.cases.len() > 20) {
            family.cases = family.cases.iter().step_by(4).cloned().collect();
        }
    }
    families.par_iter().for_each(|family| {
        let finding = family.finding();
        let epsilon = family.plan.epsilon().to_f64();
        assert_eq!(finding.verdict, Verdict::Holds, "{finding:?}");
        assert!(finding.delta < 2e-12, "the tails left out: {finding:?}");
        match family.view {
            View::Ledger => assert!(finding.epsilon > epsilon - 1e-6, "{finding:?}"),
            View::Arms => assert!((0.1..epsilon / 2.0).contains(&finding.epsilon), "{finding:?}"),
            View::Replies => assert!(finding.epsilon > 1.0, "{finding:?}"),
        }
    });
}

/// The published design exceeds its claim in a small trial that is walked as a whole.
/// Requirement S13.
#[test]
fn dp_conse_exceeds_claim_in_small_trial() {
    let (family, laws) = &*LENGTHS;
    let loss = laws.worst(family.plan.epsilon().to_f64());
    let claim = claim(&family.plan);
    let finding =
        Finding::new(family.plan.design(), Method::Exact, family.about.into(), claim, loss);
    assert_eq!(finding.verdict, Verdict::Exceeded);
    // Three features, three draws around one T_min: 3/2 epsilon.
    assert!((finding.epsilon - 1.5 * family.plan.epsilon().to_f64()).abs() < 1e-3, "{finding:?}");
    assert!(finding.delta > 0.99, "{finding:?}");
}

// ---- the enumerator ----

/// The laws of a family sum to 1, but for the tails left out.
#[test]
fn laws_sum_to_one_but_for_the_tails_left_out() {
    let check = |family: &Family, laws: &Laws| {
        for record in 0..family.records.len() {
            let total = laws.total(record);
            assert!((total - 1.0).abs() < 1e-9, "{}: {total}", family.plan.design());
        }
    };
    for design in [DesignName::Interim, DesignName::Uniform] {
        let family = families(design).remove(0);
        check(&family, &exact::laws(&family.cases[0], &family.records, &family.view));
    }
    check(&LENGTHS.0, &LENGTHS.1);
}

/// The whole of a small trial in one operation: arms and report.
fn play(plan: Plan, trial: &mut Small, from: u32, to: u32, chance: &mut impl Chance) -> Vec<i64> {
    let mut seen = Vec::new();
    for patient in from..=to {
        let feature = (patient % u32::from(plan.features())) as u8;
        seen.push(trial.assign(feature, None, chance).unwrap().index() as i64);
        trial.outcome(patient, u16::from(patient % 3 != 0), chance).unwrap();
    }
    if to == plan.patients() {
        trial.close(chance);
        for feature in 0..plan.features() {
            if let Some(estimate) = trial.estimate(feature) {
                let (effect, low, _, patients) = estimate.in_millionths();
                seen.extend([i64::from(effect), low.into(), patients.into()]);
            }
        }
    }
    seen
}

/// The law of all that [`play`] shows, patient by patient, equal states taken together.
fn enumerated(plan: Plan) -> HashMap<Vec<i64>, f64> {
    let mut states: HashMap<(Vec<i64>, Vec<u8>), (Small, f64)> = HashMap::new();
    states.insert((vec![], vec![]), (Small::new(plan).unwrap(), 1.0));
    for patient in 1..=plan.patients() {
        let mut next: HashMap<(Vec<i64>, Vec<u8>), (Small, f64)> = HashMap::new();
        for ((seen, _), (trial, weight)) in states {
            let ends = Enumerator::every(plan.patients(), &[], |chance| {
                let mut trial = trial.clone();
                let more = play(plan, &mut trial, patient, patient, chance);
                (trial, more)
            });
            for (p, (trial, more)) in ends {
                let mut bytes = vec![0; Small::STATE_BYTES];
                trial.encode(&mut bytes).unwrap();
                let seen = [&seen[..], &more].concat();
                next.entry((seen, bytes)).or_insert((trial, 0.0)).1 += weight * p;
            }
        }
        states = next;
    }
    let mut law = HashMap::new();
    for ((seen, _), (_, weight)) in states {
        *law.entry(seen).or_insert(0.0) += weight;
    }
    law
}

/// The enumerated law of a whole trial is that of a million sampled ones.
#[test]
fn enumerated_law_matches_samples() {
    const RUNS: u32 = 1_000_000;
    for (seed, text) in [
        (1, "design=dp-conse features=1 patients=6 epsilon=4 alpha=0"),
        (2, "design=uniform features=1 patients=2 epsilon=20"),
    ] {
        let plan = plan(text);
        let law = enumerated(plan);
        assert!((law.values().sum::<f64>() - 1.0).abs() < 1e-9);
        let mut chance = Sampler::<Xoshiro256PlusPlus>::seed_from_u64(seed);
        let mut counts: HashMap<Vec<i64>, u32> = HashMap::new();
        for _ in 0..RUNS {
            let mut trial = Small::new(plan).unwrap();
            *counts.entry(play(plan, &mut trial, 1, plan.patients(), &mut chance)).or_default() +=
                1;
        }
        // Sights expected fewer than 5 times share one cell; one that cannot happen fails at once.
        let (mut chi2, mut cells, mut rare) = (0.0, 0, (0.0, 0.0));
        assert!(
            counts.keys().all(|seen| law.contains_key(seen)),
            "{text}: a sight the enumerator does not know"
        );
        for (seen, p) in &law {
            let (expected, count) =
                (p * f64::from(RUNS), f64::from(counts.get(seen).copied().unwrap_or(0)));
            if expected < 5.0 {
                rare = (rare.0 + expected, rare.1 + count);
            } else {
                chi2 += (count - expected).powi(2) / expected;
                cells += 1;
            }
        }
        if rare.0 >= 5.0 {
            chi2 += (rare.1 - rare.0).powi(2) / rare.0;
            cells += 1;
        }
        // Mean d, deviation sqrt(2d); the seeds are fixed, 4 deviations is one chance in about
        // 10^4.
        let degrees = f64::from(cells - 1);
        assert!(cells > 20, "{text}: {cells} cells say little");
        assert!(
            (chi2 - degrees).abs() < 4.0 * (2.0 * degrees).sqrt(),
            "{text}: chi2 {chi2}, {degrees} degrees"
        );
    }
}

// ---- full size ----

#[track_caller]
fn near(found: f64, expected: f64, within: f64) {
    assert!((found - expected).abs() <= within, "found {found}, expected {expected}");
}

/// At small epsilon the end of a batch alone loses more than `dp-conse` claims.
#[test]
fn batch_end_reveals_a_patient() {
    for epsilon in [0.1, 0.4, 1.0] {
        let loss = structured::boundary(10_000, epsilon).epsilon;
        near(loss, (1.0 + (epsilon / 2.0).exp() / 2.0).ln(), 1e-6);
    }
    near(structured::boundary(10_000, 0.1).delta, 0.0138, 0.0001);
    near(structured::boundary(10_000, 0.4).delta, 0.0056, 0.0001);
    assert_eq!(structured::boundary(10_000, 1.0).delta, 0.0);
}

/// Ten lengths drawn around one T_min lose 5 epsilon, and still do through later arms alone.
#[test]
fn ten_trial_lengths_lose_five_epsilon() {
    for loss in structured::trial_lengths(10, 1.0, 30, Seen::Lengths, None) {
        near(loss.epsilon, 5.0, 1e-5);
        near(loss.delta, 0.3317, 0.0001);
    }
    let [falls, rises] = structured::trial_lengths(10, 1.0, 30, Seen::LaterArms, None);
    near(falls.epsilon, 5.0, 1e-5);
    near(falls.delta, 0.2176, 0.0002);
    near(rises.delta, 0.2022, 0.0002);
    // Where an arm must have been dropped for T_j to show, n = 10^4 has room for three features.
    let [three, _] = structured::trial_lengths(3, 1.0, 30, Seen::LaterArms, None);
    near(three.epsilon, 1.5, 1e-5);
    near(three.delta, 0.0351, 0.0002);
    // The smallest feature has 29 patients in the second half, so that 30 and 29 look the same in
    // it.
    let [falls, _] = structured::trial_lengths(10, 1.0, 30, Seen::LaterArms, Some(29));
    near(falls.epsilon, 4.714, 0.001);
    near(falls.delta, 0.1998, 0.0002);
}

/// A patient who is moved to another feature loses 2 epsilon through noisy means.
#[test]
fn moved_patient_loses_two_epsilon() {
    for epsilon in [0.5, 1.0, 2.0] {
        near(structured::moved_patient(epsilon, Seen::Means).epsilon, 2.0 * epsilon, 1e-9);
    }
    near(structured::moved_patient(1.0, Seen::Means).delta, 0.2449, 0.0001);
    near(structured::moved_patient(1.0, Seen::LaterArms).delta, 0.0479, 0.0001);
    near(structured::published_drops(1.0), 0.0450, 0.0001);
}

/// The whole ledger of `interim` loses exactly epsilon, at any size, scale and epsilon.
/// Requirement S1.
#[test]
fn ledger_loses_exactly_epsilon() {
    for (scale, y, other) in
        [(1, 1, 0), (1, 1, 1), (2, 1, 1), (7, 3, 5), (10, 10, 0), (101, 40, 70)]
    {
        for epsilon in [0.1, 1.0, 3.0] {
            let loss = structured::ledger(epsilon, scale, [y, other]);
            near(loss.epsilon, epsilon, 1e-9);
            assert_eq!(loss.delta, 0.0);
        }
    }
}

// ---- the command ----

/// The findings of a design hold rows of every method that was asked for, and no other.
#[test]
fn findings_hold_every_method_asked_for() {
    let found = |methods| {
        let findings = findings_of(methods, Some(DesignName::Uniform));
        assert!(findings.iter().all(|row| row.verdict == Verdict::Holds), "{findings:?}");
        let kinds = [Method::Noise, Method::Seeds, Method::Exact, Method::Pairs, Method::BlackBox];
        let count = |kind: Method| findings.iter().filter(|row| row.method == kind).count();
        let counts = kinds.map(count);
        assert_eq!(counts.iter().sum::<usize>(), findings.len(), "{findings:?}");
        counts
    };
    let exact = Methods { exact: Some(2), structured: false, black_box: None };
    assert_eq!(found(exact), [1, 1, 3, 5, 0]);
    let black_box = Methods { exact: None, structured: false, black_box: Some(100) };
    assert_eq!(found(black_box), [0, 0, 0, 0, 1]);
}
