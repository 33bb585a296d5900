//! From the UART's receive interrupt to the main loop, without ever making a different line out of
//! a damaged one.
//!
//! A UART that is not read in time loses bytes. Chips differ in which: the nRF keeps the six oldest
//! and drops the newest; others overwrite the last one they hold. The error flag says that bytes
//! were lost, not where: before, between or behind those that are held. A framing error says that
//! one of them is wrong, not which.
//!
//! # Rule
//! When an error was seen, every byte read in the same interrupt becomes [`DAMAGED`], except line
//! feeds, and one more [`DAMAGED`] goes before and one behind them ([`mark`]). No valid line holds
//! that byte, so every line that could have lost something is refused, and the terminal sends it
//! again.
//!
//! Why it is right: a line is at risk if a byte of it was lost or broken. Such a byte lies between
//! the last byte read before this interrupt and the first one read after it. If any byte of the
//! line was read in this interrupt, that byte is [`DAMAGED`]. If none was, the line lies on one
//! side of the loss: its read bytes end before the interrupt and the mark in front follows them, or
//! they begin after it and the mark behind precedes them. A line feed that was lost or invented
//! joins or splits lines, and each piece touches a mark. An empty line is not a request.

use heapless::spsc::Producer;

/// Stands for bytes that were lost or broken; no valid line holds it.
pub const DAMAGED: u8 = 0xFF;

/// The bytes to hand on for those `held` by the UART, given whether it reported an error since they
/// were last read.
pub fn mark(error: bool, held: &[u8]) -> impl Iterator<Item = u8> {
    let mark = error.then_some(DAMAGED);
    let bytes = held.iter().map(move |&byte| if error && byte != b'\n' { DAMAGED } else { byte });
    mark.into_iter().chain(bytes).chain(mark)
}

/// The interrupt's end of the queue of received bytes.
pub struct Inbox<'a> {
    queue: Producer<'a, u8>,
    /// Bytes were dropped because the queue was full.
    full: bool,
}

impl<'a> Inbox<'a> {
    /// An inbox that fills this queue.
    pub const fn new(queue: Producer<'a, u8>) -> Self {
        Self { queue, full: false }
    }

    /// Takes what one interrupt found. Bytes that find no room are replaced by one [`DAMAGED`] once
    /// there is room.
    pub fn receive(&mut self, error: bool, held: &[u8]) {
        for byte in mark(error, held) {
            if self.full {
                self.full = self.queue.enqueue(DAMAGED).is_err();
            }
            self.full = self.full || self.queue.enqueue(byte).is_err();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{self, Framer, Request};
    use heapless::spsc::{Consumer, Queue};
    use std::collections::{BTreeSet, VecDeque};
    use std::string::ToString;
    use std::vec::Vec;

    /// A loss may lie before, between or behind the bytes that were held; line feeds stay.
    #[test]
    fn marks_surround_what_was_held() {
        let marked = |error, held| mark(error, held).collect::<Vec<u8>>();
        assert_eq!(marked(true, b"2\nL"), [DAMAGED, DAMAGED, b'\n', DAMAGED, DAMAGED]);
        assert_eq!(marked(true, b"\n"), [DAMAGED, b'\n', DAMAGED]);
        assert_eq!(marked(true, b""), [DAMAGED, DAMAGED]);
        assert_eq!(marked(false, b"2\nL"), b"2\nL");
    }

    /// Bytes a UART holds.
    const DEPTH: usize = 6;

    /// Requests with fewer bytes are tried in all pairs.
    const SHORT: usize = 30;

    /// Which byte an overrun costs.
    #[derive(Clone, Copy, Debug)]
    enum Overrun {
        DropsNewest,
        OverwritesLast,
    }

    /// A UART that may not be read for a while, and the receive path behind it.
    struct Line<'a> {
        fifo: VecDeque<u8>,
        error: bool,
        overrun: Overrun,
        inbox: Inbox<'a>,
        queue: Consumer<'a, u8>,
        framer: Framer,
        /// The lines that came out.
        lines: Vec<Vec<u8>>,
    }

    impl<'a> Line<'a> {
        fn new<const N: usize>(queue: &'a mut Queue<u8, N>, overrun: Overrun) -> Self {
            let (producer, consumer) = queue.split();
            Self {
                fifo: VecDeque::new(),
                error: false,
                overrun,
                inbox: Inbox::new(producer),
                queue: consumer,
                framer: Framer::new(),
                lines: Vec::new(),
            }
        }

        /// A byte arrives at the UART.
        fn arrive(&mut self, byte: u8) {
            if self.fifo.len() < DEPTH {
                return self.fifo.push_back(byte);
            }
            self.error = true;
            if let (Overrun::OverwritesLast, Some(last)) = (self.overrun, self.fifo.back_mut()) {
                *last = byte;
            }
        }

        /// The interrupt.
        fn interrupt(&mut self) {
            let held: Vec<u8> = self.fifo.drain(..).collect();
            self.inbox.receive(std::mem::take(&mut self.error), &held);
        }

        /// The main loop.
        fn read(&mut self) {
            while let Some(byte) = self.queue.dequeue() {
                self.lines.extend(self.framer.push(byte).map(<[u8]>::to_vec));
            }
        }
    }

    /// One request of every kind, as a person types it and as a program sends it.
    fn requests() -> Vec<Vec<u8>> {
        let hex = "0123456789abcdef".repeat(4);
        let plan =
            "PLAN design=dp-conse features=12 patients=1000 better=high epsilon=1/2 scale=10";
        let proof = format!("proof={}", "0123456789abcdef".repeat(2));
        let bodies = [
            "HELLO".into(),
            "STATUS".into(),
            "REPORT".into(),
            format!("REPORT {proof}"),
            format!("PROVE {}", "0123456789abcdef".repeat(2)),
            "AUTH".into(),
            format!("CLOSE {proof}"),
            format!("ERASE {proof}"),
            format!("KEY {hex}"),
            format!("KEY {hex} {proof}"),
            format!("{plan} {proof}"),
            format!("{plan} file=0011223344556677 {proof}"),
            "ASSIGN 12 3".into(),
            "ASSIGN 12 3 1b2c3d4e".into(),
            "REPLACE 12 1".into(),
            "REPLACE 112 1".into(),
            "OUTCOME 12 1".into(),
            "OUTCOME 112 10".into(),
            "LOST 12".into(),
            "LOST 112".into(),
        ];
        let sealed = |body: &std::string::String| {
            std::format!("{body}*{:04X}", wire::checksum(body.as_bytes()))
        };
        // An interpreter has time for the short ones only.
        let short = |body: &&std::string::String| !cfg!(miri) || body.len() < 8;
        bodies
            .iter()
            .filter(short)
            .flat_map(|body| [body.clone().into_bytes(), sealed(body).into_bytes()])
            .collect()
    }

    /// Whether a device would carry the line out.
    fn is_request(line: &[u8]) -> bool {
        Request::parse(line).is_ok()
    }

    /// Sends `stream` while the receiver is stopped from byte `from` to byte `to`, and gives the
    /// lines that came out.
    fn stopped<const N: usize>(
        stream: &[u8],
        from: usize,
        to: usize,
        overrun: Overrun,
    ) -> Vec<Vec<u8>> {
        let mut queue = Queue::<u8, N>::new();
        let mut line = Line::new(&mut queue, overrun);
        for (i, &byte) in stream.iter().enumerate() {
            line.arrive(byte);
            if !(from..to).contains(&i) {
                line.interrupt();
                line.read();
            }
        }
        line.interrupt();
        line.read();
        line.lines
    }

    /// Whatever an overrun costs, for every pair of short requests, for every long request with one
    /// other, and for every moment at which the receiver stops and goes on: a line that is carried
    /// out is a line that was sent, and a line after the marks is read right.
    #[test]
    fn overrun_never_makes_another_request() {
        let requests = requests();
        let all: BTreeSet<&[u8]> = requests.iter().map(Vec::as_slice).collect();
        // An interpreter has no time for all pairs.
        let is_short = |request: &[u8]| !cfg!(miri) && request.len() < SHORT;
        assert!(requests.iter().all(|request| is_request(request)));
        let (mut cases, mut damaged) = (0, 0);
        let number = requests.len();
        let pairs = (0..number).flat_map(|i| (0..number).map(move |j| (i, j)));
        for (i, j) in pairs {
            let (first, second) = (&requests[i], &requests[j]);
            // The one other request is of another kind each time.
            if j != (i * 7 + 3) % number && !(is_short(first) && is_short(second)) {
                continue;
            }
            // A repeat begins with a line feed.
            let stream = [b"\n", &first[..], b"\n\n", second, b"\n"].concat();
            let sent = BTreeSet::from([first.as_slice(), second.as_slice()]);
            for overrun in [Overrun::DropsNewest, Overrun::OverwritesLast] {
                for from in 0..stream.len() {
                    for to in from + 1..=stream.len() {
                        let mut after = stream.clone();
                        // The first line feed may still be lost.
                        after.extend(b"\n\nHELLO\n");
                        let lines = stopped::<256>(&after, from, to, overrun);
                        for line in &lines {
                            let known = sent.contains(line.as_slice()) || line == b"HELLO";
                            assert!(
                                known || !is_request(line),
                                "{overrun:?} {from}..{to}: {:?} was carried out",
                                line.escape_ascii().to_string()
                            );
                            damaged += usize::from(!known);
                        }
                        assert_eq!(lines.last().map(Vec::as_slice), Some(&b"HELLO"[..]));
                        cases += 1;
                    }
                }
            }
        }
        let enough = cfg!(miri) || cases > 800_000;
        assert!(
            all.len() == requests.len() && enough && damaged > cases / 4,
            "{damaged} of {cases}"
        );
    }

    /// The line from the field: `\nLOST 12\n` must not become `LOST 2`.
    #[test]
    fn lost_12_never_becomes_lost_2() {
        let mut queue = Queue::<u8, 256>::new();
        let mut line = Line::new(&mut queue, Overrun::DropsNewest);
        // Stopped while `\nLOST 1` arrives: six bytes are held, the digit is lost.
        b"\nLOST 1".iter().for_each(|&byte| line.arrive(byte));
        line.interrupt();
        for &byte in b"2\n" {
            line.arrive(byte);
            line.interrupt();
        }
        line.read();
        assert!(line.lines.iter().all(|line| !is_request(line)), "{:?}", line.lines);
        assert!(!line.lines.is_empty(), "the terminal hears that its line was refused");
    }

    /// A main loop that is busy for too long: what finds no room in the queue is marked as well.
    #[test]
    fn full_queue_never_makes_another_request() {
        for request in requests() {
            let stream = [&request[..], b"\n", &request, b"\n"].concat();
            for busy_from in 0..stream.len() {
                for busy_to in busy_from..=stream.len() {
                    let mut queue = Queue::<u8, 16>::new();
                    let mut line = Line::new(&mut queue, Overrun::DropsNewest);
                    for (i, &byte) in stream.iter().enumerate() {
                        line.arrive(byte);
                        line.interrupt();
                        if !(busy_from..busy_to).contains(&i) {
                            line.read();
                        }
                    }
                    line.read();
                    for line in &line.lines {
                        assert!(
                            *line == request || !is_request(line),
                            "{:?}",
                            line.escape_ascii().to_string()
                        );
                    }
                }
            }
        }
    }

    /// A byte that arrives broken damages its own line, whatever it reads as, a line feed included.
    #[test]
    fn broken_byte_never_makes_another_request() {
        for request in requests() {
            for at in 0..request.len() {
                for read_as in [b'\n', b' ', b'0', b'*', b'\r', request[at]] {
                    let mut queue = Queue::<u8, 256>::new();
                    let mut line = Line::new(&mut queue, Overrun::DropsNewest);
                    for (i, &byte) in request.iter().chain(b"\n").enumerate() {
                        line.arrive(if i == at { read_as } else { byte });
                        line.error = i == at;
                        line.interrupt();
                    }
                    line.read();
                    assert!(line.lines.iter().all(|line| !is_request(line)), "{:?}", line.lines);
                }
            }
        }
    }
}
