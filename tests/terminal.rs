//! The bedside screen, scene by scene, without a device.

use equipoise::design::Arm;
use equipoise::host::terminal::bedside::Recorded;
use equipoise::host::terminal::log::NoteKind;
use equipoise::host::terminal::orders::Record;
use equipoise::host::terminal::register::Patient;
use equipoise::host::terminal::screen::view::view;
use equipoise::host::terminal::screen::{Model, News, Order, Scene};
use equipoise::host::terminal::trial_file::TrialFile;
use equipoise::plan::Design;
use equipoise::trial::Phase;
use equipoise::wire::{FileDigest, Micro, NextLook, Status, TrialId, TrialName};
use jiff::Timestamp;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::style::Color;

fn now() -> Timestamp {
    "2026-11-16T08:30:00Z".parse().unwrap()
}

fn status() -> Status {
    Status {
        name: TrialName { id: TrialId([1; 8]), file: FileDigest::NONE },
        design: Design::Interim,
        patients: 4000,
        assigned: 1234,
        resolved: 1232,
        waiting: 2,
        capacity: 128,
        phase: Phase::Explore,
        looks: 4,
        next_look: NextLook::After(2000),
        spent: Micro(1_000_000),
        left: Micro(99_000_000),
    }
}

fn patient(code: &str, number: u32, since: &str) -> Patient {
    let (code, since, operator) = (code.to_owned(), since.parse().unwrap(), "nurse".to_owned());
    Patient { code, number, feature: 2, arm: Arm::One, since, operator }
}

fn at_work() -> Model {
    let mut model = Model::new(TrialFile::example().unwrap(), now(), false);
    model.news(News::Connected("/dev/ttyACM0".to_owned()));
    model.news(News::Progress(status()));
    model.news(News::Waiting(vec![
        patient("H-07/12", 1200, "2026-11-14T05:30:00Z"),
        patient("H-07/19", 1234, "2026-11-16T08:18:00Z"),
    ]));
    model
}

fn press(model: &mut Model, keys: &[KeyCode]) -> Option<Order> {
    keys.iter().filter_map(|key| model.key(KeyEvent::new(*key, KeyModifiers::NONE))).last()
}

fn type_in(model: &mut Model, text: &str) {
    text.chars().for_each(|c| drop(press(model, &[KeyCode::Char(c)])));
}

fn drawn(model: &Model, width: u16, height: u16) -> Terminal<TestBackend> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| view(model, frame)).unwrap();
    terminal
}

fn shown(model: &Model) -> String {
    let terminal = drawn(model, 80, 24);
    let cells: Vec<&str> =
        terminal.backend().buffer().content().iter().map(|cell| cell.symbol()).collect();
    cells.chunks(80).fold(String::new(), |all, row| all + row.concat().trim_end() + "\n")
}

#[track_caller]
fn shows(model: &Model, texts: &[&str]) {
    let screen = shown(model);
    texts.iter().for_each(|text| {
        assert!(screen.contains(text), "{text:?} is not on the screen:\n{screen}")
    });
}

const ENTER: KeyCode = KeyCode::Enter;

/// The first view shows trial, device, progress, and who has waited how long.
#[test]
fn first_view_shows_trial_and_waiting() {
    shows(
        &at_work(),
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
    let mut model = at_work();
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
        &[
            "Enrol patient H-07/23, 65 or over, home?",
            "cannot be taken back",
            "Enter: enrol H-07/23",
        ],
    );
    assert!(!shown(&model).contains("yes"), "nothing to say yes to");
    press(&mut model, &[KeyCode::Esc]);
    shows(&model, &[">  3  65 or over, home"]);
    press(&mut model, &[ENTER]);
    let order = press(&mut model, &[ENTER]);
    assert_eq!(order, Some(Order::Enrol { code: "H-07/23".to_owned(), feature: 2 }));
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
    let mut model = at_work();
    press(&mut model, &[KeyCode::Down, ENTER]);
    shows(&model, &["Patient H-07/19, number 1234: Walks unaided on day 14?", "1  no", "2  yes"]);
    assert_eq!(press(&mut model, &[ENTER, ENTER, ENTER]), None, "nothing is chosen beforehand");
    shows(&model, &["! Choose one first"]);
    assert_eq!(press(&mut model, &[KeyCode::Char('2'), ENTER]), None);
    shows(&model, &["Walks unaided on day 14? YES", "cannot be changed", "Enter: record YES"]);
    assert_eq!(
        press(&mut model, &[KeyCode::Esc, KeyCode::Down, KeyCode::Down, ENTER]),
        None,
        "back, and again"
    );
    assert_eq!(press(&mut model, &[ENTER]), Some(Order::Outcome { number: 1234, y: 1 }));
    assert!(!shown(&model).contains("YES"));
    assert!(!format!("{model:?}").contains("Outcome {"), "the chosen value is gone from the model");
    model.news(News::Recorded(recorded("H-07/19", 1234, false)));
    shows(&model, &["Recorded for patient H-07/19, number 1234.", "Outcomes waiting"]);
}

fn recorded(code: &str, number: u32, closed: bool) -> Recorded {
    Recorded { number, code: Some(code.to_owned()), closed }
}

/// A confirmation says what Enter does in words that cannot be read the other way round.
#[test]
fn enter_is_never_yes_to_a_no() {
    let mut model = at_work();
    press(&mut model, &[ENTER, KeyCode::Char('1'), ENTER]);
    shows(&model, &["Walks unaided on day 14? NO", "Enter: record NO", "Esc: back"]);
    assert!(!shown(&model).contains("yes"));
    let mut model = at_work();
    press(&mut model, &[KeyCode::Char('l')]);
    shows(
        &model,
        &["Patient H-07/12, number 1200: the outcome will never come", "Enter: record LOST"],
    );
    assert!(!shown(&model).contains("yes"));
}

/// What was said about one patient is gone when the next one is chosen or enrolled.
#[test]
fn messages_end_with_the_next_patient() {
    for key in ['e', 'o', 'l', 'a', '/'] {
        let mut model = at_work();
        model.news(News::Recorded(recorded("H-07/12", 1200, false)));
        shows(&model, &["Recorded for patient H-07/12"]);
        press(&mut model, &[KeyCode::Char(key)]);
        assert!(!shown(&model).contains("Recorded for"), "{key}: {}", shown(&model));
    }
    let mut model = at_work();
    model.news(News::Recorded(recorded("H-07/12", 1200, true)));
    shows(&model, &["Recorded for patient H-07/12", "That was the last outcome"]);
    press(&mut model, &[KeyCode::Down]);
    assert!(!shown(&model).contains("Recorded for"));
}

/// Of 40 kinds, "12" and Enter take the twelfth.
#[test]
fn whole_number_chooses_a_kind() {
    let mut model = at_work();
    let names: Vec<String> = (1..=40).map(|kind| format!("\"kind {kind}\"")).collect();
    let text = equipoise::host::terminal::trial_file::EXAMPLE;
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
    press(&mut model, &[KeyCode::Backspace, KeyCode::Char('0'), ENTER, ENTER]);
    shows(&model, &["Asking the device for the arm of patient P"]);
}

/// A digit searches the waiting list; it never selects a row.
#[test]
fn digits_search_the_waiting_list() {
    let mut model = at_work();
    let code = |number| patient(&format!("p-{number}"), number, "2026-11-16T08:00:00Z");
    model.news(News::Waiting([3, 12, 120, 201].map(code).to_vec()));
    press(&mut model, &[KeyCode::Char('1'), KeyCode::Char('2')]);
    shows(&model, &["Outcomes waiting: 2 of 4, code has 12_", "> p-12 ", "p-120"]);
    press(&mut model, &[KeyCode::Down, ENTER]);
    shows(&model, &["> p-120"]);
    press(&mut model, &[KeyCode::Char('o')]);
    shows(&model, &["Patient p-120, number 120"]);
    press(&mut model, &[KeyCode::Esc, KeyCode::Esc]);
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

/// The screen says that the log knows of an enrolment only once it does.
#[test]
fn no_promise_before_the_log_has_it() {
    let mut model = at_work();
    press(
        &mut model,
        &[KeyCode::Char('e'), KeyCode::Char('P'), ENTER, KeyCode::Char('1'), ENTER, ENTER],
    );
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
    let mut model = at_work();
    let wanted = News::Wanted { code: "P-1".to_owned(), feature: 2 };
    model.news(wanted.clone());
    shows(
        &model,
        &["Patient P-1 was confirmed", "Enrol patient P-1, 65 or over, home?", "Enter: enrol P-1"],
    );
    assert_eq!(
        press(&mut model, &[ENTER]),
        Some(Order::Enrol { code: "P-1".to_owned(), feature: 2 })
    );
    let mut model = at_work();
    model.news(wanted);
    assert_eq!(press(&mut model, &[KeyCode::Esc]), Some(Order::Drop { code: "P-1".to_owned() }));
    assert_eq!(model.scene, Scene::List);
}

/// A loss is sent only after a confirmation.
#[test]
fn loss_is_confirmed() {
    let mut model = at_work();
    assert_eq!(press(&mut model, &[KeyCode::Char('l')]), None);
    shows(&model, &["Patient H-07/12, number 1200: the outcome will never come"]);
    assert_eq!(press(&mut model, &[KeyCode::Esc]), None);
    assert_eq!(model.scene, Scene::List);
    assert_eq!(press(&mut model, &[KeyCode::Char('L'), ENTER]), Some(Order::Lost { number: 1200 }));
}

/// A graded outcome is typed and must be within its scale.
#[test]
fn graded_outcome_keeps_to_its_scale() {
    let mut model = at_work();
    let text = equipoise::host::terminal::trial_file::EXAMPLE.replace("scale = 1 ", "scale = 100 ");
    let text: String = text
        .lines()
        .filter(|line| !line.starts_with("labels"))
        .map(|l| l.to_owned() + "\n")
        .collect();
    model.trial = TrialFile::parse("graded", &text).unwrap();
    press(&mut model, &[ENTER]);
    type_in(&mut model, "101");
    assert_eq!(press(&mut model, &[ENTER]), None);
    shows(&model, &["! The outcome must be a whole number from 0 to 100."]);
    assert_eq!(
        press(&mut model, &[KeyCode::Backspace, ENTER, ENTER]),
        Some(Order::Outcome { number: 1200, y: 10 })
    );
}

/// A bad or used code is named and can be corrected.
#[test]
fn bad_code_can_be_corrected() {
    let mut model = at_work();
    press(&mut model, &[KeyCode::Char('e'), ENTER]);
    shows(&model, &["! the patient code \"\" is not allowed: 1 to 24 letters, digits"]);
    type_in(&mut model, " h-07/19");
    press(&mut model, &[ENTER]);
    shows(&model, &["! Patient H-07/19 is already enrolled."]);
    press(&mut model, &[KeyCode::Char('a'), ENTER]);
    shows(&model, &["Patient h-07/19a is"]);
}

/// A missing device is reported in words, and a pending enrolment goes on.
#[test]
fn unplugged_device_keeps_the_enrolment() {
    let mut model = at_work();
    model.news(News::Pending("H-07/23".to_owned()));
    model.news(News::Disconnected(
        "/dev/ttyACM0 is not there: is the device plugged in?".to_owned(),
    ));
    shows(
        &model,
        &["NO DEVICE", "! /dev/ttyACM0 is not there", "never assigns twice", "Asking the device"],
    );
    model.news(News::Connected("/dev/ttyACM0".to_owned()));
    shows(&model, &["connected: /dev/ttyACM0", "The device is back."]);
    model.news(News::Enrolled(patient("H-07/23", 1235, "2026-11-16T08:30:00Z")));
    shows(&model, &["Early walking (arm 1)"]);
}

/// Why there is no device does not hide the result of the last order.
#[test]
fn link_error_keeps_last_result() {
    let mut model = at_work();
    model.scene = Scene::Asking {
        what: "the record of patient H-07/12".to_owned(),
        enrolment: false,
        logged: false,
    };
    model.news(News::Failed("Not recorded: the line broke. Please enter it again.".to_owned()));
    let why = "no permission to open /dev/ttyACM0: join its group (on Debian: sudo adduser $USER dialout) and log in again";
    model.news(News::Disconnected(why.to_owned()));
    shows(
        &model,
        &[
            "! Not recorded",
            "! no permission to open /dev/ttyACM0",
            "and log in again",
            "Patients 1234 of 4000",
        ],
    );
}

/// Nobody can be enrolled without a device or in a closed trial.
#[test]
fn no_enrolment_without_a_device() {
    let mut model = at_work();
    model.news(News::Disconnected("gone".to_owned()));
    press(&mut model, &[KeyCode::Char('e')]);
    shows(&model, &["! There is no device", "Outcomes waiting"]);
    let mut model = at_work();
    model.news(News::Progress(Status { phase: Phase::Closed, ..status() }));
    press(&mut model, &[KeyCode::Char('e')]);
    shows(&model, &["! Nobody can be enrolled: the trial is closed"]);
    let mut model = at_work();
    model.news(News::Progress(Status { waiting: 9, capacity: 9, ..status() }));
    press(&mut model, &[KeyCode::Char('e')]);
    shows(&model, &["! Nobody can be enrolled: 9 patients wait", "Outcomes waiting"]);
}

/// Without colour no cell has one, and the text is the same with it.
#[test]
fn colour_is_never_needed() {
    let mut model = at_work();
    for news in [None, Some(News::Disconnected("gone".to_owned()))] {
        news.into_iter().for_each(|news| model.news(news));
        model.colour = false;
        let plain = drawn(&model, 80, 24);
        let cells = plain.backend().buffer().content();
        assert!(cells.iter().all(|cell| cell.fg == Color::Reset && cell.bg == Color::Reset));
        let text = shown(&model);
        model.colour = true;
        assert_eq!(shown(&model), text);
        let coloured = drawn(&model, 80, 24);
        assert!(coloured.backend().buffer().content().iter().any(|cell| cell.fg != Color::Reset));
    }
}

/// Any window can be drawn, and one that is too small says so.
#[test]
fn any_window_can_be_drawn() {
    let mut model = at_work();
    model.news(News::Waiting(
        (1..200).map(|n| patient(&format!("P-{n}"), n, "2026-11-16T08:00:00Z")).collect(),
    ));
    for scene in [Scene::List, Scene::Help, Scene::Arm(patient("P-1", 1, "2026-11-16T08:00:00Z"))] {
        model.scene = scene;
        for (width, height) in [(1, 1), (59, 17), (60, 18), (80, 24), (300, 100)] {
            drawn(&model, width, height);
        }
    }
    let tiny = drawn(&model, 59, 24);
    let text: String = tiny.backend().buffer().content().iter().map(|cell| cell.symbol()).collect();
    assert!(text.contains("too small"));
    model.scene = Scene::List;
    press(&mut model, &[KeyCode::End]);
    shows(&model, &["> P-199"]);
}

fn with_text(changes: &[(&str, &str)]) -> TrialFile {
    let mut text = equipoise::host::terminal::trial_file::EXAMPLE.to_owned();
    for (from, to) in changes {
        assert!(text.contains(from), "{from}");
        text = text.replacen(from, to, 1);
    }
    TrialFile::parse("changed", &text).unwrap()
}

/// Factors are asked one after the other; Esc goes back one factor.
#[test]
fn factors_are_asked_in_turn() {
    let mut model = at_work();
    let features = equipoise::host::terminal::trial_file::EXAMPLE
        .lines()
        .find(|l| l.starts_with("features"))
        .unwrap();
    let table = "[factors]\nsex = [\"f\", \"m\"]\nage = [\"under 65\", \"65 or over\"]\n[plan]";
    model.trial = with_text(&[(features, ""), ("[plan]", table)]);
    press(&mut model, &[KeyCode::Char('e'), KeyCode::Char('P'), ENTER]);
    shows(&model, &["Patient P: sex", "1  f", "2  m"]);
    press(&mut model, &[KeyCode::Char('2'), ENTER]);
    shows(&model, &["Patient P: age", "2  65 or over"]);
    press(&mut model, &[KeyCode::Esc]);
    shows(&model, &["Patient P: sex", ">  2  m"]);
    press(&mut model, &[ENTER, KeyCode::Down, ENTER]);
    shows(&model, &["Enrol patient P, m, under 65?"]);
    assert_eq!(
        press(&mut model, &[ENTER]),
        Some(Order::Enrol { code: "P".to_owned(), feature: 2 })
    );
}

/// The list shows when outcomes are due, and marks those that are overdue.
#[test]
fn overdue_patients_are_marked() {
    let mut model = at_work();
    let question = "question = \"Walks unaided on day 14?\"";
    model.trial = with_text(&[(question, "question = \"Walks?\"\ndue = \"1 day\"")]);
    shows(&model, &["OVERDUE 1 d", "in 23 h"]);
}

/// A note, a past arm and another operator are each two or three keys away.
#[test]
fn notes_find_and_operator() {
    let mut model = at_work();
    press(&mut model, &[KeyCode::Char('n'), KeyCode::Char('1'), ENTER]);
    shows(&model, &["Patient H-07/12, number 1200: deviation", "Write no outcome here"]);
    assert_eq!(press(&mut model, &[ENTER]), None, "an empty note is none");
    type_in(&mut model, "fell");
    let note = Order::Note { number: 1200, kind: NoteKind::Deviation, text: "fell".to_owned() };
    assert_eq!(press(&mut model, &[ENTER]), Some(note));
    model.news(News::Noted("H-07/12".to_owned()));
    shows(&model, &["The note on patient H-07/12 is in the log."]);
    press(&mut model, &[KeyCode::Char('f')]);
    type_in(&mut model, "h-07/1");
    assert_eq!(press(&mut model, &[ENTER]), Some(Order::Find { code: "h-07/1".to_owned() }));
    let patient = patient("H-07/1", 7, "2026-11-14T05:30:00Z");
    model.news(News::Found(Record { patient, recorded: None, notes: Vec::new() }));
    shows(
        &model,
        &[
            "Patient H-07/1, number 7",
            "Early walking (arm 1)",
            "Enrolled 2026-11-14T05:30:00Z by nurse",
        ],
    );
    press(&mut model, &[ENTER, KeyCode::Char('i')]);
    type_in(&mut model, "AB");
    assert_eq!(press(&mut model, &[ENTER]), Some(Order::Operator { name: "AB".to_owned() }));
}
