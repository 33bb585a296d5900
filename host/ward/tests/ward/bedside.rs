//! Enrolment and outcomes through client, log and register, over a line that loses, garbles and
//! breaks.
//!
//! The device here is a small imitation, so that a test can decide what happens to every single
//! line.

mod enrolment;
mod outcomes;
mod records;

use std::collections::{BTreeSet, VecDeque};
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use equipoise::terms::Arm;
use equipoise::terms::Phase;
use equipoise::wire::{
    FileDigest, Framer, Hello, Refusal, Reply, Request, Status, Tag, TrialId, TrialName,
};
use equipoise_ward::bedside::Bedside;
use equipoise_ward::failure::Failure;
use equipoise_ward::line::client::{Client, Source};
use equipoise_ward::line::link::{Link, LinkError};
use equipoise_ward::records::log;
use equipoise_ward::records::log::{Event, NoteKind};
use equipoise_ward::records::register::Treatment;
use equipoise_ward::records::trial_file::TrialFile;

/// Fate of one request line and its reply.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fate {
    Fine,
    RequestLost,
    ReplyLost,
    ReplyGarbled,
    ReplyTwice,
    /// The device does its work, then the line breaks.
    Unplugged,
    /// Another terminal enrols this many patients before the request arrives.
    Others(u32),
    /// The device does its work, the reply is lost, and another terminal enrols a patient.
    LostThenOther,
    /// As before, and the trial is closed.
    LostThenOtherAndClosed,
    /// The refusal of an earlier request comes before the reply.
    LateRefusal,
    /// The device did its work, but its memory failed.
    Faulty,
}

#[derive(Default)]
struct Device {
    patients: Vec<(Option<Tag>, Arm)>,
    recorded: Vec<(u32, Option<u32>)>,
    /// Fates of the coming lines that are neither `HELLO` nor `STATUS`.
    fates: VecDeque<Fate>,
    requests: Vec<String>,
    unplugged: bool,
    closed: bool,
    looks: u32,
    /// The trial's id, eight times.
    id: u8,
    /// Patients beyond those who may wait.
    no_room: bool,
    babble: Option<&'static [u8]>,
}

/// The trial's id, and the digest of the example.
fn name(id: u8) -> TrialName {
    TrialName { id: TrialId([id; 8]), file: FileDigest(TrialFile::example().unwrap().digest()) }
}

impl Device {
    fn assigned(&self) -> u32 {
        u32::try_from(self.patients.len()).unwrap()
    }

    fn resolved(&self) -> u32 {
        let numbers: BTreeSet<u32> = self.recorded.iter().map(|(number, _)| *number).collect();
        u32::try_from(numbers.len()).unwrap()
    }

    fn other_terminal(&mut self, patients: u32) {
        (0..patients).for_each(|_| self.patients.push((Some(Tag(1)), Arm::Zero)));
    }

    fn answer(&mut self, request: &Request) -> Reply<'static> {
        match request {
            Request::Hello => {
                match Reply::parse(b"HELLO equipoise 3 0 running key=set left=99.000000*9247") {
                    Ok(Reply::Hello(hello)) => {
                        Reply::Hello(Hello { trial: Some(name(self.id)), ..hello })
                    }
                    other => panic!("{other:?}"),
                }
            }
            Request::Status => Reply::Status(Status {
                name: name(self.id),
                assigned: self.assigned(),
                resolved: self.resolved(),
                capacity: if self.no_room { self.assigned() - self.resolved() } else { 128 },
                phase: if self.closed { Phase::Closed } else { Phase::Explore },
                looks: self.looks,
                ..crate::terminal::status()
            }),
            Request::Assign { patient, tag, .. } => {
                let last = self.patients.last().copied();
                if self.closed {
                    Reply::Refused(Refusal::Closed, Some(request.name()))
                } else if *patient == self.assigned() + 1 {
                    let arm = Arm::from_bit(patient % 3 == 1);
                    self.patients.push((*tag, arm));
                    Reply::Arm { patient: *patient, arm }
                } else if let (true, Some((known, arm))) = (*patient == self.assigned(), last)
                    && known == *tag
                {
                    Reply::Arm { patient: *patient, arm }
                } else {
                    Reply::Refused(
                        Refusal::Order { expected: self.assigned() + 1 },
                        Some(request.name()),
                    )
                }
            }
            Request::Outcome { patient, .. } | Request::Lost { patient }
                if *patient > self.assigned() =>
            {
                Reply::Refused(
                    Refusal::Unknown { patient: *patient, assigned: self.assigned() },
                    Some(request.name()),
                )
            }
            Request::Outcome { patient, y } => {
                self.recorded.push((*patient, Some(*y)));
                Reply::Recorded { patient: *patient }
            }
            Request::Lost { patient } => {
                self.recorded.push((*patient, None));
                Reply::Recorded { patient: *patient }
            }
            _ => Reply::Refused(Refusal::Blank, Some(request.name())),
        }
    }

    /// The bytes that come back for one request line; an error if the line breaks.
    fn line(&mut self, line: &[u8]) -> io::Result<Vec<u8>> {
        let request = Request::parse(line).unwrap();
        let plain = matches!(request, Request::Hello | Request::Status);
        let fate = if plain { Fate::Fine } else { self.fates.pop_front().unwrap_or(Fate::Fine) };
        if !plain {
            self.requests.push(String::from_utf8_lossy(line).into_owned());
        }
        match fate {
            Fate::RequestLost => return Ok(Vec::new()),
            Fate::Others(patients) => self.other_terminal(patients),
            _ => {}
        }
        let mut reply = self.answer(&request).to_line().as_bytes().to_vec();
        match fate {
            Fate::ReplyLost => reply.clear(),
            Fate::LostThenOther | Fate::LostThenOtherAndClosed => {
                reply.clear();
                self.other_terminal(1);
                self.closed = fate == Fate::LostThenOtherAndClosed;
            }
            Fate::Faulty => {
                reply = Reply::Refused(Refusal::Storage, Some(request.name()))
                    .to_line()
                    .as_bytes()
                    .to_vec()
            }
            Fate::LateRefusal => {
                let earlier = Request::Lost { patient: 7 }.name();
                let refused = Reply::Refused(Refusal::Closed, Some(earlier)).to_line();
                reply.splice(..0, refused.as_bytes().iter().copied());
            }
            Fate::ReplyGarbled => reply[2] ^= 4,
            Fate::ReplyTwice => reply.extend(reply.clone()),
            Fate::Unplugged => {
                self.unplugged = true;
                return Err(io::ErrorKind::BrokenPipe.into());
            }
            _ => {}
        }
        Ok(reply)
    }
}

struct Wire {
    device: Arc<Mutex<Device>>,
    framer: Framer,
    replies: VecDeque<u8>,
}

impl Link for Wire {
    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut device = self.device.lock().unwrap();
        if let Some(babble) = device.babble {
            self.replies.extend(babble);
            return Ok(());
        }
        for byte in bytes {
            if let Some(line) = self.framer.push(*byte) {
                self.replies.extend(device.line(line)?);
            }
        }
        Ok(())
    }

    fn receive(&mut self, buffer: &mut [u8], patience: Duration) -> io::Result<usize> {
        if self.device.lock().unwrap().unplugged {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        if self.replies.is_empty() {
            std::thread::sleep(patience);
        }
        let count = buffer.len().min(self.replies.len());
        buffer.iter_mut().zip(self.replies.drain(..count)).for_each(|(to, from)| *to = from);
        Ok(count)
    }
}

struct Ward {
    folder: tempfile::TempDir,
    device: Arc<Mutex<Device>>,
}

impl Ward {
    fn new(fates: &[Fate]) -> Self {
        let device = Device { fates: fates.iter().copied().collect(), ..Device::default() };
        Self { folder: tempfile::tempdir().unwrap(), device: Arc::new(Mutex::new(device)) }
    }

    fn log(&self) -> std::path::PathBuf {
        self.folder.path().join("ward.jsonl")
    }

    fn client(&self) -> Client {
        let device = Arc::clone(&self.device);
        let open = move || {
            if device.lock().unwrap().unplugged {
                return Err(io::ErrorKind::NotFound.into());
            }
            let device = Arc::clone(&device);
            Ok(Box::new(Wire { device, framer: Framer::new(), replies: VecDeque::new() })
                as Box<dyn Link>)
        };
        Client::new(Source::Other("the bench".to_owned(), Box::new(open)))
            .with_patience(Duration::from_millis(30))
    }

    fn terminal(&self) -> Bedside {
        Bedside::open(self.client(), TrialFile::example().unwrap(), &self.log(), "nurse").unwrap()
    }

    fn plug_in(&self) {
        self.device.lock().unwrap().unplugged = false;
    }

    fn requests(&self) -> Vec<String> {
        self.device.lock().unwrap().requests.clone()
    }

    fn events(&self) -> Vec<Event> {
        log::verify(&self.log(), None).unwrap().1.into_iter().map(|entry| entry.event).collect()
    }
}

fn refused(failure: Failure) -> String {
    match failure {
        Failure::Refused(text) => text,
        other => panic!("not a refusal: {other}"),
    }
}
