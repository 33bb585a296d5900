//! Where the terminal keeps its files: `$XDG_DATA_HOME/equipoise`, by default
//! `~/.local/share/equipoise`.
//!
//! ```text
//! trial.toml            the trial file last provisioned from this machine
//! trials/<digest>.toml  every trial file provisioned from this machine
//! logs/<title>.jsonl    a log for each trial
//! virtual/              flash, key, trial file and log of the device that `equipoise` runs by itself
//! ```

use crate::prelude::*;
use std::path::PathBuf;

use super::failure::Failure;
use super::trial_file::TrialFile;
use crate::wire::FileDigest;

/// The folder of all of them.
///
/// # Errors
/// Neither variable is set.
pub fn data() -> Result<PathBuf, Failure> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let base = set("XDG_DATA_HOME").or_else(|| Some(set("HOME")?.join(".local/share")));
    let base = base.ok_or_else(|| {
        Failure::Usage(
            "neither XDG_DATA_HOME nor HOME is set: name the files with --trial and --log"
                .to_owned(),
        )
    });
    Ok(base?.join("equipoise"))
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

/// The log of a trial when none is named.
///
/// # Errors
/// There is no data folder.
pub fn log(trial: &TrialFile) -> Result<PathBuf, Failure> {
    let plain = |c: char| if c.is_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let name: String = trial.title.chars().map(plain).collect();
    Ok(data()?.join("logs").join(format!("{name}.jsonl")))
}

/// Who sits at the terminal when nobody is named.
#[must_use]
pub fn operator() -> String {
    let name = std::env::var("USER").or_else(|_| std::env::var("LOGNAME"));
    name.ok().filter(|name| !name.is_empty()).unwrap_or_else(|| "unknown".to_owned())
}
