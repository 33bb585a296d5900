//! A set of keys of parts: what a transaction touches.

use super::MAX_KEYS;

const BITS: u16 = u32::BITS as u16;
const WORDS: usize = MAX_KEYS / BITS as usize;
const _: () = assert!(WORDS <= u32::BITS as usize);

/// A set of keys below [`MAX_KEYS`], one bit a key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Keys {
    words: [u32; WORDS],
    /// The words that are not 0, one bit each: sets are small and walked over several times a request.
    used: u32,
}

impl Keys {
    /// The empty set.
    pub const NONE: Self = Self { words: [0; WORDS], used: 0 };

    /// Adds a key; keys of [`MAX_KEYS`] and above do not exist and are ignored.
    pub fn insert(&mut self, key: u16) {
        if let Some(word) = self.words.get_mut(usize::from(key / BITS)) {
            *word |= 1 << (key % BITS);
            self.used |= 1 << (key / BITS);
        }
    }

    /// Takes a key out.
    pub fn remove(&mut self, key: u16) {
        if let Some(word) = self.words.get_mut(usize::from(key / BITS)) {
            *word &= !(1 << (key % BITS));
            if *word == 0 {
                self.used &= !(1 << (key / BITS));
            }
        }
    }

    /// Is the key in the set?
    #[must_use]
    pub fn contains(&self, key: u16) -> bool {
        self.words.get(usize::from(key / BITS)).is_some_and(|word| word >> (key % BITS) & 1 == 1)
    }

    /// Is the set empty?
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.used == 0
    }

    /// The keys in ascending order.
    #[must_use]
    pub const fn iter(&self) -> Iter<'_> {
        Iter { keys: self, used: self.used, word: 0, base: 0 }
    }
}

/// The keys of a set, one by one.
#[derive(Clone, Debug)]
pub struct Iter<'a> {
    keys: &'a Keys,
    /// Words still to come.
    used: u32,
    /// Keys still to come of the word under way, and the first key it can hold.
    word: u32,
    base: u16,
}

impl Iterator for Iter<'_> {
    type Item = u16;

    #[inline(always)]
    fn next(&mut self) -> Option<u16> {
        if self.word == 0 {
            let index = self.used.trailing_zeros();
            self.word = *self.keys.words.get(index as usize)?;
            self.used &= self.used - 1;
            self.base = index as u16 * BITS;
        }
        let bit = self.word.trailing_zeros();
        self.word &= self.word - 1;
        Some(self.base + bit as u16)
    }
}

impl FromIterator<u16> for Keys {
    fn from_iter<I: IntoIterator<Item = u16>>(keys: I) -> Self {
        let mut set = Self::NONE;
        set.extend(keys);
        set
    }
}

impl Extend<u16> for Keys {
    fn extend<I: IntoIterator<Item = u16>>(&mut self, keys: I) {
        keys.into_iter().for_each(|key| self.insert(key));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::*;

    #[test]
    fn a_set_holds_what_was_put_in_and_ignores_keys_that_cannot_exist() {
        let mut set: Keys = [0, 31, 32, MAX_KEYS as u16 - 1, MAX_KEYS as u16, u16::MAX].into_iter().collect();
        assert_eq!(set.iter().collect::<Vec<_>>(), [0, 31, 32, MAX_KEYS as u16 - 1]);
        assert!(!set.contains(MAX_KEYS as u16) && !set.contains(1));
        set.remove(31);
        assert_eq!(set.iter().count(), 3);
        assert!(!set.is_empty() && Keys::NONE.is_empty());
    }
}
