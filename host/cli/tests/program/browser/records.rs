//! Records on the page: a log that lacks patients, and notes with an effect.

use jiff::SignedDuration;

use crate::browser::driver::Browser;
use crate::browser::views::{QUESTION, SMALL, events, examine};
use crate::common::clock;
use crate::common::page::Page;
use crate::common::ward::Ward;

/// An empty log on a device with patients: the page names them, and enrols nobody before a person
/// confirmed that their records are elsewhere.
#[test]
fn an_empty_log_is_not_an_empty_ward() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&[]);
    for number in 1..=7 {
        ward.good(&["assign", &format!("P-{number}"), "0", "--log", "first.jsonl"]);
    }
    let page = Page::serve(&ward, &[]);
    let browser = Browser::start();
    browser.size(SMALL);
    browser.go(&page.next_address());
    let text = browser.shows(&["This log does not know patients 1 to 7: restore it, or confirm"]);
    assert!(!text.contains("Nobody is waiting"), "{text}");
    let disabled =
        "return Array.from(document.querySelectorAll('button.first')).map((one) => one.disabled)";
    assert_eq!(browser.run(disabled, &[]), serde_json::json!([true]));
    examine(&browser, "gap");
    browser.click("The records are elsewhere");
    browser.shows(&["a patient of another log could be enrolled a second time"]);
    examine(&browser, "sure-elsewhere");
    browser.click("Confirm: they are elsewhere");
    browser.shows(&["Nobody is waiting for an outcome."]);
    assert_eq!(events(&ward, "elsewhere"), 1);
    browser.click("Enrol a patient");
    browser.type_in("Patient code", "Q-8");
    browser.choose("under 65, home");
    browser.click("Next");
    browser.click("Enrol Q-8");
    browser.shows(&["Patient Q-8, number 8"]);
    assert_eq!(browser.console(), [""; 0]);
}

/// A withdrawn patient is marked in every list, is not overdue, and is asked about before an
/// outcome is recorded; a note about a wrong kind of patient names the right one. Requirement W16.
#[test]
fn notes_have_their_effect_on_the_page() {
    let ward = Ward::new();
    let _device = ward.device();
    let due = format!("{QUESTION}\ndue = \"14 days\"");
    ward.provision(&[(QUESTION, &due)]);
    for code in ["P-1", "P-2"] {
        ward.good(&["assign", code, "0", "--log", "ward.jsonl"]);
    }
    clock::age(&ward.file("ward.jsonl"), SignedDuration::from_hours(15 * 24));
    let page = Page::serve(&ward, &[]);
    let browser = Browser::start();
    browser.size(SMALL);
    browser.go(&page.next_address());
    browser.shows(&["Outcomes waiting: 2, 2 overdue"]);
    browser.click("P-1");
    browser.click("Write a note");
    browser.choose("withdrawn");
    browser.type_in("Note", "moved away");
    browser.click("Write to the log");
    browser.shows(&["WITHDRAWN", "Notes: 1"]);
    browser.click("Write a note");
    browser.choose("wrong kind of patient");
    browser.type_in("Note", "was 67");
    browser.click("Write to the log");
    browser.shows(&["Choose the kind of patient that would have been right first."]);
    browser.choose("65 or over, home");
    examine(&browser, "note-wrong-kind");
    browser.click("Write to the log");
    browser.shows(&["WRONG KIND, should be 65 or over, home", "Notes: 2"]);
    examine(&browser, "marked-patient");
    browser.click("To the list");
    browser.shows(&["Outcomes waiting: 2, 1 overdue", "WITHDRAWN"]);
    examine(&browser, "marked-list");
    browser.click("Outcome of patient P-1");
    browser.choose("yes");
    browser.click("Next");
    browser.click("Record YES");
    browser.shows(&["The patient withdrew, as noted"]);
    assert_eq!(events(&ward, "outcome"), 0);
    browser.click("Back");
    browser.click("Back");
    let log = std::fs::read_to_string(ward.file("ward.jsonl")).unwrap();
    assert!(log.contains("\"should_be\":\"65 or over, home\""), "{log}");
}
