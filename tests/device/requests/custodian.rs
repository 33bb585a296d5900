//! The custodian's commands: one proof for one request, and who holds the key.

use super::*;

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

/// A proof serves once, for its own words, its own nonce and its own trial. Requirement D12.
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
    let plan = desk.proved("PLAN features=1 patients=9 better=high epsilon=1");
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
/// Requirement D12.
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
    for line in ["CLOSE", "PLAN features=1 patients=9 better=high epsilon=1"] {
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
    assert!(desk.ask("HELLO").starts_with("HELLO equipoise 3 "));
}

#[test]
fn only_custodian_commands_take_a_proof() {
    let mut desk = Desk::running(1, PLAN);
    for line in ["HELLO", "ASSIGN 1 0", "AUTH", "STATUS"] {
        assert_eq!(
            desk.ask(&unproved(line)),
            "ERR syntax got=proof allowed REPORT KEY PLAN CLOSE ERASE",
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

/// A proof for the nonce before the last is refused, and not counted as wrong: a terminal takes the
/// late answer to its first `AUTH` for that to the second.
#[test]
fn repeated_auth_does_not_lock() {
    let mut desk = Desk::running(1, PLAN);
    for _ in 0..5 {
        let late = desk.proved("CLOSE");
        desk.challenge();
        let refused = desk.ask(&late);
        assert_eq!(refused, "ERR auth the proof is for the nonce before the last, send AUTH again");
        assert_eq!(desk.ask(&late), PROOF_NEEDED, "both nonces are void");
    }
    // Wrong for both nonces is wrong.
    for _ in 0..3 {
        desk.challenge();
        desk.challenge();
        assert_eq!(desk.ask(&unproved("CLOSE")), "ERR auth wrong proof");
    }
    assert_eq!(desk.ask("AUTH"), "ERR locked wrong proofs until=power-up");
}

/// The nonce before the last is void after any other request, and after the third `AUTH`.
#[test]
fn only_the_nonce_before_the_last_is_forgiven() {
    let mut desk = Desk::running(1, PLAN);
    for between in [&["HELLO", "AUTH"][..], &["AUTH", "AUTH"]] {
        let late = desk.proved("CLOSE");
        between.iter().for_each(|line| drop(desk.ask(line)));
        assert_eq!(desk.ask(&late), "ERR auth wrong proof", "{between:?}");
    }
}

/// Sends a command with a proof under the key of a role.
fn order_as(desk: &mut Desk, role: Role, line: &str) -> String {
    let (trial, nonce) = (desk.trial(), desk.challenge());
    let proof = CustodianKey::new(KEY).role(role).proof(&nonce, trial, line.as_bytes());
    desk.ask(&format!("{line} proof={}", Hex(&proof)))
}

/// The key of a role is accepted for its own verb only.
#[test]
fn keys_of_roles_have_one_right_each() {
    let plan = PLAN.replace(" results=open", "");
    let mut desk = Desk::running(1, &plan);
    assert_eq!(order_as(&mut desk, Role::Report, "REPORT"), "ERR early no estimate yet");
    for role in Role::ALL {
        for line in ["CLOSE", "ERASE", "REPORT", &plan, &Request::Key([1; 32]).to_string()] {
            if (role, line) != (Role::Report, "REPORT") {
                assert_eq!(order_as(&mut desk, role, line), "ERR auth wrong proof", "{line}");
                assert_eq!(desk.order("REPORT"), "ERR early no estimate yet");
            }
        }
    }
}

/// `PROVE` is answered with the presence key over the public facts, by a device that has a key.
#[test]
fn prove_shows_the_key() {
    let nonce = [7; 16];
    let line = Request::Prove(nonce).to_string();
    let mut desk = Desk::blank(1);
    assert_eq!(desk.ask(&line), "ERR auth no key yet, send KEY");
    desk.provision(PLAN);
    desk.assign(1, 0);
    desk.assign(2, 0);
    desk.ask("OUTCOME 1 1");
    let facts =
        |trial, assigned| Presence { trial, image: ImageHash([0; 8]), assigned, resolved: 1 };
    let key = CustodianKey::new(KEY).role(Role::Presence);
    let expected = |facts: &Presence| format!("PROOF {}", Hex(&key.presence(&nonce, facts)));
    let (trial, told) = (desk.trial(), desk.ask(&line));
    assert_eq!(told, expected(&facts(trial, 2)));
    assert_ne!(told, expected(&facts(trial, 1)));
    assert_ne!(told, expected(&facts(TrialId::NONE, 2)));
    desk.order(&Request::Key([1; 32]).to_string());
    assert_ne!(desk.ask(&line), told, "another key");
}

/// Every refusal but that of a line which is no request names the request.
#[test]
fn refusals_name_their_request() {
    let mut desk = Desk::blank(1);
    for (line, told) in [
        ("STATUS", "ERR blank re=STATUS"),
        ("ASSIGN 5 1 0000000a", "ERR blank re=ASSIGN:5"),
        ("OUTCOME 4294967295 1", "ERR blank re=OUTCOME:4294967295"),
        ("CLOSE", "ERR auth re=CLOSE no key yet, send KEY"),
        (
            "PLAN features=0 patients=2 better=low epsilon=1",
            "ERR range re=PLAN features=0 allowed 1..=64",
        ),
        ("PLAN features=1 patients=2 epsilon=1", "ERR syntax better missing allowed high low"),
        ("LOST x", "ERR syntax got=x allowed LOST <k>"),
    ] {
        assert_eq!(desk.ask_exactly(&sealed(line)), told);
    }
    assert!(desk.ask_exactly("STATUS").starts_with("ERR checksum got=none"));
}
