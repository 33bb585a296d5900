//! The custodian: key, challenge and response, lifetime budget, signature of reports.
//!
//! **Key.** 32 bytes. A device without one takes the first that comes; another one only from a custodian who has proved
//! to hold the old one. It is stored on flash and never sent.
//!
//! **Challenge and response.** `AUTH` draws a nonce of 16 random bytes; `AUTH <answer>` with HMAC-SHA256(key, nonce)
//! opens the *next* custodian command (`KEY`, `PLAN`, `CLOSE`, `ERASE`) and no other: carrying one out closes the door
//! again, one that is refused leaves it as it is. A nonce is good for one right answer or one wrong one; only the very
//! answer that opened the door may be repeated while it is open, for a terminal that missed the `OK`. Three wrong
//! answers without a right one between them lock custodian commands until power-up; a restart forgets nonce, door and
//! count. Answers are compared in constant time.
//!
//! **Odometer.** A patient who takes part in several trials of one device loses the sum of their epsilons, so the
//! device adds up what its plans spend, in millionths, each rounded up, and refuses a plan that would carry the sum
//! beyond [`LIFETIME_BUDGET`]. It is charged when a plan is accepted and survives `ERASE`. For `dp-conse` it counts
//! the epsilon of the plan, which is what the paper claims and not what an audit finds.
//!
//! **Reports** are signed as the header of [`crate::wire`] says ([`ReportMac`]), under a key of their own, so that
//! whoever checks reports need not be able to close a trial.

use core::fmt::{self, Write};

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::plan::{Plan, Ratio, take};
use crate::wire::{Lock, MAC_BYTES, Micro, NONCE_BYTES, Refusal, Row, TrialId};

/// What a device may spend in its life: epsilon 100, in millionths.
pub const LIFETIME_BUDGET: u32 = 100_000_000;
/// Wrong answers that lock custodian commands.
pub const WRONG_ANSWERS: u8 = 3;
/// Bytes of the stored form.
pub const CUSTODY_BYTES: usize = 1 + MAC_BYTES + 4 + 1;

const MILLION: u64 = 1_000_000;
const REPORT_LABEL: &[u8] = b"equipoise report 1";

/// A key of the custodian. It cannot be printed.
#[derive(Clone)]
pub struct Key([u8; MAC_BYTES]);

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key")
    }
}

impl Key {
    /// A key of these bytes.
    #[must_use]
    pub const fn new(bytes: [u8; MAC_BYTES]) -> Self {
        Self(bytes)
    }

    fn mac(&self) -> Hmac<Sha256> {
        // HMAC takes a key of any length; 32 bytes are one block's worth at most.
        Hmac::new(&{
            let mut block = hmac::digest::Key::<Hmac<Sha256>>::default();
            block.iter_mut().zip(self.0).for_each(|(to, from)| *to = from);
            block
        })
    }

    /// The answer to a challenge.
    #[must_use]
    pub fn answer(&self, nonce: &[u8; NONCE_BYTES]) -> [u8; MAC_BYTES] {
        self.mac().chain_update(nonce).finalize().into_bytes().into()
    }

    fn answers(&self, nonce: &[u8; NONCE_BYTES], answer: &[u8; MAC_BYTES]) -> bool {
        self.mac().chain_update(nonce).verify_slice(answer).is_ok()
    }

    /// The key under which reports are signed.
    #[must_use]
    pub fn report_key(&self) -> Self {
        Self(self.mac().chain_update(REPORT_LABEL).finalize().into_bytes().into())
    }

    /// Equal, in constant time.
    fn same(&self, other: &Self) -> bool {
        other.mac().chain_update(REPORT_LABEL).verify_slice(&self.report_key().0).is_ok()
    }
}

/// What is stored of the custodian: the key, if set, and the odometer.
#[derive(Clone, Debug)]
pub struct Custody {
    key: Option<Key>,
    /// Epsilon spent, in millionths.
    spent: u32,
}

impl Custody {
    /// A device fresh from the factory.
    pub const NEW: Self = Self { key: None, spent: 0 };

    /// Has no plan been accepted yet?
    #[must_use]
    pub const fn unspent(&self) -> bool {
        self.spent == 0
    }

    /// The key, if set.
    ///
    /// # Errors
    /// `auth` if there is none.
    pub fn key(&self) -> Result<&Key, Refusal<'static>> {
        self.key.as_ref().ok_or(Refusal::Auth("no key yet, send KEY"))
    }

    /// Sets the key.
    pub fn set_key(&mut self, key: Key) {
        self.key = Some(key);
    }

    /// The odometer after a plan of this epsilon.
    ///
    /// # Errors
    /// `budget` if it would go beyond the lifetime budget.
    pub fn charged(&self, epsilon: Ratio) -> Result<u32, Refusal<'static>> {
        let cost = (u64::from(epsilon.num()) * MILLION).div_ceil(u64::from(epsilon.den()));
        let spent = u64::from(self.spent) + cost;
        match u32::try_from(spent) {
            Ok(spent) if spent <= LIFETIME_BUDGET => Ok(spent),
            _ => {
                let left = i32::try_from(LIFETIME_BUDGET.saturating_sub(self.spent)).unwrap_or(0);
                Err(Refusal::Budget { epsilon, left: Micro(left) })
            }
        }
    }

    /// Moves the odometer to what [`Self::charged`] gave.
    pub fn charge(&mut self, spent: u32) {
        self.spent = self.spent.max(spent);
    }

    /// The stored form: 1 and the key or 33 zeros, the odometer, little-endian, and a 0 to make it even.
    #[must_use]
    pub fn encode(&self) -> [u8; CUSTODY_BYTES] {
        let mut bytes = [0; CUSTODY_BYTES];
        let mut rest = bytes.iter_mut();
        let mut put = |field: &[u8]| rest.by_ref().zip(field).for_each(|(to, from)| *to = *from);
        put(&[u8::from(self.key.is_some())]);
        put(self.key.as_ref().map_or(&[0; MAC_BYTES], |key| &key.0));
        put(&self.spent.to_le_bytes());
        bytes
    }

    /// Reads the stored form; `None` if it is not one.
    #[must_use]
    pub fn decode(mut bytes: &[u8]) -> Option<Self> {
        let [set] = take(&mut bytes)?;
        let key = Key(take(&mut bytes)?);
        let spent = u32::from_le_bytes(take(&mut bytes)?);
        let good = set <= 1 && spent <= LIFETIME_BUDGET;
        good.then_some(Self { key: (set == 1).then_some(key), spent })
    }
}

/// The door to custodian commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Door {
    Shut,
    /// A challenge is out.
    Challenged([u8; NONCE_BYTES]),
    /// It was answered; the next custodian command may be carried out.
    Open([u8; NONCE_BYTES]),
}

/// What the device remembers of the custodian until power-off.
#[derive(Clone, Copy, Debug)]
pub struct Session {
    door: Door,
    wrong: u8,
    /// The last request carried out set the key: the same one may be repeated.
    key_just_set: bool,
}

impl Session {
    /// As after power-up.
    pub const NEW: Self = Self { door: Door::Shut, wrong: 0, key_just_set: false };

    fn unlocked(&self) -> Result<(), Refusal<'static>> {
        if self.wrong >= WRONG_ANSWERS { Err(Refusal::Locked(Lock::WrongAnswers)) } else { Ok(()) }
    }

    /// Takes a fresh nonce as the challenge.
    ///
    /// # Errors
    /// `auth` without a key, `locked` after three wrong answers.
    pub fn challenge(&mut self, custody: &Custody, nonce: [u8; NONCE_BYTES]) -> Result<(), Refusal<'static>> {
        custody.key()?;
        self.unlocked()?;
        self.door = Door::Challenged(nonce);
        Ok(())
    }

    /// Takes the answer to the challenge.
    ///
    /// # Errors
    /// `auth` for a wrong answer or none asked for, `locked` after three wrong answers.
    pub fn answer(&mut self, custody: &Custody, answer: &[u8; MAC_BYTES]) -> Result<(), Refusal<'static>> {
        let key = custody.key()?;
        self.unlocked()?;
        let nonce = match self.door {
            Door::Shut => return Err(Refusal::Auth("no nonce, send AUTH")),
            Door::Challenged(nonce) | Door::Open(nonce) => nonce,
        };
        if key.answers(&nonce, answer) {
            (self.door, self.wrong) = (Door::Open(nonce), 0);
            Ok(())
        } else {
            (self.door, self.wrong) = (Door::Shut, self.wrong + 1);
            Err(Refusal::Auth("wrong answer"))
        }
    }

    /// May a custodian command be carried out?
    ///
    /// # Errors
    /// `auth` if the door is shut, `locked` after three wrong answers.
    pub fn demand(&self) -> Result<(), Refusal<'static>> {
        self.unlocked()?;
        match self.door {
            Door::Open(_) => Ok(()),
            Door::Shut | Door::Challenged(_) => Err(Refusal::Auth("send AUTH and its answer first")),
        }
    }

    /// A custodian command was carried out.
    pub fn shut(&mut self) {
        self.door = Door::Shut;
    }

    /// A key was set just now.
    pub fn remember_key(&mut self) {
        self.key_just_set = true;
    }

    /// Another request than `KEY` came.
    pub fn forget_key(&mut self) {
        self.key_just_set = false;
    }

    /// Is this the key that the last request set? One guess, not an oracle: whatever comes next ends it.
    pub fn repeats(&mut self, custody: &Custody, key: &Key) -> bool {
        let same = self.key_just_set && custody.key.as_ref().is_some_and(|set| set.same(key));
        self.key_just_set = same;
        same
    }
}

/// The MAC of a report, row by row.
#[derive(Debug)]
pub struct ReportMac(Hmac<Sha256>);

impl Write for ReportMac {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.update(text.as_bytes());
        Ok(())
    }
}

impl ReportMac {
    /// Starts with the trial's name and plan, under the report key ([`Key::report_key`]).
    #[must_use]
    pub fn new(report_key: &Key, trial: TrialId, plan: &Plan) -> Self {
        let mut mac = Self(report_key.mac());
        // Writing to a MAC cannot fail.
        let _ = write!(mac, "TRIAL {trial}\nPLAN {plan}\n");
        mac
    }

    /// Signs a row.
    pub fn row(&mut self, row: &Row) {
        let _ = writeln!(self, "{row}");
    }

    /// The MAC, after that many rows.
    #[must_use]
    pub fn finish(mut self, rows: u8) -> [u8; MAC_BYTES] {
        let _ = writeln!(self, "END {rows}");
        self.0.finalize().into_bytes().into()
    }
}
