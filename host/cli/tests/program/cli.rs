//! The command line of the terminal, against a virtual device on a pseudo-terminal.

use crate::common::ward;

use std::os::unix::fs::PermissionsExt;

use ward::{Ward, json};

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
        csv.starts_with("trial,level,stage,look,of,date,feature,name,estimate,standard_error,"),
        "{csv}"
    );
    assert!(
        csv.contains(" UTC,2,\"65 or over, home\",") && csv.contains(" UTC,,\"overall\","),
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
    let held = equipoise_ward::line::link::open(&ward.file("port")).unwrap();
    let busy = ward.on_device(&["status"]);
    assert!(busy.code == 3 && busy.err.contains("is in use by another program"), "{busy:?}");
    drop(held);
    // A process that another test is starting holds a copy of the line until it runs.
    let free = (0..100).any(|_| ward.on_device(&["status"]).code == 0);
    assert!(free, "the port is free again");
    let none = ward.run(&["status", "--port", "/dev/null"]);
    assert_eq!(none.code, 3, "{none:?}");
}

/// A report is not verified by another key or plan. Requirement W21.
#[test]
fn report_needs_its_key_and_plan() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&[("patients = 4000", "patients = 4")]);
    (1..=4).for_each(|number| drop(ward.good(&["assign", &format!("P-{number}"), "0"])));
    ward.good(&["close", "--yes", "--key-file", "key"]);
    ward.run(&["keygen", "other"]);
    let with_other = || ward.on_device(&["report", "--verify", "--key-file", "other"]);
    let named = with_other();
    let words = "this is not the custodian's key of trial";
    assert!(named.code == 1 && named.err.contains(words), "{named:?}");
    assert_eq!(named.out, "");
    // A machine that has no record of the trial's keys is told by the MAC.
    ward.forget_records("key-checks");
    let other = with_other();
    assert!(other.code == 1 && other.out.contains("THE MAC IS WRONG"), "{other:?}");
    let text = std::fs::read_to_string(ward.file("trial.toml")).unwrap();
    std::fs::write(ward.file("changed.toml"), text.replace("epsilon = 1 ", "epsilon = 2 "))
        .unwrap();
    let plan =
        ward.on_device(&["report", "--verify", "--key-file", "key", "--trial", "changed.toml"]);
    assert_eq!(plan.code, 1, "{plan:?}");
    assert_eq!(ward.on_device(&["report", "--verify", "--key-file", "key"]).code, 0);
}

/// No outcome value is in any file the terminal writes. Requirement W6.
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

/// A changed log is found by its command. Requirement W4.
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

/// Provisioning the published algorithm says what the audit found. Requirement S13.
#[test]
fn provision_warns_of_dp_conse() {
    let ward = Ward::new();
    let _device = ward.device();
    let text = equipoise_ward::records::trial_file::EXAMPLE.replace("\"interim\"", "\"dp-conse\"");
    std::fs::write(ward.file("published.toml"), text).unwrap();
    ward.run(&["keygen", "key"]);
    let told = ward.good(&["provision", "published.toml", "--key-file", "key"]);
    assert!(
        told.contains("privacy NOT proven") && told.contains("does not survive an exact audit"),
        "{told}"
    );
}

/// Without a terminal the program alone is the demonstration, and it ends by naming the browser.
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
        let last = told.trim_end().lines().last().unwrap_or_default();
        assert!(last.contains("equipoise web --flash") && last.contains("browser"), "{last}");
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
        "kits",
        "kits list",
    ] {
        assert!(
            manual.out.contains(&format!(".SH \"EQUIPOISE {}\"", name.to_uppercase())),
            "{name}"
        );
        let name = name.split(' ').next_back().unwrap_or_default();
        for shell in ["bash", "zsh", "fish"] {
            assert!(ward.run(&["completions", shell]).out.contains(name), "{shell}: {name}");
        }
    }
}

/// Help and manual page list the commands by role: the first of a role stands below its heading.
#[test]
fn help_lists_commands_by_role() {
    let ward = Ward::new();
    let [short, long, other, manual] =
        ["-h", "--help", "help", "man"].map(|word| ward.run(&[word]).out);
    assert_eq!(other, long);
    for (role, command) in [
        ("Bedside", "terminal"),
        ("Custodian", "check"),
        ("Pharmacy", "kits"),
        ("Statistician", "plan"),
        ("Auditor", "audit"),
        ("Engineer", "demo"),
    ] {
        for help in [&short, &long] {
            assert!(help.contains(&format!("\n\n{role}:\n  {command} ")), "{role}: {help}");
        }
        let listed = format!(".SS {role}\n.PD 0\n.TP 13\n\\fB{command}\\fR\n");
        assert!(manual.contains(&listed), "{role}: {manual}");
    }
    assert!(!long.contains("\nCommands:"), "the flat list is gone: {long}");
    assert!(!ward.run(&["kits", "--help"]).out.contains("Bedside:"), "that list is of the program");
}

/// A command that writes a file takes its name as `--out`; earlier spellings are read, not shown.
#[test]
fn files_are_named_by_out() {
    let ward = Ward::new();
    for (command, earlier) in [
        ("report", &["--output", "-o"][..]),
        ("list", &["--output", "-o"]),
        ("waiting", &["--output", "-o"]),
        ("kits list", &["--output", "-o"]),
        ("audit", &["--svg"]),
        ("pool", &["--svg"]),
        ("plan", &[]),
        ("pareto", &[]),
        ("normality", &[]),
    ] {
        let words: Vec<&str> = command.split(' ').collect();
        let help = ward.run(&[&words[..], &["--help"]].concat()).out;
        assert!(help.contains("--out <FILE") || help.contains("--out <TRIAL.toml>"), "{help}");
        for option in earlier {
            let done = ward.run(&[&words[..], &[option, "f.svg", "--force", "--help"]].concat());
            assert_eq!(done.code, 0, "{command} {option}: {done:?}");
            assert!(!help.contains(&format!("{option} <")), "{command}: {help}");
        }
    }
}

/// The exit codes of the audit are not those of the other commands, so its help names them.
#[test]
fn help_names_the_exit_codes_of_the_audit() {
    let ward = Ward::new();
    let help = ward.good(&["audit", "--help"]);
    assert!(help.contains("Exit codes: 0 every claim held, 1 a claim was exceeded"), "{help}");
}
