//! The keys that a trial was begun with, by their check values.
//!
//! `provision` writes the check values of the custodian's key and of every role's to a record on
//! its machine, and to the log that it is given. A command compares its key with both before it
//! sends or prints anything: three wrong proofs lock a device until power-up, and a wrong key
//! should be named as what it is. On a machine that knows nothing of the trial the device alone can
//! tell.
//!
//! A check value tells two keys apart and proves nothing. Arms of kits need more, a comparison that
//! cannot be left out: [`code_break`](super::code_break).

use std::path::Path;

use crate::bedside::failure;
use crate::failure::Failure;
use crate::line::client::Client;
use crate::own_file::write_private;
use crate::records::keys::KeyFile;
use crate::records::log::{self, Entry, Event};
use crate::records::place;
use equipoise::device::auth::Role;
use equipoise::wire::TrialId;

/// Ending of a check value's name, after the role.
const ENDING: &str = "-check=";

/// The check values as words of the answer that a log has of `provision`.
#[must_use]
pub fn logged(key: &KeyFile) -> String {
    let words = key.check_values().into_iter();
    words.map(|(role, value)| format!("{role}{ENDING}{value}")).collect::<Vec<_>>().join(" ")
}

/// Keeps the check values of a trial that begins, for later commands on this machine.
///
/// # Errors
/// There is no data folder, or the file cannot be written.
pub fn remember(key: &KeyFile, trial: TrialId) -> Result<(), Failure> {
    let path = place::key_checks(trial)?;
    let folder = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder).map_err(|error| Failure::file(folder, &error))?;
    let line = logged(key) + "\n";
    write_private(&path, line, true).map_err(|error| Failure::file(&path, &error))
}

/// The check value of a role's key among the words of a record or of an answer.
fn value<'a>(words: &'a str, role: &str) -> Option<&'a str> {
    words.split_ascii_whitespace().find_map(|word| word.strip_prefix(role)?.strip_prefix(ENDING))
}

/// Check values of the keys of this trial that were written when it began, and where each stands.
fn witnesses(trial: TrialId, entries: &[Entry]) -> Vec<(String, String)> {
    let mut found = Vec::new();
    if let Ok(path) = place::key_checks(trial)
        && let Ok(text) = std::fs::read_to_string(&path)
    {
        found.push((text, format!("the record {}", path.display())));
    }
    let id = format!("trial={trial}");
    for entry in entries {
        if let Event::Custodian { answered, .. } = &entry.event
            && answered.split(' ').any(|word| word == id)
        {
            found.push((answered.clone(), format!("line {} of the log", entry.line)));
        }
    }
    found
}

/// Checks that a key is not another one than the trial was begun with, as far as record and log
/// know.
///
/// # Errors
/// It is another one.
pub fn same_key(key: &KeyFile, trial: TrialId, entries: &[Entry]) -> Result<(), Failure> {
    let Some((role, ours)) = key.check_values().into_iter().next() else { return Ok(()) };
    for (words, place) in witnesses(trial, entries) {
        if let Some(theirs) = value(&words, role).filter(|theirs| *theirs != ours) {
            let whose = key.role().map_or("custodian's", Role::name);
            return Err(Failure::Refused(format!(
                "this is not the {whose} key of trial {trial}: its check value is {ours}, that of {place} is {theirs}; \
                 nothing was sent"
            )));
        }
    }
    Ok(())
}

/// The same for the trial on a device, with a log if there is one.
///
/// # Errors
/// Another key, a log that was changed, or no device.
pub fn same_key_on(client: &mut Client, key: &KeyFile, log: Option<&Path>) -> Result<(), Failure> {
    let Some(name) = client.hello().map_err(failure)?.trial else { return Ok(()) };
    let entries = match log.filter(|path| path.exists()) {
        Some(path) => log::verify(path, None)?.1,
        None => Vec::new(),
    };
    same_key(key, name.id, &entries)
}
