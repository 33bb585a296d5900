//! Moments of the start and of the last request, in counts of [`super::clock`], left in RAM for whoever holds
//! a debugger: the tests read them to count instructions and to see that a reply's time tells nothing. They
//! are never sent.

use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// One moment.
pub struct Stamp(AtomicU32);

impl Stamp {
    /// The moment was now.
    pub fn set(&self, count: u32) {
        self.0.store(count, Relaxed);
    }
}

macro_rules! stamps {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[used]
        #[unsafe(no_mangle)]
        pub static $name: Stamp = Stamp(AtomicU32::new(0));
    )*};
}

stamps! {
    /// The device was ready for its first request.
    STAMP_READY;
    /// The last byte of the request was taken from the UART.
    STAMP_BYTE_IN;
    /// The line was complete, and its handling began.
    STAMP_BEGIN;
    /// The reply was ready, everything durable.
    STAMP_DECIDED;
    /// The first byte of the reply was handed to the UART.
    STAMP_BYTE_OUT;
    /// The last look between requests began.
    STAMP_LOOK_BEGIN;
    /// That look was durable.
    STAMP_LOOK_END;
}
