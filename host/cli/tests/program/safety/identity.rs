//! The right trial file, log and patient.

use super::*;

/// A trial file with swapped arms, or of another trial of the same size, is refused; the message
/// names what differs.
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
    // A comment is no change of meaning.
    std::fs::write(ward.file("other.toml"), format!("# a note\n{text}")).unwrap();
    ward.good(&["assign", "P-1", "0", "--trial", "other.toml"]);
}

/// With two boards of one trial file, and after an erasure, a log is refused on the device it is
/// not of.
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
    refused(&["outcome", "P-2", "no"], "patient P-2: already recorded at 20");
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
    refused(&["assign", "P-57", "0"], 2, "this trial's codes are like P-[0-9]{4}");
    refused(&["assign", "P-5742", "0"], 2, "is not the damm check digit");
    assert_eq!(json(&ward.good(&["status", "--json"]))["assigned"], 0);
    ward.good(&["assign", " P-5724", "0"]);
    refused(&["assign", "p-5724", "0"], 2, "this trial's codes are like");
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
