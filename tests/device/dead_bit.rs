//! One dead flash bit costs no answered patient: every record is read back before it is answered.
//!
//! Each simulated device runs a trial. At some moment a bit of its flash dies, in one of three
//! ways. The power goes off now and then, and in the end; what was answered must be there.
//! `EQUIPOISE_DEVICES=100000 cargo test --test device dead_bit:: -- --nocapture` simulates more of
//! them.
use equipoise::testkit::desk;

use desk::{Desk, PAGE, PAGES};
use equipoise::testkit::strict_flash::Dead;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;

const PATIENTS: u32 = 900;
const KINDS: [Dead; 3] = [Dead::Zero, Dead::One, Dead::Frozen];
/// The power goes off after one patient in this many.
const POWER_OFF: u32 = 97;

/// How one device ended.
#[derive(Clone, Copy, Default)]
struct Fate {
    /// The dead bit made the device leave a page.
    noticed: u32,
    faults: u32,
    /// Answered requests that were gone after a power-up.
    lost: u32,
}

impl Fate {
    fn plus(self, other: Self) -> Self {
        Self {
            noticed: self.noticed + other.noticed,
            faults: self.faults + other.faults,
            lost: self.lost + other.lost,
        }
    }
}

/// Assigned and waiting patients, as the device says.
fn counts(desk: &mut Desk) -> Option<(u32, u32)> {
    let status = desk.ask("STATUS");
    let count = |key: &str| status.split(' ').find_map(|word| word.strip_prefix(key)?.parse().ok());
    let assigned = count("assigned=")?;
    Some((assigned, assigned - count("resolved=")?))
}

fn life(seed: u64) -> Fate {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut below = |n: usize| random.next_u64() as usize % n;
    let mut desk =
        Desk::running(seed, &format!("PLAN features=3 patients={PATIENTS} better=high epsilon=1"));
    let (word, bit, dead) = (below(PAGE * PAGES / 4), below(32) as u32, KINDS[below(3)]);
    let death = below(PATIENTS as usize / 2) as u32;
    let mut fate = Fate::default();
    let (mut assigned, mut waiting) = (0_u32, 0_u32);
    for patient in 1..=PATIENTS {
        if patient == death {
            desk.flash.0.borrow_mut().kill(word * 4, bit, dead);
        }
        if desk.assign(patient, patient % 3).starts_with("ARM ") {
            (assigned, waiting) = (patient, waiting + 1);
        }
        if below(3) == 0 {
            desk.run_until_idle();
        }
        if patient > 3
            && desk.ask(&format!("OUTCOME {} 1", patient - 3)) == format!("OK {}", patient - 3)
        {
            waiting -= 1;
        }
        if patient == PATIENTS || below(POWER_OFF as usize) == 0 {
            let seed = u64::from(patient);
            desk = desk.power_up(seed);
            let found = counts(&mut desk);
            fate.faults += u32::from(found.is_none());
            let found = found.unwrap_or_default();
            fate.lost += assigned.abs_diff(found.0) + waiting.abs_diff(found.1);
            if found.0 != assigned {
                return fate;
            }
        }
    }
    assert_eq!(desk.flash.0.borrow().misuse(), None, "seed {seed}");
    let erases = desk.flash.0.borrow().erases().to_vec();
    let spared = erases[word * 4 / PAGE];
    fate.noticed += u32::from(spared + 2 < erases.iter().sum::<u32>() / PAGES as u32);
    fate
}

/// No answered patient is lost, and no device goes to `fault`.
#[test]
fn one_dead_bit_loses_no_patient() {
    let devices =
        std::env::var("EQUIPOISE_DEVICES").map_or(1_000, |text| text.parse().expect("a number"));
    let fate = (0..devices).into_par_iter().map(life).reduce(Fate::default, Fate::plus);
    println!(
        "{devices} devices with a dead bit: {} left a page, {} in fault, {} answered requests lost",
        fate.noticed, fate.faults, fate.lost
    );
    assert!(u64::from(fate.noticed) > devices / 20, "hardly any dead bit was met");
    assert_eq!((fate.faults, fate.lost), (0, 0));
}
