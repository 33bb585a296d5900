//! Who did it: the staff file, signatures of scripts, eligibility, the counts of a publication, and
//! the last hash for paper.

use crate::common::ward::{BLINDED, Done, Ward, json};

/// PINs of the people of [`begin`].
pub const ANNA: (&str, &str) = ("ab", "314159");
pub const CHRIS: (&str, &str) = ("cd", "271828");
/// Edits of the example: acts that are signed.
pub const SIGNED: (&str, &str) =
    ("title = ", "sign = [\"enrol\", \"outcome\", \"unblind\"]\nlock-after = 5\ntitle = ");
/// Edits of the example: questions before an enrolment.
pub const ASKS: (&str, &str) = (
    "[plan]",
    "[[eligibility]]\ntext = \"Is the patient 18 or older?\"\nanswer = \"yes\"\n\n\
     [[eligibility]]\ntext = \"Is the patient pregnant?\"\nanswer = \"no\"\n\n\
     [[eligibility]]\ntext = \"Has the patient signed the consent form?\"\nanswer = \"yes\"\nconsent = true\n\n[plan]",
);

/// Makes the staff of the trial last provisioned: Anna, who coordinates and may do everything but
/// record outcomes, and Chris, who may record outcomes alone.
pub fn begin(ward: &Ward) {
    let anna = ["staff", "add", ANNA.0, "Anna Berg", "--role", "enrol,coordinate,unblind"];
    good(ward.run_with(&anna, ANNA.1));
    let chris = ["staff", "add", CHRIS.0, "Chris Dahl", "--role", "outcome", "--operator", ANNA.0];
    good(ward.run_with(&chris, &format!("{}\n{}\n", ANNA.1, CHRIS.1)));
}

#[track_caller]
fn good(done: Done) -> String {
    assert_eq!(done.code, 0, "{done:?}");
    done.out
}

/// Runs a command on the device with text on its standard input.
fn on_device(ward: &Ward, words: &[&str], input: &str) -> Done {
    let port = ward.port();
    ward.run_with(&[words, &["--port", &port, "--log", "ward.jsonl"]].concat(), input)
}

fn log(ward: &Ward) -> String {
    assert_eq!(ward.run(&["log", "verify", "ward.jsonl"]).code, 0);
    std::fs::read_to_string(ward.file("ward.jsonl")).unwrap()
}

fn last_signed(ward: &Ward) -> serde_json::Value {
    let log = log(ward);
    let lines = log.lines().rev().map(|line| json(line)["signed"].clone());
    lines.into_iter().find(|signed| !signed.is_null()).unwrap()
}

/// A coordinator keeps the staff file; others, wrong PINs and bad values change nothing.
#[test]
fn coordinator_keeps_the_staff() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&[]);
    let none = ward.run(&["staff", "list"]);
    assert!(none.code == 2 && none.err.contains("there is no staff file"), "{none:?}");
    let first = ward.run_with(&["staff", "add", "x", "X", "--role", "enrol"], "314159");
    assert!(first.code == 2 && first.err.contains("must have the role coordinate"), "{first:?}");
    begin(&ward);
    let listed = good(ward.run(&["staff", "list"]));
    assert!(listed.contains("ab  Anna Berg   enrol, coordinate, unblind"), "{listed}");
    assert!(listed.contains("cd  Chris Dahl  outcome") && !listed.contains("argon2"), "{listed}");
    let folder = std::fs::read_dir(ward.file("data/equipoise/trials")).unwrap();
    let files: Vec<_> = folder.map(|entry| entry.unwrap().path()).collect();
    let file = files.iter().find(|path| path.display().to_string().ends_with(".staff.toml"));
    let file = file.unwrap_or_else(|| panic!("{files:?}"));
    let before = std::fs::read_to_string(file).unwrap();
    assert!(before.contains("argon2id") && !before.contains(ANNA.1) && !before.contains(CHRIS.1));
    let (right, wrong) = (format!("{}\n", ANNA.1), "000001\n".to_owned());
    for (words, input, code, why) in [
        (&["staff", "remove", "cd"][..], &right, 2, "--operator ID"),
        (&["staff", "remove", "cd", "--operator", "ab"], &wrong, 1, "the PIN of ab is wrong"),
        (&["staff", "remove", "cd", "--operator", "cd"], &right, 1, "takes the role coordinate"),
        (&["staff", "remove", "ab", "--operator", "ab"], &right, 2, "nothing changed"),
        (&["staff", "role", "ab", "enrol", "--operator", "ab"], &right, 2, "nothing changed"),
        (&["staff", "role", "cd", "boss", "--operator", "ab"], &right, 2, "is no role, allowed"),
        (&["staff", "remove", "zz", "--operator", "ab"], &right, 2, "nobody with the id \"zz\""),
        (&["staff", "pin", "cd", "--operator", "ab"], &right, 2, "standard input ended"),
        (&["staff", "add", "ab", "E", "--role", "enrol"], &right, 2, "--operator ID"),
    ] {
        let done = ward.run_with(words, input);
        assert!(done.code == code && done.err.contains(why), "{words:?}: {done:?}");
        assert_eq!(std::fs::read_to_string(file).unwrap(), before, "{words:?}");
    }
    let short = ["staff", "add", "ef", "Eva Falk", "--role", "enrol", "--operator", "ab"];
    let done = ward.run_with(&short, &format!("{}\n12345\n", ANNA.1));
    assert!(done.code == 2 && done.err.contains("6 to 12 digits"), "{done:?}");
    assert!(!done.err.contains("12345"), "a PIN is not repeated: {done:?}");
    good(ward.run_with(&["staff", "role", "cd", "enrol,outcome", "--operator", "ab"], &right));
    let two = format!("{}\n161803\n", ANNA.1);
    good(ward.run_with(&["staff", "pin", "cd", "--operator", "ab"], &two));
    assert!(good(ward.run(&["staff", "list"])).contains("enrol, outcome"));
    good(ward.run_with(&["staff", "remove", "cd", "--operator", "ab"], &right));
    assert!(!good(ward.run(&["staff", "list"])).contains("Chris"));
}

/// Scripts sign with id and PIN; the log line says who, in which role, and what it means. Roles
/// hold, and neither PIN nor hash is in the log. Requirement W10.
#[test]
fn scripts_sign() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&[SIGNED]);
    let unsigned = on_device(&ward, &["assign", "P-1", "0"], "");
    assert!(unsigned.code == 2 && unsigned.err.contains("there is no staff file"), "{unsigned:?}");
    begin(&ward);
    let assign = ["assign", "P-1", "0", "--operator", ANNA.0];
    for (words, input, code, why) in [
        (&["assign", "P-1", "0"][..], "314159", 2, "say who works with --operator ID"),
        (&assign, "", 2, "standard input ended before the PIN of ab"),
        (&assign, "000001", 1, "the PIN of ab is wrong: 4 tries are left"),
        (&["assign", "P-1", "0", "--operator", "zz"], "1", 1, "nobody with the id \"zz\""),
        (&["assign", "P-1", "0", "--operator", "cd"], CHRIS.1, 1, "it takes the role enrol"),
    ] {
        let done = on_device(&ward, words, input);
        assert!(done.code == code && done.err.contains(why), "{words:?}: {done:?}");
    }
    assert!(!log(&ward).contains("\"event\":\"enrol\""), "{}", log(&ward));
    good(on_device(&ward, &assign, ANNA.1));
    let enrolled = serde_json::json!({ "id": "ab", "role": "enrol", "meaning": "enrolled" });
    assert_eq!(last_signed(&ward), enrolled);
    // The PIN first, then the outcome, both from standard input.
    let outcome = ["outcome", "P-1", "-", "--operator", CHRIS.0];
    good(on_device(&ward, &outcome, &format!("{}\nyes\n", CHRIS.1)));
    assert_eq!(last_signed(&ward)["meaning"], "recorded the outcome of");
    good(on_device(&ward, &["assign", "P-2", "0", "--operator", "AB"], ANNA.1));
    good(on_device(&ward, &["lost", "P-2", "--operator", "cd"], CHRIS.1));
    assert_eq!(last_signed(&ward)["meaning"], "declared lost the outcome of");
    let note = ["note", "P-2", "moved away", "--operator", "ab", "--log", "ward.jsonl"];
    good(ward.run_with(&note, ANNA.1));
    assert_eq!(last_signed(&ward)["meaning"], "wrote a note on");
    let list = good(ward.run(&["list", "--csv", "--log", "ward.jsonl"]));
    let lost = list.lines().nth(2).unwrap();
    assert!(lost.contains("\"ab Anna Berg\",\"lost\",") && lost.contains("\"cd Chris Dahl\""));
    let text = log(&ward);
    for secret in [ANNA.1, CHRIS.1, "argon2", "000001"] {
        assert!(!text.contains(secret), "{secret} in {text}");
    }
}

/// Five wrong PINs pause that person, in every process that follows, and nobody else.
#[test]
fn five_wrong_pins_pause_one_person() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&[]);
    begin(&ward);
    let assign = ["assign", "P-1", "0", "--operator", ANNA.0];
    for left in ["4 tries are left", "3 tries are left", "2 tries are left", "1 try is left"] {
        let done = on_device(&ward, &assign, "111112");
        assert!(done.code == 1 && done.err.contains(left), "{left}: {done:?}");
    }
    let fifth = on_device(&ward, &assign, "111112");
    assert!(fifth.err.contains("ab is paused for 5 minutes"), "{fifth:?}");
    let paused = on_device(&ward, &assign, ANNA.1);
    assert!(paused.code == 1 && paused.err.contains("is paused after 5 wrong PINs"), "{paused:?}");
    assert_eq!(log(&ward).matches("\"event\":\"wrong-pin\"").count(), 5);
    let outcome = on_device(&ward, &["lost", "P-9", "--operator", "cd"], CHRIS.1);
    assert!(outcome.err.contains("the log has no patient"), "Chris goes on: {outcome:?}");
    let by = jiff::SignedDuration::from_mins(6);
    crate::common::clock::age(&ward.file("ward.jsonl"), by);
    good(on_device(&ward, &assign, ANNA.1));
}

/// No act without a name: without an operator and without a user the command is refused.
/// Requirement W10.
#[test]
fn no_act_without_a_name() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&[]);
    let mut command = std::process::Command::new(crate::common::ward::PROGRAM);
    command.args(["assign", "P-1", "0", "--log", "ward.jsonl", "--port", &ward.port()]);
    command.current_dir(ward.path()).env("XDG_DATA_HOME", ward.file("data"));
    for name in ["USER", "LOGNAME", "USERNAME"] {
        command.env_remove(name);
    }
    let out = command.output().unwrap();
    let why = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(out.status.code() == Some(2) && why.contains("say who works with --operator"), "{why}");
    assert!(!ward.file("ward.jsonl").exists());
    let named = good(on_device(&ward, &["assign", "P-1", "0", "--operator", "AB"], ""));
    assert!(named.contains("patient P-1, number 1"), "{named}");
}

/// Questions come before an enrolment: all answers must be there and be the allowed ones. A patient
/// who is not eligible has an entry without a code; the counts of a publication follow.
/// Requirement W13.
#[test]
fn eligibility_and_consort() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&[ASKS]);
    let checked = good(ward.run(&["check", "trial.toml"]));
    assert!(checked.contains("asks     Is the patient pregnant? (no)"), "{checked}");
    let assign = |code: &str, answers: &[&str]| {
        let answers: Vec<&str> = answers.iter().flat_map(|one| ["--answer", one]).collect();
        on_device(&ward, &[&["assign", code, "0"][..], &answers].concat(), "")
    };
    for (answers, code, why) in [
        (&[][..], 2, "question 1 has no answer: \"Is the patient 18 or older?\""),
        (&["yes", "no"], 2, "question 3 has no answer"),
        (&["yes", "no", "yes", "no"], 2, "4 answers, allowed 3"),
        (&["perhaps"], 2, "possible values: yes, no"),
        (&["no"], 1, "not eligible: Is the patient 18 or older? no"),
        (&["yes", "yes", "yes"], 1, "not eligible: Is the patient pregnant? yes"),
        (&["yes", "no", "no"], 1, "not eligible: no consent"),
        (&["yes", "no", "no"], 1, "not eligible: no consent"),
    ] {
        let done = assign("P-1", answers);
        assert!(done.code == code && done.err.contains(why), "{answers:?}: {done:?}");
    }
    let screening = log(&ward);
    assert_eq!(screening.matches("\"event\":\"not-eligible\"").count(), 4, "{screening}");
    assert!(!screening.contains("P-1"), "no code of a patient who is not enrolled: {screening}");
    for number in 1..=3 {
        good(assign(&format!("P-{number}"), &["yes", "no", "yes"]));
    }
    assert_eq!(log(&ward).matches("\"event\":\"eligible\"").count(), 3);
    good(on_device(&ward, &["lost", "P-1"], ""));
    good(ward.run(&["note", "P-2", "--kind", "withdrawn", "went home", "--log", "ward.jsonl"]));
    let consort =
        |words: &[&str]| ward.run(&[&["list", "--consort", "--log", "ward.jsonl"], words].concat());
    let csv = good(consort(&["--csv"]));
    for line in [
        "\"screened\",\"\",\"7\"",
        "\"excluded\",\"no consent\",\"2\"",
        "\"excluded\",\"Is the patient 18 or older? no\",\"1\"",
        "\"enrolled\",\"\",\"3\"",
        "\"lost\",\"\",\"1\"",
        "\"withdrawn\",\"\",\"1\"",
        "\"analysed (noisy)\",\"\",\"\"",
    ] {
        assert!(csv.lines().any(|found| found == line), "{line}:\n{csv}");
    }
    ward.good(&["close", "--yes", "--key-file", "key"]);
    ward.good(&["report", "--format", "json", "-o", "report.json"]);
    let analysed = good(consort(&["--csv", "--report", "report.json"]));
    assert!(!analysed.contains("\"analysed (noisy)\",\"\",\"\""), "{analysed}");
    let svg = good(consort(&["--svg", "--report", "report.json"]));
    assert!(svg.starts_with("<svg ") && svg.contains("Assessed for eligibility: 7"), "{svg}");
    if let Some(folder) = std::env::var_os("EQUIPOISE_SCREENSHOTS") {
        std::fs::write(std::path::Path::new(&folder).join("consort.svg"), svg).unwrap();
    }
    let text = good(consort(&[]));
    assert!(text.contains("not known: name the report with --report"), "{text}");
    let other = std::fs::read_to_string(ward.file("report.json")).unwrap();
    let id = json(other.lines().next().unwrap_or("{}")).get("trial").cloned();
    if let Some(id) = id.as_ref().and_then(|id| id.as_str()) {
        std::fs::write(ward.file("other.json"), other.replace(id, "0000000000000000")).unwrap();
        let wrong = consort(&["--report", "other.json"]);
        assert!(wrong.code == 2 && wrong.err.contains("the log is of"), "{wrong:?}");
    }
}

/// In a blinded trial the counts by arm take the custodian's key, and another key is refused.
#[test]
fn blinded_counts_take_the_key() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&BLINDED);
    let arms: Vec<String> = (1..=6)
        .map(|number| {
            let kit = json(&ward.good(&["assign", &format!("P-{number}"), "0", "--json"]));
            let kits = if number == 1 { ward.kit_list() } else { Vec::new() };
            drop(kits);
            kit["label"].as_str().unwrap().to_owned()
        })
        .collect();
    let list = std::fs::read_to_string(ward.file("k.csv")).unwrap();
    let of = |label: &String| {
        let line = list.lines().find(|line| line.contains(&format!("\"{label}\""))).unwrap();
        line.contains("Verumin")
    };
    let verum = arms.iter().filter(|label| of(label)).count();
    let blind = good(ward.run(&["list", "--consort"]));
    assert!(blind.contains("take the custodian's key") && !blind.contains("Verumin"), "{blind}");
    let svg = good(ward.run(&["list", "--consort", "--svg"]));
    assert!(!svg.contains("Verumin") && !svg.contains("Placebo"), "{svg}");
    let named = good(ward.run(&["list", "--consort", "--csv", "--key-file", "key"]));
    assert!(named.contains(&format!("\"enrolled\",\"Verumin\",\"{verum}\"")), "{named}");
    assert_eq!(ward.run(&["keygen", "another"]).code, 0);
    // The record of the provision tells, and without it the kits of the log.
    for why in ["this is not the key of the trial", "does not fit the kits"] {
        let wrong = ward.run(&["list", "--consort", "--key-file", "another"]);
        assert!(wrong.code == 1 && wrong.err.contains(why), "{wrong:?}");
        ward.forget_records("key-check");
    }
}

/// Unblinding takes the role and the PIN, and the line says so.
#[test]
fn unblinding_is_signed() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&BLINDED);
    begin(&ward);
    let port = ward.port();
    let assign = ["assign", "P-1", "0", "--json", "--operator", "ab", "--port", &port];
    let kit = json(&good(ward.run_with(&assign, ANNA.1)));
    let label = kit["label"].as_str().unwrap();
    let reveal = |id: &str, pin: &str| {
        let words = ["kits", "reveal", label, "--key-file", "key", "--reason", "shock"];
        ward.run_with(&[&words[..], &["--log", "breaks.jsonl", "--operator", id]].concat(), pin)
    };
    let wrong = reveal("ab", "000001");
    assert!(wrong.code == 1 && wrong.out.is_empty(), "{wrong:?}");
    let other = reveal("cd", CHRIS.1);
    assert!(other.code == 1 && other.err.contains("it takes the role unblind"), "{other:?}");
    assert!(reveal("ab", ANNA.1).out.contains("arm "));
    let text = std::fs::read_to_string(ward.file("breaks.jsonl")).unwrap();
    let signed = "\"signed\":{\"id\":\"ab\",\"role\":\"unblind\",\"meaning\":\"unblinded\"}";
    assert!(
        text.contains(signed) && text.matches("\"event\":\"unblinded\"").count() == 1,
        "{text}"
    );
}

/// The last hash is printed as text and as a code that holds the same.
#[test]
fn last_hash_on_paper() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&[]);
    good(on_device(&ward, &["assign", "P-1", "0"], ""));
    let printed = good(ward.run(&["log", "head", "ward.jsonl"]));
    let head = json(&std::fs::read_to_string(ward.file("ward.jsonl.head")).unwrap());
    let hash = head["hash"].as_str().unwrap();
    let joined: String = printed.split_whitespace().collect();
    assert!(joined.contains(hash) && printed.contains("line 3, written 20"), "{printed}");
    let code: Vec<&str> = printed.lines().filter(|line| line.contains('█')).collect();
    assert!(code.len() > 20, "{printed}");
    assert!(!printed.contains('\u{1b}'), "no colours on paper");
    std::fs::write(ward.file("ward.jsonl"), "").unwrap();
    assert_eq!(ward.run(&["log", "head", "ward.jsonl"]).code, 1);
}
