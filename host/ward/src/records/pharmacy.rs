//! The pharmacy's side of a blinded trial: the list of all kits, and unblinding one of them.
//!
//! **List.** A CSV file with a line for each kit: number, label, check digit, arm, name of the arm.
//! Lines are in the order of kit numbers, which a keyed permutation makes unrelated to the arms and
//! to the order in which kits are given ([`equipoise::kits`]). Anybody who has the list can unblind
//! every patient, so the file is readable by its owner only.
//!
//! **Seal.** HMAC-SHA256 over the list under a key of its own, made of the label `equipoise kit
//! list 1` and the trial file's digest under the custodian's key. It lies in `FILE.seal`:
//! `equipoise kits 1 count=<kits> file=<digest> seal=<64 hex digits>`.
//!
//! **Unblinding** names the arm of one kit ([`super::code_break`]). The log has patient, kit,
//! reason, operator and time on the disk before the arm is shown. It does not have the arm: a log
//! may lie on the ward.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::failure::Failure;
use crate::records::code_break::Asked;
use crate::records::keys::KeyFile;
use crate::records::kit_label::KitLabel;
use crate::records::log::{Entry, Event};
use crate::records::register::Register;
use crate::records::text;
use crate::records::trial_file::TrialFile;
use equipoise::kits::all::arms;
use equipoise::kits::origin;
use equipoise::terms::Arm;
use equipoise::wire::{FileDigest, Hex};

/// Longest reason.
pub const MAX_REASON: usize = 200;

/// A list of kits, and its seal.
#[derive(Debug, PartialEq, Eq)]
pub struct KitList {
    /// The CSV file.
    pub text: String,
    /// The line of the seal file.
    pub seal: String,
    /// How many kits there are.
    pub count: u32,
}

/// The labels of a trial's kits.
pub(super) fn labels(trial: &TrialFile) -> Result<&KitLabel, Failure> {
    trial.kits.as_ref().ok_or_else(|| {
        Failure::Usage(format!("the trial {:?} is not blinded: it has no kits", trial.title))
    })
}

/// All kits of a trial.
///
/// # Errors
/// The trial is not blinded.
pub fn list(trial: &TrialFile, key: &KeyFile) -> Result<KitList, Failure> {
    let (labels, kits) = (labels(trial)?, trial.plan.kits());
    let file = FileDigest(trial.digest());
    let mut text = "kit,label,check,arm,arm_name\n".to_owned();
    for (kit, arm) in (1..).zip(arms(&key.kit_key(file, kits), kits)) {
        let check = labels.check_digit(kit).map_or(String::new(), |digit| digit.to_string());
        let (label, name) = (text::csv(&labels.label(kit)), text::csv(trial.arm_name(arm)));
        let _ = writeln!(text, "{kit},{label},{check},{},{name}", arm.index());
    }
    let (count, seal) = (kits * 2, key.kit_seal(file, text.as_bytes()));
    let seal = format!("equipoise kits 1 count={count} file={file} seal={}\n", Hex(&seal));
    Ok(KitList { text, seal, count })
}

/// Compares a list and its seal with what the key gives; how many kits there are.
///
/// # Errors
/// The first line that differs, or the seal.
pub fn verify(trial: &TrialFile, key: &KeyFile, text: &str, seal: &str) -> Result<u32, Failure> {
    let right = list(trial, key)?;
    let refused = |what: String| Err(Failure::Refused(what));
    let (found, expected) = (text.lines().count(), right.text.lines().count());
    let differs = text.lines().zip(right.text.lines()).position(|(a, b)| a != b);
    if let Some(place) = differs {
        return refused(format!(
            "line {} is not that of this trial and key: it was changed, or they are of another list",
            place + 1
        ));
    }
    if found != expected || text != right.text {
        return refused(format!("{found} lines, allowed exactly {expected}"));
    }
    if seal.trim_end() != right.seal.trim_end() {
        return refused(
            "the list is right, its seal is not: another file's, or changed".to_owned(),
        );
    }
    Ok(right.count)
}

/// The arms of all patients of a log, by number, for counts of groups.
///
/// # Errors
/// The trial is not blinded, or the key does not fit the kits of the log: kits of an arm are given
/// in their order, so none can have a later place than there were kits given.
pub fn arms_of(
    trial: &TrialFile,
    key: &KeyFile,
    register: &Register,
) -> Result<BTreeMap<u32, Arm>, Failure> {
    labels(trial)?;
    let kits = trial.plan.kits();
    let key = key.kit_key(FileDigest(trial.digest()), kits);
    let replaced = register.patients().map(|patient| u32::from(patient.given.replaced()));
    let given = register.last_number() + replaced.sum::<u32>();
    let mut arms = BTreeMap::new();
    for patient in register.patients() {
        let Some(kit) = patient.given.kit() else { continue };
        let found = origin(&key, kits, kit).filter(|(_, place)| *place < given);
        let (arm, _) = found.ok_or_else(|| {
            Failure::Refused(
                "the key does not fit the kits in the log: it is of another trial or custodian"
                    .to_owned(),
            )
        })?;
        arms.insert(patient.number, arm);
    }
    Ok(arms)
}

/// Unblinds one kit: logs it, then gives its arm and the line of the log. The key was checked
/// ([`same_key`](super::code_break::same_key)).
///
/// # Errors
/// No such kit, the trial is not blinded, a reason that is not allowed, or the disk refused.
pub fn reveal(
    trial: &TrialFile,
    key: &KeyFile,
    asked: &Asked,
    reason: &str,
    note: impl FnOnce(Event) -> Result<Entry, Failure>,
) -> Result<(Arm, Entry), Failure> {
    let (labels, kits, kit) = (labels(trial)?, trial.plan.kits(), asked.kit);
    text::check("reason", reason, MAX_REASON).map_err(Failure::Usage)?;
    let (label, reason) = (labels.label(kit), reason.trim().to_owned());
    let (title, of) = (trial.title.clone(), asked.patient.clone());
    let (code, patient) = of.map_or((None, None), |(code, number)| (Some(code), Some(number)));
    let entry = note(Event::Unblinded { title, kit, label, reason, code, patient })?;
    let found = origin(&key.kit_key(FileDigest(trial.digest()), kits), kits, kit);
    found
        .map(|(arm, _)| (arm, entry))
        .ok_or_else(|| Failure::Refused(format!("there is no kit {kit}")))
}
