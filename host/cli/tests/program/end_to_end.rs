//! The terminal in tmux, with keys sent and the screen read.
//!
//! Needs tmux, so it is behind the feature `terminal-tests`, which `cargo
//! xtask test` turns on. Waiting only turns a hang into a failure; nothing passes or fails by
//! speed.

use crate::common::page;
use crate::common::relay;
use crate::common::screen;
use crate::common::ward;

use page::Visitor;
use relay::{Fate, Relay};
use rustix::process::{Pid, Signal, kill_process};
use screen::Screen;
use std::os::unix::fs::PermissionsExt;
use ward::Ward;

fn log(ward: &Ward) -> String {
    let verified = ward.run(&["log", "verify", "ward.jsonl"]);
    assert_eq!(verified.code, 0, "{verified:?}");
    std::fs::read_to_string(ward.file("ward.jsonl")).unwrap()
}

/// A nurse enrols, reads the arm and enters the outcome with keys alone.
#[test]
fn enrolment_and_outcome_by_keys() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&[]);
    let port = ward.port();
    let screen = Screen::run(
        &ward,
        &["terminal", "--port", &port, "--log", "ward.jsonl"],
        &[("NO_COLOR", "1")],
    );
    screen.shows("Nobody is waiting for an outcome.");
    screen.shows("Patients 0 of 4000");
    screen.enrol("H-07/12");
    assert!(screen.text().contains("E: enrol H-07/12"), "{}", screen.text());
    screen.keys(&["e"]);
    let arm = screen.shows("Enter when you have read it");
    assert!(
        arm.contains("Patient H-07/12, number 1, 65 or over, home") && arm.contains("█████"),
        "{arm}"
    );
    assert!(arm.contains("Usual care (arm 0)") || arm.contains("Early walking (arm 1)"), "{arm}");
    let coloured = String::from_utf8(screen.tmux(&["capture-pane", "-p", "-e"]).stdout).unwrap();
    let plain = (30..38).chain(40..48).chain(90..98).map(|colour| format!("\u{1b}[{colour}m"));
    for code in plain.chain(["[38;".to_owned(), "[48;".to_owned()]) {
        assert!(!coloured.contains(&code), "NO_COLOR is set: {coloured:?}");
    }
    screen.keys(&["Enter"]);
    screen.shows("> H-07/12");
    screen.keys(&["o"]);
    screen.shows("Walks unaided on day 14?");
    screen.keys(&["1", "Enter"]);
    let no = screen.shows("Walks unaided on day 14? NO");
    assert!(no.contains("R: record NO") && !no.contains("yes"), "{no}");
    screen.keys(&["Escape"]);
    screen.shows("2  yes");
    screen.keys(&["2", "Enter"]);
    screen.shows("R: record YES");
    screen.keys(&["r"]);
    screen.shows("Recorded for patient H-07/12, number 1.");
    screen.shows("Outcomes waiting: 0");
    screen.keys(&["e"]);
    let next = screen.shows("Patient code:");
    assert!(!next.contains("H-07/12"), "nothing is left of the last patient: {next}");
    screen.keys(&["Escape"]);
    screen.shows("Nobody is waiting");
    screen.enrol("H-08/12");
    screen.keys(&["e"]);
    screen.shows("Enter when you have read it");
    screen.keys(&["Enter"]);
    screen.shows("> H-08/12");
    screen.keys(&["l"]);
    let lost = screen.shows("Patient H-08/12, number 2: the outcome will never come");
    assert!(lost.contains("R: record LOST") && !lost.contains("yes"), "{lost}");
    screen.keys(&["r"]);
    screen.shows("Declared lost: the outcome of patient H-08/12, number 2");
    screen.keys(&["q"]);
    screen.shows("left with 0");
    let log = log(&ward);
    assert!(
        log.contains(
            "\"event\":\"outcome\",\"code\":\"H-07/12\",\"patient\":1,\"answered\":\"OK 1\""
        ),
        "{log}"
    );
    assert!(!log.contains("OUTCOME"), "not even the request: {log}");
}

/// A terminal whose device has decided and stored the arm of P-1, which nobody has heard.
fn unheard(ward: &Ward) -> (Screen, Relay) {
    let cable = Relay::between(&ward.file("cable"), &ward.port(), Some(Fate::Lose("ASSIGN")));
    let screen = Screen::run(ward, &["terminal", "--port", "cable", "--log", "ward.jsonl"], &[]);
    screen.shows("Patients 0 of 4000");
    screen.enrol("P-1");
    screen.keys(&["e"]);
    cable.wait_for_loss();
    (screen, cable)
}

/// A device unplugged in the middle of an enrolment gives one arm when it is back. Requirement W2.
#[test]
fn unplugged_device_gives_one_arm() {
    let ward = Ward::new();
    let device = ward.device();
    ward.provision(&[]);
    let (screen, cable) = unheard(&ward);
    drop(device);
    drop(cable);
    screen.shows("NO DEVICE");
    let unplugged = screen.shows("never assigns twice");
    assert!(unplugged.contains("Asking the device for the arm of patient P-1"), "{unplugged}");
    let _device = ward.device();
    assert!(ward.good(&["status", "--json"]).contains("\"assigned\":1,"), "it had been assigned");
    let _cable = Relay::between(&ward.file("cable"), &ward.port(), None);
    let arm = screen.shows("Enter when you have read it");
    assert!(arm.contains("Patient P-1, number 1"), "{arm}");
    screen.keys(&["Enter"]);
    screen.shows("> P-1");
    screen.shows("Patients 1 of 4000");
    screen.keys(&["q"]);
    screen.shows("left with 0");
    let log = log(&ward);
    assert_eq!(log.matches("\"event\":\"enrol\"").count(), 1, "{log}");
    assert_eq!(log.matches("\"event\":\"arm\"").count(), 1, "{log}");
}

/// A device that is frozen after the confirmation is asked when it is back. The log has the
/// enrolment before the screen says so. Requirement W3.
#[test]
fn frozen_device_is_asked_when_back() {
    let ward = Ward::new();
    let device = ward.device();
    ward.provision(&[]);
    let port = ward.port();
    let screen = Screen::run(&ward, &["terminal", "--port", &port, "--log", "ward.jsonl"], &[]);
    screen.shows("Patients 0 of 4000");
    screen.enrol("P-1");
    kill_process(Pid::from_raw(i32::try_from(device.id()).unwrap()).unwrap(), Signal::STOP)
        .unwrap();
    screen.keys(&["e"]);
    screen.shows("NO DEVICE");
    let promise = screen.shows("log knows what was asked");
    assert!(promise.contains("Asking the device for the arm of patient P-1"), "{promise}");
    let log_now = std::fs::read_to_string(ward.file("ward.jsonl")).unwrap();
    assert!(
        log_now.contains("\"code\":\"P-1\""),
        "the log has what the screen says it has: {log_now}"
    );
    let colours = String::from_utf8(screen.tmux(&["capture-pane", "-p", "-e"]).stdout).unwrap();
    assert!(
        colours.contains("[38;") || colours.contains("[31m"),
        "colour where it is not turned off: {colours:?}"
    );
    drop(device);
    let _device = ward.device();
    assert!(screen.shows("Enter when you have read it").contains("Patient P-1, number 1"));
    assert_eq!(log(&ward).matches("\"event\":\"arm\"").count(), 1);
}

/// An enrolment that was confirmed while the device was frozen is known to the next terminal, which
/// asks about it.
#[test]
fn confirmed_enrolment_outlives_the_terminal() {
    let ward = Ward::new();
    let device = ward.device();
    ward.provision(&[]);
    let port = ward.port();
    let words = ["terminal", "--port", &port, "--log", "ward.jsonl"];
    let screen = Screen::run(&ward, &words, &[]);
    screen.shows("Patients 0 of 4000");
    screen.enrol("P-1");
    kill_process(Pid::from_raw(i32::try_from(device.id()).unwrap()).unwrap(), Signal::STOP)
        .unwrap();
    screen.keys(&["e"]);
    screen.shows("log knows what was asked");
    drop(screen);
    drop(device);
    std::fs::File::open(ward.file("ward.jsonl")).unwrap().lock().unwrap();
    let _device = ward.device();
    let screen = Screen::run(&ward, &words, &[]);
    screen.shows("Patient P-1 was confirmed");
    screen.shows("Patients 0 of 4000");
    screen.keys(&["r"]);
    assert!(screen.shows("Enter when you have read it").contains("Patient P-1, number 1"));
    assert_eq!(log(&ward).matches("\"event\":\"arm\"").count(), 1);
}

/// Of 40 kinds of patient "12" takes the twelfth; in the waiting list a digit searches and never
/// selects.
#[test]
fn digits_take_whole_numbers() {
    let ward = Ward::new();
    let _device = ward.device();
    let names: Vec<String> = (1..=40).map(|kind| format!("\"kind {kind}\"")).collect();
    let features = "\"under 65, home\", \"under 65, care home\", \"65 or over, home\", \"65 or over, care home\"";
    ward.provision(&[(features, &names.join(", "))]);
    let port = ward.port();
    let screen = Screen::run(&ward, &["terminal", "--port", &port, "--log", "ward.jsonl"], &[]);
    screen.shows("Patients 0 of 4000");
    for (code, kind) in [("P-2", "2"), ("P-12", "12")] {
        screen.keys(&["e"]);
        screen.shows("Patient code:");
        screen.keys(&["-l", code]);
        screen.keys(&["Enter"]);
        screen.shows(&format!("Patient {code} is"));
        screen.keys(&["-l", kind]);
        screen.shows(&format!("Number: {kind}_"));
        screen.keys(&["Enter"]);
        screen.shows(&format!("Enrol patient {code}, kind {kind}?"));
        screen.keys(&["e"]);
        screen.shows("Enter when you have read it");
        screen.keys(&["Enter"]);
        screen.shows(&format!("Outcomes waiting: {}", if kind == "2" { 1 } else { 2 }));
    }
    screen.keys(&["-l", "12"]);
    screen.shows("Outcomes waiting: 1 of 2, code has 12_");
    screen.keys(&["Enter", "o"]);
    screen.shows("Patient P-12, number 2: Walks unaided");
}

/// A terminal killed in the middle of an enrolment is followed by one that knows it.
#[test]
fn next_terminal_knows_the_enrolment() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&[]);
    let (screen, cable) = unheard(&ward);
    drop(screen);
    drop(cable);
    // The log is locked until the last of the killed terminal is gone.
    std::fs::File::open(ward.file("ward.jsonl")).unwrap().lock().unwrap();
    let port = ward.port();
    let screen = Screen::run(&ward, &["terminal", "--port", &port, "--log", "ward.jsonl"], &[]);
    assert!(screen.shows("Enter when you have read it").contains("Patient P-1, number 1"));
    screen.shows("Patients 1 of 4000");
    assert_eq!(log(&ward).matches("\"event\":\"arm\"").count(), 1);
}

/// The program alone offers the example and goes on where it stopped.
#[test]
fn program_alone_goes_on() {
    let ward = Ward::new();
    let screen = Screen::run(&ward, &["--flash", "mine"], &[]);
    screen.shows("1 or 2 (Enter: 1):");
    screen.keys(&["Enter"]);
    screen.shows("in the browser");
    screen.shows("1, 2 or 3 (Enter: 1):");
    screen.keys(&["Enter"]);
    screen.shows("connected: virtual device");
    screen.enrol("P-1");
    screen.keys(&["e"]);
    screen.shows("Enter when you have read it");
    screen.keys(&["Enter", "q"]);
    screen.shows("left with 0");
    drop(screen);
    let screen = Screen::run(&ward, &["--flash", "mine"], &[]);
    screen.shows("1, 2 or 3 (Enter: 1):");
    screen.keys(&["Enter"]);
    screen.shows("> P-1");
    screen.shows("Patients 1 of 4000");
}

/// Screen and page in one program: each sees what the other does, and forms stay as they are.
#[test]
fn screen_and_page_share_the_news() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&[]);
    let words = ["web", "--screen", "--port", "port", "--log", "ward.jsonl"];
    let screen = Screen::run(&ward, &words, &[]);
    let shown = screen.shows("The page is at http://");
    let address = shown.split("The page is at ").nth(1).unwrap().split_whitespace().next().unwrap();
    let visitor = Visitor::open(address);
    visitor.wait(|state| state["up"] == true);
    let enrol = |code: &str| serde_json::json!({ "order": "enrol", "code": code, "levels": [2] });
    assert_eq!(visitor.order(1, &enrol("WEB-1"))["done"], "enrolled");
    screen.shows("In the browser: patient WEB-1 is number 1.");
    screen.shows("> WEB-1");
    screen.enrol("SCREEN-2");
    // The other view's enrolment leaves this one's form alone.
    assert_eq!(visitor.order(2, &enrol("WEB-3"))["patient"]["number"], 2);
    screen.shows("Enrol patient SCREEN-2");
    screen.keys(&["e"]);
    screen.shows("Enter when you have read it");
    visitor.wait(|state| state["waiting"].as_array().is_some_and(|all| all.len() == 3));
    let operator = serde_json::json!({ "order": "operator", "name": "AB" });
    assert_eq!(visitor.order(3, &operator)["done"], "operator");
    screen.keys(&["Enter", "i"]);
    screen.shows("Now: AB.");
    screen.keys(&["Escape"]);
    screen.shows("Outcomes waiting: 3");
    screen.keys(&["c"]);
    screen.shows("The list of enrolments is in ward-20");
    screen.keys(&["q"]);
    screen.shows("left with 0");
    let saved = ward.files().into_iter().find(|file| file.extension().is_some_and(|e| e == "csv"));
    let saved = saved.expect("the list is beside the log");
    assert_eq!(
        std::fs::read_to_string(&saved).unwrap(),
        ward.run(&["list", "--csv", "--log", "ward.jsonl"]).out
    );
    assert_eq!(std::fs::metadata(saved).unwrap().permissions().mode() & 0o777, 0o600);
}

/// Two times Enter, as by a slip of the finger, choose an outcome and do not record it; an outcome
/// before its time is asked about with a key of its own. Requirement W7.
#[test]
fn a_double_enter_records_nothing() {
    let ward = Ward::new();
    let _device = ward.device();
    let (question, labels) =
        ("question = \"Walks unaided on day 14?\"", "labels = [\"no\", \"yes\"]");
    let due = format!("{question}\ndue = \"29 days\"");
    ward.provision(&[("scale = 1 ", "scale = 100 "), (labels, "#"), (question, &due)]);
    ward.good(&["assign", "P-1", "65 or over, home", "--log", "ward.jsonl"]);
    let port = ward.port();
    let screen = Screen::run(&ward, &["terminal", "--port", &port, "--log", "ward.jsonl"], &[]);
    screen.shows("> P-1");
    screen.keys(&["o"]);
    screen.shows("0 to 100:");
    screen.keys(&["7", "Enter", "Enter", "Enter"]);
    let asked = screen.shows("R: record 7");
    assert!(asked.contains("65 or over, home") && asked.contains("outcome due"), "{asked}");
    screen.shows("Enter does not confirm this");
    screen.keys(&["r", "r", "Enter"]);
    screen.shows("A: record 7 anyway");
    screen.shows("It is early: the outcome is due");
    assert_eq!(log(&ward).matches("\"event\":\"outcome\"").count(), 0);
    screen.keys(&["a"]);
    screen.shows("Recorded for patient P-1, number 1.");
    assert_eq!(log(&ward).matches("\"event\":\"outcome\"").count(), 1);
}
