//! Assumption 1 of the paper (seasonal nonstationarity), for arrivals as they are drawn.
//!
//! 1. There are constants C1, C2 > 1 with C1 < f_j(n) / f_j(n/2) < C2 for every feature j: about as
//!    many patients of it come in the second half as in the first. Any finite sequence in which
//!    every feature comes in both halves has such constants, so a line must be drawn: 4/3 and 4, a
//!    second half with between a third and three times the patients of the first.
//! 2. f_min(n) is at least of the order of ln n. Here: at least ln n.
//!
//! A feature that breaks it may be measured badly, and designs that look at half may decide for it
//! on few patients.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::arrivals::{Arrivals, Features};

/// C1 and C2.
const RATIOS: [f64; 2] = [4.0 / 3.0, 4.0];

/// Patients of every feature in the first half and in all.
#[must_use]
pub fn counts(arrivals: &Arrivals, features: u8, patients: u32, seed: u64) -> Vec<[u32; 2]> {
    let drawn = Features::new(arrivals, features, patients);
    let mut world = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut counts = vec![[0; 2]; usize::from(features)];
    for patient in 1..=patients {
        let feature = drawn.draw(patient, world.next_u32());
        if let Some([half, all]) = counts.get_mut(usize::from(feature)) {
            *all += 1;
            *half += u32::from(patient <= patients / 2);
        }
    }
    counts
}

/// Whether the counts meet the assumption, in words.
#[must_use]
pub fn verdict(counts: &[[u32; 2]]) -> String {
    let patients: u32 = counts.iter().map(|[_, all]| all).sum();
    let least = f64::from(patients.max(2)).ln();
    let ratio = |[half, all]: [u32; 2]| f64::from(all) / f64::from(half);
    let broken = counts.iter().enumerate().find_map(|(j, count)| {
        let (ratio, [half, all]) = (ratio(*count), *count);
        if f64::from(all) < least {
            Some(format!(
                "feature {j} has {all} of {patients} patients, fewer than ln n = {least:.1}"
            ))
        } else if !(ratio > RATIOS[0] && ratio < RATIOS[1]) {
            let later = all - half;
            Some(format!(
                "feature {j} has {half} patients in the first half and {later} in the second"
            ))
        } else {
            None
        }
    });
    let [low, high] = counts
        .iter()
        .map(|count| ratio(*count))
        .fold([f64::INFINITY, 0.0], |[low, high]: [f64; 2], ratio| {
            [low.min(ratio), high.max(ratio)]
        });
    let rarest = counts.iter().map(|[_, all]| *all).min().unwrap_or(0);
    match broken {
        Some(why) => format!("Assumption 1 (seasonal) is NOT met: {why}"),
        None => format!(
            "Assumption 1 (seasonal) is met: f(n)/f(n/2) is {low:.2} to {high:.2}, f_min is {rarest}"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_of_the_assumption_can_break() {
        let trace = |later: &dyn Fn(u32) -> bool| {
            let features: Vec<u8> = (0..1000).map(|t| u8::from(later(t))).collect();
            Arrivals::Trace(features.into())
        };
        let of = |arrivals: &Arrivals| verdict(&counts(arrivals, 2, 1000, 1));
        assert!(of(&Arrivals::Uniform).contains("is met"), "{}", of(&Arrivals::Uniform));
        assert!(of(&Arrivals::Seasonal(20)).contains("is met"));
        let rare = trace(&|t| t % 400 == 0);
        assert!(of(&rare).contains("feature 1 has 3 of 1000 patients, fewer than ln n = 6.9"));
        let late = trace(&|t| t >= 450);
        assert_eq!(
            of(&late),
            "Assumption 1 (seasonal) is NOT met: feature 0 has 450 patients in the first half and 0 in \
             the second"
        );
    }
}
