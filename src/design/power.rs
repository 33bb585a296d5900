//! A power rounded down, in integers wherever they settle it.
//!
//! On the Cortex-M0 `pow` of two doubles takes 16,500 instructions, which was a quarter of a look
//! at 64 features. A whole number of patients does not need 53 bits: logarithm and power to 26 bits
//! in 32-bit steps tell it unless the power lies close to a whole number, where `pow` decides. The
//! result is that of `pow` in every case, so boards and hosts agree.

/// Added before a number of patients is rounded down, so that rounding of the number loses none.
const ROUNDING: f64 = 1.0 / (1u64 << 20) as f64;
/// Bits behind the point of a logarithm.
const LOG_BITS: u32 = 26;
/// Bits behind the point of a significand.
const ONE_BITS: u32 = 31;
const ONE: u32 = 1 << ONE_BITS;
/// Bits of a logarithm's fraction that [`ROOTS`] covers; below them 2^f is 1 + f ln 2.
const ROOT_BITS: u32 = 14;
/// 2^(1/2), 2^(1/4), 2^(1/8) .., in units of 2^-31.
const ROOTS: [u32; ROOT_BITS as usize] = [
    3_037_000_499,
    2_553_802_833,
    2_341_847_523,
    2_242_560_871,
    2_194_507_416,
    2_170_868_211,
    2_159_144_271,
    2_153_306_066,
    2_150_392_886,
    2_148_937_775,
    2_148_210_588,
    2_147_847_087,
    2_147_665_360,
    2_147_574_502,
];
/// ln 2 in units of 2^-32.
const LN_2: u32 = 2_977_044_471;
/// The relative error of [`approximate`] is below 2^-24: three truncations of 2^-26 in the
/// logarithm, and of 2^-31 in each of the other steps.
const ERROR_BITS: u32 = 24;
/// 2 [`ROUNDING`] in units of 2^-31.
const SLACK: u64 = 1 << (ONE_BITS - 19);
/// Bases from this power of two on are left to `pow`.
const MAX_EXPONENT: u32 = 24;

/// floor(base^exponent + 2^-20) for a base from 1 on and an exponent from 0 to 1.
pub(super) fn floor_power(base: f64, exponent: f64) -> f64 {
    if let Some(power) = approximate(base, (exponent * 4_294_967_296.0) as u32) {
        let error = power >> ERROR_BITS;
        let (least, most) = (power - error, power + error + SLACK);
        if least >> ONE_BITS == most >> ONE_BITS {
            return ((power >> ONE_BITS) as u32).into();
        }
    }
    libm::floor(libm::pow(base, exponent) + ROUNDING)
}

/// The upper word of a product.
fn upper(a: u32, b: u32) -> u32 {
    ((u64::from(a) * u64::from(b)) >> 32) as u32
}

/// base^exponent in units of 2^-31, the exponent in units of 2^-32; none for a base out of range.
fn approximate(base: f64, exponent: u32) -> Option<u64> {
    let bits = base.to_bits();
    let whole = ((bits >> 52) as u32).checked_sub(1023).filter(|whole| *whole < MAX_EXPONENT)?;
    // The first bit of a significand stands in front of its fraction.
    let mut significand = (bits >> 21) as u32 | ONE;
    let mut logarithm = whole;
    for _ in 0..LOG_BITS {
        // A square from 2 on is the next bit of the logarithm.
        let square = upper(significand, significand);
        let bit = square >> ONE_BITS;
        significand = if bit == 1 { square } else { square << 1 };
        logarithm = logarithm << 1 | bit;
    }
    let logarithm = upper(logarithm, exponent);
    let fraction = logarithm & ((1 << LOG_BITS) - 1);
    let low = fraction & ((1 << (LOG_BITS - ROOT_BITS)) - 1);
    let mut power = ONE + upper(low << (ONE_BITS - LOG_BITS), LN_2);
    for (place, root) in (1..).zip(ROOTS) {
        if fraction >> (LOG_BITS - place) & 1 == 1 {
            power = upper(power, root) << 1;
        }
    }
    Some(u64::from(power) << (logarithm >> LOG_BITS))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::{Rng, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    /// Bases of all sizes with random exponents, and those of usual plans.
    fn cases() -> impl Iterator<Item = (f64, f64)> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        let cases = if cfg!(miri) { 100 } else { 400_000 };
        (0..cases).map(move |case| {
            let places = random.next_u32() % 44;
            let base = 1.0 + (random.next_u64() >> 20 >> places) as f64 / 1_048_576.0;
            let exponent = f64::from(random.next_u32()) / 4_294_967_296.0;
            (base, [exponent, 0.75, 0.5, 0.85, 0.0, 1.0, 17.0 / 20.0, 1.0 / 3.0][case % 8])
        })
    }

    /// The integers' power is as close as the bound says that decides when to ask `pow`.
    #[test]
    fn powers_are_within_their_error() {
        let most = cases().map(|(base, exponent)| {
            let Some(power) = approximate(base, (exponent * 4_294_967_296.0) as u32) else {
                return 0.0;
            };
            let exact = libm::pow(base, exponent);
            (power as f64 / f64::from(ONE) - exact).abs() / exact
        });
        let most = most.fold(0.0, f64::max) * f64::from(1 << ERROR_BITS);
        assert!(most < 0.75, "{most} of the bound");
        assert!(cfg!(miri) || most > 0.1, "the bound is far too wide: {most}");
    }

    /// The result is that of `pow`, also for whole powers and next to them.
    #[test]
    fn whole_part_is_that_of_pow() {
        let check = |base: f64, exponent: f64| {
            let exact = libm::floor(libm::pow(base, exponent) + ROUNDING);
            assert_eq!(floor_power(base, exponent), exact, "{base} to {exponent}");
        };
        cases().for_each(|(base, exponent)| check(base, exponent));
        let roots = if cfg!(miri) { 20 } else { 1000 };
        for root in 1..roots {
            for (base, exponent) in
                [(root * root, 0.5), (root, 1.0), (root * root * root, 1.0 / 3.0)]
            {
                for off in [-1e-3, -1e-6, -1e-7, -1e-9, 0.0, 1e-9, 1e-6, 1e-3] {
                    check(f64::max(f64::from(base) + off, 1.0), exponent);
                }
            }
        }
        // Beyond every trial.
        check(1e8, 0.75);
    }

    /// Integers settle nearly every power of a usual size.
    #[test]
    fn pow_is_seldom_asked() {
        let asked = (100..10_100).filter(|base| {
            let power = approximate(f64::from(*base) + 0.5, 3 << 30).unwrap();
            let error = power >> ERROR_BITS;
            (power - error) >> ONE_BITS != (power + error + SLACK) >> ONE_BITS
        });
        let asked = asked.count();
        assert!(asked < 100, "{asked} of 10,000");
    }
}
