//! Files that the program trusts because nobody but its user can have written them.
//!
//! # Guarantees
//! * [`open`] opens a file and then asks the open file, never its path, which could lead to another
//!   file by then. A link is not followed and a pipe does not block.
//! * The file is a regular file of the caller with one name, writable by nobody else. (On Windows
//!   the permissions of its folder count, and only the kind of file is checked.)
//! * [`still_named`] finds out whether an open file is still the one under its name: what is
//!   written to another one is lost with the next start.
//!
//! # Files with patients
//! A file with codes or arms of patients, or with kits, is written by [`write_private`] and by
//! nothing else: the lists of `list` and `waiting`, the list that the screen saves, the list of
//! kits with its seal, and reports, which may name the arms of a blinded trial. Log, flash and key
//! have writers of their own, and are owner-only too.
//!
//! # Which files
//! * Log and head: these checks, for they say who is enrolled and with which arm. A log that is
//!   opened for writing becomes readable by its owner alone.
//! * Flash of a virtual device: these checks, and nobody else may read it
//!   ([`crate::virtual_board::flash_file`]).
//! * Custodian's key: nobody else may read or write the open file. It may be a link or a pipe, for
//!   it is a secret, and nothing is decided by what it says.
//! * Trial file: no check. It may be shared, linked and mailed: device and log hold its digest, and
//!   another file is refused.
//! * List of kits, reports of other sites: no check. A list is compared with what the key gives,
//!   and a report with its MAC.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read, Write as _};
use std::path::Path;

use crate::os;
use equipoise_study::output::{check_file, exists};

/// Opens a file that only its owner, the caller, can have written.
///
/// # Errors
/// It cannot be opened, or is not such a file.
pub fn open(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    let file = os::plainly(options).open(path).map_err(|error| {
        // The system's word for a link is "too many levels of symbolic links".
        let found = fs::symlink_metadata(path).ok().map(|found| os::trusted(&found));
        found.and_then(Result::err).map_or(error, |reason| refused(&reason))
    })?;
    os::trusted(&file.metadata()?).map_err(|reason| refused(&reason))?;
    Ok(file)
}

/// Everything in such a file.
///
/// # Errors
/// As [`open`].
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path, OpenOptions::new().read(true))?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Facts about an open file that is still the one under its name.
///
/// # Errors
/// A sentence about the file, without subject.
pub fn still_named(file: &File, path: &Path) -> Result<Metadata, String> {
    let opened = file.metadata().map_err(|error| format!("cannot be examined: {error}"))?;
    let named = fs::symlink_metadata(path);
    let named = named.map_err(|error| format!("is gone from its place: {error}"))?;
    if os::identity(&opened) != os::identity(&named) {
        return Err("was replaced by another file".to_owned());
    }
    Ok(opened)
}

/// The error of a file of which this sentence without subject is true.
pub fn refused(reason: &str) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, format!("it {reason}"))
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
    let _ = fs::remove_file(&beside);
    write_new(beside.as_ref(), bytes)?;
    fs::rename(&beside, path).inspect_err(|_| {
        let _ = fs::remove_file(&beside);
    })
}

/// Writes a new file for its owner alone; if that fails, it is removed again.
fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let mut file =
        os::owner_only(options.write(true).create_new(true)).open(path).map_err(exists)?;
    file.write_all(bytes).and_then(|()| file.sync_all()).inspect_err(|_| {
        let _ = fs::remove_file(path);
    })
}
