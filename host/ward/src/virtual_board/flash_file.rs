//! The file that holds a virtual board's flash: created whole, checked, and watched.
//!
//! # Guarantees
//! * A new file is written under another name, synced and then renamed, so that no shortened flash
//!   ever stands under its name.
//! * The file must be a regular file of the caller, readable and writable by nobody else, with one
//!   name. It holds the custodian's key and sums that are not yet private. (On Windows the
//!   permissions of its folder count, and only kind and size are checked.)
//! * [`FlashFile::check`] finds out whether the open file is still the one under its name, whole
//!   and private. The device asks before every answer: it must not answer from a file that the next
//!   start will not find.
//! * The file is locked for as long as it is open.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::{error, fmt, format};

use crate::{os, own_file};

/// Why a file cannot be a flash.
#[derive(Debug)]
pub enum FileError {
    /// The file cannot be opened, made or read.
    File(PathBuf, io::Error),
    /// Another process has a device on the file.
    InUse(PathBuf),
    /// The file is something else than a private flash; what it is, and what is allowed.
    Refused(PathBuf, String),
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path, error) => write!(f, "flash file {}: {error}", path.display()),
            Self::InUse(path) => {
                write!(
                    f,
                    "flash file {} is in use by another device; one file, one device",
                    path.display()
                )
            }
            Self::Refused(path, reason) => write!(f, "flash file {} {reason}", path.display()),
        }
    }
}

impl error::Error for FileError {}

/// An open and locked flash file.
#[derive(Debug)]
pub struct FlashFile {
    file: File,
    path: PathBuf,
    length: u64,
}

impl FlashFile {
    /// Opens the file; one of `length` bytes of 0xFF is made if there is none.
    ///
    /// # Errors
    /// The file cannot be used, is in use, or is not a private file.
    pub fn open(path: &Path, length: u64) -> Result<Self, FileError> {
        let failed = |error| FileError::File(path.to_path_buf(), error);
        match fs::symlink_metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                create(path, length).map_err(failed)?
            }
            Err(error) => return Err(failed(error)),
            Ok(found) => os::private(&found)
                .map_err(|reason| FileError::Refused(path.to_path_buf(), reason))?,
        }
        // The file may have been replaced since: a link is not followed, a pipe does not block.
        let mut options = OpenOptions::new();
        let file = os::plainly(options.read(true).write(true)).open(path).map_err(failed)?;
        file.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => FileError::InUse(path.to_path_buf()),
            TryLockError::Error(error) => failed(error),
        })?;
        let length = file.metadata().map_err(failed)?.len();
        let opened = Self { file, path: path.to_path_buf(), length };
        opened
            .check()
            .map_err(|error| FileError::Refused(path.to_path_buf(), error.to_string()))?;
        Ok(opened)
    }

    /// Everything in the file.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn read(&self) -> io::Result<Vec<u8>> {
        let mut cells = Vec::new();
        (&self.file).read_to_end(&mut cells)?;
        Ok(cells)
    }

    /// Writes at a place inside the file.
    ///
    /// # Errors
    /// The operating system refused.
    pub fn write(&self, bytes: &[u8], from: u64) -> io::Result<()> {
        os::write_all_at(&self.file, bytes, from)
    }

    /// Makes what was written survive the loss of the machine.
    ///
    /// # Errors
    /// The operating system refused.
    pub fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    /// Whether the open file is still the one under its name, whole and private.
    ///
    /// # Errors
    /// The first check that failed.
    pub fn check(&self) -> io::Result<()> {
        let opened =
            own_file::still_named(&self.file, &self.path).map_err(|reason| wrong(&reason))?;
        os::private(&opened).map_err(|reason| wrong(&reason))?;
        if opened.len() != self.length {
            let (now, then) = (opened.len(), self.length);
            return Err(wrong(&format!("has {now} bytes; it had {then} when it was opened")));
        }
        Ok(())
    }
}

fn wrong(reason: &str) -> io::Error {
    io::Error::other(reason.to_owned())
}

/// Makes a file of 0xFF: under another name first, so that it is whole as soon as it has its own.
fn create(path: &Path, length: u64) -> io::Result<()> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(format!(".{}.new", std::process::id()));
    let beside = PathBuf::from(beside);
    let written = (|| {
        let mut file =
            os::owner_only(OpenOptions::new().write(true).create_new(true)).open(&beside)?;
        let page = [0xFF; 4096];
        let mut left = length;
        while left > 0 {
            let part = left.min(page.len() as u64);
            file.write_all(page.get(..part as usize).unwrap_or(&page))?;
            left -= part;
        }
        file.sync_all()?;
        // Never over a file that has appeared meanwhile.
        os::rename_new(&beside, path)
    })();
    if written.is_err() {
        let _ = fs::remove_file(&beside);
    }
    written
}
