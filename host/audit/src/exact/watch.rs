//! One act of an enumerated trial: what is asked, and what is seen of it.

use super::super::desk::{arm_of, lend};
use super::{Act, Room, Sight, Small, SmallDesk, Stage, View};
use equipoise::chance::{Chance, Fraction};
use equipoise::noise::Laplace;
use equipoise::terms::Arm;
use equipoise::terms::Phase;
use equipoise::trial::Trial;

impl Room for View {
    fn perform(&self, on: &mut Stage<'_>, act: Act) -> Option<Arm> {
        let (back, arm) = perform(*self, on.desk, act, core::mem::take(on.chance), on.seen);
        *on.chance = back;
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
    lend(chance, || {
        let arm = watch(view, desk, act, seen);
        *seen += &format!("{:?}", desk.beside());
        arm
    })
}

fn watch(view: View, desk: &mut SmallDesk, act: Act, seen: &mut Sight) -> Option<Arm> {
    let mut arm = None;
    match act {
        Act::Assign(feature, visible) => {
            let patient = desk.trial().assigned() + 1;
            if !visible {
                desk.hide(patient);
            }
            let replies = desk.assign(patient, feature.into());
            arm = arm_of(&replies);
            // Of t's own reply only the verb is seen, not the arm.
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
                *seen += &desk.look();
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
pub(super) fn looks(trial: &Small, act: Act) -> bool {
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
    (0..trial.plan().features()).find_map(|feature| {
        let (before, after) = (trial.windows(feature)?, later.windows(feature)?);
        let fresh = before.iter().zip(after).filter(|((_, before), (_, after))| before != after);
        let cells: Vec<i64> =
            fresh.flat_map(|((cells, _), _)| drawn_cells(trial, *cells)).collect();
        (!cells.is_empty()).then_some((feature, cells))
    })
}

/// Whether a close reads the now-window and the before-window of each feature.
#[must_use]
pub fn close_reads<const M: usize, const U: usize>(trial: &Trial<M, U>) -> Vec<[bool; 2]> {
    let mut closed = trial.clone();
    closed.close(&mut NoNoise);
    let read = |feature| {
        let ledger = closed.ledger(feature)?;
        let now = ledger.coins.count_ones() as usize % 2;
        // A close changes no coin, so it empties the windows that it reads and no other.
        Some([now, 1 - now].map(|parity| ledger.emptied[parity] == closed.looks()))
    };
    (0..trial.plan().features()).map(|feature| read(feature).unwrap_or_default()).collect()
}

/// The raw cells of the windows that a close reads and that lack their noise, in the order of the
/// draws: those of one feature.
#[must_use]
pub fn close_noise<const M: usize, const U: usize>(
    trial: &Trial<M, U>,
    feature: u8,
    reads: [bool; 2],
) -> Vec<i64> {
    let windows = trial.windows(feature).into_iter().flatten().zip(reads);
    let bare = windows.filter(|((_, masked), reads)| *reads && !masked);
    bare.flat_map(|((cells, _), _)| drawn_cells(trial, cells)).collect()
}

/// The cells of a window that get noise.
fn drawn_cells<const M: usize, const U: usize>(
    trial: &Trial<M, U>,
    cells: [[i64; 3]; 2],
) -> impl Iterator<Item = i64> + use<M, U> {
    let graded = trial.plan().scale() > 1;
    let cells = cells.into_iter().flatten().enumerate();
    cells.filter(move |(i, _)| graded || i % 3 != 1).map(|(_, cell)| cell)
}

/// The raw cells that an act adds noise to, in the order of the draws.
pub(super) fn cells_to_mask(trial: &Small, act: Act) -> Vec<i64> {
    // A mechanism broken on purpose may do a look when an outcome comes.
    let act = if matches!(act, Act::Resolve(..)) { Act::Close } else { act };
    if !looks(trial, act) {
        return Vec::new();
    }
    match next_noise(trial) {
        Some((_, cells)) => cells,
        None if act == Act::Close => {
            let reads = close_reads(trial).into_iter().zip(0..);
            reads.flat_map(|(reads, feature)| close_noise(trial, feature, reads)).collect()
        }
        None => Vec::new(),
    }
}
