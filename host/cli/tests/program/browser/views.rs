//! Steps shared by all scenes: the log, an examined view, an enrolment.

use crate::browser::driver::Browser;
use crate::common::ward::Ward;

pub const FEATURES: &str = "features = [\"under 65, home\", \"under 65, care home\", \"65 or over, home\", \"65 or over, care home\"]";
pub const FACTORS: &str =
    "[factors]\nsex = [\"f\", \"m\"]\nage = [\"under 65\", \"65 or over\"]\n\n[plan]";
pub const QUESTION: &str = "question = \"Walks unaided on day 14?\"";
pub const SMALL: (u32, u32) = (360, 740);
pub const WIDE: (u32, u32) = (1280, 900);

/// Words that the ring of a focus would cover, and words of a list that have no room for three
/// letters beside each other.
const CRAMPED: &str = "const box = (node) => node.getBoundingClientRect(); \
    const inputs = [...document.querySelectorAll('.field input, .field textarea')]; \
    const hints = inputs.filter((input) => box(input).height > 0) \
      .map((input) => [input, input.nextElementSibling]) \
      .filter(([input, hint]) => hint && hint.innerText && box(hint).top < box(input).bottom + 5 \
        && box(hint).left < box(input).right).map(([, hint]) => hint); \
    const thin = [...document.querySelectorAll('.list li > span')] \
      .filter((words) => words.innerText.length > 3 && box(words).width < 30); \
    return [...hints, ...thin].map((words) => words.innerText)";

pub fn log(ward: &Ward) -> String {
    std::fs::read_to_string(ward.file("ward.jsonl")).unwrap_or_default()
}

/// Lines of this event in the log.
pub fn events(ward: &Ward, event: &str) -> usize {
    log(ward).matches(&format!("\"event\":\"{event}\"")).count()
}

/// The view has no fault that axe-core finds, in light and dark, small and wide, and fits its
/// width. It stays small.
#[track_caller]
pub fn examine(browser: &Browser, view: &str) {
    // A confirmation is examined once its buttons can be pressed.
    let settled = "return document.querySelector('.sure button:disabled') === null";
    while browser.run(settled, &[]) != true {
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    // Every device of these tests is a virtual one.
    let practice = "return typeof state === 'object' && state && state.link === 'up' \
        ? document.body.innerText.includes('PRACTICE') : true";
    assert_eq!(browser.run(practice, &[]), true, "{view} does not say PRACTICE");
    let axe = std::env::var_os("EQUIPOISE_AXE")
        .expect("EQUIPOISE_AXE names axe.min.js: cargo xtask test fetches it");
    let axe = std::fs::read_to_string(axe).unwrap();
    browser.run(&axe, &[]);
    for size in [WIDE, SMALL] {
        browser.size(size);
        for scheme in ["light", "dark"] {
            browser.media(scheme, "");
            let found = browser.run_async(
                "const done = arguments[arguments.length - 1]; \
                 axe.run(document).then((found) => done({ passes: found.passes.length, faults: \
                 found.violations.map((fault) => [fault.id, fault.impact, fault.nodes.map((node) => node.html)]) }), \
                 (error) => done(String(error)))",
            );
            let view = format!("{view}-{}-{scheme}", size.0);
            assert!(found["passes"].as_u64().is_some_and(|passes| passes > 5), "{view}: {found}");
            assert_eq!(found["faults"], serde_json::json!([]), "{view}");
            browser.whole_picture(&view);
        }
        browser.media("light", "");
        let room =
            "return document.documentElement.scrollWidth - document.documentElement.clientWidth";
        assert_eq!(browser.run(room, &[]), 0, "{view} is wider than {} pixels", size.0);
        assert_eq!(browser.run(CRAMPED, &[]), serde_json::json!([]), "{view}, {} pixels", size.0);
    }
}

/// Text of the page as it is printed; takes a picture of it.
pub fn on_paper(browser: &Browser, name: &str) -> String {
    browser.media("light", "print");
    let text = browser.text();
    browser.whole_picture(name);
    browser.media("light", "");
    text
}

/// Goes on to the question whether to enrol a patient.
#[track_caller]
pub fn prepare(browser: &Browser, code: &str, kinds: &[&str]) {
    browser.click("Enrol a patient");
    browser.type_in("Patient code", code);
    kinds.iter().for_each(|kind| browser.choose(kind));
    browser.click("Next");
    browser.shows(&["Enrol this patient?", code]);
}

/// Enrols a patient, up to the arm.
#[track_caller]
pub fn enrol(browser: &Browser, code: &str, kinds: &[&str]) {
    prepare(browser, code, kinds);
    browser.click(&format!("Enrol {code}"));
    browser.shows(&["I have read it", &format!("Patient {code}, number ")]);
}
