//! The coordinator's work by commands: kinds of patient by factors, due dates, notes, look-up,
//! lists, `check`.

use crate::common::clock;
use crate::common::ward;

use clock::age;
use equipoise_ward::records::log::{Event, Log};
use jiff::SignedDuration;
use std::fs::Permissions;
use std::io::Read;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use ward::{Ward, json};

const FEATURES: &str = "features = [\"under 65, home\", \"under 65, care home\", \"65 or over, home\", \"65 or over, care home\"]";
const QUESTION: &str = "question = \"Walks unaided on day 14?\"";

/// The example with factors instead of a flat list. A table must stand behind the plain keys.
fn with_factors(ward: &Ward, changes: &[(&str, &str)]) {
    let table = "[factors]\nsex = [\"f\", \"m\"]\nage = [\"under 65\", \"65 or over\"]\n\n[plan]";
    ward.provision(&[&[(FEATURES, ""), ("[plan]", table)], changes].concat());
}

/// Factors are asked by name, the device sees the index, and the report has a row a level.
#[test]
fn factors_by_option() {
    let ward = Ward::new();
    let _device = ward.device();
    with_factors(&ward, &[("patients = 4000", "patients = 24")]);
    let kinds = [("f", "under 65"), ("f", "65 or over"), ("m", "under 65"), ("m", "65 or over")];
    for number in 0..24 {
        let (sex, age) = kinds[number % 4];
        let code = format!("P-{number}");
        let options = if number < 4 {
            vec!["assign", &code, "--age", age, "--json", "--sex", sex]
        } else {
            vec!["assign", &code, "--json", "--sex=f", "--age=under 65"]
        };
        let assigned = json(&ward.good(&options));
        assert_eq!(assigned["feature"], if number < 4 { number } else { 0 }, "{assigned}");
        ward.good(&["outcome", &code, "yes"]);
    }
    for (words, why) in [
        (
            vec!["assign", "Q", "--sex", "f"],
            "--age is missing, allowed one of \"under 65\", \"65 or over\"",
        ),
        (
            vec!["assign", "Q", "--sex", "x", "--age", "under 65"],
            "--sex \"x\", allowed one of \"f\", \"m\"",
        ),
        (vec!["assign", "Q", "--size", "1"], "no factor \"size\", allowed sex, age"),
    ] {
        let done = ward.on_device(&words);
        assert!(done.code == 2 && done.err.contains(why), "{done:?}");
    }
    if json(&ward.good(&["status", "--json"]))["state"] == "running" {
        ward.good(&["close", "--yes", "--key-file", "key"]);
    }
    let report = json(&ward.good(&["report", "--format", "json"]));
    let names: Vec<&str> = report["factors"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["name"].as_str().unwrap())
        .collect();
    assert!(names.contains(&"sex = f") && names.contains(&"age = under 65"), "{report}");
    assert!(ward.good(&["report"]).contains("age = under 65"));
}

/// Overdue patients are listed; without a due date the command says what is missing.
#[test]
fn overdue_outcomes_are_listed() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&[]);
    let none = ward.run(&["waiting", "--overdue", "--log", "ward.jsonl"]);
    assert_eq!(none.code, 2, "{none:?}");
    let ward = Ward::new();
    let _device = ward.device();
    let due = format!("{QUESTION}\ndue = \"2 weeks\"");
    ward.provision(&[(QUESTION, &due)]);
    for (code, exit) in [("P-1", 0), ("=P-2", 2), ("P-2", 0)] {
        let done = ward.on_device(&["assign", code, "0", "--log", "ward.jsonl"]);
        assert_eq!(done.code, exit, "a code is no formula: {done:?}");
    }
    let all = ward.run(&["waiting", "--csv", "--log", "ward.jsonl"]);
    assert_eq!((all.code, all.out.lines().count()), (0, 3), "{all:?}");
    assert!(
        all.out.starts_with(
            "code,patient,kind,enrolled,enrolled_by,due,state,marks\n\"P-1\",\"1\",\"under 65, home\",\"20"
        ),
        "{all:?}"
    );
    assert_eq!(
        ward.run(&["waiting", "--overdue", "--csv", "--log", "ward.jsonl"]).out.lines().count(),
        1
    );
    let text = std::fs::read_to_string(ward.file("trial.toml")).unwrap();
    std::fs::write(ward.file("soon.toml"), text.replace("2 weeks", "1 fortnight")).unwrap();
    let bad = ward.run(&["waiting", "--trial", "soon.toml", "--log", "ward.jsonl"]);
    assert!(
        bad.code == 2
            && bad.err.contains("outcome.due = \"1 fortnight\", allowed a number of hours"),
        "{bad:?}"
    );
}

/// `waiting --overdue` lists who has waited longer than the trial file says, and nobody else: not
/// the patients of today, and not those whose outcome came.
#[test]
fn only_overdue_patients_are_listed() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&[(QUESTION, &format!("{QUESTION}\ndue = \"14 days\""))]);
    let on_log = |words: &[&str]| ward.on_device(&[words, &["--log", "ward.jsonl"]].concat());
    for code in ["P-1", "P-2", "P-3"] {
        assert_eq!(on_log(&["assign", code, "0"]).code, 0);
    }
    assert_eq!(on_log(&["outcome", "P-2", "yes", "--anyway"]).code, 0);
    let list = |words: &[&str]| {
        let done = ward.run(&[&["waiting", "--csv", "--log", "ward.jsonl"], words].concat());
        assert_eq!(done.code, 0, "{done:?}");
        done.out.lines().skip(1).map(str::to_owned).collect::<Vec<_>>()
    };
    age(&ward.file("ward.jsonl"), SignedDuration::from_hours(14 * 24 - 1));
    assert_eq!(list(&["--overdue"]), [""; 0], "due in an hour");
    age(&ward.file("ward.jsonl"), SignedDuration::from_hours(2));
    assert_eq!(on_log(&["assign", "P-4", "1"]).code, 0);
    let overdue = list(&["--overdue"]);
    assert_eq!(overdue.len(), 2, "{overdue:?}");
    for (line, code) in overdue.iter().zip(["P-1", "P-3"]) {
        let named = line.starts_with(&format!("\"{code}\","));
        assert!(named && line.ends_with(",\"overdue\",\"\""), "{line}");
    }
    let all = list(&[]);
    assert!(
        all.len() == 3 && all[2].starts_with("\"P-4\",") && all[2].ends_with(",\"\""),
        "{all:?}"
    );
}

/// Notes, arms and operators can be looked up; everything is in the log, whose chain holds, and
/// never an outcome.
#[test]
fn notes_and_lists() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&[]);
    let log = ["--log", "ward.jsonl"];
    let on_log = |words: &[&str]| ward.run(&[words, &log].concat());
    ward.good(&["assign", "P-1", "2", "--operator", "AB", log[0], log[1]]);
    ward.good(&["assign", "P-2", "0", log[0], log[1]]);
    ward.good(&["outcome", "P-1", "yes", log[0], log[1]]);
    let noted =
        on_log(&["note", "p-1", "--kind", "deviation", "was 64, not 65", "--operator", "CD"]);
    assert!(noted.code == 0 && noted.out.contains("the device does not learn"), "{noted:?}");
    assert_eq!(on_log(&["note", "P-9", "who?"]).code, 1);
    assert_eq!(on_log(&["note", "P-1", "a\u{1b}[2Jb"]).code, 2);
    let shown = json(&on_log(&["show", "P-1", "--json"]).out);
    assert_eq!((&shown["patient"], &shown["operator"]), (&1.into(), &"AB".into()));
    assert_eq!(shown["notes"][0]["text"], "was 64, not 65");
    assert_eq!(shown["notes"][0]["operator"], "CD");
    assert!(on_log(&["show", "P-1"]).out.contains("note 20"), "{shown}");
    assert_eq!(on_log(&["show", "P-9"]).code, 1);
    let list = on_log(&["list", "--csv"]).out;
    let lines: Vec<&str> = list.lines().collect();
    assert_eq!(
        lines[0],
        "patient,code,kind,arm,arm_name,enrolled,enrolled_by,state,resolved,resolved_by,marks,notes"
    );
    assert!(lines[1].starts_with("\"1\",\"P-1\",\"65 or over, home\","), "{list}");
    assert!(
        lines[1].ends_with(",\"deviation: was 64, not 65\"")
            && lines[2].ends_with(",\"waiting\",\"\",\"\",\"\",\"\""),
        "{list}"
    );
    assert!(lines[1].contains(",\"AB\",\"recorded\",\"20") && lines[1].contains("Z\",\"tester\","));
    assert!(!list.contains("yes"), "no outcome: {list}");
    let lost = ward.good(&["lost", "P-2", "--operator", "EF", log[0], log[1]]);
    assert!(
        lost.starts_with("declared lost: the outcome of patient P-2") && !lost.contains("ecorded")
    );
    let told = on_log(&["show", "P-2"]).out;
    assert!(told.contains("outcome declared lost at 20") && told.contains("by EF"), "{told}");
    let list = on_log(&["list", "--csv"]).out;
    assert!(list.lines().nth(2).unwrap().contains(",\"lost\",\"20"), "{list}");
    assert_eq!(on_log(&["list", "--csv", "-o", "list.csv"]).code, 0);
    assert_eq!(on_log(&["list", "--csv", "-o", "list.csv"]).code, 2, "not overwritten");
    assert_eq!(ward.run(&["log", "verify", "ward.jsonl"]).code, 0);
    let other = ward.run(&["list", "--log", "custodian.jsonl"]);
    assert_eq!(other.code, 0, "a log without patients has an empty list: {other:?}");
}

/// A file with codes, arms or a report is its owner's alone, also in the place of one that others
/// could read; it is never written through a link or into something else than a file.
/// Requirement W19.
#[test]
fn files_of_patients_are_owner_only() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&[]);
    let log = ["--log", "ward.jsonl"];
    ward.good(&["assign", "P-1", "2", log[0], log[1]]);
    ward.good(&["close", "--yes", "--key-file", "key"]);
    let at = |name: &str| ward.file(name);
    let mode = |name: &str| std::fs::metadata(at(name)).unwrap().mode() & 0o7777;
    let port = ward.port();
    let of_log = |command: &'static str| vec![command, "--csv", log[0], log[1]];
    let report = vec!["report", "--format", "csv", "--port", &port];
    for command in [of_log("list"), of_log("waiting"), report] {
        let to =
            |file: &str, force: &[&str]| ward.run(&[&command[..], &["-o", file], force].concat());
        assert_eq!(to("new.csv", &[]).code, 0, "{command:?}");
        assert_eq!(mode("new.csv"), 0o600, "{command:?}");

        std::fs::write(at("old.csv"), "old").unwrap();
        std::fs::set_permissions(at("old.csv"), Permissions::from_mode(0o666)).unwrap();
        let mut opened = std::fs::File::open(at("old.csv")).unwrap();
        assert_eq!(to("old.csv", &[]).code, 2, "{command:?}");
        assert_eq!(to("old.csv", &["--force"]).code, 0, "{command:?}");
        let written = std::fs::read_to_string(at("old.csv")).unwrap();
        assert_eq!(written, std::fs::read_to_string(at("new.csv")).unwrap());
        assert_eq!(mode("old.csv"), 0o600, "{command:?}");
        let mut held = String::new();
        opened.read_to_string(&mut held).unwrap();
        assert_eq!(held, "old", "{command:?}: who had it open reads the list");

        symlink(at("victim"), at("link.csv")).unwrap();
        std::fs::write(at("victim"), "mine").unwrap();
        std::fs::create_dir(at("folder.csv")).unwrap();
        for other in ["link.csv", "folder.csv"] {
            let done = to(other, &["--force"]);
            let says = done.err.contains("must be a regular file");
            assert!(done.code == 2 && says, "{command:?} {other}: {done:?}");
        }
        assert_eq!(std::fs::read(at("victim")).unwrap(), b"mine");
        for made in ["new.csv", "old.csv", "link.csv"] {
            std::fs::remove_file(at(made)).unwrap();
        }
        std::fs::remove_dir(at("folder.csv")).unwrap();
    }
    let left = std::fs::read_dir(ward.path()).unwrap();
    let left =
        left.filter(|file| file.as_ref().unwrap().path().extension().unwrap_or_default() == "new");
    assert_eq!(left.count(), 0, "nothing is left behind");
}

/// A note on a patient in a log of another trial is refused.
#[test]
fn log_of_another_trial_gets_no_note() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&[]);
    let (mut log, _) = Log::open(&ward.file("other.jsonl"), "x").unwrap();
    log.append(Event::Opened {
        title: "Another".to_owned(),
        plan: String::new(),
        trial: String::new(),
        file: String::new(),
    })
    .unwrap();
    drop(log);
    let done = ward.run(&["note", "#1", "x", "--log", "other.jsonl"]);
    assert!(done.code == 2 && done.err.contains("is of another trial"), "{done:?}");
}

/// `check` needs no device, names errors, and warns of trials that are too small or have too many
/// waiting.
#[test]
fn check_warns() {
    let ward = Ward::new();
    let example = equipoise_ward::records::trial_file::EXAMPLE;
    let check = |text: &str, words: &[&str]| {
        std::fs::write(ward.file("t.toml"), text).unwrap();
        ward.run(&[&["check", "t.toml"], words].concat())
    };
    let due = example.replace(QUESTION, &format!("{QUESTION}\ndue = \"14 days\""));
    let good = check(&due, &["--per-day", "4"]);
    assert!(
        good.code == 0 && good.out.contains("a valid trial file") && !good.out.contains("WARNING"),
        "{good:?}"
    );
    assert!(
        good.out.contains("digest   ") && good.out.contains("about 56 patients at a time"),
        "{good:?}"
    );
    let rooms = "room for 256 on the micro:bit v1, 1024 on the Pico 2, 4096 on the micro:bit v2";
    assert!(good.out.contains(rooms), "{good:?}");
    let some = check(&due, &["--per-day", "40"]);
    assert!(some.out.contains("room for 1024 on the Pico 2, 4096 on the micro:bit v2"), "{some:?}");
    assert!(some.out.contains("there is room for 256 on the micro:bit v1: it would refuse"));
    let many = check(&due, &["--per-day", "400"]);
    assert!(many.out.contains("WARNING: with 400 patients a day"), "{many:?}");
    let small = check(
        &example.replace("patients = 4000", "patients = 40"),
        &["--baseline", "0.4", "--effect", "0.2"],
    );
    assert!(small.out.contains("WARNING: too small to see the effect"), "{small:?}");
    assert!(small.code == 1 && small.err.contains("to take it as it is: --anyway"), "{small:?}");
    let words = ["--baseline", "0.4", "--effect", "0.2", "--anyway"];
    let anyway = check(&example.replace("patients = 4000", "patients = 40"), &words);
    assert!(anyway.code == 0 && anyway.out.contains("WARNING: too small"), "{anyway:?}");
    let impossible = check(example, &["--baseline", "0.4", "--effect", "0.7"]);
    assert!(impossible.code == 2 && impossible.err.contains("in 0..=1"), "{impossible:?}");
    let large = check(
        &example.replace("patients = 4000", "patients = 100000"),
        &["--baseline", "0.3", "--effect", "0.4"],
    );
    assert!(large.code == 0 && !large.out.contains("WARNING"), "{large:?}");
    let bad = check(&example.replace("epsilon = 1 ", "epsilon = 99 "), &[]);
    assert!(bad.code == 2 && bad.err.contains("epsilon=99 allowed"), "{bad:?}");
}

/// A trial file that says which effect is expected: `check` refuses one too small for it, and
/// `provision` repeats the warning.
#[test]
fn too_small_is_said_twice() {
    let ward = Ward::new();
    let _device = ward.device();
    let example = equipoise_ward::records::trial_file::EXAMPLE;
    let plan = example.replace("patients = 4000", "patients = 40");
    let text = plan.replace("[outcome]", "[expect]\nbaseline = 0.4\neffect = 0.2\n\n[outcome]");
    assert!(text != plan);
    std::fs::write(ward.file("trial.toml"), &text).unwrap();
    let checked = ward.run(&["check", "trial.toml"]);
    assert!(checked.code == 1 && checked.out.contains("WARNING: too small to see the effect"));
    assert_eq!(ward.run(&["keygen", "key"]).code, 0);
    let begun = ward.on_device(&["provision", "trial.toml", "--key-file", "key"]);
    assert!(begun.code == 0 && begun.err.contains("WARNING: too small to see"), "{begun:?}");
    let bad = text.replace("effect = 0.2", "effect = 0.8");
    std::fs::write(ward.file("bad.toml"), bad).unwrap();
    let refused = ward.run(&["check", "bad.toml"]);
    assert!(refused.code == 2 && refused.err.contains("[expect] baseline 0.4 and effect 0.8"));
}

/// An outcome and a kind of patient are taken in any case. Closing a trial in which nobody waits
/// does not speak of losses.
#[test]
fn any_case_and_nobody_lost() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&[]);
    ward.good(&["assign", "P-1", "65 OR OVER, HOME", "--log", "ward.jsonl"]);
    ward.good(&["outcome", "P-1", "YES", "--log", "ward.jsonl"]);
    let close = ward.on_device(&["close", "--key-file", "key"]);
    assert!(close.err.contains("Nobody is waiting for an outcome."), "{close:?}");
    assert!(!close.err.contains("lost"), "{close:?}");
}

/// A trial about deaths says its direction before it begins and when it does.
#[test]
fn direction_is_said_in_words() {
    let ward = Ward::new();
    let _device = ward.device();
    let text = equipoise_ward::records::trial_file::EXAMPLE
        .replace(QUESTION, "question = \"Dead on day 30?\"")
        .replace("better = \"high\"", "better = \"low\"");
    std::fs::write(ward.file("trial.toml"), text).unwrap();
    let said = "The device gives more patients the arm with fewer: Dead on day 30? YES.";
    let checked = ward.run(&["check", "trial.toml"]);
    assert!(checked.code == 0 && checked.out.contains(said), "{checked:?}");
    assert_eq!(ward.run(&["keygen", "key"]).code, 0);
    let begun = ward.good(&["provision", "trial.toml", "--key-file", "key"]);
    assert!(begun.contains(said), "{begun}");
}
