//! A part in a record, without its value, and the size of a record.

use super::region::WORD;
use super::{MAX_KEYS, MAX_LONG_KEYS, MAX_PART, MAX_SHORT_PART, Parts};

/// Bits of a descriptor that hold the length of a part in words, for keys below [`MAX_LONG_KEYS`].
const LONG_BITS: u32 = 6;
/// The same for all other keys, whose descriptors have [`SHORT`] set.
const SHORT_BITS: u32 = 2;
const SHORT: u32 = 1 << 15;

const MAX_WORDS: u16 = (MAX_PART / WORD) as u16;
const _: () = assert!(MAX_PART.is_multiple_of(WORD) && MAX_WORDS < 1 << LONG_BITS);
const _: () = assert!(MAX_SHORT_PART / WORD < 1 << SHORT_BITS);
const _: () =
    assert!(MAX_LONG_KEYS as u32 == SHORT >> LONG_BITS && MAX_KEYS as u32 == SHORT >> SHORT_BITS);

/// A part in a record, without its value: length in words, whether it is secret, key.
/// (One word: halfword arithmetic is slower on Cortex-M0.)
#[derive(Clone, Copy)]
pub(super) struct Entry(u32);

impl Entry {
    pub(super) const NONE: Self = Self(0);
    const SECRET: u32 = 1 << LONG_BITS;
    const KEY: u32 = 8;

    pub(super) fn new<P: Parts>(parts: &P, key: u16, words: u32) -> Self {
        let secret = if parts.secret(key).is_some() { Self::SECRET } else { 0 };
        Self(u32::from(key) << Self::KEY | secret | words)
    }

    /// The present value of a part.
    // Saves 40 instructions of an `ASSIGN` on the Cortex-M0.
    #[inline(always)]
    pub(super) fn of<P: Parts>(parts: &P, key: u16) -> Self {
        Self::sized(parts, key, parts.length(key))
    }

    /// A value of this length.
    pub(super) fn sized<P: Parts>(parts: &P, key: u16, length: usize) -> Self {
        let most = if key < MAX_LONG_KEYS { MAX_PART } else { MAX_SHORT_PART };
        Self::new(parts, key, length.min(most).div_ceil(WORD) as u32)
    }

    /// The part behind a descriptor; none if this is not one.
    pub(super) fn read<P: Parts>(parts: &P, count: u16, descriptor: u32) -> Option<Self> {
        let (key, words) = Self::decode(descriptor);
        let fits = key < u32::from(count) && words <= u32::from(MAX_WORDS);
        let entry = Self::new(parts, key as u16, words);
        (fits && entry.descriptor() == descriptor).then_some(entry)
    }

    /// Key and length of a descriptor.
    pub(super) const fn decode(descriptor: u32) -> (u32, u32) {
        let bits = if descriptor & SHORT == 0 { LONG_BITS } else { SHORT_BITS };
        ((descriptor & !SHORT) >> bits, descriptor & ((1 << bits) - 1))
    }

    pub(super) const fn descriptor(self) -> u32 {
        let (key, words) = (self.0 >> Self::KEY, self.words() as u32);
        if key < MAX_LONG_KEYS as u32 {
            key << LONG_BITS | words
        } else {
            SHORT | key << SHORT_BITS | words
        }
    }

    pub(super) const fn key(self) -> u16 {
        (self.0 >> Self::KEY) as u16
    }

    /// Words of the value; 0 if it is absent.
    pub(super) const fn words(self) -> u16 {
        (self.0 & (Self::SECRET - 1)) as u16
    }

    pub(super) const fn is_secret(self) -> bool {
        self.0 & Self::SECRET != 0
    }

    /// Words in the record: the value and, if that is secret and present, its checksum.
    pub(super) const fn extent(self) -> u16 {
        if self.is_secret() && self.words() > 0 { self.words() + 1 } else { self.words() }
    }
}

/// The size of a record, grown part by part.
#[derive(Clone, Copy, Default)]
pub(super) struct Shape {
    pub items: u32,
    /// Words of all values and their checksums.
    pub values: u32,
}

impl Shape {
    /// This shape with one part more.
    // Saves 25 instructions of an `ASSIGN` on the Cortex-M0.
    #[inline(always)]
    pub(super) const fn with(self, entry: Entry) -> Self {
        Self { items: self.items + 1, values: self.values + entry.extent() as u32 }
    }

    /// Words up to the first value: header and descriptors.
    pub(super) const fn head(self) -> u32 {
        1 + self.items.div_ceil(2)
    }

    /// Words of the whole record, commit word included.
    // Saves 11 instructions of an `ASSIGN` on the Cortex-M0.
    #[inline(always)]
    pub(super) const fn words(self) -> u32 {
        self.head() + self.values + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::{BadPart, Place};

    /// Parts of which none is secret.
    struct Public;

    impl Parts for Public {
        fn count(&self) -> u16 {
            600
        }
        fn length(&self, _: u16) -> usize {
            0
        }
        fn encode(&self, _: u16, _: &mut [u8]) {}
        fn decode(&mut self, _: u16, _: &[u8]) -> Result<(), BadPart> {
            Ok(())
        }
        fn secret(&self, _: u16) -> Option<&Place> {
            None
        }
    }

    #[test]
    fn descriptors_of_no_part_are_refused() {
        let read = |descriptor| {
            Entry::read(&Public, 600, descriptor).map(|entry| (entry.key(), entry.words()))
        };
        assert_eq!(read(511 << LONG_BITS | 34), Some((511, 34)));
        assert_eq!(read(511 << LONG_BITS | 35), None, "longer than a part may be");
        assert_eq!(read(SHORT | 599 << SHORT_BITS | 3), Some((599, 3)));
        assert_eq!(read(SHORT | 600 << SHORT_BITS | 3), None, "no such part");
        assert_eq!(read(SHORT | 100 << SHORT_BITS | 3), None, "not how this part is described");
    }

    #[test]
    fn values_are_cut_at_their_longest() {
        let words = |key, length| Entry::sized(&Public, key, length).words();
        assert_eq!([words(511, 136), words(511, 137)], [34, 34]);
        assert_eq!([words(512, 12), words(512, 13), words(512, 9)], [3, 3, 3]);
    }
}
