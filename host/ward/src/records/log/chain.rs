//! The chain of hashes, the head file, and what can be wrong with a log.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::event::Entry;
use crate::own_file;
use equipoise::wire::Hex;

/// Stands for the hash before the first line; the number is the version of the format.
pub const GENESIS: &str = "equipoise log 2";
/// The same of the version that equipoise 0.1 and 0.2 write, to name it when it is refused.
const GENESIS_1: &str = "equipoise log 1";

pub(super) const OPENING: &str = "{\"hash\":\"";
pub(super) const AFTER_HASH: &str = "\",";
/// Hex digits of a hash.
pub const HASH_DIGITS: usize = 64;

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

/// Fault found in a log.
#[derive(Debug)]
pub enum LogError {
    /// The chain breaks at this line: it was changed, or a line before it was dropped or moved.
    Broken(u64),
    /// The log is of version 1.
    Earlier,
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
    /// There is no second copy, and work stops without one; why.
    Copy(PathBuf, String),
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
            Self::Earlier => f.write_str(
                "the log is of version 1, as equipoise 0.1 and 0.2 write it; this program reads version 2: finish a \
                 running trial with equipoise 0.2, and begin a new log for a new trial",
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
                write!(
                    f,
                    "the log {} is in use by another terminal; screen and browser at once are one program: \
                     equipoise web --screen",
                    path.display()
                )
            }
            Self::Copy(path, why) => write!(
                f,
                "the second copy {} cannot be used ({why}), and the setting without-copy = \"stop\" \
                 allows no work without it",
                path.display()
            ),
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
/// The first line that breaks the chain, bytes after the last line feed, or a log of an earlier
/// version.
pub fn follow(bytes: &[u8]) -> Result<Vec<String>, LogError> {
    let first = bytes.split_inclusive(|b| *b == b'\n').next().unwrap_or_default();
    follow_from(GENESIS, bytes).map_err(|error| match error {
        LogError::Broken(1) if follow_from(GENESIS_1, first).is_ok() => LogError::Earlier,
        error => error,
    })
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
    let bytes = own_file::read(path).map_err(|error| LogError::Disk(path.to_owned(), error))?;
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

pub(super) fn head_of(hashes: &[String]) -> Head {
    hashes
        .last()
        .map_or_else(Head::genesis, |hash| Head { lines: hashes.len() as u64, hash: hash.clone() })
}

pub(super) fn chain(before: &str, body: &[u8]) -> String {
    let digest = Sha256::new().chain_update(before).chain_update(body).finalize();
    Hex(&digest).to_string()
}

pub(super) fn entries(bytes: &[u8]) -> Result<Vec<Entry>, LogError> {
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
    let read =
        || own_file::read(&path).map_err(|error| LogError::NoHead(path.clone(), error.to_string()));
    // A terminal at work writes to the file that was its head before: one that is open here since
    // two lines may be half written.
    let mut text = read()?;
    loop {
        let before = std::mem::replace(&mut text, read()?);
        if text == before {
            return parse_head(&path, &text);
        }
    }
}

pub(super) fn parse_head(path: &Path, text: &[u8]) -> Result<Head, LogError> {
    serde_json::from_slice(text)
        .map_err(|error| LogError::NoHead(path.to_owned(), error.to_string()))
}
