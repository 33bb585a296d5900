//! The device is unplugged, the program ends, the clock is set back.

use std::process::Command;

use jiff::SignedDuration;

use crate::browser::driver::Browser;
use crate::browser::views::{QUESTION, SMALL, enrol, events, examine, prepare};
use crate::common::clock;
use crate::common::page::Page;
use crate::common::relay::{Fate, Relay};
use crate::common::ward::{PROGRAM, Ward};

/// Unplugged in the middle of an enrolment and back; overdue after weeks; a clock set back.
#[test]
fn unplugged_overdue_and_set_back() {
    let ward = Ward::new();
    let _device = ward.device();
    let due = format!("{QUESTION}\ndue = \"14 days\"");
    ward.provision(&[(QUESTION, &due)]);
    let relay = Relay::between(&ward.file("relay"), &ward.port(), Some(Fate::Lose("ASSIGN")));
    let mut command = Command::new(PROGRAM);
    command.args(["web", "--port", "relay", "--trial", "trial.toml", "--log", "ward.jsonl"]);
    let page = Page::start(&ward, command);
    let browser = Browser::start();
    browser.size(SMALL);
    browser.go(&page.next_address());
    browser.shows(&["Connected", "Nobody is waiting"]);
    prepare(&browser, "P-1", &["under 65, home"]);
    browser.click("Enrol P-1");
    relay.wait_for_loss();
    drop(relay);
    let text = browser.shows(&[
        "NO DEVICE",
        "Asking the device for the arm of patient P-1",
        "Plug it in again",
    ]);
    assert!(!text.contains("Usual care"), "no arm before it is in the log: {text}");
    examine(&browser, "unplugged");
    browser.click("To the list");
    browser.shows(&["Patient P-1 is confirmed, and the device", "As last heard", "no device"]);
    examine(&browser, "open-enrolment");
    let back = Relay::between(&ward.file("relay"), &ward.port(), None);
    browser.shows(&["Connected", "Outcomes waiting: 1", "Patient P-1 is number 1."]);
    assert_eq!(events(&ward, "arm"), 1);
    // The same once more, and the person waits for the arm.
    drop(back);
    browser.shows(&["NO DEVICE"]);
    let relay = Relay::between(&ward.file("relay"), &ward.port(), Some(Fate::Lose("ASSIGN")));
    browser.shows(&["Connected"]);
    prepare(&browser, "P-2", &["under 65, home"]);
    browser.click("Enrol P-2");
    relay.wait_for_loss();
    drop(relay);
    browser.shows(&["NO DEVICE", "Plug it in again"]);
    let back = Relay::between(&ward.file("relay"), &ward.port(), None);
    browser.shows(&["Patient P-2, number 2", "I have read it"]);
    assert_eq!(events(&ward, "arm"), 2);

    // The program is ended: the tab says so.
    drop(page);
    browser.shows(&["This page has lost the program"]);
    drop(back);
    clock::age(&ward.file("ward.jsonl"), SignedDuration::from_hours(15 * 24));
    let page = Page::serve(&ward, &[]);
    browser.go(&page.next_address());
    browser.shows(&["Outcomes waiting: 2, 2 overdue", "OVERDUE by 1 d 0 h", "waiting 15 d 0 h"]);
    examine(&browser, "overdue");
    drop(page);
    clock::age(&ward.file("ward.jsonl"), SignedDuration::from_hours(-20 * 24));
    let page = Page::serve(&ward, &[]);
    browser.go(&page.next_address());
    let text = browser.shows(&["Outcomes waiting: 2", "was it set back?"]);
    assert!(!text.contains("waiting -") && !text.contains("OVERDUE"), "{text}");
    // Patients are enrolled and outcomes recorded as before.
    enrol(&browser, "P-3", &["under 65, home"]);
    browser.click("I have read it");
    browser.click("Outcome of patient P-1");
    browser.choose("yes");
    browser.click("Next");
    browser.click("Record YES");
    browser.shows(&["the enrolment is later than the clock says"]);
    browser.click("Record YES anyway");
    browser.shows(&["Recorded for patient P-1, number 1.", "Outcomes waiting: 2"]);
    assert_eq!((events(&ward, "arm"), events(&ward, "outcome")), (3, 1));
    assert_eq!(ward.run(&["log", "verify", "ward.jsonl"]).code, 0);
}

/// The program ends after a confirmation that it could not send: the next one shows it and enrols
/// nobody before a person decides, for or against.
#[test]
fn a_leftover_is_decided_by_a_person() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&[]);
    let serve = || {
        let mut command = Command::new(PROGRAM);
        command.args(["web", "--port", "relay", "--trial", "trial.toml", "--log", "ward.jsonl"]);
        Page::start(&ward, command)
    };
    let line = || Relay::between(&ward.file("relay"), &ward.port(), None);
    let browser = Browser::start();
    browser.size(SMALL);
    for (code, number) in [("P-1", 1), ("P-2", 2)] {
        let (relay, page) = (line(), serve());
        browser.go(&page.next_address());
        browser.shows(&["Connected"]);
        prepare(&browser, code, &["under 65, home"]);
        drop(relay);
        browser.shows(&["NO DEVICE"]);
        browser.click(&format!("Enrol {code}"));
        browser.shows(&["Plug it in again"]);
        drop(page);
        let (_relay, page) = (line(), serve());
        browser.go(&page.next_address());
        let said = format!("Patient {code}, under 65, home, was confirmed, but the program ended");
        browser.shows(&["Connected", &said, &format!("Decide about patient {code} first.")]);
        assert_eq!(events(&ward, "enrol"), number - 1, "nobody is enrolled by itself");
        let enrol = browser.find("//button[.='Enrol a patient']");
        let disabled = serde_json::json!({ "element-6066-11e4-a52e-4f735466cecf": enrol });
        assert_eq!(browser.run("return arguments[0].disabled", &[disabled]), true);
        if number == 1 {
            examine(&browser, "leftover");
            browser.click("Enrol P-1 now");
            browser.shows(&["Enrol this patient?", "Patient P-1, under 65, home"]);
            examine(&browser, "leftover-sure");
            browser.click("Enrol P-1");
            browser.shows(&["Patient P-1, number 1", "I have read it"]);
            browser.click("I have read it");
            let list = browser.shows(&["Outcomes waiting: 1"]);
            assert!(!list.contains("was confirmed"), "{list}");
        } else {
            browser.click("Do not enrol P-2");
            browser.shows(&["Outcomes waiting: 1", "Enrol a patient"]);
            prepare(&browser, "P-3", &["under 65, home"]);
        }
    }
    assert_eq!((events(&ward, "enrol"), events(&ward, "dropped")), (1, 1));
}
