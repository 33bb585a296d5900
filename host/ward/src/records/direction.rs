//! The direction of a trial in words: which outcomes are the better ones, and so which arm the
//! device gives to more patients. People read it before the first patient, and can object.

use crate::records::trial_file::TrialFile;
use equipoise::plan::{Better, DesignName};

impl TrialFile {
    /// The better outcomes, as `fewer: Dead on day 30? YES`.
    #[must_use]
    pub fn better(&self) -> String {
        let (question, scale, better) = (&self.question, self.plan.scale(), self.plan.better());
        let labels = self.labels.as_deref().unwrap_or_default();
        match (labels, better) {
            ([_, last], Better::High) => format!("more: {question} {}", last.to_uppercase()),
            ([_, last], Better::Low) => format!("fewer: {question} {}", last.to_uppercase()),
            ([.., last], Better::High) => {
                format!("outcomes nearer to {}: {question}", last.to_uppercase())
            }
            ([first, ..], Better::Low) => {
                format!("outcomes nearer to {}: {question}", first.to_uppercase())
            }
            ([], Better::High) => format!("higher numbers: {question} 0 to {scale}"),
            ([], Better::Low) => format!("lower numbers: {question} 0 to {scale}"),
        }
    }

    /// A sentence about the arm that more patients get.
    #[must_use]
    pub fn direction(&self) -> String {
        let better = self.better();
        match self.plan.design() {
            DesignName::Uniform => {
                format!("The device gives each arm to half of the patients. Better is {better}")
            }
            _ => format!("The device gives more patients the arm with {better}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::trial_file::EXAMPLE;

    /// Both directions of yes/no, of labels and of numbers, and a trial that does not adapt.
    #[test]
    fn a_direction_is_named() {
        let said = |changes: &[(&str, &str)]| {
            let mut text = EXAMPLE.to_owned();
            for (from, to) in changes {
                assert!(text.contains(from), "{from}");
                text = text.replacen(from, to, 1);
            }
            TrialFile::parse("t", &text).unwrap().direction()
        };
        let more = "The device gives more patients the arm with";
        let dead = ("Walks unaided on day 14?", "Dead on day 30?");
        let low = ("better = \"high\"", "better = \"low\"");
        let graded = ("scale = 1 ", "scale = 2 ");
        let labels = ("\"no\", \"yes\"", "\"bad\", \"fair\", \"good\"");
        let none = ("labels = [\"no\", \"yes\"]", "");
        assert_eq!(said(&[]), format!("{more} more: Walks unaided on day 14? YES"));
        assert_eq!(said(&[dead, low]), format!("{more} fewer: Dead on day 30? YES"));
        let nearer = |label| format!("{more} outcomes nearer to {label}: Walks unaided on day 14?");
        assert_eq!(said(&[graded, labels]), nearer("GOOD"));
        assert_eq!(said(&[graded, labels, low]), nearer("BAD"));
        let numbers = |which| format!("{more} {which} numbers: Walks unaided on day 14? 0 to 2");
        assert_eq!(said(&[graded, none]), numbers("higher"));
        assert_eq!(said(&[graded, none, low]), numbers("lower"));
        let fair = said(&[dead, low, ("design = \"interim\"", "design = \"uniform\"")]);
        assert!(fair.ends_with("half of the patients. Better is fewer: Dead on day 30? YES"));
    }
}
