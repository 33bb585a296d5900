//! Which firmware a board runs: the hash that `HELLO` shows.
//!
//! It is computed at every start from the flash itself. `cargo xtask firmware` prints the same
//! bytes for the image it built, so a custodian can compare a device, a release and a build of
//! their own. A malicious firmware can report any hash; against that, `cargo xtask verify` reads
//! the flash through the debug port.

use crate::wire::ImageHash;
use sha2::{Digest as _, Sha256};

/// The hash of an image from its words, in the order of their addresses.
pub fn hash(words: impl Iterator<Item = u32>) -> ImageHash {
    let mut sha = Sha256::new();
    words.for_each(|word| sha.update(word.to_le_bytes()));
    let mut first = [0; 8];
    first.iter_mut().zip(sha.finalize()).for_each(|(byte, full)| *byte = full);
    ImageHash(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the standard for 56 characters, which takes a second block of padding.
    #[test]
    fn first_bytes_of_sha256() {
        let text = b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
        let words = text.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word));
        let bytes = [0x24, 0x8D, 0x6A, 0x61, 0xD2, 0x06, 0x38, 0xB8];
        assert_eq!(hash(words), ImageHash(bytes));
    }
}
