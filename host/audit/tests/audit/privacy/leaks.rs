//! Replies that leak on purpose, and whether the audit notices: exactly on one small trial, and by
//! pairs of larger ones. (The black box: `over_the_line.rs`.)

use core::cell::Cell;

use equipoise::plan::{DesignName, Plan};
use equipoise::terms::Arm;
use equipoise::trial::Trial;
use equipoise_audit::desk::{Desk, Steady};
use equipoise_audit::exact::{Act, Room, SmallDesk, SmallLeak, Stage, View};
use equipoise_audit::pairs;
use rayon::prelude::*;

use super::mutants::{exceeds, judged, raw, raw_successes};

/// A room whose device leaks.
struct Leaking(SmallLeak);

impl Room for Leaking {
    fn desk(&self, plan: &Plan) -> Option<SmallDesk> {
        Desk::new(plan, Steady::new(), 16, Some(self.0)).ok()
    }

    fn perform(&self, on: &mut Stage<'_>, act: Act) -> Option<Arm> {
        View::Arms.perform(on, act)
    }
}

/// A counter in the status.
fn counter<const M: usize, const U: usize>(trial: &Trial<M, U>, line: &str, reply: &mut String) {
    if line == "STATUS" {
        *reply += &raw_successes(trial).to_string();
    }
}

/// The parity of a raw cell in the status, without any of the cell's size.
pub fn parity<const M: usize, const U: usize>(trial: &Trial<M, U>, line: &str, reply: &mut String) {
    if line == "STATUS" {
        *reply += if raw_successes(trial) & 1 == 1 { " " } else { "" };
    }
}

/// The budget in `HELLO` differs in its last digit.
fn budget<const M: usize, const U: usize>(trial: &Trial<M, U>, line: &str, reply: &mut String) {
    if line == "HELLO" && raw_successes(trial) & 1 == 1 {
        *reply = reply.replacen("000000 ", "000001 ", 1);
    }
}

/// A repeated request is refused where the raw cells say so.
fn repeat<const M: usize, const U: usize>(trial: &Trial<M, U>, line: &str, reply: &mut String) {
    if line.starts_with("LOST") && raw_successes(trial) & 1 == 1 {
        *reply = "ERR outcome\n".to_owned();
    }
}

/// A repeated `ASSIGN` is refused where the raw cells say so.
fn again<const M: usize, const U: usize>(trial: &Trial<M, U>, line: &str, reply: &mut String) {
    let repeated = line == format!("ASSIGN {0} 0 {0:08x}", trial.assigned());
    if repeated && trial.unresolved() == 0 && raw_successes(trial) & 1 == 1 {
        *reply = "ERR order\n".to_owned();
    }
}

/// The refusal of a request with this verb ends with a space where the raw cells say so.
fn refused<const M: usize, const U: usize>(
    verb: &str,
    trial: &Trial<M, U>,
    line: &str,
    reply: &mut String,
) {
    if line.starts_with(verb) && reply.starts_with("ERR") && raw_successes(trial) & 1 == 1 {
        *reply += " ";
    }
}

/// The checksum of a refused request is wrong.
fn refusal<const M: usize, const U: usize>(trial: &Trial<M, U>, _: &str, reply: &mut String) {
    if reply.starts_with("ERR") && raw_successes(trial) & 1 == 1 {
        *reply = reply.to_lowercase();
    }
}

/// The nonce has a bit of the raw cells.
fn nonce<const M: usize, const U: usize>(trial: &Trial<M, U>, line: &str, reply: &mut String) {
    if line == "AUTH" && raw_successes(trial) & 1 == 1 {
        *reply = reply.replacen('0', "1", 1);
    }
}

/// Only after a reset: its cause is written in two ways.
fn restart<const M: usize, const U: usize>(trial: &Trial<M, U>, line: &str, reply: &mut String) {
    if line == "HELLO" && trial.assigned() > 0 && raw_successes(trial) & 1 == 1 {
        *reply = reply.replace("restart=reset", "restart=Reset");
    }
}

/// Only after a restart by the watchdog.
fn watchdog<const M: usize, const U: usize>(trial: &Trial<M, U>, line: &str, reply: &mut String) {
    if line == "HELLO" && reply.contains("restart=watchdog") && raw_successes(trial) & 1 == 1 {
        *reply += " ";
    }
}

thread_local! {
    /// Wrong proofs that a device was sent one after another.
    static WRONG: Cell<u32> = const { Cell::new(0) };
}

/// Only after two wrong proofs: the nonce has a bit of the raw cells.
fn second_guess<const M: usize, const U: usize>(
    trial: &Trial<M, U>,
    line: &str,
    reply: &mut String,
) {
    if line == "AUTH" {
        if WRONG.get() == 2 && raw_successes(trial) & 1 == 1 {
            *reply = reply.replacen('0', "1", 1);
        }
    } else {
        WRONG.set(if line.contains("proof=0000") { WRONG.get() + 1 } else { 0 });
    }
}

/// Only in the id of the next trial.
fn next_id<const M: usize, const U: usize>(trial: &Trial<M, U>, line: &str, reply: &mut String) {
    if line.starts_with("PLAN") && reply.starts_with("OK") && raw_successes(trial) & 1 == 1 {
        *reply = reply.replacen('0', "1", 1);
    }
}

/// Only once the trial is erased: a blank device remembers it.
fn erased<const M: usize, const U: usize>(trial: &Trial<M, U>, line: &str, reply: &mut String) {
    if line == "HELLO" && reply.contains(" blank ") && raw_successes(trial) & 1 == 1 {
        *reply += " ";
    }
}

/// Only in trials of some size: the report shows a raw cell once 150 patients were assigned.
fn later<const M: usize, const U: usize>(trial: &Trial<M, U>, line: &str, reply: &mut String) {
    if line == "REPORT" && trial.assigned() > 150 && raw_successes(trial) & 1 == 1 {
        reply.insert(0, ' ');
    }
}

/// Only of settled features: a later patient gets the arm that leads in the raw cells.
fn steered<const M: usize, const U: usize>(trial: &Trial<M, U>, line: &str, reply: &mut String) {
    let mut words = line.split(' ');
    if words.next() == Some("ASSIGN")
        && let Some(feature) = words.nth(1).and_then(|word| word.parse().ok())
        && trial.leading(feature).is_some()
        && reply.starts_with("ARM")
    {
        let cells = raw(trial, feature);
        let [zero, one] = [0, 3].map(|arm| cells.iter().skip(arm).step_by(6).sum::<i64>());
        *reply = format!("ARM {}\n", u8::from(one > zero));
    }
}

/// A leak into one kind of reply, whichever it is, makes the loss infinite. Requirement S2.
#[test]
fn leaks_into_replies_are_caught() {
    let leaks: [(&str, SmallLeak); 18] = [
        ("watchdog", watchdog),
        ("second guess", second_guess),
        ("next id", next_id),
        ("restart", restart),
        ("erased", erased),
        ("counter", counter),
        ("parity", parity),
        ("budget", budget),
        ("repeat", repeat),
        ("refusal", refusal),
        ("again", again),
        ("replacement", |trial, line, reply| refused("REPLACE", trial, line, reply)),
        ("close", |trial, line, reply| refused("CLOSE", trial, line, reply)),
        ("erase", |trial, line, reply| refused("ERASE", trial, line, reply)),
        ("key", |trial, line, reply| refused("KEY", trial, line, reply)),
        ("plan", |trial, line, reply| refused("PLAN", trial, line, reply)),
        ("nonsense", |trial, line, reply| refused("NONSENSE", trial, line, reply)),
        ("nonce", nonce),
    ];
    leaks.into_par_iter().for_each(|(name, leak)| {
        let loss = judged(&Leaking(leak));
        assert!(exceeds(loss) && loss.epsilon.is_infinite(), "{name}: {loss:?}");
    });
}

/// The exact audit of tiny trials cannot see these; pairs of larger ones do.
#[test]
fn leaks_in_large_trials_are_caught() {
    let blind = judged(&Leaking(later));
    assert!(!exceeds(blind), "{blind:?}");
    let leaks: [(&str, pairs::PairLeak); 4] =
        [("parity", parity), ("repeat", repeat), ("later", later), ("steered", steered)];
    for (name, leak) in leaks {
        let survey = pairs::survey(DesignName::Interim, "1", 24, Some(leak), None);
        assert!(survey.loss.epsilon.is_infinite(), "{name}: {survey:?}");
    }
}
