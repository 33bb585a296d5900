//! The flash that a journal is written to: NOR flash that reads back what it writes.

use embedded_storage::nor_flash::MultiwriteNorFlash;

use super::region::WORD;

/// NOR flash with words of 4 bytes whose writes are read back.
///
/// A journal on flash with other words, or with pages below 1 KB or above 8 KB, does not compile:
///
/// ```compile_fail,E0080
/// use equipoise::{device::DeviceState, journal::Journal, testkit::strict_flash::StrictFlash};
///
/// let small_pages = StrictFlash::<512>::new(16, 0xFF);
/// let _ = Journal::mount(small_pages, &mut DeviceState::<4, 16>::BLANK);
/// ```
///
/// A number of pages that cannot be used is found at mount: [`super::MountError::Pages`].
pub trait JournalFlash: MultiwriteNorFlash {
    /// Writes whole words in ascending order and reads each one back before it writes the next.
    /// False: a word reads back differently, and nothing behind it was written.
    ///
    /// A driver may replace this by a faster loop with the same result.
    ///
    /// # Errors
    /// The flash refused to write or to read. It refuses to write part of a word.
    fn program(&mut self, offset: u32, words: &[u8]) -> Result<bool, Self::Error> {
        for (address, word) in (offset..).step_by(WORD).zip(words.chunks(WORD)) {
            self.write(address, word)?;
            let mut found = [0; WORD];
            self.read(address, &mut found)?;
            if found.as_slice() != word {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
