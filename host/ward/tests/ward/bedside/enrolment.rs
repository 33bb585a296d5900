//! Enrolment over a line that loses, garbles and breaks.

use super::*;

/// A lost or garbled line is sent again byte for byte, and assigns once.
#[test]
fn lost_line_is_sent_again_unchanged() {
    for fate in [Fate::RequestLost, Fate::ReplyLost, Fate::ReplyGarbled] {
        let ward = Ward::new(&[fate, fate]);
        let patient = ward.terminal().enrol("P-1", 2).unwrap();
        assert_eq!((patient.number, patient.given), (1, Treatment::Arm(Arm::One)), "{fate:?}");
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
    assert_eq!(terminal.enrol("P-1", 0).unwrap().given, Treatment::Arm(Arm::One));
    assert_eq!(terminal.enrol("P-2", 0).unwrap().given, Treatment::Arm(Arm::Zero));
    assert_eq!(terminal.enrol("P-3", 0).unwrap().given, Treatment::Arm(Arm::Zero));
    terminal.outcome(1, 1).unwrap();
    terminal.lost(2).unwrap();
    assert_eq!(ward.device.lock().unwrap().recorded, [(1, Some(1)), (2, None)]);
    // A refusal that was answered twice does not refuse the next request.
    let ward = Ward::new(&[Fate::ReplyLost, Fate::ReplyTwice]);
    let mut terminal = ward.terminal();
    assert!(terminal.lost(7).is_err());
    assert_eq!(terminal.enrol("P-1", 0).unwrap().number, 1);
}

/// The late refusal of an earlier request is not taken for the answer to the next.
#[test]
fn late_refusal_is_not_taken() {
    let ward = Ward::new(&[Fate::LateRefusal, Fate::LateRefusal, Fate::LateRefusal]);
    let mut terminal = ward.terminal();
    assert_eq!(terminal.enrol("P-1", 0).unwrap().number, 1);
    assert_eq!(terminal.enrol("P-2", 0).unwrap().number, 2);
    terminal.outcome(1, 1).unwrap();
    assert_eq!(ward.device.lock().unwrap().requests.len(), 3, "nothing was sent twice");
}

/// After unplugging in the middle of an enrolment the same line gives the same arm. Requirement W2.
#[test]
fn unplugged_enrolment_keeps_its_arm() {
    let ward = Ward::new(&[Fate::Unplugged]);
    let mut terminal = ward.terminal();
    assert!(matches!(terminal.enrol("P-1", 2), Err(Failure::NoDevice(_))));
    assert_eq!(terminal.register().pending().unwrap().code, "P-1");
    ward.plug_in();
    let patient = terminal.resume().unwrap().unwrap();
    assert_eq!(
        (patient.code.as_str(), patient.number, patient.given),
        ("P-1", 1, Treatment::Arm(Arm::One))
    );
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
    // Before another patient is enrolled, the pending enrolment is finished; an order for the
    // patient who is pending finishes it too.
    assert_eq!(next.enrol("P-2", 0).unwrap().number, 2);
    assert_eq!(next.register().number("P-1"), Some(1));
    assert_eq!(ward.requests()[0], ward.requests()[1]);
    let ward = Ward::new(&[Fate::Unplugged]);
    assert!(ward.terminal().enrol("P-1", 2).is_err());
    ward.plug_in();
    assert_eq!(ward.terminal().enrol("P-1", 2).unwrap().number, 1);
    assert_eq!(ward.device.lock().unwrap().assigned(), 1);
}

/// A code is enrolled once, also by the next terminal. Requirement W1.
#[test]
fn code_is_enrolled_once() {
    let ward = Ward::new(&[]);
    ward.terminal().enrol("P-1", 0).unwrap();
    let again = refused(ward.terminal().enrol("P-1", 1).unwrap_err());
    let kinds = "and as \"under 65, home\", not as \"under 65, care home\"";
    assert_eq!(again, format!("patient P-1 is already enrolled, as number 1, {kinds}"));
    ward.terminal().outcome(1, 0).unwrap();
    assert!(ward.terminal().enrol("P-1", 1).is_err(), "also after its outcome");
    assert_eq!(ward.device.lock().unwrap().assigned(), 1);
}

/// A number taken by another terminal is not given to this patient.
#[test]
fn number_of_another_terminal_is_not_taken() {
    let ward = Ward::new(&[Fate::Others(2)]);
    let mut terminal = ward.terminal();
    // The other terminal may have enrolled the same patient: a person looks first.
    let why = refused(terminal.enrol("P-1", 0).unwrap_err());
    assert!(why.starts_with("This log does not know patients 1 to 2: restore it"), "{why}");
    assert!(matches!(&ward.events()[2], Event::Refused { patient: 1, .. }));
    elsewhere(&mut terminal);
    let patient = terminal.enrol("P-1", 0).unwrap();
    assert_eq!((patient.number, patient.given), (3, Treatment::Arm(Arm::Zero)));
    // The first copy got lost, another terminal took the number: the device compared the tags and
    // said so.
    let ward = Ward::new(&[Fate::RequestLost, Fate::Others(1)]);
    let mut terminal = ward.terminal();
    assert!(terminal.enrol("P-1", 0).is_err());
    elsewhere(&mut terminal);
    assert_eq!(terminal.enrol("P-1", 0).unwrap().number, 2);
}

/// Confirms that what the log does not know is elsewhere.
fn elsewhere(terminal: &mut Bedside) {
    let status = terminal.status().unwrap();
    let gap = terminal.gap(&status).unwrap().to_string();
    assert!(terminal.confirm_elsewhere("another gap").is_err());
    terminal.confirm_elsewhere(&gap).unwrap();
    assert_eq!(terminal.gap(&status), None);
}

/// An arm that cannot be known any more is called unclear and never guessed. Requirement W2.
#[test]
fn unknowable_arm_is_unclear() {
    let ward = Ward::new(&[Fate::LostThenOther]);
    let mut terminal = ward.terminal();
    let why = refused(terminal.enrol("P-1", 0).unwrap_err());
    assert!(why.contains("cannot be known any more"), "{why}");
    assert!(matches!(ward.events().last(), Some(Event::Unclear { patient: 1, .. })));
    assert!(terminal.enrol("P-1", 0).is_err(), "the code stays used");
    elsewhere(&mut terminal);
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
    assert_eq!(
        terminal.resume().unwrap().unwrap().given,
        Treatment::Arm(Arm::One),
        "after power-up"
    );
    assert_eq!(ward.device.lock().unwrap().assigned(), 1);
}

/// An enrolment gets its answer even if the trial file was changed after it was asked for and no
/// longer allows its code; the patient is found by any spelling.
#[test]
fn pending_code_outlives_its_rule() {
    let ward = Ward::new(&[Fate::Unplugged]);
    let text = equipoise_ward::records::trial_file::EXAMPLE;
    let open = TrialFile::parse("t", &format!("code-unicode = true\n{text}")).unwrap();
    let mut before = Bedside::open(ward.client(), open, &ward.log(), "nurse").unwrap();
    assert!(matches!(before.enrol("Ж-７", 2), Err(Failure::NoDevice(_))));
    drop(before);
    ward.plug_in();
    let mut after = ward.terminal();
    assert_eq!(after.register().pending().unwrap().code, "Ж-7");
    assert_eq!(after.enrol("ж-7", 2).unwrap().number, 1);
    assert_eq!(ward.device.lock().unwrap().assigned(), 1);
    assert_eq!(after.find("Ж-７").unwrap().number, 1);
    assert_eq!(after.find("#1").unwrap().code, "Ж-7");
    let why = refused(after.find("#2").unwrap_err());
    assert_eq!(why, "this log has no arm of a patient \"#2\"");
    assert!(matches!(after.enrol("Ж-8", 2), Err(Failure::Usage(_))));
}

/// An enrolment that is answered to another person is still that of the one who asked.
#[test]
fn who_asked_is_who_enrolled() {
    let ward = Ward::new(&[Fate::Unplugged]);
    let mut terminal = ward.terminal();
    assert!(terminal.enrol("P-1", 2).is_err());
    drop(terminal);
    ward.plug_in();
    let trial = TrialFile::example().unwrap();
    let mut later = Bedside::open(ward.client(), trial, &ward.log(), "night nurse").unwrap();
    let patient = later.resume().unwrap().unwrap();
    assert_eq!((patient.operator.as_str(), later.log().operator()), ("nurse", "night nurse"));
}
