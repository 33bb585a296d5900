//! The bedside in a real Chromium, against a virtual device.
//!
//! Needs chromium, chromedriver and axe-core, so it is behind the feature `browser-tests`, which
//! `cargo xtask test` turns on. Each test has one browser for several scenes. With the variable
//! `EQUIPOISE_SCREENSHOTS` set to a folder the views are left there as pictures.

#[path = "browser/blinded.rs"]
mod blinded;
#[path = "common/clock.rs"]
mod clock;
#[path = "common/desk.rs"]
mod desk;
#[path = "browser/driver.rs"]
mod driver;
#[path = "browser/example.rs"]
mod example;
#[path = "common/http.rs"]
mod http;
#[path = "common/page.rs"]
mod page;
#[path = "common/relay.rs"]
mod relay;
#[path = "browser/trouble.rs"]
mod trouble;
#[path = "common/ward.rs"]
mod ward;

use std::process::Command;

use driver::{Browser, ENTER, ESCAPE, SPACE};
use page::Page;
use ward::{PROGRAM, Ward};

const FEATURES: &str = "features = [\"under 65, home\", \"under 65, care home\", \"65 or over, home\", \"65 or over, care home\"]";
const FACTORS: &str =
    "[factors]\nsex = [\"f\", \"m\"]\nage = [\"under 65\", \"65 or over\"]\n\n[plan]";
const QUESTION: &str = "question = \"Walks unaided on day 14?\"";

fn log(ward: &Ward) -> String {
    std::fs::read_to_string(ward.file("ward.jsonl")).unwrap_or_default()
}

/// Lines of this event in the log.
fn events(ward: &Ward, event: &str) -> usize {
    log(ward).matches(&format!("\"event\":\"{event}\"")).count()
}

/// The view has no fault that axe-core finds, in light and dark, and fits its width.
#[track_caller]
fn examine(browser: &Browser, view: &str) {
    let axe = std::env::var_os("EQUIPOISE_AXE")
        .expect("EQUIPOISE_AXE names axe.min.js: cargo xtask test fetches it");
    let axe = std::fs::read_to_string(axe).unwrap();
    browser.run(&axe, &[]);
    for scheme in ["light", "dark"] {
        browser.media(scheme, "");
        let found = browser.run_async(
            "const done = arguments[arguments.length - 1]; \
             axe.run(document).then((found) => done({ passes: found.passes.length, faults: \
             found.violations.map((fault) => [fault.id, fault.impact, fault.nodes.map((node) => node.html)]) }), \
             (error) => done(String(error)))",
        );
        assert!(found["passes"].as_u64().is_some_and(|passes| passes > 5), "{view}: {found}");
        assert_eq!(found["faults"], serde_json::json!([]), "{view}, {scheme}");
        browser.picture(&format!("{view}-{scheme}"));
    }
    browser.media("light", "");
    let room = "return document.documentElement.scrollWidth - document.documentElement.clientWidth";
    assert_eq!(browser.run(room, &[]), 0, "{view} is wider than its window");
}

/// Enrols a patient, up to the arm.
#[track_caller]
fn enrol(browser: &Browser, code: &str, kinds: &[&str]) {
    browser.click("Enrol a patient");
    browser.type_in("Patient code", code);
    kinds.iter().for_each(|kind| browser.choose(kind));
    browser.click("Next");
    browser.click(&format!("Enrol {code}"));
    browser.shows(&["I have read it", &format!("Patient {code}, number ")]);
}

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
    browser.size(360, 740);
    browser.go(&page.address);
    browser.shows(&["Early walking after hip surgery", "Connected", "Nobody is waiting"]);
    assert!(!browser.url().contains("open"), "the key does not stay in the address bar");
    examine(&browser, "list-empty-360");

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
    examine(&browser, "enrol-360");
    browser.click("Back");
    browser.shows(&["Nobody is waiting"]);
    browser.click("Enrol a patient");
    browser.type_in("Patient code", "P-1");
    browser.choose("m");
    browser.choose("65 or over");
    browser.click("Next");
    browser.shows(&["Patient P-1, m, 65 or over", "An enrolment cannot be taken back."]);
    examine(&browser, "sure-360");
    assert_eq!(events(&ward, "enrol"), 0, "nothing happens before the confirmation");
    browser.click("Enrol P-1");
    let arm = browser.shows(&["Patient P-1, number 1", "I have read it"]);
    let arm = ["Usual care", "Early walking"].into_iter().find(|name| arm.contains(name)).unwrap();
    assert!(log(&ward).contains(&format!("\"arm_name\":\"{arm}\"")), "{arm}");
    let size = "return parseFloat(getComputedStyle(document.querySelector('.arm .name')).fontSize)";
    assert!(browser.run(size, &[]).as_f64().unwrap() >= 40.0, "very large letters");
    examine(&browser, "arm-360");
    browser.click("I have read it");

    enrol(&browser, "Q-2", &["f", "under 65"]);
    browser.click("I have read it");
    let list = browser.shows(&["Outcomes waiting: 2", "number 1, m, 65 or over, waiting 0 min"]);
    assert!(list.contains("due in 13 d 23 h"), "{list}");
    browser.type_in("Search by part of a code", "q");
    let found = browser.shows(&["Outcomes waiting: 1 of 2", "Q-2"]);
    assert!(!found.contains("P-1\n"), "{found}");
    examine(&browser, "list-360");
    browser.type_in("Search by part of a code", "zz");
    browser.shows(&["No waiting patient has this in the code."]);
    browser.reload();
    browser.shows(&["Outcomes waiting: 2"]);

    browser.click("Outcome of patient P-1");
    browser.click("Next");
    browser.shows(&["Choose the outcome first."]);
    browser.choose("yes");
    examine(&browser, "outcome-360");
    browser.click("Next");
    browser.shows(&["Patient P-1, number 1: Walks unaided on day 14? YES", "cannot be changed"]);
    examine(&browser, "sure-outcome-360");
    assert_eq!(events(&ward, "outcome"), 0);
    browser.click("Record YES");
    browser.shows(&["Recorded for patient P-1, number 1.", "Outcomes waiting: 1"]);
    assert_eq!(events(&ward, "outcome"), 1);

    browser.click("Find a patient");
    browser.type_in("Patient code", "nobody");
    browser.click("Show");
    browser.shows(&["this log has no arm of a patient \"nobody\""]);
    examine(&browser, "find-360");
    browser.click("Back");
    browser.click("Q-2");
    browser.shows(&["Patient Q-2, number 2", "Notes: 0"]);
    browser.click("Write a note");
    examine(&browser, "note-360");
    browser.choose("deviation");
    browser.type_in("Note", "left the ward early");
    browser.click("Write to the log");
    browser.shows(&["Notes: 1", "left the ward early", "deviation"]);
    examine(&browser, "patient-360");
    browser.click("Lost");
    browser.shows(&["Patient Q-2, number 2: the outcome will never come"]);
    browser.click("Record LOST");
    browser.shows(&["Recorded for patient Q-2, number 2.", "Outcomes waiting: 0"]);

    browser.click("change");
    browser.type_in("Name or initials", "AB");
    examine(&browser, "operator-360");
    browser.click("Switch operator");
    browser.shows(&["Operator AB", "The operator is AB."]);
    browser.click("Report");
    browser.shows(&["No report: there is no estimate yet"]);
    examine(&browser, "no-report-360");
    browser.click("To the list");

    // The slip of a patient whose outcome is known, on paper.
    browser.click("Find a patient");
    browser.type_in("Patient code", "p-1");
    browser.click("Show");
    browser.shows(&["Patient P-1, number 1", "recorded"]);
    browser.media("light", "print");
    let slip = browser.text();
    for part in ["Early walking after hip surgery", "P-1", arm, "Number", "Operator", "tester"] {
        assert!(slip.contains(part), "{part} is not on the slip:\n{slip}");
    }
    for part in ["yes", "YES", "ecorded", "Outcome", "Walks"] {
        assert!(!slip.contains(part), "{part} is on the slip:\n{slip}");
    }
    browser.picture("slip");
    browser.media("light", "");

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
    let trial = equipoise::host::terminal::trial_file::EXAMPLE.replace(QUESTION, &due);
    std::fs::write(ward.file("trial.toml"), trial).unwrap();
    let mut command = Command::new(PROGRAM);
    command.args(["web", "--flash", "mine", "--trial", "trial.toml", "--operator", "AB"]);
    let page = Page::start(&ward, command);
    let log = || std::fs::read_to_string(ward.file("mine.log.jsonl")).unwrap_or_default();
    let count = |event: &str| log().matches(&format!("\"event\":\"{event}\"")).count();
    let browser = Browser::start();
    browser.size(1280, 800);
    browser.go(&page.address);
    browser.shows(&["Nobody is waiting"]);
    browser.tab_to("Enrol a patient");
    browser.keys(&[ENTER]);
    browser.shows(&["Letters, digits"]);
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
    examine(&browser, "list-1280");
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
    browser.shows(&["Recorded for patient K-1, number 1.", "Nobody is waiting"]);
    assert_eq!((count("arm"), count("outcome")), (1, 1));
    // The pictures of docs/browser.md.
    for (code, kind) in [("H-07/12", "65 or over, home"), ("H-07/19", "under 65, care home")] {
        enrol(&browser, code, &[kind]);
        browser.click("I have read it");
    }
    browser.shows(&["Outcomes waiting: 2"]);
    browser.size(1280, 640);
    browser.picture("browser-list");
    enrol(&browser, "H-07/23", &["65 or over, care home"]);
    browser.size(360, 640);
    browser.picture("browser-arm");
}

/// Two tabs, a double click, the Back button, a reload: nothing is enrolled or recorded twice, and
/// every tab shows the same.
#[test]
fn two_tabs_and_double_clicks() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&[]);
    let page = Page::serve(&ward, &[]);
    let browser = Browser::start();
    let first = browser.tabs().remove(0);
    browser.go(&page.address);
    browser.shows(&["Nobody is waiting"]);

    // A confirmation pressed three times in one turn of the browser.
    browser.click("Enrol a patient");
    browser.type_in("Patient code", "P-1");
    browser.choose("under 65, home");
    browser.click("Next");
    browser.shows(&["Enrol this patient?"]);
    let button =
        "const one = document.querySelector('button.first'); one.click(); one.click(); one.click()";
    browser.run(button, &[]);
    browser.shows(&["Patient P-1, number 1", "I have read it"]);
    assert_eq!(events(&ward, "arm"), 1, "{}", log(&ward));

    // Back leads to the list; a reload of a confirmation leaves it.
    browser.back();
    browser.shows(&["Outcomes waiting: 1"]);
    browser.click("Enrol a patient");
    browser.type_in("Patient code", "P-2");
    browser.choose("under 65, home");
    browser.click("Next");
    browser.shows(&["Enrol this patient?"]);
    browser.back();
    let list = browser.shows(&["Outcomes waiting: 1"]);
    assert!(!list.contains("P-2"), "{list}");
    browser.click("Outcome of patient P-1");
    browser.choose("yes");
    browser.click("Next");
    browser.shows(&["Record this?"]);
    browser.reload();
    browser.shows(&["Outcomes waiting: 1"]);
    assert_eq!((events(&ward, "arm"), events(&ward, "outcome")), (1, 0));

    // The second tab records what the first one is about to.
    browser.click("Outcome of patient P-1");
    browser.choose("yes");
    browser.click("Next");
    let second = browser.new_tab();
    browser.switch_to(&second);
    browser.go(&page.address);
    browser.shows(&["Outcomes waiting: 1"]);
    browser.click("Outcome of patient P-1");
    browser.choose("no");
    browser.click("Next");
    browser.click("Record NO");
    browser.shows(&["Recorded for patient P-1, number 1."]);
    browser.switch_to(&first);
    browser
        .shows(&["The outcome of patient P-1 was recorded meanwhile. Nothing was sent from here."]);
    browser.click("To the list");
    // Both enrol the same code.
    for tab in [&first, &second] {
        browser.switch_to(tab);
        browser.click("Enrol a patient");
        browser.type_in("Patient code", "P-3");
        browser.choose("under 65, home");
        browser.click("Next");
        browser.shows(&["Enrol this patient?"]);
    }
    browser.click("Enrol P-3");
    browser.shows(&["Patient P-3, number 2"]);
    browser.switch_to(&first);
    browser.click("Enrol P-3");
    browser.shows(&["Not done", "patient P-3 is already enrolled, as number 2"]);
    assert_eq!((events(&ward, "arm"), events(&ward, "outcome")), (2, 1), "{}", log(&ward));
    // The second and third click found the form gone.
    let mut console = browser.console();
    console.retain(|line| !line.contains("Form submission canceled"));
    assert_eq!(console, [""; 0]);
}
