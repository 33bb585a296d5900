//! Every word of the protocol's table of errors.

use super::*;

// Every word of the protocol's table of errors.

/// `checksum` answers a wrong one and a missing one once a program holds the line.
#[test]
fn checksum_answers_wrong_and_missing_ones() {
    let mut desk = Desk::blank(1);
    assert_eq!(desk.ask_plain("HELLO*0000"), "ERR checksum got=0000 expected=49D6");
    assert_eq!(desk.ask_plain("STATUS"), "ERR blank", "a person may leave it out");
    assert_eq!(desk.ask("HELLO"), "HELLO equipoise 3 0.2.0 blank key=none left=100.000000");
    assert_eq!(desk.ask_plain("STATUS"), "ERR checksum got=none expected=2DAA");
}

/// A device that has seen a tag wants checksums also after power up.
#[test]
fn a_tag_makes_checksums_required() {
    let mut desk = Desk::running(1, PLAN);
    let untagged = desk.ask("ASSIGN 1 0");
    assert!(untagged.starts_with("ARM 1 "));
    let mut desk = desk.power_up(2);
    assert!(desk.ask_plain("STATUS").starts_with("STATUS "));
    assert!(desk.assign(2, 0).starts_with("ARM 2 "));
    let mut desk = desk.power_up(3);
    assert_eq!(desk.ask_plain("ASSIGN 3 0"), "ERR checksum got=none expected=CFAB");
}

/// Requirement D7.
#[test]
fn syntax_names_the_word_and_what_was_allowed() {
    let mut desk = Desk::blank(1);
    desk.dialogue(&[
        ("OUTCOME 1 x", "ERR syntax got=x allowed OUTCOME <k> <y>"),
        (
            "hello",
            "ERR syntax got=hello allowed HELLO STATUS ASSIGN REPLACE OUTCOME LOST REPORT PROVE AUTH KEY PLAN CLOSE ERASE",
        ),
    ]);
}

/// `length` answers a line of more than 250 characters.
#[test]
fn length_answers_a_line_that_is_too_long() {
    let mut desk = Desk::blank(1);
    assert_eq!(desk.ask_plain(&"x".repeat(251)), "ERR length allowed 250");
    assert!(desk.ask_plain(&"x".repeat(250)).starts_with("ERR syntax"));
}

/// `order` answers every number but the next and the last with its tag. Requirement D5.
#[test]
fn order_answers_any_other_number() {
    let mut desk = Desk::running(1, PLAN);
    desk.dialogue(&[
        ("ASSIGN 0 0", "ERR order expected=1"),
        ("ASSIGN 2 0", "ERR order expected=1"),
    ]);
    assert!(desk.assign(1, 0).starts_with("ARM 1 "));
    assert!(desk.assign(2, 0).starts_with("ARM 2 "));
    desk.dialogue(&[
        ("ASSIGN 1 0 00000001", "ERR order expected=3"),
        ("ASSIGN 2 0", "ERR order expected=3"),
        ("ASSIGN 2 0 00000003", "ERR order expected=3"),
        ("ASSIGN 4294967295 0 00000003", "ERR order expected=3"),
    ]);
}

/// `feature` answers one that the plan does not have.
#[test]
fn feature_answers_an_unplanned_one() {
    let mut desk = Desk::running(1, PLAN);
    desk.dialogue(&[
        ("ASSIGN 1 3", "ERR feature got=3 allowed 0..3"),
        ("ASSIGN 1 256", "ERR feature got=256 allowed 0..3"),
        ("ASSIGN 1 4294967295", "ERR feature got=4294967295 allowed 0..3"),
    ]);
    assert!(desk.assign(1, 2).starts_with("ARM 1 "), "nothing has changed");
}

/// `range` answers an outcome above the scale and a plan that cannot be. Requirement D7.
#[test]
fn range_answers_bad_outcomes_and_plans() {
    let mut desk = Desk::blank(1);
    desk.ask(&Request::Key(KEY).to_string());
    for (plan, answer) in [
        (
            "PLAN features=0 patients=20 better=high results=open epsilon=1",
            "ERR range features=0 allowed 1..=64",
        ),
        (
            "PLAN features=5 patients=20 better=high results=open epsilon=1",
            "ERR range features=5 allowed 1..=4 on this device",
        ),
        (
            "PLAN design=conse features=1 patients=20 better=high results=open epsilon=1",
            "ERR range design=conse allowed dp-conse interim uniform on a device",
        ),
    ] {
        assert_eq!(desk.order(plan), answer);
    }
    assert!(
        desk.order("PLAN features=4 patients=20 better=high results=open epsilon=1 scale=7")
            .starts_with("OK trial=")
    );
    desk.assign(1, 0);
    desk.dialogue(&[
        ("OUTCOME 1 8", "ERR range y=8 allowed 0..=7"),
        ("OUTCOME 1 65544", "ERR range y=65544 allowed 0..=7"),
        ("OUTCOME 1 7", "OK 1"),
    ]);
}

/// `unknown` answers for patients who are not there.
#[test]
fn unknown_answers_for_unassigned_patients() {
    let mut desk = Desk::running(1, PLAN);
    desk.assign(1, 0);
    desk.dialogue(&[
        ("OUTCOME 0 1", "ERR unknown patient=0 allowed 1..=1"),
        ("OUTCOME 2 1", "ERR unknown patient=2 allowed 1..=1"),
        ("LOST 2", "ERR unknown patient=2 allowed 1..=1"),
    ]);
}

/// `full` answers when too many wait and when everyone is in. Requirement D8.
#[test]
fn full_answers_when_no_patient_fits() {
    let mut desk =
        Desk::running(1, "PLAN features=3 patients=9 better=high results=open epsilon=1");
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

/// `early` answers a report before there is an estimate.
#[test]
fn early_answers_a_report_without_estimate() {
    let mut desk = Desk::running(1, PLAN);
    assert_eq!(desk.ask("REPORT"), "ERR early no estimate yet");
}

#[test]
fn closed_answers_a_patient_after_the_close() {
    let mut desk = Desk::running(1, PLAN);
    let arm = desk.assign(1, 0);
    assert_eq!(desk.order("CLOSE"), "OK");
    assert_eq!(desk.order("CLOSE"), "OK");
    assert!(
        desk.ask("HELLO")
            .starts_with("HELLO equipoise 3 0.2.0 closed key=set left=99.000000 trial=")
    );
    desk.dialogue(&[
        ("ASSIGN 2 0", "ERR closed"),
        // Both may be repeats of what was carried out before the close.
        ("OUTCOME 1 1", "OK 1"),
        ("ASSIGN 1 0 00000001", &arm),
    ]);
}

#[test]
fn blank_answers_whatever_needs_a_trial() {
    let mut desk = Desk::blank(1);
    for line in ["STATUS", "ASSIGN 1 0", "OUTCOME 1 1", "LOST 1", "REPORT"] {
        assert_eq!(desk.ask(line), "ERR blank", "{line}");
    }
    desk.ask(&Request::Key(KEY).to_string());
    assert_eq!(desk.order("CLOSE"), "ERR blank");
    assert_eq!(desk.order("ERASE"), "OK", "there is nothing to erase");
}

/// `locked` answers a second plan and the custodian after three wrong proofs. Requirement D13.
#[test]
fn locked_answers_second_plan_and_wrong_proofs() {
    let mut desk = Desk::running(1, PLAN);
    assert_eq!(
        desk.order("PLAN features=1 patients=20 better=high results=open epsilon=1"),
        "ERR locked trial until=ERASE"
    );
    for _ in 0..3 {
        desk.challenge();
        assert_eq!(desk.ask(&unproved("CLOSE")), "ERR auth wrong proof");
    }
    for line in
        ["AUTH", "CLOSE", "ERASE", &unproved("CLOSE"), &Request::Key([1; 32]).to_string(), PLAN]
    {
        assert_eq!(desk.ask(line), "ERR locked wrong proofs until=power-up", "{line}");
    }
    assert!(desk.assign(1, 0).starts_with("ARM 1 "), "patients are not locked out");
    let mut desk = desk.power_up(2);
    assert_eq!(desk.order("CLOSE"), "OK");
}

/// A right proof starts the count of wrong ones anew, and a command that proves nothing is not
/// counted. Requirement D13.
#[test]
fn only_wrong_proofs_in_a_row_lock() {
    let mut desk = Desk::running(1, PLAN);
    for _ in 0..3 {
        for _ in 0..2 {
            desk.challenge();
            assert_eq!(desk.ask(&unproved("ERASE")), "ERR auth wrong proof");
            assert_eq!(desk.ask(&unproved("ERASE")), PROOF_NEEDED, "no nonce");
            assert_eq!(desk.ask("ERASE"), PROOF_NEEDED);
        }
        assert_eq!(desk.order(PLAN).split(' ').next(), Some("OK"), "the plan it has");
    }
}

#[test]
fn auth_answers_custodian_commands_without_one() {
    let mut desk = Desk::blank(1);
    for line in ["AUTH", PLAN, "CLOSE", "ERASE", &unproved("ERASE")] {
        assert_eq!(desk.ask(line), "ERR auth no key yet, send KEY", "{line}");
    }
    desk.provision(PLAN);
    for line in [PLAN, "CLOSE", "ERASE", &unproved("ERASE"), &Request::Key([1; 32]).to_string()] {
        assert_eq!(desk.ask(line), PROOF_NEEDED, "{line}");
    }
}

/// `budget` answers a plan beyond the lifetime budget and survives erase and power loss.
/// Requirement D16.
#[test]
fn budget_answers_and_survives_erase() {
    let mut desk =
        Desk::running(1, "PLAN features=1 patients=4 better=high results=open epsilon=20");
    for spent in [20, 40, 60, 80] {
        assert!(desk.ask("HELLO").contains(&format!(" left={}.000000", 100 - spent)));
        assert_eq!(desk.order("ERASE"), "OK");
        desk = desk.power_up(spent);
        let blank = format!("HELLO equipoise 3 0.2.0 blank key=set left={}.000000", 100 - spent);
        assert_eq!(desk.ask("HELLO"), blank);
        if spent < 80 {
            assert!(
                desk.order("PLAN features=1 patients=4 better=high results=open epsilon=20")
                    .starts_with("OK trial=")
            );
        }
    }
    assert!(
        desk.order("PLAN features=1 patients=4 better=high results=open epsilon=59/3")
            .starts_with("OK trial=")
    );
    assert_eq!(desk.order("ERASE"), "OK");
    // 100 - 80 - 59/3 = 1/3, rounded down because what was spent is rounded up.
    let refused = desk.order("PLAN features=1 patients=4 better=high results=open epsilon=1/3");
    assert_eq!(refused, "ERR budget epsilon=1/3 left=0.333333");
    assert!(
        desk.order("PLAN features=1 patients=4 better=high results=open epsilon=3333/10000")
            .starts_with("OK trial=")
    );
}

/// `storage` answers everything but `HELLO` once the flash has failed and power up helps.
#[test]
fn storage_answers_until_power_up() {
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
    for line in [
        "STATUS",
        "ASSIGN 1 0 00000001",
        "OUTCOME 1 1",
        "LOST 1",
        "REPORT",
        "AUTH",
        PLAN,
        "CLOSE",
        "ERASE",
    ] {
        assert_eq!(desk.ask(line), "ERR storage until=power-up", "{line}");
    }
    assert_eq!(desk.ask("HELLO"), "HELLO equipoise 3 0.2.0 fault");
    let mut desk = desk.power_up(2);
    assert_eq!(desk.assign(1, 0), arm);
    let next = desk.assign(2, 0);
    assert!(next.starts_with("ARM 2 "), "{next} {:?}", desk.flash.0.borrow().misuse());
}

/// A flash that makes no sense is a fault and is left as it is. Requirement D10.
#[test]
fn a_senseless_flash_is_left_as_it_is() {
    let flash = Flash::new();
    flash.0.borrow_mut().damage(0, 0x1234);
    flash.0.borrow_mut().damage(3 * 1024, 0x5678);
    let before = flash.0.borrow().bytes();
    let mut desk = Desk::<_>::on(flash, Repeatable::new(1));
    desk.dialogue(&[
        ("HELLO", "HELLO equipoise 3 0.2.0 fault flash=unknown"),
        ("ASSIGN 1 0", "ERR storage until=power-up"),
        (&Request::Key(KEY).to_string(), "ERR storage until=power-up"),
    ]);
    desk.run_until_idle();
    assert!(desk.flash.0.borrow().bytes() == before);
}

/// `entropy` answers every new patient after the source has failed. Requirement D9.
#[test]
fn entropy_answers_new_patients_for_good() {
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
    assert_eq!(desk.order("CLOSE"), "OK");
}

/// A source dead at power up leaves `HELLO` and status. Requirement D9.
#[test]
fn a_dead_source_leaves_hello_and_status() {
    let mut desk = Desk::running(1, PLAN);
    let arm = desk.assign(1, 0);
    let mut dead = Desk::<_>::on(desk.flash.clone(), Dying(Repeatable::new(1), 100));
    assert!(
        dead.ask("HELLO")
            .starts_with("HELLO equipoise 3 0.2.0 running key=set left=99.000000 trial=")
    );
    let counts = "design=interim n=20 better=high results=open assigned=1 resolved=0 capacity=8 phase=explore looks=0 next-look=10";
    assert!(dead.ask("STATUS").contains(counts));
    for line in ["ASSIGN 2 0", "OUTCOME 1 1", "LOST 1", "REPORT", "AUTH", "CLOSE", "ERASE"] {
        assert_eq!(dead.ask(line), "ERR entropy health test failed", "{line}");
    }
    dead.run_until_idle();
    assert_eq!(desk.power_up(2).assign(1, 0), arm);
}
