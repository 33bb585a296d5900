//! Two tabs, double clicks, the Back button, and a tab that outlives its program.

use std::io::Write;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::browser::driver::{Browser, PATIENCE};
use crate::browser::views::{SMALL, events, examine, log, prepare};
use crate::common::page::{Page, Visitor};
use crate::common::ward::Ward;

/// Two tabs, a double click, the Back button, a reload: nothing is enrolled or recorded twice, and
/// every tab shows the same.
#[test]
fn two_tabs_and_double_clicks() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&[]);
    let page = Page::serve(&ward, &[]);
    let browser = Browser::start();
    let first = browser.tabs().remove(0);
    browser.go(&page.next_address());
    browser.shows(&["Nobody is waiting"]);

    // A confirmation pressed three times in one task of the browser.
    prepare(&browser, "P-1", &["under 65, home"]);
    browser.find("//button[@class='first' and not(@disabled)]");
    let button =
        "const one = document.querySelector('button.first'); one.click(); one.click(); one.click()";
    browser.run(button, &[]);
    browser.shows(&["Patient P-1, number 1", "I have read it"]);
    assert_eq!(events(&ward, "arm"), 1, "{}", log(&ward));

    // Back leads to the list; a reload of a confirmation leaves it.
    browser.back();
    browser.shows(&["Outcomes waiting: 1"]);
    browser.forward();
    browser.shows(&["Outcomes waiting: 1"]);
    browser.back();
    browser.shows(&["Outcomes waiting: 1"]);
    assert_eq!(events(&ward, "arm"), 1, "neither Back nor Forward enrols again");
    prepare(&browser, "P-2", &["under 65, home"]);
    browser.back();
    let list = browser.shows(&["Outcomes waiting: 1"]);
    assert!(!list.contains("P-2"), "{list}");
    browser.click("Outcome of patient P-1");
    browser.choose("yes");
    browser.click("Next");
    browser.shows(&["Record this?"]);
    browser.reload();
    browser.shows(&["Outcomes waiting: 1"]);
    assert_eq!((events(&ward, "arm"), events(&ward, "outcome")), (1, 0));

    // The second tab records what the first one is about to.
    browser.click("Outcome of patient P-1");
    browser.choose("yes");
    browser.click("Next");
    let second = browser.new_tab();
    browser.switch_to(&second);
    browser.go(&page.next_address());
    browser.shows(&["Outcomes waiting: 1"]);
    browser.click("Outcome of patient P-1");
    browser.choose("no");
    browser.click("Next");
    browser.click("Record NO");
    browser.shows(&["Recorded for patient P-1, number 1."]);
    browser.switch_to(&first);
    browser
        .shows(&["The outcome of patient P-1 was recorded or declared lost meanwhile. Nothing was sent from here."]);
    browser.click("To the list");
    // Both enrol the same code.
    for tab in [&first, &second] {
        browser.switch_to(tab);
        prepare(&browser, "P-3", &["under 65, home"]);
    }
    browser.click("Enrol P-3");
    browser.shows(&["Patient P-3, number 2"]);
    browser.switch_to(&first);
    browser.click("Enrol P-3");
    browser.shows(&["Not done", "Patient P-3 is already enrolled, as number 2"]);
    assert_eq!((events(&ward, "arm"), events(&ward, "outcome")), (2, 1), "{}", log(&ward));
    // A note whose button is pressed three times is written once.
    browser.click("To the list");
    browser.click("P-3");
    browser.click("Write a note");
    browser.choose("other");
    browser.type_in("Note", "asked for a chair");
    browser.run(button, &[]);
    browser.shows(&["Notes: 1", "asked for a chair"]);
    assert_eq!(events(&ward, "note"), 1, "{}", log(&ward));
    // The second and third click found the form gone.
    let mut console = browser.console();
    console.retain(|line| !line.contains("Form submission canceled"));
    assert_eq!(console, [""; 0]);
}

/// A free port of this machine.
fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// A tab left open while the program is started again on the same port: its key is stale. It says
/// that it is over and shows nothing old, and nothing that was confirmed in it is enrolled.
#[test]
fn a_tab_left_overnight() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&[]);
    let listen = format!("127.0.0.1:{}", free_port());
    let serve = || Page::serve(&ward, &["--listen", &listen]);
    let page = serve();
    let browser = Browser::start();
    browser.size(SMALL);
    browser.go(&page.next_address());
    let first = browser.tabs().remove(0);
    browser.shows(&["Connected"]);
    prepare(&browser, "P-1", &["under 65, home"]);
    let second = browser.new_tab();
    browser.switch_to(&second);
    browser.go(&page.next_address());
    browser.shows(&["Connected"]);
    prepare(&browser, "P-2", &["under 65, home"]);
    drop(page);

    // Confirmed in the morning, before the program is there again.
    browser.shows(&["This page has lost the program", "open the address that it printed last"]);
    browser.click("Enrol P-2");
    browser.shows(&["Asking the device for the arm of patient P-2"]);
    let page = serve();
    let over = ["This page is over", "Open the address that the program printed last."];
    let text = browser.shows(&over);
    assert!(text.contains("What was last sent from here has no answer."), "{text}");
    assert!(!text.contains("Connected") && !text.contains("Operator"), "nothing old: {text}");
    examine(&browser, "over");
    // Back and Esc lead to no old list.
    browser.back();
    let text = browser.shows(&over);
    assert!(!text.contains("Enrol a patient"), "{text}");

    // Confirmed in the morning, after the program was started again.
    browser.switch_to(&first);
    let there = "const one = document.querySelector('button.first'); if (one) one.click()";
    browser.run(there, &[]);
    let text = browser.shows(&over);
    assert!(!text.contains("has no answer"), "nothing was sent: {text}");
    browser.reload();
    browser.shows(&["This browser has no key. Open the address that the program printed last."]);
    browser.go(&page.next_address());
    browser.shows(&["Patients 0 of 4000", "Nobody is waiting"]);
    assert_eq!((events(&ward, "wanted"), events(&ward, "enrol")), (0, 0), "{}", log(&ward));
}

/// A page that finds all connections taken says so, and goes on by itself when one is free.
#[test]
fn a_page_waits_for_a_connection() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&[]);
    let page = Page::serve(&ward, &[]);
    let browser = Browser::start();
    browser.go(&page.next_address());
    browser.shows(&["Connected"]);
    browser.run("deaf()", &[]);
    let visitor = Visitor::enter(&page);
    let (host, folder, cookie) = (page.host(), &visitor.folder, &visitor.cookie);
    let request =
        format!("GET {folder}events HTTP/1.1\r\nHost: {host}\r\nCookie: {cookie}\r\n\r\n");
    let mut others = Vec::new();
    let start = Instant::now();
    // The page tries again every few seconds and may take a place meanwhile.
    while !browser.text().contains("64 connections to this program are in use") {
        assert!(start.elapsed() < PATIENCE, "{}", browser.text());
        browser.run("deaf()", &[]);
        // The browser gives up a connection with every round; others take its place.
        for _ in 0..if others.is_empty() { 70 } else { 6 } {
            let mut other = TcpStream::connect(host).unwrap();
            other.write_all(request.as_bytes()).unwrap();
            others.push(other);
        }
        browser.run("listen()", &[]);
        std::thread::sleep(Duration::from_millis(200));
    }
    let text = browser.text();
    assert!(!text.contains("This page is over"), "{text}");
    drop(others);
    let start = Instant::now();
    while browser.text().contains("64 connections") {
        assert!(start.elapsed() < PATIENCE, "{}", browser.text());
        std::thread::sleep(Duration::from_millis(200));
    }
    browser.shows(&["Connected"]);
}
