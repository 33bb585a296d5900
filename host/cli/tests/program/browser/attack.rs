//! Text that others wrote is shown, not run.

use crate::browser::driver::Browser;
use crate::browser::views::{SMALL, enrol};
use crate::common::page::Page;
use crate::common::ward::Ward;

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
    browser.size(SMALL);
    browser.go(&page.next_address());
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
    browser.shows(&["Outcome: Patient P-1"]);
    browser.click("Back");
    browser.click("Find a patient");
    browser.type_in("Patient code", "<svg onload=alert(5)>");
    browser.click("Show");
    browser.shows(&["<svg onload=alert(5)>"]);
    let made = "return document.querySelectorAll('main img, main svg, main b, body script').length";
    assert_eq!(browser.run(made, &[]), 0);
    assert_eq!(browser.console(), [""; 0]);
}
