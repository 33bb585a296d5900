//! Blinded trials on the v1: kits are those of the list, within memory and within their time.

use crate::qemu::bedside::{Bedside, KEY, sealed, tag, unsealed};
use crate::qemu::cycles::Code;
use crate::qemu::emulator::{Emulator, Firmware};
use crate::qemu::measures::{ANSWER, SHARE, WAIT, share_of_line};
use equipoise::testkit::kits::{Given, kit};
use equipoise::wire::FileDigest;
use std::time::Duration;

/// Most instructions until the reply to an `ASSIGN` for which one kit is to be computed.
const KIT: u32 = 4_200_000;
/// .. and of the first one after power-up, which also erases a page.
const BOTH_KITS: u32 = 9_400_000;

fn assign(board: &mut Emulator, k: u32) -> u32 {
    kit(&board.request(&format!("ASSIGN {k} {} {}", k % 64, tag(k))), k)
}

/// With 64 features, 256 waiting patients and the most kits: every kit is the next one of its arm,
/// across a power cut too, a look fits into memory, and so does the report.
#[test]
fn blinded_trial_fits_in_16_kb() {
    const KITS: u32 = 1 << 20;
    let mut board = Emulator::boot(Firmware::Release);
    board.begin(&format!("features=64 patients=512 epsilon=1 kits={KITS}"));
    let mut given = Given::nothing(KEY, FileDigest::NONE, KITS);
    for k in 1..=256 {
        let first = assign(&mut board, k);
        let arm = given.arm(first);
        if k % 50 == 0 {
            assert_eq!(assign(&mut board, k), first, "a repeat gives the same kit");
            let other = kit(&board.request(&format!("REPLACE {k} 1")), k);
            assert_eq!(given.arm(other), arm, "a replacement is of the same arm");
            assert_eq!(kit(&board.request(&format!("REPLACE {k} 1")), k), other);
        }
    }
    assert_eq!(board.status("waiting"), 256);
    let (_, flash) = board.cut_power();
    let mut board = Emulator::boot_on(Firmware::Release, &flash);
    for k in 1..=256 {
        board.expect(&format!("OUTCOME {k} 1"), &format!("OK {k}"));
    }
    given.arm(assign(&mut board, 257));
    board.as_custodian("CLOSE");
    assert!(board.report().last().unwrap().starts_with("END "));
    board.print_memory("a blinded trial");
    assert!(given.counts.iter().all(|count| *count > 60), "{:?}", given.counts);
}

/// A kit that lies ready costs `ASSIGN` five more words on flash, and leaves it within the share of
/// the line that an open one has.
#[test]
fn a_ready_kit_costs_little() {
    let code = Code::of(Firmware::Release);
    let mut board = Emulator::boot_traced(Firmware::Release);
    board.begin("features=64 patients=400 epsilon=1 kits=500");
    // About a second for the emulated board, in which the next kit is computed.
    let mut pause = Duration::from_millis(400);
    let (mut shares, mut k) = (Vec::new(), 0);
    while shares.len() < 11 && k < 40 {
        k += 1;
        std::thread::sleep(pause);
        let mut given = 0;
        let trace = board.trace(|board| given = assign(board, k));
        let (count, cycles) = code.between(&trace, ANSWER, WAIT);
        if count < 50_000 {
            let request = format!("ASSIGN {k} {} {}", k % 64, tag(k));
            shares.push((share_of_line(cycles, &request, &format!("KIT {k} {given}")), cycles));
        } else {
            // This machine is slow.
            pause *= 2;
        }
        board.expect(&format!("OUTCOME {k} 1"), &format!("OK {k}"));
    }
    assert!(shares.len() > 5, "the kits were never ready: {shares:?}");
    shares.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (share, cycles) = shares[shares.len() / 2];
    println!(
        "| `ASSIGN`, blinded, kit ready | | | {cycles} | {:.1} % of its time on the line |",
        share * 100.0
    );
    assert!(share < SHARE, "{share} of the time on the line");
}

/// Patients who come back to back: each waits for one kit to be computed, the first one after
/// power-up for two. The wait is the same whatever the arms, to the instruction.
#[test]
fn back_to_back_waits_for_one_kit() {
    const KITS: u32 = 500;
    /// Less than what a page change takes, in instructions.
    const PAGE_CHANGE: u32 = 900_000;
    let mut given = Given::nothing(KEY, FileDigest::NONE, KITS);
    let mut board = Emulator::boot(Firmware::Release);
    board.begin(&format!("features=64 patients=400 epsilon=1 kits={KITS}"));
    given.arm(assign(&mut board, 1));
    let (_, flash) = board.cut_power();
    let mut board = Emulator::boot_on(Firmware::Release, &flash);
    let mut before = given.arm(assign(&mut board, 2));
    let both = board.reply_time();
    // The arm of the patient before, whose kit is computed again; and the time of the reply.
    let mut times = [Vec::new(), Vec::new()];
    for pair in 0..24 {
        let k = 3 + 2 * pair;
        // Two lines at once: nothing can be computed between them.
        let line = |k: u32| sealed(&format!("ASSIGN {k} {} {}", k % 64, tag(k))) + "\n";
        board.send((line(k) + &line(k + 1)).as_bytes());
        for k in [k, k + 1] {
            let kit = kit(&unsealed(&board.line()), k);
            if k % 2 == 0 {
                times[before.index()].push(board.reply_time());
            }
            before = given.arm(kit);
        }
    }
    // A page change adds its fixed time to a reply, at a public count of patients.
    let least = *times.iter().flatten().min().unwrap();
    times.iter_mut().for_each(|times| times.retain(|time| *time < least + PAGE_CHANGE));
    let all: Vec<u32> = times.concat();
    assert!(all.len() >= 22, "more than two page changes: {times:?}");
    let most = *all.iter().max().unwrap();
    println!("| `ASSIGN`, blinded, back to back: until the reply | {most} | | | |");
    println!("| the same, first after power-up | {both} | | | |");
    assert!(times.iter().all(|times| times.len() > 1), "one arm never came: {times:?}");
    assert!(least > 3_000_000, "else a kit was ready: {times:?}");
    // Two readings of a timer of 62.5 ns, each off by one instruction at most.
    assert!(most - least <= 2, "the time tells the arm: {times:?}");
    assert!(most < KIT && both < BOTH_KITS, "{most} and {both} instructions");
    assert_eq!(board.word("LATE_REPLIES"), 0);
}
