//! Standard output and files that a command writes.
//!
//! A file with codes or arms of patients, or with kits, is written by [`write_private`] and by
//! nothing else: the lists of `list` and `waiting`, the list that the screen saves, the list of
//! kits with its seal, and reports, which may name the arms of a blinded trial. Log, flash and key
//! have writers of their own, and are owner-only too. Plans, charts, simulations and audits hold no
//! patient and are written by [`write_file`].

use crate::prelude::*;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;

use super::os;

/// Writes to standard output; a reader that went away is no error.
pub fn say(text: &str) {
    let mut out = io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

const EXISTS: &str = "the file exists and is not overwritten; --force overwrites it";

/// Finds out before long work whether [`write_file`] would refuse.
///
/// # Errors
/// The file exists, and there is no `force`.
pub fn check_file(path: impl AsRef<Path>, force: bool) -> io::Result<()> {
    if !force && path.as_ref().symlink_metadata().is_ok() {
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, EXISTS));
    }
    Ok(())
}

/// Writes a file without patients, readable by all; one that exists is only overwritten with
/// `force`.
///
/// # Errors
/// The file exists, or cannot be written.
pub fn write_file(path: impl AsRef<Path>, bytes: impl AsRef<[u8]>, force: bool) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let options = options.write(true).truncate(force).create(force).create_new(!force);
    let mut file = options.open(path).map_err(exists)?;
    file.write_all(bytes.as_ref())?;
    file.sync_all()
}

/// Writes a file that only its owner can read; one that exists is only replaced with `force`.
///
/// The bytes are never in a file that others may read: a file that exists is replaced as a whole,
/// so it keeps neither its mode nor its owner, and a program that has it open reads what was in it.
/// A link is not followed, and a device is neither written to nor removed.
///
/// # Errors
/// The file exists, is not a regular file, or cannot be written. What was there is there still.
pub fn write_private(
    path: impl AsRef<Path>,
    bytes: impl AsRef<[u8]>,
    force: bool,
) -> io::Result<()> {
    let (path, bytes) = (path.as_ref(), bytes.as_ref());
    check_file(path, force)?;
    match path.symlink_metadata() {
        Ok(found) if !found.is_file() => {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "a file for its owner alone must be a regular file; this is a link, a folder or a \
                 device",
            ));
        }
        Ok(_) => {}
        Err(_) => return write_new(path, bytes),
    }
    let mut beside = path.as_os_str().to_owned();
    beside.push(format!(".{}.new", std::process::id()));
    // Left behind by an earlier run with the same process number.
    let _ = std::fs::remove_file(&beside);
    write_new(beside.as_ref(), bytes)?;
    std::fs::rename(&beside, path).inspect_err(|_| {
        let _ = std::fs::remove_file(&beside);
    })
}

/// Writes a new file for its owner alone; if that fails, it is removed again.
fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let mut file =
        os::owner_only(options.write(true).create_new(true)).open(path).map_err(exists)?;
    file.write_all(bytes).and_then(|()| file.sync_all()).inspect_err(|_| {
        let _ = std::fs::remove_file(path);
    })
}

fn exists(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::AlreadyExists => io::Error::new(error.kind(), EXISTS),
        _ => error,
    }
}

/// A field of a CSV file, in quotes.
#[must_use]
pub fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

/// A field of a CSV file, in quotes if it needs them.
#[must_use]
pub fn csv_field(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) { quoted(text) } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reader of the file gets back what was written, whatever it holds.
    #[test]
    fn csv_fields_are_quoted_if_needed() {
        for (text, field) in [
            ("conse", "conse"),
            ("", ""),
            ("shares:1,2", "\"shares:1,2\""),
            ("the \"late\" ones", "\"the \"\"late\"\" ones\""),
            ("a\nb", "\"a\nb\""),
        ] {
            assert_eq!(csv_field(text), field);
        }
    }
}
