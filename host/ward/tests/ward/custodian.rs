//! The custodian's commands from the host's side, over a line that loses requests and replies.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use equipoise::plan::Plan;
use equipoise::wire::{FileDigest, State, checksum};
use equipoise_ward::failure::Failure;
use equipoise_ward::line::client::{AskError, Client, Source};
use equipoise_ward::line::custodian;
use equipoise_ward::line::link::{Link, LinkError};
use equipoise_ward::records::keys::KeyFile;
use equipoise_ward::virtual_board::{Flash, PAGES, VirtualBoard};

const FILE: FileDigest = FileDigest([7; 8]);

/// Fate of one request.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    Fine,
    RequestLost,
    ReplyLost,
}

/// A board, the requests it was sent, and what is to become of the next ones.
struct Bench {
    board: VirtualBoard,
    requests: Vec<String>,
    fates: VecDeque<Fate>,
}

#[derive(Clone)]
struct Line(Arc<Mutex<Bench>>, Vec<u8>);

impl Line {
    fn blank() -> Self {
        let board = VirtualBoard::seeded(Flash::in_memory(PAGES), 3);
        let bench = Bench { board, requests: Vec::new(), fates: VecDeque::new() };
        Self(Arc::new(Mutex::new(bench)), Vec::new())
    }

    fn client(&self) -> Client {
        let line = self.clone();
        let open = move || Ok(Box::new(line.clone()) as Box<dyn Link>);
        Client::new(Source::Other("the bench".to_owned(), Box::new(open)))
            .with_patience(Duration::from_millis(20))
    }

    /// The request with this number, counted from now, gets this fate.
    fn plan_fate(&self, number: usize, fate: Fate) {
        let mut bench = self.0.lock().unwrap();
        bench.fates = std::iter::repeat_n(Fate::Fine, number).chain([fate]).collect();
        bench.requests.clear();
    }

    fn requests(&self) -> Vec<String> {
        self.0.lock().unwrap().requests.clone()
    }
}

impl Link for Line {
    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut bench = self.0.lock().unwrap();
        for line in bytes.split_inclusive(|byte| *byte == b'\n').filter(|line| line.len() > 1) {
            let fate = bench.fates.pop_front().unwrap_or(Fate::Fine);
            let text = String::from_utf8_lossy(line).split('*').next().unwrap().to_owned();
            bench.requests.push(text);
            let mut reply = Vec::new();
            if fate != Fate::RequestLost {
                bench.board.receive(line, &mut reply)?;
            }
            if fate == Fate::Fine {
                self.1.extend(reply);
            }
        }
        Ok(())
    }

    fn receive(&mut self, buffer: &mut [u8], _: Duration) -> io::Result<usize> {
        let count = buffer.len().min(self.1.len());
        buffer.iter_mut().zip(self.1.drain(..count)).for_each(|(to, from)| *to = from);
        if count == 0 {
            std::thread::sleep(Duration::from_millis(2));
        }
        Ok(count)
    }
}

fn plan() -> Plan {
    Plan::parse("features=2 patients=40 better=high epsilon=1").unwrap()
}

fn key() -> KeyFile {
    let folder = tempfile::tempdir().unwrap();
    KeyFile::generate(&folder.path().join("key")).unwrap()
}

fn provision(line: &Line, key: &KeyFile) -> Result<custodian::Begun, Failure> {
    custodian::provision(&mut line.client(), &plan(), FILE, key)
}

/// Whichever request or reply is lost, a command is carried out once, and no proof is ever counted
/// as wrong.
#[test]
fn commands_survive_a_lost_request_or_reply() {
    for fate in [Fate::RequestLost, Fate::ReplyLost] {
        for number in 1..6 {
            let (line, key) = (Line::blank(), key());
            line.plan_fate(number, fate);
            let begun =
                provision(&line, &key).unwrap_or_else(|error| panic!("{fate:?} {number}: {error}"));
            let trial = line.client().hello().unwrap().trial.unwrap();
            assert_eq!((trial.id, trial.file), (begun.trial, FILE), "{fate:?} {number}");
            let left = line.client().hello().unwrap().custody.unwrap().1;
            assert_eq!(left.to_string(), "99.000000", "charged once");
            for command in [custodian::close, custodian::erase] {
                line.plan_fate(number, fate);
                command(&mut line.client(), &key)
                    .unwrap_or_else(|error| panic!("{fate:?} {number}: {error}"));
            }
            assert_eq!(line.client().hello().unwrap().state, State::Blank);
        }
    }
}

/// With somebody else's key on the device nothing begins, and nothing claims that it did.
#[test]
fn provision_proves_the_key_first() {
    let (line, others, mine) = (Line::blank(), key(), key());
    provision(&line, &others).unwrap();
    custodian::erase(&mut line.client(), &others).unwrap();
    line.plan_fate(0, Fate::Fine);
    let error = provision(&line, &mine).unwrap_err().to_string();
    assert!(error.contains("wrong proof"), "{error}");
    assert!(
        !line.requests().iter().any(|request| request.starts_with("KEY")),
        "{:?}",
        line.requests()
    );
    let hello = line.client().hello().unwrap();
    assert_eq!((hello.state, hello.trial, hello.custody.unwrap().0), (State::Blank, None, true));
    provision(&line, &others).unwrap();
    let error = custodian::close(&mut line.client(), &mine).unwrap_err().to_string();
    assert!(error.contains("wrong proof"), "{error}");
    custodian::close(&mut line.client(), &others).unwrap();
}

/// A nonce is not used if an answer to an earlier copy of its request may still be on its way.
#[test]
fn a_repeated_auth_is_asked_once_more() {
    let (line, key) = (Line::blank(), key());
    provision(&line, &key).unwrap();
    let mut client = line.client();
    client.hello().unwrap();
    line.plan_fate(0, Fate::ReplyLost);
    client.challenge().unwrap();
    let asked = line.requests();
    assert_eq!(asked, ["AUTH", "AUTH", "HELLO", "AUTH"]);
}

/// A device of protocol version 1 is named as such.
struct VersionOne(Vec<u8>);

impl Link for VersionOne {
    fn send(&mut self, _: &[u8]) -> io::Result<()> {
        let hello = "HELLO equipoise 1 0.1.0 running restart=power";
        self.0.extend(format!("{hello}*{:04X}\n", checksum(hello.as_bytes())).bytes());
        Ok(())
    }

    fn receive(&mut self, buffer: &mut [u8], _: Duration) -> io::Result<usize> {
        let count = buffer.len().min(self.0.len());
        buffer.iter_mut().zip(self.0.drain(..count)).for_each(|(to, from)| *to = from);
        if count == 0 {
            std::thread::sleep(Duration::from_millis(2));
        }
        Ok(count)
    }
}

#[test]
fn another_protocol_version_is_named() {
    let open = || Ok(Box::new(VersionOne(Vec::new())) as Box<dyn Link>);
    let mut client = Client::new(Source::Other("the bench".to_owned(), Box::new(open)))
        .with_patience(Duration::from_millis(20));
    let Err(AskError::Link(error)) = client.hello() else {
        panic!("a device of version 1 was accepted")
    };
    assert_eq!(error, LinkError::Protocol("the bench".to_owned(), 1));
    let text = error.to_string();
    assert!(text.contains("protocol 1, this program speaks protocol 3"), "{text}");
}
