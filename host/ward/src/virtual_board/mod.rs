//! The same device on a laptop: flash in a file or in memory, entropy from the operating system.
//!
//! [`VirtualBoard`] takes the bytes of a serial line and gives those of the replies. It steps the
//! main loop of the firmware, with room for 64 features and 4,096 waiting patients, as the v2, on a
//! clock that does not wait: replies leave as soon as they are durable, and draws of noise are not
//! padded. As on a board, flash is touched only while a request is answered.
//!
//! The flash is 4 KB pages of 4-byte words that a write can only clear, kept in a [`Flash`] image.
//! In a file, every operation is written through at once, so that killing the process at any moment
//! leaves what a power cut would leave. Before a reply is handed out the file is checked
//! ([`flash_file`]) and synced, so that what was answered survives the loss of the whole
//! machine. (A machine that loses power in the middle of a request may have kept any of that
//! request's writes, in any order. A device that finds its flash in such a state goes to `fault`.)

pub mod flash_file;
pub mod serve;

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use std::{fmt, format, io, vec};

use embedded_storage::nor_flash::{
    ErrorType, MultiwriteNorFlash, NorFlash, NorFlashErrorKind, ReadNorFlash, check_erase,
    check_read, check_write,
};

use zeroize::Zeroize;

use crate::virtual_board::flash_file::{FileError, FlashFile};
use equipoise::board::in_memory::InMemory;
use equipoise::device::health::{Entropy, Repeatable};
use equipoise::journal::{Journal, JournalFlash, MAX_PAGES, MIN_PAGES};
use equipoise::wire::{NONCE_SECONDS, Restart, State};

/// Bytes of a page.
pub const PAGE: usize = 4096;
/// Pages of a new flash.
pub const PAGES: usize = 64;
const WORD: usize = 4;

/// The time of a refused line on a virtual device; a board answers once in 20 ms. Without it a
/// program could try millions of tags a second.
pub const REFUSAL: Duration = Duration::from_millis(20);

/// How many of these replies are refusals.
#[must_use]
pub fn refusals(replies: &[u8]) -> usize {
    replies.split(|byte| *byte == b'\n').filter(|line| line.starts_with(b"ERR ")).count()
}

/// The cells of a flash, and the file they are written through to.
#[derive(Debug)]
struct Image {
    cells: Vec<u8>,
    file: Option<FlashFile>,
    /// Written since the last sync.
    dirty: bool,
}

impl Drop for Image {
    /// The cells hold the custodian's key.
    fn drop(&mut self) {
        self.cells.zeroize();
    }
}

impl Image {
    fn put(
        &mut self,
        from: usize,
        bytes: impl Iterator<Item = u8>,
    ) -> Result<(), NorFlashErrorKind> {
        let mut end = from;
        for (cell, byte) in self.cells[from..].iter_mut().zip(bytes) {
            *cell = byte;
            end += 1;
        }
        self.dirty = true;
        match &self.file {
            Some(file) => file
                .write(&self.cells[from..end], from as u64)
                .map_err(|_| NorFlashErrorKind::Other),
            None => Ok(()),
        }
    }
}

/// A handle to a flash image; clones share it, as two boots of a board share its flash.
#[derive(Clone, Debug)]
pub struct Flash(Arc<Mutex<Image>>);

impl Flash {
    /// A blank flash in memory.
    #[must_use]
    pub fn in_memory(pages: usize) -> Self {
        Self::from_bytes(vec![0xFF; pages * PAGE])
    }

    /// A flash in memory that holds these bytes, a whole number of pages.
    #[must_use]
    pub fn from_bytes(cells: Vec<u8>) -> Self {
        Self::new(cells, None)
    }

    fn new(cells: Vec<u8>, file: Option<FlashFile>) -> Self {
        Self(Arc::new(Mutex::new(Image { cells, file, dirty: false })))
    }

    /// The flash in a file, which is made if there is none.
    ///
    /// # Errors
    /// The file cannot be used, is in use, or is not a flash file.
    pub fn in_file(path: &Path, pages: usize) -> Result<Self, FileError> {
        let refused = |reason: String| FileError::Refused(path.to_path_buf(), reason);
        let file = FlashFile::open(path, (pages * PAGE) as u64)?;
        let cells = file.read().map_err(|error| FileError::File(path.to_path_buf(), error))?;
        let (bytes, most) = (cells.len(), MAX_PAGES as usize);
        if !bytes.is_multiple_of(PAGE) || !(MIN_PAGES as usize..=most).contains(&(bytes / PAGE)) {
            return Err(refused(format!(
                "has {bytes} bytes; allowed: {MIN_PAGES} to {MAX_PAGES} pages of {PAGE}"
            )));
        }
        let flash = Self::new(cells, Some(file));
        if Journal::is_foreign(flash.clone()) != Ok(false) {
            return Err(refused(
                "holds something else than a device's flash; name another file".into(),
            ));
        }
        Ok(flash)
    }

    fn image(&self) -> MutexGuard<'_, Image> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Content of the flash.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        self.image().cells.clone()
    }

    /// Whether the file, if there is one, is still in its place, whole and private.
    fn check(&self) -> io::Result<()> {
        let wrong = |error| io::Error::other(format!("the flash file {error}"));
        self.image().file.as_ref().map_or(Ok(()), |file| file.check().map_err(wrong))
    }

    /// Makes what was written survive the loss of the machine, if the file is still in its place.
    fn sync(&self) -> io::Result<()> {
        let mut image = self.image();
        if let (true, Some(file)) = (image.dirty, &image.file) {
            file.sync()?;
        }
        image.dirty = false;
        drop(image);
        self.check()
    }
}

impl ErrorType for Flash {
    type Error = NorFlashErrorKind;
}

impl ReadNorFlash for Flash {
    const READ_SIZE: usize = 1;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), Self::Error> {
        check_read(self, offset, bytes.len())?;
        let start = offset as usize;
        bytes.copy_from_slice(&self.image().cells[start..start + bytes.len()]);
        Ok(())
    }

    fn capacity(&self) -> usize {
        self.image().cells.len()
    }
}

impl NorFlash for Flash {
    const WRITE_SIZE: usize = WORD;
    const ERASE_SIZE: usize = PAGE;

    fn erase(&mut self, from: u32, to: u32) -> Result<(), Self::Error> {
        check_erase(self, from, to)?;
        self.image().put(from as usize, std::iter::repeat_n(0xFF, (to - from) as usize))
    }

    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), Self::Error> {
        check_write(self, offset, bytes.len())?;
        let mut image = self.image();
        let start = offset as usize;
        let old = image.cells[start..start + bytes.len()].to_vec();
        image.put(start, old.iter().zip(bytes).map(|(old, new)| old & new))
    }
}

impl MultiwriteNorFlash for Flash {}

impl JournalFlash for Flash {}

/// Where a virtual board's randomness comes from.
#[derive(Debug)]
pub enum Noise {
    /// The operating system.
    System,
    /// A seed: the same requests get the same replies. For tests and demonstrations.
    Seeded(Box<Repeatable>),
}

impl Entropy for Noise {
    fn sample(&mut self) -> Option<u8> {
        match self {
            Self::System => {
                let mut byte = [0];
                getrandom::fill(&mut byte).ok()?;
                Some(byte[0])
            }
            Self::Seeded(source) => source.sample(),
        }
    }
}

/// A device and its serial line, in this process.
pub struct VirtualBoard<const M: usize = 64, const U: usize = 4096> {
    board: InMemory<Flash, Noise, M, U>,
    flash: Flash,
    seed: Option<u64>,
    /// The seconds since then have been counted.
    ticked: Instant,
}

impl<const M: usize, const U: usize> fmt::Debug for VirtualBoard<M, U> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VirtualBoard").field("state", &self.state()).finish_non_exhaustive()
    }
}

impl<const M: usize, const U: usize> VirtualBoard<M, U> {
    /// Powers up a board on this flash, with the operating system's randomness.
    #[must_use]
    pub fn new(flash: Flash) -> Self {
        Self::boot(flash, None)
    }

    /// Powers up a board whose randomness is a function of the seed. Not for patients.
    #[must_use]
    pub fn seeded(flash: Flash, seed: u64) -> Self {
        Self::boot(flash, Some(seed))
    }

    fn boot(flash: Flash, seed: Option<u64>) -> Self {
        let noise =
            seed.map_or(Noise::System, |seed| Noise::Seeded(Box::new(Repeatable::new(seed))));
        let mut board = InMemory::asleep(flash.clone(), noise, Some(Restart::Power));
        board.power_up();
        Self { board, flash, seed, ticked: Instant::now() }
    }

    /// Loses everything in memory and powers up again on what is on flash. A seeded board moves on
    /// to the next seed.
    pub fn power_cut(&mut self) {
        *self = Self::boot(self.flash.clone(), self.seed.map(|seed| seed.wrapping_add(1)));
    }

    /// State of the device.
    #[must_use]
    pub fn state(&self) -> State {
        self.board.device.state()
    }

    /// The flash, shared with the device.
    #[must_use]
    pub const fn flash(&self) -> &Flash {
        &self.flash
    }

    /// Takes bytes off the line and adds the replies to `out`, once they are durable.
    ///
    /// # Errors
    /// The flash file cannot be synced; nothing of this batch may be sent.
    pub fn receive(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
        let start = out.len();
        // Before anything is written: a write would lengthen a shortened file again.
        self.flash.check()?;
        let seconds = self.ticked.elapsed().as_secs();
        self.ticked += Duration::from_secs(seconds);
        // A longer time changes nothing more.
        self.board.pass_seconds(seconds.min(NONCE_SECONDS.into()) as u32);
        self.board.exchange(bytes, out);
        self.flash.sync().inspect_err(|_| out.truncate(start))
    }

    /// The replies to one line, given without line end. For tests and demonstrations on a flash in
    /// memory.
    pub fn ask(&mut self, line: &str) -> String {
        let mut out = Vec::new();
        let synced = self.receive(format!("\n{line}\n").as_bytes(), &mut out);
        synced
            .map_or_else(|error| error.to_string(), |()| String::from_utf8_lossy(&out).into_owned())
    }

    /// Does a step of the main loop between requests. False if there is nothing left to do before
    /// the next byte. Touches no flash.
    pub fn step(&mut self) -> bool {
        self.board.step()
    }

    /// Steps until there is nothing left to do before the next byte.
    pub fn run_until_idle(&mut self) {
        self.board.run_until_idle();
    }

    /// The terminal hung up: forgets a line that has begun, and a nonce.
    pub fn hang_up(&mut self) {
        self.board.hang_up();
    }
}
