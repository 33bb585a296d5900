//! Devices that are broken on purpose, to see whether the audit notices.
//!
//! A [`Broken`] device is the device that ships with one of its parts replaced: the text of its
//! replies, the seed of its generator, its coin, its noise, its samples, its flash, its idle work,
//! the moment of a reply, or the state that its design keeps. The part may use everything that the
//! device knows about patients: a [`Secret`] is made of the trial before each operation, and stays
//! known while the trial is closed and erased, until the device is restarted.
//!
//! The command `equipoise audit` breaks nothing: only tests implement [`Broken`].

use std::cell::RefCell;

use equipoise::chance::Fraction;
use equipoise::noise::Laplace;
use equipoise::plan::Plan;
use equipoise::terms::{Arm, Phase};
use equipoise::trial::Trial;
use equipoise::trial::stored::{MAX_PART_BYTES, Part, Stored};

/// Facts about a trial that no reply may show.
#[derive(Clone, Debug)]
pub struct Secret {
    /// The plan.
    pub plan: Plan,
    /// Patients assigned.
    pub assigned: u32,
    /// Patients resolved.
    pub resolved: u32,
    /// Raw cells E, F and G of both arms of each feature, of all windows without noise.
    pub cells: Vec<[[i64; 3]; 2]>,
    /// The leading arm of each feature that is settled.
    pub leading: Vec<Option<Arm>>,
    /// Looks done.
    pub looks: u8,
    /// Replacement kits given.
    pub replaced: u32,
    /// The trial is closed; everything else is as before.
    pub is_closed: bool,
    /// The arms of patients who wait, in a blinded trial.
    pub arms: Vec<(u32, Arm)>,
}

impl Secret {
    fn of<const M: usize, const U: usize>(trial: &Trial<M, U>) -> Self {
        let cells = |feature| {
            let mut sums = [[0; 3]; 2];
            let windows = trial.windows(feature).into_iter().flatten();
            for (cells, _) in windows.filter(|(_, masked)| !masked) {
                let pairs = sums.iter_mut().flatten().zip(cells.into_iter().flatten());
                pairs.for_each(|(sum, cell)| *sum += cell);
            }
            sums
        };
        let features = 0..trial.plan().features();
        Self {
            plan: *trial.plan(),
            assigned: trial.assigned(),
            resolved: trial.resolved(),
            cells: features.clone().map(cells).collect(),
            leading: features.map(|feature| trial.leading(feature)).collect(),
            looks: trial.looks(),
            replaced: trial.replaced(),
            is_closed: false,
            arms: if trial.plan().is_blinded() { waiting(trial) } else { Vec::new() },
        }
    }

    /// Raw successes of all features.
    #[must_use]
    pub fn sum(&self) -> i64 {
        self.cells.iter().flatten().map(|[successes, ..]| successes).sum()
    }

    /// Whether the raw sum is odd: one bit that a patient changes.
    #[must_use]
    pub fn is_odd(&self) -> bool {
        self.sum() & 1 == 1
    }
}

/// The patients who wait in a blinded trial, and their arms, as the trial's table is stored.
fn waiting<const M: usize, const U: usize>(trial: &Trial<M, U>) -> Vec<(u32, Arm)> {
    /// Bits of a word that hold the number, and the bit of the arm.
    const NUMBER: u32 = (1 << 22) - 1;
    const ARM: u32 = 1 << 30;
    let word = |slot| {
        let bytes = trial.part(Part::Waiting(slot as u16));
        bytes.try_into().map_or(0, u32::from_le_bytes)
    };
    let words = (0..U).map(word).filter(|word| word & NUMBER > 0);
    words.map(|word| (word & NUMBER, Arm::from_bit(word & ARM > 0))).collect()
}

/// One operation of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation<'a> {
    /// A page is erased.
    Erase,
    /// Bytes are written to flash.
    Write(&'a [u8]),
    /// A sample is taken from the entropy source.
    Sample,
    /// A piece of the next kits is computed between requests.
    Piece,
}

/// Stored parts of a trial, to change them behind its back.
pub trait Altered {
    /// A part as it is stored.
    fn part(&self, part: Part) -> Vec<u8>;
    /// Replaces a part.
    fn set(&mut self, part: Part, bytes: &[u8]);
    /// Looks done.
    fn looks(&self) -> u8;
    /// Patients resolved.
    fn resolved(&self) -> u32;
}

impl<const M: usize, const U: usize> Altered for Trial<M, U> {
    fn part(&self, part: Part) -> Vec<u8> {
        let mut bytes = [0; MAX_PART_BYTES];
        let length = Stored::encode_part(self, part, &mut bytes);
        bytes[..length].into()
    }

    fn set(&mut self, part: Part, bytes: &[u8]) {
        Stored::decode_part(self, part, bytes).unwrap_or_else(|| panic!("{part:?}: {bytes:?}"));
    }

    fn looks(&self) -> u8 {
        Self::looks(self)
    }

    fn resolved(&self) -> u32 {
        Self::resolved(self)
    }
}

/// A device with a fault. Every method stands for a part; those that are not given are sound.
pub trait Broken: Sync {
    /// Changes the replies to a request; the secret is that after it.
    fn reply(&self, _: &Secret, _line: &str, _replies: &mut String) {}
    /// Changes the seed of the generator.
    fn seed(&self, _: &Secret, _: &mut [u8; 32]) {}
    /// The probability of arm 1 with which a coin is thrown.
    fn share(&self, _: &Secret, p: Fraction) -> Fraction {
        p
    }
    /// Another law for a draw of noise.
    fn law(&self, _: &Secret, _: &Laplace) -> Option<Laplace> {
        None
    }
    /// How many times an operation is done.
    fn times(&self, _: &Secret, _: Operation<'_>) -> u32 {
        1
    }
    /// Microseconds by which a reply is late.
    fn late(&self, _: &Secret) -> u32 {
        0
    }
    /// Changes the trial after an operation; the secret is that before it.
    fn alter(&self, _: &Secret, _: &mut dyn Altered) {}
}

/// A fault, for whole trials and many threads.
pub type Fault = &'static dyn Broken;

std::thread_local! {
    /// The fault of the device at work on this thread.
    static AT_WORK: RefCell<Option<(Fault, Secret)>> = const { RefCell::new(None) };
}

/// Brings the secret that a fault knows up to date: a closed trial has forgotten its own.
pub(super) fn learn<const M: usize, const U: usize>(
    known: Option<Secret>,
    trial: Option<&Trial<M, U>>,
) -> Option<Secret> {
    match trial {
        Some(trial) if trial.phase() != Phase::Closed => {
            let mut secret = Secret::of(trial);
            // Cells with noise are not raw: a fault remembers them as they were.
            for (feature, cells) in (0..).zip(&mut secret.cells) {
                let mut windows = trial.windows(feature).into_iter().flatten();
                let before = known.as_ref().and_then(|known| known.cells.get(usize::from(feature)));
                if let Some(before) = before.filter(|_| windows.any(|(_, masked)| masked)) {
                    *cells = *before;
                }
            }
            Some(secret)
        }
        closed => known.map(|secret| Secret { is_closed: closed.is_some(), ..secret }),
    }
}

/// Runs an operation of a device with this fault.
pub(super) fn at_work<T>(fault: Option<(Fault, Secret)>, work: impl FnOnce() -> T) -> T {
    let before = AT_WORK.replace(fault);
    let done = work();
    AT_WORK.set(before);
    done
}

fn ask<T>(ask: impl FnOnce(Fault, &Secret) -> T) -> Option<T> {
    AT_WORK.with_borrow(|fault| fault.as_ref().map(|(fault, secret)| ask(*fault, secret)))
}

pub(crate) fn times(operation: Operation<'_>) -> u32 {
    ask(|fault, secret| fault.times(secret, operation)).unwrap_or(1)
}

pub(super) fn spoil_seed(seed: &mut [u8; 32]) {
    ask(|fault, secret| fault.seed(secret, seed));
}

pub(super) fn share(p: Fraction) -> Fraction {
    ask(|fault, secret| fault.share(secret, p)).unwrap_or(p)
}

pub(super) fn law(law: &Laplace) -> Option<Laplace> {
    ask(|fault, secret| fault.law(secret, law)).flatten()
}
