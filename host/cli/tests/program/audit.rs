//! `equipoise audit`: exit codes and output.

use crate::common::ward::PROGRAM;
use std::process::Command;

/// The command fails where the design that is named exceeds its claim, and not for the published
/// one among all.
#[test]
fn audit_fails_for_the_named_design() {
    let audit = |args: &[&str]| {
        let output = Command::new(PROGRAM).arg("audit").args(args).output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    let (code, text) = audit(&["--structured"]);
    assert_eq!(code, Some(0), "{text}");
    assert!(
        text.contains("EXCEEDED") && text.contains("holds") && text.contains('\u{2588}'),
        "{text}"
    );
    assert_eq!(audit(&["--structured", "--design", "dp-conse"]).0, Some(1));
    let (code, json) = audit(&["--structured", "--design", "interim", "--json"]);
    assert_eq!(code, Some(0));
    let lines: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert!(lines.as_array().unwrap().iter().all(|f| f["verdict"] == "holds"), "{json}");
    assert_eq!(audit(&["--design", "exp3"]).0, Some(2));
    // Kit numbers next to a design, each by its own rows.
    let (code, json) = audit(&["--structured", "--kits", "--design", "uniform", "--json"]);
    assert_eq!(code, Some(0), "{json}");
    let rows: Vec<serde_json::Value> = serde_json::from_str(&json).unwrap();
    let (kits, designs): (Vec<_>, Vec<_>) = rows.iter().partition(|row| row["method"] == "kits");
    assert!(designs.iter().all(|row| row["design"] == "uniform") && !designs.is_empty(), "{json}");
    let attacked = kits.iter().map(|row| (row["numbering"].as_str(), row["succeeds"].as_bool()));
    let expected = [(Some("permutation"), Some(false)), (Some("increasing"), Some(true))];
    assert_eq!(attacked.collect::<Vec<_>>(), expected);
}
