//! A device in your own program: you bring flash, noise and a line.
//!
//! Here the flash is an array and the noise a counter that passes the health tests; a product takes
//! its chip's flash and its chip's noise source. `cargo run -p equipoise --example embed` plays a
//! dialogue; `cargo xtask lint` also builds it for a Cortex-M4, without anything of our boards.
#![cfg_attr(target_os = "none", no_std, no_main)]

use embedded_storage::nor_flash::{
    ErrorType, MultiwriteNorFlash, NorFlash, NorFlashErrorKind, ReadNorFlash,
};
use equipoise::device::health::Entropy;
use equipoise::device::{Device, DeviceState};
use equipoise::journal::JournalFlash;

/// Bytes of a page, and of the whole flash.
const PAGE: usize = 2048;
const SIZE: usize = 24 * PAGE;

/// NOR flash: a write clears bits, an erase sets those of whole pages.
struct Flash([u8; SIZE]);

impl ErrorType for Flash {
    type Error = NorFlashErrorKind;
}

impl ReadNorFlash for Flash {
    const READ_SIZE: usize = 4;
    fn read(&mut self, at: u32, bytes: &mut [u8]) -> Result<(), NorFlashErrorKind> {
        let from = self.0.get(at as usize..at as usize + bytes.len());
        bytes.copy_from_slice(from.ok_or(NorFlashErrorKind::OutOfBounds)?);
        Ok(())
    }
    fn capacity(&self) -> usize {
        SIZE
    }
}

impl NorFlash for Flash {
    const WRITE_SIZE: usize = 4;
    const ERASE_SIZE: usize = PAGE;
    fn erase(&mut self, from: u32, to: u32) -> Result<(), NorFlashErrorKind> {
        let pages = self.0.get_mut(from as usize..to as usize);
        pages.ok_or(NorFlashErrorKind::OutOfBounds)?.fill(0xFF);
        Ok(())
    }
    fn write(&mut self, at: u32, bytes: &[u8]) -> Result<(), NorFlashErrorKind> {
        let words = self.0.get_mut(at as usize..at as usize + bytes.len());
        let words = words.ok_or(NorFlashErrorKind::OutOfBounds)?;
        words.iter_mut().zip(bytes).for_each(|(word, byte)| *word &= byte);
        Ok(())
    }
}

impl MultiwriteNorFlash for Flash {}
impl JournalFlash for Flash {}

/// The chip's noise source; this one only counts.
struct Noise(u8);

impl Entropy for Noise {
    fn sample(&mut self) -> Option<u8> {
        self.0 = self.0.wrapping_add(37);
        Some(self.0)
    }
}

/// Answers lines, each handed to `say`, with room for 4 features and 16 waiting patients.
pub fn answer(lines: &[&str], mut say: impl FnMut(&str)) {
    let mut state = DeviceState::<4, 16>::BLANK;
    let mut device = Device::new(&mut state, Flash([0xFF; SIZE]), Noise(0), None);
    for line in lines {
        device.handle_line(line.as_bytes(), &mut |_, reply| {
            say(core::str::from_utf8(reply).unwrap_or_default());
        });
        // Work ahead of the next request. A board calls `Device::tick` once a second too.
        while device.draw_ahead() || device.prepare_kits() {}
    }
}

#[cfg(target_os = "none")]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}

#[cfg(not(target_os = "none"))]
fn main() {
    let key = format!("KEY {}", "5a".repeat(32));
    answer(&["HELLO", &key, "HELLO", "ASSIGN 1 0 00000001"], |reply| print!("{reply}"));
}
