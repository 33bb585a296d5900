//! The Windows side of [`super`]: a TCP port of this machine.
//!
//! The port is open to every program of this machine and to no other machine. Terminals use it as
//! `--port tcp:PORT`. A reply waits a second for its reader; a terminal that does not read it is
//! left.

use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::{SILENCE, Server};

/// How long a reply waits for its reader.
const PATIENCE: Duration = Duration::from_secs(1);
/// How often a waiting device checks whether it is to end.
const POLL: Duration = Duration::from_millis(20);

/// Serves on a TCP port until the process is told to end.
///
/// # Errors
/// The port or the flash file cannot be used.
pub fn serve(mut server: Server, tcp: u16) -> Result<(), String> {
    let at = |error| format!("TCP port {tcp}: {error}");
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, tcp)).map_err(at)?;
    listener.set_nonblocking(true).map_err(at)?;
    let port = listener.local_addr().map_err(at)?.port();
    println!("tcp:{port}");
    let _ = io::stdout().flush();
    server.converse_in_turn(&listener).map_err(|error| format!("TCP port {port}: {error}"))
}

/// Why a conversation failed.
enum Failure {
    /// The terminal left in mid-reply; the device goes on.
    Terminal(io::Error),
    /// Port or flash file cannot be used; the device ends.
    Device(io::Error),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Terminal(error)
    }
}

impl Server {
    fn converse_in_turn(&mut self, listener: &TcpListener) -> io::Result<()> {
        let mut next = None;
        while !self.told() {
            if next.is_none() {
                next = waiting(listener)?;
            }
            let Some(line) = next.take() else {
                if !self.board.step() {
                    sleep(POLL);
                }
                continue;
            };
            self.board.hang_up();
            match self.converse(line, listener) {
                Ok(other) => next = other,
                Err(Failure::Terminal(error)) => {
                    eprintln!("equipoise device: the terminal left: {error}");
                }
                Err(Failure::Device(error)) => return Err(error),
            }
        }
        Ok(())
    }

    /// Serves one terminal, until it leaves or, once it is silent, another one waits at `others`,
    /// which is returned.
    fn converse(
        &mut self,
        mut line: TcpStream,
        others: &TcpListener,
    ) -> Result<Option<TcpStream>, Failure> {
        line.set_nonblocking(false)?;
        line.set_nodelay(true)?;
        line.set_write_timeout(Some(PATIENCE))?;
        let mut bytes = [0; 4096];
        let mut heard = Instant::now();
        while !self.told() {
            if heard.elapsed() >= SILENCE
                && let Some(other) = waiting(others).map_err(Failure::Device)?
            {
                return Ok(Some(other));
            }
            let time = if self.board.step() { Duration::from_millis(1) } else { POLL };
            line.set_read_timeout(Some(time))?;
            let count = match line.read(&mut bytes) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) if is_timeout(&error) => continue,
                Err(error) => return Err(error.into()),
            };
            let replies = self.answer(&bytes[..count], &mut heard).map_err(Failure::Device)?;
            line.write_all(&replies)?;
        }
        Ok(None)
    }
}

/// The next terminal that waits, if there is one.
fn waiting(listener: &TcpListener) -> io::Result<Option<TcpStream>> {
    match listener.accept() {
        Ok((line, _)) => Ok(Some(line)),
        // Windows reports a terminal that left while it waited.
        Err(error) if is_timeout(&error) || error.kind() == io::ErrorKind::ConnectionReset => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock)
}
