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
//! # Which files
//! * Log and head: these checks, for they say who is enrolled and with which arm. A log that is
//!   opened for writing becomes readable by its owner alone.
//! * Flash of a virtual device: these checks, and nobody else may read it ([`super::flash_file`]).
//! * Custodian's key: nobody else may read or write the open file. It may be a link or a pipe, for
//!   it is a secret, and nothing is decided by what it says.
//! * Trial file: no check. It may be shared, linked and mailed: device and log hold its digest, and
//!   another file is refused.
//! * List of kits, reports of other sites: no check. A list is compared with what the key gives,
//!   and a report with its MAC.

use crate::prelude::*;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::path::Path;

use super::os;

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
