//! A line of the audit: what was found, compared with what the design claims.

use super::loss::Loss;
use equipoise::plan::{DesignName, Plan};

/// Privacy claim of a design.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Claim {
    /// The privacy loss of one patient.
    pub epsilon: f64,
    /// The mass that may exceed it.
    pub delta: f64,
}

/// How something was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// Every chance of a trial, over the line of the device that ships.
    Exact,
    /// Sums over known laws at full size.
    Structured,
    /// Runs of the device over its line.
    BlackBox,
    /// The sampler's tables, and draws.
    Noise,
    /// Seeds of the generator, over many starts.
    Seeds,
    /// Exact likelihood ratios of pairs of trials over the line.
    Pairs,
}

/// Result of comparing a finding with the claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Within the claim.
    Holds,
    /// Beyond the claim.
    Exceeded,
    /// The design claims nothing.
    NoClaim,
}

/// One line of the audit.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Finding {
    /// The design's name.
    pub design: &'static str,
    /// How it was found.
    pub method: Method,
    /// The trial, and what is seen of it.
    pub instance: String,
    /// The claim of the design, `None` for `conse`.
    pub claimed: Option<Claim>,
    /// The smallest epsilon found at delta = 0 (a lower bound from the black box); JSON `null`
    /// where there is none.
    pub epsilon: f64,
    /// The least delta at the claimed epsilon (a lower bound from the black box).
    pub delta: f64,
    /// The verdict on the claim.
    pub verdict: Verdict,
}

/// Excess over a claim that is put down to rounding and to the tails left out.
pub const TOLERANCE: f64 = 1e-9;

impl Finding {
    /// Compares what was found with the claim. A claim of (epsilon, delta) is exceeded when more
    /// than delta is left at epsilon; for a pure claim that is when the loss exceeds epsilon.
    #[must_use]
    pub fn new(
        design: DesignName,
        method: Method,
        instance: String,
        claimed: Option<Claim>,
        found: Loss,
    ) -> Self {
        let verdict = match claimed {
            None => Verdict::NoClaim,
            Some(claim) if found.delta > claim.delta + TOLERANCE => Verdict::Exceeded,
            Some(claim) if claim.delta == 0.0 && found.epsilon > claim.epsilon + TOLERANCE => {
                Verdict::Exceeded
            }
            Some(_) => Verdict::Holds,
        };
        let Loss { epsilon, delta } = found;
        Self { design: design.name(), method, instance, claimed, epsilon, delta, verdict }
    }
}

/// The claim of a plan: ours for `interim` and `uniform`, the paper's Theorem 4 for `dp-conse`,
/// none for `conse`.
#[must_use]
pub fn claim(plan: &Plan) -> Option<Claim> {
    published(plan.design(), plan.epsilon().to_f64(), plan.patients())
}

pub(super) fn published(design: DesignName, epsilon: f64, patients: u32) -> Option<Claim> {
    match design {
        DesignName::Conse => None,
        DesignName::DpConse => Some(Claim { epsilon, delta: 1.0 / f64::from(patients) }),
        DesignName::Interim | DesignName::Uniform => Some(Claim { epsilon, delta: 0.0 }),
    }
}

/// Said when a device is provisioned with `dp-conse`. The figures are those of `equipoise audit
/// --design dp-conse`.
pub const DP_CONSE: &str = "\
Note: dp-conse is the published algorithm, and its published privacy, (epsilon, 1/n), does not survive an exact audit.
One patient can move the lengths of the measuring phase in every feature at once: with 10 features, epsilon 1 and
n = 10000 the loss is 5.0, and a delta of 0.33 is left at epsilon 1 where 0.0001 is claimed. A patient of another
feature is told apart through the noisy means with a loss of 2 epsilon (delta 0.24), and at epsilon 0.1 the end of one
batch alone leaves a delta of 0.014. The design `interim` holds its epsilon. See docs/privacy.md.";
