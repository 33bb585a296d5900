//! Who may be assigned, what counts, and what is kept.

use super::*;
use equipoise::plan::PLAN_BYTES;
use equipoise::terms::NoKit;

/// A second outcome, a correction and a late loss change nothing. Requirement D4.
#[test]
fn second_outcome_changes_nothing() {
    for design in DESIGNS {
        let mut chance = Generator::seed_from_u64(1);
        let mut trial =
            Small::new(plan(&format!("design={design} features=2 patients=20 epsilon=1 scale=9")))
                .unwrap();
        trial.assign(1, None, &mut chance).unwrap();
        trial.outcome(1, 4, &mut chance).unwrap();
        trial.take_dirty();
        let before = bytes(&trial);
        for y in 0..=9 {
            trial.outcome(1, y, &mut chance).unwrap();
        }
        trial.lost(1, &mut chance).unwrap();
        assert_eq!(bytes(&trial), before);
        assert!(trial.take_dirty().is_empty());
    }
}

/// Requirement D3.
#[test]
fn what_is_refused_is_named_and_changes_nothing() {
    for design in DESIGNS {
        let mut chance = Generator::seed_from_u64(2);
        let mut trial =
            Trial::<8, 2>::new(plan(&format!("design={design} features=2 patients=4 epsilon=1")))
                .unwrap();
        trial.assign(0, None, &mut chance).unwrap();
        trial.assign(1, None, &mut chance).unwrap();
        let before = bytes(&trial);
        trial.take_dirty();
        assert_eq!(trial.outcome(0, 0, &mut chance), Err(TrialError::Unknown));
        assert_eq!(trial.outcome(3, 0, &mut chance), Err(TrialError::Unknown));
        assert_eq!(trial.lost(u32::MAX, &mut chance), Err(TrialError::Unknown));
        assert_eq!(trial.outcome(1, 2, &mut chance), Err(TrialError::Range));
        assert_eq!(trial.admits(2), Err(TrialError::Feature));
        assert_eq!(trial.admits(0), Err(TrialError::Full));
        assert_eq!(bytes(&trial), before);
        assert!(trial.take_dirty().is_empty());
        for k in 1..=4 {
            if k > 2 {
                trial.assign(0, None, &mut chance).unwrap();
            }
            trial.outcome(k, 1, &mut chance).unwrap();
        }
        let over = if trial.look_due() { TrialError::Closed } else { TrialError::Complete };
        assert_eq!(trial.assign(0, None, &mut chance), Err(over));
        trial.close(&mut chance);
        assert_eq!(trial.assign(0, None, &mut chance), Err(TrialError::Closed));
    }
    let nine = plan("features=9 patients=4 epsilon=1");
    assert!(matches!(Small::new(nine), Err(TrialError::Capacity)));
}

#[test]
fn interim_closes_by_itself_only_if_planned() {
    let mut chance = Generator::seed_from_u64(3);
    let mut open = Small::new(plan("features=1 patients=3 epsilon=1")).unwrap();
    for k in 1..=3 {
        open.assign(0, None, &mut chance).unwrap();
        open.outcome(k, 1, &mut chance).unwrap();
    }
    assert!(!open.look_due() && open.phase() == Phase::Measure);
    open.outcome(3, 1, &mut chance).unwrap();
    assert_eq!(open.phase(), Phase::Measure);
    let mut trial = Small::new(plan("features=1 patients=3 epsilon=1 close=auto")).unwrap();
    for k in 1..=3 {
        trial.assign(0, None, &mut chance).unwrap();
        if k != 2 {
            trial.outcome(k, 1, &mut chance).unwrap();
        }
    }
    assert!(!trial.look_due() && trial.phase() == Phase::Measure);
    trial.lost(2, &mut chance).unwrap();
    assert!(trial.look_due());
    trial.look(&mut chance);
    assert_eq!(trial.phase(), Phase::Closed);
    assert!(trial.estimate(0).is_some());
}

/// Only the last patient with its own tag is repeated. Requirement D5.
#[test]
fn only_the_last_tagged_patient_repeats() {
    let mut chance = Generator::seed_from_u64(4);
    let mut trial = Small::new(plan("features=1 patients=9 epsilon=1")).unwrap();
    let first = trial.assign(0, Some(7), &mut chance).unwrap();
    assert_eq!(trial.repeat(1, 7), Some(first));
    assert_eq!(trial.repeat(1, 8), None);
    assert_eq!(trial.repeat(0, 7), None);
    trial.assign(0, None, &mut chance).unwrap();
    assert_eq!(trial.repeat(1, 7), None);
    assert_eq!(trial.repeat(2, 0), None, "a patient without a tag cannot be repeated");
}

/// A trial of eight patients in which the second's outcome comes after half, as bytes.
fn late_outcome(design: &str, y: u16) -> Vec<u8> {
    let mut chance = Scripted(vec![]);
    let text = format!("design={design} features=1 patients=8 epsilon=1 scale=5");
    let mut trial = Small::new(plan(&text)).unwrap();
    for k in 1..=6 {
        trial.assign(0, None, &mut chance).unwrap();
        if k != 2 {
            trial.lost(k, &mut chance).unwrap();
        }
    }
    trial.outcome(2, y, &mut chance).unwrap();
    bytes(&trial)
}

/// The paper's designs take an outcome of the first half that comes after half, and do not use it.
#[test]
fn published_designs_ignore_late_explore() {
    for design in ["conse", "dp-conse"] {
        assert_eq!(late_outcome(design, 0), late_outcome(design, 5), "{design}");
    }
}

/// The estimate of `conse` rests on the outcomes that came, not on the patients of its length T.
#[test]
fn conse_counts_the_outcomes_that_came() {
    const LOST: u32 = 3;
    let mut chance = Generator::seed_from_u64(4);
    let mut trial = Small::new(plan("design=conse features=1 patients=40 epsilon=1")).unwrap();
    for k in 1..=40 {
        trial.assign(0, None, &mut chance).unwrap();
        // The first patients of the second half are among the T that count.
        if (21..21 + LOST).contains(&k) {
            trial.lost(k, &mut chance).unwrap();
        } else {
            trial.outcome(k, 1, &mut chance).unwrap();
        }
    }
    let (_, length) = trial.batch(0).unwrap();
    let estimate = trial.estimate(0).unwrap();
    assert_eq!(estimate.patients, f64::from(length - LOST));
}

/// The designs with ledgers throw no recorded outcome away. Requirement S8.
#[test]
fn ledger_designs_count_late_outcomes() {
    for design in ["interim", "uniform"] {
        assert_ne!(late_outcome(design, 0), late_outcome(design, 5), "{design}");
    }
}

/// State holds sums and not the outcomes of patients. Requirement D17.
#[test]
fn state_holds_sums_not_outcomes() {
    // Two patients of one feature on one arm, their outcomes exchanged: the bytes cannot tell.
    for design in DESIGNS {
        let run = |outcomes: [u16; 2]| {
            let mut chance = Scripted(vec![true; 9]);
            let mut trial = Small::new(plan(&format!(
                "design={design} features=3 patients=40 epsilon=1 scale=1000"
            )))
            .unwrap();
            trial.assign(0, None, &mut chance).unwrap();
            trial.outcome(1, 1, &mut chance).unwrap();
            for (k, y) in [2, 3].into_iter().zip(outcomes) {
                assert_eq!(trial.assign(0, None, &mut chance), Ok(Arm::One));
                trial.outcome(k, y, &mut chance).unwrap();
            }
            bytes(&trial)
        };
        assert_eq!(run([123, 877]), run([877, 123]));
        assert_ne!(run([123, 877]), run([123, 876]), "sums are kept");
    }
}

/// A trial read back from its bytes goes on as if it had never been stored.
#[test]
fn decoded_trial_goes_on_unchanged() {
    for design in DESIGNS {
        for stop in [0, 1, 7, 50, 51, 52, 99] {
            let text =
                format!("design={design} features=3 patients=100 epsilon=2 scale=3 reports=2");
            let mut chance = Generator::seed_from_u64(stop);
            let mut world = Xoshiro256PlusPlus::seed_from_u64(stop);
            let mut trial = Small::new(plan(&text)).unwrap();
            let step = |trial: &mut Small, chance: &mut Generator, word: u64| {
                let arm = trial.assign((word % 3) as u8, Some(word as u32), chance).unwrap();
                // Most outcomes at once, some late.
                let patient = if word & 64 == 0 {
                    trial.assigned()
                } else {
                    trial.assigned().saturating_sub(3).max(1)
                };
                trial.outcome(patient, (word >> 32 & 3) as u16, chance).unwrap();
                if trial.unresolved() > 10 {
                    (1..=trial.assigned()).for_each(|k| trial.lost(k, chance).unwrap());
                }
                arm
            };
            for _ in 0..stop {
                step(&mut trial, &mut chance, world.next_u64());
            }
            let mut again = Small::decode(&bytes(&trial)).unwrap();
            assert_eq!(bytes(&again), bytes(&trial));
            assert_eq!(again.unresolved(), trial.unresolved());
            assert_eq!(again.next_look(), trial.next_look());
            let (mut one, mut two) =
                (Generator::seed_from_u64(stop + 100), Generator::seed_from_u64(stop + 100));
            for _ in stop..100 {
                let word = world.next_u64();
                assert_eq!(step(&mut trial, &mut one, word), step(&mut again, &mut two, word));
            }
            trial.close(&mut one);
            again.close(&mut two);
            assert_eq!(bytes(&again), bytes(&trial), "{design} from {stop}");
            (0..3).for_each(|j| assert_eq!(again.estimate(j), trial.estimate(j)));
        }
    }
}

#[test]
fn every_part_that_changed_is_named() {
    // A trial rebuilt from what was stored, which is the dirty parts alone, must give the same
    // bytes after every step.
    for design in DESIGNS {
        let text = plan(&format!("design={design} features=4 patients=600 epsilon=1 reports=1"));
        let mut chance = Generator::seed_from_u64(6);
        let mut world = Xoshiro256PlusPlus::seed_from_u64(6);
        let mut trial = Small::new(text).unwrap();
        trial.take_dirty();
        let encoded = |trial: &Small, part| {
            let mut out = [0; equipoise::trial::stored::MAX_PART_BYTES];
            let length = trial.encode_part(part, &mut out);
            assert_eq!(length, trial.length(part));
            out[..length].to_vec()
        };
        let mut stored: Vec<(Part, Vec<u8>)> =
            Small::parts().map(|part| (part, encoded(&trial, part))).collect();
        let mut follow = |trial: &mut Small| {
            let dirty = trial.take_dirty();
            let mut copy = Small::new(text).unwrap();
            for (part, value) in &mut stored {
                if names(dirty, *part) {
                    *value = encoded(trial, *part);
                }
                copy.decode_part(*part, value).unwrap();
            }
            copy.recount();
            assert!(bytes(&copy) == bytes(trial), "a change was not named");
        };
        for _ in 0..600 {
            let word = world.next_u64();
            trial.look(&mut chance);
            follow(&mut trial);
            trial.assign((word % 4) as u8, Some(9), &mut chance).unwrap();
            follow(&mut trial);
            let k = trial.assigned().saturating_sub((word >> 8 & 7) as u32).max(1);
            if word & 1 << 40 == 0 {
                trial.outcome(k, (word >> 50 & 1) as u16, &mut chance).unwrap();
            } else {
                trial.lost(k, &mut chance).unwrap();
            }
            follow(&mut trial);
            if trial.unresolved() > 12 {
                for k in 1..=trial.assigned() {
                    trial.lost(k, &mut chance).unwrap();
                    follow(&mut trial);
                }
            }
        }
        trial.close(&mut chance);
        follow(&mut trial);
    }
}

/// Counts of kits that cannot be those of the plan are refused when a state is taken back.
#[test]
fn impossible_counts_of_kits_are_refused() {
    let mut trial = Small::new(plan("features=2 patients=30 epsilon=1 kits=40")).unwrap();
    for _ in 0..3 {
        trial.assign(0, None, &mut Generator::seed_from_u64(1)).unwrap();
    }
    // Behind the version, the plan and 12 bytes of progress: kits of arm 1, replacements.
    let [ones, replaced] = [0, 4].map(|at| 1 + PLAN_BYTES + 12 + at);
    let read = |at: usize, count: u8| {
        let mut state = bytes(&trial);
        state[at] = count;
        Small::decode(&state).is_some()
    };
    assert!(read(ones, 3) && !read(ones, 4), "three kits were given");
    assert!(read(replaced, 10) && !read(replaced, 11), "ten kits are in reserve");
}

/// Damaged memory is found before an outcome, a loss or a patient changes anything.
#[test]
fn damage_is_found_before_a_change() {
    for design in DESIGNS {
        let mut chance = Generator::seed_from_u64(1);
        let text = format!("design={design} features=2 patients=20 epsilon=1");
        let mut trial = Small::new(plan(&text)).unwrap();
        trial.assign(1, None, &mut chance).unwrap();
        assert!(trial.is_sound(), "{design}");
        trial.damage(1);
        assert!(!trial.is_sound(), "{design}");
        assert_eq!(trial.outcome(1, 1, &mut chance), Err(TrialError::Fault));
        assert_eq!(trial.lost(1, &mut chance), Err(TrialError::Fault));
        assert_eq!(trial.assign(1, None, &mut chance), Err(TrialError::Fault));
        assert_eq!((trial.assigned(), trial.unresolved()), (1, 1), "{design}");
    }
}

/// A patient who does not wait gets no other kit, and none is counted.
#[test]
fn resolved_patient_gets_no_replacement() {
    let mut chance = Generator::seed_from_u64(1);
    let mut trial = Small::new(plan("features=2 patients=30 epsilon=1 kits=40")).unwrap();
    for k in 1..=2 {
        trial.assign(0, None, &mut chance).unwrap();
        assert_eq!(trial.replace(k, Arm::One, 7), Ok(()), "patient {k} waits");
    }
    trial.outcome(1, 1, &mut chance).unwrap();
    trial.take_dirty();
    for k in [0, 1, 3] {
        assert_eq!(trial.replace(k, Arm::One, 7), Err(NoKit::Resolved), "patient {k}");
    }
    assert_eq!(trial.replaced(), 2);
    assert!(trial.take_dirty().is_empty());
}

/// Every error message says what happened.
#[test]
fn messages_differ() {
    use TrialError::{Capacity, Closed, Complete, Fault, Feature, Full, Range, Unknown};
    let errors = [Capacity, Feature, Full, Complete, Closed, Unknown, Range, Fault];
    let kits = [NoKit::Open, NoKit::Resolved, NoKit::Most, NoKit::Reserve].into_iter().chain([
        NoKit::Closed,
        NoKit::Unknown,
        NoKit::Order(1),
        NoKit::Order(2),
    ]);
    let messages = errors.map(|error| error.to_string()).into_iter();
    let messages: Vec<_> = messages.chain(kits.map(|no| no.to_string())).collect();
    let different: std::collections::HashSet<_> = messages.iter().collect();
    assert_eq!(different.len(), messages.len());
    assert!(messages.iter().all(|message| message.len() > 10), "{messages:?}");
}

/// A new trial must be stored whole: every slot, and both parts of every feature there is room for.
#[test]
fn new_trial_is_dirty_throughout() {
    let mut trial = Small::new(plan("features=2 patients=30 epsilon=1")).unwrap();
    let dirty: Vec<Part> = trial.take_dirty().collect();
    let features = (0..8).flat_map(|j| [Part::Tally(j), Part::Ledger(j)]);
    let all: Vec<Part> =
        features.chain((0..16).map(Part::Waiting)).chain([Part::Progress]).collect();
    assert_eq!(dirty.len(), all.len());
    assert!(all.iter().all(|part| dirty.contains(part)), "{dirty:?}");
    assert!(trial.take_dirty().is_empty());
    assert!(trial.ledger(1).is_some() && trial.ledger(2).is_none(), "the plan has two features");
}

/// The paper's designs draw no noise ahead of need; the others draw it for every feature.
#[test]
fn noise_is_drawn_ahead_for_looks_alone() {
    for (design, features) in [("conse", 0), ("dp-conse", 0), ("interim", 3), ("uniform", 3)] {
        let text = format!("design={design} features=3 patients=300 epsilon=1");
        let mut trial = Small::new(plan(&text)).unwrap();
        let mut chance = Generator::seed_from_u64(1);
        let drawn = (0..10).take_while(|_| trial.draw_ahead(&mut chance)).count();
        assert_eq!(drawn, features, "{design}");
    }
}

#[test]
fn arms_are_shown_by_their_numbers() {
    assert_eq!(Arm::BOTH.map(|arm| arm.to_string()), ["0", "1"]);
}

/// A state that is taken back has the noise that was drawn ahead: before half in the windows of the
/// first coin, after it in those of the coin that a settled feature throws.
#[test]
fn noise_drawn_ahead_is_kept() {
    for patients in [5, 80] {
        let mut chance = Generator::seed_from_u64(3);
        let mut trial = Small::new(plan("features=2 patients=120 epsilon=8")).unwrap();
        for patient in 1..=patients {
            let arm = trial.assign((patient % 2) as u8, None, &mut chance).unwrap();
            trial.outcome(patient, arm.index() as u16, &mut chance).unwrap();
        }
        trial.look(&mut chance);
        assert_eq!(trial.ledger(0).unwrap().settled, patients > 60);
        assert!((0..99).any(|_| !trial.draw_ahead(&mut chance)), "there is always more to draw");
        let mut read = Small::decode(&bytes(&trial)).unwrap();
        assert!(!read.draw_ahead(&mut chance), "after {patients} patients");
    }
}
