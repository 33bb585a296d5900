//! No PIN and no hash of one in log, page source, files or the list of processes, while scripts
//! sign and while people are signed in at page and screen.

use std::io::Write;
use std::path::Path;

use equipoise_ward::bedside::page::files::FILES;
use serde_json::json;

use crate::common::page::{Page, Visitor};
use crate::common::processes::{self, hide};
use crate::common::ward::Ward;
use crate::staff::{ANNA, ASKS, CHRIS, SIGNED, begin};

/// PINs, right and wrong, and salts and hashes of the staff file.
pub fn secrets(ward: &Ward) -> Vec<String> {
    let staff = ward.files().into_iter().find(|file| is_staff(file)).expect("a staff file");
    let text = std::fs::read_to_string(staff).unwrap();
    let words = text.split(|c: char| !c.is_ascii_alphanumeric());
    let hashes = words.filter(|word| word.len() >= 32).map(str::to_owned);
    let mut secrets: Vec<String> = [ANNA.1, CHRIS.1, "000001", "argon2"].map(str::to_owned).into();
    secrets.extend(hashes);
    assert_eq!(secrets.len(), 4 + 2 * 2, "a salt and a hash of two people: {text}");
    secrets
}

fn is_staff(file: &Path) -> bool {
    file.display().to_string().ends_with(".staff.toml")
}

/// No file of the ward has a PIN, and none but the staff file has a hash.
#[track_caller]
pub fn no_file_has_one(ward: &Ward) {
    let files = ward.files();
    assert!(files.iter().any(|file| file.ends_with("ward.jsonl")), "{files:?}");
    for file in files {
        let text = String::from_utf8_lossy(&std::fs::read(&file).unwrap()).into_owned();
        let count = if is_staff(&file) { 3 } else { usize::MAX };
        for secret in secrets(ward).iter().take(count) {
            assert!(!text.contains(secret), "{secret} in {}", file.display());
        }
    }
}

/// A script that signs shows no PIN in the list of processes: neither before nor after it has read
/// the PIN from its standard input. Requirement W12.
#[test]
fn no_pin_in_the_process_list() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&[SIGNED]);
    begin(&ward);
    let (port, secrets) = (ward.port(), secrets(&ward));
    for (words, pin) in [
        (&["assign", "P-1", "0", "--operator", ANNA.0][..], ANNA.1),
        (&["outcome", "P-1", "yes", "--operator", CHRIS.0], CHRIS.1),
        (&["lost", "P-1", "--operator", CHRIS.0], "000001"),
    ] {
        let words = [words, &["--port", &port, "--log", "ward.jsonl"]].concat();
        let mut child = ward.start(&words);
        processes::show_none(&ward, child.id(), &secrets);
        let mut input = child.stdin.take().unwrap();
        input.write_all(format!("{pin}\n").as_bytes()).unwrap();
        drop(input);
        // From reading the PIN to the end of the command.
        let mut looks = 0;
        while child.try_wait().unwrap().is_none() {
            let listed = processes::ours(&ward);
            hide(&listed, &secrets);
            looks += usize::from(listed.iter().any(|one| one.id == child.id()));
        }
        assert!(looks > 0, "{words:?} was over before the list was read");
    }
    no_file_has_one(&ward);
    let help = |words: &[&str]| ward.run(&[words, &["--help"]].concat()).out;
    for words in [&["assign"][..], &["outcome"], &["staff", "add"], &["kits", "reveal"], &["web"]] {
        assert!(!help(words).contains("--pin"), "no option takes a PIN: {words:?}");
    }
}

/// While a person is signed in at the page and signs an act, no PIN and no hash is in its source,
/// its state, the log, what the program prints, or the list of processes.
#[test]
fn no_pin_while_the_page_runs() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&[SIGNED, ASKS]);
    begin(&ward);
    let secrets = secrets(&ward);
    let page = Page::serve(&ward, &[]);
    let visitor = Visitor::enter(&page);
    let seat = format!("{:032x}", 7);
    let post = |form: u32, pin: &str, ask: serde_json::Value| {
        let body = json!({ "form": format!("{form:032x}"), "seat": seat, "pin": pin, "ask": ask });
        let answer = visitor.post(body.to_string().as_bytes());
        processes::show_none(&ward, page.id(), &secrets);
        answer.body
    };
    let mut seen = post(1, "000001", json!({ "order": "sign-in", "id": ANNA.0 }));
    seen += &post(2, ANNA.1, json!({ "order": "sign-in", "id": ANNA.0 }));
    let answers = ["yes", "no", "yes"];
    let enrol = json!({ "order": "enrol", "code": "P-1", "levels": [2], "answers": answers });
    let enrolled = post(3, ANNA.1, enrol);
    assert!(enrolled.contains("\"enrolled\""), "{enrolled}");
    seen += &enrolled;
    let state = visitor.state_at(&seat).to_string();
    assert!(state.contains("ab Anna Berg") && state.contains("P-1"), "somebody is signed in");
    seen += &state;
    for file in FILES {
        let answer = visitor.ask(&format!("GET {}{}", visitor.folder, file.name), &[], b"");
        assert_eq!(answer.status, 200, "{}", file.name);
        seen += &answer.body;
    }
    seen += &page.said.lock().unwrap();
    for secret in &secrets {
        assert!(!seen.contains(secret), "the page shows {secret}");
    }
    processes::show_none(&ward, page.id(), &secrets);
    no_file_has_one(&ward);
}
