//! PINs: as they are typed, and as the staff file stores them.
//!
//! A [`Pin`] has no `Debug` that would show it, and is overwritten when it is dropped. Stored is
//! its Argon2id hash with a salt of its own, in the parameters that the crate recommends.

use argon2::{Algorithm, Argon2, Params, Version};
use zeroize::Zeroizing;

use crate::failure::Failure;
use equipoise::wire::{Hex, unhex};

/// Digits of a PIN.
pub const PIN_DIGITS: std::ops::RangeInclusive<usize> = 6..=12;
const SALT: usize = 16;
const HASH: usize = 32;

/// A PIN as it was typed.
#[derive(Clone, PartialEq, Eq)]
pub struct Pin(Zeroizing<String>);

impl std::fmt::Debug for Pin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Pin(withheld)")
    }
}

impl Pin {
    /// A PIN of this text, whatever it holds.
    #[must_use]
    pub fn typed(text: &str) -> Self {
        Self(Zeroizing::new(text.trim().to_owned()))
    }

    /// How many digits were typed.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether nothing was typed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The PIN with one more digit, as far as there is room, or without its last.
    #[must_use]
    pub fn with(&self, digit: Option<char>) -> Self {
        let mut text = self.0.clone();
        match digit {
            Some(digit) if text.len() < *PIN_DIGITS.end() => text.push(digit),
            Some(_) => {}
            None => drop(text.pop()),
        }
        Self(text)
    }

    /// Checks that it may be given to a person. The message does not repeat it.
    ///
    /// # Errors
    /// Not 6 to 12 digits, or one digit throughout.
    pub fn check_new(&self) -> Result<(), String> {
        let digits = self.0.bytes().all(|byte| byte.is_ascii_digit());
        let (least, most) = (PIN_DIGITS.start(), PIN_DIGITS.end());
        let first = self.0.bytes().next();
        if !digits || !PIN_DIGITS.contains(&self.0.len()) {
            return Err(format!("this PIN is not allowed: {least} to {most} digits"));
        }
        if self.0.bytes().all(|byte| Some(byte) == first) {
            return Err("this PIN is not allowed: it is one digit throughout".to_owned());
        }
        Ok(())
    }
}

/// Overwrites a line that held a PIN.
pub fn forget(line: String) {
    drop(Zeroizing::new(line));
}

/// The stored form of a PIN.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Hashed {
    memory: u32,
    passes: u32,
    lanes: u32,
    salt: [u8; SALT],
    hash: [u8; HASH],
}

impl Hashed {
    /// Hashes a new PIN.
    pub fn new(pin: &Pin) -> Result<Self, Failure> {
        let mut salt = [0; SALT];
        getrandom::fill(&mut salt)
            .map_err(|error| Failure::Usage(format!("no randomness: {error}")))?;
        let (memory, passes, lanes) =
            (Params::DEFAULT_M_COST, Params::DEFAULT_T_COST, Params::DEFAULT_P_COST);
        let mut hashed = Self { memory, passes, lanes, salt, hash: [0; HASH] };
        hashed.hash = hashed.hash_of(pin).map_err(Failure::Usage)?;
        Ok(hashed)
    }

    fn hash_of(&self, pin: &Pin) -> Result<[u8; HASH], String> {
        let params = Params::new(self.memory, self.passes, self.lanes, Some(HASH));
        let params = params.map_err(|error| format!("the PIN cannot be hashed: {error}"))?;
        let mut hash = [0; HASH];
        Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
            .hash_password_into(pin.0.as_bytes(), &self.salt, &mut hash)
            .map_err(|error| format!("the PIN cannot be hashed: {error}"))?;
        Ok(hash)
    }

    /// Whether this is the PIN, in a time that does not depend on where the hashes differ.
    pub fn is(&self, pin: &Pin) -> Result<bool, String> {
        let hash = self.hash_of(pin)?;
        let bits = hash.iter().zip(&self.hash).fold(0, |bits, (a, b)| bits | (a ^ b));
        Ok(core::hint::black_box(bits) == 0)
    }

    pub fn parse(text: &str) -> Option<Self> {
        let words: Vec<&str> = text.split(' ').collect();
        let [kind, memory, passes, lanes, salt, hash] = words[..] else { return None };
        let number = |text: &str| text.parse().ok();
        Some(Self {
            memory: number(memory).filter(|_| kind == "argon2id")?,
            passes: number(passes)?,
            lanes: number(lanes)?,
            salt: unhex(salt.as_bytes())?,
            hash: unhex(hash.as_bytes())?,
        })
    }
}

impl std::fmt::Display for Hashed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { memory, passes, lanes, salt, hash } = self;
        write!(f, "argon2id {memory} {passes} {lanes} {} {}", Hex(salt), Hex(hash))
    }
}
