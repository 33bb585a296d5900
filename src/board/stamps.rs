//! Moments of the start and of the last request, in counts of [`super::Clock`], left in RAM for a
//! debugger: the tests read them to count instructions and to check that a reply's time tells
//! nothing. They are never sent.
#![allow(unsafe_code, reason = "symbols with plain names, for debuggers")]

use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// One moment, or a counter.
pub(super) struct Stamp(AtomicU32);

impl Stamp {
    /// Records a moment.
    pub fn set(&self, count: u32) {
        self.0.store(count, Relaxed);
    }

    /// Counts one more. (Two steps: the Cortex-M0 has no atomic addition. Only the main loop
    /// writes.)
    pub fn add_one(&self) {
        self.0.store(self.0.load(Relaxed).wrapping_add(1), Relaxed);
    }
}

macro_rules! stamps {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[used]
        #[unsafe(no_mangle)]
        pub(super) static $name: Stamp = Stamp(AtomicU32::new(0));
    )*};
}

stamps! {
    /// The device was ready for its first request.
    STAMP_READY;
    /// The line was complete, and its handling began.
    STAMP_BEGIN;
    /// The reply was ready, everything durable.
    STAMP_DECIDED;
    /// The first byte of the reply was handed to the UART.
    STAMP_BYTE_OUT;
    /// Replies that took longer than the time set aside for them, since the start.
    LATE_REPLIES;
}
