//! The second copy of a log: on both disks, brought up, never overwritten.

use std::fs;
use std::path::{Path, PathBuf};

use equipoise_ward::records::copies::{Copies, MARK, Without};
use equipoise_ward::records::log::{self, Difference, Event, Log, LogError, head_path};

struct Disks {
    folder: tempfile::TempDir,
    copies: Copies,
}

impl Disks {
    fn new(without: Without) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let copies = Copies { folder: folder.path().join("stick"), without };
        let disks = Self { folder, copies };
        disks.plug_in();
        disks
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("ward.jsonl")
    }

    fn copy(&self) -> PathBuf {
        self.copies.log(&self.log())
    }

    fn away(&self) -> PathBuf {
        self.folder.path().join("away")
    }

    fn plug_in(&self) {
        if self.away().exists() {
            fs::rename(self.away(), &self.copies.folder).unwrap();
        } else {
            fs::create_dir(&self.copies.folder).unwrap();
            fs::write(self.copies.folder.join(MARK), "").unwrap();
        }
    }

    fn pull_out(&self) {
        fs::rename(&self.copies.folder, self.away()).unwrap();
    }

    fn open(&self) -> Result<Log, LogError> {
        Log::open_with(&self.log(), "nurse", Some(&self.copies)).map(|(log, _)| log)
    }

    fn same(&self) -> bool {
        let heads = [self.log(), self.copy()].map(|path| fs::read(head_path(&path)).ok());
        let same = difference(&self.log(), &self.copy()).is_none() && heads[0] == heads[1];
        same && log::verify(&self.copy(), None).is_ok()
    }

    fn events(&self) -> Vec<Event> {
        log::verify(&self.log(), None).unwrap().1.into_iter().map(|entry| entry.event).collect()
    }
}

fn difference(log: &Path, copy: &Path) -> Option<Difference> {
    Difference::between(&fs::read(log).unwrap(), &fs::read(copy).unwrap())
}

fn event(id: u32) -> Event {
    Event::WrongPin { id: id.to_string() }
}

/// When a line was appended it is on both disks, with its head; a copy that is new or behind, or
/// whose last line is torn, gets what it lacks. Requirement W25.
#[test]
fn lines_are_on_both_disks() {
    let disks = Disks::new(Without::Stop);
    let mut plain = Log::open(&disks.log(), "nurse").unwrap().0;
    plain.append(event(1)).unwrap();
    drop(plain);
    let mut log = disks.open().unwrap();
    assert!(disks.same(), "a new copy has the lines before it");
    for id in 2..=5 {
        log.append(event(id)).unwrap();
        assert!(disks.same(), "line {id}");
    }
    drop(log);
    let mut plain = Log::open(&disks.log(), "nurse").unwrap().0;
    plain.append(event(6)).unwrap();
    drop(plain);
    assert_eq!(difference(&disks.log(), &disks.copy()), Some(Difference::Behind(6)));
    let half = fs::read(disks.copy()).unwrap();
    fs::write(disks.copy(), [&half[..], b"{\"hash\":\"torn"].concat()).unwrap();
    let mut log = disks.open().unwrap();
    assert!(disks.same(), "brought up, and the torn line cut off");
    log.append(event(7)).unwrap();
    assert!(disks.same());
}

/// Without its copy a log takes no line, keeps nothing of it, and goes on when the copy is back.
#[test]
fn work_stops_without_a_copy() {
    let disks = Disks::new(Without::Stop);
    let mut log = disks.open().unwrap();
    log.append(event(1)).unwrap();
    disks.pull_out();
    for _ in 0..2 {
        let error = log.append(event(2)).unwrap_err().to_string();
        assert!(error.contains("stick is not there") && error.contains("\"stop\""), "{error}");
    }
    assert_eq!(disks.events(), [event(1)]);
    // An empty mount point is not the folder.
    fs::create_dir(&disks.copies.folder).unwrap();
    let error = log.append(event(2)).unwrap_err().to_string();
    assert!(error.contains(MARK), "{error}");
    fs::remove_dir(&disks.copies.folder).unwrap();
    drop(log);
    assert!(matches!(disks.open(), Err(LogError::Copy(..))));
    disks.plug_in();
    disks.open().unwrap().append(event(2)).unwrap();
    assert_eq!(disks.events(), [event(1), event(2)]);
    assert!(disks.same());
}

/// A copy whose file cannot take the line, here because its disk is full, leaves the log as it was.
#[cfg(target_os = "linux")]
#[test]
fn line_that_the_copy_refuses_is_not_kept() {
    let disks = Disks::new(Without::Stop);
    let mut log = disks.open().unwrap();
    log.append(event(1)).unwrap();
    drop(log);
    let before = fs::read(disks.log()).unwrap();
    // A head that is a folder can be neither read nor replaced.
    let head = head_path(&disks.copy());
    fs::remove_file(&head).unwrap();
    fs::create_dir(&head).unwrap();
    assert!(matches!(disks.open(), Err(LogError::Copy(..))));
    assert_eq!(fs::read(disks.log()).unwrap(), before);
    fs::remove_dir(&head).unwrap();
    disks.open().unwrap().append(event(2)).unwrap();
    assert!(disks.same());
}

/// Where a warning is enough work goes on; the log says from where to where it was alone.
#[test]
fn work_goes_on_with_a_warning() {
    let disks = Disks::new(Without::Warn);
    let mut log = disks.open().unwrap();
    log.append(event(1)).unwrap();
    assert_eq!(log.copy_trouble(), None);
    disks.pull_out();
    log.append(event(2)).unwrap();
    assert!(log.copy_trouble().unwrap().contains("stick is not there"));
    log.append(event(3)).unwrap();
    drop(log);
    let mut log = disks.open().unwrap();
    assert!(log.copy_trouble().is_some());
    disks.plug_in();
    log.append(event(4)).unwrap();
    assert_eq!(log.copy_trouble(), None);
    assert!(disks.same());
    log.append(event(5)).unwrap();
    let events = disks.events();
    assert!(matches!(events[2], Event::CopyLost { .. }), "{events:?}");
    let kept = [&events[..2], &events[3..]].concat();
    assert_eq!(kept, [event(1), event(2), event(3), event(4), Event::CopyBack {}, event(5)]);
}

/// A copy with another line, or with more lines than its log, is named and left as it is.
#[test]
fn copies_that_differ_are_left_alone() {
    let disks = Disks::new(Without::Stop);
    let mut log = disks.open().unwrap();
    (1..=3).for_each(|id| drop(log.append(event(id)).unwrap()));
    drop(log);
    let whole = fs::read(disks.log()).unwrap();
    let end = whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    let mut changed = whole.clone();
    changed[end + 80] ^= 1;
    let longer = [&whole[..], &whole[..end]].concat();
    for (copy, what) in [(changed, "line 2 of the log is another"), (longer, "has line 4, and")] {
        fs::write(disks.copy(), &copy).unwrap();
        let error = disks.open().unwrap_err().to_string();
        assert!(error.contains(what), "{error}");
        assert_eq!(fs::read(disks.copy()).unwrap(), copy);
    }
    fs::remove_file(disks.copy()).unwrap();
    fs::remove_file(head_path(&disks.copy())).unwrap();
    drop(disks.open().unwrap());
    assert!(disks.same(), "a new copy is made");
}

/// A folder for copies that is the log's own folder is refused.
#[test]
fn a_log_is_not_its_own_copy() {
    let disks = Disks::new(Without::Stop);
    let copies = Copies { folder: disks.folder.path().to_owned(), without: Without::Stop };
    fs::write(copies.folder.join(MARK), "").unwrap();
    let error = Log::open_with(&disks.log(), "nurse", Some(&copies)).unwrap_err().to_string();
    assert!(error.contains("it is the log itself"), "{error}");
}
