//! Addition, multiplication and division of doubles in 32-bit steps, for a processor without
//! floating point and without a long multiplication (Cortex-M0).
//!
//! The compiler's own routines call a 64-bit multiplication for every product. A look at 64
//! features makes about 10,000 of these operations, which take 40 to 60 % fewer instructions here
//! (`cargo xtask counts`).
//!
//! Results are those of IEEE 754, rounded to nearest, ties to even: the same bits as on a host, but
//! for the bits of a NaN. The tests compare them with the host's processor.

/// Largest exponent field: infinite, or not a number.
const SPECIAL: i32 = 0x7ff;
/// Bits of the fraction in the upper word.
const UPPER: u32 = 20;
/// The bit in front of the fraction, in the upper word.
const ONE: u32 = 1 << UPPER;
const SIGN: u32 = 1 << 31;
const BIAS: i32 = 1023;
/// Places by which a significand of 53 bits is moved to fill two words.
const FILL: u32 = 11;
const INFINITY: u64 = (SPECIAL as u64) << 52;
const NAN: u64 = INFINITY | 1 << 51;

/// A double, or a significand, as two words: (upper, lower).
type Words = (u32, u32);

const fn join((upper, lower): Words) -> u64 {
    (upper as u64) << 32 | lower as u64
}

const fn split(bits: u64) -> Words {
    ((bits >> 32) as u32, bits as u32)
}

const fn signed(sign: u32, bits: u64) -> u64 {
    (sign as u64) << 32 | bits
}

const fn exponent((upper, _): Words) -> i32 {
    (upper >> UPPER) as i32 & SPECIAL
}

/// Whether this is the exponent of a normal number.
const fn is_normal(exponent: i32) -> bool {
    (exponent as u32).wrapping_sub(1) < SPECIAL as u32 - 1
}

/// The significand of a normal number: 53 bits.
const fn significand((upper, lower): Words) -> Words {
    (upper & (ONE - 1) | ONE, lower)
}

/// A number without its sign.
const fn magnitude((upper, lower): Words) -> u64 {
    join((upper & !SIGN, lower))
}

/// (On two words: for a `u64` the compiler would emit a call.)
const fn is_zero((upper, lower): Words) -> bool {
    upper << 1 | lower == 0
}

const fn is_nan(number: Words) -> bool {
    magnitude(number) > INFINITY
}

/// Exponent and significand of a finite number that is not zero, as if there were no least
/// exponent.
#[cold]
const fn normalized(number: Words) -> (i32, Words) {
    if is_normal(exponent(number)) {
        return (exponent(number), significand(number));
    }
    let (mut exponent, mut fraction) = (1, magnitude(number));
    while split(fraction).0 & ONE == 0 {
        fraction <<= 1;
        exponent -= 1;
    }
    (exponent, split(fraction))
}

/// A significand moved to the first bit of two words.
const fn filled((upper, lower): Words) -> Words {
    (upper << FILL | lower >> (32 - FILL), lower << FILL)
}

/// Rounds two words, whose first bit is set, to 53 bits and puts sign and exponent in front.
// Saves 2,000 cycles of an `OUTCOME` of `dp-conse` on the Cortex-M0, and costs 232 bytes.
#[inline(always)]
const fn round(sign: u32, mut exponent: i32, mut words: Words) -> u64 {
    if !is_normal(exponent) {
        if exponent >= SPECIAL {
            return signed(sign, INFINITY);
        }
        // A subnormal number, or none at all: the field of the exponent will be 0.
        words = shifted(words, 1_i32.wrapping_sub(exponent) as u32);
        exponent = 1;
    }
    let (upper, lower) = words;
    let kept = upper << (32 - FILL) | lower >> FILL;
    let rest = lower << (32 - FILL);
    // Ties go to the even one. The lowest bits of `rest` are free.
    let up = rest.wrapping_add(kept & 1) > 1 << 31;
    // The first bit adds one to the exponent, and so does a carry out of the fraction.
    let field = (exponent as u32).wrapping_sub(1) << UPPER;
    join((sign.wrapping_add(field).wrapping_add(upper >> FILL), kept)).wrapping_add(up as u64)
}

/// Moves two words to the right. If a bit is lost the lowest one is set.
#[inline(never)]
const fn shifted((upper, lower): Words, places: u32) -> Words {
    match places {
        0 => (upper, lower),
        1..32 => {
            let lost = (lower << (32 - places) != 0) as u32;
            (upper >> places, upper << (32 - places) | lower >> places | lost)
        }
        32 => (0, upper | (lower != 0) as u32),
        33..64 => {
            let lost = (upper << (64 - places) | lower != 0) as u32;
            (0, upper >> (places - 32) | lost)
        }
        _ => (0, (upper | lower != 0) as u32),
    }
}

/// The product of two words: (upper, lower).
const fn product(a: u32, b: u32) -> Words {
    let (a1, a0, b1, b0) = (a >> 16, a & 0xffff, b >> 16, b & 0xffff);
    let low = a0.wrapping_mul(b0);
    let middle = a1.wrapping_mul(b0).wrapping_add(low >> 16);
    let other = a0.wrapping_mul(b1).wrapping_add(middle & 0xffff);
    let high = a1.wrapping_mul(b1).wrapping_add(middle >> 16).wrapping_add(other >> 16);
    (high, other << 16 | low & 0xffff)
}

/// a times b. A power of two, which is often a constant, is quick as the second factor.
pub const fn multiply(a: Words, b: Words) -> u64 {
    let sign = (a.0 ^ b.0) & SIGN;
    let (mut ea, mut eb) = (exponent(a), exponent(b));
    let (mut ma, mut mb) = (significand(a), significand(b));
    if !is_normal(ea) || !is_normal(eb) {
        let zero = is_zero(a) || is_zero(b);
        if ea == SPECIAL || eb == SPECIAL {
            let undefined = is_nan(a) || is_nan(b) || zero;
            return if undefined { NAN } else { signed(sign, INFINITY) };
        }
        if zero {
            return signed(sign, 0);
        }
        ((ea, ma), (eb, mb)) = (normalized(a), normalized(b));
    }
    if mb.0 == ONE && mb.1 == 0 {
        return round(sign, ea.wrapping_add(eb).wrapping_sub(BIAS), filled(ma));
    }
    // Both fill two words, so that one of the first two bits of the product is set.
    let (a, b) = (filled(ma), filled(mb));
    let low = product(a.1, b.1);
    let cross = join(product(a.0, b.1)).wrapping_add(low.0 as u64);
    let other = join(product(a.1, b.0)).wrapping_add(split(cross).1 as u64);
    let high = join(product(a.0, b.0))
        .wrapping_add(split(cross).0 as u64)
        .wrapping_add(split(other).0 as u64);
    let (mut upper, mut lower) = split(high);
    let lost = (split(other).1 | low.1 != 0) as u32;
    let mut exponent = ea.wrapping_add(eb).wrapping_sub(BIAS - 1);
    if upper & SIGN == 0 {
        exponent = exponent.wrapping_sub(1);
        upper = upper << 1 | lower >> 31;
        lower <<= 1;
    }
    round(sign, exponent, (upper, lower | lost))
}

/// a plus b.
// Saves 40 bytes.
#[inline(always)]
pub const fn add(a: Words, b: Words) -> u64 {
    let (mut ea, mut eb) = (exponent(a), exponent(b));
    let (mut ma, mut mb) = (significand(a), significand(b));
    let subtract = (a.0 ^ b.0) & SIGN != 0;
    if !is_normal(ea) || !is_normal(eb) {
        if ea == SPECIAL || eb == SPECIAL {
            if is_nan(a) || is_nan(b) || ea == eb && subtract {
                return NAN;
            }
            return join(if ea == SPECIAL { a } else { b });
        }
        match (is_zero(a), is_zero(b)) {
            // Zero is negative only if both are.
            (true, true) => return join(a) & join(b),
            (false, true) => return join(a),
            (true, false) => return join(b),
            _ => ((ea, ma), (eb, mb)) = (normalized(a), normalized(b)),
        }
    }
    // The smaller one is moved to the larger one's exponent. (Bits are ordered as magnitudes are.)
    let smaller = a.0 & !SIGN < b.0 & !SIGN || (a.0 ^ b.0) & !SIGN == 0 && a.1 < b.1;
    let mut sign = a.0 & SIGN;
    if smaller {
        (ea, eb, ma, mb, sign) = (eb, ea, mb, ma, b.0 & SIGN);
    }
    // Both fill two words but for the first place, which takes the carry.
    let large = join((ma.0 << (FILL - 1) | ma.1 >> (33 - FILL), ma.1 << (FILL - 1)));
    let small = (mb.0 << (FILL - 1) | mb.1 >> (33 - FILL), mb.1 << (FILL - 1));
    let places = ea.wrapping_sub(eb) as u32;
    // Most places by far, without a call: 1 % of a look.
    let small = join(if places.wrapping_sub(1) < 31 {
        let (upper, lower) = small;
        let lost = (lower << (32 - places) != 0) as u32;
        (upper >> places, upper << (32 - places) | lower >> places | lost)
    } else {
        shifted(small, places)
    });
    let mut sum = if subtract { large.wrapping_sub(small) } else { large.wrapping_add(small) };
    if sum == 0 {
        return 0;
    }
    let mut exponent = ea.wrapping_add(1);
    while split(sum).0 & SIGN == 0 {
        sum <<= 1;
        exponent = exponent.wrapping_sub(1);
    }
    round(sign, exponent, split(sum))
}

/// Quotient bits of a step of the division, and steps that give 56 of them.
const DIGIT: u32 = 14;
const STEPS: u32 = 4;

/// 2^31/d for d above 2^15 and up to 2^16, or up to 3 less: Newton's method from a straight line
/// that is off by at most 1/17.
const fn reciprocal(d: u32) -> u32 {
    let mut x = 92_522_u32.wrapping_sub(61_681_u32.wrapping_mul(d) >> 16);
    let mut step = 0;
    while step < 2 {
        let error = (1_u32 << 31).wrapping_sub(d.wrapping_mul(x)) as i32;
        x = x.wrapping_add(((x as i32).wrapping_mul(error >> 15) >> 16) as u32);
        step += 1;
    }
    x
}

/// a divided by b. A power of two, as the weight of a yes/no outcome is, is quick.
pub const fn divide(a: Words, b: Words) -> u64 {
    let sign = (a.0 ^ b.0) & SIGN;
    let (mut ea, mut eb) = (exponent(a), exponent(b));
    let (mut ma, mut divisor) = (significand(a), significand(b));
    if !is_normal(ea) || !is_normal(eb) {
        let (zero, infinite) = (is_zero(a), magnitude(a) == INFINITY);
        let (by_zero, by_infinite) = (is_zero(b), magnitude(b) == INFINITY);
        if is_nan(a) || is_nan(b) || zero && by_zero || infinite && by_infinite {
            return NAN;
        }
        if infinite || by_zero {
            return signed(sign, INFINITY);
        }
        if zero || by_infinite {
            return signed(sign, 0);
        }
        ((ea, ma), (eb, divisor)) = (normalized(a), normalized(b));
    }
    let mut exponent = ea.wrapping_sub(eb).wrapping_add(BIAS);
    if divisor.0 == ONE && divisor.1 == 0 {
        return round(sign, exponent, filled(ma));
    }
    let mut rest = join(ma);
    let whole = join(divisor);
    if rest < whole {
        rest <<= 1;
        exponent = exponent.wrapping_sub(1);
    }
    // The first bit of the quotient; then the rest stays below the divisor.
    rest = rest.wrapping_sub(whole);
    let mut quotient = 1_u64;
    let reciprocal = reciprocal((divisor.0 >> 5).wrapping_add(1));
    let mut step = 0;
    while step < STEPS {
        // The first 16 bits of the rest over those of the divisor: right, or up to 3 too small.
        let first = split(rest).0 >> 5;
        let mut digit = first.wrapping_mul(reciprocal) >> 17;
        let low = digit.wrapping_mul(divisor.1 & 0xffff);
        let middle = digit.wrapping_mul(divisor.1 >> 16);
        let high = digit.wrapping_mul(divisor.0).wrapping_add(middle >> 16);
        let taken = join((high, middle << 16)).wrapping_add(low as u64);
        rest = (rest << DIGIT).wrapping_sub(taken);
        while rest >= whole {
            rest = rest.wrapping_sub(whole);
            digit = digit.wrapping_add(1);
        }
        quotient = quotient << DIGIT | digit as u64;
        step += 1;
    }
    let (upper, lower) = split(quotient << (63 - STEPS * DIGIT));
    round(sign, exponent, (upper, lower | (rest != 0) as u32))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A generator of Marsaglia's.
    fn next(state: &mut u64) -> u64 {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        *state
    }

    /// A double whose kind is chosen by some bits and whose value by others: any bits, or an
    /// exponent close to 1, with a fraction of any bits, of few bits, or of many ones.
    fn double(state: &mut u64) -> f64 {
        let (kind, bits) = (next(state), next(state));
        let fraction = match kind & 3 {
            0 => bits >> (kind >> 8 & 63),
            1 => bits << (kind >> 8 & 63),
            2 => !(bits >> (kind >> 8 & 63)),
            _ => bits,
        } & ((1 << 52) - 1);
        let exponent = match kind >> 2 & 3 {
            0 => bits >> 52,
            1 => bits >> 63 << 11 | kind >> 16 & 63,
            _ => (1023 - 35 + (kind >> 16) % 70) | (bits >> 63 << 11),
        };
        f64::from_bits(exponent << 52 | fraction)
    }

    fn check(a: f64, b: f64) {
        let words = |x: f64| split(x.to_bits());
        let pairs = [
            ("+", add(words(a), words(b)), a + b),
            ("*", multiply(words(a), words(b)), a * b),
            ("/", divide(words(a), words(b)), a / b),
        ];
        for (name, got, expected) in pairs {
            let same = got == expected.to_bits() || expected.is_nan() && is_nan(split(got));
            assert!(same, "{a:e} {name} {b:e}: {:e}, not {expected:e}", f64::from_bits(got));
        }
    }

    /// Random pairs have the bits of the host's processor.
    #[test]
    fn results_are_those_of_the_host() {
        let rounds = std::env::var("EQUIPOISE_DOUBLES").map_or(2_000_000, |n| n.parse().unwrap());
        let mut state = 0x9E37_79B9_7F4A_7C15;
        for _ in 0..rounds {
            check(double(&mut state), double(&mut state));
        }
    }

    /// The edges of exponents and fractions, in every combination.
    #[test]
    fn edges_are_those_of_the_host() {
        const ONE: u64 = 1 << 52;
        let exponents = [0, 1, 2, 3, 52, 53, 54, 60, 511, 512, 970, 990, 991, 1021, 1022, 1023];
        let large = [1024, 1055, 1075, 1076, 1077, 1535, 1536, 2044, 2045, 2046, 2047];
        let fractions = [0, 1, 2, 3, ONE / 2 - 1, ONE / 2, ONE / 2 + 1, ONE - 2, ONE - 1];
        let mut values = std::vec::Vec::new();
        for exponent in exponents.into_iter().chain(large) {
            for fraction in fractions {
                let value = f64::from_bits(exponent << 52 | fraction);
                values.extend([value, -value]);
            }
        }
        for a in &values {
            values.iter().for_each(|b| check(*a, *b));
        }
    }

    /// The reciprocal is never too large, so that no digit of a quotient is.
    #[test]
    fn reciprocals_are_not_too_large() {
        for d in (1 << 15) + 1..=1_u32 << 16 {
            let exact = (1_u64 << 31) / u64::from(d);
            let found = u64::from(reciprocal(d));
            assert!(found <= exact && found + 3 >= exact, "{d}: {found}, not {exact}");
        }
    }
}
