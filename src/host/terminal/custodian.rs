//! What the custodian does: give a device its key and plan, close the trial, wipe the device.
//!
//! Each command proves the key first (`AUTH`, a fresh challenge, its HMAC). A command whose answer was lost is
//! repeated by [`super::client`]; the device may then refuse the repeat because the first copy did its work, so a
//! refusal after a repeat is checked against what the device says it is doing.

use super::bedside::failure;
use super::client::{AskError, Client};
use super::failure::Failure;
use super::keys::Key;
use crate::plan::Plan;
use crate::prelude::*;
use crate::wire::{Claim, Reply, Request, State, TrialId, Word};

/// Said when a trial of the published algorithm is begun.
pub const DP_CONSE_NOTE: &str = crate::host::audit::findings::DP_CONSE;

/// A trial that has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Begun {
    /// Its name, where the device's answer arrived.
    pub trial: Option<TrialId>,
    /// What the device claims of its privacy.
    pub claim: Claim,
}

/// Gives a blank device its key, if it has none, and its plan.
///
/// # Errors
/// No device, another key, a trial that is already there, a plan that is refused.
pub fn provision(client: &mut Client, plan: &Plan, key: &Key) -> Result<Begun, Failure> {
    match client.hello().map_err(failure)?.state {
        State::Blank => {}
        State::Running | State::Closed => {
            return Err(Failure::Refused("the device already holds a trial: erase it first".to_owned()));
        }
        State::Fault => {
            let text = "the device is in fault: power it down and up; if it says so again, replace it";
            return Err(Failure::Refused(text.to_owned()));
        }
        State::Foreign => {
            let text = "the device holds a trial of another firmware version: finish it with that firmware";
            return Err(Failure::Refused(text.to_owned()));
        }
    }
    match client.ask(&Request::Key(key.bytes()), done) {
        Ok(()) => {}
        // It has a key; if it is this one, the proof will be taken.
        Err(AskError::Refused { word: Word::Auth | Word::Locked, .. }) => {}
        Err(error) => return Err(failure(error)),
    }
    let mut begin = || client_plan(client, plan);
    match begin() {
        Err(AskError::Refused { word: Word::Auth, .. }) => {
            authenticate(client, key)?;
            client_plan(client, plan).map_err(failure)
        }
        other => other.map_err(failure),
    }
}

fn client_plan(client: &mut Client, plan: &Plan) -> Result<Begun, AskError> {
    let answer = client.ask(&Request::Plan(*plan), |reply| match reply {
        Reply::Planned { trial, claim } => Some(Begun { trial: Some(*trial), claim: *claim }),
        _ => None,
    });
    match answer {
        Err(AskError::Refused { word: Word::Locked, certain: false, .. }) => {
            let status = client.status()?;
            if (status.design, status.patients, status.assigned) == (plan.design(), plan.patients(), 0) {
                return Ok(Begun { trial: None, claim: Claim::of(plan.design()) });
            }
            answer
        }
        answer => answer,
    }
}

/// Closes the trial: the final look; what is unresolved is lost.
///
/// # Errors
/// No device, another key, or refused.
pub fn close(client: &mut Client, key: &Key) -> Result<(), Failure> {
    command(client, key, &Request::Close, State::Closed)
}

/// Wipes the trial; the privacy spent over the device's lifetime stays on its account.
///
/// # Errors
/// No device, another key, or refused.
pub fn erase(client: &mut Client, key: &Key) -> Result<(), Failure> {
    command(client, key, &Request::Erase, State::Blank)
}

fn command(client: &mut Client, key: &Key, request: &Request, after: State) -> Result<(), Failure> {
    authenticate(client, key)?;
    match client.ask(request, done) {
        Err(error @ AskError::Refused { certain: false, .. }) => {
            let state = client.hello().map_err(failure)?.state;
            if state == after { Ok(()) } else { Err(failure(error)) }
        }
        other => other.map_err(failure),
    }
}

fn authenticate(client: &mut Client, key: &Key) -> Result<(), Failure> {
    let nonce = client.ask(&Request::Challenge, |reply| match reply {
        Reply::Nonce(nonce) => Some(*nonce),
        _ => None,
    });
    let answer = Request::Answer(key.proof(&nonce.map_err(failure)?));
    client.ask(&answer, done).map_err(failure)
}

const fn done(reply: &Reply<'_>) -> Option<()> {
    if matches!(reply, Reply::Done) { Some(()) } else { None }
}
