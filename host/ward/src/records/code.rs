//! Patient codes: what the ward calls a patient.
//!
//! A code has 1 to 24 ASCII letters, digits, `-`, `_`, `.` or `/`. Two codes that look alike are
//! the same patient's: those that differ only in case, in blanks around them or in the shape of
//! their letters ([`crate::records::alike`]). Logs of earlier versions hold codes of any script, so
//! all codes are compared in that way, whatever a new one may be.
//!
//! A trial file may change the rule for new codes ([`CodeRule`]), also while its trial runs: no key
//! is part of the file's digest.
//! - `code-unicode = true` allows letters and digits of all scripts. A code is taken in NFKC, the
//!   form without full-width, mathematical or circled letters.
//! - `code` is a regular expression for the whole code. Case does not decide: a code that fits in
//!   capitals or small letters alone is taken so.
//! - `code-example` is a code that the rule allows, shown where a code is typed and in errors.
//! - `code-check` is a check digit: the last digit of the code, which covers all digits before it.

use regex_lite::Regex;
use serde::Deserialize;

use crate::records::alike::{digit, nfkc};
use crate::records::text::{escaped, is_plain, named};

/// Longest patient code.
pub const MAX_CODE: usize = 24;

/// The rule for codes of a trial.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CodeRule {
    pattern: Option<String>,
    check: Option<CheckDigit>,
    unicode: bool,
    example: Option<String>,
}

/// How a check digit is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckDigit {
    /// Every second digit doubled, sum divisible by ten. Finds every single wrong digit.
    Luhn,
    /// A quasigroup of order ten. Finds every single wrong digit and every swap of neighbours.
    Damm,
}

impl CodeRule {
    /// A rule.
    ///
    /// # Errors
    /// The pattern is not a regular expression.
    pub fn new(pattern: Option<String>, check: Option<CheckDigit>) -> Result<Self, String> {
        if let Some(pattern) = &pattern {
            compiled(pattern).map_err(|error| {
                format!(
                    "code = {pattern:?} is no regular expression ({error}), allowed for example P-[0-9]{{3}}"
                )
            })?;
        }
        Ok(Self { pattern, check, unicode: false, example: None })
    }

    /// The same rule, for letters and digits of all scripts or for ASCII alone.
    #[must_use]
    pub const fn with_unicode(mut self, unicode: bool) -> Self {
        self.unicode = unicode;
        self
    }

    /// The same rule with an example of a code.
    ///
    /// # Errors
    /// The rule does not allow the example.
    pub fn with_example(mut self, example: Option<String>) -> Result<Self, String> {
        if let Some(code) = &example {
            self.check(code).map_err(|why| format!("code-example = {code:?}: {why}"))?;
        }
        self.example = example;
        Ok(self)
    }

    /// How a code is written, in words for the person who types one.
    #[must_use]
    pub fn hint(&self) -> String {
        match &self.example {
            Some(example) => format!("As in the ward's list, for example {example}."),
            None if self.unicode => {
                "Letters, digits, - _ . or /, as in the ward's list.".to_owned()
            }
            None => "Letters A to Z, digits, - _ . or /, as in the ward's list.".to_owned(),
        }
    }

    /// Whether letters and digits of all scripts are allowed.
    #[must_use]
    pub const fn unicode(&self) -> bool {
        self.unicode
    }

    /// The code without surrounding blanks, in NFKC, if the rule allows it.
    ///
    /// # Errors
    /// The code, the character that is not allowed, and what is.
    pub fn check(&self, typed: &str) -> Result<String, String> {
        let typed = typed.trim();
        let code = if self.unicode { nfkc(typed) } else { typed.to_owned() };
        let letter =
            |c: char| if self.unicode { c.is_alphanumeric() } else { c.is_ascii_alphanumeric() };
        let allowed = |c: char| letter(c) && is_plain(c) || "-_./".contains(c);
        if let Some(bad) = code.chars().find(|c| !allowed(*c)) {
            // The character that was typed, if it became another in NFKC.
            let bad = typed.chars().find(|c| nfkc(&c.to_string()).contains(bad)).unwrap_or(bad);
            let what = match (self.unicode, bad.is_alphanumeric() && is_plain(bad)) {
                (true, _) => "no letter or digit, and none of - _ . /",
                (false, false) => "none of A-Z a-z 0-9 - _ . /",
                (false, true) => {
                    "none of A-Z a-z 0-9 - _ . /; more with code-unicode = true in the trial file"
                }
            };
            return Err(format!(
                "the patient code {} is not allowed: {} is {what}",
                escaped(&format!("{typed:?}")),
                named(bad)
            ));
        }
        if code.is_empty() || code.chars().count() > MAX_CODE {
            return Err(format!(
                "the patient code {code:?} is not allowed: 1 to {MAX_CODE} letters, digits, - _ . or /"
            ));
        }
        let code = self.fitted(code)?;
        let code = code.as_str();
        if let Some(check) = self.check
            && !check.holds(code)
        {
            let name = check.name();
            return Err(format!(
                "the patient code {code:?} is not allowed: its last digit is not the {name} check digit of the \
                 digits before it; a digit is mistyped"
            ));
        }
        Ok(code.to_owned())
    }

    /// The code in the letters of the pattern: as typed, in capitals, in small letters, or in any
    /// mixture of them that fits.
    fn fitted(&self, code: String) -> Result<String, String> {
        let Some(pattern) = &self.pattern else { return Ok(code) };
        let fits = |code: &String| compiled(pattern).is_ok_and(|regex| regex.is_match(code));
        let forms = [code.clone(), code.to_uppercase(), code.to_lowercase()];
        if let Some(form) = forms.into_iter().find(fits) {
            return Ok(form);
        }
        let any_case = Regex::new(&format!("(?i)^(?:{pattern})$"));
        if any_case.is_ok_and(|regex| regex.is_match(&code)) {
            return Ok(code);
        }
        let like = match &self.example {
            Some(example) => format!("a code of this trial looks like {example}"),
            None => format!("codes of this trial have the form {pattern}"),
        };
        Err(format!("the patient code {code:?} is not allowed: {like}"))
    }

    /// The pattern, if there is one.
    #[must_use]
    pub fn pattern(&self) -> Option<&str> {
        self.pattern.as_deref()
    }
}

fn compiled(pattern: &str) -> Result<Regex, regex_lite::Error> {
    Regex::new(&format!("^(?:{pattern})$"))
}

/// Damm's quasigroup.
const DAMM: [[u8; 10]; 10] = [
    [0, 3, 1, 7, 5, 9, 8, 6, 4, 2],
    [7, 0, 9, 2, 1, 5, 4, 8, 6, 3],
    [4, 2, 0, 6, 8, 7, 1, 3, 5, 9],
    [1, 7, 5, 0, 9, 8, 3, 4, 2, 6],
    [6, 1, 2, 3, 0, 4, 5, 9, 7, 8],
    [3, 6, 7, 4, 2, 0, 9, 5, 8, 1],
    [5, 8, 6, 9, 7, 2, 0, 1, 3, 4],
    [8, 9, 4, 5, 3, 6, 2, 0, 1, 7],
    [9, 4, 3, 8, 6, 1, 7, 2, 0, 5],
    [2, 5, 8, 1, 4, 3, 6, 7, 9, 0],
];

impl CheckDigit {
    /// Its name in a trial file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Luhn => "luhn",
            Self::Damm => "damm",
        }
    }

    /// The check digit of these digits.
    #[must_use]
    pub fn digit(self, digits: &str) -> Option<u32> {
        (0..10).find(|digit| self.holds(&format!("{digits}{digit}")))
    }

    /// Whether the last digit of the code is right; a code needs two digits at least.
    fn holds(self, code: &str) -> bool {
        let digits: Vec<u8> =
            code.chars().filter_map(digit).filter_map(|d| u8::try_from(d).ok()).collect();
        let sum = match self {
            Self::Luhn => {
                let doubled = |(place, digit): (usize, &u8)| {
                    let value = u32::from(*digit) * if place % 2 == 1 { 2 } else { 1 };
                    if value > 9 { value - 9 } else { value }
                };
                digits.iter().rev().enumerate().map(doubled).sum::<u32>() % 10
            }
            Self::Damm => digits
                .iter()
                .fold(0_u8, |row, digit| DAMM[usize::from(row)][usize::from(*digit)])
                .into(),
        };
        digits.len() > 1 && sum == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(pattern: Option<&str>, check: Option<CheckDigit>) -> CodeRule {
        CodeRule::new(pattern.map(str::to_owned), check).unwrap()
    }

    #[test]
    fn pattern_covers_the_whole_code() {
        let rule = rule(Some("P-[0-9]{3}|X"), None);
        assert_eq!(rule.check(" P-001 "), Ok("P-001".to_owned()));
        assert_eq!(rule.check("X"), Ok("X".to_owned()));
        for bad in ["P-1", "P-0011", "AX", ""] {
            assert!(rule.check(bad).is_err(), "{bad}");
        }
        assert!(CodeRule::new(Some("P-[0-9".to_owned()), None).is_err());
    }

    /// Case does not decide, and the code gets the letters of the pattern; an example is checked,
    /// and shown where a code is not allowed.
    #[test]
    fn case_does_not_decide() {
        let plain = rule(Some("P-[0-9]{3}|Mx[a-c]"), None);
        for (typed, code) in [("p-001", "P-001"), ("P-001", "P-001"), ("mXB", "mXB")] {
            assert_eq!(plain.check(typed), Ok(code.to_owned()), "{typed}");
        }
        assert!(plain.check("P-1").unwrap_err().ends_with("have the form P-[0-9]{3}|Mx[a-c]"));
        let shown = plain.clone().with_example(Some("P-042".to_owned())).unwrap();
        let why = shown.check("P-1").unwrap_err();
        assert!(why.ends_with("a code of this trial looks like P-042"), "{why}");
        assert_eq!(shown.hint(), "As in the ward's list, for example P-042.");
        let why = plain.with_example(Some("42".to_owned())).unwrap_err();
        assert!(why.starts_with("code-example = \"42\": the patient code"), "{why}");
    }

    /// Both check digits find every single wrong digit; Damm also finds every swap of neighbours.
    #[test]
    fn check_digits_find_slips() {
        for (check, good) in [(CheckDigit::Luhn, "79927398713"), (CheckDigit::Damm, "5724")] {
            let rule = rule(None, Some(check));
            assert!(rule.check(good).is_ok());
            assert!(rule.check(&format!("H-{good}")).is_ok(), "letters do not count");
            for place in 0..good.len() {
                for digit in '0'..='9' {
                    let mut typed: Vec<char> = good.chars().collect();
                    typed[place] = digit;
                    let typed: String = typed.into_iter().collect();
                    assert_eq!(rule.check(&typed).is_ok(), typed == good, "{check:?} {typed}");
                }
            }
            assert!(rule.check("0").is_err() && rule.check("A").is_err(), "two digits at least");
        }
        let damm = rule(None, Some(CheckDigit::Damm));
        for swapped in ["7524", "5274", "5742"] {
            assert!(damm.check(swapped).is_err(), "{swapped}");
        }
    }

    /// The character that is not allowed is named, as it was typed, with what is allowed.
    #[test]
    fn forbidden_characters_are_named() {
        let (plain, unicode) = (rule(None, None), rule(None, None).with_unicode(true));
        let why = plain.check("P-１").unwrap_err();
        assert_eq!(
            why,
            "the patient code \"P-１\" is not allowed: '１' (U+FF11) is none of A-Z a-z 0-9 - _ . /; \
             more with code-unicode = true in the trial file"
        );
        for (code, sign) in [
            ("P 1", "' ' (U+0020)"),
            ("P\u{202E}1", "U+202E"),
            ("P\u{7}1", "U+0007"),
            ("P=1", "'=' (U+003D)"),
            ("P\u{3164}1", "U+3164"),
            ("q\u{308}1", "'\\u{308}' (U+0308)"),
            ("P½", "'½' (U+00BD)"),
        ] {
            for rule in [&plain, &unicode] {
                let why = rule.check(code).unwrap_err();
                assert!(why.contains(&format!("not allowed: {sign}")), "{code:?}: {why}");
                assert!(why.chars().all(is_plain), "{why:?}");
            }
        }
        for (typed, kept) in [("Ｐ-１", "P-1"), ("E\u{301}1", "É1"), ("Ж-٣", "Ж-٣"), (" ⅷ", "viii")]
        {
            assert!(plain.check(typed).is_err(), "{typed}");
            assert_eq!(unicode.check(typed), Ok(kept.to_owned()));
        }
        // A ligature of eighteen letters counts as these.
        assert!(unicode.check("\u{FDFA}").is_err(), "it has blanks");
        assert_eq!(unicode.check(&"ﬃ".repeat(8)), Ok("ffi".repeat(8)));
        assert!(unicode.check(&"ﬃ".repeat(9)).is_err());
    }

    /// A check digit covers the digits of all scripts, by their value.
    #[test]
    fn check_digits_of_all_scripts_count() {
        let rule = rule(None, Some(CheckDigit::Damm)).with_unicode(true);
        for good in ["5724", "٥٧٢٤", "５７24", "H-५724"] {
            assert!(rule.check(good).is_ok(), "{good}");
        }
        for bad in ["٥٧٢5", "5742", "٥٧٤٢"] {
            assert!(rule.check(bad).is_err(), "{bad}");
        }
    }
}
