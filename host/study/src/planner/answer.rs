//! The answer to a question: the trial to carry out, beside the others.

use super::compare::{Comparison, compare};
use super::verdict::pays;
use super::{Candidate, Proposal, Question};
use crate::simulate::SimulateError;
use equipoise::plan::DesignName;

/// The trial to carry out.
pub struct Answer {
    /// The plan, with the figures that are shown.
    pub found: Candidate,
    /// Beside the other trials; its first column is the plan.
    pub comparison: Comparison,
    /// The adaptive trial at neighbouring values of alpha, and at half and twice the epsilon.
    pub alternatives: Vec<Candidate>,
}

impl Question<'_> {
    /// Finds the trial to carry out; none if no proposal fulfils the wishes.
    ///
    /// # Errors
    /// A value out of its range.
    pub fn answer(&self) -> Result<Option<Answer>, SimulateError> {
        let Some((found, tried)) = self.solve_all()? else { return self.fixed_instead() };
        let comparison = compare(self, &found, None)?;
        if found.proposal.design != DesignName::Interim {
            return Ok(Some(Answer { found, comparison, alternatives: Vec::new() }));
        }
        let alternatives = self.alternatives(&found, &tried)?;
        if self.is_design_given || self.wish.cares() || pays(&comparison) {
            return Ok(Some(Answer { found, comparison, alternatives }));
        }
        let fair = Proposal { design: DesignName::Uniform, ..found.proposal };
        let Some(fixed) = self.complete(&fair, None)? else {
            return Ok(Some(Answer { found, comparison, alternatives }));
        };
        let comparison = compare(self, &fixed, Some(&comparison))?;
        Ok(Some(Answer { found: fixed, comparison, alternatives }))
    }

    /// The `uniform` trial where no adaptive one fulfils the wishes, if it does and if nobody asked
    /// for an adaptive one.
    fn fixed_instead(&self) -> Result<Option<Answer>, SimulateError> {
        let start = self.start();
        if self.is_design_given || self.wish.cares() || start.design != DesignName::Interim {
            return Ok(None);
        }
        let Some(epsilon) = self.given.epsilon else { return Ok(None) };
        let fair = Proposal { design: DesignName::Uniform, epsilon, ..start };
        let Some(found) = self.complete(&fair, None)? else { return Ok(None) };
        if self.wish.measures() && self.given.patients.is_some() && self.given.effect.is_some() {
            let good = self.wish.measured(&found.summary) >= 0.0;
            if !good {
                return Ok(None);
            }
        }
        let comparison = compare(self, &found, None)?;
        Ok(Some(Answer { found, comparison, alternatives: Vec::new() }))
    }
}
