//! The families of small trials that the exact audit walks.

use rayon::prelude::*;

use super::cases;
use super::exact::{self, Case, Patient, Record, View};
use super::finding::{Finding, Method, claim};
use super::loss::Loss;
use super::suite::parse;
use equipoise::plan::{Design, Plan};
use equipoise::terms::Arm;

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

/// Cases of one plan, all watched the same way.
#[derive(Clone, Debug)]
pub struct Family {
    /// Short description.
    pub about: &'static str,
    /// The plan.
    pub plan: Plan,
    /// The view of the adversary.
    pub view: View,
    /// The trials.
    pub cases: Vec<Case>,
    /// Possible records of the open patient.
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
