//! Kits of two boards of one blinded trial: somebody who sees the kits of both learns no arm.
//!
//! The attack. A board gives the kits of an arm in the order of its trial file and key. Where two
//! boards have the same order, two kits that they give in opposite orders are of different arms:
//! enough such pairs part all kits by arm, and one known patient then names the rest.

use equipoise::device::auth::{CustodianKey, Role};
use equipoise::kits::origin;
use equipoise::testkit::order;
use equipoise::wire::{FileDigest, Request};
use equipoise_ward::records::trial_file::{EXAMPLE, TrialFile};
use equipoise_ward::virtual_board::{Flash, PAGES, VirtualBoard};

const KEY: [u8; 32] = [0x5A; 32];
const PATIENTS: u32 = 100;
const KITS: u32 = 110;

/// The example as a blinded trial of this site.
fn trial(site: &str) -> TrialFile {
    let kits = format!("[kits]\nsite = \"{site}\"\nuse = 1\nprefix = \"K-\"\n\n[outcome]");
    let mut text = EXAMPLE.to_owned();
    for (from, to) in [
        ("title = ", "blinded = true\ntitle = "),
        ("patients = 4000", &format!("patients = {PATIENTS}\nkits = {KITS}")),
        ("[outcome]", &kits),
    ] {
        assert!(text.contains(from), "{from}");
        text = text.replacen(from, to, 1);
    }
    TrialFile::parse("t", &text).unwrap()
}

/// The kits that a board of this site gives, one after the other.
fn given(trial: &TrialFile, seed: u64) -> Vec<u32> {
    let mut board: VirtualBoard = VirtualBoard::seeded(Flash::in_memory(PAGES), seed);
    assert!(board.ask(&Request::Key(KEY).to_string()).starts_with("OK"));
    let plan = Request::Plan { plan: trial.plan, file: FileDigest(trial.digest()) };
    let planned = order(KEY, &plan.to_string(), |line| board.ask(line));
    assert!(planned.starts_with("OK trial="), "{planned}");
    let kit = |k: u32| {
        let reply = board.ask(&format!("ASSIGN {k} 0 {k:08x}"));
        let kit = reply.split(['*', ' ']).nth(2).unwrap().parse().unwrap();
        assert!(board.ask(&format!("OUTCOME {k} {}", k % 2)).starts_with("OK"));
        kit
    };
    (1..=PATIENTS).map(kit).collect()
}

/// The share of pairs of kits, given in opposite orders by two boards, that are of different arms
/// on the first one.
fn parted(trial: &TrialFile, one: &[u32], two: &[u32]) -> f64 {
    let key = CustodianKey::new(KEY).role(Role::CodeBreak);
    let key = key.kit_key(FileDigest(trial.digest()), KITS);
    let both = |kit: &u32| {
        let place = two.iter().position(|other| other == kit)?;
        Some((origin(&key, KITS, *kit).unwrap().0, place))
    };
    let both: Vec<_> = one.iter().filter_map(both).collect();
    let (mut differ, mut pairs) = (0, 0);
    for (i, (arm, before)) in both.iter().enumerate() {
        for (other, after) in &both[i + 1..] {
            if after < before {
                differ += u32::from(arm != other);
                pairs += 1;
            }
        }
    }
    assert!(pairs >= 50, "{pairs} pairs of {} kits in opposite orders", both.len());
    f64::from(differ) / f64::from(pairs)
}

/// At two sites kits in opposite orders are of different arms as often as any two kits are, and a
/// label says nothing about the other site's arm. With one file for both boards, the exception that
/// privacy.md names, every such pair is of different arms.
#[test]
fn two_sites_kits_tell_no_arms() {
    let [here, there] = ["A", "B"].map(trial);
    let kits = [given(&here, 1), given(&there, 2), given(&here, 3)];
    let known = parted(&here, &kits[0], &kits[2]);
    assert!(known > 0.999, "the attack works on two boards with one file: {known}");
    let unknown = parted(&here, &kits[0], &kits[1]);
    println!("pairs of different arms: {known:.3} with one file, {unknown:.3} at two sites");
    assert!((0.4..0.6).contains(&unknown), "{unknown}");
    let key = CustodianKey::new(KEY).role(Role::CodeBreak);
    let keys = [&here, &there].map(|trial| key.kit_key(FileDigest(trial.digest()), KITS));
    let arms = |kit| keys.each_ref().map(|key| origin(key, KITS, kit).unwrap().0);
    let same = (1..=2 * KITS).filter(|kit| matches!(arms(*kit), [a, b] if a == b)).count();
    let share = same as f64 / f64::from(2 * KITS);
    assert!((0.4..0.6).contains(&share), "{share} of the labels have one arm at both sites");
}
