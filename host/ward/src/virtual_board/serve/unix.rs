//! The unix side of [`super`]: a pseudo-terminal (its path is printed; with `--link` a symbolic
//! link leads to it), a unix socket, or standard input and output.
//!
//! As on a wire, a reply that nobody reads is lost: it waits a second for its reader, and the
//! terminal asks again. SIGINT and SIGTERM remove the link and the socket. A link left over from
//! another end is replaced, and so is a socket that no one listens on.
//!
//! # Access
//! Socket and pseudo-terminal can be used by the caller alone. The socket and the link lie in a
//! folder where nobody else can put another one in their place, also when the device has ended:
//! only the caller and root may write to it ([`os::check_folder_of`]). So nothing of another user
//! is ever replaced or removed there.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt, symlink};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, fchmod};
use rustix::io::{Errno, FdFlags, fcntl_setfd};
use rustix::process::{geteuid, umask};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};

use super::{SILENCE, Server};
use crate::os;

/// How often a waiting device checks whether it is to end, and how long a reply waits for its
/// reader.
const PATIENCE: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };
const AT_ONCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

/// The line of the device.
#[derive(Clone, Copy, Debug)]
pub enum Line<'a> {
    /// Standard input and output.
    Standard,
    /// A unix socket.
    Socket(&'a Path),
    /// A pseudo-terminal.
    PseudoTerminal {
        /// A symbolic link that leads to it.
        link: Option<&'a Path>,
    },
}

/// Serves until the line ends or the process is told to.
///
/// # Errors
/// The line cannot be used.
pub fn serve(mut server: Server, line: Line<'_>) -> Result<(), String> {
    let link = match line {
        Line::Standard => {
            let end = server.converse(io::stdin().as_fd(), io::stdout().as_fd(), None);
            return end.map(|_| ()).map_err(|error| format!("standard input and output: {error}"));
        }
        Line::Socket(path) => {
            let at = |error| format!("socket {}: {error}", path.display());
            let listener = listen(path).map_err(at)?;
            let _removed = Removed(path, Own::socket(path).map_err(at)?);
            announce(path);
            return server.converse_in_turn(&listener).map_err(at);
        }
        Line::PseudoTerminal { link } => link,
    };
    if let Some(link) = link {
        os::check_folder_of(link).map_err(|error| format!("link {}: {error}", link.display()))?;
    }
    let (line, _peer, path) =
        pseudo_terminal().map_err(|error| format!("pseudo-terminal: {error}"))?;
    let _removed = match link {
        Some(link) => {
            point(link, &path).map_err(|error| format!("link {}: {error}", link.display()))?;
            Some(Removed(link, Own::Link(path.clone())))
        }
        None => None,
    };
    announce(&path);
    server
        .converse(line.as_fd(), line.as_fd(), None)
        .map(|_| ())
        .map_err(|error| format!("{}: {error}", path.display()))
}

fn announce(path: &Path) {
    println!("{}", path.display());
    let _ = io::stdout().flush();
}

/// How a conversation ended.
#[derive(PartialEq, Eq)]
enum End {
    /// The device is to end.
    Told,
    /// The other side left.
    Left,
}

impl Server {
    /// Whether `fd` is ready within `time`. A signal ends the wait.
    fn ready(fd: BorrowedFd<'_>, wanted: PollFlags, time: Timespec) -> io::Result<bool> {
        match poll(&mut [PollFd::from_borrowed_fd(fd, wanted)], Some(&time)) {
            Ok(ready) => Ok(ready > 0),
            Err(Errno::INTR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Serves one terminal, until it leaves or, once it is silent, another one waits at `others`.
    fn converse(
        &mut self,
        input: BorrowedFd<'_>,
        output: BorrowedFd<'_>,
        others: Option<&UnixListener>,
    ) -> io::Result<End> {
        let mut bytes = [0; 4096];
        let mut heard = Instant::now();
        while !self.told() {
            let time = if self.board.step() { AT_ONCE } else { PATIENCE };
            let ready = Self::ready(input, PollFlags::IN, time)?;
            if let Some(others) = others
                && heard.elapsed() >= SILENCE
                && Self::ready(others.as_fd(), PollFlags::IN, AT_ONCE)?
            {
                return Ok(End::Left);
            }
            if !ready {
                continue;
            }
            let count = match rustix::io::read(input, &mut bytes) {
                Ok(0) | Err(Errno::CONNRESET) => return Ok(End::Left),
                Ok(count) => count,
                Err(Errno::AGAIN | Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            };
            let replies = self.answer(&bytes[..count], &mut heard)?;
            if self.send(output, &replies)? == End::Left {
                return Ok(End::Left);
            }
        }
        Ok(End::Told)
    }

    /// Sends what the other side takes; the rest is lost.
    fn send(&self, output: BorrowedFd<'_>, mut bytes: &[u8]) -> io::Result<End> {
        while !bytes.is_empty() && !self.told() && Self::ready(output, PollFlags::OUT, PATIENCE)? {
            match rustix::io::write(output, bytes) {
                Ok(count) => bytes = &bytes[count..],
                Err(Errno::AGAIN | Errno::INTR) => {}
                Err(Errno::PIPE | Errno::CONNRESET) => return Ok(End::Left),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(End::Told)
    }

    fn converse_in_turn(&mut self, listener: &UnixListener) -> io::Result<()> {
        while !self.told() {
            let time = if self.board.step() { AT_ONCE } else { PATIENCE };
            if Self::ready(listener.as_fd(), PollFlags::IN, time)? {
                let (line, _) = listener.accept()?;
                line.set_nonblocking(true)?;
                self.board.hang_up();
                self.converse(line.as_fd(), line.as_fd(), Some(listener))?;
            }
        }
        Ok(())
    }
}

/// A pseudo-terminal that carries bytes as they are. The peer is kept open, so that terminals may
/// come and go.
fn pseudo_terminal() -> io::Result<(OwnedFd, File, PathBuf)> {
    let line = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
    // A flag of its own: macOS has none for it in `openpt`.
    fcntl_setfd(&line, FdFlags::CLOEXEC)?;
    grantpt(&line)?;
    unlockpt(&line)?;
    let path = PathBuf::from(ptsname(&line, Vec::new())?.into_string().map_err(io::Error::other)?);
    let peer = OpenOptions::new().read(true).write(true).open(&path)?;
    // Systems let the group tty write to a terminal, for messages; here they would be requests.
    fchmod(&peer, Mode::RUSR | Mode::WUSR)?;
    let mut settings = tcgetattr(&peer)?;
    settings.make_raw();
    tcsetattr(&peer, OptionalActions::Now, &settings)?;
    rustix::io::ioctl_fionbio(&line, true)?;
    Ok((line, peer, path))
}

/// Listens on a socket that only the caller can use; one that a dead process left behind is
/// replaced.
fn listen(path: &Path) -> io::Result<UnixListener> {
    os::check_folder_of(path)?;
    let left_over = fs::symlink_metadata(path)
        .is_ok_and(|found| found.file_type().is_socket() && found.uid() == geteuid().as_raw())
        && UnixStream::connect(path)
            .is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused);
    if left_over {
        fs::remove_file(path)?;
    }
    // The socket is born private: a mode set later would leave a moment in between.
    let before = umask(Mode::from_raw_mode(0o177));
    let listener = UnixListener::bind(path);
    umask(before);
    listener
}

/// Makes `link` lead to `path`, in one step; nothing but a link is ever replaced.
fn point(link: &Path, path: &Path) -> io::Result<()> {
    if fs::symlink_metadata(link).is_ok_and(|found| !found.file_type().is_symlink()) {
        return Err(io::Error::new(
            io::ErrorKind::AlreadyExists,
            "there is something else than a link",
        ));
    }
    let mut beside = link.as_os_str().to_owned();
    beside.push(format!(".{}", std::process::id()));
    symlink(path, &beside)?;
    let renamed = fs::rename(&beside, link);
    if renamed.is_err() {
        let _ = fs::remove_file(&beside);
    }
    renamed
}

/// Entry that this process made at a path.
enum Own {
    /// A socket, with its device and inode.
    Socket(u64, u64),
    /// A link, with its target.
    Link(PathBuf),
}

impl Own {
    fn socket(path: &Path) -> io::Result<Self> {
        fs::symlink_metadata(path).map(|found| Self::Socket(found.dev(), found.ino()))
    }
}

/// Takes a socket or link away at the end, unless something else has its place by then.
struct Removed<'a>(&'a Path, Own);

impl Drop for Removed<'_> {
    fn drop(&mut self) {
        let still = match &self.1 {
            Own::Socket(device, inode) => fs::symlink_metadata(self.0)
                .is_ok_and(|found| (found.dev(), found.ino()) == (*device, *inode)),
            Own::Link(target) => fs::read_link(self.0).is_ok_and(|now| now == *target),
        };
        if still {
            let _ = fs::remove_file(self.0);
        }
    }
}
