//! Blinded trials at the speed of the wire: kits, LEDs, and reply times.

use super::CHIP;
use crate::emulation::board::{EmulatedBoard, Firmware};
use crate::nrf52833::trials::{leds, lit};
use crate::qemu::bedside::{Bedside, KEY, sealed, tag};
use crate::times;
use equipoise::board::display;
use equipoise::terms::Arm;
use equipoise::testkit::kits::{Given, kit};
use equipoise::wire::FileDigest;

const KITS: u32 = 40;
const PLAN: &str = "features=3 patients=30 epsilon=2 kits=40";

/// The arms of kits given one after another, each the next one of its arm.
fn arms(kits: &[u32]) -> Vec<Arm> {
    let mut given = Given::nothing(KEY, FileDigest::NONE, KITS);
    kits.iter().map(|kit| given.arm(*kit)).collect()
}

/// Every kit is the next one of its arm, across a power cut too, and the LEDs show the same box for
/// both arms.
#[test]
fn blinded_trial_with_leds() {
    let mut board = EmulatedBoard::boot(&CHIP, Firmware::Release, 21);
    board.begin(PLAN);
    let mut kits = Vec::new();
    for k in 1..=16 {
        kits.push(kit(&board.request(&format!("ASSIGN {k} {} {}", k % 3, tag(k))), k));
        assert_eq!(lit(&mut board, 50_000), leds(display::KIT), "patient {k}");
        if k % 4 == 0 {
            kits.push(kit(&board.request(&format!("REPLACE {k} 1")), k));
        }
        board.expect(&format!("OUTCOME {k} 1"), &format!("OK {k}"));
        if k == 8 {
            board.power_up();
            board.start();
        }
    }
    let arms = arms(&kits);
    assert!(Arm::BOTH.iter().all(|arm| arms.contains(arm)), "{arms:?}");
    assert_eq!((board.status("kits"), board.status("replaced")), (KITS, 4));
    board.as_custodian("CLOSE");
    assert!(board.report().last().unwrap().starts_with("END "));
}

/// Reply times of a blinded trial, with time to prepare kits and without, and its arms. The times
/// of requests are always the same.
fn reply_times(seed: u32) -> (Vec<f64>, Vec<Arm>) {
    let mut board = EmulatedBoard::boot(&CHIP, Firmware::Release, seed);
    board.begin(PLAN);
    let (mut times, mut kits) = (Vec::new(), Vec::new());
    for k in 1..=12 {
        // Ample time, none, and some.
        let pause = [300_000, 0, 20_000][k as usize % 3];
        let assign = format!("ASSIGN {k} 0 {}", tag(k));
        let replace = (k % 4 == 0).then(|| format!("REPLACE {k} 1"));
        for (request, pause) in
            [(Some(assign), pause), (replace, 0), (Some(format!("LOST {k}")), 0)]
        {
            let Some(request) = request else { continue };
            board.send(format!("{}\n", sealed(&request)).as_bytes(), pause);
            let (line, began) = board.try_line(2_500_000).unwrap().expect("a reply");
            if line.starts_with("KIT") {
                kits.push(
                    line.rsplit_once('*').unwrap().0.rsplit_once(' ').unwrap().1.parse().unwrap(),
                );
            }
            times.push(began - board.state().wire_free);
        }
    }
    (times, arms(&kits))
}

/// A reply leaves at a moment that depends on when requests came and on no arm: 20 ms after its
/// request if the kits were ready, else later by what is left to compute.
#[test]
fn kit_reply_times_do_not_depend_on_arms() {
    const SLICES: f64 = 30.0;
    let (first, given) = reply_times(31);
    let late: Vec<f64> = first.iter().copied().filter(|time| *time > 21_000.0).collect();
    println!("replies later than 20 ms: {late:?} microseconds");
    assert!(late.len() > 2, "else no request came before its kit was ready: {first:?}");
    assert!(late.iter().all(|time| *time < 300_000.0), "{late:?}");
    for seed in 32..32 + times(1, 2) {
        let (second, others) = reply_times(seed);
        assert_ne!(given, others, "the same arms");
        for (i, (a, b)) in first.iter().zip(&second).enumerate() {
            assert!((a - b).abs() < SLICES, "seed {seed}, request {i}: {a} and {b} microseconds");
        }
    }
}
