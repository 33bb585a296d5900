//! Words that a newer device adds behind those of version 3, and words that only look like them.

use super::v3::replies::replies;
use super::*;

/// Words of a newer device.
const NEWER: [&str; 3] = ["colour=red", "x-2=a=b,c", "trials=3"];

fn read(body: &str) -> Result<Reply<'_>, WireError> {
    // Leaked, because a reply borrows from its line.
    let line = format!("{body}*{:04X}", checksum(body.as_bytes())).leak();
    Reply::parse(line.as_bytes())
}

/// The replies that may have words of a newer device, without checksum.
fn growing() -> impl Iterator<Item = (Reply<'static>, &'static str)> {
    let bodies = replies().into_iter().map(|(reply, bytes)| (reply, bytes.split('*').next()));
    bodies.filter_map(|(reply, body)| Some((reply, body?))).filter(|(_, body)| {
        ["HELLO ", "STATUS ", "OK", "ROW ", "END "].iter().any(|verb| body.starts_with(verb))
    })
}

/// A reply with words of a newer device behind its own means what it means without them.
#[test]
fn newer_words_are_skipped() {
    let mut checked = 0;
    for (reply, body) in growing() {
        for added in [NEWER[0].to_owned(), NEWER.join(" "), format!(" {}  {} ", NEWER[1], NEWER[1])]
        {
            let line = format!("{body} {added}");
            if line.len() + 5 <= LINE_LIMIT {
                assert_eq!(read(&line), Ok(reply.clone()), "{line}");
                checked += 1;
            }
        }
    }
    assert!(checked > 40, "{checked} lines");
}

/// Behind the words of a reply only `key=value` is skipped, and nothing behind `ARM`, `KIT` and
/// `NONCE`.
#[test]
fn other_words_behind_are_errors() {
    for (_, body) in growing() {
        for added in [
            "colour",
            "=red",
            "colour=",
            "Colour=red",
            "2x=1",
            "-x=1",
            "a_b=1",
            "x=\x7f",
            "57x",
            "=",
        ] {
            let line = format!("{body} {added}");
            assert!(read(&line).is_err(), "{line}");
            let line = format!("{body} colour=red {added}");
            assert!(read(&line).is_err(), "{line}");
        }
    }
    for body in ["ARM 57 0", "KIT 57 1", "NONCE a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5"] {
        assert!(read(body).is_ok());
        assert!(read(&format!("{body} colour=red")).is_err(), "{body}");
    }
}

/// A known word is an error where it is wrong, given twice, or behind an unknown one.
#[test]
fn known_words_stay_strict() {
    let mut checked = 0;
    for (_, body) in growing() {
        let words: Vec<&str> = body.split(' ').collect();
        for (at, word) in words.iter().enumerate().filter(|(_, word)| word.contains('=')) {
            let key = word.split('=').next().unwrap();
            let with = |new: &[&str], taken: usize| {
                [&words[..at], new, &words[at + taken..]].concat().join(" ")
            };
            for line in [
                with(&[&format!("{key}=?")], 1),
                with(&["colour=red"], 0),
                with(&[word, word], 1),
                format!("{body} {word}"),
                format!("{body} colour=red {word}"),
            ] {
                assert!(read(&line).is_err(), "{line}");
                checked += 1;
            }
        }
    }
    assert!(checked > 300, "{checked} lines");
    for line in [
        "OK claim=pure",
        "OK trial=0123456789abcdef",
        "OK colour=red 57",
        "OK colour=red claim=pure",
        "OK 57 trial=0123456789abcdef claim=pure",
        "ROW 0 colour=red -0.123456 0.250000 -1.000000 0.000001 0",
        "HELLO equipoise colour=red 3 0.3.0 blank",
        "HELLO equipoise 3 0.3.0 blank key=none",
        "HELLO equipoise 3 0.3.0 blank left=100.000000",
    ] {
        assert!(read(line).is_err(), "{line}");
    }
}
