//! Kit numbers of blinded trials.
//!
//! A blinded trial has `N` kits an arm, numbered 1 to 2N on their labels. The `i`-th kit of an arm
//! is the image of the place `2i + arm` under a keyed permutation of the 2N numbers, so neither a
//! number nor the order in which numbers appear tells an arm. Device, pharmacy list and emergency
//! unblinding compute the same permutation from the custodian's key and the trial file's digest;
//! no table of kits is stored anywhere.
//!
//! # Permutation
//! Swap-or-not (Hoang, Morris and Rogaway, "An Enciphering Scheme Based on a Card Shuffle", CRYPTO
//! 2012) with [`ROUNDS`] rounds over the numbers below `D = 2N`. A round has a key `K` below `D`
//! and a function `F` to one bit:
//!
//! ```text
//! partner = K - x mod D;   x becomes its partner if F(max(x, partner)) = 1
//! ```
//!
//! A round is its own inverse, so unblinding runs the rounds backwards. `K` and `F` come from
//! HChaCha20 under the kit key, a pseudorandom function with an input of 16 bytes and an output of
//! 8 words:
//!
//! ```text
//! K of the rounds 2p, 2p+1   floor(W D / 2^96), W the words 0 to 2, or 3 to 5, of input (p, 2^32 - 1)
//! F of round r at x          bit x mod 256 of input (r, x div 256)
//! ```
//!
//! # Why this one
//! * It takes any `D` as it is: no cycle walking, so its time is the same for every place.
//! * Its proven bound holds for every size and for an adversary who sees many numbers. NIST's FF1
//!   is not for domains below a million; proofs of Feistel networks end near the square root of the
//!   domain, here 1,400 kits.
//! * A round costs one and a half HChaCha20, in all 5,900 instructions on the Cortex-M0
//!   (`tests/boards/qemu/blinded.rs`). HMAC-SHA256 hashes four blocks for one bit.
//!
//! # Bound
//! An adversary who learns the places of `q` kits, chosen freely in both directions (an unblinding
//! reveals the arm of a chosen kit), distinguishes the permutation from a random one with advantage
//! at most `8 D^1.5 / (ROUNDS + 4) * ((q + D) / 2D)^(ROUNDS/4 + 1)` (Theorem 4 of the paper). A
//! device gives at most N kits, half of the numbers, so `(q + D) / 2D` is 3/4 at most: 2^-41 for
//! the largest trial, less for smaller ones (`advantage`). All keys `K` together are within 2^-65
//! of uniform. The rest is the security of HChaCha20.
//!
//! # Key
//! HMAC-SHA256 of the label `equipoise kits 1`, the trial file's digest and N under the custodian's
//! key ([`crate::device::auth::CustodianKey::kit_key`]).

#[cfg(feature = "std")]
pub mod all;

use core::hint::black_box;

use crate::terms::{Arm, MAX_KITS};

/// Rounds of the permutation, an even number.
const ROUNDS: u16 = 640;

/// Stands for the block number in the input that gives the round keys.
const ROUND_KEYS: u32 = u32::MAX;

/// A pseudorandom function of two words.
pub trait Prf {
    /// Whether the time of a round must not depend on the place, as on a device.
    const HIDES_TIME: bool = true;

    /// Its value.
    fn words(&self, a: u32, b: u32) -> [u32; 8];

    /// F of a round at a place, in a time that does not depend on which word is read.
    fn bit(&self, round: u16, place: u32) -> u32
    where
        Self: Sized,
    {
        let wanted = place >> 5 & 7;
        let pick =
            |(i, word): (u32, u32)| word & ones_if_negative::<Self>((i ^ wanted).wrapping_sub(1));
        let words = (0..).zip(self.words(round.into(), place >> 8));
        let word = words.map(pick).fold(0, |all, word| all | word);
        word >> (place & 31) & 1
    }
}

/// The key of a trial's kit numbers. It cannot be printed.
#[derive(Clone)]
pub struct KitKey([u32; 8]);

#[cfg(feature = "wipe")]
impl Drop for KitKey {
    fn drop(&mut self) {
        zeroize::Zeroize::zeroize(&mut self.0);
    }
}

impl core::fmt::Debug for KitKey {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("KitKey")
    }
}

impl KitKey {
    /// No key: zeros, in memory that waits for a trial.
    pub(crate) const NONE: Self = Self([0; 8]);

    /// A key of these bytes.
    #[must_use]
    pub fn new(bytes: &[u8; 32]) -> Self {
        let mut words = [0; 8];
        for (word, four) in words.iter_mut().zip(bytes.as_chunks().0) {
            *word = u32::from_le_bytes(*four);
        }
        Self(words)
    }
}

impl Prf for KitKey {
    /// HChaCha20 of the two words and two zeros.
    fn words(&self, a: u32, b: u32) -> [u32; 8] {
        let [k0, k1, k2, k3, k4, k5, k6, k7] = self.0;
        // "expand 32-byte k".
        let mut state = [
            0x6170_7865,
            0x3320_646e,
            0x7962_2d32,
            0x6b20_6574,
            k0,
            k1,
            k2,
            k3,
            k4,
            k5,
            k6,
            k7,
            a,
            b,
            0,
            0,
        ];
        permute(&mut state);
        let [s0, s1, s2, s3, .., s12, s13, s14, s15] = state;
        [s0, s1, s2, s3, s12, s13, s14, s15]
    }
}

/// The 20 rounds of ChaCha.
fn permute(state: &mut [u32; 16]) {
    let [mut a, mut b, mut c, mut d] = [[0; 4]; 4];
    for (row, four) in [&mut a, &mut b, &mut c, &mut d].into_iter().zip(state.as_chunks().0) {
        *row = *four;
    }
    for _ in 0..10 {
        quarter_rounds(&mut a, &mut b, &mut c, &mut d);
        (b, c, d) = (rotated(b), rotated(rotated(c)), rotated(rotated(rotated(d))));
        quarter_rounds(&mut a, &mut b, &mut c, &mut d);
        (b, c, d) = (rotated(rotated(rotated(b))), rotated(rotated(c)), rotated(d));
    }
    for (four, row) in state.as_chunks_mut().0.iter_mut().zip([a, b, c, d]) {
        *four = row;
    }
}

/// A row rotated to the left by one. (`rotate_left` would bring a `memmove` of 1.3 KB along.)
const fn rotated([a, b, c, d]: [u32; 4]) -> [u32; 4] {
    [b, c, d, a]
}

/// A quarter round on each of the four columns.
fn quarter_rounds(a: &mut [u32; 4], b: &mut [u32; 4], c: &mut [u32; 4], d: &mut [u32; 4]) {
    for (((a, b), c), d) in a.iter_mut().zip(b).zip(c).zip(d) {
        *a = a.wrapping_add(*b);
        *d = (*d ^ *a).rotate_left(16);
        *c = c.wrapping_add(*d);
        *b = (*b ^ *c).rotate_left(12);
        *a = a.wrapping_add(*b);
        *d = (*d ^ *a).rotate_left(8);
        *c = c.wrapping_add(*d);
        *b = (*b ^ *c).rotate_left(7);
    }
}

/// The keys of two rounds.
fn round_keys(prf: &impl Prf, pair: u16, size: u32) -> [u32; 2] {
    let [a, b, c, d, e, f, ..] = prf.words(pair.into(), ROUND_KEYS);
    // floor(W * size / 2^96) of a number W of three words, the last one the highest.
    let scale = |words: [u32; 3]| {
        let carry = |carry: u64, word: u32| (u64::from(word) * u64::from(size) + carry) >> 32;
        words.into_iter().fold(0, carry) as u32
    };
    [scale([a, b, c]), scale([d, e, f])]
}

/// Hides a number from the optimizer. For a mask that it knows to be all ones or zero, the compiler
/// emits a branch on the Cortex-M0, whose time reveals which.
// Saves 28 cycles of a blinded `ASSIGN` on the Cortex-M0.
#[inline(always)]
fn unknown<P: Prf>(number: u32) -> u32 {
    if P::HIDES_TIME { black_box(number) } else { number }
}

/// All ones if a difference is negative, else zero.
fn ones_if_negative<P: Prf>(difference: u32) -> u32 {
    unknown::<P>(((difference as i32) >> 31) as u32)
}

/// One round. Without branches, so that its time does not depend on the place.
#[inline]
fn swap_round<P: Prf>(prf: &P, round: u16, key: u32, size: u32, place: u32) -> u32 {
    let difference = key.wrapping_sub(place);
    // All are below 2^31.
    let partner = difference.wrapping_add(size & ones_if_negative::<P>(difference));
    let below = ones_if_negative::<P>(place.wrapping_sub(partner));
    let higher = place ^ ((place ^ partner) & below);
    let swap = unknown::<P>(prf.bit(round, higher).wrapping_neg());
    place ^ ((place ^ partner) & swap)
}

/// Pairs of rounds.
const PAIRS: u32 = ROUNDS as u32 / 2;
/// Bits of a place.
const PLACE_BITS: u32 = 22;
const _: () = assert!(2 * MAX_KITS < 1 << PLACE_BITS && PAIRS < 1 << (u32::BITS - PLACE_BITS));

/// A place on its way through the rounds, to be computed in pieces: the place, and above it the
/// pairs of rounds done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Walk(u32);

impl Walk {
    /// No walk: zeros, in memory that waits for a trial.
    pub(crate) const NONE: Self = Self(0);

    /// The walk of the `index`-th kit of an arm, counted from 0.
    #[must_use]
    pub const fn new(arm: Arm, index: u32) -> Self {
        Self((index << 1 | arm.index() as u32) & ((1 << PLACE_BITS) - 1))
    }

    const fn place(self) -> u32 {
        self.0 & ((1 << PLACE_BITS) - 1)
    }

    const fn pairs(self) -> u32 {
        self.0 >> PLACE_BITS
    }

    /// 1 if fewer rounds of this walk are done than of the other, else 0. Without branches, so that
    /// its time does not reveal which arm's kit is behind.
    pub(crate) fn is_behind(self, other: Self) -> usize {
        let difference = unknown::<KitKey>(self.pairs().wrapping_sub(other.pairs()));
        (ones_if_negative::<KitKey>(difference) & 1) as usize
    }

    /// Does the next two rounds for a trial with so many kits an arm. False when all were done.
    pub fn advance(&mut self, prf: &impl Prf, kits: u32) -> bool {
        let (pair, size) = (self.pairs(), kits << 1);
        if pair >= PAIRS {
            return false;
        }
        let [first, second] = round_keys(prf, pair as u16, size);
        let half = swap_round(prf, pair as u16 * 2, first, size, self.place());
        let place = swap_round(prf, pair as u16 * 2 + 1, second, size, half);
        *self = Self(place | (pair + 1) << PLACE_BITS);
        true
    }

    /// The kit's number, once all rounds are done.
    #[must_use]
    pub const fn kit(self) -> Option<u32> {
        if self.pairs() >= PAIRS { Some(self.place() + 1) } else { None }
    }
}

/// The number of the `index`-th kit of an arm, counted from 0, in a trial with so many kits an arm.
#[must_use]
pub fn number(prf: &impl Prf, kits: u32, arm: Arm, index: u32) -> u32 {
    let mut walk = Walk::new(arm, index);
    while walk.advance(prf, kits) {}
    walk.place() + 1
}

/// The arm of a kit and its place in the arm's order, in a trial with so many kits an arm; `None`
/// if there is no such kit.
#[must_use]
pub fn origin(prf: &impl Prf, kits: u32, kit: u32) -> Option<(Arm, u32)> {
    let size = kits << 1;
    let mut place = kit.checked_sub(1).filter(|place| *place < size)?;
    for pair in (0..ROUNDS / 2).rev() {
        let [first, second] = round_keys(prf, pair, size);
        place = swap_round(prf, pair * 2 + 1, second, size, place);
        place = swap_round(prf, pair * 2, first, size, place);
    }
    Some((Arm::from_bit(place & 1 == 1), place >> 1))
}

/// The base-2 logarithm of the bound in the module's header, for a trial with so many kits an arm
/// of which half the numbers were seen.
#[cfg(feature = "std")]
#[must_use]
pub fn advantage(kits: u32) -> f64 {
    let (size, rounds) = (2.0 * f64::from(kits), f64::from(ROUNDS));
    let constant = libm::log2(8.0 / (rounds + 4.0)) + 1.5 * libm::log2(size);
    constant + (rounds / 4.0 + 1.0) * libm::log2(0.75)
}

#[cfg(test)]
mod tests {
    use super::*;
    use chacha20::ChaCha20Rng;
    use rand_core::{Rng, SeedableRng};
    use std::prelude::rust_2024::*;

    fn key(first: u8) -> [u8; 32] {
        core::array::from_fn(|i| first.wrapping_add(i as u8))
    }

    /// The example of draft-irtf-cfrg-xchacha, section 2.2.1.
    #[test]
    fn hchacha_is_that_of_the_draft() {
        let mut state = [0; 16];
        let input = [0x0900_0000, 0x4a00_0000, 0, 0x2759_4131];
        state[..4].copy_from_slice(&[0x6170_7865, 0x3320_646e, 0x7962_2d32, 0x6b20_6574]);
        state[4..12].copy_from_slice(&KitKey::new(&key(0)).0);
        state[12..].copy_from_slice(&input);
        permute(&mut state);
        let output: Vec<u8> =
            [&state[..4], &state[12..]].concat().iter().flat_map(|w| w.to_le_bytes()).collect();
        assert_eq!(
            crate::wire::Hex(&output).to_string(),
            "82413b4227b27bfed30e42508a877d73a0f9e4d58a74a853c12ec41326d3ecdc"
        );
    }

    /// The rounds are those of the crate that draws the device's chance: a block of ChaCha20 is the
    /// permuted state plus the state.
    #[test]
    fn chacha_is_that_of_the_crate() {
        for first in [0, 77, 200] {
            let mut rng = ChaCha20Rng::from_seed(key(first));
            rng.set_stream(0);
            let words = KitKey::new(&key(first)).words(0, 0);
            let block: Vec<u32> = (0..16).map(|_| rng.next_u32()).collect();
            let constants = [0x6170_7865_u32, 0x3320_646e, 0x7962_2d32, 0x6b20_6574];
            for i in 0..4 {
                assert_eq!(block[i], words[i].wrapping_add(constants[i]));
                assert_eq!(block[12 + i], words[4 + i]);
            }
        }
    }

    /// A piece of work at a time or all at once, and back again.
    #[test]
    fn pieces_whole_and_inverse_agree() {
        let key = KitKey::new(&key(9));
        for kits in [1, 2, 3, 100, 4_999, MAX_KITS] {
            for index in [0, kits / 2, kits - 1] {
                for arm in [Arm::Zero, Arm::One] {
                    let kit = number(&key, kits, arm, index);
                    assert!((1..=2 * kits).contains(&kit));
                    assert_eq!(origin(&key, kits, kit), Some((arm, index)));
                    let (mut walk, mut pieces) = (Walk::new(arm, index), 0);
                    while walk.kit().is_none() {
                        assert!(walk.advance(&key, kits));
                        pieces += 1;
                    }
                    assert!(!walk.advance(&key, kits));
                    assert_eq!((walk.kit(), pieces), (Some(kit), ROUNDS / 2));
                }
            }
            assert_eq!(origin(&key, kits, 0), None);
            assert_eq!(origin(&key, kits, 2 * kits + 1), None);
        }
    }

    /// The bound that the header and `docs/privacy.md` state.
    #[cfg(feature = "std")]
    #[test]
    fn bound_holds_for_every_size() {
        assert!(advantage(MAX_KITS) < -41.0 && advantage(MAX_KITS) > -42.0);
        assert!(advantage(4_400) < -52.0 && advantage(1) < -69.0);
    }
}
