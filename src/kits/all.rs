//! All kit numbers of a trial at once.
//!
//! The rounds are those of [`crate::kits`], done for all places together: the pseudorandom function
//! of a round is computed once for each block of 256 places and not once for each place.

use super::{KitKey, Prf, ROUNDS, round_keys, swap_round};
use crate::terms::Arm;
use std::prelude::rust_2024::*;

/// F of two rounds at every place.
struct Table {
    bits: [Vec<u32>; 2],
}

impl Table {
    fn of(key: &KitKey, pair: u16, size: u32) -> Self {
        let blocks = size.div_ceil(256);
        let bits = |round: u16| (0..blocks).flat_map(|b| key.words(round.into(), b)).collect();
        Self { bits: [pair * 2, pair * 2 + 1].map(bits) }
    }
}

impl Prf for Table {
    /// A list is made by the million, where nobody can watch.
    const HIDES_TIME: bool = false;

    fn words(&self, _: u32, _: u32) -> [u32; 8] {
        [0; 8]
    }

    #[inline]
    fn bit(&self, round: u16, place: u32) -> u32 {
        let [even, odd] = &self.bits;
        let bits = if round & 1 == 0 { even } else { odd };
        bits.get((place >> 5) as usize).map_or(0, |word| word >> (place & 31) & 1)
    }
}

/// The number of every kit in the order of places: at `2 i + arm` that of the `i`-th kit of an arm.
#[must_use]
pub fn numbers(key: &KitKey, kits: u32) -> Vec<u32> {
    let size = kits * 2;
    let mut places: Vec<u32> = (0..size).collect();
    for pair in 0..ROUNDS / 2 {
        let table = Table::of(key, pair, size);
        let [first, second] = round_keys(key, pair, size);
        for place in &mut places {
            let half = swap_round(&table, pair * 2, first, size, *place);
            *place = swap_round(&table, pair * 2 + 1, second, size, half);
        }
    }
    places.iter_mut().for_each(|place| *place += 1);
    places
}

/// The arm of every kit, in the order of kit numbers from 1.
#[must_use]
pub fn arms(key: &KitKey, kits: u32) -> Vec<Arm> {
    let mut arms = vec![Arm::Zero; kits as usize * 2];
    for (place, number) in numbers(key, kits).into_iter().enumerate() {
        if let Some(arm) = arms.get_mut(number as usize - 1) {
            *arm = Arm::from_bit(place % 2 == 1);
        }
    }
    arms
}
