//! A stand-in for hardware noise in test builds: the same bytes after every start, on the board and
//! on a host.

/// Marsaglia's xorshift of 32 bits; the upper byte of each state.
pub struct Rehearsal(u32);

impl Rehearsal {
    /// The one sequence.
    pub const START: Self = Self(0x2545_F491);

    /// The next byte.
    pub fn byte(&mut self) -> u8 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        (self.0 >> 24) as u8
    }
}
