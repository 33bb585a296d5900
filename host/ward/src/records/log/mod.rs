//! The log on the terminal's disk: what was asked and answered, in order, never an outcome's value.
//!
//! One JSON object a line, only ever appended. A line is
//!
//! ```text
//! {"hash":"<64 hex>","line":7,"time":"2026-11-16T08:30:12.123Z","operator":"..","event":"..",..}
//! ```
//!
//! where `hash` is SHA-256 of the hash of the line before (for the first line the text [`GENESIS`])
//! followed by every byte of the line behind `"<hash>",`. So a changed byte, a dropped or moved
//! line breaks the chain at that line. Beside the log lies `FILE.head` with the number of lines and
//! the last hash: it shows lines dropped at the end, which a chain alone cannot.
//!
//! **Order.** A line is on the disk (`fsync`) before [`Log::append`] returns; only then does the
//! terminal act on it or show it. The head follows the line, so after a crash the log may be ahead
//! of its head, never behind. A crash can also leave a torn last line, one without a line feed:
//! nothing was done or shown because of it, and [`Log::open`] cuts it off and says so in the next
//! line. Anything else wrong is refused, not repaired.
//!
//! **What is found.** Every change of a byte, every line dropped (the last too), doubled or moved,
//! by accident or by hand. Not found: changes by somebody who can write both files and recomputes
//! all hashes. Against that, write down the last hash from time to time (`log verify` prints it)
//! and hand it to `log verify --head HASH`.
//!
//! **No outcome.** [`Event`] has no field that could hold an outcome, nor the request line or its
//! checksum; of an error answered to an outcome only its word is kept, for its detail may repeat
//! the value.

mod chain;
mod event;

use crate::os;

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use chain::{AFTER_HASH, OPENING, chain, entries, head_of, read_head};
pub use chain::{
    GENESIS, HASH_DIGITS, Head, LogError, follow, follow_from, head_path, reaches, verify,
};
pub use event::{Entry, Event, NoteKind};
use jiff::Timestamp;

/// An open log, locked against a second terminal.
#[derive(Debug)]
pub struct Log {
    file: File,
    path: PathBuf,
    operator: String,
    head: Head,
    /// Bytes of all whole lines.
    length: u64,
}

impl Log {
    /// Opens a log or begins a new one, readable by its owner alone; gives it with its lines so
    /// far.
    ///
    /// # Errors
    /// In use, not readable, or not the log it was.
    pub fn open(path: &Path, operator: &str) -> Result<(Self, Vec<Entry>), LogError> {
        let disk = |error| LogError::Disk(path.to_owned(), error);
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder).map_err(disk)?;
        let mut file = os::owner_only(OpenOptions::new().read(true).append(true).create(true))
            .open(path)
            .map_err(disk)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(LogError::Busy(path.to_owned())),
            Err(TryLockError::Error(error)) => return Err(disk(error)),
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(disk)?;
        let whole = bytes.iter().rposition(|b| *b == b'\n').map_or(0, |last| last + 1);
        let cut = bytes.len() - whole;
        bytes.truncate(whole);
        let hashes = follow(&bytes)?;
        if head_path(path).exists() || hashes.len() > 1 {
            reaches(&hashes, &read_head(path)?)?;
        }
        let mut entries = entries(&bytes)?;
        let operator = operator.to_owned();
        let mut log = Self {
            file,
            path: path.to_owned(),
            operator,
            head: head_of(&hashes),
            length: whole as u64,
        };
        if bytes.is_empty() {
            os::sync_folder(folder).map_err(disk)?;
        }
        if cut > 0 {
            log.file.set_len(log.length).map_err(disk)?;
            entries.push(log.append(Event::Recovered { bytes_cut: cut })?);
        }
        Ok((log, entries))
    }

    /// Appends one line; when this returns it is on the disk.
    ///
    /// # Errors
    /// The disk refused; the log is as it was.
    pub fn append(&mut self, event: Event) -> Result<Entry, LogError> {
        let time =
            Timestamp::from_millisecond(Timestamp::now().as_millisecond()).unwrap_or_default();
        let entry = Entry {
            line: self.head.lines + 1,
            time: time.to_string(),
            operator: self.operator.clone(),
            event,
        };
        self.write(&entry).map_err(|error| LogError::Disk(self.path.clone(), error))?;
        Ok(entry)
    }

    fn write(&mut self, entry: &Entry) -> io::Result<()> {
        let json = serde_json::to_string(entry)?;
        let body = json.strip_prefix('{').unwrap_or(&json);
        let hash = chain(&self.head.hash, body.as_bytes());
        let line = format!("{OPENING}{hash}{AFTER_HASH}{body}\n");
        let next = Head { lines: entry.line, hash };
        let written = self.file.write_all(line.as_bytes()).and_then(|()| self.file.sync_data());
        if let Err(error) = written.and_then(|()| self.write_head(&next)) {
            // Half a line must not stand before the next one. If this fails too, the next start
            // cuts it off.
            let _ = self.file.set_len(self.length);
            return Err(error);
        }
        self.length += line.len() as u64;
        self.head = next;
        Ok(())
    }

    fn write_head(&self, head: &Head) -> io::Result<()> {
        let path = head_path(&self.path);
        let fresh = path.with_extension("head.new");
        // One that a crash left behind is removed. What stands there is never written to: it may be
        // a link.
        match std::fs::remove_file(&fresh) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file =
            os::owner_only(OpenOptions::new().write(true).create_new(true)).open(&fresh)?;
        writeln!(file, "{}", serde_json::to_string(head)?)?;
        file.sync_data()?;
        std::fs::rename(fresh, path)
    }

    /// Lines from here on name this operator.
    ///
    /// # Errors
    /// The disk refused.
    pub fn switch_operator(&mut self, operator: &str) -> Result<Entry, LogError> {
        let from = std::mem::replace(&mut self.operator, operator.to_owned());
        self.append(Event::Operator { from: from.clone() }).inspect_err(|_| self.operator = from)
    }

    /// Who works at the terminal.
    #[must_use]
    pub fn operator(&self) -> &str {
        &self.operator
    }

    /// How far the log goes.
    #[must_use]
    pub const fn head(&self) -> &Head {
        &self.head
    }

    /// Where it lies.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}
