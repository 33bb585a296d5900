//! Mechanisms broken on purpose, and whether the audit notices.
//!
//! The exact audit judges each fault on one small trial over the device's line, in a [`Room`] that
//! is the product but for the fault.

use equipoise::chance::{Chance, Fraction};
use equipoise::noise::{Laplace, Rate};
use equipoise::plan::DesignName;
use equipoise::terms::Arm;
use equipoise::terms::Phase;
use equipoise::trial::Trial;
use equipoise::trial::stored::{MAX_PART_BYTES, Part, Stored};
use equipoise_audit::cases;
use equipoise_audit::desk::lend;
use equipoise_audit::enumerator::Enumerator;
use equipoise_audit::exact;
use equipoise_audit::exact::{Act, Case, Patient, Record, Room, Small, Stage, View, perform};
use equipoise_audit::finding::TOLERANCE;
use equipoise_audit::loss::Loss;
use equipoise_audit::pairs;
use equipoise_audit::pairs::{Pair, PairFault};

use super::near;
use super::plan;

/// The one case on which the product and all mutants are judged.
fn judged(room: &impl Room) -> Loss {
    let plan = plan("features=1 patients=4 epsilon=20 alpha=0");
    let patients = [1, 0, 1, 1].map(|y| Patient { feature: 0, outcome: Some(y) }).to_vec();
    let case = |open| Case::new(plan, patients.clone(), open);
    let records = cases::drawn_records(&plan);
    [0, 2]
        .map(|open| exact::laws(&case(open), &records, room).worst(20.0))
        .into_iter()
        .fold(Loss::NONE, Loss::or)
}

pub fn exceeds(loss: Loss) -> bool {
    loss.epsilon > 20.0 + TOLERANCE && loss.delta > TOLERANCE
}

// ---- faults of noise ----

/// Chance whose noise passes through a fault.
struct Faulty<F> {
    chance: Enumerator,
    fault: F,
}

impl<F: FnMut(&mut Enumerator, &Laplace) -> i64> Chance for Faulty<F> {
    fn coin(&mut self) -> bool {
        self.chance.coin()
    }
    fn biased_coin(&mut self, p: Fraction) -> bool {
        self.chance.biased_coin(p)
    }
    fn discrete_laplace(&mut self, law: &Laplace) -> i64 {
        (self.fault)(&mut self.chance, law)
    }
    fn lap_plus(&mut self, center: u64, law: &Laplace) -> u64 {
        self.chance.lap_plus(center, law)
    }
}

/// [`perform`] with a fault in the noise.
fn perform_with<F: FnMut(&mut Enumerator, &Laplace) -> i64 + 'static>(
    fault: F,
    on: &mut Stage<'_>,
    act: Act,
) -> Option<Arm> {
    let faulty = Faulty { chance: std::mem::take(on.chance), fault };
    let (back, arm) = perform(View::Ledger, on.desk, act, faulty, on.seen);
    *on.chance = back.chance;
    arm
}

/// A room in which every operation meets a fresh copy of the same fault.
struct Broken<F>(F);

impl<F: Fn() -> G, G: FnMut(&mut Enumerator, &Laplace) -> i64 + 'static> Room for Broken<F> {
    fn perform(&self, on: &mut Stage<'_>, act: Act) -> Option<Arm> {
        perform_with((self.0)(), on, act)
    }
}

/// The product passes where the mutants are judged, and so does their room without a fault.
#[test]
fn the_unbroken_mechanism_passes() {
    let loss = judged(&View::Ledger);
    assert!(!exceeds(loss) && loss.epsilon > 19.999, "{loss:?}");
    let same_noise =
        judged(&Broken(|| |chance: &mut Enumerator, law: &Laplace| chance.discrete_laplace(law)));
    near(same_noise.epsilon, loss.epsilon, 1e-9);
    near(same_noise.delta, loss.delta, 1e-12);
}

/// Requirement S2.
#[test]
fn noise_at_ninety_percent_is_caught() {
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

/// A room in which a feature without patients gets no noise at its look.
struct Stingy;

impl Room for Stingy {
    fn perform(&self, on: &mut Stage<'_>, act: Act) -> Option<Arm> {
        let next = exact::next_noise(on.desk.trial());
        let empty = next.is_some_and(|(_, cells)| cells.iter().all(|cell| *cell == 0));
        if empty && matches!(act, Act::Look | Act::Close) {
            let fault = |chance: &mut Enumerator, _: &Laplace| {
                chance.pass();
                0
            };
            return perform_with(fault, on, act);
        }
        View::Ledger.perform(on, act)
    }
}

#[test]
fn empty_feature_without_noise_is_caught() {
    let plan = plan("features=2 patients=4 epsilon=20 alpha=0");
    let patients = [0, 0, 0, 0].map(|feature| Patient { feature, outcome: Some(1) }).to_vec();
    let case = Case::new(plan, patients, 0);
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
    let case = Case::new(plan, patients, 0);
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

// ---- faults of the mechanism ----

/// Raw cells of a feature's now-window and before-window; what must never get out.
fn raw<const M: usize, const U: usize>(trial: &Trial<M, U>, feature: u8) -> Vec<i64> {
    let windows = trial.windows(feature).unwrap().into_iter();
    windows.filter(|(_, masked)| !masked).flat_map(|(cells, _)| cells).flatten().collect()
}

/// The raw successes of feature 0 in its unread windows.
fn raw_successes<const M: usize, const U: usize>(trial: &Trial<M, U>) -> i64 {
    raw(trial, 0).iter().step_by(3).sum()
}

#[test]
fn a_look_that_depends_on_outcomes_is_caught() {
    struct Eager;
    impl Room for Eager {
        fn perform(&self, on: &mut Stage<'_>, act: Act) -> Option<Arm> {
            let arm = View::Arms.perform(on, act);
            if matches!(act, Act::Resolve(..))
                && on.desk.trial().phase() == Phase::Measure
                && raw_successes(on.desk.trial()) >= 2
            {
                let (back, reply) = lend(std::mem::take(on.chance), || on.desk.order("CLOSE"));
                *on.chance = back;
                *on.seen += &reply;
            }
            arm
        }
    }
    let loss = judged(&Eager);
    assert!(exceeds(loss), "{loss:?}");
}

/// Requirement S2.
#[test]
fn an_outcome_that_counts_twice_is_caught() {
    struct Twice;
    impl Room for Twice {
        fn perform(&self, on: &mut Stage<'_>, act: Act) -> Option<Arm> {
            let arm = View::Ledger.perform(on, act);
            // The windows as they would be if a repeat were folded in again.
            if let Act::Resolve(..) = act {
                let trial = on.desk.trial_mut();
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
    fn perform(&self, on: &mut Stage<'_>, act: Act) -> Option<Arm> {
        let told = matches!(act, Act::Look | Act::Close).then(|| (self.0)(on.desk.trial()));
        let arm = View::Ledger.perform(on, act);
        *on.seen += &told.map_or_else(String::new, |told| told.to_string());
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

/// A feature that takes part in a look because its raw now-window holds a success.
#[test]
fn taking_part_by_raw_cells_is_caught() {
    let loss = judged(&Telling(|trial: &Small| {
        let [(now, _), _] = trial.windows(0).unwrap();
        now.iter().all(|arm| arm[0] > 0).into()
    }));
    assert!(exceeds(loss), "{loss:?}");
}

/// Noise that is not used as it was drawn, in trials of any size.
#[test]
fn noise_misused_in_pairs_is_caught() {
    let faults: [(&str, PairFault); 3] = [
        ("clamped", |_, k| k.max(0)),
        ("second draw of three left out", |draw, k| if draw % 3 == 1 { 0 } else { k }),
        ("cut off", |_, k| k.clamp(-3, 3)),
    ];
    for (name, fault) in faults {
        let survey = pairs::survey(Pair::random, (DesignName::Interim, "1"), 12, None, Some(fault));
        assert!(survey.loss.epsilon.is_infinite(), "{name}: {survey:?}");
    }
}
