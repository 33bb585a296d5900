//! An order is carried out once.

use std::process::Command;

use serde_json::json;

use crate::common::page::{Page, Visitor};
use crate::common::relay::{Fate, Relay};
use crate::common::ward::{BLINDED, PROGRAM, Ward};
use crate::web::enrol;
use xtask::http::exchange;

/// A double click, or an order sent again after a broken connection, is carried out once.
#[test]
fn an_order_is_carried_out_once() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&[]);
    let page = Page::serve(&ward, &[]);
    let visitor = Visitor::enter(&page);
    let answers: Vec<_> = std::thread::scope(|scope| {
        let send = || scope.spawn(|| visitor.order(7, &enrol("P-1")));
        let sent = [send(), send(), send()];
        sent.into_iter().map(|sent| sent.join().unwrap()).collect()
    });
    assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:#?}");
    assert_eq!(answers[0]["done"], "enrolled");
    let note = json!({ "order": "note", "patient": 1, "kind": "deviation", "text": "left early" });
    for _ in 0..2 {
        assert_eq!(visitor.order(8, &note)["done"], "noted");
        let outcome = json!({ "order": "outcome", "patient": 1, "outcome": 1 });
        assert_eq!(visitor.order(9, &outcome)["done"], "recorded");
    }
    // Another form is another order: refused, for what it would do is done.
    let again = visitor.order(10, &enrol("p-1"));
    assert_eq!(again["failed"], "patient P-1 is already enrolled, as number 1");
    let again = visitor.order(11, &json!({ "order": "lost", "patient": 1 }));
    assert!(again["failed"].as_str().unwrap().contains("already recorded at"), "{again}");
    let log = std::fs::read_to_string(ward.file("ward.jsonl")).unwrap();
    for event in ["arm", "note", "outcome"] {
        assert_eq!(log.matches(&format!("\"event\":\"{event}\"")).count(), 1, "{event}: {log}");
    }
    let found = visitor.order(12, &json!({ "order": "find", "code": "P-1" }));
    assert_eq!(found["patient"]["notes"][0]["text"], "left early", "{found:#}");
    assert_eq!(ward.run(&["log", "verify", "ward.jsonl"]).code, 0);
}

/// The device is unplugged after it has the request: the order stays open, no other is taken, and
/// the same form gets the arm when the device is back.
#[test]
fn unplugged_in_an_enrolment() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&[]);
    let relay = Relay::between(&ward.file("relay"), &ward.port(), Some(Fate::Lose("ASSIGN")));
    let mut command = Command::new(PROGRAM);
    command.args(["web", "--port", "relay", "--trial", "trial.toml", "--log", "ward.jsonl"]);
    let page = Page::start(&ward, command);
    let visitor = Visitor::enter(&page);
    visitor.wait(|state| state["up"] == true);
    let answer = std::thread::scope(|scope| {
        let asked = scope.spawn(|| visitor.order(1, &enrol("P-1")));
        relay.wait_for_loss();
        drop(relay);
        let state = visitor.wait(|state| state["unanswered"] == "P-1" && state["up"] == false);
        assert_eq!(state["waiting"], json!([]), "no arm is shown: {state:#}");
        let other = visitor.order(2, &enrol("P-2"));
        assert!(other["failed"].as_str().unwrap().contains("P-1 is being enrolled"), "{other}");
        let _back = Relay::between(&ward.file("relay"), &ward.port(), None);
        asked.join().unwrap()
    });
    assert_eq!((&answer["done"], &answer["patient"]["number"]), (&json!("enrolled"), &json!(1)));
    let log = std::fs::read_to_string(ward.file("ward.jsonl")).unwrap();
    assert_eq!(log.matches("\"event\":\"arm\"").count(), 1, "{log}");
    assert_eq!(log.matches("\"code\":\"P-2\"").count(), 0, "{log}");
}

/// A form that comes again after a thousand others still does nothing twice: no second kit, note
/// or enrolment, and the answer is the first one.
#[test]
fn a_late_repeat_does_nothing() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&BLINDED);
    let page = Page::serve(&ward, &[]);
    let visitor = Visitor::enter(&page);
    let note = json!({ "order": "note", "patient": 1, "kind": "deviation", "text": "left early" });
    let replace = json!({ "order": "replace", "patient": 1, "reason": "damaged" });
    let forms = [(1, enrol("P-1")), (2, replace), (3, note)];
    let send = || forms.each_ref().map(|(form, ask)| visitor.order(*form, ask));
    let first = send();
    assert_eq!((&first[1]["done"], &first[2]["done"]), (&json!("enrolled"), &json!("noted")));
    let log = || std::fs::read_to_string(ward.file("ward.jsonl")).unwrap();
    let before = log();
    // More than the thousand that were once remembered.
    for form in 0..1010 {
        let find = json!({ "order": "find", "code": "P-2" });
        assert!(visitor.order(1000 + form, &find)["failed"].is_string());
    }
    assert_eq!(send(), first);
    assert_eq!(log(), before);
}

/// The printed address lets one browser in. The same address again is refused, and the program
/// prints the one for the next browser.
#[test]
fn an_address_works_once() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&[]);
    let page = Page::serve(&ward, &[]);
    let first = page.next_address();
    let open = |address: &str| {
        let path = address.strip_prefix(&format!("http://{}", page.host())).unwrap();
        exchange(page.host(), &format!("GET {path}"), &[("Host", page.host())], b"")
    };
    let statuses: Vec<_> = std::thread::scope(|scope| {
        let opened = [(); 4].map(|()| scope.spawn(|| open(&first).status));
        opened.into_iter().map(|opened| opened.join().unwrap()).collect()
    });
    assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 1, "{statuses:?}");
    let refused = open(&first);
    assert_eq!(refused.status, 403, "{refused:?}");
    assert!(refused.body.contains("each works once") && refused.header("set-cookie").is_empty());
    let next = Visitor::open(&page.next_address());
    next.wait(|state| state["up"] == true);
}

/// The page compares codes as the program does: a code that looks like a waiting patient's is taken
/// for that patient's, what is searched for is folded by the program, and no script folds.
#[test]
fn page_compares_codes_as_the_program() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&[]);
    let page = Page::serve(&ward, &[]);
    let visitor = Visitor::enter(&page);
    visitor.wait(|state| state["up"] == true);
    assert_eq!(visitor.order(1, &enrol("P-1A"))["done"], "enrolled");
    let state = visitor.wait(|state| state["waiting"][0]["code"] == "P-1A");
    assert_eq!(state["waiting"][0]["folded"], "p-1a", "{state:#}");
    for (form, code) in (2..).zip([" p-1A", "Ｐ-１Ａ", "P-١a", "𝐏-𝟏𝐀", "P-1\u{200B}A"])
    {
        let used = "patient P-1A is already enrolled, as number 1";
        for order in [enrol(code), json!({ "order": "check", "code": code })] {
            let answer = visitor.order(form * 10 + u32::from(order["order"] == "check"), &order);
            assert_eq!(answer["failed"], used, "{code:?}");
        }
        let search = visitor.order(form + 100, &json!({ "order": "fold", "code": code }));
        assert_eq!(search["folded"], "p-1a", "{code:?}");
        let found = visitor.order(form + 200, &json!({ "order": "find", "code": code }));
        assert_eq!(found["patient"]["number"], 1, "{code:?}: {found}");
    }
    let bad = visitor.order(300, &json!({ "order": "check", "code": "Ｑ" }));
    assert!(bad["failed"].as_str().unwrap().contains("(U+FF31)"), "{bad}");
    for file in equipoise_ward::bedside::page::files::FILES {
        for folds in ["toLowerCase", "normalize(", "localeCompare", "Intl.Collator"] {
            assert!(!file.text.contains(folds), "{}: {folds}", file.name);
        }
    }
}
