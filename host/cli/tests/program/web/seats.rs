//! People at tabs: what a tab is told before somebody signs in, who acts, the lock, and a program
//! that is killed between PIN and act.

use serde_json::{Value, json};
use std::time::{Duration, Instant};

use crate::common::page::{Page, Visitor};
use crate::common::ward::Ward;
use crate::staff::{ANNA, CHRIS, SIGNED, begin};

/// A tab of a visitor.
struct Tab<'a> {
    visitor: &'a Visitor,
    seat: String,
}

impl Tab<'_> {
    fn post(&self, form: u32, pin: Option<&str>, ask: &Value) -> Value {
        let mut body = json!({ "form": format!("{form:032x}"), "seat": self.seat, "ask": ask });
        if let Some(pin) = pin {
            body["pin"] = pin.into();
        }
        let answer = self.visitor.post(body.to_string().as_bytes());
        assert_eq!(answer.status, 200, "{answer:?}");
        serde_json::from_str(&answer.body).unwrap()
    }

    fn sign_in(&self, form: u32, (id, pin): (&str, &str)) -> Value {
        self.post(form, Some(pin), &json!({ "order": "sign-in", "id": id }))
    }

    #[track_caller]
    fn wait(&self, so: impl Fn(&Value) -> bool) -> Value {
        let start = Instant::now();
        loop {
            let state = self.visitor.state_at(&self.seat);
            if so(&state) {
                return state;
            }
            assert!(start.elapsed() < Duration::from_secs(60), "{state:#}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

fn tab(visitor: &Visitor, seat: u32) -> Tab<'_> {
    Tab { visitor, seat: format!("{seat:032x}") }
}

fn enrol(code: &str) -> Value {
    json!({ "order": "enrol", "code": code, "levels": [2] })
}

fn log(ward: &Ward) -> String {
    std::fs::read_to_string(ward.file("ward.jsonl")).unwrap()
}

/// Before somebody signs in, a tab is told nothing of patients and can do nothing; each tab acts in
/// the name of its own person, and only in their roles. PINs stay out of log and state.
/// Requirement W10.
#[test]
fn a_tab_acts_for_its_person() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&[SIGNED]);
    begin(&ward);
    let page = Page::serve(&ward, &[]);
    let visitor = Visitor::enter(&page);
    let (anna, chris) = (tab(&visitor, 1), tab(&visitor, 2));
    anna.wait(|state| state["staff"] == true && state["up"] == true);
    let refused = |answer: Value, why: &str| {
        assert!(
            answer["failed"].as_str().is_some_and(|text| text.contains(why)),
            "{why}: {answer}"
        );
    };
    refused(anna.post(1, Some(ANNA.1), &enrol("P-1")), "sign in first");
    refused(anna.post(2, None, &json!({ "order": "check", "code": "P-1" })), "sign in first");
    refused(anna.post(3, None, &json!({ "order": "list" })), "sign in first");
    refused(anna.sign_in(4, (ANNA.0, "000001")), "4 tries are left");
    assert_eq!(anna.sign_in(5, ANNA)["done"], "seated");
    anna.wait(|state| state["signed"] == "ab Anna Berg");
    assert_eq!(chris.wait(|_| true)["signed"], Value::Null, "another tab is another seat");
    assert_eq!(chris.sign_in(6, CHRIS)["done"], "seated");

    refused(anna.post(7, None, &enrol("P-1")), "this takes your PIN");
    refused(anna.post(8, Some("000001"), &enrol("P-1")), "the PIN of ab is wrong");
    refused(chris.post(9, Some(CHRIS.1), &enrol("P-1")), "it takes the role enrol");
    refused(anna.post(10, None, &json!({ "order": "operator", "name": "Eva" })), "sign in instead");
    assert_eq!(anna.post(11, Some(ANNA.1), &enrol("P-1"))["done"], "enrolled");
    let outcome = json!({ "order": "outcome", "patient": 1, "outcome": 1 });
    refused(anna.post(12, Some(ANNA.1), &outcome), "it takes the role outcome");
    chris.wait(|state| state["waiting"].as_array().unwrap().len() == 1);
    assert_eq!(chris.post(13, Some(CHRIS.1), &outcome)["done"], "recorded");

    let outside = tab(&visitor, 3).wait(|_| true).to_string();
    for hidden in ["P-1", "number 1", "Anna", "Chris"] {
        assert!(!outside.contains(hidden), "{hidden}: {outside}");
    }
    let log = log(&ward);
    let line = |event: &str| {
        log.lines().find(|line| line.contains(&format!("\"event\":\"{event}\""))).unwrap()
    };
    assert!(line("arm").contains("\"operator\":\"ab Anna Berg\",\"signed\":{\"id\":\"ab\""));
    assert!(line("outcome").contains("\"operator\":\"cd Chris Dahl\",\"signed\":{\"id\":\"cd\""));
    let whole = format!("{log}{outside}{}", anna.wait(|_| true));
    for secret in [ANNA.1, CHRIS.1, "argon2", "000001"] {
        assert!(!whole.contains(secret), "{secret}");
    }
    assert_eq!(anna.post(14, None, &json!({ "order": "sign-out" }))["done"], "seated");
    refused(anna.post(15, Some(ANNA.1), &enrol("P-2")), "sign in first");
}

/// A tab that is left alone is locked by the program; one whose person is there is not.
#[test]
fn a_tab_left_alone_is_locked() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&[("title = ", "lock-after = 0.05\ntitle = ")]);
    begin(&ward);
    let page = Page::serve(&ward, &[]);
    let visitor = Visitor::enter(&page);
    let (anna, chris) = (tab(&visitor, 1), tab(&visitor, 2));
    assert_eq!(anna.sign_in(1, ANNA)["done"], "seated");
    assert_eq!(chris.sign_in(2, CHRIS)["done"], "seated");
    assert_eq!(anna.post(3, None, &enrol("P-1"))["done"], "enrolled");
    anna.wait(|state| state["waiting"].as_array().unwrap().len() == 1);
    let start = Instant::now();
    let mut form = 10;
    while start.elapsed() < Duration::from_secs(5) {
        let here = chris.post(form, None, &json!({ "order": "here" }));
        assert_eq!(here["done"], "seated", "{here}");
        form += 1;
        std::thread::sleep(Duration::from_millis(300));
    }
    let locked = anna.wait(|state| state["signed"].is_null());
    assert_eq!(locked["waiting"], json!([]));
    assert_eq!(chris.wait(|_| true)["signed"], "cd Chris Dahl");
    assert!(log(&ward).contains(
        "\"event\":\"signed-out\",\"id\":\"ab\",\"view\":\"page\",\"why\":\"left alone\""
    ));
}

/// The coordinator removes a person: their tab can do nothing more.
#[test]
fn a_removed_person_is_out() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&[]);
    begin(&ward);
    let page = Page::serve(&ward, &[]);
    let visitor = Visitor::enter(&page);
    let chris = tab(&visitor, 1);
    assert_eq!(chris.sign_in(1, CHRIS)["done"], "seated");
    let words = ["staff", "remove", "cd", "--operator", "ab"];
    assert_eq!(ward.run_with(&words, ANNA.1).code, 0);
    let answer = chris.post(2, None, &json!({ "order": "list" }));
    assert!(answer["failed"].as_str().unwrap().contains("nobody with the id"), "{answer}");
    chris.wait(|state| state["signed"].is_null());
}

/// The program is killed after the PIN was taken and before the device answered: the next start
/// asks the device again by itself, and the patient is the one of the person who signed.
#[test]
fn killed_between_pin_and_act() {
    let ward = Ward::new();
    let device = ward.device();
    ward.provision(&[SIGNED]);
    begin(&ward);
    let page = Page::serve(&ward, &[]);
    let visitor = Visitor::enter(&page);
    let anna = tab(&visitor, 1);
    assert_eq!(anna.sign_in(1, ANNA)["done"], "seated");
    anna.wait(|state| state["up"] == true);
    drop(device);
    // Nobody answers this order: it is in the log, signed, and the device is away.
    let body = json!({ "form": format!("{:032x}", 2), "seat": anna.seat, "pin": ANNA.1, "ask": enrol("P-1") });
    let text = body.to_string();
    std::thread::scope(|scope| {
        let sent = scope.spawn(|| {
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| visitor.post(text.as_bytes())))
        });
        let start = Instant::now();
        while !log(&ward).contains("\"event\":\"wanted\"") {
            assert!(start.elapsed() < Duration::from_secs(60), "{}", log(&ward));
            std::thread::sleep(Duration::from_millis(10));
        }
        drop(page);
        let _ = sent.join();
    });
    assert!(
        log(&ward).contains(
            "\"signed\":{\"id\":\"ab\",\"role\":\"enrol\",\"meaning\":\"asked to enrol\"}"
        )
    );
    let _device = ward.device();
    let page = Page::serve(&ward, &[]);
    let visitor = Visitor::enter(&page);
    let chris = tab(&visitor, 1);
    assert_eq!(chris.wait(|state| state["up"] == true)["wanted"], Value::Null, "locked");
    let tab = tab(&visitor, 2);
    assert_eq!(tab.sign_in(1, ANNA)["done"], "seated");
    let state = tab.wait(|state| !state["wanted"].is_null());
    assert_eq!(state["wanted"]["code"], "P-1");
    assert_eq!(tab.post(2, Some(ANNA.1), &enrol("P-1"))["done"], "enrolled");
    assert_eq!(log(&ward).matches("\"event\":\"arm\"").count(), 1);
    assert!(!log(&ward).contains(ANNA.1));
}
