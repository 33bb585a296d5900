//! The thresholds of a law: e^-x in fixed point, with its error.
//!
//! Numbers in [0, 1] are kept in units of 2^-126. For a rate r, L is the least number with r 2^L >=
//! 8, and s = r - 2^-50 is the rate that is tabulated (see [`super`]).
//!
//! - y = s / 2^h, where h = 5 - L, or 0 if that is negative, so that y < 1/2. Rounded down: error
//!   below 1 unit.
//! - e^-y by 28 terms of Horner's rule, 1 - y/1 (1 - y/2 (1 - ..)). A step loses less than 2 units
//!   and passes on less than half of the error before it; the terms left out are below 2^-131.
//!   Error below 5 units, relative to e^-y > 0.6 and with that of y, below 2^-122.
//! - Squared h times this is e^-s, squared i times more e^(-s 2^i), at most 30 squarings in all.
//!   One doubles the relative error and adds one unit over the value: 2^30 (2^-122 + 2^-125) and
//!   less than 2^-101 from the last few, where the value falls to e^-16. So every power has an
//!   absolute error below 2^-91.
//! - In units of 2^-64, v = the power rounded down plus 2 is above the power by less than 2 + 2^-27
//!   and by more than 1/2. p = v / (1 + v) has a slope of at most 1 in v; rounded down plus 1 it is
//!   above the exact probability, by less than 4 units. The last power is the probability Q itself,
//!   and v is its threshold.

use super::{MOST_DIGITS, Rate};

/// Bits after the point.
const POINT: u32 = 126;
/// One.
const ONE: u128 = 1 << POINT;
/// Terms of the series.
const TERMS: u64 = 28;
/// The least exponent of the unary part.
const LEAST_TAIL: u128 = 8;
/// Halvings that bring 16, which no exponent exceeds, to 1/2.
const HALVINGS: u32 = 5;
/// Difference between the stated and the tabulated rate: 2^-50.
const MARGIN: u128 = 1 << (POINT - 50);

/// L, the number of digits: the least with rate 2^L >= 8.
pub(super) fn digits(rate: Rate) -> u32 {
    let (num, den) = (u128::from(rate.num()), u128::from(rate.den()));
    (0..MOST_DIGITS).find(|l| num << l >= LEAST_TAIL * den).unwrap_or(MOST_DIGITS)
}

/// Gives every lane from 0 to L with its threshold.
pub(super) fn thresholds(rate: Rate, digits: u32, mut put: impl FnMut(u32, u64)) {
    let (num, den) = (u128::from(rate.num()), u128::from(rate.den()));
    let halvings = HALVINGS.saturating_sub(digits);

    let mut power = exp_minus(fraction(num, den << halvings) - (MARGIN >> halvings));
    for _ in 0..halvings {
        power = times(power, power);
    }
    for lane in 0..digits {
        let v = above(power);
        put(lane, low_word((fraction(v, (1 << u64::BITS) + v) >> (POINT - u64::BITS)) + 1));
        power = times(power, power);
    }
    put(digits, low_word(above(power)));
}

/// num/den below 1, rounded down, by long division.
const fn fraction(num: u128, den: u128) -> u128 {
    let (mut quotient, mut rest, mut bit) = (0, num, 0);
    while bit < POINT {
        rest <<= 1;
        quotient <<= 1;
        if rest >= den {
            rest -= den;
            quotient |= 1;
        }
        bit += 1;
    }
    quotient
}

/// e^-y for y < 1/2.
fn exp_minus(y: u128) -> u128 {
    (1..=TERMS).rev().fold(ONE, |rest, k| ONE - over(times(y, rest), k))
}

/// A number divided by a small one, rounded down, 32 bits at a time. (A division of 128 bits takes
/// 1 KB of code on the Cortex-M0.)
fn over(number: u128, divisor: u64) -> u128 {
    let (mut quotient, mut rest) = (0, 0);
    for shift in [96, 64, 32, 0] {
        let part = rest << 32 | u64::from((number >> shift) as u32);
        quotient = quotient << 32 | u128::from(part / divisor);
        rest = part % divisor;
    }
    quotient
}

/// The product of two numbers up to 1, rounded down. (Not inlined: its copies take 1.2 KB of code
/// on the Cortex-M0.)
#[inline(never)]
const fn times(a: u128, b: u128) -> u128 {
    const WORD: u32 = u64::BITS;
    const LOW: u128 = u64::MAX as u128;
    let (a1, a0, b1, b0) = (a >> WORD, a & LOW, b >> WORD, b & LOW);
    let upper = a1 * b0 + ((a0 * b0) >> WORD);
    let lower = a0 * b1 + (upper & LOW);
    let high = a1 * b1 + (upper >> WORD) + (lower >> WORD);
    // The product is high 2^128 + (lower mod 2^64) 2^64 + ..; the point moves by 126 of its places.
    high << (u128::BITS - POINT) | (lower & LOW) >> (POINT - WORD)
}

/// A power in units of 2^-64, above it by 1/2 to 3 units. Below 2^64: no power exceeds 1 - 2^-28.
const fn above(power: u128) -> u128 {
    (power >> (POINT - u64::BITS)) + 2
}

/// A threshold as a word: none exceeds 2^63.
const fn low_word(threshold: u128) -> u64 {
    threshold as u64
}
