//! The main loop of the firmware on a modelled micro:bit v1, in virtual time.
//!
//! QEMU's micro:bit writes and erases flash at once, and its UART loses nothing. Here flash takes
//! the time of the data sheet, in which the processor stands still, and the UART holds six bytes.
//! The loop, the receive path and the device are those of the firmware. Its computations take no
//! time.

use equipoise::testkit::desk;

use std::cell::RefCell;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::rc::Rc;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use desk::{KEY, sealed};
use embedded_io::{Read, ReadReady, Write};
use embedded_storage::nor_flash::{ErrorType, MultiwriteNorFlash, NorFlash, ReadNorFlash};
use equipoise::board::inbox::Inbox;
use equipoise::board::main_loop::{ORDINARY_WORDS, REPLY_MICROSECONDS, TICK_MICROSECONDS};
use equipoise::board::{Board, Clock, Parts, Screen, Watchdog, main_loop};
use equipoise::device::DeviceState;
use equipoise::device::health::Repeatable;
use equipoise::journal::JournalFlash;
use equipoise::testkit::order;
use equipoise::testkit::strict_flash::StrictFlash;
use equipoise::wire::{ImageHash, Request, Restart};
use heapless::spsc::{Consumer, Queue};

// What `src/board/nrf/v1.rs` says of the v1; a test compares.
const FEATURES: usize = 64;
const WAITING: usize = 256;
const PAGE: usize = 2048;
const PAGES: usize = 64;
const ERASE_MICROSECONDS: u32 = 64_000;
const WORD_MICROSECONDS: u32 = 300;

/// Counts of the clock in a microsecond.
const MICROSECOND: u64 = 16;
/// Flash pages in a journal page, and how long the processor stands still for one, and for a word.
const FLASH_PAGES: usize = 2;
const ERASE: u64 = 22_300 * MICROSECOND;
const WRITE: u64 = 463 * MICROSECOND / 10;
/// Bytes that the UART holds, and the time of a byte on the line: ten bits at 115200 baud.
const FIFO: usize = 6;
const BYTE: u64 = 10 * 1_000_000 * MICROSECOND / 115_200;
/// How long a terminal waits for a reply.
const PATIENCE: u64 = 2_500_000 * MICROSECOND;
/// The first request comes when the board has started on a new flash.
const START: u64 = 20_000_000 * MICROSECOND;

/// Lines to send, each so many microseconds after the last byte of the line before; the first one
/// after the last reply.
type Lines = Vec<(u64, String)>;

/// Observations of a terminal on the lines it sent.
#[derive(Debug)]
struct Seen {
    replies: Vec<String>,
    /// From the end of the last request to the first byte of the last reply, in microseconds.
    time: u64,
    /// Pages erased and words written meanwhile.
    erases: u32,
    words: u32,
    /// Bytes lost since the start.
    lost: u32,
    /// Flash operations since the start with no request under way.
    untimely: u32,
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
struct Part(Rc<RefCell<World>>);

impl Clock for Part {
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

impl embedded_io::ErrorType for Part {
    type Error = Infallible;
}

impl Write for Part {
    fn write(&mut self, bytes: &[u8]) -> Result<usize, Infallible> {
        bytes.iter().for_each(|byte| self.0.borrow_mut().send(*byte));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> Result<(), Infallible> {
        Ok(())
    }
}

impl ReadReady for Part {
    fn read_ready(&mut self) -> Result<bool, Infallible> {
        Ok(self.0.borrow().queue.ready())
    }
}

impl Read for Part {
    fn read(&mut self, bytes: &mut [u8]) -> Result<usize, Infallible> {
        let byte = self.0.borrow_mut().queue.dequeue();
        Ok(bytes.iter_mut().zip(byte).map(|(place, byte)| *place = byte).count())
    }
}

impl Screen for Part {
    fn show(&mut self, _: u32) {}
}

impl Watchdog for Part {
    const SECONDS: u32 = 16;

    fn feed(&mut self) {}
}

/// The flash and its time.
struct Flash {
    cells: StrictFlash<PAGE>,
    chip: Part,
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
    type Clock = Part;
    type Sender = Part;
    type Receiver = Part;
    type Entropy = Repeatable;
    type Flash = Flash;
    type Screen = Part;
    type Watchdog = Part;
    const ERASE_MICROSECONDS: u32 = ERASE_MICROSECONDS;
    const WORD_MICROSECONDS: u32 = WORD_MICROSECONDS;
}

fn run(terminal: (Receiver<Lines>, Sender<Seen>)) -> ! {
    let chip = Part(Rc::new(RefCell::new(World::new(terminal))));
    let cells = StrictFlash::new(PAGES, 0xFF);
    main_loop::run::<V1, FEATURES, WAITING>(Parts {
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

/// A terminal with a board on its line, running a trial without looks.
struct Terminal {
    lines: Option<Sender<Lines>>,
    seen: Receiver<Seen>,
    board: Option<JoinHandle<()>>,
}

impl Terminal {
    fn begin() -> Self {
        let ((lines, to_board), (from_board, seen)) = (channel(), channel());
        let board = std::thread::spawn(move || run((to_board, from_board)));
        let mut terminal = Self { lines: Some(lines), seen, board: Some(board) };
        assert_eq!(terminal.ask(0, &Request::Key(KEY).to_string()).replies, ["OK"]);
        let plan = format!("PLAN features={FEATURES} patients=4000000 epsilon=1 scale=100");
        let planned = order(KEY, &plan, |line| terminal.ask(0, line).replies.concat());
        assert!(planned.starts_with("OK trial="), "{planned}");
        // Until then the noise of the first look is drawn.
        assert!(terminal.ask(1_000_000, "HELLO").replies.concat().starts_with("HELLO "));
        terminal
    }

    fn send(&mut self, lines: Lines) -> Seen {
        self.lines.as_ref().expect("the line is open").send(lines).expect("the board runs");
        self.seen.recv().expect("the board runs")
    }

    /// Sends a request, so many microseconds after the reply before.
    fn ask(&mut self, turnaround: u64, request: &str) -> Seen {
        self.send(vec![(turnaround, sealed(request))])
    }
}

impl Drop for Terminal {
    /// The board's thread ends with the line.
    fn drop(&mut self) {
        self.lines = None;
        if let Some(ended) = self.board.take().and_then(|board| board.join().err())
            && ended.downcast_ref::<&str>() != Some(&"off")
            && !std::thread::panicking()
        {
            std::panic::resume_unwind(ended);
        }
    }
}

/// The main loop counts flash work in a static: one board at a time.
static ONE: Mutex<()> = Mutex::new(());

/// Patients who wait for their outcome.
const LATE: u32 = 200;

/// A request about patient `k`, and the reply to it.
fn requests(k: u32) -> impl Iterator<Item = (String, String)> {
    let late = k.checked_sub(LATE).filter(|late| *late > 0).map(|late| {
        let outcome = if late % 9 == 0 {
            format!("LOST {late}")
        } else {
            format!("OUTCOME {late} {}", k % 101)
        };
        (outcome, format!("OK {late}"))
    });
    let feature = k.wrapping_mul(0x9e37_79b9) >> 26;
    late.into_iter().chain([(format!("ASSIGN {k} {feature} {k:08x}"), format!("ARM {k} "))])
}

/// The model has the numbers of the board, whose source compiles for the chip only.
#[test]
fn numbers_are_those_of_the_v1() {
    let source = include_str!("../../src/board/nrf/v1.rs").replace('_', "");
    let layout = include_str!("../../src/board/nrf/v1.x");
    for constant in [
        format!("FEATURES: usize = {FEATURES};"),
        format!("WAITING: usize = {WAITING};"),
        format!("FLASH_PAGE: usize = {};", PAGE / FLASH_PAGES),
        format!("JOURNAL_PAGE: usize = {FLASH_PAGES} * FLASH_PAGE;"),
        format!("ERASE_MICROSECONDS: u32 = {ERASE_MICROSECONDS};"),
        format!("WORD_MICROSECONDS: u32 = {WORD_MICROSECONDS};"),
    ] {
        assert!(source.contains(&constant.replace('_', "")), "{constant}");
    }
    let journal = layout.lines().find(|line| line.contains("JOURNAL : "));
    let length = format!("LENGTH = {}K", PAGES * PAGE / 1024);
    assert!(journal.is_some_and(|line| line.ends_with(&length)), "{journal:?}, {length}");
}

/// At any turnaround from 0 to 500 ms no request needs a second sending and no byte is lost: flash
/// is written and erased only between a request and its reply. Every reply leaves when its numbers
/// of pages and words say.
#[test]
fn no_request_meets_an_erase() {
    let _one = ONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let mut terminal = Terminal::begin();
    let (mut erases, mut sent) = (0, 0u64);
    for k in 1..=2_000 {
        for (request, reply) in requests(k) {
            // Every turnaround of whole milliseconds, and short ones in steps of 50 microseconds.
            sent += 1;
            let turnaround = if sent % 2 == 0 { sent / 2 % 501 * 1_000 } else { sent % 997 * 50 };
            let seen = terminal.ask(turnaround, &request);
            assert!(seen.replies.concat().starts_with(&reply), "{request}: {seen:?}");
            assert_eq!((seen.lost, seen.untimely), (0, 0), "{request} after {turnaround} us");
            let mut due = REPLY_MICROSECONDS;
            if seen.erases > 0 || seen.words > ORDINARY_WORDS {
                due += seen.erases * ERASE_MICROSECONDS + seen.words * WORD_MICROSECONDS;
            }
            assert_eq!(seen.time, u64::from(due), "{request}: {seen:?}");
            erases += seen.erases;
        }
    }
    println!("{sent} requests, {erases} of {PAGES} pages erased");
    assert!(erases > PAGES as u32, "the log did not go round the flash");
}

/// A terminal that does not wait for its reply meets erases, and bytes are lost. What is left of a
/// line is refused, never carried out as another one; then it is sent again.
#[test]
fn a_line_that_meets_an_erase_is_refused() {
    let _one = ONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let mut terminal = Terminal::begin();
    let mut refused = 0;
    for k in 1..=400u32 {
        let outcome = format!("OUTCOME {} {}", k - 1, k % 101);
        let assign = format!("ASSIGN {k} {} {k:08x}", k % 64);
        let (recorded, arm) = (format!("OK {}", k - 1), format!("ARM {k} "));
        if k == 1 {
            assert!(terminal.ask(0, &assign).replies.concat().starts_with(&arm));
            continue;
        }
        // The next patient's feature is sent while the outcome is being recorded.
        let gap = u64::from(k % 40) * 1_000;
        let seen = terminal.send(vec![(0, sealed(&outcome)), (gap, sealed(&assign))]);
        assert_eq!(seen.replies.first(), Some(&recorded));
        let is_damaged = |reply: &String| reply.starts_with("ERR checksum ");
        match seen.replies.get(1) {
            Some(reply) if reply.starts_with(&arm) => continue,
            reply => assert!(reply.is_none_or(is_damaged), "{seen:?}"),
        }
        refused += 1;
        // If the line feed was lost, the next line ends the damaged one.
        let again = terminal.ask(0, &assign).replies;
        let again =
            if again.iter().any(is_damaged) { terminal.ask(0, &assign).replies } else { again };
        assert!(again.concat().starts_with(&arm), "{again:?}");
    }
    let status = terminal.ask(0, "STATUS");
    println!("{refused} of 400 requests were sent again, {} bytes lost", status.lost);
    assert!(refused > 0 && status.lost > 0, "no request met an erase");
    assert!(status.replies.concat().contains(" assigned=400 "), "{status:?}");
}
