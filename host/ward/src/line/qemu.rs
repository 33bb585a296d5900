//! The micro:bit v1 of QEMU: the words of its command line.
//!
//! The build tool, which depends on no crate of ours, compiles this very file too.

use std::path::Path;
use std::process::{Command, Stdio};

/// The program.
const PROGRAM: &str = "qemu-system-arm";

/// QEMU with this firmware, its serial port not yet connected.
#[must_use]
pub fn machine(firmware: &Path) -> Command {
    let mut command = Command::new(PROGRAM);
    command.args(["-M", "microbit", "-display", "none", "-monitor", "none", "-kernel"]);
    command.arg(firmware);
    command
}

/// QEMU with this firmware. In `folder` are its sockets `serial`, the serial port, and `qmp`, which
/// takes commands to the machine. The caller may add options.
#[must_use]
pub fn microbit(firmware: &Path, folder: &Path) -> Command {
    let mut command = machine(firmware);
    command
        .args(["-chardev", &socket(folder, "serial"), "-serial", "chardev:serial"])
        .args(["-chardev", &socket(folder, "qmp"), "-mon", "chardev=qmp,mode=control"])
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    command
}

/// A socket `name` in `folder`, which QEMU makes and does not wait at, as an option `-chardev`.
#[must_use]
pub fn socket(folder: &Path, name: &str) -> String {
    format!("socket,id={name},path={},server=on,wait=off", folder.join(name).display())
}

/// Error message for a QEMU that did not start.
#[must_use]
pub fn not_started(error: &std::io::Error) -> String {
    format!("{PROGRAM} did not start ({error}): cargo xtask setup")
}
