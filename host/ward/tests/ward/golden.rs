//! Files of the ward as released versions wrote them: added to, never edited.

use equipoise_ward::records::log::{self, Event};
use equipoise_ward::records::register::Register;
use equipoise_ward::records::resolution::Ending;

/// A log of version 2 is read to its last field, and who did what is known from it.
#[test]
fn log_of_version_2_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/log-2.jsonl");
    let path = folder.path().join("log.jsonl");
    std::fs::copy(golden, &path).unwrap();
    std::fs::copy(format!("{golden}.head"), log::head_path(&path)).unwrap();
    let (head, entries) = log::verify(&path, None).unwrap();
    assert_eq!(head.lines, 11);
    let register = Register::read(&entries);
    let patient = register.patient(1).unwrap();
    assert_eq!((patient.code.as_str(), patient.operator.as_str()), ("P-1", "ab Anna Berg"));
    let lost = register.resolved(1).unwrap();
    assert_eq!((lost.ending, lost.operator.as_str()), (Ending::Lost, "ab Anna Berg"));
    assert_eq!(register.excluded(), ["no consent"]);
    assert!(register.is_eligible("p-1"));
    let signed = entries[9].signed.as_ref().unwrap();
    assert_eq!(signed.meaning, "declared lost the outcome of");
    // What is written today has these very bytes.
    for (entry, line) in entries.iter().zip(std::fs::read_to_string(golden).unwrap().lines()) {
        let body = serde_json::to_string(entry).unwrap();
        assert!(line.ends_with(body.strip_prefix('{').unwrap()), "{line}\n{body}");
    }
    assert!(matches!(entries[1].event, Event::WrongPin { .. }));
    assert!(matches!(entries[8].event, Event::Asked { patient: 1, looks: 0, .. }));
}
