//! The whole device behind its serial line: [`Device::handle_line`] is what firmware, virtual board and tests call.
//!
//! # What it promises
//! * **Decide, make durable, answer.** When a line of [`crate::wire`] has been answered, what the answer says is on
//!   flash. A request that was not answered is either carried out in full or not at all, and can be sent again.
//! * **Exactly once.** A repeated `ASSIGN` with the tag of the last patient gives the stored arm, also after power loss;
//!   the feature of a repeat is never looked at. A repeated `OUTCOME` or `LOST` is acknowledged and changes nothing; so is
//!   one that comes after the close, because the close may have come between an outcome and its repeat. A repeated
//!   `PLAN` (before the first patient), `CLOSE`, `ERASE` or `KEY` (as the very next request) gives the first answer.
//! * **An error changes nothing**, but for a wrong answer to `AUTH`, which is counted.
//! * **A reply says nothing about past patients**: it depends on the request, on public counts and on the noisy ledger.
//!   A loss costs the same flash work as an outcome.
//! * **Looks** are done and durable before the next request is looked at, or earlier, in [`Device::rest`]; what is sent does
//!   not depend on how long the line was idle. A look is one atomic commit: after a power cut it either counts or was
//!   never seen by anyone.
//!
//! # When something fails
//! A flash that cannot be mounted, or an error while writing, puts the device into `fault` until power-up: memory may
//! be ahead of flash, so nothing may be answered from it. It then says so in `HELLO` and refuses everything else.
//! A flash written by a firmware with another state version, or another journal format, is not touched: the state is
//! `foreign`, `HELLO` says which version is stored, and everything else is refused.
//! An entropy source that fails at start leaves no generator: only `HELLO` and `STATUS` are answered. One that fails
//! later ([`health`]) stops new patients; the rest goes on with the generator it has.
//!
//! # Memory
//! The large state, [`Held`], is owned by the caller and passed in as any kind of pointer: a `static` on a board, a box
//! on a host. It is never moved.

pub mod custody;
pub mod generator;
pub mod health;
mod held;

pub use held::Held;

use core::ops::DerefMut;

use crate::journal::{self, Journal, JournalFlash, MountError};
use crate::plan::{Design, Plan};
use crate::trial::{Phase, TrialError};
use crate::wire::{
    self, Claim, Line, Lock, Micro, NextLook, Refusal, Reply, Request, Restart, Row, State, Status, Stored,
    Tag,
};
use custody::{Key, ReportMac, Session};
use generator::{Generator, Seeded, bytes};
use health::{Entropy, Monitored, RESEED_SAMPLES, START_SAMPLES};

type Answer = Result<Reply<'static>, Refusal<'static>>;

/// What [`Device::rest`] did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Rest {
    /// A look. Its time depends on nothing private once the noise is drawn.
    Looked,
    /// The noise of one feature was drawn. Its time depends on the noise: pad it.
    Drew,
    /// Flash was made ready for later.
    Tidied,
    /// Nothing: there is nothing left to do before the next request.
    Idle,
}

/// A device: the state it holds, its flash, its entropy source and its generator.
pub struct Device<S, F, E, G = Generator> {
    held: S,
    /// `None` in `fault`.
    journal: Option<Journal<F>>,
    entropy: Monitored<E>,
    /// `None` if the source failed at start.
    chance: Option<G>,
    session: Session,
    restart: Option<Restart>,
    /// A program holds the line: every request must carry its checksum.
    sealed: bool,
}

impl<S, F, E, G, const M: usize, const U: usize> Device<S, F, E, G>
where
    S: DerefMut<Target = Held<M, U>>,
    F: JournalFlash,
    E: Entropy,
    G: Seeded,
{
    /// Powers up: mounts the flash, which finishes whatever a power cut interrupted, and tests and reads the entropy
    /// source. `held` may hold anything; it is filled from flash.
    pub fn new(held: S, flash: F, entropy: E, restart: Option<Restart>) -> Self {
        let mut device = Self::asleep(held, flash, entropy, restart);
        device.power_up();
        device
    }

    /// A device before [`Self::power_up`].
    #[inline(never)]
    pub const fn asleep(held: S, flash: F, entropy: E, restart: Option<Restart>) -> Self {
        Self {
            held,
            journal: Some(Journal::unread(flash)),
            entropy: Monitored::new(entropy),
            chance: None,
            session: Session::NEW,
            restart,
            sealed: false,
        }
    }

    /// What [`Self::new`] does, where the device lies: a board has no stack for copies of it.
    pub fn power_up(&mut self) {
        self.mount();
        self.sealed = self.held.trial().is_some_and(|trial| trial.is_tagged());
        self.seed();
    }

    #[inline(never)]
    fn mount(&mut self) {
        self.held.clear();
        let mounted = self.journal.as_mut().map(|journal| journal.recover(&mut *self.held));
        if let Some(Err(MountError::OtherFormat(format))) = mounted {
            self.held.set_foreign(Stored::Journal(format));
        }
        if !(mounted == Some(Ok(())) && self.held.finish()) {
            self.journal = None;
        }
    }

    #[inline(never)]
    fn seed(&mut self) {
        self.chance = self.entropy.seed(&[], START_SAMPLES).ok().map(G::from_seed);
    }

    /// What the device is doing.
    #[must_use]
    pub fn state(&self) -> State {
        match (&self.journal, self.held.trial()) {
            (None, _) if self.held.foreign().is_some() => State::Foreign,
            (None, _) => State::Fault,
            (_, None) => State::Blank,
            (_, Some(trial)) if trial.phase() == Phase::Closed => State::Closed,
            _ => State::Running,
        }
    }

    /// Answers one line, given without its line end. `out` is called once a reply line, checksum and LF included.
    pub fn handle_line(&mut self, line: &[u8], out: &mut impl FnMut(&[u8])) {
        // In place: a reply and its line are too large to hand around.
        let mut text = Line::new();
        match &self.answer(line, out) {
            Ok(reply) => reply.write(&mut text),
            Err(refusal) => refusal.write(&mut text),
        }
        out(text.as_bytes());
    }

    /// Uses the time between requests. The caller goes on until it is `Idle`, or until a byte arrives.
    pub fn rest(&mut self) -> Rest {
        match self.look_if_due() {
            Ok(true) => return Rest::Looked,
            Err(_) => return Rest::Idle,
            Ok(false) => {}
        }
        if self.draw_ahead() {
            return Rest::Drew;
        }
        let Some(journal) = &mut self.journal else { return Rest::Idle };
        match journal.rest(&*self.held) {
            Ok(true) => Rest::Tidied,
            Ok(false) => Rest::Idle,
            Err(_) => {
                self.journal = None;
                Rest::Idle
            }
        }
    }

    /// The part of [`Device::rest`] that touches no flash: draws the next look's noise for one more feature. False
    /// when all have theirs.
    pub fn draw_ahead(&mut self) -> bool {
        let (Some(_), Some(chance)) = (&self.journal, &mut self.chance) else { return false };
        self.held.trial_mut().is_some_and(|trial| trial.draw_ahead(chance))
    }

    fn answer(&mut self, line: &[u8], out: &mut impl FnMut(&[u8])) -> Answer {
        let ready = self.look_if_due();
        let opened = wire::open(line)?;
        let request = Request::parse_body(opened.body)?;
        // A program's line that lost its tail must not pass for one typed by a person, who says `HELLO` first.
        if self.sealed && !opened.sealed && request != Request::Hello {
            return Err(Refusal::Checksum { got: None, expected: wire::checksum(line) });
        }
        self.sealed = opened.sealed;
        if !matches!(request, Request::Key(_)) {
            self.session.forget_key();
        }
        match request {
            Request::Hello => {
                let version = env!("CARGO_PKG_VERSION");
                let stored = self.held.foreign();
                Ok(Reply::Hello { version, state: self.state(), stored, restart: self.restart })
            }
            _ if self.journal.is_none() => {
                Err(self.held.foreign().map_or(Refusal::Storage, Refusal::Foreign))
            }
            Request::Status => self.status(),
            request => ready.and_then(|_| self.carry_out(request, out)),
        }
    }

    fn carry_out(&mut self, request: Request, out: &mut impl FnMut(&[u8])) -> Answer {
        match request {
            Request::Hello | Request::Status => self.status(),
            Request::Assign { patient, feature, tag } => self.assign(patient, feature, tag),
            Request::Outcome { patient, y } => self.settle(patient, Some(y)),
            Request::Lost { patient } => self.settle(patient, None),
            Request::Report => self.report(out),
            Request::Challenge => {
                let nonce = bytes(self.chance.as_mut().ok_or(Refusal::Entropy)?);
                self.session.challenge(self.held.custody(), nonce)?;
                Ok(Reply::Nonce(nonce))
            }
            Request::Answer(answer) => {
                self.session.answer(self.held.custody(), &answer)?;
                Ok(Reply::Done)
            }
            Request::Key(key) => self.key(Key::new(key)),
            Request::Plan(plan) => self.plan(plan),
            Request::Close => self.close(),
            Request::Erase => self.erase(),
        }
    }

    /// Works on the journal. If that fails memory may be ahead of flash, so nothing is answered from it any more.
    fn store(
        &mut self,
        work: impl FnOnce(&mut Journal<F>, &Held<M, U>) -> Result<(), journal::Error>,
    ) -> Result<(), Refusal<'static>> {
        let done = self.journal.as_mut().is_some_and(|journal| work(journal, &self.held).is_ok());
        if !done {
            self.journal = None;
            return Err(Refusal::Storage);
        }
        Ok(())
    }

    /// Before anything is changed: room on flash for a commit of all features.
    fn make_room(&mut self) -> Result<(), Refusal<'static>> {
        self.store(|journal, held| journal.make_room(held))
    }

    /// Makes what has changed durable.
    fn commit(&mut self) -> Result<(), Refusal<'static>> {
        self.store(|journal, held| journal.commit(held, || held.touched()))?;
        self.held.settle();
        Ok(())
    }

    /// Does the look that is due, if one is, and makes it durable.
    // Part of every request: its call costs a small machine more than its copies.
    #[inline(always)]
    fn look_if_due(&mut self) -> Result<bool, Refusal<'static>> {
        if self.journal.is_none() {
            return Err(Refusal::Storage);
        }
        if self.chance.is_none() {
            return Err(Refusal::Entropy);
        }
        if !self.held.trial().is_some_and(|trial| trial.look_due()) {
            return Ok(false);
        }
        self.make_room()?;
        if let (Some(trial), Some(chance)) = (self.held.trial_mut(), &mut self.chance) {
            trial.look(chance);
        }
        self.reseed();
        self.commit()?;
        Ok(true)
    }

    /// A new seed of the old generator and fresh samples.
    fn reseed(&mut self) {
        if let Some(chance) = &mut self.chance {
            let old = bytes::<32>(chance);
            let seed = self.entropy.seed(&old, RESEED_SAMPLES).unwrap_or(old);
            *chance = G::from_seed(seed);
        }
    }

    fn status(&self) -> Answer {
        let trial = self.held.trial().ok_or(Refusal::Blank)?;
        let plan = trial.plan();
        let (looks, next_look) = match (plan.design(), trial.phase(), trial.next_look()) {
            (Design::Conse | Design::DpConse, ..) => (0, NextLook::None),
            (_, Phase::Closed, _) => (trial.looks(), NextLook::None),
            (_, _, Some(patient)) => (trial.looks(), NextLook::After(patient)),
            (_, _, None) => (trial.looks(), NextLook::AtClose),
        };
        Ok(Reply::Status(Status {
            design: plan.design(),
            patients: plan.patients(),
            assigned: trial.assigned(),
            unresolved: trial.unresolved().into(),
            phase: trial.phase(),
            looks: looks.into(),
            next_look,
        }))
    }

    fn assign(&mut self, patient: u32, feature: u32, tag: Option<Tag>) -> Answer {
        let trial = self.held.trial_mut().ok_or(Refusal::Blank)?;
        let tag = tag.map(|tag| tag.0);
        if let Some(arm) = tag.and_then(|tag| trial.repeat(patient, tag)) {
            return Ok(Reply::Arm { patient, arm });
        }
        let (plan, expected) = (trial.plan(), trial.assigned() + 1);
        let known = u8::try_from(feature).unwrap_or(u8::MAX);
        // What would be wrong with any patient, then with this number, then with this feature.
        match trial.admits(known) {
            Err(TrialError::Closed) => return Err(Refusal::Closed),
            Err(TrialError::Complete) => return Err(Refusal::Full { patients: plan.patients() }),
            _ if patient != expected => return Err(Refusal::Order { expected }),
            Err(TrialError::Full) => return Err(Refusal::Waiting { capacity: U as u32 }),
            Err(_) => return Err(Refusal::Feature { got: feature, features: plan.features() }),
            Ok(()) => {}
        }
        let turns = trial.turns_next();
        self.entropy.sample().map_err(|_| Refusal::Entropy)?;
        if self.chance.is_none() {
            return Err(Refusal::Entropy);
        }
        if turns {
            self.make_room()?;
        }
        let (Some(trial), Some(chance)) = (self.held.trial_mut(), &mut self.chance) else {
            return Err(Refusal::Storage);
        };
        let arm = trial.assign(known, tag, chance).map_err(|_| Refusal::Storage)?;
        self.commit()?;
        Ok(Reply::Arm { patient, arm })
    }

    /// An outcome, or its loss.
    fn settle(&mut self, patient: u32, y: Option<u32>) -> Answer {
        let trial = self.held.trial_mut().ok_or(Refusal::Blank)?;
        let scale = trial.plan().scale();
        let chance = self.chance.as_mut().ok_or(Refusal::Entropy)?;
        let settled = match y.map(|y| u16::try_from(y).unwrap_or(u16::MAX)) {
            None => trial.lost(patient, chance),
            Some(y) => trial.outcome(patient, y, chance),
        };
        match settled {
            Ok(()) => {}
            Err(TrialError::Range) => return Err(Refusal::Outcome { got: y.unwrap_or(0), scale }),
            Err(_) => return Err(Refusal::Unknown { patient, assigned: trial.assigned() }),
        }
        self.commit()?;
        Ok(Reply::Recorded { patient })
    }

    fn report(&self, out: &mut impl FnMut(&[u8])) -> Answer {
        let (trial, id) = self.held.trial().zip(self.held.id()).ok_or(Refusal::Blank)?;
        let plan = trial.plan();
        let mut mac = ReportMac::new(&self.held.custody().key()?.report_key(), id, plan);
        let mut rows = 0;
        for feature in 0..plan.features() {
            let Some(estimate) = trial.estimate(feature) else { continue };
            let (effect, low, high, patients) = estimate.in_millionths();
            let row = Row { feature, estimate: Micro(effect), low: Micro(low), high: Micro(high), patients };
            mac.row(&row);
            out(Reply::Row(row).to_line().as_bytes());
            rows += 1;
        }
        if rows == 0 && trial.phase() != Phase::Closed {
            return Err(Refusal::Early);
        }
        Ok(Reply::End { rows, mac: mac.finish(rows), trial: id })
    }

    fn key(&mut self, key: Key) -> Answer {
        if self.held.custody().key().is_ok() {
            if self.session.repeats(self.held.custody(), &key) {
                return Ok(Reply::Done);
            }
            self.session.demand()?;
        }
        self.held.custody_mut().set_key(key);
        self.commit()?;
        self.session.shut();
        self.session.remember_key();
        Ok(Reply::Done)
    }

    fn plan(&mut self, plan: Plan) -> Answer {
        let claim = Claim::of(plan.design());
        if let Some((trial, id)) = self.held.trial().zip(self.held.id()) {
            let repeated = trial.assigned() == 0 && *trial.plan() == plan;
            let planned = Reply::Planned { trial: id, claim };
            return if repeated { Ok(planned) } else { Err(Refusal::Locked(Lock::Trial)) };
        }
        self.held.custody().key()?;
        if plan.design() == Design::Conse {
            return Err(Refusal::NotPrivate);
        }
        if !self.held.custody().unspent() {
            self.session.demand()?;
        }
        let spent = self.held.custody().charged(plan.epsilon())?;
        let id = wire::TrialId(bytes(self.chance.as_mut().ok_or(Refusal::Entropy)?));
        self.make_room()?;
        let too_many = |_| Refusal::Capacity { got: plan.features(), features: M as u8 };
        self.held.begin(id, plan).map_err(too_many)?;
        self.held.custody_mut().charge(spent);
        self.commit()?;
        self.session.shut();
        Ok(Reply::Planned { trial: id, claim })
    }

    fn close(&mut self) -> Answer {
        let trial = self.held.trial().ok_or(Refusal::Blank)?;
        if trial.phase() != Phase::Closed {
            self.session.demand()?;
            self.make_room()?;
            if let (Some(trial), Some(chance)) = (self.held.trial_mut(), &mut self.chance) {
                trial.close(chance);
            }
            self.reseed();
            self.commit()?;
            self.session.shut();
        }
        Ok(Reply::Done)
    }

    fn erase(&mut self) -> Answer {
        if self.held.trial().is_some() {
            self.session.demand()?;
            self.make_room()?;
            self.held.erase();
            self.store(|journal, held| journal.purge(held, || held.touched()))?;
            self.held.settle();
            self.session.shut();
        }
        Ok(Reply::Done)
    }
}
