//! `equipoise device`: a [`VirtualBoard`] on a flash file behind a serial line of this machine.
//!
//! Terminals may come and go. On a unix socket or a TCP port one at a time is served; one that has
//! not completed a request for the time [`SILENCE`] makes way for the next that waits, and a line
//! that it had begun is forgotten.
//!
//! SIGINT and SIGTERM end the device between two requests; any other end is a power cut, which the
//! flash file survives. A flash file that is not in order ends the device before the next answer.
//!
//! # Guessing
//! A tag is a number of 32 bits that a program could guess. Every refused line takes [`REFUSAL`],
//! as on a board: 50 guesses a second.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub use unix::*;
#[cfg(windows)]
pub use windows::*;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::virtual_board::{REFUSAL, VirtualBoard, refusals};

/// Time without a request after which a terminal makes way for another.
const SILENCE: Duration = Duration::from_secs(3);

/// A board and the flag that ends it.
pub struct Server {
    /// The device.
    pub board: VirtualBoard,
    /// Set when the process is to end.
    pub stop: Arc<AtomicBool>,
}

impl Server {
    fn told(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// The replies to `bytes`, after the time that refusals take; `heard` is set to now if a
    /// request was completed.
    ///
    /// # Errors
    /// The flash file is not in order; nothing may be sent.
    fn answer(&mut self, bytes: &[u8], heard: &mut Instant) -> io::Result<Vec<u8>> {
        let mut replies = Vec::new();
        self.board.receive(bytes, &mut replies)?;
        if !replies.is_empty() {
            *heard = Instant::now();
        }
        for _ in 0..refusals(&replies) {
            if !self.told() {
                sleep(REFUSAL);
            }
        }
        Ok(replies)
    }
}
