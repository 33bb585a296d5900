//! The planned trial beside two fixed ones: `uniform`, which is private, and `fixed`, which is not.

use super::{Candidate, Proposal, Question, Wish};
use crate::simulate::{Comparator, Policy, Scenario, SimulateError, Summary};
use equipoise::plan::DesignName;

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
        Some(needed.summary.worse_share * f64::from(needed.proposal.patients))
    }
}

/// The planned trial first, then the others.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// The trials.
    pub columns: Vec<Column>,
    /// The criterion at which their sample sizes are compared.
    pub yardstick: Yardstick,
    /// Whether the design was asked for by name.
    pub asked: bool,
}

impl Comparison {
    /// The trial of this design.
    #[must_use]
    pub fn column(&self, design: DesignName) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == design.name())
    }
}

/// The planned trial and the fixed ones, with the same patients.
#[must_use]
pub fn proposals(planned: &Proposal) -> Vec<Proposal> {
    let fixed = Policy::Comparator(Comparator::Fixed);
    let others = [(DesignName::Uniform, Policy::Core), (DesignName::Conse, fixed)];
    let others = others
        .into_iter()
        .filter(|(design, policy)| (*design, *policy) != (planned.design, planned.policy));
    let others = others.map(|(design, policy)| Proposal { design, policy, ..*planned });
    core::iter::once(*planned).chain(others).collect()
}

/// Compares what was found with the fixed trials. Where it is the fixed trial itself in the place
/// of an adaptive one, `adaptive` is the comparison of that one, which becomes the second column.
///
/// # Errors
/// A value out of its range.
pub fn compare(
    question: &Question,
    found: &Candidate,
    adaptive: Option<&Comparison>,
) -> Result<Comparison, SimulateError> {
    let width = question.wish.width_of(&found.summary);
    let yardstick = match (question.wish.power, adaptive) {
        (Some(power), _) => Yardstick::Power(power),
        (None, Some(comparison)) => comparison.yardstick,
        (None, None) => Yardstick::Width(width),
    };
    let asked = question.is_design_given;
    let only = Wish { power: None, width: None, better: None, regret: None, ..question.wish };
    let wish = match yardstick {
        Yardstick::Power(power) => Wish { power: Some(power), ..only },
        Yardstick::Width(width) => Wish { width: Some(width), ..only },
    };
    // The planned trial is what is needed, unless its size was given and a power is wanted.
    let sized = question.given.patients.is_some() && question.wish.power.is_some();
    let mut all = proposals(&found.proposal);
    let second = adaptive.and_then(|comparison| comparison.columns.first());
    if let Some(needed) = second.and_then(|column| column.needed.as_ref()) {
        let patients = found.proposal.patients;
        all.insert(1, Proposal { patients, effect: found.proposal.effect, ..needed.proposal });
    }
    let known = |proposal: &Proposal| {
        let columns = adaptive.map_or(&[][..], |comparison| &comparison.columns);
        let same = |needed: &&Candidate| {
            let Proposal { design, policy, .. } = needed.proposal;
            (design, policy) == (proposal.design, proposal.policy)
        };
        columns.iter().filter_map(|column| column.needed.as_ref()).find(same).cloned()
    };
    let mut columns = Vec::new();
    for (place, proposal) in all.into_iter().enumerate() {
        let planned = match place {
            0 => found.summary.clone(),
            _ => question.confirm(&proposal)?,
        };
        let needed = match place {
            0 if !sized && adaptive.is_none() => Some(found.clone()),
            _ => match known(&proposal) {
                Some(known) => Some(known),
                None => question.fewest_patients(&proposal, &wish)?,
            },
        };
        let null = question.confirm(&Proposal { effect: 0.0, ..proposal })?;
        let name = Scenario { policy: proposal.policy, ..scenario(question, &proposal)? }.name();
        columns.push(Column { name, planned, null, needed });
    }
    Ok(Comparison { columns, yardstick, asked })
}

fn scenario(question: &Question, proposal: &Proposal) -> Result<Scenario, SimulateError> {
    question.scenario(proposal, super::search::Effort::Fine)
}
