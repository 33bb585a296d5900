//! `equipoise qualify`: a right device passes, seven that are broken on purpose do not.

mod broken;
#[cfg(feature = "terminal-tests")]
mod emulated;

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::ward::{PROGRAM, Ward};
use broken::{Broken, Fault};
use serde_json::Value;

/// Cuts the power of the virtual device in the folder, if it runs, and starts it.
const POWER: &str = "\
old=$(cat device.pid 2>/dev/null)
[ -n \"$old\" ] && kill -9 $old 2>/dev/null
while [ -n \"$old\" ] && kill -0 $old 2>/dev/null; do sleep 0.02; done
rm -f device.out
\"$PROGRAM\" device --pty --link port --flash flash --pages 64 > device.out 2>&1 &
echo $! > device.pid
while ! grep -q . device.out 2>/dev/null; do sleep 0.02; done
";

/// A virtual device that a script switches off and on; killed at the end.
struct Switched(PathBuf);

impl Drop for Switched {
    fn drop(&mut self) {
        let kill = "kill -9 $(cat device.pid)";
        let _ = Command::new("sh").args(["-c", kill]).current_dir(&self.0).status();
    }
}

impl Switched {
    fn on(folder: &Path) -> Self {
        std::fs::write(folder.join("power.sh"), POWER).unwrap();
        let mut start = Command::new("sh");
        start.arg("power.sh").env("PROGRAM", PROGRAM).current_dir(folder);
        assert!(start.status().unwrap().success());
        Self(folder.to_owned())
    }
}

/// Runs the qualification in a folder: its exit code, what it said, and its record.
fn qualify(ward: &Ward, port: &str, more: &[&str]) -> (i32, String, Value) {
    let power = format!("cd {} && PROGRAM={PROGRAM} sh power.sh", ward.path().display());
    let words = ["qualify", "--port", port, "--out", "result", "--power", &power];
    let done = ward.run(&[&words[..], more].concat());
    let record = std::fs::read_to_string(ward.file("result/qualification.json"));
    let record = record.map_or(Value::Null, |text| serde_json::from_str(&text).unwrap());
    (done.code, done.out + &done.err, record)
}

/// Ids of the checks with a verdict.
fn checks<'a>(record: &'a Value, verdict: &str) -> Vec<&'a str> {
    let checks = record["checks"].as_array().unwrap().iter();
    let of = checks.filter(|check| check["verdict"] == verdict);
    of.map(|check| check["id"].as_str().unwrap()).collect()
}

/// A right device passes every check that applies, with the user's plan too. Without `--yes`
/// nothing is done and the cost is named; a finished folder is not used again. Page and record are
/// their owner's alone, and the device ends blank. Requirement W27.
#[test]
fn a_right_device_passes() {
    let ward = Ward::new();
    let _device = Switched::on(ward.path());
    let example = equipoise_ward::records::trial_file::EXAMPLE;
    let small = example.replacen("patients = 4000", "patients = 60", 1);
    std::fs::write(ward.file("trial.toml"), small).unwrap();
    let port = ward.port();
    let (code, said, record) = qualify(&ward, &port, &["--trial", "trial.toml"]);
    assert!(code == 1 && said.contains("runs 5 trials") && said.contains("5.03"), "{said}");
    assert_eq!(record, Value::Null, "nothing was done");
    let (code, said, record) = qualify(&ward, &port, &["--trial", "trial.toml", "--yes"]);
    assert_eq!(code, 0, "{said}\n{record:#}");
    assert!(said.contains("PASSED: 0 of "), "{said}");
    assert!(checks(&record, "failed").is_empty());
    assert_eq!(checks(&record, "not-applicable"), ["I-03"]);
    assert!(checks(&record, "passed").len() >= 33, "{record:#}");
    let page = std::fs::read_to_string(ward.file("result/qualification.html")).unwrap();
    for part in ["PASSED", "SHA-256 of the program", "Reviewed by", "size: A4"] {
        assert!(page.contains(part), "{part}");
    }
    assert!(!page.contains("<script") && !page.contains("http"), "it loads nothing");
    for file in ["qualification.html", "qualification.json", "custodian.key"] {
        let found = std::fs::metadata(ward.file("result").join(file)).unwrap();
        assert_eq!(found.permissions().mode() & 0o777, 0o600, "{file}");
    }
    let (code, said, _) = qualify(&ward, &port, &["--yes"]);
    assert!(code == 2 && said.contains("a finished qualification"), "{said}");
    assert!(ward.good(&["status"]).contains(": blank,"), "the device is blank");
}

/// After an interruption the same command goes on with the stage that was not finished: what was
/// done stays done, and a trial that was left behind is erased. Requirement W27.
#[test]
fn it_goes_on_after_an_interruption() {
    let ward = Ward::new();
    let device = Switched::on(ward.path());
    let relay = Broken::between(&ward, Fault::GoneAt(4));
    let (code, said, record) = qualify(&ward, &relay.port(), &["--yes"]);
    assert_eq!(code, 3, "{said}");
    assert_eq!(record["stages"], serde_json::json!(["lines and key"]), "{said}");
    let began = record["checks"][5].clone();
    drop(relay);
    drop(device);
    let _device = Switched::on(ward.path());
    let (code, said, record) = qualify(&ward, &ward.port(), &["--yes"]);
    assert_eq!(code, 0, "{said}");
    assert!(!said.contains("-- lines and key") && said.contains("-- rules"), "{said}");
    assert!(record["checks"].as_array().unwrap().contains(&began), "done once: {began}");
}

/// A record of which these stages are done: the qualification does the others.
fn interrupted_after(ward: &Ward, stages: &[&str]) {
    let record = serde_json::json!({
        "format": 1, "began": "2026-11-18T08:00:00Z", "ended": null,
        "facts": [], "stages": stages, "checks": [],
    });
    std::fs::create_dir(ward.file("result")).unwrap();
    std::fs::write(ward.file("result/qualification.json"), record.to_string()).unwrap();
}

/// Devices that are broken on purpose fail, each at the check that is about its fault. Stages that
/// are about something else are left out. Requirement W27.
#[test]
fn broken_devices_fail() {
    let for_rules = ["kits", "capacity", "noise and times"];
    let for_noise = ["rules", "kits", "capacity"];
    let for_image = ["lines and key", "rules", "kits", "capacity", "noise and times"];
    for (fault, done, failed) in [
        (Fault::ArmNotStored, &for_rules[..], "O-24"),
        (Fault::OffGrid, &for_noise, "P-03"),
        (Fault::NoiseHalved, &for_noise, "P-06"),
        (Fault::WrongHash, &for_image, "I-03"),
        (Fault::CountedTwice, &for_noise, "P-06"),
        (Fault::ReportsEarly, &for_rules, "O-30"),
        (Fault::Slow, &for_noise, "P-08"),
    ] {
        let ward = Ward::new();
        interrupted_after(&ward, done);
        let _device = Switched::on(ward.path());
        std::fs::write(ward.file("images.txt"), "00112233445566aa v1\n").unwrap();
        let images: &[&str] = match fault {
            Fault::WrongHash => &["--images", "images.txt"],
            _ => &[],
        };
        let key = ward.run(&["keygen", "key"]);
        assert_eq!(key.code, 0);
        let relay = Broken::between(&ward, fault);
        let more = [&["--yes", "--key-file", "key"], images].concat();
        let (code, said, record) = qualify(&ward, &relay.port(), &more);
        assert_eq!(code, 1, "{fault:?}: {said}");
        assert_eq!(checks(&record, "failed"), [failed], "{fault:?}: {record:#}");
        let page = std::fs::read_to_string(ward.file("result/qualification.html")).unwrap();
        assert!(page.contains("FAILED: 1 of "), "{fault:?}");
    }
}
