//! The bedside screen, scene by scene, without a device.

mod patients;
mod picture;
mod sign;
mod trouble;

use equipoise::terms::Arm;
use equipoise::terms::Phase;
use equipoise::wire::{Reply, Status};
use equipoise_ward::bedside::Recorded;
use equipoise_ward::bedside::orders::Record;
use equipoise_ward::bedside::screen::view::view;
use equipoise_ward::bedside::screen::{Model, News, Order, Scene};
use equipoise_ward::records::log::NoteKind;
use equipoise_ward::records::marks::Marks;
use equipoise_ward::records::register::{Patient, Treatment};
use equipoise_ward::records::trial_file::TrialFile;
use jiff::Timestamp;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::style::Color;

fn now() -> Timestamp {
    "2026-11-16T08:30:00Z".parse().unwrap()
}

/// Read from a line, so that it also has fields that are not named here.
pub fn status() -> Status {
    let line = b"STATUS trial=0101010101010101 file=0000000000000000 design=interim n=4000 better=high \
        results=custodian assigned=1234 resolved=1232 capacity=128 phase=explore looks=4 next-look=2000*DAAD";
    match Reply::parse(line) {
        Ok(Reply::Status(status)) => status,
        other => panic!("{other:?}"),
    }
}

fn patient(code: &str, number: u32, since: &str) -> Patient {
    let (code, since, operator) = (code.to_owned(), since.parse().unwrap(), "nurse".to_owned());
    let (given, marks) = (Treatment::Arm(Arm::One), Marks::default());
    Patient { code, number, feature: 2, given, since, operator, marks }
}

fn working_model() -> Model {
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
const E: KeyCode = KeyCode::Char('e');
const R: KeyCode = KeyCode::Char('r');
