//! The firmware: one loop around [`Device`], on any [`Board`].
//!
//! ```text
//! interrupt: byte -> queue    loop: queue -> Framer -> Device::handle_framed -> reply, when due
//!                                   between requests: draw noise, show the LEDs, sleep
//! ```
//!
//! A board calls [`run`]. A program that is its own board, such as the virtual device, calls
//! [`MainLoop::step`]; `board::in_memory` has the parts for that. The calls of one step, in their
//! order:
//!
//! | call | writes flash | time |
//! |---|---|---|
//! | [`Device::tick`], once a second | no | always the same |
//! | [`Device::handle_framed`], for a complete line | yes | the reply leaves when it is due |
//! | [`Device::draw_ahead`], after a reply, until all is drawn | no | each draw is padded |
//! | [`Device::prepare_kits`] | no | always the same |
//! | [`Clock::sleep`], if no kit is left to prepare | no | until the next byte, at most a tick |
//!
//! # Timing side channels
//! * The first byte of a reply leaves [`REPLY_MICROSECONDS`] after its request was complete. If
//!   pages were erased meanwhile, a look was due, or more than [`ORDINARY_WORDS`] words were
//!   written, it leaves later: by [`Board::ERASE_MICROSECONDS`] a page, as much for the look, and
//!   [`Board::WORD_MICROSECONDS`] a word. Looks fall at public counts, and the numbers of pages and
//!   words depend on public counts ([`crate::journal`]); a look writes every feature's parts,
//!   whether it takes part or not. These times cover the longest computation. A reply that misses
//!   its time leaves later by the next multiple of [`REPLY_MICROSECONDS`], and
//!   [`stamps::LATE_REPLIES`] counts it. The wait ends on a timer event, so that the reply leaves
//!   the same number of instructions after it whatever was computed before.
//! * How long a draw of noise takes depends on the noise. Draws are made between requests, ahead of
//!   the look that needs them, each padded to a multiple of [`DRAW_MICROSECONDS`]; the next request
//!   waits for their end.
//! * The kits of a blinded trial are computed ahead, between requests, in pieces whose time is
//!   always the same. A request that needs a kit before those of both arms are ready finishes them
//!   first, and its time counts from then: how late it is answered depends on when requests came,
//!   and not on any arm. On the v1 a kit takes 3.8 million instructions, about 0.4 s: a patient who
//!   comes right after another one waits that long, and the first one after power-up twice as long.
//!
//! # Flash and the serial line
//! A page erase stops the processor for longer than the UART can hold bytes. So flash is written
//! and erased only between a request and its reply, when the terminal is waiting and no byte can
//! come. Nothing touches flash between requests.

use super::display::Display;
use super::flash_work::{Counted, FlashWork};
use super::{Board, Clock, Peripherals, Screen, Watchdog, stamps};
use crate::device::generator::{Generator, Seeded};
use crate::device::health::Entropy;
use crate::device::{Device, DeviceState};
use crate::journal::JournalFlash;
use crate::wire::{Framed, Framer, Reply};
use core::convert::Infallible;
use core::ops::{Deref, DerefMut};
use core::sync::atomic::Ordering::Relaxed;
use embedded_io::{Read, ReadReady, Write};

/// From the end of a request to its reply when no page is erased. Deciding and writing take 1 to 2
/// ms on the v1.
pub const REPLY_MICROSECONDS: u32 = 20_000;
/// Words written by a request about one patient, at most. More belong to a request that changes
/// every feature: a look, a turn, the close, a plan. Its computation grows with them.
pub const ORDINARY_WORDS: u32 = 64;
/// For the noise of one feature.
pub const DRAW_MICROSECONDS: u32 = 4_000;
/// How often the LEDs are refreshed.
pub const TICK_MICROSECONDS: u32 = 4_000;

/// Pieces of work on the next kits between two checks of the serial line: below a tick on the v1.
const KIT_PIECES: u32 = 3;

/// How often the device is told that time passes.
const SECOND_MICROSECONDS: u32 = 1_000_000;

/// Logs a public event, in builds that log.
macro_rules! log {
    ($($event:tt)*) => {
        #[cfg(feature = "defmt")]
        defmt::info!($($event)*);
    };
}

/// The hardware's noise, or the repeatable noise of a test build.
#[cfg(not(feature = "seeded"))]
pub type EntropySource<B> = <B as Board>::Entropy;
/// The hardware's noise, or the repeatable noise of a test build.
#[cfg(feature = "seeded")]
pub type EntropySource<B> = super::drill::Rehearsed<B>;

/// The device on a board. `S` points to the trial's memory and `W` to the counts of flash
/// operations: both are statics on a board, a box and an `Arc` in a program.
pub type Bedside<B, S, W, G> = Device<S, Counted<<B as Board>::Flash, W>, EntropySource<B>, G>;

/// Runs the firmware, for ever. (Inlined: as a call it costs the v1 128 more bytes of stack, for a
/// second copy of the peripherals.)
#[inline(always)]
pub fn run<B: Board, const M: usize, const U: usize>(peripherals: Peripherals<B, M, U>) -> ! {
    static WORK: FlashWork = FlashWork::NONE;
    let Peripherals { clock, sender, receiver, entropy, flash, .. } = peripherals;
    let Peripherals { screen, watchdog, state, restart, image, .. } = peripherals;
    #[cfg(feature = "seeded")]
    let entropy = super::drill::Rehearsed::replace(entropy);
    let flash = Counted { flash, work: &WORK };
    let mut device = Bedside::<B, _, _, Generator>::asleep(state, flash, entropy, Some(restart));
    device.set_image(image);
    let mut main_loop = MainLoop::<B, _>::new((clock, sender, receiver), (screen, watchdog), &WORK);
    main_loop.power_up(&mut device);
    log!("ready: {}, restart {}", device.state(), restart);
    #[cfg(feature = "defmt")]
    if let Some(error) = device.mount_error() {
        log!("flash not mounted: {}", error);
    }
    loop {
        main_loop.step(&mut device);
    }
}

/// The main loop between two steps: the board without its device, and the line that is coming in.
/// (The device stays outside: inside, the v1 would need 800 more bytes of stack to put it there.)
#[cfg_attr(feature = "inspect", derive(Clone))]
pub struct MainLoop<B: Board, W> {
    pub(super) clock: B::Clock,
    pub(super) sender: B::Sender,
    pub(super) receiver: B::Receiver,
    screen: B::Screen,
    watchdog: B::Watchdog,
    work: W,
    pub(super) framer: Framer,
    display: Display,
    /// The moment up to which the device was told of seconds.
    ticked: u32,
    /// A request was answered, and no noise was drawn since.
    answered: bool,
    /// The next request will do a look. Read between requests, so that it takes no time of a
    /// reply.
    looks: bool,
}

impl<B: Board, W: Deref<Target = FlashWork>> MainLoop<B, W> {
    /// The loop before [`Self::power_up`], on a clock with a line, and on LEDs with a watchdog.
    /// `work` is counted by the device's flash.
    #[inline(always)]
    pub fn new(
        (clock, sender, receiver): (B::Clock, B::Sender, B::Receiver),
        (screen, watchdog): (B::Screen, B::Watchdog),
        work: W,
    ) -> Self {
        let (framer, display) = (Framer::new(), Display::default());
        let (ticked, answered, looks) = (0, false, false);
        Self {
            clock,
            sender,
            receiver,
            screen,
            watchdog,
            work,
            framer,
            display,
            ticked,
            answered,
            looks,
        }
    }

    /// Powers the device up and draws the noise of its next look. Writes flash.
    #[inline(always)]
    pub fn power_up<S, G, const M: usize, const U: usize>(
        &mut self,
        device: &mut Bedside<B, S, W, G>,
    ) where
        S: DerefMut<Target = DeviceState<M, U>>,
        G: Seeded,
    {
        device.power_up();
        draw_ahead(device, &mut self.clock);
        self.looks = device.is_look_due();
        self.ticked = self.clock.now();
        stamps::STAMP_READY.set(self.ticked);
    }

    /// One pass of the loop: counts seconds, answers the line that has come in, if one has, and
    /// works ahead. False if there was nothing to do but sleep.
    #[inline(always)]
    pub fn step<S, G, const M: usize, const U: usize>(
        &mut self,
        device: &mut Bedside<B, S, W, G>,
    ) -> bool
    where
        S: DerefMut<Target = DeviceState<M, U>>,
        G: Seeded,
    {
        self.watchdog.feed();
        let second = SECOND_MICROSECONDS * B::Clock::PER_MICROSECOND;
        if self.clock.now().wrapping_sub(self.ticked) >= second {
            self.ticked = self.ticked.wrapping_add(second);
            device.tick();
        }
        self.answer_line(device);
        self.work_ahead(device)
    }

    /// The part of a step that writes flash: takes bytes off the line up to the end of the next
    /// request and answers it, at the moment the reply is due. False if the line is not complete.
    #[inline(always)]
    pub fn answer_line<S, G, const M: usize, const U: usize>(
        &mut self,
        device: &mut Bedside<B, S, W, G>,
    ) -> bool
    where
        S: DerefMut<Target = DeviceState<M, U>>,
        G: Seeded,
    {
        while let Some(byte) = next_byte(&mut self.receiver) {
            let Some(line) = self.framer.push_summed(byte) else { continue };
            #[cfg(feature = "seeded")]
            super::drill::run(line.line);
            let timing = (&mut self.clock, &*self.work, self.looks);
            answer::<B, S, W, G, M, U>(device, timing, line, &mut self.sender, &mut self.display);
            (self.looks, self.answered) = (device.is_look_due(), true);
            return true;
        }
        false
    }

    /// The part of a step that touches no flash: after a reply draws the noise of the next look,
    /// and while no byte comes shows the LEDs, prepares kits or sleeps. False if there was nothing
    /// to do but sleep.
    #[inline(always)]
    pub fn work_ahead<S, G, const M: usize, const U: usize>(
        &mut self,
        device: &mut Bedside<B, S, W, G>,
    ) -> bool
    where
        S: DerefMut<Target = DeviceState<M, U>>,
        G: Seeded,
    {
        let answered = core::mem::take(&mut self.answered);
        if answered {
            draw_ahead(device, &mut self.clock);
        }
        if is_ready(&mut self.receiver) {
            return true;
        }
        self.screen.show(self.display.tick(device.state()));
        let prepared = prepare_kits(device);
        if !prepared {
            self.clock.sleep(|| is_ready(&mut self.receiver));
        }
        answered || prepared
    }
}

fn is_ready(receiver: &mut impl ReadReady<Error = Infallible>) -> bool {
    let Ok(ready) = receiver.read_ready();
    ready
}

fn next_byte(receiver: &mut (impl Read<Error = Infallible> + ReadReady)) -> Option<u8> {
    if !is_ready(receiver) {
        return None;
    }
    let mut byte = [0];
    let Ok(count) = receiver.read(&mut byte);
    (count > 0).then_some(byte[0])
}

// Not inlined: the frames of answering and of drawing share the same stack, of which there is
// little.

/// Answers a line, at the moment the reply is due. `looks`: a look is due and is done first.
#[inline(never)]
fn answer<B: Board, S, W, G, const M: usize, const U: usize>(
    device: &mut Bedside<B, S, W, G>,
    (clock, work, looks): (&mut B::Clock, &FlashWork, bool),
    line: Framed<'_>,
    sender: &mut B::Sender,
    display: &mut Display,
) where
    S: DerefMut<Target = DeviceState<M, U>>,
    W: Deref<Target = FlashWork>,
    G: Seeded,
{
    let mut begin = clock.now();
    stamps::STAMP_BEGIN.set(begin);
    // Read again only after a wait: an interrupt between two readings would move the reply.
    if may_need_kit(line.line) && device.prepare_kits() {
        while device.prepare_kits() {}
        begin = clock.now();
    }
    work.clear();
    let mut first = true;
    device.handle_framed(line, &mut |reply, line| {
        if first {
            stamps::STAMP_DECIDED.set(clock.now());
            wait::<B>(clock, begin, (work, looks));
            stamps::STAMP_BYTE_OUT.set(clock.now());
            first = false;
        }
        let Ok(()) = sender.write_all(line);
        match reply {
            Reply::Arm { arm, .. } => display.show_arm(*arm),
            Reply::Kit { .. } => display.show_kit(),
            Reply::Refused(_refusal, _) => {
                log!("refused: {}", _refusal.word().name());
            }
            _ => {}
        }
    });
}

/// Whether this may be a request for a kit, by its first letter: `ASSIGN` and `REPLACE` may.
fn may_need_kit(line: &[u8]) -> bool {
    matches!(line.trim_ascii_start(), [b'A' | b'R', ..])
}

/// Waits until the reply to a request that came at `begin` is due. (Not inlined: its call is where
/// tests see that a request was decided.)
#[inline(never)]
fn wait<B: Board>(clock: &mut B::Clock, begin: u32, (work, looks): (&FlashWork, bool)) {
    let reply = REPLY_MICROSECONDS * B::Clock::PER_MICROSECOND;
    let (erases, words) = (work.erases.load(Relaxed), work.words.load(Relaxed));
    let mut due = reply;
    if erases > 0 {
        log!("pages erased");
    }
    if erases > 0 || looks || words > ORDINARY_WORDS {
        let microseconds = erases
            .wrapping_add(looks.into())
            .wrapping_mul(B::ERASE_MICROSECONDS)
            .wrapping_add(words.wrapping_mul(B::WORD_MICROSECONDS));
        due = due.wrapping_add(microseconds.wrapping_mul(B::Clock::PER_MICROSECOND));
    }
    let late = clock.now().wrapping_sub(begin).checked_sub(due);
    if late.is_some() {
        stamps::LATE_REPLIES.add_one();
    }
    let extra = late.map_or(0, |late| (late / reply + 1).wrapping_mul(reply));
    clock.sleep_until(begin.wrapping_add(due).wrapping_add(extra));
}

/// Draws the noise of the next look, feature by feature, each in a multiple of
/// [`DRAW_MICROSECONDS`].
#[inline(never)]
fn draw_ahead<S, F, E, G, C, const M: usize, const U: usize>(
    device: &mut Device<S, F, E, G>,
    clock: &mut C,
) where
    S: DerefMut<Target = DeviceState<M, U>>,
    F: JournalFlash,
    E: Entropy,
    G: Seeded,
    C: Clock,
{
    let draw = DRAW_MICROSECONDS * C::PER_MICROSECOND;
    loop {
        let begin = clock.now();
        if !device.draw_ahead() {
            break;
        }
        let spent = clock.now().wrapping_sub(begin);
        clock.sleep_until(begin.wrapping_add((spent / draw + 1).wrapping_mul(draw)));
    }
}

/// Works on the next kits of a blinded trial, about a tick long. False if both are ready.
#[inline(never)]
fn prepare_kits<S, F, E, G, const M: usize, const U: usize>(device: &mut Device<S, F, E, G>) -> bool
where
    S: DerefMut<Target = DeviceState<M, U>>,
    F: JournalFlash,
    E: Entropy,
    G: Seeded,
{
    (0..KIT_PIECES).fold(false, |worked, _| device.prepare_kits() || worked)
}
