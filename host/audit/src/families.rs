//! The families of small trials that the exact audit walks.

use rayon::prelude::*;

use super::cases;
use super::exact::{self, Case, Patient, Record, View};
use super::finding::{Finding, Method, claim};
use super::loss::Loss;
use super::suite::parse;
use equipoise::plan::{DesignName, Plan};
use equipoise::terms::Arm;

/// The families the exact audit walks for a design. Epsilon is large so that few noise values carry
/// the mass; the structured audit covers any epsilon.
#[must_use]
pub fn families(design: DesignName) -> Vec<Family> {
    match design {
        DesignName::Interim => interim(),
        DesignName::Uniform => uniform(),
        DesignName::DpConse => vec![lengths()],
        // A device refuses it.
        DesignName::Conse => vec![],
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
            delay,
            open_delay: delay,
            closes: view != View::Arms,
            ..Case::new(plan, patients.clone(), *open)
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
    let three = "features=1 patients=3 epsilon=20 alpha=0";
    // Trials of so few are read at the close only: no earlier look finds a window worth reading.
    let tiny = vec![
        Family::whole("all trials", three, View::Ledger),
        Family::one("outcomes late, report", three, View::Replies, &["0+", "0-", "0+"], 1, &[1]),
        arm_given(
            "graded outcomes, arm given",
            "features=1 patients=3 epsilon=20 alpha=0 scale=2",
            &["0+", "0-", "0+"],
            1,
            &["0?", "0-", "0~", "0+"],
        ),
        arm_given(
            "smaller epsilon, arm given",
            "features=1 patients=3 epsilon=6",
            &["0+"; 3],
            0,
            ALONE,
        ),
        arm_given(
            "moved between features",
            "features=2 patients=4 epsilon=20 alpha=0",
            &["0+", "1-", "1+", "0-"],
            0,
            MOVED,
        ),
    ];
    tiny.into_iter().chain([shares()]).chain(large()).collect()
}

/// The outcomes of the others.
#[derive(Clone, Copy, Debug)]
enum Others {
    /// The same in both arms.
    Even,
    /// Arm 1 does a little better, so that a coin becomes soft.
    Lean,
    /// Arm 1 always succeeds and arm 0 never, so that features settle at their first look.
    Follow,
    /// Feature 0 as in `Follow`, the others as in `Even`.
    FirstFollows,
}

/// A trial in which the arms of all patients are given, 0 and 1 in turn in every feature.
#[derive(Clone, Copy, Debug)]
struct Given {
    about: &'static str,
    plan: &'static str,
    /// One patient in so many is of feature 1, 0 for none.
    second: usize,
    others: Others,
    /// Patients after whom the others' outcomes come, and t's.
    delay: usize,
    open_delay: usize,
    /// Patients of the trial; it is closed after them.
    patients: usize,
    open: &'static [usize],
    records: &'static [&'static str],
}

/// Records of an only feature.
const ALONE: &[&str] = &["0+", "0-", "0?"];
/// Records of a patient who is moved from feature 0 to feature 1.
const MOVED: &[&str] = &["0+", "1+", "1-", "1?"];

impl Given {
    /// One feature of 200 patients: looks at 41, at half (100) and at the close.
    const ONE: Self = Self {
        about: "looks at 41 and 100",
        plan: "features=1 patients=200 epsilon=20 alpha=0",
        second: 0,
        others: Others::Even,
        delay: 0,
        open_delay: 0,
        patients: 200,
        open: &[20, 40, 60, 150],
        records: ALONE,
    };

    /// Two features of 300 patients: looks at 81, 150 and the close.
    const TWO: Self = Self {
        plan: "features=2 patients=300 epsilon=20 alpha=0",
        second: 2,
        patients: 300,
        records: MOVED,
        ..Self::ONE
    };

    fn family(self) -> Family {
        let plan = parse(self.plan);
        // 0 0 1 1: both arms of two features in turn.
        let arms = vec![Arm::Zero, Arm::Zero, Arm::One, Arm::One];
        let patients: Vec<Patient> = (0..self.patients)
            .map(|k| {
                let feature = u8::from(self.second > 0 && k % self.second == self.second - 1);
                let one = arms[k % arms.len()] == Arm::One;
                let even = k / 4 % 2 == 0;
                let good = match self.others {
                    Others::Even => even,
                    Others::Lean => even || (one && k % 10 == 7),
                    Others::FirstFollows if feature > 0 => even,
                    Others::Follow | Others::FirstFollows => one,
                };
                Patient { feature, outcome: Some(if good { plan.scale() } else { 0 }) }
            })
            .collect();
        let case = |open: &usize| Case {
            delay: self.delay,
            open_delay: self.open_delay,
            arms: arms.clone(),
            ..Case::new(plan, patients.clone(), *open)
        };
        let record = |text: &&str| Record { patient: patient(text, &plan), arm: Some(Arm::Zero) };
        Family {
            about: self.about,
            plan,
            view: View::Ledger,
            cases: self.open.iter().map(case).collect(),
            records: self.records.iter().map(record).collect(),
        }
    }
}

/// Trials with looks before the close.
fn large() -> impl Iterator<Item = Family> {
    let one = Given::ONE;
    let two = Given::TWO;
    let families = [
        one,
        Given { about: "soft coin from 41 on", others: Others::Lean, ..one },
        Given {
            about: "settled at 41, skips 100",
            others: Others::Follow,
            open: &[20, 60, 110],
            ..one
        },
        Given {
            about: "late across 41, forgotten unread at 100",
            others: Others::Lean,
            delay: 3,
            open_delay: 3,
            open: &[41, 43, 60],
            ..one
        },
        Given {
            about: "late across 41, settled, kept to the close",
            others: Others::Follow,
            delay: 3,
            open_delay: 3,
            open: &[42, 60],
            ..one
        },
        Given {
            about: "late across 41 and 100, before-windows read",
            others: Others::Lean,
            delay: 28,
            open_delay: 28,
            open: &[50, 60, 110, 140],
            ..one
        },
        Given {
            about: "coins of 41, 82 and 125, two coins late",
            plan: "features=1 patients=250 epsilon=20 alpha=0",
            others: Others::Lean,
            patients: 250,
            open_delay: 70,
            open: &[20, 39],
            ..one
        },
        Given {
            about: "two reports",
            plan: "features=1 patients=240 epsilon=20 alpha=0 reports=2",
            patients: 240,
            delay: 28,
            open_delay: 28,
            open: &[110, 170, 190],
            ..one
        },
        Given {
            about: "closed before a report, noise drawn for it",
            plan: "features=1 patients=240 epsilon=20 alpha=0 reports=2",
            patients: 158,
            delay: 28,
            open_delay: 28,
            open: &[100, 125],
            ..one
        },
        Given {
            about: "graded, looks at 41 and 100",
            plan: "features=1 patients=200 epsilon=20 alpha=0 scale=2",
            others: Others::Lean,
            open: &[30],
            records: &["0+", "0-", "0~", "0?"],
            ..one
        },
        Given {
            about: "moved between a settled and an unsettled feature",
            others: Others::FirstFollows,
            open: &[120],
            ..two
        },
        Given { about: "moved to a feature left out of a look", second: 10, open: &[120], ..two },
        Given {
            about: "moved to a feature left out of a report",
            plan: "features=2 patients=300 epsilon=20 alpha=0 reports=1",
            second: 10,
            open: &[170],
            ..two
        },
    ];
    families.into_iter().map(Given::family)
}

/// Arms after a look, walked: a tie, which one patient breaks, so that the coin is fair or leans.
fn shares() -> Family {
    let given = Given {
        about: "shares adapt after the look at 41",
        plan: "features=1 patients=200 epsilon=20 alpha=1/2 beta=9/10",
        patients: 43,
        open: &[0, 40],
        ..Given::ONE
    };
    let mut family = given.family();
    family.view = View::Arms;
    for case in &mut family.cases {
        (case.closes, case.walked_from) = (false, 41);
    }
    family
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
        arm_given(
            "moved between features",
            "design=uniform features=2 patients=4 epsilon=20",
            &["0+", "1-", "1+", "0-"],
            0,
            MOVED,
        ),
    ]
}

/// A patient of `dp-conse` in one feature or another: T_min, and with it three T_j, may move by 1.
fn lengths() -> Family {
    let plan = "design=dp-conse features=3 patients=8 epsilon=20 alpha=0";
    let patients = ["2-", "0-", "1-", "0-", "0-", "1-", "2-", "0-"];
    Family::one("outcomes all 0", plan, View::Replies, &patients, 0, &[0])
}

/// A trial whose open patient has a given arm, because the noise of all cells is too much.
fn arm_given(
    about: &'static str,
    plan: &str,
    patients: &[&str],
    open: usize,
    records: &[&str],
) -> Family {
    let mut family = Family::one(about, plan, View::Ledger, patients, 0, &[open]);
    let given = |text: &&str| Record { patient: patient(text, &family.plan), arm: Some(Arm::Zero) };
    family.records = records.iter().map(given).collect();
    family
}
