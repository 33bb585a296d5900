//! The privacy audit: `equipoise audit` compares what a design claims with what can be found out
//! about it.
//!
//! * [`exact`]: every chance of a trial over the line of the device that ships, for all records of
//!   one patient;
//! * [`pairs`]: exact likelihood ratios of pairs of trials of any size, over the line;
//! * [`sampler`]: the law of the noise, from the sampler's tables and by draws;
//! * [`seeds`]: the seeds of the generator over many starts, and the samples they are made of;
//! * [`structured`]: the parts whose laws are known, at full size;
//! * [`kits`]: a statistical attack on the kit numbers of blinded trials;
//! * [`black_box`]: the device over its line, many times, with the error of its bounds stated.
//!
//! `interim` and `uniform` claim (epsilon, 0): that is our claim, and if anything exceeds it the
//! command fails. `dp-conse` is compared with the (epsilon, 1/n) of its paper, a claim we do not
//! make: a device calls the design `unproven`. So an audit of all designs reports that claim as
//! exceeded and still succeeds; an audit with `--design dp-conse` fails. `conse` claims nothing and
//! is there for comparison.

pub mod black_box;
pub mod cases;
pub mod desk;
pub mod enumerator;
pub mod exact;
pub mod families;
pub mod finding;
mod flash;
pub mod kits;
pub mod loss;
pub mod pairs;
pub mod sampler;
pub mod seeds;
pub mod structured;
pub mod suite;
pub mod table;

use equipoise::plan::DesignName;
use finding::{Finding, Verdict};

/// Which methods to use.
#[derive(Clone, Copy, Debug)]
pub struct Methods {
    /// The law of the noise, the seeds, every chance of small trials, and this many pairs of
    /// larger ones at each epsilon.
    pub exact: Option<u32>,
    /// Sums over known laws.
    pub structured: bool,
    /// Runs of the device over its line, this many on each of two neighbouring trials.
    pub black_box: Option<u32>,
}

/// Whether a claim is exceeded that somebody relies on.
#[must_use]
pub fn fails(findings: &[Finding], asked: Option<DesignName>) -> bool {
    let ours = [DesignName::Interim, DesignName::Uniform].map(DesignName::name);
    let relied_on = |f: &&Finding| ours.contains(&f.design) || asked.is_some();
    findings.iter().filter(relied_on).any(|f| f.verdict == Verdict::Exceeded)
}

/// Findings of these methods about one design, or about all.
#[must_use]
pub fn findings_of(methods: Methods, only: Option<DesignName>) -> Vec<Finding> {
    let designs =
        DesignName::ALL.into_iter().filter(|design| only.is_none_or(|only| only == *design));
    let mut findings = Vec::new();
    for design in designs {
        if let Some(count) = methods.exact {
            findings.extend(suite::noise(design).iter().map(sampler::finding));
            findings.extend(suite::seeds(design));
            findings.extend(families::families(design).iter().map(families::Family::finding));
            findings.extend(suite::pairs(design, count));
        }
        if methods.structured {
            findings.extend(suite::structured(design));
        }
        if let Some(runs) = methods.black_box {
            let experiments =
                black_box::experiments().into_iter().filter(|e| e.plan.design() == design);
            findings.extend(experiments.map(|experiment| experiment.finding(runs)));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::{Claim, Method};
    use crate::loss::Loss;

    /// A claim that is exceeded fails the audit if it is ours, or if its design was asked for.
    #[test]
    fn only_claims_relied_on_fail_the_audit() {
        let finding = |design, epsilon| {
            let claim = Some(Claim { epsilon: 1.0, delta: 0.0 });
            Finding::new(design, Method::Exact, String::new(), claim, Loss { epsilon, delta: 0.0 })
        };
        let (held, broken) = (finding(DesignName::Interim, 1.0), finding(DesignName::Interim, 1.1));
        let published = finding(DesignName::DpConse, 5.0);
        assert_eq!((held.verdict, broken.verdict), (Verdict::Holds, Verdict::Exceeded));
        assert!(!fails(&[held.clone(), published.clone()], None));
        assert!(fails(&[published], Some(DesignName::DpConse)));
        assert!(fails(&[held, broken], None));
    }
}
