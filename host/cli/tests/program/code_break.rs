//! A code break names the right arm, or none.

use crate::common::ward::{ARMS, BLINDED, Done, Ward, json};

const REASON: [&str; 4] = ["--reason", "a test", "--log", "breaks.jsonl"];

fn reveal(ward: &Ward, key: &str, words: &[&str]) -> Done {
    ward.run(&[&["kits", "reveal"], words, &["--key-file", key], &REASON].concat())
}

fn breaks(ward: &Ward) -> String {
    std::fs::read_to_string(ward.file("breaks.jsonl")).unwrap_or_default()
}

#[track_caller]
fn names_none(done: &Done, why: &str) {
    assert!(done.code != 0 && done.err.contains(why), "{done:?}");
    assert!(ARMS.iter().all(|arm| !done.out.contains(arm)), "{done:?}");
}

/// A blinded trial with two patients: the ward, and the label of the first one's kit.
fn begun(ward: &Ward) -> String {
    ward.provision(&BLINDED);
    let assign = |code| ward.good(&["assign", code, "0", "--json", "--log", "ward.jsonl"]);
    let first = json(&assign("P-1"))["label"].as_str().unwrap().to_owned();
    assign("P-2");
    first
}

/// A patient is named by code, number or kit; title, trial and patient stand beside the arm and in
/// the log. The arm is that of the pharmacy's list. Requirement W15.
#[test]
fn a_code_break_names_whom_it_is_of() {
    let ward = Ward::new();
    let _device = ward.device();
    let label = begun(&ward);
    let list = ward.kit_list();
    let arm = &list.iter().find(|row| row[1] == label).unwrap()[4];
    for name in ["p-1", "#1", &label] {
        let told = reveal(&ward, "key", &[name, "--ward-log", "ward.jsonl"]);
        assert_eq!(told.code, 0, "{told:?}");
        for part in [arm, &label, "P-1, number 1", "Early walking after hip surgery", ", id "] {
            assert!(told.out.contains(part), "{part}: {told:?}");
        }
    }
    let logged = breaks(&ward);
    assert_eq!(logged.matches("\"code\":\"P-1\",\"patient\":1").count(), 3, "{logged}");
    assert!(ARMS.iter().all(|arm| !logged.contains(arm)), "{logged}");
}

/// Another key, another trial file and a kit that nobody was given are refused; nothing is logged.
/// Requirement W15.
#[test]
fn a_wrong_code_break_names_no_arm() {
    let ward = Ward::new();
    let _device = ward.device();
    let label = begun(&ward);
    assert_eq!(ward.run(&["keygen", "other"]).code, 0);
    let with =
        |key, words: &[&str]| reveal(&ward, key, &[words, &["--ward-log", "ward.jsonl"]].concat());
    names_none(&with("other", &["P-1"]), "this is not the key of the trial");
    names_none(&with("other", &[&label, "--not-in-log"]), "this is not the key of the trial");
    let text = std::fs::read_to_string(ward.file("trial.toml")).unwrap();
    std::fs::write(ward.file("b.toml"), text.replacen("title = \"Early", "title = \"Late", 1))
        .unwrap();
    names_none(&with("key", &["P-1", "--trial", "b.toml"]), "is of another trial");
    let list = ward.kit_list();
    let log = std::fs::read_to_string(ward.file("ward.jsonl")).unwrap();
    let never = list.iter().skip(1).find(|row| !log.contains(row[1].as_str())).unwrap();
    names_none(&with("key", &[&never[1]]), "no patient of this log was given kit");
    names_none(&with("key", &["P-9"]), "is no patient of this log and no kit of the trial");
    assert_eq!(breaks(&ward), "", "nothing was named, nothing is logged");
    let told = with("key", &[&never[1], "--not-in-log"]);
    assert!(told.code == 0 && told.out.contains(&never[4]), "{told:?}");
    assert!(told.out.contains("patient  not in a log"), "{told:?}");
}

/// On a machine that knows nothing of the key, the pharmacy's list or the log of the provision
/// tells whether it is right; without either no arm is named.
#[test]
fn a_code_break_needs_a_witness() {
    let ward = Ward::new();
    let _device = ward.device();
    begun(&ward);
    ward.kit_list();
    ward.forget_records("key-check");
    let with = |key, words: &[&str]| {
        reveal(&ward, key, &[&["P-1", "--ward-log", "ward.jsonl"], words].concat())
    };
    names_none(&with("key", &[]), "nothing here tells whether this is the key");
    assert_eq!(ward.run(&["keygen", "other"]).code, 0);
    names_none(&with("other", &["--list", "k.csv"]), "is not that of this trial and key");
    assert_eq!(with("key", &["--list", "k.csv"]).code, 0);
    let words = ["kits", "reveal", "P-1", "--ward-log", "ward.jsonl", "--reason", "a test"];
    let logged =
        |key| ward.run(&[&words[..], &["--log", "custodian.jsonl", "--key-file", key]].concat());
    names_none(&logged("other"), "of the log is");
    assert_eq!(logged("key").code, 0);
}
