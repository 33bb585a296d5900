//! Memory that boards share the handling of: the static that holds the trial, and flash that is
//! read like memory.
#![allow(unsafe_code, reason = "flash is read by address, and a static is lent once")]

use crate::device::DeviceState;
use core::cell::UnsafeCell;
use core::ops::Range;
use core::ptr;

/// Bytes of a word of flash.
pub const WORD: usize = 4;

unsafe extern "C" {
    static _journal_start: u8;
    static _journal_end: u8;
    static _image_start: u8;
    static _image_end: u8;
}

/// Addresses of the region `JOURNAL` of `memory.x`.
pub fn journal() -> Range<usize> {
    ptr::addr_of!(_journal_start) as usize..ptr::addr_of!(_journal_end) as usize
}

/// Addresses of the image.
pub fn image() -> Range<usize> {
    ptr::addr_of!(_image_start) as usize..ptr::addr_of!(_image_end) as usize
}

/// Reads whole words from `start` on. Volatile, because flash changes by other means than writes to
/// its addresses.
///
/// # Safety
/// As many words as `bytes` holds are readable there, and `start` is word-aligned.
pub unsafe fn read_words(start: *const u32, bytes: &mut [u8]) {
    for (i, word) in bytes.as_chunks_mut::<WORD>().0.iter_mut().enumerate() {
        // SAFETY: by the promise of the caller.
        *word = unsafe { start.add(i).read_volatile() }.to_le_bytes();
    }
}

/// The trial's memory: made where it stays, because it is too large to pass over the stack.
pub struct TrialMemory<const M: usize, const U: usize>(UnsafeCell<DeviceState<M, U>>);

// SAFETY: reached once, by the promise of the callers of `take`.
unsafe impl<const M: usize, const U: usize> Sync for TrialMemory<M, U> {}

impl<const M: usize, const U: usize> TrialMemory<M, U> {
    /// Memory without a trial.
    pub const fn blank() -> Self {
        Self(UnsafeCell::new(DeviceState::BLANK))
    }

    /// The memory.
    ///
    /// # Safety
    /// Called once.
    #[expect(clippy::mut_from_ref, reason = "the one reference, by the promise of the caller")]
    pub unsafe fn take(&'static self) -> &'static mut DeviceState<M, U> {
        // SAFETY: by the promise of the caller there is no other reference.
        unsafe { &mut *self.0.get() }
    }
}
