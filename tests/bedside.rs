//! One patient's way through client, log and register, over a line that loses, garbles and breaks.
//!
//! The device here is a few lines that follow the protocol's words, so that a test can decide what happens to
//! every single line.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may fail loudly")]

use std::collections::VecDeque;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use equipoise::design::Arm;
use equipoise::host::terminal::bedside::Bedside;
use equipoise::host::terminal::client::{Client, Source};
use equipoise::host::terminal::failure::Failure;
use equipoise::host::terminal::link::{Link, LinkError};
use equipoise::host::terminal::log::{self, Event};
use equipoise::host::terminal::trial_file::TrialFile;
use equipoise::plan::Design;
use equipoise::trial::Phase;
use equipoise::wire::{Framer, NextLook, Refusal, Reply, Request, State, Status, Tag};

/// What happens to one request line and its reply.
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
    babble: Option<&'static [u8]>,
}

impl Device {
    fn assigned(&self) -> u32 {
        u32::try_from(self.patients.len()).unwrap()
    }

    fn other_terminal(&mut self, patients: u32) {
        (0..patients).for_each(|_| self.patients.push((Some(Tag(1)), Arm::Zero)));
    }

    fn answer(&mut self, request: &Request) -> Reply<'static> {
        match request {
            Request::Hello => {
                Reply::Hello { version: "0", state: State::Running, stored: None, restart: None }
            }
            Request::Status => Reply::Status(Status {
                design: Design::Interim,
                patients: 4000,
                assigned: self.assigned(),
                unresolved: 0,
                phase: Phase::Explore,
                looks: 0,
                next_look: NextLook::After(2000),
            }),
            Request::Assign { patient, tag, .. } => {
                let last = self.patients.last().copied();
                if self.closed {
                    Reply::Refused(Refusal::Closed)
                } else if *patient == self.assigned() + 1 {
                    let arm = Arm::from_bit(patient % 3 == 1);
                    self.patients.push((*tag, arm));
                    Reply::Arm { patient: *patient, arm }
                } else if let (true, Some((known, arm))) = (*patient == self.assigned(), last)
                    && known == *tag
                {
                    Reply::Arm { patient: *patient, arm }
                } else {
                    Reply::Refused(Refusal::Order { expected: self.assigned() + 1 })
                }
            }
            Request::Outcome { patient, .. } | Request::Lost { patient } if *patient > self.assigned() => {
                Reply::Refused(Refusal::Unknown { patient: *patient, assigned: self.assigned() })
            }
            Request::Outcome { patient, y } => {
                self.recorded.push((*patient, Some(*y)));
                Reply::Recorded { patient: *patient }
            }
            Request::Lost { patient } => {
                self.recorded.push((*patient, None));
                Reply::Recorded { patient: *patient }
            }
            _ => Reply::Refused(Refusal::Blank),
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
            Fate::Faulty => reply = Reply::Refused(Refusal::Storage).to_line().as_bytes().to_vec(),
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
            Ok(Box::new(Wire { device, framer: Framer::new(), replies: VecDeque::new() }) as Box<dyn Link>)
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

#[test]
fn a_lost_or_garbled_line_is_sent_again_byte_for_byte_and_assigns_once() {
    for fate in [Fate::RequestLost, Fate::ReplyLost, Fate::ReplyGarbled] {
        let ward = Ward::new(&[fate, fate]);
        let patient = ward.terminal().enrol("P-1", 2).unwrap();
        assert_eq!((patient.number, patient.arm), (1, Arm::One), "{fate:?}");
        let requests = ward.requests();
        assert_eq!(requests.len(), 3);
        assert!(requests.iter().all(|line| *line == requests[0]), "{requests:?}");
        assert_eq!(ward.device.lock().unwrap().assigned(), 1);
    }
}

#[test]
fn a_late_second_answer_is_never_taken_for_the_answer_to_the_next_request() {
    let ward = Ward::new(&[Fate::ReplyTwice, Fate::ReplyTwice, Fate::Fine, Fate::ReplyTwice]);
    let mut terminal = ward.terminal();
    assert_eq!(terminal.enrol("P-1", 0).unwrap().arm, Arm::One);
    assert_eq!(terminal.enrol("P-2", 0).unwrap().arm, Arm::Zero);
    assert_eq!(terminal.enrol("P-3", 0).unwrap().arm, Arm::Zero);
    terminal.outcome(1, 1).unwrap();
    terminal.lost(2).unwrap();
    assert_eq!(ward.device.lock().unwrap().recorded, [(1, Some(1)), (2, None)]);
    // A refusal that was answered twice does not refuse the next request.
    let ward = Ward::new(&[Fate::ReplyLost, Fate::ReplyTwice]);
    let mut terminal = ward.terminal();
    assert!(terminal.lost(7).is_err());
    assert_eq!(terminal.enrol("P-1", 0).unwrap().number, 1);
}

#[test]
fn after_unplugging_in_the_middle_of_an_enrolment_the_same_line_gives_the_same_arm() {
    let ward = Ward::new(&[Fate::Unplugged]);
    let mut terminal = ward.terminal();
    assert!(matches!(terminal.enrol("P-1", 2), Err(Failure::NoDevice(_))));
    assert_eq!(terminal.register().pending().unwrap().code, "P-1");
    ward.plug_in();
    let patient = terminal.resume().unwrap().unwrap();
    assert_eq!((patient.code.as_str(), patient.number, patient.arm), ("P-1", 1, Arm::One));
    let requests = ward.requests();
    assert_eq!((requests.len(), &requests[0]), (2, &requests[1]));
    assert!(terminal.resume().unwrap().is_none());
}

#[test]
fn a_terminal_that_died_in_the_middle_of_an_enrolment_is_taken_over_by_the_next() {
    let ward = Ward::new(&[Fate::Unplugged]);
    assert!(ward.terminal().enrol("P-1", 2).is_err());
    ward.plug_in();
    let mut next = ward.terminal();
    // Another patient first settles the one that is pending; the same patient is the pending one.
    assert_eq!(next.enrol("P-2", 0).unwrap().number, 2);
    assert_eq!(next.register().number("P-1"), Some(1));
    assert_eq!(ward.requests()[0], ward.requests()[1]);
    let ward = Ward::new(&[Fate::Unplugged]);
    assert!(ward.terminal().enrol("P-1", 2).is_err());
    ward.plug_in();
    assert_eq!(ward.terminal().enrol("P-1", 2).unwrap().number, 1);
    assert_eq!(ward.device.lock().unwrap().assigned(), 1);
}

#[test]
fn a_code_is_enrolled_once_also_by_the_next_terminal() {
    let ward = Ward::new(&[]);
    ward.terminal().enrol("P-1", 0).unwrap();
    let again = refused(ward.terminal().enrol("P-1", 1).unwrap_err());
    assert_eq!(again, "patient P-1 is already enrolled, as number 1");
    ward.terminal().outcome(1, 0).unwrap();
    assert!(ward.terminal().enrol("P-1", 1).is_err(), "also after its outcome");
    assert_eq!(ward.device.lock().unwrap().assigned(), 1);
}

#[test]
fn a_number_taken_by_another_terminal_is_not_this_patients() {
    let ward = Ward::new(&[Fate::Others(2)]);
    let patient = ward.terminal().enrol("P-1", 0).unwrap();
    assert_eq!((patient.number, patient.arm), (3, Arm::Zero));
    assert!(matches!(&ward.events()[2], Event::Refused { patient: 1, .. }));
    // The first copy got lost, another terminal took the number: the device compared the tags and said so.
    let ward = Ward::new(&[Fate::RequestLost, Fate::Others(1)]);
    assert_eq!(ward.terminal().enrol("P-1", 0).unwrap().number, 2);
}

#[test]
fn an_arm_that_cannot_be_known_any_more_is_said_to_be_unclear_and_never_guessed() {
    let ward = Ward::new(&[Fate::LostThenOther]);
    let mut terminal = ward.terminal();
    let why = refused(terminal.enrol("P-1", 0).unwrap_err());
    assert!(why.contains("cannot be known any more"), "{why}");
    assert!(matches!(ward.events().last(), Some(Event::Unclear { patient: 1, .. })));
    assert!(terminal.enrol("P-1", 0).is_err(), "the code stays used");
    assert_eq!(terminal.enrol("P-2", 0).unwrap().number, 3, "others go on");
    let ward = Ward::new(&[Fate::LostThenOtherAndClosed]);
    assert!(ward.terminal().enrol("P-1", 0).is_err());
    assert!(matches!(ward.events().last(), Some(Event::Unclear { patient: 1, .. })), "{:?}", ward.events());
}

#[test]
fn an_enrolment_stays_pending_while_the_devices_memory_fails() {
    let ward = Ward::new(&[Fate::Faulty]);
    let mut terminal = ward.terminal();
    let why = refused(terminal.enrol("P-1", 2).unwrap_err());
    assert!(why.contains("memory failed"), "{why}");
    assert!(terminal.register().pending().is_some());
    assert_eq!(terminal.resume().unwrap().unwrap().arm, Arm::One, "after power-up");
    assert_eq!(ward.device.lock().unwrap().assigned(), 1);
}

#[test]
fn an_outcome_without_an_answer_stays_on_the_list() {
    let ward = Ward::new(&[Fate::Fine, Fate::Unplugged]);
    let mut terminal = ward.terminal();
    terminal.enrol("P-1", 0).unwrap();
    assert!(terminal.outcome(1, 1).is_err());
    assert_eq!(terminal.register().waiting().count(), 1);
    ward.plug_in();
    terminal.outcome(1, 1).unwrap();
    assert_eq!(terminal.register().waiting().count(), 0);
    assert!(terminal.register().resolved(1));
}

#[test]
fn a_log_of_another_trial_or_an_erased_device_is_refused() {
    let ward = Ward::new(&[]);
    let mut terminal = ward.terminal();
    terminal.enrol("P-1", 0).unwrap();
    ward.device.lock().unwrap().patients.clear();
    let erased = terminal.enrol("P-2", 0).unwrap_err().to_string();
    assert!(erased.contains("the log knows patient number 1, the device has assigned 0"), "{erased}");
    drop(terminal);
    let mut other = TrialFile::example().unwrap();
    other.title = "Another".to_owned();
    let error = Bedside::open(ward.client(), other, &ward.log(), "nurse").err().unwrap().to_string();
    assert!(error.contains("is of another trial"), "{error}");
}

#[test]
fn whatever_else_is_on_the_port_is_named() {
    let hear = |babble: &'static [u8]| {
        let ward = Ward::new(&[]);
        ward.device.lock().unwrap().babble = Some(babble);
        ward.client().connect().unwrap_err()
    };
    assert_eq!(hear(b""), LinkError::Silent("the bench".to_owned()));
    assert_eq!(hear(b"\x80\xfe\x00\xf8\x80\xfe\x00\xf8\x80\xfe"), LinkError::Babble("the bench".to_owned()));
    assert!(
        matches!(hear(b"login: \r\npassword:"), LinkError::Stranger(_, text) if text.starts_with("login:"))
    );
    assert!(matches!(hear(b"\nHELLO*49D6\n"), LinkError::Stranger(..)), "an echo is no device");
    let ward = Ward::new(&[]);
    ward.device.lock().unwrap().unplugged = true;
    assert!(matches!(ward.client().connect(), Err(LinkError::Gone(..))));
    let missing = equipoise::host::terminal::link::open(Path::new("/dev/nothing-here")).err().unwrap();
    assert_eq!(missing, LinkError::Missing("/dev/nothing-here".to_owned()));
}
