//! The chip of the v1 with its flash times and its UART, and the far end of the line.

use super::{
    BYTE, ERASE, ERASE_MICROSECONDS, FEATURES, FIFO, FLASH_PAGES, MICROSECOND, PAGE, PAGES,
    PATIENCE, START, WAITING, WORD_MICROSECONDS, WRITE,
};
use embedded_io::{Read, ReadReady, Write};
use embedded_storage::nor_flash::{ErrorType, MultiwriteNorFlash, NorFlash, ReadNorFlash};
use equipoise::board::inbox::Inbox;
use equipoise::board::main_loop::TICK_MICROSECONDS;
use equipoise::board::{Board, Clock, Peripherals, Screen, Watchdog, main_loop};
use equipoise::device::DeviceState;
use equipoise::device::health::Repeatable;
use equipoise::journal::JournalFlash;
use equipoise::testkit::strict_flash::StrictFlash;
use equipoise::wire::{ImageHash, Restart};
use heapless::spsc::{Consumer, Queue};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::rc::Rc;
use std::sync::mpsc::{Receiver, Sender};

/// Lines to send, each so many microseconds after the last byte of the line before; the first one
/// after the last reply.
pub type Lines = Vec<(u64, String)>;

/// Observations of a terminal on the lines it sent.
#[derive(Debug)]
pub struct Seen {
    pub replies: Vec<String>,
    /// From the end of the last request to the first byte of the last reply, in microseconds.
    pub time: u64,
    /// Pages erased and words written meanwhile.
    pub erases: u32,
    pub words: u32,
    /// Bytes lost since the start.
    pub lost: u32,
    /// Flash operations since the start with no request under way.
    pub untimely: u32,
}

/// The chip and the terminal's end of the line.
struct World {
    now: u64,
    /// Bytes on the line, with the moment at which each has arrived.
    wire: VecDeque<(u64, u8)>,
    fifo: Vec<u8>,
    inbox: Inbox<'static>,
    queue: Consumer<'static, u8>,
    /// The line the board is sending, and when it began.
    sending: Vec<u8>,
    began: Option<u64>,
    /// When the last request had arrived.
    asked: u64,
    expected: usize,
    seen: Seen,
    terminal: (Receiver<Lines>, Sender<Seen>),
}

impl World {
    fn new(terminal: (Receiver<Lines>, Sender<Seen>)) -> Self {
        let (producer, queue) = Box::leak(Box::new(Queue::<u8, 256>::new())).split();
        let seen = Seen { replies: Vec::new(), time: 0, erases: 0, words: 0, lost: 0, untimely: 0 };
        let mut world = Self {
            now: 0,
            wire: VecDeque::new(),
            fifo: Vec::new(),
            inbox: Inbox::new(producer),
            queue,
            sending: Vec::new(),
            began: None,
            asked: 0,
            expected: 0,
            seen,
            terminal,
        };
        world.listen(START);
        world
    }

    /// Takes the terminal's next lines; the first one comes after `delay` more. The board's power
    /// ends with the terminal.
    fn listen(&mut self, delay: u64) {
        let Ok(lines) = self.terminal.0.recv() else { std::panic::resume_unwind(Box::new("off")) };
        self.expected = lines.len();
        let mut free = self.now + delay;
        for (gap, line) in lines {
            free += gap * MICROSECOND;
            for byte in line.bytes().chain(*b"\n") {
                free += BYTE;
                self.wire.push_back((free, byte));
            }
        }
        self.asked = free;
    }

    /// The terminal has its replies, or has waited long enough.
    fn report(&mut self) {
        let Seen { lost, untimely, .. } = self.seen;
        let next = Seen { replies: Vec::new(), time: 0, erases: 0, words: 0, lost, untimely };
        let seen = std::mem::replace(&mut self.seen, next);
        let _ = self.terminal.1.send(seen);
        self.listen(0);
    }

    /// Time passes. While the processor stands still, no interrupt empties the UART.
    fn pass(&mut self, counts: u64, still: bool) {
        let (end, mut overrun) = (self.now + counts, false);
        while let Some((_, byte)) = self.wire.front().copied().filter(|(moment, _)| *moment <= end)
        {
            self.wire.pop_front();
            if self.fifo.len() < FIFO {
                self.fifo.push(byte);
            } else {
                overrun = true;
                self.seen.lost += 1;
            }
            if !still {
                self.inbox.receive(false, &std::mem::take(&mut self.fifo));
            }
        }
        if overrun || !self.fifo.is_empty() {
            self.inbox.receive(overrun, &std::mem::take(&mut self.fifo));
        }
        self.now = end;
    }

    /// A flash operation.
    fn operate(&mut self, counts: u64) {
        // A request is under way from its last byte to the first one of its reply.
        if self.now > START && (!self.wire.is_empty() || self.began.is_some()) {
            self.seen.untimely += 1;
        }
        self.pass(counts, true);
    }

    /// A byte of a reply goes out.
    fn send(&mut self, byte: u8) {
        self.began.get_or_insert(self.now);
        self.pass(BYTE, false);
        self.sending.push(byte);
        if byte == b'\n' {
            let line = String::from_utf8(std::mem::take(&mut self.sending)).unwrap();
            self.seen.replies.push(line.split('*').next().unwrap().to_owned());
            let began = self.began.take().unwrap_or_default();
            self.seen.time = began.saturating_sub(self.asked) / MICROSECOND;
            if self.seen.replies.len() == self.expected {
                self.report();
            }
        }
    }

    /// Nothing to do until the next byte, the next tick, or the end of the terminal's patience.
    fn sleep(&mut self) {
        let tick = self.now + u64::from(TICK_MICROSECONDS) * MICROSECOND;
        let wake = self.wire.front().map_or(tick, |(moment, _)| tick.min(*moment));
        self.pass(wake.saturating_sub(self.now), false);
        if self.wire.is_empty() && self.now > self.asked + PATIENCE {
            self.report();
        }
    }
}

/// A part of the chip.
#[derive(Clone)]
struct Peripheral(Rc<RefCell<World>>);

impl Clock for Peripheral {
    const PER_MICROSECOND: u32 = MICROSECOND as u32;

    fn now(&mut self) -> u32 {
        self.0.borrow().now as u32
    }

    fn sleep(&mut self, mut work: impl FnMut() -> bool) {
        if !work() {
            self.0.borrow_mut().sleep();
        }
    }

    fn sleep_until(&mut self, moment: u32) {
        let mut world = self.0.borrow_mut();
        let left = moment.wrapping_sub(world.now as u32);
        if left <= u32::MAX / 2 {
            world.pass(left.into(), false);
        }
    }
}

impl embedded_io::ErrorType for Peripheral {
    type Error = Infallible;
}

impl Write for Peripheral {
    fn write(&mut self, bytes: &[u8]) -> Result<usize, Infallible> {
        bytes.iter().for_each(|byte| self.0.borrow_mut().send(*byte));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> Result<(), Infallible> {
        Ok(())
    }
}

impl ReadReady for Peripheral {
    fn read_ready(&mut self) -> Result<bool, Infallible> {
        Ok(self.0.borrow().queue.ready())
    }
}

impl Read for Peripheral {
    fn read(&mut self, bytes: &mut [u8]) -> Result<usize, Infallible> {
        let byte = self.0.borrow_mut().queue.dequeue();
        Ok(bytes.iter_mut().zip(byte).map(|(place, byte)| *place = byte).count())
    }
}

impl Screen for Peripheral {
    fn show(&mut self, _: u32) {}
}

impl Watchdog for Peripheral {
    const SECONDS: u32 = 16;

    fn feed(&mut self) {}
}

/// The flash and its time.
struct Flash {
    cells: StrictFlash<PAGE>,
    chip: Peripheral,
}

impl ErrorType for Flash {
    type Error = <StrictFlash<PAGE> as ErrorType>::Error;
}

impl ReadNorFlash for Flash {
    const READ_SIZE: usize = StrictFlash::<PAGE>::READ_SIZE;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), Self::Error> {
        self.cells.read(offset, bytes)
    }

    fn capacity(&self) -> usize {
        self.cells.capacity()
    }
}

impl NorFlash for Flash {
    const WRITE_SIZE: usize = StrictFlash::<PAGE>::WRITE_SIZE;
    const ERASE_SIZE: usize = PAGE;

    fn erase(&mut self, from: u32, to: u32) -> Result<(), Self::Error> {
        let mut world = self.chip.0.borrow_mut();
        for _ in (from..to).step_by(PAGE) {
            world.seen.erases += 1;
            (0..FLASH_PAGES).for_each(|_| world.operate(ERASE));
        }
        self.cells.erase(from, to)
    }

    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), Self::Error> {
        let mut world = self.chip.0.borrow_mut();
        for _ in bytes.chunks(Self::WRITE_SIZE) {
            world.seen.words += 1;
            world.operate(WRITE);
        }
        self.cells.write(offset, bytes)
    }
}

impl MultiwriteNorFlash for Flash {}
impl JournalFlash for Flash {}

struct V1;

impl Board for V1 {
    type Clock = Peripheral;
    type Sender = Peripheral;
    type Receiver = Peripheral;
    type Entropy = Repeatable;
    type Flash = Flash;
    type Screen = Peripheral;
    type Watchdog = Peripheral;
    const ERASE_MICROSECONDS: u32 = ERASE_MICROSECONDS;
    const WORD_MICROSECONDS: u32 = WORD_MICROSECONDS;
}

pub fn run(terminal: (Receiver<Lines>, Sender<Seen>)) -> ! {
    let chip = Peripheral(Rc::new(RefCell::new(World::new(terminal))));
    let cells = StrictFlash::new(PAGES, 0xFF);
    main_loop::run::<V1, FEATURES, WAITING>(Peripherals {
        clock: chip.clone(),
        sender: chip.clone(),
        receiver: chip.clone(),
        entropy: Repeatable::new(1),
        flash: Flash { cells, chip: chip.clone() },
        screen: chip.clone(),
        watchdog: chip,
        state: Box::leak(Box::new(DeviceState::BLANK)),
        restart: Restart::Power,
        image: ImageHash([0; 8]),
    })
}
