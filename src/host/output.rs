//! Standard output and files that a command writes.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;

/// Writes to standard output; a reader that went away is no error.
pub fn say(text: &str) {
    let mut out = io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Writes a file; one that exists is only overwritten with `force`.
///
/// # Errors
/// The file exists, or cannot be written.
pub fn write_file(path: &Path, text: &str, force: bool) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let options = options.write(true).truncate(force).create(force).create_new(!force);
    let mut file = options.open(path).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => io::Error::new(
            error.kind(),
            "the file exists and is not overwritten; --force overwrites it",
        ),
        _ => error,
    })?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}
