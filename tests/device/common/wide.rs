//! Parts in any number: long ones, and short ones behind the keys that may be long.

use equipoise::journal::{BadPart, MAX_LONG_KEYS, MAX_SHORT_PART, Parts, Place};

/// Every third part is secret.
#[derive(Clone)]
pub struct Wide {
    pub values: Vec<Vec<u8>>,
    places: Vec<Place>,
    long: (u16, usize),
    short: u16,
}

impl std::fmt::Debug for Wide {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} parts of {} bytes, {} short", self.long.0, self.long.1, self.short)
    }
}

impl Wide {
    pub fn new(long: u16, length: usize, short: u16) -> Self {
        let mut parts = Self {
            values: Vec::new(),
            places: vec![Place::NEW; usize::from(long + short)],
            long: (long, length),
            short,
        };
        parts.renew(99);
        parts
    }

    /// The same parts, all absent.
    pub fn blank(&self) -> Self {
        let mut blank = Self::new(self.long.0, self.long.1, self.short);
        blank.values.iter_mut().for_each(Vec::clear);
        blank
    }

    pub fn keys(&self) -> u16 {
        self.long.0 + self.short
    }

    fn full(&self, key: u16) -> usize {
        if key < self.long.0 { self.long.1 } else { MAX_SHORT_PART - usize::from(key % 9) }
    }

    /// Other values; now and then an absent one.
    pub fn renew(&mut self, round: u16) {
        let value = |key: u16| {
            let length = if (key + round) % 11 == 5 { 0 } else { self.full(key) };
            (0..length).map(|at| (at as u16 * 31 + key * 7 + round * 3) as u8).collect()
        };
        self.values = (0..self.keys()).map(value).collect();
    }
}

impl Parts for Wide {
    fn count(&self) -> u16 {
        assert!(self.short == 0 || self.long.0 == MAX_LONG_KEYS);
        self.keys()
    }

    fn length(&self, key: u16) -> usize {
        self.values[usize::from(key)].len()
    }

    fn longest(&self, key: u16) -> usize {
        self.full(key)
    }

    fn encode(&self, key: u16, out: &mut [u8]) {
        let value = &self.values[usize::from(key)];
        out[..value.len()].copy_from_slice(value);
    }

    fn decode(&mut self, key: u16, bytes: &[u8]) -> Result<(), BadPart> {
        let full = self.full(key);
        self.values[usize::from(key)] = bytes[..bytes.len().min(full)].to_vec();
        Ok(())
    }

    fn secret(&self, key: u16) -> Option<&Place> {
        // A torn descriptor may ask for any key.
        self.places.get(usize::from(key)).filter(|_| key.is_multiple_of(3))
    }
}
