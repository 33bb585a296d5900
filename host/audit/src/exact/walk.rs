//! The walk of the exact audit: nodes, the states they hold, and one more act of each.

use std::collections::{BTreeMap, HashMap};

use super::super::enumerator::Enumerator;
use super::super::loss::{Laws, rounded};
use super::watch::cells_to_mask;
use super::{Act, Case, Record, Room, Sight, Small, SmallDesk, Stage};
use equipoise::terms::Arm;

/// States, each with the probability of being in it and of having seen what was seen.
pub(super) type Belief = Vec<(u32, f64)>;

/// States by their bytes.
#[derive(Default)]
pub(super) struct States {
    numbers: HashMap<Box<[u8]>, u32>,
    pub(super) desks: Vec<SmallDesk>,
    /// Numbers these states have got elsewhere.
    known: HashMap<u32, u32>,
}

impl States {
    pub(super) fn number(&mut self, desk: SmallDesk) -> u32 {
        let mut bytes = vec![0; Small::STATE_BYTES];
        desk.trial().encode(&mut bytes);
        bytes.extend(format!("{:?}{:?}", desk.beside(), desk.secret()).bytes());
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
pub(super) type Node = Vec<Belief>;
/// Key by which nodes are merged: states and rounded proportions.
type NodeKey = Vec<Vec<(u32, u64)>>;

/// All nodes after one more act. Once all acts to come are the same for all records, `told` takes
/// those with nothing more to tell.
pub(super) fn step(
    case: &Case,
    records: &[Record],
    room: &impl Room,
    acts: &[Act],
    nodes: &[Node],
    states: &States,
    mut told: Option<&mut Laws>,
) -> (Vec<Node>, States) {
    let mut grown = States::default();
    let mut next: HashMap<NodeKey, Node> = HashMap::new();
    for node in nodes {
        let frame = frame(node, acts, states);
        let mut first_share = None;
        // States of this node's children; a child with nothing more to tell takes its own along.
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
            if let Some(laws) = &mut told
                && tells_no_more(&child)
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
        let arm = room.perform(&mut Stage { desk: &mut desk, chance, seen: &mut seen }, act);
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

pub(super) fn weights(node: &Node) -> Vec<f64> {
    node.iter().map(|belief| belief.iter().map(|(_, weight)| weight).sum()).collect()
}

fn largest(node: &Node) -> f64 {
    node.iter().flatten().map(|(_, weight)| *weight).fold(0.0, f64::max)
}

fn key(node: &Node, unit: f64) -> NodeKey {
    let rounded = |belief: &Belief| belief.iter().map(|(s, w)| (*s, rounded(w / unit))).collect();
    node.iter().map(rounded).collect()
}

/// Whether all records that allow the sights so far have the same states in the same proportions.
fn tells_no_more(node: &Node) -> bool {
    let shape = |belief: &Belief| {
        let total: f64 = belief.iter().map(|(_, weight)| weight).sum();
        belief.iter().map(|(state, weight)| (*state, rounded(weight / total))).collect::<Vec<_>>()
    };
    let mut shapes = node.iter().filter(|belief| !belief.is_empty()).map(shape);
    let first = shapes.next();
    shapes.all(|other| Some(other) == first)
}
