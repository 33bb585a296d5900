//! The log accounts for every patient, notes have their effect, and kits are accounted for: in
//! scripts.

use jiff::SignedDuration;

use crate::common::clock;
use crate::common::ward::{BLINDED, Done, Ward, json};

const QUESTION: &str = "question = \"Walks unaided on day 14?\"";

fn log(ward: &Ward, name: &str) -> String {
    std::fs::read_to_string(ward.file(name)).unwrap_or_default()
}

/// With another log on a device with 7 patients nobody is enrolled a second time: the log says whom
/// it does not know, until a person confirms that the records are elsewhere. Requirement W8.
#[test]
fn an_empty_log_enrols_nobody() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&[]);
    for number in 1..=7 {
        ward.good(&["assign", &format!("P-{number}"), "0", "--log", "first.jsonl"]);
    }
    let assign = |more: &[&str]| {
        ward.on_device(&[&["assign", "P-1", "0", "--log", "second.jsonl"], more].concat())
    };
    let refused = assign(&[]);
    assert_eq!(refused.code, 1, "{refused:?}");
    let expected = "This log does not know patients 1 to 7: restore it, or confirm that their records are elsewhere";
    assert!(refused.err.contains(expected), "{refused:?}");
    assert!(refused.err.contains("--records-elsewhere"), "{refused:?}");
    assert!(ward.good(&["status", "--json"]).contains("\"assigned\":7,"), "nobody was enrolled");
    let confirmed = assign(&["--records-elsewhere"]);
    assert!(confirmed.code == 0 && confirmed.out.contains("number 8"), "{confirmed:?}");
    let second = log(&ward, "second.jsonl");
    assert!(second.contains("\"event\":\"elsewhere\",\"patients\":[[1,7]]"), "{second}");
    // The first log does not know the eighth, and the second is not asked again.
    let first = ward.on_device(&["assign", "P-9", "0", "--log", "first.jsonl"]);
    assert!(first.code == 1 && first.err.contains("does not know patient 8"), "{first:?}");
    ward.good(&["assign", "P-9", "0", "--log", "second.jsonl"]);
}

/// One folder copied to two laptops does not enrol one code twice. Requirement W1.
#[test]
fn a_copied_log_enrols_nobody_twice() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&[]);
    ward.good(&["assign", "P-1", "0", "--log", "ward.jsonl"]);
    for end in ["", ".head"] {
        let copy = ward.file(&format!("copy.jsonl{end}"));
        std::fs::copy(ward.file(&format!("ward.jsonl{end}")), copy).unwrap();
    }
    ward.good(&["assign", "P-2", "0", "--log", "ward.jsonl"]);
    let again = ward.on_device(&["assign", "P-2", "0", "--log", "copy.jsonl"]);
    assert!(again.code == 1 && again.err.contains("does not know patient 2"), "{again:?}");
    // An outcome that only the other log has is seen too.
    ward.good(&["outcome", "P-1", "yes", "--log", "ward.jsonl"]);
    ward.good(&["assign", "P-3", "0", "--log", "ward.jsonl"]);
    ward.good(&["assign", "P-4", "0", "--log", "copy.jsonl", "--records-elsewhere"]);
    ward.good(&["assign", "P-5", "0", "--log", "ward.jsonl", "--records-elsewhere"]);
    ward.good(&["outcome", "P-2", "yes", "--log", "ward.jsonl"]);
    ward.good(&["outcome", "P-5", "yes", "--log", "ward.jsonl"]);
    ward.good(&["outcome", "#3", "yes", "--log", "copy.jsonl"]);
    ward.good(&["outcome", "P-4", "yes", "--log", "copy.jsonl"]);
    let unknown = ward.on_device(&["assign", "P-6", "0", "--log", "ward.jsonl"]);
    assert_eq!(unknown.code, 1, "{unknown:?}");
    assert!(unknown.err.contains("The device has 1 outcome or loss"), "{unknown:?}");
}

/// Notes mark a patient in every list. A withdrawn one is not overdue and is asked about before an
/// outcome; a correction takes marks away; a wrong kind has the right one in its own field.
/// Requirement W16.
#[test]
fn notes_have_effects() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&[(QUESTION, &format!("{QUESTION}\ndue = \"14 days\""))]);
    let on_log = |words: &[&str]| ward.run(&[words, &["--log", "ward.jsonl"]].concat());
    for code in ["P-1", "P-2"] {
        ward.good(&["assign", code, "0", "--log", "ward.jsonl"]);
    }
    clock::age(&ward.file("ward.jsonl"), SignedDuration::from_hours(15 * 24));
    let overdue = || on_log(&["waiting", "--overdue", "--csv"]).out;
    assert!(overdue().contains("P-1") && overdue().contains("P-2"));
    let note = |words: &[&str]| on_log(&[&["note", "P-1"], words].concat());
    assert_eq!(note(&["--kind", "withdrawn", "moved away"]).code, 0);
    assert!(!overdue().contains("P-1") && overdue().contains("P-2"), "{}", overdue());
    assert!(on_log(&["waiting", "--csv"]).out.contains("WITHDRAWN"));
    assert!(on_log(&["list", "--csv"]).out.contains("WITHDRAWN"));
    assert!(on_log(&["show", "P-1"]).out.contains("WITHDRAWN"));
    let outcome = |more: &[&str]| {
        ward.on_device(&[&["outcome", "P-1", "yes", "--log", "ward.jsonl"], more].concat())
    };
    let asked = outcome(&[]);
    assert!(asked.code == 1 && asked.err.contains("The patient withdrew"), "{asked:?}");
    let bad = note(&["--kind", "wrong-kind", "was 67"]);
    assert!(bad.code == 2 && bad.err.contains("--should-be"), "{bad:?}");
    let bad = note(&["--kind", "wrong-kind", "--should-be", "none such", "was 67"]);
    assert!(bad.code == 2 && bad.err.contains("no kind of patient"), "{bad:?}");
    let bad = note(&["--kind", "other", "--should-be", "2", "was 67"]);
    assert!(bad.code == 2 && bad.err.contains("only a note about a wrong kind"), "{bad:?}");
    assert_eq!(note(&["--kind", "wrong-kind", "--should-be", "2", "was 67"]).code, 0);
    assert!(log(&ward, "ward.jsonl").contains("\"should_be\":\"65 or over, home\""));
    assert!(on_log(&["show", "P-1"]).out.contains("WRONG KIND, should be 65 or over, home"));
    assert_eq!(note(&["--kind", "correction", "it was P-2 who left"]).code, 0);
    assert!(overdue().contains("P-1"));
    let shown = on_log(&["show", "P-1"]).out;
    assert!(!shown.contains("WITHDRAWN") && shown.contains("moved away"), "{shown}");
    assert_eq!(outcome(&[]).code, 0, "on time, and no mark any more");
}

/// Every kit of a patient is in the list with time and reason, and a replacement names the kit that
/// it replaces. Without a reason there is none.
#[test]
fn kits_are_accounted_for() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&BLINDED);
    let on_device = |words: &[&str]| ward.on_device(&[words, &["--log", "ward.jsonl"]].concat());
    let label = |done: &Done| json(&done.out)["label"].as_str().unwrap().to_owned();
    let first = label(&on_device(&["assign", "P-1", "0", "--json"]));
    let none = on_device(&["replace", "P-1"]);
    assert!(none.code == 2 && none.err.contains("--reason"), "{none:?}");
    let second = label(&on_device(&["replace", "P-1", "--reason", "wet box", "--json"]));
    let third = on_device(&["replace", "P-1", "--reason", "lost"]).out;
    assert!(third.contains(&format!("instead of {second}, replacement 2")), "{third}");
    let list = ward.run(&["list", "--csv", "--log", "ward.jsonl"]).out;
    let row = list.lines().nth(1).unwrap();
    for part in [first.as_str(), &second, "(wet box)", "(lost)"] {
        assert!(row.contains(part), "{part}: {list}");
    }
    let shown = ward.run(&["show", "P-1", "--log", "ward.jsonl"]).out;
    assert!(shown.contains("because: wet box") && shown.contains(&first), "{shown}");
}
