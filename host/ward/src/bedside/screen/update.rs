//! Updates of the model from keys.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::choice::{self, Choice};
use super::{Connection, Model, Order, Scene};
use crate::bedside::{MAX_NOTE, MAX_OPERATOR, no_room};
use crate::records::alike::{alike, folded};
use crate::records::code::MAX_CODE;
use crate::records::log::NoteKind;
use crate::records::register::Patient;
use crate::records::text::is_plain;

impl Model {
    /// Updates the model from a key; returns the order that the key gives, if any.
    pub fn key(&mut self, key: KeyEvent) -> Option<Order> {
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            self.quit |= key.code == KeyCode::Char('c');
            return None;
        }
        let (scene, order) = self.next(key.code);
        self.scene = scene;
        order
    }

    fn next(&mut self, key: KeyCode) -> (Scene, Option<Order>) {
        let scene = self.scene.clone();
        match (scene, key) {
            (Scene::List, KeyCode::Char('c' | 'C')) if !self.searching => {
                self.say("");
                return (Scene::List, Some(Order::SaveList));
            }
            (Scene::List, key) => return (self.list(key), None),
            (Scene::Asking { enrolment: true, logged: true, .. }, KeyCode::Char('q' | 'Q')) => {
                self.quit = true
            }
            (
                Scene::Code { .. }
                | Scene::Number { .. }
                | Scene::Outcome { .. }
                | Scene::NoteKind { .. }
                | Scene::Find { .. }
                | Scene::Operator { .. }
                | Scene::Help,
                KeyCode::Esc,
            ) => {
                return (Scene::List, None);
            }
            (Scene::Arm(_) | Scene::Help, KeyCode::Enter) => return (Scene::List, None),
            (Scene::Code { text }, KeyCode::Enter) => return (self.coded(text), None),
            (Scene::Code { text }, key) => {
                return (Scene::Code { text: edit(text, key, MAX_CODE) }, None);
            }
            (Scene::Kind { code, mut levels, .. }, KeyCode::Esc) => {
                let scene = match levels.pop() {
                    None => Scene::Code { text: code },
                    Some(last) => Scene::Kind { code, levels, choice: Choice::at(last) },
                };
                return (scene, None);
            }
            (Scene::Kind { code, levels, choice }, KeyCode::Enter) => {
                return (self.kind(code, levels, choice), None);
            }
            (Scene::Kind { code, levels, choice }, key) => {
                let length =
                    self.trial.factors.get(levels.len()).map_or(0, |factor| factor.levels.len());
                return (Scene::Kind { code, levels, choice: choice.key(key, length) }, None);
            }
            (Scene::SureEnrol { code, feature, resumed: false }, KeyCode::Esc) => {
                let mut levels = self.trial.factors.levels(feature);
                let choice = levels.pop().map_or_else(Choice::default, Choice::at);
                return (Scene::Kind { code, levels, choice }, None);
            }
            (Scene::SureEnrol { code, resumed: true, .. }, KeyCode::Esc) => {
                self.say(&format!("Patient {code} was not enrolled."));
                return (Scene::List, Some(Order::Drop { code }));
            }
            (Scene::SureEnrol { code, feature, .. }, KeyCode::Enter) => {
                self.say("");
                return (self.asking_for(&code, false), Some(Order::Enrol { code, feature }));
            }
            (Scene::Outcome { patient, choice }, KeyCode::Enter) => {
                return (self.chosen(patient, choice), None);
            }
            (Scene::Outcome { patient, choice }, key) => {
                let labels = self.trial.labels.as_ref().map_or(0, Vec::len);
                return (Scene::Outcome { patient, choice: choice.key(key, labels) }, None);
            }
            (Scene::NoteKind { patient, choice }, KeyCode::Enter) => {
                let kind = choice
                    .taken(NoteKind::ALL.len())
                    .map(|place| NoteKind::ALL.get(place).copied());
                return match kind {
                    Ok(Some(kind)) => (Scene::Note { patient, kind, text: String::new() }, None),
                    other => {
                        self.fail(&other.err().unwrap_or_default());
                        (Scene::NoteKind { patient, choice }, None)
                    }
                };
            }
            (Scene::NoteKind { patient, choice }, key) => {
                let choice = choice.key(key, NoteKind::ALL.len());
                return (Scene::NoteKind { patient, choice }, None);
            }
            (Scene::Note { patient, kind, .. }, KeyCode::Esc) => {
                let place = NoteKind::ALL.iter().position(|known| *known == kind);
                let choice = place.map_or_else(Choice::default, Choice::at);
                return (Scene::NoteKind { patient, choice }, None);
            }
            (Scene::Note { patient, kind, text }, KeyCode::Enter) => {
                if text.trim().is_empty() {
                    self.fail("Type the note first.");
                    return (Scene::Note { patient, kind, text }, None);
                }
                return (Scene::List, Some(Order::Note { number: patient.number, kind, text }));
            }
            (Scene::Note { patient, kind, text }, key) => {
                return (Scene::Note { patient, kind, text: edit(text, key, MAX_NOTE) }, None);
            }
            (Scene::Find { text }, KeyCode::Enter) => {
                return (Scene::List, Some(Order::Find { code: text.trim().to_owned() }));
            }
            (Scene::Find { text }, key) => {
                return (Scene::Find { text: edit(text, key, MAX_CODE) }, None);
            }
            (Scene::Operator { text }, KeyCode::Enter) if !text.trim().is_empty() => {
                return (Scene::List, Some(Order::Operator { name: text.trim().to_owned() }));
            }
            (Scene::Operator { text }, key) => {
                return (Scene::Operator { text: edit(text, key, MAX_OPERATOR) }, None);
            }
            (Scene::Number { patient, text }, KeyCode::Enter) => {
                return (self.numbered(patient, text), None);
            }
            (Scene::Number { patient, text }, key) => {
                return (Scene::Number { patient, text: edit(text, key, 5) }, None);
            }
            (Scene::SureOutcome { patient, y }, KeyCode::Enter) => {
                let (number, what) =
                    (patient.number, format!("the record of patient {}", patient.code));
                let order = y.map_or(Order::Lost { number }, |y| Order::Outcome { number, y });
                return (Scene::Asking { what, enrolment: false, logged: false }, Some(order));
            }
            (Scene::SureReplace { patient }, KeyCode::Enter) => {
                let what = format!("another kit for patient {}", patient.code);
                let order = Order::Replace { number: patient.number };
                return (Scene::Asking { what, enrolment: false, logged: false }, Some(order));
            }
            (Scene::SureReplace { .. }, KeyCode::Esc) => return (Scene::List, None),
            (Scene::SureOutcome { patient, y }, KeyCode::Esc) => {
                return (if y.is_some() { self.outcome(patient) } else { Scene::List }, None);
            }
            _ => {}
        }
        (self.scene.clone(), None)
    }

    /// Patients whose code has the text that is searched for.
    pub fn shown(&self) -> impl Iterator<Item = &Patient> {
        let part = folded(&self.search);
        self.waiting.iter().filter(move |patient| folded(&patient.code).contains(&part))
    }

    pub(super) fn selected(&self) -> Option<&Patient> {
        self.shown().nth(self.cursor)
    }

    fn list(&mut self, key: KeyCode) -> Scene {
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
                return Scene::SureReplace { patient };
            }
            (KeyCode::Char('n'), Some(patient)) => {
                self.say("");
                return Scene::NoteKind { patient, choice: Choice::default() };
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
            (KeyCode::Char('/'), _) => self.searching = true,
            (KeyCode::Char(digit), _) if digit.is_ascii_digit() => {
                self.searching = true;
                self.search = digit.to_string();
                self.cursor = 0;
            }
            (KeyCode::Esc, _) => (self.search, self.cursor) = (String::new(), 0),
            (key, _) => {
                self.cursor =
                    choice::moved(Some(self.cursor), key, self.shown().count()).unwrap_or(0)
            }
        }
        if !matches!(key, KeyCode::Char('o' | 'l' | 'a' | 'n')) {
            self.say("");
        }
        Scene::List
    }

    fn search(&mut self, key: KeyCode) -> Scene {
        match key {
            KeyCode::Enter => self.searching = false,
            KeyCode::Esc => (self.searching, self.search, self.cursor) = (false, String::new(), 0),
            KeyCode::Char(_) | KeyCode::Backspace => {
                self.search = edit(std::mem::take(&mut self.search), key, MAX_CODE);
                self.cursor = 0;
            }
            key => {
                self.cursor =
                    choice::moved(Some(self.cursor), key, self.shown().count()).unwrap_or(0)
            }
        }
        Scene::List
    }

    fn enrol(&mut self) -> Scene {
        match (&self.connection, self.status.as_ref().map(no_room)) {
            (Connection::Up(_), Some(None)) => {
                self.say("");
                return Scene::Code { text: String::new() };
            }
            (Connection::Up(_), Some(Some(why))) => {
                self.fail(&format!("Nobody can be enrolled: {why}."))
            }
            (Connection::Up(_), None) => {
                self.fail("The device has not told its state yet: try again.")
            }
            _ => self.fail("There is no device: nobody can be enrolled before it is back."),
        }
        Scene::List
    }

    fn coded(&mut self, text: String) -> Scene {
        if let Some(patient) = self.waiting.iter().find(|patient| alike(&patient.code, &text)) {
            let known = patient.code.clone();
            self.fail(&format!("Patient {known} is already enrolled."));
            return Scene::Code { text };
        }
        match self.trial.code.check(&text) {
            Ok(code) => {
                self.say("");
                Scene::Kind { code, levels: Vec::new(), choice: Choice::default() }
            }
            Err(why) => {
                self.fail(&why);
                Scene::Code { text }
            }
        }
    }

    /// Takes the level of a factor; after the last factor the kind of patient is known.
    fn kind(&mut self, code: String, mut levels: Vec<usize>, choice: Choice) -> Scene {
        let length = self.trial.factors.get(levels.len()).map_or(0, |factor| factor.levels.len());
        match choice.taken(length) {
            Err(why) => {
                self.fail(&why);
                Scene::Kind { code, levels, choice }
            }
            Ok(level) => {
                self.say("");
                levels.push(level);
                match self.trial.factors.feature(&levels) {
                    Some(feature) => Scene::SureEnrol { code, feature, resumed: false },
                    None => Scene::Kind { code, levels, choice: Choice::default() },
                }
            }
        }
    }

    fn chosen(&mut self, patient: Patient, choice: Choice) -> Scene {
        let labels = self.trial.labels.as_ref().map_or(0, Vec::len);
        match choice.taken(labels).map(u16::try_from) {
            Ok(Ok(y)) => {
                self.say("");
                Scene::SureOutcome { patient, y: Some(y) }
            }
            other => {
                self.fail(&other.err().unwrap_or_default());
                Scene::Outcome { patient, choice }
            }
        }
    }

    fn outcome(&mut self, patient: Patient) -> Scene {
        self.say("");
        if self.trial.labels.is_some() {
            Scene::Outcome { patient, choice: Choice::default() }
        } else {
            Scene::Number { patient, text: String::new() }
        }
    }

    fn numbered(&mut self, patient: Patient, text: String) -> Scene {
        let scale = self.trial.plan.scale();
        match text.parse::<u16>() {
            Ok(y) if y <= scale => Scene::SureOutcome { patient, y: Some(y) },
            _ => {
                self.fail(&format!("The outcome must be a whole number from 0 to {scale}."));
                Scene::Number { patient, text }
            }
        }
    }

    pub(super) fn asking_for(&self, code: &str, logged: bool) -> Scene {
        let what = if self.trial.kits.is_some() { "a kit for" } else { "the arm of" };
        Scene::Asking { what: format!("{what} patient {code}"), enrolment: true, logged }
    }

    pub(super) fn say(&mut self, message: &str) {
        (self.message, self.error) = (message.to_owned(), false);
    }

    pub(super) fn fail(&mut self, message: &str) {
        (self.message, self.error) = (message.to_owned(), true);
    }
}

fn edit(mut text: String, key: KeyCode, most: usize) -> String {
    match key {
        KeyCode::Char(c) if text.chars().count() < most && is_plain(c) => text.push(c),
        KeyCode::Backspace => drop(text.pop()),
        _ => {}
    }
    text
}
