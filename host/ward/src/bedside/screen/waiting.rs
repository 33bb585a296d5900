//! The list of waiting patients: its keys, the search, and how it is drawn.

use ratatui::Frame;
use ratatui::crossterm::event::KeyCode;
use ratatui::layout::Rect;
use ratatui::style::Color;
use ratatui::text::Line;

use super::picker::{self, Picker};
use super::update::edit;
use super::widgets::{age, bold, choice, colour, cut, days, lines, scrolled};
use super::{Model, Scene};
use crate::records::alike::folded;
use crate::records::code::MAX_CODE;
use crate::records::register::Patient;

impl Model {
    /// Patients whose code has the text that is searched for.
    pub fn shown(&self) -> impl Iterator<Item = &Patient> {
        let part = folded(&self.search);
        self.waiting.iter().filter(move |patient| folded(&patient.code).contains(&part))
    }

    pub(super) fn selected(&self) -> Option<&Patient> {
        self.shown().nth(self.cursor)
    }

    pub(super) fn list(&mut self, key: KeyCode) -> Scene {
        if self.searching {
            return self.search(key);
        }
        let selected = self.selected().cloned();
        let key =
            if let KeyCode::Char(c) = key { KeyCode::Char(c.to_ascii_lowercase()) } else { key };
        match (key, selected) {
            (KeyCode::Char('q'), _) => self.quit = true,
            (KeyCode::Char('?' | 'h') | KeyCode::F(1), _) => return Scene::Help,
            (KeyCode::Char('e'), _) => return self.enrol(),
            (KeyCode::Char('o') | KeyCode::Enter, Some(patient)) => return self.outcome(patient),
            (KeyCode::Char('l'), Some(patient)) => {
                self.say("");
                return Scene::SureOutcome { patient, y: None };
            }
            (KeyCode::Char('a'), Some(patient)) => {
                self.say("");
                return Scene::Arm(patient);
            }
            (KeyCode::Char('k'), Some(patient)) if self.trial.kits.is_some() => {
                self.say("");
                return Scene::Reason { patient, text: String::new() };
            }
            (KeyCode::Char('n'), Some(patient)) => {
                self.say("");
                return Scene::NoteKind { patient, picker: Picker::default() };
            }
            (KeyCode::Char('f'), _) => {
                self.say("");
                return Scene::Find { text: String::new() };
            }
            (KeyCode::Char('i'), _) => {
                self.say("");
                return Scene::Operator { text: String::new() };
            }
            (KeyCode::Char('o' | 'l' | 'a' | 'n'), None) => self.fail("No patient is chosen."),
            (KeyCode::Char('/'), _) => self.begin_search(),
            (KeyCode::Char(digit), _) if digit.is_ascii_digit() => {
                self.begin_search();
                self.search = digit.to_string();
                self.cursor = 0;
            }
            (KeyCode::Esc, _) => self.show_all(),
            (key, _) => {
                self.cursor =
                    picker::moved(Some(self.cursor), key, self.shown().count()).unwrap_or(0)
            }
        }
        if !matches!(key, KeyCode::Char('o' | 'l' | 'a' | 'n')) {
            self.say("");
        }
        Scene::List
    }

    fn begin_search(&mut self) {
        self.searching = true;
        self.before_search = self.selected().map(|patient| patient.number);
    }

    /// Ends the search; the cursor stays on its patient, or on the one of before the search if no
    /// code has the text.
    fn show_all(&mut self) {
        let number = self.selected().map(|patient| patient.number).or(self.before_search.take());
        (self.searching, self.search) = (false, String::new());
        let place = self.waiting.iter().position(|patient| Some(patient.number) == number);
        self.cursor = place.unwrap_or(0);
    }

    fn search(&mut self, key: KeyCode) -> Scene {
        match key {
            KeyCode::Enter => self.searching = false,
            KeyCode::Esc => self.show_all(),
            KeyCode::Char(_) | KeyCode::Backspace => {
                self.search = edit(std::mem::take(&mut self.search), key, MAX_CODE);
                self.cursor = 0;
            }
            key => {
                self.cursor =
                    picker::moved(Some(self.cursor), key, self.shown().count()).unwrap_or(0)
            }
        }
        Scene::List
    }
}

/// Draws the list.
pub(super) fn draw(model: &Model, frame: &mut Frame<'_>, area: Rect) {
    let title = match (model.search.as_str(), model.searching) {
        ("", false) => format!("Outcomes waiting: {}", model.waiting.len()),
        (part, typing) => {
            let cursor = if typing { "_" } else { "" };
            format!(
                "Outcomes waiting: {} of {}, code has {part}{cursor}",
                model.shown().count(),
                model.waiting.len()
            )
        }
    };
    let mut text = Vec::new();
    if let Some(gap) = &model.gap {
        let alarm = bold().patch(colour(model, Color::Red));
        text.extend([Line::styled(format!("! {gap} (E)."), alarm), Line::default()]);
    }
    if model.waiting.is_empty() {
        let (nobody, next) = if model.gap.is_some() {
            ("  Of the patients that this log knows, nobody is waiting for an outcome.", "")
        } else {
            ("  Nobody is waiting for an outcome.", "  Press E to enrol the next patient.")
        };
        text.extend([Line::default(), Line::from(nobody), Line::default()]);
        text.push(Line::styled(next, bold()));
        return lines(frame, area, &title, text);
    }
    let last = if model.trial.due.is_some() { "due" } else { "waiting" };
    text.push(Line::from(format!(
        "    {:<24} {:>7}  {:<16} {:<8} {last:>13}",
        "code", "number", "kind of patient", "by"
    )));
    // An alarm may take two rows more.
    let rows = text.len() + if model.gap.is_some() { 2 } else { 0 };
    let room = usize::from(area.height).saturating_sub(rows + 2).max(1);
    let shown: Vec<&Patient> = model.shown().collect();
    for (place, patient) in scrolled(&shown, model.cursor, room) {
        let (kind, marks) = (model.trial.feature_name(patient.feature), patient.marks.words());
        let feature = cut(&if marks.is_empty() { kind } else { format!("{marks}; {kind}") }, 16);
        let by = cut(&patient.operator, 8);
        let when = model.trial.due.map(|due| due.after(patient.since)).map_or_else(
            || age(patient.since, model.now),
            |due| {
                if patient.marks.is_withdrawn() {
                    String::new()
                } else if due < model.now {
                    format!("OVERDUE {}", days(due, model.now))
                } else {
                    format!("in {}", days(model.now, due))
                }
            },
        );
        let row =
            format!("{:<24} {:>7}  {feature:<16} {by:<8} {when:>13}", patient.code, patient.number);
        text.push(choice(model, &row, place == model.cursor));
    }
    lines(frame, area, &title, text);
}
