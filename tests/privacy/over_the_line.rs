//! Devices over their line: pairs of trials of any size, and the black box.

use equipoise::chance::{Chance, Fraction};
use equipoise::device::generator::{Generator, Seeded};
use equipoise::host::audit::black_box::{self, Experiment};
use equipoise::host::audit::pairs::{self, Passed};
use equipoise::host::audit::suite::{TOLERANCE, Verdict};
use equipoise::noise::Laplace;
use equipoise::plan::Design;

/// No pair loses more than epsilon, some lose all of it, and the pairs pass through everything that
/// can happen to an outcome.
#[test]
fn pairs_lose_epsilon_and_no_more() {
    const PAIRS: u32 = 160;
    let survey = |design, epsilon, claimed: f64, count| {
        let survey = pairs::survey(design, epsilon, count, None, None);
        assert!((survey.loss.epsilon - claimed).abs() <= TOLERANCE, "{design}: {survey:?}");
        survey
    };
    let interim = survey(Design::Interim, "1", 1.0, PAIRS);
    for (what, passed) in Passed::ALL.into_iter().zip(interim.passed) {
        assert!(passed >= 4, "{what:?} in {passed} of {PAIRS} pairs: {interim:?}");
    }
    survey(Design::Interim, "8", 8.0, PAIRS / 4);
    survey(Design::Uniform, "1", 1.0, PAIRS / 4);
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

/// At epsilon 1 most of it is found, and not more; with halved noise far more.
#[test]
fn black_box_sees_noise_that_is_too_small() {
    let finding = experiment(Design::Interim).finding(6000);
    assert_eq!(finding.verdict, Verdict::Holds, "{finding:?}");
    assert!(finding.epsilon > 0.3, "blind: {finding:?}");
    let halved = experiment(Design::Interim).finding_of::<Halved>(6000);
    assert_eq!(halved.verdict, Verdict::Exceeded, "{halved:?}");
    assert!(halved.epsilon > 1.2 && halved.delta > 0.01, "{halved:?}");
    let uniform = experiment(Design::Uniform).finding(2000);
    assert_eq!(uniform.verdict, Verdict::Holds, "{uniform:?}");
}

/// The published design exceeds its claim on its own device.
#[test]
fn black_box_refutes_the_published_design() {
    let finding = experiment(Design::DpConse).finding(1200);
    assert_eq!(finding.verdict, Verdict::Exceeded, "{finding:?}");
}
