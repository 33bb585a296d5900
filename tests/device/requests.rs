//! Promises of the device at its serial line: every error of the protocol, exactly once, the
//! custodian's rights, the lifetime budget, signed reports, and its behaviour when flash or entropy
//! fail.

mod custodian;
use equipoise::testkit::desk;
mod durable;
mod errors;
mod generator;
mod main_loop;
mod reports;
mod results;
mod work;

use std::cell::Cell;
use std::rc::Rc;

use desk::{Desk, Flash, KEY, PLAN, sealed};
use equipoise::device::auth::{CustodianKey, Presence, Role};
use equipoise::device::health::{Entropy, RESEED_SAMPLES, Repeatable, START_SAMPLES};
use equipoise::device::report::ReportMac;
use equipoise::plan::Plan;
use equipoise::testkit::strict_flash::Tear;
use equipoise::wire::{
    FileDigest, Hex, ImageHash, NONCE_SECONDS, Reply, Request, Row, TrialId, TrialName,
};

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
    format!("{command} proof={}", Hex(&[0; 16]))
}
