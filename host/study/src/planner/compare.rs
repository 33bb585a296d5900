//! The planned trial beside two fixed ones: `uniform`, which is private, and `fixed`, which is not.

use super::{Candidate, Choice, Question, Wish};
use crate::simulate::{Comparator, Policy, Scenario, SimulateError, Summary};
use equipoise::plan::Design;

/// The criterion (power or width) at which sample sizes are compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Yardstick {
    /// A power.
    Power(f64),
    /// A mean width of the intervals.
    Width(f64),
}

/// One trial of the comparison.
#[derive(Clone, Debug)]
pub struct Column {
    /// Its name in `simulate`.
    pub name: String,
    /// Its figures at the planned number of patients.
    pub planned: Summary,
    /// ... in a world without an effect.
    pub null: Summary,
    /// The patients it needs to reach the criterion; none if no plan has as many.
    pub needed: Option<Candidate>,
}

impl Column {
    /// Patients on the worse arm, where the trial has the patients it needs.
    #[must_use]
    pub fn worse(&self) -> Option<f64> {
        let needed = self.needed.as_ref()?;
        Some(needed.summary.worse_share * f64::from(needed.choice.patients))
    }
}

/// The planned trial first, then the fixed ones.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// The trials.
    pub columns: Vec<Column>,
    /// The criterion at which their sample sizes are compared.
    pub yardstick: Yardstick,
}

/// The planned trial and the fixed ones, with the same patients.
#[must_use]
pub fn choices(planned: &Choice) -> Vec<Choice> {
    let fixed = Policy::Comparator(Comparator::Fixed);
    let others = [(Design::Uniform, Policy::Core), (Design::Conse, fixed)];
    let others = others
        .into_iter()
        .filter(|(design, policy)| (*design, *policy) != (planned.design, planned.policy));
    let others = others.map(|(design, policy)| Choice { design, policy, ..*planned });
    core::iter::once(*planned).chain(others).collect()
}

/// Compares what was found with the fixed trials.
///
/// # Errors
/// A value out of its range.
pub fn compare(question: &Question, found: &Candidate) -> Result<Comparison, SimulateError> {
    let width = question.wish.width_of(&found.summary);
    let yardstick = match question.wish.power {
        Some(power) => Yardstick::Power(power),
        None => Yardstick::Width(width),
    };
    let only = Wish { power: None, width: None, better: None, regret: None, ..question.wish };
    let wish = match yardstick {
        Yardstick::Power(power) => Wish { power: Some(power), ..only },
        Yardstick::Width(width) => Wish { width: Some(width), ..only },
    };
    // The planned trial is what is needed, unless its size was given and a power is wanted.
    let sized = question.given.patients.is_some() && question.wish.power.is_some();
    let mut columns = Vec::new();
    for (place, choice) in choices(&found.choice).into_iter().enumerate() {
        let planned = match place {
            0 => found.summary.clone(),
            _ => question.confirm(&choice)?,
        };
        let needed = match place {
            0 if !sized => Some(found.clone()),
            _ => question.fewest_patients(&choice, &wish)?,
        };
        let null = question.confirm(&Choice { effect: 0.0, ..choice })?;
        let name = Scenario { policy: choice.policy, ..scenario(question, &choice)? }.name();
        columns.push(Column { name, planned, null, needed });
    }
    Ok(Comparison { columns, yardstick })
}

fn scenario(question: &Question, choice: &Choice) -> Result<Scenario, SimulateError> {
    question.scenario(choice, super::search::Effort::Fine)
}
