//! A blinded trial on the page: kits, another kit, the slip on paper, and nowhere an arm.

use crate::browser::driver::Browser;
use crate::browser::views::{SMALL, examine, on_paper, prepare};
use crate::common::page::Page;
use crate::common::ward::{ARMS, BLINDED, Ward};

/// The text of the page, which names no arm, and what is printed of it.
#[track_caller]
fn read(browser: &Browser) -> [String; 2] {
    let text = browser.text();
    browser.media("light", "print");
    let slip = browser.text();
    browser.media("light", "");
    for arm in ARMS {
        assert!(!text.contains(arm) && !slip.contains(arm), "{text}\n{slip}");
    }
    [text, slip]
}

/// A nurse enrols patients, reads and prints their kits, and gives another one for a broken one.
#[test]
fn kits_on_the_page_and_on_paper() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&BLINDED);
    let list = ward.kit_list();
    let arm = |label: &str| &list.iter().find(|row| row[1] == label).expect("a kit")[3];
    let page = Page::serve(&ward, &[]);
    let browser = Browser::start();
    browser.size(SMALL);
    browser.go(&page.next_address());
    browser.shows(&["Connected", "Nobody is waiting"]);
    let shown = "return document.querySelector('#main .arm .name').textContent";
    let label = |browser: &Browser| browser.run(shown, &[]).as_str().unwrap().to_owned();
    for code in ["P-1", "P-2", "P-3"] {
        let first = code == "P-1";
        prepare(&browser, code, &["65 or over, home"]);
        browser.shows(&["The device assigns a kit to this patient."]);
        browser.click(&format!("Enrol {code}"));
        browser.shows(&["I have read it", &format!("Patient {code}, number ")]);
        let kit = label(&browser);
        let [_, slip] = read(&browser);
        assert!(slip.contains(&kit) && slip.contains(code) && slip.contains("Kit"), "{slip}");
        examine(&browser, &format!("kit-{code}"));
        browser.click("I have read it");
        browser.click(code);
        browser.shows(&[&format!("Patient {code}, number "), "Another kit"]);
        assert_eq!(label(&browser), kit);
        read(&browser);
        if first {
            examine(&browser, "blinded-patient");
        }
        browser.click("Another kit");
        browser.shows(&["Why can the kit not be used?"]);
        if first {
            examine(&browser, "replace");
            browser.click("Next");
            browser.shows(&["Type why the kit cannot be used first."]);
        }
        browser.type_in("Why can the kit not be used?", "wet box");
        browser.click("Next");
        browser.shows(&["Reason: wet box.", "Give another kit?", &format!("instead of kit {kit}")]);
        read(&browser);
        if first {
            examine(&browser, "sure-replace");
        }
        browser.click(&format!("Give {code} another kit"));
        browser.shows(&["I have read it"]);
        let other = label(&browser);
        assert_ne!(other, kit);
        browser.shows(&[&format!("Instead of kit {kit}")]);
        assert_eq!(arm(&kit), arm(&other), "a replacement is of the same arm");
        let [_, slip] = read(&browser);
        assert!(
            slip.contains(&other) && !slip.contains(&kit),
            "the slip names the kit to use: {slip}"
        );
        on_paper(&browser, "kit-slip");
        browser.click("I have read it");
        browser.shows(&[&format!("Patient {code} has kit {other} instead of {kit}.")]);
        browser.click(code);
        browser.shows(&["Kit 1", "Kit 2", &kit, "because: wet box"]);
        if first {
            examine(&browser, "kits-of-a-patient");
        }
        browser.click("To the list");
    }
    browser.shows(&["Outcomes waiting: 3"]);
    read(&browser);
    browser.click("Outcome of patient P-1");
    browser.choose("yes");
    browser.click("Next");
    browser.click("Record YES");
    browser.shows(&["Recorded for patient P-1, number 1."]);
    read(&browser);
    assert_eq!(browser.console(), [""; 0]);
}
