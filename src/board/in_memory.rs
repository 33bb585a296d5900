//! A board without hardware: the main loop of the firmware in the memory of a program.
//!
//! The line is two buffers, the clock stands still unless it is told that time has passed, and
//! waiting takes no time: nothing is padded. Flash and entropy are the caller's.
//!
//! ```
//! use equipoise::board::in_memory::InMemory;
//! use equipoise::device::health::Repeatable;
//! # use equipoise::testkit::desk::Flash;
//!
//! # let flash = Flash::new();
//! // Room for 4 features and 8 waiting patients.
//! let mut board = InMemory::<_, _, 4, 8>::asleep(flash, Repeatable::new(1), None);
//! board.power_up();
//! let mut replies = Vec::new();
//! board.exchange(b"HELLO\n", &mut replies);
//! assert!(replies.starts_with(b"HELLO equipoise "));
//! ```

use super::flash_work::{Counted, FlashWork};
use super::main_loop::{Bedside, MainLoop};
use super::{Board, Clock, Screen, Watchdog};
use crate::device::generator::{Generator, Seeded};
use crate::device::health::Entropy;
use crate::device::{Device, DeviceState};
use crate::journal::JournalFlash;
use crate::wire::{Framer, Restart};
use core::convert::Infallible;
use core::marker::PhantomData;
use embedded_io::{ErrorType, Read, ReadReady, Write};
use std::boxed::Box;
use std::collections::VecDeque;
use std::sync::Arc;
use std::vec::Vec;

/// A device on a board in memory, with room for `M` features and `U` waiting patients, and the main
/// loop of the firmware around it.
pub struct InMemory<F: JournalFlash, E: Entropy, const M: usize, const U: usize, G = Generator> {
    /// The device.
    pub device: Bedside<MemoryBoard<F, E>, Box<DeviceState<M, U>>, Arc<FlashWork>, G>,
    main_loop: MainLoop<MemoryBoard<F, E>, Arc<FlashWork>>,
}

/// The board of [`InMemory`].
#[derive(Clone, Copy, Debug)]
pub struct MemoryBoard<F, E>(PhantomData<(F, E)>);

impl<F: JournalFlash, E: Entropy> Board for MemoryBoard<F, E> {
    type Clock = StillClock;
    type Sender = Sent;
    type Receiver = Received;
    type Entropy = E;
    type Flash = F;
    type Screen = NoScreen;
    type Watchdog = NoWatchdog;
    const ERASE_MICROSECONDS: u32 = 0;
    const WORD_MICROSECONDS: u32 = 0;
}

/// A clock that moves only when it is told to, and on which nothing waits.
#[derive(Clone, Debug, Default)]
pub struct StillClock {
    microseconds: u32,
    /// The moment up to which the last wait would have lasted.
    awaited: u32,
}

impl StillClock {
    /// A second has passed.
    const fn pass_second(&mut self) {
        self.microseconds = self.microseconds.wrapping_add(1_000_000);
    }
}

impl Clock for StillClock {
    const PER_MICROSECOND: u32 = 1;

    fn now(&mut self) -> u32 {
        self.microseconds
    }

    fn sleep(&mut self, _: impl FnMut() -> bool) {}

    fn sleep_until(&mut self, moment: u32) {
        self.awaited = moment;
    }
}

/// Bytes that the device has sent.
#[derive(Clone, Debug, Default)]
pub struct Sent(Vec<u8>);

impl ErrorType for Sent {
    type Error = Infallible;
}

impl Write for Sent {
    fn write(&mut self, bytes: &[u8]) -> Result<usize, Infallible> {
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> Result<(), Infallible> {
        Ok(())
    }
}

/// Bytes that wait for the device.
#[derive(Clone, Debug, Default)]
pub struct Received(VecDeque<u8>);

impl ErrorType for Received {
    type Error = Infallible;
}

impl Read for Received {
    fn read(&mut self, bytes: &mut [u8]) -> Result<usize, Infallible> {
        let mut count = 0;
        while let Some(place) = bytes.get_mut(count)
            && let Some(byte) = self.0.pop_front()
        {
            *place = byte;
            count += 1;
        }
        Ok(count)
    }
}

impl ReadReady for Received {
    fn read_ready(&mut self) -> Result<bool, Infallible> {
        Ok(!self.0.is_empty())
    }
}

/// No LEDs.
#[derive(Clone, Copy, Debug)]
pub struct NoScreen;

impl Screen for NoScreen {
    fn show(&mut self, _: u32) {}
}

/// No watchdog.
#[derive(Clone, Copy, Debug)]
pub struct NoWatchdog;

impl Watchdog for NoWatchdog {
    const SECONDS: u32 = u32::MAX;

    fn feed(&mut self) {}
}

impl<F: JournalFlash, E: Entropy, G: Seeded, const M: usize, const U: usize>
    InMemory<F, E, M, U, G>
{
    /// The device and its board before [`Self::power_up`].
    pub fn asleep(flash: F, entropy: E, restart: Option<Restart>) -> Self {
        #[cfg(feature = "seeded")]
        let entropy = super::drill::Rehearsed::replace(entropy);
        let work = Arc::new(FlashWork::NONE);
        let flash = Counted { flash, work: Arc::clone(&work) };
        let line = (StillClock::default(), Sent::default(), Received::default());
        Self {
            device: Device::asleep(Box::new(DeviceState::BLANK), flash, entropy, restart),
            main_loop: MainLoop::new(line, (NoScreen, NoWatchdog), work),
        }
    }

    /// See [`MainLoop::power_up`].
    pub fn power_up(&mut self) {
        self.main_loop.power_up(&mut self.device);
    }

    /// See [`MainLoop::step`].
    pub fn step(&mut self) -> bool {
        self.main_loop.step(&mut self.device)
    }

    /// Takes these bytes off the line and adds the replies to `out`. The work ahead that follows
    /// the last reply is left to the next call of this or of [`Self::step`]: the reply goes first.
    pub fn exchange(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        self.main_loop.receiver.0.extend(bytes);
        while !self.main_loop.receiver.0.is_empty() {
            self.main_loop.work_ahead(&mut self.device);
            self.main_loop.answer_line(&mut self.device);
        }
        out.append(&mut self.main_loop.sender.0);
    }

    /// [`Self::exchange`] without work ahead: an audit draws noise one feature at a time, when it
    /// chooses ([`Device::draw_ahead`]). Noise that was not drawn is drawn by the look.
    pub fn answer_only(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        self.main_loop.receiver.0.extend(bytes);
        while self.main_loop.answer_line(&mut self.device) {}
        out.append(&mut self.main_loop.sender.0);
    }

    /// Microseconds from now to the moment that was waited for last: that of the last reply, unless
    /// noise was drawn since.
    #[cfg(feature = "inspect")]
    #[must_use]
    pub const fn awaited(&self) -> u32 {
        let StillClock { microseconds, awaited } = self.main_loop.clock;
        awaited.wrapping_sub(microseconds)
    }

    /// Steps until there is nothing left to do before the next byte.
    pub fn run_until_idle(&mut self) {
        while self.step() {}
    }

    /// Steps through so many seconds without a byte.
    pub fn pass_seconds(&mut self, seconds: u32) {
        for _ in 0..seconds {
            self.main_loop.clock.pass_second();
            self.step();
        }
    }

    /// The terminal hung up: forgets a line that has begun, and a nonce.
    pub fn hang_up(&mut self) {
        self.main_loop.framer = Framer::new();
        self.device.hang_up();
    }
}

/// A copy counts its flash operations together with the original; on a still clock no reply waits
/// for them.
#[cfg(all(feature = "inspect", not(feature = "seeded")))]
impl<F: Clone + JournalFlash, E: Clone + Entropy, G: Clone, const M: usize, const U: usize> Clone
    for InMemory<F, E, M, U, G>
{
    fn clone(&self) -> Self {
        Self { device: self.device.clone(), main_loop: self.main_loop.clone() }
    }
}
