//! The unix side of [`super`].

use crate::prelude::*;
use std::format;
use std::fs::{File, Metadata, OpenOptions, Permissions};
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::fs::{FileExt as _, FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use rustix::fs::{CWD, FlockOperation, OFlags, RenameFlags, flock, renameat_with};
use serial2::SerialPort;

/// Connection to a virtual device or an emulator on this machine.
pub type LocalStream = std::os::unix::net::UnixStream;

/// Permission bits of everybody but the owner.
const OTHERS: u32 = 0o077;
/// Permission bits of everybody but the owner to write.
const OTHERS_WRITE: u32 = 0o022;
/// Permission bits of a private file.
const PRIVATE: u32 = 0o600;
/// All permission bits.
const PERMISSIONS: u32 = 0o7777;
/// The user id of the system's administrator.
const ROOT: u32 = 0;

/// A file made with these options can be read by its owner only.
pub fn owner_only(options: &mut OpenOptions) -> &mut OpenOptions {
    options.mode(PRIVATE)
}

/// The permission bits of a file that others can read or write.
pub fn open_to_others(found: &Metadata) -> Option<u32> {
    let mode = found.mode() & 0o777;
    (mode & OTHERS != 0).then_some(mode)
}

/// Takes the permissions of everybody but the owner from an open file.
///
/// # Errors
/// The system refused.
pub fn make_owner_only(file: &File) -> io::Result<()> {
    match open_to_others(&file.metadata()?) {
        Some(_) => file.set_permissions(Permissions::from_mode(PRIVATE)),
        None => Ok(()),
    }
}

/// Options that open a file itself: a link is not followed, a pipe does not block.
pub fn plainly(options: &mut OpenOptions) -> &mut OpenOptions {
    options.custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32)
}

/// Gives a file a name that nothing else has, and makes that durable.
///
/// # Errors
/// The name is taken, or the system refused.
pub fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE)?;
    let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty());
    sync_folder(folder.unwrap_or(Path::new(".")))
}

/// Makes the names in a folder durable.
///
/// # Errors
/// The disk failed.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// A folder that is open, so that its names can be made durable while no descriptor is free.
pub type Folder = File;

/// Opens a folder.
///
/// # Errors
/// There is no such folder.
pub fn open_folder(folder: &Path) -> io::Result<Folder> {
    File::open(folder)
}

/// Makes the names in an open folder durable.
///
/// # Errors
/// The disk failed.
pub fn sync_open_folder(folder: &Folder) -> io::Result<()> {
    folder.sync_all()
}

/// Gives each of two files the name of the other, in one step.
///
/// # Errors
/// One of them is not there, or the file system cannot do this.
pub fn exchange(one: &Path, other: &Path) -> io::Result<()> {
    Ok(renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE)?)
}

/// Tells a file from all others: device and inode.
pub fn identity(found: &Metadata) -> (u64, u64) {
    (found.dev(), found.ino())
}

/// Whether a file is a regular file with one name that only the caller may read and write. If not:
/// what it is, and what is allowed.
///
/// # Errors
/// A sentence about the file, without subject.
pub fn private(found: &Metadata) -> Result<(), String> {
    regular(found)?;
    own(found, "the device")?;
    let mode = found.mode() & PERMISSIONS;
    if mode != PRIVATE {
        return Err(format!(
            "has mode {mode:04o}; allowed: {PRIVATE:04o}, nobody else may read or write it"
        ));
    }
    one_name(found)
}

/// Whether a file is a regular file with one name that only the caller may write. If not: what it
/// is, and what is allowed.
///
/// # Errors
/// A sentence about the file, without subject.
pub fn trusted(found: &Metadata) -> Result<(), String> {
    regular(found)?;
    own(found, "this program")?;
    let mode = found.mode() & PERMISSIONS;
    if mode & OTHERS_WRITE != 0 {
        return Err(format!(
            "has mode {mode:04o}; allowed: {PRIVATE:04o}, nobody else may write it; if it is as it \
             was, chmod 600"
        ));
    }
    one_name(found)
}

fn regular(found: &Metadata) -> Result<(), String> {
    let kind = found.file_type();
    let what = if kind.is_file() {
        None
    } else if kind.is_symlink() {
        Some("is a symbolic link; name the file it leads to")
    } else if kind.is_dir() {
        Some("is a folder; name a file")
    } else if kind.is_fifo() {
        Some("is a pipe; name a regular file")
    } else if kind.is_socket() {
        Some("is a socket; name a regular file")
    } else {
        Some("is a device; name a regular file")
    };
    what.map_or(Ok(()), |what| Err(what.to_owned()))
}

fn own(found: &Metadata, runs: &str) -> Result<(), String> {
    let (owner, caller) = (found.uid(), rustix::process::geteuid().as_raw());
    if owner != caller {
        return Err(format!(
            "belongs to user {owner}; it must belong to user {caller}, who runs {runs}"
        ));
    }
    Ok(())
}

fn one_name(found: &Metadata) -> Result<(), String> {
    match found.nlink() {
        1 => Ok(()),
        0 => Err("was deleted".to_owned()),
        names => Err(format!("has {names} names (hard links); allowed: one")),
    }
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

/// Forbids dumps of this process: they would hold outcomes and keys. A limit of zero bytes is not
/// enough where the system pipes dumps to a program, so on Linux the process is also made one that
/// is not dumped; then other programs of the same user cannot read its memory either.
///
/// # Errors
/// The system refused.
pub fn forbid_dumps() -> io::Result<()> {
    use rustix::process::{Resource, Rlimit, setrlimit};
    setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })?;
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A device node belongs to root, a pseudo-terminal to its user; one of somebody else may be a
    /// trap.
    #[test]
    fn own_and_system_ports_are_trusted() {
        assert!(is_trusted(ROOT, 1000) && is_trusted(1000, 1000) && is_trusted(ROOT, ROOT));
        assert!(!is_trusted(1001, 1000) && !is_trusted(1000, ROOT));
    }
}
