//! The firmware: one loop around [`equipoise::device::Device`].
//!
//! ```text
//! interrupt: byte -> queue        loop: queue -> Framer -> Device::handle_line -> reply, at its moment
//!                                       between requests: draw noise; on a quiet line: look, erase and open pages
//! ```
//!
//! # Time tells nothing
//! * The first byte of every reply leaves a whole number of [`REPLY`] after its request was complete: one, unless pages
//!   had to be erased or a look to be done, which depends on public counts. The wait ends on a timer event, so the reply leaves the same
//!   number of instructions after it whatever was computed before.
//! * How long a draw of noise takes depends on the noise. Draws are made between requests, ahead of the look that needs
//!   them, each padded to a whole number of [`DRAW`]; the next request waits for their end.
//!
//! # Flash and the line
//! A page erase stops the processor for longer than the UART can hold bytes. It happens while a terminal waits for
//! its reply (then no byte can come) or when the line has been quiet for [`QUIET`]. Should a request begin in the
//! middle of one, its damaged line is refused and the terminal sends it again.
//!
//! # Test builds
//! With the feature `seeded` the noise source is a fixed sequence and the line `DRILL ..` makes the board crash.
//! The compiler refuses that feature without debug assertions, so a release cannot have it.
#![cfg_attr(target_os = "none", no_std, no_main)]

#[cfg(all(feature = "seeded", not(debug_assertions)))]
compile_error!(
    "`seeded` is for test builds: its arms and its noise can be predicted. Build with --profile firmware-test"
);

#[cfg(target_os = "none")]
mod on_the_board {
    #[cfg(feature = "log-rtt")]
    use defmt_rtt as _;
    #[cfg(feature = "log-semihosting")]
    use defmt_semihosting as _;
    use embedded_io::Write as _;
    use equipoise::board::clock::{Clock, PER_MICROSECOND, TICK};
    use equipoise::board::{Board, flash::Flash, leds, serial::Sender, stamps};
    use equipoise::design::Arm;
    use equipoise::device::{Device, DeviceState, Rest};
    use equipoise::wire::{Framer, Reply, State};

    /// From the end of a request to its reply. Deciding and writing take 1 to 2 ms on the v1, and 16 ms where the
    /// journal opens a new page because the line was never quiet.
    const REPLY: u32 = 20_000 * PER_MICROSECOND;
    /// For the noise of one feature.
    const DRAW: u32 = 4_000 * PER_MICROSECOND;
    /// Silence after which no request is about to come.
    const QUIET: u32 = 25_000 * PER_MICROSECOND;
    /// How long an arm is shown: ten seconds, in ticks.
    const SHOWN: u32 = 10_000_000 * PER_MICROSECOND / TICK;
    /// The heart beats once in this many ticks: every second.
    const BEAT: u32 = 1_000_000 * PER_MICROSECOND / TICK;

    #[cfg(not(feature = "seeded"))]
    type Noise = equipoise::board::entropy::Noise;
    #[cfg(feature = "seeded")]
    type Noise = super::drill::Rehearsed;

    type Bedside = Device<&'static mut DeviceState, Flash, Noise>;

    /// Logs a public event, in builds that log.
    macro_rules! log {
        ($($event:tt)*) => {
            #[cfg(feature = "defmt")]
            defmt::info!($($event)*);
        };
    }

    #[cortex_m_rt::entry]
    fn main() -> ! {
        let Some(board) = Board::take() else { cortex_m::peripheral::SCB::sys_reset() };
        let Board {
            mut clock,
            mut sender,
            mut receiver,
            entropy,
            flash,
            mut leds,
            mut watchdog,
            held,
            restart,
        } = board;
        #[cfg(feature = "seeded")]
        let entropy = super::drill::Rehearsed::instead_of(entropy);
        let mut device = Bedside::asleep(held, flash, entropy, Some(restart));
        device.power_up();
        draw_ahead(&mut device, &mut clock);
        log!("ready: {}, restart {}", device.state(), restart);
        stamps::STAMP_READY.set(clock.now());

        let mut framer = Framer::new();
        let mut face = Face { arm: None, ticks: 0 };
        loop {
            watchdog.feed();
            while let Some(byte) = receiver.take() {
                let Some(line) = framer.push(byte) else { continue };
                #[cfg(feature = "seeded")]
                super::drill::heed(line);
                answer(&mut device, &mut clock, line, &mut sender, &mut face);
                draw_ahead(&mut device, &mut clock);
                break;
            }
            if receiver.ready() {
                continue;
            }
            let quiet = clock.now().wrapping_sub(clock.last_byte()) > QUIET;
            if quiet && rest(&mut device, &mut clock) != Rest::Idle {
                draw_ahead(&mut device, &mut clock);
                continue;
            }
            leds.picture = face.picture(device.state());
            if face.ticks.is_multiple_of(BEAT) {
                device.tick();
            }
            leds.scan();
            clock.sleep(|| receiver.ready());
        }
    }

    // Not inlined: the frames of answering and of resting share the same stack, of which there is little.

    /// Answers a line at the moment that is due.
    #[inline(never)]
    fn answer(device: &mut Bedside, clock: &mut Clock, line: &[u8], sender: &mut Sender, face: &mut Face) {
        let begin = clock.now();
        stamps::STAMP_BYTE_IN.set(clock.last_byte());
        stamps::STAMP_BEGIN.set(begin);
        let mut first = true;
        device.handle_line(line, &mut |reply, line| {
            if first {
                stamps::STAMP_DECIDED.set(clock.now());
                pad(clock, begin, REPLY);
                stamps::STAMP_BYTE_OUT.set(clock.now());
                first = false;
            }
            let Ok(()) = sender.write_all(line);
            face.see(reply);
        });
    }

    /// Does what a quiet line leaves time for.
    #[inline(never)]
    fn rest(device: &mut Bedside, clock: &mut Clock) -> Rest {
        let begin = clock.now();
        let did = device.rest();
        if did == Rest::Looked {
            stamps::STAMP_LOOK_BEGIN.set(begin);
            stamps::STAMP_LOOK_END.set(clock.now());
        }
        if did != Rest::Idle {
            log!("rest: {}", did);
        }
        did
    }

    /// Waits until a whole number of `unit` has passed since `begin`. (Not inlined: its call is where tests see that a
    /// request was decided.)
    #[inline(never)]
    fn pad(clock: &mut Clock, begin: u32, unit: u32) {
        let spent = clock.now().wrapping_sub(begin);
        clock.sleep_until(begin.wrapping_add((spent / unit + 1).wrapping_mul(unit)));
    }

    /// Draws the noise of the next look, feature by feature.
    #[inline(never)]
    fn draw_ahead(device: &mut Bedside, clock: &mut Clock) {
        loop {
            let begin = clock.now();
            if !device.draw_ahead() {
                break;
            }
            pad(clock, begin, DRAW);
        }
    }

    /// What the LEDs show: the arm just given, else a heartbeat, or a cross in `fault`.
    struct Face {
        arm: Option<Arm>,
        ticks: u32,
    }

    impl Face {
        /// Takes note of a reply that was sent.
        fn see(&mut self, reply: &Reply<'_>) {
            match reply {
                Reply::Arm { arm, .. } => *self = Self { arm: Some(*arm), ticks: 0 },
                Reply::Refused(_refusal) => {
                    log!("refused: {}", _refusal.word().name());
                }
                _ => {}
            }
        }

        fn picture(&mut self, state: State) -> u32 {
            self.ticks = self.ticks.wrapping_add(1);
            match self.arm {
                _ if matches!(state, State::Fault | State::Foreign) => leds::FAULT,
                Some(Arm::Zero) if self.ticks < SHOWN => leds::ARM_0,
                Some(Arm::One) if self.ticks < SHOWN => leds::ARM_1,
                _ => {
                    self.arm = None;
                    if self.ticks % BEAT < BEAT / 8 { leds::HEART } else { leds::DARK }
                }
            }
        }
    }
}

/// What only a test build has.
#[cfg(all(target_os = "none", feature = "seeded"))]
mod drill {
    use equipoise::board::{entropy::Noise, rehearsal::Rehearsal};
    use equipoise::device::health::Entropy;

    /// The rehearsed noise source.
    pub struct Rehearsed(Rehearsal);

    impl Rehearsed {
        pub fn instead_of(_: Noise) -> Self {
            Self(Rehearsal::START)
        }
    }

    impl Entropy for Rehearsed {
        fn sample(&mut self) -> Option<u8> {
            Some(self.0.byte())
        }
    }

    /// Crashes in the way the line asks for.
    #[allow(clippy::panic, clippy::empty_loop)]
    pub fn heed(line: &[u8]) {
        match line {
            b"DRILL panic" => panic!("a drill"),
            b"DRILL fault" => cortex_m::asm::udf(),
            b"DRILL hang" => loop {},
            b"DRILL overflow" => overflow(1),
            _ => {}
        }
    }

    #[allow(unconditional_recursion)]
    fn overflow(depth: u32) {
        core::hint::black_box([depth; 64]);
        overflow(core::hint::black_box(depth) + 1);
        core::hint::black_box(depth);
    }
}

#[cfg(not(target_os = "none"))]
fn main() {}
