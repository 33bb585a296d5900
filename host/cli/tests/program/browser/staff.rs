//! People at the page: signing in, wrong PINs, two people at two tabs, the lock; and an enrolment
//! with questions.

use crate::browser::driver::Browser;
use crate::browser::views::{SMALL, events, examine, log};
use crate::common::page::Page;
use crate::common::processes;
use crate::common::ward::Ward;
use crate::no_pin::{no_file_has_one, secrets};
use crate::staff::{ANNA, ASKS, CHRIS, SIGNED, begin};

fn sign_in(browser: &Browser, (id, pin): (&str, &str)) {
    browser.type_in("Short id", id);
    browser.type_in("PIN", pin);
    browser.click("Sign in");
}

/// Text and values of everything on the page, and what the program told it.
fn everything(browser: &Browser) -> String {
    let script = "return document.documentElement.outerHTML + JSON.stringify(state) + \
        Array.from(document.querySelectorAll('input'), (input) => input.value).join()";
    browser.run(script, &[]).as_str().unwrap().to_owned()
}

/// Anna signs in, answers the questions and enrols with her PIN; Chris records the outcome at
/// another tab. Wrong PINs keep the form; no PIN is in log or page. Requirement W12.
#[test]
fn two_people_with_questions() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&[SIGNED, ASKS]);
    begin(&ward);
    let page = Page::serve(&ward, &[]);
    let browser = Browser::start();
    let first = browser.tabs().remove(0);
    browser.size(SMALL);
    browser.go(&page.next_address());
    browser.shows(&["Who works here?", "Nothing of patients is shown", "Nobody signed in"]);
    examine(&browser, "sign-in");
    browser.click("Sign in");
    browser.shows(&["Type your short id first."]);
    sign_in(&browser, (ANNA.0, "000001"));
    browser.shows(&["the PIN of ab is wrong: 4 tries are left"]);
    browser.type_in("PIN", ANNA.1);
    browser.click("Sign in");
    browser.shows(&["Operator ab Anna Berg", "Nobody is waiting"]);

    browser.click("Enrol a patient");
    browser.shows(&["Eligibility and consent", "Is the patient pregnant?"]);
    browser.click("Next");
    browser.shows(&["Answer every question first."]);
    examine(&browser, "eligibility");
    answer(&browser, ["yes", "yes", "yes"]);
    browser.click("Next");
    browser.shows(&["Not eligible: Is the patient pregnant? yes"]);
    browser.type_in("Your PIN", ANNA.1);
    examine(&browser, "not-eligible");
    browser.click("Write to the screening log");
    browser.shows(&["Bedside", "not eligible: Is the patient pregnant? yes"]);
    assert_eq!((events(&ward, "not-eligible"), events(&ward, "enrol")), (1, 0));

    browser.click("Enrol a patient");
    answer(&browser, ["yes", "no", "yes"]);
    browser.click("Next");
    browser.type_in("Patient code", "P-1");
    browser.choose("65 or over, home");
    browser.click("Next");
    browser.shows(&["Enrol this patient?", "All 3 questions have the answer"]);
    std::thread::sleep(std::time::Duration::from_millis(900));
    browser.click("Enrol P-1");
    browser.shows(&["Type your PIN first."]);
    browser.type_in("Your PIN", "000002");
    browser.click("Enrol P-1");
    browser.shows(&["the PIN of ab is wrong: 4 tries are left", "Enrol this patient?"]);
    examine(&browser, "sure-with-pin");
    browser.type_in("Your PIN", ANNA.1);
    browser.click("Enrol P-1");
    browser.shows(&["Patient P-1, number 1", "I have read it", "by ab Anna Berg"]);
    browser.click("I have read it");
    browser.shows(&["Outcomes waiting: 1", "enrolled by ab Anna Berg"]);
    assert!(!everything(&browser).contains(ANNA.1), "no PIN stays in the page");
    processes::show_none(&ward, page.id(), &secrets(&ward));

    let second = browser.new_tab();
    browser.switch_to(&second);
    browser.go(&page.next_address());
    let other = browser.shows(&["Who works here?"]);
    assert!(!other.contains("P-1") && !everything(&browser).contains("P-1"), "{other}");
    sign_in(&browser, CHRIS);
    browser.shows(&["Operator cd Chris Dahl", "Outcomes waiting: 1"]);
    browser.click("Outcome of patient P-1");
    browser.choose("yes");
    browser.click("Next");
    browser.shows(&["Record this?", "You sign as cd Chris Dahl."]);
    std::thread::sleep(std::time::Duration::from_millis(900));
    browser.type_in("Your PIN", CHRIS.1);
    browser.click_on("//button[contains(translate(., 'YES', 'yes'), 'Record yes')]");
    browser.shows(&["Recorded for patient P-1, number 1."]);
    browser.switch_to(&first);
    browser.shows(&["Operator ab Anna Berg", "Nobody is waiting"]);
    browser.click("sign out");
    browser.shows(&["Who works here?", "Nobody signed in"]);
    let log = log(&ward);
    assert!(log.contains("\"signed\":{\"id\":\"ab\",\"role\":\"enrol\",\"meaning\":\"enrolled\"}"));
    assert!(log.contains("\"meaning\":\"recorded the outcome of\"}"), "{log}");
    for secret in [ANNA.1, CHRIS.1, "argon2", "00000"] {
        assert!(!log.contains(secret) && !everything(&browser).contains(secret), "{secret}");
    }
    no_file_has_one(&ward);
}

fn answer(browser: &Browser, answers: [&str; 3]) {
    for (place, answer) in answers.into_iter().enumerate() {
        let value = usize::from(answer == "no");
        browser.click_on(&format!("//input[@name='answer{place}'][@value='{value}']"));
    }
}

/// A page that is left alone shows nothing of patients until somebody signs in; one that is used
/// goes on. Requirement W11.
#[test]
fn a_page_left_alone_locks() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&[("title = ", "lock-after = 0.1\ntitle = ")]);
    begin(&ward);
    let page = Page::serve(&ward, &[]);
    let browser = Browser::start();
    browser.go(&page.next_address());
    browser.shows(&["Who works here?"]);
    sign_in(&browser, ANNA);
    browser.shows(&["Nobody is waiting"]);
    crate::browser::views::enrol(&browser, "P-1", &["under 65, home"]);
    // Keys keep the page open for longer than the lock takes.
    for _ in 0..10 {
        std::thread::sleep(std::time::Duration::from_secs(1));
        browser.keys(&["x"]);
    }
    browser.shows(&["Patient P-1, number 1"]);
    browser.shows(&["Who works here?"]);
    assert!(!everything(&browser).contains("P-1"), "{}", everything(&browser));
    browser.back();
    let after = browser.shows(&["Who works here?"]);
    assert!(!after.contains("P-1"), "{after}");
    sign_in(&browser, CHRIS);
    browser.shows(&["Operator cd Chris Dahl", "Outcomes waiting: 1", "P-1"]);
    browser.reload();
    browser.shows(&["Who works here?"]);
}
