//! The log finds every change.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use equipoise_ward::records::log::{self, Entry, Event, Head, Log, LogError};

fn event(patient: u32) -> Event {
    let code = format!("P-{patient:03}");
    match patient % 4 {
        0 => Event::Lost { code, patient, answered: format!("OK {patient}"), rose: true },
        1 => Event::Enrol {
            code,
            patient,
            feature: 2,
            feature_name: "65 or over, \"home\"".to_owned(),
            tag: "0badcafe".to_owned(),
            asked: format!("ASSIGN {patient} 2 0badcafe"),
            looks: 0,
        },
        2 => Event::Outcome { code, patient, answered: format!("OK {patient}"), rose: true },
        _ => Event::Custodian { asked: "CLOSE".to_owned(), answered: "OK".to_owned() },
    }
}

/// Opens a log. A process that another test starts holds its lock until it runs, for a moment.
fn open(path: &Path, operator: &str) -> Result<(Log, Vec<Entry>), LogError> {
    let end = Instant::now() + Duration::from_secs(10);
    loop {
        match Log::open(path, operator) {
            Err(LogError::Busy(_)) if Instant::now() < end => {
                std::thread::sleep(Duration::from_millis(1));
            }
            other => return other,
        }
    }
}

fn hundred_lines(folder: &Path) -> PathBuf {
    let path = folder.join("trial.log");
    let (mut log, _) = open(&path, "nurse").unwrap();
    for patient in 1..=100 {
        log.append(event(patient)).unwrap();
    }
    path
}

fn holds(bytes: &[u8], head: &Head) -> bool {
    log::follow(bytes).and_then(|hashes| log::reaches(&hashes, head)).is_ok()
}

/// Every change of one byte of a hundred lines is found. Requirement W4.
#[test]
fn every_changed_byte_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let path = hundred_lines(folder.path());
    let (head, entries) = log::verify(&path, None).unwrap();
    assert_eq!((head.lines, entries.len()), (100, 100));
    let bytes = fs::read(&path).unwrap();
    let hashes = log::follow(&bytes).unwrap();
    let (mut start, mut changes) = (0, 0);
    for (number, line) in bytes.split_inclusive(|b| *b == b'\n').enumerate() {
        // The lines before a changed one are untouched, so the chain is followed from there.
        let before = if number == 0 { log::GENESIS } else { &hashes[number - 1] };
        let mut rest = bytes[start..].to_vec();
        for place in 0..line.len() {
            for bit in 0..8 {
                rest[place] ^= 1 << bit;
                let found = log::follow_from(before, &rest).is_err();
                assert!(
                    found,
                    "line {}, byte {place}, bit {bit}: a change was not found",
                    number + 1
                );
                rest[place] ^= 1 << bit;
                changes += 1;
            }
        }
        assert_eq!(log::follow_from(before, &rest).unwrap(), hashes[number..]);
        // And once a line from the beginning, with the head.
        let mut all = bytes.clone();
        all[start + line.len() / 2] ^= 1;
        assert!(!holds(&all, &head), "line {}", number + 1);
        start += line.len();
    }
    assert_eq!(changes, bytes.len() * 8);
    assert!(holds(&bytes, &head));
}

/// Every dropped, doubled or swapped line is found, the last one too. Requirement W4.
#[test]
fn dropped_or_moved_lines_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let path = hundred_lines(folder.path());
    let (head, _) = log::verify(&path, None).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let joined = |lines: &[&str]| lines.iter().fold(String::new(), |all, line| all + line + "\n");
    assert!(holds(joined(&lines).as_bytes(), &head));
    for i in 0..lines.len() {
        let mut dropped = lines.clone();
        dropped.remove(i);
        assert!(!holds(joined(&dropped).as_bytes(), &head), "line {} dropped", i + 1);
        let mut doubled = lines.clone();
        doubled.insert(i, lines[i]);
        assert!(!holds(joined(&doubled).as_bytes(), &head), "line {} doubled", i + 1);
        for j in 0..i {
            let mut swapped = lines.clone();
            swapped.swap(i, j);
            assert!(
                !holds(joined(&swapped).as_bytes(), &head),
                "lines {} and {} swapped",
                j + 1,
                i + 1
            );
        }
        assert!(
            !holds(joined(&lines[..i]).as_bytes(), &head),
            "all from line {} on dropped",
            i + 1
        );
    }
}

/// A log without its head is refused, and a noted hash is looked up.
#[test]
fn log_without_its_head_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = hundred_lines(folder.path());
    let (head, _) = log::verify(&path, None).unwrap();
    assert!(log::verify(&path, Some(&head.hash)).is_ok());
    let other = "0".repeat(64);
    assert!(matches!(log::verify(&path, Some(&other)), Err(LogError::NotInChain(h)) if h == other));
    fs::remove_file(log::head_path(&path)).unwrap();
    assert!(matches!(log::verify(&path, None), Err(LogError::NoHead(..))));
    assert!(matches!(open(&path, "nurse"), Err(LogError::NoHead(..))));
}

/// A line torn by a crash is cut off, and the log says so.
#[test]
fn torn_line_is_cut_off_and_noted() {
    let folder = tempfile::tempdir().unwrap();
    let path = hundred_lines(folder.path());
    let whole = fs::read(&path).unwrap();
    fs::write(&path, [&whole[..], b"{\"hash\":\"00"].concat()).unwrap();
    assert!(matches!(log::verify(&path, None), Err(LogError::Torn(101))));
    let (mut log, entries) = open(&path, "nurse").unwrap();
    assert_eq!(entries.last().unwrap().event, Event::Recovered { bytes_cut: 11 });
    log.append(event(102)).unwrap();
    assert_eq!(log::verify(&path, None).unwrap().0.lines, 102);
}

/// A log ahead of its head after a crash is accepted; a shorter one is not.
#[test]
fn log_may_be_ahead_of_its_head() {
    let folder = tempfile::tempdir().unwrap();
    let path = hundred_lines(folder.path());
    let head = fs::read(log::head_path(&path)).unwrap();
    let bytes = fs::read(&path).unwrap();
    let (mut log, _) = open(&path, "nurse").unwrap();
    log.append(event(101)).unwrap();
    drop(log);
    fs::write(log::head_path(&path), head).unwrap();
    assert_eq!(open(&path, "nurse").unwrap().1.len(), 101);
    let cut = bytes[..bytes.len() - 1].iter().rposition(|b| *b == b'\n').unwrap() + 1;
    fs::write(&path, &bytes[..cut]).unwrap();
    assert!(matches!(open(&path, "nurse"), Err(LogError::Shorter { lines: 99, head: 100 })));
}

#[test]
fn a_second_terminal_cannot_open_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let path = hundred_lines(folder.path());
    let first = open(&path, "nurse").unwrap();
    assert!(matches!(Log::open(&path, "other"), Err(LogError::Busy(_))));
    drop(first);
    assert!(open(&path, "other").is_ok());
}

/// A link planted where the next head is written is removed, and not followed.
#[test]
fn the_new_head_follows_no_link() {
    let folder = tempfile::tempdir().unwrap();
    let (path, victim) = (folder.path().join("log.jsonl"), folder.path().join("victim"));
    fs::write(&victim, "mine").unwrap();
    let (mut log, _) = open(&path, "nurse").unwrap();
    let fresh = folder.path().join("log.jsonl.head.new");
    for patient in 1..=4 {
        let _ = fs::remove_file(&fresh);
        symlink(&victim, &fresh).unwrap();
        log.append(event(patient)).unwrap();
        // Nor is a file written to that has got a second name since.
        let copy = folder.path().join(format!("copy {patient}"));
        fs::hard_link(&fresh, &copy).unwrap();
        let held = fs::read(&copy).unwrap();
        log.append(event(patient)).unwrap();
        assert_eq!(fs::read(&copy).unwrap(), held);
    }
    assert_eq!(fs::read(&victim).unwrap(), b"mine");
    assert_eq!(log::verify(&path, None).unwrap().0.lines, 8);
    drop(log);
    assert!(!fresh.exists(), "the spare head is removed at the end");
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// A log or a head that is a link, has a second name, belongs to somebody else or can be written by
/// others is refused by every reader and writer, and left as it is.
#[test]
fn files_others_could_write_are_refused() {
    let is_root = fs::metadata("/proc/self").unwrap().uid() == 0;
    let link = |path: &Path, aside: &Path| {
        fs::rename(path, aside).unwrap();
        symlink(aside, path).unwrap();
    };
    let second_name = |path: &Path, aside: &Path| fs::hard_link(path, aside).unwrap();
    let group = |path: &Path, _: &Path| set_mode(path, 0o620);
    let all = |path: &Path, _: &Path| set_mode(path, 0o602);
    let stranger = |path: &Path, _: &Path| chown(path, Some(12345), None).unwrap();
    type Change<'a> = &'a dyn Fn(&Path, &Path);
    let mut changes: Vec<(&str, Change<'_>)> = vec![
        ("it is a symbolic link", &link),
        ("it has 2 names", &second_name),
        ("it has mode 0620", &group),
        ("it has mode 0602", &all),
    ];
    if is_root {
        changes.push(("it belongs to user 12345", &stranger));
    }
    for (reason, change) in changes {
        for end in ["", ".head"] {
            let folder = tempfile::tempdir().unwrap();
            let path = hundred_lines(folder.path());
            let file = PathBuf::from(format!("{}{end}", path.display()));
            let held = fs::read(&file).unwrap();
            change(&file, &folder.path().join("aside"));
            let opened = open(&path, "nurse").unwrap_err().to_string();
            assert!(opened.contains(reason), "{end}: {opened}");
            let verified = log::verify(&path, None).unwrap_err().to_string();
            assert!(verified.contains(reason), "{end}: {verified}");
            assert_eq!(fs::read(&file).unwrap(), held);
        }
    }
}

/// A link to nothing is not followed either: no log and no head is made where it leads.
#[test]
fn no_log_is_made_through_a_link() {
    for end in ["", ".head"] {
        let folder = tempfile::tempdir().unwrap();
        let (path, away) = (folder.path().join("log.jsonl"), folder.path().join("away"));
        symlink(&away, folder.path().join(format!("log.jsonl{end}"))).unwrap();
        let why = open(&path, "nurse").unwrap_err().to_string();
        assert!(why.contains("it is a symbolic link"), "{end}: {why}");
        assert!(!away.exists());
    }
}

/// A log that others may read is its owner's alone from the next opening on.
#[test]
fn readable_log_becomes_owner_only() {
    let folder = tempfile::tempdir().unwrap();
    let path = hundred_lines(folder.path());
    for file in [path.clone(), log::head_path(&path)] {
        set_mode(&file, 0o644);
    }
    let (mut log, _) = open(&path, "nurse").unwrap();
    log.append(event(101)).unwrap();
    for file in [path.clone(), log::head_path(&path)] {
        assert_eq!(fs::metadata(&file).unwrap().mode() & 0o7777, 0o600, "{}", file.display());
    }
}

/// A log that is moved away or opened to others takes no line until it is back as it was.
#[test]
fn log_that_is_moved_away_takes_no_line() {
    let folder = tempfile::tempdir().unwrap();
    let (path, aside) = (hundred_lines(folder.path()), folder.path().join("aside"));
    let (mut log, _) = open(&path, "nurse").unwrap();
    let mut refused = |reason: &str| {
        let why = log.append(event(101)).unwrap_err().to_string();
        assert!(why.contains(reason), "{why}");
    };
    fs::rename(&path, &aside).unwrap();
    refused("it is gone from its place");
    fs::copy(&aside, &path).unwrap();
    refused("it was replaced by another file");
    fs::rename(&aside, &path).unwrap();
    set_mode(&path, 0o666);
    refused("it has mode 0666");
    set_mode(&path, 0o600);
    log.append(event(101)).unwrap();
    assert_eq!(log::verify(&path, None).unwrap().0.lines, 101);
}

/// Names the log of a test that runs as a process of its own.
const CHILD: &str = "EQUIPOISE_TEST_LOG";

/// This test alone, as a process of its own that works with a log.
fn alone(test: &str, log: &Path) -> Command {
    let mut command = Command::new("sh");
    let line = "ulimit -n 64; exec \"$0\" --exact --nocapture \"$1\"";
    command.args(["-c", line]).arg(std::env::current_exe().unwrap());
    command.arg(format!("log::{test}")).env(CHILD, log);
    command
}

/// A process that is killed at the end.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Lines and heads are written while the program has no descriptor left.
#[test]
fn no_descriptor_is_needed_to_append() {
    let Some(path) = std::env::var_os(CHILD).map(PathBuf::from) else {
        let folder = tempfile::tempdir().unwrap();
        for path in [folder.path().join("new.log"), hundred_lines(folder.path())] {
            assert!(alone("no_descriptor_is_needed_to_append", &path).status().unwrap().success());
            let (head, _) = log::verify(&path, None).unwrap();
            let kept = fs::read_to_string(log::head_path(&path)).unwrap();
            assert!(kept.contains(&format!("{{\"lines\":{},", head.lines)), "{kept}");
        }
        return;
    };
    let (mut log, entries) = open(&path, "nurse").unwrap();
    // A new log gets its first line at once, when it is tied to its trial.
    let begun = entries.len() as u32 + 1;
    log.append(event(begun)).unwrap();
    let mut all = Vec::new();
    let full = loop {
        match fs::File::open("/dev/null") {
            Ok(file) => all.push(file),
            Err(error) => break error,
        }
    };
    assert_eq!(full.raw_os_error(), Some(24), "EMFILE: {full}");
    for patient in begun + 1..begun + 20 {
        log.append(event(patient)).unwrap();
    }
    assert!(fs::File::open("/dev/null").is_err());
}

/// Log and head are whole whenever the terminal is killed, also while others read them.
/// Requirement W5.
#[test]
fn log_and_head_survive_every_kill() {
    if let Some(path) = std::env::var_os(CHILD).map(PathBuf::from) {
        let (mut log, _) = open(&path, "nurse").unwrap();
        loop {
            log.append(event(1)).unwrap();
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let path = hundred_lines(folder.path());
    let mut lines = 100;
    for _ in 0..10 {
        let mut command = alone("log_and_head_survive_every_kill", &path);
        let mut child = Killed(command.stdout(Stdio::null()).spawn().unwrap());
        // Until it has written, and then a different while each time.
        let known = lines;
        while lines < known + 5 {
            assert!(child.0.try_wait().unwrap().is_none(), "the child ended");
            lines = match log::verify(&path, None) {
                Ok((head, _)) => head.lines,
                // The last line is being written.
                Err(LogError::Torn(_)) => lines,
                Err(other) => panic!("{other}"),
            };
        }
        drop(child);
        lines = open(&path, "nurse").unwrap().1.len() as u64;
        assert!(lines > known);
    }
}
