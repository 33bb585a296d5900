//! The log finds every change.

use std::fs;
use std::path::{Path, PathBuf};

use equipoise_ward::records::log;
use equipoise_ward::records::log::{Event, Head, Log, LogError};

fn event(patient: u32) -> Event {
    let code = format!("P-{patient:03}");
    match patient % 4 {
        0 => Event::Lost { code, patient, answered: format!("OK {patient}") },
        1 => Event::Enrol {
            code,
            patient,
            feature: 2,
            feature_name: "65 or over, \"home\"".to_owned(),
            tag: "0badcafe".to_owned(),
            asked: format!("ASSIGN {patient} 2 0badcafe"),
        },
        2 => Event::Outcome { code, patient, answered: format!("OK {patient}") },
        _ => Event::Custodian { asked: "CLOSE".to_owned(), answered: "OK".to_owned() },
    }
}

fn hundred_lines(folder: &Path) -> PathBuf {
    let path = folder.join("trial.log");
    let (mut log, _) = Log::open(&path, "nurse").unwrap();
    for patient in 1..=100 {
        log.append(event(patient)).unwrap();
    }
    path
}

fn holds(bytes: &[u8], head: &Head) -> bool {
    log::follow(bytes).and_then(|hashes| log::reaches(&hashes, head)).is_ok()
}

/// Every change of one byte of a hundred lines is found.
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

/// Every dropped, doubled or swapped line is found, the last one too.
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
    assert!(matches!(Log::open(&path, "nurse"), Err(LogError::NoHead(..))));
}

/// A line torn by a crash is cut off, and the log says so.
#[test]
fn torn_line_is_cut_off_and_noted() {
    let folder = tempfile::tempdir().unwrap();
    let path = hundred_lines(folder.path());
    let whole = fs::read(&path).unwrap();
    fs::write(&path, [&whole[..], b"{\"hash\":\"00"].concat()).unwrap();
    assert!(matches!(log::verify(&path, None), Err(LogError::Torn(101))));
    let (mut log, entries) = Log::open(&path, "nurse").unwrap();
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
    let (mut log, _) = Log::open(&path, "nurse").unwrap();
    log.append(event(101)).unwrap();
    drop(log);
    fs::write(log::head_path(&path), head).unwrap();
    assert_eq!(Log::open(&path, "nurse").unwrap().1.len(), 101);
    let cut = bytes[..bytes.len() - 1].iter().rposition(|b| *b == b'\n').unwrap() + 1;
    fs::write(&path, &bytes[..cut]).unwrap();
    assert!(matches!(Log::open(&path, "nurse"), Err(LogError::Shorter { lines: 99, head: 100 })));
}

#[test]
fn a_second_terminal_cannot_open_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let path = hundred_lines(folder.path());
    let open = Log::open(&path, "nurse").unwrap();
    assert!(matches!(Log::open(&path, "other"), Err(LogError::Busy(_))));
    drop(open);
    assert!(Log::open(&path, "other").is_ok());
}

/// A link planted where the next head is written is removed, and not followed.
#[test]
fn the_new_head_follows_no_link() {
    let folder = tempfile::tempdir().unwrap();
    let (path, victim) = (folder.path().join("log.jsonl"), folder.path().join("victim"));
    fs::write(&victim, "mine").unwrap();
    let (mut log, _) = Log::open(&path, "nurse").unwrap();
    std::os::unix::fs::symlink(&victim, folder.path().join("log.jsonl.head.new")).unwrap();
    log.append(event(1)).unwrap();
    assert_eq!(fs::read(&victim).unwrap(), b"mine");
    log::verify(&path, None).unwrap();
}
