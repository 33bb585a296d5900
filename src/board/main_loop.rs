//! The firmware: one loop around [`Device`], on any [`Board`].
//!
//! ```text
//! interrupt: byte -> queue    loop: queue -> Framer -> Device::handle_framed -> reply, when due
//!                                   between requests: draw noise, show the LEDs, sleep
//! ```
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
use super::{Board, Clock, Parts, Screen, Watchdog, stamps};
use crate::device::{Device, DeviceState};
use crate::journal::JournalFlash;
use crate::wire::{Framed, Framer, Reply};
use core::convert::Infallible;
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};
use embedded_io::{Read, ReadReady, Write};
use embedded_storage::nor_flash::{ErrorType, MultiwriteNorFlash, NorFlash, ReadNorFlash};

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

#[cfg(not(feature = "seeded"))]
type EntropySource<B> = <B as Board>::Entropy;
#[cfg(feature = "seeded")]
type EntropySource<B> = super::drill::Rehearsed<B>;

/// The device on a board.
type Bedside<B, const M: usize, const U: usize> =
    Device<&'static mut DeviceState<M, U>, Counted<<B as Board>::Flash>, EntropySource<B>>;

/// Runs the firmware, for ever. (Inlined: as a call it costs the v1 128 more bytes of stack, for a
/// second copy of the parts.)
#[inline(always)]
pub fn run<B: Board, const M: usize, const U: usize>(parts: Parts<B, M, U>) -> ! {
    static WORK: FlashWork = FlashWork { erases: AtomicU32::new(0), words: AtomicU32::new(0) };
    let Parts { mut clock, mut sender, mut receiver, entropy, flash, .. } = parts;
    let Parts { mut screen, mut watchdog, state, restart, image, .. } = parts;
    #[cfg(feature = "seeded")]
    let entropy = super::drill::Rehearsed::replace(entropy);
    let flash = Counted { flash, work: &WORK };
    let mut device = Bedside::<B, M, U>::asleep(state, flash, entropy, Some(restart));
    device.set_image(image);
    device.power_up();
    draw_ahead::<B, M, U>(&mut device, &mut clock);
    log!("ready: {}, restart {}", device.state(), restart);
    stamps::STAMP_READY.set(clock.now());

    let mut framer = Framer::new();
    let mut display = Display::default();
    let second = SECOND_MICROSECONDS * B::Clock::PER_MICROSECOND;
    let mut ticked = clock.now();
    // Read between requests, so that it takes no time of a reply.
    let mut looks = device.is_look_due();
    loop {
        watchdog.feed();
        if clock.now().wrapping_sub(ticked) >= second {
            ticked = ticked.wrapping_add(second);
            device.tick();
        }
        while let Some(byte) = next_byte(&mut receiver) {
            let Some(line) = framer.push_summed(byte) else { continue };
            #[cfg(feature = "seeded")]
            super::drill::run(line.line);
            let timing = (&mut clock, &WORK, looks);
            answer::<B, M, U>(&mut device, timing, line, &mut sender, &mut display);
            draw_ahead::<B, M, U>(&mut device, &mut clock);
            looks = device.is_look_due();
            break;
        }
        if !is_ready(&mut receiver) {
            screen.show(display.tick(device.state()));
            if !prepare_kits::<B, M, U>(&mut device) {
                clock.sleep(|| is_ready(&mut receiver));
            }
        }
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
fn answer<B: Board, const M: usize, const U: usize>(
    device: &mut Bedside<B, M, U>,
    (clock, work, looks): (&mut B::Clock, &FlashWork, bool),
    line: Framed<'_>,
    sender: &mut B::Sender,
    display: &mut Display,
) {
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
            Reply::Refused(_refusal) => {
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
fn draw_ahead<B: Board, const M: usize, const U: usize>(
    device: &mut Bedside<B, M, U>,
    clock: &mut B::Clock,
) {
    let draw = DRAW_MICROSECONDS * B::Clock::PER_MICROSECOND;
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
fn prepare_kits<B: Board, const M: usize, const U: usize>(device: &mut Bedside<B, M, U>) -> bool {
    (0..KIT_PIECES).fold(false, |worked, _| device.prepare_kits() || worked)
}

/// Flash operations of a request.
struct FlashWork {
    /// Pages erased.
    erases: AtomicU32,
    /// Words written.
    words: AtomicU32,
}

impl FlashWork {
    fn clear(&self) {
        self.erases.store(0, Relaxed);
        self.words.store(0, Relaxed);
    }

    /// Counts an operation on so many bytes, in units of `size`, a power of two. (Two steps: the
    /// Cortex-M0 has no atomic addition. Only the main loop counts.)
    fn count(counter: &AtomicU32, bytes: u32, size: usize) {
        let units = bytes >> size.trailing_zeros();
        counter.store(counter.load(Relaxed).wrapping_add(units), Relaxed);
    }
}

/// A flash that counts its operations.
struct Counted<F> {
    flash: F,
    work: &'static FlashWork,
}

impl<F: ErrorType> ErrorType for Counted<F> {
    type Error = F::Error;
}

impl<F: ReadNorFlash> ReadNorFlash for Counted<F> {
    const READ_SIZE: usize = F::READ_SIZE;

    #[inline]
    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), F::Error> {
        self.flash.read(offset, bytes)
    }

    fn capacity(&self) -> usize {
        self.flash.capacity()
    }
}

impl<F: NorFlash> NorFlash for Counted<F> {
    const WRITE_SIZE: usize = F::WRITE_SIZE;
    const ERASE_SIZE: usize = F::ERASE_SIZE;

    fn erase(&mut self, from: u32, to: u32) -> Result<(), F::Error> {
        FlashWork::count(&self.work.erases, to.saturating_sub(from), F::ERASE_SIZE);
        self.flash.erase(from, to)
    }

    #[inline]
    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), F::Error> {
        FlashWork::count(&self.work.words, bytes.len() as u32, F::WRITE_SIZE);
        self.flash.write(offset, bytes)
    }
}

impl<F: MultiwriteNorFlash> MultiwriteNorFlash for Counted<F> {}

impl<F: JournalFlash> JournalFlash for Counted<F> {
    #[inline]
    fn program(&mut self, offset: u32, words: &[u8]) -> Result<bool, F::Error> {
        FlashWork::count(&self.work.words, words.len() as u32, F::WRITE_SIZE);
        self.flash.program(offset, words)
    }
}
