//! The stored parts of a trial, for audit and tests: what a device writes to flash, and how it
//! marks what must be written.

pub use super::dirty::Dirty;
pub use super::parts::{MAX_PART_BYTES, Part, STATE_VERSION};

use super::Trial;

/// A trial as its storage sees it.
pub trait Stored {
    /// All parts, in the order of the byte form.
    fn parts() -> impl Iterator<Item = Part>;
    /// Bytes of a part under this plan.
    fn length(&self, part: Part) -> usize;
    /// Writes a part into `out`, which has room for it; its length.
    fn encode_part(&self, part: Part, out: &mut [u8]) -> usize;
    /// Takes a part back into a trial made with the same plan. `None` if it cannot be one.
    #[must_use]
    fn decode_part(&mut self, part: Part, bytes: &[u8]) -> Option<()>;
    /// Adds who waits to the features' counts, when all parts have been taken back.
    fn recount(&mut self);
    /// Takes the changes since the last call.
    fn take_dirty(&mut self) -> Dirty;
}

impl<const M: usize, const U: usize> Stored for Trial<M, U> {
    fn parts() -> impl Iterator<Item = Part> {
        Self::parts()
    }
    fn length(&self, part: Part) -> usize {
        self.length(part)
    }
    fn encode_part(&self, part: Part, out: &mut [u8]) -> usize {
        self.encode_part(part, out)
    }
    fn decode_part(&mut self, part: Part, bytes: &[u8]) -> Option<()> {
        self.decode_part(part, bytes)
    }
    fn recount(&mut self) {
        self.recount();
    }
    fn take_dirty(&mut self) -> Dirty {
        let dirty = self.dirty();
        self.mark_clean();
        dirty
    }
}
