//! What `equipoise audit` looks at: the families of cases, and what each design claims.

use crate::prelude::*;
use rayon::prelude::*;

use super::cases;
use super::exact::{self, Case, Patient, Record, View};
use super::loss::Loss;
use super::pairs;
use super::structured::{self, Seen};
use crate::design::Arm;
use crate::plan::{Design, Plan};

/// What a design says about itself.
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
    /// Exact likelihood ratios of pairs of trials over the line.
    Pairs,
}

/// What a finding says about the claim.
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
    /// What the design claims, `None` for `conse`.
    pub claimed: Option<Claim>,
    /// The smallest epsilon found at delta = 0 (a lower bound from the black box); JSON `null`
    /// where there is none.
    pub epsilon: f64,
    /// The least delta at the claimed epsilon (a lower bound from the black box).
    pub delta: f64,
    /// What that means.
    pub verdict: Verdict,
}

/// Rounding, and tails left out, that no claim can fail by.
pub const TOLERANCE: f64 = 1e-9;

impl Finding {
    /// Holds what was found against the claim. A claim of (epsilon, delta) is exceeded when more
    /// than delta is left at epsilon; for a pure claim that is when the loss exceeds epsilon.
    #[must_use]
    pub fn new(
        design: Design,
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

/// The claim of a plan: ours for `interim`, the paper's Theorem 4 for `dp-conse`, none for `conse`.
#[must_use]
pub fn claim(plan: &Plan) -> Option<Claim> {
    published(plan.design(), plan.epsilon().to_f64(), plan.patients())
}

fn published(design: Design, epsilon: f64, patients: u32) -> Option<Claim> {
    match design {
        Design::Conse => None,
        Design::DpConse => Some(Claim { epsilon, delta: 1.0 / f64::from(patients) }),
        Design::Interim | Design::Uniform => Some(Claim { epsilon, delta: 0.0 }),
    }
}

/// Cases of one plan, all watched the same way.
#[derive(Clone, Debug)]
pub struct Family {
    /// What is special about it.
    pub about: &'static str,
    /// The plan.
    pub plan: Plan,
    /// What is seen.
    pub view: View,
    /// The trials.
    pub cases: Vec<Case>,
    /// What the open patient may be.
    pub records: Vec<Record>,
}

impl Family {
    /// All trials of a plan, every patient open in turn.
    fn whole(about: &'static str, plan: &str, view: View) -> Self {
        let plan = parse(plan);
        Self {
            about,
            plan,
            view,
            cases: cases::all(plan, 0).collect(),
            records: cases::records(&plan),
        }
    }

    /// One trial, some patients open in turn. Patients as `feature` and outcome: `0+`, `1-`, `0~`
    /// for the middle of the scale, `0?` for a loss.
    fn one(
        about: &'static str,
        plan: &str,
        view: View,
        patients: &[&str],
        delay: usize,
        open: &[usize],
    ) -> Self {
        let plan = parse(plan);
        let patients: Vec<_> = patients.iter().map(|text| patient(text, &plan)).collect();
        let case = |open: &usize| Case {
            plan,
            patients: patients.clone(),
            open: *open,
            delay,
            closes: view != View::Arms,
            arms: vec![],
        };
        Self {
            about,
            plan,
            view,
            cases: open.iter().map(case).collect(),
            records: cases::drawn_records(&plan),
        }
    }

    /// The worst of all cases.
    #[must_use]
    pub fn loss(&self) -> Loss {
        let claimed = self.plan.epsilon().to_f64();
        let one = |case: &Case| exact::laws(case, &self.records, &self.view).worst(claimed);
        self.cases.par_iter().map(one).reduce(|| Loss::NONE, Loss::or)
    }

    /// The line of the audit.
    #[must_use]
    pub fn finding(&self) -> Finding {
        let p = &self.plan;
        let seen = match self.view {
            View::Ledger => "ledger",
            View::Replies => "report",
            View::Arms => "arms",
        };
        let instance = format!(
            "M={} n={} Y={} eps={} alpha={}, {}; {} cases, {} records, {seen} seen",
            p.features(),
            p.patients(),
            p.scale(),
            p.epsilon(),
            p.alpha(),
            self.about,
            self.cases.len(),
            self.records.len(),
        );
        Finding::new(p.design(), Method::Exact, instance, claim(p), self.loss())
    }
}

fn parse(text: &str) -> Plan {
    Plan::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn patient(text: &str, plan: &Plan) -> Patient {
    let (feature, outcome) = text.split_at(1);
    let outcome = match outcome {
        "+" => Some(plan.scale()),
        "-" => Some(0),
        "~" => Some(plan.scale() / 2),
        _ => None,
    };
    Patient { feature: feature.parse().unwrap_or(0), outcome }
}

/// The plans whose noise is checked.
#[must_use]
pub fn noise(design: Design) -> Vec<Plan> {
    let plans: &[(&str, u16)] = match design {
        Design::Interim => &[("20", 1), ("1", 1), ("1/10", 1), ("1", 10)],
        Design::Uniform => &[("1", 1)],
        Design::Conse | Design::DpConse => &[],
    };
    let plan = |(epsilon, scale): &(&str, u16)| {
        parse(&format!("design={design} features=1 patients=100 epsilon={epsilon} scale={scale}"))
    };
    plans.iter().map(plan).collect()
}

/// The families the exact audit walks for a design. Epsilon is large so that few noise values carry
/// the mass; the structured audit covers any epsilon.
#[must_use]
pub fn families(design: Design) -> Vec<Family> {
    match design {
        Design::Interim => interim(),
        Design::Uniform => uniform(),
        Design::DpConse => vec![lengths()],
        // A device refuses it.
        Design::Conse => vec![],
    }
}

/// Pairs of trials that are run for a design at each of these epsilons.
pub const PAIRS: (u32, [&str; 3]) = (160, ["1/5", "1", "8"]);

/// The likelihood ratios of pairs of trials of a design.
#[must_use]
pub fn pairs(design: Design) -> Vec<Finding> {
    let (count, epsilons) = PAIRS;
    match design {
        Design::Interim | Design::Uniform => {
            epsilons.map(|epsilon| pairs::finding(design, epsilon, count)).into()
        }
        Design::Conse | Design::DpConse => vec![],
    }
}

fn interim() -> Vec<Family> {
    let four = "features=1 patients=4 epsilon=20 alpha=0";
    let mixed = ["0+", "1-", "1+", "0-", "0+", "1+", "1-", "0-"];
    vec![
        Family::whole("all trials", four, View::Ledger),
        Family::one(
            "shares adapt",
            "features=1 patients=6 epsilon=20 alpha=1 beta=9/10",
            View::Arms,
            &["0+", "0-", "0+", "0+", "0-", "0+"],
            0,
            &[0, 1],
        ),
        Family::one(
            "outcomes late, report",
            four,
            View::Replies,
            &["0+", "0-", "0+", "0+"],
            1,
            &[0, 3],
        ),
        Family::one(
            "outcomes late, across the look at half, into both windows",
            "features=1 patients=6 epsilon=20 alpha=0",
            View::Ledger,
            &["0+", "0-", "0+", "0+", "0-", "0+"],
            2,
            &[1, 2, 4],
        ),
        Family::one(
            "two planned reports",
            "features=1 patients=9 epsilon=20 alpha=0 reports=2",
            View::Ledger,
            &["0+", "0-", "0?", "0+", "0+", "0-", "0?", "0+", "0+"],
            0,
            &[4, 6],
        ),
        graded(),
        Family::one(
            "smaller epsilon",
            "features=1 patients=4 epsilon=6",
            View::Ledger,
            &["0+"; 4],
            0,
            &[0],
        ),
        moved(
            "moved between features",
            "features=2 patients=8 epsilon=20 alpha=0",
            &mixed,
            &[0, 5],
        ),
    ]
    .into_iter()
    .chain(large())
    .collect()
}

/// Trials with looks before half; the arms of the others are given, 0 and 1 in turn in every
/// feature. An outcome that follows the arm settles its feature at the first look.
fn large() -> [Family; 9] {
    // Of two features, patients in turn; of a rare second one, every 40th.
    let (turns, rare) = (|k: usize| k % 2, |k: usize| usize::from(k % 40 == 39));
    let one = "features=1 patients=256 epsilon=20";
    let two = "features=2 patients=512 epsilon=20";
    let three = "features=2 patients=820 epsilon=20";
    let alone = |_| 0;
    let (mixed, followed) = (|_| false, |_| true);
    [
        given(
            "looks at 80 and 128",
            one,
            alone,
            mixed,
            0,
            &[20, 79, 100, 200],
            &["0+", "0-", "0?"],
        ),
        given(
            "settled at 80, skips 128",
            one,
            alone,
            followed,
            0,
            &[40, 90, 130],
            &["0+", "0-", "0?"],
        ),
        given("late across 80, unsettled", one, alone, mixed, 3, &[78], &["0+", "0-", "0?"]),
        given(
            "late across 80, both windows",
            one,
            alone,
            followed,
            3,
            &[79, 81, 90],
            &["0+", "0-", "0?"],
        ),
        given(
            "settled at 80, two reports",
            "features=1 patients=256 epsilon=20 reports=2",
            alone,
            followed,
            1,
            &[90, 180, 230],
            &["0+", "0-", "0?"],
        ),
        given(
            "graded, looks at 80 and 128",
            "features=1 patients=256 epsilon=20 scale=2",
            alone,
            mixed,
            0,
            &[60],
            &["0+", "0-", "0~", "0?"],
        ),
        given(
            "moved between a settled and an unsettled feature",
            two,
            turns,
            |k| k % 2 == 0,
            0,
            &[170, 300],
            &["0+", "0-", "1+", "1-", "1?"],
        ),
        given(
            "moved to a feature left out of a look",
            three,
            rare,
            mixed,
            0,
            &[170],
            &["0+", "1+", "1-"],
        ),
        given(
            "moved to a feature left out of a report",
            "features=2 patients=400 epsilon=20 reports=1",
            rare,
            mixed,
            0,
            &[250],
            &["0+", "1+", "1-"],
        ),
    ]
}

/// A trial in which the arms of all patients but t are given, and t's too.
fn given(
    about: &'static str,
    plan: &str,
    feature: impl Fn(usize) -> usize,
    follows: impl Fn(usize) -> bool,
    delay: usize,
    open: &[usize],
    records: &[&str],
) -> Family {
    let plan = parse(plan);
    // 0 0 1 1: both arms of two features in turn.
    let arms = vec![Arm::Zero, Arm::Zero, Arm::One, Arm::One];
    let patients: Vec<Patient> = (0..plan.patients() as usize)
        .map(|k| {
            let better = arms[k % arms.len()] == Arm::One;
            let good = if follows(k) { better } else { k / 4 % 2 == 0 };
            Patient {
                feature: feature(k) as u8,
                outcome: Some(if good { plan.scale() } else { 0 }),
            }
        })
        .collect();
    let case = |open: &usize| Case {
        plan,
        patients: patients.clone(),
        open: *open,
        delay,
        closes: true,
        arms: arms.clone(),
    };
    let record = |text: &&str| Record { patient: patient(text, &plan), arm: Some(Arm::Zero) };
    Family {
        about,
        plan,
        view: View::Ledger,
        cases: open.iter().map(case).collect(),
        records: records.iter().map(record).collect(),
    }
}

/// `uniform`: fair coins, looks at reports and at the close.
fn uniform() -> Vec<Family> {
    vec![
        Family::whole(
            "all trials",
            "design=uniform features=1 patients=3 epsilon=20",
            View::Ledger,
        ),
        Family::one(
            "one planned report, outcomes late",
            "design=uniform features=1 patients=6 epsilon=20 reports=1",
            View::Ledger,
            &["0+", "0-", "0?", "0+", "0+", "0-"],
            1,
            &[0, 3],
        ),
        moved(
            "moved between features",
            "design=uniform features=2 patients=4 epsilon=20",
            &["0+", "1-", "1+", "0-"],
            &[0],
        ),
    ]
}

/// A patient of `dp-conse` in one feature or another: T_min, and with it three T_j, may move by 1.
fn lengths() -> Family {
    let plan = "design=dp-conse features=3 patients=8 epsilon=20 alpha=0";
    let patients = ["2-", "0-", "1-", "0-", "0-", "1-", "2-", "0-"];
    Family::one("outcomes all 0", plan, View::Replies, &patients, 0, &[0])
}

/// Graded outcomes, three cells an arm; the arm is given, because the noise of six cells is too
/// much.
fn graded() -> Family {
    let plan = "features=1 patients=4 epsilon=20 alpha=0 scale=2";
    let patients = ["0+", "0-", "0+", "0+"];
    let mut family =
        Family::one("graded outcomes, arm given", plan, View::Ledger, &patients, 0, &[0, 3]);
    let given = |outcome| Record { patient: Patient { feature: 0, outcome }, arm: Some(Arm::Zero) };
    family.records = [None, Some(0), Some(1), Some(2)].map(given).into();
    family
}

/// A patient of a given arm who is moved from feature 0 to feature 1.
fn moved(about: &'static str, plan: &str, patients: &[&str], open: &[usize]) -> Family {
    let mut family = Family::one(about, plan, View::Ledger, patients, 0, open);
    let given = |text| Record { patient: patient(text, &family.plan), arm: Some(Arm::Zero) };
    family.records = vec![given("0+"), given("1+"), given("1-"), given("1?")];
    family
}

/// The figures of the structured audit for a design.
#[must_use]
pub fn structured(design: Design) -> Vec<Finding> {
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
        Design::Conse => vec![],
        Design::Interim | Design::Uniform => [(1, 1, 0), (1, 1, 1), (10, 10, 0), (10, 3, 8)]
            .into_iter()
            .flat_map(|(scale, y, other)| [0.1, 1.0].map(|epsilon| (scale, y, other, epsilon)))
            .map(|(scale, y, other, epsilon)| {
                let instance = format!(
                    "any n and M, Y={scale} eps={epsilon}, outcome {y} or {other}; ledger seen"
                );
                finding(instance, epsilon, 20_000, structured::ledger(epsilon, scale, [y, other]))
            })
            .collect(),
        Design::DpConse => {
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
