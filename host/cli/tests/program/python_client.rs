//! `examples/client.py` on a virtual device, with noise and with its process ended in the middle.
//!
//! Needs python3 with pyserial, so it is behind the feature `terminal-tests`, which `cargo xtask
//! test` turns on.

use crate::common::ward;

use std::process::Command;

use ward::{BLINDED, Ward, json};

const CLIENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/client.py");

/// Runs the client on a port that does something to the first request with a word: `noise` answers
/// it like a device that read a damaged line, `death` ends the process once it is sent. Or it does
/// something to replies with the word: `newer` adds words of a newer device to all of them,
/// `strange` puts such a word before the last one of the first of them, `late` lets another
/// patient's come first.
const WITH_FATE: &str = r#"
import binascii, os, runpy, sys, serial
def sealed(words):
    body = b" ".join(words)
    return b"%s*%04X\n" % (body, binascii.crc_hqx(body, 0xFFFF))
client, fate, word = sys.argv[1], sys.argv[2], sys.argv[3].encode()
class Port(serial.Serial):
    hit, heard = False, None
    def write(self, data):
        if word in data and not Port.hit and fate in ("noise", "death"):
            Port.hit = True
            if fate == "noise":
                Port.heard = b"ERR syntax field=1*F62E\n"
                return len(data)
            super().write(data)
            self.flush()
            self.readline()
            os._exit(9)
        return super().write(data)
    def readline(self):
        heard, Port.heard = Port.heard, None
        line = heard or super().readline()
        words = line.split(b"*")[0].split()
        if words[:1] != [word]:
            return line
        if fate == "newer":
            return sealed(words + [b"battery=good", b"a-2=b=c"])
        if fate == "strange" and not Port.hit:
            Port.hit = True
            return sealed(words[:-1] + [b"battery=good"] + words[-1:])
        if fate == "late" and not Port.hit:
            Port.hit, Port.heard = True, line
            return sealed([words[0], words[1] + b"0"] + words[2:])
        return line
serial.Serial = Port
sys.argv = [client] + sys.argv[4:]
runpy.run_path(client, run_name="__main__")
"#;

/// The first Python that has pyserial.
fn python() -> &'static str {
    let with_serial = |python: &&str| {
        let output = Command::new(python).args(["-c", "import serial"]).output();
        output.is_ok_and(|output| output.status.success())
    };
    let found = ["python3", "/usr/bin/python3"].into_iter().find(with_serial);
    found.unwrap_or_else(|| {
        panic!("python3 with pyserial is needed (apt-get install python3-serial)")
    })
}

struct Said {
    code: Option<i32>,
    text: String,
}

fn run(ward: &Ward, before: &[&str], words: &[&str]) -> Said {
    let mut command = Command::new(python());
    command.args(before).arg(ward.port()).args(words).current_dir(ward.path());
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap() + &String::from_utf8_lossy(&output.stderr);
    Said { code: output.status.code(), text }
}

fn assigned(ward: &Ward) -> u64 {
    json(&ward.good(&["status", "--json"]))["assigned"].as_u64().unwrap()
}

/// It enrols and records an outcome.
#[test]
fn enrols_and_records() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&[]);
    let run = |words: &[&str]| run(&ward, &[CLIENT], words).text;
    let first = run(&["2", "1"]);
    assert!(["ARM 1 0\nOK 1\n", "ARM 1 1\nOK 1\n"].contains(&first.as_str()), "{first}");
    let second = run(&["3"]);
    assert!(second.starts_with("ARM 2 "), "{second}");
    assert!(run(&["4"]).starts_with("ERR feature"), "there are four kinds, 0 to 3");
    let status = json(&ward.good(&["status", "--json"]));
    assert_eq!((&status["assigned"], &status["waiting"]), (&2.into(), &1.into()));
}

/// In a blinded trial it prints kits and no arm. A replacement whose answer was lost is repeated by
/// the next run, which gets the same kit.
#[test]
fn enrols_and_replaces_in_a_blinded_trial() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&BLINDED);
    let run = |before: &[&str], words: &[&str]| run(&ward, before, words).text;
    let kit = |said: &str, start: &str| {
        let kit: u32 =
            said.strip_prefix(start).unwrap_or_else(|| panic!("{said}")).trim().parse().unwrap();
        assert!((1..=100).contains(&kit), "{said}");
        kit
    };
    let first = kit(&run(&[CLIENT], &["2"]), "KIT 1 ");
    let second = run(&[CLIENT], &["3", "1"]);
    let second = kit(second.strip_suffix("OK 2\n").unwrap(), "KIT 2 ");
    let died = run(&["-c", WITH_FATE, CLIENT, "death", "REPLACE"], &["replace", "1", "1"]);
    assert_eq!(died, "");
    let third = run(&[CLIENT], &["replace", "1", "2"]);
    let third = kit(&third, "repeating REPLACE 1 1\nKIT 1 ");
    assert_eq!(kit(&run(&[CLIENT], &["replace", "1", "1"]), "KIT 1 "), third, "a repeat");
    let refused = run(&[CLIENT], &["replace", "2", "1"]);
    assert_eq!(refused, "ERR kits re=REPLACE:2 patient=2 is resolved\n");
    let status = json(&ward.good(&["status", "--json"]));
    assert_eq!((&status["assigned"], &status["replaced"]), (&2.into(), &1.into()));
    // By the pharmacy's list the replacement is of the same arm, and no kit came twice.
    let list = ward.kit_list();
    assert_eq!(list[first as usize][3], list[third as usize][3]);
    assert!(first != third && second != first && second != third);
}

/// `ERR syntax` after noise is not an answer: the same line is sent again.
#[test]
fn noise_is_no_answer() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&[]);
    for (word, patient) in [("ASSIGN", 1), ("OUTCOME", 2)] {
        let said = run(&ward, &["-c", WITH_FATE, CLIENT, "noise", word], &["2", "1"]);
        assert!(said.text.ends_with(&format!("OK {patient}\n")), "{}", said.text);
        assert_eq!((said.code, assigned(&ward)), (Some(0), patient));
    }
}

/// Words that a newer device adds are skipped and not printed.
#[test]
fn words_of_a_newer_device_are_skipped() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&[]);
    for (word, patient) in [("HELLO", 1), ("STATUS", 2), ("OK", 3)] {
        let said = run(&ward, &["-c", WITH_FATE, CLIENT, "newer", word], &["2", "1"]);
        assert!(said.text.ends_with(&format!("\nOK {patient}\n")), "{}", said.text);
        assert_eq!((said.code, assigned(&ward)), (Some(0), patient));
    }
}

/// An unknown word before a known one, or behind an arm, is no reply, and neither is a reply to
/// another patient: the client waits on or asks again.
#[test]
fn strange_replies_are_no_answers() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&[]);
    let fates = [("strange", "HELLO"), ("strange", "STATUS"), ("strange", "ARM"), ("late", "OK")];
    for ((fate, word), patient) in fates.into_iter().zip(1..) {
        let said = run(&ward, &["-c", WITH_FATE, CLIENT, fate, word], &["2", "1"]);
        let arm = said.text.strip_suffix(&format!("\nOK {patient}\n")).unwrap_or_default();
        assert!(
            arm == format!("ARM {patient} 0") || arm == format!("ARM {patient} 1"),
            "{}",
            said.text
        );
        assert_eq!((said.code, assigned(&ward)), (Some(0), patient));
    }
}

/// The request is on disk before it is sent. A run after a death repeats it, and gets the same arm.
#[test]
fn request_is_stored_before_it_is_sent() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&[]);
    let died = run(&ward, &["-c", WITH_FATE, CLIENT, "death", "ASSIGN"], &["2"]);
    assert_eq!((died.code, died.text.as_str(), assigned(&ward)), (Some(9), "", 1));
    let pending = std::fs::read_to_string(ward.file("equipoise.pending")).unwrap();
    let request = pending.lines().nth(1).unwrap();
    assert!(request.starts_with("ASSIGN 1 2 "), "{pending}");
    let next = run(&ward, &[CLIENT], &["3"]).text;
    assert!(next.starts_with(&format!("repeating {request}\nARM 1 ")), "{next}");
    assert_eq!(assigned(&ward), 1, "nobody was assigned twice");
    assert!(!ward.file("equipoise.pending").exists());
}

/// A stored request is not sent to a device that holds another trial.
#[test]
fn stored_request_keeps_to_its_trial() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&[]);
    let died = run(&ward, &["-c", WITH_FATE, CLIENT, "death", "OUTCOME"], &["2", "1"]);
    assert_eq!(died.code, Some(9), "{}", died.text);
    ward.good(&["erase", "--yes", "--key-file", "key"]);
    ward.good(&["provision", "trial.toml", "--key-file", "key"]);
    ward.good(&["assign", "New-1", "0", "--log", "new.jsonl"]);
    let refused = run(&ward, &[CLIENT], &["3"]);
    assert!(refused.text.contains("nothing was sent"), "{}", refused.text);
    assert_eq!(refused.code, Some(1));
    assert_eq!(json(&ward.good(&["status", "--json"]))["waiting"], 1, "New-1 still waits");
}

/// A port of another user gets nothing. Only root can give a port away; for others there is nothing
/// to test, unless `EQUIPOISE_SECOND_USER` requires it.
#[test]
fn another_users_port_gets_nothing() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&[]);
    let owner = |user| std::os::unix::fs::chown(ward.port(), Some(user), None);
    if owner(12_345).is_err() {
        assert!(std::env::var_os("EQUIPOISE_SECOND_USER").is_none(), "root is needed");
        return;
    }
    let said = run(&ward, &[CLIENT], &["2", "1"]);
    owner(0).unwrap();
    assert!(said.text.contains("belongs to user 12345") && said.code == Some(1), "{}", said.text);
    assert_eq!(assigned(&ward), 0);
}
