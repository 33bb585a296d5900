//! Whole trials over the emulated serial line, with the image that ships.

use crate::qemu::bedside::{Bedside, Dice, KEY, hex};
use crate::qemu::emulator::{Emulator, Firmware};
use crate::times;
use equipoise::testkit::order;

/// A trial with outcomes that come late, in any order, or never; its arms.
fn whole_trial(design: &str, patients: u32) -> Vec<u8> {
    let mut board = Emulator::boot(Firmware::Release);
    board.begin(&format!("design={design} features=3 patients={patients} epsilon=2 scale=10"));
    let mut dice = Dice(7);
    let mut arms = Vec::new();
    for k in 1..=patients {
        let arm = board.assign(k, dice.roll(3));
        assert_eq!(
            board.assign(k, dice.roll(3)),
            arm,
            "a repeat gives the stored arm, whatever feature it says"
        );
        arms.push(arm);
        if k > 5 {
            let late = k - dice.roll(5);
            let request = if dice.roll(8) == 0 {
                format!("LOST {late}")
            } else {
                format!("OUTCOME {late} {}", k % 11)
            };
            board.expect(&request, &format!("OK {late}"));
        }
    }
    let full = board.request(&format!("ASSIGN {} 0", patients + 1));
    assert!(full.starts_with("ERR full"), "{full}");
    assert_eq!(board.status("assigned"), patients);
    board.as_custodian("CLOSE");
    let report = board.report();
    assert!(report.last().unwrap().starts_with("END "), "{report:?}");
    assert_eq!(board.request("HELLO").split(' ').nth(4), Some("closed"));
    board.as_custodian("ERASE");
    assert_eq!(board.request("HELLO").split(' ').nth(4), Some("blank"));
    arms
}

/// A whole trial of either design runs over the serial line.
#[test]
fn whole_trials_run_over_the_line() {
    for design in ["interim", "dp-conse"] {
        let arms = whole_trial(design, 120);
        let ones = arms.iter().filter(|arm| **arm == 1).count();
        assert!((20..=100).contains(&ones), "{design}: {ones} of 120 patients got arm 1");
    }
}

/// Flash that reads zero or ones at first boot is a blank device.
#[test]
fn empty_flash_is_a_blank_device() {
    let firmware = Firmware::Release;
    let (_, length) = firmware.journal();
    for fresh in [0x00, 0xFF] {
        let mut board = Emulator::boot_on(firmware, &vec![fresh; length as usize]);
        assert!(board.request("HELLO").contains(" blank "));
        board.begin("features=2 patients=10 epsilon=1");
        board.assign(1, 0);
    }
}

/// Flash full of noise is a fault, and nobody is assigned. Requirement D10.
#[test]
fn flash_full_of_noise_is_a_fault() {
    let mut dice = Dice(3);
    let noise: Vec<u8> = (0..Firmware::Release.journal().1).map(|_| dice.roll(256) as u8).collect();
    let mut board = Emulator::boot_on(Firmware::Release, &noise);
    assert!(board.request("HELLO").contains(" fault "));
    assert!(board.request("ASSIGN 1 0").starts_with("ERR storage"));
}

/// 64 features and 256 waiting patients, both looks and the report.
#[test]
fn full_capacity_fits_in_16_kb() {
    let mut board = Emulator::boot(Firmware::Release);
    board.begin("features=64 patients=400 epsilon=1 close=auto");
    for k in 1..=256 {
        board.assign(k, k % 64);
    }
    assert_eq!(board.status("waiting"), 256);
    let full = board.request("ASSIGN 257 0");
    assert!(full.starts_with("ERR full"), "{full}");
    for k in 1..=256 {
        board.expect(&format!("OUTCOME {k} 1"), &format!("OK {k}"));
    }
    for k in 257..=400 {
        board.assign(k, k % 64);
        board.expect(&format!("LOST {k}"), &format!("OK {k}"));
    }
    // Every outcome is in: the trial closes itself with the look of the second half.
    assert_eq!(board.report().len(), 65);
    board.print_memory("64 features, 256 waiting, the close, report");
}

/// A custodian compares this hash with the release's. Requirement D26.
#[test]
fn hello_names_the_image() {
    for firmware in [Firmware::Release, Firmware::Test] {
        Emulator::boot(firmware).expect_image(&firmware.path());
    }
}

/// The share of the second half that got the deadlier arm, arm 1, in a trial of 400 patients with
/// death rates of 0.2 and 0.4 in which a death is this outcome.
fn deadlier(better: &str, death: u32, seed: u32) -> f64 {
    let mut board = Emulator::boot(Firmware::Release);
    board.expect(&format!("KEY {}", hex(&KEY)), "OK");
    let plan = format!("PLAN features=1 patients=400 epsilon=2 better={better}");
    let planned = order(KEY, &plan, |line| board.request(line));
    assert!(planned.starts_with("OK trial="), "{planned}");
    let (mut dice, mut second_half) = (Dice(seed), 0);
    for k in 1..=400 {
        let arm = board.assign(k, 0);
        let dies = dice.roll(10) < if arm == 1 { 4 } else { 2 };
        let y = if dies { death } else { 1 - death };
        board.expect(&format!("OUTCOME {k} {y}"), &format!("OK {k}"));
        second_half += u32::from(arm == 1 && k > 200);
    }
    f64::from(second_half) / 200.0
}

/// The sum over trials with seeds from 11 on, a few at once: a board waits most of its time.
fn shares(seeds: u32, share: impl Fn(u32) -> f64 + Sync) -> f64 {
    const AT_ONCE: u32 = 5;
    let lane = |first: u32| (11 + first..11 + seeds).step_by(AT_ONCE as usize).map(&share).sum();
    std::thread::scope(|scope| {
        let lanes = (0..AT_ONCE).map(|first| scope.spawn(move || lane(first)));
        let lanes = lanes.collect::<Vec<_>>().into_iter();
        lanes.map(|lane| -> f64 { lane.join().unwrap() }).sum()
    })
}

/// The deadlier arm gets at most 35 % of the second half on average, whether a death is the larger
/// outcome or the smaller one: over 20 trials each way in the long version, one in the short one.
#[test]
fn the_deadlier_arm_gets_fewer_patients() {
    let seeds = times(1, 20);
    let ways = [("low", 1), ("high", 0)].map(|(better, death)| {
        let share = shares(seeds, |seed| deadlier(better, death, seed)) / f64::from(seeds);
        println!("better={better}, {seeds} trials: {share:.3} of the second half got it");
        share
    });
    assert!(ways.iter().sum::<f64>() / 2.0 <= 0.35, "{ways:?}");
    assert!(seeds == 1 || ways.iter().all(|share| *share <= 0.35), "{ways:?}");
}
