//! The work between requests: noise, looks, samples and flash.

use super::reports::finished;
use super::*;
use equipoise::board::in_memory::InMemory;
use equipoise::testkit::order;

// Looks and idle time.

/// The lines of a whole trial.
fn lines(patients: u32) -> impl Iterator<Item = String> {
    let day = |patient| {
        [
            format!("ASSIGN {patient} {} 0000000a", patient % 3),
            format!("OUTCOME {patient} 1"),
            "STATUS".to_string(),
        ]
    };
    (1..=patients).flat_map(day).chain(["REPORT".to_string()])
}

/// Replies do not depend on how long the line was idle, and are those of the main loop.
#[test]
fn idle_time_changes_no_reply() {
    const PLAN: &str =
        "PLAN features=3 patients=60 better=high results=open epsilon=1 reports=2 close=auto";
    let transcript = |draws: fn(usize) -> usize| -> Vec<u8> {
        let mut desk = Desk::running(9, PLAN);
        let answer = |(number, line): (usize, String)| {
            let sent = desk.send(sealed(&line).as_bytes());
            (0..draws(number)).for_each(|_| {
                desk.device.draw_ahead();
            });
            sent
        };
        lines(60).enumerate().flat_map(answer).collect()
    };
    let hasty = transcript(|_| 0);
    assert!(String::from_utf8_lossy(&hasty).contains("phase=closed"));
    assert_eq!(transcript(|_| 100), hasty);
    assert_eq!(transcript(|number| number % 3), hasty);
    for pause in [false, true] {
        let mut board = stepped(9, PLAN);
        let mut sent = Vec::new();
        for line in lines(60) {
            board.exchange((sealed(&line) + "\n").as_bytes(), &mut sent);
            if pause {
                board.run_until_idle();
            }
        }
        assert_eq!(sent, hasty, "pause {pause}");
    }
}

/// A board whose main loop is stepped, with a key and a running trial.
fn stepped(seed: u64, plan: &str) -> InMemory<Flash, Repeatable, 4, 8> {
    let mut board = InMemory::asleep(Flash::new(), Repeatable::new(seed), None);
    board.power_up();
    let mut ask = |line: &str| {
        let mut sent = Vec::new();
        board.exchange((sealed(line) + "\n").as_bytes(), &mut sent);
        String::from_utf8(sent).unwrap()
    };
    ask(&Request::Key(KEY).to_string());
    let planned = order(KEY, plan, ask);
    assert!(planned.starts_with("OK trial="), "{planned}");
    board
}

/// After a reply the main loop draws the noise of all features and prepares the kits; it touches no
/// flash, and leaves a look that is due to the next line.
#[test]
fn pauses_work_ahead_without_flash() {
    let mut board =
        stepped(1, "PLAN features=3 patients=4 better=high results=open epsilon=1 kits=20");
    let mut operations = 0;
    let mut ask = |line: &str| {
        let mut sent = Vec::new();
        board.exchange((sealed(line) + "\n").as_bytes(), &mut sent);
        operations = board.device.flash().flash().0.borrow().operations();
        board.run_until_idle();
        assert!(!board.device.draw_ahead() && !board.device.prepare_kits(), "{line}");
        assert_eq!(board.device.flash().flash().0.borrow().operations(), operations, "{line}");
        let due = board.device.is_look_due();
        (String::from_utf8(sent).unwrap(), due)
    };
    for line in ["HELLO", "ASSIGN 1 0 00000001", "ASSIGN 2 1 00000002", "OUTCOME 1 1"] {
        assert!(!ask(line).1, "{line}");
    }
    assert!(ask("LOST 2").1, "a pause leaves the look");
    let (status, due) = ask("STATUS");
    assert!(status.contains("phase=measure looks=1 next-look=close") && !due, "{status}");
}

/// A nonce is void after its seconds have passed in the main loop, and when the terminal hangs up.
#[test]
fn seconds_of_the_loop_void_a_nonce() {
    for (seconds, hangs_up, answer) in [
        (NONCE_SECONDS - 1, false, "OK"),
        (NONCE_SECONDS, false, "ERR auth "),
        (0, true, "ERR auth "),
    ] {
        let mut board = stepped(1, PLAN);
        let mut ask = |line: &str| {
            let mut sent = Vec::new();
            if line.starts_with("CLOSE") {
                board.pass_seconds(seconds.into());
                if hangs_up {
                    board.hang_up();
                }
            }
            board.exchange((sealed(line) + "\n").as_bytes(), &mut sent);
            String::from_utf8(sent).unwrap()
        };
        let closed = order(KEY, "CLOSE", &mut ask);
        assert!(closed.starts_with(answer), "after {seconds} seconds: {closed}");
    }
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
        // A look that is due comes with the next line.
        desk.ask("STATUS");
        let looks = usize::from(patient >= 10);
        assert_eq!(
            taken.get(),
            START_SAMPLES + patient as usize + looks * RESEED_SAMPLES,
            "{patient}"
        );
    }
}

/// An outcome and a loss cost the same flash work. Requirement D21.
#[test]
fn outcome_and_loss_cost_the_same_work() {
    let work = |request: fn(u32) -> String| {
        let mut desk =
            Desk::running(1, "PLAN features=3 patients=200 better=high results=open epsilon=1");
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
