//! Writing a picture to a file, by the ending of its name.

use crate::prelude::*;
use std::fmt;
use std::io::Write as _;
use std::process::{Command, Stdio};

use super::Chart;

/// Why a picture was not written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChartError {
    /// The name has another ending than `.svg`, `.png` or `.csv`.
    Name(String),
    /// The file could not be written: path, reason.
    File(String, String),
}

impl fmt::Display for ChartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(path) => {
                write!(f, "out={path} allowed a name that ends in .svg, .png or .csv")
            }
            Self::File(path, reason) => write!(f, "{path}: {reason}"),
        }
    }
}

impl std::error::Error for ChartError {}

fn ending(path: &str) -> Option<&str> {
    path.rsplit_once('.').map(|(_, end)| end).filter(|end| ["svg", "png", "csv"].contains(end))
}

/// Writes a picture as SVG or PNG, or with `.csv` the numbers behind it.
///
/// PNG needs fonts, which a program without a desktop does not have: the SVG goes to `rsvg-convert`
/// (Debian: librsvg2-bin).
///
/// # Errors
/// A name that ends otherwise, a file that cannot be written, or no converter for PNG.
pub fn save(path: &str, chart: &Chart, csv: &str) -> Result<(), ChartError> {
    let failed = |reason: &str| ChartError::File(path.into(), reason.into());
    let write = |text: &str| std::fs::write(path, text).map_err(|error| failed(&error.to_string()));
    match ending(path) {
        Some("svg") => write(&chart.svg()),
        Some("csv") => write(csv),
        Some(_) => {
            let mut converter = Command::new("rsvg-convert");
            converter.args(["--zoom=2", "--format=png", "--output", path]).stdin(Stdio::piped());
            let mut child = converter.spawn().map_err(|_| {
                failed(
                    "PNG needs rsvg-convert (Debian: apt-get install librsvg2-bin); or write .svg",
                )
            })?;
            if let Some(mut input) = child.stdin.take() {
                input
                    .write_all(chart.svg().as_bytes())
                    .map_err(|error| failed(&error.to_string()))?;
            }
            match child.wait() {
                Ok(status) if status.success() => Ok(()),
                _ => Err(failed("rsvg-convert failed")),
            }
        }
        None => Err(ChartError::Name(path.into())),
    }
}

/// Checks the name of a picture before the work that leads to it.
///
/// # Errors
/// A name that [`save`] would not take.
pub fn check_name(path: &str) -> Result<(), ChartError> {
    ending(path).map(|_| ()).ok_or_else(|| ChartError::Name(path.into()))
}
