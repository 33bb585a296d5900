//! Emergency unblinding on the page, and the sealed cards on paper.

use serde_json::json;

use crate::browser::driver::{Browser, base64};
use crate::browser::views::{SMALL, events, examine, on_paper, prepare};
use crate::common::page::Page;
use crate::common::ward::{ARMS, BLINDED, Ward};
use crate::staff::{ANNA, SIGNED, begin};

/// A person with the role types a reason, the code once more and the PIN; then the arm is there and
/// the log has the line. Another tab and paper learn nothing.
#[test]
fn an_arm_in_an_emergency() {
    let ward = Ward::new();
    let _device = ward.device();
    let changes: Vec<(&str, &str)> = BLINDED.iter().copied().chain([SIGNED]).collect();
    ward.provision(&changes);
    begin(&ward);
    let list = ward.kit_list();
    let words = ["keygen", "--role", "code-break", "--from", "key", "break.key"];
    assert_eq!(ward.run(&words).code, 0);
    let page = Page::serve(&ward, &["--code-break-key", "break.key"]);
    let browser = Browser::start();
    browser.size(SMALL);
    browser.go(&page.next_address());
    browser.shows(&["Who works here?"]);
    browser.type_in("Short id", ANNA.0);
    browser.type_in("PIN", ANNA.1);
    browser.click("Sign in");
    browser.shows(&["Nobody is waiting"]);
    prepare(&browser, "P-1", &["65 or over, home"]);
    browser.type_in("Your PIN", ANNA.1);
    browser.click("Enrol P-1");
    browser.click("I have read it");
    browser.click("P-1");
    browser.click("Emergency unblinding");
    browser.shows(&["Only if the care of this patient depends on knowing the arm."]);
    browser.click("Next");
    browser.shows(&["Type the reason first."]);
    examine(&browser, "unblind-reason");
    browser.type_in("Reason", "severe allergic reaction");
    browser.click("Next");
    browser.shows(&["Unblind this patient?", "severe allergic reaction"]);
    browser.type_in("Type the patient's code once more", "P-2");
    browser.type_in("Your PIN", ANNA.1);
    browser.click("Unblind P-1");
    browser.shows(&["This is not the code of patient P-1."]);
    examine(&browser, "unblind-sure");
    assert_eq!(events(&ward, "unblinded"), 0);
    browser.click("Back");
    browser.shows(&["Emergency unblinding"]);
    let kept = browser.run("return document.querySelector('[name=reason]').value", &[]);
    assert_eq!(kept, "severe allergic reaction");
    browser.click("Next");
    browser.type_in("Type the patient's code once more", "p-1");
    browser.type_in("Your PIN", ANNA.1);
    browser.click("Unblind P-1");
    let shown = browser.shows(&["Unblinded: patient P-1, number 1", "In the log"]);
    assert_eq!(events(&ward, "unblinded"), 1);
    let log = std::fs::read_to_string(ward.file("ward.jsonl")).unwrap();
    assert!(log.contains("\"role\":\"unblind\",\"meaning\":\"unblinded\""), "{log}");
    let label = browser.run("return state.waiting[0].arm.name", &[]).as_str().unwrap().to_owned();
    let arm = &list.iter().find(|row| row[1] == label).expect("a kit")[4];
    let other = ARMS.into_iter().find(|name| name != arm).unwrap();
    assert!(shown.contains(arm.as_str()) && !shown.contains(other), "{shown}");
    examine(&browser, "unblinded");
    let paper = on_paper(&browser, "unblinded-paper");
    assert!(ARMS.iter().all(|arm| !paper.contains(arm)), "{paper}");
    browser.click("I have read it");
    let after = browser.shows(&["Outcomes waiting: 1"]);
    let state = browser.run("return JSON.stringify(state)", &[]);
    assert!(ARMS.iter().all(|arm| !after.contains(arm)), "{after}");
    assert!(ARMS.iter().all(|arm| !state.as_str().unwrap().contains(arm)), "{state}");
}

/// The cards print a page for each block, and nothing on a card is cut off.
#[test]
fn cards_print_a_page_a_block() {
    let ward = Ward::new();
    let _device = ward.device();
    let title = "A long title of a blinded trial of the northern hospitals that must not be lost";
    let changes: Vec<(&str, &str)> =
        BLINDED.iter().copied().chain([("Early walking after hip surgery", title)]).collect();
    ward.provision(&changes);
    let words = ["kits", "cards", "trial.toml", "--key-file", "key", "-o", "cards.html"];
    assert_eq!(ward.run(&words).code, 0);
    let browser = Browser::start();
    // The width of A4 without its margins, in pixels.
    let paper = (733, 1000);
    browser.size(paper);
    browser.go(&format!("file://{}", ward.file("cards.html").display()));
    let cut = "return Array.from(document.querySelectorAll('.front, .arm')).filter((part) => \
         part.scrollHeight > part.clientHeight || part.scrollWidth > part.clientWidth).length";
    browser.media("light", "print");
    assert_eq!(browser.run(cut, &[]), 0, "parts that are cut off");
    let wide = "return Math.max(...Array.from(document.querySelectorAll('li'), (card) => \
         card.getBoundingClientRect().right))";
    assert!(browser.run(wide, &[]).as_f64().unwrap() <= f64::from(paper.0), "beyond the paper");
    let flap = "return Array.from(document.querySelectorAll('.flap')).every((flap) => \
         flap.scrollHeight >= flap.clientHeight)";
    assert_eq!(browser.run(flap, &[]), true, "a flap that is not filled");
    browser.whole_picture("cards");
    browser.media("light", "");
    let printed = browser.chromium("Page.printToPDF", &json!({ "preferCSSPageSize": true }));
    let pdf = base64(printed["data"].as_str().unwrap());
    let text = String::from_utf8_lossy(&pdf);
    let pages = text.matches("/Type /Page\n").count() + text.matches("/Type /Page ").count();
    assert_eq!(pages, 17);
}
