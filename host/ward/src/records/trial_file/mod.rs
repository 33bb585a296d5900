//! The trial file: one TOML file with the plan and the words the screen shows.
//!
//! | key | meaning | allowed |
//! |---|---|---|
//! | `version` | version of the format | 2 |
//! | `title` | name of the trial | 1 to 160 characters |
//! | `features` | names of the kinds of patient, in the device's order from 0 | 1 to 64 different names |
//! | `[factors]` | instead of `features`: factors with their levels, see [`crate::records::factors`] | up to 64 combinations |
//! | `arms` | names of arm 0 and arm 1 | 2 different names |
//! | `code` | what patient codes look like, see [`crate::records::code`]; may be left out | a regular expression |
//! | `code-example` | a patient code, shown where one is typed; may be left out | a code that the other keys allow |
//! | `code-check` | check digit of patient codes; may be left out | `"luhn"`, `"damm"` |
//! | `code-unicode` | whether patient codes may have letters and digits of all scripts; may be left out | `true`, `false` |
//! | `sign` | acts for which a person of the staff types the PIN again; may be left out | of `"enrol"`, `"outcome"`, `"unblind"` |
//! | `lock-after` | minutes after which a view that is left alone shows nothing of patients, where there is a staff file; may be left out | 0.05 to 480; 10 |
//! | `blinded` | patients are given kit numbers, not arms; may be left out | `true`, with `kits` in `[plan]`; `false` |
//! | `[kits]` | what is written on a kit, see [`super::kit_label`]; may be left out | only in a blinded trial |
//! | `[plan]` | the keys of [`equipoise::plan`]; `features` may be left out, it is the number of names | numbers as integers, decimals or `"num/den"` |
//! | `[boundary]` `kind`, `effect` | critical values for several reports and the planned effect, see [`equipoise_study::boundaries`]; may be left out | `"obrien-fleming"`, `"pocock"`; -1..=1 |
//! | `[expect]` `baseline`, `effect` | mean outcome under arm 0, and under arm 1 less that, as shares of the scale, see [`crate::records::expect`]; may be left out | 0..=1 both |
//! | `[[eligibility]]` `text`, `answer`, `consent` | questions before every enrolment, see [`crate::records::eligibility`]; may be left out | up to 20 |
//! | `[outcome]` `question` | what is asked about a patient | 1 to 160 characters |
//! | `[outcome]` `better` | which outcome is the better one | `"high"`, `"low"`, or the first or last label |
//! | `[outcome]` `due` | how long after the enrolment the outcome is due; may be left out | as `"14 days"` |
//! | `[outcome]` `labels` | names of the outcomes 0, 1, ..; without them an outcome is entered as a number | `scale` + 1 different names |
//!
//! A name has 1 to 80 characters, none of them control or invisible characters. Errors name file,
//! key, value and what is allowed. The device sees numbers and a digest ([`digest`]), no names.

mod check;
mod digest;

use std::fmt;
use std::path::Path;

use crate::records::alike::check_names;
use crate::records::code::CodeRule;
use crate::records::due::Due;
use crate::records::eligibility::Eligibility;
use crate::records::expect::Expect;
use crate::records::factors::Factors;
use crate::records::kit_label::KitLabel;
use crate::records::register::Treatment;
use crate::records::signing::Signing;
pub use digest::DIGEST_BYTES;
use equipoise::plan::Plan;
use equipoise::terms::Arm;
use equipoise_study::boundaries::adjusted::Boundary;

/// Version of the format. Files of version 1, which equipoise 0.1 and 0.2 read, do not name theirs.
pub const VERSION: i64 = 2;

/// The example that ships with the program.
pub const EXAMPLE: &str = include_str!("../../../../../examples/trial.toml");

/// A trial: its plan and its words.
#[derive(Clone, Debug, PartialEq)]
pub struct TrialFile {
    /// Name of the trial.
    pub title: String,
    /// The plan sent to the device.
    pub plan: Plan,
    /// Names of the features, as many as the plan has.
    pub features: Vec<String>,
    /// The factors behind the features.
    pub factors: Factors,
    /// Names of the two arms.
    pub arms: [String; 2],
    /// Question about a patient's outcome.
    pub question: String,
    /// Names of the outcomes 0..=scale, if they have any.
    pub labels: Option<Vec<String>>,
    /// Rule for patient codes.
    pub code: CodeRule,
    /// When the outcome of a patient is due, if the file says so.
    pub due: Option<Due>,
    /// How intervals are kept valid over several reports, if the file says so.
    pub boundary: Option<Boundary>,
    /// Effect that the trial was planned for, if the file says so.
    pub expect: Option<Expect>,
    /// Form of kit labels, in a blinded trial.
    pub kits: Option<KitLabel>,
    /// Questions before every enrolment.
    pub eligibility: Eligibility,
    /// Acts that are signed, and when views are locked.
    pub signing: Signing,
}

/// Why a trial file was not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrialFileError {
    file: String,
    what: String,
}

impl fmt::Display for TrialFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.file, self.what)
    }
}

impl std::error::Error for TrialFileError {}

impl TrialFile {
    /// The built-in example.
    ///
    /// # Errors
    /// Never for the file that ships; a test holds it to that.
    pub fn example() -> Result<Self, TrialFileError> {
        Self::parse("the built-in example", EXAMPLE)
    }

    /// Reads a trial file.
    ///
    /// # Errors
    /// The file cannot be read, or something in it is not allowed.
    pub fn read(path: &Path) -> Result<Self, TrialFileError> {
        let file = path.display().to_string();
        match std::fs::read_to_string(path) {
            Ok(text) => Self::parse(&file, &text),
            Err(error) => Err(TrialFileError { file, what: format!("cannot be read: {error}") }),
        }
    }

    /// Reads the text of a trial file; `file` is its name in errors.
    ///
    /// # Errors
    /// The first thing that is not allowed.
    pub fn parse(file: &str, text: &str) -> Result<Self, TrialFileError> {
        check::check(text).map_err(|what| TrialFileError { file: file.to_owned(), what })
    }

    /// Checks what a trial must not begin with, although one that runs goes on with it: kinds of
    /// patient, arms or outcomes that look alike.
    ///
    /// # Errors
    /// The two names.
    pub fn check_new(&self) -> Result<(), String> {
        check_names("features", &self.features)?;
        check_names("arms", &self.arms)?;
        check_names("outcome.labels", self.labels.as_deref().unwrap_or_default())
    }

    /// The name of a feature, or its number if the file has none.
    #[must_use]
    pub fn feature_name(&self, feature: u8) -> String {
        self.features
            .get(usize::from(feature))
            .cloned()
            .unwrap_or_else(|| format!("feature {feature}"))
    }

    /// The name of an arm.
    #[must_use]
    pub fn arm_name(&self, arm: Arm) -> &str {
        let [zero, one] = &self.arms;
        if arm == Arm::One { one } else { zero }
    }

    /// Treatment of a patient in words: the only place that names an arm or a kit to the ward.
    #[must_use]
    pub fn given(&self, given: &Treatment) -> String {
        match given {
            Treatment::Arm(arm) => format!("arm {}, {}", arm.index(), self.arm_name(*arm)),
            Treatment::Kits { .. } => format!("kit {}", self.given_name(given)),
        }
    }

    /// The same as short as can be: the arm's name, or the kit's label.
    #[must_use]
    pub fn given_name(&self, given: &Treatment) -> String {
        match given {
            Treatment::Arm(arm) => self.arm_name(*arm).to_owned(),
            Treatment::Kits { kits, .. } => {
                kits.last().map_or("unknown".to_owned(), |kit| self.kit_label(*kit))
            }
        }
    }

    /// The label of the kit that the last one was given in place of, if it was.
    #[must_use]
    pub fn replaced_name(&self, given: &Treatment) -> Option<String> {
        match given {
            Treatment::Kits { kits, .. } => match kits.as_slice() {
                [.., old, _] => Some(self.kit_label(*old)),
                _ => None,
            },
            Treatment::Arm(_) => None,
        }
    }

    /// The label of a kit; its number in a trial that is not blinded.
    #[must_use]
    pub fn kit_label(&self, kit: u32) -> String {
        self.kits.as_ref().map_or_else(|| kit.to_string(), |labels| labels.label(kit))
    }

    /// The feature of this name or number; case does not decide.
    #[must_use]
    pub fn feature(&self, text: &str) -> Option<u8> {
        let place = place_of(&self.features, text);
        let feature =
            place.and_then(|place| u8::try_from(place).ok()).or_else(|| text.parse().ok())?;
        (feature < self.plan.features()).then_some(feature)
    }

    /// The outcome of this label or number; case does not decide.
    #[must_use]
    pub fn outcome(&self, text: &str) -> Option<u16> {
        let labels = self.labels.as_deref().unwrap_or_default();
        let place = place_of(labels, text);
        let outcome =
            place.and_then(|place| u16::try_from(place).ok()).or_else(|| text.parse().ok())?;
        (outcome <= self.plan.scale()).then_some(outcome)
    }
}

/// The place of a name: as it is written, or else the only one that differs in case alone.
fn place_of(names: &[String], text: &str) -> Option<usize> {
    let written = names.iter().position(|name| name == text);
    let same = |name: &&String| name.to_lowercase() == text.to_lowercase();
    let only = || names.iter().filter(same).count() == 1;
    written.or_else(|| names.iter().position(|name| same(&name)).filter(|_| only()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_example_is_a_valid_trial() {
        let trial = TrialFile::example().unwrap();
        assert_eq!(trial.features.len(), 4);
        assert_eq!(
            trial.plan.to_string(),
            "design=interim features=4 patients=4000 scale=1 better=high alpha=1/4 epsilon=1 beta=1/20 reports=0"
        );
        assert_eq!(trial.feature("65 or over, home"), Some(2));
        assert_eq!(trial.feature("3"), Some(3));
        assert_eq!(trial.feature("4"), None);
        assert_eq!(trial.feature("65 OR OVER, home"), Some(2));
        assert_eq!((trial.outcome("YES"), trial.outcome("No")), (Some(1), Some(0)));
        assert_eq!(trial.outcome("yes"), Some(1));
        assert_eq!(trial.outcome("2"), None);
        assert_eq!(trial.arm_name(Arm::One), "Early walking");
    }

    /// A file of version 1 is refused by its name.
    #[test]
    fn version_1_is_refused_by_name() {
        let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/trial-1.toml");
        let error = TrialFile::read(Path::new(golden)).unwrap_err().to_string();
        assert!(
            error.contains("trial-1.toml: there is no version: it is a trial file of version 1")
        );
        assert!(error.contains("Finish a running trial with equipoise 0.2"), "{error}");
    }

    /// Every error names the file, the key, the value and what is allowed.
    #[test]
    fn errors_name_file_key_and_value() {
        for (from, to, message) in [
            ("epsilon = 1 ", "epsilon = 0 ", "[plan] epsilon=0 allowed 1/1000..=20"),
            ("epsilon = 1 ", "epsilon = true ", "plan.epsilon = true, allowed a number or a text"),
            ("patients = 4000", "patient = 4000", "[plan] patient is no key=value of a plan"),
            ("patients = 4000", "", "[plan] patients missing allowed 2..=10000000"),
            (
                "scale = 1 ",
                "scale = 2 ",
                "outcome.labels has 2 names, allowed exactly 3 (0..=plan.scale)",
            ),
            (
                "scale = 1 ",
                "scale = 100 ",
                "outcome.labels is for a scale below 12, plan.scale = 100: leave the labels out",
            ),
            (
                "scale = 1 ",
                "features = 3 ",
                "plan.features = 3, but features has 4 names: they must agree",
            ),
            (
                "title",
                "blinded = true\ntitle",
                "blinded = true, but plan.kits is 0 or missing, allowed 4000..=1048576",
            ),
            (
                "scale = 1 ",
                "kits = 5000\nscale = 1 ",
                "plan.kits = 5000, but blinded is not true: they must agree",
            ),
            (
                "scale = 1 ",
                "kits = 3999\nscale = 1 ",
                "[plan] kits=3999 patients=4000 allowed kits=0, or 4000..=1048576",
            ),
            (
                "[plan]",
                "[kits]\n[plan]",
                "[kits] is there, but blinded is not true: they must agree",
            ),
            (
                "better = \"high\"",
                "",
                "there is no outcome.better: add to [outcome] the line better = \"yes\" or the line better = \"no\", \
                 whichever outcome is the better one",
            ),
            (
                "better = \"high\"",
                "better = \"maybe\"",
                "outcome.better = \"maybe\", allowed \"high\" \"low\" \"yes\" \"no\"",
            ),
            ("scale = 1 ", "better = \"high\"\nscale = 1 ", "[plan] better given twice"),
            ("\"Usual care\", ", "", "arms has 1 names, allowed exactly 2"),
            (
                "\"Usual care\"",
                "\"Early walking\"",
                "arms[1] = \"Early walking\" is there twice, allowed different names",
            ),
            (
                "\"Usual care\"",
                "\"\"",
                "arms[0] = \"\", allowed 1 to 80 characters, none of them control or invisible characters",
            ),
        ] {
            assert!(EXAMPLE.contains(from), "{from}");
            let error = TrialFile::parse("t.toml", &EXAMPLE.replacen(from, to, 1)).unwrap_err();
            assert_eq!(error.to_string(), format!("t.toml: {message}"));
        }
        let unknown =
            TrialFile::parse("t.toml", &format!("colour = 1\n{EXAMPLE}")).unwrap_err().to_string();
        assert!(unknown.contains("t.toml") && unknown.contains("colour"), "{unknown}");
        let next = EXAMPLE.replacen("version = 2", "version = 3", 1);
        let error = TrialFile::parse("t.toml", &next).unwrap_err().to_string();
        assert_eq!(error, "t.toml: version = 3, allowed 2");
        let missing = TrialFile::read(Path::new("/nowhere/t.toml")).unwrap_err().to_string();
        assert!(missing.starts_with("/nowhere/t.toml: cannot be read: "), "{missing}");
    }
}
