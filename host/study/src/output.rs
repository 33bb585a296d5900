//! Standard output and files that a command writes.
//!
//! Plans, charts, simulations and audits hold no patient and are written by [`write_file`]. A file
//! with codes or arms of patients, or with kits, has a writer of its own in the ward's crate.

use std::fmt;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;

/// Writes to standard output; a reader that went away is not an error.
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

/// Names the way out where a file that exists is not overwritten.
#[must_use]
pub fn exists(error: io::Error) -> io::Error {
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

/// A value under a column of a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Words.
    Text(String),
    /// A whole number.
    Whole(u64),
    /// A number.
    Number(f64),
    /// Nothing.
    None,
}

impl From<Option<f64>> for Value {
    fn from(value: Option<f64>) -> Self {
        value.map_or(Self::None, Self::Number)
    }
}

impl fmt::Display for Value {
    /// The words or digits alone; nothing is empty.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => text.fmt(f),
            Self::Whole(number) => number.fmt(f),
            Self::Number(number) => number.fmt(f),
            Self::None => Ok(()),
        }
    }
}

impl Value {
    /// The field of a CSV file.
    #[must_use]
    pub fn csv(&self) -> String {
        csv_field(&self.to_string())
    }

    /// The value in JSON.
    #[must_use]
    pub fn json(&self) -> serde_json::Value {
        match self {
            Self::Text(text) => text.as_str().into(),
            Self::Whole(number) => (*number).into(),
            Self::Number(number) => (*number).into(),
            Self::None => serde_json::Value::Null,
        }
    }
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
