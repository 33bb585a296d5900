//! The second copy of a trial's records, in a folder on another disk or a share.
//!
//! A setting of this machine, not of the trial: `settings.toml` in the data folder.
//!
//! ```toml
//! copy-to = "/media/stick/trial"
//! without-copy = "stop"          # or "warn"
//! ```
//!
//! | in the folder | what |
//! |---|---|
//! | `<log>.jsonl`, `<log>.jsonl.head` | the log, line by line, under its own name |
//! | `<digest>.toml` | the trial file |
//! | [`MARK`] | put there when the folder is set: without it a disk is not mounted |
//!
//! Each terminal has a folder of its own: two logs of one name would not be told apart.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::own_file::write_private;
use crate::records::place;
use equipoise::wire::FileDigest;

/// A file that tells the folder from one of the same name on another disk, as an empty mount point.
pub const MARK: &str = "equipoise-copies.txt";

/// Checks that this is a folder that was set for copies.
///
/// # Errors
/// It is not there, or not that folder.
pub fn check_folder(folder: &Path) -> Result<(), String> {
    let name = folder.display();
    if !folder.is_dir() {
        return Err(format!("the folder {name} is not there"));
    }
    if !folder.join(MARK).exists() {
        return Err(format!("the folder {name} has no {MARK}: is its disk there?"));
    }
    Ok(())
}

/// Work at a terminal whose second copy cannot be written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Without {
    /// Nobody is enrolled and nothing recorded until the copy is there.
    #[default]
    Stop,
    /// Work goes on, with a warning.
    Warn,
}

impl Without {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Stop, Self::Warn];

    /// Its word in the settings.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::Warn => "warn",
        }
    }
}

/// Where copies go.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Copies {
    /// The folder.
    #[serde(rename = "copy-to")]
    pub folder: PathBuf,
    /// Work without a copy.
    #[serde(rename = "without-copy", default)]
    pub without: Without,
}

impl Copies {
    /// The setting of this machine; none if it keeps no copies.
    ///
    /// # Errors
    /// The settings cannot be read.
    pub fn read() -> Result<Option<Self>, Failure> {
        // Without a data folder there is nothing to keep settings in.
        let Ok(path) = place::settings() else { return Ok(None) };
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Failure::file(&path, &error)),
        };
        let copies = toml::from_str::<Self>(&text).map_err(|error| {
            Failure::Usage(format!(
                "{}: {}; allowed copy-to = \"FOLDER\" and without-copy = \"stop\" or \"warn\"",
                path.display(),
                error.message()
            ))
        })?;
        Ok(Some(copies))
    }

    /// Makes this the setting of this machine. The folder must be there.
    ///
    /// # Errors
    /// There is no such folder, or a file cannot be written.
    pub fn set(&self) -> Result<(), Failure> {
        if !self.folder.is_dir() {
            let folder = self.folder.display();
            return Err(Failure::Usage(format!("{folder} is not a folder; nothing was set")));
        }
        let mark = self.folder.join(MARK);
        let text = "Second copies of a trial's records. Do not remove this file: without it\n\
                    equipoise takes the folder for one of another disk.\n";
        write_private(&mark, text, true).map_err(|error| Failure::file(&mark, &error))?;
        let path = place::settings()?;
        let folder = place::data()?;
        std::fs::create_dir_all(&folder).map_err(|error| Failure::file(&folder, &error))?;
        let text = toml::to_string(self).map_err(|error| Failure::Usage(error.to_string()))?;
        write_private(&path, text, true).map_err(|error| Failure::file(&path, &error))
    }

    /// The copy of a log.
    #[must_use]
    pub fn log(&self, log: &Path) -> PathBuf {
        self.folder.join(log.file_name().unwrap_or_default())
    }

    /// The copy of the trial file with this digest.
    #[must_use]
    pub fn trial(&self, digest: FileDigest) -> PathBuf {
        self.folder.join(format!("{digest}.toml"))
    }

    /// Copies a trial file, unless the copy is there.
    ///
    /// # Errors
    /// It cannot be read or written.
    pub fn keep_trial(&self, trial: &Path, digest: FileDigest) -> Result<(), Failure> {
        check_folder(&self.folder).map_err(Failure::Usage)?;
        let copy = self.trial(digest);
        if copy.exists() {
            return Ok(());
        }
        let bytes = std::fs::read(trial).map_err(|error| Failure::file(trial, &error))?;
        write_private(&copy, bytes, false).map_err(|error| Failure::file(&copy, &error))
    }
}
