//! Leaks into replies.

use core::cell::Cell;

use equipoise::terms::Arm;
use equipoise_audit::desk::{Broken, Secret};

use super::{Caught, Mutant};

/// A device whose replies pass through a fault.
pub struct Reply(pub fn(&Secret, &str, &mut String));

impl Broken for Reply {
    fn reply(&self, secret: &Secret, line: &str, replies: &mut String) {
        (self.0)(secret, line, replies);
    }
}

/// One bit of the raw cells ends `STATUS`.
pub const PARITY: Reply = Reply(|secret, line, reply| mark(line == "STATUS", secret, reply));

/// Ends a reply with a space where the raw sum is odd.
fn mark(here: bool, secret: &Secret, reply: &mut String) {
    if here && secret.is_odd() {
        reply.push(' ');
    }
}

/// Ends the refusal of a request with this verb with a space where the raw sum is odd.
fn refused(verb: &str, secret: &Secret, line: &str, reply: &mut String) {
    mark(line.starts_with(verb) && reply.starts_with("ERR"), secret, reply);
}

/// Turns the last bit of a hexadecimal digit behind `label` over.
fn turn_digit(reply: &mut String, label: &str) {
    if let Some(at) = reply.find(label).map(|at| at + label.len())
        && let Some(digit) = reply.get(at..=at).and_then(|digit| u8::from_str_radix(digit, 16).ok())
    {
        reply.replace_range(at..=at, &format!("{:x}", digit ^ 1));
    }
}

std::thread_local! {
    /// Wrong proofs that a device was sent one after another.
    static WRONG: Cell<u32> = const { Cell::new(0) };
}

/// Wrong proofs sent so far, this line included.
fn wrong_proofs(line: &str) -> u32 {
    if line != "AUTH" {
        WRONG.set(if line.contains("proof=0000") { WRONG.get() + 1 } else { 0 });
    }
    WRONG.get()
}

/// The patient of a request.
fn patient(line: &str) -> Option<u32> {
    line.split(' ').nth(1)?.parse().ok()
}

/// The arm of a patient who waits in a blinded trial.
fn is_arm_one(secret: &Secret, patient: Option<u32>) -> bool {
    let arm = |who: u32| secret.arms.iter().find(|(waits, _)| *waits == who);
    patient.and_then(arm).is_some_and(|(_, arm)| *arm == Arm::One)
}

const fn leak(
    room: &'static str,
    about: &'static str,
    caught: Caught,
    reply: &'static Reply,
) -> Mutant {
    Mutant::new(room, about, caught, reply)
}

pub const MUTANTS: &[Mutant] = &[
    leak(
        "wire",
        "a raw counter ends `STATUS`",
        Caught::Exact,
        &Reply(|secret, line, reply| {
            if line == "STATUS" {
                *reply += &secret.sum().to_string();
            }
        }),
    ),
    leak("wire", "a bit ends `STATUS`", Caught::Exact, &PARITY),
    leak(
        "wire",
        "the budget in `HELLO` differs in its last digit",
        Caught::Exact,
        &Reply(|secret, line, reply| {
            if line == "HELLO" && secret.is_odd() {
                *reply = reply.replacen("000000 ", "000001 ", 1);
            }
        }),
    ),
    leak(
        "wire",
        "a refusal is in small letters",
        Caught::Exact,
        &Reply(|secret, _, reply| {
            if reply.starts_with("ERR") && secret.is_odd() {
                *reply = reply.to_lowercase();
            }
        }),
    ),
    leak(
        "wire",
        "a bit ends the refusal of `REPLACE`",
        Caught::Exact,
        &Reply(|secret, line, reply| refused("REPLACE", secret, line, reply)),
    ),
    leak(
        "wire",
        "a bit ends the refusal of `CLOSE`",
        Caught::Exact,
        &Reply(|secret, line, reply| refused("CLOSE", secret, line, reply)),
    ),
    leak(
        "wire",
        "a bit ends the refusal of `ERASE`",
        Caught::Exact,
        &Reply(|secret, line, reply| refused("ERASE", secret, line, reply)),
    ),
    leak(
        "wire",
        "a bit ends the refusal of `KEY`",
        Caught::Exact,
        &Reply(|secret, line, reply| refused("KEY", secret, line, reply)),
    ),
    leak(
        "wire",
        "a bit ends the refusal of `PLAN`",
        Caught::Exact,
        &Reply(|secret, line, reply| refused("PLAN", secret, line, reply)),
    ),
    leak(
        "wire",
        "a bit ends the refusal of a line that is no request",
        Caught::Exact,
        &Reply(|secret, line, reply| refused("NONSENSE", secret, line, reply)),
    ),
    leak(
        "wire",
        "the checksum behind an outcome is in small letters",
        Caught::Exact,
        &Reply(|secret, line, reply| {
            if line.starts_with("OUTCOME") && secret.is_odd() {
                *reply = reply.replace(char::is_uppercase, "f");
            }
        }),
    ),
    leak(
        "wire",
        "rows lose the last digit of the effect",
        Caught::Pairs,
        &Reply(|secret, line, reply| {
            if line.starts_with("REPORT")
                && secret.is_odd()
                && let Some((row, rest)) = reply.split_once('.')
            {
                *reply = format!("{row}.{}", rest.get(1..).unwrap_or(""));
            }
        }),
    ),
    leak(
        "wire",
        "the number in `ERR full` while the table is full",
        Caught::Pairs,
        &Reply(|secret, line, reply| {
            let full = secret.assigned - secret.resolved >= 32;
            mark(
                line.starts_with("ASSIGN") && reply.starts_with("ERR full") && full,
                secret,
                reply,
            );
        }),
    ),
    leak(
        "wire",
        "`REPORT` shows a bit, but only from patient 150 on",
        Caught::Pairs,
        &Reply(|secret, line, reply| {
            mark(line.starts_with("REPORT") && secret.assigned > 150, secret, reply)
        }),
    ),
    leak(
        "wire",
        "rows are ordered by raw cells, from 4 features on",
        Caught::Large,
        &Reply(|secret, line, reply| {
            let mut rows: Vec<&str> = reply.split_inclusive('\n').collect();
            if line.starts_with("REPORT")
                && secret.cells.len() >= 4
                && rows.len() > 2
                && secret.is_odd()
            {
                rows.swap(0, 1);
                *reply = rows.concat();
            }
        }),
    ),
    leak(
        "wire",
        "a bit ends the `STATUS` of a blinded trial",
        Caught::Blinded,
        &Reply(|secret, line, reply| {
            mark(line == "STATUS" && secret.plan.is_blinded(), secret, reply)
        }),
    ),
    leak(
        "wire",
        "the proof behind `PROVE` has a bit",
        Caught::Exact,
        &Reply(|secret, line, reply| mark(line.starts_with("PROVE"), secret, reply)),
    ),
    leak(
        "wire",
        "a bit ends the refusal of a report to another role",
        Caught::Pairs,
        &Reply(|secret, line, reply| {
            let asked = line.starts_with("REPORT proof=");
            mark(asked && reply.starts_with("ERR auth"), secret, reply);
        }),
    ),
    leak(
        "trial",
        "a repeated loss is refused",
        Caught::Exact,
        &Reply(|secret, line, reply| {
            if line.starts_with("LOST") && secret.is_odd() {
                *reply = "ERR outcome\n".to_owned();
            }
        }),
    ),
    leak(
        "trial",
        "a repeated `ASSIGN` is refused",
        Caught::Exact,
        &Reply(|secret, line, reply| {
            let repeated = line == format!("ASSIGN {0} 0 {0:08x}", secret.assigned);
            if repeated && secret.assigned == secret.resolved && secret.is_odd() {
                *reply = "ERR order\n".to_owned();
            }
        }),
    ),
    leak(
        "trial",
        "the table is full a patient early",
        Caught::Pairs,
        &Reply(|secret, line, reply| {
            let waiting = secret.assigned - secret.resolved;
            if line.starts_with("ASSIGN") && waiting == 128 && secret.is_odd() {
                *reply = "ERR full\n".to_owned();
            }
        }),
    ),
    leak(
        "device",
        "a nonce has a bit",
        Caught::Exact,
        &Reply(|secret, line, reply| {
            if line == "AUTH" && secret.is_odd() {
                turn_digit(reply, "NONCE ");
            }
        }),
    ),
    leak(
        "device",
        "the nonce after two wrong proofs has a bit",
        Caught::Exact,
        &Reply(|secret, line, reply| {
            if wrong_proofs(line) == 2 && line == "AUTH" && secret.is_odd() {
                turn_digit(reply, "NONCE ");
            }
        }),
    ),
    leak(
        "device",
        "commands are locked a wrong proof early",
        Caught::Exact,
        &Reply(|secret, line, reply| {
            if wrong_proofs(line) == 2 && line != "AUTH" && secret.is_odd() {
                *reply = "ERR locked\n".to_owned();
            }
        }),
    ),
    leak(
        "device",
        "the next trial's id has a bit, after `ERASE`",
        Caught::Exact,
        &Reply(|secret, line, reply| {
            if line.starts_with("PLAN") && reply.starts_with("OK") && secret.is_odd() {
                turn_digit(reply, "trial=");
            }
        }),
    ),
    leak(
        "device",
        "the next trial's id has a bit of the closed one, without a reset",
        Caught::Exact,
        &Reply(|secret, line, reply| {
            let begins = line.starts_with("PLAN") && reply.starts_with("OK");
            if begins && secret.is_closed && secret.is_odd() {
                turn_digit(reply, "trial=");
            }
        }),
    ),
    leak(
        "device",
        "a blank device shows a bit of the trial before",
        Caught::Exact,
        &Reply(|secret, line, reply| {
            mark(line == "HELLO" && reply.contains(" blank "), secret, reply)
        }),
    ),
    leak(
        "board",
        "`HELLO` shows a bit after a reset",
        Caught::Exact,
        &Reply(|secret, line, reply| {
            mark(line == "HELLO" && reply.contains("restart=reset"), secret, reply)
        }),
    ),
    leak(
        "board",
        "`HELLO` shows a bit after a restart by the watchdog",
        Caught::Exact,
        &Reply(|secret, line, reply| {
            mark(line == "HELLO" && reply.contains("restart=watchdog"), secret, reply);
        }),
    ),
    leak(
        "board",
        "a restart by a fault is told as one by the watchdog",
        Caught::Exact,
        &Reply(|secret, line, reply| {
            if line == "HELLO" && secret.is_odd() {
                *reply = reply.replace("restart=fault", "restart=watchdog");
            }
        }),
    ),
    leak(
        "design",
        "arms of settled features follow raw cells",
        Caught::Pairs,
        &Reply(|secret, line, reply| steer(secret, line, reply, |_| true)),
    ),
    leak(
        "design",
        "arms of settled feature 63 follow raw cells",
        Caught::Large,
        &Reply(|secret, line, reply| steer(secret, line, reply, |feature| feature == 63)),
    ),
    leak(
        "kits",
        "the reserve ends a kit early for arm 1",
        Caught::Blinded,
        &Reply(|secret, line, reply| {
            let ends = secret.replaced == secret.plan.kits().saturating_sub(secret.plan.patients());
            let given = line.starts_with("REPLACE") && reply.starts_with("KIT");
            if given && ends && is_arm_one(secret, patient(line)) {
                *reply = "ERR kits\n".to_owned();
            }
        }),
    ),
    leak(
        "kits",
        "a repeated `ASSIGN` of arm 1 is refused",
        Caught::Blinded,
        &Reply(|secret, line, reply| {
            let again = line == format!("ASSIGN {0} 0 {0:08x}", secret.assigned);
            if again && reply.starts_with("KIT") && is_arm_one(secret, patient(line)) {
                *reply = "ERR order\n".to_owned();
            }
        }),
    ),
];

/// A patient of such a feature, if it is settled, gets the arm that leads in the raw cells.
fn steer(secret: &Secret, line: &str, reply: &mut String, is_steered: fn(usize) -> bool) {
    let mut words = line.split(' ');
    if words.next() == Some("ASSIGN")
        && let Some(feature) = words.nth(1).and_then(|word| word.parse::<usize>().ok())
        && is_steered(feature)
        && secret.leading.get(feature).copied().flatten().is_some()
        && reply.starts_with("ARM")
    {
        let [zero, one] = secret.cells[feature].map(|[successes, ..]| successes);
        *reply = format!("ARM {}\n", u8::from(one > zero));
    }
}
