//! Counts of instructions, of memory, and of time: what is promised of the v1, measured on the image that ships.

use crate::bedside::{Dice, sealed, tag};
use crate::emulator::{Emulator, Firmware, instructions};
use std::collections::BTreeSet;

/// cortex-m-rt paints the stack with this.
const PAINT: u32 = 0xCCCC_CCCC;
/// Bits on the line for one byte: start, eight, stop.
const BITS: f64 = 10.0;
const BAUD: f64 = 115_200.0;
/// The v1's clock.
const HERTZ: f64 = 16e6;
/// A Cortex-M0 takes one cycle for most instructions, two for loads and stores, three for a branch taken; this
/// is above every mix.
const CYCLES: f64 = 1.6;
/// Most that computing an `ASSIGN` may take of the time its request and reply spend on the line. The goal is a tenth.
const SHARE: f64 = 0.5;

impl Emulator {
    /// Bytes of stack never touched since the start, and in all.
    fn stack(&mut self) -> (usize, usize) {
        let (end, start) = (Firmware::Release.symbol("_stack_end"), Firmware::Release.symbol("_stack_start"));
        let stack = self.memory(end, start - end);
        let words = stack.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap()));
        (words.take_while(|word| *word == PAINT).count() * 4, stack.len())
    }

    /// Prints the stack's high-water mark; fails if it came within 256 bytes of the end.
    pub fn print_memory(&mut self, after: &str) {
        let (free, all) = self.stack();
        println!("stack after {after}: {} of {all} bytes", all - free);
        assert!(free >= 256, "only {free} bytes of stack are left");
    }

    /// Instructions between two stamps.
    fn count(&mut self, from: &str, to: &str) -> u32 {
        let (from, to) = (self.word(from), self.word(to));
        instructions(to.wrapping_sub(from))
    }

    /// Instructions of deciding the last request.
    fn decided(&mut self) -> u32 {
        self.count("STAMP_BEGIN", "STAMP_DECIDED")
    }

    /// Waits for the look between requests; its instructions.
    fn look(&mut self) -> u32 {
        for _ in 0..3000 {
            if self.word("STAMP_LOOK_END") != 0 {
                return self.count("STAMP_LOOK_BEGIN", "STAMP_LOOK_END");
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        panic!("no look");
    }
}

/// Seconds of a request and its reply on the line.
fn on_the_wire(request: &str, reply: &str) -> f64 {
    (sealed(request).len() + sealed(reply).len() + 2) as f64 * BITS / BAUD
}

fn median(counts: &mut [u32]) -> u32 {
    counts.sort_unstable();
    counts[counts.len() / 2]
}

#[test]
fn instruction_counts_are_within_their_limits() {
    println!("| operation | instructions, median | worst | time at 16 MHz, median |");
    println!("|---|---|---|---|");
    let row = |what: &str, counts: &mut [u32]| {
        let (median, worst) = (median(counts), counts.last().copied().unwrap());
        println!("| {what} | {median} | {worst} | {:.2} ms |", f64::from(median) * CYCLES / HERTZ * 1e3);
        median
    };
    for design in ["interim", "dp-conse"] {
        let mut board = Emulator::boot(Firmware::Release);
        board.begin(&format!("design={design} features=64 patients=400 epsilon=1"));
        let (mut assign, mut outcome) = (Vec::new(), Vec::new());
        for k in 1..=190 {
            board.assign(k, k % 64);
            assign.push(board.decided());
            board.expect(&format!("OUTCOME {k} 1"), &format!("OK {k}"));
            outcome.push(board.decided());
        }
        let typical = row(&format!("`ASSIGN`, {design}"), &mut assign);
        row(&format!("`OUTCOME`, {design}"), &mut outcome);
        let wire = on_the_wire(&format!("ASSIGN 190 62 {}", tag(190)), "ARM 190 1");
        let share = f64::from(typical) * CYCLES / HERTZ / wire;
        println!(
            "| share of the line's own time, `ASSIGN`, {design} | {:.1} % | | {:.2} ms |",
            share * 100.0,
            wire * 1e3
        );
        assert!(share < SHARE, "{design}: ASSIGN takes {typical} instructions");
        if design == "interim" {
            for k in 191..=200 {
                board.assign(k, k % 64);
            }
            row("a look at 64 features, made durable", &mut [board.look()]);
            board.print_memory("a look");
        }
        let (_, flash) = board.cut_power();
        let mut board = Emulator::boot_on(Firmware::Release, &flash);
        board.status("assigned");
        row(
            &format!("boot to ready, {design}, 64 features; counts its waiting for noise"),
            &mut [instructions(board.word("STAMP_READY"))],
        );
    }
    let mut board = Emulator::boot(Firmware::Release);
    board.request("HELLO");
    row("boot to ready, blank; counts its waiting for noise", &mut [instructions(board.word("STAMP_READY"))]);
}

#[test]
fn the_time_of_a_reply_is_the_same_for_every_arm_feature_and_outcome() {
    for design in ["interim", "dp-conse"] {
        let mut board = Emulator::boot(Firmware::Release);
        board.begin(&format!("design={design} features=64 patients=4000 epsilon=1 scale=100"));
        let mut dice = Dice(17);
        let (mut arms, mut times, mut decided) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        for k in 1..=200 {
            arms.insert(board.assign(k, dice.roll(64)));
            times.insert(board.count("STAMP_BEGIN", "STAMP_BYTE_OUT"));
            decided.insert(board.decided());
            if dice.roll(10) == 0 {
                board.expect(&format!("LOST {k}"), &format!("OK {k}"));
            } else {
                board.expect(&format!("OUTCOME {k} {}", dice.roll(101)), &format!("OK {k}"));
            }
            times.insert(board.count("STAMP_BEGIN", "STAMP_BYTE_OUT"));
        }
        assert_eq!(arms.len(), 2);
        println!(
            "{design}: deciding took {} different counts, the reply came after {times:?}",
            decided.len()
        );
        assert!(decided.len() > 1, "else the padding would not have been tested");
        // One instruction is what a timer of 62.5 ns can be off by.
        let (first, last) = (times.first().unwrap(), times.last().unwrap());
        assert!(last - first <= 1, "{design}: {times:?}");
    }
}
