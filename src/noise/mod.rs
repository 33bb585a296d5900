//! Discrete Laplace noise from random bits, integers only.
//!
//! # What is promised
//! For a rate r = num/den between 2^-27 and 16, q = e^-r, and a generator of independent fair bits:
//! - [`Laplace`] draws k in Z with probability (1-q)/(1+q) q^|k|, or from the same law moved to a
//!   centre and conditioned on being at least 0, up to rounding in one direction: neighbouring
//!   probabilities have the ratio e^-(r-d) instead of e^-r, where d depends on k, and 0 <= d <
//!   2^-38;
//! - so **the privacy loss is never more than stated**: for every k, |ln P(k+1) - ln P(k)| <= r.
//!   This is proved below for the tables as they are, rounding included; nothing is left to a
//!   "negligible" term but the end of the number line (last section);
//! - a draw is made of random words, comparisons and masks: no division, no float, no allocation.
//!   Not constant time: callers that hide the value must also hide its timing.
//!
//! The sampler is written by hand, because all of this is needed at once: a discrete law whose loss
//! is exactly bounded, no float, no allocation, and tables that `tests/device/noise.rs` checks
//! against big integers.
//!
//! # How a draw is made
//! Let G be geometric, P(G = g) = (1-q) q^g. Its lowest L binary digits are independent, digit i
//! being 1 with probability p_i = q^(2^i) / (1 + q^(2^i)), and independent of what is above them,
//! which is geometric again with Q = q^(2^L). L is the least number for which r 2^L >= 8, at most
//! 30; the part above is counted in unary, by coins of probability Q < 1/2900 (*tail by
//! memorylessness*).
//!
//! So a draw of G is L+1 biased coins, and those are thrown side by side: coin i is the comparison
//! of a uniform 64-bit number U_i with a threshold T_i, heads when U_i < T_i. Row j of the table
//! holds bit j (the highest first) of all thresholds, one lane a coin; random bits beside it are
//! bit j of all the U_i. A lane is decided by the first row in which the two differ, so half of the
//! open lanes close with every row. One more lane, with threshold 1/2, is the sign. A row has 8, 16
//! or 32 lanes, and rows are packed into 64-bit words. Rows are compared 8 at a time, which decides
//! all lanes in 7 of 8 draws or more, so that a draw costs one, two or four random words and seldom
//! more.
//!
//! A signed value is a sign and a magnitude G, thrown again if it is -0, or below what is allowed
//! (`-center` for the conditioned law). Nothing positive is ever refused, so a throw is accepted
//! with probability at least 1/2 whatever rate and centre are.
//!
//! # Why the loss is never more than the rate
//! Write x_i for the logarithm of the odds T_i : 2^64 - T_i of digit i, and x_L for ln(Q as
//! tabulated). From g to g+1 the digits below some j go from 1 to 0 and digit j (or, where j = L,
//! the unary part) gains one. So ln P(g+1) - ln P(g) = x_j - (x_0 + .. + x_(j-1)), over the whole
//! support, for some j in 0..=L. The signed laws divide by one common number, so for them it is the
//! same with |k| for g.
//!
//! The table is computed for the rate s = num/den - 2^-50 and every threshold is rounded up:
//! T_i/2^64 is the probability for s plus something in [0, 4/2^64]. Hence x_i = -s 2^i + e_i with
//! 0 <= e_i <= (4/2^64) / (p_i (1-p_i)), and for i < L, where s 2^i < 8/2^(L-1-i), these bounds add
//! up to at most (4/2^64) (2983 + 57 + 10 + 6 + 26 * 5) < 2^-50. Then
//!
//! ```text
//! x_j - (x_0 + .. + x_(j-1)) = -s 2^j + s (2^j - 1) + e_j - (e_0 + .. + e_(j-1)) >= -s - 2^-50 = -num/den
//! ```
//!
//! and, since e_j < 2^-38.9, it is also below -num/den + 2^-38, and so below 0. How the thresholds
//! are computed, and with which error, is said in `exponential`; `tests/device/noise.rs` multiplies
//! the tables out in big integers and checks both inequalities.
//!
//! # The end of the number line
//! The unary part stops at 2^32 - 1, so that a magnitude stays below 2^62 and an `i64` cannot
//! overflow. A generator of independent bits gets there with probability e^(-8 * 2^32).
#![deny(clippy::float_arithmetic)]

mod exponential;

use rand_core::Rng;

pub use crate::ratio::Rate;

/// Bits of a threshold.
const ROWS: u32 = u64::BITS;
/// Rows that are compared before checking whether a lane is still open.
const STRIDE: u32 = 8;
/// Words of a table in which a row takes half a word.
const WORDS: usize = (ROWS / 2) as usize;
/// Most binary digits a table may have.
const MOST_DIGITS: u32 = 30;
// The digits, the tail and the sign fit half a word.
const _: () = assert!(MOST_DIGITS + 2 <= u64::BITS / 2);

/// A discrete Laplace law, prepared for drawing: 256 bytes of table and a few more.
///
/// ```
/// use equipoise::chance::{Chance, DeviceSampler};
/// use equipoise::noise::{Laplace, Rate};
///
/// // One patient changes a count by 1 at most: rate 1/4 makes it 1/4-differentially private.
/// let law = Laplace::new(Rate::new(1, 4).ok_or("a rate that is not allowed")?);
/// let mut chance = DeviceSampler::seed_from_u64(7);
/// let noisy = 250 + chance.discrete_laplace(&law);
/// # assert!((150..=350).contains(&noisy));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Laplace {
    rate: Rate,
    /// L, the number of binary digits below the unary part: lanes 0 to L-1. Lane L is the tail,
    /// L+1 the sign.
    digits: u32,
    /// Lanes of a row: 8, 16 or 32.
    width: u32,
    /// The rows, first row lowest; narrow ones leave the end unused.
    table: [u64; WORDS],
}

impl Laplace {
    /// Prepares the law of this rate.
    #[must_use]
    pub fn new(rate: Rate) -> Self {
        let digits = exponential::digits(rate);
        let width = match digits + 2 {
            0..=8 => 8,
            9..=16 => 16,
            _ => 32,
        };
        let mut law = Self { rate, digits, width, table: [0; WORDS] };
        exponential::thresholds(rate, digits, |lane, threshold| law.put(lane, threshold));
        law.put(digits + 1, 1 << (ROWS - 1));
        law
    }

    fn put(&mut self, lane: u32, threshold: u64) {
        let rows_a_word = u64::BITS / self.width;
        for row in 0..ROWS {
            if let Some(word) = self.table.get_mut((row / rows_a_word) as usize) {
                *word |=
                    (threshold >> (ROWS - 1 - row) & 1) << (row % rows_a_word * self.width + lane);
            }
        }
    }

    /// The rate, as stated.
    #[must_use]
    pub const fn rate(&self) -> Rate {
        self.rate
    }

    /// L, the number of binary digits drawn side by side.
    #[must_use]
    pub const fn digits(&self) -> u32 {
        self.digits
    }

    /// The probability in units of 2^-64 with which digit `lane` is 1 or, for `lane` L, with which
    /// the unary part goes on: the table as draws use it, for checks. 0 above L.
    #[must_use]
    pub fn threshold(&self, lane: u32) -> u64 {
        if lane > self.digits {
            return 0;
        }
        let rows = self
            .table
            .iter()
            .flat_map(|word| (0..u64::BITS / self.width).map(move |i| word >> (i * self.width)));
        rows.take(ROWS as usize).fold(0, |bits, row| bits << 1 | (row >> lane & 1))
    }

    /// Draws a signed value that is at least `-center`: (is it negative, its magnitude below 2^62).
    #[inline]
    pub(crate) fn draw(&self, center: u64, words: &mut impl Rng) -> (bool, u64) {
        let tail = 1 << self.digits;
        let sign = tail << 1;
        loop {
            let heads = self.throw(sign | tail | (tail - 1), words);
            let mut magnitude = heads & (tail - 1);
            if heads & tail != 0 {
                magnitude += u64::from(self.above(words)) << self.digits;
            }
            let negative = heads & sign != 0;
            if !negative || (1..=center).contains(&magnitude) {
                return (negative, magnitude);
            }
        }
    }

    /// The unary part, of which one is there already.
    #[cold]
    fn above(&self, words: &mut impl Rng) -> u32 {
        let mut above = 1;
        while above < u32::MAX && self.throw(1 << self.digits, words) != 0 {
            above += 1;
        }
        above
    }

    /// Throws the coins of the open lanes; a set bit is heads.
    #[inline]
    fn throw(&self, open: u64, words: &mut impl Rng) -> u64 {
        match self.width {
            8 => self.throw_rows::<8, 1>(open, words),
            16 => self.throw_rows::<16, 2>(open, words),
            _ => self.throw_rows::<32, 4>(open, words),
        }
    }

    /// The same for rows of `WIDTH` lanes, `STEP` words at a time.
    #[inline]
    fn throw_rows<const WIDTH: u32, const STEP: usize>(
        &self,
        mut open: u64,
        words: &mut impl Rng,
    ) -> u64 {
        const { assert!(WIDTH * STRIDE == u64::BITS * STEP as u32) };
        let mut heads = 0;
        for step in self.table.as_chunks::<STEP>().0 {
            for &word in step {
                let (mut row, mut bits) = (word, words.next_u64());
                for _ in 0..u64::BITS / WIDTH {
                    let decided = open & (row ^ bits);
                    heads |= decided & row;
                    open ^= decided;
                    row >>= WIDTH;
                    bits >>= WIDTH;
                }
            }
            if open == 0 {
                break;
            }
        }
        heads
    }
}

#[cfg(test)]
mod tests {
    use core::convert::Infallible;

    use rand_core::TryRng;

    use super::*;

    /// Gives these words, then ones.
    struct Script<'a>(core::slice::Iter<'a, u64>);

    impl TryRng for Script<'_> {
        type Error = Infallible;
        fn try_next_u32(&mut self) -> Result<u32, Infallible> {
            panic!("a draw takes whole words")
        }
        fn try_next_u64(&mut self) -> Result<u64, Infallible> {
            Ok(self.0.next().copied().unwrap_or(u64::MAX))
        }
        fn try_fill_bytes(&mut self, _: &mut [u8]) -> Result<(), Infallible> {
            panic!("a draw takes whole words")
        }
    }

    /// A coin is heads exactly when its 64 bits are below the threshold.
    #[test]
    fn coin_compares_64_bits() {
        for (num, den) in [(16, 1), (7, 2), (1, 2), (1, 40), (1, 2000), (1, 3000), (1, 131_070_000)]
        {
            let law = Laplace::new(Rate::new(num, den).unwrap());
            let lanes = law.digits + 2;
            let all = (1 << lanes) - 1;
            assert_eq!(
                law.throw(all, &mut Script(law.table.iter())),
                0,
                "equal to the threshold is tails"
            );
            for lane in 0..=law.digits {
                let threshold = law.threshold(lane);
                let mut below = Laplace { table: [0; WORDS], ..law.clone() };
                (0..=law.digits)
                    .for_each(|i| below.put(i, law.threshold(i) - u64::from(i == lane)));
                below.put(law.digits + 1, 1 << (ROWS - 1));
                assert_eq!(below.threshold(lane), threshold - 1);
                assert_eq!(
                    law.throw(all, &mut Script(below.table.iter())),
                    1 << lane,
                    "{num}/{den} lane {lane}"
                );
            }
        }
    }

    /// The unary part goes on as long as its coins are heads.
    #[test]
    fn unary_part_ends_at_the_first_tails() {
        for (num, den) in [(16, 1), (1, 2), (1, 40), (1, 131_070_000)] {
            let law = Laplace::new(Rate::new(num, den).unwrap());
            // Zeros are heads in every lane, found when the last lane, that of the tail, shows its
            // first bit.
            let rows = law.threshold(law.digits).leading_zeros() + 1;
            let words = (rows.next_multiple_of(STRIDE) * law.width / u64::BITS) as usize;
            for above in 1..20 {
                let zeros = [0; 20 * 16];
                let value = law.draw(u64::MAX, &mut Script(zeros[..above * words].iter()));
                assert_eq!(value, (true, ((above as u64 + 1) << law.digits) - 1), "{num}/{den}");
            }
        }
    }
}
