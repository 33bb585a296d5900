//! `equipoise demo` on the emulated micro:bit, whose image `cargo xtask test` names in the
//! environment.

use crate::common::ward::PROGRAM;
use std::process::Command;

/// The demonstration of a blinded trial on the emulated board, with its power cut and replacements.
#[test]
fn blinded_demo_runs() {
    let demo = Command::new(PROGRAM)
        .args(["demo", "--blinded", "--board", "qemu", "--patients", "120", "--seed", "3"])
        .output()
        .unwrap();
    let (said, errors) =
        (String::from_utf8_lossy(&demo.stdout), String::from_utf8_lossy(&demo.stderr));
    assert!(demo.status.success(), "{said}{errors}");
    for part in [
        "device: emulated micro:bit",
        "was sent again, and the patient has one kit",
        "The report's MAC is right",
        "each to one patient, ",
        "no arm is in the log",
    ] {
        assert!(said.contains(part), "{part} is not in\n{said}");
    }
    assert!(!said.contains(" 0 of them replacements"), "{said}");
}
