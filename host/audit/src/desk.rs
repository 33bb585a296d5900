//! A device under audit: what is asked of it over its line, and what it answers.
//!
//! A [`Desk`] steps the main loop that ships, around a device with little room on a flash in
//! memory; everything goes through its line. The device's generator is either the one that ships
//! or a [`Tape`], which asks the [`Chance`] that was [lent](lend) for the operation at hand: an
//! enumerator, or a script. Names, nonces and seeds are no part of that; a tape gives zeros.
//!
//! The main loop draws all noise of the next look as soon as it can. With a tape the audit draws it
//! instead, one feature at a time and right before the look ([`Desk::draw_ahead`]), so that
//! enumerators and scripts know the cells that each draw hides. The draws are the same.
//!
//! [`Desk::probe`] asks for everything that anybody may ask at any time, so that every kind of
//! reply is part of what is seen: also refusals, answers to requests sent twice and to wrong
//! proofs, and all of this from a copy of the device after a restart of every cause. Once all
//! patients are assigned, the copy's trial is erased and begun anew, and asked again. The arm of
//! patient t is no part of what is seen, so a desk is told who t is ([`Desk::hide`]) and never
//! repeats t's request.
//!
//! A [`Leak`] stands for a device that is broken on purpose: it changes replies with the state of
//! the trial at hand.

use core::any::Any;
use std::cell::RefCell;

use crate::flash::Flash;
use equipoise::board::in_memory::InMemory;
use equipoise::chance::{Chance, Fraction};
use equipoise::device::auth::{CustodianKey, WRONG_PROOFS};
use equipoise::device::generator::Seeded;
use equipoise::device::health::Entropy;
use equipoise::noise::Laplace;
use equipoise::plan::Plan;
use equipoise::trial::Trial;
use equipoise::wire::{Hex, ImageHash, Reply, Restart, TrialId, checksum};

/// The custodian's key of every device.
const KEY: [u8; 32] = [0x5a; 32];
/// The image of every device.
const IMAGE: ImageHash = ImageHash([0xa5; 8]);

/// A lent chance.
trait Lent: Chance {
    fn into_any(self: Box<Self>) -> Box<dyn Any>;
}

impl<C: Chance + 'static> Lent for C {
    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

std::thread_local! {
    static LENT: RefCell<Option<Box<dyn Lent>>> = const { RefCell::new(None) };
}

/// Lends a source of chance to all tapes of this thread while `work` runs, and gives it back.
///
/// # Panics
/// Within another `lend` of the thread.
pub fn lend<C: Chance + 'static, T>(chance: C, work: impl FnOnce() -> T) -> (C, T) {
    let before = LENT.replace(Some(Box::new(chance)));
    assert!(before.is_none(), "a chance is lent already");
    let done = work();
    let back = LENT.take().and_then(|lent| lent.into_any().downcast().ok());
    (*back.unwrap_or_else(|| panic!("another chance came back")), done)
}

fn ask_lent<T>(ask: impl FnOnce(&mut dyn Lent) -> T) -> T {
    LENT.with_borrow_mut(|lent| match lent {
        Some(chance) => ask(&mut **chance),
        None => panic!("a device asks for chance where nothing is random"),
    })
}

/// The generator of a device under audit.
#[derive(Clone, Copy, Debug)]
pub struct Tape;

impl Seeded for Tape {
    fn from_seed(_: [u8; 32]) -> Self {
        Self
    }

    fn bytes<const N: usize>(&mut self) -> [u8; N] {
        [0; N]
    }
}

impl Chance for Tape {
    fn coin(&mut self) -> bool {
        ask_lent(|chance| chance.coin())
    }
    fn biased_coin(&mut self, p: Fraction) -> bool {
        ask_lent(|chance| chance.biased_coin(p))
    }
    fn discrete_laplace(&mut self, law: &Laplace) -> i64 {
        ask_lent(|chance| chance.discrete_laplace(law))
    }
    fn lap_plus(&mut self, center: u64, law: &Laplace) -> u64 {
        ask_lent(|chance| chance.lap_plus(center, law))
    }
}

/// An entropy source that passes the health tests and can be copied. A tape has no use for it.
#[derive(Clone, Copy, Debug)]
pub struct Steady(u8);

impl Steady {
    /// The source.
    #[must_use]
    pub const fn new() -> Self {
        Self(0)
    }
}

impl Default for Steady {
    fn default() -> Self {
        Self::new()
    }
}

impl Entropy for Steady {
    fn sample(&mut self) -> Option<u8> {
        self.0 = self.0.wrapping_add(37);
        Some(self.0)
    }
}

/// A fault: changes the replies to a request.
pub type Leak<const M: usize, const U: usize> = fn(&Trial<M, U>, &str, &mut String);

/// A device with room for `M` features and `U` waiting patients, and a running trial.
pub struct Desk<const M: usize, const U: usize, E: Entropy = Steady, G = Tape> {
    board: InMemory<Flash, E, M, U, G>,
    /// The main loop draws noise ahead; otherwise the audit does.
    draws: bool,
    leak: Option<Leak<M, U>>,
    /// Patient t.
    hidden: Option<u32>,
    /// The trial that was erased before the present one, for leaks.
    erased: Option<Box<Trial<M, U>>>,
}

impl<const M: usize, const U: usize, E: Entropy + Clone, G: Clone> Clone for Desk<M, U, E, G> {
    fn clone(&self) -> Self {
        let Self { board, draws, leak, hidden, erased } = self;
        Self {
            board: board.clone(),
            draws: *draws,
            leak: *leak,
            hidden: *hidden,
            erased: erased.clone(),
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
        leak: Option<Leak<M, U>>,
    ) -> Result<Self, String> {
        let flash = Flash::blank(pages);
        let mut desk = Self::on(flash, entropy, Restart::Power, leak);
        desk.ask(&format!("KEY {}", Hex(&KEY)));
        let planned = desk.order(&format!("PLAN {plan}"));
        if planned.starts_with("OK") { Ok(desk) } else { Err(planned) }
    }

    /// A device that has started on this flash.
    fn on(flash: Flash, entropy: E, restart: Restart, leak: Option<Leak<M, U>>) -> Self {
        let mut board = InMemory::asleep(flash, entropy, Some(restart));
        board.device.set_image(IMAGE);
        board.device.power_up();
        Self { board, draws: false, leak, hidden: None, erased: None }
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
        if self.draws {
            self.board.exchange(sealed.as_bytes(), &mut sent);
            self.board.step();
        } else {
            self.board.answer_only(sealed.as_bytes(), &mut sent);
        }
        let mut replies = String::from_utf8_lossy(&sent).into_owned();
        let trial = self.erased.as_deref().or(self.board.device.trial());
        if let (Some(leak), Some(trial)) = (self.leak, trial) {
            leak(trial, line, &mut replies);
        }
        replies
    }

    /// Sends a custodian's command with its proof; the replies to the command. If a [`Leak`] spoils
    /// the nonce, that is the reply.
    ///
    /// # Panics
    /// A device without a leak gives no nonce.
    pub fn order(&mut self, command: &str) -> String {
        let trial = match reply_to(&self.ask("HELLO")) {
            Some(Reply::Hello(hello)) => hello.trial.map_or(TrialId::NONE, |name| name.id),
            _ => TrialId::NONE,
        };
        let replies = self.ask("AUTH");
        let Some(Reply::Nonce(nonce)) = reply_to(&replies) else {
            assert!(self.leak.is_some(), "no nonce for {command}: {replies}");
            return replies;
        };
        let proof = CustodianKey::new(KEY).proof(&nonce, trial, command.as_bytes());
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

    /// All replies to requests that anybody may send at any time, with or without a report; those
    /// of a copy after a restart, of one cause after another by the number of patients; of a copy
    /// that is sent wrong proofs; and, once all patients are assigned, those of its next trial.
    /// Nothing of this changes the device.
    pub fn probe(&mut self, report: bool) -> String {
        let assigned = self.trial().assigned();
        let cause = match assigned % 4 {
            0 => Restart::Power,
            1 => Restart::Reset,
            2 => Restart::Watchdog,
            _ => Restart::Fault,
        };
        let flash = self.board.device.flash().flash().clone();
        let mut restarted = Desk::<M, U>::on(flash, Steady::new(), cause, self.leak);
        restarted.hidden = self.hidden;
        let mut replies = self.questions(report) + &restarted.questions(report);
        if assigned == self.trial().plan().patients() {
            replies += &restarted.begin_again();
        } else if assigned % 4 == 2 {
            // Locked until it is restarted once more.
            replies += &restarted.guess();
        }
        replies
    }

    /// All replies while somebody without the key guesses proofs until commands are locked.
    fn guess(&mut self) -> String {
        let mut replies = String::new();
        for _ in 0..=WRONG_PROOFS {
            replies += &self.ask("AUTH");
            replies += &self.ask(&format!("CLOSE proof={}", Hex(&[0; 32])));
        }
        replies + &self.ask("AUTH") + &self.ask("HELLO") + &self.ask("STATUS")
    }

    /// All replies while the custodian erases the trial and gives its plan once more.
    fn begin_again(&mut self) -> String {
        let plan = format!("PLAN {}", self.trial().plan());
        self.erased = Some(Box::new(self.trial().clone()));
        let mut replies = self.order("ERASE");
        for line in ["HELLO", "STATUS", "REPORT"] {
            replies += &self.ask(line);
        }
        replies + &self.order(&plan) + &self.questions(true)
    }

    /// All replies to requests that change nothing. A custodian's command without a proof guesses
    /// no key, so it is not counted either.
    fn questions(&mut self, report: bool) -> String {
        let (assigned, scale) = (self.trial().assigned(), self.trial().plan().scale());
        let mut replies = self.ask("HELLO") + &self.ask("STATUS");
        if report {
            replies += &self.ask("REPORT");
        }
        replies += &self.ask(&format!("OUTCOME {assigned} {}", u32::from(scale) + 1));
        replies += &self.ask(&format!("ASSIGN {assigned} 0 00000000"));
        replies += &self.ask(&format!("ASSIGN {} 255 00000000", assigned + 1));
        if self.hidden != Some(assigned) {
            replies += &self.assign(assigned, 0);
        }
        replies += &self.ask(&format!("REPLACE {assigned} 1"));
        replies += &self.ask(&format!("LOST {}", assigned + 1));
        let key = format!("KEY {}", Hex(&KEY));
        let plan = "PLAN features=1 patients=20 better=high results=open epsilon=1";
        for line in ["CLOSE", "ERASE", &key, plan, "NONSENSE", "AUTH"] {
            replies += &self.ask(line);
        }
        replies
    }

    /// All replies to a second outcome and a late loss of a patient who is resolved already.
    pub fn probe_resolved(&mut self, patient: u32) -> String {
        let scale = self.trial().plan().scale();
        [0, scale].map(|y| self.ask(&format!("OUTCOME {patient} {y}"))).concat()
            + &self.ask(&format!("LOST {patient}"))
    }

    /// Draws the noise of one more feature for the next look.
    pub fn draw_ahead(&mut self) {
        self.board.device.draw_ahead();
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
