//! Outcomes that the noisy ledger of a kind of patient holds: not always all of them.
//!
//! A look reads windows of outcomes into the ledger (`equipoise::design`). An outcome that came
//! after the last look is not read yet. `interim` keeps the outcomes of the coin before apart, and
//! forgets them unread if they are too few when the coin changes again. A sum over the whole chart
//! would be compared with something that the device never had.
//!
//! The log has the order of enrolments and outcomes, the plan has the counts at which looks fall,
//! and a row of the report names the looks in which its kind took part and how many windows were
//! read. From these it follows, patient by patient, which window held an outcome and when the
//! window was read. One thing can stay open: at which of several looks the outcomes of the coin
//! before were worth reading. Then every course that reads as many windows as the row says is kept.
//!
//! The log's order of lines is taken for the device's order of requests. They differ only where an
//! answer was lost and an outcome was acknowledged later.

use std::collections::{BTreeMap, BTreeSet};

use crate::records::log::{Entry, Event};
use crate::records::resolution::Resolution;
use equipoise::design::schedule;
use equipoise::plan::{DesignName, Plan};
use equipoise_study::noise_law::sums::Tally;

/// Most courses that are followed.
const MOST_COURSES: usize = 4096;

/// A step of a trial, in the log's order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The patient with this number was enrolled.
    Enrolled(u32),
    /// The outcome of the patient with this number was recorded or declared lost.
    Resolved(u32),
}

/// The steps that a log tells, each patient's once.
#[must_use]
pub fn steps(entries: &[Entry]) -> Vec<Step> {
    let mut resolved = BTreeSet::new();
    let step = |entry: &Entry| match &entry.event {
        Event::Arm { patient, .. }
        | Event::Kit { patient, .. }
        | Event::Unclear { patient, .. } => Some(Step::Enrolled(*patient)),
        _ => {
            let (number, _) = Resolution::of(entry)?;
            resolved.insert(number).then_some(Step::Resolved(number))
        }
    };
    entries.iter().filter_map(step).collect()
}

/// The public facts of a kind's row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Read {
    /// Looks in which the kind took part: bit k is look number k + 1.
    pub looks: u32,
    /// Windows that were read.
    pub windows: u8,
    /// The number of the last look before the report; none once the trial is closed.
    pub last: Option<u8>,
}

/// An outcome of a kind, as the chart has it; none if it was lost.
pub type Outcome = Option<(usize, u16)>;

/// A course of a kind: arm 0 and arm 1 of the two windows, by parity of the coin, and the ledger.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Course {
    windows: [[(u32, u64); 2]; 2],
    ledger: [(u32, u64); 2],
    read: u8,
}

impl Course {
    /// The course with windows emptied, and read into the ledger or forgotten.
    fn after(mut self, parity: usize, read: bool) -> Self {
        let window = std::mem::take(&mut self.windows[parity]);
        if read {
            for (sum, more) in self.ledger.iter_mut().zip(window) {
                *sum = (sum.0 + more.0, sum.1 + more.1);
            }
            self.read = self.read.saturating_add(1);
        }
        self
    }
}

/// Follows a kind of patient through the trial.
struct Follower {
    adaptive: bool,
    half: u32,
    /// The number of the present coin, modulo 2.
    parity: usize,
    /// Patients enrolled when the present coin began.
    began: u32,
    /// Count of the last look in which the kind took part.
    since: u32,
    courses: BTreeSet<Course>,
}

impl Follower {
    /// Whether the rules allow that the outcomes of the coin before are read at this count.
    fn has_late(&self, count: u32) -> bool {
        self.began.min(count) > self.since
    }

    fn branch(&mut self, of: impl Fn(Course) -> Vec<Course>) {
        self.courses = self.courses.iter().flat_map(|course| of(*course)).collect();
    }

    /// A look in which the kind takes part.
    fn look(&mut self, count: u32, enrolled: u32) {
        let (now, before) = (self.parity, 1 - self.parity);
        let late = self.has_late(count);
        let changes = self.adaptive && count <= self.half;
        if changes {
            self.branch(|course| {
                let course = course.after(now, true);
                let read = late.then(|| course.after(before, true));
                [Some(course.after(before, false)), read].into_iter().flatten().collect()
            });
            (self.parity, self.began) = (before, enrolled);
        } else {
            let fresh = count - self.since > self.began.min(count).saturating_sub(self.since);
            self.branch(|course| {
                let reads = [fresh.then(|| course.after(now, true))];
                let late_only = late.then(|| course.after(before, true));
                let both = (late && fresh).then(|| course.after(now, true).after(before, true));
                reads.into_iter().chain([late_only, both]).flatten().collect()
            });
        }
        self.since = count;
    }

    fn close(&mut self, count: u32) {
        let (now, before, late) = (self.parity, 1 - self.parity, self.has_late(count));
        self.branch(|course| {
            let course = course.after(now, true);
            [Some(course), late.then(|| course.after(before, true))].into_iter().flatten().collect()
        });
    }
}

/// Outcomes that the ledger of a kind can hold, arm 0 and arm 1, in every course that fits the
/// row; `own` are the kind's patients.
///
/// # Errors
/// No course fits, or too many would have to be followed.
pub fn held(
    plan: &Plan,
    steps: &[Step],
    own: &BTreeMap<u32, Outcome>,
    row: Read,
) -> Result<Vec<[Tally; 2]>, String> {
    let counts: Vec<u32> = schedule::looks(plan).collect();
    let mut at = Follower {
        adaptive: plan.design() == DesignName::Interim,
        half: plan.half(),
        parity: 0,
        began: 0,
        since: 0,
        courses: BTreeSet::from([Course::default()]),
    };
    let (mut coins, mut enrolled, mut resolved, mut done) = (BTreeMap::new(), 0, 0, 0);
    for step in steps {
        if row.last.is_some_and(|last| done >= usize::from(last)) {
            break;
        }
        match step {
            Step::Enrolled(number) => {
                enrolled += 1;
                coins.insert(*number, at.parity);
            }
            Step::Resolved(number) => {
                resolved += 1;
                let parity = coins.remove(number).unwrap_or(at.parity);
                if let Some(Some((arm, outcome))) = own.get(number) {
                    at.branch(|mut course| {
                        let (outcomes, total) = &mut course.windows[parity][*arm];
                        (*outcomes, *total) = (*outcomes + 1, *total + u64::from(*outcome));
                        vec![course]
                    });
                }
                if counts.get(done) == Some(&resolved) {
                    if row.looks >> (done & 31) & 1 == 1 {
                        at.look(resolved, enrolled);
                    }
                    done += 1;
                }
            }
        }
        if at.courses.len() > MOST_COURSES {
            return Err("too many outcomes came late to tell which of them were read".to_owned());
        }
    }
    if row.last.is_none() {
        at.close(resolved);
    }
    let fits = at.courses.iter().filter(|course| course.read == row.windows);
    let tally = |(outcomes, total)| Tally { outcomes, total };
    let held: BTreeSet<_> = fits.map(|course| course.ledger).collect();
    if held.is_empty() {
        return Err(format!(
            "the log's order of outcomes does not lead to the {} readings that the report tells of",
            row.windows
        ));
    }
    Ok(held.into_iter().map(|ledger| ledger.map(tally)).collect())
}
