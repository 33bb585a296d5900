//! The Windows side of [`super`].

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::net::{Ipv4Addr, TcpStream};
use std::os::windows::fs::{FileExt as _, MetadataExt as _};
use std::path::Path;

use serial2::SerialPort;

/// Connection to a virtual device on this machine.
pub type LocalStream = TcpStream;

/// A new file gets the permissions of its folder; Windows has no mode to set here.
pub fn owner_only(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}

/// Not checked: who can read a file is decided by its folder.
pub const fn open_to_others(_: &Metadata) -> Option<u32> {
    None
}

/// Nothing to do: who can read a file is decided by its folder.
///
/// # Errors
/// None.
pub fn make_owner_only(_: &File) -> io::Result<()> {
    Ok(())
}

/// Not checked: who can write to a file is decided by its folder.
///
/// # Errors
/// None.
pub fn of_another_user(_: &File) -> io::Result<Option<u32>> {
    Ok(None)
}

/// Nothing to add: Windows follows no link that a user without privileges could make.
pub fn plainly(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}

/// Gives a file a name that nothing else has.
///
/// # Errors
/// The name is taken, or the system refused.
pub fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    if to.exists() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    std::fs::rename(from, to)
}

/// Nothing to do: Windows opens no folder as a file, and NTFS keeps names in a journal of its own.
///
/// # Errors
/// None.
pub fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Stands for an open folder: Windows opens no folder as a file.
#[derive(Debug)]
pub struct Folder;

/// Nothing to do.
///
/// # Errors
/// None.
pub fn open_folder(_: &Path) -> io::Result<Folder> {
    Ok(Folder)
}

/// Nothing to do, as in [`sync_folder`].
///
/// # Errors
/// None.
pub fn sync_open_folder(_: &Folder) -> io::Result<()> {
    Ok(())
}

/// Windows cannot exchange names.
///
/// # Errors
/// Always.
pub fn exchange(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Tells a file from one that replaced it: the time it was made.
pub fn identity(found: &Metadata) -> u64 {
    found.creation_time()
}

/// Whether a file is a regular file; who can read it is decided by its folder.
///
/// # Errors
/// A sentence about the file, without subject.
pub fn private(found: &Metadata) -> Result<(), String> {
    if found.is_file() { Ok(()) } else { Err("is no regular file; name one".to_owned()) }
}

/// The same: who can write it is decided by its folder.
///
/// # Errors
/// A sentence about the file, without subject.
pub fn trusted(found: &Metadata) -> Result<(), String> {
    private(found)
}

/// Writes all bytes at a place of a file.
///
/// # Errors
/// The disk is full or gone.
pub fn write_all_at(file: &File, mut bytes: &[u8], mut place: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        let count = file.seek_write(bytes, place)?;
        if count == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        bytes = &bytes[count..];
        place += count as u64;
    }
    Ok(())
}

/// Connects to `tcp:PORT` of this machine; `None` if it is another kind of name.
pub fn connect(path: &Path) -> Option<io::Result<LocalStream>> {
    let port = path.to_str()?.strip_prefix("tcp:")?.parse::<u16>().ok()?;
    Some(TcpStream::connect((Ipv4Addr::LOCALHOST, port)))
}

/// Nothing to do: Windows opens a serial port once.
///
/// # Errors
/// None.
pub fn lock_port(_: &SerialPort) -> io::Result<()> {
    Ok(())
}

/// Not checked: Windows does not tell who listens on a TCP port without calls that need `unsafe`.
///
/// # Errors
/// None.
pub fn other_peer(_: &LocalStream) -> io::Result<Option<u32>> {
    Ok(None)
}

/// Not checked: Windows ports have no owner.
///
/// # Errors
/// None.
pub fn other_owner(_: &SerialPort) -> io::Result<Option<u32>> {
    Ok(None)
}

/// Nothing to do: Windows keeps no dump of a program unless its administrator asked for them, and
/// has no call for it that safe code could make (docs/privacy.md says how to exclude a program).
///
/// # Errors
/// None.
pub fn forbid_dumps() -> io::Result<()> {
    Ok(())
}
