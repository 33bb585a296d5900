//! Critical values of repeated intervals in simulated trials that run to their end.
//!
//! They follow from the information fractions of an estimate, and these from its
//! [course](crate::boundaries::course), of which a scenario has a few hundred. Each is integrated
//! once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::statistics::Critical;
use crate::boundaries::Kind;
use crate::boundaries::course::Course;
use equipoise::estimate::Estimate;
use equipoise::plan::Plan;

/// The boundary of a scenario.
pub(super) struct Repeated {
    kind: Kind,
    plan: Plan,
    known: Mutex<HashMap<Course, Arc<[f64]>>>,
}

impl Repeated {
    pub fn new(kind: Kind, plan: Plan) -> Self {
        Self { kind, plan, known: Mutex::default() }
    }

    /// The values at the reports and at the close, of an estimate with this course.
    fn of(&self, course: Course) -> Arc<[f64]> {
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(values) = known().get(&course) {
            return values.clone();
        }
        // Integrated without the lock: two threads may do it twice, with the same result.
        let values: Arc<[f64]> = self.kind.of_course(&self.plan, course).into();
        known().insert(course, values.clone());
        values
    }

    /// The values at each report and at the close, from the last estimates of a run.
    pub fn critical(&self, last: &[Option<Estimate>]) -> Vec<Critical> {
        let courses: Vec<Option<(Course, f64)>> =
            last.iter().map(|each| self.course(each)).collect();
        let overall = self.of(Course::overall(&self.plan, courses.iter().flatten().copied()));
        let each: Vec<Option<Arc<[f64]>>> =
            courses.iter().map(|course| Some(self.of(course.as_ref()?.0))).collect();
        let at = |place: usize| {
            let value = |values: &Option<Arc<[f64]>>| {
                values
                    .as_ref()
                    .and_then(|values| values.get(place))
                    .copied()
                    .unwrap_or(f64::INFINITY)
            };
            Critical {
                features: each.iter().map(value).collect(),
                overall: overall.get(place).copied(),
            }
        };
        (0..overall.len()).map(at).collect()
    }

    /// The course of an estimate, and its part of the variance of the overall effect.
    fn course(&self, estimate: &Option<Estimate>) -> Option<(Course, f64)> {
        let estimate = estimate.as_ref()?;
        let part = (estimate.patients.round() * estimate.deviation).powi(2);
        Some((Course::of(&self.plan, estimate.basis.as_ref()?), part))
    }
}
