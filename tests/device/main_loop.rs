//! The main loop of the firmware on a modelled micro:bit v1, in virtual time.
//!
//! QEMU's micro:bit writes and erases flash at once, and its UART loses nothing. Here flash takes
//! the time of the data sheet, in which the processor stands still, and the UART holds six bytes.
//! The loop, the receive path and the device are those of the firmware. Its computations take no
//! time.

mod chip;

use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use chip::{Lines, Seen, run};
use equipoise::board::main_loop::{ORDINARY_WORDS, REPLY_MICROSECONDS};
use equipoise::testkit::desk::{KEY, sealed};
use equipoise::testkit::order;
use equipoise::wire::Request;

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
        let plan =
            format!("PLAN features={FEATURES} patients=4000000 better=high epsilon=1 scale=100");
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
/// line is refused, never carried out as another one; then it is sent again. Requirement D6.
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
