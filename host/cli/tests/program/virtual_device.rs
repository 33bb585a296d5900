//! `equipoise device` as a process: killed at any moment it loses nothing that it answered; lines
//! and locks behave.

mod private;

use crate::common::ward::PROGRAM;
use equipoise::testkit::desk;

use std::fs::Permissions;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use desk::{KEY, sealed};
use equipoise::testkit::order;
use equipoise::wire::{Reply, Request};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rustix::process::{Pid, Signal, kill_process};

const KILLS: u32 = 200;

/// A running device; killed when dropped.
struct DeviceProcess {
    child: Child,
    /// Path of its line, as it printed it.
    path: String,
}

impl DeviceProcess {
    fn start(flash: &Path, line: &[&str]) -> Self {
        let mut command = Command::new(PROGRAM);
        command.arg("device").arg("--flash").arg(flash).args(line);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut path = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut path).unwrap();
        Self { child, path: path.trim_end().to_string() }
    }

    /// Tells it to end, and waits for its exit code.
    fn tell(&mut self, signal: Signal) -> Option<i32> {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
        self.child.wait().unwrap().code()
    }
}

impl Drop for DeviceProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends a line and waits for one line back; `None` when the other side is gone.
fn ask(line: &mut BufReader<impl Read + Write>, request: &str) -> Option<String> {
    writeln!(line.get_mut(), "{}", sealed(request)).ok()?;
    let mut reply = String::new();
    line.read_line(&mut reply).ok()?;
    let reply = reply.strip_suffix('\n')?;
    assert!(Reply::parse(reply.as_bytes()).is_ok(), "{reply}");
    reply.split('*').next().map(str::to_string)
}

/// A terminal's notebook: what the device has answered.
#[derive(Default)]
struct Notebook {
    assigned: u32,
    resolved: u32,
    last_arm: String,
    /// Sent, not yet answered.
    pending: Option<Request>,
    answers: u32,
}

impl Notebook {
    fn assign(patient: u32) -> Request {
        let tag = Some(equipoise::wire::Tag(patient.wrapping_mul(0x9E37_79B9)));
        Request::Assign { patient, feature: patient % 4, tag }
    }

    fn next(&self) -> Request {
        let waiting = self.assigned - self.resolved;
        let patient = self.resolved + 1;
        match waiting {
            0..40 => Self::assign(self.assigned + 1),
            _ if patient.is_multiple_of(5) => Request::Lost { patient },
            _ => Request::Outcome { patient, y: patient % 2 },
        }
    }

    fn note(&mut self, request: &Request, reply: &str) {
        match request {
            Request::Assign { patient, .. } => {
                assert!(reply.starts_with(&format!("ARM {patient} ")), "{request}: {reply}");
                (self.assigned, self.last_arm) = (*patient, reply.to_string());
            }
            Request::Outcome { patient, .. } | Request::Lost { patient } => {
                assert_eq!(reply, format!("OK {patient}"), "{request}");
                self.resolved = *patient;
            }
            other => panic!("{other}"),
        }
        self.answers += 1;
    }

    /// Everything that was answered is there, and at most the one request that was not.
    fn check(&self, line: &mut BufReader<UnixStream>) -> Option<()> {
        let status = ask(line, "STATUS")?;
        let count = |key: &str| {
            let word = status.split(' ').find_map(|word| word.strip_prefix(key)).unwrap();
            word.parse::<u32>().unwrap()
        };
        let (assigned, resolved) = (count("assigned="), count("resolved="));
        let (mut assigned_or, mut resolved_or) = (self.assigned, self.resolved);
        match self.pending {
            Some(Request::Assign { .. }) => assigned_or += 1,
            Some(_) => resolved_or += 1,
            None => {}
        }
        assert!(
            [self.assigned, assigned_or].contains(&assigned),
            "{status}, answered {}",
            self.assigned
        );
        assert!(
            [self.resolved, resolved_or].contains(&resolved),
            "{status}, answered {}",
            self.resolved
        );
        if assigned == self.assigned && assigned > 0 {
            let again = ask(line, &Self::assign(assigned).to_string())?;
            assert_eq!(again, self.last_arm, "another arm after the kill");
        }
        Some(())
    }

    /// Works until the device is gone or has given so many answers.
    fn work(&mut self, line: &mut BufReader<UnixStream>, until: u32) -> Option<()> {
        self.check(line)?;
        while self.answers < until {
            let request = self.pending.take().unwrap_or_else(|| self.next());
            self.pending = Some(request.clone());
            let reply = ask(line, &request.to_string())?;
            self.pending = None;
            self.note(&request, &reply);
        }
        Some(())
    }
}

fn connect(board: &DeviceProcess) -> BufReader<UnixStream> {
    BufReader::new(UnixStream::connect(&board.path).unwrap())
}

/// Starts a device on standard input, says `HELLO` and gives the time it took to answer, counted
/// from the moment its flash file was there.
fn time_to_answer(flash: &Path, child: &mut Child) -> Duration {
    let made = wait_for(flash);
    writeln!(child.stdin.as_mut().unwrap(), "{}", sealed("HELLO")).unwrap();
    let mut reply = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut reply).unwrap();
    assert!(reply.contains(" blank "), "{reply}");
    made.elapsed()
}

/// The moment at which a file is there.
fn wait_for(file: &Path) -> Instant {
    let begin = Instant::now();
    while !file.exists() {
        assert!(begin.elapsed() < Duration::from_secs(30), "no {}", file.display());
        std::thread::yield_now();
    }
    Instant::now()
}

/// Killed in its first start, and again in the next one, the device ends up blank.
#[test]
fn killed_first_start_ends_blank() {
    const KILLS: u32 = 60;
    let place = tempfile::tempdir().unwrap();
    let start = |flash: &Path| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_equipoise"));
        command.args(["device", "--stdio", "--flash"]).arg(flash);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap()
    };
    let kill = |mut child: Child| {
        child.kill().unwrap();
        child.wait().unwrap();
    };
    let first = place.path().join("first");
    let mut child = start(&first);
    let time = time_to_answer(&first, &mut child);
    kill(child);
    let mut chance = Xoshiro256PlusPlus::seed_from_u64(5);
    let mut moment = || time.mul_f64(f64::from(chance.next_u32()) / f64::from(u32::MAX));
    let mut cut = 0;
    for number in 0..KILLS {
        let flash = place.path().join(number.to_string());
        for _ in 0..=number % 2 {
            let child = start(&flash);
            wait_for(&flash);
            std::thread::sleep(moment());
            kill(child);
        }
        // A first start has ended with the first page that says so: bit 30 of its second word.
        let bytes = std::fs::read(&flash).unwrap();
        let opened = || bytes.chunks(4096).filter(|page| page[..4] != [0xff; 4]);
        cut += u32::from(opened().count() > 0 && opened().all(|page| page[7] & 0x40 != 0));
        let mut child = start(&flash);
        time_to_answer(&flash, &mut child);
        kill(child);
    }
    println!("{KILLS} killed first starts, {cut} of them between their first page and their last");
    assert!(cut > 0, "no first start was cut");
}

/// Killed 200 times under load, the device loses nothing that it answered.
#[test]
fn kills_lose_no_answer() {
    let place = tempfile::tempdir().unwrap();
    let (flash, socket) = (place.path().join("flash"), place.path().join("socket"));
    let line = ["--socket", socket.to_str().unwrap()];
    {
        let board = DeviceProcess::start(&flash, &line);
        let mut line = connect(&board);
        assert_eq!(ask(&mut line, &Request::Key(KEY).to_string()).unwrap(), "OK");
        let plan = "PLAN features=4 patients=100000 better=high epsilon=1";
        let planned = order(KEY, plan, |request| ask(&mut line, request).unwrap());
        assert!(planned.starts_with("OK trial="), "{planned}");
    }
    let mut chance = Xoshiro256PlusPlus::seed_from_u64(3);
    let mut notebook = Notebook::default();
    let mut in_flight = 0;
    for kill in 0..KILLS {
        let mut board = DeviceProcess::start(&flash, &line);
        let mut line = connect(&board);
        let moment = Duration::from_micros(u64::from(chance.next_u32() % 100_000));
        let work = std::thread::spawn(move || {
            let lasted = notebook.work(&mut line, u32::MAX);
            (notebook, lasted)
        });
        std::thread::sleep(moment);
        board.child.kill().unwrap();
        board.child.wait().unwrap();
        let (after, lasted) = work.join().unwrap();
        assert!(lasted.is_none(), "kill {kill} came too late");
        notebook = after;
        in_flight += u32::from(notebook.pending.is_some());
    }
    println!(
        "{KILLS} kills, {in_flight} of them with a request under way; {} answers, {} patients, none lost",
        notebook.answers, notebook.assigned
    );
    assert!(in_flight > KILLS / 2 && notebook.assigned > KILLS, "there was no load worth the name");

    let board = DeviceProcess::start(&flash, &line);
    let mut line = connect(&board);
    let answers = notebook.answers;
    notebook.work(&mut line, answers + 20).unwrap();
    assert_eq!(order(KEY, "CLOSE", |request| ask(&mut line, request).unwrap()), "OK");
    assert!(ask(&mut line, "STATUS").unwrap().contains("phase=closed"));
}

/// A second process on the same flash gets a clear error.
#[test]
fn a_flash_serves_one_process() {
    let place = tempfile::tempdir().unwrap();
    let (flash, socket) = (place.path().join("flash"), place.path().join("socket"));
    let _first = DeviceProcess::start(&flash, &["--socket", socket.to_str().unwrap()]);
    let second = Command::new(PROGRAM)
        .args(["device", "--stdio", "--flash"])
        .arg(&flash)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert_eq!(second.status.code(), Some(3));
    let message = String::from_utf8(second.stderr).unwrap();
    assert!(message.contains("is in use by another device"), "{message}");
    assert!(second.stdout.is_empty());
}

/// A pseudo-terminal serves one terminal after another, and its link goes with it.
#[test]
fn a_pseudo_terminal_serves_in_turn() {
    let place = tempfile::tempdir().unwrap();
    let (flash, link) = (place.path().join("flash"), place.path().join("line"));
    std::os::unix::fs::symlink("/nowhere/at/all", &link).unwrap();
    let mut board = DeviceProcess::start(&flash, &["--pty", "--link", link.to_str().unwrap()]);
    assert_eq!(
        std::fs::read_link(&link).unwrap().to_str(),
        Some(board.path.as_str()),
        "a stale link is replaced"
    );
    for _ in 0..3 {
        let terminal = std::fs::OpenOptions::new().read(true).write(true).open(&link).unwrap();
        let hello = ask(&mut BufReader::new(terminal), "HELLO");
        assert_eq!(
            hello.as_deref(),
            Some("HELLO equipoise 3 0.2.0 blank key=none left=100.000000 restart=power")
        );
    }
    assert_eq!(board.tell(Signal::TERM), Some(0));
    assert!(std::fs::symlink_metadata(&link).is_err(), "the link is taken away");
}

/// A socket serves one terminal after another, and half a line is forgotten.
#[test]
fn a_socket_serves_in_turn() {
    let place = tempfile::tempdir().unwrap();
    let (flash, socket) = (place.path().join("flash"), place.path().join("socket"));
    let line = ["--socket", socket.to_str().unwrap()];
    let mut board = DeviceProcess::start(&flash, &line);
    for _ in 0..3 {
        let mut line = connect(&board);
        assert!(ask(&mut line, "HELLO").unwrap().starts_with("HELLO equipoise"));
        line.get_mut().write_all(b"HEL").unwrap();
    }
    board.child.kill().unwrap();
    board.child.wait().unwrap();
    assert!(socket.exists(), "a killed device leaves its socket behind");
    let mut board = DeviceProcess::start(&flash, &line);
    assert!(ask(&mut connect(&board), "HELLO").unwrap().starts_with("HELLO equipoise"));
    assert_eq!(board.tell(Signal::INT), Some(0));
    assert!(!socket.exists(), "one that is told to end does not");
}

/// Standard input and output carry the line, and the end of input ends the device.
#[test]
fn standard_input_and_output_carry_the_line() {
    let place = tempfile::tempdir().unwrap();
    let mut child = Command::new(PROGRAM)
        .args(["device", "--stdio", "--flash"])
        .arg(place.path().join("flash"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"HELLO\r\nSTATUS\nHEL").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(
        text,
        "HELLO equipoise 3 0.2.0 blank key=none left=100.000000 restart=power*6FED\nERR blank re=STATUS*E265\n"
    );
}
