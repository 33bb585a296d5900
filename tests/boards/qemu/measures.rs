//! Counts of instructions, of memory, and of time: what is promised of the v1, measured on the
//! image that ships.

use crate::qemu::bedside::{Bedside, Dice, sealed, tag};
use crate::qemu::cycles::Code;
use crate::qemu::emulator::{Emulator, Firmware, instructions};
use crate::times;
use std::collections::BTreeSet;
use std::io::Write as _;
use std::ops::RangeInclusive;

/// cortex-m-rt paints the stack with this.
const PAINT: u32 = 0xCCCC_CCCC;
/// Bits on the line for one byte: start, eight, stop.
const BITS: f64 = 10.0;
const BAUD: f64 = 115_200.0;
/// The v1's clock.
const HERTZ: f64 = 16e6;
/// Most that computing an `ASSIGN` may take of the time its request and reply spend on the line.
pub const SHARE: f64 = 0.10;
/// Most instructions of an `ASSIGN`, of an `OUTCOME` and of a look at 64 features with `interim`.
const ASSIGN: u32 = 3_401;
const OUTCOME: u32 = 4_386;
const LOOK: u32 = 3_960_000;
/// The function that answers a line, and the one that waits for the reply's moment, as parts of
/// their symbols.
pub const ANSWER: &str = "main_loop6answer17h";
pub const WAIT: &str = "main_loop4wait17h";
/// Patients who are traced: with short numbers, whose requests take the least time on the line (but
/// for the very first, for whom the generator makes its first block), and with longer ones.
static TRACED: [RangeInclusive<u32>; 2] = [2..=9, 151..=159];

impl Emulator {
    /// Bytes of stack never touched since the start, and in all.
    fn stack(&mut self) -> (usize, usize) {
        let (end, start) =
            (Firmware::Release.symbol("_stack_end"), Firmware::Release.symbol("_stack_start"));
        let stack = self.memory(end, start - end);
        let words = stack.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap()));
        (words.take_while(|word| *word == PAINT).count() * 4, stack.len())
    }

    /// Prints the stack's high-water mark, past the harness that would keep it from CI's output;
    /// fails if it came within 256 bytes of the end.
    pub fn print_memory(&mut self, after: &str) {
        let (free, all) = self.stack();
        let _ = writeln!(std::io::stderr(), "stack after {after}: {} of {all} bytes", all - free);
        assert!(free >= 256, "only {free} bytes of stack are left");
    }

    /// Instructions between two stamps.
    fn count(&mut self, from: &str, to: &str) -> u32 {
        let (from, to) = (self.word(from), self.word(to));
        instructions(to.wrapping_sub(from))
    }

    /// Instructions of deciding the last request.
    pub fn decided(&mut self) -> u32 {
        self.count("STAMP_BEGIN", "STAMP_DECIDED")
    }

    /// From the end of the last request to its reply, in instructions.
    pub fn reply_time(&mut self) -> u32 {
        self.count("STAMP_BEGIN", "STAMP_BYTE_OUT")
    }
}

/// Seconds of a request and its reply on the line.
fn on_the_wire(request: &str, reply: &str) -> f64 {
    (sealed(request).len() + sealed(reply).len() + 2) as f64 * BITS / BAUD
}

/// The share of a request's time on the line that these cycles take.
pub fn share_of_line(cycles: u32, request: &str, reply: &str) -> f64 {
    f64::from(cycles) / HERTZ / on_the_wire(request, reply)
}

fn median<T: Ord + Copy>(counts: &mut [T]) -> T {
    counts.sort_unstable();
    counts[counts.len() / 2]
}

/// Cycles of deciding requests, by patient.
#[derive(Default)]
struct Traced {
    assign: Vec<(u32, u32)>,
    outcome: Vec<(u32, u32)>,
    /// Cycles an instruction takes.
    mix: f64,
}

impl Traced {
    /// The median of the share of its time on the line that an `ASSIGN` of these patients takes.
    fn share(&self, patients: &RangeInclusive<u32>) -> f64 {
        let share = |(k, cycles): &(u32, u32)| {
            let request = format!("ASSIGN {k} {} {}", k % 64, tag(*k));
            share_of_line(*cycles, &request, &format!("ARM {k} 1"))
        };
        let mut shares: Vec<f64> =
            self.assign.iter().filter(|(k, _)| patients.contains(k)).map(share).collect();
        shares.sort_by(f64::total_cmp);
        shares[shares.len() / 2]
    }
}

/// Those of the short version, whose requests take the least time, or all.
fn traced_ranges() -> &'static [RangeInclusive<u32>] {
    &TRACED[..times(1, 2) as usize]
}

fn traced(plan: &str) -> Traced {
    let code = Code::of(Firmware::Release);
    let mut board = Emulator::boot_traced(Firmware::Release);
    board.begin(plan);
    let mut traced = Traced::default();
    let mut instructions = 0;
    for k in 1..=*traced_ranges().last().unwrap().end() {
        let mut cycles = |board: &mut Emulator, ask: &dyn Fn(&mut Emulator)| {
            if !traced_ranges().iter().any(|range| range.contains(&k)) {
                ask(board);
                return None;
            }
            let (count, cycles) = code.between(&board.trace(ask), ANSWER, WAIT);
            instructions += count;
            Some((k, cycles))
        };
        traced.assign.extend(cycles(&mut board, &|board| {
            board.assign(k, k % 64);
        }));
        let outcome =
            |board: &mut Emulator| board.expect(&format!("OUTCOME {k} 1"), &format!("OK {k}"));
        traced.outcome.extend(cycles(&mut board, &outcome));
    }
    let cycles: u32 = traced.assign.iter().chain(&traced.outcome).map(|(_, cycles)| cycles).sum();
    traced.mix = f64::from(cycles) / instructions as f64;
    traced
}

/// Instructions of a look in which all 64 features take part and get a new coin. With little noise
/// 25 patients of each are enough for one.
fn look() -> u32 {
    let mut board = Emulator::boot(Firmware::Release);
    board.begin("features=64 patients=3200 epsilon=20");
    for k in 1..=1600 {
        board.assign(k, k % 64);
        board.expect(&format!("OUTCOME {k} {}", k / 64 % 2), &format!("OK {k}"));
    }
    // The look is done by the request that finds it due.
    board.status("assigned");
    let look = board.decided();
    board.print_memory("a look");
    look
}

#[test]
fn instruction_counts_are_within_their_limits() {
    println!("| operation | instructions, median | most | cycles, median | time at 16 MHz |");
    println!("|---|---|---|---|---|");
    let row = |what: &str, counts: &mut [u32], cycles: u32| {
        let (median, most) = (median(counts), counts.last().copied().unwrap());
        println!(
            "| {what} | {median} | {most} | {cycles} | {:.2} ms |",
            f64::from(cycles) / HERTZ * 1e3
        );
    };
    for design in ["interim", "dp-conse"] {
        let plan = format!("design={design} features=64 patients=400 epsilon=1");
        let traced = traced(&plan);
        let mixed = |count: u32| (f64::from(count) * traced.mix) as u32;
        let mut board = Emulator::boot(Firmware::Release);
        board.begin(&plan);
        let (mut assign, mut outcome) = (Vec::new(), Vec::new());
        for k in 1..=190 {
            board.assign(k, k % 64);
            assign.push(board.decided());
            board.expect(&format!("OUTCOME {k} 1"), &format!("OK {k}"));
            outcome.push(board.decided());
        }
        let cycles = |of: &[(u32, u32)]| {
            median(&mut of.iter().map(|(_, cycles)| *cycles).collect::<Vec<_>>())
        };
        row(&format!("`ASSIGN`, {design}"), &mut assign, cycles(&traced.assign));
        row(&format!("`OUTCOME`, {design}"), &mut outcome, cycles(&traced.outcome));
        if design == "interim" {
            assert!(median(&mut assign) <= ASSIGN && median(&mut outcome) <= OUTCOME);
        }
        for patients in traced_ranges() {
            let share = traced.share(patients);
            println!(
                "| `ASSIGN` of its time on the line, {design}, patients {patients:?} | | | {:.1} % | |",
                share * 100.0
            );
            assert!(share < SHARE, "{design}: {share} of the time on the line");
        }
        if design == "interim" {
            let look = look();
            row("a look at 64 features, made durable", &mut [look], mixed(look));
            assert!(look <= LOOK, "{look} instructions");
        }
        let (_, flash) = board.cut_power();
        let mut board = Emulator::boot_on(Firmware::Release, &flash);
        board.status("assigned");
        let boot = instructions(board.word("STAMP_READY"));
        let what = format!("boot to ready, {design}, 64 features; counts its waiting for noise");
        row(&what, &mut [boot], mixed(boot));
    }
}

/// Reply times of a trial whose public counts are always the same and whose features, outcomes and
/// losses depend on `seed`; with page changes, no pause between requests, and the arms the board
/// draws.
fn reply_times(plan: &str, features: u32, seed: u32) -> Vec<u32> {
    let mut board = Emulator::boot(Firmware::Release);
    board.begin(plan);
    let mut dice = Dice(seed);
    let (mut times, mut decided) = (Vec::new(), BTreeSet::new());
    for k in 1..=LOADED {
        board.assign(k, dice.roll(features));
        times.push(board.reply_time());
        decided.insert(board.decided());
        if dice.roll(10) == 0 {
            board.expect(&format!("LOST {k}"), &format!("OK {k}"));
        } else {
            board.expect(&format!("OUTCOME {k} {}", dice.roll(101)), &format!("OK {k}"));
        }
        times.push(board.reply_time());
    }
    assert!(decided.len() > 1, "else the padding would not have been tested");
    assert_eq!(board.word("LATE_REPLIES"), 0, "a reply took longer than the time set aside for it");
    times
}

/// Patients of the reply time test: page changes happen every fourteen of them, and the look at
/// half, or the turn to the second half, comes with one of them.
const LOADED: u32 = 120;

/// Under load the reply to every request leaves at the same moment, whatever the features, arms and
/// outcomes; also that to the request that finds a look due. Requirement D20.
#[test]
fn reply_slots_do_not_depend_on_patients() {
    // With little noise and 4 features, all take part in the look at half.
    for (design, features, epsilon) in [("interim", 4, 20), ("dp-conse", 64, 1)] {
        let plan =
            format!("design={design} features={features} patients=200 epsilon={epsilon} scale=100");
        let first = reply_times(&plan, features, 17);
        let slots: BTreeSet<u32> = first.iter().map(|time| time / 1000).collect();
        assert!(slots.len() > 1, "else no page was changed: {slots:?}");
        // The look at half, or the turn, comes before patient 101, and takes longest.
        let longest = (0..first.len()).max_by_key(|i| first[*i]);
        assert_eq!(longest, Some(200), "{design}");
        for seed in 18..18 + times(1, 2) {
            let second = reply_times(&plan, features, seed);
            for (i, (a, b)) in first.iter().zip(&second).enumerate() {
                // One instruction is what a timer of 62.5 ns can be off by.
                assert!(
                    a.abs_diff(*b) <= 1,
                    "{design}, seed {seed}, request {i}: {a} and {b} instructions"
                );
            }
        }
    }
}
