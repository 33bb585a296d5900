//! The bedside screen, scene by scene, without a device.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may fail loudly")]

use equipoise::design::Arm;
use equipoise::host::terminal::register::Patient;
use equipoise::host::terminal::screen::view::view;
use equipoise::host::terminal::screen::{Model, News, Order, Scene};
use equipoise::host::terminal::trial_file::TrialFile;
use equipoise::plan::Design;
use equipoise::trial::Phase;
use equipoise::wire::{NextLook, Status};
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
        design: Design::Interim,
        patients: 4000,
        assigned: 1234,
        unresolved: 2,
        phase: Phase::Explore,
        looks: 4,
        next_look: NextLook::After(2000),
    }
}

fn patient(code: &str, number: u32, since: &str) -> Patient {
    Patient { code: code.to_owned(), number, feature: 2, arm: Arm::One, since: since.parse().unwrap() }
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
    let cells: Vec<&str> = terminal.backend().buffer().content().iter().map(|cell| cell.symbol()).collect();
    cells.chunks(80).fold(String::new(), |all, row| all + row.concat().trim_end() + "\n")
}

#[track_caller]
fn shows(model: &Model, texts: &[&str]) {
    let screen = shown(model);
    texts.iter().for_each(|text| assert!(screen.contains(text), "{text:?} is not on the screen:\n{screen}"));
}

const ENTER: KeyCode = KeyCode::Enter;

#[test]
fn the_first_look_shows_trial_device_progress_and_who_is_waiting_how_long() {
    shows(
        &at_work(),
        &[
            "Early walking after hip surgery",
            "connected: /dev/ttyACM0",
            "Patients 1234 of 4000",
            "30 %",
            "Phase explore",
            "next look after patient 2000",
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

#[test]
fn enrolling_asks_once_and_shows_the_arm_in_large_letters_until_it_is_read() {
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
    shows(&model, &["Enrol patient H-07/23, 65 or over, home?", "cannot be taken back", "Esc: back"]);
    let order = press(&mut model, &[ENTER]);
    assert_eq!(order, Some(Order::Enrol { code: "H-07/23".to_owned(), feature: 2 }));
    shows(&model, &["Asking the device for the arm of patient H-07/23"]);
    assert_eq!(press(&mut model, &[ENTER, KeyCode::Esc, KeyCode::Char('e'), ENTER]), None, "asked once");
    model.news(News::Enrolled(patient("H-07/23", 1235, "2026-11-16T08:30:00Z")));
    let large = "█████  ███  ████  █     █   █";
    shows(
        &model,
        &["Patient H-07/23, number 1235", large, "Early walking (arm 1)", "Enter when you have read it"],
    );
    press(&mut model, &[KeyCode::Esc, KeyCode::Char('q'), KeyCode::Char(' ')]);
    assert!(matches!(model.scene, Scene::Arm(_)) && !model.quit, "no other key takes the arm away");
    press(&mut model, &[ENTER]);
    assert_eq!(model.scene, Scene::List);
}

#[test]
fn an_outcome_is_sent_only_after_a_confirmation_and_then_leaves_the_screen() {
    let mut model = at_work();
    press(&mut model, &[KeyCode::Down, ENTER]);
    shows(&model, &["Patient H-07/19, number 1234: Walks unaided on day 14?", "1  no", "2  yes"]);
    assert_eq!(press(&mut model, &[ENTER, ENTER, ENTER]), None, "nothing is chosen beforehand");
    shows(&model, &["! Choose one first"]);
    assert_eq!(press(&mut model, &[KeyCode::Char('2'), ENTER]), None);
    shows(&model, &["Walks unaided on day 14? YES", "cannot be changed"]);
    assert_eq!(
        press(&mut model, &[KeyCode::Esc, KeyCode::Down, KeyCode::Down, ENTER]),
        None,
        "back, and again"
    );
    assert_eq!(press(&mut model, &[ENTER]), Some(Order::Outcome { number: 1234, y: 1 }));
    assert!(!shown(&model).contains("YES"));
    assert!(!format!("{model:?}").contains("Outcome {"), "the chosen value is gone from the model");
    model.news(News::Recorded(1234));
    shows(&model, &["Recorded for patient number 1234.", "Outcomes waiting"]);
}

#[test]
fn a_loss_is_sent_only_after_a_confirmation() {
    let mut model = at_work();
    assert_eq!(press(&mut model, &[KeyCode::Char('l')]), None);
    shows(&model, &["Patient H-07/12, number 1200: the outcome will never come?"]);
    assert_eq!(press(&mut model, &[KeyCode::Esc]), None);
    assert_eq!(model.scene, Scene::List);
    assert_eq!(press(&mut model, &[KeyCode::Char('L'), ENTER]), Some(Order::Lost { number: 1200 }));
}

#[test]
fn a_graded_outcome_is_typed_and_held_to_its_scale() {
    let mut model = at_work();
    let text = equipoise::host::terminal::trial_file::EXAMPLE.replace("scale = 1 ", "scale = 100 ");
    let text: String =
        text.lines().filter(|line| !line.starts_with("labels")).map(|l| l.to_owned() + "\n").collect();
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

#[test]
fn a_bad_or_used_code_is_named_and_can_be_corrected() {
    let mut model = at_work();
    press(&mut model, &[KeyCode::Char('e'), ENTER]);
    shows(&model, &["! the patient code \"\" is not allowed: 1 to 24 letters, digits"]);
    type_in(&mut model, "H-07/19");
    press(&mut model, &[ENTER]);
    shows(&model, &["! Patient H-07/19 is already enrolled."]);
    press(&mut model, &[KeyCode::Char('a'), ENTER]);
    shows(&model, &["Patient H-07/19a is"]);
}

#[test]
fn an_unplugged_device_is_told_in_words_and_a_pending_enrolment_goes_on() {
    let mut model = at_work();
    model.news(News::Pending("H-07/23".to_owned()));
    model.news(News::Disconnected("/dev/ttyACM0 is not there: is the device plugged in?".to_owned()));
    shows(&model, &["NO DEVICE", "! /dev/ttyACM0 is not there", "never assigns twice", "Asking the device"]);
    model.news(News::Connected("/dev/ttyACM0".to_owned()));
    shows(&model, &["connected: /dev/ttyACM0", "The device is back."]);
    model.news(News::Enrolled(patient("H-07/23", 1235, "2026-11-16T08:30:00Z")));
    shows(&model, &["Early walking (arm 1)"]);
}

#[test]
fn why_there_is_no_device_does_not_hide_what_became_of_the_last_order() {
    let mut model = at_work();
    model.scene = Scene::Asking { what: "the record of patient H-07/12".to_owned(), enrolment: false };
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

#[test]
fn without_a_device_nobody_can_be_enrolled() {
    let mut model = at_work();
    model.news(News::Disconnected("gone".to_owned()));
    press(&mut model, &[KeyCode::Char('e')]);
    shows(&model, &["! There is no device", "Outcomes waiting"]);
    let mut model = at_work();
    model.news(News::Progress(Status { phase: Phase::Closed, ..status() }));
    press(&mut model, &[KeyCode::Char('e')]);
    shows(&model, &["! The trial is closed"]);
}

#[test]
fn without_colour_no_cell_has_one_and_the_text_is_the_same_with_it() {
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

#[test]
fn any_window_can_be_drawn_and_a_tiny_one_says_so() {
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
