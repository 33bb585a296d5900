//! Code breaks at night: sealed cards on paper, and the page of a machine that has the key.

use std::process::Command;

use serde_json::{Value, json};

use crate::common::page::{Page, Visitor};
use crate::common::ward::{ARMS, BLINDED, PROGRAM, Ward};

/// Parts of the cards of a page: front and arm.
fn parts(html: &str) -> Vec<[String; 2]> {
    let between = |text: &str, from: &str| {
        let (_, rest) = text.split_once(from).unwrap();
        rest.split("</div>").next().unwrap().to_owned()
    };
    let cards = html.split("<li>").skip(1);
    cards
        .map(|card| ["class=\"front\">", "class=\"arm\">"].map(|part| between(card, part)))
        .collect()
}

/// A card for each kit, six a page: its label outside and the arm of the pharmacy's list inside. Of
/// a log, a card for each kit that was given, with its patient. Nothing with another key.
#[test]
fn cards_have_the_right_arm_inside() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&BLINDED);
    let list = ward.kit_list();
    let words = ["kits", "cards", "trial.toml", "--key-file", "key", "-o", "cards.html"];
    let made = ward.run(&words);
    assert!(made.code == 0 && made.out.contains("100 cards on 17 pages"), "{made:?}");
    let html = std::fs::read_to_string(ward.file("cards.html")).unwrap();
    let cards = parts(&html);
    assert_eq!((cards.len(), html.matches("<section>").count()), (100, 17));
    for ([front, arm], kit) in cards.iter().zip(&list[1..]) {
        assert!(front.contains(&format!(">Kit {}<", kit[1])), "{front}: {kit:?}");
        assert!(ARMS.iter().all(|name| !front.contains(name)), "{front}");
        assert_eq!(*arm, format!("arm {}: {}", kit[3], kit[4]), "{front}");
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(ward.file("cards.html")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    let again = ward.run(&words);
    assert!(again.code == 2 && again.err.contains("exists"), "{again:?}");

    for code in ["P-1", "P-<2>"] {
        let code = code.replace(['<', '>'], "/");
        ward.good(&["assign", &code, "0", "--log", "ward.jsonl"]);
    }
    ward.good(&["replace", "P-1", "--reason", "broken", "--log", "ward.jsonl"]);
    let words = ["kits", "cards", "trial.toml", "--key-file", "key", "--log", "ward.jsonl"];
    let given = ward.run(&words);
    let cards = parts(&given.out);
    let fronts: Vec<&String> = cards.iter().map(|[front, _]| front).collect();
    assert_eq!(fronts.len(), 3, "{given:?}");
    assert!(fronts[0].contains("Patient P-1, number 1") && fronts[1].contains("Patient P-1, "));
    assert!(fronts[2].contains("Patient P-/2/, number 2"), "{fronts:?}");
    assert_eq!(cards[0][1], cards[1][1], "another kit of the same arm");
    assert_eq!(ward.run(&["keygen", "other"]).code, 0);
    let wrong = ward.run(&["kits", "cards", "trial.toml", "--key-file", "other"]);
    assert!(wrong.code == 1 && wrong.err.contains("this is not the key of the trial"), "{wrong:?}");
    assert!(wrong.out.is_empty(), "{wrong:?}");
}

/// The page unblinds only with the key, and only once the log has the reason. The arm goes to the
/// tab that asked, not into log, state or another page.
#[test]
fn the_page_unblinds_after_the_log() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&BLINDED);
    let list = ward.kit_list();
    assert_eq!(ward.run(&["keygen", "other"]).code, 0);
    for (role, file) in [("code-break", "break.key"), ("presence", "presence.key")] {
        let made = ward.run(&["keygen", "--role", role, "--from", "key", file]);
        assert_eq!(made.code, 0, "{made:?}");
    }
    let port = ward.port();
    let words = ["web", "--port", &port, "--log", "ward.jsonl", "--code-break-key", "other"];
    let wrong = ward.run(&words);
    assert!(wrong.code == 1 && wrong.err.contains("this is not the key of the trial"), "{wrong:?}");
    let words = ["web", "--port", &port, "--log", "ward.jsonl", "--code-break-key", "presence.key"];
    let other = ward.run(&words);
    assert!(other.code == 2 && other.err.contains("code-break"), "{other:?}");
    let enrol = json!({ "order": "enrol", "code": "P-1", "levels": [2] });
    let unblind = |reason: &str| json!({ "order": "unblind", "patient": 1, "reason": reason });
    let page = Page::serve(&ward, &[]);
    let visitor = Visitor::enter(&page);
    let enrolled = visitor.order(1, &enrol);
    let label = enrolled["patient"]["arm"]["name"].as_str().unwrap().to_owned();
    assert_eq!(visitor.wait(|state| state["up"] == true)["unblinds"], false);
    let refused = visitor.order(2, &unblind("an emergency"));
    assert!(refused["failed"].as_str().unwrap().contains("was not given the key"), "{refused}");
    drop(page);

    // No room for one more line in the log: no arm.
    let log = || std::fs::read_to_string(ward.file("ward.jsonl")).unwrap();
    let mut command = Command::new("sh");
    let most = log().len() + 20;
    let line = format!(
        "trap '' XFSZ; exec prlimit --fsize={most}: {PROGRAM} web --port port --log ward.jsonl --code-break-key break.key"
    );
    command.args(["-c", &line]);
    let page = Page::start(&ward, command);
    let visitor = Visitor::enter(&page);
    visitor.wait(|state| state["up"] == true && state["unblinds"] == true);
    let full = visitor.order(1, &unblind("an emergency"));
    assert!(full["arm"].is_null() && full["failed"].is_string(), "{full}");
    drop(page);
    assert!(!log().contains("unblinded"), "{}", log());

    let page = Page::serve(&ward, &["--code-break-key", "break.key"]);
    let visitor = Visitor::enter(&page);
    visitor.wait(|state| state["up"] == true);
    let empty = visitor.order(1, &unblind(" "));
    assert!(empty["arm"].is_null() && empty["failed"].as_str().unwrap().contains("reason"));
    let told = visitor.order(2, &unblind("severe allergic reaction"));
    let arm = &list.iter().find(|row| row[1] == label).unwrap()[4];
    assert_eq!((&told["done"], &told["arm"]["name"]), (&json!("unblinded"), &Value::from(&**arm)));
    assert_eq!(log().matches("\"event\":\"unblinded\"").count(), 1);
    assert!(log().contains("severe allergic reaction") && log().contains("\"code\":\"P-1\""));
    let everywhere = log() + &visitor.state().to_string() + &page.said.lock().unwrap();
    assert!(ARMS.iter().all(|arm| !everywhere.contains(arm)), "{everywhere}");
}

/// A board that cannot prove its key is not used, by the page and by scripts; the right one is. The
/// presence key alone is enough.
#[test]
fn a_board_without_the_key_is_not_used() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&[]);
    assert_eq!(ward.run(&["keygen", "other"]).code, 0);
    for (key, file) in [("key", "presence.key"), ("other", "wrong.key")] {
        let made = ward.run(&["keygen", "--role", "presence", "--from", key, file]);
        assert_eq!(made.code, 0, "{made:?}");
    }
    // Where the machine knows the trial's keys, a wrong one is named; elsewhere the board tells.
    for why in ["this is not the presence key of trial", "does not hold the key"] {
        let page = Page::serve(&ward, &["--presence-key", "wrong.key"]);
        let visitor = Visitor::enter(&page);
        let state = visitor.wait(|state| state["link"] == "unfit");
        assert!(state["device"].as_str().unwrap().contains(why), "{state:#}");
        ward.forget_records("key-checks");
    }
    let assign = |key: &str| {
        let words = ["assign", "P-1", "0", "--log", "ward.jsonl", "--presence-key", key];
        ward.on_device(&words)
    };
    let refused = assign("wrong.key");
    assert!(refused.code == 2 && refused.err.contains("does not hold the key"), "{refused:?}");
    let page = Page::serve(&ward, &["--presence-key", "presence.key"]);
    let visitor = Visitor::enter(&page);
    let state = visitor.wait(|state| state["up"] == true);
    assert_eq!(state["status"]["assigned"], 0, "{state:#}");
    drop(page);
    assert_eq!(assign("presence.key").code, 0);
}
