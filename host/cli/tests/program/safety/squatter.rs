//! A squatter: another user's process that waits at the path where the device is expected.
//!
//! It accepts the connection, puts a link to a harmless file in the place of its socket or
//! pseudo-terminal, and then answers as a blank device would. A check of the path comes too late.
//!
//! The squatter is this test binary, started again under the user id [`SQUATTER`]. That takes root,
//! or sudo without a password. Without either [`squatter_gets_nothing`] says so and is left out,
//! unless `EQUIPOISE_SECOND_USER=required` is set, as in CI: then it fails.
//! [`open_line_is_asked_not_path`] needs no second user.

use std::fs::{self, File, Permissions};
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use equipoise_ward::line::client::Client;
use equipoise_ward::line::link::{LinkError, Port};
use equipoise_ward::virtual_board::{Flash, PAGES, VirtualBoard};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::geteuid;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use super::*;

/// The user id of the squatter; nobody needs to have it.
const SQUATTER: u32 = 12_345;
/// Kind of line, its path and the file that the path leads to afterwards, one a line.
const ORDERS: &str = "EQUIPOISE_SQUATTER";

/// How the squatter gets to be another user.
#[derive(Clone, Copy)]
enum Means {
    Root,
    Sudo,
    /// Not at all: it is the user who runs the tests.
    SameUser,
}

impl Means {
    /// The means to be another user; `None` if there are none.
    fn to_be_another() -> Option<Self> {
        let sudo = || Command::new("sudo").args(["-n", "-u", "nobody", "true"]).output();
        if geteuid().is_root() {
            Some(Self::Root)
        } else if sudo().is_ok_and(|output| output.status.success()) {
            Some(Self::Sudo)
        } else {
            leave_out("a second user takes root or sudo without a password");
            None
        }
    }
}

/// Says that a test is left out and why; fails where it must not be.
fn leave_out(why: &str) {
    let required = std::env::var_os("EQUIPOISE_SECOND_USER").is_some();
    assert!(!required, "EQUIPOISE_SECOND_USER is set, but {why}");
    eprintln!("left out: {why}");
}

/// A squatter's process and the folder in which it may work.
struct Squatter {
    child: Child,
    told: BufReader<std::process::ChildStderr>,
    folder: tempfile::TempDir,
}

impl Squatter {
    /// Starts a squatter on a line of this kind. The path will lead to the file `harmless`.
    fn start(means: Means, kind: &str, harmless: &Path) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mode = |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode));
        mode(folder.path(), 0o755).unwrap();
        // A folder like /tmp.
        fs::create_dir(folder.path().join("open")).unwrap();
        mode(&folder.path().join("open"), 0o1777).unwrap();
        // The test binary may lie where another user cannot go.
        let program = folder.path().join("squatter");
        fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
        mode(&program, 0o755).unwrap();
        let port = folder.path().join("open").join("port");
        let orders = format!("{kind}\n{}\n{}", port.display(), harmless.display());
        let mut command = match means {
            Means::Sudo => {
                let mut sudo = Command::new("sudo");
                sudo.args(["-n", "-u", "nobody", "env"]);
                sudo.arg(format!("{ORDERS}={orders}")).arg(&program);
                sudo
            }
            Means::Root | Means::SameUser => Command::new(&program),
        };
        if matches!(means, Means::Root) {
            command.uid(SQUATTER).gid(SQUATTER);
        }
        command.args(["--exact", "safety::squatter::squatter_process", "--ignored", "--nocapture"]);
        command.env(ORDERS, orders).current_dir("/").stdin(Stdio::piped()).stdout(Stdio::null());
        command.stderr(Stdio::piped());
        let mut child = loop {
            match command.spawn() {
                Ok(child) => break child,
                // A process that another test has just started still holds the copy for writing.
                Err(error) if error.kind() == ErrorKind::ExecutableFileBusy => {
                    std::thread::sleep(Duration::from_millis(5));
                }
                Err(error) => panic!("the squatter did not start: {error}"),
            }
        };
        let mut told = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        told.read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n", "the squatter did not start");
        Self { child, told, folder }
    }

    fn port(&self) -> String {
        self.folder.path().join("open").join("port").display().to_string()
    }

    /// Ends it. Its words: `opened` once the line was used, and every byte that arrived.
    fn end(mut self) -> String {
        drop(self.child.stdin.take());
        let mut text = String::new();
        self.told.read_to_string(&mut text).unwrap();
        self.child.wait().unwrap();
        text
    }
}

/// The process of the squatter. Not a test: started by the tests of this file.
#[test]
#[ignore = "the process that other tests start as another user"]
fn squatter_process() {
    let orders = std::env::var(ORDERS).expect("started by another test of this file");
    let mut words = orders.lines().map(Path::new);
    let [kind, path, harmless] = [(); 3].map(|()| words.next().unwrap());
    let swap = || {
        fs::remove_file(path).unwrap();
        symlink(harmless, path).unwrap();
    };
    if kind == Path::new("socket") {
        let listener = UnixListener::bind(path).unwrap();
        fs::set_permissions(path, Permissions::from_mode(0o777)).unwrap();
        eprintln!("ready");
        if !waits(&listener) {
            return;
        }
        let (line, _) = listener.accept().unwrap();
        swap();
        eprintln!("opened");
        answer(File::from(std::os::fd::OwnedFd::from(line)));
    } else {
        let line = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&line).unwrap();
        unlockpt(&line).unwrap();
        let pts = ptsname(&line, Vec::new()).unwrap().into_string().unwrap();
        fs::set_permissions(&pts, Permissions::from_mode(0o666)).unwrap();
        // The first terminal that leaves must not end the line.
        let _kept = File::options().read(true).write(true).open(&pts).unwrap();
        symlink(&pts, path).unwrap();
        eprintln!("ready");
        if waits(&line) {
            swap();
            eprintln!("opened");
            answer(File::from(line));
        }
    }
}

/// Whether something comes before the test ends this process.
fn waits(line: &impl AsFd) -> bool {
    let input = std::io::stdin();
    let mut both = [PollFd::new(line, PollFlags::IN), PollFd::new(&input, PollFlags::IN)];
    poll(&mut both, None).unwrap();
    !both[0].revents().is_empty()
}

/// Answers as a blank device until the line or the test ends, and tells every byte.
fn answer(mut line: File) {
    let mut board: VirtualBoard = VirtualBoard::seeded(Flash::in_memory(PAGES), 3);
    let mut bytes = [0; 4096];
    while waits(&line) {
        let count = line.read(&mut bytes).unwrap_or(0);
        if count == 0 {
            return;
        }
        eprint!("{}", String::from_utf8_lossy(&bytes[..count]));
        let mut replies = Vec::new();
        board.receive(&bytes[..count], &mut replies).unwrap();
        if line.write_all(&replies).is_err() {
            return;
        }
    }
}

/// A ward with a trial file, a key and a copy of the key's digits.
fn ward_with_key() -> (Ward, String) {
    let ward = Ward::new();
    let trial = equipoise_ward::records::trial_file::EXAMPLE;
    fs::write(ward.file("trial.toml"), trial).unwrap();
    assert_eq!(ward.run(&["keygen", "key"]).code, 0);
    let key = fs::read_to_string(ward.file("key")).unwrap().trim().to_owned();
    (ward, key)
}

/// To a line of another user no command sends a single byte, whatever its path leads to: neither
/// key nor proof, patient or outcome. Requirement W18.
#[test]
fn squatter_gets_nothing() {
    let Some(means) = Means::to_be_another() else { return };
    let (ward, key) = ward_with_key();
    let device = ward.device();
    ward.good(&["provision", "trial.toml", "--key-file", "key"]);
    ward.good(&["assign", "P-1", "0", "--trial", "trial.toml", "--log", "log"]);
    drop(device);
    let commands: [&[&str]; 8] = [
        &["provision", "trial.toml", "--key-file", "key"],
        &["close", "--yes", "--key-file", "key"],
        &["erase", "--yes", "--key-file", "key"],
        &["report", "--trial", "trial.toml"],
        &["status"],
        &["assign", "P-2", "0", "--trial", "trial.toml", "--log", "log"],
        &["outcome", "P-1", "yes", "--trial", "trial.toml", "--log", "log"],
        &["lost", "P-1", "--trial", "trial.toml", "--log", "log"],
    ];
    for kind in ["socket", "pseudo-terminal"] {
        for words in commands {
            // The harmless file belongs to the user of the command.
            let squatter = Squatter::start(means, kind, &ward.file("key"));
            let port = squatter.port();
            let done = ward.run(&[words, &["--port", &port]].concat());
            let told = squatter.end();
            assert!(!told.contains(&key), "{kind}: the key arrived by {words:?}: {told}");
            let nothing = if kind == "socket" { "opened\n" } else { "" };
            assert_eq!(told, nothing, "{kind}: something arrived by {words:?}");
            assert_eq!(done.code, 3, "{kind}: {words:?}: {done:?}");
            let why = format!("{port} belongs to user ");
            assert!(done.err.contains(&why) && done.err.contains("nothing was sent"), "{done:?}");
        }
    }
}

/// A key file that another user put there is refused: that user knows the key. Only root could read
/// it.
#[test]
fn key_file_of_another_user_is_refused() {
    let (ward, _) = ward_with_key();
    let _device = ward.device();
    if chown(ward.file("key"), Some(SQUATTER), None).is_err() {
        return leave_out("only root can give a file away");
    }
    let done = ward.on_device(&["provision", "trial.toml", "--key-file", "key"]);
    assert!(done.code == 2 && done.err.contains("belongs to user 12345, allowed"), "{done:?}");
}

/// The client of screen and page, which try again for as long as they run, sends nothing either.
#[test]
fn squatter_hears_nothing_of_a_client() {
    let Some(means) = Means::to_be_another() else { return };
    let ward = Ward::new();
    for kind in ["socket", "pseudo-terminal"] {
        let squatter = Squatter::start(means, kind, ward.path());
        let port = squatter.port();
        let Err(error) = Client::on(Port::Path(port.clone().into())).connect() else {
            panic!("{kind}: another user's device was accepted")
        };
        assert!(matches!(&error, LinkError::Owner(path, _) if *path == port), "{kind}: {error}");
        assert_eq!(squatter.end().trim_start_matches("opened\n"), "", "{kind}");
    }
}

/// The open line is asked whom it belongs to, and not the path: a path that leads elsewhere after
/// the connection changes nothing.
#[test]
fn open_line_is_asked_not_path() {
    let (ward, key) = ward_with_key();
    for kind in ["socket", "pseudo-terminal"] {
        let own = Squatter::start(Means::SameUser, kind, Path::new("/nowhere/at/all"));
        let words = ["provision", "trial.toml", "--key-file", "key", "--port", &own.port()];
        let done = ward.run(&words);
        let told = own.end();
        assert_eq!(done.code, 0, "{kind}: {done:?}");
        assert!(told.contains(&format!("KEY {key}")), "{kind}: {told}");
        fs::remove_dir_all(ward.file("data")).unwrap();
    }
}
