//! The unix side of [`super`].

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::fs::{FileExt as _, FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use rustix::fs::{FlockOperation, flock};
use serial2::SerialPort;

/// Connection to a virtual device or an emulator on this machine.
pub type LocalStream = std::os::unix::net::UnixStream;

/// Permission bits of everybody but the owner.
const OTHERS: u32 = 0o077;
/// The user id of the system's administrator.
const ROOT: u32 = 0;

/// A file made with these options can be read by its owner only.
pub fn owner_only(options: &mut OpenOptions) -> &mut OpenOptions {
    options.mode(0o600)
}

/// The permission bits of a file that others can read or write.
///
/// # Errors
/// There is no such file.
pub fn open_to_others(path: &Path) -> io::Result<Option<u32>> {
    let mode = std::fs::metadata(path)?.mode() & 0o777;
    Ok((mode & OTHERS != 0).then_some(mode))
}

/// Writes all bytes at a place of a file.
///
/// # Errors
/// The disk is full or gone.
pub fn write_all_at(file: &File, bytes: &[u8], place: u64) -> io::Result<()> {
    file.write_all_at(bytes, place)
}

/// Connects to the local stream of this name; `None` if it is not the name of one.
pub fn connect(path: &Path) -> Option<io::Result<LocalStream>> {
    let is_socket = std::fs::metadata(path).is_ok_and(|found| found.file_type().is_socket());
    is_socket.then(|| LocalStream::connect(path))
}

/// Keeps other programs from using a port that is open here.
///
/// # Errors
/// Another program uses it.
pub fn lock_port(port: &SerialPort) -> io::Result<()> {
    Ok(flock(port.as_fd(), FlockOperation::NonBlockingLockExclusive)?)
}

/// The user whom a port belongs to, if it is neither this user nor root.
///
/// # Errors
/// There is no such port.
pub fn other_owner(path: &Path) -> io::Result<Option<u32>> {
    let owner = std::fs::metadata(path)?.uid();
    let me = rustix::process::getuid().as_raw();
    Ok((!is_trusted(owner, me)).then_some(owner))
}

/// Whether the user `me` may send a key to a port of the user `owner`.
const fn is_trusted(owner: u32, me: u32) -> bool {
    owner == ROOT || owner == me
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A device node belongs to root, a pseudo-terminal to its user; one of somebody else may be a trap.
    #[test]
    fn own_and_system_ports_are_trusted() {
        assert!(is_trusted(ROOT, 1000) && is_trusted(1000, 1000) && is_trusted(ROOT, ROOT));
        assert!(!is_trusted(1001, 1000) && !is_trusted(1000, ROOT));
    }
}
