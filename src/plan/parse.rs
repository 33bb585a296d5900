//! Plans as text: `key=value` words, and one canonical form.

use core::fmt;
use core::str::FromStr;

use super::{Better, Close, DesignName, Parameters, Plan, Results};
use crate::ratio::{MAX_DENOMINATOR, NotARatio, Ratio, digits, split_once};
use crate::terms::MAX_KITS;

/// The keys of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[allow(missing_docs, reason = "each is described in the table of the module header")]
pub enum Key {
    Design,
    Features,
    Patients,
    Scale,
    Better,
    Alpha,
    Epsilon,
    Beta,
    Reports,
    Results,
    Close,
    Kits,
}

impl Key {
    /// All keys, in canonical order.
    pub const ALL: [Self; 12] = [
        Self::Design,
        Self::Features,
        Self::Patients,
        Self::Scale,
        Self::Better,
        Self::Alpha,
        Self::Epsilon,
        Self::Beta,
        Self::Reports,
        Self::Results,
        Self::Close,
        Self::Kits,
    ];

    /// The key as written.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Design => "design",
            Self::Features => "features",
            Self::Patients => "patients",
            Self::Scale => "scale",
            Self::Better => "better",
            Self::Alpha => "alpha",
            Self::Epsilon => "epsilon",
            Self::Beta => "beta",
            Self::Reports => "reports",
            Self::Results => "results",
            Self::Close => "close",
            Self::Kits => "kits",
        }
    }

    /// Allowed values of the key.
    #[must_use]
    pub const fn allowed(self) -> &'static str {
        match self {
            Self::Design => "conse dp-conse interim uniform",
            Self::Features => "1..=64",
            Self::Patients => "2..=10000000",
            Self::Scale => "1..=65535",
            Self::Better => "high low",
            Self::Alpha => "0..=1",
            Self::Epsilon => "1/1000..=20",
            Self::Beta => "0..1 exclusive",
            Self::Reports => "0..=8",
            Self::Results => "custodian close open",
            Self::Close => "custodian auto",
            Self::Kits => "0, or patients..=1048576",
        }
    }
}

/// The offending text of an error, cut to what a reply line can carry.
pub type Excerpt = heapless::String<24>;

/// The first characters of a word, with every byte that is not allowed in a line shown as `?`.
// Not inlined: there are many places that refuse a word.
#[inline(never)]
pub(crate) fn excerpt(word: &[u8]) -> Excerpt {
    let mut cut = Excerpt::new();
    for byte in word {
        let shown = matches!(byte, b' '..=b'~') && *byte != b'*';
        if cut.push(if shown { char::from(*byte) } else { '?' }).is_err() {
            break;
        }
    }
    cut
}

/// Why a plan was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlanError {
    /// The value of a key is not a number, or outside what is allowed.
    Value(Key, Excerpt),
    /// The value of a key is not an exact fraction that a plan can hold.
    Fraction(Key, Excerpt),
    /// A key that must be given was not.
    Missing(Key),
    /// A key was given twice.
    Twice(Key),
    /// A blinded trial needs a kit of each arm for every patient.
    Kits {
        /// The kits an arm.
        kits: u32,
        /// The patients.
        patients: u32,
    },
    /// A word is not `key=value` with a known key.
    Unknown(Excerpt),
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(key, value) => {
                write!(f, "{}={value} allowed {}", key.name(), key.allowed())
            }
            Self::Fraction(key, value) => write!(
                f,
                "{}={value} allowed {}, as 3, 1/4 or 0.25, denominator up to {MAX_DENOMINATOR}",
                key.name(),
                key.allowed()
            ),
            Self::Missing(key) => write!(f, "{} missing allowed {}", key.name(), key.allowed()),
            Self::Twice(key) => write!(f, "{} given twice", key.name()),
            Self::Kits { kits, patients } => write!(
                f,
                "kits={kits} patients={patients} allowed kits=0, or {patients}..={MAX_KITS}"
            ),
            Self::Unknown(word) => write!(f, "{word} is no key=value of a plan"),
        }
    }
}

impl core::error::Error for PlanError {}

impl Plan {
    /// Reads `key=value` words separated by blanks.
    ///
    /// # Errors
    /// The first word that cannot be taken, or a key that is missing.
    pub fn parse(text: &str) -> Result<Self, PlanError> {
        Self::from_pairs(
            text.split_ascii_whitespace().map(|word| split_once(word, b'=').unwrap_or((word, ""))),
        )
    }

    /// Reads pairs of key and value.
    ///
    /// # Errors
    /// The first pair that cannot be taken, or a key that is missing.
    pub fn from_pairs<'a>(
        pairs: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, PlanError> {
        let (mut design, mut features, mut patients, mut scale) = (None, None, None, None);
        let (mut better, mut alpha, mut epsilon, mut beta) = (None, None, None, None);
        let (mut reports, mut results, mut close, mut kits) = (None, None, None, None);
        for (name, value) in pairs {
            let Some(key) = Key::ALL.into_iter().find(|key| key.name() == name) else {
                return Err(PlanError::Unknown(excerpt(name.as_bytes())));
            };
            let bad = || PlanError::Value(key, excerpt(value.as_bytes()));
            let number = || digits(value).map_err(|NotARatio| bad());
            let ratio = || {
                let not = |NotARatio| PlanError::Fraction(key, excerpt(value.as_bytes()));
                value.parse::<Ratio>().map_err(not)
            };
            let fresh = match key {
                Key::Design => {
                    let found =
                        DesignName::ALL.into_iter().find(|d| d.name() == value).ok_or_else(bad)?;
                    design.replace(found).is_none()
                }
                Key::Features => {
                    features.replace(u8::try_from(number()?).map_err(|_| bad())?).is_none()
                }
                Key::Patients => patients.replace(number()?).is_none(),
                Key::Scale => scale.replace(u16::try_from(number()?).map_err(|_| bad())?).is_none(),
                Key::Better => {
                    let found =
                        Better::ALL.into_iter().find(|b| b.name() == value).ok_or_else(bad)?;
                    better.replace(found).is_none()
                }
                Key::Alpha => alpha.replace(ratio()?).is_none(),
                Key::Epsilon => epsilon.replace(ratio()?).is_none(),
                Key::Beta => beta.replace(ratio()?).is_none(),
                Key::Reports => {
                    reports.replace(u8::try_from(number()?).map_err(|_| bad())?).is_none()
                }
                Key::Results => {
                    let found =
                        Results::ALL.into_iter().find(|r| r.name() == value).ok_or_else(bad)?;
                    results.replace(found).is_none()
                }
                Key::Kits => kits.replace(number()?).is_none(),
                Key::Close => {
                    let found =
                        Close::ALL.into_iter().find(|c| c.name() == value).ok_or_else(bad)?;
                    close.replace(found).is_none()
                }
            };
            if !fresh {
                return Err(PlanError::Twice(key));
            }
        }
        Self::new(Parameters {
            design: design.unwrap_or(DesignName::Interim),
            features: features.ok_or(PlanError::Missing(Key::Features))?,
            patients: patients.ok_or(PlanError::Missing(Key::Patients))?,
            scale: scale.unwrap_or(1),
            better: better.ok_or(PlanError::Missing(Key::Better))?,
            alpha: alpha.unwrap_or(Ratio::QUARTER),
            epsilon: epsilon.ok_or(PlanError::Missing(Key::Epsilon))?,
            beta: beta.unwrap_or(Ratio::TWENTIETH),
            reports: reports.unwrap_or(0),
            results: results.unwrap_or(Results::Custodian),
            close: close.unwrap_or(Close::Custodian),
            kits: kits.unwrap_or(0),
        })
    }

    pub(super) fn write_value(&self, key: Key, out: &mut impl fmt::Write) -> fmt::Result {
        let p = &self.0;
        match key {
            Key::Design => out.write_str(p.design.name()),
            Key::Features => write!(out, "{}", p.features),
            Key::Patients => write!(out, "{}", p.patients),
            Key::Scale => write!(out, "{}", p.scale),
            Key::Better => out.write_str(p.better.name()),
            Key::Alpha => write!(out, "{}", p.alpha),
            Key::Epsilon => write!(out, "{}", p.epsilon),
            Key::Beta => write!(out, "{}", p.beta),
            Key::Reports => write!(out, "{}", p.reports),
            Key::Results => out.write_str(p.results.name()),
            Key::Close => out.write_str(p.close.name()),
            Key::Kits => write!(out, "{}", p.kits),
        }
    }
}

impl fmt::Display for Plan {
    /// The canonical `key=value` form, every key given; but `results` and `close` only if they are
    /// not `custodian`, and `kits` only if there are any, so that the longest plan fits a line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, key) in Key::ALL.into_iter().enumerate() {
            let usual = match key {
                Key::Results => self.results() == Results::Custodian,
                Key::Close => !self.closes_by_itself(),
                Key::Kits => !self.is_blinded(),
                _ => false,
            };
            if usual {
                continue;
            }
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
