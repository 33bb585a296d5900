//! The command line of the terminal, against a virtual device on a pseudo-terminal.

#[path = "common/ward.rs"]
mod ward;

use std::os::unix::fs::PermissionsExt;

use ward::Ward;

fn json(text: &str) -> serde_json::Value {
    assert_eq!(text.lines().count(), 1, "one line of JSON: {text}");
    serde_json::from_str(text).unwrap()
}

/// A trial from key to erasure by commands alone.
#[test]
fn whole_trial_by_commands() {
    let ward = Ward::new();
    let _device = ward.device();
    assert_eq!(json(&ward.good(&["status", "--json"]))["state"], "blank");
    ward.provision(&[("patients = 4000", "patients = 60")]);
    assert_eq!(std::fs::metadata(ward.file("key")).unwrap().permissions().mode() & 0o777, 0o600);
    for number in 1..=60 {
        let code = format!("P-{number}");
        let assigned = json(&ward.good(&["assign", &code, "65 or over, home", "--json"]));
        assert_eq!(
            (&assigned["patient"], &assigned["feature"], &assigned["code"]),
            (&number.into(), &2.into(), &code.clone().into())
        );
        let arm = assigned["arm"].as_u64().unwrap();
        assert_eq!(assigned["arm_name"], ["Usual care", "Early walking"][arm as usize]);
        if number % 2 == 0 {
            let label = if arm == 1 { "yes" } else { "0" };
            let recorded = json(&ward.good(&["outcome", &format!("P-{number}"), label, "--json"]));
            assert_eq!((&recorded["code"], &recorded["recorded"]), (&code.into(), &true.into()));
        } else {
            ward.good(&["lost", &format!("#{number}")]);
        }
    }
    let status = json(&ward.good(&["status", "--json"]));
    assert_eq!(
        (&status["assigned"], &status["waiting"], &status["patients"]),
        (&60.into(), &0.into(), &60.into())
    );
    ward.good(&["close", "--yes", "--key-file", "key", "--log", "custodian.jsonl"]);
    let table = ward.good(&["report", "--verify", "--key-file", "key"]);
    assert!(
        table.contains("65 or over, home")
            && table.contains("the MAC is right")
            && table.contains('●'),
        "{table}"
    );
    let csv = ward.good(&["report", "--format", "csv"]);
    assert!(
        csv.starts_with("trial,level,feature,name,estimate,standard_error,low,high,outcomes\n"),
        "{csv}"
    );
    assert!(
        csv.contains(",0.95,2,\"65 or over, home\",") && csv.contains(",0.95,,\"overall\","),
        "{csv}"
    );
    let report = json(&ward.good(&["report", "--format", "json", "--verify", "--key-file", "key"]));
    assert_eq!(report["verified"], true);
    ward.good(&["report", "--format", "svg", "-o", "effects.svg"]);
    let svg = std::fs::read_to_string(ward.file("effects.svg")).unwrap();
    assert!(
        svg.starts_with("<svg")
            && svg.contains("65 or over, home")
            && svg.trim_end().ends_with("</svg>")
    );
    ward.good(&["erase", "--yes", "--key-file", "key", "--log", "custodian.jsonl"]);
    assert_eq!(json(&ward.good(&["status", "--json"]))["state"], "blank");
    for log in ["custodian.jsonl", "data/equipoise/logs/early-walking-after-hip-surgery.jsonl"] {
        let verified = ward.run(&["log", "verify", log]);
        assert_eq!(verified.code, 0, "{verified:?}");
        assert!(verified.out.contains("the chain holds"));
    }
    let key = std::fs::read_to_string(ward.file("key")).unwrap();
    for file in ward.files().into_iter().filter(|file| *file != ward.file("key")) {
        let text = String::from_utf8_lossy(&std::fs::read(&file).unwrap()).to_lowercase();
        assert!(!text.contains(key.trim()), "the key is in {}", file.display());
    }
}

/// Exit codes tell refused, usage and no device apart.
#[test]
fn exit_codes() {
    let ward = Ward::new();
    let code = |words: &[&str]| ward.on_device(words).code;
    assert_eq!(code(&["status"]), 3, "no device");
    let none = ward.on_device(&["status", "--json"]);
    assert_eq!(json(&none.out)["error"], "no-device");
    let device = ward.device();
    ward.provision(&[]);
    assert_eq!(code(&["status"]), 0);
    assert_eq!(code(&["assign", "P-1", "no such kind"]), 2);
    assert_eq!(code(&["assign", "P 1", "0"]), 2, "a code with a blank");
    assert_eq!(code(&["assign"]), 2);
    assert_eq!(code(&["assign", "P-1", "0"]), 0);
    let again = ward.on_device(&["assign", "P-1", "0", "--json"]);
    assert_eq!((again.code, json(&again.out)["error"].clone()), (1, "refused".into()));
    assert_eq!(code(&["outcome", "P-1", "perhaps"]), 2);
    assert_eq!(code(&["outcome", "#2", "yes"]), 1, "nobody has number 2");
    assert_eq!(code(&["outcome", "#x", "yes"]), 2);
    assert_eq!(code(&["lost", "P-9"]), 1);
    let port = ward.port();
    assert_eq!(ward.run_with(&["outcome", "P-1", "-", "--port", &port], "yes\n").code, 0);
    assert_eq!(code(&["report"]), 1, "too early");
    assert_eq!(code(&["provision", "trial.toml", "--key-file", "key"]), 1, "it holds a trial");
    assert_eq!(code(&["provision", "nothing.toml", "--key-file", "key"]), 2);
    assert_eq!(ward.run(&["keygen", "key"]).code, 2, "a key is never overwritten");
    assert_eq!(ward.run(&["keygen", "other"]).code, 0);
    let wrong = ward.on_device(&["close", "--yes", "--key-file", "other"]);
    assert_eq!(wrong.code, 1, "{wrong:?}");
    std::fs::set_permissions(ward.file("key"), PermissionsExt::from_mode(0o644)).unwrap();
    let open = ward.on_device(&["close", "--yes", "--key-file", "key"]);
    assert!(open.code == 2 && open.err.contains("mode 644, allowed 600"), "{open:?}");
    assert_eq!(code(&["erase", "--key-file", "key"]), 2, "without --yes");
    drop(device);
    assert_eq!(code(&["assign", "P-2", "0"]), 3, "the device is gone");
}

/// A port in use and a port without a device are told apart.
#[test]
fn busy_port_and_no_device() {
    let ward = Ward::new();
    let _device = ward.device();
    let held = equipoise::host::terminal::link::open(&ward.file("port")).unwrap();
    let busy = ward.on_device(&["status"]);
    assert!(busy.code == 3 && busy.err.contains("is in use by another program"), "{busy:?}");
    drop(held);
    assert_eq!(ward.on_device(&["status"]).code, 0);
    let none = ward.run(&["status", "--port", "/dev/null"]);
    assert_eq!(none.code, 3, "{none:?}");
}

/// A report is not verified by another key or plan.
#[test]
fn report_needs_its_key_and_plan() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&[("patients = 4000", "patients = 4")]);
    (1..=4).for_each(|number| drop(ward.good(&["assign", &format!("P-{number}"), "0"])));
    ward.good(&["close", "--yes", "--key-file", "key"]);
    ward.run(&["keygen", "other"]);
    let other = ward.on_device(&["report", "--verify", "--key-file", "other"]);
    assert!(other.code == 1 && other.out.contains("THE MAC IS WRONG"), "{other:?}");
    let text = std::fs::read_to_string(ward.file("trial.toml")).unwrap();
    std::fs::write(ward.file("changed.toml"), text.replace("epsilon = 1 ", "epsilon = 2 "))
        .unwrap();
    let plan =
        ward.on_device(&["report", "--verify", "--key-file", "key", "--trial", "changed.toml"]);
    assert_eq!(plan.code, 1, "{plan:?}");
    assert_eq!(ward.on_device(&["report", "--verify", "--key-file", "key"]).code, 0);
}

/// No outcome value is in any file the terminal writes.
#[test]
fn no_outcome_in_any_file() {
    const MARKER: &str = "54321";
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&[
        ("scale = 1 ", "scale = 65535 "),
        ("patients = 4000", "patients = 6"),
        ("labels = [\"no\", \"yes\"]", ""),
    ]);
    let mut said = String::new();
    let mut run = |done: ward::Done| {
        said += &(done.out + &done.err);
        done.code
    };
    for number in 1..=6 {
        assert_eq!(run(ward.on_device(&["assign", &format!("P-{number}"), "1", "--json"])), 0);
    }
    let port = ward.port();
    for number in 1..=5 {
        let patient = format!("P-{number}");
        assert_eq!(
            run(ward.run_with(&["outcome", &patient, "-", "--port", &port, "--json"], MARKER)),
            0
        );
    }
    assert_eq!(run(ward.on_device(&["outcome", "P-1", MARKER])), 1, "a repeat");
    assert_eq!(run(ward.on_device(&["outcome", "#77", MARKER])), 1, "refused by the device");
    assert_eq!(run(ward.on_device(&["outcome", "P-2", "154321"])), 2, "refused by the terminal");
    assert_eq!(run(ward.on_device(&["lost", "P-6"])), 0);
    ward.good(&["close", "--yes", "--key-file", "key", "--log", "custodian.jsonl"]);
    // The value itself, its hex forms, and the checksum of every line that carried it.
    let mut traces = vec![MARKER.to_owned(), "d431".to_owned(), "31d4".to_owned()];
    for number in [1, 2, 3, 4, 5, 77] {
        let sum = equipoise::wire::checksum(format!("OUTCOME {number} {MARKER}").as_bytes());
        traces.push(format!("*{sum:04x}"));
    }
    let files = ward.files();
    assert!(
        files.iter().any(|file| file.ends_with("logs/early-walking-after-hip-surgery.jsonl")),
        "{files:?}"
    );
    let mut texts: Vec<(String, String)> = files
        .iter()
        .map(|file| {
            (
                file.display().to_string(),
                String::from_utf8_lossy(&std::fs::read(file).unwrap()).to_lowercase(),
            )
        })
        .collect();
    texts.push(("what was printed".to_owned(), said.to_lowercase()));
    for (name, text) in &texts {
        // Hashes are random hex digits and may hold any four of them.
        let plain = text.split('"').filter(|part| part.len() != 64).collect::<Vec<_>>().join("\"");
        traces
            .iter()
            .for_each(|trace| assert!(!plain.contains(trace), "{trace} is in {name}:\n{text}"));
    }
    let log = &texts.iter().find(|(name, _)| name.ends_with("surgery.jsonl")).unwrap().1;
    assert_eq!(
        log.matches("\"event\":\"outcome\"").count(),
        5,
        "they are noted, without their values"
    );
}

/// A changed log is found by its command.
#[test]
fn changed_log_is_found() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&[]);
    ward.good(&["assign", "P-1", "0", "--log", "ward.jsonl"]);
    assert_eq!(ward.run(&["log", "verify", "ward.jsonl"]).code, 0);
    let text = std::fs::read_to_string(ward.file("ward.jsonl")).unwrap();
    std::fs::write(ward.file("ward.jsonl"), text.replace("\"arm\":", "\"arm\": ")).unwrap();
    let found = ward.run(&["log", "verify", "ward.jsonl"]);
    assert!(found.code == 1 && found.err.contains("line 3 does not follow"), "{found:?}");
    assert_eq!(ward.run(&["log", "verify", "nothing.jsonl"]).code, 2);
    let refused = ward.on_device(&["assign", "P-2", "0", "--log", "ward.jsonl"]);
    assert_eq!(refused.code, 2, "a terminal does not go on with a changed log: {refused:?}");
}

/// Provisioning the published algorithm says what the audit found.
#[test]
fn provision_warns_of_dp_conse() {
    let ward = Ward::new();
    let _device = ward.device();
    let text =
        equipoise::host::terminal::trial_file::EXAMPLE.replace("\"interim\"", "\"dp-conse\"");
    std::fs::write(ward.file("published.toml"), text).unwrap();
    ward.run(&["keygen", "key"]);
    let told = ward.good(&["provision", "published.toml", "--key-file", "key"]);
    assert!(
        told.contains("privacy NOT proven") && told.contains("does not survive an exact audit"),
        "{told}"
    );
}

/// Without a terminal the program alone is the demonstration.
#[test]
fn no_terminal_means_demo() {
    let ward = Ward::new();
    let alone = ward.run(&[]);
    assert_eq!(alone.code, 0, "{alone:?}");
    let few = ward.run(&["demo", "--patients", "200", "--seed", "7"]);
    assert_eq!(few.code, 0, "{few:?}");
    for (told, patients) in [(&alone.out, "4000"), (&few.out, "200")] {
        for text in [
            "POWER CUT",
            "look 1",
            "95 % confidence interval",
            "truth",
            "MAC is right",
            "spared",
            "epsilon 1",
            "Next:",
        ] {
            assert!(told.contains(text), "{text:?} is not in\n{told}");
        }
        assert!(told.contains(&format!("{patients} simulated patients")), "{told}");
    }
    assert!(!ward.file("data").exists(), "the demonstration leaves nothing behind");
}

/// Completions and manual page know every subcommand.
#[test]
fn manual_knows_every_subcommand() {
    let ward = Ward::new();
    let manual = ward.run(&["man"]);
    for name in [
        "terminal",
        "demo",
        "device",
        "assign",
        "outcome",
        "lost",
        "status",
        "keygen",
        "provision",
        "report",
        "log",
    ] {
        assert!(
            manual.out.contains(&format!(".SH \"EQUIPOISE {}\"", name.to_uppercase())),
            "{name}"
        );
        for shell in ["bash", "zsh", "fish"] {
            assert!(ward.run(&["completions", shell]).out.contains(name), "{shell}: {name}");
        }
    }
}

/// A second outcome, one after a loss and one after the close are refused and change nothing.
#[test]
fn second_outcome_is_refused() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&[("patients = 4000", "patients = 6")]);
    (1..=3).for_each(|number| drop(ward.good(&["assign", &format!("P-{number}"), "0"])));
    ward.good(&["outcome", "P-1", "yes"]);
    ward.good(&["lost", "P-2"]);
    let refused = |words: &[&str], why: &str| {
        let done = ward.on_device(words);
        assert!(
            done.code == 1 && done.err.contains(why) && done.err.contains("nothing changed"),
            "{done:?}"
        );
        assert!(!done.out.contains("recorded for"), "{done:?}");
    };
    refused(&["outcome", "P-1", "no"], "patient P-1: already recorded at 20");
    refused(&["outcome", "P-2", "no"], "patient P-2: already recorded at 20");
    refused(&["lost", "P-1"], "patient P-1: already recorded at 20");
    let again = json(&ward.on_device(&["outcome", "P-1", "no", "--json"]).out);
    assert_eq!(again["error"], "refused");
    assert!(again["message"].as_str().unwrap().contains("already recorded at"), "{again}");
    // Another log does not know of it, but the device's count of resolved patients does not grow.
    refused(&["outcome", "#1", "no", "--log", "other.jsonl"], "patient number 1: already recorded");
    ward.good(&["close", "--yes", "--key-file", "key"]);
    refused(&["outcome", "P-3", "yes"], "patient P-3: the trial is closed");
    let log = ward.file("data/equipoise/logs/early-walking-after-hip-surgery.jsonl");
    let log = std::fs::read_to_string(log).unwrap();
    assert_eq!(log.matches("\"event\":\"outcome\"").count(), 1, "{log}");
    assert_eq!(log.matches("\"event\":\"lost\"").count(), 1, "{log}");
}

/// A code in another case is the same patient; the trial file's pattern and check digit are held to
/// before anything is asked.
#[test]
fn codes_follow_the_trial_file() {
    let ward = Ward::new();
    let _device = ward.device();
    let rule = "code = \"P-[0-9]{4}\"\ncode-check = \"damm\"\ntitle = \"Early";
    ward.provision(&[("title = \"Early", rule)]);
    let refused = |words: &[&str], code: i32, why: &str| {
        let done = ward.on_device(words);
        assert!(done.code == code && done.err.contains(why), "{done:?}");
    };
    refused(&["assign", "P-57", "0"], 2, "this trial's codes are like P-[0-9]{4}");
    refused(&["assign", "P-5742", "0"], 2, "is not the damm check digit");
    assert_eq!(json(&ward.good(&["status", "--json"]))["assigned"], 0);
    ward.good(&["assign", " P-5724", "0"]);
    refused(&["assign", "p-5724", "0"], 2, "this trial's codes are like");
    ward.good(&["outcome", "p-5724 ", "yes"]);
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&[]);
    ward.good(&["assign", "P-001", "0"]);
    let again = ward.on_device(&["assign", "p-001", "0"]);
    assert!(
        again.code == 1 && again.err.contains("patient P-001 is already enrolled"),
        "{again:?}"
    );
    assert_eq!(json(&ward.good(&["status", "--json"]))["assigned"], 1);
}

/// Escape sequences and direction marks are refused where text enters, and never written to a
/// terminal.
#[test]
fn no_escape_reaches_a_terminal() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&[]);
    let text = std::fs::read_to_string(ward.file("trial.toml")).unwrap();
    let bad = ["\u{1b}[2J", "a\u{202e}b", "a\u{200b}b"];
    for (number, sign) in bad.into_iter().enumerate() {
        let plain = |words: &[&str]| {
            let done = ward.on_device(words);
            assert_eq!(done.code, 2, "{done:?}");
            assert!(done.err.contains("not allowed") || done.err.contains("allowed"), "{done:?}");
            for bad in ['\u{1b}', '\u{202e}', '\u{200b}'] {
                assert!(!(done.out.clone() + &done.err).contains(bad), "{words:?}: {done:?}");
            }
        };
        plain(&["assign", sign, "0"]);
        plain(&["assign", "P-1", sign]);
        plain(&["assign", "P-1", "0", "--operator", sign]);
        let json = serde_json::to_string(&format!("Early {sign}")).unwrap();
        std::fs::write(
            ward.file("bad.toml"),
            text.replace("\"Early walking\"", &json.replace("\u{1b}", "\\u001b")),
        )
        .unwrap();
        plain(&["assign", "P-1", "0", "--trial", "bad.toml"]);
        let name = format!("{number}{sign}.toml");
        std::fs::write(ward.file(&name), text.replace("epsilon = 1 ", "epsilon = 99 ")).unwrap();
        plain(&["assign", "P-1", "0", "--trial", &name]);
    }
}

/// `close` and `erase` say what will be lost and need `--yes`; reports are not overwritten.
#[test]
fn irrevocable_commands_need_yes() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&[("patients = 4000", "patients = 6")]);
    (1..=3).for_each(|number| drop(ward.good(&["assign", &format!("P-{number}"), "0"])));
    ward.good(&["outcome", "P-1", "yes"]);
    let asked = ward.on_device(&["close", "--key-file", "key"]);
    assert_eq!(asked.code, 2, "{asked:?}");
    for text in [
        "Enrolled: 3 of 6",
        "Waiting for an outcome: 2; they will count as lost",
        "gives up 3 patients",
        "--yes",
    ] {
        assert!(asked.err.contains(text), "{text}: {asked:?}");
    }
    let erase = ward.on_device(&["erase", "--key-file", "key"]);
    assert!(
        erase.code == 2 && erase.err.contains("still RUNNING") && erase.err.contains("--yes"),
        "{erase:?}"
    );
    assert_eq!(json(&ward.good(&["status", "--json"]))["state"], "running");
    ward.good(&["close", "--yes", "--key-file", "key"]);
    assert!(
        ward.good(&["close", "--yes", "--key-file", "key"])
            .contains("closed before; nothing changed")
    );
    std::fs::write(ward.file("report.csv"), "mine").unwrap();
    let kept = ward.on_device(&["report", "--format", "csv", "-o", "report.csv"]);
    assert!(kept.code == 2 && kept.err.contains("exists and is not overwritten"), "{kept:?}");
    assert_eq!(std::fs::read_to_string(ward.file("report.csv")).unwrap(), "mine");
    let plan =
        ["plan", "--patients", "40", "--baseline", "0.4", "--effect", "0.2", "--width", "1.9"];
    let kept = ward.run(&[&plan[..], &["--out", "report.csv"]].concat());
    assert!(kept.code == 2 && kept.err.contains("exists and is not overwritten"), "{kept:?}");
    assert_eq!(std::fs::read_to_string(ward.file("report.csv")).unwrap(), "mine");
    ward.good(&["report", "--format", "csv", "-o", "report.csv", "--force"]);
    assert!(std::fs::read_to_string(ward.file("report.csv")).unwrap().starts_with("trial,"));
    ward.good(&["erase", "--yes", "--key-file", "key"]);
    let blank = ward.on_device(&["close", "--yes", "--key-file", "key"]);
    assert!(blank.code == 1 && blank.err.contains("holds no trial"), "{blank:?}");
}

/// A report has one name a column in every format, its level, trial, counts, and an overall effect.
#[test]
fn report_says_what_it_rests_on() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&[
        ("patients = 4000", "patients = 40"),
        ("\"65 or over, home\"", "\"=65 or over, home\""),
    ]);
    for number in 1..=40 {
        let kind = if number % 2 == 0 { "0" } else { "2" };
        let assigned = json(&ward.good(&["assign", &format!("P-{number}"), kind, "--json"]));
        let y = assigned["arm"].to_string();
        ward.good(&["outcome", &format!("P-{number}"), &y]);
    }
    if json(&ward.good(&["status", "--json"]))["state"] == "running" {
        ward.good(&["close", "--yes", "--key-file", "key"]);
    }
    let columns = ["name", "estimate", "standard_error", "low", "high", "outcomes"];
    let report = json(&ward.good(&["report", "--format", "json"]));
    assert_eq!((report["level"].as_f64(), report["enrolled"].as_u64()), (Some(0.95), Some(40)));
    for row in report["rows"].as_array().unwrap().iter().chain([&report["overall"]]) {
        columns.iter().for_each(|name| assert!(row.get(name).is_some(), "{name}: {row}"));
        let value = |name: &str| row[name].as_f64().unwrap();
        let half = 1.96 * value("standard_error");
        let (low, high) =
            ((value("estimate") - half).max(-1.0), (value("estimate") + half).min(1.0));
        // An estimate that was cut off at what an effect can be is not the middle of its interval.
        if value("estimate").abs() < 1.0 {
            assert!(
                (value("low") - low).abs() < 1e-4 && (value("high") - high).abs() < 1e-4,
                "{row}"
            );
        }
    }
    let trial = report["trial"].as_str().unwrap();
    let csv = ward.good(&["report", "--format", "csv"]);
    assert_eq!(
        csv.lines().next(),
        Some("trial,level,feature,name,estimate,standard_error,low,high,outcomes")
    );
    assert!(
        csv.contains(&format!("{trial},0.95,2,\"'=65 or over, home\",")),
        "a formula is text: {csv}"
    );
    let table = ward.good(&["report"]);
    let header = table.lines().nth(2).unwrap();
    assert_eq!(header.split_whitespace().collect::<Vec<_>>(), columns, "{table}");
    for text in [
        "95 % confidence interval",
        "Patients enrolled: 40",
        "(noisy)",
        "differ because",
        "overall",
        trial,
    ] {
        assert!(table.contains(text), "{text}: {table}");
    }
    let svg = ward.good(&["report", "--format", "svg"]);
    assert!(
        svg.contains("95 % confidence interval") && svg.contains(trial) && svg.contains("overall"),
        "{svg}"
    );
}

/// A trial file with swapped arms, or of another trial of the same size, is refused; the message
/// names what differs.
#[test]
fn device_keeps_to_its_trial_file() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&[]);
    let text = std::fs::read_to_string(ward.file("trial.toml")).unwrap();
    for (from, to, what) in [
        (
            "\"Usual care\", \"Early walking\"",
            "\"Early walking\", \"Usual care\"",
            "arms: \"Usual care\", \"Early walking\" on",
        ),
        (
            "Early walking after hip",
            "Late walking after hip",
            "title: Early walking after hip surgery on the device",
        ),
        (
            "\"no\", \"yes\"",
            "\"yes\", \"no\"",
            "labels: \"no\", \"yes\" on the device, \"yes\", \"no\" in the file",
        ),
        ("patients = 4000", "patients = 5000", "patients: 4000 on the device, 5000 in the file"),
    ] {
        std::fs::write(ward.file("other.toml"), text.replacen(from, to, 1)).unwrap();
        for words in [["assign", "P-1", "0"], ["outcome", "#1", "yes"]] {
            let log = ["--trial", "other.toml", "--log", "other.jsonl"];
            let done = ward.on_device(&[&words[..], &log].concat());
            assert!(
                done.code == 2 && done.err.contains(what) && done.err.contains("nothing was sent"),
                "{done:?}"
            );
        }
    }
    assert_eq!(json(&ward.good(&["status", "--json"]))["assigned"], 0);
    // A comment is no change of meaning.
    std::fs::write(ward.file("other.toml"), format!("# a note\n{text}")).unwrap();
    ward.good(&["assign", "P-1", "0", "--trial", "other.toml"]);
}

/// With two boards of one trial file, and after an erasure, a log is refused on the device it is
/// not of.
#[test]
fn log_keeps_to_its_board() {
    let one = Ward::new();
    let _device_one = one.device();
    one.provision(&[]);
    let two = Ward::new();
    let _device_two = two.device();
    two.provision(&[]);
    one.good(&["assign", "A-1", "0", "--log", "one.jsonl"]);
    two.good(&["assign", "B-1", "0"]);
    let other = two.port();
    for words in [vec!["outcome", "A-1", "yes"], vec!["lost", "A-1"], vec!["assign", "A-2", "0"]] {
        let done = one.run(&[&words[..], &["--log", "one.jsonl", "--port", &other]].concat());
        assert!(done.code == 2 && done.err.contains("one.jsonl is of trial"), "{done:?}");
    }
    assert_eq!(json(&two.good(&["status", "--json"]))["waiting"], 1, "B-1 still waits");
    one.good(&["close", "--yes", "--key-file", "key"]);
    one.good(&["erase", "--yes", "--key-file", "key"]);
    one.good(&["provision", "trial.toml", "--key-file", "key"]);
    one.good(&["assign", "C-1", "0", "--log", "new.jsonl"]);
    let done = one.on_device(&["outcome", "A-1", "yes", "--log", "one.jsonl"]);
    assert!(done.code == 2 && done.err.contains("one.jsonl is of trial"), "{done:?}");
    assert_eq!(json(&one.good(&["status", "--json"]))["waiting"], 1, "C-1 still waits");
}

/// `status` names trial and digest, who waits and how many may, the budget, and a key that outlives
/// an erasure.
#[test]
fn status_tells_everything_public() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&[]);
    ward.good(&["assign", "P-1", "0"]);
    let status = json(&ward.good(&["status", "--json"]));
    let digest = equipoise::host::terminal::trial_file::TrialFile::example().unwrap().digest();
    assert_eq!(status["digest"], equipoise::wire::Hex(&digest).to_string());
    assert_eq!(status["trial"].as_str().unwrap().len(), 16);
    assert_eq!((status["waiting"].as_u64(), status["resolved"].as_u64()), (Some(1), Some(0)));
    assert!(status["capacity"].as_u64().unwrap() >= 128);
    assert_eq!(status["epsilon_spent"], "1.000000");
    let text = ward.good(&["status"]);
    for part in [
        "trial  ",
        "digest",
        "1 waiting, room for",
        "1.000000 spent in the device's lifetime",
        "left",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    ward.good(&["erase", "--yes", "--key-file", "key"]);
    assert!(ward.good(&["status"]).contains("blank, a custodian's key is set"));
}
