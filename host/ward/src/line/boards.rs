//! Boards that this program starts by itself, each behind its serial line.
//!
//! [`StartedBoard::virtual_on`] is the virtual board inside this process. [`StartedBoard::qemu`] is
//! the firmware for the micro:bit v1, emulated by QEMU with its serial port on a socket. Either can
//! lose power at the worst moment: after it has received a request and before the terminal has the
//! answer. On the emulated board a reset stands for the loss of power.

use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::qemu;
use crate::failure::Failure;
use crate::line::client::Source;
use crate::line::link::{self, Link};
use crate::os::LocalStream;
use crate::virtual_board::{Flash, PAGES, VirtualBoard};

/// How long QEMU may take to start.
const START: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(20);
/// Where `cargo xtask firmware` leaves the image of the v1.
const FIRMWARE: &str = "target/thumbv6m-none-eabi/firmware/firmware";

/// A board this program started.
pub struct StartedBoard {
    machine: Machine,
    cut: Arc<AtomicBool>,
}

enum Machine {
    Virtual(Arc<Mutex<VirtualBoard>>),
    Qemu(Qemu),
}

struct Qemu {
    process: Child,
    folder: PathBuf,
}

impl Drop for Qemu {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl StartedBoard {
    /// The virtual board on a flash file, which is made if there is none.
    ///
    /// # Errors
    /// The file cannot be used, or another device uses it.
    pub fn virtual_on(flash: &Path) -> Result<Self, Failure> {
        let flash =
            Flash::in_file(flash, PAGES).map_err(|error| Failure::Usage(error.to_string()))?;
        let board = VirtualBoard::new(flash);
        Ok(Self { machine: Machine::Virtual(Arc::new(Mutex::new(board))), cut: Arc::default() })
    }

    /// The firmware under QEMU, its sockets in `folder`.
    ///
    /// # Errors
    /// No firmware, or no QEMU.
    pub fn qemu(folder: &Path) -> Result<Self, Failure> {
        if cfg!(windows) {
            return Err(Failure::Usage(
                "the emulated board runs on Linux and macOS only".to_owned(),
            ));
        }
        let firmware =
            std::env::var_os("EQUIPOISE_FIRMWARE").map_or_else(|| FIRMWARE.into(), PathBuf::from);
        if !firmware.is_file() {
            return Err(Failure::Usage(format!(
                "no firmware in {}: cargo xtask firmware",
                firmware.display()
            )));
        }
        let process = qemu::microbit(&firmware, folder)
            .spawn()
            .map_err(|error| Failure::Usage(qemu::not_started(&error)))?;
        let qemu = Qemu { process, folder: folder.to_owned() };
        let start = Instant::now();
        while !folder.join("serial").exists() && start.elapsed() < START {
            std::thread::sleep(POLL);
        }
        Ok(Self { machine: Machine::Qemu(qemu), cut: Arc::default() })
    }

    /// The board's serial line.
    #[must_use]
    pub fn line(&self) -> Source {
        let cut = Arc::clone(&self.cut);
        match &self.machine {
            Machine::Virtual(board) => {
                let board = Arc::clone(board);
                let open = move || {
                    let (board, cut) = (Arc::clone(&board), Arc::clone(&cut));
                    Ok(Box::new(InProcess { board, cut, replies: VecDeque::new() })
                        as Box<dyn Link>)
                };
                Source::Other("virtual device".to_owned(), Box::new(open))
            }
            Machine::Qemu(qemu) => {
                let folder = qemu.folder.clone();
                let open = move || {
                    let line = stream(&folder.join("serial"))?;
                    Ok(Box::new(Emulated { line, folder: folder.clone(), cut: Arc::clone(&cut) })
                        as Box<dyn Link>)
                };
                Source::Other("emulated micro:bit".to_owned(), Box::new(open))
            }
        }
    }

    /// Power fails when the board has the next `ASSIGN` and the terminal has no answer yet.
    pub fn cut_power_at_next_assignment(&self) {
        self.cut.store(true, Ordering::SeqCst);
    }

    /// Whether the requested power cut has happened.
    #[must_use]
    pub fn was_cut(&self) -> bool {
        !self.cut.load(Ordering::SeqCst)
    }
}

/// Connects to a socket of QEMU.
fn stream(path: &Path) -> io::Result<LocalStream> {
    let found = link::connect(path).ok_or(io::ErrorKind::NotFound)?;
    found.map_err(io::Error::other)
}

fn power_is_gone() -> io::Error {
    io::Error::new(io::ErrorKind::BrokenPipe, "the device lost power")
}

fn fails_now(cut: &AtomicBool, request: &[u8]) -> bool {
    request.starts_with(b"ASSIGN") && cut.swap(false, Ordering::SeqCst)
}

struct InProcess {
    board: Arc<Mutex<VirtualBoard>>,
    cut: Arc<AtomicBool>,
    replies: VecDeque<u8>,
}

impl Link for InProcess {
    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut board = self.board.lock().unwrap_or_else(PoisonError::into_inner);
        let mut replies = Vec::new();
        board.receive(bytes, &mut replies)?;
        if fails_now(&self.cut, bytes) {
            board.power_cut();
            return Err(power_is_gone());
        }
        self.replies.extend(replies);
        Ok(())
    }

    fn receive(&mut self, buffer: &mut [u8], patience: Duration) -> io::Result<usize> {
        if self.replies.is_empty() {
            // The board answers before `send` returns: nothing will come.
            std::thread::sleep(patience);
        }
        let count = buffer.len().min(self.replies.len());
        buffer.iter_mut().zip(self.replies.drain(..count)).for_each(|(to, from)| *to = from);
        // The line is idle until the terminal has read the answer.
        self.board.lock().unwrap_or_else(PoisonError::into_inner).run_until_idle();
        Ok(count)
    }
}

struct Emulated {
    line: LocalStream,
    folder: PathBuf,
    cut: Arc<AtomicBool>,
}

impl Link for Emulated {
    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        Link::send(&mut self.line, bytes)?;
        if fails_now(&self.cut, bytes) {
            let mut machine = stream(&self.folder.join("qmp"))?;
            machine.write_all(
                b"{\"execute\":\"qmp_capabilities\"}\n{\"execute\":\"system_reset\"}\n",
            )?;
            // The greeting and two answers: the reset has happened.
            BufReader::new(machine).lines().take(3).for_each(drop);
            return Err(power_is_gone());
        }
        Ok(())
    }

    fn receive(&mut self, buffer: &mut [u8], patience: Duration) -> io::Result<usize> {
        Link::receive(&mut self.line, buffer, patience)
    }
}
