//! Blinded trials on the v1: kits are those of the list, within memory and within their time.

use crate::bedside::{Bedside, KEY, tag};
use crate::cycles::Code;
use crate::emulator::{Emulator, Firmware};
use crate::measures::{ANSWER, WAIT, share_of_line};
use equipoise::design::Arm;
use equipoise::device::auth::CustodianKey;
use equipoise::kits::origin;
use equipoise::wire::FileDigest;
use std::time::Duration;

/// Most that computing a blinded `ASSIGN` may take of its time on the line: the 11 % of an open
/// one, and 2 % for the kits' counts in its record.
const BLINDED_SHARE: f64 = 0.13;

/// The kit of a reply to this patient.
fn kit(reply: &str, patient: u32) -> u32 {
    let kit = reply.strip_prefix(&format!("KIT {patient} "));
    kit.unwrap_or_else(|| panic!("{reply}")).parse().unwrap()
}

fn assign(board: &mut Emulator, k: u32) -> u32 {
    kit(&board.request(&format!("ASSIGN {k} {} {}", k % 64, tag(k))), k)
}

/// With 64 features, 256 waiting patients and the most kits: every kit is the next one of its arm,
/// across a power cut too, a look fits into memory, and so does the report.
#[test]
fn blinded_trial_fits_in_16_kb() {
    const KITS: u32 = 1 << 20;
    let key = CustodianKey::new(KEY).kit_key(FileDigest::NONE, KITS);
    let mut board = Emulator::boot(Firmware::Release);
    board.begin(&format!("features=64 patients=512 epsilon=1 kits={KITS}"));
    let (mut next, mut kits) = ([0, 0], 0);
    let mut give = |kit: u32| {
        let (arm, index) = origin(&key, KITS, kit).unwrap();
        assert_eq!(index, next[arm.index()], "kit {kit} is not the next one of its arm");
        next[arm.index()] += 1;
        kits += 1;
        arm
    };
    for k in 1..=256 {
        let given = assign(&mut board, k);
        let arm: Arm = give(given);
        if k % 50 == 0 {
            assert_eq!(assign(&mut board, k), given, "a repeat gives the same kit");
            let other = kit(&board.request(&format!("REPLACE {k} 1")), k);
            assert_eq!(give(other), arm, "a replacement is of the same arm");
            assert_eq!(kit(&board.request(&format!("REPLACE {k} 1")), k), other);
        }
    }
    assert_eq!(board.status("waiting"), 256);
    let (_, flash) = board.cut_power();
    let mut board = Emulator::boot_on(Firmware::Release, &flash);
    for k in 1..=256 {
        board.expect(&format!("OUTCOME {k} 1"), &format!("OK {k}"));
    }
    give(assign(&mut board, 257));
    board.as_custodian("CLOSE");
    assert!(board.report().last().unwrap().starts_with("END "));
    board.print_memory("a blinded trial");
    assert!(next.iter().all(|given| *given > 60), "{next:?}");
}

/// A kit that lies ready costs `ASSIGN` five more words on flash; without one the reply waits for
/// both kits at most.
#[test]
fn a_kit_costs_its_time() {
    let code = Code::of(Firmware::Release);
    let mut board = Emulator::boot_traced(Firmware::Release);
    board.begin("features=64 patients=400 epsilon=1 kits=500");
    let (mut shares, mut unready) = (Vec::new(), 0);
    for k in 1..=40 {
        // About a second for the emulated board, in which the next kit is computed; or none.
        let traced = k > 2;
        if traced {
            std::thread::sleep(Duration::from_millis(400));
        }
        let mut given = 0;
        if !traced {
            assign(&mut board, k);
            unready = unready.max(board.decided());
        } else {
            let trace = board.trace(|board| given = assign(board, k));
            let (count, cycles) = code.between(&trace, ANSWER, WAIT);
            if count < 50_000 {
                let request = format!("ASSIGN {k} {} {}", k % 64, tag(k));
                shares.push((share_of_line(cycles, &request, &format!("KIT {k} {given}")), cycles));
            }
        }
        board.expect(&format!("OUTCOME {k} 1"), &format!("OK {k}"));
        if shares.len() > 10 {
            break;
        }
    }
    shares.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (share, cycles) = shares[shares.len() / 2];
    println!(
        "| `ASSIGN`, blinded, kit ready | {cycles} cycles | {:.1} % of its time on the line |",
        share * 100.0
    );
    println!("| `ASSIGN`, blinded, both kits to compute | {unready} instructions |");
    assert!(shares.len() > 5, "the kits were never ready: {shares:?}");
    assert!(share < BLINDED_SHARE, "{share} of the time on the line");
    assert!(unready > 500_000, "else both kits were ready: {unready}");
    assert!(unready < 10_000_000, "{unready} instructions for both kits");
}
