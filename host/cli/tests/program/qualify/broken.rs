//! A line to a device that makes it look broken: what it says is changed on the way, with right
//! checksums and MACs, as a faulty firmware would say it.

use std::collections::BTreeMap;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::common::ward::Ward;
use equipoise::device::auth::{CustodianKey, Role};
use equipoise::device::report::ReportMac;
use equipoise::plan::Plan;
use equipoise::wire::{FileDigest, Hex, Reply, Row, TrialId, TrialName, Word, checksum, unhex};
use equipoise_ward::line::link::{self, Link};

/// A fault of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// After a power cut a repeat gives the other arm.
    ArmNotStored,
    /// Replies come 12 ms too late.
    OffGrid,
    /// The noise has half its scale: the device runs the plan with twice the epsilon.
    NoiseHalved,
    /// `HELLO` names another image.
    WrongHash,
    /// The report has twice the outcomes.
    CountedTwice,
    /// A report that comes too early is not refused.
    ReportsEarly,
    /// One reply comes after three seconds.
    Slow,
    /// The line is gone for good with the assignment of this patient.
    GoneAt(u32),
}

/// The line; it ends with this value.
pub struct Broken {
    path: PathBuf,
    end: Arc<AtomicBool>,
}

impl Drop for Broken {
    fn drop(&mut self) {
        self.end.store(true, Ordering::SeqCst);
        let _ = UnixStream::connect(&self.path);
        let _ = std::fs::remove_file(&self.path);
    }
}

impl Broken {
    /// Terminals open the socket `broken` in the ward; each is joined to its device.
    pub fn between(ward: &Ward, fault: Fault) -> Self {
        let path = ward.file("broken");
        let listener = UnixListener::bind(&path).unwrap();
        let (port, key) = (PathBuf::from(ward.port()), ward.file("key"));
        let end = Arc::new(AtomicBool::new(false));
        let ends = Arc::clone(&end);
        std::thread::spawn(move || {
            let key = std::fs::read(key).ok();
            let key = key.and_then(|text| unhex(text.trim_ascii())).map(CustodianKey::new);
            let mut state = State { fault, key, ..State::default() };
            for terminal in listener.incoming() {
                if ends.load(Ordering::SeqCst) || state.is_gone {
                    return;
                }
                state.connections += 1;
                if let Ok(device) = link::open(&port) {
                    let _ = carry(terminal.unwrap(), device, &mut state, &ends);
                }
            }
        });
        Self { path, end }
    }

    pub fn port(&self) -> String {
        self.path.display().to_string()
    }
}

struct State {
    fault: Fault,
    key: Option<CustodianKey>,
    connections: u32,
    /// The connection in which each patient was first given an arm.
    first: BTreeMap<u32, u32>,
    nonce: [u8; 16],
    /// The plan that the terminal asked for last.
    wanted: Option<Plan>,
    /// The plan that the terminal believes in, and its trial.
    plan: Option<Plan>,
    trial: TrialId,
    rows: Vec<Row>,
    is_gone: bool,
}

impl Default for State {
    fn default() -> Self {
        Self {
            fault: Fault::WrongHash,
            key: None,
            connections: 0,
            first: BTreeMap::new(),
            nonce: [0; 16],
            wanted: None,
            plan: None,
            trial: TrialId::NONE,
            rows: Vec::new(),
            is_gone: false,
        }
    }
}

/// A text with its checksum, as a line.
fn line(text: &str) -> Vec<u8> {
    format!("{text}*{:04X}\n", checksum(text.as_bytes())).into_bytes()
}

impl State {
    /// The request as the device gets it.
    fn request(&mut self, bytes: &[u8]) -> Vec<u8> {
        let text = String::from_utf8_lossy(bytes).trim().to_owned();
        if let Fault::GoneAt(patient) = self.fault {
            self.is_gone |= text.starts_with(&format!("ASSIGN {patient} "));
        }
        let said = text.rsplit_once('*').map_or(text.as_str(), |(said, _)| said);
        let (request, proof) = said.split_once(" proof=").unwrap_or((said, ""));
        let Some(words) = request.strip_prefix("PLAN ") else { return bytes.to_vec() };
        let plan = words.split(" file=").next().and_then(|words| Plan::parse(words).ok());
        self.wanted = plan.or(self.wanted);
        let Some(key) = self.key.as_ref().filter(|_| self.fault == Fault::NoiseHalved) else {
            return bytes.to_vec();
        };
        let prove = |request: &str| key.proof(&self.nonce, TrialId::NONE, request.as_bytes());
        // A plan without a proof, or with a wrong one, must still be refused.
        if proof != Hex(&prove(request)).to_string() {
            return bytes.to_vec();
        }
        let halved = request.replace("epsilon=4 ", "epsilon=8 ");
        line(&format!("{halved} proof={}", Hex(&prove(&halved))))
    }

    /// The reply as the terminal gets it.
    fn reply(&mut self, bytes: &[u8]) -> Vec<u8> {
        let text = String::from_utf8_lossy(bytes).trim().to_owned();
        let said = text.rsplit_once('*').map_or(text.clone(), |(said, _)| said.to_owned());
        if self.fault == Fault::OffGrid {
            std::thread::sleep(Duration::from_millis(12));
        }
        match Reply::parse(text.as_bytes()) {
            Ok(Reply::Refused(refusal, _))
                if self.fault == Fault::ReportsEarly && refusal.word() == Word::Early =>
            {
                return line("OK");
            }
            Ok(Reply::Recorded { patient: 100 }) if self.fault == Fault::Slow => {
                std::thread::sleep(Duration::from_secs(3));
            }
            Ok(Reply::Nonce(nonce)) => self.nonce = nonce,
            Ok(Reply::Planned { trial, .. }) => (self.trial, self.plan) = (trial, self.wanted),
            Ok(Reply::Hello(_)) if self.fault == Fault::WrongHash => {
                return line(&format!("{said} image=0123456789abcdef"));
            }
            Ok(Reply::Arm { patient, arm }) if self.fault == Fault::ArmNotStored => {
                let first = *self.first.entry(patient).or_insert(self.connections);
                let other = usize::from(first < self.connections);
                return line(&format!("ARM {patient} {}", arm.index() ^ other));
            }
            Ok(Reply::Row(mut row)) => {
                if self.fault == Fault::CountedTwice {
                    row.outcomes *= 2;
                }
                self.rows.push(row);
                return line(&row.to_string());
            }
            Ok(Reply::End { end, trial, mac }) => {
                let of_report = std::mem::take(&mut self.rows);
                let (Some(key), Some(plan)) = (&self.key, &self.plan) else {
                    return bytes.to_vec();
                };
                let name = TrialName { id: self.trial, file: FileDigest::NONE };
                let mut signed = ReportMac::new(&key.role(Role::Report), name, plan);
                of_report.iter().for_each(|row| signed.row(row));
                let mac = if trial == self.trial { signed.finish(&end) } else { mac };
                return line(&Reply::End { end, trial, mac }.to_string());
            }
            _ => {}
        }
        bytes.to_vec()
    }
}

/// The whole lines of what has come, taken out of it.
fn lines(bytes: &mut Vec<u8>) -> Vec<Vec<u8>> {
    let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
    let whole: Vec<u8> = bytes.drain(..end).collect();
    whole.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect()
}

/// Carries lines both ways until one side is gone.
fn carry(
    mut terminal: UnixStream,
    mut device: Box<dyn Link>,
    state: &mut State,
    end: &AtomicBool,
) -> std::io::Result<()> {
    let (mut asked, mut said, mut bytes) = (Vec::new(), Vec::new(), [0; 512]);
    let pause = Duration::from_millis(1);
    while !end.load(Ordering::SeqCst) {
        let count = Link::receive(&mut terminal, &mut bytes, pause)?;
        asked.extend_from_slice(&bytes[..count]);
        for line in lines(&mut asked) {
            let request = state.request(&line);
            if state.is_gone {
                return Ok(());
            }
            device.send(&request)?;
        }
        let count = device.receive(&mut bytes, pause)?;
        said.extend_from_slice(&bytes[..count]);
        for line in lines(&mut said) {
            let reply = state.reply(&line);
            Link::send(&mut terminal, &reply)?;
        }
    }
    Ok(())
}
