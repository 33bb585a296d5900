//! Looks, noise drawn ahead, and states that are damaged.

use super::*;

/// Looks fall at growing counts below n, one of them at half, none but it below 40 patients a
/// feature and their allowance for noise.
#[test]
fn looks_fall_at_growing_public_counts() {
    for (features, patients, reports) in [
        (1, 2, 0),
        (1, 3, 8),
        (10, 20_000, 0),
        (1, MAX_PATIENTS, 8),
        (64, MAX_PATIENTS, 3),
        (64, 100, 0),
    ] {
        let plan =
            plan(&format!("features={features} patients={patients} epsilon=1 reports={reports}"));
        let all: Vec<u32> = schedule::looks(&plan).collect();
        assert!(all.contains(&plan.half()));
        assert!(all.is_sorted_by(|a, b| a < b) && *all.last().unwrap() < patients);
        assert!(all.iter().all(|at| *at >= plan.half() || *at >= 87 * features));
        let after = all.iter().filter(|at| **at > plan.half()).count();
        assert!(after == reports || patients < 100, "{all:?}");
    }
}

/// Requirement D17.
#[test]
fn a_closed_trial_keeps_no_sums_of_outcomes() {
    for design in DESIGNS {
        for patients in [3, 9] {
            let mut chance = Generator::seed_from_u64(5);
            let mut trial =
                Small::new(plan(&format!("design={design} features=1 patients=10 epsilon=1")))
                    .unwrap();
            for k in 1..=patients {
                trial.draw_ahead(&mut chance);
                trial.assign(0, None, &mut chance).unwrap();
                trial.outcome(k, 1, &mut chance).unwrap();
            }
            trial.close(&mut chance);
            let mut tally = [0; equipoise::trial::stored::MAX_PART_BYTES];
            let length = trial.encode_part(Part::Tally(0), &mut tally);
            assert!(
                tally[..length].iter().all(|byte| *byte == 0),
                "{design} closed after {patients}"
            );
        }
    }
}

#[test]
fn noise_is_drawn_ahead_once_a_feature_and_look() {
    let mut chance = Generator::seed_from_u64(7);
    let mut trial = Small::new(plan("features=5 patients=400 epsilon=1")).unwrap();
    assert_eq!((0..9).filter(|_| trial.draw_ahead(&mut chance)).count(), 5);
    assert_eq!((0..9).filter(|_| trial.draw_ahead(&mut chance)).count(), 0);
    // Nor are draws forgotten by the byte form, and made again.
    let mut trial = Small::decode(&bytes(&trial)).unwrap();
    assert_eq!((0..9).filter(|_| trial.draw_ahead(&mut chance)).count(), 0);
    while trial.phase() == Phase::Explore {
        let k = trial.assigned() + 1;
        trial.assign(0, None, &mut chance).unwrap();
        trial.outcome(k, 1, &mut chance).unwrap();
    }
    assert_eq!((0..9).filter(|_| trial.draw_ahead(&mut chance)).count(), 5);
}

/// A settled feature takes no part in later looks before half: neither the outcomes in its raw
/// windows nor their absence bring its ledger forward.
#[test]
fn settled_feature_skips_looks_before_half() {
    // Looks at 85, 170 and 500; feature 0 has a certain effect, and feature 1 goes on unsettled.
    let mut chance = Sampler::<Xoshiro256PlusPlus>::seed_from_u64(3);
    for patients_after in [0, 2] {
        let mut trial = Trial::<2, 8>::new(plan("features=2 patients=1000 epsilon=4")).unwrap();
        let mut settled = None;
        while trial.resolved() < 499 {
            let patient = trial.assigned() + 1;
            let rare = trial.leading(0).is_some() && patient % 4 >= patients_after;
            let feature = if rare { 1 } else { (patient % 2) as u8 };
            let arm = trial.assign(feature, None, &mut chance).unwrap();
            let y = if feature == 0 { arm.index() as u32 } else { patient / 2 % 2 };
            trial.outcome(patient, y as u16, &mut chance).unwrap();
            trial.look(&mut chance);
            if settled.is_none() && trial.leading(0).is_some() {
                settled = Some(trial.ledger(0).unwrap());
            }
        }
        let settled = settled.expect("a certain effect settles the feature");
        assert_eq!((trial.looks(), settled.emptied), (2, [1, 1]));
        assert_eq!(trial.ledger(0).unwrap(), settled, "{patients_after}");
        assert_eq!(trial.last_count(0), Some(85), "{patients_after}");
        let [(now, _), _] = trial.windows(0).unwrap();
        assert_eq!(now != [[0; 3]; 2], patients_after > 0, "{now:?}");
    }
}

/// The dirty parts of two operations, to compare what storage would see of them.
fn lengths(
    trial: &mut Small,
    operation: impl FnOnce(&mut Small),
) -> Vec<(std::mem::Discriminant<Part>, usize)> {
    trial.take_dirty();
    operation(trial);
    let dirty = trial.take_dirty();
    let parts = Small::parts().filter(|part| names(dirty, *part));
    parts.map(|part| (std::mem::discriminant(&part), trial.length(part))).collect()
}

/// The work of the storage does not depend on outcomes, losses, features and arms.
#[test]
fn storage_work_tells_no_patient_apart() {
    for design in ["dp-conse", "interim", "uniform"] {
        let text = plan(&format!("design={design} features=4 patients=40 epsilon=1"));
        for (heads, feature) in [(false, 0), (true, 3)] {
            let fresh = || {
                let mut chance = Scripted(vec![heads; 40]);
                let mut trial = Small::new(text).unwrap();
                trial.assign(0, None, &mut chance).unwrap();
                trial.outcome(1, 1, &mut chance).unwrap();
                (trial, chance)
            };
            let (mut trial, mut chance) = fresh();
            let assign = lengths(&mut trial, |t| ignore(t.assign(feature, None, &mut chance)));
            let outcome = lengths(&mut trial, |t| ignore(t.outcome(2, 1, &mut chance)));
            let (mut trial, mut chance) = fresh();
            assert_eq!(lengths(&mut trial, |t| ignore(t.assign(1, None, &mut chance))), assign);
            assert_eq!(lengths(&mut trial, |t| ignore(t.lost(2, &mut chance))), outcome);
        }
    }
}

/// The estimates of a trial, each of which must lie in its interval, and that from -1 to 1.
fn ordered_estimates(trial: &Small) -> usize {
    let estimates = (0..9).filter_map(|j| trial.estimate(j)).map(|e| e.in_millionths());
    let check = |(effect, low, high, _)| {
        let ordered = [-1_000_000, low, effect, high, 1_000_000].is_sorted();
        assert!(ordered, "{effect} from {low} to {high} in {}", trial.plan());
    };
    estimates.map(check).count()
}

/// Noise far above the effect leaves estimates and intervals in their order: small trials of
/// Algorithm 2 with little privacy budget.
#[test]
fn estimates_are_ordered_under_heavy_noise() {
    let mut seen = 0;
    for (case, epsilon) in ["1/1000", "1/100", "1/10", "1"].into_iter().cycle().take(40).enumerate()
    {
        let patients = 10 + case * 50 / 39;
        let text = format!("design=dp-conse features=2 patients={patients} epsilon={epsilon}");
        let mut chance = Generator::seed_from_u64(case as u64);
        let mut trial = Small::new(plan(&text)).unwrap();
        for k in 1..=patients as u32 {
            let arm = trial.assign((k % 2) as u8, None, &mut chance).unwrap();
            match k % 5 {
                0 => trial.lost(k, &mut chance).unwrap(),
                _ => trial.outcome(k, arm.index() as u16, &mut chance).unwrap(),
            }
            seen += ordered_estimates(&trial);
        }
        trial.close(&mut chance);
        seen += ordered_estimates(&trial);
    }
    assert!(seen > 100, "{seen} estimates");
}

/// No plan and no sequence of requests panics or overflows, and every estimate lies in its
/// interval. Requirement D28.
#[test]
fn no_request_sequence_panics() {
    let mut seen = 0;
    let mut world = Xoshiro256PlusPlus::seed_from_u64(8);
    let ends = ["features=1", "features=8"];
    let horizons = ["patients=2", "patients=3", "patients=40", "patients=10000000"];
    let scales = ["scale=1", "scale=65535"];
    let rest = [
        "alpha=0 epsilon=1/1000 beta=1/10000",
        "alpha=1 epsilon=20 beta=9999/10000",
        "alpha=1/3 epsilon=1 beta=1/2 reports=8",
    ];
    for design in DesignName::ALL {
        for case in 0..ends.len() * horizons.len() * scales.len() * rest.len() {
            let pick = |from: &[&str], by: usize| from[case / by % from.len()].to_owned();
            let text = [
                format!("design={design}"),
                pick(&ends, 1),
                pick(&horizons, 2),
                pick(&scales, 8),
                pick(&rest, 16),
            ];
            let plan = plan(&text.join(" "));
            let mut chance = Generator::seed_from_u64(case as u64);
            let mut trial = Small::new(plan).unwrap();
            for _ in 0..400 {
                let word = world.next_u64();
                let (k, y) = ((word >> 16) as u32 % (trial.assigned() + 2), (word >> 48) as u16);
                match word % 16 {
                    0..=6 => {
                        ignore(trial.assign((word >> 8) as u8 % 9, Some(word as u32), &mut chance))
                    }
                    7..=11 => ignore(trial.outcome(
                        k,
                        y % (plan.scale().saturating_add(1)).max(1),
                        &mut chance,
                    )),
                    12 => ignore(trial.outcome(k, plan.scale(), &mut chance)),
                    13 => ignore(trial.lost(k, &mut chance)),
                    14 => ignore(trial.draw_ahead(&mut chance)),
                    _ if word >> 56 == 0 => trial.close(&mut chance),
                    _ => trial = Small::decode(&bytes(&trial)).unwrap(),
                }
                seen += ordered_estimates(&trial);
            }
        }
    }
    assert!(seen > 1000, "{seen} estimates");
}

#[test]
fn damaged_state_is_refused_or_harmless() {
    let mut world = Xoshiro256PlusPlus::seed_from_u64(9);
    for design in DESIGNS {
        let mut chance = Generator::seed_from_u64(9);
        let mut trial =
            Small::new(plan(&format!("design={design} features=8 patients=30 epsilon=1"))).unwrap();
        for k in 1..=20 {
            trial.assign((k % 8) as u8, None, &mut chance).unwrap();
            trial.outcome(k, 1, &mut chance).unwrap();
        }
        let good = bytes(&trial);
        assert!(Small::decode(&good[1..]).is_none() && Small::decode(&[]).is_none());
        for _ in 0..3000 {
            let mut bad = good.clone();
            for _ in 0..1 + world.next_u64() % 4 {
                let at = world.next_u64() as usize % bad.len();
                bad[at] = world.next_u64() as u8;
            }
            if let Some(mut trial) = Small::decode(&bad) {
                for _ in 0..4 {
                    ignore(trial.assign((world.next_u64() % 8) as u8, None, &mut chance));
                    ignore(trial.outcome(trial.assigned(), 1, &mut chance));
                }
                trial.close(&mut chance);
                (0..8).for_each(|j| ignore(trial.estimate(j).map(|e| e.in_millionths())));
            }
        }
    }
}
