//! Arbitrary bytes on the line and arbitrary bytes on flash: no panic, and every line has its
//! answer.
//!
//! Inputs are random bytes and mutations of real lines and images, from a fixed seed. A short run
//! belongs to the ordinary tests; `EQUIPOISE_FUZZ_INPUTS=10000000 cargo test --release --test fuzz`
//! is the long one, and `EQUIPOISE_FUZZ_SEED` moves it to other inputs. Of the inputs 80 % go to
//! framing and parsing, 15 % to the device, and 5 % are flash images.

use equipoise::testkit::desk;

use desk::{Desk, Flash, KEY, PAGE, PLAN, sealed};
use equipoise::device::auth::CustodianKey;
use equipoise::device::health::Repeatable;
use equipoise::testkit::strict_flash::StrictFlash;
use equipoise::wire::{Framer, Hex, LINE_LIMIT, Reply, Request, State, unhex};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Real lines: what mutations start from.
const LINES: [&str; 26] = [
    "HELLO",
    "STATUS",
    "ASSIGN 1 0 00c0ffee",
    "ASSIGN 4294967295 63 00C0FFEE",
    "OUTCOME 1 1",
    "LOST 12",
    "REPORT",
    "AUTH",
    "CLOSE proof=000102030405060708090a0b0c0d0e0f",
    "PLAN features=3 patients=20 better=high epsilon=1 file=0123456789abcdef \
     proof=000102030405060708090a0b0c0d0e0f",
    "KEY 5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a",
    "PLAN design=interim features=3 patients=20 scale=1 better=high alpha=1/4 epsilon=1 beta=1/20 reports=0",
    "CLOSE",
    "ERASE",
    "HELLO equipoise 3 0.2.0 running key=set left=99.000000 trial=0123456789abcdef file=0011223344556677 \
     restart=power image=0123456789abcdef",
    "HELLO equipoise 3 0.2.0 foreign stored=state-1",
    "STATUS trial=0123456789abcdef file=0011223344556677 design=interim n=20000 better=high \
     results=close assigned=57 resolved=54 capacity=128 phase=explore looks=0 next-look=1525",
    "ARM 57 0",
    "OK 57",
    "OK trial=0123456789abcdef claim=pure",
    "ROW 0 0.500000 0.127551 0.250000 0.750000 812 spent=0.750000 half=0.500000 looks=31 \
     windows=6 n0=402 mean0=0.312500 n1=410 mean1=0.812500",
    "END 64 stage=interim look=5 of=6 at=15000 assigned=57 resolved=54 counted=50 \
     trial=0123456789abcdef \
     mac=000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
    "NONCE a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5",
    "ERR order expected=58",
    "HELLO equipoise 3 0.2.0 blank key=none left=100.000000 battery=good",
    "OK 57 battery=good slept=3",
];

/// Words that grammars trip over.
const WORDS: [&str; 12] = [
    "0",
    "1",
    "4294967296",
    "99999999999999999999",
    "-1",
    "1/0",
    "epsilon=20",
    "=",
    "*",
    "\r",
    "\u{e9}",
    "   ",
];

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).map_or(otherwise, |text| text.parse().expect(name))
}

fn inputs(percent: u64) -> u64 {
    number("EQUIPOISE_FUZZ_INPUTS", 100_000) * percent / 100
}

struct Fuzz(Xoshiro256PlusPlus);

impl Fuzz {
    fn new(stream: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(number("EQUIPOISE_FUZZ_SEED", 1) << 8 | stream))
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.0.next_u64() % limit.max(1) as u64) as usize
    }

    fn bytes(&mut self, limit: usize) -> Vec<u8> {
        (0..self.below(limit)).map(|_| self.0.next_u32() as u8).collect()
    }

    /// A line without line end: garbage, or a real one with some damage; often with a checksum that
    /// is right.
    fn line(&mut self) -> Vec<u8> {
        if self.below(10) == 0 {
            return self.bytes(200);
        }
        let mut line = LINES[self.below(LINES.len())].as_bytes().to_vec();
        for _ in 0..self.below(4) {
            let at = self.below(line.len());
            match self.below(7) {
                0 if !line.is_empty() => line[at] ^= 1 << self.below(8),
                1 if !line.is_empty() => drop(line.remove(at)),
                2 => line.insert(at, self.0.next_u32() as u8),
                3 => line.truncate(at),
                4 => drop(line.splice(at..at, WORDS[self.below(WORDS.len())].bytes())),
                5 => {
                    let other = LINES[self.below(LINES.len())].as_bytes();
                    line.extend_from_slice(&other[self.below(other.len())..]);
                }
                _ => {
                    let digits = self.0.next_u32().to_string();
                    drop(line.splice(at..at, digits.bytes()));
                }
            }
        }
        if self.below(3) > 0 {
            let sum = equipoise::wire::checksum(&line);
            line.extend(format!("*{sum:04X}").bytes());
        }
        line
    }
}

/// Framing and parsing take any bytes and read back what they write.
#[test]
fn framing_and_parsing_take_any_bytes() {
    let mut fuzz = Fuzz::new(1);
    let mut framer = Framer::new();
    let (mut requests, mut replies) = (0, 0);
    for _ in 0..inputs(80) {
        let line = fuzz.line();
        let mut stream = line.clone();
        stream.push(b'\n');
        let framed: Vec<Vec<u8>> =
            stream.iter().filter_map(|byte| framer.push(*byte).map(<[u8]>::to_vec)).collect();
        let expected = line.split(|byte| *byte == b'\n').filter_map(|line| {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            // A line of blanks is an empty one.
            line.iter()
                .any(|byte| *byte != b' ')
                .then(|| line[..line.len().min(LINE_LIMIT + 1)].to_vec())
        });
        assert_eq!(framed, expected.collect::<Vec<_>>());
        if let Ok(request) = Request::parse(&line) {
            requests += 1;
            if let Some(again) = request.to_line() {
                assert_eq!(Request::parse(again.as_bytes().trim_ascii_end()), Ok(request));
            }
        }
        if let Ok(reply) = Reply::parse(&line) {
            replies += 1;
            assert_eq!(Reply::parse(reply.to_line().as_bytes().trim_ascii_end()), Ok(reply));
        }
    }
    println!("{} lines: {requests} were requests, {replies} were replies", inputs(80));
    assert!(requests > inputs(10) && replies > inputs(5), "the mutations are too wild");
}

/// A custodian command with its proof, if the device gives a nonce.
fn proved(desk: &mut Desk, command: &str) -> Vec<u8> {
    let trial = desk.trial();
    let nonce = desk.ask("AUTH");
    let nonce = nonce.strip_prefix("NONCE ").and_then(|digits| unhex(digits.as_bytes()));
    let proof = CustodianKey::new(KEY).proof(&nonce.unwrap_or_default(), trial, command.as_bytes());
    sealed(&format!("{command} proof={}", Hex(&proof))).into_bytes()
}

/// The device answers any line with lines of the protocol. Requirement D28.
#[test]
fn the_device_answers_any_line() {
    let mut fuzz = Fuzz::new(2);
    let (mut desk, mut trials) = (Desk::blank(1), 0);
    for input in 0..inputs(15) {
        let line = match fuzz.below(20) {
            0 => proved(&mut desk, PLAN),
            1 => {
                let status = desk.ask("STATUS");
                let assigned =
                    status.split("assigned=").nth(1).and_then(|rest| rest.split(' ').next());
                let next = assigned.map_or(1, |number| number.parse::<u32>().unwrap() + 1);
                sealed(&format!("ASSIGN {next} {} {:08x}", fuzz.below(4), next)).into_bytes()
            }
            2 => {
                let patient = fuzz.below(20);
                sealed(&format!("OUTCOME {patient} {}", fuzz.below(2))).into_bytes()
            }
            3 => {
                let command = ["CLOSE", "ERASE", PLAN][fuzz.below(3)];
                proved(&mut desk, command)
            }
            4 => {
                desk.device.draw_ahead();
                continue;
            }
            _ => fuzz.line(),
        };
        let sent = desk.send(&line);
        assert!(sent.ends_with(b"\n"), "no answer to {line:?}");
        for reply in sent.trim_ascii_end().split(|byte| *byte == b'\n') {
            assert!(
                reply.len() <= LINE_LIMIT && Reply::parse(reply).is_ok(),
                "{}",
                String::from_utf8_lossy(reply)
            );
        }
        trials += u32::from(sent.starts_with(b"OK trial="));
        let misuse = desk.flash.0.borrow().misuse();
        assert_ne!(
            desk.device.state(),
            State::Fault,
            "input {input}: {} {misuse:?}",
            String::from_utf8_lossy(&line)
        );
        // Now and then the power fails; a device whose lifetime budget is spent is replaced.
        if fuzz.below(100) == 0 {
            desk = desk.power_up(input);
        }
        if fuzz.below(2000) == 0 {
            desk = Desk::blank(input);
        }
    }
    println!("{} lines to the device, {trials} times a trial", inputs(15));
}

/// Images of real devices at many moments of their trials.
fn images() -> Vec<Vec<u8>> {
    let mut images = vec![vec![0xFF; 16 * PAGE], vec![0; 16 * PAGE]];
    for plan in [PLAN, "PLAN design=dp-conse features=4 patients=60 better=high epsilon=2"] {
        let mut desk = Desk::running(1, plan);
        for patient in 1..=20 {
            desk.assign(patient, patient % 3);
            desk.ask(&format!("OUTCOME {patient} 1"));
            if patient % 3 == 0 {
                desk.run_until_idle();
            }
            images.push(desk.flash.0.borrow().bytes());
        }
        desk.order("ERASE");
        images.push(desk.flash.0.borrow().bytes());
    }
    images
}

/// Any flash image is mounted or refused and never crashes the device. Requirement D28.
#[test]
fn any_flash_image_is_mounted_or_refused() {
    let mut fuzz = Fuzz::new(3);
    let images = images();
    let mut mounted = 0;
    for input in 0..inputs(5) {
        let mut image = images[fuzz.below(images.len())].clone();
        for _ in 0..fuzz.below(5) {
            let (at, page) = (fuzz.below(image.len()), fuzz.below(16) * PAGE);
            match fuzz.below(7) {
                0 => image[at] ^= 1 << fuzz.below(8),
                1 => image[at] &= fuzz.0.next_u32() as u8,
                2 => image[at & !3..][..4].copy_from_slice(&fuzz.0.next_u32().to_le_bytes()),
                3 => image[page..page + PAGE].fill([0xFF, 0][fuzz.below(2)]),
                4 => image[at..page.max(at) + PAGE * usize::from(page > at)].fill(0xFF),
                5 => {
                    let other = fuzz.below(16) * PAGE;
                    image.copy_within(other..other + PAGE, page);
                }
                _ => {
                    let other = &images[fuzz.below(images.len())];
                    image[page..page + PAGE].copy_from_slice(&other[page..page + PAGE]);
                }
            }
        }
        let flash =
            Flash(std::rc::Rc::new(std::cell::RefCell::new(StrictFlash::from_bytes(&image))));
        let mut desk = Desk::<_>::on(flash, Repeatable::new(input));
        let state = desk.device.state();
        mounted += u64::from(state != State::Fault);
        for line in [
            "HELLO",
            "STATUS",
            "ASSIGN 1 0 00000001",
            "ASSIGN 7 1 00000007",
            "OUTCOME 3 1",
            "LOST 6",
            "REPORT",
            PLAN,
        ] {
            desk.ask(line);
        }
        desk.run_until_idle();
        if state == State::Fault {
            assert!(
                desk.ask("STATUS").starts_with("ERR storage"),
                "a device in fault refuses everything"
            );
        }
    }
    println!("{} images, {mounted} of them mounted", inputs(5));
    assert!(mounted > inputs(1) && mounted < inputs(5), "the mutations are too tame or too wild");
}
