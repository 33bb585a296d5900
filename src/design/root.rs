//! Square roots, bit by bit on the board without a long multiplication.
//!
//! `sqrt` of `libm` multiplies 31 times in 64 bits, 1,735 instructions on the Cortex-M0; a look
//! takes three roots a feature. Both are rounded to nearest, so the results are the same.

/// The square root of a number that is not negative.
pub(super) fn root(x: f64) -> f64 {
    if cfg!(feature = "microbit-v1") { bit_by_bit(x) } else { libm::sqrt(x) }
}

/// Bits of a root: 53, and one to round by. (The root of 53 bits is never half way.)
const BITS: u32 = 54;
/// Of these, the first that leave the lower word of the trial's square zero.
const UPPER: u32 = BITS - u32::BITS;

/// The method of digits: the rest is doubled at every step instead of halving the root.
fn bit_by_bit(x: f64) -> f64 {
    let bits = x.to_bits();
    let exponent = (bits >> 52) as u32;
    if !(1..0x7ff).contains(&exponent) {
        // Zero, subnormal, infinite, negative or no number: rare.
        return libm::sqrt(x);
    }
    let significand = bits & ((1 << 52) - 1) | 1 << 52;
    // From 1 to 4, doubled.
    let rest = significand << (1 + (exponent + 1) % 2);
    let (mut high, mut low) = ((rest >> 32) as u32, rest as u32);
    let (mut twice, mut upper) = (0_u32, 0_u32);
    let mut bit = 1_u32 << (UPPER - 1);
    while bit != 0 {
        let trial = twice.wrapping_add(bit);
        if trial <= high {
            twice = trial.wrapping_add(bit);
            high = high.wrapping_sub(trial);
            upper |= bit;
        }
        high = high << 1 | low >> 31;
        low <<= 1;
        bit >>= 1;
    }
    let mut rest = u64::from(high) << 32 | u64::from(low);
    let mut twice = u64::from(twice) << 32;
    let mut lower = 0_u32;
    let mut bit = 1_u32 << 31;
    while bit != 0 {
        let trial = twice.wrapping_add(bit.into());
        if trial <= rest {
            twice = trial.wrapping_add(bit.into());
            rest = rest.wrapping_sub(trial);
            lower |= bit;
        }
        rest = rest.wrapping_add(rest);
        bit >>= 1;
    }
    let root = u64::from(upper) << 32 | u64::from(lower);
    // The first bit of the root adds one to the exponent.
    let field = u64::from((exponent + 1023) / 2).wrapping_sub(1) << 52;
    f64::from_bits(field.wrapping_add(root.wrapping_add(1) >> 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::{Rng, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    /// The same bits as the host's processor, for numbers of every size, squares, and their
    /// neighbours.
    #[test]
    fn root_is_the_processors() {
        let check = |x: f64| assert_eq!(bit_by_bit(x).to_bits(), x.sqrt().to_bits(), "{x:e}");
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        for _ in 0..if cfg!(miri) { 100 } else { 300_000 } {
            let bits = random.next_u64();
            check(f64::from_bits(bits >> 1));
            check((bits >> (bits & 63)) as f64 / 4_294_967_296.0);
            let square = f64::from(bits as u32 >> 6) * f64::from(bits as u32 >> 6);
            let around = [square, square.next_up(), f64::max(square.next_down(), 0.0)];
            around.into_iter().for_each(check);
        }
        let ends = [0.0, f64::MIN_POSITIVE, f64::MIN_POSITIVE / 2.0, f64::MAX, f64::INFINITY];
        ends.into_iter().for_each(check);
        assert!(bit_by_bit(-1.0).is_nan() && bit_by_bit(f64::NAN).is_nan());
    }
}
