//! Enrolment and outcomes through client, log and register, over a line that loses, garbles and
//! breaks.
//!
//! The device here is a small imitation, so that a test can decide what happens to every single
//! line.

use std::collections::{BTreeSet, VecDeque};
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use equipoise::design::Arm;
use equipoise::host::terminal::bedside::Bedside;
use equipoise::host::terminal::client::{Client, Source};
use equipoise::host::terminal::failure::Failure;
use equipoise::host::terminal::link::{Link, LinkError};
use equipoise::host::terminal::log::{self, Event, NoteKind};
use equipoise::host::terminal::trial_file::TrialFile;
use equipoise::plan::Design;
use equipoise::trial::Phase;
use equipoise::wire::{
    FileDigest, Framer, Hello, Micro, NextLook, Refusal, Reply, Request, State, Status, Tag,
    TrialId, TrialName,
};

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
                let (custody, trial) = (Some((true, Micro(99_000_000))), Some(name(self.id)));
                let (state, stored, restart, image) = (State::Running, None, None, None);
                Reply::Hello(Hello { version: "0", state, stored, custody, trial, restart, image })
            }
            Request::Status => Reply::Status(Status {
                name: name(self.id),
                design: Design::Interim,
                patients: 4000,
                assigned: self.assigned(),
                resolved: self.resolved(),
                waiting: self.assigned() - self.resolved(),
                capacity: if self.no_room { self.assigned() - self.resolved() } else { 128 },
                phase: if self.closed { Phase::Closed } else { Phase::Explore },
                looks: 0,
                next_look: NextLook::After(2000),
                spent: Micro(1_000_000),
                left: Micro(99_000_000),
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
            Request::Outcome { patient, .. } | Request::Lost { patient }
                if *patient > self.assigned() =>
            {
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

/// A lost or garbled line is sent again byte for byte, and assigns once.
#[test]
fn lost_line_is_sent_again_unchanged() {
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

/// A late second answer is never taken for the answer to the next request.
#[test]
fn late_second_answer_is_thrown_away() {
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

/// After unplugging in the middle of an enrolment the same line gives the same arm.
#[test]
fn unplugged_enrolment_keeps_its_arm() {
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

/// The enrolment of a terminal that died is finished by the next one.
#[test]
fn next_terminal_takes_over_an_enrolment() {
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

/// A code is enrolled once, also by the next terminal.
#[test]
fn code_is_enrolled_once() {
    let ward = Ward::new(&[]);
    ward.terminal().enrol("P-1", 0).unwrap();
    let again = refused(ward.terminal().enrol("P-1", 1).unwrap_err());
    assert_eq!(again, "patient P-1 is already enrolled, as number 1");
    ward.terminal().outcome(1, 0).unwrap();
    assert!(ward.terminal().enrol("P-1", 1).is_err(), "also after its outcome");
    assert_eq!(ward.device.lock().unwrap().assigned(), 1);
}

/// A number taken by another terminal is not given to this patient.
#[test]
fn number_of_another_terminal_is_not_taken() {
    let ward = Ward::new(&[Fate::Others(2)]);
    let patient = ward.terminal().enrol("P-1", 0).unwrap();
    assert_eq!((patient.number, patient.arm), (3, Arm::Zero));
    assert!(matches!(&ward.events()[2], Event::Refused { patient: 1, .. }));
    // The first copy got lost, another terminal took the number: the device compared the tags and
    // said so.
    let ward = Ward::new(&[Fate::RequestLost, Fate::Others(1)]);
    assert_eq!(ward.terminal().enrol("P-1", 0).unwrap().number, 2);
}

/// An arm that cannot be known any more is called unclear and never guessed.
#[test]
fn unknowable_arm_is_unclear() {
    let ward = Ward::new(&[Fate::LostThenOther]);
    let mut terminal = ward.terminal();
    let why = refused(terminal.enrol("P-1", 0).unwrap_err());
    assert!(why.contains("cannot be known any more"), "{why}");
    assert!(matches!(ward.events().last(), Some(Event::Unclear { patient: 1, .. })));
    assert!(terminal.enrol("P-1", 0).is_err(), "the code stays used");
    assert_eq!(terminal.enrol("P-2", 0).unwrap().number, 3, "others go on");
    let ward = Ward::new(&[Fate::LostThenOtherAndClosed]);
    assert!(ward.terminal().enrol("P-1", 0).is_err());
    assert!(
        matches!(ward.events().last(), Some(Event::Unclear { patient: 1, .. })),
        "{:?}",
        ward.events()
    );
}

/// An enrolment stays pending while the memory of the device fails.
#[test]
fn memory_failure_keeps_the_enrolment() {
    let ward = Ward::new(&[Fate::Faulty]);
    let mut terminal = ward.terminal();
    let why = refused(terminal.enrol("P-1", 2).unwrap_err());
    assert!(why.contains("memory failed"), "{why}");
    assert!(terminal.register().pending().is_some());
    assert_eq!(terminal.resume().unwrap().unwrap().arm, Arm::One, "after power-up");
    assert_eq!(ward.device.lock().unwrap().assigned(), 1);
}

/// An outcome without an answer stays on the list.
#[test]
fn unanswered_outcome_stays_on_the_list() {
    let lost = Fate::RequestLost;
    let ward = Ward::new(&[Fate::Fine, lost, lost, lost, lost]);
    let mut terminal = ward.terminal();
    terminal.enrol("P-1", 0).unwrap();
    assert!(terminal.outcome(1, 1).is_err());
    assert_eq!(terminal.register().waiting().count(), 1);
    terminal.outcome(1, 1).unwrap();
    assert_eq!(terminal.register().waiting().count(), 0);
    assert!(terminal.register().resolved(1).is_some());
}

/// A second outcome, or one after a loss, is not recorded, and the terminal says so.
#[test]
fn second_outcome_changes_nothing() {
    let ward = Ward::new(&[]);
    let mut terminal = ward.terminal();
    terminal.enrol("P-1", 0).unwrap();
    terminal.enrol("P-2", 0).unwrap();
    let recorded = terminal.outcome(1, 1).unwrap();
    assert_eq!((recorded.code.as_deref(), recorded.closed), (Some("P-1"), false));
    terminal.lost(2).unwrap();
    let events = ward.events().len();
    for number in [1, 2] {
        let why = refused(terminal.outcome(number, 0).unwrap_err());
        let time = terminal.register().resolved(number).unwrap().to_owned();
        assert_eq!(why, format!("patient P-{number}: already recorded at {time}; nothing changed"));
        assert!(terminal.lost(number).is_err());
    }
    assert_eq!(ward.device.lock().unwrap().recorded, [(1, Some(1)), (2, None)]);
    assert_eq!(ward.events().len(), events, "nothing is logged as recorded");
}

/// An outcome whose answer was lost reached the device; entering another one does not replace it.
#[test]
fn repeat_after_a_lost_answer_is_told() {
    let ward = Ward::new(&[Fate::Fine, Fate::Unplugged]);
    let mut terminal = ward.terminal();
    terminal.enrol("P-1", 0).unwrap();
    assert!(matches!(terminal.outcome(1, 1), Err(Failure::NoDevice(_))));
    ward.plug_in();
    let why = refused(terminal.outcome(1, 0).unwrap_err());
    assert!(
        why.starts_with("patient P-1: already recorded, by an earlier attempt without an answer"),
        "{why}"
    );
    assert_eq!(terminal.register().waiting().count(), 0, "the patient waits no longer");
    let outcomes = |event: &&Event| matches!(event, Event::Outcome { .. });
    assert_eq!(ward.events().iter().filter(outcomes).count(), 0, "nothing is logged as recorded");
}

/// After the close nothing is sent and nothing is said to be recorded.
#[test]
fn outcome_after_the_close_is_refused() {
    let ward = Ward::new(&[]);
    let mut terminal = ward.terminal();
    terminal.enrol("P-1", 0).unwrap();
    ward.device.lock().unwrap().closed = true;
    let why = refused(terminal.outcome(1, 1).unwrap_err());
    assert!(
        why.starts_with("patient P-1: the trial is closed") && why.ends_with("nothing changed"),
        "{why}"
    );
    assert!(ward.device.lock().unwrap().recorded.is_empty());
}

/// The device keeps the kind it was first asked for; the terminal notices that another one was
/// typed.
#[test]
fn repeat_with_another_kind_is_noticed() {
    let ward = Ward::new(&[Fate::Unplugged]);
    let mut terminal = ward.terminal();
    assert!(terminal.enrol("P-1", 2).is_err());
    ward.plug_in();
    let why = refused(terminal.enrol("P-1", 0).unwrap_err());
    assert_eq!(
        why,
        "patient P-1 was enrolled as \"65 or over, home\", as first asked for, not as \"under 65, home\": number 1, \
         arm 1, Early walking; nothing changed"
    );
    assert_eq!(terminal.register().patient(1).unwrap().feature, 2);
}

/// Codes that differ only in case or blanks are one patient.
#[test]
fn codes_are_compared_without_case() {
    let ward = Ward::new(&[]);
    let mut terminal = ward.terminal();
    terminal.enrol(" P-001 ", 0).unwrap();
    let why = refused(terminal.enrol("p-001", 0).unwrap_err());
    assert_eq!(why, "patient P-001 is already enrolled, as number 1");
    assert_eq!(terminal.register().number("p-001"), Some(1));
}

/// A log of an earlier version that holds both spellings is read, and each is found by its own.
#[test]
fn old_log_with_two_spellings_is_read() {
    let ward = Ward::new(&[]);
    let (mut log, _) = log::Log::open(&ward.log(), "nurse").unwrap();
    for (code, patient) in [("P-1", 1), ("p-1", 2)] {
        let (code, feature_name, arm_name) = (code.to_owned(), String::new(), String::new());
        let answered = format!("ARM {patient} 0");
        log.append(Event::Arm {
            code,
            patient,
            feature: 0,
            feature_name,
            arm: 0,
            arm_name,
            answered,
        })
        .unwrap();
    }
    drop(log);
    let terminal = ward.terminal();
    let number = |code| terminal.register().number(code);
    assert_eq!((number("P-1"), number("p-1"), number("P-2")), (Some(1), Some(2), None));
}

/// A log of another trial or of an erased device is refused.
#[test]
fn log_of_another_trial_is_refused() {
    let ward = Ward::new(&[]);
    let mut terminal = ward.terminal();
    terminal.enrol("P-1", 0).unwrap();
    ward.device.lock().unwrap().patients.clear();
    let erased = terminal.enrol("P-2", 0).unwrap_err().to_string();
    assert!(
        erased.contains("the log knows patient number 1, the device has assigned 0"),
        "{erased}"
    );
    drop(terminal);
    let mut other = TrialFile::example().unwrap();
    other.title = "Another".to_owned();
    let error =
        Bedside::open(ward.client(), other, &ward.log(), "nurse").err().unwrap().to_string();
    assert!(error.contains("is of another trial"), "{error}");
}

/// Errors name what else is on the port.
#[test]
fn other_devices_are_named() {
    let hear = |babble: &'static [u8]| {
        let ward = Ward::new(&[]);
        ward.device.lock().unwrap().babble = Some(babble);
        ward.client().connect().unwrap_err()
    };
    assert_eq!(hear(b""), LinkError::Silent("the bench".to_owned()));
    assert_eq!(
        hear(b"\x80\xfe\x00\xf8\x80\xfe\x00\xf8\x80\xfe"),
        LinkError::Garbage("the bench".to_owned())
    );
    assert!(
        matches!(hear(b"login: \r\npassword:"), LinkError::WrongDevice(_, text) if text.starts_with("login:"))
    );
    assert!(matches!(hear(b"\nHELLO*49D6\n"), LinkError::WrongDevice(..)), "an echo is no device");
    let ward = Ward::new(&[]);
    ward.device.lock().unwrap().unplugged = true;
    assert!(matches!(ward.client().connect(), Err(LinkError::Gone(..))));
    let missing =
        equipoise::host::terminal::link::open(Path::new("/dev/nothing-here")).err().unwrap();
    assert_eq!(missing, LinkError::Missing("/dev/nothing-here".to_owned()));
}

/// Notes and operators are lines of the log; a past arm is found by its code, after its outcome
/// too.
#[test]
fn notes_operators_and_past_arms() {
    let ward = Ward::new(&[]);
    let mut terminal = ward.terminal();
    terminal.enrol("P-1", 0).unwrap();
    terminal.outcome(1, 1).unwrap();
    terminal.switch_operator("AB").unwrap();
    terminal.write_note(1, NoteKind::Withdrawal, "moved away").unwrap();
    assert!(terminal.write_note(7, NoteKind::Other, "who").is_err());
    assert!(
        terminal.switch_operator("a\u{1b}").is_err()
            && terminal.write_note(1, NoteKind::Other, "\u{202e}").is_err()
    );
    assert_eq!(terminal.find("p-1").unwrap().arm, Arm::One);
    assert!(terminal.find("P-2").is_err());
    drop(terminal);
    let entries = log::verify(&ward.log(), None).unwrap().1;
    let last = entries.last().unwrap();
    assert!(
        matches!(&last.event, Event::Note { patient: 1, kind: NoteKind::Withdrawal, .. }),
        "{last:?}"
    );
    assert_eq!(last.operator, "AB");
    assert_eq!(ward.terminal().register().notes(1).len(), 1);
}

/// A log is of one trial: on another device, or after an erasure, every request is refused and
/// nothing is sent.
#[test]
fn log_keeps_to_its_device() {
    let ward = Ward::new(&[]);
    let mut terminal = ward.terminal();
    terminal.enrol("P-1", 0).unwrap();
    let first = ward.events().remove(0);
    assert!(
        matches!(first, Event::Opened { trial: Some(id), file: Some(_), .. } if id == "0000000000000000")
    );
    let requests = ward.requests().len();
    ward.device.lock().unwrap().id = 9;
    for result in [
        terminal.enrol("P-2", 0).map(drop),
        terminal.outcome(1, 1).map(drop),
        terminal.lost(1).map(drop),
    ] {
        let why = result.unwrap_err().to_string();
        assert!(
            why.contains("is of trial 0000000000000000, the device holds trial 0909090909090909"),
            "{why}"
        );
    }
    assert_eq!(ward.requests().len(), requests, "nothing was sent");
}

/// A log of an earlier version is read, is refused until a person ties it, and is tied for good.
#[test]
fn old_log_is_tied_after_a_question() {
    let ward = Ward::new(&[]);
    let trial = TrialFile::example().unwrap();
    let (mut log, _) = log::Log::open(&ward.log(), "nurse").unwrap();
    let (title, plan) = (trial.title.clone(), trial.plan.to_string());
    log.append(Event::Opened { title, plan, trial: None, file: None }).unwrap();
    drop(log);
    let mut terminal = ward.terminal();
    assert!(terminal.is_untied());
    let why = terminal.enrol("P-1", 0).unwrap_err().to_string();
    assert!(why.contains("begun by an earlier version") && why.contains("--tie-log"), "{why}");
    assert!(ward.requests().is_empty());
    assert!(terminal.tie_question().unwrap().contains("Is this the log of this device?"));
    terminal.tie().unwrap();
    terminal.enrol("P-1", 0).unwrap();
    drop(terminal);
    ward.device.lock().unwrap().id = 9;
    let mut terminal = ward.terminal();
    assert!(!terminal.is_untied());
    assert!(
        terminal.enrol("P-2", 0).unwrap_err().to_string().contains("is of trial 0000000000000000")
    );
}

/// A device without room for another waiting patient is not asked, and nothing is logged.
#[test]
fn full_waiting_table_is_refused_at_once() {
    let ward = Ward::new(&[]);
    let mut terminal = ward.terminal();
    terminal.enrol("P-1", 0).unwrap();
    ward.device.lock().unwrap().no_room = true;
    let events = ward.events().len();
    let why = refused(terminal.enrol("P-2", 0).unwrap_err());
    assert!(
        why.starts_with("1 patients wait for their outcome, and the device has room for 1"),
        "{why}"
    );
    assert_eq!(ward.events().len(), events);
}
