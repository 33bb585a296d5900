//! A blinded trial by commands, against a virtual device on a pseudo-terminal: pharmacy, ward and
//! emergency; and a search of everything that the ward can see.

use crate::common::ward;

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;

use ward::{ARMS, BLINDED, Ward, json};

/// Arm by label, as the pharmacy's list says.
fn list(ward: &Ward) -> BTreeMap<String, String> {
    let rows = ward.kit_list();
    assert_eq!(rows[0], ["kit", "label", "check", "arm", "arm_name"]);
    for (row, kit) in rows[1..].iter().zip(1..) {
        assert_eq!(row[0], kit.to_string());
        assert_eq!(row[1], format!("K-{kit:03}{}", row[2]));
        assert_eq!(row[4], ARMS[row[3].parse::<usize>().unwrap()]);
    }
    rows[1..].iter().map(|row| (row[1].clone(), row[4].clone())).collect()
}

/// Whether a text has anything to do with arms.
fn names_an_arm(text: &str) -> bool {
    let lower = text.to_lowercase();
    let words = ["placebo", "verumin", "\"arm\"", "arm_name", "arm 0", "arm 1", "arm0", "arm1"];
    words.iter().any(|word| lower.contains(word))
}

/// A whole trial: list, kits of all patients and unblinding agree, each kit is given once, and
/// nothing that the ward can see names an arm. Requirement W14.
#[test]
fn ward_sees_kits_and_no_arm() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&BLINDED);
    let list = list(&ward);
    assert_eq!(list.values().filter(|arm| *arm == ARMS[0]).count(), 50);
    let (mut given, mut seen) = (Vec::new(), String::new());
    let mut say = |words: &[&str]| {
        let out = ward.good(words);
        seen += &out;
        out
    };
    for number in 1..=40 {
        let code = format!("P-{number}");
        let first = json(&say(&["assign", &code, "65 or over, home", "--json"]));
        assert_eq!((&first["patient"], &first["replaced"]), (&number.into(), &0.into()));
        let mut label = first["label"].as_str().unwrap().to_owned();
        assert_eq!(first["kit"].as_u64(), label[2..5].parse().ok());
        given.push((number, label.clone()));
        if number % 10 == 0 {
            let other = json(&say(&["replace", &code, "--reason", "wet", "--json"]));
            assert_eq!(other["replaced"], 1);
            let old = std::mem::replace(&mut label, other["label"].as_str().unwrap().to_owned());
            assert_eq!(list[&old], list[&label], "a replacement is of the same arm");
            given.push((number, label.clone()));
        }
        let y = if list[&label] == ARMS[1] { "yes" } else { "no" };
        say(&["outcome", &code, y]);
    }
    let status = json(&say(&["status", "--json"]));
    assert_eq!((&status["kits"], &status["replaced"]), (&50.into(), &4.into()));
    assert!(say(&["status"]).contains("50 an arm, 4 of 10 replacements given"));
    ward.good(&["close", "--yes", "--key-file", "key", "--log", "custodian.jsonl"]);
    for format in ["table", "csv", "json", "svg"] {
        seen +=
            &ward.good(&["report", "--format", format]).replace("arm 1 minus that of arm 0", "");
    }
    for words in
        [&["list", "--csv"][..], &["waiting"], &["show", "P-10"], &["show", "P-9", "--json"]]
    {
        let done = ward.run(words);
        assert_eq!(done.code, 0, "{done:?}");
        seen += &done.out;
    }
    assert!(seen.contains(&given[10].1) && seen.contains("\"replaced\":0"));
    let mut kits: Vec<&String> = given.iter().map(|(_, label)| label).collect();
    kits.sort_unstable();
    kits.dedup();
    assert_eq!(kits.len(), 44, "a kit was given twice");
    let both: Vec<&String> = kits.iter().map(|kit| &list[*kit]).collect();
    assert!(ARMS.iter().all(|arm| both.iter().any(|given| *given == arm)), "only one arm");

    // The report names the arms to the custodian, and to nobody else.
    let told = ward.good(&["report", "--verify", "--key-file", "key"]);
    assert!(told.contains("favours Verumin") && told.contains("the MAC is right"), "{told}");
    let untold = ward.good(&["report"]);
    assert!(untold.contains("favours arm 1") && !untold.contains("Verumin"), "{untold}");

    // Unblinding agrees with the list, kit by kit.
    for (label, arm) in list.iter().step_by(9) {
        let words = ["--key-file", "key", "--reason", "a test", "--log", "code-breaks.jsonl"];
        let told = ward.run(&[&["kits", "reveal", label, "--not-in-log"], &words[..]].concat());
        assert_eq!(told.code, 0, "{told:?}");
        assert!(told.out.contains(arm.as_str()) && told.out.contains(label.as_str()), "{told:?}");
    }
    let breaks = std::fs::read_to_string(ward.file("code-breaks.jsonl")).unwrap();
    assert_eq!(breaks.matches("\"event\":\"unblinded\"").count(), list.len().div_ceil(9));
    assert!(breaks.contains("\"reason\":\"a test\"") && breaks.contains("\"operator\":\"tester\""));
    assert_eq!(ward.run(&["log", "verify", "code-breaks.jsonl"]).code, 0);

    // Everything the ward can see. Trial file and list are not the ward's record of patients.
    let report = seen.replace("arm 0", "").replace("arm 1", "");
    assert!(!names_an_arm(&report), "{report}");
    for file in ward.files() {
        let name = file.file_name().unwrap().to_str().unwrap().to_owned();
        if ["k.csv", "key"].contains(&name.as_str()) || name.ends_with(".toml") {
            continue;
        }
        let text = String::from_utf8_lossy(&std::fs::read(&file).unwrap()).into_owned();
        assert!(!names_an_arm(&text), "{name}: {text}");
    }
}

/// A list is its owner's alone, is not overwritten, and a changed one is found. Requirement W19.
#[test]
fn lists_are_private_and_verified() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&BLINDED);
    list(&ward);
    let mode =
        |name: &str| std::fs::metadata(ward.file(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("k.csv"), mode("k.csv.seal")), (0o600, 0o600));
    let make = ["kits", "list", "trial.toml", "--key-file", "key", "--csv", "-o", "k.csv"];
    let again = ward.run(&make);
    assert!(again.code == 2 && again.err.contains("not overwritten"), "{again:?}");
    let verify = || ward.run(&["kits", "verify", "k.csv", "--key-file", "key"]);
    let good = verify();
    assert!(good.code == 0 && good.out.contains("100 kits"), "{good:?}");
    let text = std::fs::read_to_string(ward.file("k.csv")).unwrap();
    let third = text.lines().nth(3).unwrap();
    let (other, dropped) = (
        text.replacen(third, &third.replace(ARMS[0], "X").replace(ARMS[1], "X"), 1),
        text.replacen(&format!("{}\n", text.lines().last().unwrap()), "", 1),
    );
    for (changed, why) in [(other, "line 4 "), (dropped, "100 lines, allowed exactly 101")] {
        std::fs::write(ward.file("k.csv"), changed).unwrap();
        let found = verify();
        assert!(found.code == 1 && found.err.contains(why), "{found:?}");
    }
    assert_eq!(ward.run(&[&make[..], &["--force"]].concat()).code, 0);
    assert_eq!((verify().code, mode("k.csv")), (0, 0o600));
    let seal = std::fs::read_to_string(ward.file("k.csv.seal")).unwrap();
    assert!(seal.starts_with("equipoise kits 1 count=100 file="), "{seal}");
    std::fs::write(ward.file("k.csv.seal"), seal.replace("seal=", "seal=0")).unwrap();
    let found = verify();
    assert!(found.code == 1 && found.err.contains("its seal is not"), "{found:?}");
    assert_eq!(ward.run(&["keygen", "other"]).code, 0);
    assert_eq!(ward.run(&["kits", "verify", "k.csv", "--key-file", "other"]).code, 1);
}

/// Mistakes are named, and nothing is logged or begun.
#[test]
fn mistakes_with_kits_are_named() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&BLINDED);
    let reveal = |kit: &str, reason: &str| {
        let words = ["--key-file", "key", "--reason", reason, "--log", "code-breaks.jsonl"];
        ward.run(&[&["kits", "reveal", kit, "--not-in-log"], &words[..]].concat())
    };
    for (kit, reason, why) in [
        ("K-0010", "a test", "check digit is wrong"),
        ("K-1010", "a test", "this trial's kits are K-0013 to K-1007"),
        ("17", "a test", "this trial's kits are"),
        ("K-0013", "", "reason = \"\""),
    ] {
        let told = reveal(kit, reason);
        assert!(told.code == 2 && told.err.contains(why), "{told:?}");
        assert!(!names_an_arm(&told.out), "{told:?}");
        let begun = ward.file("code-breaks.jsonl").exists();
        assert!(!begun || reason.is_empty(), "no log is begun for a kit that is not there");
    }
    let logged = std::fs::read_to_string(ward.file("code-breaks.jsonl")).unwrap_or_default();
    assert!(logged.is_empty(), "{logged}");
    // The same kits must not be given twice: by another device, or after a second beginning.
    ward.good(&["erase", "--yes", "--key-file", "key"]);
    let again = ward.on_device(&["provision", "trial.toml", "--key-file", "key"]);
    assert!(again.code == 2 && again.err.contains("--same-kits"), "{again:?}");
    let forced = ward.on_device(&["provision", "trial.toml", "--key-file", "key", "--same-kits"]);
    assert!(forced.code != 0 && forced.err.contains("raise its use"), "{forced:?}");
    let text = std::fs::read_to_string(ward.file("trial.toml")).unwrap();
    std::fs::write(ward.file("second.toml"), text.replace("use = 1", "use = 2")).unwrap();
    ward.good(&["provision", "second.toml", "--key-file", "key"]);
    ward.good(&["assign", "P-1", "0", "--trial", "second.toml", "--log", "second.jsonl"]);
    let open = Ward::new();
    let _other = open.device();
    open.provision(&[]);
    let none = open.run(&["kits", "list", "trial.toml", "--key-file", "key", "--csv"]);
    assert!(none.code == 2 && none.err.contains("is not blinded"), "{none:?}");
    open.good(&["assign", "P-1", "0"]);
    let none = open.on_device(&["replace", "P-1", "--reason", "wet"]);
    assert!(none.code == 2 && none.err.contains("is not blinded"), "{none:?}");
}
