//! The right trial file, log and patient.

use super::*;

/// A trial file with swapped arms, or of another trial of the same size, is refused; the message
/// names what differs. Requirement W9.
#[test]
fn device_keeps_to_its_trial_file() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&[]);
    let text = std::fs::read_to_string(ward.file("trial.toml")).unwrap();
    for (from, to, what) in [
        (
            "\"Usual care\", \"Early walking\"",
            "\"Early walking\", \"Usual care\"",
            "arms: \"Usual care\", \"Early walking\" on",
        ),
        (
            "Early walking after hip",
            "Late walking after hip",
            "title: Early walking after hip surgery on the device",
        ),
        (
            "\"no\", \"yes\"",
            "\"yes\", \"no\"",
            "labels: \"no\", \"yes\" on the device, \"yes\", \"no\" in the file",
        ),
        ("patients = 4000", "patients = 5000", "patients: 4000 on the device, 5000 in the file"),
    ] {
        std::fs::write(ward.file("other.toml"), text.replacen(from, to, 1)).unwrap();
        for words in [["assign", "P-1", "0"], ["outcome", "#1", "yes"]] {
            let log = ["--trial", "other.toml", "--log", "other.jsonl"];
            let done = ward.on_device(&[&words[..], &log].concat());
            assert!(
                done.code == 2 && done.err.contains(what) && done.err.contains("nothing was sent"),
                "{done:?}"
            );
        }
    }
    assert_eq!(json(&ward.good(&["status", "--json"]))["assigned"], 0);
    // A comment does not change the meaning.
    std::fs::write(ward.file("other.toml"), format!("# a note\n{text}")).unwrap();
    ward.good(&["assign", "P-1", "0", "--trial", "other.toml"]);
}

/// With two boards of one trial file, and after an erasure, a log is refused on the device it is
/// not of. Requirement W9.
#[test]
fn log_keeps_to_its_board() {
    let one = Ward::new();
    let _device_one = one.device();
    one.provision(&[]);
    let two = Ward::new();
    let _device_two = two.device();
    two.provision(&[]);
    one.good(&["assign", "A-1", "0", "--log", "one.jsonl"]);
    two.good(&["assign", "B-1", "0"]);
    let other = two.port();
    for words in [vec!["outcome", "A-1", "yes"], vec!["lost", "A-1"], vec!["assign", "A-2", "0"]] {
        let done = one.run(&[&words[..], &["--log", "one.jsonl", "--port", &other]].concat());
        assert!(done.code == 2 && done.err.contains("one.jsonl is of trial"), "{done:?}");
    }
    assert_eq!(json(&two.good(&["status", "--json"]))["waiting"], 1, "B-1 still waits");
    one.good(&["close", "--yes", "--key-file", "key"]);
    one.good(&["erase", "--yes", "--key-file", "key"]);
    one.good(&["provision", "trial.toml", "--key-file", "key"]);
    one.good(&["assign", "C-1", "0", "--log", "new.jsonl"]);
    let done = one.on_device(&["outcome", "A-1", "yes", "--log", "one.jsonl"]);
    assert!(done.code == 2 && done.err.contains("one.jsonl is of trial"), "{done:?}");
    assert_eq!(json(&one.good(&["status", "--json"]))["waiting"], 1, "C-1 still waits");
}

/// A second outcome, one after a loss and one after the close are refused and change nothing.
#[test]
fn second_outcome_is_refused() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&[("patients = 4000", "patients = 6")]);
    (1..=3).for_each(|number| drop(ward.good(&["assign", &format!("P-{number}"), "0"])));
    ward.good(&["outcome", "P-1", "yes"]);
    ward.good(&["lost", "P-2"]);
    let refused = |words: &[&str], why: &str| {
        let done = ward.on_device(words);
        assert!(
            done.code == 1 && done.err.contains(why) && done.err.contains("nothing changed"),
            "{done:?}"
        );
        assert!(!done.out.contains("recorded for"), "{done:?}");
    };
    refused(&["outcome", "P-1", "no"], "patient P-1: already recorded at 20");
    refused(&["outcome", "P-2", "no"], "patient P-2: already declared lost at 20");
    refused(&["lost", "P-1"], "patient P-1: already recorded at 20");
    let again = json(&ward.on_device(&["outcome", "P-1", "no", "--json"]).out);
    assert_eq!(again["error"], "refused");
    assert!(again["message"].as_str().unwrap().contains("already recorded at"), "{again}");
    // Another log does not know of it, but the device's count of resolved patients does not grow.
    refused(&["outcome", "#1", "no", "--log", "other.jsonl"], "patient number 1: already recorded");
    ward.good(&["close", "--yes", "--key-file", "key"]);
    refused(&["outcome", "P-3", "yes"], "patient P-3: the trial is closed");
    let log = ward.file("data/equipoise/logs/early-walking-after-hip-surgery.jsonl");
    let log = std::fs::read_to_string(log).unwrap();
    assert_eq!(log.matches("\"event\":\"outcome\"").count(), 1, "{log}");
    assert_eq!(log.matches("\"event\":\"lost\"").count(), 1, "{log}");
}

/// A code in another case is the same patient; the trial file's pattern and check digit are held to
/// before anything is asked.
#[test]
fn codes_follow_the_trial_file() {
    let ward = Ward::new();
    let _device = ward.device();
    let rule = "code = \"P-[0-9]{4}\"\ncode-check = \"damm\"\ntitle = \"Early";
    ward.provision(&[("title = \"Early", rule)]);
    let refused = |words: &[&str], code: i32, why: &str| {
        let done = ward.on_device(words);
        assert!(done.code == code && done.err.contains(why), "{done:?}");
    };
    refused(&["assign", "P-57", "0"], 2, "codes of this trial have the form P-[0-9]{4}");
    refused(&["assign", "P-5742", "0"], 2, "is not the damm check digit");
    assert_eq!(json(&ward.good(&["status", "--json"]))["assigned"], 0);
    ward.good(&["assign", " P-5724", "0"]);
    refused(&["assign", "p-5724", "0"], 1, "patient P-5724 is already enrolled");
    refused(&["assign", "p-5728", "0"], 2, "is not the damm check digit");
    ward.good(&["outcome", "p-5724 ", "yes"]);
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&[]);
    ward.good(&["assign", "P-001", "0"]);
    let again = ward.on_device(&["assign", "p-001", "0"]);
    assert!(
        again.code == 1 && again.err.contains("patient P-001 is already enrolled"),
        "{again:?}"
    );
    assert_eq!(json(&ward.good(&["status", "--json"]))["assigned"], 1);
}

/// Escape sequences and direction marks are refused where text enters, and never written to a
/// terminal.
#[test]
fn no_escape_reaches_a_terminal() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&[]);
    let text = std::fs::read_to_string(ward.file("trial.toml")).unwrap();
    let bad = ["\u{1b}[2J", "a\u{202e}b", "a\u{200b}b"];
    for (number, sign) in bad.into_iter().enumerate() {
        let plain = |words: &[&str]| {
            let done = ward.on_device(words);
            assert_eq!(done.code, 2, "{done:?}");
            assert!(done.err.contains("not allowed") || done.err.contains("allowed"), "{done:?}");
            for bad in ['\u{1b}', '\u{202e}', '\u{200b}'] {
                assert!(!(done.out.clone() + &done.err).contains(bad), "{words:?}: {done:?}");
            }
        };
        plain(&["assign", sign, "0"]);
        plain(&["assign", "P-1", sign]);
        plain(&["assign", "P-1", "0", "--operator", sign]);
        let json = serde_json::to_string(&format!("Early {sign}")).unwrap();
        std::fs::write(
            ward.file("bad.toml"),
            text.replace("\"Early walking\"", &json.replace("\u{1b}", "\\u001b")),
        )
        .unwrap();
        plain(&["assign", "P-1", "0", "--trial", "bad.toml"]);
        let name = format!("{number}{sign}.toml");
        std::fs::write(ward.file(&name), text.replace("epsilon = 1 ", "epsilon = 99 ")).unwrap();
        plain(&["assign", "P-1", "0", "--trial", &name]);
    }
}

/// One patient code, written with characters that look alike.
const ALIKE: [&str; 6] = ["P-1A", "p-1a", "P-１A", "P-١A", "Ｐ-1Ａ", "P-𝟏𝐀"];

/// Full-width letters, Arabic digits and mathematical letters make no second patient: they are
/// refused by name, or with `code-unicode = true` compared by the letters they stand for.
/// Requirement W1.
#[test]
fn alike_codes_are_one_patient() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&[]);
    ward.good(&["assign", ALIKE[0], "0"]);
    for (code, sign) in ALIKE.into_iter().skip(2).zip(["U+FF11", "U+0661", "U+FF30", "U+1D7CF"]) {
        // Known as the patient who was enrolled, before it is looked at what a code may be.
        let again = ward.on_device(&["assign", code, "0"]);
        assert!(again.code == 1 && again.err.contains("P-1A is already enrolled"), "{again:?}");
        let new = code.replace('P', "Q").replace('Ｐ', "Ｑ");
        let new = ward.on_device(&["assign", &new, "0"]);
        let sign = sign.replace("FF30", "FF31");
        assert!(new.code == 2 && new.err.contains(&format!("({sign})")), "{new:?}");
        let allowed = ["A-Z a-z 0-9 - _ . /", "code-unicode = true in the trial file"];
        assert!(allowed.iter().all(|words| new.err.contains(words)), "{new:?}");
    }
    assert_eq!(json(&ward.good(&["status", "--json"]))["assigned"], 1);

    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&[("title = ", "code-unicode = true\ntitle = ")]);
    // Kept as NFKC gives it; Arabic digits stay, and count as their value.
    for (kept, typed) in [("P-1A", "Ｐ-１A"), ("Ж-١", "Ж-١"), ("É2", "E\u{301}２")] {
        let given = json(&ward.good(&["assign", typed, "0", "--json"]));
        assert_eq!(given["code"], kept);
    }
    for code in ALIKE.into_iter().chain(["ж-1", "Ж-１", "é2", "Ｅ\u{301}2"]) {
        let again = ward.on_device(&["assign", code, "0"]);
        assert!(again.code == 1 && again.err.contains("is already enrolled"), "{again:?}");
    }
    let bad = ward.on_device(&["assign", "P\u{3164}2", "0"]);
    assert!(bad.code == 2 && bad.err.contains("U+3164 is no letter"), "a blank letter: {bad:?}");
    assert_eq!(json(&ward.good(&["status", "--json"]))["assigned"], 3);
    assert_eq!(json(&ward.good(&["outcome", "p-𝟏a", "yes", "--json"]))["patient"], 1);
    assert_eq!(json(&ward.good(&["lost", "ж-𝟏", "--json"]))["patient"], 2);
}

/// A trial that runs may get `code-unicode`; until then a code of another script is refused.
#[test]
fn running_trial_gets_unicode_codes() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&[]);
    ward.good(&["assign", "P-1", "0"]);
    let new = ward.on_device(&["assign", "Ж-8", "0"]);
    assert!(new.code == 2 && new.err.contains("'Ж' (U+0416)"), "{new:?}");
    let text = std::fs::read_to_string(ward.file("trial.toml")).unwrap();
    std::fs::write(ward.file("more.toml"), format!("code-unicode = true\n{text}")).unwrap();
    let added = ward.good(&["assign", "Ж-8", "0", "--trial", "more.toml", "--json"]);
    assert_eq!(json(&added)["patient"], 2);
    assert_eq!(json(&ward.good(&["outcome", "ж-８", "yes", "--json"]))["patient"], 2);
}

/// A trial does not begin with kinds, arms or outcomes that look alike, because a person could mean
/// the other one. A trial that runs goes on.
#[test]
fn alike_names_begin_no_trial() {
    let ward = Ward::new();
    let _device = ward.device();
    assert_eq!(ward.run(&["keygen", "key"]).code, 0);
    let text = equipoise_ward::records::trial_file::EXAMPLE;
    let factors = "[factors]\na = [\"x, y\", \"x\"]\nb = [\"z\", \"y, z\"]\n[plan]";
    let features = text.lines().find(|line| line.starts_with("features")).unwrap();
    for (from, to, what) in [
        ("\"Usual care\"", "\"Early\u{a0}walking\"", "arms"),
        ("\"Usual care\"", "\"early walking \"", "arms"),
        ("65 or over, home", "under ６5, home", "features"),
        ("\"no\", \"yes\"", "\"yes\", \"Yes\"", "outcome.labels"),
        ("[plan]", factors, "features"),
    ] {
        let mut changed = text.replacen(from, to, 1);
        if to == factors {
            changed = changed.replacen(features, "", 1);
        }
        std::fs::write(ward.file("alike.toml"), changed).unwrap();
        for words in
            [&["check", "alike.toml"][..], &["provision", "alike.toml", "--key-file", "key"]]
        {
            let done = if words[0] == "check" { ward.run(words) } else { ward.on_device(words) };
            let named = done.err.contains(what) && done.err.contains("look alike");
            assert!(done.code == 2 && named, "{to}: {done:?}");
        }
    }
    assert_eq!(json(&ward.good(&["status", "--json"]))["state"], "blank");
}
