//! Confirmations: the last question before something that cannot be taken back.
//!
//! Each takes a letter of its own, never Enter and never the key that led to it, so that a key
//! pressed twice confirms nothing.

use ratatui::Frame;
use ratatui::crossterm::event::KeyCode;
use ratatui::layout::Rect;

use super::picker::Picker;
use super::widgets::{Sure, sure};
use super::{Model, Order, Scene};
use crate::bedside::doubt::doubt;
use crate::records::register::Patient;
use crate::records::staff::Role;
use crate::records::words::{moment, span};

/// The letter that confirms, if the scene is a confirmation.
pub(super) const fn letter(scene: &Scene) -> Option<char> {
    match scene {
        Scene::SureEnrol { resumed: false, .. } => Some('E'),
        Scene::SureEnrol { resumed: true, .. } | Scene::SureOutcome { .. } => Some('R'),
        Scene::SureAnyway { .. } => Some('A'),
        Scene::SureReplace { .. } => Some('G'),
        Scene::SureElsewhere { .. } => Some('C'),
        _ => None,
    }
}

impl Model {
    /// Updates a confirmation from a key.
    pub(super) fn confirm(&mut self, scene: Scene, key: KeyCode) -> (Scene, Option<Order>) {
        let letter = letter(&scene).unwrap_or_default();
        match key {
            KeyCode::Char(typed) if typed.eq_ignore_ascii_case(&letter) => {
                self.say("");
                self.confirmed(scene)
            }
            KeyCode::Esc => {
                self.say("");
                self.taken_back(scene)
            }
            KeyCode::Enter => {
                self.fail(&format!("Enter does not confirm this: {letter} does, Esc goes back."));
                (scene, None)
            }
            _ => (scene, None),
        }
    }

    fn confirmed(&self, scene: Scene) -> (Scene, Option<Order>) {
        match scene {
            Scene::SureEnrol { code, feature, .. } => {
                let (then, answers) = (self.asking_for(&code, false), self.answers.clone());
                let order = Order::Enrol { code, feature, answers };
                self.signed(Role::Enrol, self.scene.clone(), (then, order))
            }
            Scene::SureOutcome { patient, y: Some(y) } => match self.doubt(&patient) {
                Some(why) => (Scene::SureAnyway { patient, y, why }, None),
                None => self.recorded(&patient, Some(y), false),
            },
            Scene::SureOutcome { patient, y: None } => self.recorded(&patient, None, false),
            Scene::SureAnyway { patient, y, .. } => self.recorded(&patient, Some(y), true),
            Scene::SureReplace { patient, reason } => {
                let what = format!("another kit for patient {}", patient.code);
                let order = Order::Replace { number: patient.number, reason };
                let then = Scene::Asking { what, enrolment: false, logged: false };
                self.signed(Role::Enrol, self.scene.clone(), (then, order))
            }
            Scene::SureElsewhere { gap } => (Scene::List, Some(Order::Elsewhere { gap })),
            other => (other, None),
        }
    }

    /// Sends an outcome, or its loss, once it is signed.
    fn recorded(&self, patient: &Patient, y: Option<u16>, anyway: bool) -> (Scene, Option<Order>) {
        let (number, what) = (patient.number, format!("the record of patient {}", patient.code));
        let order = y.map_or(Order::Lost { number }, |y| Order::Outcome { number, y, anyway });
        let then = Scene::Asking { what, enrolment: false, logged: false };
        self.signed(Role::Outcome, self.scene.clone(), (then, order))
    }

    fn taken_back(&mut self, scene: Scene) -> (Scene, Option<Order>) {
        let scene = match scene {
            Scene::SureEnrol { code, resumed: true, .. } => {
                self.say(&format!("Patient {code} was not enrolled."));
                return (Scene::List, Some(Order::Drop { code }));
            }
            Scene::SureEnrol { code, feature, .. } => {
                let mut levels = self.trial.factors.levels(feature);
                let picker = levels.pop().map_or_else(Picker::default, Picker::at);
                Scene::Kind { code, levels, picker }
            }
            Scene::SureOutcome { patient, y: Some(y) } | Scene::SureAnyway { patient, y, .. } => {
                self.outcome_again(patient, y)
            }
            Scene::SureReplace { patient, reason: text } => Scene::Reason { patient, text },
            _ => Scene::List,
        };
        (scene, None)
    }

    /// The question to a person before the outcome of this patient is recorded.
    fn doubt(&self, patient: &Patient) -> Option<String> {
        doubt(&self.trial, patient, self.now)
    }

    /// Choosing the outcome once more, with the cursor on what was chosen.
    fn outcome_again(&self, patient: Patient, y: u16) -> Scene {
        if self.trial.labels.is_some() {
            Scene::Outcome { patient, picker: Picker::at(y.into()) }
        } else {
            Scene::Number { patient, text: y.to_string() }
        }
    }

    /// Kind, enrolment and due date of a patient, for a last look.
    fn about(&self, patient: &Patient) -> Vec<String> {
        let waited = span(self.now.duration_since(patient.since));
        let mut about = vec![
            [self.trial.feature_name(patient.feature), patient.marks.words()]
                .into_iter()
                .filter(|words| !words.is_empty())
                .collect::<Vec<_>>()
                .join("; "),
            format!("enrolled {}, {waited} ago", moment(patient.since)),
        ];
        if let Some(due) = self.trial.due.map(|due| due.after(patient.since)) {
            let left = due.duration_since(self.now);
            let when = if left.is_negative() { "was due" } else { "due" };
            about.push(format!("outcome {when} {}", moment(due)));
        }
        about
    }

    /// The label of an outcome as a confirmation names it.
    fn label(&self, y: u16) -> String {
        let labels = self.trial.labels.as_deref().unwrap_or_default();
        labels.get(usize::from(y)).map_or_else(|| y.to_string(), |label| label.to_uppercase())
    }
}

const FOR_GOOD: &str = "What is recorded cannot be changed, and this terminal keeps no copy.";

/// Draws a confirmation.
pub(super) fn draw(model: &Model, frame: &mut Frame<'_>, area: Rect) {
    let key = letter(&model.scene).unwrap_or_default();
    let who = |patient: &Patient| format!("Patient {}, number {}", patient.code, patient.number);
    let shown = match &model.scene {
        Scene::SureEnrol { code, feature, .. } => Sure {
            title: "Enrol a patient",
            question: format!("Enrol patient {code}, {}?", model.trial.feature_name(*feature)),
            about: Vec::new(),
            action: format!("enrol {code}"),
            warning: "An enrolment cannot be taken back.".to_owned(),
        },
        Scene::SureElsewhere { gap } => Sure {
            title: "Records",
            question: format!("{gap}."),
            about: vec![
                "If this log is old or a copy, leave and name the right one with --log:".to_owned(),
                "a patient of another log could be enrolled a second time.".to_owned(),
            ],
            action: "confirm that the records are elsewhere".to_owned(),
            warning: "The log keeps who confirmed it.".to_owned(),
        },
        Scene::SureReplace { patient, reason } => Sure {
            title: "Another kit",
            question: format!(
                "Give patient {} another kit instead of {}?",
                patient.code,
                model.trial.given(&patient.given)
            ),
            about: vec![format!("Reason: {reason}")],
            action: format!("give {} another kit", patient.code),
            warning: "A kit cannot be taken back.".to_owned(),
        },
        Scene::SureOutcome { patient, y: None } => Sure {
            title: "Lost",
            question: format!("{}: the outcome will never come", who(patient)),
            about: model.about(patient),
            action: "record LOST".to_owned(),
            warning: FOR_GOOD.to_owned(),
        },
        Scene::SureOutcome { patient, y: Some(y) } => Sure {
            title: "Outcome",
            question: format!("{}: {} {}", who(patient), model.trial.question, model.label(*y)),
            about: model.about(patient),
            action: format!("record {}", model.label(*y)),
            warning: FOR_GOOD.to_owned(),
        },
        Scene::SureAnyway { patient, y, why } => Sure {
            title: "Outcome",
            question: why.clone(),
            about: vec![format!("{}: {} {}", who(patient), model.trial.question, model.label(*y))],
            action: format!("record {} anyway", model.label(*y)),
            warning: FOR_GOOD.to_owned(),
        },
        _ => return,
    };
    sure(frame, area, key, &shown);
}
