//! Updates of the model from keys.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::picker::Picker;
use super::{Connection, Model, Order, Scene, confirm};
use crate::bedside::{MAX_NOTE, MAX_OPERATOR, no_room};
use crate::records::alike::alike;
use crate::records::code::MAX_CODE;
use crate::records::log::NoteKind;
use crate::records::pharmacy::MAX_REASON;
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
        if let Some(next) = self.sign_key(key) {
            return next;
        }
        let scene = self.scene.clone();
        match (scene, key) {
            (scene, key) if confirm::letter(&scene).is_some() => return self.confirm(scene, key),
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
                | Scene::Reason { .. }
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
                // What was said of one code is not said of the next.
                self.say("");
                return (Scene::Code { text: edit(text, key, MAX_CODE) }, None);
            }
            (Scene::Kind { code, mut levels, .. }, KeyCode::Esc) => {
                let scene = match levels.pop() {
                    None => Scene::Code { text: code },
                    Some(last) => Scene::Kind { code, levels, picker: Picker::at(last) },
                };
                return (scene, None);
            }
            (Scene::Kind { code, levels, picker }, KeyCode::Enter) => {
                return (self.kind(code, levels, picker), None);
            }
            (Scene::Kind { code, levels, picker }, key) => {
                let picker = picker.key(key, self.levels_of(levels.len()));
                return (Scene::Kind { code, levels, picker }, None);
            }
            (Scene::Outcome { patient, picker }, KeyCode::Enter) => {
                return (self.chosen(patient, picker), None);
            }
            (Scene::Outcome { patient, picker }, key) => {
                let labels = self.trial.labels.as_ref().map_or(0, Vec::len);
                return (Scene::Outcome { patient, picker: picker.key(key, labels) }, None);
            }
            (Scene::NoteKind { patient, picker }, KeyCode::Enter) => {
                let kind = picker
                    .taken(NoteKind::ALL.len())
                    .map(|place| NoteKind::ALL.get(place).copied());
                return match kind {
                    Ok(Some(NoteKind::WrongKind)) => {
                        self.say("");
                        (right_kind(patient), None)
                    }
                    Ok(Some(kind)) => (noting(patient, kind, None), None),
                    other => {
                        self.fail(&other.err().unwrap_or_default());
                        (Scene::NoteKind { patient, picker }, None)
                    }
                };
            }
            (Scene::NoteKind { patient, picker }, key) => {
                let picker = picker.key(key, NoteKind::ALL.len());
                return (Scene::NoteKind { patient, picker }, None);
            }
            (Scene::RightKind { patient, mut levels, .. }, KeyCode::Esc) => {
                let scene = match levels.pop() {
                    None => Scene::NoteKind { patient, picker: Picker::default() },
                    Some(last) => Scene::RightKind { patient, levels, picker: Picker::at(last) },
                };
                return (scene, None);
            }
            (Scene::RightKind { patient, levels, picker }, KeyCode::Enter) => {
                return (self.right_kind_chosen(patient, levels, picker), None);
            }
            (Scene::RightKind { patient, levels, picker }, key) => {
                let picker = picker.key(key, self.levels_of(levels.len()));
                return (Scene::RightKind { patient, levels, picker }, None);
            }
            (Scene::Reason { patient, text }, KeyCode::Enter) => {
                if text.trim().is_empty() {
                    self.fail("Type why the kit cannot be used first.");
                    return (Scene::Reason { patient, text }, None);
                }
                self.say("");
                return (Scene::SureReplace { patient, reason: text.trim().to_owned() }, None);
            }
            (Scene::Reason { patient, text }, key) => {
                return (Scene::Reason { patient, text: edit(text, key, MAX_REASON) }, None);
            }
            (Scene::Note { patient, kind, .. }, KeyCode::Esc) => {
                let place = NoteKind::ALL.iter().position(|known| *known == kind);
                let picker = place.map_or_else(Picker::default, Picker::at);
                return (Scene::NoteKind { patient, picker }, None);
            }
            (Scene::Note { patient, kind, should_be, text }, KeyCode::Enter) => {
                if text.trim().is_empty() {
                    self.fail("Type the note first.");
                    return (Scene::Note { patient, kind, should_be, text }, None);
                }
                let number = patient.number;
                return (Scene::List, Some(Order::Note { number, kind, text, should_be }));
            }
            (Scene::Note { patient, kind, should_be, text }, key) => {
                let text = edit(text, key, MAX_NOTE);
                return (Scene::Note { patient, kind, should_be, text }, None);
            }
            (Scene::Find { text }, KeyCode::Enter) => {
                return (Scene::List, Some(Order::Find { code: text.trim().to_owned() }));
            }
            (Scene::Find { text }, key) => {
                self.say("");
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
            _ => {}
        }
        (self.scene.clone(), None)
    }

    pub(super) fn enrol(&mut self) -> Scene {
        match (&self.connection, self.status.as_ref().map(no_room)) {
            (Connection::Up(_), Some(None)) => {
                self.say("");
                let gap = self.gap.clone();
                let first = self.first_of_enrolment();
                return gap.map_or(first, |gap| Scene::SureElsewhere { gap });
            }
            (Connection::Up(_), Some(Some(why))) => {
                self.fail(&format!("Nobody can be enrolled: {why}."))
            }
            (Connection::Up(_), None) => {
                self.fail("The device has not told its state yet: try again.")
            }
            (Connection::Unfit(why), _) => {
                let why = why.clone();
                self.fail(&format!("Nobody can be enrolled: {why}."));
            }
            _ => self.fail("There is no device: nobody can be enrolled before it is back."),
        }
        Scene::List
    }

    fn coded(&mut self, text: String) -> Scene {
        if let Some(patient) = self.waiting.iter().find(|patient| alike(&patient.code, &text)) {
            let (known, number) = (patient.code.clone(), patient.number);
            let kind = self.trial.feature_name(patient.feature);
            self.fail(&format!(
                "Patient {known} is already enrolled, as number {number}, {kind:?}: Esc, then F shows the patient."
            ));
            return Scene::Code { text };
        }
        match self.trial.code.check(&text) {
            Ok(code) => {
                self.say("");
                Scene::Kind { code, levels: Vec::new(), picker: Picker::default() }
            }
            Err(why) => {
                self.fail(&why);
                Scene::Code { text }
            }
        }
    }

    /// Takes the level of a factor; after the last factor the kind of patient is known.
    fn kind(&mut self, code: String, mut levels: Vec<usize>, picker: Picker) -> Scene {
        match picker.taken(self.levels_of(levels.len())) {
            Err(why) => {
                self.fail(&why);
                Scene::Kind { code, levels, picker }
            }
            Ok(level) => {
                self.say("");
                levels.push(level);
                match self.trial.factors.feature(&levels) {
                    Some(feature) => Scene::SureEnrol { code, feature, resumed: false },
                    None => Scene::Kind { code, levels, picker: Picker::default() },
                }
            }
        }
    }

    /// Levels of a factor.
    fn levels_of(&self, factor: usize) -> usize {
        self.trial.factors.get(factor).map_or(0, |factor| factor.levels.len())
    }

    /// Takes a level of the kind of patient that would have been right.
    fn right_kind_chosen(
        &mut self,
        patient: Patient,
        mut levels: Vec<usize>,
        picker: Picker,
    ) -> Scene {
        match picker.taken(self.levels_of(levels.len())) {
            Err(why) => {
                self.fail(&why);
                Scene::RightKind { patient, levels, picker }
            }
            Ok(level) => {
                self.say("");
                levels.push(level);
                match self.trial.factors.feature(&levels) {
                    Some(feature) => noting(patient, NoteKind::WrongKind, Some(feature)),
                    None => Scene::RightKind { patient, levels, picker: Picker::default() },
                }
            }
        }
    }

    fn chosen(&mut self, patient: Patient, picker: Picker) -> Scene {
        let labels = self.trial.labels.as_ref().map_or(0, Vec::len);
        match picker.taken(labels).map(u16::try_from) {
            Ok(Ok(y)) => {
                self.say("");
                Scene::SureOutcome { patient, y: Some(y) }
            }
            other => {
                self.fail(&other.err().unwrap_or_default());
                Scene::Outcome { patient, picker }
            }
        }
    }

    pub(super) fn outcome(&mut self, patient: Patient) -> Scene {
        self.say("");
        if self.trial.labels.is_some() {
            Scene::Outcome { patient, picker: Picker::default() }
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

fn noting(patient: Patient, kind: NoteKind, should_be: Option<u8>) -> Scene {
    Scene::Note { patient, kind, should_be, text: String::new() }
}

fn right_kind(patient: Patient) -> Scene {
    Scene::RightKind { patient, levels: Vec::new(), picker: Picker::default() }
}

pub(super) fn edit(mut text: String, key: KeyCode, most: usize) -> String {
    match key {
        KeyCode::Char(c) if text.chars().count() < most && is_plain(c) => text.push(c),
        KeyCode::Backspace => drop(text.pop()),
        _ => {}
    }
    text
}
