//! What the device promises at its serial line: every error of the protocol, exactly once, the custodian's rights, the
//! lifetime budget, signed reports, and what happens when flash or entropy fail.

mod desk;

use std::cell::Cell;
use std::rc::Rc;

use desk::{Desk, Flash, KEY, PLAN, sealed};
use equipoise::device::custody::{Key, ReportMac};
use equipoise::device::health::{Entropy, RESEED_SAMPLES, Repeatable, START_SAMPLES};
use equipoise::plan::Plan;
use equipoise::testkit::strict_flash::Tear;
use equipoise::wire::{Reply, Request, Row};

/// A source that is good for so many samples and then gives zeros.
struct Dying(Repeatable, u32);

impl Entropy for Dying {
    fn sample(&mut self) -> Option<u8> {
        self.1 = self.1.saturating_sub(1);
        if self.1 == 0 { Some(0) } else { self.0.sample() }
    }
}

/// A source that counts what is taken from it.
struct Counting(Repeatable, Rc<Cell<usize>>);

impl Entropy for Counting {
    fn sample(&mut self) -> Option<u8> {
        self.1.set(self.1.get() + 1);
        self.0.sample()
    }
}

fn wrong_answer() -> String {
    Request::Answer([0; 32]).to_string()
}

// Every word of the protocol's table of errors.

#[test]
fn checksum_answers_a_wrong_one_and_a_missing_one_once_a_program_holds_the_line() {
    let mut desk = Desk::blank(1);
    assert_eq!(desk.ask_plain("HELLO*0000"), "ERR checksum got=0000 expected=49D6");
    assert_eq!(desk.ask_plain("STATUS"), "ERR blank", "a person may leave it out");
    assert_eq!(desk.ask("HELLO"), "HELLO equipoise 1 0.1.0 blank");
    assert_eq!(desk.ask_plain("STATUS"), "ERR checksum got=none expected=2DAA");
}

#[test]
fn a_device_that_has_seen_a_tag_wants_checksums_also_after_power_up() {
    let mut desk = Desk::running(1, PLAN);
    let untagged = desk.ask("ASSIGN 1 0");
    assert!(untagged.starts_with("ARM 1 "));
    let mut desk = desk.power_up(2);
    assert!(desk.ask_plain("STATUS").starts_with("STATUS "));
    assert!(desk.assign(2, 0).starts_with("ARM 2 "));
    let mut desk = desk.power_up(3);
    assert_eq!(desk.ask_plain("ASSIGN 3 0"), "ERR checksum got=none expected=CFAB");
}

#[test]
fn syntax_names_the_word_and_what_was_allowed() {
    let mut desk = Desk::blank(1);
    desk.dialogue(&[
        ("OUTCOME 1 x", "ERR syntax got=x allowed OUTCOME <k> <y>"),
        (
            "hello",
            "ERR syntax got=hello allowed HELLO STATUS ASSIGN OUTCOME LOST REPORT AUTH KEY PLAN CLOSE ERASE",
        ),
    ]);
}

#[test]
fn length_answers_a_line_of_more_than_120_characters() {
    let mut desk = Desk::blank(1);
    assert_eq!(desk.ask_plain(&"x".repeat(121)), "ERR length allowed 120");
    assert!(desk.ask_plain(&"x".repeat(120)).starts_with("ERR syntax"));
}

#[test]
fn order_answers_every_number_but_the_next_and_the_last_with_its_tag() {
    let mut desk = Desk::running(1, PLAN);
    desk.dialogue(&[("ASSIGN 0 0", "ERR order expected=1"), ("ASSIGN 2 0", "ERR order expected=1")]);
    assert!(desk.assign(1, 0).starts_with("ARM 1 "));
    assert!(desk.assign(2, 0).starts_with("ARM 2 "));
    desk.dialogue(&[
        ("ASSIGN 1 0 00000001", "ERR order expected=3"),
        ("ASSIGN 2 0", "ERR order expected=3"),
        ("ASSIGN 2 0 00000003", "ERR order expected=3"),
        ("ASSIGN 4294967295 0 00000003", "ERR order expected=3"),
    ]);
}

#[test]
fn feature_answers_one_that_the_plan_does_not_have() {
    let mut desk = Desk::running(1, PLAN);
    desk.dialogue(&[
        ("ASSIGN 1 3", "ERR feature got=3 allowed 0..3"),
        ("ASSIGN 1 256", "ERR feature got=256 allowed 0..3"),
        ("ASSIGN 1 4294967295", "ERR feature got=4294967295 allowed 0..3"),
    ]);
    assert!(desk.assign(1, 2).starts_with("ARM 1 "), "nothing has changed");
}

#[test]
fn range_answers_an_outcome_above_the_scale_and_a_plan_that_cannot_be() {
    let mut desk = Desk::blank(1);
    desk.ask(&Request::Key(KEY).to_string());
    desk.dialogue(&[
        ("PLAN features=0 patients=20 epsilon=1", "ERR range features=0 allowed 1..=64"),
        ("PLAN features=5 patients=20 epsilon=1", "ERR range features=5 allowed 1..=4 on this device"),
        (
            "PLAN design=conse features=1 patients=20 epsilon=1",
            "ERR range design=conse allowed dp-conse interim on a device",
        ),
    ]);
    assert!(desk.ask("PLAN features=4 patients=20 epsilon=1 scale=7").starts_with("OK trial="));
    desk.assign(1, 0);
    desk.dialogue(&[
        ("OUTCOME 1 8", "ERR range y=8 allowed 0..=7"),
        ("OUTCOME 1 65544", "ERR range y=65544 allowed 0..=7"),
        ("OUTCOME 1 7", "OK 1"),
    ]);
}

#[test]
fn unknown_answers_for_patients_who_are_not_there() {
    let mut desk = Desk::running(1, PLAN);
    desk.assign(1, 0);
    desk.dialogue(&[
        ("OUTCOME 0 1", "ERR unknown patient=0 allowed 1..=1"),
        ("OUTCOME 2 1", "ERR unknown patient=2 allowed 1..=1"),
        ("LOST 2", "ERR unknown patient=2 allowed 1..=1"),
    ]);
}

#[test]
fn full_answers_when_too_many_wait_and_when_everyone_is_in() {
    let mut desk = Desk::running(1, "PLAN features=3 patients=9 epsilon=1");
    for patient in 1..=8 {
        assert!(desk.assign(patient, 0).starts_with("ARM "));
    }
    assert_eq!(desk.assign(9, 0), "ERR full waiting=8 send OUTCOME or LOST first");
    assert_eq!(desk.ask("LOST 3"), "OK 3");
    let arm = desk.assign(9, 0);
    assert!(arm.starts_with("ARM 9 "));
    assert_eq!(desk.assign(10, 0), "ERR full patients=9");
    assert_eq!(desk.assign(9, 0), arm);
}

#[test]
fn early_answers_a_report_before_there_is_an_estimate() {
    let mut desk = Desk::running(1, PLAN);
    assert_eq!(desk.ask("REPORT"), "ERR early no estimate yet");
}

#[test]
fn closed_answers_a_patient_after_the_close() {
    let mut desk = Desk::running(1, PLAN);
    let arm = desk.assign(1, 0);
    desk.auth();
    desk.dialogue(&[
        ("CLOSE", "OK"),
        ("ASSIGN 2 0", "ERR closed"),
        ("CLOSE", "OK"),
        ("HELLO", "HELLO equipoise 1 0.1.0 closed"),
        // Both may be repeats of what was carried out before the close.
        ("OUTCOME 1 1", "OK 1"),
        ("ASSIGN 1 0 00000001", &arm),
    ]);
}

#[test]
fn blank_answers_whatever_needs_a_trial() {
    let mut desk = Desk::blank(1);
    for line in ["STATUS", "ASSIGN 1 0", "OUTCOME 1 1", "LOST 1", "REPORT", "CLOSE"] {
        assert_eq!(desk.ask(line), "ERR blank", "{line}");
    }
    assert_eq!(desk.ask("ERASE"), "OK", "there is nothing to erase");
}

#[test]
fn locked_answers_a_second_plan_and_the_custodian_after_three_wrong_answers() {
    let mut desk = Desk::running(1, PLAN);
    assert_eq!(desk.ask("PLAN features=1 patients=20 epsilon=1"), "ERR locked trial until=ERASE");
    for _ in 0..3 {
        desk.challenge();
        assert_eq!(desk.ask(&wrong_answer()), "ERR auth wrong answer");
    }
    for line in ["AUTH", "CLOSE", "ERASE", &wrong_answer(), &Request::Key([1; 32]).to_string()] {
        assert_eq!(desk.ask(line), "ERR locked wrong answers until=power-up", "{line}");
    }
    assert!(desk.assign(1, 0).starts_with("ARM 1 "), "patients are not locked out");
    let mut desk = desk.power_up(2);
    desk.auth();
    assert_eq!(desk.ask("CLOSE"), "OK");
}

#[test]
fn auth_answers_custodian_commands_without_one() {
    let mut desk = Desk::blank(1);
    desk.dialogue(&[("AUTH", "ERR auth no key yet, send KEY"), (PLAN, "ERR auth no key yet, send KEY")]);
    desk.provision(PLAN);
    for line in ["CLOSE", "ERASE", &Request::Key([1; 32]).to_string()] {
        assert_eq!(desk.ask(line), "ERR auth send AUTH and its answer first", "{line}");
    }
    assert_eq!(desk.ask(&wrong_answer()), "ERR auth no nonce, send AUTH");
}

#[test]
fn budget_answers_a_plan_beyond_the_lifetime_budget_and_survives_erase_and_power_loss() {
    let mut desk = Desk::running(1, "PLAN features=1 patients=4 epsilon=20");
    for spent in [20, 40, 60, 80] {
        desk.auth();
        assert_eq!(desk.ask("ERASE"), "OK");
        desk = desk.power_up(spent);
        assert_eq!(
            desk.ask("PLAN features=1 patients=4 epsilon=20"),
            "ERR auth send AUTH and its answer first"
        );
        desk.auth();
        if spent < 80 {
            assert!(desk.ask("PLAN features=1 patients=4 epsilon=20").starts_with("OK trial="));
        }
    }
    assert!(desk.ask("PLAN features=1 patients=4 epsilon=59/3").starts_with("OK trial="));
    desk.auth();
    desk.dialogue(&[("ERASE", "OK")]);
    desk.auth();
    // 100 - 80 - 59/3 = 1/3, rounded down because what was spent is rounded up.
    desk.dialogue(&[("PLAN features=1 patients=4 epsilon=1/3", "ERR budget epsilon=1/3 left=0.333333")]);
    assert!(desk.ask("PLAN features=1 patients=4 epsilon=333333/1000000").starts_with("OK trial="));
}

#[test]
fn storage_answers_everything_but_hello_once_the_flash_has_failed_and_power_up_helps() {
    for (seed, tear) in [Tear::None, Tear::All, Tear::Alternating].into_iter().enumerate() {
        storage_fails(seed as u64, tear);
    }
}

fn storage_fails(seed: u64, tear: Tear) {
    let mut desk = Desk::running(seed, PLAN);
    let arm = desk.assign(1, 0);
    desk.flash.0.borrow_mut().cut_after(0, tear);
    assert_eq!(desk.assign(2, 0), "ERR storage until=power-up");
    desk.flash.0.borrow_mut().power_up();
    for line in
        ["STATUS", "ASSIGN 1 0 00000001", "OUTCOME 1 1", "LOST 1", "REPORT", "AUTH", PLAN, "CLOSE", "ERASE"]
    {
        assert_eq!(desk.ask(line), "ERR storage until=power-up", "{line}");
    }
    assert_eq!(desk.ask("HELLO"), "HELLO equipoise 1 0.1.0 fault");
    let mut desk = desk.power_up(2);
    assert_eq!(desk.assign(1, 0), arm);
    let next = desk.assign(2, 0);
    assert!(next.starts_with("ARM 2 "), "{next} {:?}", desk.flash.0.borrow().misuse());
}

#[test]
fn a_flash_that_makes_no_sense_is_a_fault_and_is_left_as_it_is() {
    let flash = Flash::new();
    flash.0.borrow_mut().damage(0, 0x1234);
    flash.0.borrow_mut().damage(3 * 1024, 0x5678);
    let before = flash.0.borrow().bytes();
    let mut desk = Desk::<_>::on(flash, Repeatable::new(1));
    desk.dialogue(&[
        ("HELLO", "HELLO equipoise 1 0.1.0 fault"),
        ("ASSIGN 1 0", "ERR storage until=power-up"),
        (&Request::Key(KEY).to_string(), "ERR storage until=power-up"),
    ]);
    desk.settle();
    assert!(desk.flash.0.borrow().bytes() == before);
}

#[test]
fn entropy_answers_every_new_patient_after_the_source_has_failed() {
    let mut desk = Desk::<_>::on(Flash::new(), Dying(Repeatable::new(1), 1024 + 4));
    desk.provision(PLAN);
    let mut assigned = 0;
    let mut last = String::new();
    let refusal = loop {
        match desk.assign(assigned + 1, 0) {
            arm if arm.starts_with("ARM ") => (assigned, last) = (assigned + 1, arm),
            refusal => break refusal,
        }
        assert!(assigned < 8 + 4, "a stuck source gives at most eight samples");
        assert_eq!(desk.ask(&format!("LOST {assigned}")), format!("OK {assigned}"));
    };
    assert_eq!(refusal, "ERR entropy health test failed");
    assert_eq!(desk.assign(assigned + 1, 0), refusal, "for good");
    assert_eq!(desk.assign(assigned, 0), last, "a repeat needs no chance");
    desk.auth();
    assert_eq!(desk.ask("CLOSE"), "OK");
}

#[test]
fn a_source_dead_at_power_up_leaves_hello_and_status() {
    let mut desk = Desk::running(1, PLAN);
    let arm = desk.assign(1, 0);
    let mut dead = Desk::<_>::on(desk.flash.clone(), Dying(Repeatable::new(1), 100));
    let status = "STATUS design=interim n=20 assigned=1 unresolved=1 phase=explore looks=0 next-look=10";
    dead.dialogue(&[("HELLO", "HELLO equipoise 1 0.1.0 running"), ("STATUS", status)]);
    for line in ["ASSIGN 2 0", "OUTCOME 1 1", "LOST 1", "REPORT", "AUTH", "CLOSE", "ERASE"] {
        assert_eq!(dead.ask(line), "ERR entropy health test failed", "{line}");
    }
    dead.settle();
    assert_eq!(desk.power_up(2).assign(1, 0), arm);
}

// Exactly once.

#[test]
fn a_repeated_assign_gives_the_stored_arm_whatever_its_feature_also_after_power_loss() {
    let mut desk = Desk::running(1, PLAN);
    for patient in 1..=8 {
        let arm = desk.assign(patient, 0);
        for feature in [0, 1, 2, 3, 99] {
            assert_eq!(desk.assign(patient, feature), arm);
        }
        desk = desk.power_up(patient.into());
        assert_eq!(desk.assign(patient, 1), arm);
    }
    assert!(desk.ask("STATUS").contains("assigned=8 unresolved=8"));
}

#[test]
fn a_device_switched_off_after_every_request_goes_on_and_on() {
    let mut desk = Desk::running(1, "PLAN features=3 patients=200 epsilon=1");
    for patient in 1..=200 {
        assert!(desk.assign(patient, patient % 3).starts_with("ARM "), "{patient}");
        desk = desk.power_up(patient.into());
        assert_eq!(desk.ask(&format!("OUTCOME {patient} 1")), format!("OK {patient}"));
        desk = desk.power_up(patient.into());
    }
    assert!(desk.ask("REPORT").contains("END 3 "));
}

#[test]
fn an_error_changes_nothing_on_flash() {
    let mut desk = Desk::running(1, PLAN);
    desk.assign(1, 0);
    desk.settle();
    let before = desk.flash.0.borrow().operations();
    for line in [
        "ASSIGN 1 0",
        "ASSIGN 3 0",
        "ASSIGN 2 3",
        "OUTCOME 1 2",
        "OUTCOME 2 1",
        "LOST 0",
        "REPORT",
        "CLOSE",
        "ERASE",
        "nonsense",
        "PLAN features=1 patients=9 epsilon=1",
        "HELLO",
        "STATUS",
        "AUTH",
        &wrong_answer(),
        &Request::Key([1; 32]).to_string(),
    ] {
        desk.ask(line);
    }
    desk.ask_plain("ASSIGN 2 0*0000");
    desk.ask_plain(&"x".repeat(500));
    assert_eq!(desk.flash.0.borrow().operations(), before);
}

#[test]
fn custodian_commands_can_be_repeated() {
    let mut desk = Desk::blank(1);
    let key = Request::Key(KEY).to_string();
    desk.dialogue(&[(&key, "OK"), (&key, "OK")]);
    let planned = desk.ask(PLAN);
    assert_eq!(desk.ask(PLAN), planned);
    assert_eq!(
        desk.ask(&key),
        "ERR auth send AUTH and its answer first",
        "a repeat only right behind the first"
    );
    let answer = Request::Answer(Key::new(KEY).answer(&desk.challenge())).to_string();
    desk.dialogue(&[(&answer, "OK"), (&answer, "OK"), ("CLOSE", "OK"), ("CLOSE", "OK")]);
    assert_eq!(desk.ask(PLAN), planned, "still no patient");
    assert_eq!(desk.ask(&answer), "ERR auth no nonce, send AUTH");
    desk.auth();
    desk.dialogue(&[("ERASE", "OK"), ("ERASE", "OK")]);
}

#[test]
fn a_plan_is_not_repeated_once_a_patient_is_in() {
    let mut desk = Desk::running(1, PLAN);
    desk.assign(1, 0);
    assert_eq!(desk.ask(PLAN), "ERR locked trial until=ERASE");
}

// The custodian.

#[test]
fn one_auth_opens_one_command_and_a_nonce_serves_once() {
    let mut desk = Desk::running(1, PLAN);
    let nonce = desk.challenge();
    let answer = Request::Answer(Key::new(KEY).answer(&nonce)).to_string();
    desk.dialogue(&[(&answer, "OK"), ("HELLO", "HELLO equipoise 1 0.1.0 running"), ("CLOSE", "OK")]);
    desk.dialogue(&[
        ("ERASE", "ERR auth send AUTH and its answer first"),
        (&answer, "ERR auth no nonce, send AUTH"),
    ]);
    assert_ne!(desk.challenge(), nonce);
    assert_eq!(desk.ask(&answer), "ERR auth wrong answer", "the answer to an older nonce");
    assert_eq!(desk.ask(&answer), "ERR auth no nonce, send AUTH", "a wrong answer uses the nonce up");
}

#[test]
fn a_refused_command_leaves_the_door_open_and_a_wrong_answer_shuts_it() {
    let mut desk = Desk::running(1, PLAN);
    desk.auth();
    desk.dialogue(&[
        ("PLAN features=1 patients=9 epsilon=1", "ERR locked trial until=ERASE"),
        ("ERASE", "OK"),
    ]);
    desk.auth();
    desk.dialogue(&[
        (&wrong_answer(), "ERR auth wrong answer"),
        (PLAN, "ERR auth send AUTH and its answer first"),
    ]);
}

#[test]
fn a_new_key_replaces_the_old_one_for_good() {
    let mut desk = Desk::running(1, PLAN);
    desk.auth();
    assert_eq!(desk.ask(&Request::Key([7; 32]).to_string()), "OK");
    desk.settle();
    let flash = desk.flash.0.borrow().bytes();
    assert!(!flash.windows(32).any(|bytes| bytes == KEY), "the old key is wiped");
    assert!(flash.windows(32).any(|bytes| bytes == [7; 32]));
    let mut desk = desk.power_up(2);
    let nonce = desk.challenge();
    assert_eq!(desk.ask(&Request::Answer(Key::new(KEY).answer(&nonce)).to_string()), "ERR auth wrong answer");
    let nonce = desk.challenge();
    assert_eq!(desk.ask(&Request::Answer(Key::new([7; 32]).answer(&nonce)).to_string()), "OK");
}

#[test]
fn a_guess_at_the_key_is_answered_once_and_then_no_more() {
    let mut desk = Desk::blank(1);
    desk.ask(&Request::Key(KEY).to_string());
    assert!(desk.ask(&Request::Key([1; 32]).to_string()).starts_with("ERR auth"));
    assert!(desk.ask(&Request::Key(KEY).to_string()).starts_with("ERR auth"));
}

// Reports.

/// Runs a trial to its end; the report's lines.
fn finished(desk: &mut Desk) -> Vec<String> {
    for patient in 1..=20 {
        assert!(desk.assign(patient, patient % 3).starts_with("ARM "));
        assert_eq!(desk.ask(&format!("OUTCOME {patient} {}", patient % 2)), format!("OK {patient}"));
    }
    assert!(desk.ask("STATUS").contains("phase=closed"));
    desk.ask("REPORT").lines().map(str::to_string).collect()
}

/// Does the MAC fit the rows, the trial and the plan?
fn verifies(report: &[String], plan: &str) -> bool {
    let mut mac = None;
    let mut rows = Vec::<Row>::new();
    for line in report {
        match Reply::parse(sealed(line).as_bytes()).unwrap() {
            Reply::Row(row) => rows.push(row),
            Reply::End { rows, mac: told, trial } => mac = Some((rows, told, trial)),
            other => panic!("{other:?}"),
        }
    }
    let (count, told, trial) = mac.unwrap();
    let plan = Plan::parse(plan.strip_prefix("PLAN ").unwrap()).unwrap();
    let mut mac = ReportMac::new(&Key::new(KEY).report_key(), trial, &plan);
    rows.iter().for_each(|row| mac.row(row));
    mac.finish(count) == told && usize::from(count) == rows.len()
}

#[test]
fn a_report_is_signed_and_no_row_can_be_changed_left_out_or_moved_to_another_trial() {
    let mut desk = Desk::running(1, PLAN);
    let report = finished(&mut desk);
    assert_eq!(report.len(), 4);
    assert!(verifies(&report, PLAN));
    assert_eq!(desk.ask("REPORT").lines().collect::<Vec<_>>(), report, "and is the same every time");
    let mut changed = report.clone();
    changed[0] = changed[0].replacen("ROW 0", "ROW 1", 1);
    assert!(!verifies(&changed, PLAN));
    assert!(!verifies(&report[1..], PLAN));
    assert!(!verifies(&report, "PLAN features=3 patients=20 epsilon=2"));
    desk.auth();
    desk.ask("ERASE");
    desk.auth();
    desk.ask(PLAN);
    let mut second = finished(&mut desk);
    assert!(verifies(&second, PLAN));
    second[..3].clone_from_slice(&report[..3]);
    assert!(!verifies(&second, PLAN), "the same plan, another trial");
}

#[test]
fn a_trial_closed_in_its_first_half_reports_no_rows() {
    let mut desk = Desk::running(1, PLAN);
    desk.assign(1, 0);
    desk.auth();
    desk.ask("CLOSE");
    let report = desk.ask("REPORT");
    assert!(report.starts_with("END 0 "), "{report}");
    assert!(verifies(&[report], PLAN));
}

#[test]
fn a_dp_conse_trial_says_that_its_bound_is_unproven() {
    let mut desk = Desk::blank(1);
    desk.ask(&Request::Key(KEY).to_string());
    let planned = desk.ask("PLAN design=dp-conse features=3 patients=20 epsilon=1");
    assert!(planned.starts_with("OK trial=") && planned.ends_with(" claim=unproven"), "{planned}");
    for patient in 1..=8 {
        assert!(desk.assign(patient, patient % 3).starts_with("ARM "));
    }
    let status = "STATUS design=dp-conse n=20 assigned=8 unresolved=8 phase=explore looks=0 next-look=none";
    assert_eq!(desk.ask("STATUS"), status);
}

// Looks and idle time.

#[test]
fn what_is_sent_does_not_depend_on_how_long_the_line_was_idle() {
    let transcript = |rests: fn(u32) -> usize| {
        let mut desk = Desk::running(9, "PLAN features=3 patients=60 epsilon=1 reports=2");
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

#[test]
fn the_noise_is_drawn_and_the_look_done_before_the_next_request() {
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

#[test]
fn every_patient_costs_one_sample_and_every_look_a_new_seed() {
    let taken = Rc::new(Cell::new(0));
    let mut desk = Desk::<_>::on(Flash::new(), Counting(Repeatable::new(1), Rc::clone(&taken)));
    desk.provision(PLAN);
    assert_eq!(taken.get(), START_SAMPLES);
    for patient in 1..=20 {
        desk.assign(patient, 0);
        desk.assign(patient, 0);
        desk.ask(&format!("OUTCOME {patient} 1"));
        desk.settle();
        let looks = usize::from(patient >= 10) + usize::from(patient == 20);
        assert_eq!(taken.get(), START_SAMPLES + patient as usize + looks * RESEED_SAMPLES, "{patient}");
    }
}

#[test]
fn an_outcome_and_a_loss_cost_the_same_flash_work() {
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
    desk.auth();
    desk.ask("ERASE");
    assert_eq!(desk.flash.0.borrow().misuse(), None);
}
