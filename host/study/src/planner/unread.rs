//! Outcomes that a dead board would cost.
//!
//! Raw outcomes are on one chip and in the patients' charts. What looks have read is in the noisy
//! ledger, which may be kept elsewhere; what no look has read must be entered again. A feature that
//! has settled is read at reports and at the close only, so this share depends on the reports.

use super::search::Effort;
use super::{Proposal, Question, fresh};
use crate::simulate::{Scenario, SimulateError, estimates};
use equipoise::design::schedule;
use equipoise::plan::Plan;

/// Patients that are simulated, and the limits of the trials.
const PATIENTS: u32 = 2_000_000;
const RUNS: (u32, u32) = (10, 200);

/// The share of a feature's outcomes that no look has read, on average over the moments of a trial
/// at which 1 to n patients are resolved. Bit k of `looks` is set if it took part in look k + 1.
///
/// Behind a look at a, c - a of c outcomes are unread. From a to the next look, at b, that adds up
/// to b - a - a ln(b/a).
fn of_looks(plan: &Plan, looks: u32) -> f64 {
    let n = f64::from(plan.patients());
    let took_part = |(place, _): &(usize, u32)| looks >> (place & 31) & 1 == 1;
    let read = schedule::looks(plan).enumerate().take(32).filter(took_part);
    let (mut since, mut sum) = (0.0, 0.0);
    for next in read.map(|(_, count)| f64::from(count)).chain([n]) {
        sum += next - since - if since > 0.0 { since * f64::ln(next / since) } else { 0.0 };
        since = next;
    }
    sum / n
}

impl Question<'_> {
    /// The share of recorded outcomes that no look has read at a random moment of a proposed trial,
    /// on average; none for designs without looks.
    ///
    /// # Errors
    /// A value out of its range.
    pub fn unread(&self, proposal: &Proposal) -> Result<Option<f64>, SimulateError> {
        let scenario = self.scenario(proposal, Effort::Rough)?;
        let runs = (PATIENTS / scenario.plan.patients()).clamp(RUNS.0, RUNS.1);
        let seed = fresh(scenario.seed);
        share(&Scenario { runs, seed, boundary: None, ..scenario })
    }
}

/// The share of a scenario.
fn share(scenario: &Scenario) -> Result<Option<f64>, SimulateError> {
    let (mut unread, mut all) = (0.0, 0.0);
    for (_, estimate) in estimates(scenario, &|| ())? {
        let Some(basis) = estimate.basis else { continue };
        unread += estimate.patients * of_looks(&scenario.plan, basis.looks);
        all += estimate.patients;
    }
    Ok((all > 0.0).then(|| unread / all))
}

/// The share in words, for people.
#[must_use]
pub fn sentence(share: f64) -> String {
    format!(
        "If the board dies: on average {:.0} % of the outcomes recorded by then have been read by \
         no look. They are in the patients' charts alone and must be entered again; more reports \
         lower this.",
        100.0 * share
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::Instance;
    use equipoise::chance::Sampler;
    use equipoise::trial::Trial;
    use rand_core::Rng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    fn plan(text: &str) -> Plan {
        Plan::parse(&format!("{text} better=high")).unwrap()
    }

    /// A fixed trial without reports is read at its close; a look at half of the patients leaves
    /// 1/2 + (1/2 - ln(2)/2); and shares of another simulator, 77 % without reports, 42 % with 8.
    /// (Found: 77.7 and 43.5 %.)
    #[test]
    fn unread_shares_by_hand_and_elsewhere() {
        let fixed = plan("design=uniform features=1 patients=4000 epsilon=1");
        assert_eq!(of_looks(&fixed, 0), 1.0);
        let half = plan("features=1 patients=4000 epsilon=1");
        let place = schedule::looks(&half).position(|count| count == 2000).unwrap();
        let expected = 1.0 - f64::ln(2.0) / 2.0;
        assert!((of_looks(&half, 1 << place) - expected).abs() < 1e-12);
        for (reports, published) in [(0, 0.77), (8, 0.42)] {
            let text = format!("features=10 patients=20000 epsilon=1 alpha=1/4 reports={reports}");
            let instance = Instance::same(10, 0.35, 0.65);
            let scenario = Scenario::new(plan(&text), instance, 40, 3);
            let found = share(&scenario).unwrap().unwrap();
            println!("{reports} reports: {found:.3}");
            assert!((found - published).abs() < 0.02, "{reports}: {found}");
        }
    }

    /// Counted patient by patient in trials of the shipping core, the share is the same.
    #[test]
    fn unread_outcomes_are_counted() {
        let plan = plan("features=4 patients=4000 epsilon=1 alpha=1/4 reports=2");
        let (mut unread, mut moments) = (0.0, 0.0);
        for run in 0..20 {
            let mut trial = Trial::<4, 8>::new(plan).unwrap();
            let mut coins = Sampler::<Xoshiro256PlusPlus>::seed_from_u64(2 * run);
            let mut world = <Xoshiro256PlusPlus as rand_core::SeedableRng>::seed_from_u64(run);
            let (mut waits, mut known) = ([0_u32; 4], [0_u32; 4]);
            for patient in 1..=plan.patients() {
                let word = world.next_u64();
                let feature = (word % 4) as u8;
                let arm = trial.assign(feature, None, &mut coins).unwrap();
                let yes = ((word >> 32) as f64) < arm.of([0.35, 0.65]) * 4_294_967_296.0;
                trial.outcome(patient, yes.into(), &mut coins).unwrap();
                waits[usize::from(feature)] += 1;
                trial.look(&mut coins);
                for feature in 0..4 {
                    let basis = trial.estimate(feature).and_then(|estimate| estimate.basis);
                    let (looks, place) =
                        (basis.map_or(0, |basis| basis.looks), usize::from(feature));
                    if looks != known[place] {
                        (waits[place], known[place]) = (0, looks);
                    }
                }
                unread += f64::from(waits.iter().sum::<u32>()) / f64::from(patient);
                moments += 1.0;
            }
        }
        let scenario = Scenario::new(plan, Instance::same(4, 0.35, 0.65), 200, 3);
        let found = share(&scenario).unwrap().unwrap();
        println!("counted {:.3}, computed {found:.3}", unread / moments);
        assert!((unread / moments - found).abs() < 0.02, "{} {found}", unread / moments);
    }
}
