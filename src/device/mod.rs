//! The whole device behind its serial line: firmware, virtual board and tests call
//! [`Device::handle_line`].
//!
//! # Guarantees
//! * **Decide, make durable, answer.** A request is on flash before it is answered. A request that
//!   was not answered is either carried out in full or not at all, and can be sent again.
//! * **Exactly once.** A repeated `ASSIGN` with the tag of the last patient gives the stored arm,
//!   also after power loss; the feature of a repeat is never compared. A repeated `OUTCOME` or
//!   `LOST` is acknowledged and changes nothing; so is one that comes after the close, because the
//!   close may have come between an outcome and its repeat. Custodian commands are repeated with a
//!   fresh proof ([`custodian`]).
//! * **An error changes nothing**, but for a wrong proof, which is counted, and the nonce, which is
//!   void ([`auth`]).
//! * **A reply says nothing about past patients**: it depends on the request, on public counts and
//!   on the noisy ledger. A loss costs the same flash work as an outcome.
//! * **Looks** are done and durable before the next request is read. What is sent does not depend
//!   on how long the line was idle. A look is one atomic commit: after a power cut it either counts
//!   or was never seen by anyone.
//!
//! # Between requests
//! Flash is written in [`Device::power_up`] and while a request is answered, and nowhere else.
//! Between requests the caller gives the device time: [`Device::draw_ahead`] and
//! [`Device::prepare_kits`] until both are false, [`Device::tick`] once a second. What a call's
//! time may tell, and so which calls a board must pad, is said at each of them.
//! [`crate::board::main_loop`] makes these calls in the right order, with the padding.
//!
//! # Failures
//! A flash that cannot be mounted, an error while writing, or memory that is found damaged puts the
//! device into `fault` until power-up: memory may be ahead of flash, so nothing may be stored or
//! answered from it. It then says so in `HELLO` and refuses everything else. A flash written by a
//! firmware with another state version, or another journal format, is not touched: the state is
//! `foreign`, `HELLO` says which version is stored, and everything else is refused. An entropy
//! source that fails at start leaves no generator: only `HELLO` and `STATUS` are answered. One that
//! fails later ([`health`]) stops new patients; the rest goes on with the generator it has.
//!
//! # Memory
//! The large state, [`DeviceState`], is owned by the caller and passed in as any kind of pointer: a
//! `static` on a board, a box on a host. It is never moved.

pub mod auth;
mod bedside;
pub mod custodian;
mod facts;
pub mod generator;
pub mod health;
#[cfg(feature = "inspect")]
mod inspect;
mod kits;
mod ready;
pub mod report;
mod state;

pub use state::DeviceState;

use core::ops::DerefMut;

use crate::journal::{Journal, JournalFlash, MountError};
use crate::terms::Phase;
use crate::wire::{
    self, Framed, ImageHash, Line, Refusal, Reply, Request, RequestName, Restart, State, Stored,
    WireError, Word,
};
use auth::{Evidence, Session};
use generator::{Generator, Seeded};
use health::{Entropy, Monitored, START_SAMPLES};
use ready::Ready;

type Answer = Result<Reply<'static>, Refusal<'static>>;

/// Why nothing on flash can be used.
#[derive(Clone, Copy, Debug)]
enum Trouble {
    /// It could not be mounted, a write failed, or memory is damaged.
    Fault,
    /// A firmware of another version wrote it.
    Foreign(Stored),
}

impl Trouble {
    const fn refusal(self) -> Refusal<'static> {
        match self {
            Self::Fault => Refusal::Storage,
            Self::Foreign(stored) => Refusal::Foreign(stored),
        }
    }

    const fn stored(self) -> Option<Stored> {
        match self {
            Self::Fault => None,
            Self::Foreign(stored) => Some(stored),
        }
    }
}

/// A device: its state, its flash, its entropy source and its generator.
// An audit copies devices; the generator that ships cannot be copied.
#[cfg_attr(feature = "inspect", derive(Clone))]
pub struct Device<S, F, E, G = Generator> {
    state: S,
    journal: Journal<F>,
    entropy: Monitored<E>,
    /// `None` if the source failed at start.
    chance: Option<G>,
    session: Session,
    restart: Option<Restart>,
    image: Option<ImageHash>,
    /// A program uses the line: every request must carry its checksum.
    checksums_required: bool,
    trouble: Option<Trouble>,
    mount_error: Option<MountError>,
}

/// Hands a reply and its line to `out`. Not inlined: while a request is carried out, the stack has
/// no room for the line.
#[inline(never)]
fn send(reply: &Reply<'_>, out: &mut impl FnMut(&Reply<'_>, &[u8])) {
    let mut line = Line::new();
    reply.write(&mut line);
    out(reply, line.as_bytes());
}

impl<S, F, E, const M: usize, const U: usize> Device<S, F, E>
where
    S: DerefMut<Target = DeviceState<M, U>>,
    F: JournalFlash,
    E: Entropy,
{
    /// Powers up: mounts the flash, which finishes whatever a power cut interrupted, and tests and
    /// reads the entropy source. `state` may hold anything; it is filled from flash.
    ///
    /// ```
    /// use equipoise::device::health::Repeatable;
    /// use equipoise::device::{Device, DeviceState};
    /// use equipoise::testkit::strict_flash::StrictFlash;
    ///
    /// let (mut state, flash) = (DeviceState::<4, 16>::BLANK, StrictFlash::<2048>::new(24, 0xFF));
    /// let mut device = Device::new(&mut state, flash, Repeatable::new(1), None);
    /// device.handle_line(b"HELLO", &mut |_, line| assert!(line.starts_with(b"HELLO equipoise")));
    /// ```
    pub fn new(state: S, flash: F, entropy: E, restart: Option<Restart>) -> Self {
        Self::with_generator(state, flash, entropy, restart)
    }
}

impl<S, F, E, G, const M: usize, const U: usize> Device<S, F, E, G>
where
    S: DerefMut<Target = DeviceState<M, U>>,
    F: JournalFlash,
    E: Entropy,
    G: Seeded,
{
    /// [`Device::new`] with another generator than the one that ships.
    pub fn with_generator(state: S, flash: F, entropy: E, restart: Option<Restart>) -> Self {
        let mut device = Self::asleep(state, flash, entropy, restart);
        device.power_up();
        device
    }

    /// A device before [`Self::power_up`].
    #[inline(never)]
    pub const fn asleep(state: S, flash: F, entropy: E, restart: Option<Restart>) -> Self {
        Self {
            state,
            journal: Journal::unread(flash),
            entropy: Monitored::new(entropy),
            chance: None,
            session: Session::NEW,
            restart,
            image: None,
            checksums_required: false,
            trouble: Some(Trouble::Fault),
            mount_error: None,
        }
    }

    /// Sets the image hash that `HELLO` reports.
    pub const fn set_image(&mut self, image: ImageHash) {
        self.image = Some(image);
    }

    /// Does the work of [`Self::new`] in place: a board has no stack for copies of the device.
    /// Writes flash on a new device, and to repair what a power cut left. Needs no padding: no
    /// reply waits for it.
    pub fn power_up(&mut self) {
        self.mount();
        self.checksums_required = self.state.trial().is_some_and(|trial| trial.is_tagged());
        self.seed();
    }

    #[inline(never)]
    fn mount(&mut self) {
        self.state.clear();
        let mounted = self.journal.recover(&mut *self.state);
        self.trouble = match (mounted, self.state.foreign()) {
            (_, Some(version)) => Some(Trouble::Foreign(Stored::State(version))),
            (Err(MountError::OtherFormat(format)), _) => {
                Some(Trouble::Foreign(Stored::Journal(format)))
            }
            (Ok(()), None) if self.state.finish() => None,
            _ => Some(Trouble::Fault),
        };
        self.mount_error = match mounted {
            Ok(()) if matches!(self.trouble, Some(Trouble::Fault)) => Some(MountError::Damaged),
            mounted => mounted.err(),
        };
    }

    /// Why the flash could not be mounted at power-up, for logs: `HELLO` only says `fault`.
    #[must_use]
    pub const fn mount_error(&self) -> Option<MountError> {
        self.mount_error
    }

    #[inline(never)]
    fn seed(&mut self) {
        self.chance = self.entropy.seed(&[], START_SAMPLES).ok().map(G::from_seed);
    }

    /// The parts of a device that can work.
    ///
    /// # Errors
    /// `storage` or `foreign` if the flash cannot be used, `entropy` if there is no generator.
    fn ready(&mut self) -> Result<Ready<'_, F, E, G, M, U>, Refusal<'static>> {
        if let Some(trouble) = self.trouble {
            return Err(trouble.refusal());
        }
        Ok(Ready {
            state: &mut self.state,
            journal: &mut self.journal,
            entropy: &mut self.entropy,
            chance: self.chance.as_mut().ok_or(Refusal::Entropy)?,
            session: &mut self.session,
            trouble: &mut self.trouble,
        })
    }

    /// The state of the device.
    #[must_use]
    pub fn state(&self) -> State {
        match (self.trouble, self.state.trial()) {
            (Some(Trouble::Fault), _) => State::Fault,
            (Some(Trouble::Foreign(_)), _) => State::Foreign,
            (None, None) => State::Blank,
            (None, Some(trial)) if trial.phase() == Phase::Closed => State::Closed,
            (None, Some(_)) => State::Running,
        }
    }

    /// Whether the next request will do a look first. Public: looks fall at public counts.
    #[must_use]
    pub fn is_look_due(&self) -> bool {
        self.trouble.is_none() && self.state.trial().is_some_and(|trial| trial.look_due())
    }

    /// Answers one line, given without its line end. `out` is called once for every reply, with its
    /// line, checksum and LF included.
    ///
    /// Writes flash: first the look that is due, if one is, then what the request changes; `out` is
    /// called when that is durable. Pad the time to the first call of `out`: it depends on values.
    pub fn handle_line(&mut self, line: &[u8], out: &mut impl FnMut(&Reply<'_>, &[u8])) {
        self.handle_framed(Framed::new(line), out);
    }

    /// [`Self::handle_line`], for a line whose checksum was computed as it came. Writes flash and
    /// needs padding as it does.
    pub fn handle_framed(&mut self, line: Framed<'_>, out: &mut impl FnMut(&Reply<'_>, &[u8])) {
        // By reference: a copy of the reply costs an `OUTCOME` 100 instructions.
        match self.answer(line, out) {
            Ok(ref reply) => send(reply, out),
            Err(refusal) => {
                // Whatever failed, memory may be ahead of flash: nothing is stored from it any
                // more.
                if matches!(refusal, Refusal::Storage) {
                    self.trouble = Some(Trouble::Fault);
                }
                let is_request =
                    !matches!(refusal.word(), Word::Checksum | Word::Length | Word::Syntax);
                let name = if is_request { RequestName::of_line(line.line) } else { None };
                send(&Reply::Refused(refusal, name), out);
            }
        }
    }

    /// A second has passed. The board calls this once a second, so that an unused nonce expires.
    /// Touches no flash. Needs no padding: its time depends on no patient.
    pub fn tick(&mut self) {
        self.session.tick();
    }

    /// The terminal hung up, where the board can tell: an unused nonce is void. Touches no flash.
    pub fn hang_up(&mut self) {
        self.session.void_nonce();
    }

    /// Draws the next look's noise for one more feature, between requests. False when all have
    /// theirs. Touches no flash. Pad each call: its time depends on the noise.
    pub fn draw_ahead(&mut self) -> bool {
        let Ok(ready) = self.ready() else { return false };
        let Ready { state, chance, .. } = ready;
        state.trial_mut().is_some_and(|trial| trial.draw_ahead(chance))
    }

    /// Computes a piece of the next kits of a blinded trial, two rounds, between requests. False
    /// when both are ready. Touches no flash. Needs no padding: it always takes the same time.
    pub fn prepare_kits(&mut self) -> bool {
        self.trouble.is_none() && self.state.prepare_kits()
    }

    /// The last reply to a line.
    fn answer(&mut self, framed: Framed<'_>, out: &mut impl FnMut(&Reply<'_>, &[u8])) -> Answer {
        // A look that is due comes before anything else. If it fails the device is in trouble, and
        // says so below.
        if self.state.trial().is_some_and(|trial| trial.look_due()) {
            let _ = self.ready().and_then(|mut ready| ready.look());
        }
        let opened = wire::open_framed(framed)?;
        let (text, proof) = wire::split_proof(opened.body);
        let request = Request::parse_text(text, proof.is_some())?;
        // A program's line that lost its tail must not pass for one typed by a person, who says
        // `HELLO` first.
        if self.checksums_required && !opened.has_checksum && request != Request::Hello {
            let expected = wire::checksum(framed.line);
            return Err(WireError::Checksum { got: None, expected }.into());
        }
        self.checksums_required = opened.has_checksum;
        // Every request voids the nonces; those that take a proof read them first, and a second
        // `AUTH` leaves that of the first for a while. (Only these copy nonces and proof, a tenth
        // of the work of an `ASSIGN` on the Cortex-M0.)
        let take = |session: &mut Session| Evidence { text, proof, nonces: session.take_nonces() };
        match request {
            Request::Assign { patient, feature, tag } => {
                self.session.void_nonce();
                self.ready()?.assign(patient, feature, tag)
            }
            Request::Replace { patient, count } => {
                self.session.void_nonce();
                self.ready()?.replace(patient, count)
            }
            Request::Outcome { patient, y } => {
                self.session.void_nonce();
                self.ready()?.record_outcome(patient, Some(y))
            }
            Request::Lost { patient } => {
                self.session.void_nonce();
                self.ready()?.record_outcome(patient, None)
            }
            Request::Hello => {
                self.session.void_nonce();
                Ok(Reply::Hello(self.hello()))
            }
            Request::Status => {
                self.session.void_nonce();
                self.status()
            }
            Request::Report => {
                let evidence = take(&mut self.session);
                self.ready()?.may_report(&evidence)?;
                self.ready()?.report(out)
            }
            Request::Prove(nonce) => {
                self.session.void_nonce();
                self.prove(&nonce)
            }
            Request::Challenge => self.ready()?.challenge(),
            Request::Key(key) => {
                let evidence = take(&mut self.session);
                self.ready()?.set_key(key, &evidence)
            }
            Request::Plan { plan, file } => {
                let evidence = take(&mut self.session);
                self.ready()?.plan(plan, file, &evidence)
            }
            Request::Close => {
                let evidence = take(&mut self.session);
                self.ready()?.close(&evidence)
            }
            Request::Erase => {
                let evidence = take(&mut self.session);
                self.ready()?.erase(&evidence)
            }
        }
    }
}
