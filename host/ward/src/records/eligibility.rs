//! Questions about eligibility and consent, which come before every enrolment.
//!
//! In the trial file, in the order in which they are asked:
//!
//! ```text
//! [[eligibility]]
//! text = "Is the patient 18 or older?"
//! answer = "yes"
//!
//! [[eligibility]]
//! text = "Has the patient signed the consent form?"
//! answer = "yes"
//! consent = true
//! ```
//!
//! All must have the allowed answer. The wording is part of the trial file's digest, so it does not
//! change while a trial runs. The log holds the answers; a patient who is not eligible needs no
//! code, and has an entry with the answers up to the one that decided.

use serde::{Deserialize, Serialize};

use crate::records::text;

/// Most questions.
pub const MAX_QUESTIONS: usize = 20;
/// Longest question.
pub const MAX_QUESTION: usize = 120;

/// Answer to a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// Yes.
    Yes,
    /// No.
    No,
}

impl Answer {
    /// Both, in the order in which they are offered.
    pub const ALL: [Self; 2] = [Self::Yes, Self::No];

    /// The word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::No => "no",
        }
    }
}

/// A question as the trial file holds it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawQuestion {
    text: String,
    answer: Answer,
    #[serde(default)]
    consent: bool,
}

/// A question about eligibility.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The question.
    pub text: String,
    /// The answer that allows the enrolment.
    pub allowed: Answer,
    /// Whether it asks for consent.
    pub consent: bool,
}

/// An answer as the log holds it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answered {
    /// The question.
    pub question: String,
    /// The answer.
    pub answer: Answer,
}

/// The questions of a trial; none if its file has none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Eligibility(Vec<Question>);

/// Result of the questions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Screened {
    /// The answers, up to the one that decided.
    pub answers: Vec<Answered>,
    /// Why the patient is not eligible; none for one who is.
    pub excluded: Option<String>,
}

impl Eligibility {
    /// Checks the questions of a trial file.
    ///
    /// # Errors
    /// The value and what is allowed.
    pub fn new(raw: Vec<RawQuestion>) -> Result<Self, String> {
        if raw.len() > MAX_QUESTIONS {
            return Err(format!(
                "eligibility has {} questions, allowed {MAX_QUESTIONS}",
                raw.len()
            ));
        }
        if raw.iter().filter(|question| question.consent).count() > 1 {
            return Err("eligibility has consent = true twice, allowed once".to_owned());
        }
        let mut questions: Vec<Question> = Vec::new();
        for (place, RawQuestion { text, answer, consent }) in raw.into_iter().enumerate() {
            text::check(&format!("eligibility[{place}].text"), &text, MAX_QUESTION)?;
            if consent && answer == Answer::No {
                return Err(format!(
                    "eligibility[{place}] has consent = true and answer = \"no\", allowed \"yes\""
                ));
            }
            if questions.iter().any(|known| known.text == text) {
                return Err(format!(
                    "eligibility[{place}].text = {text:?} is there twice, allowed different questions"
                ));
            }
            questions.push(Question { text, allowed: answer, consent });
        }
        Ok(Self(questions))
    }

    /// The questions in order.
    #[must_use]
    pub fn questions(&self) -> &[Question] {
        &self.0
    }

    /// Whether nothing is asked.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Evaluates answers, in the order of the questions; those after one that excludes may be
    /// missing.
    ///
    /// # Errors
    /// An answer is missing, or there are too many.
    pub fn evaluate(&self, answers: &[Answer]) -> Result<Screened, String> {
        let mut given = Vec::new();
        for (place, question) in self.0.iter().enumerate() {
            let Some(answer) = answers.get(place).copied() else {
                return Err(format!(
                    "question {} has no answer: {:?}, allowed yes or no",
                    place + 1,
                    question.text
                ));
            };
            given.push(Answered { question: question.text.clone(), answer });
            if answer != question.allowed {
                let excluded = if question.consent {
                    "no consent".to_owned()
                } else {
                    format!("{} {}", question.text, answer.name())
                };
                return Ok(Screened { answers: given, excluded: Some(excluded) });
            }
        }
        if answers.len() > self.0.len() {
            return Err(format!("{} answers, allowed {}", answers.len(), self.0.len()));
        }
        Ok(Screened { answers: given, excluded: None })
    }

    /// Lines of the trial file's canonical form.
    #[must_use]
    pub fn canonical(&self) -> String {
        let line = |question: &Question| {
            let Question { text, allowed, consent } = question;
            let consent = if *consent { "consent" } else { "criterion" };
            format!("eligibility {} {consent} {}:{text}\n", allowed.name(), text.len())
        };
        self.0.iter().map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::trial_file::{EXAMPLE, TrialFile};

    const QUESTIONS: &str = "[[eligibility]]\ntext = \"Adult?\"\nanswer = \"yes\"\n\
        [[eligibility]]\ntext = \"Pregnant?\"\nanswer = \"no\"\n\
        [[eligibility]]\ntext = \"Signed?\"\nanswer = \"yes\"\nconsent = true\n";

    fn trial(questions: &str) -> Result<TrialFile, String> {
        TrialFile::parse("t", &format!("{EXAMPLE}\n{questions}")).map_err(|e| e.to_string())
    }

    /// All answers must be the allowed ones; the first that is not decides and is the reason.
    #[test]
    fn answers_decide() {
        let asked = trial(QUESTIONS).unwrap().eligibility;
        let evaluate = |answers: &str| {
            let answer = |c| if c == 'y' { Answer::Yes } else { Answer::No };
            let answers: Vec<Answer> = answers.chars().map(answer).collect();
            asked.evaluate(&answers).map(|done| (done.answers.len(), done.excluded))
        };
        let excluded = |why: &str| Some(why.to_owned());
        assert_eq!(evaluate("yny"), Ok((3, None)));
        assert_eq!(evaluate("n"), Ok((1, excluded("Adult? no"))));
        assert_eq!(evaluate("yyy"), Ok((2, excluded("Pregnant? yes"))));
        assert_eq!(evaluate("ynn"), Ok((3, excluded("no consent"))));
        assert!(evaluate("yn").unwrap_err().contains("question 3 has no answer: \"Signed?\""));
        assert_eq!(evaluate("ynyy"), Err("4 answers, allowed 3".to_owned()));
    }

    /// Every change of a question changes the digest; a file without questions has none.
    #[test]
    fn wording_is_in_the_digest() {
        let digest =
            |from: &str, to: &str| trial(&QUESTIONS.replacen(from, to, 1)).unwrap().digest();
        let asked = digest("Adult", "Adult");
        assert_ne!(asked, TrialFile::example().unwrap().digest());
        for (from, to) in [
            ("Adult", "Grown up"),
            ("answer = \"no\"", "answer = \"yes\""),
            ("consent = true", "consent = false"),
        ] {
            assert_ne!(digest(from, to), asked, "{to}");
        }
    }

    /// Errors name the question.
    #[test]
    fn bad_questions_are_refused() {
        for (from, to, why) in [
            ("Adult?", "", "eligibility[0].text = \"\", allowed 1 to 120 characters"),
            ("Pregnant?", "Adult?", "eligibility[1].text = \"Adult?\" is there twice"),
            ("\"yes\"\nconsent", "\"no\"\nconsent", "eligibility[2] has consent = true and answer"),
            ("\"no\"", "\"no\"\nconsent = true", "eligibility has consent = true twice"),
            ("\"no\"", "\"perhaps\"", "unknown variant `perhaps`"),
        ] {
            let error = trial(&QUESTIONS.replacen(from, to, 1)).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }
}
