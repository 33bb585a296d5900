//! `examples/terminal.html`, a terminal for Web Serial, at the line of a device.
//!
//! Chromium without a window has no serial port. In its place the page gets one whose bytes the
//! test carries to a device and back, so that everything but the port is real.

use crate::browser::driver::{Browser, PATIENCE};
use equipoise::testkit::desk::{Desk, sealed};
use serde_json::{Value, json};
use std::time::Instant;

const PAGE: &str = concat!("file://", env!("CARGO_MANIFEST_DIR"), "/../../examples/terminal.html");

/// The port, and a person who confirms everything.
const PORT: &str = "{ window.sent = [];
const readable = new ReadableStream({ start(line) {
  window.hear = (bytes) => line.enqueue(new Uint8Array(bytes)); } });
const writable = new WritableStream({ write(bytes) { window.sent.push(...bytes); } });
const port = { readable, writable, open: async ({ baudRate }) => { window.baud = baudRate; } };
Object.defineProperty(navigator, 'serial', { value: { requestPort: async () => port } });
window.confirm = (question) => { window.question = question; return true; }; }";

/// The page and its device.
struct Bench {
    browser: Browser,
    desk: Desk,
    line: Vec<u8>,
    /// The answer to a request that starts so is lost.
    lost: Option<&'static str>,
    /// Added to every answer but arms, kits and refusals.
    newer: &'static str,
    /// An answer that starts so gets an unknown word before its last one, once.
    strange: Option<&'static str>,
}

impl Bench {
    fn new(plan: &str) -> Self {
        let (browser, desk) = (Browser::start(), Desk::running(1, plan));
        browser.chromium("Page.addScriptToEvaluateOnNewDocument", &json!({ "source": PORT }));
        browser.go(PAGE);
        Self { browser, desk, line: Vec::new(), lost: None, newer: "", strange: None }
    }

    /// The answer as a newer or a strange device gives it.
    fn changed(&mut self, answer: Vec<u8>) -> Vec<u8> {
        let text = String::from_utf8(answer).unwrap();
        let body = text.split('*').next().unwrap();
        if self.strange.is_some_and(|strange| body.starts_with(strange)) {
            self.strange = None;
            let (start, last) = body.rsplit_once(' ').unwrap();
            return (sealed(&format!("{start} battery=good {last}")) + "\n").into_bytes();
        }
        if ["HELLO", "STATUS", "OK"].iter().any(|verb| body.starts_with(verb)) {
            return (sealed(&format!("{body}{}", self.newer)) + "\n").into_bytes();
        }
        text.into_bytes()
    }

    /// Carries bytes in both directions.
    fn carry(&mut self) {
        let sent = self.browser.run("return window.sent.splice(0)", &[]);
        for byte in sent.as_array().unwrap().iter().map(|byte| byte.as_u64().unwrap() as u8) {
            if byte != b'\n' {
                self.line.push(byte);
                continue;
            }
            let line = std::mem::take(&mut self.line);
            if line.is_empty() {
                continue;
            }
            let answer = self.desk.send(&line);
            if self.lost.is_some_and(|lost| line.starts_with(lost.as_bytes())) {
                self.lost = None;
            } else {
                let answer = self.changed(answer);
                self.browser.run("window.hear(arguments[0])", &[Value::from(answer)]);
            }
        }
    }

    /// Waits until all of these can be read.
    #[track_caller]
    fn shows(&mut self, texts: &[&str]) -> String {
        let start = Instant::now();
        loop {
            self.carry();
            let text = self.browser.text();
            if texts.iter().all(|wanted| text.contains(wanted)) {
                return text;
            }
            assert!(start.elapsed() < PATIENCE, "{texts:?} is not all in:\n{text}");
        }
    }

    /// Clicks a button once the page has done what it was asked before.
    #[track_caller]
    fn click(&mut self, name: &str) {
        let start = Instant::now();
        while self.browser.run("return document.body.ariaBusy", &[]) == "true" {
            self.carry();
            assert!(start.elapsed() < PATIENCE, "{}", self.browser.text());
        }
        self.browser.click(name);
    }

    fn fill(&self, field: &str, value: u32) {
        let script = "document.getElementById(arguments[0]).value = arguments[1]";
        self.browser.run(script, &[field.into(), value.into()]);
    }

    /// Enrols a patient; what the page says was given.
    #[track_caller]
    fn enrol(&mut self, patient: u32, feature: u32) -> String {
        self.fill("feature", feature);
        self.click("Enrol the next patient");
        let start = format!("Patient {patient}: ");
        let text = self.shows(&[&start, &format!("{patient} of 20 patients enrolled")]);
        text.split(&start).nth(1).unwrap().lines().next().unwrap().to_owned()
    }

    /// The stored request that has no answer yet.
    fn pending(&self) -> Value {
        self.browser.run("return localStorage.getItem('equipoise.pending')", &[])
    }
}

/// Enrol, record, write off; refusals are shown.
#[test]
fn example_enrols_and_records() {
    let mut bench = Bench::new(equipoise::testkit::desk::PLAN);
    bench.click("Connect");
    bench.shows(&["running", "0 of 20 patients enrolled"]);
    assert_eq!(bench.browser.run("return window.baud", &[]), 115_200);
    for patient in 1..=2 {
        let given = bench.enrol(patient, patient);
        assert!(["arm 0", "arm 1"].contains(&given.as_str()), "{given}");
    }
    bench.fill("outcome", 1);
    bench.click("Record the outcome");
    bench.shows(&["Patient 2: on record.", "1 resolved"]);
    bench.fill("patient", 1);
    bench.click("Record a loss");
    bench.shows(&["Patient 1: on record.", "2 resolved"]);
    bench.fill("feature", 9);
    bench.click("Enrol the next patient");
    bench.shows(&["ERR feature re=ASSIGN:3 got=9 allowed 0..3"]);
    bench.click("Give the patient another kit (blinded trials)");
    bench.shows(&["ERR kits re=REPLACE:1 kits=0 the trial is not blinded"]);
    assert_eq!(bench.pending(), Value::Null);
    assert_eq!(bench.browser.console(), [""; 0]);
}

/// In a blinded trial: kits, a replacement, and a request whose answer was lost, repeated by the
/// page after a reload with the same kit.
#[test]
fn example_gives_kits() {
    let mut bench = Bench::new("PLAN features=3 patients=20 better=high epsilon=1 kits=30");
    bench.click("Connect");
    bench.shows(&["running"]);
    let first = bench.enrol(1, 0);
    assert!(first.strip_prefix("kit ").is_some_and(|kit| kit.parse::<u32>().is_ok()), "{first}");
    bench.click("Give the patient another kit (blinded trials)");
    let text = bench.shows(&["Patient 1: kit "]);
    assert!(!text.contains(&format!("Patient 1: {first}\n")), "{text}");
    let asked = bench.browser.run("return window.question", &[]);
    assert_eq!(asked, "Give patient 1 replacement number 1? It cannot be taken back.");
    bench.click("Give the patient another kit (blinded trials)");
    bench.shows(&[text.split("Patient 1: ").nth(1).unwrap().lines().next().unwrap()]);

    bench.lost = Some("ASSIGN");
    bench.click("Enrol the next patient");
    let start = Instant::now();
    while bench.desk.ask("STATUS").contains(" assigned=1 ") {
        bench.carry();
        assert!(start.elapsed() < PATIENCE);
    }
    let kept = bench.pending();
    assert!(kept.as_str().is_some_and(|kept| kept.contains("ASSIGN 2 0 ")), "{kept}");
    bench.line.clear();
    bench.browser.reload();
    bench.shows(&["A request of an earlier session has no answer yet: ASSIGN 2 0 "]);
    bench.click("Connect");
    bench.shows(&["2 of 20 patients enrolled"]);
    bench.click("Send it again");
    bench.shows(&["Patient 2: kit "]);
    assert!(bench.desk.ask("STATUS").contains(" assigned=2 "), "nobody was assigned twice");
    assert_eq!(bench.pending(), Value::Null);
    assert!(!bench.browser.text().contains("arm 0") && !bench.browser.text().contains("arm 1"));
}

/// Words that a newer device adds are skipped; an unknown word before a known one is no answer, and
/// the request is sent again.
#[test]
fn example_skips_newer_words() {
    let mut bench = Bench::new(equipoise::testkit::desk::PLAN);
    bench.newer = " battery=good a-2=b=c";
    bench.click("Connect");
    bench.shows(&["running", "0 of 20 patients enrolled"]);
    bench.enrol(1, 0);
    bench.fill("outcome", 1);
    bench.click("Record the outcome");
    bench.shows(&["Patient 1: on record.", "1 resolved"]);
    for (strange, patient) in [("STATUS", 2), ("ARM", 3)] {
        bench.strange = Some(strange);
        let given = bench.enrol(patient, 0);
        assert!(["arm 0", "arm 1"].contains(&given.as_str()), "{given}");
        assert_eq!(bench.strange, None, "the strange answer was given");
    }
    assert_eq!(bench.browser.console(), [""; 0]);
}
