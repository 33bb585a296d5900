//! The server of the bedside page, asked without a browser: who gets in, what is refused, what
//! happens once, and where an outcome must not be. The page itself is in `browser.rs`.

mod connections;
mod disk;
use xtask::http;
mod once;
mod open;
mod seats;
use crate::common::page;
use crate::common::ward;

use equipoise_ward::bedside::page::files::FILES;
use http::exchange;
use page::{Page, Visitor};
use serde_json::json;
use ward::{BLINDED, Ward};

/// The order to enrol a patient.
pub fn enrol(code: &str) -> serde_json::Value {
    json!({ "order": "enrol", "code": code, "levels": [2] })
}

/// A request with a wrong or missing token, cookie, host or origin, of another type, too long or
/// malformed is refused, and nothing happens. Requirement W17.
#[test]
fn strangers_are_refused() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&[]);
    let page = Page::serve(&ward, &[]);
    let host = page.host();
    let token = page.address.rsplit('/').next().unwrap();
    let open = |path: &str, host_header: &str| {
        exchange(host, &format!("GET {path}"), &[("Host", host_header)], b"").status
    };
    assert_eq!(open("/", host), 403, "no cookie");
    assert_eq!(open("/open/", host), 403);
    assert_eq!(open(&format!("/open/{}", "0".repeat(32)), host), 403);
    assert_eq!(open(&format!("/open/{token}"), "evil.example"), 421, "DNS rebinding");
    assert_eq!(exchange(host, &format!("GET /open/{token}"), &[], b"").status, 421, "no host");

    let visitor = Visitor::enter(&page);
    let order = format!("POST {}order", visitor.folder);
    let body = json!({ "form": "0".repeat(32), "ask": enrol("P-1") }).to_string();
    for (changes, status) in [
        (vec![("Cookie", "")], 403),
        (vec![("Cookie", "equipoise=1")], 403),
        (vec![("Host", "evil.example")], 421),
        (vec![("Host", "evil.example"), ("Origin", "http://evil.example")], 421),
        (vec![("Origin", "http://evil.example")], 403),
        (vec![("Origin", "")], 403),
        (vec![("Sec-Fetch-Site", "cross-site")], 403),
        (vec![("Content-Type", "text/plain")], 415),
    ] {
        let answer = visitor.ask(&order, &changes, body.as_bytes());
        assert_eq!(answer.status, status, "{changes:?}: {answer:?}");
    }
    let get = |file: &str| visitor.ask(&format!("GET {}{file}", visitor.folder), &[], b"").status;
    assert_eq!((get(""), get("list.js"), get("style.css")), (200, 200, 200));
    assert_eq!((get("order"), get("nothing"), get("../")), (405, 404, 404));
    assert_eq!(visitor.post(&vec![b' '; 100_000]).status, 413);
    assert_eq!(visitor.post(&[b'['; 4000]).status, 400);
    let good = |ask: serde_json::Value| json!({ "form": "0".repeat(32), "ask": ask }).to_string();
    for bad in [
        String::new(),
        "{".to_owned(),
        "null".to_owned(),
        good(json!({ "order": "erase" })),
        good(json!({ "order": "enrol", "code": "P-1", "levels": [4] })),
        good(json!({ "order": "enrol", "code": "P-1", "levels": [] })),
        good(json!({ "order": "enrol", "code": "P-1", "levels": [-1] })),
        good(json!({ "order": "lost", "patient": 1, "more": 1 })),
        good(json!({ "order": "outcome", "patient": 1, "outcome": 70_000 })),
        good(json!({ "order": "outcome", "patient": 1, "outcome": "yes" })),
        json!({ "form": "short", "ask": enrol("P-1") }).to_string(),
        json!({ "form": "g".repeat(32), "ask": enrol("P-1") }).to_string(),
        "\u{0}\u{1b}[2J".to_owned(),
    ] {
        let answer = visitor.post(bad.as_bytes());
        assert_eq!(answer.status, 400, "{bad}: {answer:?}");
    }
    let state = visitor.wait(|state| state["up"] == true);
    assert_eq!(state["status"]["assigned"], 0, "nothing happened: {state:#}");
    assert_eq!(visitor.order(1, &enrol("P-1"))["done"], "enrolled", "the right request is taken");
}

/// A request whose body does not come is ended.
#[test]
fn a_slow_body_is_given_up() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&[]);
    let page = Page::serve(&ward, &[]);
    let visitor = Visitor::enter(&page);
    let length = [("Content-Length", "100")];
    let answer = visitor.ask(&format!("POST {}order", visitor.folder), &length, b"");
    assert_eq!(answer.status, 408, "{answer:?}");
}

/// Every answer forbids caching, framing, referrers and content from elsewhere.
#[test]
fn every_answer_has_strict_headers() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&[]);
    let page = Page::serve(&ward, &[]);
    let visitor = Visitor::enter(&page);
    let open = page.next_address().replace(&format!("http://{}", page.host()), "GET ");
    let cookie = exchange(page.host(), &open, &[("Host", page.host())], b"");
    let set = cookie.header("set-cookie");
    assert!(set.contains("HttpOnly") && set.contains("SameSite=Strict"), "{set}");
    assert!(set.contains(&format!("Path={}", visitor.folder)), "{set}");
    let refused = visitor.ask("GET /nothing", &[], b"");
    let no_order = visitor.post(b"{");
    let shown = visitor.ask(&format!("GET {}", visitor.folder), &[], b"");
    let answered = visitor.post(
        json!({ "form": "0".repeat(32), "ask": { "order": "check", "code": "P-1" } })
            .to_string()
            .as_bytes(),
    );
    assert_eq!(answered.status, 200, "{answered:?}");
    for answer in [cookie, refused, no_order, shown, answered] {
        assert_eq!(answer.header("cache-control"), "no-store", "{answer:?}");
        assert_eq!(answer.header("referrer-policy"), "no-referrer", "{answer:?}");
        assert_eq!(answer.header("x-content-type-options"), "nosniff", "{answer:?}");
        assert_eq!(answer.header("x-frame-options"), "DENY", "{answer:?}");
        assert!(answer.header("permissions-policy").contains("camera=()"), "{answer:?}");
        assert_eq!(answer.header("cross-origin-opener-policy"), "same-origin", "{answer:?}");
        assert_eq!(answer.header("cross-origin-resource-policy"), "same-origin", "{answer:?}");
        let policy = answer.header("content-security-policy");
        assert!(policy.starts_with("default-src 'none'; script-src 'self';"), "{answer:?}");
        for part in ["connect-src 'self'", "frame-ancestors 'none'", "form-action 'none'"] {
            assert!(policy.contains(part), "{part}: {policy}");
        }
        assert!(policy.ends_with("require-trusted-types-for 'script'; trusted-types 'none'"));
        assert!(!policy.contains("unsafe") && !policy.contains("http"), "{policy}");
    }
    // The page names no other host.
    for file in FILES {
        let file = file.name;
        let text = visitor.ask(&format!("GET {}{file}", visitor.folder), &[], b"").body;
        assert!(!text.contains("://") && !text.contains("//cdn"), "{file}");
    }
}

/// An outcome is in no file, answer, event or line of output. Requirement W6.
#[test]
fn outcomes_are_kept_nowhere() {
    const VALUE: u16 = 48_613;
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&[("scale = 1", "scale = 50000"), ("labels = [\"no\", \"yes\"]", "")]);
    let page = Page::serve(&ward, &[]);
    let visitor = Visitor::enter(&page);
    assert_eq!(visitor.order(1, &enrol("P-1"))["done"], "enrolled");
    let mut heard = String::new();
    let outcome = |value: u32| json!({ "order": "outcome", "patient": 1, "outcome": value });
    // Refused, malformed, recorded, recorded before: each with its own value.
    for (form, ask) in [
        (2, json!({ "order": "outcome", "patient": 9, "outcome": VALUE })),
        (3, outcome(60_000)),
        (4, outcome(VALUE.into())),
        (5, outcome(VALUE.into())),
    ] {
        heard += &visitor.order(form, &ask).to_string();
    }
    let malformed = json!({ "form": "0".repeat(32), "ask": { "order": "outcome", "patient": "P-1", "outcome": VALUE } });
    heard += &format!("{:?}", visitor.post(malformed.to_string().as_bytes()));
    heard += &visitor.state().to_string();
    heard += &page.said.lock().unwrap();
    let host = page.host().to_owned();
    assert!(heard.contains("\"recorded\""), "{heard}");
    drop(page);
    for file in ward.files() {
        heard += &String::from_utf8_lossy(&std::fs::read(&file).unwrap()).replace(&host, "");
    }
    assert!(heard.contains("\"event\":\"outcome\""), "the log is among the files");
    // Hashes and ids are random, and may hold any short number.
    let digits = |c: char| c.is_ascii_hexdigit();
    let random = heard.split(|c| !digits(c)).filter(|run| run.len() >= 8).map(str::to_owned);
    let random: Vec<String> = random.collect();
    random.iter().for_each(|run| heard = heard.replace(run, ""));
    assert!(heard.contains("\"event\":\"outcome\""), "the log is still among it");
    for value in ["48613", "60000", "bde5"] {
        assert!(!heard.contains(value), "{value} is in {heard}");
    }
}

/// Another address than loopback is refused with the reason and a way that is safe.
/// Requirement W17.
#[test]
fn listen_elsewhere_is_refused() {
    let ward = Ward::new();
    let done = ward.run(&["web", "--listen", "0.0.0.0:8080"]);
    assert_eq!(done.code, 2, "{done:?}");
    assert!(done.err.contains("unencrypted") && done.err.contains("ssh -L"), "{done:?}");
}

/// In a blinded trial the page gets labels of kits with one sign for all, replacements included,
/// and no name of an arm. Requirement W14.
#[test]
fn a_blinded_page_learns_no_arm() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&BLINDED);
    let page = Page::serve(&ward, &[]);
    let visitor = Visitor::enter(&page);
    let mut seen = Vec::new();
    for number in 1..=8 {
        let enrolled = visitor.order(2 * number, &enrol(&format!("P-{number}")));
        let first = enrolled["patient"]["arm"].clone();
        assert!(first["name"].as_str().is_some_and(|name| name.starts_with("K-")), "{enrolled}");
        let replace = json!({ "order": "replace", "patient": number, "reason": "damaged" });
        let other = visitor.order(2 * number + 1, &replace);
        assert_eq!((&first["sign"], &other["patient"]["arm"]["sign"]), (&2.into(), &2.into()));
        assert_ne!(other["patient"]["arm"]["name"], first["name"]);
        seen.extend([enrolled, other]);
    }
    let state = visitor.wait(|state| state["up"] == true);
    assert_eq!(state["blinded"], true);
    seen.extend([state, visitor.order(90, &json!({ "order": "find", "code": "P-3" }))]);
    for file in FILES {
        let text = visitor.ask(&format!("GET {}{}", visitor.folder, file.name), &[], b"").body;
        seen.push(text.into());
    }
    drop(page);
    ward.good(&["close", "--yes", "--key-file", "key"]);
    let page = Page::serve(&ward, &[]);
    let visitor = Visitor::enter(&page);
    let report = visitor.order(91, &json!({ "order": "report" }));
    assert_eq!(report["arms"], json!(["arm 0", "arm 1"]), "{report:#}");
    seen.push(report);
    for answer in &seen {
        let text = answer.to_string();
        assert!(!text.contains("Placebo") && !text.contains("Verumin"), "{text}");
    }
    let log = std::fs::read_to_string(ward.file("ward.jsonl")).unwrap();
    assert_eq!(log.matches("\"event\":\"kit\"").count(), 8, "{log}");
    assert_eq!(log.matches("\"event\":\"replaced\"").count(), 8, "{log}");
    assert!(!log.contains("Placebo") && !log.contains("Verumin") && !log.contains("\"arm\""));
}
