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
//! **Second copy.** With a folder for copies a line is on both disks before [`Log::append`]
//! returns: see [`second`].
//!
//! **Whose files.** Log and head must be regular files of the caller with one name, no links, and
//! writable by nobody else ([`own_file`](crate::own_file)). A log that others may read
//! becomes readable by its owner alone when it is opened. Before every line the log must still be
//! the file under its name.
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
mod disk;
mod event;
mod head;
mod second;

use std::io;
use std::path::Path;

use chain::{AFTER_HASH, OPENING, chain, entries, head_of};
pub use chain::{
    GENESIS, HASH_DIGITS, Head, LogError, follow, follow_from, head_path, reaches, verify,
};
use disk::{Disk, folder_of};
pub use event::{Entry, Event, NoteKind};
use jiff::Timestamp;
pub use second::Difference;
use second::Second;

use crate::records::copies::Copies;
use crate::records::signing::{Signature, Signer};
use crate::records::words::stamp;

/// An open log, locked against a second terminal.
#[derive(Debug)]
pub struct Log {
    disk: Disk,
    second: Option<Second>,
    operator: String,
    /// Who signs the next lines.
    signer: Option<Signer>,
    head: Head,
    /// The log says that its copy is lost.
    copy_lost: bool,
}

impl Log {
    /// Opens a log or begins a new one, readable by its owner alone; gives it with its lines so
    /// far.
    ///
    /// # Errors
    /// In use, not readable, writable by others, or not the log it was.
    pub fn open(path: &Path, operator: &str) -> Result<(Self, Vec<Entry>), LogError> {
        Self::open_with(path, operator, None)
    }

    /// The same with a second copy.
    ///
    /// # Errors
    /// As [`Self::open`], or there is no copy and work must stop without one.
    pub fn open_with(
        path: &Path,
        operator: &str,
        copies: Option<&Copies>,
    ) -> Result<(Self, Vec<Entry>), LogError> {
        let folder = folder_of(path);
        std::fs::create_dir_all(folder).map_err(|error| LogError::Disk(path.to_owned(), error))?;
        let (disk, found) = Disk::open(path)?;
        let hashes = follow(&found.lines)?;
        match &found.head {
            Some(known) => reaches(&hashes, known)?,
            // A crash may come between the first line and its head.
            None if hashes.len() <= 1 => {}
            None => return Err(LogError::NoHead(head_path(path), "there is none".to_owned())),
        }
        let mut entries = entries(&found.lines)?;
        let (operator, head) = (operator.to_owned(), head_of(&hashes));
        let second = copies.map(|copies| Second::of(path, copies));
        let copy_lost = entries.iter().rev().find_map(|entry| match entry.event {
            Event::CopyLost { .. } => Some(true),
            Event::CopyBack {} => Some(false),
            _ => None,
        });
        let copy_lost = second.is_some() && copy_lost == Some(true);
        let mut log = Self { disk, second, operator, signer: None, head, copy_lost };
        if found.lines.is_empty() {
            log.disk.sync_name()?;
        }
        if found.torn > 0 {
            entries.push(log.append(Event::Recovered { bytes_cut: found.torn })?);
        }
        if let Some(second) = &mut log.second {
            second.ready(&mut log.disk, &log.head)?;
        }
        Ok((log, entries))
    }

    /// Makes sure that a line can follow the last one: that the log is still the file under its
    /// name, writable by nobody else, that no part of a refused line is left in it, and that its
    /// copy is there.
    ///
    /// # Errors
    /// It is not, or such a part cannot be cut off.
    pub fn ready(&mut self) -> Result<(), LogError> {
        self.disk.ready()?;
        let (disk, head) = (&mut self.disk, &self.head);
        self.second.as_mut().map_or(Ok(()), |second| second.ready(disk, head))
    }

    /// Appends one line; when this returns it is on the disk, and on that of the copy.
    ///
    /// # Errors
    /// The log is not ready, or a disk refused; no later line can follow a part of this one.
    pub fn append(&mut self, event: Event) -> Result<Entry, LogError> {
        let entry = self.append_one(event)?;
        // Lines that are on one disk alone are marked by a line before and one behind them.
        let why = self.copy_trouble().map(str::to_owned);
        if why.is_some() != self.copy_lost {
            let event = why.map_or(Event::CopyBack {}, |why| Event::CopyLost { why });
            // If it cannot be written, the next line tries again.
            self.copy_lost ^= self.append_one(event).is_ok();
        }
        Ok(entry)
    }

    fn append_one(&mut self, event: Event) -> Result<Entry, LogError> {
        self.ready()?;
        let entry = Entry {
            line: self.head.lines + 1,
            time: stamp(Timestamp::now()),
            operator: self.operator.clone(),
            signed: self.signer.as_ref().and_then(|signer| Signature::of(signer, &event)),
            event,
        };
        self.write(&entry)?;
        Ok(entry)
    }

    fn write(&mut self, entry: &Entry) -> Result<(), LogError> {
        let disk = |error| LogError::Disk(self.disk.path().to_owned(), error);
        let json = serde_json::to_string(entry).map_err(|error| disk(error.into()))?;
        let body = json.strip_prefix('{').unwrap_or(&json);
        let hash = chain(&self.head.hash, body.as_bytes());
        let line = format!("{OPENING}{hash}{AFTER_HASH}{body}\n");
        let next = Head { lines: entry.line, hash };
        if let Err(error) = self.disk.put(line.as_bytes()) {
            return Err(self.taken_back(error));
        }
        let second = self.second.as_mut().map_or(Ok(()), |second| second.put(line.as_bytes()));
        if let Err(why) = second {
            return Err(self.disk.take_last_back(why));
        }
        if let Err(error) = self.disk.put_head(&next, line.len()) {
            if let Some(second) = &mut self.second {
                second.take_back();
            }
            return Err(self.taken_back(error));
        }
        if let Some(second) = &mut self.second {
            second.put_head(&next, line.len());
        }
        self.head = next;
        Ok(())
    }

    /// Takes the line back that was put last.
    fn taken_back(&mut self, error: io::Error) -> LogError {
        let error = self.disk.take_back(error);
        LogError::Disk(self.disk.path().to_owned(), error)
    }

    /// Why the last lines are in the log alone and not in its copy, if work goes on without one.
    #[must_use]
    pub fn copy_trouble(&self) -> Option<&str> {
        self.second.as_ref().and_then(Second::trouble)
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
        self.disk.path()
    }
}
