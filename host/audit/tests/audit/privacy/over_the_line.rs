//! Devices over their line: large trials walked with given arms, pairs of trials of any size, and
//! the black box.

use equipoise::chance::{Chance, Fraction};
use equipoise::device::generator::{Generator, Seeded};
use equipoise::noise::Laplace;
use equipoise::plan::DesignName;
use equipoise::terms::Arm;
use equipoise_audit::black_box;
use equipoise_audit::black_box::Experiment;
use equipoise_audit::desk::{Steady, lend};
use equipoise_audit::exact;
use equipoise_audit::exact::{Small, SmallDesk, close_reads, next_noise};
use equipoise_audit::families::{Family, families};
use equipoise_audit::finding::{TOLERANCE, Verdict};
use equipoise_audit::pairs;
use equipoise_audit::pairs::{Kind, Pair, Passed};

use super::leaks::PARITY;

/// A chance without noise, with the answer of the next coin.
struct Quiet(bool);

impl Chance for Quiet {
    fn coin(&mut self) -> bool {
        self.0
    }
    fn biased_coin(&mut self, _: Fraction) -> bool {
        self.0
    }
    fn discrete_laplace(&mut self, _: &Laplace) -> i64 {
        0
    }
    fn lap_plus(&mut self, center: u64, _: &Laplace) -> u64 {
        center
    }
}

fn family(about: &str) -> Family {
    families(DesignName::Interim).into_iter().find(|family| family.about == about).unwrap()
}

/// The trial of the first case of a large family after so many patients, without noise.
fn after(about: &str, patients: usize) -> Small {
    let family = family(about);
    let case = &family.cases[0];
    let mut desk = SmallDesk::new(&family.plan, Steady::new(), 16, None).unwrap();
    for (k, (who, arm)) in
        case.patients.iter().zip(case.arms.iter().cycle()).enumerate().take(patients)
    {
        lend(Quiet(*arm == Arm::One), || {
            desk.assign(k as u32 + 1, who.feature.into());
            for done in case.due(k + 1) {
                let outcome = case.patients[done].outcome.unwrap();
                desk.ask(&format!("OUTCOME {} {outcome}", done + 1));
                desk.ask("STATUS");
            }
        });
    }
    desk.trial().clone()
}

/// A feature: whether it is settled, the looks that changed its coin as a mask, the count of the
/// look in which it took part last, and whether now-window and before-window hold outcomes.
type Standing = (bool, u32, u32, [bool; 2]);

fn standing(about: &str, patients: usize) -> Vec<Standing> {
    let trial = after(about, patients);
    let stands = |j| {
        let (ledger, windows) = (trial.ledger(j).unwrap(), trial.windows(j).unwrap());
        let full = windows.map(|(cells, _)| cells != [[0; 3]; 2]);
        (ledger.settled, ledger.coins, trial.last_count(j).unwrap(), full)
    };
    (0..trial.plan().features()).map(stands).collect()
}

const NOW: [bool; 2] = [true, false];
const BEFORE: [bool; 2] = [false, true];
const BOTH: [bool; 2] = [true, true];
const NONE: [bool; 2] = [false, false];

/// The large families of the exact audit take part in looks, settle and skip as they say.
#[test]
fn large_families_settle_and_skip() {
    let looks = "looks at 41 and 100";
    assert_eq!(standing(looks, 90), [(false, 0b1, 41, NOW)]);
    assert_eq!(standing(looks, 120), [(true, 0b11, 100, NOW)]);
    assert_eq!(standing("graded, looks at 41 and 100", 120), [(true, 0b11, 100, NOW)]);
    assert_eq!(standing("settled at 41, skips 100", 120), [(true, 0b1, 41, NOW)]);
    let soft = after("soft coin from 41 on", 90).ledger(0).unwrap();
    assert!(!soft.settled && soft.coin > Fraction::HALF, "{soft:?}");
    let coins = "coins of 41, 82 and 125, two coins late";
    assert_eq!(standing(coins, 80), [(false, 0b1, 41, NOW)]);
    assert_eq!(standing(coins, 100), [(false, 0b11, 82, NOW)]);
    assert_eq!(standing(coins, 130), [(true, 0b111, 125, NOW)]);
    // Patients 21 and 40 are assigned by coin 0 and recorded by coin 2.
    assert!(family(coins).cases.iter().all(|case| case.open < 41 && case.open + 70 > 82));
    let moved = "moved between a settled and an unsettled feature";
    assert_eq!(standing(moved, 100), [(true, 0b1, 81, NOW), (false, 0b1, 81, NOW)]);
    assert_eq!(standing(moved, 200), [(true, 0b1, 81, NOW), (true, 0b11, 150, NOW)]);
    let left_out = "moved to a feature left out of a look";
    assert_eq!(standing(left_out, 200), [(true, 0b11, 150, NOW), (false, 0b1, 81, NOW)]);
    let left_out = "moved to a feature left out of a report";
    assert_eq!(standing(left_out, 240), [(true, 0b11, 225, NOW), (false, 0b1, 81, NOW)]);
}

/// Before-windows of the large families are read, kept and forgotten as they say.
#[test]
fn large_families_read_before_windows() {
    let forgotten = "late across 41, forgotten unread at 100";
    assert_eq!(standing(forgotten, 102), [(false, 0b1, 41, BOTH)]);
    assert_eq!(standing(forgotten, 103), [(true, 0b11, 100, NONE)]);
    let kept = "late across 41, settled, kept to the close";
    assert_eq!(standing(kept, 190), [(true, 0b1, 41, BOTH)]);
    let read = "late across 41 and 100, before-windows read";
    assert_eq!(standing(read, 127), [(false, 0b1, 41, BOTH)]);
    assert_eq!(standing(read, 128), [(true, 0b11, 100, NONE)]);
    assert_eq!(standing(read, 140), [(true, 0b11, 100, BEFORE)]);
    assert_eq!(close_reads(&after(read, 140)), [[true, false]]);
    assert_eq!(close_reads(&after(read, 190)), [[true, true]]);
    assert_eq!(close_reads(&after(kept, 190)), [[true, false]]);
    let reports = "two reports";
    assert_eq!(standing(reports, 180), [(true, 0b11, 120, BOTH)]);
    assert_eq!(standing(reports, 210), [(true, 0b11, 160, NOW)]);
    assert_eq!(standing(reports, 239), [(true, 0b11, 200, NOW)]);
    // Noise is drawn for a report that reads the before-window, and the close reads the other.
    let early = after("closed before a report, noise drawn for it", 158);
    assert_eq!(next_noise(&early).unwrap().1.len(), 4);
    assert_eq!(close_reads(&early), [[true, false]]);
}

/// An outcome that is forgotten unread costs nothing; one that is read costs epsilon.
#[test]
fn forgotten_outcomes_cost_nothing() {
    let loss = |about, case: usize| {
        let family = family(about);
        exact::laws(&family.cases[case], &family.records, &family.view).worst(20.0).epsilon
    };
    assert_eq!(loss("late across 41, forgotten unread at 100", 1), 0.0);
    let read = loss("late across 41 and 100, before-windows read", 1);
    assert!((read - 20.0).abs() < 1e-6, "{read}");
}

/// No pair loses more than epsilon, some lose all of it, and the pairs pass through everything that
/// can happen to an outcome. Requirement S1.
#[test]
fn pairs_lose_epsilon_and_no_more() {
    const PAIRS: u32 = 400;
    let survey = |kind: Kind, design, epsilon, claimed: f64, count| {
        let survey = pairs::survey(kind, (design, epsilon), count, None, None);
        assert!((survey.loss.epsilon - claimed).abs() <= TOLERANCE, "{design}: {survey:?}");
        survey
    };
    let interim = survey(Pair::random, DesignName::Interim, "1", 1.0, PAIRS);
    for (what, passed) in Passed::ALL.into_iter().zip(interim.passed) {
        assert!(passed >= 4, "{what:?} in {passed} of {PAIRS} pairs: {interim:?}");
    }
    survey(Pair::random, DesignName::Interim, "8", 8.0, PAIRS / 10);
    survey(Pair::random, DesignName::Uniform, "1", 1.0, PAIRS / 10);
}

/// The generator that ships, with its noise halved.
struct Halved(Generator);

impl Seeded for Halved {
    fn from_seed(seed: [u8; 32]) -> Self {
        Self(Generator::from_seed(seed))
    }
}

impl Chance for Halved {
    fn coin(&mut self) -> bool {
        self.0.coin()
    }
    fn biased_coin(&mut self, p: Fraction) -> bool {
        self.0.biased_coin(p)
    }
    fn discrete_laplace(&mut self, law: &Laplace) -> i64 {
        self.0.discrete_laplace(law) / 2
    }
    fn lap_plus(&mut self, center: u64, law: &Laplace) -> u64 {
        self.0.lap_plus(center, law)
    }
}

fn experiment(design: DesignName) -> Experiment {
    black_box::experiments().into_iter().find(|e| e.plan.design() == design).unwrap()
}

/// At epsilon 1 a part of it is found, and not more; with halved noise more than epsilon.
#[test]
fn black_box_sees_noise_that_is_too_small() {
    let finding = experiment(DesignName::Interim).finding(6000);
    assert_eq!(finding.verdict, Verdict::Holds, "{finding:?}");
    assert!(finding.epsilon > 0.3, "blind: {finding:?}");
    let halved = experiment(DesignName::Interim).finding_of::<Halved>(6000, None);
    assert_eq!(halved.verdict, Verdict::Exceeded, "{halved:?}");
    assert!(halved.epsilon > 1.2 && halved.delta > 0.01, "{halved:?}");
    let uniform = experiment(DesignName::Uniform).finding(2000);
    assert_eq!(uniform.verdict, Verdict::Holds, "{uniform:?}");
}

/// One bit of a raw cell in `STATUS` is noticed in a few runs; without it as few say nothing.
#[test]
fn black_box_sees_a_reply_that_leaks() {
    for design in [DesignName::Interim, DesignName::Uniform] {
        let leaking = experiment(design).finding_of::<Generator>(10, Some(&PARITY));
        assert_eq!(leaking.verdict, Verdict::Exceeded, "{leaking:?}");
        assert!(leaking.epsilon.is_infinite(), "{leaking:?}");
    }
    for design in [DesignName::Interim, DesignName::Uniform, DesignName::DpConse] {
        let sound = experiment(design).finding(10);
        assert_eq!(sound.verdict, Verdict::Holds, "{sound:?}");
    }
}

/// The published design exceeds its claim on its own device.
#[test]
fn black_box_refutes_the_published_design() {
    let finding = experiment(DesignName::DpConse).finding(1200);
    assert_eq!(finding.verdict, Verdict::Exceeded, "{finding:?}");
}
