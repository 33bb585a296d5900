//! Reader and writer of fixed little-endian fields, used by every byte form of the crate.

/// Writes fields one after another. A field that does not fit is dropped; the sizes of all byte
/// forms are constants with assertions, so this does not happen.
pub(crate) struct Writer<'a>(pub &'a mut [u8]);

impl Writer<'_> {
    /// Writes one field.
    pub fn put<const N: usize>(&mut self, field: &[u8; N]) {
        if let Some((to, rest)) = core::mem::take(&mut self.0).split_first_chunk_mut() {
            *to = *field;
            self.0 = rest;
        }
    }
}

/// Reads fields one after another.
pub(crate) struct Reader<'a>(pub &'a [u8]);

impl Reader<'_> {
    /// The next `N` bytes, or `None` if fewer are left.
    pub fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*head)
    }
}
