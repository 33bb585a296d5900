//! Devices over their line: large trials walked with given arms, pairs of trials of any size, and
//! the black box.

use equipoise::chance::{Chance, Fraction};
use equipoise::device::generator::{Generator, Seeded};
use equipoise::noise::Laplace;
use equipoise::plan::Design;
use equipoise::terms::Arm;
use equipoise_audit::black_box;
use equipoise_audit::black_box::Experiment;
use equipoise_audit::desk::{Desk, Steady, lend};
use equipoise_audit::families::families;
use equipoise_audit::finding::{TOLERANCE, Verdict};
use equipoise_audit::pairs;
use equipoise_audit::pairs::Passed;

use super::leaks::parity;

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

/// Leading arm and last look of every feature after so many patients of a large family.
fn standing(about: &str, patients: u32) -> Vec<(bool, u32)> {
    let families = families(Design::Interim);
    let family = families.iter().find(|family| family.about == about).unwrap();
    let case = &family.cases[0];
    let mut desk = Desk::<3, 4>::new(&family.plan, Steady::new(), 16, None).unwrap();
    for (patient, (who, arm)) in
        (1..=patients).zip(case.patients.iter().zip(case.arms.iter().cycle()))
    {
        let heads = match desk.trial().leading(who.feature) {
            None => *arm == Arm::One,
            Some(leading) => *arm != leading,
        };
        lend(Quiet(heads), || {
            desk.ask(&format!("ASSIGN {patient} {} {patient:08x}", who.feature));
            desk.ask(&format!("OUTCOME {patient} {}", who.outcome.unwrap()));
            desk.ask("STATUS")
        });
    }
    let features = 0..family.plan.features();
    let ledger = |feature| desk.trial().ledger(feature).unwrap();
    features.map(|j| (ledger(j).leading.is_some(), ledger(j).last)).collect()
}

/// The large families of the exact audit are what they say.
#[test]
fn large_families_settle_and_skip() {
    assert_eq!(standing("looks at 80 and 128", 100), [(false, 80)]);
    assert_eq!(standing("looks at 80 and 128", 128), [(true, 128)]);
    assert_eq!(standing("settled at 80, skips 128", 200), [(true, 80)]);
    assert_eq!(standing("settled at 80, two reports", 180), [(true, 170)]);
    let moved = "moved between a settled and an unsettled feature";
    assert_eq!(standing(moved, 200), [(true, 160), (false, 160)]);
    assert_eq!(standing(moved, 300), [(true, 160), (true, 256)]);
    let left_out = "moved to a feature left out of a look";
    assert_eq!(standing(left_out, 300), [(false, 256), (false, 160)]);
    let left_out = "moved to a feature left out of a report";
    assert_eq!(standing(left_out, 350), [(true, 300), (true, 200)]);
}

/// No pair loses more than epsilon, some lose all of it, and the pairs pass through everything that
/// can happen to an outcome.
#[test]
fn pairs_lose_epsilon_and_no_more() {
    const PAIRS: u32 = 400;
    let survey = |design, epsilon, claimed: f64, count| {
        let survey = pairs::survey(design, epsilon, count, None, None);
        assert!((survey.loss.epsilon - claimed).abs() <= TOLERANCE, "{design}: {survey:?}");
        survey
    };
    let interim = survey(Design::Interim, "1", 1.0, PAIRS);
    for (what, passed) in Passed::ALL.into_iter().zip(interim.passed) {
        assert!(passed >= 4, "{what:?} in {passed} of {PAIRS} pairs: {interim:?}");
    }
    survey(Design::Interim, "8", 8.0, PAIRS / 10);
    survey(Design::Uniform, "1", 1.0, PAIRS / 10);
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

fn experiment(design: Design) -> Experiment {
    black_box::experiments().into_iter().find(|e| e.plan.design() == design).unwrap()
}

/// At epsilon 1 a part of it is found, and not more; with halved noise more than epsilon.
#[test]
fn black_box_sees_noise_that_is_too_small() {
    let finding = experiment(Design::Interim).finding(6000);
    assert_eq!(finding.verdict, Verdict::Holds, "{finding:?}");
    assert!(finding.epsilon > 0.3, "blind: {finding:?}");
    let halved = experiment(Design::Interim).finding_of::<Halved>(6000, None);
    assert_eq!(halved.verdict, Verdict::Exceeded, "{halved:?}");
    assert!(halved.epsilon > 1.2 && halved.delta > 0.01, "{halved:?}");
    let uniform = experiment(Design::Uniform).finding(2000);
    assert_eq!(uniform.verdict, Verdict::Holds, "{uniform:?}");
}

/// One bit of a raw cell in `STATUS` is noticed in a few runs; without it as few say nothing.
#[test]
fn black_box_sees_a_reply_that_leaks() {
    for design in [Design::Interim, Design::Uniform] {
        let leaking = experiment(design).finding_of::<Generator>(10, Some(parity));
        assert_eq!(leaking.verdict, Verdict::Exceeded, "{leaking:?}");
        assert!(leaking.epsilon.is_infinite(), "{leaking:?}");
    }
    for design in [Design::Interim, Design::Uniform, Design::DpConse] {
        let sound = experiment(design).finding(10);
        assert_eq!(sound.verdict, Verdict::Holds, "{sound:?}");
    }
}

/// The published design exceeds its claim on its own device.
#[test]
fn black_box_refutes_the_published_design() {
    let finding = experiment(Design::DpConse).finding(1200);
    assert_eq!(finding.verdict, Verdict::Exceeded, "{finding:?}");
}
