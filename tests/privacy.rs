//! Privacy, audited: the exact law of everything an adversary sees, on the code that ships; and
//! that the audit can fail.

use std::collections::HashMap;
use std::process::Command;

use equipoise::chance::{Chance, Fraction, Sampler};
use equipoise::design::Arm;
use equipoise::host::audit::black_box;
use equipoise::host::audit::cases;
use equipoise::host::audit::enumerator::Enumerator;
use equipoise::host::audit::exact::{
    self, Act, Case, Patient, Record, Room, Sight, Small, View, perform,
};
use equipoise::host::audit::loss::Loss;
use equipoise::host::audit::sampler;
use equipoise::host::audit::structured::{self, Seen};
use equipoise::host::audit::suite::{self, Finding, TOLERANCE, Verdict};
use equipoise::noise::{Laplace, Rate};
use equipoise::plan::{Design, Plan};
use equipoise::trial::{MAX_PART_BYTES, Part, Phase};
use rand_xoshiro::Xoshiro256PlusPlus;

fn plan(text: &str) -> Plan {
    Plan::parse(text).unwrap()
}

// ---- the designs, exactly ----

/// No family of small trials loses more than epsilon, and a ledger that is seen loses exactly that.
#[test]
fn ledger_designs_lose_epsilon_and_no_more() {
    let families = [Design::Interim, Design::Uniform].map(suite::families);
    for family in families.iter().flatten() {
        let finding = family.finding();
        let epsilon = family.plan.epsilon().to_f64();
        assert_eq!(finding.verdict, Verdict::Holds, "{finding:?}");
        assert!(finding.delta < 2e-12, "the tails left out: {finding:?}");
        match family.view {
            View::Ledger => assert!(finding.epsilon > epsilon - 1e-6, "{finding:?}"),
            View::Arms => assert!((0.1..epsilon / 2.0).contains(&finding.epsilon), "{finding:?}"),
            View::Replies => assert!(finding.epsilon > 1.0, "{finding:?}"),
        }
    }
}

#[test]
fn the_published_design_exceeds_its_claim_in_a_whole_small_trial() {
    let family = &suite::families(Design::DpConse)[0];
    let finding = family.finding();
    assert_eq!(finding.verdict, Verdict::Exceeded);
    // Three features, three draws around one T_min: 3/2 epsilon.
    assert!((finding.epsilon - 1.5 * family.plan.epsilon().to_f64()).abs() < 1e-3, "{finding:?}");
    assert!(finding.delta > 0.99, "{finding:?}");
}

#[test]
fn the_design_without_noise_hides_nothing() {
    let finding = suite::families(Design::Conse)[0].finding();
    assert_eq!((finding.verdict, finding.epsilon), (Verdict::NoClaim, f64::INFINITY));
}

// ---- the enumerator ----

#[test]
fn laws_sum_to_one_but_for_the_tails_left_out() {
    for design in Design::ALL {
        let family = suite::families(design).into_iter().next().unwrap();
        let laws = exact::laws(&family.cases[0], &family.records, &family.view);
        for record in 0..family.records.len() {
            let total = laws.total(record);
            assert!((total - 1.0).abs() < 1e-9, "{design}: {total}");
        }
    }
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

#[test]
fn the_enumerated_law_of_a_whole_trial_is_that_of_a_million_sampled_ones() {
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

// ---- mechanisms broken on purpose ----

/// The one case on which the product and all mutants are judged.
fn judged(room: &impl Room) -> Loss {
    let plan = plan("features=1 patients=4 epsilon=20 alpha=0");
    let patients = [1, 0, 1, 1].map(|y| Patient { feature: 0, outcome: Some(y) }).to_vec();
    let case = |open| Case { plan, patients: patients.clone(), open, delay: 0, closes: true };
    let records = cases::drawn_records(&plan);
    [0, 2]
        .map(|open| exact::laws(&case(open), &records, room).worst(20.0))
        .into_iter()
        .fold(Loss::NONE, Loss::or)
}

fn exceeds(loss: Loss) -> bool {
    loss.epsilon > 20.0 + TOLERANCE && loss.delta > TOLERANCE
}

/// Chance whose noise passes through a fault.
struct Faulty<'a, 'b, F> {
    chance: &'a mut Enumerator<'b>,
    fault: F,
}

impl<F: FnMut(&mut Enumerator, &Laplace) -> i64> Chance for Faulty<'_, '_, F> {
    fn coin(&mut self) -> bool {
        self.chance.coin()
    }
    fn biased_coin(&mut self, p: Fraction) -> bool {
        self.chance.biased_coin(p)
    }
    fn discrete_laplace(&mut self, law: &Laplace) -> i64 {
        (self.fault)(self.chance, law)
    }
    fn lap_plus(&mut self, center: u64, law: &Laplace) -> u64 {
        self.chance.lap_plus(center, law)
    }
}

/// A room in which every operation meets a fresh copy of the same fault.
struct Broken<F>(F);

impl<F: Fn() -> G, G: FnMut(&mut Enumerator, &Laplace) -> i64> Room for Broken<F> {
    fn perform(
        &self,
        trial: &mut Small,
        act: Act,
        chance: &mut Enumerator,
        seen: &mut Sight,
    ) -> Option<Arm> {
        perform(View::Ledger, trial, act, &mut Faulty { chance, fault: (self.0)() }, seen)
    }
}

#[test]
fn the_unbroken_mechanism_passes_where_the_mutants_are_judged() {
    let loss = judged(&View::Ledger);
    assert!(!exceeds(loss) && loss.epsilon > 19.999, "{loss:?}");
    let same_noise =
        judged(&Broken(|| |chance: &mut Enumerator, law: &Laplace| chance.discrete_laplace(law)));
    // The room of the mutants is the product but for its fault.
    near(same_noise.epsilon, loss.epsilon, 1e-9);
    near(same_noise.delta, loss.delta, 1e-12);
}

#[test]
fn noise_at_ninety_percent_of_its_scale_is_caught() {
    let loss = judged(&Broken(|| {
        |chance: &mut Enumerator, law: &Laplace| {
            let faster = Rate::new(law.rate().num() * 10, law.rate().den() * 9).unwrap();
            chance.discrete_laplace(&Laplace::new(faster))
        }
    }));
    assert!(exceeds(loss) && (loss.epsilon - 20.0 / 0.9).abs() < 1e-6, "{loss:?}");
}

#[test]
fn one_cell_without_noise_is_caught() {
    for bare in 0..4 {
        let loss = judged(&Broken(|| {
            let mut cell = 0;
            move |chance: &mut Enumerator, law: &Laplace| {
                cell += 1;
                if cell == bare + 1 {
                    chance.pass();
                    return 0;
                }
                chance.discrete_laplace(law)
            }
        }));
        assert!(exceeds(loss), "cell {bare}: {loss:?}");
    }
}

#[test]
fn the_same_noise_used_twice_is_caught() {
    let loss = judged(&Broken(|| {
        let mut last = None;
        move |chance: &mut Enumerator, law: &Laplace| match last.take() {
            Some(noise) => {
                chance.pass();
                noise
            }
            None => *last.insert(chance.discrete_laplace(law)),
        }
    }));
    assert!(exceeds(loss), "{loss:?}");
}

#[test]
fn noise_clamped_at_zero_is_caught() {
    let loss = judged(&Broken(|| {
        |chance: &mut Enumerator, law: &Laplace| chance.discrete_laplace(law).max(0)
    }));
    assert!(exceeds(loss), "{loss:?}");
}

/// Raw cells of a feature's fair and biased window; what must never get out.
fn raw(trial: &Small, feature: u8) -> Vec<i64> {
    let windows = trial.windows(feature).unwrap().into_iter();
    windows.filter(|(_, masked)| !masked).flat_map(|(cells, _)| cells).flatten().collect()
}

/// The raw successes of feature 0 in its unread windows.
fn raw_successes(trial: &Small) -> i64 {
    raw(trial, 0).iter().step_by(3).sum()
}

#[test]
fn a_counter_leaked_into_the_status_is_caught() {
    struct Leaky;
    impl Room for Leaky {
        fn perform(
            &self,
            trial: &mut Small,
            act: Act,
            chance: &mut Enumerator,
            seen: &mut Sight,
        ) -> Option<Arm> {
            let arm = perform(View::Arms, trial, act, chance, seen);
            seen.push(raw_successes(trial));
            arm
        }
    }
    let loss = judged(&Leaky);
    assert!(exceeds(loss) && loss.epsilon.is_infinite(), "{loss:?}");
}

#[test]
fn a_look_at_a_time_that_depends_on_outcomes_is_caught() {
    struct Eager;
    impl Room for Eager {
        fn perform(
            &self,
            trial: &mut Small,
            act: Act,
            chance: &mut Enumerator,
            seen: &mut Sight,
        ) -> Option<Arm> {
            let arm = perform(View::Arms, trial, act, chance, seen);
            if matches!(act, Act::Resolve(..))
                && trial.phase() == Phase::Measure
                && raw_successes(trial) >= 1
            {
                trial.close(chance);
            }
            seen.push(trial.phase() as i64);
            arm
        }
    }
    let loss = judged(&Eager);
    assert!(exceeds(loss), "{loss:?}");
}

#[test]
fn an_outcome_that_counts_twice_is_caught() {
    struct Twice;
    impl Room for Twice {
        fn perform(
            &self,
            trial: &mut Small,
            act: Act,
            chance: &mut Enumerator,
            seen: &mut Sight,
        ) -> Option<Arm> {
            let arm = perform(View::Ledger, trial, act, chance, seen);
            // The windows as they would be if a repeat were folded in again.
            if let Act::Resolve(..) = act {
                let mut bytes = [0; MAX_PART_BYTES];
                let length = trial.encode_part(Part::Tally(0), &mut bytes);
                let (cells, _) = bytes[..length].as_chunks_mut::<4>();
                for cell in cells {
                    *cell = (i32::from_le_bytes(*cell) * 2).to_le_bytes();
                }
                trial.decode_part(Part::Tally(0), &bytes[..length]).unwrap();
            }
            arm
        }
    }
    let loss = judged(&Twice);
    assert!(exceeds(loss), "{loss:?}");
}

/// A room in which a fault adds to what is seen of a look.
struct Telling<F>(F);

impl<F: Fn(&Small) -> i64> Room for Telling<F> {
    fn perform(
        &self,
        trial: &mut Small,
        act: Act,
        chance: &mut Enumerator,
        seen: &mut Sight,
    ) -> Option<Arm> {
        let told = matches!(act, Act::Look | Act::Close).then(|| (self.0)(trial));
        let arm = perform(View::Ledger, trial, act, chance, seen);
        seen.extend(told);
        arm
    }
}

/// Settling on raw cells: the arm that leads in them shows in later arms.
#[test]
fn settling_on_raw_cells_is_caught() {
    let loss = judged(&Telling(|trial: &Small| {
        let cells = raw(trial, 0);
        (cells.iter().take(3).sum::<i64>() - cells.iter().skip(3).take(3).sum::<i64>()).signum()
    }));
    assert!(exceeds(loss), "{loss:?}");
}

/// A settled feature that takes part in a look because its raw biased window holds a patient.
#[test]
fn taking_part_by_raw_cells_is_caught() {
    let loss = judged(&Telling(|trial: &Small| {
        let [_, (biased, _)] = trial.windows(0).unwrap();
        (biased != [[0; 3]; 2]).into()
    }));
    assert!(exceeds(loss), "{loss:?}");
}

/// The parity of a raw cell in a status, without any of the cell's size.
#[test]
fn parity_of_a_raw_cell_is_caught() {
    let loss = judged(&Telling(|trial: &Small| raw_successes(trial) & 1));
    assert!(exceeds(loss), "{loss:?}");
}

/// A room in which a feature without patients gets no noise at its look.
struct Stingy;

impl Room for Stingy {
    fn perform(
        &self,
        trial: &mut Small,
        act: Act,
        chance: &mut Enumerator,
        seen: &mut Sight,
    ) -> Option<Arm> {
        let empty =
            exact::next_noise(trial).is_some_and(|(_, cells)| cells.iter().all(|cell| *cell == 0));
        if empty && matches!(act, Act::Look | Act::Close) {
            let fault = |chance: &mut Enumerator, _: &Laplace| {
                chance.pass();
                0
            };
            return perform(View::Ledger, trial, act, &mut Faulty { chance, fault }, seen);
        }
        perform(View::Ledger, trial, act, chance, seen)
    }
}

#[test]
fn empty_feature_without_noise_is_caught() {
    let plan = plan("features=2 patients=4 epsilon=20 alpha=0");
    let patients = [0, 0, 0, 0].map(|feature| Patient { feature, outcome: Some(1) }).to_vec();
    let case = Case { plan, patients, open: 0, delay: 0, closes: true };
    let record =
        |feature| Record { patient: Patient { feature, outcome: Some(1) }, arm: Some(Arm::Zero) };
    let records = [0, 1].map(record);
    let sound = exact::laws(&case, &records, &View::Ledger).worst(20.0);
    assert!(!exceeds(sound), "{sound:?}");
    let stingy = exact::laws(&case, &records, &Stingy).worst(20.0);
    assert!(exceeds(stingy), "{stingy:?}");
}

/// Graded outcomes with the cell F left without noise.
#[test]
fn spread_without_noise_is_caught() {
    let plan = plan("features=1 patients=4 epsilon=20 alpha=0 scale=2");
    let patients = [2, 0, 1, 2].map(|y| Patient { feature: 0, outcome: Some(y) }).to_vec();
    let case = Case { plan, patients, open: 0, delay: 0, closes: true };
    let given = |outcome| Record { patient: Patient { feature: 0, outcome }, arm: Some(Arm::Zero) };
    let records = [None, Some(0), Some(1), Some(2)].map(given);
    let bare = Broken(|| {
        let mut cell = 0;
        move |chance: &mut Enumerator, law: &Laplace| {
            cell += 1;
            if cell % 3 == 2 {
                chance.pass();
                return 0;
            }
            chance.discrete_laplace(law)
        }
    });
    let loss = exact::laws(&case, &records, &bare).worst(20.0);
    assert!(exceeds(loss), "{loss:?}");
}

// ---- the sampler ----

/// The device's generator, with every draw passed through a fault.
struct Generators<F>(equipoise::device::generator::Generator, F);

impl<F: FnMut(i64) -> i64> Chance for Generators<F> {
    fn coin(&mut self) -> bool {
        self.0.coin()
    }
    fn biased_coin(&mut self, p: Fraction) -> bool {
        self.0.biased_coin(p)
    }
    fn discrete_laplace(&mut self, law: &Laplace) -> i64 {
        let draw = self.0.discrete_laplace(law);
        (self.1)(draw)
    }
    fn lap_plus(&mut self, center: u64, law: &Laplace) -> u64 {
        self.0.lap_plus(center, law)
    }
}

/// The sampler keeps its law; halved, even, one-sided and sticky noise do not.
#[test]
fn faults_of_the_sampler_are_caught() {
    use equipoise::device::generator::{Generator, Seeded};
    type Fault = (&'static str, fn(i64) -> i64);
    let faults: [Fault; 5] = [
        ("none", |k| k),
        ("halved", |k| k / 2),
        ("even", |k| k & !1),
        ("not negative", i64::abs),
        ("never 0", |k| if k == 0 { 1 } else { k }),
    ];
    for epsilon in ["1/10", "1", "6"] {
        let plan = plan(&format!("features=1 patients=100 epsilon={epsilon}"));
        for (name, fault) in faults {
            let mut chance = Generators(Generator::from_seed([3; 32]), fault);
            let loss = sampler::loss(&plan, &mut chance);
            let claimed = plan.epsilon().to_f64();
            if name == "none" {
                near(loss.epsilon, claimed, 1e-6 * claimed);
                assert!(loss.epsilon <= claimed + TOLERANCE, "{epsilon}: {loss:?}");
            } else {
                assert_eq!(loss.epsilon, f64::INFINITY, "{epsilon} {name}");
            }
        }
    }
}

// ---- full size ----

#[track_caller]
fn near(found: f64, expected: f64, within: f64) {
    assert!((found - expected).abs() <= within, "found {found}, expected {expected}");
}

#[test]
fn the_end_of_a_batch_gives_a_patient_away_at_small_epsilon() {
    for epsilon in [0.1, 0.4, 1.0] {
        let loss = structured::boundary(10_000, epsilon).epsilon;
        near(loss, (1.0 + (epsilon / 2.0).exp() / 2.0).ln(), 1e-6);
    }
    near(structured::boundary(10_000, 0.1).delta, 0.0138, 0.0001);
    near(structured::boundary(10_000, 0.4).delta, 0.0056, 0.0001);
    assert_eq!(structured::boundary(10_000, 1.0).delta, 0.0);
}

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

#[test]
fn a_patient_moved_to_another_feature_loses_two_epsilon_through_noisy_means() {
    for epsilon in [0.5, 1.0, 2.0] {
        near(structured::moved_patient(epsilon, Seen::Means).epsilon, 2.0 * epsilon, 1e-9);
    }
    near(structured::moved_patient(1.0, Seen::Means).delta, 0.2449, 0.0001);
    near(structured::moved_patient(1.0, Seen::LaterArms).delta, 0.0479, 0.0001);
    near(structured::published_drops(1.0), 0.0450, 0.0001);
}

#[test]
fn the_whole_ledger_of_interim_loses_exactly_epsilon_at_any_size() {
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

// ---- the device over its line, and the command ----

#[test]
fn over_the_line_interim_keeps_its_claim_and_the_published_design_does_not() {
    let findings: Vec<Finding> = black_box::experiments().iter().map(|e| e.finding(1200)).collect();
    let found = |design: Design| findings.iter().find(|f| f.design == design.name()).unwrap();
    assert_eq!(found(Design::Interim).verdict, Verdict::Holds, "{findings:#?}");
    assert!(found(Design::Interim).epsilon > 0.3, "blind: {findings:#?}");
    assert_eq!(found(Design::DpConse).verdict, Verdict::Exceeded, "{findings:#?}");
}

#[test]
fn the_command_fails_where_a_claim_that_was_asked_for_is_exceeded() {
    let audit = |args: &[&str]| {
        let output =
            Command::new(env!("CARGO_BIN_EXE_equipoise")).arg("audit").args(args).output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    let (code, text) = audit(&["--structured"]);
    assert_eq!(code, Some(0), "{text}");
    assert!(
        text.contains("EXCEEDED") && text.contains("holds") && text.contains('\u{2588}'),
        "{text}"
    );
    assert_eq!(audit(&["--structured", "--design", "dp-conse"]).0, Some(1));
    let (code, json) = audit(&["--structured", "--design", "interim", "--json"]);
    assert_eq!(code, Some(0));
    let lines: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert!(lines.as_array().unwrap().iter().all(|f| f["verdict"] == "holds"), "{json}");
    assert_eq!(audit(&["--design", "exp3"]).0, Some(2));
}
