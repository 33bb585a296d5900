//! Custodian commands: set the key, plan, close and erase trials; and the device's lifetime budget.
//!
//! Every command needs the custodian's proof ([`super::auth`]), but for the first key of a device.
//! Each can be repeated with a fresh proof: a second `PLAN` of the same trial before its first
//! patient, a second `CLOSE` and a second `ERASE` are acknowledged and change nothing.
//!
//! **Lifetime budget.** A patient who takes part in several trials of one device loses the sum of
//! their epsilons, so the device adds up what its plans spend, in millionths, each rounded up, and
//! refuses a plan that would carry the sum beyond [`LIFETIME_BUDGET`]. It is charged when a plan is
//! accepted and survives `ERASE`. For `dp-conse` it counts the epsilon of the plan, which is what
//! the paper claims and not what an audit finds.
//!
//! **Blinded files.** The same trial file and key give the same kit numbers, and kits given twice
//! show which are of one arm. So the device remembers its last 8 blinded trial files, also over
//! `ERASE`, and refuses a plan with one of them.

use super::Answer;
use super::auth::{CustodianKey, Evidence};
use super::generator::Seeded;
use super::health::Entropy;
use super::ready::Ready;
use crate::codec::{Reader, Writer};
use crate::journal::{JournalFlash, TooSmall};
use crate::plan::{DesignName, Plan, Ratio};
use crate::terms::Phase;
use crate::wire::{Claim, FileDigest, Lock, MAC_BYTES, Micro, Refusal, Reply, TrialId, TrialName};

/// Most that a device may spend in its life: epsilon 100, in millionths.
pub const LIFETIME_BUDGET: u32 = 100_000_000;
/// Bytes of the stored form.
pub(super) const CUSTODY_BYTES: usize = 1 + MAC_BYTES + 4 + USED_FILES * MARK_BYTES + 1;
/// Blinded trial files that a device remembers.
const USED_FILES: usize = 8;
/// Bytes that are kept of a digest. Another file looks like a used one once in two million times,
/// and is then refused; a used one is always recognized. (Whole digests would take 40 bytes more
/// RAM than the micro:bit v1 has.)
const MARK_BYTES: usize = 3;
/// The mark of no file: zeros, like memory that is not used yet.
const NO_MARK: [u8; MARK_BYTES] = [0; MARK_BYTES];

const MILLION: u64 = 1_000_000;

/// Stored state of the custodian: the key, if set, and the budget spent.
#[derive(Clone, Debug)]
pub(super) struct Custody {
    key: Option<CustodianKey>,
    /// Epsilon spent, in millionths; at most [`LIFETIME_BUDGET`].
    spent: u32,
    /// The beginnings of the digests of the last blinded trials' files, the latest first.
    used: [[u8; MARK_BYTES]; USED_FILES],
}

impl Custody {
    /// A device fresh from the factory.
    pub const NEW: Self = Self { key: None, spent: 0, used: [NO_MARK; USED_FILES] };

    /// The key, if set.
    ///
    /// # Errors
    /// `auth` if there is none.
    pub fn key(&self) -> Result<&CustodianKey, Refusal<'static>> {
        self.key.as_ref().ok_or(Refusal::Auth("no key yet, send KEY"))
    }

    /// The lifetime budget left.
    #[must_use]
    pub const fn left(&self) -> Micro {
        Micro(LIFETIME_BUDGET.saturating_sub(self.spent) as i32)
    }

    /// Whether a blinded trial of this file is remembered.
    fn has_used(&self, file: FileDigest) -> bool {
        self.used.contains(&mark(file))
    }

    /// Remembers the file of a blinded trial, in the place of the oldest.
    fn remember(&mut self, file: FileDigest) {
        self.used.rotate_right(1);
        if let Some(latest) = self.used.first_mut() {
            *latest = mark(file);
        }
    }

    /// The budget spent after a plan of this epsilon; `budget` if that is more than the lifetime
    /// budget.
    fn charged(&self, epsilon: Ratio) -> Result<u32, Refusal<'static>> {
        let cost = (u64::from(epsilon.num()) * MILLION).div_ceil(u64::from(epsilon.den()));
        match u32::try_from(u64::from(self.spent) + cost) {
            Ok(spent) if spent <= LIFETIME_BUDGET => Ok(spent),
            _ => Err(Refusal::Budget { epsilon, left: self.left() }),
        }
    }

    /// The stored form: 1 and the key or 33 zeros, the budget spent, little-endian, the marks of
    /// used files, and a 0 to make it even.
    #[must_use]
    pub fn encode(&self) -> [u8; CUSTODY_BYTES] {
        let mut bytes = [0; CUSTODY_BYTES];
        let mut out = Writer(&mut bytes);
        out.put(&[u8::from(self.key.is_some())]);
        out.put(self.key.as_ref().map_or(&[0; MAC_BYTES], CustodianKey::bytes));
        out.put(&self.spent.to_le_bytes());
        self.used.iter().for_each(|mark| out.put(mark));
        bytes
    }

    /// Reads the stored form; `None` if it is not one. (Not inlined into the mount, which takes
    /// most of the v1's stack.)
    #[must_use]
    #[inline(never)]
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let mut bytes = Reader(bytes);
        let [set] = bytes.take()?;
        let key = CustodianKey::new(bytes.take()?);
        let spent = u32::from_le_bytes(bytes.take()?);
        let mut used = Self::NEW.used;
        for mark in &mut used {
            *mark = bytes.take()?;
        }
        let good = set <= 1 && spent <= LIFETIME_BUDGET;
        good.then_some(Self { key: (set == 1).then_some(key), spent, used })
    }
}

/// The beginning of a digest; never that of no file.
fn mark(file: FileDigest) -> [u8; MARK_BYTES] {
    let [a, b, c, ..] = file.0;
    let mark = [a, b, c];
    if mark == NO_MARK { [u8::MAX; MARK_BYTES] } else { mark }
}

impl<F, E, G, const M: usize, const U: usize> Ready<'_, F, E, G, M, U>
where
    F: JournalFlash,
    E: Entropy,
    G: Seeded,
{
    /// Sets the key.
    pub(super) fn set_key(&mut self, key: [u8; MAC_BYTES], evidence: &Evidence<'_>) -> Answer {
        if self.state.custody().key.is_some() {
            self.authorize(evidence)?;
        }
        // The kit numbers of a blinded trial come from the key.
        if self.state.trial().is_some_and(|trial| trial.plan().is_blinded()) {
            return Err(Refusal::Locked(Lock::Trial));
        }
        self.state.custody_mut().key = Some(CustodianKey::new(key));
        self.commit()?;
        Ok(Reply::Done)
    }

    /// Begins a trial.
    pub(super) fn plan(&mut self, plan: Plan, file: FileDigest, evidence: &Evidence<'_>) -> Answer {
        self.authorize(evidence)?;
        let claim = Claim::of(plan.design());
        if let Some((trial, name)) = self.state.trial().zip(self.state.name()) {
            let repeated = trial.assigned() == 0 && *trial.plan() == plan && name.file == file;
            let planned = Reply::Planned { trial: name.id, claim };
            return if repeated { Ok(planned) } else { Err(Refusal::Locked(Lock::Trial)) };
        }
        if plan.design() == DesignName::Conse {
            return Err(Refusal::NotPrivate);
        }
        if plan.is_blinded() && self.state.custody().has_used(file) {
            return Err(Refusal::Locked(Lock::UsedFile));
        }
        let spent = self.state.custody().charged(plan.epsilon())?;
        let id = TrialId(self.chance.bytes());
        self.make_room()?;
        let too_many = |_| Refusal::Capacity { got: plan.features(), features: M as u8 };
        self.state.begin(TrialName { id, file }, plan).map_err(too_many)?;
        if let Err(TooSmall { pages, needed }) = self.journal.carries(self.state) {
            self.state.erase();
            self.state.mark_clean();
            return Err(Refusal::Flash { pages, needed });
        }
        self.state.custody_mut().spent = spent;
        if plan.is_blinded() {
            self.state.custody_mut().remember(file);
        }
        self.commit()?;
        Ok(Reply::Planned { trial: id, claim })
    }

    /// Ends the trial: the closing look; patients who wait are lost.
    pub(super) fn close(&mut self, evidence: &Evidence<'_>) -> Answer {
        self.authorize(evidence)?;
        let trial = self.state.trial().ok_or(Refusal::Blank)?;
        if trial.phase() != Phase::Closed {
            self.make_room()?;
            if let Some(trial) = self.state.trial_mut() {
                trial.close(self.chance);
            }
            self.reseed();
            self.commit()?;
        }
        Ok(Reply::Done)
    }

    /// Wipes the trial. Key and budget stay.
    pub(super) fn erase(&mut self, evidence: &Evidence<'_>) -> Answer {
        self.authorize(evidence)?;
        if self.state.trial().is_some() {
            self.make_room()?;
            self.state.erase();
            self.store(|journal, state| journal.purge(state, || state.dirty()))?;
            self.state.mark_clean();
        }
        Ok(Reply::Done)
    }
}
