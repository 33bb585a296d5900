//! Noisy ledgers of rows as the study's tools take them: information fractions and ratios.

use super::{Estimate, decimal, middle};
use equipoise::estimate::{ArmBasis, Basis};
use equipoise::plan::Plan;
use equipoise::wire::{Row, RowBasis};
use equipoise_study::boundaries::course::Course;
use equipoise_study::ratios::{self, Ratios};

fn basis(row: &RowBasis) -> Basis {
    Basis {
        spent: decimal(row.spent),
        half_spent: decimal(row.half),
        looks: row.looks,
        windows: row.windows,
        arms: row
            .arms
            .map(|arm| ArmBasis { outcomes: arm.outcomes.into(), mean: decimal(arm.mean) }),
    }
}

/// Risk and odds ratio of a row.
pub(super) fn ratios(plan: &Plan, row: &Row) -> Option<Ratios> {
    let [estimate, error] = [row.estimate, row.error].map(decimal);
    let difference = middle(estimate, error, [row.low, row.high].map(decimal));
    ratios::ratios(plan, difference, error, &basis(row.basis.as_ref()?))
}

/// The course of a row and the part of its weight that is spent. The overall effect, and that of a
/// level of a factor, goes by the features', weighted by their parts of its variance.
pub(super) fn of(plan: &Plan, row: &Estimate, features: &[Estimate]) -> Option<(Course, f64)> {
    let own = |row: &Estimate| {
        let basis = basis(row.basis.as_ref()?);
        Some((Course::of(plan, &basis), basis.spent))
    };
    if row.feature.is_some() {
        return own(row);
    }
    let (mut parts, mut spent, mut weights) = (Vec::new(), 0.0, 0.0);
    for feature in features {
        let (course, share) = own(feature)?;
        let part = (f64::from(feature.outcomes) * feature.standard_error).powi(2);
        parts.push((course, part));
        (spent, weights) = (spent + part * share, weights + part);
    }
    (weights > 0.0).then(|| (Course::overall(plan, parts.into_iter()), spent / weights))
}
