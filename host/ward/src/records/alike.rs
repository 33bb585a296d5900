//! Texts that look alike: full-width letters, Arabic digits, mathematical letters, another case.
//!
//! [`folded`] is the form in which patient codes and names are compared, everywhere in the program;
//! the page gets it from the program and folds nothing itself. Two texts look alike if their folded
//! forms are equal. The form is made in this order:
//! 1. NFKC of Unicode, which gives full-width, mathematical and circled letters and digits as the
//!    plain ones, and joins a letter and its accent;
//! 2. lower, upper and again lower case, letter by letter, because some letters have one upper and
//!    two lower cases, or the other way round; NFKC again, because a change of case can part a
//!    letter and its accent;
//! 3. digits of all scripts as 0 to 9, which NFKC leaves as they are;
//! 4. without characters that cannot be seen, and without blanks around it.
//!
//! Not alike are letters of two scripts that share a shape, as Latin A, Greek Α and Cyrillic А:
//! where that matters, `code` in the trial file names the letters that are allowed.

use unicode_normalization::UnicodeNormalization;

use crate::records::text::is_plain;

/// The zeros of all decimal digits that NFKC leaves as they are; 1 to 9 follow each of them.
const ZEROS: [u32; 67] = [
    0x660, 0x6F0, 0x7C0, 0x966, 0x9E6, 0xA66, 0xAE6, 0xB66, 0xBE6, 0xC66, 0xCE6, 0xD66, 0xDE6,
    0xE50, 0xED0, 0xF20, 0x1040, 0x1090, 0x17E0, 0x1810, 0x1946, 0x19D0, 0x1A80, 0x1A90, 0x1B50,
    0x1BB0, 0x1C40, 0x1C50, 0xA620, 0xA8D0, 0xA900, 0xA9D0, 0xA9F0, 0xAA50, 0xABF0, 0x104A0,
    0x10D30, 0x10D40, 0x11066, 0x110F0, 0x11136, 0x111D0, 0x112F0, 0x11450, 0x114D0, 0x11650,
    0x116C0, 0x116D0, 0x116DA, 0x11730, 0x118E0, 0x11950, 0x11BF0, 0x11C50, 0x11D50, 0x11DA0,
    0x11DE0, 0x11F50, 0x16A60, 0x16AC0, 0x16B50, 0x16D70, 0x1E140, 0x1E2F0, 0x1E4F0, 0x1E5F1,
    0x1E950,
];

/// The value of a decimal digit of any script.
#[must_use]
pub fn digit(c: char) -> Option<u32> {
    let value = |zero: &u32| u32::from(c).checked_sub(*zero).filter(|value| *value < 10);
    c.to_digit(10).or_else(|| ZEROS.iter().find_map(value))
}

/// The text in NFKC.
#[must_use]
pub fn nfkc(text: &str) -> String {
    text.nfkc().collect()
}

/// The form by which codes and names are compared; see the module's header.
#[must_use]
pub fn folded(text: &str) -> String {
    if text.is_ascii() && text.chars().all(is_plain) {
        return text.trim().to_ascii_lowercase();
    }
    let upper = text.nfkc().flat_map(char::to_lowercase).flat_map(char::to_uppercase);
    let seen =
        upper.flat_map(char::to_lowercase).nfkc().filter(|c| c.is_whitespace() || !is_unseen(*c));
    let digits = seen.map(|c| digit(c).and_then(|value| char::from_digit(value, 10)).unwrap_or(c));
    digits.collect::<String>().trim().to_owned()
}

/// Whether two codes are the same patient's.
#[must_use]
pub fn alike(one: &str, other: &str) -> bool {
    folded(one) == folded(other)
}

/// Whether a character cannot be seen: not plain, or a sign that chooses between two shapes of the
/// character before it.
fn is_unseen(c: char) -> bool {
    let selects = matches!(c,
        '\u{180B}'..='\u{180F}' | '\u{FE00}'..='\u{FE0F}' | '\u{E0100}'..='\u{E01EF}');
    selects || !is_plain(c)
}

/// Checks that no two names of a list look alike, blanks between words included.
///
/// # Errors
/// The key and the two names.
pub fn check_names(key: &str, names: &[String]) -> Result<(), String> {
    let form = |name: &String| folded(name).split_whitespace().collect::<Vec<_>>().join(" ");
    let forms: Vec<String> = names.iter().map(form).collect();
    for (place, name) in names.iter().enumerate() {
        let earlier =
            forms.iter().take(place).position(|earlier| Some(earlier) == forms.get(place));
        if let Some((other, first)) = earlier.and_then(|at| Some((at, names.get(at)?))) {
            return Err(format!(
                "{key}[{other}] = {first:?} and {key}[{place}] = {name:?} look alike, allowed names that differ in \
                 more than case, blanks or the shape of letters"
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_and_blanks_make_no_other_code() {
        assert_eq!(folded(" P-001"), folded("p-001 "));
        assert_eq!(folded("ſtraße"), folded("STRASSE"));
        assert_eq!(folded("ſtraße"), folded("STRAẞE"));
        assert_ne!(folded("P-001"), folded("P-01"));
        assert_ne!(folded("P-001"), folded("P- 001"), "a blank within a code stays");
    }

    /// Every spelling of a code that reads the same is the same code; what reads otherwise is not.
    #[test]
    fn spellings_of_a_code_are_alike() {
        for (code, spellings) in [
            (
                "ab-12",
                &[
                    "ＡＢ-１２",
                    "𝐀𝔅-𝟙𝟤",
                    "ⓐⓑ-①②",
                    "AB-١٢",
                    "aB-१२",
                    "ab-1\u{200B}2",
                    "\u{FEFF}ab-12",
                    "a\u{FE0F}b-12",
                    "ab\u{3164}-12\u{202E}",
                    "\u{3000}ab-12\u{A0}",
                ][..],
            ),
            ("é1", &["E\u{301}1", "É１", "e\u{301}𝟏"]),
            ("οδοσ1", &["ΟΔΟΣ1", "οδος1"]),
            ("fin", &["ﬁn", "FIN"]),
        ] {
            for spelling in spellings {
                assert!(alike(code, spelling), "{code} {spelling:?}: {:?}", folded(spelling));
            }
        }
        for (one, other) in [("A1", "Α1"), ("A1", "А1"), ("e1", "é1"), ("1", "l"), ("P-1", "P_1")]
        {
            assert!(!alike(one, other), "{one} {other}");
        }
        // A part of a code is found in it, so no letter depends on its place.
        assert!(folded("ΟΔΟΣΑ").contains(&folded("ΟΔΟΣ")));
    }

    /// Folding twice is folding once, for every character between two letters.
    #[test]
    fn folding_is_done_once() {
        // Between these planes there are only ideographs, and places for private use.
        for c in (0..0x2_0000).chain(0xE_0000..0xE_1000).filter_map(char::from_u32) {
            let once = folded(&format!("a{c}b"));
            assert_eq!(folded(&once), once, "U+{:04X}", u32::from(c));
        }
    }

    /// Ten digits follow every zero of the table, and NFKC does not change them.
    #[test]
    fn zeros_begin_ten_digits() {
        for zero in ZEROS {
            for value in 0..10 {
                let c = char::from_u32(zero + value).unwrap();
                assert_eq!((digit(c), nfkc(&c.to_string())), (Some(value), c.to_string()));
            }
        }
        assert!(ZEROS.windows(2).all(|pair| pair[1] - pair[0] >= 10), "in order, none twice");
        assert_eq!([digit('x'), digit('½'), digit('7')], [None, None, Some(7)]);
    }

    #[test]
    fn alike_names_are_named() {
        let check = |names: [&str; 3]| check_names("arms", &names.map(str::to_owned));
        assert_eq!(check(["a", "b", "c d"]), Ok(()));
        for third in ["A", " a", "ａ", "a\u{FE0F}"] {
            let why = check(["a", "b", third]).unwrap_err();
            assert!(why.starts_with("arms[0] = \"a\" and arms[2] = "), "{why}");
        }
        assert!(check(["b", "c d", "C\u{A0} d"]).is_err());
    }
}
