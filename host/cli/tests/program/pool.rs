//! Reports of several devices, pooled; and reports with boundaries.

use crate::common::ward;
use crate::common::ward::PROGRAM;

use serde_json::Value;
use std::process::Command;

use ward::{Ward, json};

/// A device that has run a small trial to its end; its report is in `NAME.json` in `ward`.
fn site(ward: &Ward, out: &str, seed: u64) {
    let _device = ward.device();
    ward.provision(&[
        ("patients = 4000", "patients = 40"),
        ("epsilon = 1 ", "epsilon = 20 "),
        ("[outcome]", "[boundary]\nkind = \"pocock\"\neffect = 0.3\n\n[outcome]"),
    ]);
    for number in 1..=40u64 {
        let kind = (number % 2).to_string();
        let assigned = json(&ward.good(&["assign", &format!("P-{number}"), &kind, "--json"]));
        let y = if (number * seed).is_multiple_of(3) {
            assigned["arm"].to_string()
        } else {
            "1".into()
        };
        ward.good(&["outcome", &format!("P-{number}"), &y]);
    }
    if json(&ward.good(&["status", "--json"]))["state"] == "running" {
        ward.good(&["close", "--yes", "--key-file", "key"]);
    }
    ward.good(&["report", "--format", "json", "-o", out]);
    let table = ward.good(&["report", "--simultaneous", "holm"]);
    for words in [
        "valid at all 1 reports together (pocock, this is number 1)",
        "boundary crossed",
        "(holm)",
        "NOT A TEST under interim",
    ] {
        assert!(table.contains(words), "{words}\n{table}");
    }
    let csv = ward.good(&["report", "--format", "csv"]);
    assert!(
        csv.starts_with("trial,") && csv.contains(",adjusted_low,adjusted_high,adjusted\n"),
        "{csv}"
    );
}

/// Two devices: pooled with their keys, refused if a row was changed, a report is there twice, or
/// the trial files differ. Requirement S11.
#[test]
fn reports_of_two_devices_are_pooled() {
    let (one, two) = (Ward::new(), Ward::new());
    site(&one, "north.json", 5);
    site(&two, "south.json", 7);
    let (north, south) = (one.file("north.json"), two.file("south.json"));
    let (key1, key2) = (one.file("key"), two.file("key"));
    let text = |path: &std::path::Path| path.to_str().unwrap().to_owned();
    let pool = |words: &[&str]| {
        let out = Command::new(PROGRAM).arg("pool").args(words).output();
        let out = out.unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (out.status.code(), text(out.stdout), text(out.stderr))
    };
    let (north, south, key1, key2) = (text(&north), text(&south), text(&key1), text(&key2));
    let keys = ["--key-file", &key1, "--key-file", &key2];
    let svg = text(&one.file("forest.svg"));
    let (code, table, error) =
        pool(&[&[north.as_str(), &south, "--out", &svg], &keys[..]].concat());
    println!("{table}");
    assert_eq!(code, Some(0), "{error}");
    for words in [
        "2 sites, 80 patients",
        "north",
        "south",
        "fixed effect",
        "random effects",
        "I2",
        "Q = ",
        "All MACs are right",
        "costs nothing more",
        "NOT A TEST under interim",
        "◆",
        "overall",
    ] {
        assert!(table.contains(words), "{words}\n{table}");
    }
    let svg = std::fs::read_to_string(svg).unwrap();
    assert!(svg.starts_with("<svg") && svg.contains("random effects") && !svg.contains("NaN"));
    // The pooled estimate is that of the two rows, by hand.
    let read = |path: &str| json(&std::fs::read_to_string(path).unwrap());
    let (code, pooled, _) = pool(&[&north, &south, "--json", "-"]);
    assert_eq!(code, Some(0));
    let part = |path: &str| {
        let row = read(path)["overall"].clone();
        (row["estimate"].as_f64().unwrap(), row["standard_error"].as_f64().unwrap().powi(-2))
    };
    let ((a, u), (b, v)) = (part(&north), part(&south));
    let found =
        json(&pooled)["effects"].as_array().unwrap().last().unwrap()["fixed"]["estimate"].clone();
    assert!((found.as_f64().unwrap() - (a * u + b * v) / (u + v)).abs() < 1e-9, "{pooled}");
    let refused = |words: &[&str], why: &str| {
        let (code, text, error) = pool(words);
        assert!(code == Some(1) && text.is_empty() && error.contains(why), "{why}: {error}");
    };
    refused(&[&north, &north], "a patient must not count twice");
    refused(&[&north, &south, "--key-file", &key1], "south: the MAC is wrong");
    // A row without a standard error would have all the weight: it is named and left out.
    let mut exact = read(&south);
    exact["rows"][0]["standard_error"] = 0.0.into();
    let silent = text(&two.file("exact.json"));
    std::fs::write(&silent, exact.to_string()).unwrap();
    let (code, pooled, error) = pool(&[&north, &silent, "--json", "-"]);
    assert!(code == Some(0) && error.contains("Left out") && error.contains("(exact"), "{error}");
    let first = &json(&pooled)["effects"][0];
    assert_eq!(first["left_out"][0], "exact", "{pooled}");
    assert_eq!((&first["tau2"], &first["random"]), (&Value::Null, &Value::Null), "{pooled}");
    let mut changed = read(&south);
    changed["rows"][0]["estimate"] = 0.123_456.into();
    std::fs::write(&south, changed.to_string()).unwrap();
    refused(&[&[north.as_str(), &south], &keys[..]].concat(), "south: the MAC is wrong");
    let mut other = read(&south);
    other["file"] = "00".repeat(8).into();
    std::fs::write(&south, other.to_string()).unwrap();
    refused(&[&north, &south], "only devices with the same trial file");
}

/// Several devices with parts of the patients: about the same error, a little more noise, and less
/// adaptation.
#[test]
fn sites_lose_little_against_one_device() {
    let out = Command::new(PROGRAM)
        .args(["simulate", "--design", "interim,uniform", "--features", "2", "--patients", "4000"])
        .args(["--runs", "400", "--sites", "4", "--csv", "-"])
        .output()
        .unwrap();
    let text = String::from_utf8(out.stdout).unwrap();
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(rows.len(), 5, "{text}");
    let at = rows[0].iter().position(|name| *name == "mse").unwrap();
    // The name of the pooled ones has a comma, inside quotes.
    let mse =
        |row: usize| rows[row][at + usize::from(row.is_multiple_of(2))].parse::<f64>().unwrap();
    assert!(rows[2].join(",").starts_with("\"interim, 4 sites\""), "{text}");
    let (interim, uniform) = (mse(2) / mse(1), mse(4) / mse(3));
    println!("MSE of 4 sites over one: interim {interim:.3}, uniform {uniform:.3}");
    assert!(uniform > 1.0 && uniform < 1.2, "{uniform}");
    assert!(interim > 0.3 && interim < 1.5, "{interim}");
}

/// The picture in docs/plan.md is what the command below it draws.
#[test]
fn documents_picture_is_of_the_examples() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let sites =
        ["north", "south", "harbour"].map(|name| format!("{root}/examples/sites/{name}.json"));
    let ward = Ward::new();
    let [north, south, harbour] = sites.each_ref().map(String::as_str);
    let drawn = ward.run(&["pool", north, south, harbour, "--out", "forest.svg"]);
    assert_eq!(drawn.code, 0, "{drawn:?}");
    let text = |path| std::fs::read_to_string(path).unwrap();
    let shown = text(std::path::Path::new(root).join("docs/img/forest.svg"));
    assert!(shown == text(ward.file("forest.svg")), "draw docs/img/forest.svg anew (docs/plan.md)");
}
