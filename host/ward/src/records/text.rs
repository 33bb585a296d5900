//! Text from outside: what may enter, and how it is written for another program.
//!
//! Codes, names, notes and operators are checked with [`is_plain`] where they enter. What cannot be
//! refused (paths, messages of other programs) is written with [`escaped`]. CSV and XML have their
//! own escapes on top.

use equipoise_study::chart::svg::escape;
use equipoise_study::output::quoted;

/// Whether a character may be part of a name: visible, or a blank.
///
/// Not allowed are control characters (escape sequences begin with one) and invisible characters
/// that change the direction of text or make two different names look alike.
#[must_use]
pub fn is_plain(c: char) -> bool {
    let invisible = matches!(c,
        '\u{AD}' | '\u{34F}' | '\u{61C}' | '\u{17B4}' | '\u{17B5}' | '\u{180E}'
        | '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{FEFF}'
        | '\u{FFF0}'..='\u{FFFB}' | '\u{1BCA0}'..='\u{1BCA3}' | '\u{1D173}'..='\u{1D17A}'
        | '\u{E0000}'..='\u{E00FF}' | '\u{E01F0}'..='\u{E0FFF}'
        // Letters of Hangul and a sign of Braille that fill a place and show nothing.
        | '\u{115F}' | '\u{1160}' | '\u{2800}' | '\u{3164}' | '\u{FFA0}');
    !c.is_control() && !invisible
}

/// A character for a message: itself, if it can be seen, and its number in Unicode.
#[must_use]
pub fn named(c: char) -> String {
    let number = format!("U+{:04X}", u32::from(c));
    if is_plain(c) { format!("{c:?} ({number})") } else { number }
}

/// Checks a text of 1 to `most` characters.
///
/// # Errors
/// The value and what is allowed.
pub fn check(key: &str, text: &str, most: usize) -> Result<(), String> {
    if text.trim().is_empty() || text.chars().count() > most || !text.chars().all(is_plain) {
        return Err(format!(
            "{key} = {text:?}, allowed 1 to {most} characters, none of them control or invisible characters"
        ));
    }
    Ok(())
}

/// The text with every character that is not plain written as `\u{..}`; line feeds stay.
#[must_use]
pub fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        if is_plain(c) || c == '\n' {
            safe.push(c);
        } else {
            safe.extend(c.escape_unicode());
        }
    }
    safe
}

/// A field of a CSV file, in quotes. A text that a spreadsheet would take for a formula gets an
/// apostrophe in front.
#[must_use]
pub fn csv(text: &str) -> String {
    let formula = text.trim_start().starts_with(['=', '+', '-', '@']);
    let mark = if formula { "'" } else { "" };
    quoted(&format!("{mark}{}", escaped(text).replace('\n', " ")))
}

/// Text for XML and HTML, between tags or in an attribute.
#[must_use]
pub fn xml(text: &str) -> String {
    escape(&escaped(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Escape sequences, direction marks and invisible characters do not enter, and are not written
    /// as they are.
    #[test]
    fn only_visible_characters_are_plain() {
        for bad in [
            "\u{1b}[31m",
            "a\u{202E}b",
            "a\u{200B}b",
            "a\nb",
            "\u{9b}2J",
            "a\u{FEFF}",
            "a\u{2066}b",
            "a\u{3164}b",
            "\u{2800}",
        ] {
            assert!(check("k", bad, 40).is_err(), "{bad:?}");
            assert!(escaped(bad).chars().all(|c| is_plain(c) || c == '\n'), "{bad:?}");
        }
        for good in ["Früh", "65 or over, \"home\"", "=1+1", "早い", "É"] {
            assert_eq!(check("k", good, 40), Ok(()));
            assert_eq!(escaped(good), good);
        }
        assert_eq!(escaped("a\u{1b}b"), "a\\u{1b}b");
    }

    #[test]
    fn csv_and_xml_hold_no_code() {
        for (text, field) in [
            ("=cmd|' /C calc'!A0", "\"'=cmd|' /C calc'!A0\""),
            ("@SUM(A1)", "\"'@SUM(A1)\""),
            (" -1", "\"' -1\""),
            ("say \"hi\", you", "\"say \"\"hi\"\", you\""),
        ] {
            assert_eq!(csv(text), field);
        }
        assert_eq!(xml("<a b='\"'>&"), "&lt;a b=&#39;&quot;&#39;&gt;&amp;");
    }
}
