//! Whatever noise is on the line, a terminal that repeats its requests and the device agree
//! in the end: on every arm, on every count, and on every outcome in the ledger. Nothing is
//! assigned twice.
//!
//! Every trial is run twice with the same seed: once over a clean line, once over a noisy one. The
//! arms that the terminal noted, every arm that the device ever sent, and the final signed report
//! must be the same in both. That the reports agree means that every patient's feature, arm and
//! outcome was taken once and as sent.
//!
//! A checksum of 16 bits lets one corrupted line in 65,536 pass, less those that are not a request
//! any more or name the wrong patient. The noise is the same in every run, so the number that did
//! pass is the same too; it is printed.

use equipoise::testkit::desk;

use desk::Desk;
use equipoise::testkit::noisy_line::{Badness, NoisyLine};
use equipoise::wire::{Framer, Reply, Request, Tag, open};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

const PATIENTS: u32 = 8;
const PLAN: &str = "PLAN features=3 patients=8 better=high results=open epsilon=1 close=auto";
/// Copies of a request before the terminal gives up, which would fail the test.
const PATIENCE: u32 = 20_000;

/// A probability in units of 2^-32.
fn p(probability: f64) -> u32 {
    (probability * f64::from(u32::MAX)) as u32
}

/// Noise of a bit error rate; at 1e-1, where no whole line would ever get through, in every second
/// transmission.
fn badness(bit_errors: f64) -> Badness {
    let burst = if bit_errors < 0.05 { 1.0 } else { 0.5 };
    let bytes = p(bit_errors / 2.0);
    Badness { burst: p(burst), flip: p(bit_errors), drop: bytes, double: bytes, hold: p(0.05) }
}

/// Counts of the lines seen.
#[derive(Default)]
struct Seen {
    requests: u64,
    /// Request lines that arrived as they were not sent.
    corrupted: u64,
    /// Those among them that say something else than any line sent, under a right checksum.
    undetected: u64,
}

/// A terminal, two lines, and the device at their other end.
struct Ward {
    desk: Desk,
    there: NoisyLine,
    back: NoisyLine,
    device_framer: Framer,
    terminal_framer: Framer,
    sent: Vec<Vec<u8>>,
    /// Every arm the device ever put on the line.
    arms_sent: Vec<(u32, String)>,
    seen: Seen,
}

impl Ward {
    fn new(seed: u64, badness: Badness) -> Self {
        Self {
            desk: Desk::running(seed, PLAN),
            there: NoisyLine::new(badness, seed),
            back: NoisyLine::new(badness, !seed),
            device_framer: Framer::new(),
            terminal_framer: Framer::new(),
            sent: Vec::new(),
            arms_sent: Vec::new(),
            seen: Seen::default(),
        }
    }

    /// One transmission there and whatever comes back: the readable replies.
    fn exchange(&mut self, bytes: &[u8]) -> Vec<String> {
        let mut replies = Vec::new();
        for byte in self.there.carry(bytes) {
            let Some(line) = self.device_framer.push(byte) else { continue };
            if !self.sent.iter().any(|sent| sent == line) {
                self.seen.corrupted += 1;
                let body = |line| {
                    open(line).ok().filter(|opened| opened.has_checksum).map(|opened| opened.body)
                };
                // A hex digit of the checksum that changed its case has changed nothing.
                let passed = body(line)
                    .is_some_and(|got| !self.sent.iter().any(|sent| body(sent) == Some(got)));
                self.seen.undetected += u64::from(passed);
            }
            let reply = self.desk.send(line);
            if let Ok(Reply::Arm { patient, arm }) = Reply::parse(&reply[..reply.len() - 1]) {
                self.arms_sent.push((patient, arm.to_string()));
            }
            replies.extend(reply);
        }
        let mut readable = Vec::new();
        for byte in self.back.carry(&replies) {
            let Some(line) = self.terminal_framer.push(byte) else { continue };
            if let Ok(reply) = Reply::parse(line) {
                readable.push(reply.to_string());
            }
        }
        readable
    }

    /// Asks until the answer that starts with `wanted` comes; everything else is noise or late.
    fn ask(&mut self, request: &Request, wanted: &str) -> String {
        let line = request.to_line().unwrap();
        self.sent.push(line.as_bytes()[..line.as_bytes().len() - 1].to_vec());
        self.seen.requests += 1;
        for copy in 0..PATIENCE {
            let bytes = if copy == 0 {
                line.as_bytes().to_vec()
            } else {
                [b"\n", line.as_bytes()].concat()
            };
            let replies = self.exchange(&bytes);
            if let Some(answer) = replies.into_iter().find(|reply| reply.starts_with(wanted)) {
                return answer;
            }
        }
        panic!("no answer to {request} in {PATIENCE} copies");
    }

    /// The whole trial; what the terminal noted.
    fn run(&mut self, seed: u64) -> Vec<(u32, String)> {
        let mut chance = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut noted = Vec::new();
        for patient in 1..=PATIENTS {
            let (feature, tag) = (chance.next_u32() % 3, Some(Tag(chance.next_u32())));
            let arm =
                self.ask(&Request::Assign { patient, feature, tag }, &format!("ARM {patient} "));
            noted.push((patient, arm.rsplit(' ').next().unwrap().to_string()));
            if patient > 3 {
                self.resolve(patient - 3, chance.next_u32());
            }
        }
        for patient in PATIENTS - 2..=PATIENTS {
            self.resolve(patient, chance.next_u32());
        }
        noted
    }

    fn resolve(&mut self, patient: u32, chance: u32) {
        let request = match chance % 3 {
            0 => Request::Lost { patient },
            y => Request::Outcome { patient, y: y - 1 },
        };
        let answer = self.ask(&request, &format!("OK {patient}"));
        assert_eq!(answer, format!("OK {patient}"));
    }
}

/// Runs trials over a noisy line and holds each against the same trial over a clean one.
fn trials(bit_errors: f64, seeds: std::ops::Range<u64>) {
    let (mut total, mut worst) = (Seen::default(), 0);
    for seed in seeds.clone() {
        let mut clean = Ward::new(seed, Badness::default());
        let arms = clean.run(seed);
        let mut noisy = Ward::new(seed, badness(bit_errors));
        let noted = noisy.run(seed);
        assert_eq!(noted, arms, "the terminal noted other arms, seed {seed}");
        for sent in &noisy.arms_sent {
            assert!(arms.contains(sent), "the device sent another arm: {sent:?}, seed {seed}");
        }
        let status = noisy.desk.ask("STATUS");
        assert_eq!(status, clean.desk.ask("STATUS"), "seed {seed}");
        assert!(status.contains(" assigned=8 resolved=8 "), "{status}");
        assert!(status.contains(" phase=closed "), "{status}");
        assert_eq!(noisy.desk.ask("REPORT"), clean.desk.ask("REPORT"), "seed {seed}");
        total.requests += noisy.seen.requests;
        total.corrupted += noisy.seen.corrupted;
        total.undetected += noisy.seen.undetected;
        worst = worst.max(noisy.seen.corrupted);
    }
    println!(
        "bit error rate {bit_errors:e}: {} trials, {} requests, {} request lines arrived corrupted ({worst} in the \
         worst trial), {} of them undetected",
        seeds.end - seeds.start,
        total.requests,
        total.corrupted,
        total.undetected
    );
    assert!(
        total.corrupted > seeds.end - seeds.start || bit_errors < 1e-3,
        "there was no noise worth the name"
    );
}

/// Terminal and device agree at one bit error in 10,000.
#[test]
fn agreement_at_one_bit_error_in_10_000() {
    trials(1e-4, 0..4000);
}

/// Terminal and device agree at one bit error in 1,000.
#[test]
fn agreement_at_one_bit_error_in_1_000() {
    trials(1e-3, 10_000..13_500);
}

/// Terminal and device agree at one bit error in 100. Requirement D6.
#[test]
fn agreement_at_one_bit_error_in_100() {
    trials(1e-2, 20_000..21_500);
}

/// Terminal and device agree at one bit error in 10 every second time.
#[test]
fn agreement_at_one_bit_error_in_10() {
    trials(1e-1, 30_000..31_500);
}
