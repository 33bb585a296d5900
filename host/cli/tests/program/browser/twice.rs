//! A slip of the finger: two clicks or two keys where one was meant confirm nothing.

use std::thread::sleep;
use std::time::Duration;

use serde_json::json;

use crate::browser::driver::{Browser, ENTER};
use crate::browser::views::{QUESTION, enrol, events, examine};
use crate::common::page::Page;
use crate::common::ward::{BLINDED, Ward};

const SIZES: [(u32, u32); 3] = [(360, 740), (412, 915), (1280, 900)];
/// Milliseconds between the clicks of a double click.
const GAPS: [u64; 3] = [0, 120, 300];
const LABELS: &str = "labels = [\"no\", \"yes\"]";
const GRADED: [(&str, &str); 2] = [("scale = 1 ", "scale = 100 "), (LABELS, "#")];

/// Left, top, right and bottom edge of a button, in the window.
#[track_caller]
fn edges(browser: &Browser, name: &str) -> [f64; 4] {
    let script = "const all = Array.from(document.querySelectorAll('button')); \
         const one = all.find((one) => one.textContent.trim() === arguments[0]); \
         if (!one) return null; one.scrollIntoView({ block: 'center' }); \
         const edge = one.getBoundingClientRect(); \
         return [edge.left, edge.top, edge.right, edge.bottom]";
    let found = browser.run(script, &[json!(name)]);
    serde_json::from_value(found).unwrap_or_else(|_| panic!("no {name}:\n{}", browser.text()))
}

/// Clicks twice on one place of a button: a share of its width from its left edge.
fn click_twice(browser: &Browser, name: &str, share: f64, gap: u64) {
    let [left, top, right, bottom] = edges(browser, name);
    let (x, y) = (left + (right - left) * share, (top + bottom) / 2.0);
    for count in 1..=2 {
        for kind in ["mousePressed", "mouseReleased"] {
            let event =
                json!({ "type": kind, "x": x, "y": y, "button": "left", "clickCount": count });
            browser.chromium("Input.dispatchMouseEvent", &event);
        }
        if count == 1 {
            sleep(Duration::from_millis(gap));
        }
    }
}

/// Two clicks on Next choose an outcome and do not record it, at every size, gap and place; two
/// times Enter do not either. One click on the confirmation records. Requirement W7.
#[test]
fn a_double_click_records_nothing() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&GRADED);
    ward.good(&["assign", "P-1", "65 or over, home", "--log", "ward.jsonl"]);
    let page = Page::serve(&ward, &[]);
    let browser = Browser::start();
    browser.size(SIZES[0]);
    browser.go(&page.next_address());
    browser.shows(&["Connected", "Outcomes waiting: 1"]);
    let unrecorded = |why: &str| {
        sleep(Duration::from_millis(250));
        browser.shows(&["Record this?", "Patient P-1, number 1: Walks unaided on day 14? 7"]);
        assert_eq!(events(&ward, "outcome"), 0, "{why}");
        browser.back();
    };
    for size in SIZES {
        browser.size(size);
        for gap in GAPS {
            for share in [0.1, 0.5, 0.9] {
                browser.click("Outcome of patient P-1");
                browser.type_in("Walks unaided on day 14? 0 to 100", "7");
                click_twice(&browser, "Next", share, gap);
                unrecorded(&format!("{size:?}, {gap} ms, at {share}"));
            }
        }
        browser.click("Outcome of patient P-1");
        browser.type_in("Walks unaided on day 14? 0 to 100", "7");
        browser.keys(&[ENTER, ENTER]);
        unrecorded(&format!("{size:?}, two times Enter"));
    }
    // Back keeps what was typed.
    browser.click("Outcome of patient P-1");
    browser.type_in("Walks unaided on day 14? 0 to 100", "7");
    browser.click("Next");
    browser.click("Back");
    browser.click("Next");
    browser.click("Record 7");
    browser.shows(&["Recorded for patient P-1, number 1."]);
    assert_eq!(events(&ward, "outcome"), 1);
}

/// Checks that a button of the view shown and the one that confirms after it share no column of
/// pixels, so that no number of clicks on one place presses both.
#[track_caller]
fn apart(browser: &Browser, step: &str, sure: &str) {
    browser.shows(&[step]);
    let before = edges(browser, step);
    browser.click(step);
    browser.shows(&[sure]);
    let after = edges(browser, sure);
    assert!(
        before[2] <= after[0] || after[2] <= before[0],
        "{step} {before:?} and {sure} {after:?} overlap"
    );
}

/// A confirmation never lies where the step before it was, nor what follows it: enrolment, outcome,
/// doubt, loss, another kit.
#[test]
fn confirmations_lie_elsewhere() {
    let ward = Ward::new();
    let _device = ward.device();
    let due = format!("{QUESTION}\ndue = \"29 days\"");
    ward.provision(&[&BLINDED[..], &[(QUESTION, &due)]].concat());
    let page = Page::serve(&ward, &[]);
    let browser = Browser::start();
    browser.size(SIZES[0]);
    browser.go(&page.next_address());
    browser.shows(&["Connected", "Nobody is waiting"]);
    for (place, size) in SIZES.into_iter().enumerate() {
        browser.size(size);
        let code = format!("P-{}", place + 1);
        browser.click("Enrol a patient");
        browser.type_in("Patient code", &code);
        browser.choose("65 or over, home");
        apart(&browser, "Next", &format!("Enrol {code}"));
        apart(&browser, &format!("Enrol {code}"), "I have read it");
        browser.click("I have read it");
        browser.click(&code);
        apart(&browser, "Lost", "Record LOST");
        browser.back();
        browser.click(&code);
        browser.click("Another kit");
        browser.type_in("Why can the kit not be used?", "wet");
        apart(&browser, "Next", &format!("Give {code} another kit"));
        apart(&browser, &format!("Give {code} another kit"), "I have read it");
        browser.click("I have read it");
        browser.click(&format!("Outcome of patient {code}"));
        apart(&browser, "The outcome will never come", "Record LOST");
        browser.click("Back");
        browser.choose("yes");
        apart(&browser, "Next", "Record YES");
        apart(&browser, "Record YES", "Record YES anyway");
        browser.back();
    }
}

/// A double click on the confirmation of an enrolment does not take the arm away unread.
#[test]
fn an_arm_is_not_clicked_away() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&[]);
    let page = Page::serve(&ward, &[]);
    let browser = Browser::start();
    browser.go(&page.next_address());
    browser.shows(&["Connected", "Nobody is waiting"]);
    enrol(&browser, "P-1", &["65 or over, home"]);
    // As soon as it is there.
    let clicked = "for (const one of document.querySelectorAll('button.first')) one.click()";
    browser.run(clicked, &[]);
    sleep(Duration::from_millis(100));
    browser.shows(&["I have read it"]);
    browser.click("I have read it");
    browser.shows(&["Outcomes waiting: 1"]);
}

/// An outcome that is due in 29 days is asked about once more; kind, enrolment and due date stand
/// in the first question. A script is refused until it says so.
#[test]
fn an_early_outcome_is_asked_about() {
    let ward = Ward::new();
    let _device = ward.device();
    let due = format!("{QUESTION}\ndue = \"29 days\"");
    ward.provision(&[(QUESTION, &due)]);
    for code in ["P-1", "P-2"] {
        ward.good(&["assign", code, "65 or over, home", "--log", "ward.jsonl"]);
    }
    let refused = ward.on_device(&["outcome", "P-2", "yes", "--log", "ward.jsonl"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.err.contains("It is early: the outcome is due"), "{refused:?}");
    assert!(refused.err.contains("--anyway") && !refused.err.contains("yes"), "{refused:?}");
    assert_eq!(events(&ward, "outcome"), 0);
    ward.good(&["outcome", "P-2", "yes", "--anyway", "--log", "ward.jsonl"]);
    assert_eq!(events(&ward, "outcome"), 1);
    let page = Page::serve(&ward, &[]);
    let browser = Browser::start();
    browser.size(SIZES[0]);
    browser.go(&page.next_address());
    browser.shows(&["Connected", "Outcomes waiting: 1"]);
    browser.click("Outcome of patient P-1");
    browser.choose("yes");
    browser.click("Next");
    browser.shows(&["65 or over, home", "Outcome due", "0 min ago"]);
    browser.click("Record YES");
    browser.shows(&["Record it anyway?", "It is early: the outcome is due", "in 28 d 23 h"]);
    assert_eq!(events(&ward, "outcome"), 1, "nothing was sent");
    examine(&browser, "doubt");
    browser.click("Record YES anyway");
    browser.shows(&["Recorded for patient P-1, number 1."]);
    assert_eq!(events(&ward, "outcome"), 2);
    assert_eq!(browser.console(), [""; 0]);
}
