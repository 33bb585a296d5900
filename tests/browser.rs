//! The bedside in a real Chromium, against a virtual device.
//!
//! Needs chromium, chromedriver and axe-core, so it is behind the feature `browser-tests`, which
//! `cargo xtask test` turns on. One browser serves all scenes of a test.

#[path = "browser/driver.rs"]
mod driver;
#[path = "common/http.rs"]
mod http;
#[path = "common/page.rs"]
mod page;
#[path = "common/ward.rs"]
mod ward;

use driver::Browser;
use page::Page;
use ward::Ward;

#[test]
fn first() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&[]);
    let page = Page::serve(&ward, &[]);
    let browser = Browser::start();
    browser.size(360, 740);
    browser.go(&page.address);
    browser.shows(&["Early walking after hip surgery", "Connected", "Outcomes waiting: 0"]);
    browser.picture("list-360");
    browser.click("Enrol a patient");
    browser.type_in("Patient code", "P-1");
    browser.choose("65 or over, home");
    browser.picture("enrol-360");
    browser.click("Next");
    browser.picture("sure-360");
    browser.click("Enrol P-1");
    browser.shows(&["I have read it"]);
    browser.picture("arm-360");
    browser.size(1280, 800);
    browser.picture("arm-1280");
    browser.media("dark", "");
    browser.picture("arm-1280-dark");
    browser.media("light", "");
    browser.click("I have read it");
    browser.shows(&["Outcomes waiting: 1", "P-1"]);
    browser.picture("list-1280");
    browser.click("Outcome of patient P-1");
    browser.choose("yes");
    browser.picture("outcome-1280");
    browser.click("Next");
    browser.shows(&["Walks unaided on day 14? YES"]);
    browser.click("Record YES");
    browser.shows(&["Recorded for patient P-1, number 1.", "Outcomes waiting: 0"]);
    println!("{:?}", browser.console());
    println!("{}", browser.url());
}
