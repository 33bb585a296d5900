//! A plan as the trial file that `provision` takes.

use crate::records::due::Due;
use crate::records::trial_file::{TrialFile, TrialFileError, VERSION};
use equipoise::plan::Plan;
use equipoise_study::planner::keys::keys;

/// The words of a trial.
#[derive(Clone, Debug)]
pub struct Words {
    /// Name of the trial.
    pub title: String,
    /// Names of the arms.
    pub arms: Vec<String>,
    /// Names of the features; numbers if there are none.
    pub features: Vec<String>,
    /// Question about a patient's outcome.
    pub question: String,
    /// Time from enrolment to outcome, if it is known.
    pub due: Option<Due>,
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
        let due = self.due.map_or_else(String::new, |due| format!("due = \"{due}\"\n"));
        let text = format!(
            "version = {VERSION}\ntitle = {}\narms = [{}]\nfeatures = [{}]\n\n[plan]\ndesign = \"{}\"\n{}{}\n\
             [outcome]\nquestion = {}\n{labels}better = \"{}\"\n{due}",
            quoted(&self.title),
            list(&self.arms),
            list(features),
            plan.design(),
            keys(plan),
            self.more,
            quoted(&self.question),
            plan.better().name(),
        );
        TrialFile::parse(name, &text).map(|_| text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The file that is written is read as the same plan.
    #[test]
    fn a_written_plan_is_read_again() {
        let plan = Plan::parse(
            "design=interim features=2 patients=300 scale=3 better=low alpha=1/3 epsilon=1/2 beta=1/7 reports=2",
        )
        .unwrap();
        let words = Words {
            title: "T".into(),
            arms: vec!["a".into(), "b".into()],
            features: Vec::new(),
            question: "Q?".into(),
            due: Some("36 hours".parse().unwrap()),
            more: String::new(),
        };
        let text = words.trial_file("f", &plan).unwrap();
        let read = TrialFile::parse("f", &text).unwrap();
        assert_eq!((read.plan, read.due), (plan, words.due));
    }
}
