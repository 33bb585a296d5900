//! The unix side of [`super`].

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
/// Permission bits of group and others to write.
const WRITABLE: u32 = 0o022;
/// Permission bit of a folder in which only its owner can rename or remove a file.
const STICKY: u32 = 0o1000;
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

/// The user whom an open file belongs to, if it is neither this user nor root.
///
/// # Errors
/// The disk failed.
pub fn of_another_user(file: &File) -> io::Result<Option<u32>> {
    Ok(unless_trusted(file.metadata()?.uid()))
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

/// The user at the other end of a stream, if it is neither this user nor root.
///
/// The kernel keeps the id of the process that began to listen; whatever stands at the path of the
/// socket by now has no part in it.
///
/// # Errors
/// The kernel does not say who is there.
pub fn other_peer(stream: &LocalStream) -> io::Result<Option<u32>> {
    peer(stream).map(unless_trusted)
}

/// The user id of the process at the other end.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn peer(stream: &LocalStream) -> io::Result<u32> {
    Ok(rustix::net::sockopt::socket_peercred(stream)?.uid.as_raw())
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
use peer_elsewhere as peer;

/// The same on macOS and the BSDs, each of which has its own call; tokio knows them.
#[cfg(any(test, not(any(target_os = "linux", target_os = "android"))))]
fn peer_elsewhere(stream: &LocalStream) -> io::Result<u32> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let _inside = runtime.enter();
    // Both share the flag that tells whether reading waits.
    let second = stream.try_clone()?;
    second.set_nonblocking(true)?;
    let found = tokio::net::UnixStream::from_std(second).and_then(|second| second.peer_cred());
    stream.set_nonblocking(false)?;
    Ok(found?.uid())
}

/// The user whom an open serial port belongs to, if it is neither this user nor root.
///
/// # Errors
/// It is not a character device, so not a serial port: a file system of another user can imitate
/// one.
pub fn other_owner(port: &SerialPort) -> io::Result<Option<u32>> {
    let found = File::from(port.as_fd().try_clone_to_owned()?).metadata()?;
    if !found.file_type().is_char_device() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no serial port"));
    }
    Ok(unless_trusted(found.uid()))
}

/// Whether a folder and all folders above it can be written to by this user and root alone. Above
/// it the sticky bit is enough, as /tmp has: nobody can rename what belongs to another.
///
/// # Errors
/// There is no such folder, or others can write to it; the error names the folder.
pub fn check_folder_of(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new(".")).canonicalize()?;
    for (above, part) in folder.ancestors().enumerate() {
        let found = std::fs::metadata(part)?;
        let (mode, owner) = (found.mode() & PERMISSIONS, found.uid());
        let open = mode & WRITABLE != 0 && (above == 0 || mode & STICKY == 0);
        if open || unless_trusted(owner).is_some() {
            let text = format!(
                "others can write to its folder {} (user {owner}, mode {mode:04o}) and could wait \
                 there in its place; choose a folder that only you can write to",
                part.display()
            );
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, text));
        }
    }
    Ok(())
}

/// The owner, if it is neither this user nor root.
fn unless_trusted(owner: u32) -> Option<u32> {
    let me = rustix::process::geteuid().as_raw();
    (!is_trusted(owner, me)).then_some(owner)
}

/// Whether the user `me` may use a port of the user `owner`.
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
    /// The peer of a stream is asked, on every system that this program compiles for.
    #[test]
    fn peers_of_streams_are_known() {
        let (stream, _other) = LocalStream::pair().unwrap();
        let me = rustix::process::geteuid().as_raw();
        assert_eq!((peer(&stream).unwrap(), peer_elsewhere(&stream).unwrap()), (me, me));
        assert_eq!(other_peer(&stream).unwrap(), None);
        stream.set_read_timeout(Some(std::time::Duration::from_millis(1))).unwrap();
        let waited = std::time::Instant::now();
        assert!(io::Read::read(&mut &stream, &mut [0]).is_err());
        assert!(waited.elapsed() >= std::time::Duration::from_millis(1), "reading still waits");
    }

    /// The owner of an open port counts, and a file is none.
    #[test]
    fn owners_of_open_ports_are_known() {
        let port = |path: &str| {
            let file = OpenOptions::new().read(true).open(path).unwrap();
            SerialPort::from(std::os::fd::OwnedFd::from(file))
        };
        assert_eq!(other_owner(&port("/dev/null")).unwrap(), None);
        let error = other_owner(&port("/proc/self/status")).unwrap_err();
        assert_eq!(error.to_string(), "it is no serial port");
    }
}
