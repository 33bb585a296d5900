//! Opens the page in the user's browser.
//!
//! The address gives access to the page, and every user of a machine can see the arguments of its
//! processes. So the browser is given the name of a private file that leads to the address; the
//! file is removed once the address was opened.

use crate::failure::Failure;
use crate::os;
use crate::records::place;
use crate::records::text::xml;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// A file that leads to the page; removed when this is dropped.
#[derive(Debug)]
pub struct Link(PathBuf);

impl Drop for Link {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Writes the file and gives it to the browser.
///
/// # Errors
/// The file cannot be written. A browser that does not start is not an error: the address is
/// printed.
pub fn open(address: &str) -> Result<Link, Failure> {
    let folder = place::data()?;
    std::fs::create_dir_all(&folder).map_err(|error| Failure::file(&folder, &error))?;
    let path = folder.join(format!("open-{}.html", std::process::id()));
    let unusable = |error| Failure::file(&path, &error);
    // Left behind by an earlier run with the same process number.
    let _ = std::fs::remove_file(&path);
    let mut file = os::owner_only(OpenOptions::new().write(true).create_new(true))
        .open(&path)
        .map_err(unusable)?;
    let page = format!(
        "<!doctype html><meta charset=\"utf-8\"><title>equipoise</title>\
         <meta http-equiv=\"refresh\" content=\"0; url={0}\"><p><a href=\"{0}\">Go on</a></p>\n",
        xml(address)
    );
    file.write_all(page.as_bytes()).map_err(unusable)?;
    let program = if cfg!(windows) {
        "explorer"
    } else if cfg!(target_os = "macos") {
        "open"
    } else {
        "xdg-open"
    };
    let mut command = Command::new(program);
    command.arg(&path);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if let Ok(mut child) = command.spawn() {
        std::thread::spawn(move || child.wait());
    } else {
        eprintln!("equipoise: {program} did not start: open the address by hand");
    }
    Ok(Link(path))
}
