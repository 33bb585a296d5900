//! A serial line with noise on it, for tests: one direction, bytes in, bytes out.
//!
//! Every transmission is either in a burst of noise or not. In a burst each bit is flipped, and
//! each byte dropped or doubled, independently. Whether or not there is noise, the end of a
//! transmission may be held back until the next one, so that lines arrive split, late, and merged
//! with later ones. The same seed gives the same noise.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::prelude::rust_2024::*;

/// How bad a line is: probabilities in units of 2^-32.
#[derive(Clone, Copy, Debug, Default)]
pub struct Badness {
    /// A transmission is hit by noise.
    pub burst: u32,
    /// A bit is flipped, within a burst.
    pub flip: u32,
    /// A byte is dropped, within a burst.
    pub drop: u32,
    /// A byte comes twice, within a burst.
    pub double: u32,
    /// A part of the transmission, of random length, comes with the next one.
    pub hold: u32,
}

/// One direction of a line.
#[derive(Debug)]
pub struct NoisyLine {
    badness: Badness,
    chance: Xoshiro256PlusPlus,
    held: Vec<u8>,
}

impl NoisyLine {
    /// A line of this badness.
    #[must_use]
    pub fn new(badness: Badness, seed: u64) -> Self {
        Self { badness, chance: Xoshiro256PlusPlus::seed_from_u64(seed), held: Vec::new() }
    }

    fn happens(&mut self, probability: u32) -> bool {
        probability > 0 && self.chance.next_u32() <= probability
    }

    /// Carries bytes; returns those that arrive.
    pub fn carry(&mut self, sent: &[u8]) -> Vec<u8> {
        let mut arrived = std::mem::take(&mut self.held);
        let Badness { burst, flip, drop, double, hold } = self.badness;
        let burst = self.happens(burst);
        for byte in sent {
            if !burst {
                arrived.push(*byte);
                continue;
            }
            let flips = (0..8).fold(0, |flips, bit| flips | u8::from(self.happens(flip)) << bit);
            if self.happens(drop) {
                continue;
            }
            arrived.push(byte ^ flips);
            if self.happens(double) {
                arrived.push(byte ^ flips);
            }
        }
        if self.happens(hold) {
            let from = self.chance.next_u32() as usize % (arrived.len() + 1);
            self.held = arrived.split_off(from);
        }
        arrived
    }
}
