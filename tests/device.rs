//! What the device promises at its serial line: every error of the protocol, exactly once, the
//! custodian's rights, the lifetime budget, signed reports, and what happens when flash or entropy
//! fail.

#[path = "common/desk.rs"]
mod desk;

use std::cell::Cell;
use std::rc::Rc;

use desk::{Desk, Flash, KEY, PLAN, sealed};
use equipoise::device::auth::CustodianKey;
use equipoise::device::health::{Entropy, RESEED_SAMPLES, Repeatable, START_SAMPLES};
use equipoise::device::report::ReportMac;
use equipoise::plan::Plan;
use equipoise::testkit::strict_flash::Tear;
use equipoise::wire::{FileDigest, Hex, NONCE_SECONDS, Reply, Request, Row, TrialId, TrialName};

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

const PROOF_NEEDED: &str = "ERR auth send AUTH, then at once this line with its proof=";

/// A command with a proof that fits nothing.
fn unproved(command: &str) -> String {
    format!("{command} proof={}", Hex(&[0; 32]))
}

// Every word of the protocol's table of errors.

/// `checksum` answers a wrong one and a missing one once a program holds the line.
#[test]
fn checksum_answers_wrong_and_missing_ones() {
    let mut desk = Desk::blank(1);
    assert_eq!(desk.ask_plain("HELLO*0000"), "ERR checksum got=0000 expected=49D6");
    assert_eq!(desk.ask_plain("STATUS"), "ERR blank", "a person may leave it out");
    assert_eq!(desk.ask("HELLO"), "HELLO equipoise 2 0.2.0 blank key=none left=100.000000");
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

/// `length` answers a line of more than 250 characters.
#[test]
fn length_answers_a_line_that_is_too_long() {
    let mut desk = Desk::blank(1);
    assert_eq!(desk.ask_plain(&"x".repeat(251)), "ERR length allowed 250");
    assert!(desk.ask_plain(&"x".repeat(250)).starts_with("ERR syntax"));
}

/// `order` answers every number but the next and the last with its tag.
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

/// `range` answers an outcome above the scale and a plan that cannot be.
#[test]
fn range_answers_bad_outcomes_and_plans() {
    let mut desk = Desk::blank(1);
    desk.ask(&Request::Key(KEY).to_string());
    for (plan, answer) in [
        ("PLAN features=0 patients=20 epsilon=1", "ERR range features=0 allowed 1..=64"),
        (
            "PLAN features=5 patients=20 epsilon=1",
            "ERR range features=5 allowed 1..=4 on this device",
        ),
        (
            "PLAN design=conse features=1 patients=20 epsilon=1",
            "ERR range design=conse allowed dp-conse interim uniform on a device",
        ),
    ] {
        assert_eq!(desk.order(plan), answer);
    }
    assert!(desk.order("PLAN features=4 patients=20 epsilon=1 scale=7").starts_with("OK trial="));
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

/// `full` answers when too many wait and when everyone is in.
#[test]
fn full_answers_when_no_patient_fits() {
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
            .starts_with("HELLO equipoise 2 0.2.0 closed key=set left=99.000000 trial=")
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

/// `locked` answers a second plan and the custodian after three wrong proofs.
#[test]
fn locked_answers_second_plan_and_wrong_proofs() {
    let mut desk = Desk::running(1, PLAN);
    assert_eq!(desk.order("PLAN features=1 patients=20 epsilon=1"), "ERR locked trial until=ERASE");
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
/// counted.
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
#[test]
fn budget_answers_and_survives_erase() {
    let mut desk = Desk::running(1, "PLAN features=1 patients=4 epsilon=20");
    for spent in [20, 40, 60, 80] {
        assert!(
            desk.ask("STATUS")
                .ends_with(&format!(" spent={spent}.000000 left={}.000000", 100 - spent))
        );
        assert_eq!(desk.order("ERASE"), "OK");
        desk = desk.power_up(spent);
        let blank = format!("HELLO equipoise 2 0.2.0 blank key=set left={}.000000", 100 - spent);
        assert_eq!(desk.ask("HELLO"), blank);
        if spent < 80 {
            assert!(desk.order("PLAN features=1 patients=4 epsilon=20").starts_with("OK trial="));
        }
    }
    assert!(desk.order("PLAN features=1 patients=4 epsilon=59/3").starts_with("OK trial="));
    assert_eq!(desk.order("ERASE"), "OK");
    // 100 - 80 - 59/3 = 1/3, rounded down because what was spent is rounded up.
    let refused = desk.order("PLAN features=1 patients=4 epsilon=1/3");
    assert_eq!(refused, "ERR budget epsilon=1/3 left=0.333333");
    assert!(
        desk.order("PLAN features=1 patients=4 epsilon=333333/1000000").starts_with("OK trial=")
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
    assert_eq!(desk.ask("HELLO"), "HELLO equipoise 2 0.2.0 fault");
    let mut desk = desk.power_up(2);
    assert_eq!(desk.assign(1, 0), arm);
    let next = desk.assign(2, 0);
    assert!(next.starts_with("ARM 2 "), "{next} {:?}", desk.flash.0.borrow().misuse());
}

/// A flash that makes no sense is a fault and is left as it is.
#[test]
fn a_senseless_flash_is_left_as_it_is() {
    let flash = Flash::new();
    flash.0.borrow_mut().damage(0, 0x1234);
    flash.0.borrow_mut().damage(3 * 1024, 0x5678);
    let before = flash.0.borrow().bytes();
    let mut desk = Desk::<_>::on(flash, Repeatable::new(1));
    desk.dialogue(&[
        ("HELLO", "HELLO equipoise 2 0.2.0 fault"),
        ("ASSIGN 1 0", "ERR storage until=power-up"),
        (&Request::Key(KEY).to_string(), "ERR storage until=power-up"),
    ]);
    desk.run_until_idle();
    assert!(desk.flash.0.borrow().bytes() == before);
}

/// `entropy` answers every new patient after the source has failed.
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

/// A source dead at power up leaves `HELLO` and status.
#[test]
fn a_dead_source_leaves_hello_and_status() {
    let mut desk = Desk::running(1, PLAN);
    let arm = desk.assign(1, 0);
    let mut dead = Desk::<_>::on(desk.flash.clone(), Dying(Repeatable::new(1), 100));
    assert!(
        dead.ask("HELLO")
            .starts_with("HELLO equipoise 2 0.2.0 running key=set left=99.000000 trial=")
    );
    let counts = "design=interim n=20 assigned=1 resolved=0 waiting=1 capacity=8 phase=explore looks=0 next-look=10";
    assert!(dead.ask("STATUS").contains(counts));
    for line in ["ASSIGN 2 0", "OUTCOME 1 1", "LOST 1", "REPORT", "AUTH", "CLOSE", "ERASE"] {
        assert_eq!(dead.ask(line), "ERR entropy health test failed", "{line}");
    }
    dead.run_until_idle();
    assert_eq!(desk.power_up(2).assign(1, 0), arm);
}

// Exactly once.

/// A repeated `ASSIGN` gives the stored arm whatever its feature also after power loss.
#[test]
fn a_repeated_assign_gives_the_stored_arm() {
    let mut desk = Desk::running(1, PLAN);
    for patient in 1..=8 {
        let arm = desk.assign(patient, 0);
        for feature in [0, 1, 2, 3, 99] {
            assert_eq!(desk.assign(patient, feature), arm);
        }
        desk = desk.power_up(patient.into());
        assert_eq!(desk.assign(patient, 1), arm);
    }
    assert!(desk.ask("STATUS").contains("assigned=8 resolved=0 waiting=8 capacity=8 "));
}

/// A device switched off after every request goes on and on.
#[test]
fn a_power_cut_after_every_request_is_harmless() {
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
    desk.run_until_idle();
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
        &unproved("CLOSE"),
        &Request::Key([1; 32]).to_string(),
    ] {
        desk.ask(line);
    }
    desk.ask_plain("ASSIGN 2 0*0000");
    desk.ask_plain(&"x".repeat(500));
    assert_eq!(desk.flash.0.borrow().operations(), before);
}

/// With a fresh proof each; a plan until its first patient is in.
#[test]
fn custodian_commands_can_be_repeated() {
    let mut desk = Desk::blank(1);
    let key = Request::Key(KEY).to_string();
    assert_eq!(desk.ask(&key), "OK");
    assert_eq!(desk.order(&key), "OK");
    let planned = desk.order(PLAN);
    assert_eq!(desk.order(PLAN), planned);
    assert_eq!(
        desk.order(&format!("{PLAN} file=0011223344556677")),
        "ERR locked trial until=ERASE"
    );
    desk.assign(1, 0);
    assert_eq!(desk.order(PLAN), "ERR locked trial until=ERASE");
    for command in ["CLOSE", "CLOSE", "ERASE", "ERASE"] {
        assert_eq!(desk.order(command), "OK", "{command}");
    }
}

// The custodian.

/// A proof serves once, for its own words, its own nonce and its own trial.
#[test]
fn a_proof_allows_one_command() {
    let mut desk = Desk::running(1, PLAN);
    let close = desk.proved("CLOSE");
    let erase = close.replacen("CLOSE", "ERASE", 1);
    assert_eq!(desk.ask(&erase), "ERR auth wrong proof", "the proof of another command");
    assert_eq!(desk.ask(&close), PROOF_NEEDED, "a wrong proof uses the nonce up");
    desk.challenge();
    assert_eq!(desk.ask(&close), "ERR auth wrong proof", "the proof for an older nonce");
    let close = desk.proved("CLOSE");
    assert_eq!(desk.ask(&close), "OK");
    assert_eq!(desk.ask(&close), PROOF_NEEDED);
    let plan = desk.proved("PLAN features=1 patients=9 epsilon=1");
    assert_eq!(desk.ask(&plan.replace("epsilon=1", "epsilon=2")), "ERR auth wrong proof");

    let nonce = desk.challenge();
    let proof = CustodianKey::new(KEY).proof(&nonce, TrialId([1; 8]), b"ERASE");
    assert_eq!(
        desk.ask(&format!("ERASE proof={}", Hex(&proof))),
        "ERR auth wrong proof",
        "another trial"
    );
    assert_eq!(desk.order("ERASE"), "OK");
    let nonce = desk.challenge();
    let proof = CustodianKey::new(KEY).proof(&nonce, TrialId::NONE, PLAN.as_bytes());
    assert!(
        desk.ask(&format!("{PLAN} proof={}", Hex(&proof))).starts_with("OK trial="),
        "a blank device"
    );
}

/// Every request but noise ends the authorization, also one that does nothing or is refused.
#[test]
fn every_request_voids_the_nonce() {
    let mut desk = Desk::running(1, PLAN);
    assert_eq!(desk.order("CLOSE"), "OK");
    for line in [
        "HELLO",
        "STATUS",
        "REPORT",
        "OUTCOME 1 1",
        "CLOSE",
        "ASSIGN 1 0",
        "AUTH",
        &unproved("ERASE"),
    ] {
        let erase = desk.proved("ERASE");
        desk.ask(line);
        assert!(desk.ask(&erase).starts_with("ERR auth "), "{line}");
        assert!(
            desk.order("CLOSE").starts_with("OK"),
            "{line}: nothing to close, but a right proof"
        );
    }
    // A command that had nothing to do, and one that was refused.
    for line in ["CLOSE", "PLAN features=1 patients=9 epsilon=1"] {
        let nonce = desk.challenge();
        let trial = desk.trial();
        assert_ne!(desk.challenge(), nonce);
        desk.order(line);
        let key = Request::Key([7; 32]).to_string();
        let proof = CustodianKey::new(KEY).proof(&nonce, trial, key.as_bytes());
        assert_eq!(desk.ask(&format!("{key} proof={}", Hex(&proof))), PROOF_NEEDED, "{line}");
        assert_eq!(desk.ask(&key), PROOF_NEEDED, "{line}");
    }
    let erase = desk.proved("ERASE");
    desk.ask_plain("ERASE*0000");
    desk.ask_plain("nonsense");
    assert_eq!(desk.ask(&erase), "OK", "noise is no request");
}

#[test]
fn seconds_and_a_hang_up_void_the_nonce() {
    let mut desk = Desk::running(1, PLAN);
    let close = desk.proved("CLOSE");
    (0..NONCE_SECONDS).for_each(|_| desk.device.tick());
    assert_eq!(desk.ask(&close), PROOF_NEEDED);
    let close = desk.proved("CLOSE");
    desk.device.hang_up();
    assert_eq!(desk.ask(&close), PROOF_NEEDED);
    let close = desk.proved("CLOSE");
    (1..NONCE_SECONDS).for_each(|_| desk.device.tick());
    assert_eq!(desk.ask(&close), "OK");
}

/// A terminal of protocol version 1 sends an answer with `AUTH`, and commands without proof.
#[test]
fn version_1_custodians_are_refused_clearly() {
    let mut desk = Desk::running(1, PLAN);
    desk.challenge();
    assert_eq!(
        desk.ask(&format!("AUTH {}", Hex(&[1; 32]))),
        "ERR syntax got=010101010101010101010101 allowed AUTH alone: since protocol 2 the proof is the last word of \
         the command"
    );
    assert_eq!(desk.ask("CLOSE"), PROOF_NEEDED);
    assert!(desk.ask("HELLO").starts_with("HELLO equipoise 2 "));
}

#[test]
fn only_custodian_commands_take_a_proof() {
    let mut desk = Desk::running(1, PLAN);
    for line in ["HELLO", "ASSIGN 1 0", "AUTH", "REPORT"] {
        assert_eq!(
            desk.ask(&unproved(line)),
            "ERR syntax got=proof allowed KEY PLAN CLOSE ERASE",
            "{line}"
        );
    }
}

#[test]
fn a_new_key_replaces_the_old_one_for_good() {
    let mut desk = Desk::running(1, PLAN);
    assert_eq!(desk.order(&Request::Key([7; 32]).to_string()), "OK");
    desk.run_until_idle();
    let flash = desk.flash.0.borrow().bytes();
    assert!(!flash.windows(32).any(|bytes| bytes == KEY), "the old key is wiped");
    assert!(flash.windows(32).any(|bytes| bytes == [7; 32]));
    let mut desk = desk.power_up(2);
    assert_eq!(desk.order("CLOSE"), "ERR auth wrong proof");
    let (trial, nonce) = (desk.trial(), desk.challenge());
    let proof = CustodianKey::new([7; 32]).proof(&nonce, trial, b"CLOSE");
    assert_eq!(desk.ask(&format!("CLOSE proof={}", Hex(&proof))), "OK");
}

/// Neither a second `KEY` nor its repeat says whether a guess was right.
#[test]
fn a_second_key_needs_a_proof() {
    let mut desk = Desk::blank(1);
    desk.ask(&Request::Key(KEY).to_string());
    for key in [KEY, [1; 32]] {
        assert_eq!(desk.ask(&Request::Key(key).to_string()), PROOF_NEEDED);
    }
    assert!(desk.order(PLAN).starts_with("OK trial="), "the first key is still the key");
}

/// Id and digest are in `HELLO` and `STATUS`, survive power loss, and end with the trial.
#[test]
fn trial_id_and_file_digest_are_stored() {
    let mut desk = Desk::blank(1);
    desk.ask(&Request::Key(KEY).to_string());
    let planned = desk.order(&format!("{PLAN} file=0011223344556677"));
    let id = planned
        .strip_prefix("OK trial=")
        .and_then(|rest| rest.split(' ').next())
        .unwrap()
        .to_owned();
    let name = format!(" trial={id} file=0011223344556677");
    for seed in 2..4 {
        assert!(desk.ask("HELLO").ends_with(&name));
        assert!(desk.ask("STATUS").starts_with(&format!("STATUS{name} design=")));
        desk = desk.power_up(seed);
    }
    desk.order("ERASE");
    assert!(!desk.ask("HELLO").contains("trial="));
    desk.order(PLAN);
    assert!(
        !desk.ask("HELLO").contains(&id) && desk.ask("HELLO").ends_with(" file=0000000000000000")
    );
}

// Reports.

/// Runs a trial to its end; the report's lines.
fn finished(desk: &mut Desk) -> Vec<String> {
    for patient in 1..=20 {
        assert!(desk.assign(patient, patient % 3).starts_with("ARM "));
        assert_eq!(
            desk.ask(&format!("OUTCOME {patient} {}", patient % 2)),
            format!("OK {patient}")
        );
    }
    assert!(
        desk.ask("STATUS")
            .contains("resolved=20 waiting=0 capacity=8 phase=measure looks=1 next-look=close")
    );
    assert_eq!(desk.order("CLOSE"), "OK");
    desk.ask("REPORT").lines().map(str::to_string).collect()
}

/// A terminal without the key can resolve every patient, but not end the trial; a plan can let the
/// trial end itself.
#[test]
fn the_closing_look_needs_the_custodian() {
    for (close, phase) in
        [("", "measure"), (" close=custodian", "measure"), (" close=auto", "closed")]
    {
        let mut desk = Desk::running(1, &format!("PLAN features=1 patients=4 epsilon=1{close}"));
        for patient in 1..=4 {
            desk.assign(patient, 0);
            desk.ask(&format!("LOST {patient}"));
            desk.run_until_idle();
        }
        for line in ["LOST 4", "OUTCOME 4 1", "ASSIGN 5 0", "STATUS"] {
            desk.ask(line);
            desk.run_until_idle();
        }
        let status = desk.ask("STATUS");
        assert!(
            status.contains(&format!(" resolved=4 waiting=0 capacity=8 phase={phase} ")),
            "{status}"
        );
        assert_eq!(desk.order("CLOSE"), "OK");
        assert!(desk.ask("STATUS").contains("phase=closed"));
    }
}

/// The interval is the estimate plus and minus 1.96 standard errors, up to rounding.
#[test]
fn a_row_has_its_standard_error() {
    let mut desk = Desk::running(1, "PLAN features=1 patients=400 epsilon=20");
    for patient in 1..=400 {
        desk.assign(patient, 0);
        desk.ask(&format!("OUTCOME {patient} {}", patient / 3 % 2));
    }
    desk.order("CLOSE");
    let report = desk.ask("REPORT");
    let Ok(Reply::Row(row)) = Reply::parse(sealed(report.lines().next().unwrap()).as_bytes())
    else {
        panic!("{report}")
    };
    let half = 1.96 * f64::from(row.error.0);
    for (end, side) in [(row.low, -1.0), (row.high, 1.0)] {
        let apart = f64::from(end.0) - f64::from(row.estimate.0) - side * half;
        assert!(apart.abs() < 10.0 && end.0.abs() < 1_000_000, "{report}");
    }
    assert!((300..500).contains(&row.outcomes) && row.error.0 > 10_000, "{report}");
}

/// Does the MAC fit the rows, the trial and the plan?
fn verifies(report: &[String], plan: &str) -> bool {
    let mut mac = None;
    let mut rows = Vec::<Row>::new();
    for line in report {
        match Reply::parse(sealed(line).as_bytes()).unwrap() {
            Reply::Row(row) => rows.push(row),
            Reply::End { rows, assigned, resolved, trial, mac: told } => {
                mac = Some((rows, assigned, resolved, trial, told));
            }
            other => panic!("{other:?}"),
        }
    }
    let (count, assigned, resolved, id, told) = mac.unwrap();
    let plan = Plan::parse(plan.strip_prefix("PLAN ").unwrap()).unwrap();
    let name = TrialName { id, file: FileDigest::NONE };
    let mut mac = ReportMac::new(&CustodianKey::new(KEY).report_key(), name, &plan);
    rows.iter().for_each(|row| mac.row(row));
    mac.finish(count, assigned, resolved) == told && usize::from(count) == rows.len()
}

/// A report is signed and no row can be changed left out or moved to another trial.
#[test]
fn a_report_cannot_be_forged() {
    let mut desk = Desk::running(1, PLAN);
    let report = finished(&mut desk);
    assert_eq!(report.len(), 4);
    assert!(verifies(&report, PLAN));
    assert_eq!(
        desk.ask("REPORT").lines().collect::<Vec<_>>(),
        report,
        "and is the same every time"
    );
    let mut changed = report.clone();
    changed[0] = changed[0].replacen("ROW 0", "ROW 1", 1);
    assert!(!verifies(&changed, PLAN));
    assert!(!verifies(&report[1..], PLAN));
    assert!(!verifies(&report, "PLAN features=3 patients=20 epsilon=2"));
    let counts = report[3].replace("resolved=20", "resolved=19");
    assert!(counts != report[3] && !verifies(&[&report[..3], &[counts]].concat(), PLAN));
    desk.order("ERASE");
    desk.order(PLAN);
    let mut second = finished(&mut desk);
    assert!(verifies(&second, PLAN));
    second[..3].clone_from_slice(&report[..3]);
    assert!(!verifies(&second, PLAN), "the same plan, another trial");
}

/// A trial closed in its first half reports no rows.
#[test]
fn a_trial_closed_early_has_an_end() {
    let mut desk = Desk::running(1, PLAN);
    desk.assign(1, 0);
    desk.order("CLOSE");
    let report = desk.ask("REPORT");
    assert!(report.starts_with("END 0 assigned=1 resolved=1 trial="), "{report}");
    assert!(verifies(&[report], PLAN));
}

/// A `dp-conse` trial says that its bound is unproven.
#[test]
fn dp_conse_claims_unproven() {
    let mut desk = Desk::blank(1);
    desk.ask(&Request::Key(KEY).to_string());
    let planned = desk.order("PLAN design=dp-conse features=3 patients=20 epsilon=1");
    assert!(planned.starts_with("OK trial=") && planned.ends_with(" claim=unproven"), "{planned}");
    for patient in 1..=8 {
        assert!(desk.assign(patient, patient % 3).starts_with("ARM "));
    }
    let counts = " design=dp-conse n=20 assigned=8 resolved=0 waiting=8 capacity=8 phase=explore looks=0 \
                  next-look=none spent=1.000000 left=99.000000";
    assert!(desk.ask("STATUS").ends_with(counts));
}

// Looks and idle time.

/// What is sent does not depend on how long the line was idle.
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
