//! The exact audit: a whole trial, every chance, every neighbour, through the line of the device
//! that ships.
//!
//! # What is compared
//! A [`Case`] is a trial in which everything is fixed but patient t. A [`Record`] is what t may be:
//! a feature, an outcome or its loss and, where it is given, an arm (without one the design draws
//! it). Two trials are neighbours when they differ in t's record; requests come at the same
//! moments. [`laws`] gives the law of all that is seen under every record at once, [`Laws::worst`]
//! the worst pair.
//!
//! With the arm in the record, neighbours may differ in "everything about t". The law under an
//! outcome that depends on the arm is a mixture of laws with given arms, so a bound for these pairs
//! holds for every such patient too. Outcomes of the others may be fixed without loss: their arms
//! are seen, so only the outcome under the arm seen counts, and all outcomes are tried.
//!
//! # What is seen
//! Every byte that the device sends, but for the arm in its reply to t: replies to the requests of
//! the trial, and after each of them to all that anybody may ask ([`Desk::probe`]). Also what is
//! noticed [beside](super::desk::Beside) replies: flash work, moments, idle work, and everything
//! that is drawn for seeds, names and nonces. By [`View`],
//! `Ledger` adds the noisy windows of all features that take part in a look (all that `interim` and
//! `uniform` ever let out, and more than any reply holds); `Replies` adds nothing; `Arms` leaves
//! the report out.
//!
//! A cell that is the same in all trials compared gets its noise as given ([`super::enumerator`]):
//! the laws are those given that noise. Its law does not depend on t, so a bound for each value is
//! a bound for all of them; the walk takes one value, and the cases vary the outcomes instead.
//!
//! # Large trials
//! A trial with looks before half has hundreds of patients and too many arms to walk. With
//! [`Case::arms`] the arms of all patients but t are *given*: the walk follows one sequence of
//! them, and the laws found are conditional on it. If an arm were likelier under one record than
//! under another, its weight would show that. t's arm and the noise of all cells that t may have
//! changed are walked as ever.
//!
//! # How the walk goes
//! All sights are walked as a tree, one request at a time. A node holds, for each record, every
//! state the trial may be in with the probability of that state *and* the sights so far. States are
//! the trial's own byte form, with what was noticed beside replies; where it lies on flash depends
//! on public counts only. Two shortcuts,
//! both exact: nodes that agree in their states and in the proportions of all weights have futures
//! in the same proportions and are merged; a node in which all records have the same states in the
//! same proportions has nothing more to tell and becomes a sight of [`Laws`] at once. In particular
//! nothing of the proof of `interim` is assumed: if a later step used t's record again, the states
//! would differ and the walk would go on.

mod walk;
mod watch;

pub use watch::{close_noise, close_reads, next_noise, perform};

use super::desk::{Desk, Steady};
use super::enumerator::Enumerator;
use super::loss::Laws;
use equipoise::plan::Plan;
use equipoise::terms::Arm;
use equipoise::trial::Trial;
use walk::{Node, States, step, weights};
use watch::looks;

/// Waiting patients of an enumerated trial: enough that a window of the coin before is worth
/// reading.
pub const WAITING: usize = 32;
/// The room of an enumerated trial, with three features.
pub type Small = Trial<3, WAITING>;
/// A device with that room.
pub type SmallDesk = Desk<3, WAITING>;
/// Pages of its flash.
const PAGES: usize = 16;

/// Feature and outcome of a patient.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Patient {
    /// The feature.
    pub feature: u8,
    /// The outcome, `None` if it is lost.
    pub outcome: Option<u16>,
}

/// Possible record of patient t.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Feature and outcome.
    pub patient: Patient,
    /// The arm, or `None` where the design draws it.
    pub arm: Option<Arm>,
}

/// A trial in which only one patient is open.
#[derive(Clone, Debug)]
pub struct Case {
    /// The public parameters.
    pub plan: Plan,
    /// All patients; the entry of `open` does not matter.
    pub patients: Vec<Patient>,
    /// The index, from 0, of the patient whose record varies.
    pub open: usize,
    /// A patient's outcome is recorded after this many more patients have been assigned; fewer
    /// than [`WAITING`].
    pub delay: usize,
    /// The same for the open patient.
    pub open_delay: usize,
    /// Whether the trial is followed to its close, not only to its last arm. With fewer patients
    /// than the plan has, it is closed as soon as the last is assigned.
    pub closes: bool,
    /// The arms of all patients but the open one, one after another and from the first again;
    /// empty where they are walked.
    pub arms: Vec<Arm>,
    /// The first patient, from 0, from whom on arms are walked in any case.
    pub walked_from: usize,
}

impl Case {
    /// A trial whose outcomes come at once, with all arms walked, followed to its close.
    #[must_use]
    pub const fn new(plan: Plan, patients: Vec<Patient>, open: usize) -> Self {
        Self {
            plan,
            patients,
            open,
            delay: 0,
            open_delay: 0,
            closes: true,
            arms: vec![],
            walked_from: usize::MAX,
        }
    }

    /// The patients, from 0, whose outcomes come once so many have been assigned, in order.
    pub fn due(&self, assigned: usize) -> impl Iterator<Item = usize> {
        let due = move |k: &usize| {
            let delay = if *k == self.open { self.open_delay } else { self.delay };
            k + delay + 1 == assigned
        };
        (0..self.patients.len()).filter(due)
    }

    /// The arm that is given to a patient, counted from 0.
    fn arm(&self, patient: usize) -> Option<Arm> {
        let arm = self.arms.get(patient % self.arms.len().max(1)).copied();
        arm.filter(|_| patient < self.walked_from)
    }
}

/// How much is seen besides arms and status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// The noisy increments of every look.
    Ledger,
    /// The rows of the report.
    Replies,
    /// Nothing.
    Arms,
}

/// One request, or one step of a look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Act {
    /// A patient of this feature is assigned; whether the arm is seen.
    Assign(u8, bool),
    /// The outcome of patient number `.0` comes, or is declared lost.
    Resolve(u32, Option<u16>),
    /// Noise for one feature, or the look itself, if one is due.
    Look,
    /// Noise for one feature, or the close itself, unless the trial is closed.
    Close,
}

/// Text seen of one act.
pub type Sight = String;

/// Surroundings of an act: the device, chance, and the sight so far.
pub struct Stage<'a> {
    /// The device.
    pub desk: &'a mut SmallDesk,
    /// Everything random.
    pub chance: &'a mut Enumerator,
    /// The sight so far.
    pub seen: &'a mut Sight,
}

/// How a trial is run and watched. [`View`] runs the product; tests replace it by broken ones.
pub trait Room {
    /// The device, with its trial begun.
    fn desk(&self, plan: &Plan) -> Option<SmallDesk> {
        Desk::new(plan, Steady::new(), PAGES, None).ok()
    }

    /// Performs an act, adds what is seen of it, and gives the arm if there was one.
    fn perform(&self, on: &mut Stage<'_>, act: Act) -> Option<Arm>;
}

/// The laws of what is seen in `room`, one a record.
#[must_use]
pub fn laws(case: &Case, records: &[Record], room: &impl Room) -> Laws {
    let mut laws = Laws::new(records.len());
    let mut states = States::default();
    let Some(desk) = room.desk(&case.plan) else { return laws };
    let start = states.number(desk);
    let mut nodes: Vec<Node> = vec![vec![vec![(start, 1.0)]; records.len()]];
    let (mut resolved, open) = (false, case.open as u32 + 1);
    for round in rounds(case, records) {
        resolved |= matches!(round[0], Act::Resolve(patient, _) if patient == open);
        // A look takes as many steps as there are features to draw for, and one more.
        loop {
            let told = resolved.then_some(&mut laws);
            (nodes, states) = step(case, records, room, &round, &nodes, &states, told);
            let again = states.desks.iter().any(|desk| looks(desk.trial(), round[0]));
            if !again || nodes.is_empty() {
                break;
            }
        }
    }
    for node in nodes {
        laws.add(&weights(&node));
    }
    laws
}

/// The acts of a trial in order, one entry a record.
fn rounds(case: &Case, records: &[Record]) -> Vec<Vec<Act>> {
    let n = case.patients.len();
    let each = |act: &dyn Fn(Patient) -> Act, k: usize| {
        let patient =
            |record: &Record| if k == case.open { record.patient } else { case.patients[k] };
        records.iter().map(|record| act(patient(record))).collect::<Vec<_>>()
    };
    let mut rounds = Vec::new();
    // An early close writes off the patients who wait.
    let early = n < case.plan.patients() as usize;
    let longest = if early { 0 } else { case.delay.max(case.open_delay) };
    for k in 0..n + longest {
        if k < n {
            rounds.push(each(&|p| Act::Assign(p.feature, k != case.open), k));
            rounds.push(vec![Act::Look; records.len()]);
        }
        if k + 1 >= n && !case.closes {
            return rounds;
        }
        for done in case.due(k + 1) {
            rounds.push(each(&|p| Act::Resolve(done as u32 + 1, p.outcome), done));
            rounds.push(vec![Act::Look; records.len()]);
        }
    }
    rounds.push(vec![Act::Close; records.len()]);
    rounds
}
