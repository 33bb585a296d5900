//! Standard output and files that a command writes.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;

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

/// Writes a file; one that exists is only overwritten with `force`.
///
/// # Errors
/// The file exists, or cannot be written.
pub fn write_file(path: impl AsRef<Path>, bytes: impl AsRef<[u8]>, force: bool) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let options = options.write(true).truncate(force).create(force).create_new(!force);
    let mut file = options.open(path).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => io::Error::new(error.kind(), EXISTS),
        _ => error,
    })?;
    file.write_all(bytes.as_ref())?;
    file.sync_all()
}
