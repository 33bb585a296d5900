//! The files of `equipoise device`: which it takes for its flash and its socket, and what it does
//! when they change under it.

use crate::common::ward::PROGRAM;
use equipoise::testkit::desk;

use std::fs::{self, OpenOptions, Permissions};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{FileTypeExt, PermissionsExt, chown, symlink};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use desk::{KEY, sealed};
use equipoise::testkit::order;
use equipoise::wire::Request;
use equipoise_ward::virtual_board::{Flash, VirtualBoard};
use rustix::process::{Pid, Signal, kill_process};

const PAGE: usize = 4096;

/// A device that is to be refused; it must end by itself.
fn refused(flash: &Path) -> String {
    let output = Command::new(PROGRAM)
        .args(["device", "--stdio", "--flash"])
        .arg(flash)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert_eq!((output.status.code(), output.stdout.len()), (Some(3), 0), "{output:?}");
    String::from_utf8(output.stderr).unwrap()
}

fn private_file(path: &Path, bytes: &[u8]) {
    fs::write(path, bytes).unwrap();
    fs::set_permissions(path, Permissions::from_mode(0o600)).unwrap();
}

/// A device on a socket, its standard error kept.
struct DeviceProcess {
    child: Child,
    socket: PathBuf,
}

impl DeviceProcess {
    fn start(folder: &Path, more: &[&str]) -> Self {
        let socket = folder.join("socket");
        let mut command = Command::new(PROGRAM);
        command
            .args(["device", "--flash"])
            .arg(folder.join("flash"))
            .arg("--socket")
            .arg(&socket)
            .args(more);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert!(!line.is_empty(), "the device did not start");
        Self { child, socket }
    }

    fn connect(&self) -> BufReader<UnixStream> {
        BufReader::new(UnixStream::connect(&self.socket).unwrap())
    }

    fn end(mut self) -> Output {
        kill_process(Pid::from_child(&self.child), Signal::TERM).unwrap();
        self.wait()
    }

    /// Waits until it has ended.
    fn wait(&mut self) -> Output {
        let mut stderr = String::new();
        BufReader::new(self.child.stderr.take().unwrap()).read_line(&mut stderr).unwrap();
        Output {
            status: self.child.wait().unwrap(),
            stdout: Vec::new(),
            stderr: stderr.into_bytes(),
        }
    }
}

impl Drop for DeviceProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The reply without checksum; empty if the device is gone.
fn ask(line: &mut BufReader<UnixStream>, request: &str) -> String {
    let mut reply = String::new();
    if writeln!(line.get_mut(), "{}", sealed(request)).is_ok() {
        let _ = line.read_line(&mut reply);
    }
    reply.split('*').next().unwrap_or_default().to_string()
}

/// Everything that is not a private flash file is refused by name, at once, and left as it is.
#[test]
fn other_files_are_refused_by_name() {
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name);
    assert!(Command::new("mkfifo").arg(at("pipe")).status().unwrap().success());
    fs::create_dir(at("folder")).unwrap();
    let blank = vec![0xFF; 8 * PAGE];
    for (name, mode) in [("open", 0o666), ("group", 0o640)] {
        private_file(&at(name), &blank);
        fs::set_permissions(at(name), Permissions::from_mode(mode)).unwrap();
    }
    private_file(&at("text"), &[b'x'; 8192]);
    private_file(&at("long text"), &[b'x'; 8 * PAGE]);
    private_file(&at("twice"), &blank);
    fs::hard_link(at("twice"), at("second name")).unwrap();
    private_file(&at("target"), &blank);
    symlink(at("target"), at("link")).unwrap();
    for (path, reason) in [
        (at("pipe"), "is a pipe; name a regular file"),
        (PathBuf::from("/dev/null"), "is a device; name a regular file"),
        (at("folder"), "is a folder; name a file"),
        (at("open"), "has mode 0666; allowed: 0600"),
        (at("group"), "has mode 0640; allowed: 0600"),
        (at("text"), "has 8192 bytes; allowed: 8 to 64 pages of 4096"),
        (at("long text"), "holds something else than a device's flash"),
        (at("twice"), "has 2 names (hard links); allowed: one"),
        (at("link"), "is a symbolic link; name the file it leads to"),
    ] {
        let message = refused(&path);
        assert!(message.contains(&format!("flash file {} {reason}", path.display())), "{message}");
    }
    assert_eq!(fs::read(at("long text")).unwrap(), [b'x'; 8 * PAGE]);
    assert!(fs::read(at("target")).unwrap() == blank);
}

/// A disk that is full while the flash is made leaves no shortened flash behind.
#[test]
fn a_flash_is_made_whole_or_not_at_all() {
    let place = tempfile::tempdir().unwrap();
    let flash = place.path().join("flash");
    // `ulimit -f` counts blocks of 512 bytes. Without the trap a signal ends the program.
    let script = format!(
        "trap '' XFSZ; ulimit -f 100; exec {PROGRAM} device --stdio --flash {}",
        flash.display()
    );
    let output = Command::new("sh").args(["-c", &script]).stdin(Stdio::null()).output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(message.contains(&format!("flash file {}", flash.display())), "{message}");
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0, "something was left behind");
    let mut command = Command::new(PROGRAM);
    command.args(["device", "--stdio", "--flash"]).arg(&flash).stdin(Stdio::null());
    assert!(command.status().unwrap().success());
    let made = fs::metadata(&flash).unwrap();
    assert_eq!((made.len(), made.permissions().mode() & 0o7777), (64 * PAGE as u64, 0o600));
}

/// A device whose file is unlinked, replaced, shortened or opened to others gives no further
/// answer.
#[test]
fn a_changed_flash_file_stops_answers() {
    type Change = fn(&Path);
    let changes: [(&str, Change); 5] = [
        ("is gone from its place", |flash| fs::remove_file(flash).unwrap()),
        ("was replaced by another file", |flash| {
            private_file(&flash.with_extension("copy"), &fs::read(flash).unwrap());
            fs::rename(flash.with_extension("copy"), flash).unwrap();
        }),
        ("bytes; it had 262144 when it was opened", |flash| {
            OpenOptions::new().write(true).open(flash).unwrap().set_len(8192).unwrap();
        }),
        ("has mode 0644", |flash| {
            fs::set_permissions(flash, Permissions::from_mode(0o644)).unwrap()
        }),
        ("has 2 names", |flash| fs::hard_link(flash, flash.with_extension("copy")).unwrap()),
    ];
    for (reason, change) in changes {
        stops(reason, change);
    }
}

/// After this change of its flash file a device gives no answer but this reason, and ends.
fn stops(reason: &str, change: impl Fn(&Path)) {
    let place = tempfile::tempdir().unwrap();
    let mut board = DeviceProcess::start(place.path(), &[]);
    let mut line = board.connect();
    assert!(ask(&mut line, "HELLO").starts_with("HELLO equipoise"));
    change(&place.path().join("flash"));
    assert_eq!(ask(&mut line, &Request::Key(KEY).to_string()), "", "{reason}");
    let output = board.wait();
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(3), "{message}");
    assert!(message.contains("the flash file ") && message.contains(reason), "{message}");
}

/// A flash file of another user is refused, and one that is given away stops the answers. Only root
/// can give a file away; for others there is nothing to test.
#[test]
fn a_flash_file_of_another_user_is_refused() {
    let place = tempfile::tempdir().unwrap();
    let flash = place.path().join("flash");
    private_file(&flash, &[0xFF; 8 * PAGE]);
    let give_away = |flash: &Path| chown(flash, Some(12_345), None);
    if give_away(&flash).is_ok() {
        let message = refused(&flash);
        assert!(message.contains("belongs to user 12345; it must belong to user 0"), "{message}");
        stops("belongs to user 12345", |flash| give_away(flash).unwrap());
    }
}

/// Idle time does not lengthen a flash file that was shortened: the next request would not notice.
#[test]
fn idle_time_leaves_a_shortened_flash_alone() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("flash");
    let mut board = VirtualBoard::<64, 4096>::seeded(Flash::in_file(&path, 64).unwrap(), 1);
    assert!(board.ask(&sealed("HELLO")).starts_with("HELLO equipoise"));
    let shorten = |pages: usize| {
        let file = OpenOptions::new().write(true).open(&path).unwrap();
        file.set_len((pages * PAGE) as u64).unwrap();
    };
    shorten(2);
    board.run_until_idle();
    assert_eq!(fs::metadata(&path).unwrap().len(), 2 * PAGE as u64);
    let refused = board.ask(&sealed("HELLO"));
    assert!(refused.contains("has 8192 bytes; it had 262144"), "{refused}");
}

/// A plan for which the flash is too small is refused at once, with the number of pages that would
/// do, and the device goes on. With so many pages the plan is taken, and the trial runs.
#[test]
fn a_plan_too_large_for_the_flash_is_refused() {
    const NEEDED: u32 = 50;
    for pages in (20..=26).chain([NEEDED - 1, NEEDED]) {
        let place = tempfile::tempdir().unwrap();
        let board = DeviceProcess::start(place.path(), &["--pages", &pages.to_string()]);
        let mut line = board.connect();
        assert_eq!(ask(&mut line, &Request::Key(KEY).to_string()), "OK");
        let planned = order(KEY, "PLAN features=4 patients=100 better=high epsilon=1", |request| {
            ask(&mut line, request)
        });
        if pages < NEEDED {
            let refusal = format!("ERR range re=PLAN flash pages={pages} allowed {NEEDED} or more");
            assert!(planned.starts_with(&refusal), "{planned}");
            assert!(ask(&mut line, "STATUS").starts_with("ERR blank"));
            continue;
        }
        assert!(planned.starts_with("OK trial="), "{planned}");
        // A look falls behind patient 50.
        for patient in 1..=60 {
            let assign = format!("ASSIGN {patient} {} {patient:08x}", patient % 4);
            assert!(ask(&mut line, &assign).starts_with("ARM "), "{pages} pages");
            assert_eq!(ask(&mut line, &format!("OUTCOME {patient} 1")), format!("OK {patient}"));
        }
        assert!(ask(&mut line, "STATUS").contains(" assigned=60 "), "{pages} pages");
    }
}

/// A flash of more pages than a journal can have is a usage error that names what is allowed.
#[test]
fn too_many_pages_are_a_usage_error() {
    let place = tempfile::tempdir().unwrap();
    for pages in ["7", "65", "256", "1024"] {
        let output = Command::new(PROGRAM)
            .args(["device", "--stdio", "--pages", pages, "--flash"])
            .arg(place.path().join("flash"))
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains(pages) && message.contains("8..=64"), "{message}");
    }
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
}

/// Nobody else can use the socket, and at the end another's socket is left alone.
#[test]
fn socket_is_private_and_removed_by_owner() {
    let place = tempfile::tempdir().unwrap();
    let board = DeviceProcess::start(place.path(), &[]);
    let socket = board.socket.clone();
    let found = fs::symlink_metadata(&socket).unwrap();
    assert!(found.file_type().is_socket());
    assert_eq!(found.permissions().mode() & 0o7777, 0o600);
    fs::remove_file(&socket).unwrap();
    let _other = UnixListener::bind(&socket).unwrap();
    assert_eq!(board.end().status.code(), Some(0));
    assert!(socket.exists(), "another's socket was removed");

    let open = place.path().join("open");
    fs::create_dir(&open).unwrap();
    fs::set_permissions(&open, Permissions::from_mode(0o777)).unwrap();
    let output = Command::new(PROGRAM)
        .args(["device", "--flash"])
        .arg(place.path().join("flash"))
        .arg("--socket")
        .arg(open.join("socket"))
        .output()
        .unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(3), "{message}");
    assert!(message.contains("others can write to its folder"), "{message}");
}

/// A terminal that holds the line without a word makes way for the next.
#[test]
fn a_silent_terminal_makes_way() {
    let place = tempfile::tempdir().unwrap();
    let board = DeviceProcess::start(place.path(), &[]);
    let mut silent = board.connect();
    silent.get_mut().write_all(b"HEL").unwrap();
    let mut other = board.connect();
    assert!(ask(&mut other, "HELLO").starts_with("HELLO equipoise"));
    assert_eq!(ask(&mut silent, "HELLO"), "", "the line was taken from it");
}

/// Tags cannot be guessed faster than on a board: 20 ms a guess, also where many come in one write.
#[test]
fn guessing_tags_takes_20_ms_each() {
    const GUESSES: u32 = 40;
    let place = tempfile::tempdir().unwrap();
    let board = DeviceProcess::start(place.path(), &[]);
    let mut line = board.connect();
    assert_eq!(ask(&mut line, &Request::Key(KEY).to_string()), "OK");
    let planned = order(KEY, "PLAN features=1 patients=100 better=high epsilon=1", |request| {
        ask(&mut line, request)
    });
    assert!(planned.starts_with("OK trial="), "{planned}");
    assert!(ask(&mut line, "ASSIGN 1 0 00000001").starts_with("ARM 1 "));
    let begin = Instant::now();
    let guesses: String =
        (2..2 + GUESSES).map(|tag| sealed(&format!("ASSIGN 1 0 {tag:08x}")) + "\n").collect();
    line.get_mut().write_all(guesses.as_bytes()).unwrap();
    for _ in 0..GUESSES {
        let mut reply = String::new();
        line.read_line(&mut reply).unwrap();
        assert!(reply.starts_with("ERR order"), "{reply}");
    }
    assert!(begin.elapsed() >= GUESSES * Duration::from_millis(20));
}
