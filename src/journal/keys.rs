//! A set of keys of parts: what a transaction touches.

use super::MAX_KEYS;

const BITS: usize = 32;

/// A set of keys below [`MAX_KEYS`], one bit a key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Keys {
    bits: [u32; MAX_KEYS / BITS],
}

impl Keys {
    /// The empty set.
    pub const NONE: Self = Self { bits: [0; MAX_KEYS / BITS] };

    /// Adds a key; keys of [`MAX_KEYS`] and above do not exist and are ignored.
    pub fn insert(&mut self, key: u16) {
        if let Some(bits) = self.bits.get_mut(usize::from(key) / BITS) {
            *bits |= 1 << (usize::from(key) % BITS);
        }
    }

    /// Takes a key out.
    pub fn remove(&mut self, key: u16) {
        if let Some(bits) = self.bits.get_mut(usize::from(key) / BITS) {
            *bits &= !(1 << (usize::from(key) % BITS));
        }
    }

    /// Is the key in the set?
    pub fn contains(&self, key: u16) -> bool {
        self.bits.get(usize::from(key) / BITS).is_some_and(|bits| bits >> (usize::from(key) % BITS) & 1 == 1)
    }

    /// Is the set empty?
    pub fn is_empty(&self) -> bool {
        self.bits.iter().all(|bits| *bits == 0)
    }

    /// The keys in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = u16> + '_ {
        // Word by word, from bit to bit: sets are small, and this runs several times a request.
        self.bits.iter().enumerate().flat_map(|(word, bits)| {
            let mut rest = *bits;
            core::iter::from_fn(move || {
                if rest == 0 {
                    return None;
                }
                let bit = rest.trailing_zeros();
                rest &= rest - 1;
                Some((word * BITS) as u16 + bit as u16)
            })
        })
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
