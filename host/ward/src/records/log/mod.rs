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
//! **A disk that refuses.** If line or head cannot be written, the line is cut off again, durably,
//! and the log is as it was. If it cannot be cut off either, the log is unfinished: every later
//! [`Log::append`] first cuts the line off, or refuses. So no line ever stands behind half a line.
//! An unfinished log that the program leaves behind is opened like one after a crash: half a line
//! is cut off, and a whole line that only its head does not know stays.
//!
//! **Head.** A whole head lies beside the log at every moment, also after a power cut, and it can
//! be written while all descriptors are in use: see [`head`].
//!
//! **Whose files.** Log and head must be regular files of the caller with one name, no links, and
//! writable by nobody else ([`own_file`]). A log that others may read becomes readable by its owner
//! alone when it is opened. Before every line the log must still be the file under its name.
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
mod head;

use crate::{os, own_file};

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use chain::{AFTER_HASH, OPENING, chain, entries, head_of};
pub use chain::{
    GENESIS, HASH_DIGITS, Head, LogError, follow, follow_from, head_path, reaches, verify,
};
pub use event::{Entry, Event, NoteKind};
use head::HeadFile;
use jiff::Timestamp;

use crate::records::signing::{Signature, Signer};
use crate::records::words::stamp;

/// An open log, locked against a second terminal.
#[derive(Debug)]
pub struct Log {
    file: File,
    path: PathBuf,
    operator: String,
    /// Who signs the next lines.
    signer: Option<Signer>,
    head: Head,
    head_file: HeadFile,
    /// Bytes of all whole lines.
    length: u64,
    /// Part of a line that was refused may stand behind them.
    unfinished: bool,
}

impl Log {
    /// Opens a log or begins a new one, readable by its owner alone; gives it with its lines so
    /// far.
    ///
    /// # Errors
    /// In use, not readable, writable by others, or not the log it was.
    pub fn open(path: &Path, operator: &str) -> Result<(Self, Vec<Entry>), LogError> {
        let disk = |error| LogError::Disk(path.to_owned(), error);
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder).map_err(disk)?;
        let mut options = OpenOptions::new();
        let options = os::owner_only(options.read(true).append(true).create(true));
        let mut file = own_file::open(path, options).map_err(disk)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(LogError::Busy(path.to_owned())),
            Err(TryLockError::Error(error)) => return Err(disk(error)),
        }
        os::make_owner_only(&file).map_err(disk)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(disk)?;
        let whole = bytes.iter().rposition(|b| *b == b'\n').map_or(0, |last| last + 1);
        let cut = bytes.len() - whole;
        bytes.truncate(whole);
        let hashes = follow(&bytes)?;
        let (head_file, known) = HeadFile::open(path, folder)?;
        match known {
            Some(known) => reaches(&hashes, &known)?,
            // A crash may come between the first line and its head.
            None if hashes.len() <= 1 => {}
            None => return Err(LogError::NoHead(head_path(path), "there is none".to_owned())),
        }
        let mut entries = entries(&bytes)?;
        let operator = operator.to_owned();
        let mut log = Self {
            file,
            path: path.to_owned(),
            operator,
            signer: None,
            head: head_of(&hashes),
            head_file,
            length: whole as u64,
            unfinished: cut > 0,
        };
        if bytes.is_empty() {
            os::sync_folder(folder).map_err(disk)?;
        }
        if cut > 0 {
            entries.push(log.append(Event::Recovered { bytes_cut: cut })?);
        }
        Ok((log, entries))
    }

    /// Makes sure that a line can follow the last one: that the log is still the file under its
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

    /// Appends one line; when this returns it is on the disk.
    ///
    /// # Errors
    /// The log is not ready, or the disk refused; no later line can follow a part of this one.
    pub fn append(&mut self, event: Event) -> Result<Entry, LogError> {
        self.ready()?;
        let entry = Entry {
            line: self.head.lines + 1,
            time: stamp(Timestamp::now()),
            operator: self.operator.clone(),
            signed: self.signer.as_ref().and_then(|signer| Signature::of(signer, &event)),
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
        if let Err(error) = written.and_then(|()| self.head_file.write(&next)) {
            let Err(second) = self.cut() else { return Err(error) };
            let why = format!(
                "{error}; what was written of the line cannot be cut off either ({second}), and \
                 until it can nothing more is written"
            );
            return Err(io::Error::new(error.kind(), why));
        }
        self.length += line.len() as u64;
        self.head = next;
        Ok(())
    }

    /// Lines from here on name this operator, and are signed by `signer`.
    pub fn act_as(&mut self, operator: &str, signer: Option<Signer>) {
        (self.operator, self.signer) = (operator.to_owned(), signer);
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
