//! One file of lines with its head beside it: a log, or its second copy.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::chain::{Head, LogError};
use super::head::HeadFile;
use crate::{os, own_file};

/// A file that is open and locked.
#[derive(Debug)]
pub(super) struct Disk {
    file: File,
    path: PathBuf,
    head_file: HeadFile,
    /// Bytes of all whole lines.
    length: u64,
    /// Part of a line that was refused may stand behind them.
    unfinished: bool,
}

/// Bytes found in a file when it was opened.
pub(super) struct Found {
    /// All whole lines.
    pub lines: Vec<u8>,
    /// Bytes behind the last one.
    pub torn: usize,
    /// The head, if there is one.
    pub head: Option<Head>,
}

impl Disk {
    /// Opens a file or makes a new one, readable by its owner alone.
    ///
    /// # Errors
    /// In use, not readable, or writable by others.
    pub fn open(path: &Path) -> Result<(Self, Found), LogError> {
        let disk = |error| LogError::Disk(path.to_owned(), error);
        let mut options = OpenOptions::new();
        let options = os::owner_only(options.read(true).append(true).create(true));
        let mut file = own_file::open(path, options).map_err(disk)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(LogError::Busy(path.to_owned())),
            Err(TryLockError::Error(error)) => return Err(disk(error)),
        }
        os::make_owner_only(&file).map_err(disk)?;
        let mut lines = Vec::new();
        file.read_to_end(&mut lines).map_err(disk)?;
        let whole = lines.iter().rposition(|b| *b == b'\n').map_or(0, |last| last + 1);
        let torn = lines.len() - whole;
        lines.truncate(whole);
        let (head_file, head) = HeadFile::open(path, folder_of(path))?;
        let (path, length) = (path.to_owned(), whole as u64);
        let open = Self { file, path, head_file, length, unfinished: torn > 0 };
        Ok((open, Found { lines, torn, head }))
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether this is the file at `path`.
    pub fn is_at(&self, path: &Path) -> bool {
        own_file::still_named(&self.file, path).is_ok()
    }

    /// All whole lines, as they are now.
    pub fn lines(&mut self) -> io::Result<Vec<u8>> {
        let mut lines = Vec::new();
        self.file.seek(SeekFrom::Start(0))?;
        // Lines are appended, wherever the file was read last.
        Read::by_ref(&mut self.file).take(self.length).read_to_end(&mut lines)?;
        Ok(lines)
    }

    /// Makes the name of a new file durable.
    pub fn sync_name(&self) -> Result<(), LogError> {
        os::sync_folder(folder_of(&self.path))
            .map_err(|error| LogError::Disk(self.path.clone(), error))
    }

    /// Makes sure that a line can follow the last one: that the file is still the one under its
    /// name, writable by nobody else, and that no part of a refused line is left in it.
    ///
    /// # Errors
    /// It is not, or such a part cannot be cut off.
    pub fn ready(&mut self) -> Result<(), LogError> {
        let disk = |error| LogError::Disk(self.path.clone(), error);
        own_file::still_named(&self.file, &self.path)
            .and_then(|found| os::trusted(&found))
            .map_err(|reason| disk(own_file::refused(&reason)))?;
        if self.unfinished {
            self.cut().map_err(|error| {
                let why = format!(
                    "the rest of a line that was not written cannot be cut off ({error}); nothing \
                     is written until it can"
                );
                LogError::Disk(self.path.clone(), io::Error::new(error.kind(), why))
            })?;
        }
        Ok(())
    }

    /// Cuts off everything after the last whole line, durably.
    fn cut(&mut self) -> io::Result<()> {
        self.unfinished = true;
        self.file.set_len(self.length)?;
        self.file.sync_data()?;
        self.unfinished = false;
        Ok(())
    }

    /// Takes a line back that was put and has no head yet; `error` is why.
    pub fn take_back(&mut self, error: io::Error) -> io::Error {
        let Err(second) = self.cut() else { return error };
        let why = format!(
            "{error}; what was written of the line cannot be cut off either ({second}), and until \
             it can nothing more is written"
        );
        io::Error::new(error.kind(), why)
    }

    /// The same for a line that the copy could not keep.
    pub fn take_last_back(&mut self, why: LogError) -> LogError {
        match self.cut() {
            Ok(()) => why,
            Err(error) => LogError::Disk(self.path.clone(), self.take_back(error)),
        }
    }

    /// Puts lines behind the last one, durably. They count once [`Self::put_head`] has come.
    ///
    /// # Errors
    /// The disk refused; the lines are to be taken back.
    pub fn put(&mut self, lines: &[u8]) -> io::Result<()> {
        self.file.write_all(lines).and_then(|()| self.file.sync_data())
    }

    /// Replaces the head; `bytes` were put.
    ///
    /// # Errors
    /// The disk refused; the head is the one before.
    pub fn put_head(&mut self, head: &Head, bytes: usize) -> io::Result<()> {
        self.head_file.write(head)?;
        self.length += bytes as u64;
        Ok(())
    }
}

/// The folder that a file lies in.
pub(super) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
