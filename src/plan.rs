//! The public parameters of a trial.
//!
//! A [`Plan`] is checked once, when it is made; whoever holds one need not check again. All parameters are
//! integers or exact rationals, so that two machines that read the same plan compute the same trial. It is
//! read from `key=value` words (the `PLAN` request, a command line) or from any other list of pairs (a
//! trial file), and printed back in one canonical form.
//!
//! | key | meaning | allowed | if absent |
//! |---|---|---|---|
//! | `design` | the algorithm | `conse`, `dp-conse`, `interim`, `uniform` | `interim` |
//! | `features` | kinds of patient, M | 1..=64 | required |
//! | `patients` | horizon, n | 2..=10000000 | required |
//! | `scale` | largest outcome, Y | 1..=65535 | 1 |
//! | `alpha` | 0: best estimate, 1: least regret | 0..=1 | 1/4 |
//! | `epsilon` | privacy loss of one patient | 1/1000..=20 | required |
//! | `beta` | two-sided level at which a look lets a feature leave the fair coin (`interim`) | 0..1, exclusive | 1/20 |
//! | `reports` | planned reports inside the second half (`interim`, `uniform`) | 0..=8 | 0 |

use crate::noise::Rate;
use core::fmt;
use core::str::FromStr;

/// Most features a plan may have.
pub const MAX_FEATURES: u8 = 64;
/// Most patients a plan may have.
pub const MAX_PATIENTS: u32 = 10_000_000;
/// Most planned looks inside the second half.
pub const MAX_REPORTS: u8 = 8;
/// Largest denominator of a parameter, in lowest terms.
pub const MAX_DENOMINATOR: u32 = 1_000_000;
/// Bytes of an encoded plan.
pub const PLAN_BYTES: usize = 33;

/// An exact non-negative rational in lowest terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Ratio {
    num: u32,
    den: u32,
}

impl Ratio {
    /// `num/den` in lowest terms; `None` for a zero denominator, or one above [`MAX_DENOMINATOR`] when reduced.
    #[must_use]
    pub const fn new(num: u32, den: u32) -> Option<Self> {
        if den == 0 {
            return None;
        }
        let (mut a, mut b) = (num, den);
        while b != 0 {
            (a, b) = (b, a % b);
        }
        let reduced = Self { num: num / a, den: den / a };
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

    /// This over `2 weight`, as the rate of a noise draw. A legal plan's rate is within what [`Rate`] holds
    /// (asserted below at the ends); were it not, the least rate, that is the most noise, would stand in.
    pub(crate) const fn half_over(self, weight: u32) -> Rate {
        match Rate::new(self.num as u64, self.den as u64 * 2 * weight as u64) {
            Some(rate) => rate,
            None => Rate::LEAST,
        }
    }

    /// Is this at most `num/den`?
    const fn at_most(self, num: u32, den: u32) -> bool {
        self.num as u64 * den as u64 <= num as u64 * self.den as u64
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.den == 1 { write!(f, "{}", self.num) } else { write!(f, "{}/{}", self.num, self.den) }
    }
}

/// The text is not a rational this crate can hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotARatio;

impl FromStr for Ratio {
    type Err = NotARatio;

    /// Reads `3`, `1/4` and `0.25` (exactly, as 25/100).
    fn from_str(text: &str) -> Result<Self, NotARatio> {
        if let Some((num, den)) = text.split_once('/') {
            let ratio = Self::new(digits(num)?, digits(den)?);
            return ratio.ok_or(NotARatio);
        }
        let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
        let places = u32::try_from(fraction.len()).map_err(|_| NotARatio)?;
        let den = 10u32.checked_pow(places).ok_or(NotARatio)?;
        let num = digits(whole)?.checked_mul(den).ok_or(NotARatio)?;
        Self::new(num.checked_add(digits(fraction)?).ok_or(NotARatio)?, den).ok_or(NotARatio)
    }
}

/// An unsigned number of decimal digits only (`from_str` of std also takes a sign).
fn digits(text: &str) -> Result<u32, NotARatio> {
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) {
        return Err(NotARatio);
    }
    text.parse().map_err(|_| NotARatio)
}

/// The algorithm of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Design {
    /// Algorithm 1 of the paper; no privacy, host only.
    Conse,
    /// Algorithm 2 of the paper, as published.
    DpConse,
    /// Noisy ledgers at looks, adaptive; private by proof.
    Interim,
    /// A fixed trial with the noise of `interim`; private by the same proof.
    Uniform,
}

impl Design {
    /// All designs, in the order of their codes.
    pub const ALL: [Self; 4] = [Self::Conse, Self::DpConse, Self::Interim, Self::Uniform];

    /// The name used in plans and replies.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Conse => "conse",
            Self::DpConse => "dp-conse",
            Self::Interim => "interim",
            Self::Uniform => "uniform",
        }
    }
}

impl fmt::Display for Design {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The keys of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[allow(missing_docs, reason = "each is described in the table of the module header")]
pub enum Key {
    Design,
    Features,
    Patients,
    Scale,
    Alpha,
    Epsilon,
    Beta,
    Reports,
}

impl Key {
    /// All keys, in canonical order.
    pub const ALL: [Self; 8] = [
        Self::Design,
        Self::Features,
        Self::Patients,
        Self::Scale,
        Self::Alpha,
        Self::Epsilon,
        Self::Beta,
        Self::Reports,
    ];

    /// The key as written.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Design => "design",
            Self::Features => "features",
            Self::Patients => "patients",
            Self::Scale => "scale",
            Self::Alpha => "alpha",
            Self::Epsilon => "epsilon",
            Self::Beta => "beta",
            Self::Reports => "reports",
        }
    }

    /// What may stand behind the key.
    #[must_use]
    pub const fn allowed(self) -> &'static str {
        match self {
            Self::Design => "conse dp-conse interim uniform",
            Self::Features => "1..=64",
            Self::Patients => "2..=10000000",
            Self::Scale => "1..=65535",
            Self::Alpha => "0..=1",
            Self::Epsilon => "1/1000..=20",
            Self::Beta => "0..1 exclusive",
            Self::Reports => "0..=8",
        }
    }
}

/// The offending text of an error, cut to what a reply line can carry.
pub type Excerpt = heapless::String<24>;

fn excerpt(text: &str) -> Excerpt {
    let mut cut = Excerpt::new();
    for c in text.chars() {
        if cut.push(c).is_err() {
            break;
        }
    }
    cut
}

/// Why a plan was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlanError {
    /// The value of a key is no number, or outside what is allowed.
    Value(Key, Excerpt),
    /// A key that must be given was not.
    Missing(Key),
    /// A key was given twice.
    Twice(Key),
    /// A word is not `key=value` with a known key.
    Unknown(Excerpt),
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(key, value) => write!(f, "{}={value} allowed {}", key.name(), key.allowed()),
            Self::Missing(key) => write!(f, "{} missing allowed {}", key.name(), key.allowed()),
            Self::Twice(key) => write!(f, "{} given twice", key.name()),
            Self::Unknown(word) => write!(f, "{word} is no key=value of a plan"),
        }
    }
}

impl core::error::Error for PlanError {}

/// Parameters not yet checked: what [`Plan::new`] takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "each is described in the table of the module header")]
pub struct Parameters {
    pub design: Design,
    pub features: u8,
    pub patients: u32,
    pub scale: u16,
    pub alpha: Ratio,
    pub epsilon: Ratio,
    pub beta: Ratio,
    pub reports: u8,
}

/// The checked parameters of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan(Parameters);

impl Plan {
    /// The smallest plan; stands where no trial has been planned.
    pub(crate) const LEAST: Self = Self(Parameters {
        design: Design::Conse,
        features: 1,
        patients: 2,
        scale: 1,
        alpha: Ratio { num: 0, den: 1 },
        epsilon: Ratio { num: 1, den: 1 },
        beta: Ratio { num: 1, den: 2 },
        reports: 0,
    });

    /// Checks every parameter once.
    ///
    /// # Errors
    /// The first parameter out of its range.
    pub fn new(p: Parameters) -> Result<Self, PlanError> {
        let checks = [
            (Key::Features, (1..=MAX_FEATURES).contains(&p.features)),
            (Key::Patients, (2..=MAX_PATIENTS).contains(&p.patients)),
            (Key::Scale, p.scale >= 1),
            (Key::Alpha, p.alpha.at_most(1, 1)),
            (Key::Epsilon, p.epsilon.at_most(20, 1) && !below(p.epsilon, 1, 1000)),
            (Key::Beta, p.beta.num > 0 && below(p.beta, 1, 1)),
            (Key::Reports, p.reports <= MAX_REPORTS),
        ];
        for (key, good) in checks {
            if !good {
                let mut value = Excerpt::new();
                // An excerpt that does not fit is cut; the key and the range still say what is wrong.
                let _ = Self(p).write_value(key, &mut value);
                return Err(PlanError::Value(key, value));
            }
        }
        Ok(Self(p))
    }

    /// Reads `key=value` words separated by blanks.
    ///
    /// # Errors
    /// The first word that cannot be taken, or a key that is missing.
    pub fn parse(text: &str) -> Result<Self, PlanError> {
        Self::from_pairs(text.split_ascii_whitespace().map(|word| word.split_once('=').unwrap_or((word, ""))))
    }

    /// Reads pairs of key and value.
    ///
    /// # Errors
    /// The first pair that cannot be taken, or a key that is missing.
    pub fn from_pairs<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Self, PlanError> {
        let (mut design, mut features, mut patients, mut scale) = (None, None, None, None);
        let (mut alpha, mut epsilon, mut beta, mut reports) = (None, None, None, None);
        for (name, value) in pairs {
            let Some(key) = Key::ALL.into_iter().find(|key| key.name() == name) else {
                return Err(PlanError::Unknown(excerpt(name)));
            };
            let bad = || PlanError::Value(key, excerpt(value));
            let number = || digits(value).map_err(|NotARatio| bad());
            let ratio = || value.parse::<Ratio>().map_err(|NotARatio| bad());
            let fresh = match key {
                Key::Design => {
                    let found = Design::ALL.into_iter().find(|d| d.name() == value).ok_or_else(bad)?;
                    design.replace(found).is_none()
                }
                Key::Features => features.replace(u8::try_from(number()?).map_err(|_| bad())?).is_none(),
                Key::Patients => patients.replace(number()?).is_none(),
                Key::Scale => scale.replace(u16::try_from(number()?).map_err(|_| bad())?).is_none(),
                Key::Alpha => alpha.replace(ratio()?).is_none(),
                Key::Epsilon => epsilon.replace(ratio()?).is_none(),
                Key::Beta => beta.replace(ratio()?).is_none(),
                Key::Reports => reports.replace(u8::try_from(number()?).map_err(|_| bad())?).is_none(),
            };
            if !fresh {
                return Err(PlanError::Twice(key));
            }
        }
        Self::new(Parameters {
            design: design.unwrap_or(Design::Interim),
            features: features.ok_or(PlanError::Missing(Key::Features))?,
            patients: patients.ok_or(PlanError::Missing(Key::Patients))?,
            scale: scale.unwrap_or(1),
            alpha: alpha.unwrap_or(Ratio { num: 1, den: 4 }),
            epsilon: epsilon.ok_or(PlanError::Missing(Key::Epsilon))?,
            beta: beta.unwrap_or(Ratio { num: 1, den: 20 }),
            reports: reports.unwrap_or(0),
        })
    }

    /// The algorithm.
    #[must_use]
    pub const fn design(&self) -> Design {
        self.0.design
    }
    /// M, the number of features.
    #[must_use]
    pub const fn features(&self) -> u8 {
        self.0.features
    }
    /// n, the horizon.
    #[must_use]
    pub const fn patients(&self) -> u32 {
        self.0.patients
    }
    /// Y, the largest outcome.
    #[must_use]
    pub const fn scale(&self) -> u16 {
        self.0.scale
    }
    /// The trade between estimate and regret.
    #[must_use]
    pub const fn alpha(&self) -> Ratio {
        self.0.alpha
    }
    /// The privacy loss of one patient.
    #[must_use]
    pub const fn epsilon(&self) -> Ratio {
        self.0.epsilon
    }
    /// The two-sided level at which a look lets a feature leave the fair coin.
    #[must_use]
    pub const fn beta(&self) -> Ratio {
        self.0.beta
    }
    /// Planned looks inside the second half.
    #[must_use]
    pub const fn reports(&self) -> u8 {
        self.0.reports
    }
    /// The patients of the first half, at least 1.
    #[must_use]
    pub const fn half(&self) -> u32 {
        self.0.patients / 2
    }
    /// epsilon/(2Y): the rate of the noise on a sum of outcomes.
    #[must_use]
    pub const fn cell_rate(&self) -> Rate {
        self.0.epsilon.half_over(self.0.scale as u32)
    }
    /// epsilon/2: the rate of the noise on a number of patients.
    #[must_use]
    pub const fn length_rate(&self) -> Rate {
        self.0.epsilon.half_over(1)
    }
    /// The parameters, to change some and check again.
    #[must_use]
    pub const fn parameters(&self) -> Parameters {
        self.0
    }

    fn write_value(&self, key: Key, out: &mut impl fmt::Write) -> fmt::Result {
        let p = &self.0;
        match key {
            Key::Design => out.write_str(p.design.name()),
            Key::Features => write!(out, "{}", p.features),
            Key::Patients => write!(out, "{}", p.patients),
            Key::Scale => write!(out, "{}", p.scale),
            Key::Alpha => write!(out, "{}", p.alpha),
            Key::Epsilon => write!(out, "{}", p.epsilon),
            Key::Beta => write!(out, "{}", p.beta),
            Key::Reports => write!(out, "{}", p.reports),
        }
    }

    /// The fixed byte form: little-endian, in the order of the keys.
    #[must_use]
    pub fn encode(&self) -> [u8; PLAN_BYTES] {
        let p = &self.0;
        let mut bytes = [0; PLAN_BYTES];
        let mut rest = bytes.iter_mut();
        let mut put = |field: &[u8]| rest.by_ref().zip(field).for_each(|(to, from)| *to = *from);
        put(&[p.design as u8, p.features]);
        put(&p.patients.to_le_bytes());
        put(&p.scale.to_le_bytes());
        for ratio in [p.alpha, p.epsilon, p.beta] {
            put(&ratio.num.to_le_bytes());
            put(&ratio.den.to_le_bytes());
        }
        put(&[p.reports]);
        bytes
    }

    /// Reads the byte form; `None` if it is not that of a plan.
    #[must_use]
    pub fn decode(bytes: &[u8; PLAN_BYTES]) -> Option<Self> {
        let mut rest: &[u8] = bytes;
        let mut byte = || take(&mut rest).map(u8::from_le_bytes);
        let (design, features) = (byte()?, byte()?);
        let patients = u32::from_le_bytes(take(&mut rest)?);
        let scale = u16::from_le_bytes(take(&mut rest)?);
        let mut ratio = || {
            let (num, den) = (u32::from_le_bytes(take(&mut rest)?), u32::from_le_bytes(take(&mut rest)?));
            Ratio::new(num, den)
        };
        let (alpha, epsilon, beta) = (ratio()?, ratio()?, ratio()?);
        let [reports] = take(&mut rest)?;
        let design = *Design::ALL.get(usize::from(design))?;
        Self::new(Parameters { design, features, patients, scale, alpha, epsilon, beta, reports }).ok()
    }
}

/// Splits the next `N` bytes off the front.
pub(crate) fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (head, tail) = rest.split_first_chunk::<N>()?;
    *rest = tail;
    Some(*head)
}

const _: () = assert!(Rate::new(1, 1000 * 2 * u16::MAX as u64).is_some() && Rate::new(20, 2).is_some());

/// Is `ratio` strictly below `num/den`?
const fn below(ratio: Ratio, num: u32, den: u32) -> bool {
    (ratio.num as u64 * den as u64) < num as u64 * ratio.den as u64
}

impl fmt::Display for Plan {
    /// The canonical `key=value` form, every key given.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, key) in Key::ALL.into_iter().enumerate() {
            if i > 0 {
                f.write_str(" ")?;
            }
            write!(f, "{}=", key.name())?;
            self.write_value(key, f)?;
        }
        Ok(())
    }
}

impl FromStr for Plan {
    type Err = PlanError;
    fn from_str(text: &str) -> Result<Self, PlanError> {
        Self::parse(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::*;

    const GOOD: &str = "features=10 patients=20000 epsilon=1";

    #[test]
    fn a_plan_prints_in_canonical_form_and_reads_back() {
        let plan = Plan::parse(GOOD).unwrap();
        let text = plan.to_string();
        assert_eq!(
            text,
            "design=interim features=10 patients=20000 scale=1 alpha=1/4 epsilon=1 beta=1/20 reports=0"
        );
        assert_eq!(Plan::parse(&text), Ok(plan));
        assert_eq!(Plan::decode(&plan.encode()), Some(plan));
    }

    #[test]
    fn the_longest_plan_fits_a_request_line() {
        let text = "design=dp-conse features=64 patients=10000000 scale=65535 alpha=999999/1000000 \
                    epsilon=999999/1000000";
        assert!(Plan::parse(text).is_ok());
        assert!("PLAN ".len() + text.len() + "*FFFF".len() <= 120);
    }

    #[test]
    fn every_bad_value_is_named_with_its_key_and_the_allowed_range() {
        for (word, message) in [
            ("features=0", "features=0 allowed 1..=64"),
            ("features=65", "features=65 allowed 1..=64"),
            ("features=300", "features=300 allowed 1..=64"),
            ("patients=1", "patients=1 allowed 2..=10000000"),
            ("patients=10000001", "patients=10000001 allowed 2..=10000000"),
            ("scale=0", "scale=0 allowed 1..=65535"),
            ("scale=65536", "scale=65536 allowed 1..=65535"),
            ("alpha=5/4", "alpha=5/4 allowed 0..=1"),
            ("alpha=-1", "alpha=-1 allowed 0..=1"),
            ("epsilon=1/1001", "epsilon=1/1001 allowed 1/1000..=20"),
            ("epsilon=20.1", "epsilon=201/10 allowed 1/1000..=20"),
            ("epsilon=1/0", "epsilon=1/0 allowed 1/1000..=20"),
            ("epsilon=nan", "epsilon=nan allowed 1/1000..=20"),
            ("beta=0", "beta=0 allowed 0..1 exclusive"),
            ("beta=1", "beta=1 allowed 0..1 exclusive"),
            ("reports=9", "reports=9 allowed 0..=8"),
            ("design=best", "design=best allowed conse dp-conse interim uniform"),
            ("colour=red", "colour is no key=value of a plan"),
            ("words", "words is no key=value of a plan"),
        ] {
            let key = word.split('=').next().unwrap();
            let rest = GOOD.split(' ').filter(|w| w.split('=').next() != Some(key));
            let text = rest.chain([word]).fold(String::new(), |all, w| all + " " + w);
            assert_eq!(Plan::parse(&text).unwrap_err().to_string(), message, "{text}");
        }
        assert_eq!(
            Plan::parse("features=1 epsilon=1").unwrap_err().to_string(),
            "patients missing allowed 2..=10000000"
        );
        assert_eq!(Plan::parse(&format!("{GOOD} epsilon=2")).unwrap_err().to_string(), "epsilon given twice");
    }

    #[test]
    fn ratios_are_exact() {
        assert_eq!("0.25".parse(), Ok(Ratio { num: 1, den: 4 }));
        assert_eq!("2/8".parse(), Ok(Ratio { num: 1, den: 4 }));
        assert_eq!("20".parse(), Ok(Ratio { num: 20, den: 1 }));
        for bad in ["", ".", "1/", "/2", "+1", "1e3", "0.0000001", "1/1000001", "99999999999", "1.2.3"] {
            assert_eq!(bad.parse::<Ratio>(), Err(NotARatio), "{bad}");
        }
    }

    #[test]
    fn damaged_bytes_are_no_plan() {
        let good = Plan::parse(GOOD).unwrap().encode();
        assert_eq!(Plan::decode(&[0xFF; PLAN_BYTES]), None);
        assert_eq!(Plan::decode(&[0; PLAN_BYTES]), None);
        let mut bad = good;
        bad[0] = 4;
        assert_eq!(Plan::decode(&bad), None);
    }
}
