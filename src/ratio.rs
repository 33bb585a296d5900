//! Exact rationals: [`Ratio`] for the parameters of a plan, [`Rate`] for the rate of a noise draw.

use core::fmt;
use core::str::FromStr;

/// Largest denominator of a [`Ratio`], in lowest terms.
pub const MAX_DENOMINATOR: u32 = 10_000;

/// Greatest common divisor; at least 1 where `b` is.
const fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// An exact non-negative rational in lowest terms.
///
/// ```
/// use equipoise::plan::Ratio;
///
/// assert_eq!("0.25".parse::<Ratio>()?.to_string(), "1/4");
/// assert!("-1".parse::<Ratio>().is_err());
/// # Ok::<(), equipoise::plan::NotARatio>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Ratio {
    num: u32,
    den: u32,
}

impl Ratio {
    /// Not a number: the value of memory that was never written.
    pub(crate) const NONE: Self = Self { num: 0, den: 0 };
    /// 0.
    pub(crate) const ZERO: Self = Self { num: 0, den: 1 };
    /// 1.
    pub const ONE: Self = Self { num: 1, den: 1 };
    /// 1/2.
    pub(crate) const HALF: Self = Self { num: 1, den: 2 };
    /// 1/4.
    pub const QUARTER: Self = Self { num: 1, den: 4 };
    /// 1/20.
    pub(crate) const TWENTIETH: Self = Self { num: 1, den: 20 };

    /// `num/den` in lowest terms; `None` for a zero denominator, or one above [`MAX_DENOMINATOR`]
    /// when reduced.
    #[must_use]
    pub const fn new(num: u32, den: u32) -> Option<Self> {
        if den == 0 {
            return None;
        }
        // A divisor of both fits their type.
        let divisor = gcd(num as u64, den as u64) as u32;
        let reduced = Self { num: num / divisor, den: den / divisor };
        if reduced.den > MAX_DENOMINATOR { None } else { Some(reduced) }
    }

    /// Numerator in lowest terms.
    #[must_use]
    pub const fn num(self) -> u32 {
        self.num
    }

    /// Denominator in lowest terms, never 0.
    #[must_use]
    pub const fn den(self) -> u32 {
        self.den
    }

    /// The nearest double, for derived constants; never for noise.
    #[must_use]
    pub fn to_f64(self) -> f64 {
        f64::from(self.num) / f64::from(self.den)
    }

    /// This over `2 weight`, as the rate of a noise draw. A legal plan's rate is within what
    /// [`Rate`] holds (asserted below at the ends); if it were not, the result would be the least
    /// rate, which gives the most noise.
    pub(crate) const fn half_over(self, weight: u32) -> Rate {
        match Rate::new(self.num as u64, self.den as u64 * 2 * weight as u64) {
            Some(rate) => rate,
            None => Rate::LEAST,
        }
    }

    /// Whether this is strictly below `num/den`.
    pub(crate) const fn is_below(self, num: u32, den: u32) -> bool {
        (self.num as u64 * den as u64) < num as u64 * self.den as u64
    }

    /// Whether this is at most `num/den`.
    pub(crate) const fn at_most(self, num: u32, den: u32) -> bool {
        self.num as u64 * den as u64 <= num as u64 * self.den as u64
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.den == 1 {
            write!(f, "{}", self.num)
        } else {
            write!(f, "{}/{}", self.num, self.den)
        }
    }
}

/// Splits a text at the first of these ASCII characters. (`str::split_once` takes any character,
/// and so 200 bytes of code more.)
pub(crate) fn split_once(text: &str, mark: u8) -> Option<(&str, &str)> {
    let at = text.bytes().position(|byte| byte == mark)?;
    text.get(..at).zip(text.get(at + 1..))
}

/// The text is not a rational this crate can hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotARatio;

impl fmt::Display for NotARatio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "allowed a number such as 3, 1/4 or 0.25, denominator up to {MAX_DENOMINATOR}")
    }
}

impl core::error::Error for NotARatio {}

impl FromStr for Ratio {
    type Err = NotARatio;

    /// Reads `3`, `1/4`, `0.25` (exactly, as 25/100) and `.25`.
    fn from_str(text: &str) -> Result<Self, NotARatio> {
        if let Some((num, den)) = split_once(text, b'/') {
            let ratio = Self::new(digits(num)?, digits(den)?);
            return ratio.ok_or(NotARatio);
        }
        let (whole, fraction) = match split_once(text, b'.') {
            Some(("", fraction)) if !fraction.is_empty() => ("0", fraction),
            other => other.unwrap_or((text, "0")),
        };
        let places = u32::try_from(fraction.len()).map_err(|_| NotARatio)?;
        let den = 10u32.checked_pow(places).ok_or(NotARatio)?;
        let num = digits(whole)?.checked_mul(den).ok_or(NotARatio)?;
        Self::new(num.checked_add(digits(fraction)?).ok_or(NotARatio)?, den).ok_or(NotARatio)
    }
}

/// An unsigned number of decimal digits only (`from_str` of std also takes a sign).
pub(crate) fn digits(text: &str) -> Result<u32, NotARatio> {
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) {
        return Err(NotARatio);
    }
    text.parse().map_err(|_| NotARatio)
}

/// An exact rate `num/den` of a Laplace law, in lowest terms, from 2^-27 to 16.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    num: u64,
    den: u64,
}

impl Rate {
    /// The least rate is 2^-27: a little below 1/1000 over 2 * 65535, the least a plan can ask for.
    const LEAST_SHIFT: u32 = 27;
    /// The least rate.
    pub const LEAST: Self = Self { num: 1, den: 1 << Self::LEAST_SHIFT };
    /// The greatest rate.
    const GREATEST: u64 = 16;
    /// The rates there are, for messages.
    pub const ALLOWED: &str = "1/134217728..=16";

    /// `num/den` in lowest terms, or `None` if it is below 2^-27 or above 16.
    #[must_use]
    pub const fn new(num: u64, den: u64) -> Option<Self> {
        if den == 0
            || (num as u128) << Self::LEAST_SHIFT < den as u128
            || num / den > Self::GREATEST
        {
            return None;
        }
        if num / den == Self::GREATEST && !num.is_multiple_of(den) {
            return None;
        }
        let divisor = gcd(num, den);
        Some(Self { num: num / divisor, den: den / divisor })
    }

    /// Numerator in lowest terms, never 0.
    #[must_use]
    pub const fn num(self) -> u64 {
        self.num
    }

    /// Denominator in lowest terms, never 0.
    #[must_use]
    pub const fn den(self) -> u64 {
        self.den
    }
}

// The least and the greatest rate that a plan can ask for.
const _: () =
    assert!(Rate::new(1, 1000 * 2 * u16::MAX as u64).is_some() && Rate::new(20, 2).is_some());

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_exact() {
        assert_eq!("0.25".parse(), Ok(Ratio { num: 1, den: 4 }));
        assert_eq!("2/8".parse(), Ok(Ratio { num: 1, den: 4 }));
        assert_eq!(".5".parse(), Ok(Ratio { num: 1, den: 2 }));
        assert_eq!("20".parse(), Ok(Ratio { num: 20, den: 1 }));
        for bad in ["", ".", "1/", "/2", "+1", "1e3", "0.00001", "1/10001", "99999999999", "1.2.3"]
        {
            assert_eq!(bad.parse::<Ratio>(), Err(NotARatio), "{bad}");
        }
    }
}
