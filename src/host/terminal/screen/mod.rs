//! The bedside screen: model, update, view.
//!
//! The [`Model`] is everything the screen knows; [`Model::key`] and [`Model::news`] change it and may give an
//! [`Order`] for the device; [`view`](view::view) draws it and changes nothing. None of them waits: orders go to the
//! thread of [`run`], which owns device and log, and its answers come back as [`News`]. So the screen never hangs,
//! and a test can play every scene without a device.
//!
//! The scenes and the keys between them:
//!
//! ```text
//! list --E--> code --Enter--> kind --Enter--> sure? --Enter--> asking --> ARM in large letters --Enter--> list
//! list --O or Enter--> outcome --Enter--> sure? --Enter--> asking --> list
//! list --L--> sure? --Enter--> asking --> list        list --A--> the arm once more        Esc: one step back
//! list --/ or a digit--> search, part of a code       Enter: keep the matches, Esc: all patients again
//! ```
//!
//! A chosen outcome is held only by the scenes in which it is chosen and confirmed.

mod choice;
pub mod letters;
pub mod run;
pub mod view;

pub use choice::Choice;

use crate::prelude::*;
use jiff::Timestamp;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::bedside::Recorded;
use super::code::{MAX_CODE, folded};
use super::register::Patient;
use super::trial_file::TrialFile;
use crate::trial::Phase;
use crate::wire::Status;

/// What a person wants done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// An arm for a patient.
    Enrol {
        /// Patient code.
        code: String,
        /// Kind of patient.
        feature: u8,
    },
    /// An outcome.
    Outcome {
        /// The patient's number.
        number: u32,
        /// The outcome.
        y: u16,
    },
    /// No outcome, ever.
    Lost {
        /// The patient's number.
        number: u32,
    },
    /// Give up an enrolment that an earlier terminal had confirmed and not asked for.
    Drop {
        /// Patient code.
        code: String,
    },
}

/// What the thread at the device reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    /// The device answers, on this port.
    Connected(String),
    /// The device does not answer; why.
    Disconnected(String),
    /// The public facts.
    Progress(Status),
    /// Everybody whose outcome is waited for.
    Waiting(Vec<Patient>),
    /// A patient has an arm.
    Enrolled(Patient),
    /// An outcome or a loss was recorded.
    Recorded(Recorded),
    /// An order was not carried out; why.
    Failed(String),
    /// An enrolment is in the log and has no answer yet: the code.
    Pending(String),
    /// An earlier terminal ended between the confirmation of an enrolment and asking for it.
    Wanted {
        /// Patient code.
        code: String,
        /// Kind of patient.
        feature: u8,
    },
}

/// Whether there is a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Connection {
    /// Not known yet.
    Looking,
    /// Yes, on this port.
    Up(String),
    /// No; why.
    Down(String),
}

/// What the middle of the screen shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scene {
    /// Patients waiting for their outcome.
    List,
    /// Typing the code of the next patient.
    Code {
        /// So far.
        text: String,
    },
    /// Choosing the kind of the next patient, one factor after the other.
    Kind {
        /// The patient code.
        code: String,
        /// Levels chosen so far, one a factor.
        levels: Vec<usize>,
        /// The level of the next factor.
        choice: Choice,
    },
    /// Sure to enrol?
    SureEnrol {
        /// The patient code.
        code: String,
        /// The kind of patient.
        feature: u8,
        /// Whether an earlier terminal had confirmed it.
        resumed: bool,
    },
    /// The device has been asked.
    Asking {
        /// What it was asked for, in words.
        what: String,
        /// Whether it is an enrolment, which goes on without this screen.
        enrolment: bool,
        /// Whether it is in the log.
        logged: bool,
    },
    /// The arm of a patient, in large letters.
    Arm(Patient),
    /// Choosing an outcome from its labels.
    Outcome {
        /// Whose.
        patient: Patient,
        /// Which of them.
        choice: Choice,
    },
    /// Typing an outcome.
    Number {
        /// Whose.
        patient: Patient,
        /// So far.
        text: String,
    },
    /// Sure about the outcome (`None`: lost)?
    SureOutcome {
        /// Whose.
        patient: Patient,
        /// Which.
        y: Option<u16>,
    },
    /// What the keys do.
    Help,
}

/// Everything the screen knows.
#[derive(Clone, Debug)]
pub struct Model {
    /// The names of the trial.
    pub trial: TrialFile,
    /// Whether there is a device.
    pub connection: Connection,
    /// The public facts, as last heard.
    pub status: Option<Status>,
    /// Patients without an outcome, the longest waiting first.
    pub waiting: Vec<Patient>,
    /// Which of the patients shown is under the cursor.
    pub cursor: usize,
    /// Part of a code: only patients with it are shown.
    pub search: String,
    /// Whether keys change the search.
    pub searching: bool,
    /// What the middle shows.
    pub scene: Scene,
    /// The last thing worth saying.
    pub message: String,
    /// Whether it is an error.
    pub error: bool,
    /// The time, for how long patients have waited.
    pub now: Timestamp,
    /// Whether to use colour.
    pub colour: bool,
    /// Whether to leave the screen.
    pub quit: bool,
}

impl Model {
    /// A screen that has heard nothing yet.
    #[must_use]
    pub const fn new(trial: TrialFile, now: Timestamp, colour: bool) -> Self {
        Self {
            trial,
            connection: Connection::Looking,
            status: None,
            waiting: Vec::new(),
            cursor: 0,
            search: String::new(),
            searching: false,
            scene: Scene::List,
            message: String::new(),
            error: false,
            now,
            colour,
            quit: false,
        }
    }

    /// What a piece of news changes.
    pub fn news(&mut self, news: News) {
        match news {
            News::Connected(port) => {
                if matches!(self.connection, Connection::Down(_)) {
                    self.say("The device is back.");
                }
                self.connection = Connection::Up(port);
            }
            News::Disconnected(why) => self.connection = Connection::Down(why),
            News::Progress(status) => self.status = Some(status),
            News::Waiting(waiting) => {
                // The cursor stays on its patient, whatever came or went before it.
                let number = self.selected().map(|patient| patient.number);
                self.waiting = waiting;
                let place = self.shown().position(|patient| Some(patient.number) == number);
                self.cursor = place.unwrap_or(self.cursor).min(self.shown().count().saturating_sub(1));
            }
            News::Enrolled(patient) => {
                self.say(&format!("Patient {} is number {}.", patient.code, patient.number));
                self.scene = Scene::Arm(patient);
            }
            News::Recorded(Recorded { number, code, closed }) => {
                let code = code.map_or(String::new(), |code| format!("{code}, "));
                let closed = if closed { " That was the last outcome: the trial is closed." } else { "" };
                self.say(&format!("Recorded for patient {code}number {number}.{closed}"));
                self.scene = Scene::List;
            }
            News::Failed(why) => {
                self.fail(&why);
                if matches!(self.scene, Scene::Asking { .. }) {
                    self.scene = Scene::List;
                }
            }
            News::Pending(code) => self.scene = asking_for_arm(&code, true),
            News::Wanted { code, feature } => {
                self.fail(&format!(
                    "Patient {code} was confirmed, but the terminal ended before it asked the device."
                ));
                self.scene = Scene::SureEnrol { code, feature, resumed: true };
            }
        }
    }

    /// What a key does.
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
            (Scene::List, key) => return (self.list(key), None),
            (Scene::Asking { enrolment: true, logged: true, .. }, KeyCode::Char('q' | 'Q')) => {
                self.quit = true
            }
            (
                Scene::Code { .. } | Scene::Number { .. } | Scene::Outcome { .. } | Scene::Help,
                KeyCode::Esc,
            ) => {
                return (Scene::List, None);
            }
            (Scene::Arm(_) | Scene::Help, KeyCode::Enter) => return (Scene::List, None),
            (Scene::Code { text }, KeyCode::Enter) => return (self.coded(text), None),
            (Scene::Code { text }, key) => return (Scene::Code { text: edit(text, key, MAX_CODE) }, None),
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
                let length = self.trial.factor(levels.len()).map_or(0, |factor| factor.levels.len());
                return (Scene::Kind { code, levels, choice: choice.key(key, length) }, None);
            }
            (Scene::SureEnrol { code, feature, resumed: false }, KeyCode::Esc) => {
                let mut levels = self.trial.levels(feature);
                let choice = levels.pop().map_or_else(Choice::default, Choice::at);
                return (Scene::Kind { code, levels, choice }, None);
            }
            (Scene::SureEnrol { code, resumed: true, .. }, KeyCode::Esc) => {
                self.say(&format!("Patient {code} was not enrolled."));
                return (Scene::List, Some(Order::Drop { code }));
            }
            (Scene::SureEnrol { code, feature, .. }, KeyCode::Enter) => {
                self.say("");
                return (asking_for_arm(&code, false), Some(Order::Enrol { code, feature }));
            }
            (Scene::Outcome { patient, choice }, KeyCode::Enter) => {
                return (self.chosen(patient, choice), None);
            }
            (Scene::Outcome { patient, choice }, key) => {
                let labels = self.trial.labels.as_ref().map_or(0, Vec::len);
                return (Scene::Outcome { patient, choice: choice.key(key, labels) }, None);
            }
            (Scene::Number { patient, text }, KeyCode::Enter) => return (self.numbered(patient, text), None),
            (Scene::Number { patient, text }, key) => {
                return (Scene::Number { patient, text: edit(text, key, 5) }, None);
            }
            (Scene::SureOutcome { patient, y }, KeyCode::Enter) => {
                let (number, what) = (patient.number, format!("the record of patient {}", patient.code));
                let order = y.map_or(Order::Lost { number }, |y| Order::Outcome { number, y });
                return (Scene::Asking { what, enrolment: false, logged: false }, Some(order));
            }
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

    fn selected(&self) -> Option<&Patient> {
        self.shown().nth(self.cursor)
    }

    fn list(&mut self, key: KeyCode) -> Scene {
        if self.searching {
            return self.search(key);
        }
        let selected = self.selected().cloned();
        let key = if let KeyCode::Char(c) = key { KeyCode::Char(c.to_ascii_lowercase()) } else { key };
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
            (KeyCode::Char('o' | 'l' | 'a'), None) => self.fail("No patient is chosen."),
            (KeyCode::Char('/'), _) => self.searching = true,
            (KeyCode::Char(digit), _) if digit.is_ascii_digit() => {
                self.searching = true;
                self.search = digit.to_string();
                self.cursor = 0;
            }
            (KeyCode::Esc, _) => (self.search, self.cursor) = (String::new(), 0),
            (key, _) => {
                self.cursor = choice::moved(Some(self.cursor), key, self.shown().count()).unwrap_or(0)
            }
        }
        if !matches!(key, KeyCode::Char('o' | 'l' | 'a')) {
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
            key => self.cursor = choice::moved(Some(self.cursor), key, self.shown().count()).unwrap_or(0),
        }
        Scene::List
    }

    fn enrol(&mut self) -> Scene {
        match (&self.connection, self.status.map(|status| status.phase)) {
            (Connection::Up(_), Some(Phase::Closed)) => {
                self.fail("The trial is closed: nobody is enrolled any more.")
            }
            (Connection::Up(_), Some(_)) => {
                self.say("");
                return Scene::Code { text: String::new() };
            }
            (Connection::Up(_), None) => self.fail("The device has not told its state yet: try again."),
            _ => self.fail("There is no device: nobody can be enrolled before it is back."),
        }
        Scene::List
    }

    fn coded(&mut self, text: String) -> Scene {
        match self.trial.code.check(&text) {
            Ok(code) => match self.waiting.iter().find(|patient| folded(&patient.code) == folded(&code)) {
                Some(patient) => {
                    let known = patient.code.clone();
                    self.fail(&format!("Patient {known} is already enrolled."));
                    Scene::Code { text }
                }
                None => {
                    self.say("");
                    Scene::Kind { code, levels: Vec::new(), choice: Choice::default() }
                }
            },
            Err(why) => {
                self.fail(&why);
                Scene::Code { text }
            }
        }
    }

    /// Takes the level of a factor; after the last factor the kind of patient is known.
    fn kind(&mut self, code: String, mut levels: Vec<usize>, choice: Choice) -> Scene {
        let length = self.trial.factor(levels.len()).map_or(0, |factor| factor.levels.len());
        match choice.taken(length) {
            Err(why) => {
                self.fail(&why);
                Scene::Kind { code, levels, choice }
            }
            Ok(level) => {
                self.say("");
                levels.push(level);
                match self.trial.feature_of(&levels) {
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

    fn say(&mut self, message: &str) {
        (self.message, self.error) = (message.to_owned(), false);
    }

    fn fail(&mut self, message: &str) {
        (self.message, self.error) = (message.to_owned(), true);
    }
}

fn asking_for_arm(code: &str, logged: bool) -> Scene {
    Scene::Asking { what: format!("the arm of patient {code}"), enrolment: true, logged }
}

fn edit(mut text: String, key: KeyCode, most: usize) -> String {
    match key {
        KeyCode::Char(c) if text.chars().count() < most => text.push(c),
        KeyCode::Backspace => drop(text.pop()),
        _ => {}
    }
    text
}
