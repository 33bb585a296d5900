//! A pair of trials, step by step.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::VecDeque;

use super::super::desk::{Desk, Fault, Steady, lend};
use super::super::exact::{close_noise, close_reads, next_noise};
use super::super::structured;
use super::script::Script;
use super::shown::Shown;
use super::windows::{closed, masked, noised};
use super::{Arms, Others, Pair, PairFault, Passed};
use equipoise::chance::{Chance, Fraction, Sampler};
use equipoise::design::LedgerView;
use equipoise::noise::{Laplace, Rate};
use equipoise::terms::Arm;
use equipoise::terms::Phase;

/// Pages of flash in a room for few features, and for many.
const PAGES: [usize; 2] = [32, 64];
/// Features that the fewer pages carry.
const FEW: usize = 4;
/// Cells of a window: E, F, G of both arms.
const CELLS: usize = 6;

/// The two trials do not show the same.
pub(super) struct Differs;

/// Both devices in the course of their trials.
pub(super) struct Steps<'a, const M: usize, const U: usize> {
    pub(super) pair: &'a Pair,
    pub(super) desks: [Desk<M, U>; 2],
    pub(super) log: [f64; 2],
    words: Sampler<Xoshiro256PlusPlus>,
    people: Xoshiro256PlusPlus,
    noise_fault: Option<PairFault>,
    shown: Shown,
    /// The noise that the plan's epsilon asks for, to draw from.
    law: Laplace,
    /// t is assigned and has no outcome yet.
    waits: bool,
    /// The number of t's coin in each trial.
    pub(super) coins: [u32; 2],
    /// t's outcome is in a window that has not been read; one entry a trial.
    pub(super) unread: [bool; 2],
    pub(super) passed: Vec<Passed>,
    /// The sums of the others' outcomes, of each arm of each feature.
    sums: [[u32; 2]; M],
}

/// Feature and arm of another patient.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    feature: usize,
    arm: Option<Arm>,
}

impl<'a, const M: usize, const U: usize> Steps<'a, M, U> {
    pub(super) fn new(
        pair: &'a Pair,
        fault: Option<Fault>,
        noise_fault: Option<PairFault>,
    ) -> Self {
        let desk = || {
            Desk::new(&pair.plan, Steady::new(), PAGES[usize::from(M > FEW)], fault)
                .unwrap_or_else(|refused| panic!("{}: {refused}", pair.plan))
        };
        let (_, total) = structured::amounts(pair.plan.scale(), 0);
        let epsilon = pair.plan.epsilon();
        let rate = Rate::new(epsilon.num().into(), u64::from(epsilon.den()) * 2 * total as u64);
        Self {
            pair,
            desks: [desk(), desk()],
            log: [0.0; 2],
            words: Sampler::seed_from_u64(pair.seed),
            people: Xoshiro256PlusPlus::seed_from_u64(!pair.seed),
            noise_fault,
            shown: Shown::new(pair),
            law: Laplace::new(rate.unwrap_or_else(|| panic!("{}: no rate", pair.plan))),
            waits: false,
            coins: [0; 2],
            unread: [false; 2],
            passed: Vec::new(),
            sums: [[0; 2]; M],
        }
    }

    pub(super) fn run(&mut self) -> Result<(), Differs> {
        let pair = self.pair;
        let mut places: Vec<Place> = vec![Place::default()];
        // When each outcome is due, in patients assigned.
        let mut due: Vec<(u32, u32)> = Vec::new();
        for patient in 1..=pair.assigned {
            places.push(self.assign(patient)?);
            let lag = if patient == pair.open {
                self.waits = true;
                pair.delay
            } else {
                self.people.next_u32() % (pair.lag + 1)
            };
            if pair.eager && !self.waits && patient > pair.open && patient.is_multiple_of(8) {
                self.draw()?;
            }
            due.push((patient + lag, patient));
            let now: Vec<_> = due.extract_if(.., |(at, _)| *at <= patient).collect();
            for (_, patient) in now {
                self.resolve(patient, places[patient as usize])?;
            }
        }
        // At the end some never come.
        for (_, patient) in due {
            if patient == pair.open || !self.people.next_u32().is_multiple_of(4) {
                self.resolve(patient, places[patient as usize])?;
            }
        }
        self.close()
    }

    /// An operation on both devices; equal replies.
    fn both(
        &mut self,
        noise: [Vec<i64>; 2],
        hidden: Option<[bool; 2]>,
        operate: impl Fn(usize, &mut Desk<M, U>) -> String,
    ) -> Result<[String; 2], Differs> {
        let mut words = core::mem::replace(&mut self.words, Sampler::seed_from_u64(0));
        let mut answers = VecDeque::new();
        let mut seen = [String::new(), String::new()];
        let mut strange = false;
        for (side, noise) in noise.into_iter().enumerate() {
            let script = Script {
                words: (side == 0)
                    .then(|| core::mem::replace(&mut words, Sampler::seed_from_u64(0))),
                hidden: hidden.map(|hidden| hidden[side]),
                answers: core::mem::take(&mut answers),
                noise: noise.into(),
                fault: self.noise_fault,
                swapped: side == 1 && self.pair.arms == Arms::Swapped,
                ..Script::default()
            };
            let desk = &mut self.desks[side];
            let (mut script, replies) = lend(script, || operate(side, desk));
            seen[side] = replies;
            self.log[side] += script.log;
            strange |= script.strange || !script.noise.is_empty();
            strange |= side == 1 && !script.answers.is_empty();
            answers = core::mem::take(&mut script.answers);
            if let Some(used) = script.words {
                self.words = used;
            }
        }
        same(!strange && self.desks[0].beside() == self.desks[1].beside())?;
        Ok(seen.map(|replies| self.shown.of(replies, hidden.is_some())))
    }

    /// A request without chance, the same to both.
    fn ask(&mut self, request: &str) -> Result<(), Differs> {
        let [first, second] = self.both([vec![], vec![]], None, |_, desk| desk.ask(request))?;
        same(first == second)
    }

    fn assign(&mut self, patient: u32) -> Result<Place, Differs> {
        let features = u32::from(self.pair.plan.features());
        let (word, other) = (self.people.next_u32(), self.people.next_u32());
        let usual = u32::from(self.pair.usual);
        let feature = if word.is_multiple_of(self.pair.rare) { other % features } else { usual };
        if patient != self.pair.open {
            let none = [vec![], vec![]];
            let [first, second] = self.both(none, None, |_, desk| desk.assign(patient, feature))?;
            same(first == second)?;
            self.replace(patient)?;
            self.probe(patient)?;
            return Ok(Place { feature: feature as usize, arm: self.shown.arm(&first) });
        }
        let records = self.pair.records;
        let ledgers = [0, 1].map(|side| self.ledger_of_t(side));
        self.coins = ledgers.map(|ledger| ledger.map_or(0, |ledger| ledger.coins.count_ones()));
        let settled = ledgers.map(|ledger| ledger.is_some_and(|ledger| ledger.settled));
        if settled[0] != settled[1] {
            self.passed.push(Passed::AcrossSettling);
        }
        let is_soft = |ledger: LedgerView| !ledger.settled && ledger.coin != Fraction::HALF;
        if ledgers.into_iter().flatten().any(is_soft) {
            self.passed.push(Passed::SoftCoin);
        }
        // Heads is arm 1.
        let heads = records.map(|record| record.arm == Some(Arm::One));
        if records[0].patient.feature != records[1].patient.feature {
            self.passed.push(Passed::OtherFeature);
        }
        let seen = self.both([vec![], vec![]], Some(heads), |side, desk| {
            desk.hide(patient);
            desk.assign(patient, records[side].patient.feature.into())
        })?;
        same(seen[0] == seen[1] && !seen[0].starts_with("ERR"))?;
        self.replace(patient)?;
        self.probe(patient)?;
        Ok(Place::default())
    }

    /// In a blinded trial the line may rest, and a patient who waits, often t, may get another kit,
    /// as long as there are any and beyond.
    fn replace(&mut self, patient: u32) -> Result<(), Differs> {
        if !self.shown.is_blinded() {
            return Ok(());
        }
        let (word, rests) = (self.people.next_u32(), self.people.next_u32().is_multiple_of(2));
        if rests {
            self.both([vec![], vec![]], None, |_, desk| {
                desk.rest();
                String::new()
            })?;
        }
        let receiver = if self.waits && word % 3 == 0 {
            self.pair.open
        } else {
            patient.saturating_sub(word % 4).max(1)
        };
        let count = 1 + word / 4 % 2;
        self.ask(&format!("REPLACE {receiver} {count}"))
    }

    fn resolve(&mut self, patient: u32, place: Place) -> Result<(), Differs> {
        let scale = u32::from(self.pair.plan.scale());
        let (word, level) = (self.people.next_u32(), self.people.next_u32() % (scale + 1));
        let line = |outcome: Option<u32>| match outcome {
            Some(y) => format!("OUTCOME {patient} {y}"),
            None => format!("LOST {patient}"),
        };
        let lines = if patient == self.pair.open {
            self.waits = false;
            self.unread = self.pair.records.map(|record| record.patient.outcome.is_some());
            if (0..2).any(|side| self.unread[side] && self.coins_since(side) >= 2) {
                self.passed.push(Passed::TwoCoinsLate);
            }
            self.pair.records.map(|record| line(record.patient.outcome.map(u32::from)))
        } else {
            let arm = place.arm.map_or(0, Arm::index);
            let sums = &mut self.sums[place.feature];
            let outcome = match self.pair.others {
                Others::FollowTheirArms if !word.is_multiple_of(8) => arm as u32 * scale,
                Others::Tie if sums[arm] <= sums[1 - arm] => scale,
                Others::Tie => 0,
                Others::FollowTheirArms | Others::Vary => level,
            };
            let recorded = word >> 8 & 15 > 0;
            sums[arm] += if recorded { outcome } else { 0 };
            let request = line(recorded.then_some(outcome));
            [request.clone(), request]
        };
        let [first, second] =
            self.both([vec![], vec![]], None, |side, desk| desk.ask(&lines[side]))?;
        same(first == second)?;
        let due = [0, 1].map(|side: usize| self.desks[side].trial().look_due());
        same(due[0] == due[1])?;
        if due[0] {
            self.look()?;
        }
        self.probe(patient)?;
        let [first, second] =
            self.both([vec![], vec![]], None, |_, desk| desk.probe_resolved(patient))?;
        same(first == second)
    }

    /// Sends the requests that anybody may send: all of them after some patients, else `STATUS`.
    fn probe(&mut self, patient: u32) -> Result<(), Differs> {
        if !patient.is_multiple_of(self.pair.probed) {
            return self.ask("STATUS");
        }
        let [first, second] = self.both([vec![], vec![]], None, |_, desk| desk.probe(true))?;
        same(first == second)
    }

    fn ledgers(&self, side: usize) -> Vec<[[i64; 3]; 2]> {
        let trial = self.desks[side].trial();
        let cells = |feature| trial.ledger(feature).map_or([[0; 3]; 2], |ledger| ledger.cells);
        (0..trial.plan().features()).map(cells).collect()
    }

    /// Draws the noise that features which take part in the next look still lack, and compares the
    /// windows.
    fn draw(&mut self) -> Result<(), Differs> {
        loop {
            let next = [0, 1].map(|side: usize| next_noise(self.desks[side].trial()));
            let [Some((feature, first)), Some((other, second))] = next else {
                return same(next == [None, None]);
            };
            same(feature == other && first.len() == second.len())?;
            let before = [0, 1].map(|side: usize| self.desks[side].trial().windows(feature));
            let noise = self.noise(&[first, second]);
            self.both(noise.clone(), None, |_, desk| {
                desk.draw_ahead();
                String::new()
            })?;
            let after = [0, 1].map(|side: usize| self.desks[side].trial().windows(feature));
            same(masked(after[0]) == masked(after[1]))?;
            let added = noised(self.pair.plan.scale(), before[0], after[0], &noise[0]);
            same(added == masked(after[0]))?;
        }
    }

    /// Draws for the first trial; for the second, what brings its cells to the same values.
    fn noise(&mut self, [first, second]: &[Vec<i64>; 2]) -> [Vec<i64>; 2] {
        let drawn: Vec<i64> =
            first.iter().map(|_| self.words.discrete_laplace(&self.law)).collect();
        let cells = first.iter().zip(second).zip(&drawn);
        let made_up = cells.map(|((first, second), noise)| first + noise - second).collect();
        [drawn, made_up]
    }

    fn look(&mut self) -> Result<(), Differs> {
        let count = self.desks[0].trial().resolved();
        if self.waits {
            self.passed.push(Passed::Late);
        }
        let before = self.ledgers(0);
        self.draw()?;
        let window = |feature: u8| masked(self.desks[0].trial().windows(feature));
        let all = (0..self.pair.plan.features()).map(|feature| (feature, window(feature)));
        let (drawn, windows): (Vec<u8>, Vec<_>) =
            all.filter(|(_, window)| !window.is_empty()).unzip();
        // After the draws, a window has its noise if the look reads it.
        let reads = self.reads(|trial, feature| {
            trial.windows(feature).map_or([false; 2], |windows| windows.map(|(_, masked)| masked))
        });
        self.note_read(&reads, count, false);
        let coins = [0, 1].map(|side| self.coins_since(side));
        let [first, second] = self.both([vec![], vec![]], None, |_, desk| desk.look())?;
        same(first == second)?;
        self.note_forgotten(coins);
        self.compare(&before, &drawn, &windows)
    }

    /// Equal ledgers, which have grown by the windows read.
    fn compare(
        &self,
        before: &[[[i64; 3]; 2]],
        drawn: &[u8],
        windows: &[Vec<i64>],
    ) -> Result<(), Differs> {
        for feature in 0..self.pair.plan.features() {
            let [first, second] =
                [0, 1].map(|side: usize| self.desks[side].trial().ledger(feature));
            same(first == second)?;
            let read = drawn.iter().position(|j| *j == feature);
            let cells = first.map_or([[0; 3]; 2], |ledger| ledger.cells);
            let grown: Vec<i64> = cells.iter().flatten().copied().collect();
            let mut expected: Vec<i64> =
                before[usize::from(feature)].iter().flatten().copied().collect();
            for window in read.iter().flat_map(|at| windows[*at].chunks(CELLS)) {
                expected.iter_mut().zip(window).for_each(|(sum, cell)| *sum += cell);
            }
            same(grown == expected)?;
        }
        Ok(())
    }

    fn close(&mut self) -> Result<(), Differs> {
        let count = self.desks[0].trial().resolved();
        let before = self.ledgers(0);
        self.draw()?;
        let all: Vec<u8> = (0..self.pair.plan.features()).collect();
        // Which windows the close reads; noise drawn ahead for another look is then thrown away,
        // and windows that lack noise get it within the request.
        let reads = [0, 1].map(|side: usize| close_reads(self.desks[side].trial()));
        same(reads[0] == reads[1])?;
        let [reads, _] = reads;
        let of_t = self.reads(|_, feature| reads[usize::from(feature)]);
        self.note_read(&of_t, count, true);
        let mut rest = [Vec::new(), Vec::new()];
        let mut windows: Vec<Vec<i64>> = Vec::new();
        for (feature, reads) in all.iter().copied().zip(reads) {
            let raw =
                [0, 1].map(|side: usize| close_noise(self.desks[side].trial(), feature, reads));
            same(raw[0].len() == raw[1].len())?;
            let noise = self.noise(&raw);
            let present = self.desks[0].trial().windows(feature);
            windows.push(closed(self.pair.plan.scale(), present, reads, &noise[0]));
            rest.iter_mut().zip(noise).for_each(|(rest, noise)| rest.extend(noise));
        }
        let [first, second] = self.both(rest, None, |_, desk| desk.order("CLOSE"))?;
        same(first == second && self.desks[0].trial().phase() == Phase::Closed)?;
        self.compare(&before, &all, &windows)?;
        let [first, second] = self.both([vec![], vec![]], None, |_, desk| desk.probe(true))?;
        same(first == second)
    }
}

const fn same(equal: bool) -> Result<(), Differs> {
    if equal { Ok(()) } else { Err(Differs) }
}
