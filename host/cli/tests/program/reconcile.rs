//! `equipoise reconcile`: a monitor holds the hospital's chart against the log and the report.

use crate::common::ward::{ARMS, BLINDED, Done, Ward};

/// A ward with six patients: four with outcomes, one lost, one waiting. The rows of its chart.
fn ward_of_six(ward: &Ward, given: &str) -> Vec<String> {
    let mut rows = vec![format!("code,kind,{given},outcome,reason")];
    for number in 1..=6 {
        let (code, kind) = (format!("P-{number}"), (number % 3).to_string());
        ward.good(&["assign", &code, &kind, "--log", "ward.jsonl"]);
        let (outcome, reason) = match number {
            1..=4 => (["no", "yes"][number % 2], ""),
            5 => ("", "moved away"),
            _ => ("", ""),
        };
        match number {
            1..=4 => {
                drop(ward.good(&["outcome", &code, outcome, "--anyway", "--log", "ward.jsonl"]))
            }
            5 => drop(ward.good(&["lost", &code, "--log", "ward.jsonl"])),
            _ => {}
        }
        let list = ward.run(&["list", "--csv", "--trial", "trial.toml", "--log", "ward.jsonl"]).out;
        let row = list.lines().last().unwrap().split("\",\"").nth(3).unwrap().to_owned();
        rows.push(format!("{code},{kind},{row},{outcome},{reason}"));
    }
    rows
}

fn reconcile(ward: &Ward, rows: &[String], more: &[&str]) -> Done {
    std::fs::write(ward.file("chart.csv"), rows.join("\n")).unwrap();
    let words =
        ["reconcile", "--trial", "trial.toml", "--log", "ward.jsonl", "--chart", "chart.csv"];
    ward.run(&[&words[..], more].concat())
}

/// A right chart agrees, a wrong one ends with exit code 1 and the patient's name. The result is
/// its owner's alone, log and head keep their bytes, and a chart that is none is a usage error.
/// Requirement W23.
#[test]
fn a_chart_is_held_against_the_log() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&[]);
    let rows = ward_of_six(&ward, "arm");
    let files = || ["ward.jsonl", "ward.jsonl.head"].map(|f| std::fs::read(ward.file(f)).unwrap());
    let before = files();
    let right = reconcile(&ward, &rows, &[]);
    assert!(right.code == 0 && right.out.contains("Chart and log agree."), "{right:?}");
    assert!(right.out.starts_with("NOT PRIVATE."), "{right:?}");
    let mut wrong = rows.clone();
    let (zero, one) = (",0,", ",1,");
    let swapped = if wrong[2].contains(zero) { (zero, one) } else { (one, zero) };
    // The kind of patient 2 is 2, so the only such field is the arm.
    wrong[2] = wrong[2].replacen(swapped.0, swapped.1, 1);
    let found = reconcile(&ward, &wrong, &["--out", "result.txt"]);
    assert!(found.code == 1 && found.err.contains("1 differences"), "{found:?}");
    let text = std::fs::read_to_string(ward.file("result.txt")).unwrap();
    assert!(text.contains("P-2") && text.contains("line 3"), "{text}");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::metadata(ward.file("result.txt")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    let none = reconcile(&ward, &["code,arm".to_owned()], &[]);
    assert_eq!(none.code, 2, "{none:?}");
    assert!(none.err.contains("chart.csv: line 1: there is no column"), "{none:?}");
    assert_eq!(before, files());
}

/// In a blinded trial the chart has kits, and the result names no arm.
#[test]
fn a_blinded_chart_has_kits() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&BLINDED);
    let rows = ward_of_six(&ward, "kit");
    let right = reconcile(&ward, &rows, &[]);
    assert_eq!(right.code, 0, "{right:?}");
    let mut wrong = rows.clone();
    wrong[1] = wrong[1].replace(",1,", ",1,9");
    let found = reconcile(&ward, &wrong, &[]);
    assert!(found.code == 1 && found.out.contains("kit \"9"), "{found:?}");
    for arm in ARMS {
        assert!(!found.out.contains(arm), "{found:?}");
    }
}

/// The report of a closed trial is compared with the chart's sums, and the log stays as it is. A
/// report with a wrong MAC, or of another trial, is refused. Requirement W24.
#[test]
fn sums_are_held_against_the_report() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&[]);
    let rows = ward_of_six(&ward, "arm");
    let write = ["report", "--trial", "trial.toml", "--format", "json", "--key-file", "key"];
    ward.good(&["close", "--yes", "--key-file", "key"]);
    ward.good(&[&write[..], &["--out", "report.json"]].concat());
    let log = || std::fs::read(ward.file("ward.jsonl")).unwrap();
    let before = log();
    let with = ["--report", "report.json", "--key-file", "key"];
    let right = reconcile(&ward, &rows, &with);
    assert!(right.out.contains("Sums of the chart"), "{right:?}");
    assert!(right.out.contains("The report's MAC is right."), "{right:?}");
    // Four outcomes hide in the noise, but for one chart in twenty.
    let agrees = right.out.contains("Sums agree within the noise");
    assert_eq!(agrees, right.code == 0, "{right:?}");
    let open = reconcile(&ward, &rows, &with[..2]);
    assert!(open.out.contains("MAC was not checked (--key-file)"), "{open:?}");
    let text = std::fs::read_to_string(ward.file("report.json")).unwrap();
    let mut changed: serde_json::Value = serde_json::from_str(&text).unwrap();
    changed["rows"][0]["n0"] = 900.into();
    std::fs::write(ward.file("report.json"), changed.to_string()).unwrap();
    let forged = reconcile(&ward, &rows, &with);
    assert!(forged.code == 1 && forged.err.contains("the MAC is wrong"), "{forged:?}");
    // Nine hundred outcomes more than the chart has are no noise.
    let seen = reconcile(&ward, &rows, &with[..2]);
    assert!(seen.code == 1 && seen.err.contains("more than the noise explains"), "{seen:?}");
    let without_key = reconcile(&ward, &rows, &["--key-file", "key"]);
    assert_eq!(without_key.code, 2, "{without_key:?}");
    assert_eq!(before, log());
}
