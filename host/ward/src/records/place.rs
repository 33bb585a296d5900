//! Where the terminal keeps its files: `$XDG_DATA_HOME/equipoise`, by default
//! `~/.local/share/equipoise`, on Windows `%LOCALAPPDATA%\equipoise`.
//!
//! ```text
//! trial.toml            the trial file last provisioned from this machine
//! trials/<digest>.toml  every trial file provisioned from this machine
//! trials/<digest>.key-check  check value of the key of a blinded one
//! trials/<trial id>.key-checks  check values of the keys that a trial was begun with
//! trials/<digest>.staff.toml  the staff of that trial
//! logs/<title>.jsonl    a log for each trial
//! settings.toml         where copies of the records go, see [`crate::records::copies`]
//! virtual/              flash, key, trial file and log of the device that `equipoise` runs by itself
//! ```

use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::records::staff;
use crate::records::trial_file::TrialFile;
use equipoise::wire::{FileDigest, TrialId};

/// The data folder, which holds all of these files.
///
/// # Errors
/// No environment variable names the data folder (`XDG_DATA_HOME`, `HOME`; on Windows
/// `LOCALAPPDATA`).
pub fn data() -> Result<PathBuf, Failure> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    base(|name| set(name).map(PathBuf::from), cfg!(windows)).map(|base| base.join("equipoise"))
}

/// The folder for data of all programs, by the variables that are set.
fn base(set: impl Fn(&str) -> Option<PathBuf>, windows: bool) -> Result<PathBuf, Failure> {
    let named = set("XDG_DATA_HOME");
    let (usual, variable) = if windows {
        (set("LOCALAPPDATA"), "LOCALAPPDATA")
    } else {
        (set("HOME").map(|home| home.join(".local/share")), "HOME")
    };
    named.or(usual).ok_or_else(|| {
        Failure::Usage(format!(
            "neither XDG_DATA_HOME nor {variable} is set: name the files with --trial and --log"
        ))
    })
}

/// The settings of this machine.
///
/// # Errors
/// There is no data folder.
pub fn settings() -> Result<PathBuf, Failure> {
    Ok(data()?.join("settings.toml"))
}

/// The trial file a terminal takes when none is named.
///
/// # Errors
/// There is no data folder.
pub fn trial() -> Result<PathBuf, Failure> {
    Ok(data()?.join("trial.toml"))
}

/// Where the copy of a provisioned trial file of this digest lies.
///
/// # Errors
/// There is no data folder.
pub fn trial_copy(digest: FileDigest) -> Result<PathBuf, Failure> {
    Ok(data()?.join("trials").join(format!("{digest}.toml")))
}

/// Where the check value of the key of a blinded trial lies that was provisioned with the trial
/// file of this digest.
///
/// # Errors
/// There is no data folder.
pub fn key_check(digest: FileDigest) -> Result<PathBuf, Failure> {
    Ok(data()?.join("trials").join(format!("{digest}.key-check")))
}

/// Where the check values of the keys lie that this trial was begun with.
///
/// # Errors
/// There is no data folder.
pub fn key_checks(trial: TrialId) -> Result<PathBuf, Failure> {
    Ok(data()?.join("trials").join(format!("{trial}.key-checks")))
}

/// Where the staff file of a trial lies: beside the copy of its trial file on this machine, unless
/// there is one beside the file that is named and none beside the copy.
///
/// # Errors
/// There is no data folder.
pub fn staff(digest: FileDigest, named: Option<&Path>) -> Result<PathBuf, Failure> {
    let Some(named) = named else { return Ok(staff::beside(&trial_copy(digest)?)) };
    let Ok(copy) = trial_copy(digest) else { return Ok(staff::beside(named)) };
    let [kept, other] = [staff::beside(&copy), staff::beside(named)];
    let ours = kept.exists() || (copy.exists() && !other.exists());
    Ok(if ours { kept } else { other })
}

/// The log of a trial when none is named.
///
/// # Errors
/// There is no data folder.
pub fn log(trial: &TrialFile) -> Result<PathBuf, Failure> {
    let plain = |c: char| if c.is_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let name: String = trial.title.chars().map(plain).collect();
    Ok(data()?.join("logs").join(format!("{name}.jsonl")))
}

/// Who sits at the terminal when nobody is named: the user, if the system names one.
#[must_use]
pub fn operator() -> Option<String> {
    let mut names = ["USER", "LOGNAME", "USERNAME"]
        .into_iter()
        .filter_map(|name| std::env::var(name).ok().filter(|name| !name.is_empty()));
    names.next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_data_folder_is_where_the_system_keeps_it() {
        let set = |names: &'static [(&str, &str)]| {
            move |wanted: &str| {
                names.iter().find(|(name, _)| *name == wanted).map(|(_, value)| value.into())
            }
        };
        let both = set(&[("HOME", "/home/ann"), ("LOCALAPPDATA", "C:/local")]);
        assert_eq!(base(both, false).ok(), Some("/home/ann/.local/share".into()));
        assert_eq!(base(both, true).ok(), Some("C:/local".into()));
        let named = set(&[("XDG_DATA_HOME", "/data"), ("HOME", "/h"), ("LOCALAPPDATA", "C:/l")]);
        assert_eq!(
            [base(named, false).ok(), base(named, true).ok()],
            [Some("/data".into()), Some("/data".into())]
        );
        for (windows, variable) in [(false, "HOME"), (true, "LOCALAPPDATA")] {
            let why = base(set(&[]), windows).unwrap_err().to_string();
            assert!(why.contains(variable), "{why}");
        }
    }
}
