//! A code break: the arm of one patient's kit is named in an emergency.
//!
//! A wrong arm is worse than none. With another key or another trial file every kit still has an
//! arm, a wrong one as often as not. So nothing is named before something that was written when the
//! trial began agrees with the key: the record that `provision` keeps on its machine, the line of
//! `provision` in a log, or the seal of the pharmacy's list. And nothing is named of a kit that no
//! patient of the log was given, unless a person says that the log does not have it.

use std::path::Path;

use crate::failure::Failure;
use crate::own_file::write_private;
use crate::records::keys::KeyFile;
use crate::records::log::{Entry, Event};
use crate::records::place;
use crate::records::register::Register;
use crate::records::trial_file::TrialFile;
use equipoise::wire::{FileDigest, Hex};

/// The text whose seal is the check value.
const CHECKED: &[u8] = b"equipoise key check 1";
/// Bytes of a check value.
const BYTES: usize = 8;
/// Name of the check value in the answer that a log has of `provision`.
const NAME: &str = "key-check=";

/// The check value of a key for the trial file with this digest. It tells two keys apart and says
/// nothing about kits.
#[must_use]
pub fn check_value(key: &KeyFile, file: FileDigest) -> String {
    let seal = key.kit_seal(file, CHECKED);
    Hex(seal.get(..BYTES).unwrap_or_default()).to_string()
}

/// The check value as a word in the answer that a log has of `provision`.
#[must_use]
pub fn logged(key: &KeyFile, file: FileDigest) -> String {
    format!("{NAME}{}", check_value(key, file))
}

/// Keeps the check value of a trial that begins, for a code break on this machine.
///
/// # Errors
/// There is no data folder, or the file cannot be written.
pub fn remember(key: &KeyFile, file: FileDigest) -> Result<(), Failure> {
    let path = place::key_check(file)?;
    let folder = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder).map_err(|error| Failure::file(folder, &error))?;
    let line = check_value(key, file) + "\n";
    write_private(&path, line, true).map_err(|error| Failure::file(&path, &error))
}

/// Check values of this trial file that were written when a trial with it began, and where each
/// stands.
fn witnesses(file: FileDigest, entries: &[Entry]) -> Vec<(String, String)> {
    let mut found = Vec::new();
    if let Ok(path) = place::key_check(file)
        && let Ok(text) = std::fs::read_to_string(&path)
    {
        found.push((text.trim().to_owned(), format!("the record {}", path.display())));
    }
    for entry in entries {
        if let Event::Custodian { asked, answered } = &entry.event
            && asked.contains(&file.to_string())
            && let Some(value) = answered.split(' ').find_map(|word| word.strip_prefix(NAME))
        {
            found.push((value.to_owned(), format!("line {} of the log", entry.line)));
        }
    }
    found
}

/// Checks that this is not another key than the trial was begun with, as far as record and log
/// know; a trial that has not begun has neither.
///
/// # Errors
/// Another key.
pub fn not_another_key(key: &KeyFile, trial: &TrialFile, entries: &[Entry]) -> Result<(), Failure> {
    let file = FileDigest(trial.digest());
    same_as(key, trial, &witnesses(file, entries))
}

fn same_as(key: &KeyFile, trial: &TrialFile, known: &[(String, String)]) -> Result<(), Failure> {
    let ours = check_value(key, FileDigest(trial.digest()));
    match known.iter().find(|(value, _)| *value != ours) {
        None => Ok(()),
        Some((theirs, place)) => Err(Failure::Refused(format!(
            "this is not the key of the trial {:?}: its check value is {ours}, that of {place} is {theirs}; no arm is \
             named",
            trial.title
        ))),
    }
}

/// Checks that this is the key of the trial; `sealed` if the seal of its list of kits was right.
///
/// # Errors
/// Another key, or nothing that tells.
pub fn same_key(
    key: &KeyFile,
    trial: &TrialFile,
    entries: &[Entry],
    sealed: bool,
) -> Result<(), Failure> {
    let file = FileDigest(trial.digest());
    let witnesses = witnesses(file, entries);
    same_as(key, trial, &witnesses)?;
    if witnesses.is_empty() && !sealed {
        return Err(Failure::Refused(format!(
            "nothing here tells whether this is the key of the trial {:?} (digest {file}), and with another one the \
             arm would be wrong: name the pharmacy's list with --list, or the log of `provision` with --log",
            trial.title
        )));
    }
    Ok(())
}

/// A kit whose arm is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// Its number.
    pub kit: u32,
    /// Code and number of the patient who was given it.
    pub patient: Option<(String, u32)>,
}

/// The kit that is meant by a label, a patient's code, or `#` and a patient's number.
///
/// # Errors
/// Neither, both, or a kit that no patient of the log was given (unless `not_in_log`).
pub fn asked(
    trial: &TrialFile,
    register: &Register,
    name: &str,
    not_in_log: bool,
) -> Result<Asked, Failure> {
    let name = name.trim();
    let Some(labels) = &trial.kits else {
        let title = &trial.title;
        return Err(Failure::Usage(format!("the trial {title:?} is not blinded: it has no kits")));
    };
    let number = match name.strip_prefix('#') {
        Some(digits) => digits.parse().ok(),
        None => register.number(name),
    };
    let patient = number.and_then(|number| register.patient(number));
    let by_patient = patient.and_then(|patient| {
        let kit = patient.given.kit()?;
        Some(Asked { kit, patient: Some((patient.code.clone(), patient.number)) })
    });
    let by_label = labels.kit(name);
    match (by_patient, by_label) {
        (Some(asked), Err(_)) => Ok(asked),
        (Some(asked), Ok(kit)) if asked.kit == kit => Ok(asked),
        (Some(_), Ok(_)) => Err(Failure::Usage(format!(
            "{name:?} is the code of a patient and the label of another kit: name the patient by # and the number"
        ))),
        (None, Ok(kit)) => {
            let had = |number: u32| register.kits(number).iter().any(|given| given.kit == kit);
            let owner = register.patients().find(|patient| had(patient.number));
            let patient = owner.map(|patient| (patient.code.clone(), patient.number));
            if patient.is_none() && !not_in_log {
                return Err(Failure::Refused(format!(
                    "no patient of this log was given kit {name}: is it of another trial? Name the ward's log with \
                     --ward-log, or say --not-in-log; no arm is named"
                )));
            }
            Ok(Asked { kit, patient })
        }
        (None, Err(why)) => Err(Failure::Usage(format!(
            "{name:?} is no patient of this log and no kit of the trial {:?}: {why}",
            trial.title
        ))),
    }
}
