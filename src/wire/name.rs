//! Which request a refusal answers: its verb, and its patient if it has one.

use core::fmt;

use super::request::{Request, Words};

/// The verbs of requests, one name each.
macro_rules! verbs {
    ($($variant:ident $name:literal)*) => {
        /// The verb of a request.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(missing_docs, reason = "described in the header of the module above")]
        pub enum Verb { $($variant,)* }

        impl Verb {
            /// The verb as written.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            fn named(word: &[u8]) -> Option<Self> {
                $(if word == $name.as_bytes() { return Some(Self::$variant); })*
                None
            }
        }
    };
}
verbs! {
    Hello "HELLO" Status "STATUS" Assign "ASSIGN" Replace "REPLACE" Outcome "OUTCOME" Lost "LOST"
    Report "REPORT" Prove "PROVE" Auth "AUTH" Key "KEY" Plan "PLAN" Close "CLOSE" Erase "ERASE"
}

/// A request as `re=` names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestName {
    /// Its verb.
    pub verb: Verb,
    /// Its patient.
    pub patient: Option<u32>,
}

impl RequestName {
    /// The name of the request in a line that was read before. Read again: a name that is kept with
    /// every request would cost each of them instructions.
    #[inline(never)]
    pub(crate) fn of_line(line: &[u8]) -> Option<Self> {
        let mut words = Words::new(line);
        let end = |word: &[u8]| word.iter().position(|byte| *byte == b'*').unwrap_or(word.len());
        let word = words.next_word();
        let verb = Verb::named(word.get(..end(word))?)?;
        let patient = match verb {
            Verb::Assign | Verb::Replace | Verb::Outcome | Verb::Lost => {
                let word = words.next_word();
                Some(Words::new(word.get(..end(word))?).number().ok()?)
            }
            _ => None,
        };
        Some(Self { verb, patient })
    }

    /// The name of a request without a patient.
    const fn of(verb: Verb) -> Self {
        Self { verb, patient: None }
    }

    /// Reads the value of `re=`.
    pub(super) fn parse(text: &[u8]) -> Option<Self> {
        let Some(at) = text.iter().position(|byte| *byte == b':') else {
            return Verb::named(text).map(Self::of);
        };
        let (verb, patient) = (text.get(..at)?, text.get(at + 1..)?);
        let patient = Words::new(patient).number().ok()?;
        Some(Self { verb: Verb::named(verb)?, patient: Some(patient) })
    }
}

impl fmt::Display for RequestName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.verb.name())?;
        self.patient.map_or(Ok(()), |patient| write!(f, ":{patient}"))
    }
}

impl Request {
    /// How a refusal names this request.
    #[must_use]
    pub const fn name(&self) -> RequestName {
        let (verb, patient) = match self {
            Self::Assign { patient, .. } => (Verb::Assign, Some(*patient)),
            Self::Replace { patient, .. } => (Verb::Replace, Some(*patient)),
            Self::Outcome { patient, .. } => (Verb::Outcome, Some(*patient)),
            Self::Lost { patient } => (Verb::Lost, Some(*patient)),
            Self::Hello => (Verb::Hello, None),
            Self::Status => (Verb::Status, None),
            Self::Report => (Verb::Report, None),
            Self::Prove(_) => (Verb::Prove, None),
            Self::Challenge => (Verb::Auth, None),
            Self::Key(_) => (Verb::Key, None),
            Self::Plan { .. } => (Verb::Plan, None),
            Self::Close => (Verb::Close, None),
            Self::Erase => (Verb::Erase, None),
        };
        RequestName { verb, patient }
    }
}
