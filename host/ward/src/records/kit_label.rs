//! Label of a kit in a blinded trial: a prefix, the kit's number with leading zeros, and a check
//! digit.
//!
//! `site` and `use` are part of the trial file's digest, and so of the key of the kit numbers: two
//! devices, or one device that begins anew, never give the same kits. Were they the same, comparing
//! the kits given would show which are of one arm.
//!
//! | key of `[kits]` | meaning | allowed | if absent |
//! |---|---|---|---|
//! | `site` | ward or hospital whose device the file is for | 1 to 40 characters | required |
//! | `use` | how often the trial was begun at this site, counted from 1 | 1 to 1000 | required |
//! | `prefix` | stands before the number | up to 8 letters and `-` | nothing |
//! | `digits` | digits of the number, without the check digit | as many as the largest number needs, to 9 | as many as needed |
//! | `check` | check digit, the last digit of the label | `"luhn"`, `"damm"` | none |

use serde::Deserialize;

use crate::records::code::CheckDigit;
use crate::records::text::{self, named};

const MAX_PREFIX: usize = 8;
const MAX_DIGITS: usize = 9;
const MAX_SITE: usize = 40;
const MAX_USES: u32 = 1000;

/// `[kits]` as written in a trial file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawLabel {
    prefix: Option<String>,
    digits: Option<usize>,
    check: Option<CheckDigit>,
    site: Option<String>,
    #[serde(rename = "use")]
    number: Option<u32>,
}

impl RawLabel {
    /// The labels of the demonstration.
    #[must_use]
    pub fn example() -> Self {
        Self {
            prefix: Some("K-".to_owned()),
            digits: None,
            check: Some(CheckDigit::Damm),
            site: Some("demo".to_owned()),
            number: Some(1),
        }
    }
}

/// How kit numbers look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KitLabel {
    prefix: String,
    digits: usize,
    check: Option<CheckDigit>,
    /// The largest kit number.
    largest: u32,
    /// Ward or hospital.
    site: String,
    /// How often the trial was begun there.
    number: u32,
}

impl KitLabel {
    /// The labels of a trial with so many kits an arm.
    ///
    /// # Errors
    /// The value and what is allowed.
    pub fn new(raw: RawLabel, kits: u32) -> Result<Self, String> {
        let prefix = raw.prefix.unwrap_or_default();
        let allowed = |c: char| c.is_ascii_alphabetic() || c == '-';
        if prefix.len() > MAX_PREFIX || !prefix.chars().all(allowed) {
            return Err(format!(
                "kits.prefix = {prefix:?}, allowed up to {MAX_PREFIX} letters and -"
            ));
        }
        let largest = kits * 2;
        let needed = largest.to_string().len();
        let digits = raw.digits.unwrap_or(needed);
        if !(needed..=MAX_DIGITS).contains(&digits) {
            return Err(format!(
                "kits.digits = {digits}, allowed {needed}..={MAX_DIGITS}: the largest kit is number {largest}"
            ));
        }
        let site = raw.site.ok_or(
            "there is no kits.site: add to [kits] the line site = \"..\", the ward or hospital whose device this file is \
             for",
        )?;
        text::check("kits.site", &site, MAX_SITE)?;
        let number = raw.number.ok_or(
            "there is no kits.use: add to [kits] the line use = 1, and count it up for every trial that is begun anew",
        )?;
        if !(1..=MAX_USES).contains(&number) {
            return Err(format!("kits.use = {number}, allowed 1..={MAX_USES}"));
        }
        Ok(Self { prefix, digits, check: raw.check, largest, site, number })
    }

    /// Site and use, as lists and messages name them.
    #[must_use]
    pub fn place(&self) -> String {
        format!("site {}, use {}", self.site, self.number)
    }

    fn digits(&self, kit: u32) -> String {
        let digits = self.digits;
        format!("{kit:0digits$}")
    }

    /// The check digit of a kit, if labels have one.
    #[must_use]
    pub fn check_digit(&self, kit: u32) -> Option<u32> {
        self.check.and_then(|check| check.digit(&self.digits(kit)))
    }

    /// The label of a kit.
    #[must_use]
    pub fn label(&self, kit: u32) -> String {
        let check = self.check_digit(kit).map_or(String::new(), |digit| digit.to_string());
        format!("{}{}{check}", self.prefix, self.digits(kit))
    }

    /// The kit of a label, whatever its case.
    ///
    /// # Errors
    /// The label and what is allowed.
    pub fn kit(&self, label: &str) -> Result<u32, String> {
        let label = label.trim();
        let like =
            format!("this trial's kits are {} to {}", self.label(1), self.label(self.largest));
        let digits = label
            .get(..self.prefix.len())
            .filter(|prefix| prefix.eq_ignore_ascii_case(&self.prefix))
            .and_then(|prefix| label.get(prefix.len()..));
        let length = self.digits + usize::from(self.check.is_some());
        let digits = digits
            .filter(|digits| digits.len() == length && digits.bytes().all(|b| b.is_ascii_digit()));
        let kit = digits.and_then(|digits| digits.get(..self.digits)?.parse::<u32>().ok());
        match kit.filter(|kit| (1..=self.largest).contains(kit)) {
            None => {
                let foreign = label.chars().find(|c| !c.is_ascii());
                let foreign =
                    foreign.map_or(String::new(), |c| format!("{} is not on a label, ", named(c)));
                Err(format!("there is no kit {label:?}: {foreign}{like}"))
            }
            Some(kit) if self.label(kit).eq_ignore_ascii_case(label) => Ok(kit),
            Some(_) => Err(format!(
                "there is no kit {label:?}: its check digit is wrong, a digit is mistyped"
            )),
        }
    }

    /// The lines that the trial file's digest covers.
    #[must_use]
    pub fn canonical(&self) -> String {
        let Self { prefix, digits, check, largest, site, number } = self;
        let check = check.map_or("none", CheckDigit::name);
        format!(
            "kits {}\nkit-prefix {}:{prefix}\nkit-digits {digits}\nkit-check {check}\nkit-site {}:{site}\n\
             kit-use {number}\n",
            largest / 2,
            prefix.len(),
            site.len()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn label(prefix: &str, digits: Option<usize>, check: Option<CheckDigit>) -> KitLabel {
        let prefix = Some(prefix.to_owned());
        KitLabel::new(RawLabel { prefix, digits, check, ..RawLabel::example() }, 600).unwrap()
    }

    /// Every label reads back, and no label with one wrong digit does.
    #[test]
    fn labels_read_back_and_slips_do_not() {
        for check in [CheckDigit::Damm, CheckDigit::Luhn] {
            let label = label("K-", Some(5), Some(check));
            for kit in 1..=1_200 {
                let text = label.label(kit);
                assert_eq!(label.kit(&format!(" {} ", text.to_lowercase())), Ok(kit));
                for place in 2..text.len() {
                    let mut slip = text.clone().into_bytes();
                    slip[place] = b'0' + (slip[place] - b'0' + 1) % 10;
                    assert!(label.kit(std::str::from_utf8(&slip).unwrap()).is_err(), "{text}");
                }
            }
        }
        assert_eq!(label("K-", Some(5), Some(CheckDigit::Damm)).label(572), "K-005724");
        assert_eq!(label("", None, None).label(7), "0007");
    }

    #[test]
    fn wrong_labels_are_named() {
        let label = label("K-", None, None);
        for wrong in ["", "K-", "K-0000", "K-1201", "K-00001", "X-0001", "0001", "K-00a1", "é"] {
            let error = label.kit(wrong).unwrap_err();
            assert!(error.contains(wrong) && error.contains("K-0001 to K-1200"), "{error}");
        }
        for (alike, sign) in [("K-０001", "U+FF10"), ("Ｋ-0001", "U+FF2B"), ("K-٠٠٠١", "U+0660")]
        {
            let error = label.kit(alike).unwrap_err();
            assert!(error.contains(sign), "{error}");
        }
        let raw = |prefix: &str, digits| RawLabel {
            prefix: Some(prefix.to_owned()),
            digits: Some(digits),
            ..RawLabel::example()
        };
        for (raw, message) in [
            (raw("K1", 4), "kits.prefix = \"K1\", allowed up to 8 letters and -"),
            (raw("K", 3), "kits.digits = 3, allowed 4..=9: the largest kit is number 1200"),
            (
                RawLabel { site: None, ..RawLabel::example() },
                "there is no kits.site: add to [kits] the line site = \"..\", the ward or hospital whose device this \
                 file is for",
            ),
            (
                RawLabel { number: None, ..RawLabel::example() },
                "there is no kits.use: add to [kits] the line use = 1, and count it up for every trial that is begun \
                 anew",
            ),
            (RawLabel { number: Some(0), ..RawLabel::example() }, "kits.use = 0, allowed 1..=1000"),
        ] {
            assert_eq!(KitLabel::new(raw, 600).unwrap_err(), message);
        }
    }
}
