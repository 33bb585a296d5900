//! The end of a trial: the list of a closed trial, its report, and what is saved and printed.

use serde_json::json;

use crate::browser::driver::{Browser, PATIENCE};
use crate::browser::views::{QUESTION, SMALL, enrol, examine, on_paper};
use crate::common::page::Page;
use crate::common::ward::Ward;

/// A closed trial takes nobody and no outcome, and says so; its report has a forest plot and can be
/// printed.
#[test]
fn a_closed_trial_and_its_report() {
    let ward = Ward::new();
    let _device = ward.device();
    let due = format!("{QUESTION}\ndue = \"14 days\"");
    ward.provision(&[(QUESTION, &due), ("patients = 4000", "patients = 30")]);
    for number in 1..=26 {
        let code = format!("P-{number}");
        let kind = (number % 4).to_string();
        ward.good(&["assign", &code, &kind, "--log", "ward.jsonl"]);
        let outcome = if number % 3 == 0 { "no" } else { "yes" };
        if number > 1 {
            ward.good(&["outcome", &code, outcome, "--anyway", "--log", "ward.jsonl"]);
        }
    }
    let page = Page::serve(&ward, &[]);
    let browser = Browser::start();
    browser.size(SMALL);
    browser.go(&page.next_address());
    browser.shows(&["Outcomes waiting: 1"]);
    drop(page);
    ward.good(&["close", "--yes", "--key-file", "key"]);
    let page = Page::serve(&ward, &[]);
    browser.go(&page.next_address());
    let list = browser.shows(&[
        "Phase: closed",
        "Nobody can be enrolled: the trial is closed",
        "Without an outcome at the close, counted as lost: 1",
    ]);
    assert!(!list.contains("waiting") && !list.contains("due in"), "{list}");
    let buttons = "return Array.from(document.querySelectorAll('button.outcome')).filter((one) => one.offsetParent).length";
    assert_eq!(browser.run(buttons, &[]), 0, "no outcome can be entered any more");
    examine(&browser, "closed");
    browser.click("P-1");
    let patient = browser.shows(&["Patient P-1, number 1", "none at the close, counted as lost"]);
    assert!(!patient.contains("Lost\n"), "{patient}");
    browser.click("To the list");

    // The end of the first program is not looked at here.
    browser.console();
    browser.click("Report");
    browser.shows(&[
        "Effect: mean outcome of Early walking minus that of Usual care",
        "under 65, home",
    ]);
    picture_fits(&browser);
    examine(&browser, "report");
    let cut = "const table = document.querySelector('table'); return table.offsetWidth - table.parentElement.clientWidth";
    assert!(browser.run(cut, &[]).as_i64().unwrap() <= 0, "every column of the table is in sight");
    let paper = on_paper(&browser, "report-paper");
    for part in
        ["Early walking after hip surgery", "Report", "FINAL", "overall", "confidence interval"]
    {
        assert!(paper.contains(part), "{part} is not on paper:\n{paper}");
    }
    assert!(!paper.contains("To the list") && !paper.contains("change"), "{paper}");
    assert_eq!(browser.console(), [""; 0], "nothing was blocked");
}

/// The picture of the effects has a mark for every row, fits a phone, and is dark on a dark page.
fn picture_fits(browser: &Browser) {
    let drawn = "const plot = document.querySelector('.plot'); \
        const marks = Array.from(plot.querySelectorAll('.interval'), (one) => one.getBoundingClientRect()); \
        const ink = getComputedStyle(plot.querySelector('.estimate')).backgroundColor; \
        return { rows: document.querySelectorAll('tbody tr').length, marks: marks.length, \
            wide: Math.max(plot.scrollWidth, ...marks.map((one) => one.right)), \
            drawn: marks.every((one) => one.width > 0 && one.left >= 0), ink, \
            ground: getComputedStyle(plot).backgroundColor, images: document.images.length }";
    let look = |scheme: &str| {
        browser.media(scheme, "");
        let look = browser.run(drawn, &[]);
        assert!(look["rows"] == look["marks"] && look["drawn"] == true, "{look}");
        assert!(look["wide"].as_f64().unwrap() <= f64::from(SMALL.0), "{look}");
        assert_eq!(look["ground"], "rgba(0, 0, 0, 0)", "the page's own ground: {look}");
        assert_eq!(look["images"], 0, "{look}");
        look["ink"].clone()
    };
    assert_ne!(look("light"), look("dark"), "the picture follows the page");
    browser.media("light", "");
}

/// A trial about deaths whose results are for the custodian: the page says its direction where a
/// patient is enrolled and on the slip, shows progress, and no effect, neither while the trial runs
/// nor once it is closed.
#[test]
fn direction_and_no_effects() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&[
        (QUESTION, "question = \"Dead on day 30?\""),
        ("better = \"high\"", "better = \"low\""),
        ("[plan]", "[plan]\nresults = \"custodian\""),
        ("patients = 4000", "patients = 30"),
        ("epsilon = 1 ", "epsilon = 20 "),
    ]);
    for number in 1..=20 {
        let code = format!("P-{number}");
        ward.good(&["assign", &code, &(number % 4).to_string(), "--log", "ward.jsonl"]);
        ward.good(&["outcome", &code, "no", "--log", "ward.jsonl"]);
    }
    let direction = "The device gives more patients the arm with fewer: Dead on day 30? YES.";
    let browser = Browser::start();
    browser.size(SMALL);
    let page = Page::serve(&ward, &[]);
    browser.go(&page.next_address());
    browser.shows(&["Connected"]);
    browser.click("Enrol a patient");
    browser.shows(&[direction]);
    examine(&browser, "direction");
    browser.click("Back");
    enrol(&browser, "P-21", &["65 or over, home"]);
    let paper = on_paper(&browser, "slip-direction");
    assert!(paper.contains("fewer: Dead on day 30? YES"), "{paper}");
    drop(page);
    for closed in [false, true] {
        let page = Page::serve(&ward, &[]);
        browser.go(&page.next_address());
        browser.shows(&["Connected", "Progress"]);
        let visible = "return Array.from(document.querySelectorAll('button')).some((one) => \
             one.innerText === 'Report' && one.offsetParent !== null)";
        assert_eq!(browser.run(visible, &[]), false, "no report, closed: {closed}");
        browser.click("Progress");
        let shown = browser.shows(&["21 of 30 patients", "Effects are not shown here"]);
        assert!(!shown.contains("interval") && !shown.contains("favours"), "{shown}");
        assert!(!shown.contains("so far, looks so far"), "{shown}");
        examine(&browser, &format!("progress-{closed}"));
        let asked = browser.run_async(
            "const done = arguments[arguments.length - 1]; send({ order: 'report' }).then(done)",
        );
        assert!(asked["failed"].is_string() && asked["rows"].is_null(), "{asked}");
        drop(page);
        if !closed {
            ward.good(&["close", "--yes", "--key-file", "key"]);
        }
    }
}

/// The list of enrolments as the browser saves it is what the program writes.
#[test]
fn the_list_is_saved_as_csv() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&[]);
    let page = Page::serve(&ward, &[]);
    let browser = Browser::start();
    browser.size(SMALL);
    let folder = ward.file("downloads");
    std::fs::create_dir(&folder).unwrap();
    let allowed = json!({ "behavior": "allow", "downloadPath": folder });
    browser.chromium("Browser.setDownloadBehavior", &allowed);
    browser.go(&page.next_address());
    browser.shows(&["Connected"]);
    for code in ["P-1", "P-2"] {
        enrol(&browser, code, &["65 or over, home"]);
        browser.click("I have read it");
    }
    browser.click("Outcome of patient P-1");
    browser.choose("yes");
    browser.click("Next");
    browser.click("Record YES");
    browser.shows(&["Outcomes waiting: 1"]);
    let paper = on_paper(&browser, "list-paper");
    assert!(paper.contains("P-2") && !paper.contains("Save the list"), "{paper}");
    browser.click("Save the list (CSV)");
    let start = std::time::Instant::now();
    let saved = loop {
        let mut files = std::fs::read_dir(&folder).unwrap().map(|file| file.unwrap().path());
        if let Some(file) = files.find(|file| file.extension().is_some_and(|end| end == "csv")) {
            assert!(file.file_name().unwrap().to_str().unwrap().starts_with("enrolments-20"));
            break std::fs::read_to_string(file).unwrap();
        }
        assert!(start.elapsed() < PATIENCE, "no file was saved");
        std::thread::sleep(std::time::Duration::from_millis(50));
    };
    drop(page);
    assert_eq!(saved, ward.run(&["list", "--csv", "--log", "ward.jsonl"]).out);
    assert_eq!(saved.lines().count(), 3, "{saved}");
    assert!(saved.starts_with("patient,code,kind,arm,arm_name,enrolled,"), "{saved}");
    assert!(!saved.contains("yes"), "{saved}");
}
