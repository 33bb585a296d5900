//! Custodian commands: give a device its key and plan, close the trial, wipe the device; and the
//! report, which takes a proof in most trials.
//!
//! **Proof.** Each command carries a proof of the key, made for a fresh nonce, for the trial that
//! the device named in its `HELLO`, and for the very words of the command.
//!
//! **Retry.** A command whose answer was lost is repeated by [`super::client`]. If the first copy
//! arrived, it used the nonce up and the repeat is refused; then the whole exchange begins again:
//! what the device holds, a nonce, the command. The device acknowledges a command that it has
//! carried out before. If it has another trial by then, nothing is sent.
//!
//! **Whose device.** The key goes over the line that [`super::link`] opened and found to be this
//! user's or root's; a line that breaks is opened and checked anew.

use crate::bedside::failure;
use crate::failure::Failure;
use crate::line::client::{AskError, Client, Report};
use crate::records::keys::KeyFile;
use equipoise::device::auth::Presence;
use equipoise::plan::{Plan, Results};
use equipoise::terms::Phase;
use equipoise::wire::{
    Claim, FileDigest, ImageHash, NONCE_BYTES, Reply, Request, Row, State, TrialId, Word,
};

/// How often an exchange is begun before the device counts as unreachable.
const TRIES: u32 = 4;

/// A trial that has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Begun {
    /// Its id.
    pub trial: TrialId,
    /// Privacy claim of the device.
    pub claim: Claim,
}

/// Gives a blank device its key, if it has none, and its plan. The device checks the key before it
/// begins the trial.
///
/// # Errors
/// No device, another key, a trial that is already there, a plan that is refused.
pub fn provision(
    client: &mut Client,
    plan: &Plan,
    file: FileDigest,
    key: &KeyFile,
) -> Result<Begun, Failure> {
    let hello = client.hello().map_err(failure)?;
    let text = match hello.state {
        State::Blank => "",
        State::Running | State::Closed => "the device already holds a trial: erase it first",
        State::Fault => {
            "the device is in fault: power it down and up; if it says so again, replace it"
        }
        State::Foreign => {
            "the device holds a trial of another firmware version: finish it with that firmware"
        }
    };
    if !text.is_empty() {
        return Err(Failure::Refused(text.to_owned()));
    }
    if !hello.custody.is_some_and(|(key_set, _)| key_set) {
        match client.ask(&Request::Key(key.bytes()), done) {
            // A copy without an answer may have set the key. The proof that follows tells.
            Ok(()) | Err(AskError::Refused { word: Word::Auth, certain: false, .. }) => {}
            Err(error) => return Err(failure(error)),
        }
    }
    command(client, key, &Request::Plan { plan: *plan, file }, |reply| match reply {
        Reply::Planned { trial, claim } => Some(Begun { trial: *trial, claim: *claim }),
        _ => None,
    })
}

/// Closes the trial: the final look; patients who wait are lost.
///
/// # Errors
/// No device, another key, or refused.
pub fn close(client: &mut Client, key: &KeyFile) -> Result<(), Failure> {
    command(client, key, &Request::Close, done)
}

/// Wipes the trial; the privacy spent over the device's lifetime stays on its account.
///
/// # Errors
/// No device, another key, or refused.
pub fn erase(client: &mut Client, key: &KeyFile) -> Result<(), Failure> {
    command(client, key, &Request::Erase, done)
}

/// Whether the device holds the key: it answers a fresh nonce with the presence key, over its
/// trial, its image and its counts.
///
/// # Errors
/// No device, a device without a key, or no randomness.
pub fn prove(client: &mut Client, key: &KeyFile) -> Result<bool, Failure> {
    let mut nonce = [0; NONCE_BYTES];
    getrandom::fill(&mut nonce)
        .map_err(|error| Failure::Usage(format!("no randomness: {error}")))?;
    let hello = client.hello().map_err(failure)?;
    let (assigned, resolved) = match hello.state {
        State::Running | State::Closed => {
            let status = client.status().map_err(failure)?;
            (status.assigned, status.resolved)
        }
        State::Blank | State::Fault | State::Foreign => (0, 0),
    };
    let proof = client
        .ask(&Request::Prove(nonce), |reply| match reply {
            Reply::Proof(proof) => Some(*proof),
            _ => None,
        })
        .map_err(failure)?;
    let trial = hello.trial.map_or(TrialId::NONE, |name| name.id);
    let image = hello.image.unwrap_or(ImageHash([0; 8]));
    Ok(proof == key.presence(&nonce, &Presence { trial, image, assigned, resolved }))
}

/// The whole report; asked again if a row got lost.
///
/// # Errors
/// No device, no report yet, another key, or none where the plan's results take one.
pub fn report(client: &mut Client, key: Option<&KeyFile>) -> Result<Report, Failure> {
    let status = client.status().map_err(failure)?;
    let proved = status.results.takes_proof(status.phase == Phase::Closed);
    if proved && key.is_none() {
        let when = match status.results {
            Results::Close => " until the trial is closed",
            Results::Custodian | Results::Open => "",
        };
        return Err(Failure::Refused(format!(
            "the plan says results={}: effects are for holders of the key{when}, name it with --key-file",
            status.results.name()
        )));
    }
    for _ in 0..TRIES {
        let mut rows: Vec<Row> = Vec::new();
        let take = |reply: &Reply<'_>| match reply {
            Reply::Row(row) => {
                // A repeat begins with the first row again.
                if rows.last().is_some_and(|last| last.feature >= row.feature) {
                    rows.clear();
                }
                rows.push(*row);
                None
            }
            Reply::End { end, trial, mac } => {
                Some(Report { rows: Vec::new(), end: *end, trial: *trial, mac: *mac })
            }
            _ => None,
        };
        let report = match key.filter(|_| proved) {
            Some(key) => command(client, key, &Request::Report, take)?,
            None => client.ask(&Request::Report, take).map_err(failure)?,
        };
        if rows.len() == usize::from(report.end.rows) {
            return Ok(Report { rows, ..report });
        }
        client.distrust();
    }
    Err(Failure::Refused("rows of the report were lost on the line, four times".to_owned()))
}

/// Sends a custodian command with its proof.
fn command<T>(
    client: &mut Client,
    key: &KeyFile,
    request: &Request,
    mut take: impl FnMut(&Reply<'_>) -> Option<T>,
) -> Result<T, Failure> {
    let mut first = None;
    let mut refused = None;
    for _ in 0..TRIES {
        let held = client.hello().map_err(failure)?.trial.map(|name| name.id);
        let before = *first.get_or_insert(held);
        // Since the first try the trial may have begun or been erased, but not become another one.
        if before.is_some() && held.is_some() && before != held {
            return Err(Failure::Refused("the device holds another trial than before".to_owned()));
        }
        let nonce = client.challenge().map_err(failure)?;
        let proof = key.proof(&nonce, held.unwrap_or(TrialId::NONE), request);
        match client.ask_with_proof(request, &proof, &mut take) {
            // Nothing is wrong with the proof: a copy used the nonce up, or it expired.
            Err(error @ AskError::Refused { word: Word::Auth, certain: false, .. })
                if !wrong(&error) =>
            {
                refused = Some(error);
            }
            other => return other.map_err(failure),
        }
    }
    Err(refused.map_or_else(|| Failure::Refused("no answer".to_owned()), failure))
}

fn wrong(error: &AskError) -> bool {
    matches!(error, AskError::Refused { detail, .. } if detail.starts_with("wrong"))
}

const fn done(reply: &Reply<'_>) -> Option<()> {
    if matches!(reply, Reply::Done) { Some(()) } else { None }
}
