//! Blinded trials through the device's line: kits instead of arms, each given once, replacements,
//! and refusals at public counts.

use equipoise::testkit::desk;
use equipoise::testkit::kits;

use std::collections::BTreeSet;

use desk::{Desk, KEY};
use equipoise::device::auth::CustodianKey;
use equipoise::kits::number;
use equipoise::terms::Arm;
use equipoise::wire::{FileDigest, Reply, Request};
use kits::{Given, kit};

const KITS: u32 = 30;
const PLAN: &str = "PLAN features=3 patients=20 better=high results=open epsilon=1 kits=30 close=auto file=0011223344556677";

/// The arms of kits given one after another, each the next one of its arm.
fn arms(kits: &[u32]) -> Vec<Arm> {
    let file = FileDigest([0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77]);
    let mut given = Given::nothing(KEY, file, KITS);
    kits.iter().map(|kit| given.arm(*kit)).collect()
}

/// Whether a reply has these words, one after the other.
fn has(reply: &str, words: &str) -> bool {
    format!("{reply} ").contains(&format!(" {words} "))
}

/// A whole trial: every patient gets the next kit of an arm, a replacement is of the same arm, and
/// no reply but `KIT` has anything to do with an arm. Requirement D22.
#[test]
fn kits_of_a_trial_are_those_of_the_list() {
    let mut seen = [0; 2];
    for seed in 0..6 {
        let mut desk = Desk::running(seed, PLAN);
        let (mut given, mut replaced) = (Vec::new(), Vec::new());
        for patient in 1..=20 {
            given.push(kit(&desk.assign(patient, patient % 3), patient));
            if patient % 4 == 0 {
                replaced.push((given.len() - 1, given.len()));
                given.push(kit(&desk.ask(&format!("REPLACE {patient} 1")), patient));
            }
            assert_eq!(desk.ask(&format!("OUTCOME {patient} 1")), format!("OK {patient}"));
            if patient % 7 == 0 {
                desk = desk.power_up(100 + seed);
            } else if patient % 5 == 0 {
                desk.run_until_idle();
            }
        }
        let arms = arms(&given);
        arms.iter().for_each(|arm| seen[arm.index()] += 1);
        assert!(replaced.iter().all(|(first, second)| arms[*first] == arms[*second]));
        assert!(has(&desk.ask("STATUS"), "kits=30 replaced=5"));
        assert!(desk.ask("REPORT").starts_with("ROW 0 "));
    }
    assert!(seen.iter().all(|count| *count > 30), "{seen:?}");
}

/// A repeat gives the same kit, also after a power cut and after another patient's replacement; a
/// repeated replacement too. Requirement D1.
#[test]
fn a_repeat_gives_the_same_kit() {
    let mut desk = Desk::running(1, PLAN);
    let first = desk.assign(1, 0);
    let second = desk.assign(2, 1);
    assert_eq!(desk.assign(2, 2), second, "whatever the feature");
    let other = desk.ask("REPLACE 1 1");
    assert!(![&first, &second].contains(&&other));
    for seed in 0..3 {
        assert_eq!(desk.assign(2, 1), second);
        assert_eq!(desk.ask("REPLACE 1 1"), other);
        desk = desk.power_up(seed);
    }
    assert_eq!(desk.ask("ASSIGN 2 1 0badc0de"), "ERR order expected=3");
    assert_eq!(desk.ask("OUTCOME 1 1"), "OK 1");
    assert_eq!(desk.ask("REPLACE 1 1"), other, "also when the patient is resolved");
    assert!(has(&desk.ask("STATUS"), "kits=30 replaced=1"));
}

/// Every reason why a patient gets no other kit is named, and changes nothing.
#[test]
fn replacements_are_refused_by_name() {
    let mut desk = Desk::running(1, PLAN);
    for patient in 1..=5 {
        desk.assign(patient, 0);
    }
    desk.dialogue(&[
        ("REPLACE 0 1", "ERR unknown patient=0 allowed 1..=5"),
        ("REPLACE 6 1", "ERR unknown patient=6 allowed 1..=5"),
        ("REPLACE 4294967295 1", "ERR unknown patient=4294967295 allowed 1..=5"),
        ("REPLACE 1 0", "ERR order expected=1"),
        ("REPLACE 1 2", "ERR order expected=1"),
        ("REPLACE 1", "ERR syntax got=nothing allowed REPLACE <k> <r>"),
        ("OUTCOME 5 1", "OK 5"),
        ("REPLACE 5 1", "ERR kits patient=5 is resolved"),
    ]);
    for count in 1..=3 {
        kit(&desk.ask(&format!("REPLACE 1 {count}")), 1);
    }
    let most = "ERR kits patient=1 has had 3 replacements, the most allowed";
    desk.dialogue(&[("REPLACE 1 4", most), ("REPLACE 1 1", most), ("REPLACE 1 5", most)]);
    // Not taken for a repeat of the last one, which is stored as 4 * 1 + 3.
    desk.dialogue(&[
        ("REPLACE 1 7", most),
        ("REPLACE 0 7", "ERR unknown patient=0 allowed 1..=5"),
        ("REPLACE 1073741825 3", "ERR unknown patient=1073741825 allowed 1..=5"),
    ]);
    desk = desk.power_up(5);
    desk.dialogue(&[("REPLACE 1 4", most)]);
    assert_eq!(desk.order("CLOSE"), "OK");
    desk.dialogue(&[("REPLACE 2 1", "ERR closed")]);
    assert!(has(&desk.ask("STATUS"), "kits=30 replaced=3"));
    let mut open = Desk::running(1, desk::PLAN);
    open.assign(1, 0);
    open.dialogue(&[("REPLACE 1 1", "ERR kits kits=0 the trial is not blinded")]);
    assert!(!open.ask("STATUS").contains("kits"));
}

/// The reserve is kits less patients. It is used up at that count, whatever the arms; and every
/// patient of the plan still gets a kit.
#[test]
fn reserve_ends_at_a_public_count() {
    let plan = "PLAN features=1 patients=6 better=high results=open epsilon=1 kits=8";
    for seed in 0..12 {
        let mut desk = Desk::running(seed, plan);
        let mut kits = BTreeSet::new();
        for patient in 1..=2 {
            kits.insert(kit(&desk.assign(patient, 0), patient));
            kits.insert(kit(&desk.ask(&format!("REPLACE {patient} 1")), patient));
        }
        let none = "ERR kits replaced=2 the kits left are for patients to come";
        assert_eq!(desk.ask("REPLACE 1 2"), none);
        for patient in 3..=6 {
            kits.insert(kit(&desk.assign(patient, 0), patient));
            assert_eq!(desk.ask(&format!("REPLACE {patient} 1")), none);
        }
        assert_eq!(kits.len(), 8);
        assert!(kits.iter().all(|kit| (1..=16).contains(kit)));
    }
}

/// Too few kits are refused with both numbers, and the key of a blinded trial stays.
#[test]
fn plan_and_key_of_a_blinded_trial() {
    let mut desk = Desk::blank(1);
    assert_eq!(desk.ask(&Request::Key(KEY).to_string()), "OK");
    assert_eq!(
        desk.order("PLAN features=1 patients=20 better=high results=open epsilon=1 kits=19"),
        "ERR range kits=19 patients=20 allowed kits=0, or 20..=1048576"
    );
    assert_eq!(
        desk.order("PLAN features=1 patients=20 better=high results=open epsilon=1 kits=1048577"),
        "ERR range kits=1048577 allowed 0, or patients..=1048576"
    );
    assert!(
        desk.order("PLAN features=1 patients=20 better=high results=open epsilon=1 kits=0")
            .starts_with("OK trial=")
    );
    assert!(desk.assign(1, 0).starts_with("ARM 1 "), "kits=0 is as without");
    assert_eq!(desk.order("ERASE"), "OK");
    assert!(
        desk.order("PLAN features=1 patients=20 better=high results=open epsilon=1 kits=1048576")
            .starts_with("OK")
    );
    assert!(kit(&desk.assign(1, 0), 1) <= 2 << 20);
    let another = Request::Key([1; 32]).to_string();
    assert_eq!(desk.order(&another), "ERR locked trial until=ERASE");
    assert_eq!(desk.order("ERASE"), "OK");
    assert_eq!(desk.order(&another), "OK");
}

/// Another key, trial file or number of kits gives another list.
#[test]
fn lists_differ_by_key_file_and_size() {
    let (one, two) = (FileDigest([1; 8]), FileDigest([2; 8]));
    let list = |key: u8, file, kits| {
        let key = CustodianKey::new([key; 32]).kit_key(file, kits);
        (0..20)
            .map(|place| number(&key, 500, Arm::from_bit(place % 2 == 1), place / 2))
            .collect::<Vec<_>>()
    };
    let lists = [list(1, one, 500), list(2, one, 500), list(1, two, 500), list(1, one, 501)];
    let different: BTreeSet<_> = lists.iter().collect();
    assert_eq!(different.len(), lists.len());
}

/// The seal of a list depends on the key, the trial file and every byte of the list.
#[test]
fn seals_differ_by_key_file_and_list() {
    let seal = |key: u8, file: u8, list: &str| {
        CustodianKey::new([key; 32]).kit_seal(FileDigest([file; 8]), list.as_bytes())
    };
    let seals =
        [seal(1, 1, "1,0\n"), seal(2, 1, "1,0\n"), seal(1, 2, "1,0\n"), seal(1, 1, "1,1\n")];
    let different: BTreeSet<_> = seals.iter().collect();
    assert_eq!(different.len(), seals.len());
    assert_eq!(seal(1, 1, "1,0\n"), seals[0]);
}

/// Every byte of every reply but the kit numbers and the trial's id is the same whatever the arms:
/// acknowledgements, refusals, status. Requirement D22.
#[test]
fn replies_but_for_kits_are_equal() {
    let run = |seed: u64| {
        let mut desk = Desk::running(
            seed,
            "PLAN features=3 patients=20 better=high results=open epsilon=1 kits=24",
        );
        let (mut seen, mut kits) = (Vec::new(), Vec::new());
        let mut say = |line: String| {
            let reply = desk.ask(&line);
            let words: Vec<&str> = reply.split(' ').collect();
            match words[..] {
                ["KIT", patient, kit] => {
                    kits.push(kit.to_owned());
                    seen.push(format!("KIT {patient}"));
                }
                ["STATUS", _, ..] => seen.push(words[2..].join(" ")),
                _ => seen.push(reply),
            }
        };
        for patient in 1..=9_u32 {
            say(format!("ASSIGN {patient} {} {patient:08x}", patient % 3));
            say(format!("ASSIGN {patient} 9 {patient:08x}"));
            say(format!("ASSIGN {patient} 0 0badc0de"));
            say(format!("REPLACE {patient} 1"));
            say(format!("REPLACE {patient} {}", 1 + patient % 3));
            say("STATUS".to_owned());
            if patient % 2 == 0 {
                say(format!("OUTCOME {patient} 1"));
                say(format!("REPLACE {patient} 3"));
            }
        }
        (seen, kits)
    };
    let (first, kits) = run(1);
    assert!(first.iter().any(|reply| reply.starts_with("ERR kits")));
    assert!(first.iter().all(|reply| !reply.contains("ARM")));
    for seed in 2..12 {
        let (seen, others) = run(seed);
        assert_ne!(kits, others, "the same coins");
        assert_eq!(seen, first, "seed {seed}");
    }
}

/// Flash work behind every request, with pages changed, depends on no arm: trials with other coins
/// do the same operations. Requirement D21.
#[test]
fn flash_work_does_not_depend_on_arms() {
    let run = |seed: u64| {
        let mut desk = Desk::running(
            seed,
            "PLAN features=1 patients=300 better=high results=open epsilon=1 kits=400",
        );
        let (mut work, mut kits) = (Vec::new(), Vec::new());
        let mut ask = |line: String| {
            let reply = desk.ask(&line);
            if let Ok(Reply::Kit { kit, .. }) = Reply::parse(desk::sealed(&reply).as_bytes()) {
                kits.push(kit);
            }
            let flash = desk.flash.0.borrow();
            work.push((line, flash.operations(), flash.erases().iter().sum::<u32>()));
        };
        for patient in 1..=280 {
            ask(format!("ASSIGN {patient} 0 {patient:08x}"));
            if patient % 3 == 0 {
                ask(format!("REPLACE {patient} 1"));
            }
            ask(format!("OUTCOME {patient} 1"));
        }
        (work, kits)
    };
    let (first, kits) = run(1);
    assert!(first.last().unwrap().2 > desk::PAGES as u32, "the log did not go round");
    for seed in 2..6 {
        let (work, others) = run(seed);
        assert_ne!(kits, others, "the same coins");
        assert!(work == first, "seed {seed}");
    }
}

/// A device refuses the file of each of its last 8 blinded trials, also after `ERASE` and power
/// loss, and takes that of the ninth again. Trials that are not blinded may use a file as often as
/// they like.
#[test]
fn a_blinded_file_is_used_once() {
    let plan = |number: u32, kits: &str| {
        format!(
            "PLAN features=1 patients=2 better=high epsilon=1{kits} file=0000{number:02x}0000000000"
        )
    };
    let mut desk = Desk::blank(1);
    assert_eq!(desk.ask(&Request::Key(KEY).to_string()), "OK");
    let refused = "ERR locked file ran blinded here before, raise its use";
    for number in 1..=9 {
        assert!(desk.order(&plan(number, " kits=4")).starts_with("OK trial="), "{number}");
        assert!(desk.order(&plan(number, " kits=4")).starts_with("OK trial="), "a repeat");
        assert_eq!(desk.order("ERASE"), "OK");
        desk = desk.power_up(number.into());
        assert_eq!(desk.order(&plan(number, " kits=4")), refused, "{number}");
    }
    for number in 2..=9 {
        assert_eq!(desk.order(&plan(number, " kits=4")), refused, "{number}");
    }
    assert!(desk.order(&plan(2, "")).starts_with("OK trial="), "not blinded");
    assert_eq!(desk.order("ERASE"), "OK");
    assert!(desk.order(&plan(1, " kits=4")).starts_with("OK trial="), "the ninth");
}
