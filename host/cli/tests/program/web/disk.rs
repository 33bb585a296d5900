//! A full disk, at every line of the log that an enrolment and an outcome write, and one that
//! refuses to take back what it has written.
#![cfg(target_os = "linux")]

use std::process::Command;

use serde_json::json;

use crate::common::page::{Page, Visitor};
use crate::common::ward::{PROGRAM, Ward};
use crate::web::enrol;

/// Bytes of a line that still fit: less than any line has.
const PART: usize = 20;

/// A library to be loaded before the system's: no file is shortened while there is a `$STUCK`.
const STUCK_DISK: &str = r#"
#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
int ftruncate64(int file, long length) {
    if (access(getenv("STUCK"), F_OK) == 0) { errno = EIO; return -1; }
    return syscall(SYS_ftruncate, file, length);
}
"#;

/// The command that serves the ward's device with no room for a file of more than `most` bytes,
/// until the limit is raised.
fn limited(most: usize) -> Command {
    let mut command = Command::new("sh");
    let line = format!(
        "trap '' XFSZ; exec prlimit --fsize={most}: {PROGRAM} web --port port --trial trial.toml --log ward.jsonl"
    );
    command.args(["-c", &line]);
    command
}

/// Serves the ward's device with no room for a file of more than `most` bytes.
fn serve(ward: &Ward, most: usize) -> Page {
    Page::start(ward, limited(most))
}

fn outcome() -> serde_json::Value {
    json!({ "order": "outcome", "patient": 1, "outcome": 1 })
}

/// Bytes of the log before its first line of each event.
fn sizes() -> impl Fn(&str) -> usize {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&[]);
    let page = Page::serve(&ward, &[]);
    let visitor = Visitor::enter(&page);
    assert_eq!(visitor.order(1, &enrol("P-1"))["done"], "enrolled");
    assert_eq!(visitor.order(2, &outcome())["done"], "recorded");
    let log = std::fs::read_to_string(ward.file("ward.jsonl")).unwrap();
    move |event| {
        let at = log.find(&format!("\"event\":\"{event}\"")).unwrap();
        log[..at].rfind('\n').map_or(0, |end| end + 1)
    }
}

/// Wherever the disk is full: what the page is told is what the device and the log hold, and once
/// there is room everything goes on without a second enrolment. Requirement W5.
#[test]
fn a_full_disk_is_told_truly() {
    let before = sizes();
    let not_enrolled = "patient P-1 is not enrolled: the log cannot be written";
    for (event, says, assigned) in [
        ("wanted", not_enrolled, 0),
        ("enrol", not_enrolled, 0),
        (
            "arm",
            "the device has enrolled patient P-1, as number 1, but the log cannot be written",
            1,
        ),
        ("outcome", "the device has recorded it, but the log could not be written", 1),
    ] {
        let ward = Ward::new();
        let _device = ward.device();
        ward.provision(&[]);
        let page = serve(&ward, before(event) + PART);
        let visitor = Visitor::enter(&page);
        visitor.wait(|state| state["up"] == true);
        let mut answer = visitor.order(1, &enrol("P-1"));
        if event == "outcome" {
            assert_eq!(answer["done"], "enrolled", "{answer}");
            answer = visitor.order(2, &outcome());
        }
        let why = answer["failed"].as_str().unwrap_or_default();
        assert!(why.contains(says) && why.contains("File too large"), "{event}: {answer}");
        let state = visitor.wait(|state| state["status"]["assigned"] == assigned);
        let listed = usize::from(event == "outcome");
        assert_eq!(state["waiting"].as_array().unwrap().len(), listed, "{event}: {state:#}");
        drop(page);
        assert_eq!(ward.run(&["log", "verify", "ward.jsonl"]).code, 0, "{event}");

        // Room again: an arm that was given is shown, and nothing is enrolled by itself.
        let page = Page::serve(&ward, &[]);
        let visitor = Visitor::enter(&page);
        let state = visitor.wait(|state| {
            state["up"] == true && state["waiting"].as_array().unwrap().len() == assigned
        });
        assert_eq!(state["status"]["assigned"], assigned, "{event}: {state:#}");
        let again = visitor.order(3, &enrol("P-1"));
        match assigned {
            0 => assert_eq!(again["done"], "enrolled", "{event}: {again}"),
            _ => assert_eq!(again["failed"], "patient P-1 is already enrolled, as number 1"),
        }
        if event == "outcome" {
            let again = visitor.order(4, &outcome());
            assert!(again["failed"].as_str().unwrap().contains("nothing changed"), "{again}");
        }
        visitor.wait(|state| state["status"]["assigned"] == 1);
        let log = std::fs::read_to_string(ward.file("ward.jsonl")).unwrap();
        assert_eq!(log.matches("\"event\":\"arm\"").count(), 1, "{event}: {log}");
    }
}

/// If a line cannot be written and what was written of it cannot be cut off, nothing more is
/// enrolled or recorded until it is cut off; the page says so, and the log stays whole.
#[test]
fn no_line_follows_half_a_line() {
    let (before, ward) = (sizes(), Ward::new());
    let _device = ward.device();
    ward.provision(&[]);
    std::fs::write(ward.file("stuck.c"), STUCK_DISK).unwrap();
    let made = Command::new("cc")
        .args(["-shared", "-fPIC", "-o", "stuck.so", "stuck.c"])
        .current_dir(ward.path())
        .status();
    assert!(made.unwrap().success());
    let mut command = limited(before("outcome") + PART);
    command.env("LD_PRELOAD", ward.file("stuck.so")).env("STUCK", ward.file("stuck"));
    let page = Page::start(&ward, command);
    let visitor = Visitor::enter(&page);
    visitor.wait(|state| state["up"] == true);
    assert_eq!(visitor.order(1, &enrol("P-1"))["done"], "enrolled");

    // The disk is full, and its error keeps the log from being shortened.
    std::fs::write(ward.file("stuck"), "").unwrap();
    let answer = visitor.order(2, &enrol("P-2"));
    let why = answer["failed"].as_str().unwrap_or_default();
    let not_enrolled = "patient P-2 is not enrolled: the log cannot be written";
    assert!(why.contains(not_enrolled) && why.contains("File too large"), "{answer}");

    // There is room again, but half a line is still there.
    let id = page.id().to_string();
    let raised = Command::new("prlimit").args(["--pid", &id, "--fsize=unlimited:"]).status();
    assert!(raised.unwrap().success());
    let answer = visitor.order(3, &enrol("P-2"));
    let why = answer["failed"].as_str().unwrap_or_default();
    assert!(why.contains(not_enrolled) && why.contains("cannot be cut off"), "{answer}");
    let answer = visitor.order(4, &outcome());
    let why = answer["failed"].as_str().unwrap_or_default();
    assert!(why.contains("nothing was sent to the device"), "{answer}");
    let state = visitor.wait(|state| state["up"] == true);
    assert_eq!(state["status"]["assigned"], 1, "{state:#}");
    assert_eq!(state["waiting"].as_array().unwrap().len(), 1, "{state:#}");

    // The disk works again: so does the page, and no line was lost or doubled.
    std::fs::remove_file(ward.file("stuck")).unwrap();
    assert_eq!(visitor.order(5, &enrol("P-2"))["done"], "enrolled");
    assert_eq!(visitor.order(6, &outcome())["done"], "recorded");
    drop(page);
    let verified = ward.run(&["log", "verify", "ward.jsonl"]);
    assert_eq!(verified.code, 0, "{verified:?}");
    let log = std::fs::read_to_string(ward.file("ward.jsonl")).unwrap();
    assert_eq!(log.matches("\"event\":\"arm\"").count(), 2, "{log}");
}
