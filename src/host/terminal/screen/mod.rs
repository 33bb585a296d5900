//! The bedside screen: what it knows, and what a key or a piece of news does to it.
//!
//! Three parts, as in a play: the [`Model`] is everything the screen knows; [`Model::key`] and [`Model::news`]
//! change it and may give an [`Order`] for the device; [`view`](view::view) draws it and changes nothing. No part
//! of them waits for anything: orders go to the thread of [`run`], which owns device and log, and its answers come
//! back as [`News`]. So the screen never hangs, and a test can play every scene without a device.
//!
//! The way through the screen:
//!
//! ```text
//! list --E--> code --Enter--> feature --Enter--> sure? --Enter--> asking --> ARM in large letters --Enter--> list
//! list --O or Enter--> outcome --Enter--> sure? --Enter--> asking --> list
//! list --L--> sure? --Enter--> asking --> list        list --A--> the arm once more        Esc: one step back
//! ```
//!
//! A chosen outcome lives in the scene where it is chosen and confirmed, and is gone with it.

pub mod letters;
pub mod run;
pub mod view;

use crate::prelude::*;
use jiff::Timestamp;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::register::{MAX_CODE, Patient, check_code};
use super::trial_file::TrialFile;
use crate::trial::Phase;
use crate::wire::Status;

/// What the device is asked to do.
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
    /// An outcome or a loss is on record.
    Recorded(u32),
    /// What was ordered was not done; why.
    Failed(String),
    /// An enrolment has no answer yet and is asked again: the code.
    Pending(String),
}

/// Is there a device?
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
    /// Choosing the feature of the next patient.
    Feature {
        /// The patient code.
        code: String,
        /// The feature under the cursor; none before one is chosen.
        choice: Option<usize>,
    },
    /// Sure to enrol?
    SureEnrol {
        /// The patient code.
        code: String,
        /// The feature.
        choice: usize,
    },
    /// The device has been asked.
    Asking {
        /// What for, in words.
        what: String,
        /// Is it an enrolment? It goes on without this screen.
        enrolment: bool,
    },
    /// The arm of a patient, in large letters.
    Arm(Patient),
    /// Choosing an outcome from its labels.
    Outcome {
        /// Whose.
        patient: Patient,
        /// The outcome under the cursor; none before one is chosen.
        choice: Option<usize>,
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
    /// The words of the trial.
    pub trial: TrialFile,
    /// Is there a device?
    pub connection: Connection,
    /// The public facts, as last heard.
    pub status: Option<Status>,
    /// Patients without an outcome, the longest waiting first.
    pub waiting: Vec<Patient>,
    /// Which of them is under the cursor.
    pub cursor: usize,
    /// What the middle shows.
    pub scene: Scene,
    /// The last thing worth saying.
    pub message: String,
    /// Is it an error?
    pub error: bool,
    /// For the age of what is waited for.
    pub now: Timestamp,
    /// Use colour?
    pub colour: bool,
    /// Leave the screen?
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
                self.waiting = waiting;
                self.cursor = self.cursor.min(self.waiting.len().saturating_sub(1));
            }
            News::Enrolled(patient) => {
                self.say(&format!("Patient {} is number {}.", patient.code, patient.number));
                self.scene = Scene::Arm(patient);
            }
            News::Recorded(number) => {
                self.say(&format!("Recorded for patient number {number}."));
                self.scene = Scene::List;
            }
            News::Failed(why) => {
                self.fail(&why);
                if matches!(self.scene, Scene::Asking { .. }) {
                    self.scene = Scene::List;
                }
            }
            News::Pending(code) => {
                self.scene = Scene::Asking { what: format!("the arm of patient {code}"), enrolment: true };
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
            (Scene::Asking { enrolment: true, .. }, KeyCode::Char('q' | 'Q')) => self.quit = true,
            (
                Scene::Code { .. } | Scene::Number { .. } | Scene::Outcome { .. } | Scene::Help,
                KeyCode::Esc,
            ) => {
                return (Scene::List, None);
            }
            (Scene::Arm(_) | Scene::Help, KeyCode::Enter) => return (Scene::List, None),
            (Scene::Code { text }, KeyCode::Enter) => return (self.coded(text), None),
            (Scene::Code { text }, key) => return (Scene::Code { text: edit(text, key, MAX_CODE) }, None),
            (Scene::Feature { code, .. }, KeyCode::Esc) => return (Scene::Code { text: code }, None),
            (Scene::Feature { code, choice: Some(choice) }, KeyCode::Enter) => {
                return (Scene::SureEnrol { code, choice }, None);
            }
            (Scene::Feature { choice: None, .. } | Scene::Outcome { choice: None, .. }, KeyCode::Enter) => {
                self.fail("Choose one first: with the arrow keys or by its number.");
            }
            (Scene::Feature { code, choice }, key) => {
                let choice = choose(choice, key, self.trial.features.len());
                return (Scene::Feature { code, choice }, None);
            }
            (Scene::SureEnrol { code, choice }, KeyCode::Esc) => {
                return (Scene::Feature { code, choice: Some(choice) }, None);
            }
            (Scene::SureEnrol { code, choice }, KeyCode::Enter) => {
                let feature = u8::try_from(choice).unwrap_or_default();
                let what = format!("the arm of patient {code}");
                return (Scene::Asking { what, enrolment: true }, Some(Order::Enrol { code, feature }));
            }
            (Scene::Outcome { patient, choice: Some(choice) }, KeyCode::Enter) => {
                if let Ok(y) = u16::try_from(choice) {
                    return (Scene::SureOutcome { patient, y: Some(y) }, None);
                }
            }
            (Scene::Outcome { patient, choice }, key) => {
                let labels = self.trial.labels.as_ref().map_or(0, Vec::len);
                return (Scene::Outcome { patient, choice: choose(choice, key, labels) }, None);
            }
            (Scene::Number { patient, text }, KeyCode::Enter) => return (self.numbered(patient, text), None),
            (Scene::Number { patient, text }, key) => {
                return (Scene::Number { patient, text: edit(text, key, 5) }, None);
            }
            (Scene::SureOutcome { patient, y }, KeyCode::Enter) => {
                let (number, what) = (patient.number, format!("the record of patient {}", patient.code));
                let order = y.map_or(Order::Lost { number }, |y| Order::Outcome { number, y });
                return (Scene::Asking { what, enrolment: false }, Some(order));
            }
            (Scene::SureOutcome { patient, y }, KeyCode::Esc) => {
                return (if y.is_some() { self.outcome(patient) } else { Scene::List }, None);
            }
            _ => {}
        }
        (self.scene.clone(), None)
    }

    fn list(&mut self, key: KeyCode) -> Scene {
        let selected = self.waiting.get(self.cursor).cloned();
        let key = if let KeyCode::Char(c) = key { KeyCode::Char(c.to_ascii_lowercase()) } else { key };
        match (key, selected) {
            (KeyCode::Char('q'), _) => self.quit = true,
            (KeyCode::Char('?' | 'h') | KeyCode::F(1), _) => return Scene::Help,
            (KeyCode::Char('e'), _) => return self.enrol(),
            (KeyCode::Char('o') | KeyCode::Enter, Some(patient)) => return self.outcome(patient),
            (KeyCode::Char('l'), Some(patient)) => return Scene::SureOutcome { patient, y: None },
            (KeyCode::Char('a'), Some(patient)) => return Scene::Arm(patient),
            (KeyCode::Char('o' | 'l' | 'a'), None) => self.fail("No patient is waiting for an outcome."),
            (key, _) => self.cursor = choose(Some(self.cursor), key, self.waiting.len()).unwrap_or(0),
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
        let code = text.trim().to_owned();
        match check_code(&code) {
            Ok(()) if self.waiting.iter().any(|patient| patient.code == code) => {
                self.fail(&format!("Patient {code} is already enrolled."));
                Scene::Code { text }
            }
            Ok(()) => {
                self.say("");
                Scene::Feature { code, choice: None }
            }
            Err(why) => {
                self.fail(&why);
                Scene::Code { text }
            }
        }
    }

    fn outcome(&mut self, patient: Patient) -> Scene {
        self.say("");
        if self.trial.labels.is_some() {
            Scene::Outcome { patient, choice: None }
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

/// Moves a cursor in a list: arrows, the ends, or the place's number from 1.
fn choose(at: Option<usize>, key: KeyCode, length: usize) -> Option<usize> {
    let last = length.saturating_sub(1);
    let moved = |from: fn(usize) -> usize, first: usize| Some(at.map_or(first, from).min(last));
    match key {
        KeyCode::Up | KeyCode::Char('k') => moved(|at| at.saturating_sub(1), last),
        KeyCode::Down | KeyCode::Char('j') | KeyCode::Tab => moved(|at| at + 1, 0),
        KeyCode::PageUp => moved(|at| at.saturating_sub(10), 0),
        KeyCode::PageDown => moved(|at| at + 10, last),
        KeyCode::Home => Some(0),
        KeyCode::End => Some(last),
        KeyCode::Char(digit) => match digit.to_digit(10).map(|digit| digit as usize) {
            Some(place) if (1..=length).contains(&place) => Some(place - 1),
            _ => at,
        },
        _ => at,
    }
}

fn edit(mut text: String, key: KeyCode, most: usize) -> String {
    match key {
        KeyCode::Char(c) if text.chars().count() < most => text.push(c),
        KeyCode::Backspace => drop(text.pop()),
        _ => {}
    }
    text
}
