//! Trouble: a device unplugged, nights, clocks set back, and script where text belongs.

use crate::driver::Browser;
use crate::page::Page;
use crate::relay::{Fate, Relay};
use crate::ward::{PROGRAM, Ward};
use crate::{QUESTION, clock, enrol, events, examine};
use jiff::SignedDuration;
use std::process::Command;

/// Unplugged in the middle of an enrolment and back; overnight, overdue, a clock set back, the
/// program started again; and the report at the end.
#[test]
fn unplugged_overnight_and_closed() {
    let ward = Ward::new();
    let _device = ward.device();
    let due = format!("{QUESTION}\ndue = \"14 days\"");
    ward.provision(&[(QUESTION, &due), ("patients = 4000", "patients = 30")]);
    let relay = Relay::between(&ward.file("relay"), &ward.port(), Some(Fate::Lose("ASSIGN")));
    let mut command = Command::new(PROGRAM);
    command.args(["web", "--port", "relay", "--trial", "trial.toml", "--log", "ward.jsonl"]);
    let page = Page::start(&ward, command);
    let browser = Browser::start();
    browser.size(360, 740);
    browser.go(&page.address);
    browser.shows(&["Connected", "Nobody is waiting"]);
    browser.click("Enrol a patient");
    browser.type_in("Patient code", "P-1");
    browser.choose("under 65, home");
    browser.click("Next");
    browser.click("Enrol P-1");
    relay.wait_for_loss();
    drop(relay);
    let text = browser.shows(&[
        "NO DEVICE",
        "Asking the device for the arm of patient P-1",
        "Plug it in again",
    ]);
    assert!(!text.contains("Usual care"), "no arm before it is in the log: {text}");
    examine(&browser, "unplugged-360");
    browser.click("To the list");
    browser.shows(&["Patient P-1 is confirmed, and the device", "As last heard", "no device"]);
    examine(&browser, "open-enrolment-360");
    let back = Relay::between(&ward.file("relay"), &ward.port(), None);
    browser.shows(&["Connected", "Outcomes waiting: 1", "Patient P-1 is number 1."]);
    assert_eq!(events(&ward, "arm"), 1);
    // The same once more, and the person waits for the arm.
    drop(back);
    browser.shows(&["NO DEVICE"]);
    let relay = Relay::between(&ward.file("relay"), &ward.port(), Some(Fate::Lose("ASSIGN")));
    browser.shows(&["Connected"]);
    browser.click("Enrol a patient");
    browser.type_in("Patient code", "P-2");
    browser.choose("under 65, home");
    browser.click("Next");
    browser.click("Enrol P-2");
    relay.wait_for_loss();
    drop(relay);
    browser.shows(&["NO DEVICE", "Plug it in again"]);
    let back = Relay::between(&ward.file("relay"), &ward.port(), None);
    browser.shows(&["Patient P-2, number 2", "I have read it"]);
    assert_eq!(events(&ward, "arm"), 2);

    // The program is ended: the tab says so, and an old tab cannot go on with a new program.
    drop(page);
    browser.shows(&["This page has lost the program"]);
    drop(back);
    clock::age(&ward.file("ward.jsonl"), SignedDuration::from_hours(15 * 24));
    let page = Page::serve(&ward, &[]);
    browser.go(&page.address);
    browser.shows(&["Outcomes waiting: 2, 2 overdue", "OVERDUE by 1 d 0 h", "waiting 15 d 0 h"]);
    examine(&browser, "overdue-360");
    drop(page);
    clock::age(&ward.file("ward.jsonl"), SignedDuration::from_hours(-20 * 24));
    let page = Page::serve(&ward, &[]);
    browser.go(&page.address);
    browser.shows(&["Outcomes waiting: 2", "was it set back?"]);
    drop(page);

    for number in 3..=26 {
        let code = format!("P-{number}");
        ward.good(&["assign", &code, "0", "--log", "ward.jsonl"]);
        ward.good(&[
            "outcome",
            &code,
            if number % 3 == 0 { "no" } else { "yes" },
            "--log",
            "ward.jsonl",
        ]);
    }
    ward.good(&["close", "--yes", "--key-file", "key"]);
    let page = Page::serve(&ward, &[]);
    browser.go(&page.address);
    browser.shows(&["Phase: closed", "Nobody can be enrolled: the trial is closed"]);
    browser.click("Report");
    browser.shows(&[
        "Effect: mean outcome of Early walking minus that of Usual care",
        "under 65, home",
    ]);
    let drawn = "const plot = document.querySelector('img.plot'); return plot.complete && plot.naturalWidth > 0";
    assert_eq!(browser.run(drawn, &[]), true, "the forest plot is drawn");
    browser.size(1280, 900);
    examine(&browser, "report-1280");
}

/// Script in codes, names, notes and titles is shown as text.
#[test]
fn script_is_shown_as_text() {
    let script = "<img src=x onerror=alert(1)>";
    let ward = Ward::new();
    let _device = ward.device();
    let arms = format!("arms = [\"{script}0\", \"{script}1\"]");
    let labels = "labels = [\"<script>alert(2)</script>\", \"yes\"]";
    ward.provision(&[
        ("Early walking after hip surgery", "<script>alert(3)</script>"),
        ("arms = [\"Usual care\", \"Early walking\"]", &arms),
        ("\"under 65, home\"", &format!("\"{script}\"")),
        ("labels = [\"no\", \"yes\"]", labels),
    ]);
    let page = Page::serve(&ward, &["--operator", "<b>AB</b>"]);
    let browser = Browser::start();
    browser.size(360, 740);
    browser.go(&page.address);
    browser.shows(&["<script>alert(3)</script>", "Operator <b>AB</b>"]);
    enrol(&browser, "P-1", &[script]);
    browser.shows(&[&format!("{script}0")[..27], script]);
    browser.picture("arm-script-360");
    browser.click("I have read it");
    browser.click("P-1");
    browser.click("Write a note");
    browser.choose("other");
    browser.type_in("Note", "</li><script>alert(4)</script>");
    browser.click("Write to the log");
    browser.shows(&["Notes: 1", "</li><script>alert(4)</script>"]);
    browser.click("Outcome");
    browser.choose("<script>alert(2)</script>");
    browser.click("Next");
    browser.shows(&["<SCRIPT>ALERT(2)</SCRIPT>"]);
    browser.click("Back");
    browser.click("Find a patient");
    browser.type_in("Patient code", "<svg onload=alert(5)>");
    browser.click("Show");
    browser.shows(&["<svg onload=alert(5)>"]);
    let made = "return document.querySelectorAll('main img, main svg, main b, body script').length";
    assert_eq!(browser.run(made, &[]), 0);
    assert_eq!(browser.console(), [""; 0]);
}
