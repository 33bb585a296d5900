//! The second copy of a log: the same file and head in another folder, on another disk or a share.
//!
//! # Guarantees
//! * **On both.** A line is put to the log, then to the copy, each synced, before
//!   [`super::Log::append`] returns. A crash in between leaves the copy behind, never ahead.
//! * **Brought up.** When the copy is opened, or is there again, it gets the lines that it lacks. A
//!   torn last line of it is cut off.
//! * **Never overwritten.** A copy with another line than the log is left as it is and does not
//!   count as one: one of the two was changed, and a person must decide which.
//!
//! If the copy cannot be written, [`Without`] says what happens.

use std::path::{Path, PathBuf};

use super::chain::{Head, LogError};
use super::disk::{Disk, folder_of};
use crate::records::copies::{self, Copies, Without};

/// The copy of an open log.
#[derive(Debug)]
pub(super) struct Second {
    path: PathBuf,
    without: Without,
    disk: Option<Disk>,
    /// Why there is none.
    trouble: Option<String>,
}

/// First difference between a log and its copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Difference {
    /// The two have another line here.
    Line(u64),
    /// The copy ends before this line.
    Behind(u64),
    /// The copy has this line, and the log has ended.
    Ahead(u64),
}

impl Difference {
    /// The first difference between the whole lines of a log and of its copy.
    #[must_use]
    pub fn between(log: &[u8], copy: &[u8]) -> Option<Self> {
        let lines = |bytes| <[u8]>::split_inclusive(bytes, |b| *b == b'\n');
        let [mut ours, mut theirs] = [lines(log), lines(copy)];
        for number in 1.. {
            match (ours.next(), theirs.next()) {
                (None, None) => break,
                (Some(_), None) => return Some(Self::Behind(number)),
                (None, Some(_)) => return Some(Self::Ahead(number)),
                (Some(one), Some(other)) if one != other => return Some(Self::Line(number)),
                _ => {}
            }
        }
        None
    }

    /// The difference in words; `copy` is the path of the copy.
    #[must_use]
    pub fn in_words(self, copy: &Path) -> String {
        let copy = copy.display();
        match self {
            Self::Line(line) => format!("line {line} of the log is another one in its copy {copy}"),
            Self::Behind(line) => format!("the copy {copy} ends before line {line} of the log"),
            Self::Ahead(line) => {
                format!("the copy {copy} has line {line}, and the log ends before it")
            }
        }
    }
}

impl Second {
    /// The copy of the log at `path`, not yet opened.
    pub fn of(path: &Path, copies: &Copies) -> Self {
        let (path, without) = (copies.log(path), copies.without);
        Self { path, without, disk: None, trouble: None }
    }

    /// Why the last lines are on one disk alone.
    pub fn trouble(&self) -> Option<&str> {
        self.trouble.as_deref()
    }

    /// Makes sure that a line can be put to the copy; opens it and brings it up first if need be.
    ///
    /// # Errors
    /// It cannot, and work must stop without a copy.
    pub fn ready(&mut self, log: &mut Disk, head: &Head) -> Result<(), LogError> {
        if self.disk.as_mut().is_some_and(|disk| disk.ready().is_ok()) {
            return Ok(());
        }
        // Its lock first: it may be the same file under its name again.
        self.disk = None;
        match open(&self.path, log, head) {
            Ok(disk) => {
                (self.disk, self.trouble) = (Some(disk), None);
                Ok(())
            }
            Err(error) => self.lost(error),
        }
    }

    /// Notes why there is no copy.
    fn lost(&mut self, error: LogError) -> Result<(), LogError> {
        self.disk = None;
        let why = match error {
            LogError::Copy(_, why) => why,
            other => other.to_string(),
        };
        if self.without == Without::Stop {
            return Err(LogError::Copy(self.path.clone(), why));
        }
        self.trouble =
            Some(format!("the second copy {} cannot be used: {why}", self.path.display()));
        Ok(())
    }

    /// Puts a line, durably.
    ///
    /// # Errors
    /// The disk refused, and work must stop without a copy. Nothing of the line is left, or it is
    /// cut off when the copy is opened again.
    pub fn put(&mut self, line: &[u8]) -> Result<(), LogError> {
        let Some(disk) = &mut self.disk else { return Ok(()) };
        match disk.put(line) {
            Ok(()) => Ok(()),
            Err(error) => {
                let error = disk.take_back(error);
                self.lost(LogError::Disk(self.path.clone(), error))
            }
        }
    }

    /// Takes back a line that the log could not keep.
    pub fn take_back(&mut self) {
        if let Some(disk) = &mut self.disk {
            // One that stays is found by `ready`, which tries again.
            let _ = disk.take_back(std::io::ErrorKind::Other.into());
        }
    }

    /// Replaces the head of the copy. The line is on both disks already; a copy whose head cannot
    /// be written is opened again before the next line.
    pub fn put_head(&mut self, head: &Head, bytes: usize) {
        if let Some(disk) = &mut self.disk
            && disk.put_head(head, bytes).is_err()
        {
            self.disk = None;
        }
    }
}

/// Opens a copy and brings it up to its log.
fn open(path: &Path, log: &mut Disk, head: &Head) -> Result<Disk, LogError> {
    let refused = |error| LogError::Disk(path.to_owned(), error);
    let unfit = |why| LogError::Copy(path.to_owned(), why);
    copies::check_folder(folder_of(path)).map_err(unfit)?;
    if log.is_at(path) {
        return Err(unfit("it is the log itself".to_owned()));
    }
    let ours = log.lines().map_err(|error| LogError::Disk(log.path().to_owned(), error))?;
    let (mut disk, found) = Disk::open(path)?;
    let missing = match Difference::between(&ours, &found.lines) {
        None => &[],
        Some(Difference::Behind(_)) => ours.get(found.lines.len()..).unwrap_or_default(),
        Some(other) => {
            let what = other.in_words(path);
            return Err(unfit(format!(
                "{what}; see which of the two is right, move the copy away, and a new one is made"
            )));
        }
    };
    disk.ready()?;
    if found.lines.is_empty() {
        disk.sync_name()?;
    }
    if !missing.is_empty() {
        disk.put(missing).map_err(|error| refused(disk.take_back(error)))?;
    }
    if head.lines > 0 {
        disk.put_head(head, missing.len()).map_err(|error| refused(disk.take_back(error)))?;
    }
    Ok(disk)
}
