//! Instances that `equipoise audit` examines besides the [families](super::families) of small
//! trials.

use super::finding::{Finding, Method, published};
use super::pairs::{self, Kind, Pair};
use super::seeds;
use super::structured::{self, Seen};
use equipoise::plan::{DesignName, Plan};

/// The plan of these words, in which larger outcomes are better.
pub(super) fn parse(text: &str) -> Plan {
    Plan::parse(&format!("{text} better=high results=open"))
        .unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// The plans whose noise is checked.
#[must_use]
pub fn noise(design: DesignName) -> Vec<Plan> {
    let plans: &[(&str, u16)] = match design {
        DesignName::Interim => &[("20", 1), ("1", 1), ("1/10", 1), ("1", 10)],
        DesignName::Uniform => &[("1", 1)],
        DesignName::DpConse => &[("1", 1), ("1/10", 1), ("1", 10)],
        DesignName::Conse => &[],
    };
    let plan = |(epsilon, scale): &(&str, u16)| {
        parse(&format!("design={design} features=1 patients=100 epsilon={epsilon} scale={scale}"))
    };
    plans.iter().map(plan).collect()
}

/// The seeds of devices with a design that claims something.
#[must_use]
pub fn seeds(design: DesignName) -> Option<Finding> {
    (design != DesignName::Conse).then(|| seeds::finding(design))
}

/// Pairs of trials that the command runs for a design at each epsilon.
pub const PAIRS: u32 = 400;
/// One large or blinded pair is run for so many others.
const FEWER: u32 = 20;

/// The likelihood ratios of pairs of trials of a design: so many at each epsilon, and fewer of
/// large and of blinded trials.
#[must_use]
pub fn pairs(design: DesignName, count: u32) -> Vec<Finding> {
    if matches!(design, DesignName::Conse | DesignName::DpConse) {
        return vec![];
    }
    let small: (Kind, _) = (Pair::random, "n=4..620 M=1..3 Y=1..101");
    let large: (Kind, _) = (Pair::large, "n=1100..3400 M=4, 16, 64");
    let blinded: (Kind, _) = (Pair::blinded, "blinded, n=20..59 M=1..3");
    let fewer = count.div_ceil(FEWER);
    let mut findings: Vec<_> =
        ["1/5", "1", "8"].map(|epsilon| pairs::finding(small, (design, epsilon), count)).into();
    findings.push(pairs::finding(large, (design, "8"), fewer));
    findings.push(pairs::finding(blinded, (design, "8"), fewer * 2));
    findings
}

/// The figures of the structured audit for a design.
#[must_use]
pub fn structured(design: DesignName) -> Vec<Finding> {
    let finding = |instance: String, epsilon, patients, loss| {
        Finding::new(
            design,
            Method::Structured,
            instance,
            published(design, epsilon, patients),
            loss,
        )
    };
    match design {
        DesignName::Conse => vec![],
        DesignName::Interim | DesignName::Uniform => {
            [(1, 1, 0), (1, 1, 1), (10, 10, 0), (10, 3, 8)]
                .into_iter()
                .flat_map(|(scale, y, other)| [0.1, 1.0].map(|epsilon| (scale, y, other, epsilon)))
                .map(|(scale, y, other, epsilon)| {
                    let instance = format!(
                        "any n and M, Y={scale} eps={epsilon}, outcome {y} or {other}; ledger seen"
                    );
                    finding(
                        instance,
                        epsilon,
                        20_000,
                        structured::ledger(epsilon, scale, [y, other]),
                    )
                })
                .collect()
        }
        DesignName::DpConse => {
            const N: u32 = 10_000;
            let mut findings: Vec<_> = [0.1, 0.4, 1.0]
                .map(|epsilon| {
                    let instance = format!("n={N} eps={epsilon}, end of a batch; other arms seen");
                    finding(instance, epsilon, N, structured::boundary(N, epsilon))
                })
                .into();
            let lengths = [
                (10, Seen::Lengths, None, "T_j seen"),
                (10, Seen::LaterArms, None, "one arm a feature after T_j, later arms seen"),
                (
                    10,
                    Seen::LaterArms,
                    Some(29),
                    "the same, 29 later patients of the smallest feature",
                ),
                (3, Seen::LaterArms, None, "arms dropped before half, later arms seen"),
            ];
            findings.extend(lengths.map(|(features, seen, smallest, text)| {
                let [falls, rises] = structured::trial_lengths(features, 1.0, 30, seen, smallest);
                // A patient less and a patient more; with few later patients the figures differ,
                // and 30 to 29 is quoted.
                let loss = if smallest.is_some() { falls } else { falls.or(rises) };
                finding(format!("n={N} M={features} eps=1 T_min=30 or 29; {text}"), 1.0, N, loss)
            }));
            let moved = [(Seen::Means, "noisy means seen"), (Seen::LaterArms, "only drops seen")];
            findings.extend(moved.map(|(seen, text)| {
                let instance = format!("n={N} eps=1, patient moved to another feature; {text}");
                finding(instance, 1.0, N, structured::moved_patient(1.0, seen))
            }));
            findings
        }
    }
}
