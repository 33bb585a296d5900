//! Outcomes and losses: recorded once, and told as it was.

use super::*;
use equipoise_ward::records::words::told;

/// An outcome without an answer stays on the list.
#[test]
fn unanswered_outcome_stays_on_the_list() {
    let lost = Fate::RequestLost;
    let ward = Ward::new(&[Fate::Fine, lost, lost, lost, lost]);
    let mut terminal = ward.terminal();
    terminal.enrol("P-1", 0).unwrap();
    assert!(terminal.outcome(1, 1).is_err());
    assert_eq!(terminal.register().waiting().count(), 1);
    terminal.outcome(1, 1).unwrap();
    assert_eq!(terminal.register().waiting().count(), 0);
    assert!(terminal.register().resolved(1).is_some());
}

/// A second outcome, or one after a loss, is not recorded, and the terminal says so.
#[test]
fn second_outcome_changes_nothing() {
    let ward = Ward::new(&[]);
    let mut terminal = ward.terminal();
    terminal.enrol("P-1", 0).unwrap();
    terminal.enrol("P-2", 0).unwrap();
    let recorded = terminal.outcome(1, 1).unwrap();
    assert_eq!((recorded.code.as_deref(), recorded.closed), (Some("P-1"), false));
    terminal.lost(2).unwrap();
    let events = ward.events().len();
    for number in [1, 2] {
        let why = refused(terminal.outcome(number, 0).unwrap_err());
        let resolved = terminal.register().resolved(number).unwrap();
        let how = if number == 1 { "recorded" } else { "declared lost" };
        let how = format!("{how} at {} by nurse", told(&resolved.time));
        assert_eq!(why, format!("patient P-{number}: already {how}; nothing changed"));
        assert!(terminal.lost(number).is_err());
    }
    assert_eq!(ward.device.lock().unwrap().recorded, [(1, Some(1)), (2, None)]);
    assert_eq!(ward.events().len(), events, "nothing is logged as recorded");
}

/// An outcome whose answer was lost reached the device; entering another one does not replace it.
#[test]
fn repeat_after_a_lost_answer_is_told() {
    let ward = Ward::new(&[Fate::Fine, Fate::Unplugged]);
    let mut terminal = ward.terminal();
    terminal.enrol("P-1", 0).unwrap();
    assert!(matches!(terminal.outcome(1, 1), Err(Failure::NoDevice(_))));
    ward.plug_in();
    let why = refused(terminal.outcome(1, 0).unwrap_err());
    assert!(
        why.starts_with("patient P-1: already recorded, by an earlier attempt without an answer"),
        "{why}"
    );
    assert_eq!(terminal.register().waiting().count(), 0, "the patient waits no longer");
    let outcomes = |event: &&Event| matches!(event, Event::Outcome { .. });
    assert_eq!(ward.events().iter().filter(outcomes).count(), 0, "nothing is logged as recorded");
}

/// After the close nothing is sent and nothing is said to be recorded.
#[test]
fn outcome_after_the_close_is_refused() {
    let ward = Ward::new(&[]);
    let mut terminal = ward.terminal();
    terminal.enrol("P-1", 0).unwrap();
    ward.device.lock().unwrap().closed = true;
    let why = refused(terminal.outcome(1, 1).unwrap_err());
    assert!(
        why.starts_with("patient P-1: the trial is closed") && why.ends_with("nothing changed"),
        "{why}"
    );
    assert!(ward.device.lock().unwrap().recorded.is_empty());
}

/// Every ask is in the log before it is sent, with the looks done and without its value, also one
/// whose answer never came; the acknowledgement says whether the count of resolved patients rose.
#[test]
fn asks_are_logged_before_they_are_sent() {
    let ward = Ward::new(&[Fate::Fine, Fate::Unplugged]);
    ward.device.lock().unwrap().looks = 3;
    let mut terminal = ward.terminal();
    terminal.enrol("P-1", 0).unwrap();
    assert!(matches!(terminal.outcome(1, 1), Err(Failure::NoDevice(_))));
    let asked = |event: &&Event| matches!(event, Event::Asked { patient: 1, looks: 3, .. });
    assert!(ward.events().last().as_ref().is_some_and(asked));
    ward.plug_in();
    assert!(terminal.outcome(1, 0).is_err());
    let events = ward.events();
    assert_eq!(events.iter().filter(asked).count(), 2);
    assert!(matches!(events.last(), Some(Event::AlreadyRecorded { patient: 1, .. })));
    let enrolled = |event: &Event| matches!(event, Event::Enrol { patient: 1, looks: 3, .. });
    assert!(events.iter().any(enrolled));
    terminal.enrol("P-2", 0).unwrap();
    terminal.outcome(2, 1).unwrap();
    terminal.enrol("P-3", 0).unwrap();
    terminal.lost(3).unwrap();
    let events = ward.events();
    let text = |event: &Event| serde_json::to_value(event).unwrap();
    let outcomes: Vec<_> =
        events.iter().filter(|event| matches!(event, Event::Outcome { .. })).collect();
    assert_eq!(text(outcomes[0])["rose"], true);
    assert!(matches!(events.last(), Some(Event::Lost { patient: 3, rose: true, .. })));
    // Ask lines of an outcome and of a loss have the same fields.
    let asks: Vec<_> =
        events.iter().filter(|event| matches!(event, Event::Asked { .. })).map(text).collect();
    let fields =
        |ask: &serde_json::Value| ask.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert!(
        asks.iter().all(|ask| fields(ask) == ["code", "event", "looks", "patient"]),
        "{asks:?}"
    );
}

/// A device that has forgotten an outcome got an old image of its flash: nothing is sent to it,
/// although it knows every patient. Requirement W26.
#[test]
fn forgotten_outcomes_are_noticed() {
    let ward = Ward::new(&[]);
    let mut terminal = ward.terminal();
    terminal.enrol("P-1", 0).unwrap();
    terminal.enrol("P-2", 0).unwrap();
    terminal.outcome(1, 1).unwrap();
    terminal.lost(2).unwrap();
    ward.device.lock().unwrap().recorded.pop();
    let sent = ward.requests().len();
    for why in [terminal.enrol("P-3", 0).unwrap_err(), terminal.lost(3).unwrap_err()] {
        let why = why.to_string();
        assert!(why.contains("knows 2 outcomes and losses, the device has 1 only"), "{why}");
    }
    assert_eq!(ward.requests().len(), sent);
}
