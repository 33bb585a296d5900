//! Slips of a person and of the page: codes, messages of another patient, a device that is silent,
//! blank or virtual, paper of every size.

use std::process::Command;

use serde_json::json;

use crate::browser::driver::Browser;
use crate::browser::views::{SMALL, WIDE, enrol, examine, on_paper};
use crate::common::page::Page;
use crate::common::ward::{PROGRAM, Ward};
use crate::staff::ASKS;

const LONG_TITLE: &str = "Early walking on the first day after hip surgery in patients from care \
    homes and from their own homes, a randomised trial of the northern hospitals";
const LONG_ARM: &str = "Early walking with a physiotherapist, twice a day from the first day on";
/// Edits of the example: codes with a form and an example.
const CODES: (&str, &str) =
    ("title = ", "code = \"P-[0-9]{4}\"\ncode-example = \"P-0042\"\ntitle = ");

fn text_of(browser: &Browser, id: &str) -> String {
    let found = browser.run("return document.getElementById(arguments[0]).innerText", &[id.into()]);
    found.as_str().unwrap().to_owned()
}

/// A code is asked for by an example, in any case, and what is wrong with one is a sentence at its
/// field. A code that is a patient's leads to the patient, and nothing of it stands over the next.
#[test]
fn codes_are_told_in_sentences() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&[CODES]);
    let page = Page::serve(&ward, &[]);
    let browser = Browser::start();
    browser.size(SMALL);
    browser.go(&page.next_address());
    browser.shows(&["Connected"]);
    browser.click("Enrol a patient");
    let form = browser.shows(&["As in the ward's list, for example P-0042."]);
    assert!(!form.contains("[0-9]"), "{form}");
    browser.click("Next");
    browser.shows(&["Type the code first."]);
    browser.type_in("Patient code", "P-76");
    browser.choose("under 65, home");
    browser.click("Next");
    browser.shows(&["looks like P-0042."]);
    let why = "The patient code \"P-76\" is not allowed: a code of this trial looks like P-0042.";
    assert_eq!(text_of(&browser, "field-code-why"), why);
    let invalid = "return document.getElementById('field-code').getAttribute('aria-invalid')";
    assert_eq!(browser.run(invalid, &[]), "true");
    examine(&browser, "code-refused");
    browser.click("Back");
    browser.click("Enrol a patient");
    browser.type_in("Patient code", "p-0076");
    browser.choose("under 65, home");
    browser.click("Next");
    browser.click("Enrol P-0076");
    browser.click("I have read it");

    browser.click("Enrol a patient");
    browser.type_in("Patient code", "P-0076");
    browser.choose("65 or over, home");
    browser.click("Next");
    browser.shows(&["as \"under 65, home\", not as \"65 or over, home\"."]);
    examine(&browser, "already-enrolled");
    browser.click("Show patient P-0076");
    browser.shows(&["Patient P-0076, number 1", "Write a note"]);
    browser.click("To the list");
    browser.click("Enrol a patient");
    let next = browser.shows(&["Patient code"]);
    assert!(!next.contains("P-0076"), "nothing of the patient before: {next}");

    // What fails at another tab is not told here.
    let first = browser.tabs().remove(0);
    let second = browser.new_tab();
    browser.switch_to(&second);
    browser.go(&page.next_address());
    browser.shows(&["Outcomes waiting: 1"]);
    let failed = browser.run_async(
        "const done = arguments[arguments.length - 1]; send({ order: 'lost', patient: 99 }).then(done)",
    );
    assert!(failed["failed"].as_str().unwrap().contains("99"), "{failed}");
    browser.switch_to(&first);
    let here = browser.shows(&["Patient code"]);
    assert!(!here.contains("99"), "{here}");
}

/// A device that does not answer is said to be silent before it is given up; one without a trial is
/// said to be so, and not to be missing.
#[test]
fn silent_and_blank_devices_are_named() {
    let ward = Ward::new();
    let device = ward.device();
    let blank = ward.file("blank.toml");
    std::fs::write(&blank, equipoise_ward::records::trial_file::EXAMPLE).unwrap();
    let browser = Browser::start();
    browser.size(SMALL);
    let page = Page::serve(&ward, &["--trial", "blank.toml"]);
    browser.go(&page.next_address());
    let shown = browser.shows(&["THIS DEVICE CANNOT BE USED", "Nobody can be enrolled: "]);
    assert!(!shown.contains("NO DEVICE") && !shown.contains("There is no device"), "{shown}");
    assert_eq!(text_of(&browser, "message"), "", "the cause is at the device");
    examine(&browser, "blank");
    drop(page);

    ward.provision(&[]);
    let page = Page::serve(&ward, &[]);
    browser.go(&page.next_address());
    browser.shows(&["Connected"]);
    crate::browser::views::prepare(&browser, "P-1", &["under 65, home"]);
    signal(device.id(), "-STOP");
    browser.click("Enrol P-1");
    let silent = browser.shows(&["NO ANSWER", "Asking the device", "Plug it in again"]);
    assert!(!silent.contains("Connected") && !silent.contains("NO DEVICE"), "{silent}");
    signal(device.id(), "-CONT");
    browser.shows(&["Patient P-1, number 1"]);
    // The device of another trial is not a missing one either.
    drop(page);
    std::fs::write(&blank, equipoise_ward::records::trial_file::EXAMPLE.replace("hip", "knee"))
        .unwrap();
    let mut command = Command::new(PROGRAM);
    command.args(["web", "--port", &ward.port(), "--trial", "blank.toml", "--log", "other.jsonl"]);
    let page = Page::start(&ward, command);
    browser.go(&page.next_address());
    let shown = browser.shows(&["THIS DEVICE CANNOT BE USED"]);
    assert!(!shown.contains("There is no device"), "{shown}");
}

fn signal(process: u32, signal: &str) {
    let sent = Command::new("kill").args([signal, &process.to_string()]).status().unwrap();
    assert!(sent.success());
}

/// Pages of the view on paper of this size, in millimetres.
fn sheets(browser: &Browser, (width, height): (f64, f64)) -> usize {
    let inches = |length: f64| length / 25.4;
    let paper = json!({ "paperWidth": inches(width), "paperHeight": inches(height),
        "preferCSSPageSize": false, "marginTop": inches(5.0), "marginBottom": inches(5.0),
        "marginLeft": inches(5.0), "marginRight": inches(5.0) });
    let printed = browser.chromium("Page.printToPDF", &paper);
    let pdf = crate::browser::driver::base64(printed["data"].as_str().unwrap());
    if let Some(folder) = std::env::var_os("EQUIPOISE_SCREENSHOTS") {
        let name = format!("slip-{width}x{height}.pdf");
        std::fs::write(std::path::Path::new(&folder).join(name), &pdf).unwrap();
    }
    let text = String::from_utf8_lossy(&pdf);
    text.matches("/Type /Page\n").count() + text.matches("/Type /Page ").count()
}

/// A virtual device says PRACTICE on the view and on the slip. The slip has the trial's id and a
/// line for a signature, and fits A6 and a label, also with the longest title and arm.
#[test]
fn slips_fit_small_paper() {
    let ward = Ward::new();
    let _device = ward.device();
    let arms = format!("\"{LONG_ARM}\", \"{LONG_ARM}!\"");
    ward.provision(&[
        ("Early walking after hip surgery", LONG_TITLE),
        ("\"Usual care\", \"Early walking\"", &arms),
    ]);
    let page = Page::serve(&ward, &[]);
    let browser = Browser::start();
    browser.size(SMALL);
    browser.go(&page.next_address());
    browser.shows(&["Connected", "PRACTICE: a virtual device, not for real patients."]);
    examine(&browser, "long-title");
    enrol(&browser, "P-1", &["65 or over, care home"]);
    examine(&browser, "long-arm");
    let paper = on_paper(&browser, "slip");
    let id = browser.run("return state.id", &[]).as_str().unwrap().to_owned();
    assert_eq!(id.len(), 16, "{id}");
    for part in ["PRACTICE: not for a patient", LONG_TITLE, LONG_ARM, &id, "Signature", " UTC"] {
        assert!(paper.contains(part), "{part} is not on paper:\n{paper}");
    }
    for (place, size) in
        [(105.0, 148.0), (148.0, 105.0), (100.0, 62.0), (210.0, 297.0)].into_iter().enumerate()
    {
        assert_eq!(sheets(&browser, size), 1, "{place}: {size:?} mm");
    }
}

/// Ten waiting patients fit the screen of a desktop.
#[test]
fn ten_patients_fit_a_desktop() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&[]);
    for number in 1..=10 {
        ward.good(&["assign", &format!("P-{number}"), "0", "--log", "ward.jsonl"]);
    }
    let page = Page::serve(&ward, &[]);
    let browser = Browser::start();
    browser.size((1280, 800));
    browser.go(&page.next_address());
    browser.shows(&["Outcomes waiting: 10", "P-10"]);
    let last = "const rows = document.querySelectorAll('ul.list li'); \
         return [rows.length, rows[rows.length - 1].getBoundingClientRect().bottom]";
    let last = browser.run(last, &[]);
    assert!(last[0] == 10 && last[1].as_f64().unwrap() <= 800.0, "{last}");
    browser.size(WIDE);
    examine(&browser, "ten-patients");
}

/// Back from the code to the questions and on again keeps what was typed and chosen. A page whose
/// program was started again is over, and does not say that it goes on.
#[test]
fn back_keeps_the_choice_and_over_is_over() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&[ASKS]);
    let page = Page::serve(&ward, &["--listen", "127.0.0.1:0"]);
    let host = page.host().to_owned();
    let browser = Browser::start();
    browser.size(SMALL);
    browser.go(&page.next_address());
    browser.shows(&["Connected"]);
    browser.click("Enrol a patient");
    for place in 0..3 {
        let value = usize::from(place == 1);
        browser.click_on(&format!("//input[@name='answer{place}'][@value='{value}']"));
    }
    browser.click("Next");
    browser.type_in("Patient code", "P-1");
    browser.choose("65 or over, home");
    browser.click("Back");
    browser.shows(&["Eligibility and consent"]);
    browser.click("Next");
    let kept = "return [document.querySelector('[name=code]').value, \
         new FormData(document.querySelector('form')).get('level0')]";
    browser.shows(&["Patient code"]);
    assert_eq!(browser.run(kept, &[]), json!(["P-1", "2"]));
    drop(page);
    browser.shows(&["It goes on by itself"]);
    let mut command = Command::new(PROGRAM);
    command.args(["web", "--port", &ward.port(), "--log", "ward.jsonl", "--listen", &host]);
    let _page = Page::start(&ward, command);
    let over = browser.shows(&["This page is over"]);
    assert!(!over.contains("It goes on by itself"), "{over}");
}
