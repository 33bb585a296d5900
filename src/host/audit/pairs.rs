//! Pairs of neighbouring trials of any size, in lock step over the lines of two devices: the exact
//! likelihood ratio of what both show.
//!
//! A [`Pair`] is a trial and a patient t with two records. Two devices that ship run it side by
//! side. The first one's chance is drawn. The second one's is chosen so that it shows the same: the
//! same answers of coins for every patient but t, and at looks the noise that brings each cell to
//! the value that the first device's cell has got. What is seen - every reply to every request but
//! t's arm, replies to everything that anybody may ask, the noisy windows, the ledgers - must then
//! be equal. If it is, the second trial shows it with this one sequence of answers and with no
//! other, because every draw can be read off a noisy window; so the ratio of the products of the
//! probabilities of all answers, as the laws that the device asked for give them, is the exact
//! likelihood ratio, and its logarithm a loss. If anything differs, something depends on t by
//! another way than through noise, and the loss is infinite.
//!
//! Nothing of the proof is used. Chance is observed where it enters, so each check is about the
//! code that runs: a window holds its raw cells plus the draws, unclamped; the ledger grows by just
//! the windows that were read.
//!
//! Pairs are drawn at random from kinds of trials that pass through all that can happen to an
//! outcome ([`Passed`]); a [`Survey`] counts how many did.

use crate::prelude::*;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;
use std::collections::VecDeque;

use super::desk::{Desk, Leak, Steady, arm_of, lend};
use super::enumerator::rate;
use super::exact::{Patient, Record, next_noise};
use super::loss::Loss;
use super::suite::{Finding, Method, claim};
use crate::chance::{Chance, Fraction, Sampler};
use crate::design::Arm;
use crate::noise::{Laplace, Rate};
use crate::plan::{Design, Plan};
use crate::trial::{Phase, Trial};

/// Room of the devices.
const FEATURES: usize = 3;
const WAITING: usize = 64;
const PAGES: usize = 32;
/// Cells of a window: E, F, G of both arms.
const CELLS: usize = 6;

type Trials = Trial<FEATURES, WAITING>;
/// A fault in the replies of both devices.
pub type PairLeak = Leak<FEATURES, WAITING>;
/// A fault in the use of noise: the value used for a draw, from its number within its window.
pub type PairFault = fn(usize, i64) -> i64;

/// What t's outcome passed through in at least one of the two trials.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passed {
    /// It was read at a look before half.
    EarlyLook,
    /// Its feature, being settled, skipped a look.
    SettledSkips,
    /// Its feature was left out of a look because its window was too small.
    LeftOut,
    /// It was t of a settled feature in one trial, of an unsettled one in the other.
    AcrossSettling,
    /// It was in another feature in the other trial.
    OtherFeature,
    /// Its feature was read with outcomes in both windows.
    BothWindows,
    /// It went into the cell F.
    Spread,
    /// A look fell between its assignment and its outcome.
    Late,
    /// It was read at a planned report.
    Report,
    /// It was read at a close before all patients were resolved.
    EarlyClose,
}

impl Passed {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::EarlyLook,
        Self::SettledSkips,
        Self::LeftOut,
        Self::AcrossSettling,
        Self::OtherFeature,
        Self::BothWindows,
        Self::Spread,
        Self::Late,
        Self::Report,
        Self::EarlyClose,
    ];
}

/// The outcomes of the other patients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Others {
    /// By chance.
    Vary,
    /// By their arms, so that features settle.
    FollowTheirArms,
    /// So that both arms of a feature have equal sums: one patient makes the difference.
    Tie,
}

/// A trial, a patient and two records of that patient.
#[derive(Clone, Debug)]
pub struct Pair {
    /// The public parameters.
    pub plan: Plan,
    /// The number of the patient.
    pub open: u32,
    /// The patient in the one trial and in the other, with arms.
    pub records: [Record; 2],
    /// The patient's outcome comes after so many more patients ..
    pub delay: u32,
    /// .. and that of another after at most so many.
    pub lag: u32,
    /// How the others fare.
    pub others: Others,
    /// One patient in so many is not of feature 0.
    pub rare: u32,
    /// Patients assigned before the close.
    pub assigned: u32,
    /// Everything else that is random.
    pub seed: u64,
}

impl Pair {
    /// A pair of a design at an epsilon; a function of the seed.
    ///
    /// # Panics
    /// The epsilon is not allowed.
    #[must_use]
    pub fn random(design: Design, epsilon: &str, seed: u64) -> Self {
        let mut words = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut below = |n: u32| words.next_u32() % n;
        // Looks before half fall from 80 patients a feature on: at 80, 160 and 256.
        let (features, patients, most) = match below(4) {
            0 => (1 + below(3), 4 + below(30), 20),
            1 => (1, 256 + below(60), 120),
            2 => (2, 512 + below(40), 250),
            _ => (2, 820 + below(40), 410),
        };
        let scale = [1, 1, 2, 2, 10, 101][below(6) as usize];
        let (reports, beta) = (below(4), ["1/20", "9/10"][below(2) as usize]);
        let text = format!(
            "design={design} features={features} patients={patients} epsilon={epsilon} \
             scale={scale} reports={reports} beta={beta} alpha={}/4",
            below(4)
        );
        let plan = Plan::parse(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
        let mut record = || Record {
            patient: Patient {
                feature: below(features) as u8,
                outcome: (below(8) > 0).then(|| match below(3) {
                    0 => 0,
                    1 => scale,
                    _ => below(u32::from(scale) + 1) as u16,
                }),
            },
            arm: Some(Arm::from_bit(below(2) == 1)),
        };
        let records = [record(), record()];
        let lag = [0, 0, 5, 40][below(4) as usize];
        let assigned =
            if below(3) > 0 { patients } else { patients.saturating_sub(below(most)).max(1) };
        Self {
            plan,
            // As many in the first quarter, where looks before half read them, as later.
            open: 1 + if below(2) == 0 { below(assigned.div_ceil(4)) } else { below(assigned) },
            records,
            delay: if below(2) == 0 { lag } else { below(patients) },
            lag,
            others: [Others::Vary, Others::FollowTheirArms, Others::Tie][below(3) as usize],
            rare: [2, 40][below(2) as usize],
            assigned,
            seed: seed ^ u64::from(below(u32::MAX)),
        }
    }

    /// Runs both trials: the loss, and what t's outcome passed through.
    #[must_use]
    pub fn run(&self, leak: Option<PairLeak>, fault: Option<PairFault>) -> (Loss, Vec<Passed>) {
        let mut steps = Steps::new(self, leak, fault);
        let done = steps.run();
        let epsilon = match done {
            Ok(()) => (steps.log[0] - steps.log[1]).abs(),
            Err(Differs) => f64::INFINITY,
        };
        let delta = if epsilon.is_finite() { 0.0 } else { 1.0 };
        (Loss { epsilon, delta }, steps.passed)
    }
}

/// The two trials do not show the same.
struct Differs;

/// Chance for one operation of one device.
#[derive(Default)]
struct Script {
    words: Option<Sampler<Xoshiro256PlusPlus>>,
    /// t's coin, which nobody sees.
    hidden: Option<bool>,
    /// Answers of coins: to repeat, or given so far.
    answers: VecDeque<bool>,
    /// Noise for the draws to come.
    noise: VecDeque<i64>,
    fault: Option<PairFault>,
    drawn: usize,
    /// ln P of all answers.
    log: f64,
    /// More or other questions than in the other trial.
    strange: bool,
}

impl Script {
    fn answer(
        &mut self,
        p: f64,
        heads: impl FnOnce(&mut Sampler<Xoshiro256PlusPlus>) -> bool,
    ) -> bool {
        if let Some(hidden) = self.hidden {
            return hidden;
        }
        let heads = match &mut self.words {
            Some(words) => {
                let heads = heads(words);
                self.answers.push_back(heads);
                heads
            }
            None => self.answers.pop_front().unwrap_or_else(|| {
                self.strange = true;
                false
            }),
        };
        self.log += if heads { p.ln() } else { (-p).ln_1p() };
        heads
    }
}

impl Chance for Script {
    fn coin(&mut self) -> bool {
        self.answer(0.5, Chance::coin)
    }

    fn biased_coin(&mut self, p: Fraction) -> bool {
        self.answer(f64::from(p.0) / 4_294_967_296.0, |words| words.biased_coin(p))
    }

    fn discrete_laplace(&mut self, law: &Laplace) -> i64 {
        let rate = rate(law);
        let Some(k) = self.noise.pop_front() else {
            self.strange = true;
            return 0;
        };
        self.log += (rate / 2.0).tanh().ln() - rate * k.unsigned_abs() as f64;
        self.drawn += 1;
        self.fault.map_or(k, |fault| fault(self.drawn - 1, k))
    }

    fn lap_plus(&mut self, center: u64, _: &Laplace) -> u64 {
        self.strange = true;
        center
    }
}

/// Both devices in the course of their trials.
struct Steps<'a> {
    pair: &'a Pair,
    desks: [Desk<FEATURES, WAITING>; 2],
    log: [f64; 2],
    words: Sampler<Xoshiro256PlusPlus>,
    people: Xoshiro256PlusPlus,
    fault: Option<PairFault>,
    /// The noise that the plan's epsilon asks for, to draw from.
    law: Laplace,
    /// t is assigned; t's outcome is in a window that has not been read, one entry a trial.
    waits: bool,
    unread: [bool; 2],
    passed: Vec<Passed>,
    /// The sums of the others' outcomes, of each arm of each feature.
    sums: [[u32; 2]; FEATURES],
}

/// Where another patient is.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    feature: usize,
    arm: Option<Arm>,
}

impl<'a> Steps<'a> {
    fn new(pair: &'a Pair, leak: Option<PairLeak>, fault: Option<PairFault>) -> Self {
        let desk = || {
            Desk::new(&pair.plan, Steady::new(), PAGES, leak)
                .unwrap_or_else(|refused| panic!("{}: {refused}", pair.plan))
        };
        let (_, total) = super::structured::amounts(pair.plan.scale(), 0);
        let epsilon = pair.plan.epsilon();
        let rate = Rate::new(epsilon.num().into(), u64::from(epsilon.den()) * 2 * total as u64);
        Self {
            pair,
            desks: [desk(), desk()],
            log: [0.0; 2],
            words: Sampler::seed_from_u64(pair.seed),
            people: Xoshiro256PlusPlus::seed_from_u64(!pair.seed),
            fault,
            law: Laplace::new(rate.unwrap_or_else(|| panic!("{}: no rate", pair.plan))),
            waits: false,
            unread: [false; 2],
            passed: Vec::new(),
            sums: [[0; 2]; FEATURES],
        }
    }

    fn run(&mut self) -> Result<(), Differs> {
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
        operate: impl Fn(usize, &mut Desk<FEATURES, WAITING>) -> String,
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
                fault: self.fault,
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
        if strange { Err(Differs) } else { Ok(seen) }
    }

    /// A request without chance, the same to both.
    fn ask(&mut self, request: &str) -> Result<(), Differs> {
        let [first, second] = self.both([vec![], vec![]], None, |_, desk| desk.ask(request))?;
        same(first == second)
    }

    fn assign(&mut self, patient: u32) -> Result<Place, Differs> {
        let features = u32::from(self.pair.plan.features());
        let (word, other) = (self.people.next_u32(), self.people.next_u32());
        let feature = if word.is_multiple_of(self.pair.rare) { other % features } else { 0 };
        let request = |feature| format!("ASSIGN {patient} {feature} {patient:08x}");
        if patient != self.pair.open {
            let line = request(feature);
            let none = [vec![], vec![]];
            let [first, second] = self.both(none, None, |_, desk| desk.ask(&line))?;
            same(first == second)?;
            self.probe(patient)?;
            return Ok(Place { feature: feature as usize, arm: arm_of(&first) });
        }
        let records = self.pair.records;
        let leading = [0, 1]
            .map(|side: usize| self.desks[side].trial().leading(records[side].patient.feature));
        // Heads is arm 1 of a fair coin and the trailing arm of a biased one.
        let heads = [0, 1].map(|side| match leading[side] {
            None => records[side].arm == Some(Arm::One),
            Some(leading) => records[side].arm != Some(leading),
        });
        if leading[0].is_some() != leading[1].is_some() {
            self.passed.push(Passed::AcrossSettling);
        }
        if records[0].patient.feature != records[1].patient.feature {
            self.passed.push(Passed::OtherFeature);
        }
        let lines = records.map(|record| request(record.patient.feature.into()));
        let seen = self.both([vec![], vec![]], Some(heads), |side, desk| desk.ask(&lines[side]))?;
        same(seen.iter().all(|reply| arm_of(reply).is_some()))?;
        self.probe(patient)?;
        Ok(Place::default())
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

    /// What anybody may ask, now and then all of it.
    fn probe(&mut self, patient: u32) -> Result<(), Differs> {
        if !patient.is_multiple_of(4) {
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

    /// Draws the noise of all features that take part in the next look, and shows the windows.
    fn draw(&mut self) -> Result<Vec<u8>, Differs> {
        let mut drawn = Vec::new();
        loop {
            let next = [0, 1].map(|side: usize| next_noise(self.desks[side].trial()));
            let [Some((feature, first)), Some((other, second))] = next else {
                same(next == [None, None])?;
                return Ok(drawn);
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
            drawn.push(feature);
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
        let drawn = self.draw()?;
        let windows: Vec<_> =
            drawn.iter().map(|j| masked(self.desks[0].trial().windows(*j))).collect();
        self.note_read(&drawn, count, false);
        self.both([vec![], vec![]], None, |_, desk| {
            desk.look();
            String::new()
        })?;
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
        let drawn = self.draw()?;
        let all: Vec<u8> = (0..self.pair.plan.features()).collect();
        self.note_read(&all, count, true);
        // The close reads every feature; those that lack noise get it within the request.
        let mut rest = [Vec::new(), Vec::new()];
        let mut windows: Vec<Vec<i64>> = Vec::new();
        for feature in all.iter().copied() {
            let raw = [0, 1].map(|side: usize| unmasked(self.desks[side].trial(), feature));
            let noise = self.noise(&raw);
            let lacks = !drawn.contains(&feature);
            let now = masked(self.desks[0].trial().windows(feature));
            let kept = kept_cells(self.pair.plan.scale(), &raw[0], &noise[0]);
            windows.push(if lacks { kept } else { now });
            if lacks {
                let [first, second] = noise;
                rest[0].extend(first);
                rest[1].extend(second);
            }
        }
        let [first, second] = self.both(rest, None, |_, desk| desk.order("CLOSE"))?;
        same(first == second && self.desks[0].trial().phase() == Phase::Closed)?;
        self.compare(&before, &all, &windows)?;
        let [first, second] = self.both([vec![], vec![]], None, |_, desk| desk.probe(true))?;
        same(first == second)
    }

    /// Takes note of what a look that reads these features does with t's outcome.
    fn note_read(&mut self, drawn: &[u8], count: u32, closing: bool) {
        let plan = &self.pair.plan;
        for side in [0, 1].into_iter().filter(|side| self.unread[*side]) {
            let Patient { feature, outcome } = self.pair.records[side].patient;
            let trial = self.desks[side].trial();
            if !drawn.contains(&feature) {
                // A settled feature skips looks up to half, and reports only if it is small.
                let skips = trial.leading(feature).is_some() && count <= plan.half();
                self.passed.push(if skips { Passed::SettledSkips } else { Passed::LeftOut });
                continue;
            }
            if closing && count < plan.patients() {
                self.passed.push(Passed::EarlyClose);
            } else if !closing && count < plan.half() {
                self.passed.push(Passed::EarlyLook);
            } else if !closing && count != plan.half() {
                self.passed.push(Passed::Report);
            }
            if plan.scale() == 2 && outcome == Some(1) {
                self.passed.push(Passed::Spread);
            }
            let full = |(cells, _): &([[i64; 3]; 2], bool)| cells.iter().flatten().any(|c| *c != 0);
            if trial.windows(feature).is_some_and(|windows| windows.iter().all(full)) {
                self.passed.push(Passed::BothWindows);
            }
        }
        for (unread, record) in self.unread.iter_mut().zip(self.pair.records) {
            *unread &= !drawn.contains(&record.patient.feature);
        }
    }
}

const fn same(equal: bool) -> Result<(), Differs> {
    if equal { Ok(()) } else { Err(Differs) }
}

type Windows = Option<[([[i64; 3]; 2], bool); 2]>;

/// The cells of the windows that have their noise.
fn masked(windows: Windows) -> Vec<i64> {
    let windows = windows.into_iter().flatten().filter(|(_, masked)| *masked);
    windows.flat_map(|(cells, _)| cells).flatten().collect()
}

/// The raw cells that a close adds noise to, in the order of the draws.
fn unmasked(trial: &Trials, feature: u8) -> Vec<i64> {
    let settled = trial.leading(feature).is_some();
    let windows = trial.windows(feature).into_iter().flatten().zip([true, settled]);
    let raw = windows.filter(|((_, masked), read)| *read && !masked);
    let graded = trial.plan().scale() > 1;
    raw.flat_map(|((cells, _), _)| cells.into_iter().flatten().enumerate())
        .filter(|(i, _)| graded || i % 3 != 1)
        .map(|(_, cell)| cell)
        .collect()
}

/// Cells with their noise, with a 0 for each F that is not kept.
fn kept_cells(scale: u16, raw: &[i64], noise: &[i64]) -> Vec<i64> {
    let sums: Vec<i64> = raw.iter().zip(noise).map(|(cell, noise)| cell + noise).collect();
    if scale > 1 {
        return sums;
    }
    sums.chunks(2).flat_map(|pair| [pair[0], 0, pair[1]]).collect()
}

/// The masked windows as they must be: what was there before, and the noise.
fn noised(scale: u16, before: Windows, after: Windows, noise: &[i64]) -> Vec<i64> {
    let both = before.into_iter().flatten().zip(after.into_iter().flatten());
    let (mut cells, mut noise) = (Vec::new(), noise.iter());
    for ((raw, had), (_, has)) in both.filter(|(_, (_, has))| *has) {
        for (i, cell) in raw.into_iter().flatten().enumerate() {
            let draws = has && !had && (scale > 1 || i % 3 != 1);
            cells.push(cell + if draws { noise.next().copied().unwrap_or(0) } else { 0 });
        }
    }
    cells
}

/// What many pairs have shown.
#[derive(Clone, Debug)]
pub struct Survey {
    /// The worst loss.
    pub loss: Loss,
    /// How many pairs passed through each of [`Passed::ALL`].
    pub passed: [u32; Passed::ALL.len()],
}

/// Runs pairs of a design at an epsilon.
#[must_use]
pub fn survey(
    design: Design,
    epsilon: &str,
    pairs: u32,
    leak: Option<PairLeak>,
    fault: Option<PairFault>,
) -> Survey {
    let none = || Survey { loss: Loss::NONE, passed: [0; Passed::ALL.len()] };
    let one = |seed: u32| {
        let (loss, passed) = Pair::random(design, epsilon, seed.into()).run(leak, fault);
        Survey { loss, passed: Passed::ALL.map(|what| passed.contains(&what).into()) }
    };
    let both = |a: Survey, b: Survey| Survey {
        loss: a.loss.or(b.loss),
        passed: core::array::from_fn(|i| a.passed[i] + b.passed[i]),
    };
    (0..pairs).into_par_iter().map(one).reduce(none, both)
}

/// The line of the audit for pairs of a design at an epsilon.
///
/// # Panics
/// The epsilon is not allowed.
#[must_use]
pub fn finding(design: Design, epsilon: &str, pairs: u32) -> Finding {
    let survey = survey(design, epsilon, pairs, None, None);
    let plan = Pair::random(design, epsilon, 0).plan;
    let instance = format!(
        "n=4..860 M=1..3 Y=1..101 eps={epsilon}, {pairs} pairs of trials; ledger and line seen"
    );
    Finding::new(design, Method::Pairs, instance, claim(&plan), survey.loss)
}
