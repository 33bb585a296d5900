//! Enrolment, outcomes, losses and searches.

use super::*;

/// The first view shows trial, device, progress, and who has waited how long.
#[test]
fn first_view_shows_trial_and_waiting() {
    shows(
        &working_model(),
        &[
            "Early walking after hip surgery",
            "connected: /dev/ttyACM0",
            "Patients 1234 of 4000",
            "30 %",
            "Phase explore",
            "next look after 2000 resolved",
            "Outcomes waiting: 2",
            "> H-07/12",
            "65 or over, home",
            "2 d 3 h",
            "12 min",
            "E enrol",
            "Q quit",
        ],
    );
}

/// An enrolment is asked for once; the arm stays in large letters until Enter.
#[test]
fn enrolling_asks_once_and_shows_the_arm() {
    let mut model = working_model();
    press(&mut model, &[KeyCode::Char('e')]);
    shows(&model, &["Enrol a patient", "number 1235", "Patient code:"]);
    type_in(&mut model, "H-07/2x");
    press(&mut model, &[KeyCode::Backspace, KeyCode::Char('3'), ENTER]);
    press(&mut model, &[ENTER]);
    shows(&model, &["Patient H-07/23 is", "   1  under 65, home", "! Choose one first"]);
    press(&mut model, &[KeyCode::Down, KeyCode::Down]);
    shows(&model, &[">  2  under 65, care home", "4  65 or over, care home"]);
    press(&mut model, &[KeyCode::Char('3'), ENTER]);
    shows(
        &model,
        &["Enrol patient H-07/23, 65 or over, home?", "cannot be taken back", "E: enrol H-07/23"],
    );
    assert!(!shown(&model).contains("yes"), "nothing to say yes to");
    press(&mut model, &[KeyCode::Esc]);
    shows(&model, &[">  3  65 or over, home"]);
    press(&mut model, &[ENTER]);
    assert_eq!(press(&mut model, &[ENTER, ENTER]), None, "Enter led here and does not confirm");
    shows(&model, &["! Enter does not confirm this: E does"]);
    let order = press(&mut model, &[E]);
    assert_eq!(
        order,
        Some(Order::Enrol { code: "H-07/23".to_owned(), feature: 2, answers: Vec::new() })
    );
    shows(&model, &["Asking the device for the arm of patient H-07/23"]);
    assert_eq!(
        press(&mut model, &[ENTER, KeyCode::Esc, KeyCode::Char('e'), ENTER]),
        None,
        "asked once"
    );
    model.news(News::Enrolled(patient("H-07/23", 1235, "2026-11-16T08:30:00Z")));
    let large = "█████  ███  ████  █     █   █";
    shows(
        &model,
        &[
            "Patient H-07/23, number 1235",
            large,
            "Early walking (arm 1)",
            "Enter when you have read it",
        ],
    );
    press(&mut model, &[KeyCode::Esc, KeyCode::Char('q'), KeyCode::Char(' ')]);
    assert!(matches!(model.scene, Scene::Arm(_)) && !model.quit, "no other key takes the arm away");
    press(&mut model, &[ENTER]);
    assert_eq!(model.scene, Scene::List);
}

/// An outcome is sent only after a confirmation, and then leaves the screen.
#[test]
fn outcome_is_confirmed_and_forgotten() {
    let mut model = working_model();
    press(&mut model, &[KeyCode::Down, ENTER]);
    shows(&model, &["Patient H-07/19, number 1234: Walks unaided on day 14?", "1  no", "2  yes"]);
    assert_eq!(press(&mut model, &[ENTER, ENTER, ENTER]), None, "nothing is chosen beforehand");
    shows(&model, &["! Choose one first"]);
    assert_eq!(press(&mut model, &[KeyCode::Char('2'), ENTER]), None);
    shows(&model, &["Walks unaided on day 14? YES", "cannot be changed", "R: record YES"]);
    assert_eq!(
        press(&mut model, &[KeyCode::Esc, KeyCode::Down, KeyCode::Down, ENTER]),
        None,
        "back, and again"
    );
    assert_eq!(press(&mut model, &[ENTER, ENTER]), None, "a key pressed twice records nothing");
    let order = Order::Outcome { number: 1234, y: 1, anyway: false };
    assert_eq!(press(&mut model, &[R]), Some(order));
    assert!(!shown(&model).contains("YES"));
    assert!(!format!("{model:?}").contains("Outcome {"), "the chosen value is gone from the model");
    model.news(News::Recorded(recorded("H-07/19", 1234, false)));
    shows(&model, &["Recorded for patient H-07/19, number 1234.", "Outcomes waiting"]);
}

fn recorded(code: &str, number: u32, closed: bool) -> Recorded {
    Recorded { number, code: Some(code.to_owned()), lost: false, closed }
}

/// A confirmation says what Enter does in words that cannot be read the other way round.
#[test]
fn enter_is_never_yes_to_a_no() {
    let mut model = working_model();
    press(&mut model, &[ENTER, KeyCode::Char('1'), ENTER]);
    shows(&model, &["Walks unaided on day 14? NO", "R: record NO", "Esc: back"]);
    assert!(!shown(&model).contains("yes"));
    let mut model = working_model();
    press(&mut model, &[KeyCode::Char('l')]);
    shows(&model, &["Patient H-07/12, number 1200: the outcome will never come", "R: record LOST"]);
    assert!(!shown(&model).contains("yes"));
}

/// A message about one patient is gone when the next one is chosen or enrolled.
#[test]
fn messages_end_with_the_next_patient() {
    for key in ['e', 'o', 'l', 'a', '/'] {
        let mut model = working_model();
        model.news(News::Recorded(recorded("H-07/12", 1200, false)));
        shows(&model, &["Recorded for patient H-07/12"]);
        press(&mut model, &[KeyCode::Char(key)]);
        assert!(!shown(&model).contains("Recorded for"), "{key}: {}", shown(&model));
    }
    let mut model = working_model();
    model.news(News::Recorded(recorded("H-07/12", 1200, true)));
    shows(&model, &["Recorded for patient H-07/12", "That was the last outcome"]);
    press(&mut model, &[KeyCode::Down]);
    assert!(!shown(&model).contains("Recorded for"));
}

/// Of 40 kinds, "12" and Enter take the twelfth.
#[test]
fn whole_number_chooses_a_kind() {
    let mut model = working_model();
    let names: Vec<String> = (1..=40).map(|kind| format!("\"kind {kind}\"")).collect();
    let text = equipoise_ward::records::trial_file::EXAMPLE;
    let from = text.lines().find(|line| line.starts_with("features")).unwrap();
    let text = text.replace(from, &format!("features = [{}]", names.join(", ")));
    model.trial = TrialFile::parse("forty", &text).unwrap();
    press(&mut model, &[KeyCode::Char('e'), KeyCode::Char('P'), ENTER]);
    assert_eq!(press(&mut model, &[KeyCode::Char('1'), KeyCode::Char('2')]), None);
    shows(&model, &["> 12  kind 12", "Number: 12_"]);
    press(&mut model, &[ENTER]);
    shows(&model, &["Enrol patient P, kind 12?"]);
    press(&mut model, &[KeyCode::Esc, KeyCode::Char('4'), KeyCode::Char('1'), ENTER]);
    shows(&model, &["! There is no 41: choose 1 to 40."]);
    press(&mut model, &[KeyCode::Backspace, KeyCode::Char('0'), ENTER, E]);
    shows(&model, &["Asking the device for the arm of patient P"]);
}

/// A digit searches the waiting list; it never selects a row.
#[test]
fn digits_search_the_waiting_list() {
    let mut model = working_model();
    let code = |number| patient(&format!("p-{number}"), number, "2026-11-16T08:00:00Z");
    model.news(News::Waiting([3, 12, 120, 201].map(code).to_vec()));
    press(&mut model, &[KeyCode::Char('1'), KeyCode::Char('2')]);
    shows(&model, &["Outcomes waiting: 2 of 4, code has 12_", "> p-12 ", "p-120"]);
    press(&mut model, &[KeyCode::Down, ENTER]);
    shows(&model, &["> p-120"]);
    press(&mut model, &[KeyCode::Char('o')]);
    shows(&model, &["Patient p-120, number 120"]);
    press(&mut model, &[KeyCode::Esc, KeyCode::Esc]);
    shows(&model, &["Outcomes waiting: 4", "> p-120 "]);
    press(&mut model, &[KeyCode::Char('/'), KeyCode::Char('3'), KeyCode::Esc]);
    shows(&model, &["Outcomes waiting: 4", "> p-3 "]);
    press(
        &mut model,
        &[KeyCode::Char('/'), KeyCode::Char('P'), KeyCode::Char('-'), KeyCode::Char('2'), ENTER],
    );
    shows(&model, &["code has P-2", "> p-201"]);
    // The cursor stays on its patient when others come and go.
    model.news(News::Waiting([12, 201, 202].map(code).to_vec()));
    shows(&model, &["> p-201"]);
}

/// The screen says that the log knows of an enrolment only once it does. Requirement W3.
#[test]
fn no_promise_before_the_log_has_it() {
    let mut model = working_model();
    press(&mut model, &[E, KeyCode::Char('P'), ENTER, KeyCode::Char('1'), ENTER, E]);
    model.news(News::Disconnected("gone".to_owned()));
    assert!(!shown(&model).contains("log knows"));
    press(&mut model, &[KeyCode::Char('q')]);
    assert!(!model.quit, "not before it is in the log");
    model.news(News::Pending("P".to_owned()));
    shows(&model, &["the log knows what was asked"]);
    press(&mut model, &[KeyCode::Char('q')]);
    assert!(model.quit);
}

/// An enrolment that was confirmed but never asked for is confirmed once more, or dropped.
#[test]
fn confirmed_enrolment_is_asked_about() {
    let mut model = working_model();
    let wanted = News::Wanted { code: "P-1".to_owned(), feature: 2 };
    model.news(wanted.clone());
    shows(
        &model,
        &["Patient P-1 was confirmed", "Enrol patient P-1, 65 or over, home?", "R: enrol P-1"],
    );
    assert_eq!(
        press(&mut model, &[E, ENTER]),
        None,
        "the key for the next patient does not confirm the last one"
    );
    let order = Order::Enrol { code: "P-1".to_owned(), feature: 2, answers: Vec::new() };
    assert_eq!(press(&mut model, &[R]), Some(order));
    let mut model = working_model();
    model.news(wanted);
    assert_eq!(press(&mut model, &[KeyCode::Esc]), Some(Order::Drop { code: "P-1".to_owned() }));
    assert_eq!(model.scene, Scene::List);
}

/// A loss is sent only after a confirmation.
#[test]
fn loss_is_confirmed() {
    let mut model = working_model();
    assert_eq!(press(&mut model, &[KeyCode::Char('l')]), None);
    shows(&model, &["Patient H-07/12, number 1200: the outcome will never come"]);
    assert_eq!(press(&mut model, &[KeyCode::Esc]), None);
    assert_eq!(model.scene, Scene::List);
    assert_eq!(press(&mut model, &[KeyCode::Char('L'), KeyCode::Char('L'), ENTER]), None);
    assert_eq!(press(&mut model, &[R]), Some(Order::Lost { number: 1200 }));
}

/// In a blinded trial the screen shows kits, in every scene, and names no arm.
#[test]
fn a_blinded_screen_shows_kits() {
    let text = equipoise_ward::records::trial_file::EXAMPLE
        .replacen("title = \"Early walking", "blinded = true\ntitle = \"Pain", 1)
        .replacen("\"Usual care\", \"Early walking\"", "\"Placebo\", \"Verumin\"", 1)
        .replacen("patients = 4000", "patients = 4000\nkits = 4400", 1)
        + "\n[kits]\nsite = \"A\"\nuse = 1\nprefix = \"K-\"\ncheck = \"damm\"\n";
    let mut model = Model::new(TrialFile::parse("t", &text).unwrap(), now(), false);
    let with = |kits: &[u32]| {
        let given = Treatment::Kits { kits: kits.to_vec(), replaced: kits.len() as u8 - 1 };
        Patient { given, ..patient("H-07/19", 1234, "2026-11-16T08:18:00Z") }
    };
    let quiet = |model: &Model| {
        let screen = shown(model).to_lowercase();
        assert!(!screen.contains("placebo") && !screen.contains("verumin"), "{screen}");
        assert!(!screen.contains("arm 0") && !screen.contains("arm 1"), "{screen}");
    };
    model.news(News::Connected("/dev/ttyACM0".to_owned()));
    model.news(News::Progress(Status { kits: Some((4400, 0)), ..status() }));
    model.news(News::Enrolled(with(&[572])));
    shows(&model, &["kit K-05724", "Patient H-07/19, number 1234"]);
    quiet(&model);
    model.news(News::Waiting(vec![with(&[572])]));
    press(&mut model, &[ENTER]);
    shows(&model, &["A kit", "K other kit"]);
    quiet(&model);
    press(&mut model, &[KeyCode::Char('k'), ENTER]);
    shows(&model, &["why can kit K-05724 not be used?", "! Type why"]);
    type_in(&mut model, "wet");
    press(&mut model, &[ENTER]);
    shows(&model, &["Reason: wet", "Give patient H-07/19 another kit instead of kit K-05724?"]);
    quiet(&model);
    assert_eq!(press(&mut model, &[KeyCode::Char('k'), ENTER]), None);
    let order = press(&mut model, &[KeyCode::Char('g')]);
    assert_eq!(order, Some(Order::Replace { number: 1234, reason: "wet".to_owned() }));
    shows(&model, &["Asking the device for another kit"]);
    model.news(News::Enrolled(with(&[572, 573])));
    shows(&model, &["kit K-0573", "Patient H-07/19 has kit K-05735 instead of K-05724."]);
    quiet(&model);
}

/// An outcome long before its due date is asked about once more, with another key; kind, enrolment
/// and due date stand in the first question.
#[test]
fn early_outcome_is_asked_twice() {
    let mut model = working_model();
    model.trial.due = Some("29 days".parse().unwrap());
    press(&mut model, &[KeyCode::Down, ENTER, KeyCode::Char('2'), ENTER]);
    shows(
        &model,
        &[
            "65 or over, home",
            "enrolled 2026-11-16 08:18 UTC, 12 min ago",
            "outcome due 2026-12-15 08:18 UTC",
            "R: record YES",
        ],
    );
    assert_eq!(press(&mut model, &[R]), None, "not before the second question");
    shows(&model, &["It is early: the outcome is due 2026-12-15 08:18 UTC, in 28 d 23 h"]);
    shows(&model, &["A: record YES anyway"]);
    assert_eq!(press(&mut model, &[R, ENTER]), None, "the second question has its own key");
    press(&mut model, &[KeyCode::Esc]);
    shows(&model, &[">  2  yes"]);
    let order = press(&mut model, &[ENTER, R, KeyCode::Char('a')]);
    assert_eq!(order, Some(Order::Outcome { number: 1234, y: 1, anyway: true }));
    model.now = "2026-12-15T08:00:00Z".parse().unwrap();
    model.news(News::Failed("no".to_owned()));
    let order = press(&mut model, &[KeyCode::Down, ENTER, KeyCode::Char('2'), ENTER, R]);
    assert_eq!(order, Some(Order::Outcome { number: 1234, y: 1, anyway: false }));
}

/// A log that does not know every patient of the device says so, and E asks about it first.
/// Requirement W8.
#[test]
fn a_gap_stops_enrolment() {
    let mut model = working_model();
    let gap = "This log does not know patients 1 to 7: restore it, or confirm that ..".to_owned();
    model.news(News::Gap(Some(gap.clone())));
    shows(&model, &["! This log does not know patients 1 to 7", "> H-07/12"]);
    model.news(News::Waiting(Vec::new()));
    shows(&model, &["Of the patients that this log knows, nobody is waiting"]);
    assert_eq!(press(&mut model, &[E, E, ENTER]), None);
    shows(&model, &["C: confirm that the records are elsewhere"]);
    assert_eq!(press(&mut model, &[KeyCode::Char('c')]), Some(Order::Elsewhere { gap }));
    model.news(News::Gap(None));
    press(&mut model, &[E]);
    shows(&model, &["Patient code:"]);
}

/// A withdrawn patient is marked and not overdue, and is asked about before an outcome. A note
/// about a wrong kind names the right one.
#[test]
fn marked_patients_are_shown_and_asked_about() {
    let mut model = working_model();
    model.trial.due = Some("1 day".parse().unwrap());
    shows(&model, &["OVERDUE"]);
    let mut gone = patient("H-07/12", 1200, "2026-11-14T05:30:00Z");
    gone.marks.take(NoteKind::Withdrawn, "2026-11-15T10:00:00.123Z", None);
    model.news(News::Waiting(vec![gone]));
    shows(&model, &["WITHDRAWN"]);
    assert!(!shown(&model).contains("OVERDUE"), "{}", shown(&model));
    press(&mut model, &[ENTER, KeyCode::Char('1'), ENTER, R]);
    shows(&model, &["The patient withdrew, as noted 2026-11-15 10:00 UTC", "A: record NO anyway"]);
    press(&mut model, &[KeyCode::Esc, KeyCode::Esc, KeyCode::Char('n'), KeyCode::Char('3'), ENTER]);
    shows(&model, &["Patient H-07/12 should be", "2  under 65, care home"]);
    press(&mut model, &[KeyCode::Char('2'), ENTER]);
    shows(&model, &["wrong kind of patient, should be under 65,"]);
    type_in(&mut model, "typo");
    let (kind, text) = (NoteKind::WrongKind, "typo".to_owned());
    let note = Order::Note { number: 1200, kind, text, should_be: Some(1) };
    assert_eq!(press(&mut model, &[ENTER]), Some(note));
}
