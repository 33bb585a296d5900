//! Small trials and their neighbours: which cases the exact audit walks.

use super::exact::{Case, Patient, Record};
use equipoise::plan::Plan;
use equipoise::terms::Arm;

/// All patients of a plan: every feature with every outcome and with none.
#[must_use]
pub fn patients(plan: &Plan) -> Vec<Patient> {
    let outcomes = || (0..=plan.scale()).map(Some).chain([None]);
    (0..plan.features())
        .flat_map(|feature| outcomes().map(move |outcome| Patient { feature, outcome }))
        .collect()
}

/// All records of a patient: with the arm drawn by the design, and with either arm given.
#[must_use]
pub fn records(plan: &Plan) -> Vec<Record> {
    let arms = [None, Some(Arm::Zero), Some(Arm::One)];
    patients(plan).into_iter().flat_map(|patient| arms.map(|arm| Record { patient, arm })).collect()
}

/// Records with the arm drawn by the design only.
#[must_use]
pub fn drawn_records(plan: &Plan) -> Vec<Record> {
    patients(plan).into_iter().map(|patient| Record { patient, arm: None }).collect()
}

/// Every case of a plan: all patients at all places but one, that one open.
pub fn all(plan: Plan, delay: usize) -> impl Iterator<Item = Case> {
    let (kinds, n) = (patients(&plan), plan.patients() as usize);
    let trials = kinds.len().pow(n as u32 - 1);
    (0..n).flat_map(move |open| {
        let kinds = kinds.clone();
        (0..trials).map(move |mut code| {
            let mut next = || {
                let kind = kinds[code % kinds.len()];
                code /= kinds.len();
                kind
            };
            let patients = (0..n).map(|k| if k == open { kinds[0] } else { next() }).collect();
            Case { delay, open_delay: delay, ..Case::new(plan, patients, open) }
        })
    })
}
