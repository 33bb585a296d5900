//! One page for a protocol's appendix: the design in plain words, its operating characteristics,
//! and how to find every number again.
//!
//! The page is a single HTML file without script that loads nothing; pictures are inline SVG. It
//! prints on A4.

mod html;
mod page;
mod results;
mod study;
mod summary;

use crate::planner::answer::Answer;
use crate::planner::compare::Comparison;
use crate::planner::{Candidate, Question};
use crate::simulate::SimulateError;

pub use study::{Study, study};

/// The words of a trial that the page shows.
#[derive(Clone, Debug)]
pub struct Words {
    /// Name of the trial.
    pub title: String,
    /// Names of the arms.
    pub arms: [String; 2],
    /// Question about a patient's outcome.
    pub question: String,
    /// Sentence about the arm that more patients get.
    pub direction: String,
    /// The board it runs on.
    pub board: String,
    /// How long the trial takes, if that is known.
    pub duration: Option<String>,
    /// The command that made the page.
    pub command: String,
    /// The trial file.
    pub trial_file: String,
}

/// Content of the page.
pub struct Dossier<'a> {
    /// The question to the planner.
    pub question: &'a Question<'a>,
    /// The plan that was found.
    pub found: &'a Candidate,
    /// Beside the other trials.
    pub comparison: &'a Comparison,
    /// The answer that both are part of.
    pub answer: &'a Answer,
    /// Scenarios and curves.
    pub study: &'a Study,
    /// The words of the trial.
    pub words: &'a Words,
}

impl Dossier<'_> {
    /// The page.
    ///
    /// # Errors
    /// A value out of its range.
    pub fn html(&self) -> Result<String, SimulateError> {
        page::write(self)
    }
}
