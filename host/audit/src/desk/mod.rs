//! A device under audit: what is asked of it over its line, and what it answers.
//!
//! A [`Desk`] steps the main loop that ships, around a device with little room on a flash in
//! memory; everything goes through its line. The device's generator is either the one that ships
//! or a [`Tape`], which asks the [`Chance`](equipoise::chance::Chance) that was [lent](lend) for
//! the operation at hand: an enumerator, or a script. Names, nonces and seeds are no part of that;
//! they follow from the samples of the entropy source.
//!
//! The main loop draws all noise of the next look as soon as it can. With a tape the audit draws it
//! instead, one feature at a time and right before the look ([`Desk::draw_ahead`]), so that
//! enumerators and scripts know the cells that each draw hides. The draws are the same.
//!
//! # What is seen
//! Replies, and [`Beside`] them: the flash work of every request and of idle time, the moment of
//! every reply, the samples taken from the entropy source, and all seeds, names and nonces.
//!
//! [`Desk::probe`] asks for everything that anybody may ask at any time (`questions.rs`). The arm
//! of patient t is no part of what is seen, so a desk is told who t is ([`Desk::hide`]) and never
//! repeats t's request.
//!
//! # Faults
//! A desk may have a [`Fault`]: it then is a device that is [broken] on purpose.

pub mod broken;
mod parts;
mod questions;

pub use broken::{Broken, Fault, Secret};
pub use parts::{Drawn, Steady, Tape, lend};

use crate::flash::{Flash, Print};
use equipoise::board::in_memory::InMemory;
use equipoise::device::auth::CustodianKey;
use equipoise::device::generator::Seeded;
use equipoise::device::health::Entropy;
use equipoise::plan::Plan;
use equipoise::trial::Trial;
use equipoise::wire::{Hex, ImageHash, Reply, Restart, TrialId, checksum};

/// The custodian's key of every device.
pub(super) const KEY: [u8; 32] = [0x5a; 32];
/// The image of every device.
const IMAGE: ImageHash = ImageHash([0xa5; 8]);

/// Everything but replies that an observer of a device may notice: fingerprints of all of it, since
/// the device was first started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Beside {
    /// Flash operations, in their order.
    pub flash: Print,
    /// When replies left, counted from their requests.
    pub moments: Print,
    /// Pieces of work between requests, and the flash work of each.
    pub idle: Print,
    /// Bytes drawn for seeds, names and nonces.
    pub drawn: Drawn,
}

impl Beside {
    /// Adds what was noticed of a copy.
    const fn add(&mut self, copy: &Self) {
        let Self { flash, moments, idle, drawn } = copy;
        self.idle.add(flash.get());
        self.idle.add(idle.get());
        self.moments.add(moments.get());
        self.drawn.add(*drawn);
    }
}

/// A device with room for `M` features and `U` waiting patients, and a running trial.
pub struct Desk<const M: usize, const U: usize, E: Entropy = Steady, G = Tape> {
    board: InMemory<Flash, E, M, U, G>,
    /// The main loop draws noise ahead; otherwise the audit does.
    draws: bool,
    fault: Option<Fault>,
    /// Patient t.
    hidden: Option<u32>,
    /// The last that a fault knows.
    secret: Option<Secret>,
    /// The trial that a fault knows about was erased.
    is_erased: bool,
    beside: Beside,
    /// How often everything was asked.
    probes: u32,
}

impl<const M: usize, const U: usize, E: Entropy + Clone, G: Clone> Clone for Desk<M, U, E, G> {
    fn clone(&self) -> Self {
        let Self { board, draws, fault, hidden, secret, is_erased, beside, probes } = self;
        Self {
            board: board.clone(),
            draws: *draws,
            fault: *fault,
            hidden: *hidden,
            secret: secret.clone(),
            is_erased: *is_erased,
            beside: *beside,
            probes: *probes,
        }
    }
}

impl<const M: usize, const U: usize, E: Entropy, G> core::fmt::Debug for Desk<M, U, E, G> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Desk")
    }
}

impl<const M: usize, const U: usize, E: Entropy, G: Seeded> Desk<M, U, E, G> {
    /// A device that has just taken the plan, on a flash of so many pages. The reply to the plan is
    /// given if it was refused.
    ///
    /// # Errors
    /// The device refuses the plan.
    pub fn new(
        plan: &Plan,
        entropy: E,
        pages: usize,
        fault: Option<Fault>,
    ) -> Result<Self, String> {
        let mut desk = Self::on(Flash::blank(pages), entropy, Restart::Power, fault, None);
        desk.ask(&format!("KEY {}", Hex(&KEY)));
        let planned = desk.order(&format!("PLAN {plan}"));
        if planned.starts_with("OK") { Ok(desk) } else { Err(planned) }
    }

    /// A device that has started on this flash; a fault that is in the start knows the secret.
    fn on(
        flash: Flash,
        entropy: E,
        restart: Restart,
        fault: Option<Fault>,
        secret: Option<Secret>,
    ) -> Self {
        let mut board = InMemory::asleep(flash, entropy, Some(restart));
        board.device.set_image(IMAGE);
        let mut desk = Self {
            board,
            draws: false,
            fault,
            hidden: None,
            secret,
            is_erased: false,
            beside: Beside::default(),
            probes: 0,
        };
        desk.operate(|board| board.device.power_up());
        desk.secret = None;
        desk
    }

    /// An operation of the device, and what is noticed of it.
    fn operate<T>(&mut self, work: impl FnOnce(&mut InMemory<Flash, E, M, U, G>) -> T) -> T {
        self.learn();
        let fault = self.fault.zip(self.secret.clone());
        parts::take_drawn();
        let done = broken::at_work(fault.clone(), || work(&mut self.board));
        self.beside.drawn.add(parts::take_drawn());
        self.beside.flash = self.flash_work();
        if let Some((fault, before)) = fault
            && let Some(trial) = self.board.device.trial_mut()
        {
            fault.alter(&before, trial);
        }
        done
    }

    /// A fault learns the secrets of a running trial.
    fn learn(&mut self) {
        if self.fault.is_some() && !self.is_erased {
            self.secret = broken::learn(self.secret.take(), self.board.device.trial());
        }
    }

    fn flash_work(&mut self) -> Print {
        self.board.device.flash().flash().work()
    }

    /// The secret that a fault of the device knows: its memory is part of the state.
    #[must_use]
    pub const fn secret(&self) -> Option<&Secret> {
        self.secret.as_ref()
    }

    /// Everything noticed but replies.
    #[must_use]
    pub const fn beside(&self) -> Beside {
        self.beside
    }

    /// From now on the main loop takes whole steps and draws the noise.
    #[must_use]
    pub const fn stepping(mut self) -> Self {
        self.draws = true;
        self
    }

    /// The trial of the device.
    ///
    /// # Panics
    /// There is none.
    #[must_use]
    pub fn trial(&self) -> &Trial<M, U> {
        self.board.device.trial().unwrap_or_else(|| panic!("the device under audit lost its trial"))
    }

    /// The trial, to break it on purpose.
    ///
    /// # Panics
    /// There is none.
    pub fn trial_mut(&mut self) -> &mut Trial<M, U> {
        let trial = self.board.device.trial_mut();
        trial.unwrap_or_else(|| panic!("the device under audit lost its trial"))
    }

    /// All replies to a line, which is sent with its checksum.
    pub fn ask(&mut self, line: &str) -> String {
        let mut sent = Vec::new();
        let sealed = format!("{line}*{:04X}\n", checksum(line.as_bytes()));
        let draws = self.draws;
        self.operate(|board| {
            if draws {
                board.exchange(sealed.as_bytes(), &mut sent);
            } else {
                board.answer_only(sealed.as_bytes(), &mut sent);
            }
        });
        let mut moment = self.board.awaited();
        if draws {
            self.operate(|board| board.step());
        }
        let mut replies = String::from_utf8_lossy(&sent).into_owned();
        self.learn();
        if let (Some(fault), Some(secret)) = (self.fault, &self.secret) {
            fault.reply(secret, line, &mut replies);
            moment += fault.late(secret);
        }
        self.beside.moments.add(moment.into());
        replies
    }

    /// Sends a custodian's command with its proof; the replies to the command. If a [`Fault`]
    /// spoils the nonce, that is the reply.
    ///
    /// # Panics
    /// A device without a fault gives no nonce.
    pub fn order(&mut self, command: &str) -> String {
        self.order_as(&CustodianKey::new(KEY), command)
    }

    /// The same with a proof under another key.
    fn order_as(&mut self, key: &CustodianKey, command: &str) -> String {
        let trial = match reply_to(&self.ask("HELLO")) {
            Some(Reply::Hello(hello)) => hello.trial.map_or(TrialId::NONE, |name| name.id),
            _ => TrialId::NONE,
        };
        let replies = self.ask("AUTH");
        let Some(Reply::Nonce(nonce)) = reply_to(&replies) else {
            assert!(self.fault.is_some(), "no nonce for {command}: {replies}");
            return replies;
        };
        let proof = key.proof(&nonce, trial, command.as_bytes());
        self.ask(&format!("{command} proof={}", Hex(&proof)))
    }

    /// Asks for the next patient; all replies. The tag is the patient's number, which is never 0.
    pub fn assign(&mut self, patient: u32, feature: u32) -> String {
        self.ask(&format!("ASSIGN {patient} {feature} {patient:08x}"))
    }

    /// This patient is t: [`Self::probe`] does not ask for the arm.
    pub const fn hide(&mut self, patient: u32) {
        self.hidden = Some(patient);
    }

    /// All replies to a second outcome and a late loss of a patient who is resolved already.
    pub fn probe_resolved(&mut self, patient: u32) -> String {
        let scale = self.trial().plan().scale();
        [0, scale].map(|y| self.ask(&format!("OUTCOME {patient} {y}"))).concat()
            + &self.ask(&format!("LOST {patient}"))
    }

    /// Draws the noise of one more feature for the next look, as the main loop does between
    /// requests.
    pub fn draw_ahead(&mut self) {
        let drawn = self.operate(|board| board.device.draw_ahead());
        self.note_idle(drawn.into());
    }

    /// The line is idle: a second passes, and the next kits are prepared.
    pub fn rest(&mut self) {
        let pieces = self.operate(|board| {
            board.device.tick();
            let mut pieces = 0;
            while board.device.prepare_kits() {
                pieces += broken::times(broken::Operation::Piece);
            }
            pieces
        });
        self.note_idle(pieces);
    }

    fn note_idle(&mut self, pieces: u32) {
        self.beside.idle.add(pieces.into());
        self.beside.idle.add(self.beside.flash.get());
    }

    /// Has the look done that is due: a device does it before it reads the next line. The replies
    /// to that line.
    pub fn look(&mut self) -> String {
        debug_assert!(self.board.device.is_look_due());
        self.ask("STATUS")
    }
}

/// The arm in the replies to an `ASSIGN`, if it was accepted.
#[must_use]
pub fn arm_of(replies: &str) -> Option<equipoise::terms::Arm> {
    match reply_to(replies) {
        Some(Reply::Arm { arm, .. }) => Some(arm),
        _ => None,
    }
}

/// The one reply of a request, if it can be read.
fn reply_to(replies: &str) -> Option<Reply<'_>> {
    Reply::parse(replies.trim_end().as_bytes()).ok()
}
