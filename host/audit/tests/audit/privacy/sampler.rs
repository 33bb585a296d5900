//! Faults of the sampler, and whether the audit notices them.

use equipoise::chance::{Chance, Fraction};
use equipoise::device::generator::{Generator, Seeded};
use equipoise::noise::Laplace;
use equipoise_audit::finding::TOLERANCE;
use equipoise_audit::sampler;

use super::near;
use super::plan;

/// The device's generator, with every draw passed through a fault: noise, and lengths with the
/// planned ones they are drawn around.
struct Faulty<F>(Generator, F, LengthFault);
type LengthFault = fn(u64, u64) -> u64;

/// Lengths without a fault.
const RIGHT: LengthFault = |_, length| length;

impl<F: FnMut(i64) -> i64> Chance for Faulty<F> {
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
        (self.2)(center, self.0.lap_plus(center, law))
    }
}

/// The loss that the audit finds at an epsilon with a fault in the generator.
fn loss(epsilon: &str, fault: impl FnMut(i64) -> i64) -> f64 {
    let plan = plan(&format!("features=1 patients=100 epsilon={epsilon}"));
    sampler::loss(&plan, &mut Faulty(Generator::from_seed([3; 32]), fault, RIGHT)).epsilon
}

/// The generator that ships keeps its law. Requirement S3.
#[test]
fn sampler_keeps_its_law() {
    for (epsilon, claimed) in [("1/10", 0.1), ("1", 1.0), ("6", 6.0)] {
        let loss = loss(epsilon, |k| k);
        near(loss, claimed, 1e-6 * claimed);
        assert!(loss <= claimed + TOLERANCE, "{epsilon}: {loss}");
    }
}

/// Halved, even, one-sided noise, and noise that is never 0, have another law.
#[test]
fn faults_of_the_sampler_are_caught() {
    type Fault = (&'static str, fn(i64) -> i64);
    let faults: [Fault; 4] = [
        ("halved", |k| k / 2),
        ("even", |k| k & !1),
        ("not negative", i64::abs),
        ("never 0", |k| if k == 0 { 1 } else { k }),
    ];
    for epsilon in ["1/10", "1", "6"] {
        for (name, fault) in faults {
            assert_eq!(loss(epsilon, fault), f64::INFINITY, "{epsilon} {name}");
        }
    }
}

/// A single draw of `dp-conse`, a mean or a length, keeps its law, and a faulty length is caught.
#[test]
fn lap_plus_is_checked_too() {
    let plan = plan("design=dp-conse features=1 patients=100 epsilon=1");
    let loss = |fault| {
        sampler::loss(&plan, &mut Faulty(Generator::from_seed([4; 32]), |k| k, fault)).epsilon
    };
    // ln P(0 around 0) - ln P(0 around 1), with P as in `docs/privacy.md`.
    let normaliser = |m: f64| 0.5f64.exp() + 1.0 - (-0.5 * m).exp();
    near(loss(RIGHT), 0.5 + (normaliser(1.0) / normaliser(0.0)).ln(), 1e-6);
    let faults: [(&str, LengthFault); 4] = [
        ("halved", u64::midpoint),
        ("never below the plan", u64::max),
        ("never 0", |_, length| length.max(1)),
        ("no noise", |center, _| center),
    ];
    for (name, fault) in faults {
        assert_eq!(loss(fault), f64::INFINITY, "{name}");
    }
}

/// Draws that each have the right law, but come again for a later cell: two noisy cells then differ
/// by their raw cells.
#[test]
fn a_draw_given_twice_is_caught() {
    for epsilon in ["1/10", "1", "6"] {
        for lag in [1, 2, 4, 12] {
            let (mut given, mut count) = (Vec::new(), 0);
            let again = move |k: i64| {
                let draw = if count % (2 * lag) < lag { k } else { given[count - lag] };
                given.push(draw);
                count += 1;
                draw
            };
            assert_eq!(loss(epsilon, again), f64::INFINITY, "{epsilon}, {lag} draws later");
        }
    }
}
