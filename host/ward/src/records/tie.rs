//! Trial file, log and device belong together: what is compared, and what differs.

use std::path::Path;

use crate::failure::Failure;
use crate::records::place;
use crate::records::register::Register;
use crate::records::trial_file::TrialFile;
use equipoise::wire::{FileDigest, Status};

/// Checks that the device was provisioned with a trial file of the same meaning.
///
/// # Errors
/// It was not; the message names what differs.
pub fn same_file(trial: &TrialFile, status: &Status) -> Result<(), Failure> {
    let (ours, theirs) = (FileDigest(trial.digest()), status.name.file);
    let (design, patients) = (trial.plan.design(), trial.plan.patients());
    let mut differences = Vec::new();
    if status.design != design {
        differences.push(format!("design: {} on the device, {design} in the file", status.design));
    }
    if status.patients != patients {
        differences
            .push(format!("patients: {} on the device, {patients} in the file", status.patients));
    }
    let results = trial.plan.results();
    if status.results != results {
        let (theirs, ours) = (status.results.name(), results.name());
        differences.push(format!("results: {theirs} on the device, {ours} in the file"));
    }
    if theirs == FileDigest::NONE {
        differences.push("the device's trial was begun without a trial file".to_owned());
    } else if theirs != ours {
        let kept = place::trial_copy(theirs).ok().and_then(|copy| TrialFile::read(&copy).ok());
        let named = kept.map_or_else(Vec::new, |kept| trial.differences(&kept));
        differences.push(format!("digest: {theirs} on the device, {ours} in the file"));
        differences.extend(named);
    }
    if differences.is_empty() {
        return Ok(());
    }
    Err(Failure::Usage(format!(
        "the device holds trial {} of another trial file than {:?}; nothing was sent. What differs:\n  {}",
        status.name.id,
        trial.title,
        differences.join("\n  ")
    )))
}

/// Checks that a log is of this trial file; a log without a first line is.
///
/// # Errors
/// It is of another trial; both are named.
pub fn same_trial(register: &Register, trial: &TrialFile, log: &Path) -> Result<(), Failure> {
    let Some(opened) = register.opened() else { return Ok(()) };
    let (title, plan) = (&trial.title, trial.plan.to_string());
    let digest = FileDigest(trial.digest()).to_string();
    if (&opened.title, &opened.plan, &opened.file) == (title, &plan, &digest) {
        return Ok(());
    }
    Err(Failure::Usage(format!(
        "the log {} is of another trial: {:?} with {}, digest {}, not {title:?} with {plan}, digest {digest}",
        log.display(),
        opened.title,
        opened.plan,
        opened.file
    )))
}
