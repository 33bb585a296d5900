//! The chip models that run the images of the v2 and the Pico 2.

pub mod board;
pub mod purges;
pub mod scenarios;

/// An emulated chip.
pub struct Chip {
    /// Its folder beside this one.
    pub name: &'static str,
    /// The variables that name its images.
    pub release: &'static str,
    pub test: &'static str,
    /// Longest time of a reply, in microseconds.
    pub patience: u64,
    /// Longest time of a boot: a journal that is repaired may erase every page, and a dead noise
    /// source is waited for.
    pub boot: u64,
    /// The reset that ends a stack overflow.
    pub overflow: u64,
    /// Bytes of the journal.
    pub journal: usize,
}
