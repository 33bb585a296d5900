//! The bench: a device's line as a tester needs it. Any bytes can be sent, each reply is timed, and
//! the power can be cut.

use std::io::{self, Write as _};
use std::time::{Duration, Instant};

use crate::line::link::{self, Link, LinkError, Port};
use crate::records::keys::KeyFile;
use equipoise::plan::Plan;
use equipoise::terms::Arm;
use equipoise::wire::{
    FileDigest, Framer, Hex, Micro, Proof, Reply, Request, Row, State, Status, Tag, TrialId, Word,
    checksum,
};

/// How long a reply may take: looks, page turns and erases included.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long a device may take to come back after its power was cut.
const RETURN: Duration = Duration::from_secs(120);
/// Pause between two attempts to reach a device that is gone.
const POLL: Duration = Duration::from_millis(100);
/// Reply to a greeting of a device that is there.
const GREETING: Duration = Duration::from_secs(2);
/// Bytes of one read.
const CHUNK: usize = 256;

/// Why a step did not succeed.
#[derive(Debug)]
pub enum Trouble {
    /// The device did something else than expected.
    Finding(String),
    /// The device is gone: the qualification stops and can go on later.
    Gone(LinkError),
}

impl From<LinkError> for Trouble {
    fn from(error: LinkError) -> Self {
        Self::Gone(error)
    }
}

/// A finding, as an error.
pub fn finding<T>(what: impl Into<String>) -> Result<T, Trouble> {
    Err(Trouble::Finding(what.into()))
}

/// How the power of the device is cut and comes back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Power {
    /// A person unplugs it and plugs it in again.
    Person,
    /// A command of the shell does both, and ends when the device is back.
    Command(String),
}

/// Replies to one line, as text without checksum, with the time until the last of them.
#[derive(Clone, Debug, Default)]
pub struct Heard {
    /// Every reply as it came.
    pub lines: Vec<Vec<u8>>,
    /// Time from the beginning of the request to the end of the last reply.
    pub took: Duration,
}

impl Heard {
    /// The last reply without its checksum, for a finding.
    pub fn text(&self) -> String {
        let last = self.lines.last().map(|line| String::from_utf8_lossy(line).into_owned());
        let without_sum =
            |text: &str| text.rsplit_once('*').map_or(text, |(said, _)| said).to_owned();
        last.map_or("nothing".to_owned(), |text| without_sum(text.trim()))
    }

    /// The word of a refusal.
    pub fn refusal(&self) -> Option<Word> {
        match Reply::parse(self.lines.last()?) {
            Ok(Reply::Refused(refusal, _)) => Some(refusal.word()),
            _ => None,
        }
    }
}

/// Facts of a greeting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Greeting {
    /// Version of the device's program.
    pub version: String,
    /// Activity of the device.
    pub state: State,
    /// Whether it has a key, and the lifetime budget left.
    pub custody: Option<(bool, Micro)>,
    /// The trial it holds.
    pub trial: Option<TrialId>,
    /// The hash of its image, on a board.
    pub image: Option<String>,
    /// Why it last started.
    pub restart: Option<&'static str>,
}

/// A device on its line.
pub struct Bench {
    port: Port,
    link: Option<Box<dyn Link>>,
    framer: Framer,
    unread: Vec<u8>,
    /// The custodian's key that the device has or gets.
    pub key: KeyFile,
    power: Power,
}

impl Bench {
    /// A bench on a port.
    #[must_use]
    pub const fn new(port: Port, key: KeyFile, power: Power) -> Self {
        Self { port, link: None, framer: Framer::new(), unread: Vec::new(), key, power }
    }

    /// How the power is cut.
    #[must_use]
    pub const fn power(&self) -> &Power {
        &self.power
    }

    fn open(&mut self) -> Result<&mut Box<dyn Link>, LinkError> {
        if self.link.is_none() {
            (self.framer, self.unread) = (Framer::new(), Vec::new());
            let mut last = LinkError::NoneFound;
            for path in self.port.candidates() {
                match link::open(&path) {
                    Ok(open) => {
                        self.link = Some(open);
                        break;
                    }
                    Err(error) => last = error,
                }
            }
            if self.link.is_none() {
                return Err(last);
            }
        }
        self.link.as_mut().ok_or(LinkError::NoneFound)
    }

    fn gone(&mut self, error: &io::Error) -> LinkError {
        self.link = None;
        LinkError::Gone(self.port.to_string(), error.to_string())
    }

    /// Lets go of the line, for another part of the program.
    pub fn release(&mut self) {
        self.link = None;
    }

    /// Sends bytes as they are and takes the replies up to the first that is no row of a report.
    pub fn send(&mut self, bytes: &[u8]) -> Result<Heard, LinkError> {
        self.send_within(bytes, PATIENCE)
    }

    fn send_within(&mut self, bytes: &[u8], patience: Duration) -> Result<Heard, LinkError> {
        let link = self.open()?;
        // Before the request leaves: a pause of this program behind it must not make a reply early.
        let begin = Instant::now();
        link.send(bytes).map_err(|error| self.gone(&error))?;
        let mut heard = Heard::default();
        while let Some(line) = self.line(begin + patience)? {
            let more = line.starts_with(b"ROW ");
            heard.lines.push(line);
            heard.took = begin.elapsed();
            if !more {
                break;
            }
        }
        Ok(heard)
    }

    fn line(&mut self, deadline: Instant) -> Result<Option<Vec<u8>>, LinkError> {
        loop {
            let mut used = 0;
            let mut found = None;
            for byte in &self.unread {
                used += 1;
                if let Some(line) = self.framer.push(*byte) {
                    found = Some(line.to_vec());
                    break;
                }
            }
            self.unread.drain(..used);
            let left = deadline.saturating_duration_since(Instant::now());
            if found.is_some() || left.is_zero() {
                return Ok(found);
            }
            let mut chunk = [0; CHUNK];
            let received = self.open()?.receive(&mut chunk, left);
            let count = received.map_err(|error| self.gone(&error))?;
            self.unread.extend(chunk.iter().take(count));
        }
    }

    /// Sends a text with its checksum.
    pub fn say(&mut self, text: &str) -> Result<Heard, LinkError> {
        self.send(format!("{text}*{:04X}\n", checksum(text.as_bytes())).as_bytes())
    }

    /// Sends a request without a proof.
    pub fn ask(&mut self, request: &Request) -> Result<Heard, LinkError> {
        self.say(&request.to_string())
    }

    /// Sends a custodian's command with a proof for it.
    pub fn prove(&mut self, request: &Request) -> Result<Heard, Trouble> {
        let proof = self.proof_of(request)?;
        Ok(self.say(&format!("{request} proof={}", Hex(&proof)))?)
    }

    /// A proof of the key for a request, with a fresh nonce.
    pub fn proof_of(&mut self, request: &Request) -> Result<Proof, Trouble> {
        let trial = self.greet()?.trial.unwrap_or(TrialId::NONE);
        let heard = self.ask(&Request::Challenge)?;
        match heard.lines.last().map(|line| Reply::parse(line)) {
            Some(Ok(Reply::Nonce(nonce))) => Ok(self.key.proof(&nonce, trial, request)),
            _ => finding(format!("a nonce was asked for, and the reply was {}", heard.text())),
        }
    }

    /// A proof that is wrong in one bit.
    pub fn wrong_proof(&mut self, request: &Request) -> Result<Heard, Trouble> {
        let mut proof = self.proof_of(request)?;
        if let Some(byte) = proof.first_mut() {
            *byte ^= 1;
        }
        Ok(self.say(&format!("{request} proof={}", Hex(&proof)))?)
    }

    /// Who is there.
    pub fn greet(&mut self) -> Result<Greeting, Trouble> {
        let heard = self.send_within(b"\nHELLO*49D6\n", PATIENCE)?;
        let line = heard.lines.last().cloned().unwrap_or_default();
        match Reply::parse(&line) {
            Ok(Reply::Hello(hello)) => Ok(Greeting {
                version: hello.version.to_owned(),
                state: hello.state,
                custody: hello.custody,
                trial: hello.trial.map(|name| name.id),
                image: hello.image.map(|image| Hex(&image.0).to_string()),
                restart: hello.restart.map(|restart| restart.name()),
            }),
            _ => finding(format!("HELLO was answered by {}", heard.text())),
        }
    }

    /// The public facts of the trial.
    pub fn status(&mut self) -> Result<Status, Trouble> {
        let heard = self.ask(&Request::Status)?;
        match heard.lines.last().map(|line| Reply::parse(line)) {
            Some(Ok(Reply::Status(status))) => Ok(status),
            _ => finding(format!("STATUS was answered by {}", heard.text())),
        }
    }

    /// Begins a trial; its id.
    pub fn begin(&mut self, plan: &Plan, file: FileDigest) -> Result<TrialId, Trouble> {
        let heard = self.prove(&Request::Plan { plan: *plan, file })?;
        match heard.lines.last().map(|line| Reply::parse(line)) {
            Some(Ok(Reply::Planned { trial, .. })) => Ok(trial),
            _ => finding(format!("the plan {plan} was answered by {}", heard.text())),
        }
    }

    /// Enrols the next patient; the arm, with the time of the reply.
    pub fn assign(&mut self, patient: u32, feature: u32) -> Result<(Arm, Duration), Trouble> {
        let heard = self.ask(&Request::Assign { patient, feature, tag: Some(tag(patient)) })?;
        match heard.lines.last().map(|line| Reply::parse(line)) {
            Some(Ok(Reply::Arm { patient: of, arm })) if of == patient => Ok((arm, heard.took)),
            _ => finding(format!("ASSIGN {patient} was answered by {}", heard.text())),
        }
    }

    /// The kit of a patient or of a replacement.
    pub fn kit(&mut self, request: &Request) -> Result<u32, Trouble> {
        let heard = self.ask(request)?;
        match heard.lines.last().map(|line| Reply::parse(line)) {
            Some(Ok(Reply::Kit { kit, .. })) => Ok(kit),
            _ => finding(format!("{request} was answered by {}", heard.text())),
        }
    }

    /// Records an outcome, or a loss; the time of the reply.
    pub fn resolve(&mut self, patient: u32, outcome: Option<u32>) -> Result<Duration, Trouble> {
        let request =
            outcome.map_or(Request::Lost { patient }, |y| Request::Outcome { patient, y });
        let heard = self.ask(&request)?;
        match heard.lines.last().map(|line| Reply::parse(line)) {
            Some(Ok(Reply::Recorded { patient: of })) if of == patient => Ok(heard.took),
            _ => finding(format!("{request} was answered by {}", heard.text())),
        }
    }

    /// A custodian's command that must be carried out.
    pub fn carry_out(&mut self, request: &Request) -> Result<(), Trouble> {
        let heard = self.prove(request)?;
        match heard.lines.last().map(|line| Reply::parse(line)) {
            Some(Ok(Reply::Done)) => Ok(()),
            _ => finding(format!("{request} was answered by {}", heard.text())),
        }
    }

    /// The report, which must be signed for this plan.
    pub fn report(&mut self, plan: &Plan, file: FileDigest) -> Result<Vec<Row>, Trouble> {
        let heard = self.prove(&Request::Report)?;
        let mut rows = Vec::new();
        for line in &heard.lines {
            match Reply::parse(line) {
                Ok(Reply::Row(row)) => rows.push(row),
                Ok(Reply::End { end, trial, mac }) => {
                    let report = crate::line::client::Report { rows, end, trial, mac };
                    if !self.key.signed(plan, file, &report) {
                        return finding("the MAC of the report is wrong");
                    }
                    return Ok(report.rows);
                }
                _ => break,
            }
        }
        finding(format!("REPORT was answered by {}", heard.text()))
    }

    /// Sees to it that the device is blank and has the key: a trial that an earlier run left is
    /// erased.
    pub fn make_blank(&mut self) -> Result<(), Trouble> {
        let greeting = self.greet()?;
        match greeting.state {
            State::Blank => Ok(()),
            State::Running | State::Closed => self.carry_out(&Request::Erase),
            other => finding(format!("the device is {}", other.name())),
        }
    }

    /// Cuts the power and waits for the device; how long it was gone.
    pub fn cut_power(&mut self) -> Result<Duration, Trouble> {
        let begin = match &self.power {
            Power::Command(line) => {
                let line = line.clone();
                self.link = None;
                let begin = Instant::now();
                let done = std::process::Command::new("sh").args(["-c", &line]).status();
                if !done.is_ok_and(|status| status.success()) {
                    return finding(format!("the command `{line}` did not succeed"));
                }
                begin
            }
            Power::Person => {
                eprint!("\n  UNPLUG THE BOARD NOW, wait two seconds, and plug it in again. ");
                let _ = io::stderr().flush();
                while self
                    .send_within(b"\nHELLO*49D6\n", GREETING)
                    .is_ok_and(|h| !h.lines.is_empty())
                {
                    std::thread::sleep(POLL);
                }
                self.link = None;
                eprintln!("It is gone.");
                Instant::now()
            }
        };
        while begin.elapsed() < RETURN {
            if self.send_within(b"\nHELLO*49D6\n", GREETING).is_ok_and(|h| !h.lines.is_empty()) {
                return Ok(begin.elapsed());
            }
            self.link = None;
            std::thread::sleep(POLL);
        }
        Err(LinkError::Silent(self.port.to_string()).into())
    }
}

/// The tag of a patient's request.
#[must_use]
pub const fn tag(patient: u32) -> Tag {
    Tag(patient.wrapping_mul(0x9e37_79b9) | 1)
}
