//! A nurse's day: with a finger, a mouse or the keyboard, on a small and a wide screen.

use std::process::Command;

use crate::browser::driver::{Browser, ENTER, ESCAPE, SPACE};
use crate::browser::views::{
    FACTORS, FEATURES, QUESTION, SMALL, WIDE, enrol, events, examine, log, on_paper,
};
use crate::common::page::Page;
use crate::common::ward::{PROGRAM, Ward};

/// A nurse's day on a phone of 360 pixels: factors, errors in words, arm, search, outcome, loss,
/// note, slip, operator. No view has a fault that axe-core finds.
#[test]
fn a_day_on_a_small_screen() {
    let ward = Ward::new();
    let _device = ward.device();
    let due = format!("{QUESTION}\ndue = \"14 days\"");
    ward.provision(&[(FEATURES, ""), ("[plan]", FACTORS), (QUESTION, &due)]);
    let page = Page::serve(&ward, &[]);
    let browser = Browser::start();
    browser.size(SMALL);
    browser.go(&page.next_address());
    browser.shows(&["Early walking after hip surgery", "Connected", "Nobody is waiting"]);
    assert!(!browser.url().contains("open"), "the key does not stay in the address bar");
    examine(&browser, "list-empty");

    browser.click("Enrol a patient");
    browser.click("Next");
    browser.shows(&["Type the code first."]);
    browser.type_in("Patient code", "bad code!");
    browser.choose("m");
    browser.click("Next");
    browser.shows(&["Choose the kind of patient first."]);
    browser.choose("65 or over");
    browser.click("Next");
    browser.shows(&["bad code!", "allowed"]);
    examine(&browser, "enrol");
    browser.click("Back");
    browser.shows(&["Nobody is waiting"]);
    browser.click("Enrol a patient");
    browser.type_in("Patient code", "P-1");
    browser.choose("m");
    browser.choose("65 or over");
    browser.click("Next");
    browser.shows(&["Patient P-1, m, 65 or over", "An enrolment cannot be taken back."]);
    examine(&browser, "sure");
    // Back leads to the form as it was.
    browser.click("Back");
    browser.shows(&["Enrol a patient", "Patient code"]);
    browser.click("Next");
    browser.shows(&["Patient P-1, m, 65 or over", "An enrolment cannot be taken back."]);
    assert_eq!(events(&ward, "enrol"), 0, "nothing happens before the confirmation");
    browser.click("Enrol P-1");
    let arm = browser.shows(&["Patient P-1, number 1", "I have read it"]);
    let arm = ["Usual care", "Early walking"].into_iter().find(|name| arm.contains(name)).unwrap();
    assert!(log(&ward).contains(&format!("\"arm_name\":\"{arm}\"")), "{arm}");
    let size = "return parseFloat(getComputedStyle(document.querySelector('.arm .name')).fontSize)";
    assert!(browser.run(size, &[]).as_f64().unwrap() >= 40.0, "very large letters");
    examine(&browser, "arm");
    browser.click("I have read it");

    enrol(&browser, "Q-2", &["f", "under 65"]);
    browser.click("I have read it");
    let list = browser.shows(&[
        "Outcomes waiting: 2",
        "number 1, m, 65 or over, enrolled by tester, waiting 0 min",
    ]);
    assert!(list.contains("due in 13 d 23 h"), "{list}");
    // Compared by the program: a full-width letter and an Arabic digit are the same code.
    browser.type_in("Search by part of a code", "ｑ-٢");
    let found = browser.shows(&["Outcomes waiting: 1 of 2", "Q-2"]);
    assert!(!found.contains("P-1\n"), "{found}");
    examine(&browser, "list");
    browser.type_in("Search by part of a code", "zz");
    browser.shows(&["No waiting patient has this in the code."]);
    browser.reload();
    browser.shows(&["Outcomes waiting: 2"]);

    browser.click("Outcome of patient P-1");
    browser.click("Next");
    browser.shows(&["Choose the outcome first."]);
    browser.choose("yes");
    examine(&browser, "outcome");
    browser.click("Next");
    browser.shows(&["Patient P-1, number 1: Walks unaided on day 14? YES", "cannot be changed"]);
    examine(&browser, "sure-outcome");
    let paper = on_paper(&browser, "sure-outcome-paper");
    assert_eq!(paper.trim(), "", "an outcome is not printed");
    assert_eq!(events(&ward, "outcome"), 0);
    browser.click("Record YES");
    browser.shows(&["It is early: the outcome is due"]);
    browser.click("Record YES anyway");
    browser.shows(&["Recorded for patient P-1, number 1.", "Outcomes waiting: 1"]);
    assert_eq!(events(&ward, "outcome"), 1);

    browser.click("Find a patient");
    browser.type_in("Patient code", "nobody");
    browser.click("Show");
    browser.shows(&["this log has no arm of a patient \"nobody\""]);
    examine(&browser, "find");
    browser.click("Back");
    browser.click("Q-2");
    browser.shows(&["Patient Q-2, number 2", "Notes: 0"]);
    browser.click("Write a note");
    examine(&browser, "note");
    browser.choose("deviation");
    browser.type_in("Note", "left the ward early");
    browser.click("Write to the log");
    browser.shows(&["Notes: 1", "left the ward early", "deviation"]);
    examine(&browser, "patient");
    browser.click("Lost");
    browser.shows(&["Patient Q-2, number 2: the outcome will never come"]);
    examine(&browser, "sure-lost");
    browser.click("Record LOST");
    browser.shows(&["Declared lost: the outcome of patient Q-2, number 2.", "Outcomes waiting: 0"]);

    browser.click("change");
    browser.type_in("Name or initials", "AB");
    examine(&browser, "operator");
    browser.click("Switch operator");
    browser.shows(&["Operator AB", "The operator is AB."]);
    browser.click("Report");
    browser.shows(&["No report: there is no estimate yet"]);
    examine(&browser, "no-report");
    browser.click("To the list");

    // The slip of a patient whose outcome is known, on paper.
    browser.click("Find a patient");
    browser.type_in("Patient code", "p-1");
    browser.click("Show");
    browser.shows(&["Patient P-1, number 1", "recorded", "by tester"]);
    let slip = on_paper(&browser, "slip");
    for part in ["Early walking after hip surgery", "P-1", arm, "Number", "Operator", "tester"] {
        assert!(slip.contains(part), "{part} is not on the slip:\n{slip}");
    }
    let direction =
        "The device gives more patients the arm with more: Walks unaided on day 14? YES.";
    let slip = slip.replace(&format!("About the whole trial: {direction}"), "");
    for part in ["yes", "YES", "ecorded", "Outcome", "Walks"] {
        assert!(!slip.contains(part), "{part} is on the slip:\n{slip}");
    }

    // Nothing of it is left in the browser.
    let kept = "return JSON.stringify([localStorage.length, sessionStorage.length, document.cookie, history.state])";
    assert_eq!(browser.run(kept, &[]), "[0,0,\"\",{\"away\":true}]");
    assert_eq!(browser.console(), [""; 0], "no error, and nothing was blocked");
    assert_eq!(ward.run(&["log", "verify", "ward.jsonl"]).code, 0);
    let said = page.said.lock().unwrap().clone();
    assert!(!said.contains("yes") && !log(&ward).contains("yes"), "{said}");
}

/// With the keyboard alone, on a wide screen and a virtual device: enrol, outcome, back by Esc.
#[test]
fn keyboard_alone() {
    let ward = Ward::new();
    let due = format!("{QUESTION}\ndue = \"14 days\"");
    let trial = equipoise_ward::records::trial_file::EXAMPLE.replace(QUESTION, &due);
    std::fs::write(ward.file("trial.toml"), trial).unwrap();
    let mut command = Command::new(PROGRAM);
    command.args(["web", "--flash", "mine", "--trial", "trial.toml", "--operator", "AB"]);
    let page = Page::start(&ward, command);
    let log = || std::fs::read_to_string(ward.file("mine.log.jsonl")).unwrap_or_default();
    let count = |event: &str| log().matches(&format!("\"event\":\"{event}\"")).count();
    let browser = Browser::start();
    browser.size(WIDE);
    browser.go(&page.next_address());
    browser.shows(&["Nobody is waiting"]);
    browser.tab_to("Enrol a patient");
    browser.keys(&[ENTER]);
    browser.shows(&["Letters A to Z, digits"]);
    assert_eq!(browser.focus(), "Patient code", "the first field has the focus");
    browser.keys(&["K", "-", "1"]);
    browser.tab_to("under 65, home");
    browser.keys(&["\u{E015}", "\u{E015}"]);
    assert_eq!(browser.focus(), "65 or over, home", "arrow keys choose");
    browser.keys(&[ENTER]);
    browser.shows(&["Patient K-1, 65 or over, home"]);
    browser.tab_to("Enrol K-1");
    browser.keys(&[SPACE]);
    browser.shows(&["Patient K-1, number 1", "I have read it"]);
    browser.picture("arm-1280");
    browser.keys(&[ESCAPE]);
    browser.shows(&["Outcomes waiting: 1"]);
    browser.tab_to("Outcome of patient K-1");
    browser.keys(&[ENTER]);
    browser.tab_to("no");
    browser.keys(&[SPACE]);
    browser.keys(&[ENTER]);
    browser.shows(&["Walks unaided on day 14? NO"]);
    // Esc leads back without a record, Enter on the button records.
    browser.keys(&[ESCAPE]);
    browser.shows(&["Outcomes waiting: 1"]);
    assert_eq!(count("outcome"), 0);
    browser.tab_to("Outcome of patient K-1");
    browser.keys(&[ENTER]);
    browser.tab_to("no");
    browser.keys(&[SPACE, ENTER]);
    browser.tab_to("Record NO");
    browser.keys(&[ENTER]);
    browser.shows(&["It is early: the outcome is due"]);
    browser.tab_to("Record NO anyway");
    browser.keys(&[ENTER]);
    browser.shows(&["Recorded for patient K-1, number 1.", "Nobody is waiting"]);
    assert_eq!((count("arm"), count("outcome")), (1, 1));
    // The pictures of docs/browser.md.
    for (code, kind) in [("H-07/12", "65 or over, home"), ("H-07/19", "under 65, care home")] {
        enrol(&browser, code, &[kind]);
        browser.click("I have read it");
    }
    browser.shows(&["Outcomes waiting: 2"]);
    browser.size((1280, 760));
    browser.picture("browser-list");
    enrol(&browser, "H-07/23", &["65 or over, care home"]);
    browser.size((360, 720));
    browser.picture("browser-arm");
}

/// With a finger alone: everything that can be touched is at least 44 pixels wide and high, and a
/// label chooses as its button does.
#[test]
fn touch_alone() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&[]);
    let page = Page::serve(&ward, &[]);
    let browser = Browser::start();
    browser.size(SMALL);
    let touch = serde_json::json!({ "enabled": true, "maxTouchPoints": 1 });
    browser.chromium("Emulation.setTouchEmulationEnabled", &touch);
    browser.go(&page.next_address());
    browser.shows(&["Connected", "Nobody is waiting"]);
    assert_eq!(browser.run("return navigator.maxTouchPoints", &[]), 1);
    let large_enough = |view: &str| {
        let small = "const shown = document.querySelectorAll('button, input:not([type=radio]), textarea, .choice'); \
             return Array.from(shown).filter((one) => one.offsetParent).map((one) => [one.textContent || one.name, \
             one.getBoundingClientRect().width, one.getBoundingClientRect().height]).filter((one) => one[1] < 44 || one[2] < 44)";
        assert_eq!(browser.run(small, &[]), serde_json::json!([]), "{view}");
    };
    large_enough("list");
    browser.tap("Enrol a patient");
    browser.shows(&["Patient code"]);
    browser.type_in("Patient code", "T-1");
    browser.tap_choice("65 or over, home");
    large_enough("enrol");
    browser.tap("Next");
    browser.shows(&["Patient T-1, 65 or over, home"]);
    large_enough("sure");
    browser.tap("Enrol T-1");
    browser.shows(&["Patient T-1, number 1", "I have read it"]);
    large_enough("arm");
    browser.tap("I have read it");
    browser.shows(&["Outcomes waiting: 1"]);
    large_enough("list of one");
    browser.tap("T-1");
    browser.shows(&["Notes: 0"]);
    large_enough("patient");
    browser.tap("Write a note");
    browser.tap_choice("deviation");
    browser.type_in("Note", "late");
    large_enough("note");
    browser.tap("Write to the log");
    browser.shows(&["Notes: 1"]);
    browser.tap("Outcome");
    browser.tap_choice("yes");
    large_enough("outcome");
    browser.tap("Next");
    browser.shows(&["Walks unaided on day 14? YES"]);
    browser.tap("Record YES");
    browser.shows(&["Recorded for patient T-1, number 1.", "Nobody is waiting"]);
    assert_eq!((events(&ward, "arm"), events(&ward, "outcome")), (1, 1));
}
