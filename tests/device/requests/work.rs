//! The work between requests: noise, looks, samples and flash.

use super::reports::finished;
use super::*;

// Looks and idle time.

/// Replies do not depend on how long the line was idle.
#[test]
fn idle_time_changes_no_reply() {
    let transcript = |rests: fn(u32) -> usize| {
        let mut desk =
            Desk::running(9, "PLAN features=3 patients=60 epsilon=1 reports=2 close=auto");
        let mut sent = Vec::new();
        for patient in 1..=60 {
            for line in [
                format!("ASSIGN {patient} {} 0000000a", patient % 3),
                format!("OUTCOME {patient} 1"),
                "STATUS".to_string(),
            ] {
                sent.push(desk.ask(&line));
                (0..rests(patient)).for_each(|_| {
                    desk.device.rest();
                });
            }
        }
        sent.push(desk.ask("REPORT"));
        sent
    };
    let hasty = transcript(|_| 0);
    assert!(hasty.iter().any(|line| line.contains("phase=closed")));
    assert_eq!(transcript(|_| 100), hasty);
    assert_eq!(transcript(|patient| patient as usize % 3), hasty);
}

/// The noise is drawn and the look done before the next request.
#[test]
fn rest_draws_noise_and_looks() {
    use equipoise::device::Rest;
    let mut desk = Desk::running(1, "PLAN features=3 patients=4 epsilon=1");
    let drawn = (0..4).map(|_| desk.device.rest()).filter(|rest| *rest == Rest::Drew).count();
    assert_eq!(drawn, 3, "one step a feature");
    desk.assign(1, 0);
    desk.assign(2, 1);
    desk.ask("OUTCOME 1 1");
    desk.ask("LOST 2");
    assert_eq!(desk.device.rest(), Rest::Looked);
    assert!(desk.ask("STATUS").contains("phase=measure looks=1 next-look=close"));
}

/// Every patient costs one sample and every look a new seed.
#[test]
fn samples_per_patient_and_look() {
    let taken = Rc::new(Cell::new(0));
    let mut desk = Desk::<_>::on(Flash::new(), Counting(Repeatable::new(1), Rc::clone(&taken)));
    desk.provision(PLAN);
    assert_eq!(taken.get(), START_SAMPLES);
    for patient in 1..=20 {
        desk.assign(patient, 0);
        desk.assign(patient, 0);
        desk.ask(&format!("OUTCOME {patient} 1"));
        desk.run_until_idle();
        let looks = usize::from(patient >= 10);
        assert_eq!(
            taken.get(),
            START_SAMPLES + patient as usize + looks * RESEED_SAMPLES,
            "{patient}"
        );
    }
}

/// An outcome and a loss cost the same flash work.
#[test]
fn outcome_and_loss_cost_the_same_work() {
    let work = |request: fn(u32) -> String| {
        let mut desk = Desk::running(1, "PLAN features=3 patients=200 epsilon=1");
        let mut operations = Vec::new();
        for patient in 1..=200 {
            desk.assign(patient, patient % 3);
            desk.ask(&request(patient));
            operations.push(desk.flash.0.borrow().operations());
        }
        operations
    };
    let lost = work(|patient| format!("LOST {patient}"));
    assert_eq!(work(|patient| format!("OUTCOME {patient} 1")), lost);
    assert_eq!(work(|patient| format!("OUTCOME {patient} {}", patient % 2)), lost);
}

#[test]
fn the_strict_flash_was_never_misused() {
    let mut desk = Desk::running(1, PLAN);
    finished(&mut desk);
    desk.order("ERASE");
    assert_eq!(desk.flash.0.borrow().misuse(), None);
}
