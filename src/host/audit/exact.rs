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
//! the trial, and after each of them to all that anybody may ask ([`Desk::probe`]). By [`View`],
//! `Ledger` adds the noisy windows of all features that take part in a look (all that `interim` and
//! `uniform` ever let out, and more than any reply holds); `Replies` is just that; `Arms` leaves
//! the report out.
//!
//! A cell that is the same in all trials compared gets its noise as given ([`super::enumerator`]):
//! the laws are those given that noise. Its law does not depend on t, so a bound for each value is
//! a bound for all of them; the walk takes one value, and the cases vary the outcomes instead.
//!
//! # Large trials
//! A trial with looks before half has hundreds of patients and too many arms to walk. With
//! [`Case::arms`] the arms of all patients but t are *given*: the walk follows one sequence of
//! them, and the laws found are conditional on it. Were an arm likelier under one record than under
//! another, its weight would show that. t's arm and the noise of all cells that t may have changed
//! are walked as ever.
//!
//! # How the walk goes
//! All sights are walked as a tree, one request at a time. A node holds, for each record, every
//! state the trial may be in with the probability of that state *and* the sights so far. States are
//! the trial's own byte form; where it lies on flash depends on public counts only. Two shortcuts,
//! both exact: nodes that agree in their states and in the proportions of all weights have futures
//! in the same proportions and are merged; a node in which all records have the same states in the
//! same proportions has nothing more to tell and becomes a sight of [`Laws`] at once. In particular
//! nothing of the proof of `interim` is assumed: if a later step used t's record again, the states
//! would differ and the walk would go on.

use crate::prelude::*;
use std::collections::{BTreeMap, HashMap};

use super::desk::{Desk, Steady, arm_of, lend};
use super::enumerator::Enumerator;
use super::loss::{Laws, rounded};
use crate::chance::{Chance, Fraction};
use crate::design::Arm;
use crate::noise::Laplace;
use crate::plan::Plan;
use crate::trial::{Phase, Trial};

/// The room of an enumerated trial: 3 features, 4 waiting patients.
pub type Small = Trial<3, 4>;
/// A device with that room.
pub type SmallDesk = Desk<3, 4>;
/// Pages of its flash.
const PAGES: usize = 16;

/// What a patient brings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Patient {
    /// The feature.
    pub feature: u8,
    /// The outcome, `None` if it is lost.
    pub outcome: Option<u16>,
}

/// What patient t may be.
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
    /// A patient's outcome is recorded after this many more patients have been assigned; at most
    /// 3.
    pub delay: usize,
    /// Is the trial followed to its close, or only to its last arm?
    pub closes: bool,
    /// The arms of all patients but the open one, one after another and from the first again;
    /// empty where they are walked.
    pub arms: Vec<Arm>,
}

impl Case {
    /// The arm that is given to a patient, counted from 0.
    fn arm(&self, patient: usize) -> Option<Arm> {
        self.arms.get(patient % self.arms.len().max(1)).copied()
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
    /// A patient of this feature is assigned; is the arm seen?
    Assign(u8, bool),
    /// The outcome of patient number `.0` comes, or is declared lost.
    Resolve(u32, Option<u16>),
    /// Noise for one feature, or the look itself, if one is due.
    Look,
    /// Noise for one feature, or the close itself, unless the trial is closed.
    Close,
}

/// What is seen of one act.
pub type Sight = String;

/// Where a trial is run and watched. [`View`] is the product; tests put broken ones in its place.
pub trait Room {
    /// The device, with its trial begun.
    fn desk(&self, plan: &Plan) -> Option<SmallDesk> {
        Desk::new(plan, Steady::new(), PAGES, None).ok()
    }

    /// Performs an act, adds to `seen` what is seen of it, and gives the arm if there was one.
    fn perform(
        &self,
        desk: &mut SmallDesk,
        act: Act,
        chance: &mut Enumerator,
        seen: &mut Sight,
    ) -> Option<Arm>;
}

impl Room for View {
    fn perform(
        &self,
        desk: &mut SmallDesk,
        act: Act,
        chance: &mut Enumerator,
        seen: &mut Sight,
    ) -> Option<Arm> {
        let (back, arm) = perform(*self, desk, act, core::mem::take(chance), seen);
        *chance = back;
        arm
    }
}

/// The acts of the product, for any source of chance, which is given back.
pub fn perform<C: Chance + 'static>(
    view: View,
    desk: &mut SmallDesk,
    act: Act,
    chance: C,
    seen: &mut Sight,
) -> (C, Option<Arm>) {
    lend(chance, || watch(view, desk, act, seen))
}

fn watch(view: View, desk: &mut SmallDesk, act: Act, seen: &mut Sight) -> Option<Arm> {
    let mut arm = None;
    match act {
        Act::Assign(feature, visible) => {
            let patient = desk.trial().assigned() + 1;
            let replies = desk.ask(&format!("ASSIGN {patient} {feature} {patient:08x}"));
            arm = arm_of(&replies);
            // Of t's own reply only that it came.
            *seen += if visible || arm.is_none() { &replies } else { "ARM" };
        }
        Act::Resolve(patient, outcome) => {
            let request = match outcome {
                Some(y) => format!("OUTCOME {patient} {y}"),
                None => format!("LOST {patient}"),
            };
            *seen += &desk.ask(&request);
            // A look that is due would come with the next request; its noise is walked in steps.
            if !desk.trial().look_due() {
                *seen += &desk.probe_resolved(patient);
            }
        }
        Act::Look | Act::Close if !looks(desk.trial(), act) => return None,
        Act::Look | Act::Close => {
            if let Some((feature, _)) = next_noise(desk.trial()) {
                desk.draw_ahead();
                if view == View::Ledger {
                    let windows = desk.trial().windows(feature).into_iter().flatten();
                    let masked = windows.filter(|(_, masked)| *masked).map(|(cells, _)| cells);
                    *seen += &format!("{feature} {:?}", masked.collect::<Vec<_>>());
                }
                return None;
            } else if act == Act::Look {
                desk.look();
            } else {
                *seen += &desk.order("CLOSE");
            }
        }
    }
    if !desk.trial().look_due() {
        *seen += &desk.probe(view != View::Arms);
        if view == View::Ledger {
            for feature in 0..desk.trial().plan().features() {
                let cells = desk.trial().ledger(feature).map(|ledger| ledger.cells);
                *seen += &format!("{cells:?}");
            }
        }
    }
    arm
}

/// Whether there is still something to do for a look or a close.
fn looks(trial: &Small, act: Act) -> bool {
    match act {
        Act::Look => trial.look_due(),
        Act::Close => trial.phase() != Phase::Closed,
        Act::Assign(..) | Act::Resolve(..) => false,
    }
}

/// A source of chance whose noise is always 0.
struct NoNoise;

impl Chance for NoNoise {
    fn coin(&mut self) -> bool {
        false
    }
    fn biased_coin(&mut self, _: Fraction) -> bool {
        false
    }
    fn discrete_laplace(&mut self, _: &Laplace) -> i64 {
        0
    }
    fn lap_plus(&mut self, center: u64, _: &Laplace) -> u64 {
        center
    }
}

/// The feature that gets its noise next, and its raw cells in the order of the draws.
#[must_use]
pub fn next_noise<const M: usize, const U: usize>(trial: &Trial<M, U>) -> Option<(u8, Vec<i64>)> {
    let mut later = trial.clone();
    if !later.draw_ahead(&mut NoNoise) {
        return None;
    }
    let graded = trial.plan().scale() > 1;
    (0..trial.plan().features()).find_map(|feature| {
        let (before, after) = (trial.windows(feature)?, later.windows(feature)?);
        let fresh = before.iter().zip(after).filter(|((_, before), (_, after))| before != after);
        let cells: Vec<i64> = fresh
            .flat_map(|((cells, _), _)| cells.iter().flatten().enumerate())
            .filter(|(i, _)| graded || i % 3 != 1)
            .map(|(_, cell)| *cell)
            .collect();
        (!cells.is_empty()).then_some((feature, cells))
    })
}

/// The raw cells that an act adds noise to, in the order of the draws.
fn cells_to_mask(trial: &Small, act: Act) -> Vec<i64> {
    // A faulty mechanism may look at an outcome.
    let looks = looks(trial, if matches!(act, Act::Resolve(..)) { Act::Close } else { act });
    if looks { next_noise(trial).map_or_else(Vec::new, |(_, cells)| cells) } else { Vec::new() }
}

/// States, each with the probability of being in it and of having seen what was seen.
type Belief = Vec<(u32, f64)>;

/// States by their bytes.
#[derive(Default)]
struct States {
    numbers: HashMap<Box<[u8]>, u32>,
    desks: Vec<SmallDesk>,
    /// Numbers these states have got elsewhere.
    known: HashMap<u32, u32>,
}

impl States {
    fn number(&mut self, desk: SmallDesk) -> u32 {
        let mut bytes = vec![0; Small::STATE_BYTES];
        desk.trial().encode(&mut bytes);
        let next = self.desks.len() as u32;
        *self.numbers.entry(bytes.into()).or_insert_with(|| {
            self.desks.push(desk);
            next
        })
    }

    /// The number of one of these states among `others`.
    fn moved(&mut self, state: u32, others: &mut Self) -> u32 {
        let desk = &self.desks[state as usize];
        let known = self.known.get(&state).copied();
        known.unwrap_or_else(|| {
            let number = others.number(desk.clone());
            self.known.insert(state, number);
            number
        })
    }
}

/// A set of sights that leave the same beliefs: one belief a record.
type Node = Vec<Belief>;
/// What makes two nodes one: states and rounded proportions.
type NodeKey = Vec<Vec<(u32, u64)>>;

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
            let settle = resolved.then_some(&mut laws);
            (nodes, states) = step(case, records, room, &round, &nodes, &states, settle);
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
    for k in 0..n + case.delay {
        if k < n {
            rounds.push(each(&|p| Act::Assign(p.feature, k != case.open), k));
            rounds.push(vec![Act::Look; records.len()]);
        }
        if k + 1 >= n && !case.closes {
            return rounds;
        }
        if k >= case.delay {
            let done = k - case.delay;
            rounds.push(each(&|p| Act::Resolve(done as u32 + 1, p.outcome), done));
            rounds.push(vec![Act::Look; records.len()]);
        }
    }
    rounds.push(vec![Act::Close; records.len()]);
    rounds
}

/// All nodes after one more act. Once all acts to come are the same for all records, `settle` takes
/// those with nothing more to tell.
fn step(
    case: &Case,
    records: &[Record],
    room: &impl Room,
    acts: &[Act],
    nodes: &[Node],
    states: &States,
    mut settle: Option<&mut Laws>,
) -> (Vec<Node>, States) {
    let mut grown = States::default();
    let mut next: HashMap<NodeKey, Node> = HashMap::new();
    for node in nodes {
        let frame = frame(node, acts, states);
        let mut first_share = None;
        // States of this node's children; those that settle are forgotten with it.
        let mut fresh = States::default();
        let mut known: HashMap<(u32, Act), Vec<(f64, Branch)>> = HashMap::new();
        let mut children: BTreeMap<Sight, Node> = BTreeMap::new();
        for (r, (belief, act)) in node.iter().zip(acts).enumerate() {
            for (state, weight) in belief {
                let desk = &states.desks[*state as usize];
                let branches = known
                    .entry((*state, *act))
                    .or_insert_with(|| branches(case, room, *act, desk, &frame, &mut fresh));
                // The arm of t is either drawn or given; given, it is an input and not an event.
                // The given arm of another patient is an event, and its probability counts, in
                // units of the first one found: laws still sum to 1 if all are equal.
                let given = match act {
                    Act::Assign(_, false) => records[r].arm,
                    Act::Assign(_, true) => case.arm(desk.trial().assigned() as usize),
                    _ => None,
                };
                let is_given = |b: &Branch| given.is_none() || b.arm == given;
                let share: f64 = branches.iter().filter(|(_, b)| is_given(b)).map(|(p, _)| p).sum();
                let unit = match act {
                    Act::Assign(_, true) => *first_share.get_or_insert(share),
                    _ => share,
                };
                for (p, branch) in branches.iter() {
                    let p = match given {
                        // The design no longer plays this arm: t gets the other.
                        Some(_) if share == 0.0 => *p,
                        Some(_) if is_given(branch) => p / unit,
                        Some(_) => continue,
                        None => *p,
                    };
                    let child = children
                        .entry(branch.seen.clone())
                        .or_insert_with(|| vec![vec![]; node.len()]);
                    child[r].push((branch.state, weight * p));
                }
            }
        }
        for mut child in children.into_values() {
            child.iter_mut().for_each(gather);
            if let Some(laws) = &mut settle
                && settled(&child)
            {
                laws.add(&weights(&child));
                continue;
            }
            for (state, _) in child.iter_mut().flatten() {
                *state = fresh.moved(*state, &mut grown);
            }
            child.iter_mut().for_each(gather);
            match next.entry(key(&child, largest(&child))) {
                std::collections::hash_map::Entry::Vacant(new) => {
                    new.insert(child);
                }
                std::collections::hash_map::Entry::Occupied(mut old) => {
                    let pairs = old.get_mut().iter_mut().flatten().zip(child.iter().flatten());
                    pairs.for_each(|((_, sum), (_, weight))| *sum += weight);
                }
            }
        }
    }
    (next.into_values().collect(), grown)
}

/// One way an act can go.
struct Branch {
    state: u32,
    arm: Option<Arm>,
    seen: Sight,
}

fn branches(
    case: &Case,
    room: &impl Room,
    act: Act,
    desk: &SmallDesk,
    frame: &Frame,
    fresh: &mut States,
) -> Vec<(f64, Branch)> {
    let raw = cells_to_mask(desk.trial(), act);
    let relative = |i: usize, ends: &Option<(i64, i64)>| {
        let cell = raw.get(i).copied().unwrap_or(0);
        ends.map(|(low, high)| (low - cell, high - cell))
    };
    let noise: Vec<_> = frame.iter().enumerate().map(|(i, ends)| relative(i, ends)).collect();
    Enumerator::every(case.plan.patients(), &noise, |chance| {
        let (mut desk, mut seen) = (desk.clone(), Sight::new());
        let arm = room.perform(&mut desk, act, chance, &mut seen);
        Branch { state: fresh.number(desk), arm, seen }
    })
}

/// For each draw to come, the ends of its raw cell over all states of a node; `None` where the cell
/// is the same in all of them, so that its noise can be taken as given.
type Frame = Vec<Option<(i64, i64)>>;

fn frame(node: &Node, acts: &[Act], states: &States) -> Frame {
    let mut ends: Vec<(i64, i64)> = Vec::new();
    for (belief, act) in node.iter().zip(acts) {
        for (state, _) in belief {
            let cells = cells_to_mask(states.desks[*state as usize].trial(), *act);
            for (i, cell) in cells.into_iter().enumerate() {
                match ends.get_mut(i) {
                    Some((low, high)) => (*low, *high) = ((*low).min(cell), (*high).max(cell)),
                    None => ends.push((cell, cell)),
                }
            }
        }
    }
    ends.into_iter().map(|(low, high)| (low < high).then_some((low, high))).collect()
}

/// Adds up the weights of each state.
fn gather(belief: &mut Belief) {
    belief.sort_unstable_by_key(|(state, _)| *state);
    belief.dedup_by(|(state, weight), (kept, sum)| {
        let same = state == kept;
        *sum += if same { *weight } else { 0.0 };
        same
    });
}

fn weights(node: &Node) -> Vec<f64> {
    node.iter().map(|belief| belief.iter().map(|(_, weight)| weight).sum()).collect()
}

fn largest(node: &Node) -> f64 {
    node.iter().flatten().map(|(_, weight)| *weight).fold(0.0, f64::max)
}

fn key(node: &Node, unit: f64) -> NodeKey {
    let rounded = |belief: &Belief| belief.iter().map(|(s, w)| (*s, rounded(w / unit))).collect();
    node.iter().map(rounded).collect()
}

/// Have all records that allow the sights so far the same states in the same proportions?
fn settled(node: &Node) -> bool {
    let shape = |belief: &Belief| {
        let total: f64 = belief.iter().map(|(_, weight)| weight).sum();
        belief.iter().map(|(state, weight)| (*state, rounded(weight / total))).collect::<Vec<_>>()
    };
    let mut shapes = node.iter().filter(|belief| !belief.is_empty()).map(shape);
    let first = shapes.next();
    shapes.all(|other| Some(other) == first)
}
