//! The bytes between terminal and device: a serial port, a pseudo-terminal, a unix socket.
//!
//! A [`Link`] sends bytes and waits for bytes, nothing else; what they mean is for
//! [`super::client`]. A port is opened at 115200 baud, 8N1, and locked, so that a second terminal
//! finds it busy instead of stealing replies. Whatever goes wrong has its own [`LinkError`] with
//! the name of the port and what to do about it.
//!
//! # Whose port
//! Keys, proofs, patients and outcomes go to a port of this user or of root, and to no other. The
//! open line is asked whom it belongs to, before the first byte: the process at the other end of a
//! socket, the owner of an open serial port or pseudo-terminal. The path is not asked; another user
//! may have put something else there since. Every line to a device is opened by [`open`] or
//! [`connect`], each time it breaks too. (Windows does not tell: see [`os`].)

use std::fmt;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use serial2::SerialPort;

use crate::os::{self, LocalStream};
use equipoise::wire::PROTOCOL;

/// The speed of the line.
pub const BAUD: u32 = 115_200;

/// How serial ports of boards and adapters are named, for `--port auto`.
const LIKELY: [&str; 5] = ["ttyACM", "ttyUSB", "cu.usbmodem", "cu.usbserial", "ttyAMA"];

/// A stream of bytes to a device.
pub trait Link: Send {
    /// Sends all bytes.
    ///
    /// # Errors
    /// The device is gone.
    fn send(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Waits for bytes, at most `patience`; 0 bytes if none came.
    ///
    /// # Errors
    /// The device is gone.
    fn receive(&mut self, buffer: &mut [u8], patience: Duration) -> io::Result<usize>;
}

/// Why there is no line to a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkError {
    /// There is no such port.
    Missing(String),
    /// `auto` found no port to try.
    NoneFound,
    /// `auto` tried these; none is a device.
    NoneFits(Vec<LinkError>),
    /// The user may not open it.
    Permission(String),
    /// Another program has it open.
    Busy(String),
    /// Nothing answers.
    Silent(String),
    /// Bytes come, but no text: the speed is wrong.
    Garbage(String),
    /// Text comes, but not that of an equipoise device.
    WrongDevice(String, String),
    /// An equipoise device of another protocol version.
    Protocol(String, u32),
    /// The open port, or the process at the other end, belongs to this other user.
    Owner(String, u32),
    /// The line broke.
    Gone(String, String),
}

impl LinkError {
    fn opening(port: &str, error: &io::Error) -> Self {
        let port = port.to_owned();
        match error.kind() {
            io::ErrorKind::NotFound => Self::Missing(port),
            io::ErrorKind::PermissionDenied => Self::Permission(port),
            io::ErrorKind::ResourceBusy | io::ErrorKind::WouldBlock => Self::Busy(port),
            io::ErrorKind::ConnectionRefused => Self::Silent(port),
            _ => Self::Gone(port, error.to_string()),
        }
    }
}

impl fmt::Display for LinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(port) => write!(f, "{port} is not there: is the device plugged in?"),
            Self::NoneFound => f.write_str(
                "no serial port found: plug the device in, or name its port with --port",
            ),
            Self::NoneFits(errors) => {
                f.write_str("no device found:")?;
                errors.iter().try_for_each(|error| write!(f, "\n  {error}"))
            }
            Self::Permission(port) => {
                write!(
                    f,
                    "no permission to open {port}: join its group (on Debian: sudo adduser $USER dialout) and log in again"
                )
            }
            Self::Busy(port) => {
                write!(f, "{port} is in use by another program: close it there first")
            }
            Self::Silent(port) => {
                write!(f, "no answer on {port}: is this the right port, and is the device powered?")
            }
            Self::Garbage(port) => {
                write!(
                    f,
                    "{port} sends bytes that make no sense: wrong baud rate? The device speaks {BAUD} 8N1"
                )
            }
            Self::WrongDevice(port, text) => {
                write!(f, "{port} is not an equipoise device: it said {text:?}")
            }
            Self::Protocol(port, protocol) => {
                write!(
                    f,
                    "{port} is an equipoise device of protocol {protocol}, this program speaks protocol {PROTOCOL}: \
                     use a program and a firmware of the same release"
                )
            }
            Self::Owner(port, user) => {
                write!(
                    f,
                    "{port} belongs to user {user}, allowed are you and root; nothing was sent: \
                     another user may wait there for keys and outcomes. Start the device yourself, \
                     in a folder that only you can write to"
                )
            }
            Self::Gone(port, error) => write!(f, "the line to {port} broke: {error}"),
        }
    }
}

impl std::error::Error for LinkError {}

/// Which port to use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Port {
    /// The first one with a device behind it.
    Auto,
    /// This one: a serial port, a pseudo-terminal or a unix socket.
    Path(PathBuf),
}

impl FromStr for Port {
    type Err = std::convert::Infallible;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(if text == "auto" { Self::Auto } else { Self::Path(text.into()) })
    }
}

impl fmt::Display for Port {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Path(path) => path.display().fmt(f),
        }
    }
}

impl Port {
    /// The ports to try, in order.
    #[must_use]
    pub fn candidates(&self) -> Vec<PathBuf> {
        match self {
            Self::Path(path) => vec![path.clone()],
            Self::Auto => {
                let mut ports = SerialPort::available_ports().unwrap_or_default();
                let likely = |port: &PathBuf| {
                    let name = port.file_name().unwrap_or_default().to_string_lossy().into_owned();
                    LIKELY.iter().any(|start| name.starts_with(start))
                };
                ports.retain(likely);
                ports.sort();
                ports
            }
        }
    }
}

/// Opens a port of this user or of root: a local stream where the path names one, else a serial
/// port.
///
/// # Errors
/// Why it cannot be opened, or whose it is.
pub fn open(path: &Path) -> Result<Box<dyn Link>, LinkError> {
    if let Some(stream) = connect(path) {
        return Ok(Box::new(stream?));
    }
    let name = path.display().to_string();
    let opening = |error: io::Error| LinkError::opening(&name, &error);
    let port = SerialPort::open(path, BAUD).map_err(opening)?;
    if let Some(owner) = os::other_owner(&port).map_err(opening)? {
        return Err(LinkError::Owner(name, owner));
    }
    os::lock_port(&port).map_err(opening)?;
    // Bytes received before this terminal came are not an answer to it.
    port.discard_buffers().map_err(opening)?;
    Ok(Box::new(port))
}

/// Connects to a local stream of this user or of root; `None` if the path names none.
pub fn connect(path: &Path) -> Option<Result<LocalStream, LinkError>> {
    let stream = os::connect(path)?;
    let name = path.display().to_string();
    let checked = stream.and_then(|stream| Ok((os::other_peer(&stream)?, stream)));
    Some(match checked {
        Ok((None, stream)) => Ok(stream),
        Ok((Some(owner), _)) => Err(LinkError::Owner(name, owner)),
        Err(error) => Err(LinkError::opening(&name, &error)),
    })
}

/// Turns "nothing yet" into 0 bytes and the end of the stream into an error.
fn received(result: io::Result<usize>) -> io::Result<usize> {
    match result {
        Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
        Ok(n) => Ok(n),
        Err(error) => match error.kind() {
            io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => {
                Ok(0)
            }
            _ => Err(error),
        },
    }
}

impl Link for SerialPort {
    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        Self::write_all(self, bytes)
    }

    fn receive(&mut self, buffer: &mut [u8], patience: Duration) -> io::Result<usize> {
        self.set_read_timeout(patience)?;
        received(Self::read(self, buffer))
    }
}

impl Link for LocalStream {
    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.write_all(bytes)
    }

    fn receive(&mut self, buffer: &mut [u8], patience: Duration) -> io::Result<usize> {
        self.set_read_timeout(Some(patience.max(Duration::from_millis(1))))?;
        received(self.read(buffer))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every reason why a port cannot be opened says what to do.
    #[test]
    fn open_errors_say_what_to_do() {
        for (kind, words) in [
            (io::ErrorKind::NotFound, "P is not there: is the device plugged in?"),
            (
                io::ErrorKind::PermissionDenied,
                "no permission to open P: join its group (on Debian: sudo adduser",
            ),
            (io::ErrorKind::ResourceBusy, "P is in use by another program: close it there first"),
            (io::ErrorKind::WouldBlock, "P is in use by another program"),
            (io::ErrorKind::ConnectionRefused, "no answer on P: is this the right port"),
            (io::ErrorKind::InvalidInput, "the line to P broke: "),
        ] {
            let text = LinkError::opening("P", &kind.into()).to_string();
            assert!(text.starts_with(words), "{text}");
        }
    }

    /// Auto tries ports of boards and a name is tried as it is.
    #[test]
    fn auto_tries_ports_of_boards() {
        assert_eq!("auto".parse(), Ok(Port::Auto));
        let named: Port = "/dev/ttyS7".parse().unwrap_or(Port::Auto);
        assert_eq!(named.candidates(), [PathBuf::from("/dev/ttyS7")]);
        let found = LinkError::NoneFits(vec![
            LinkError::Busy("A".to_owned()),
            LinkError::Silent("B".to_owned()),
        ]);
        assert!(
            found.to_string().contains("A is in use")
                && found.to_string().contains("no answer on B")
        );
    }
}
