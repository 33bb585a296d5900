//! A plan as the trial file that `provision` takes.

use crate::prelude::*;

use crate::host::terminal::trial_file::{TrialFile, TrialFileError};
use crate::plan::Plan;

/// The words of a trial.
#[derive(Clone, Debug)]
pub struct Words {
    /// Name of the trial.
    pub title: String,
    /// Names of the arms.
    pub arms: Vec<String>,
    /// Names of the features; numbers if there are none.
    pub features: Vec<String>,
    /// What is asked about a patient.
    pub question: String,
    /// Lines that follow the table of the plan.
    pub more: String,
}

impl Words {
    /// The trial file of a plan. What is written is taken by `provision`: a bad name is found
    /// here, not at the bedside.
    ///
    /// # Errors
    /// A name that no trial file may hold.
    pub fn trial_file(&self, name: &str, plan: &Plan) -> Result<String, TrialFileError> {
        let quoted = |text: &String| toml::Value::String(text.trim().into()).to_string();
        let list = |names: &[String]| names.iter().map(quoted).collect::<Vec<_>>().join(", ");
        let numbers: Vec<String> = (0..plan.features()).map(|j| format!("feature {j}")).collect();
        let features = if self.features.is_empty() { &numbers } else { &self.features };
        let labels = if plan.scale() == 1 { "labels = [\"no\", \"yes\"]\n" } else { "" };
        let text = format!(
            "title = {}\narms = [{}]\nfeatures = [{}]\n\n[plan]\ndesign = \"{}\"\n{}{}\n\
             [outcome]\nquestion = {}\n{labels}",
            quoted(&self.title),
            list(&self.arms),
            list(features),
            plan.design(),
            keys(plan),
            self.more,
            quoted(&self.question),
        );
        TrialFile::parse(name, &text).map(|_| text)
    }
}

/// The keys of a plan, but for its design, as lines of a file.
#[must_use]
pub fn keys(plan: &Plan) -> String {
    format!(
        "features = {}\npatients = {}\nscale = {}\nalpha = \"{}\"\nepsilon = \"{}\"\n\
         beta = \"{}\"\nreports = {}\n",
        plan.features(),
        plan.patients(),
        plan.scale(),
        plan.alpha(),
        plan.epsilon(),
        plan.beta(),
        plan.reports(),
    )
}
