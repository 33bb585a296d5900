//! Patient codes: what the ward calls a patient.
//!
//! Two codes are the same if they differ only in case or in blanks around them ([`folded`]). Every
//! code has 1 to 24 letters, digits, `-`, `_`, `.` or `/`. A trial file may ask for more
//! ([`CodeRule`]): `code` is a regular expression for the whole code, `code-check` a check digit,
//! which is the last digit of the code and covers all digits before it.

use regex_lite::Regex;
use serde::Deserialize;

/// Longest patient code.
pub const MAX_CODE: usize = 24;

/// The rule for codes of a trial.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CodeRule {
    pattern: Option<String>,
    check: Option<CheckDigit>,
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
    /// The pattern is no regular expression.
    pub fn new(pattern: Option<String>, check: Option<CheckDigit>) -> Result<Self, String> {
        if let Some(pattern) = &pattern {
            compiled(pattern).map_err(|error| {
                format!(
                    "code = {pattern:?} is no regular expression ({error}), allowed for example P-[0-9]{{3}}"
                )
            })?;
        }
        Ok(Self { pattern, check })
    }

    /// The code without surrounding blanks, if the rule allows it.
    ///
    /// # Errors
    /// The code and what is allowed.
    pub fn check(&self, code: &str) -> Result<String, String> {
        let code = code.trim();
        let allowed = |c: char| c.is_alphanumeric() || "-_./".contains(c);
        if code.is_empty() || code.chars().count() > MAX_CODE || !code.chars().all(allowed) {
            return Err(format!(
                "the patient code {code:?} is not allowed: 1 to {MAX_CODE} letters, digits, - _ . or /"
            ));
        }
        if let Some(pattern) = &self.pattern
            && !compiled(pattern).is_ok_and(|regex| regex.is_match(code))
        {
            return Err(format!(
                "the patient code {code:?} is not allowed: this trial's codes are like {pattern}"
            ));
        }
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

    /// The pattern, if there is one.
    #[must_use]
    pub fn pattern(&self) -> Option<&str> {
        self.pattern.as_deref()
    }
}

fn compiled(pattern: &str) -> Result<Regex, regex_lite::Error> {
    Regex::new(&format!("^(?:{pattern})$"))
}

/// The form by which codes are compared: without case and surrounding blanks.
#[must_use]
pub fn folded(code: &str) -> String {
    // By way of upper case, because some letters have one upper and two lower cases.
    code.trim().to_uppercase().to_lowercase()
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
        let digits: Vec<u8> = code
            .chars()
            .filter_map(|c| c.to_digit(10))
            .filter_map(|d| u8::try_from(d).ok())
            .collect();
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
        for bad in ["P-1", "P-0011", "p-001", "AX", ""] {
            assert!(rule.check(bad).is_err(), "{bad}");
        }
        assert!(CodeRule::new(Some("P-[0-9".to_owned()), None).is_err());
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

    #[test]
    fn case_and_blanks_make_no_other_code() {
        assert_eq!(folded(" P-001"), folded("p-001 "));
        assert_eq!(folded("ſtraße"), folded("STRASSE"));
        assert_ne!(folded("P-001"), folded("P-01"));
    }
}
