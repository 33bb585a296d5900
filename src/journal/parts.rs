//! Parts of the state that a journal keeps, and the places of the secret ones on flash.

use core::fmt;
use core::sync::atomic::{AtomicU16, Ordering};

use super::BadPart;

/// The state that a journal keeps: a fixed set of small values, each under a key, held in RAM by
/// the device.
pub trait Parts {
    /// Number of keys; keys are `0..count`, at most [`MAX_KEYS`](super::MAX_KEYS).
    fn count(&self) -> u16;

    /// The length of the present value of a part, at most [`MAX_PART`](super::MAX_PART), or
    /// [`MAX_SHORT_PART`](super::MAX_SHORT_PART) from key [`MAX_LONG_KEYS`](super::MAX_LONG_KEYS)
    /// on; 0 means absent. It must not depend on anything private.
    fn length(&self, key: u16) -> usize;

    /// The greatest length that the value may reach before all parts are written anew.
    fn longest(&self, key: u16) -> usize {
        self.length(key)
    }

    /// Puts the present value of a part that is not absent into `out`, which has room for it and
    /// holds zeros. Without a change in between, two calls give the same bytes.
    fn encode(&self, key: u16, out: &mut [u8]);

    /// Gives the words of a part one by one, if it is made of words and part of every request: on
    /// the Cortex-M0 a word in a register costs half of one that is put together from bytes. False
    /// if it is not, and must be [encoded](Self::encode); both give the same.
    fn encode_words(&self, _key: u16, _put: impl FnMut(u32)) -> bool {
        false
    }

    /// Called before each pass over the values at mount with the number of passes done. Returns
    /// whether there is to be another. Parts that can be read only with the help of others want
    /// two.
    fn another_pass(&mut self, done: u8) -> bool {
        done == 0
    }

    /// Takes a value read from flash at mount; empty means absent. Values arrive oldest first,
    /// several for a key; the last one counts. A value arrives padded with zeros to whole words.
    fn decode(&mut self, key: u16, bytes: &[u8]) -> Result<(), BadPart>;

    /// For a secret part, whose value must not stay on flash once a newer one is committed: the RAM
    /// in which the journal keeps its place. Which parts are secret depends on the key alone.
    fn secret(&self, key: u16) -> Option<&Place>;
}

/// Where on flash the last value of a secret part stands: the word at which its record begins,
/// counted from the start of the region. Owned by the parts, so that RAM grows with their number;
/// used by the journal alone. (An atomic, so that parts may be shared between threads.) Kept
/// inverted: places without a value are zeros, which take no room in a board's image.
pub struct Place(AtomicU16);

/// No value stands on flash.
pub(super) const NOWHERE: u16 = u16::MAX;
/// During a mount: no readable value has been found so far. All places are below.
pub(super) const LOST: u16 = u16::MAX - 1;

impl Place {
    /// No place yet.
    #[allow(
        clippy::declare_interior_mutable_const,
        reason = "a start value, copied into its place once"
    )]
    pub const NEW: Self = Self(AtomicU16::new(!NOWHERE));

    pub(super) fn get(&self) -> u16 {
        !self.0.load(Ordering::Relaxed)
    }

    pub(super) fn set(&self, place: u16) {
        self.0.store(!place, Ordering::Relaxed);
    }
}

impl Clone for Place {
    fn clone(&self) -> Self {
        Self(AtomicU16::new(!self.get()))
    }
}

impl fmt::Debug for Place {
    /// Not part of the state: two devices in the same state may have it in different places.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Place")
    }
}
