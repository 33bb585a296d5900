//! Closing, erasing, reports and keys.

use super::*;
use std::os::unix::fs::PermissionsExt as _;

/// `close` and `erase` say what will be lost and need `--yes`; reports are not overwritten.
/// Requirement W7.
#[test]
fn irrevocable_commands_need_yes() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&[("patients = 4000", "patients = 6")]);
    (1..=3).for_each(|number| drop(ward.good(&["assign", &format!("P-{number}"), "0"])));
    ward.good(&["outcome", "P-1", "yes"]);
    let asked = ward.on_device(&["close", "--key-file", "key"]);
    assert_eq!(asked.code, 2, "{asked:?}");
    for text in [
        "Enrolled: 3 of 6",
        "Waiting for an outcome: 2 patients, who will count as lost.",
        "gives up 3 patients",
        "--yes",
    ] {
        assert!(asked.err.contains(text), "{text}: {asked:?}");
    }
    let erase = ward.on_device(&["erase", "--key-file", "key"]);
    assert!(
        erase.code == 2 && erase.err.contains("still RUNNING") && erase.err.contains("--yes"),
        "{erase:?}"
    );
    assert_eq!(json(&ward.good(&["status", "--json"]))["state"], "running");
    ward.good(&["close", "--yes", "--key-file", "key"]);
    assert!(
        ward.good(&["close", "--yes", "--key-file", "key"])
            .contains("closed before; nothing changed")
    );
    std::fs::write(ward.file("report.csv"), "mine").unwrap();
    let kept = ward.on_device(&["report", "--format", "csv", "-o", "report.csv"]);
    assert!(kept.code == 2 && kept.err.contains("exists and is not overwritten"), "{kept:?}");
    assert_eq!(std::fs::read_to_string(ward.file("report.csv")).unwrap(), "mine");
    let plan =
        ["plan", "--patients", "40", "--baseline", "0.4", "--effect", "0.2", "--width", "1.9"];
    let kept = ward.run(&[&plan[..], &["--out", "report.csv"]].concat());
    assert!(kept.code == 2 && kept.err.contains("exists and is not overwritten"), "{kept:?}");
    assert_eq!(std::fs::read_to_string(ward.file("report.csv")).unwrap(), "mine");
    ward.good(&["report", "--format", "csv", "-o", "report.csv", "--force"]);
    assert!(std::fs::read_to_string(ward.file("report.csv")).unwrap().starts_with("trial,"));
    ward.good(&["erase", "--yes", "--key-file", "key"]);
    let blank = ward.on_device(&["close", "--yes", "--key-file", "key"]);
    assert!(blank.code == 1 && blank.err.contains("holds no trial"), "{blank:?}");
}

/// `status` names trial and digest, who waits and how many may, the budget, and a key that outlives
/// an erasure.
#[test]
fn status_tells_everything_public() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&[]);
    ward.good(&["assign", "P-1", "0"]);
    let status = json(&ward.good(&["status", "--json"]));
    let digest = equipoise_ward::records::trial_file::TrialFile::example().unwrap().digest();
    assert_eq!(status["digest"], equipoise::wire::Hex(&digest).to_string());
    assert_eq!(status["trial"].as_str().unwrap().len(), 16);
    assert_eq!((status["waiting"].as_u64(), status["resolved"].as_u64()), (Some(1), Some(0)));
    assert!(status["capacity"].as_u64().unwrap() >= 128);
    assert_eq!(status["epsilon_left"], "99.000000");
    let text = ward.good(&["status"]);
    for part in [
        "trial  ",
        "digest",
        "1 waiting, room for",
        "99.000000 left in the device's lifetime",
        "left",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    ward.good(&["erase", "--yes", "--key-file", "key"]);
    assert!(ward.good(&["status"]).contains("blank, a custodian's key is set"));
}

/// A report has one name a column in every format, its level, trial, counts, and an overall effect.
#[test]
fn report_says_what_it_rests_on() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&[
        ("patients = 4000", "patients = 40"),
        ("\"65 or over, home\"", "\"=65 or over, home\""),
    ]);
    for number in 1..=40 {
        let kind = if number % 2 == 0 { "0" } else { "2" };
        let assigned = json(&ward.good(&["assign", &format!("P-{number}"), kind, "--json"]));
        let y = assigned["arm"].to_string();
        ward.good(&["outcome", &format!("P-{number}"), &y]);
    }
    if json(&ward.good(&["status", "--json"]))["state"] == "running" {
        ward.good(&["close", "--yes", "--key-file", "key"]);
    }
    let columns = ["name", "estimate", "standard_error", "low", "high", "outcomes"];
    let report = json(&ward.good(&["report", "--format", "json"]));
    assert_eq!((report["level"].as_f64(), report["enrolled"].as_u64()), (Some(0.95), Some(40)));
    for row in report["rows"].as_array().unwrap().iter().chain([&report["overall"]]) {
        columns.iter().for_each(|name| assert!(row.get(name).is_some(), "{name}: {row}"));
        let value = |name: &str| row[name].as_f64().unwrap();
        let half = 1.96 * value("standard_error");
        let (low, high) =
            ((value("estimate") - half).max(-1.0), (value("estimate") + half).min(1.0));
        // An estimate that was cut off at what an effect can be is not the middle of its interval.
        if value("estimate").abs() < 1.0 {
            assert!(
                (value("low") - low).abs() < 1e-4 && (value("high") - high).abs() < 1e-4,
                "{row}"
            );
        }
    }
    let trial = report["trial"].as_str().unwrap();
    let csv = ward.good(&["report", "--format", "csv"]);
    assert_eq!(
        csv.lines().next(),
        Some(
            "trial,level,stage,look,of,date,feature,name,estimate,standard_error,low,high,outcomes,\
             n0,mean0,n1,mean1,spent,half,looks,windows,risk_ratio,risk_ratio_low,risk_ratio_high,\
             odds_ratio,odds_ratio_low,odds_ratio_high,worthless"
        )
    );
    assert!(
        csv.starts_with("trial,")
            && csv.contains(&format!("\n{trial},0.95,final,"))
            && csv.contains(" UTC,2,\"'=65 or over, home\","),
        "a formula is text: {csv}"
    );
    let table = ward.good(&["report"]);
    assert!(table.lines().nth(1).unwrap().contains(", FINAL, 20"), "{table}");
    let header = table.lines().nth(3).unwrap();
    assert_eq!(header.split_whitespace().collect::<Vec<_>>(), columns, "{table}");
    for text in [
        "95 % confidence interval",
        "Patients enrolled: 40",
        "(noisy)",
        "Counted and resolved differ: ",
        "risk_ratio",
        "overall",
        trial,
    ] {
        assert!(table.contains(text), "{text}: {table}");
    }
    let svg = ward.good(&["report", "--format", "svg"]);
    assert!(
        svg.contains("95 % confidence interval") && svg.contains(trial) && svg.contains("overall"),
        "{svg}"
    );
}

/// A signed report of an earlier trial, sent again by something on the line, is refused: the same
/// board, key and trial file, but another id. Requirement W21.
#[test]
fn replayed_report_is_refused() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&[("patients = 4000", "patients = 4")]);
    let trial_id = || json(&ward.good(&["status", "--json"]))["trial"].as_str().unwrap().to_owned();
    let enrol_and_close = || {
        for number in 1..=4 {
            ward.good(&[
                "assign",
                &format!("P-{number}"),
                "0",
                "--log",
                &format!("{}.jsonl", trial_id()),
            ]);
        }
        ward.good(&["close", "--yes", "--key-file", "key"]);
    };
    let relay = Relay::between(&ward.file("relay"), &ward.port(), None);
    let report = |more: &[&str]| {
        let words = ["report", "--verify", "--key-file", "key", "--port", "relay"];
        ward.run(&[&words[..], more].concat())
    };
    enrol_and_close();
    let first = trial_id();
    let told = report(&[]);
    assert!(told.code == 0 && told.out.contains(&first), "{told:?}");
    ward.good(&["erase", "--yes", "--key-file", "key"]);
    ward.good(&["provision", "trial.toml", "--key-file", "key"]);
    enrol_and_close();
    let second = trial_id();
    assert_ne!(first, second);
    relay.change(Some(Fate::Replay("REPORT")));
    for format in ["table", "json", "csv"] {
        let refused = report(&["--format", format]);
        assert_eq!(refused.code, 1, "{refused:?}");
        let why = format!("the report is of trial {first}, the device holds trial {second}");
        assert!(refused.err.contains(&why), "{refused:?}");
        assert!(!refused.out.contains("the MAC is right"), "{refused:?}");
    }
    relay.change(None);
    let told = report(&[]);
    assert!(told.code == 0 && told.out.contains(&second), "{told:?}");
}

/// The device keeps the kind of patient it was first asked for. A repeat with another kind is
/// noticed by the terminal, which says both and changes nothing.
#[test]
fn repeat_with_another_kind_is_told() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&[]);
    let relay = Relay::between(&ward.file("relay"), &ward.port(), Some(Fate::Lose("ASSIGN")));
    let lost = ward.run(&["assign", "P-1", "0", "--port", "relay", "--log", "ward.jsonl"]);
    assert_eq!(lost.code, 3, "{lost:?}");
    drop(relay);
    let told = ward.on_device(&["assign", "P-1", "2", "--log", "ward.jsonl"]);
    let kinds = "enrolled as \"under 65, home\", as first asked for, not as \"65 or over, home\"";
    assert!(told.code == 1 && told.err.contains(kinds), "{told:?}");
    assert!(told.err.contains("nothing changed"), "{told:?}");
    assert_eq!(json(&ward.good(&["status", "--json"]))["assigned"], 1);
    let shown = json(&ward.run(&["show", "P-1", "--json", "--log", "ward.jsonl"]).out);
    assert_eq!(shown["feature"], 0, "{shown}");
}

/// Somebody without the key can enrol and lose every patient, but not end the trial. What they did
/// is in the log and in the count of resolved patients. Requirement D14.
#[test]
fn closing_needs_the_custodian() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&[("patients = 4000", "patients = 8")]);
    for number in 1..=8 {
        let code = format!("P-{number}");
        ward.good(&["assign", &code, "0", "--log", "ward.jsonl"]);
        let lost = json(&ward.good(&["lost", &code, "--json", "--log", "ward.jsonl"]));
        assert_eq!(lost["closed"], false);
    }
    let status = json(&ward.good(&["status", "--json"]));
    assert_eq!((&status["state"], &status["resolved"]), (&"running".into(), &8.into()));
    let log = std::fs::read_to_string(ward.file("ward.jsonl")).unwrap();
    assert_eq!(log.matches("\"event\":\"lost\"").count(), 8, "{log}");
    ward.good(&["close", "--yes", "--key-file", "key"]);
    assert_eq!(json(&ward.good(&["status", "--json"]))["state"], "closed");
}

/// A trial whose plan says `close = "auto"` ends with its last outcome, and says so.
#[test]
fn trial_that_closes_by_itself_says_so() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&[("patients = 4000", "close = \"auto\"\npatients = 3")]);
    (1..=3).for_each(|number| drop(ward.good(&["assign", &format!("P-{number}"), "0"])));
    let first = ward.good(&["outcome", "P-1", "yes"]);
    assert!(!first.contains("closed"), "{first}");
    let second = json(&ward.good(&["lost", "P-2", "--json"]));
    assert_eq!(second["closed"], false);
    let last = ward.good(&["outcome", "P-3", "no"]);
    assert!(last.contains("that was the last outcome: the trial is closed"), "{last}");
    assert_eq!(json(&ward.good(&["status", "--json"]))["state"], "closed");
    ward.good(&["report", "--verify", "--key-file", "key"]);
}

/// A report takes the key in a trial whose results are the custodian's, before the close and after.
#[test]
fn a_report_takes_the_key() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&[("[plan]\n", "[plan]\nresults = \"custodian\"\n")]);
    for closed in [false, true] {
        let refused = ward.on_device(&["report"]);
        assert_eq!(refused.code, 1, "{refused:?}");
        assert!(refused.err.contains("results=custodian") && refused.err.contains("--key-file"));
        let asked = ward.on_device(&["report", "--key-file", "key"]);
        if closed {
            assert!(asked.code == 0 && asked.out.contains("Patients enrolled: 0"), "{asked:?}");
        } else {
            assert!(asked.code == 1 && asked.err.contains("no estimate yet"), "{asked:?}");
            ward.good(&["close", "--yes", "--key-file", "key"]);
        }
    }
}

/// Keys of roles are made from the custodian's, have one right each, and are refused elsewhere.
#[test]
fn keys_of_roles_have_one_right() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&[("[plan]\n", "[plan]\nresults = \"custodian\"\n")]);
    let shown = |file: &str| ward.run(&["key", "show", file]).out;
    for role in ["report", "presence", "code-break"] {
        let made = ward.run(&["keygen", role, "--role", role, "--from", "key"]);
        assert_eq!(made.code, 0, "{made:?}");
        let check = shown(role).split_whitespace().last().unwrap().to_owned();
        assert!(shown(role).contains(role) && made.out.contains(&check), "{made:?}");
        let close = ward.on_device(&["close", "--yes", "--key-file", role]);
        let why = format!("this is a {role} key, allowed is the custodian's key");
        assert!(close.code == 2 && close.err.contains(&why), "{close:?}");
    }
    assert!(shown("key").contains("custodian") && shown("key") != shown("report"));
    let report = ward.on_device(&["report", "--key-file", "report"]);
    assert!(report.err.contains("no estimate yet"), "{report:?}");
    let other = ward.on_device(&["report", "--key-file", "presence"]);
    assert!(other.code == 2 && other.err.contains("allowed is the report key"), "{other:?}");
    for file in ["presence", "key"] {
        assert!(ward.good(&["key", "prove", file]).contains("The device holds the key"));
    }
    assert_eq!(ward.run(&["keygen", "stranger"]).code, 0);
    ward.forget_records("key-checks");
    let stranger = ward.on_device(&["key", "prove", "stranger"]);
    assert!(stranger.code == 1 && stranger.err.contains("holds another key"), "{stranger:?}");
}

/// The key goes to paper and comes back, typed or from a file; a mistake is named by its line, and
/// no file is overwritten.
#[test]
fn a_key_comes_back_from_paper() {
    let ward = Ward::new();
    let said = ward.run(&["keygen", "key", "--print", "sheet"]);
    assert_eq!(said.code, 0, "{said:?}");
    let mode = std::fs::metadata(ward.file("sheet")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let text = |name: &str| std::fs::read_to_string(ward.file(name)).unwrap();
    assert!(!said.out.contains(text("key").trim()) && !text("sheet").contains(text("key").trim()));
    assert_eq!(ward.run(&["key", "read", "sheet", "--out", "again"]).code, 0);
    assert_eq!(text("again"), text("key"));
    let sheet = text("sheet");
    let lines = sheet.lines().filter(|line| line.len() == 14 && line.starts_with("  "));
    let typed = lines.collect::<Vec<_>>().join("\n");
    assert_eq!(ward.run_with(&["key", "read", "-", "--out", "typed"], &typed).code, 0);
    assert_eq!(text("typed"), text("key"));
    let wrong = typed.replace("  4  ", "  3  ");
    let done = ward.run_with(&["key", "read", "-", "--out", "wrong"], &wrong);
    assert!(done.code != 0 && done.err.contains("line 3"), "{done:?}");
    assert!(!ward.file("wrong").exists());
    for words in
        [&["keygen", "other", "--print", "sheet"][..], &["key", "read", "sheet", "--out", "key"]]
    {
        assert_ne!(ward.run(words).code, 0, "{words:?}");
    }
    assert!(!ward.file("other").exists());
}
