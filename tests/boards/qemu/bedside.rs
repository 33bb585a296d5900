//! Both ends of a conversation: requests with checksums, replies checked, and the custodian's
//! proofs.

use equipoise::testkit::order;
use equipoise::wire::{Reply, checksum};
use std::path::Path;
use xtask::elf::Elf;
use xtask::image::digest;

/// The custodian's key.
pub const KEY: [u8; 32] = *b"the custodian of the trial on Q1";

/// Bytes as hex digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A request with its checksum.
pub fn sealed(request: &str) -> String {
    format!("{request}*{:04X}", checksum(request.as_bytes()))
}

/// A terminal at the serial line of a board.
pub trait Bedside {
    /// Sends a line and gives the first line of the answer.
    fn ask(&mut self, line: &str) -> String;

    /// The next line of the answer.
    fn line(&mut self) -> String;

    /// Sends a request with its checksum; the reply without its own, which must be right.
    fn request(&mut self, request: &str) -> String {
        let line = self.ask(&sealed(request));
        unsealed(&line)
    }

    /// Sends a request and requires this reply.
    fn expect(&mut self, request: &str, reply: &str) {
        assert_eq!(self.request(request), reply, "to {request}");
    }

    /// The reply to `HELLO` must name this state and this cause of restart.
    fn expect_hello(&mut self, state: &str, restart: &str) {
        let hello = self.request("HELLO");
        let version = env!("CARGO_PKG_VERSION");
        let good = hello.starts_with(&format!("HELLO equipoise 3 {version} {state} "))
            && hello.contains(&format!(" {restart} image="));
        assert!(good, "{hello}");
    }

    /// `HELLO` must name this very image, by the hash that `cargo xtask firmware` prints.
    fn expect_image(&mut self, elf: &Path) {
        let elf = Elf::parse(std::fs::read(elf).unwrap()).unwrap();
        let digest = digest(&elf.load_segments());
        let hello = self.request("HELLO");
        assert!(hello.ends_with(&format!(" image={}", &digest[..16])), "{hello}, not {digest}");
    }

    /// Sets the key and starts a trial in which larger outcomes are better.
    fn begin(&mut self, plan: &str) {
        self.expect(&format!("KEY {}", hex(&KEY)), "OK");
        let reply = order(KEY, &format!("PLAN {plan} better=high"), |line| self.request(line));
        assert!(reply.starts_with("OK trial="), "{reply}");
    }

    /// The arm of a patient.
    fn assign(&mut self, patient: u32, feature: u32) -> u8 {
        let reply = self.request(&format!("ASSIGN {patient} {feature} {}", tag(patient)));
        match reply.strip_prefix(&format!("ARM {patient} ")) {
            Some("0") => 0,
            Some("1") => 1,
            _ => panic!("ASSIGN {patient} {feature}: {reply}"),
        }
    }

    /// Carries out a custodian's command.
    fn as_custodian(&mut self, command: &str) {
        assert_eq!(order(KEY, command, |line| self.request(line)), "OK", "{command}");
    }

    /// The lines of a report, up to its end.
    fn report(&mut self) -> Vec<String> {
        let mut lines = vec![order(KEY, "REPORT", |line| self.request(line))];
        while lines.last().is_some_and(|line| line.starts_with("ROW ")) {
            let line = self.line();
            lines.push(unsealed(&line));
        }
        lines
    }

    /// One of the public numbers of `STATUS`; those who wait are assigned and not resolved.
    fn status(&mut self, key: &str) -> u32 {
        let status = self.request("STATUS");
        let number = |key: &str| -> u32 {
            let words = status.split(' ').filter_map(|word| word.split_once('='));
            let value =
                words.into_iter().find(|(name, _)| *name == key).map(|(_, value)| value.parse());
            value.unwrap_or_else(|| panic!("no {key} in {status}")).unwrap()
        };
        if key == "waiting" { number("assigned") - number("resolved") } else { number(key) }
    }
}

/// The tag of a patient's request.
pub fn tag(patient: u32) -> String {
    format!("{:08x}", patient.wrapping_mul(0x9E37_79B9))
}

/// A reply without its checksum, which must be right.
pub fn unsealed(line: &str) -> String {
    Reply::parse(line.as_bytes()).unwrap_or_else(|error| panic!("{line}: {error:?}"));
    line.rsplit_once('*').unwrap().0.to_owned()
}

/// A small generator with a fixed seed, for the choices of a test.
pub struct Dice(pub u32);

impl Dice {
    /// A number below `sides`.
    pub fn roll(&mut self, sides: u32) -> u32 {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        ((u64::from(self.0) * u64::from(sides)) >> 32) as u32
    }
}
