//! Codes, logs, notes and other devices.

use super::*;

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
    let missing = equipoise_ward::line::link::open(Path::new("/dev/nothing-here")).err().unwrap();
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
    terminal.write_note(1, NoteKind::Withdrawn, "moved away", None).unwrap();
    assert!(terminal.write_note(7, NoteKind::Other, "who", None).is_err());
    assert!(
        terminal.switch_operator("a\u{1b}").is_err()
            && terminal.write_note(1, NoteKind::Other, "\u{202e}", None).is_err()
    );
    assert_eq!(terminal.find("p-1").unwrap().given, Treatment::Arm(Arm::One));
    assert!(terminal.find("P-2").is_err());
    drop(terminal);
    let entries = log::verify(&ward.log(), None).unwrap().1;
    let last = entries.last().unwrap();
    assert!(
        matches!(&last.event, Event::Note { patient: 1, kind: NoteKind::Withdrawn, .. }),
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
    assert!(matches!(first, Event::Opened { trial: id, .. } if id == "0000000000000000"));
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

/// A log of version 1 is refused by its name before anything is sent, and stays as it is.
#[test]
fn log_of_version_1_is_refused_by_name() {
    let ward = Ward::new(&[]);
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/log-1.jsonl");
    std::fs::copy(golden, ward.log()).unwrap();
    std::fs::copy(format!("{golden}.head"), log::head_path(&ward.log())).unwrap();
    let opened = Bedside::open(ward.client(), TrialFile::example().unwrap(), &ward.log(), "nurse");
    let why = opened.err().unwrap().to_string();
    assert!(why.starts_with("the log is of version 1, as equipoise 0.1 and 0.2 write it"), "{why}");
    assert_eq!(std::fs::read(golden).unwrap(), std::fs::read(ward.log()).unwrap());
    assert!(ward.requests().is_empty());
    let verified = log::verify(&ward.log(), None).unwrap_err();
    assert!(matches!(verified, log::LogError::Earlier), "{verified}");
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
