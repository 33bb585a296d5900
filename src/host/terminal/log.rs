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
//! nothing was done on its strength, and [`Log::open`] cuts it off and says so in the next line.
//! Anything else wrong is refused, not repaired.
//!
//! **What is found.** Every change of a byte, every line dropped (the last too), doubled or moved,
//! by accident or by hand. Not found: somebody who may write both files and computes all hashes
//! anew. Against that, write down the last hash from time to time (`log verify` prints it) and hand
//! it to `log verify --head HASH`.
//!
//! **No outcome.** [`Event`] has no field that could hold an outcome, nor the request line or its
//! checksum; of an error answered to an outcome only its word is kept, for its detail may repeat
//! the value.

use crate::host::os;
use crate::prelude::*;
use std::fmt;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::wire::Hex;

/// Stands for the hash before the first line; the number is the version of the format.
pub const GENESIS: &str = "equipoise log 1";

const OPENING: &str = "{\"hash\":\"";
const AFTER_HASH: &str = "\",";
/// Hex digits of a hash.
pub const HASH_DIGITS: usize = 64;

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
#[allow(missing_docs, reason = "the fields are named as they are written")]
pub enum Event {
    /// The log begins: which trial it is for. Logs of earlier versions have neither id nor digest.
    Opened {
        title: String,
        plan: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        trial: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        file: Option<String>,
    },
    /// A person said that this log, begun by an earlier version, is of this trial.
    Tied { trial: String, file: String },
    /// A person confirmed an enrolment; written before the device is asked for anything.
    Wanted { code: String, feature: u8, feature_name: String },
    /// A confirmed enrolment was given up before the device was asked for it.
    Dropped { code: String, why: String },
    /// A patient is about to be enrolled; written before the device is asked for the arm.
    Enrol {
        code: String,
        patient: u32,
        feature: u8,
        feature_name: String,
        tag: String,
        asked: String,
    },
    /// The device gave the arm.
    Arm {
        code: String,
        patient: u32,
        feature: u8,
        feature_name: String,
        arm: u8,
        arm_name: String,
        answered: String,
    },
    /// The device refused an enrolment: the patient has no number, the code is free again.
    Refused { code: String, patient: u32, asked: String, answered: String },
    /// Another terminal went on before the arm arrived: it cannot be known any more.
    Unclear { code: String, patient: u32, asked: String, answered: String },
    /// An outcome was recorded; its value is nowhere in this log.
    Outcome { code: String, patient: u32, answered: String },
    /// An outcome was declared lost.
    Lost { code: String, patient: u32, answered: String },
    /// The device acknowledged an outcome or a loss, but had one on record before: nothing changed.
    AlreadyRecorded { code: String, patient: u32, answered: String },
    /// A note on a patient: something that happened and cannot be changed on the device.
    Note { code: String, patient: u32, kind: NoteKind, text: String },
    /// Another person works at the terminal from here on.
    Operator { from: String },
    /// A custodian's command; keys and proofs are withheld.
    Custodian { asked: String, answered: String },
    /// A torn last line was cut off when the log was opened after a crash.
    Recovered { bytes_cut: usize },
}

/// What a note is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum NoteKind {
    /// The patient did not get what the arm says.
    Deviation,
    /// The patient was enrolled as the wrong kind of patient.
    WrongKind,
    /// The patient left the trial.
    Withdrawal,
    /// Anything else.
    Other,
}

impl NoteKind {
    /// All kinds.
    pub const ALL: [Self; 4] = [Self::Deviation, Self::WrongKind, Self::Withdrawal, Self::Other];

    /// The kind in words.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Deviation => "deviation",
            Self::WrongKind => "wrong kind of patient",
            Self::Withdrawal => "withdrawal",
            Self::Other => "other",
        }
    }
}

/// One line of the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Its number, from 1.
    pub line: u64,
    /// UTC.
    pub time: String,
    /// Who sat at the terminal.
    pub operator: String,
    /// What happened.
    #[serde(flatten)]
    pub event: Event,
}

/// How far a log goes: what the head file holds and `log verify` prints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Head {
    /// Lines of the log.
    pub lines: u64,
    /// Hash of the last one.
    pub hash: String,
}

impl Head {
    fn genesis() -> Self {
        Self { lines: 0, hash: GENESIS.to_owned() }
    }
}

/// What is wrong with a log.
#[derive(Debug)]
pub enum LogError {
    /// The chain breaks at this line: it was changed, or a line before it was dropped or moved.
    Broken(u64),
    /// Bytes after the last line feed.
    Torn(u64),
    /// The chain holds, but the line is not one this program writes.
    Content(u64, String),
    /// Lines are missing at the end: the head counts more, or knows another last line.
    Shorter {
        /// Lines of the log.
        lines: u64,
        /// Lines the head knows.
        head: u64,
    },
    /// There is no usable head file.
    NoHead(PathBuf, String),
    /// The hash given by hand is not in the chain.
    NotInChain(String),
    /// Another terminal has the log open.
    Busy(PathBuf),
    /// The disk refused.
    Disk(PathBuf, io::Error),
}

impl fmt::Display for LogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Broken(line) => write!(
                f,
                "line {line} does not follow from the line before it: it was changed, or a line was dropped, added or moved"
            ),
            Self::Torn(line) => write!(f, "line {line} is torn: it has no line feed"),
            Self::Content(line, what) => {
                write!(f, "line {line} is in the chain but cannot be read: {what}")
            }
            Self::Shorter { lines, head } => {
                write!(
                    f,
                    "the log has {lines} lines, its head knows line {head} as another: lines were dropped at the end"
                )
            }
            Self::NoHead(path, what) => write!(
                f,
                "the head file {} is not usable ({what}): lines dropped at the end could not be seen",
                path.display()
            ),
            Self::NotInChain(hash) => write!(f, "no line has the hash {hash}"),
            Self::Busy(path) => {
                write!(f, "the log {} is in use by another terminal", path.display())
            }
            Self::Disk(path, error) => {
                write!(f, "the log {} cannot be used: {error}", path.display())
            }
        }
    }
}

impl std::error::Error for LogError {}

/// Follows the chain from the first byte; gives the hash of every line.
///
/// # Errors
/// The first line that breaks the chain, or bytes after the last line feed.
pub fn follow(bytes: &[u8]) -> Result<Vec<String>, LogError> {
    follow_from(GENESIS, bytes)
}

/// The same from a later line on, given the hash of the line before it.
///
/// # Errors
/// As [`follow`]; lines are counted from the first one given.
pub fn follow_from(before: &str, bytes: &[u8]) -> Result<Vec<String>, LogError> {
    let mut hashes: Vec<String> = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let number = hashes.len() as u64 + 1;
        let end = rest.iter().position(|b| *b == b'\n').ok_or(LogError::Torn(number))?;
        let (line, tail) = rest.split_at_checked(end).unwrap_or((rest, &[]));
        rest = tail.get(1..).unwrap_or_default();
        let parts =
            line.strip_prefix(OPENING.as_bytes()).and_then(|l| l.split_at_checked(HASH_DIGITS));
        let body = parts.and_then(|(hash, l)| Some((hash, l.strip_prefix(AFTER_HASH.as_bytes())?)));
        let (hash, body) = body.ok_or(LogError::Broken(number))?;
        let link = chain(hashes.last().map_or(before, String::as_str), body);
        if link.as_bytes() != hash {
            return Err(LogError::Broken(number));
        }
        hashes.push(link);
    }
    Ok(hashes)
}

/// Checks that the chain reaches what the head knows.
///
/// # Errors
/// The head knows a line that the chain does not have.
pub fn reaches(hashes: &[String], head: &Head) -> Result<(), LogError> {
    let known = match head.lines {
        0 => head.hash == GENESIS,
        n => hashes.get(usize::try_from(n - 1).unwrap_or(usize::MAX)) == Some(&head.hash),
    };
    if known {
        Ok(())
    } else {
        Err(LogError::Shorter { lines: hashes.len() as u64, head: head.lines })
    }
}

/// Verifies a log and its head file; `noted` is a hash somebody wrote down earlier.
///
/// # Errors
/// The first thing that is wrong.
pub fn verify(path: &Path, noted: Option<&str>) -> Result<(Head, Vec<Entry>), LogError> {
    // The head first: a terminal at work may append meanwhile, and the log is never behind its
    // head.
    let head = read_head(path);
    let bytes = std::fs::read(path).map_err(|error| LogError::Disk(path.to_owned(), error))?;
    let hashes = follow(&bytes)?;
    match noted {
        Some(hash) if hashes.iter().any(|h| h.eq_ignore_ascii_case(hash)) => {}
        Some(hash) => return Err(LogError::NotInChain(hash.to_owned())),
        None => {}
    }
    reaches(&hashes, &head?)?;
    let entries = entries(&bytes)?;
    Ok((head_of(&hashes), entries))
}

fn head_of(hashes: &[String]) -> Head {
    hashes
        .last()
        .map_or_else(Head::genesis, |hash| Head { lines: hashes.len() as u64, hash: hash.clone() })
}

fn chain(before: &str, body: &[u8]) -> String {
    let digest = Sha256::new().chain_update(before).chain_update(body).finalize();
    Hex(&digest).to_string()
}

fn entries(bytes: &[u8]) -> Result<Vec<Entry>, LogError> {
    let lines = bytes.split(|b| *b == b'\n').filter(|line| !line.is_empty());
    let mut entries = Vec::new();
    for (line, number) in lines.zip(1..) {
        let entry: Entry = serde_json::from_slice(line)
            .map_err(|error| LogError::Content(number, error.to_string()))?;
        if entry.line != number {
            return Err(LogError::Content(number, format!("it says line {}", entry.line)));
        }
        entries.push(entry);
    }
    Ok(entries)
}

/// Where the head of a log lies.
#[must_use]
pub fn head_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".head");
    name.into()
}

fn read_head(path: &Path) -> Result<Head, LogError> {
    let path = head_path(path);
    let text = std::fs::read_to_string(&path);
    let text = text.map_err(|error| LogError::NoHead(path.clone(), error.to_string()))?;
    serde_json::from_str(&text).map_err(|error| LogError::NoHead(path, error.to_string()))
}

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
            File::open(folder).and_then(|folder| folder.sync_all()).map_err(disk)?;
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
