//! Blocks of late patients against the same patients one by one, and the reports of a run.

use super::*;
use crate::boundaries::Kind;
use crate::boundaries::course::Course;
use crate::simulate::{Arrivals, Instance};
use crate::simulate::{Delay, Lost};

/// The core without blocks.
struct OneByOne(Core<LATE>);

impl Player for OneByOne {
    fn assign(&mut self, feature: u8) -> Arm {
        self.0.assign(feature)
    }
    fn outcome(&mut self, patient: u32, feature: u8, arm: Arm, y: Option<u16>) {
        self.0.outcome(patient, feature, arm, y);
    }
    fn at_once(&mut self, next: u32, n: u32, patients: &mut impl AtOnce) -> u32 {
        self.0.at_once(next, n, patients)
    }
    fn close(&mut self) {
        self.0.close();
    }
    fn looks(&self) -> u8 {
        self.0.looks()
    }
    fn estimate(&self, feature: u8) -> Option<Estimate> {
        self.0.estimate(feature)
    }
    fn dropped(&self, feature: u8) -> Option<Arm> {
        self.0.dropped(feature)
    }
    fn settled_at(&self) -> Option<u32> {
        self.0.settled_at()
    }
    fn feature_settled_at(&self, feature: u8) -> Option<u32> {
        self.0.feature_settled_at(feature)
    }
    fn coins(&self, feature: u8) -> Option<u32> {
        self.0.coins(feature)
    }
}

/// Arms, estimates and settling of a run are the same with blocks and without, whatever is late,
/// lost, graded or drifting.
#[test]
fn blocks_change_no_run() {
    for (plan, delay, lost, drift) in [
        ("features=3 patients=2000 epsilon=1 scale=10", "50..200", [0.1, 0.3], 0.0),
        ("features=3 patients=2000 epsilon=1", "7", [0.0; 2], 0.2),
        ("features=1 patients=400 epsilon=1 scale=300 reports=4", "0..150", [0.5, 0.0], -0.1),
        ("design=uniform features=5 patients=900 epsilon=1 reports=2", "1..800", [0.0; 2], 0.0),
        ("features=2 patients=900 epsilon=1 scale=2", "0", [0.2; 2], 0.0),
    ] {
        let plan = Plan::parse(&format!("{plan} better=high")).unwrap();
        let instance = Instance { drift, ..Instance::same(plan.features(), 0.3, 0.7) };
        let mut scenario = Scenario::new(plan, instance, 1, 3);
        scenario.world.arrivals = Arrivals::Zipf(1.0);
        scenario.world.delay = Delay::parse(delay).unwrap();
        scenario.world.lost = Lost(lost);
        let stage = Stage::new(&scenario);
        for run in 0..40 {
            let player = OneByOne(Core::new(plan, stream(3, run, COINS), false));
            let plain = stage.by_calendar(player, stream(3, run, WORLD));
            assert_eq!(
                format!("{:?}", stage.play(run)),
                format!("{plain:?}"),
                "{plan} {delay} {run}"
            );
        }
    }
}

/// With a boundary a run keeps the planned reports, and no look before half.
#[test]
fn runs_keep_the_planned_reports() {
    for design in ["interim", "uniform"] {
        let text =
            format!("design={design} features=2 patients=3000 better=high epsilon=1 reports=3");
        let plan = Plan::parse(&text).unwrap();
        let mut scenario = Scenario::new(plan, Instance::same(2, 0.3, 0.6), 1, 3);
        assert!(Stage::new(&scenario).play(0).reports.is_empty());
        scenario.boundary = Some(Kind::Pocock);
        for delay in [Delay::NONE, Delay::fixed(60)] {
            scenario.world.delay = delay;
            let run = Stage::new(&scenario).play(0);
            assert_eq!(run.reports.len(), 3, "{design} {delay}");
            assert!(run.reports.iter().all(|report| report.estimates.len() == 2));
            for (j, feature) in run.features.iter().enumerate() {
                let basis = feature.estimate.and_then(|estimate| estimate.basis).unwrap();
                let expected = Kind::Pocock.of_course(&plan, Course::of(&plan, &basis));
                let reports = run.reports.iter().map(|report| report.critical.of(j));
                let critical: Vec<f64> = reports.chain([run.critical.of(j)]).collect();
                assert_eq!(critical, expected, "{design} {delay} {j}");
            }
        }
    }
}
