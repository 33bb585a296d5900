//! Kit numbers are a permutation, the same for the device, the pharmacy's list and unblinding.

use crate::common::count;
use equipoise::device::auth::CustodianKey;
use equipoise::kits::all::{arms, numbers};
use equipoise::kits::{KitKey, number, origin};
use equipoise::terms::Arm;
use equipoise::terms::MAX_KITS;
use equipoise::wire::FileDigest;
use rayon::prelude::*;

fn key(first: u8) -> KitKey {
    KitKey::new(&std::array::from_fn(|i| first.wrapping_add(i as u8)))
}

const BOTH: [Arm; 2] = [Arm::Zero, Arm::One];

/// Kit numbers of arm 0 and arm 1, computed by another program from the description in
/// `src/kits.rs`; custodian's key 00 01 .. 1f, trial file 0011223344556677.
#[test]
fn kit_numbers_are_these() {
    let custodian = CustodianKey::new(std::array::from_fn(|i| i as u8));
    let file = FileDigest([0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77]);
    for (kits, index, numbers) in [
        (1, 0, [2, 1]),
        (5, 0, [3, 8]),
        (5, 1, [10, 5]),
        (5, 2, [6, 9]),
        (5, 3, [4, 7]),
        (5, 4, [2, 1]),
        (1_000, 0, [1_696, 740]),
        (1_000, 1, [1_799, 1_374]),
        (1_000, 500, [612, 918]),
        (1_000, 999, [1_274, 964]),
        (MAX_KITS, 0, [2_015_270, 750_008]),
        (MAX_KITS, 1, [1_552_101, 823_402]),
        (MAX_KITS, 524_288, [477_991, 2_028_773]),
        (MAX_KITS, 1_048_575, [939_677, 878_557]),
    ] {
        let key = custodian.kit_key(file, kits);
        assert_eq!(BOTH.map(|arm| number(&key, kits, arm, index)), numbers, "{kits} {index}");
    }
}

/// Every number from 1 to 2N is given once, for each N from 1 to 1,000 and every eleventh up to
/// 5,000; in the long version for each of them. Requirement D23.
#[test]
fn every_kit_comes_once() {
    let tried = |kits: &u32| *kits <= 1_000 || kits.is_multiple_of(11) || count::is_long();
    (1..=5_000_u32).into_par_iter().filter(tried).for_each(|kits| {
        let mut seen = vec![false; kits as usize * 2];
        for number in numbers(&key(1), kits) {
            let first = !std::mem::replace(&mut seen[number as usize - 1], true);
            assert!(first, "{kits} kits an arm: {number} twice");
        }
    });
}

/// The list is what the device computes kit by kit and what unblinding finds, for every kit of
/// small trials and for samples of the largest.
#[test]
fn list_device_and_unblinding_agree() {
    for kits in [1, 2, 3, 17, 128, 129, 1_000] {
        let key = key(kits as u8);
        let (listed, arms) = (numbers(&key, kits), arms(&key, kits));
        for (place, kit) in (0..).zip(&listed) {
            let (arm, index) = (BOTH[place as usize % 2], place / 2);
            assert_eq!(number(&key, kits, arm, index), *kit);
            assert_eq!(origin(&key, kits, *kit), Some((arm, index)));
            assert_eq!(arms[*kit as usize - 1], arm);
        }
    }
}

/// At the largest size 4,000 places all over have different numbers, and the way back finds them.
#[test]
fn largest_trial_by_sampling() {
    let key = key(3);
    let places = (0..4_000_u32).into_par_iter().map(|i| i.wrapping_mul(0x9E37_79B1) >> 11);
    let mut kits: Vec<u32> = places
        .map(|place| {
            let (arm, index) = (BOTH[place as usize % 2], place / 2);
            let kit = number(&key, MAX_KITS, arm, index);
            assert_eq!(origin(&key, MAX_KITS, kit), Some((arm, index)));
            kit
        })
        .collect();
    kits.sort_unstable();
    let below = kits.partition_point(|kit| *kit <= MAX_KITS);
    assert!((1_850..2_150).contains(&below), "{below} of 4,000 in the lower half");
    kits.dedup();
    assert_eq!(kits.len(), 4_000);
}
