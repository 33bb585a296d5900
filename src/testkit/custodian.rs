//! The custodian at a device's line: what a test needs to send a command with its proof.

use crate::device::auth::CustodianKey;
use crate::wire::{Hex, MAC_BYTES, TrialId, unhex};
use std::string::String;

/// Sends a custodian command with its proof. `ask` sends a request and gives its reply, with or
/// without checksum.
///
/// # Panics
/// The device gives no nonce.
pub fn order(key: [u8; MAC_BYTES], command: &str, mut ask: impl FnMut(&str) -> String) -> String {
    let trial = field(&ask("HELLO"), "trial=").map_or(TrialId::NONE, TrialId);
    let reply = ask("AUTH");
    let nonce =
        field(&reply, "NONCE ").unwrap_or_else(|| panic!("no nonce for {command}: {reply}"));
    let proof = CustodianKey::new(key).proof(&nonce, trial, command.as_bytes());
    ask(&format!("{command} proof={}", Hex(&proof)))
}

/// The hex digits behind a word of a reply.
fn field<const N: usize>(reply: &str, word: &str) -> Option<[u8; N]> {
    let (_, digits) = reply.split_once(word)?;
    unhex(digits.as_bytes().get(..2 * N)?)
}
