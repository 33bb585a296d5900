//! The public parameters of a trial.
//!
//! A [`Plan`] is checked once, when it is made, and never again. All parameters are
//! integers or exact rationals, so that two machines that read the same plan compute the same
//! trial. It is read from `key=value` words (the `PLAN` request, a command line) or from any other
//! list of pairs (a trial file), and printed back in one canonical form.
//!
//! | key | meaning | allowed | if absent |
//! |---|---|---|---|
//! | `design` | the algorithm | `conse`, `dp-conse`, `interim`, `uniform` | `interim` |
//! | `features` | kinds of patient, M | 1..=64 | required |
//! | `patients` | horizon, n | 2..=10000000 | required |
//! | `scale` | largest outcome, Y | 1..=65535 | 1 |
//! | `better` | which outcomes are the better ones: large or small | `high`, `low` | required |
//! | `alpha` | 0: best estimate, 1: least regret | 0..=1 | 1/4 |
//! | `epsilon` | privacy loss of one patient | 1/1000..=20 | required |
//! | `beta` | two-sided level at which a feature settles (`interim`) | 0..1, exclusive | 1/20 |
//! | `reports` | planned reports inside the second half (`interim`, `uniform`) | 0..=8 | 0 |
//! | `results` | who may ask for the report: the custodian, everybody once the trial is closed, everybody | `custodian`, `close`, `open` | `custodian` |
//! | `kits` | kits an arm of a blinded trial ([`crate::kits`]); 0: not blinded | 0, or `patients`..=1048576 | 0 |
//! | `close` | who ends the trial once every patient is resolved: the custodian, or the trial itself (`interim`, `uniform`) | `custodian`, `auto` | `custodian` |

mod bytes;
mod choices;
mod parse;

use crate::ratio::Rate;
use crate::terms::{MAX_FEATURES, MAX_KITS, MAX_PATIENTS, MAX_REPORTS};

pub use crate::ratio::{MAX_DENOMINATOR, NotARatio, Ratio};
pub use bytes::PLAN_BYTES;
pub use choices::{Better, Close, DesignName, Results};
pub(crate) use parse::excerpt;
pub use parse::{Excerpt, Key, PlanError};

/// Parameters not yet checked: what [`Plan::new`] takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "each is described in the table of the module header")]
pub struct Parameters {
    pub design: DesignName,
    pub features: u8,
    pub patients: u32,
    pub scale: u16,
    pub better: Better,
    pub alpha: Ratio,
    pub epsilon: Ratio,
    pub beta: Ratio,
    pub reports: u8,
    pub results: Results,
    pub close: Close,
    pub kits: u32,
}

/// The checked parameters of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan(Parameters);

impl Plan {
    /// No plan at all: zeros, in memory that waits for a trial.
    pub(crate) const NONE: Self = Self(Parameters {
        design: DesignName::Conse,
        features: 0,
        patients: 0,
        scale: 0,
        better: Better::High,
        alpha: Ratio::NONE,
        epsilon: Ratio::NONE,
        beta: Ratio::NONE,
        reports: 0,
        results: Results::Custodian,
        close: Close::Custodian,
        kits: 0,
    });

    /// The smallest plan; stands where no trial has been planned.
    pub(crate) const LEAST: Self = Self(Parameters {
        design: DesignName::Conse,
        features: 1,
        patients: 2,
        scale: 1,
        better: Better::High,
        alpha: Ratio::ZERO,
        epsilon: Ratio::ONE,
        beta: Ratio::HALF,
        reports: 0,
        results: Results::Custodian,
        close: Close::Custodian,
        kits: 0,
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
            (Key::Epsilon, p.epsilon.at_most(20, 1) && !p.epsilon.is_below(1, 1000)),
            (Key::Beta, p.beta.num() > 0 && p.beta.is_below(1, 1)),
            (Key::Reports, p.reports <= MAX_REPORTS),
            (Key::Kits, p.kits <= MAX_KITS),
        ];
        for (key, good) in checks {
            if !good {
                let mut value = Excerpt::new();
                // An excerpt that does not fit is cut; the key and the range still say what is
                // wrong.
                let _ = Self(p).write_value(key, &mut value);
                return Err(PlanError::Value(key, value));
            }
        }
        // The worst case: every patient gets the same arm.
        if p.kits > 0 && p.kits < p.patients {
            return Err(PlanError::Kits { kits: p.kits, patients: p.patients });
        }
        Ok(Self(p))
    }

    /// The algorithm.
    #[must_use]
    pub const fn design(&self) -> DesignName {
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
    /// Which outcomes are the better ones.
    #[must_use]
    pub const fn better(&self) -> Better {
        self.0.better
    }
    /// An outcome as designs take it, for whom a larger one is better.
    #[must_use]
    pub(crate) const fn oriented(&self, y: u16) -> u16 {
        match self.0.better {
            Better::High => y,
            Better::Low => self.0.scale.saturating_sub(y),
        }
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
    /// The two-sided significance level at which a feature settles.
    #[must_use]
    pub const fn beta(&self) -> Ratio {
        self.0.beta
    }
    /// Planned looks inside the second half.
    #[must_use]
    pub const fn reports(&self) -> u8 {
        self.0.reports
    }
    /// Who may ask for the report.
    #[must_use]
    pub const fn results(&self) -> Results {
        self.0.results
    }
    /// Whether the closing look falls by itself when every patient is resolved.
    #[must_use]
    pub const fn closes_by_itself(&self) -> bool {
        matches!(self.0.close, Close::Auto)
    }
    /// N, the kits an arm; 0 if the trial is not blinded.
    #[must_use]
    pub const fn kits(&self) -> u32 {
        self.0.kits
    }
    /// Whether patients are given kit numbers and not arms.
    #[must_use]
    pub const fn is_blinded(&self) -> bool {
        self.0.kits > 0
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::prelude::rust_2024::*;

    const GOOD: &str = "features=10 patients=20000 better=high epsilon=1";

    /// A plan prints in canonical form and reads back.
    #[test]
    fn plan_prints_in_canonical_form() {
        let plan = Plan::parse(GOOD).unwrap();
        let text = plan.to_string();
        assert_eq!(
            text,
            "design=interim features=10 patients=20000 scale=1 better=high alpha=1/4 epsilon=1 beta=1/20 reports=0"
        );
        assert_eq!(Plan::parse(&text), Ok(plan));
        assert_eq!(Plan::decode(&plan.encode()), Some(plan));
        assert_eq!(Plan::parse(&format!("{text} close=custodian")), Ok(plan));
        let auto = Plan::parse(&format!("{text} close=auto")).unwrap();
        assert_eq!(auto.to_string(), format!("{text} close=auto"));
        assert!(auto.closes_by_itself() && Plan::decode(&auto.encode()) == Some(auto));
        assert_eq!(Plan::parse(&format!("{text} results=custodian")), Ok(plan));
        for results in ["close", "open"] {
            let other = Plan::parse(&format!("{text} results={results}")).unwrap();
            assert_eq!(other.to_string(), format!("{text} results={results}"));
            assert_eq!(Plan::decode(&other.encode()), Some(other));
        }
        let low = Plan::parse(&text.replace("high", "low")).unwrap();
        assert_eq!(low.to_string(), text.replace("high", "low"));
        assert!(low != plan && Plan::decode(&low.encode()) == Some(low));
        assert_eq!(Plan::parse(&format!("{text} kits=0")), Ok(plan));
        let blinded = Plan::parse(&format!("{text} kits=20000")).unwrap();
        assert_eq!(blinded.to_string(), format!("{text} kits=20000"));
        assert!(blinded.is_blinded() && Plan::decode(&blinded.encode()) == Some(blinded));
    }

    /// Every bad value is named with its key and the allowed range.
    #[test]
    fn bad_value_is_named_with_its_range() {
        for (word, message) in [
            ("features=0", "features=0 allowed 1..=64"),
            ("features=65", "features=65 allowed 1..=64"),
            ("features=300", "features=300 allowed 1..=64"),
            ("patients=1", "patients=1 allowed 2..=10000000"),
            ("patients=10000001", "patients=10000001 allowed 2..=10000000"),
            ("scale=0", "scale=0 allowed 1..=65535"),
            ("scale=65536", "scale=65536 allowed 1..=65535"),
            ("better=most", "better=most allowed high low"),
            ("results=never", "results=never allowed custodian close open"),
            ("alpha=5/4", "alpha=5/4 allowed 0..=1"),
            ("alpha=-1", "alpha=-1 allowed 0..=1, as 3, 1/4 or 0.25, denominator up to 10000"),
            ("epsilon=1/1001", "epsilon=1/1001 allowed 1/1000..=20"),
            ("epsilon=20.1", "epsilon=201/10 allowed 1/1000..=20"),
            (
                "epsilon=1/0",
                "epsilon=1/0 allowed 1/1000..=20, as 3, 1/4 or 0.25, denominator up to 10000",
            ),
            (
                "epsilon=nan",
                "epsilon=nan allowed 1/1000..=20, as 3, 1/4 or 0.25, denominator up to 10000",
            ),
            ("beta=0", "beta=0 allowed 0..1 exclusive"),
            ("beta=1", "beta=1 allowed 0..1 exclusive"),
            ("reports=9", "reports=9 allowed 0..=8"),
            ("close=never", "close=never allowed custodian auto"),
            ("kits=1048577", "kits=1048577 allowed 0, or patients..=1048576"),
            ("kits=-1", "kits=-1 allowed 0, or patients..=1048576"),
            ("kits=19999", "kits=19999 patients=20000 allowed kits=0, or 20000..=1048576"),
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
            Plan::parse("features=1 better=high epsilon=1").unwrap_err().to_string(),
            "patients missing allowed 2..=10000000"
        );
        assert_eq!(
            Plan::parse("features=1 patients=2 epsilon=1").unwrap_err().to_string(),
            "better missing allowed high low"
        );
        assert_eq!(
            Plan::parse(&format!("{GOOD} epsilon=2")).unwrap_err().to_string(),
            "epsilon given twice"
        );
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
