//! Writing a picture to a file, by the ending of its name.

use std::io::{self, Write as _};
use std::process::{Command, Stdio};

use super::error::CliError;
use equipoise_study::chart::Chart;
use equipoise_study::output::{check_file, write_file};

fn ending(path: &str) -> Option<&str> {
    path.rsplit_once('.').map(|(_, end)| end).filter(|end| ["svg", "png", "csv"].contains(end))
}

fn other_ending(path: &str) -> CliError {
    CliError::usage(format!("out={path} allowed a name that ends in .svg, .png or .csv"))
}

/// Writes a picture as SVG or PNG, or with `.csv` the numbers behind it. A file that exists is only
/// overwritten with `force`.
///
/// PNG needs fonts, which a program without a desktop does not have: the SVG goes to `rsvg-convert`
/// (Debian: librsvg2-bin).
///
/// # Errors
/// A name that ends otherwise, a file that exists or cannot be written, or no converter for PNG.
pub fn save(path: &str, chart: &Chart, csv: &str, force: bool) -> Result<(), CliError> {
    match ending(path) {
        Some("svg") => write_file(path, chart.svg(), force),
        Some("csv") => write_file(path, csv, force),
        Some(_) => png(&chart.svg()).and_then(|png| write_file(path, png, force)),
        None => return Err(other_ending(path)),
    }
    .map_err(|error| CliError::file(path, &error))
}

fn png(svg: &str) -> io::Result<Vec<u8>> {
    let mut converter = Command::new("rsvg-convert");
    converter.args(["--zoom=2", "--format=png"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = converter.spawn().map_err(|_| {
        io::Error::other(
            "PNG needs rsvg-convert (Debian: apt-get install librsvg2-bin); or write .svg",
        )
    })?;
    if let Some(mut input) = child.stdin.take() {
        input.write_all(svg.as_bytes())?;
    }
    let done = child.wait_with_output()?;
    if done.status.success() {
        Ok(done.stdout)
    } else {
        Err(io::Error::other("rsvg-convert failed"))
    }
}

/// Checks before the work that leads to a picture that [`save`] would take its name.
///
/// # Errors
/// A name that ends otherwise, or a file that exists.
pub fn check(path: &str, force: bool) -> Result<(), CliError> {
    ending(path).ok_or_else(|| other_ending(path))?;
    check_file(path, force).map_err(|error| CliError::file(path, &error))
}
