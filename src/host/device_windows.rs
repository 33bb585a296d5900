//! `equipoise device` on Windows: a [`VirtualBoard`] on a flash file behind a TCP port of this
//! machine.
//!
//! The port is open to every program of this machine and to no other machine. Terminals use it as
//! `--port tcp:PORT`; they may come and go, one at a time, and a line that the last one had begun
//! is forgotten. Ctrl-C ends the device between two requests; any other end is a power cut, which
//! the flash file survives.

use crate::prelude::*;
use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::virtual_board::{REFUSAL, VirtualBoard, refusals};
use crate::device::Rest;

/// How long a reply waits for its reader.
const PATIENCE: Duration = Duration::from_secs(1);
/// How often a waiting device checks whether it is to end.
const POLL: Duration = Duration::from_millis(20);

/// A board and the flag that ends it.
pub struct Server {
    /// The device.
    pub board: VirtualBoard,
    /// Set when the process is to end.
    pub stop: Arc<AtomicBool>,
}

/// Serves on a TCP port until the process is told to end.
///
/// # Errors
/// The port cannot be used.
pub fn serve(Server { mut board, stop }: Server, tcp: u16) -> Result<(), String> {
    let at = |error| format!("TCP port {}: {error}", tcp);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, tcp)).map_err(at)?;
    listener.set_nonblocking(true).map_err(at)?;
    println!("tcp:{}", listener.local_addr().map_err(at)?.port());
    let _ = io::stdout().flush();
    while !stop.load(Ordering::Relaxed) {
        match listener.accept() {
            Ok((line, _)) => {
                board.hang_up();
                // A terminal that leaves in mid-reply ends its conversation, not the device.
                if let Err(error) = converse(&mut board, line, &stop) {
                    eprintln!("equipoise device: the terminal left: {error}");
                }
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                if board.rest() == Rest::Idle {
                    std::thread::sleep(POLL);
                }
            }
            Err(error) => return Err(at(error)),
        }
    }
    Ok(())
}

/// Serves one terminal until it leaves or the device is to end.
fn converse(board: &mut VirtualBoard, mut line: TcpStream, stop: &AtomicBool) -> io::Result<()> {
    line.set_nonblocking(false)?;
    line.set_nodelay(true)?;
    line.set_write_timeout(Some(PATIENCE))?;
    let mut bytes = [0; 4096];
    let mut replies = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        let time = if board.rest() == Rest::Idle { POLL } else { Duration::from_millis(1) };
        line.set_read_timeout(Some(time))?;
        let count = match line.read(&mut bytes) {
            Ok(0) => return Ok(()),
            Ok(count) => count,
            Err(error)
                if matches!(error.kind(), io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock) =>
            {
                continue;
            }
            Err(error) => return Err(error),
        };
        replies.clear();
        board.receive(&bytes[..count], &mut replies)?;
        for _ in 0..refusals(&replies) {
            std::thread::sleep(REFUSAL);
        }
        line.write_all(&replies)?;
    }
    Ok(())
}
